import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
import rasterio

import geodp
from geodp.errors import UsageError, VerificationError
from geodp.grid.codes import JISMesh
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.grid.order import Order
from geodp.io.folder.kinds import Check
from geodp.io.folder.manifest import release_id, sha256
from geodp.io.verify import again
from geodp.io.verify.readback import read_release_table
from geodp.io.verify.verify import verify
from geodp.io.write import picture
from geodp.io.write.view import View
from geodp.release.opening import errors_of
from geodp.table.stated.domain import StatedDomain
from tests.io.write.test_writers import GRIDS, KANTO, released
from tests.refusals import refuses

MORE = {
    "datum": geodp.Grid.mesh(JISMesh("half", "EPSG:4612"), bounds=(139, 35, 139.2, 35.1)),
    "order": geodp.Grid.regular((6, 10)).with_order(Order((0, 0, 0, 1, 1, 1, 1), (2,) * 7)),
}
QUESTIONS = [
    *("card", "checksums", "files", "release id", "cells", "statements", "intervals"),
    *("written again", "restricted"),
]


def failures(path):
    """The checks that fail; of files rows are compared, as words have the id of another card."""
    checks = [*verify(path), *(c for c in verify(path, errors_of) if c.name != "written again")]
    failed = {check.name for check in checks if not check.ok}
    return [name for name in QUESTIONS if name in failed]


def other_files(path):
    """The files whose rows are not those of the release."""
    found = [check.detail for check in verify(path) if check.name == "written again"]
    assert len(found) == 1, "the table was not read"
    said, _, names = found[0].partition(": ")
    return {*names.rstrip(".").split(", ")} if said.startswith("Not what") else set()


def card_of(public):
    return json.loads((public / "release.json").read_text(encoding="utf-8"))


def write_checksums(public, card=None, **changes):
    """List the files as they are now, as a forger would."""
    card = {**(card or card_of(public)), **changes}
    card["release_id"] = release_id(public / "population.csv", card)
    for entry in card["files"]:
        entry["sha256"] = sha256(public / entry["name"])
    (public / "release.json").write_text(json.dumps(card), encoding="utf-8")
    names = [entry["name"] for entry in card["files"]] + ["release.json"]
    lines = [f"{sha256(public / name)}  {name}\n" for name in names]
    (public / "SHA256SUMS").write_text("".join(lines))


@pytest.mark.parametrize("name", [*GRIDS, *MORE])
def test_a_release_agrees_with_itself_and_is_read_back(tmp_path, write_copy, name):
    grid = {**GRIDS, **MORE}[name]
    if name == "order":
        release = released(geodp.Grid.regular((6, 10)))
        index = release.grid.decode(release.table.key)
        key = grid.encode(index)
        order = np.argsort(key)
        table = geodp.ReleasedTable(grid, key[order], release.table.count[order], release.event)
        release = geodp.Release(table)
        release.write(tmp_path / "out")
    else:
        release = released(grid)
        write_copy(grid, tmp_path / "out", name="人口")
    checks = verify(tmp_path / "out", errors_of)
    assert [check.name for check in checks] == QUESTIONS
    assert all(check.ok for check in checks), checks
    assert verify(tmp_path / "out" / "public", errors_of) == checks
    table, card = read_release_table(tmp_path / "out")
    assert (table.key == release.table.key).all()
    assert (table.count == release.table.count).all()
    assert table.event == release.event
    assert table.grid == grid
    assert card.domain == StatedDomain.of(grid)


@pytest.mark.parametrize("name", GRIDS)
def test_an_empty_release_is_written_and_read_back(tmp_path, name):
    grid, event = GRIDS[name], released(KANTO).event
    table = geodp.ReleasedTable(grid, np.empty(0, np.uint64), np.empty(0, np.int64), event)
    geodp.Release(table).write(tmp_path / "out")
    assert failures(tmp_path / "out") == []
    assert read_release_table(tmp_path / "out")[0].total == 0


def test_there_is_no_map_of_plain_axes(written_once):
    _, public = written_once(GRIDS["axes"])
    with refuses(UsageError, "map-unavailable"):
        picture.draw_map(View(*read_release_table(public)))


def test_no_release(tmp_path):
    with refuses(VerificationError, "folder-without-release"):
        verify(tmp_path)
    with refuses(VerificationError, "folder-without-release"):
        read_release_table(tmp_path / "absent")
    (tmp_path / "public").mkdir()
    (tmp_path / "public" / "style.json").write_text('{"version": 8}')
    (tmp_path / "public" / "list.json").write_text("[1]")
    (tmp_path / "public" / "round.json").write_text('{"schema": "geodp-round-1"}')
    with refuses(VerificationError, "folder-without-release"):
        verify(tmp_path)
    (tmp_path / "public" / "work.json").write_text('{"schema": "geodp-employment-1", "files": []}')
    with refuses(VerificationError, "kind-not-installed: the schema 'geodp-employment-1'"):
        verify(tmp_path)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"schema": "geodp-release-99"}'])
def test_an_unknown_card_ends_the_questions(public, text):
    (public / "release.json").write_text(text)
    checks = verify(public)
    assert [check.name for check in checks] == ["card"]
    assert isinstance(checks[0], Check)
    assert not checks[0].ok


def test_sums_that_leave_the_folder_are_refused(public):
    card = card_of(public)
    card["files"][0]["name"] = "../restricted/run.json"
    write_checksums(public, card)
    assert failures(public) == ["card"]


def rewrite(public, change):
    """Change a column of the Parquet file, keep its metadata."""
    file = public / "population.parquet"
    table = pa.parquet.read_table(file)
    pa.parquet.write_table(change(table), file)
    write_checksums(public)


def with_column(table, name, values):
    number = table.schema.get_field_index(name)
    return table.set_column(number, name, pa.array(values))


@pytest.mark.parametrize(
    ("column", "change", "found"),
    [
        ("population", lambda values: [values[0] + 1, *values[1:]], "csv gpkg tif"),
        ("population", lambda values: [0, *values[1:]], "cells"),
        ("population", lambda values: [-5, *values[1:]], "cells"),
        ("population", lambda values: [v + 0.5 for v in values], "cells"),
        ("high", lambda values: [v + 0.1 for v in values], "intervals"),
        ("high", lambda values: [0.0, *values[1:]], "intervals"),
        ("code", lambda values: [values[1], *values[1:]], "cells"),
        ("code", lambda values: ["523800000", *values[1:]], "cells"),
        ("code", lambda values: ["533900001", *values[1:]], "cells"),
        ("code", lambda values: values[::-1], "cells"),
        ("geometry", lambda values: values[::-1], "parquet"),
    ],
)
def test_a_forged_parquet_file_is_found(public, column, change, found):
    rewrite(public, lambda t: with_column(t, column, change(t[column].to_pylist())))
    failed = failures(public)
    assert failed
    assert found in failed or other_files(public) == {f"population.{e}" for e in found.split()}


@pytest.mark.parametrize(("band", "value"), [(1, 12345), (1, np.nan), (2, 1), (2, np.nan)])
def test_a_forged_raster_of_a_mask_is_found(tmp_path, write_copy, monkeypatch, band, value):
    write_copy(GRIDS["masked"], tmp_path / "out")
    public = tmp_path / "out" / "public"
    with rasterio.open(public / "population.tif", "r+", IGNORE_COG_LAYOUT_BREAK="YES") as raster:
        values = raster.read(band)
        values[values > 0] = value
        raster.write(values, band)
    write_checksums(public)
    if band == 1 and np.isnan(value):
        # Without its mask nothing else can be read.
        assert failures(public) == ["cells"]
        return
    for most in (again.SMALL_RASTER, 0):
        monkeypatch.setattr(again, "SMALL_RASTER", most)
        assert failures(public) == ["written again"]
        assert other_files(public) == {"population.tif"}


def stripes(axis):
    """Every other row or column of the map."""
    return np.indices(KANTO.shape)[axis] % 2 == 1


def blocks(side):
    """Squares of the map."""
    return np.kron(np.indices((24 // side, 32 // side)).prod(axis=0) % 3 > 0, np.ones((side, side)))


@pytest.mark.parametrize(
    "inside",
    [stripes(0), stripes(1), blocks(1), pytest.param(blocks(4), marks=pytest.mark.law)],
    ids=["rows", "cols", "cells", "squares"],
)
@pytest.mark.parametrize("southwards", [False, True])
def test_the_mask_is_read_from_the_raster(tmp_path, inside, southwards):
    grid = KANTO
    if southwards:
        transform = (1000.0, 0.0, 4_000_000.0, 0.0, -1000.0, 3_000_000.0)
        grid = geodp.Grid.regular((24, 32), crs="EPSG:3035", transform=transform)
    grid = grid.with_attribute("sex", ["m", "f", "x"])
    grid = grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside.astype(bool)), "a coastline"))
    released(grid).write(tmp_path / "out")
    assert failures(tmp_path / "out") == []
    assert read_release_table(tmp_path / "out")[0].grid == grid


def test_another_mask_than_the_cards_is_found(tmp_path, write_copy):
    write_copy(GRIDS["masked"], tmp_path / "out")
    public = tmp_path / "out" / "public"
    card = card_of(public)
    card["domain"]["mask"]["sha256"] = "0" * 64
    write_checksums(public, card)
    assert failures(public) == ["cells"]
    with refuses(VerificationError, "raster-mask-differs"):
        read_release_table(public)


def test_a_mask_without_a_raster_is_not_checked(tmp_path):
    grid = KANTO.with_attribute("hour", [str(hour) for hour in range(65)])
    grid = grid.with_mask(mask_of_blocks(grid, np.array([[0], [0], [8], [8]]), "a coastline"))
    table = geodp.ReleasedTable(
        grid, np.arange(3, dtype=np.uint64), np.array([5, 6, 7]), released(KANTO).event
    )
    geodp.Release(table).write(tmp_path / "out")
    checks = {check.name: check for check in verify(tmp_path / "out")}
    assert all(check.ok for check in checks.values())
    assert "no raster" in checks["cells"].detail
    assert read_release_table(tmp_path / "out")[0].grid.mask is None
