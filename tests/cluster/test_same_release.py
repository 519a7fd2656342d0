"""Whatever the workers, the partitions and their fate: the release of one machine."""

import os
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import geodp
from geodp.cluster.api import Partitions, publish
from geodp.errors import BudgetError, InputError, UsageError
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from geodp.table.contribution import SUMS
from geodp.table.reading import ROWS_FACT
from tests.cluster.tables import GRID, ONCE, kept, sha256, split, town
from tests.keys import keep
from tests.refusals import refuses

# It takes that long on no machine; some are busy.
pytestmark = [pytest.mark.law, pytest.mark.timeout(900)]
METHODS = ("pyramid", "topdown")


@pytest.fixture(scope="module")
def alone():
    """Digests of the releases of one machine."""
    return {
        method: sha256(
            geodp.publish(town(), method=method, epsilon=1, key=kept(), contribution=1).table
        )
        for method in METHODS
    }


def rarely(*values):
    """Parameters of a run that belongs to the matrix."""
    return pytest.param(*values, marks=pytest.mark.matrix)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("partitions", [rarely(1), 7, 64])
@pytest.mark.parametrize("workers", [rarely(1), 2, rarely(4)])
def test_workers_and_partitions_do_not_show(
    cluster, alone, tmp_path, monkeypatch, workers, partitions, method
):
    monkeypatch.setattr("geodp.cluster.run.MAX_CHUNKS", 40)  # 64 files are 13 groups
    files = split(town(), tmp_path, partitions, seed=partitions)
    parts = {1: 64, 7: 9, 64: 3}[partitions]
    release = publish(
        cluster(workers),
        files,
        method=method,
        key=kept(),
        parts=parts,
        **{"contribution": 1, **ONCE},
    )
    assert sha256(release.table) == alone[method]


@pytest.mark.parametrize(
    ("method", "task", "state"),
    [
        rarely("pyramid", "read", "memory"),
        rarely("pyramid", "merge", "memory"),
        rarely("pyramid", "begin", "executing"),
        ("pyramid", "begin", "memory"),
        rarely("pyramid", "finish", "executing"),
        rarely("pyramid", "finish", "memory"),
        rarely("topdown", "read", "executing"),
        pytest.param("topdown", "draw", "executing", marks=pytest.mark.law),
        rarely("topdown", "draw", "memory"),
    ],
)
def test_a_killed_worker_does_not_show(cluster, alone, tmp_path, method, task, state):
    client = cluster(2)
    files = split(town(), tmp_path, 7)
    cluster.kill(2, task, state)
    release = publish(
        client, files, method=method, key=kept(), parts=8, **{"contribution": 1, **ONCE}
    )
    assert cluster.killed(2)
    assert sha256(release.table) == alone[method]


def before(table: geodp.CountTable) -> geodp.CountTable:
    """The same place at an earlier time: other counts, and a quarter of the cells are others."""
    rng = np.random.default_rng(9)
    index = table.grid.decode(table.key)
    index[:, rng.random(table.key.size) < 0.25] += 1
    return geodp.CountTable.from_index(table.grid, index, table.count * rng.integers(1, 3))


OTHER = geodp.CountTable.from_dense(np.ones((4, 4), np.int64), geodp.Grid.regular((4, 4)))
PRIOR = {"prior": before(town()), "prior_source": "an earlier census", "epsilon": "1/4"}


@pytest.mark.parametrize("partitions", [rarely(1), 7])
@pytest.mark.parametrize("workers", [rarely(1), 2, rarely(4)])
@pytest.mark.parametrize("terms", [{}, {"rho": "1/50", "epsilon": None}])
@pytest.mark.parametrize("method", ["pyramid", "pyramid:setting=flat"])
def test_a_prior_tells_workers_what_it_tells_one_machine(
    cluster, tmp_path, workers, partitions, terms, method
):
    """All workers together measure one level, or several."""
    terms = {name: value for name, value in {**ONCE, **PRIOR, **terms}.items() if value}
    terms["method"] = method
    whole = geodp.publish(town(), key=kept(), **{"contribution": 1, **terms})
    plain = {name: terms[name] for name in terms if "prior" not in name}
    assert sha256(
        geodp.publish(town(), key=kept(), **{"contribution": 1, **plain}).table
    ) != sha256(whole.table)
    files, told = split(town(), tmp_path, partitions), []
    terms["progress"] = lambda done, of: told.append((done, of))
    release = publish(cluster(workers), files, key=kept(), parts=5, **{"contribution": 1, **terms})
    assert sha256(release.table) == sha256(whole.table)
    assert release.card() == whole.card()
    assert told[-1][0] == told[-1][1] == len(told)
    levels = whole.card().prior.levels
    assert any(one.in_use for one in levels)


@pytest.mark.parametrize(
    ("task", "state"),
    [rarely("look", "memory"), ("add_level", "memory"), rarely("add_level", "executing")],
)
def test_a_killed_worker_does_not_show_in_what_is_learned(cluster, tmp_path, task, state):
    terms = {**ONCE, **PRIOR, "method": "pyramid:setting=flat"}
    whole = geodp.publish(town(), key=kept(), **{"contribution": 1, **terms})
    client, files = cluster(2), split(town(), tmp_path, 3)
    cluster.kill(2, task, state)
    release = publish(client, files, key=kept(), parts=4, **{"contribution": 1, **terms})
    assert cluster.killed(2)
    assert sha256(release.table) == sha256(whole.table)
    assert release.card() == whole.card()


def test_without_a_kept_key_every_release_is_another(cluster, tmp_path):
    files = split(town(), tmp_path, 3)
    found = [publish(cluster(2), files, parts=4, **{"contribution": 1, **ONCE}) for _ in range(2)]
    assert sha256(found[0].table) != sha256(found[1].table)
    assert found[0].event.key_origin == "entropy"


def test_a_mask_and_gaussian_noise(cluster, tmp_path):
    shape = (60, 90)
    inside = np.add.outer(np.arange(60), np.arange(90)) % 50 < 30
    grid = geodp.Grid.regular(shape)
    grid = grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside), "stripes"))
    dense = np.where(inside, 20, 0)
    dense[30:] = 0
    table = geodp.CountTable.from_dense(dense, grid)
    terms = {"rho": "1/2", "delta": "1e-6", "neighbours": "replace-one", "contribution": 3}
    whole = geodp.publish(table, key=kept(), **{"contribution": 1, **terms})
    files = split(table, tmp_path / "some", 3)
    release = publish(cluster(2), files, key=kept(), parts=5, **{"contribution": 1, **terms})
    assert sha256(release.table) == sha256(whole.table)
    assert release.event == whole.event
    assert release.card() == whole.card()


def coded(folder: Path, twice: bool) -> list[Path]:
    """Parquet and CSV with published codes; perhaps with a cell that is in both."""
    codes = [GRID.places[0].format(np.arange(i, i + 9), np.arange(9)) for i in (20, 40)]
    first = pa.table({"GRD_ID": codes[0], "T": np.arange(9)})
    if twice:
        codes[1][3] = codes[0][5]
    rows = "\n".join(f"{code},7" for code in codes[1])
    folder.mkdir(exist_ok=True)
    paths = [folder / "first.parquet", folder / "second.csv"]
    pq.write_table(first, paths[0])
    paths[1].write_text(f"GRD_ID,T\n{rows}\n")
    return paths


def test_tables_with_codes(cluster, tmp_path):
    options = {"grid": GRID, "value": "T", "code": "GRD_ID"}
    paths = coded(tmp_path / "once", twice=False)
    whole = geodp.publish(geodp.read_table(paths, **options), epsilon=1, key=kept(), contribution=1)
    files = Partitions.of_tables(paths, **options)
    assert sha256(
        publish(cluster(2), files, epsilon=1, key=kept(), parts=5, contribution=1).table
    ) == sha256(whole.table)
    paths = coded(tmp_path / "twice", twice=True)
    with refuses(InputError, "cell-repeated-in-rows: second.csv") as found:
        geodp.read_table(paths, **options)
    with refuses(InputError, f"cell-repeated-in-rows: ^{re.escape(str(found.value))}$"):
        publish(
            cluster(2), Partitions.of_tables(paths, **options), epsilon=1, parts=5, contribution=1
        )
    options["duplicates"] = "sum"
    whole = geodp.publish(
        geodp.read_table(paths, **options), key=kept(), **{"contribution": 1, **ONCE}
    )
    files = Partitions.of_tables(paths, **options)
    with refuses(UsageError, "contribution-unstated: --contribution"):
        publish(None, files, epsilon=1, key=kept(), parts=5)
    found = publish(cluster(2), files, key=kept(), parts=5, **{"contribution": 1, **ONCE})
    assert sha256(found.table) == sha256(whole.table)
    assert found.card() == whole.card()


SQUARE = geodp.Grid.regular((64, 64), crs="EPSG:3035", transform=(1, 0, 0, 0, 1, 0))
TRIPS = {"grid": SQUARE, "x": "x", "y": "y"}
BOUNDS = {"person": "id", "cells": 3, "per_cell": 2}


def trips(folder: Path, files: int, records: int = 6_000) -> list[Path]:
    """Records of persons who are in all files, a tenth of them of one person; one file is empty."""
    rng = np.random.default_rng(8)
    folder.mkdir()
    who = rng.integers(0, 400, records) * (rng.random(records) > 0.1)
    x, y = np.clip(rng.normal(32, 6, (2, records)), 0, 63).astype(np.int64) + 0.5
    rows = pa.table({"x": x, "y": y, "id": [f" {'é' * (i % 5)}{i:x}" for i in who]})
    at = np.linspace(0, records, files).astype(np.int64)
    ends = [*at, records]  # the last one has no records
    paths = [folder / f"{number}.parquet" for number in range(files)]
    for path, start, end in zip(paths, ends[:-1], ends[1:], strict=True):
        pq.write_table(rows.slice(start, end - start), path)
    return paths


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("files", [rarely(3), 5])
@pytest.mark.parametrize("workers", [rarely(1), 2, rarely(4)])
def test_persons_in_several_files_are_bounded(
    cluster, tmp_path, monkeypatch, workers, files, method
):
    monkeypatch.setattr("geodp.cluster.run.PERSONS", files + 4)
    paths = trips(tmp_path / "trips", files)
    terms = {"method": method, "epsilon": 1, "key": kept(), "allow_empty": True}
    whole = geodp.publish(geodp.read_points(paths, **TRIPS, **BOUNDS), **terms)
    found = publish(
        cluster(workers),
        Partitions.of_points(paths, **TRIPS, **BOUNDS),
        parts=5,
        **terms,
    )
    assert sha256(found.table) == sha256(whole.table)
    assert found.event.enforced
    assert found.card() == whole.card()
    apart = [geodp.read_points(path, **TRIPS, **BOUNDS).count.sum() for path in paths]
    together = geodp.read_points(paths, **TRIPS, **BOUNDS).count.sum()
    assert sum(apart) > together  # bounded file by file, a person would count several times


@pytest.mark.parametrize(
    ("task", "state"),
    [rarely("read_persons", "memory"), rarely("bound_persons", "memory")],
)
def test_a_killed_worker_does_not_show_in_persons(cluster, tmp_path, task, state):
    client, paths = cluster(2), trips(tmp_path / "trips", 4)
    terms = {"epsilon": 1, "key": kept(), "allow_empty": True}
    whole = geodp.publish(
        geodp.read_points(paths, **TRIPS, **BOUNDS),
        method="pyramid",
        **terms,
    )
    cluster.kill(2, task, state)
    files = Partitions.of_points(paths, **TRIPS, **BOUNDS)
    assert sha256(publish(client, files, parts=4, **terms).table) == sha256(whole.table)
    assert cluster.killed(2)


def test_records_without_persons_need_a_contribution(cluster, tmp_path):
    paths = trips(tmp_path / "trips", 3)
    files = Partitions.of_points(paths, **TRIPS)
    with refuses(UsageError, "contribution-unstated: --person"):
        publish(None, files, epsilon=1)
    terms = {"contribution": 1, "allow_empty": True, "key": kept(), **ONCE}
    whole = geodp.publish(geodp.read_points(paths, **TRIPS), **terms)
    found = publish(cluster(2), files, parts=5, **terms)
    assert sha256(found.table) == sha256(whole.table)
    assert found.card() == whole.card()


@pytest.mark.parametrize("bounds", [BOUNDS, {}])
def test_a_file_without_records_is_refused_by_its_name(cluster, tmp_path, bounds):
    paths = trips(tmp_path / "trips", 3)
    files = Partitions.of_points(paths, **TRIPS, **bounds)
    with refuses(UsageError, r"file-without-rows: 2\.parquet.*Nothing.*charged"):
        publish(cluster(2), files, epsilon=1, **({} if bounds else {"contribution": 1}))


def test_records_that_are_refused(cluster, tmp_path):
    with refuses(UsageError, "cluster-truncates-first"):
        Partitions.of_points("x.csv", **TRIPS, person="id", truncation="sample")
    with refuses(UsageError, "contribution-form: cells"):
        Partitions.of_points("x.csv", **TRIPS, person="id", cells=0)
    paths = trips(tmp_path / "trips", 2)
    pq.write_table(pa.table({"x": [1.5], "y": [1.5], "id": [""]}), paths[1])
    with refuses(
        InputError, r"person-missing: 1.parquet, row \d+: Column id: the person is missing"
    ):
        publish(cluster(2), Partitions.of_points(paths, **TRIPS, **BOUNDS), epsilon=1)


def test_a_ledger_knows_a_replay_from_one_machine(cluster, tmp_path):
    ledger = Ledger.create(tmp_path / "office.ledger")
    ledger.add_dataset("census", PureDP(Fraction(1)))
    key = geodp.NoiseKey.from_file(keep(tmp_path / "key"))
    spent = {"epsilon": "3/4", "contribution": 1, "ledger": ledger, "dataset": "census"}
    whole = geodp.publish(town(), key=key, **{"contribution": 1, **spent})
    files = split(town(), tmp_path / "files", 2)
    release = publish(cluster(2), files, parts=4, key=key, **{"contribution": 1, **spent})
    assert sha256(release.table) == sha256(whole.table)
    with pytest.raises(BudgetError):
        publish(cluster(2), files, parts=4, **{"contribution": 1, **spent})
    with refuses(UsageError, "sample-tells-who"):
        publish(
            cluster(2),
            files,
            parts=4,
            records="same-sample",
            **{"contribution": 1, **{**spent, "epsilon": "1/8"}},
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "laplace"}, "partitions-need-tree"),
        ({"parts": 0}, "parts-below-1"),
        ({"epsilon": 0}, r"budget-number-not-positive: ^epsilon\b"),
        ({"contribution": 0}, "option-out-of-range"),
        ({**PRIOR, "prior_source": None}, "prior-source-missing"),
        ({**PRIOR, "prior": None}, "source-without-prior"),
        ({**PRIOR, "prior": OTHER}, "prior-of-other-grid"),
        ({**PRIOR, "method": "topdown"}, "prior-needs-pyramid"),
    ],
)
def test_calls_that_are_refused_before_anything_runs(tmp_path, change, message):
    files = split(town(100), tmp_path, 2)
    with refuses(UsageError, message):
        publish(None, files, **{"contribution": 1, **{**ONCE, **change}})
    with refuses(UsageError, "partitions-expected"):
        publish(None, files.paths, epsilon=1, contribution=1)


def test_files_that_are_refused(cluster, tmp_path):
    files = split(town(100), tmp_path, 2)
    with refuses(InputError, "file-twice"):
        Partitions.of_keys([files.paths[0], files.paths[0]], grid=GRID)
    with refuses(InputError, "file-unreadable"):
        Partitions.of_keys("/no/such/file", grid=GRID)
    os.utime(files.paths[1], ns=(1, 1))
    with refuses(InputError, "file-changed: 1.parquet:"):
        publish(cluster(2), files, **{"contribution": 1, **ONCE})
    bad = tmp_path / "bad.parquet"
    pq.write_table(pa.table({"key": [1, 2**40], "count": [1, 1]}), bad)
    with refuses(InputError, "key-no-cell: bad.parquet, row 2: The key is no cell"):
        publish(cluster(2), Partitions.of_keys(bad, grid=GRID), **{"contribution": 1, **ONCE})
    pq.write_table(pa.table({"key": [1, 2], "count": [1, None]}), bad)
    with refuses(InputError, "key-or-count-missing"):
        publish(cluster(2), Partitions.of_keys(bad, grid=GRID), **{"contribution": 1, **ONCE})


def labelled(sizes, attributes):
    grid = geodp.Grid.regular((30, 40)).with_attribute("sex", ["x", "y", "z"])
    grid = grid.with_attribute_order(attributes)
    dense = np.random.default_rng(4).integers(0, sizes, grid.shape)
    dense[..., 0] = dense[..., 1] + dense[..., 2]
    return grid, dense


@pytest.mark.parametrize("attributes", ["below", "above"])
def test_a_sum_in_every_cell_is_found_across_ranges(cluster, tmp_path, attributes, recwarn):
    grid, dense = labelled(9, attributes)
    total = split(geodp.CountTable.from_dense(dense, grid), tmp_path / "total", 3)
    with refuses(UsageError, r"contribution-below-sums-found: \bx\b \(sex\):.*every cell.*\bsum\b"):
        publish(cluster(2), total, parts=5, **{"contribution": 1, **ONCE})
    dense[0, 0, 0] += 1
    dense[29, 39, 0] -= 1  # sums over all cells stay equal
    assert dense.min() == 0
    table = geodp.CountTable.from_dense(dense, grid)
    release = publish(
        cluster(2),
        split(table, tmp_path / "parts", 3),
        parts=5,
        key=kept(),
        **{"contribution": 1, **ONCE},
    )
    alone = geodp.publish(table, method="pyramid", key=kept(), **{"contribution": 1, **ONCE})
    assert release.card() == alone.card()
    said = [w.filename for w in recwarn if "small labels" in str(w.message)]
    assert said == ([__file__] * 3 if attributes == "below" else [])  # once for every call
    assert SUMS in release.public_facts


def test_an_empty_input_is_refused_before_the_charge(cluster, tmp_path):
    paths = coded(tmp_path / "some", twice=False)
    options = {"grid": GRID, "value": "T", "code": "GRD_ID", "where": {"T": 1000}}
    files = Partitions.of_tables(paths, **options)
    ledger = Ledger.create(tmp_path / "office.ledger")
    ledger.add_dataset("census", PureDP(Fraction(1)))
    spent = {"epsilon": 1, "ledger": ledger, "dataset": "census", "parts": 3}
    with refuses(UsageError, "input-none-selected: allow_empty"):
        publish(cluster(2), files, **{"contribution": 1, **spent})
    assert ledger.charges("census") == ()
    release = publish(cluster(2), files, allow_empty=True, **{"contribution": 1, **spent})
    assert ROWS_FACT not in release.public_facts
    rows = Partitions.of_tables(paths[:1], **{**options, "where": {"T": 0}})
    counted = publish(cluster(2), rows, epsilon=1, parts=3, contribution=1)  # a row, of nobody
    assert counted.public_facts == (ROWS_FACT,)
