"""A release that the workers write: a folder of parts with one card."""

import hashlib
import json
import shutil
import time
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
import rasterio
from click.testing import CliRunner
from rio_cogeo.cogeo import cog_validate

import geodp
from geodp import cli
from geodp.cluster.api import join, publish, write
from geodp.errors import InputError, UsageError, VerificationError
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.io.folder.release_in_parts import PartsFolder, write_part
from geodp.io.verify.readback import read_release_table
from geodp.io.verify.verify import verify
from geodp.table.card import drop_written
from tests.bits import has_bits
from tests.cluster.tables import GRID, ONCE, kept, split, town
from tests.refusals import refuses

# It takes that long on no machine; some are busy.
pytestmark = [pytest.mark.law, pytest.mark.timeout(900)]


def digests(folder):
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in files
    }


def test_parts_hold_the_release_of_one_machine(cluster, tmp_path):
    files, out = split(town(), tmp_path / "files", 7), tmp_path / "out"
    card = write(cluster(2), files, out, **ONCE, key=kept(), parts=5, people=500_000)
    whole = geodp.publish(town(), epsilon=1, key=kept(), people=500_000, contribution=1)
    public = out / "public"
    assert json.loads((public / "release.json").read_text()) == card.to_json()
    assert drop_written(card.to_json()) == {
        **whole.card().to_json(),
        "schema": "geodp-release-parts-2",
    }
    listed = [name for name in card.listed if name.endswith(".parquet")]
    assert listed == [f"population.parquet/part-0000{i}.parquet" for i in range(5)]
    tables = [pq.read_table(public / name) for name in listed]
    assert [table.num_rows for table in tables] == [file.extras["rows"] for file in card.files[:5]]
    row, col = GRID.decode(whole.table.key)
    codes = np.concatenate([table["code"].to_numpy(zero_copy_only=False) for table in tables])
    assert codes.tolist() == GRID.places[0].format(row, col).tolist()
    count = np.concatenate([table["population"].to_numpy() for table in tables])
    assert count.tolist() == whole.table.count.tolist()
    assert list(card.files[0].extras["columns"]) == tables[0].column_names
    assert json.loads(tables[0].schema.metadata[b"geodp"])["epsilon"] == "1"
    assert b"geo" in tables[0].schema.metadata
    sums = dict(
        line.split("  ")[::-1] for line in (public / "SHA256SUMS").read_text().split("\n")[:-1]
    )
    assert sums == {k: v for k, v in digests(public).items() if k != "SHA256SUMS"}
    assert has_bits(out / "restricted", 0o700)
    assert [check for check in verify(out) if not check.ok] == []
    table, again = read_release_table(out)
    assert again == card
    assert table.key.tolist() == whole.table.key.tolist()
    for command in (["verify"], ["report"], ["map", "--output", tmp_path / "map.png"]):
        done = CliRunner().invoke(cli.geodp, [*map(str, command), str(out)])
        assert done.exit_code == 0, done.output
    # Joined it is the folder that one machine writes.
    join(out, tmp_path / "one")
    whole.write(tmp_path / "whole")
    assert digests(tmp_path / "one") == digests(tmp_path / "whole")


@pytest.mark.parametrize("broken", ["changed", "missing", "more", "moved", "card"])
def test_parts_that_do_not_agree_are_found(cluster, tmp_path, broken):
    files, out = split(town(500), tmp_path / "files", 2), tmp_path / "out"
    write(cluster(2), files, out, **ONCE, key=kept(), parts=3)
    public = out / "public"
    first, second, third = sorted((public / "population.parquet").iterdir())
    if broken == "changed":
        first.write_bytes(first.read_bytes()[:-1] + b"x")
    elif broken == "missing":
        second.unlink()
    elif broken == "more":
        shutil.copy(third, third.with_name("part-00003.parquet"))
    elif broken == "moved":
        aside = first.read_bytes()
        first.write_bytes(second.read_bytes())
        second.write_bytes(aside)
    else:
        card = json.loads((public / "release.json").read_text())
        card["guarantee"]["epsilon"] = "1/2"
        (public / "release.json").write_text(json.dumps(card))
    assert [check.name for check in verify(out) if not check.ok]
    with pytest.raises(VerificationError):
        join(out, tmp_path / "one")
    assert not (tmp_path / "one").exists()


def test_a_masked_release_is_joined_on_its_own_grid(cluster, tmp_path):
    grid = geodp.Grid.regular((60, 90))
    inside = np.add.outer(np.arange(60), np.arange(90)) % 50 < 30
    grid = grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside), "stripes"))
    dense = np.where(inside, 20, 0)
    dense[30:] = 0
    table = geodp.CountTable.from_dense(dense, grid)
    out = tmp_path / "out"
    files, terms = split(table, tmp_path / "files", 2), {**ONCE, "key": kept(), "parts": 3}
    write(cluster(2), files, out, **terms)
    assert [check for check in verify(out) if not check.ok] == []
    join(out, tmp_path / "one")
    geodp.publish(table, epsilon=1, key=kept(), contribution=1).write(tmp_path / "whole")
    assert digests(tmp_path / "one") == digests(tmp_path / "whole")


def test_without_a_raster_a_masked_release_is_joined_on_a_grid_that_is_given(cluster, tmp_path):
    grid = geodp.Grid.regular((20, 30))
    inside = np.add.outer(np.arange(20), np.arange(30)) % 50 < 30
    grid = grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside), "stripes"))
    table = geodp.CountTable.from_index(grid, np.array([[3], [4]]), np.array([50]))
    files, out = split(table, tmp_path / "files", 1), tmp_path / "out"
    card = write(cluster(2), files, out, **ONCE, key=kept(), parts=2, raster=False)
    assert {one.name for one in card.left_out} == {"population.csv", "population.vrt"}
    assert [check for check in verify(out) if not check.ok] == []
    with refuses(UsageError, "grid-of-parts-missing"):
        join(out, tmp_path / "one")
    join(out, tmp_path / "one", grid=grid)
    geodp.publish(table, epsilon=1, key=kept(), contribution=1).write(tmp_path / "whole")
    assert digests(tmp_path / "one") == digests(tmp_path / "whole")


@pytest.mark.parametrize("limited", [False, True])
def test_the_tiles_are_the_release(cluster, tmp_path, monkeypatch, limited):
    monkeypatch.setattr("geodp.io.write.tiles.SIDE", 512)
    grid = geodp.Grid.mesh("inspire:1km", bounds=(4_000_000, 2_500_000, 5_300_000, 3_100_000))
    grid = grid.with_attribute("sex", ["female", "male"])
    if limited:
        inside = np.zeros((600, 1300), np.bool_)
        inside[70:90, 100:800] = True
        grid = grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside), "a strip"))
    index = np.array([[80, 80, 80], [130, 500, 550], [0, 1, 1]])
    table = geodp.CountTable.from_index(grid, index, np.array([5000, 70, 900]))
    out = tmp_path / "out"
    files, terms = split(table, tmp_path / "files", 2), {**ONCE, "key": kept(), "parts": 4}
    terms["method"] = "topdown"  # the released cells lie where the true ones are
    write(cluster(2), files, out, **terms)
    released = geodp.publish(table, key=kept(), method="topdown", **{"contribution": 1, **ONCE})
    dense = np.moveaxis(released.table.to_dense(), -1, 0)[:, ::-1]
    with rasterio.open(out / "public" / "population.vrt") as raster:
        assert raster.crs.to_epsg() == 3035
        assert raster.bounds == grid.places[0].bounds
        assert raster.descriptions == (
            "population sex=female",
            "population sex=male",
            "standard_error",
        )
        bands = raster.read()
    assert np.nansum(bands[:2]) == released.table.count.sum()
    assert (np.nan_to_num(bands[:2]) == dense).all()
    domain = inside[::-1] if limited else np.ones((600, 1300), np.bool_)
    assert (np.isnan(bands) == ~domain).all()
    tiles = {path.name for path in (out / "public" / "population.tiles").iterdir()}
    assert ("empty.tif" in tiles) != limited
    assert len(tiles) == 4 or not limited  # of 6: the others lie outside
    for tile in tiles:
        assert cog_validate(out / "public" / "population.tiles" / tile)[0]
    assert [check for check in verify(out) if not check.ok] == []
    join(out, tmp_path / "one")
    released.write(tmp_path / "whole")
    assert digests(tmp_path / "one") == digests(tmp_path / "whole")


@pytest.mark.parametrize("other", [2, pytest.param(4, marks=pytest.mark.matrix)])
def test_workers_and_partitions_do_not_show_in_the_files(cluster, tmp_path, other):
    found = []
    for workers, partitions in ((2, 2), (other, 5)):
        files = split(town(), tmp_path / str(partitions), partitions)
        out = tmp_path / f"out{partitions}"
        write(cluster(workers), files, out, **ONCE, key=kept(), parts=4, name="people")
        found.append(digests(out))
    assert found[0] == found[1]


def test_a_folder_is_replaced_only_if_asked_and_left_alone_by_failures(cluster, tmp_path):
    files, out = split(town(), tmp_path / "files", 2), tmp_path / "out"
    write(cluster(2), files, out, **ONCE, key=kept(), parts=2)
    before = digests(out)
    with refuses(UsageError, "output-exists"):
        write(None, files, out, **ONCE)
    bad = split(town(), tmp_path / "bad", 2)
    (tmp_path / "bad" / "1.parquet").write_bytes(b"PAR1 no more")
    with refuses(InputError, "file-changed"):
        write(cluster(2), bad, out, **ONCE, overwrite=True)
    assert digests(out) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad", "files", "out"]
    write(cluster(2), files, out, **ONCE, parts=2, overwrite=True)
    assert digests(out) != before
    geodp.publish(town(), epsilon=1, contribution=1).write(out, overwrite=True)


def test_a_part_of_a_worker_that_died_is_removed(cluster, tmp_path, monkeypatch):
    files, out = split(town(), tmp_path / "files", 2), tmp_path / "out"
    original = PartsFolder.finish

    def finish(folder, *given):
        (folder.public / "population.parquet" / ".part-00001.parquet.abc").write_bytes(b"half")
        return original(folder, *given)

    monkeypatch.setattr("geodp.io.folder.release_in_parts.PartsFolder.finish", finish)
    write(cluster(2), files, out, **ONCE, parts=2)
    assert len(list((out / "public" / "population.parquet").iterdir())) == 2


def test_a_part_written_again_is_the_same_and_confidential_tables_are_refused(tmp_path):
    view = geodp.publish(town(), epsilon=1, contribution=1).view("people")
    entries = [write_part(view, tmp_path / "part.parquet") for _ in range(2)]
    assert entries[0] == entries[1]
    assert [path.name for path in tmp_path.iterdir()] == ["part.parquet"]
    with refuses(UsageError, "released-table-expected"):
        write_part(replace(view, table=town()), tmp_path / "part.parquet")


@pytest.mark.parametrize("after", [0.1, 0.6, 0.9])
def test_a_run_that_is_stopped_leaves_nothing(cluster, tmp_path, after):
    client, told, hidden = cluster(2), [], tmp_path / "hidden"
    hidden.mkdir()

    def stop(done, of):
        told.append((done, of))
        if done > after * of:
            raise KeyboardInterrupt

    files = split(town(), tmp_path / "files", 4)
    terms = {**ONCE, "parts": 8, "key_folder": hidden, "progress": stop}
    with pytest.raises(KeyboardInterrupt):
        write(client, files, tmp_path / "out", **terms)
    assert [done for done, _ in told] == list(range(1, told[-1][0] + 1))
    assert list(hidden.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["files", "hidden"]
    deadline = time.monotonic() + 600  # what a worker is at, it ends; nothing else is begun
    while left(client) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert left(client) == []


def left(client) -> list[str]:
    """Tasks of a run that a scheduler knows."""
    return client.run_on_scheduler(
        lambda dask_scheduler: [key for key in dask_scheduler.tasks if "geodp-" in str(key)]
    )


def test_progress_reaches_its_end(cluster, tmp_path):
    told = []
    terms = {**ONCE, "parts": 3, "progress": lambda done, of: told.append((done, of))}
    write(cluster(2), split(town(500), tmp_path / "files", 2), tmp_path / "out", **terms)
    assert told == [(i, 11) for i in range(1, 12)] + [(12, 12)]  # the tile is known later
    told.clear()
    files = split(town(500), tmp_path / "more", 2)
    publish(cluster(2), files, method="topdown", **{"contribution": 1, **terms})
    assert told == [(i, 8) for i in range(1, 9)]


@pytest.mark.parametrize(
    ("task", "state"),
    [
        pytest.param("write", "executing", marks=pytest.mark.law),
        pytest.param("write", "memory", marks=pytest.mark.matrix),
        pytest.param("tile", "executing", marks=pytest.mark.matrix),
        pytest.param("tile", "memory", marks=pytest.mark.matrix),
    ],
)
def test_a_killed_worker_does_not_show_in_the_files(cluster, tmp_path, task, state):
    files, terms = split(town(), tmp_path / "files", 3), {**ONCE, "key": kept(), "parts": 4}
    write(cluster(2), files, tmp_path / "one", **terms)
    cluster.kill(2, task, state)
    write(cluster(2), files, tmp_path / "two", **terms)
    assert cluster.killed(2)
    assert digests(tmp_path / "one") == digests(tmp_path / "two")


def test_the_driver_brings_the_table_of_any_number_of_parts(cluster, tmp_path):
    files = split(town(2000), tmp_path / "files", 2)
    found = [
        publish(cluster(2), files, key=kept(), parts=parts, **{"contribution": 1, **ONCE}).table
        for parts in (1, 30)
    ]
    assert found[0].key.tolist() == found[1].key.tolist()
    assert found[0].count.tolist() == found[1].count.tolist()
