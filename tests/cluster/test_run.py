"""Where a file ends follows from noisy totals, and heavy ranges begin first."""

from itertools import accumulate

import numpy as np
import pyarrow.parquet as pq
import pytest

import geodp
from geodp.cluster.api import publish, write
from geodp.cluster.partitions import TopDownPartition, partition_of
from geodp.cluster.run import LIGHTEST, Run
from geodp.mechanisms import mechanism
from geodp.mechanisms.trees.layer import Roots
from geodp.privacy.terms import Terms
from geodp.table.counts import coalesce
from tests.cluster.tables import GRID, ONCE, kept, split, town

# It takes that long on no machine; some are busy.
pytestmark = [pytest.mark.law, pytest.mark.timeout(900)]

PARTS = 6


def mirrored(table: geodp.CountTable) -> geodp.CountTable:
    """As many people, but the town lies elsewhere."""
    index = np.array(GRID.shape)[:, None] - 1 - table.grid.decode(table.key)
    return geodp.CountTable.from_index(GRID, index, table.count)


def totals_of(key, count, stride: int) -> Roots:
    """Totals of nodes of a cut, as the driver could have them of any table."""
    return Roots.of_counts(*coalesce(key // np.uint64(stride), count))


def starts(ranges: list[Roots]) -> list[int]:
    return [int(some.prefix[0]) for some in ranges]


@pytest.mark.parametrize("truly", [False, True])
def test_true_totals_do_not_decide_where_a_range_ends(cluster, tmp_path, monkeypatch, truly):
    """Cuts of two towns with the same noisy totals; the control cuts by true ones."""
    seen, real = [], Run._redivide
    noisy = {}

    def watch(run, shelves, roots):
        seen.append(starts(roots))
        return real(run, shelves, roots)

    def above(cut, totals, key):
        if truly:
            return totals_of(totals.key, totals.count, cut.stride)
        return noisy.setdefault("once", totals_of(town().key, town().count, cut.stride))

    monkeypatch.setattr(Run, "_redivide", watch)
    monkeypatch.setattr(TopDownPartition, "above", above)
    for number, table in enumerate([town(), mirrored(town())]):
        files = split(table, tmp_path / str(number), 2)
        publish(cluster(2), files, method="topdown", parts=PARTS, **ONCE)
    assert len(seen[0]) == PARTS
    assert (seen[0] == seen[1]) == (not truly)


@pytest.mark.parametrize("spec", ["topdown", "pyramid:passes=1"])
def test_the_released_table_tells_where_its_files_end(cluster, tmp_path, spec):
    """Without a second pass noisy totals are sums of released cells; true totals cut elsewhere."""
    method, files = mechanism(spec), split(town(), tmp_path / "files", 3)
    terms = {**ONCE, "epsilon": "1/50"}  # little enough for true totals to be others
    write(cluster(2), files, tmp_path / "out", **terms, method=spec, key=kept(), parts=PARTS)
    whole = geodp.publish(town(), method=spec, key=kept(), **terms).table
    event = method.event(GRID, Terms.of(**terms))
    stride = partition_of(method, GRID, event).stride
    parts = sorted((tmp_path / "out" / "public" / "population.parquet").iterdir())
    ends = [0, *accumulate(pq.read_metadata(part).num_rows for part in parts)]

    def expected(table) -> list[int]:
        first = starts(totals_of(table.key, table.count, stride).divide(PARTS))
        keys = np.array(first[1:], np.uint64) * np.uint64(stride)
        return [0, *np.searchsorted(whole.key, keys).tolist(), whole.key.size]

    assert ends == expected(whole)
    assert ends != expected(town())


def test_heavy_ranges_begin_first_and_cells_of_all_shelves_are_found(
    cluster, tmp_path, monkeypatch
):
    """Also where a shelf has several ranges, and a range several shelves."""
    sent, shelved, real = [], [], Run._each

    def watch(run, function, *columns, **more):
        if function.__name__ == "begin":
            sent.append((more["order"], [int(some.count.sum()) for some in columns[2]]))
            shelved.extend(map(len, columns[1]))
        return real(run, function, *columns, **more)

    monkeypatch.setattr(Run, "_each", watch)
    index = np.array([[3, 3, 3, 480], [5, 150, 300, 590]])
    corner = geodp.CountTable.from_index(GRID, index, np.array([9000, 8000, 7000, 200]))
    several = geodp.CountTable.from_keys(
        GRID,
        np.concatenate([town().key, corner.key]),
        np.concatenate([town().count, corner.count]),
    )
    files = split(several, tmp_path / "files", 3)
    release = publish(cluster(2), files, key=kept(), parts=20, **ONCE)
    [(order, weights)] = sent
    assert sorted(order) == [*range(len(weights))]
    assert [weights[i] for i in order] == sorted(weights, reverse=True)
    assert max(shelved) > 1
    assert sum(shelved) > len(shelved)
    alone = geodp.publish(several, key=kept(), **ONCE).table
    assert release.table.key.tolist() == alone.key.tolist()
    assert release.table.count.tolist() == alone.count.tolist()


def test_few_people_are_in_few_ranges_unless_somebody_chooses(cluster, tmp_path):
    files, out = split(town(), tmp_path / "files", 3), tmp_path / "out"
    counts = {}
    for name, chosen in {"default": {}, "chosen": {"parts": 12}}.items():
        card = write(cluster(2), files, out / name, **ONCE, key=kept(), **chosen)
        rows = [one.extras["rows"] for one in card.files if one.name.endswith(".parquet")]
        counts[name] = len(rows), sum(rows)
    people = geodp.publish(town(), key=kept(), **ONCE).table.count.sum()
    assert people // LIGHTEST - 1 <= counts["default"][0] <= people // LIGHTEST + 1
    assert counts["chosen"] == (12, counts["default"][1])
