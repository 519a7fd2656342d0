"""Top and subtrees, refined apart and put together, are the release of one machine."""

import pickle
from itertools import pairwise

import numpy as np
import pytest

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.mechanisms import mechanism
from geodp.mechanisms.central import partitioned
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import Terms
from geodp.table.counts import Cells, CountTable

SECRET = bytes(range(32))


def masked() -> Grid:
    grid = Grid.regular((60, 90))
    inside = np.add.outer(np.arange(60), np.arange(90)) % 50 < 30
    return grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside), "stripes"))


GRIDS = {
    "map": Grid.regular((100, 77)),
    "one cell": Grid.regular((1, 1)),
    "masked": masked(),
    "attributes": Grid.regular((40, 30)).with_attribute("age", ["0", "1", "2"]),
    "pairs": Grid.regular((12, 9)).pairs(),
    "official": Grid.mesh("jis:half", bounds=(138, 35, 139, 36)).with_official_order(),
    "huge": Grid.regular((1 << 31, 1 << 31)),
}


def table_on(grid: Grid, people: int = 3000) -> CountTable:
    rng = np.random.default_rng(7)
    size = np.array(grid.shape)[:, None]
    index = (rng.beta(2, 5, (len(grid.shape), people)) * size).astype(np.int64)
    index = index[:, grid.contains(index)]
    return CountTable.from_index(grid, index, rng.integers(1, 9, index.shape[1]))


def taken_apart(table: CountTable, cut, parts: int):
    """As the cluster does it, here."""
    key = NoiseKey(SECRET)
    stride = np.uint64(cut.stride)
    node, first = np.unique(table.key // stride, return_index=True)
    total = np.add.reduceat(table.count, first) if node.size else np.zeros(0, np.int64)
    totals = Cells(table.grid, node * stride, total)
    top, nodes = cut.above(totals, key), cut.nodes()
    assert np.isin(top.prefix, nodes).all()
    last = int(nodes[-1]) + 1
    bounds = [0, *(int(nodes[nodes.size * i // parts]) for i in range(1, parts)), last]
    begun = []
    for a, b in pairwise(bounds):
        here = (table.key // stride >= a) & (table.key // stride < b)
        cells = Cells(table.grid, table.key[here], table.count[here])
        begun.append(pickle.loads(pickle.dumps(cut.below(cells, top.between(a, b), key))))
    count = top.count
    if cut.two_passes:
        estimates = [(found.roots.z, found.roots.variance) for found in begun]
        columns = [np.concatenate(column) for column in zip(*estimates, strict=True)]
        count = partitioned.fill_counts(top, cut.improve(totals, key, *columns))
    ends = np.cumsum([found.roots.prefix.size for found in begun])[:-1]
    for _ in range(2):  # a task that runs again finds the same
        found = [cut.finish(*each) for each in zip(begun, np.split(count, ends), strict=True)]
    return [np.concatenate(column) for column in zip(*found, strict=True)]


@pytest.mark.parametrize("most_roots", [1, 40, 1 << 14])
@pytest.mark.parametrize("spec", ["pyramid", "pyramid:passes=1", "pyramid:prune=2", "topdown"])
@pytest.mark.parametrize("name", GRIDS)
def test_the_parts_are_the_whole(name, spec, most_roots, monkeypatch):
    monkeypatch.setattr(partitioned, "MOST_ROOTS", most_roots)
    grid, method = GRIDS[name], mechanism(spec)
    if method.unsupported(grid):
        pytest.skip(method.unsupported(grid))
    table = table_on(grid)
    sensitivity = method.sensitivity(grid)
    budgets = [(1, None), (None, 2)] if most_roots == 40 else [(1, None)]
    for epsilon, rho in budgets:
        use = Measurement.of(
            spec, Terms.of(epsilon=epsilon, rho=rho, contribution=1), sensitivity, "fixed"
        )
        whole = method.release(table, use, NoiseKey(SECRET))
        cut = partitioned.partition_of(method, grid, use)
        assert cut.nodes().size <= most_roots
        for parts in {1, min(5, cut.nodes().size)}:
            key, count = taken_apart(table, cut, parts)
            assert (key.tolist(), count.tolist()) == (whole.key.tolist(), whole.count.tolist())
    assert whole.key.size


def test_nobody_at_all():
    grid = GRIDS["map"]
    table = CountTable.from_keys(grid, np.zeros(0, np.uint64), np.zeros(0, np.int64))
    for spec in ("pyramid", "topdown"):
        method = mechanism(spec)
        most = method.sensitivity(grid)
        use = Measurement.of(spec, Terms.of(epsilon=1, contribution=1), most, "fixed")
        whole = method.release(table, use, NoiseKey(SECRET))
        key, count = taken_apart(table, partitioned.partition_of(method, grid, use), 3)
        assert (key.tolist(), count.tolist()) == (whole.key.tolist(), whole.count.tolist())


def test_other_methods_are_refused():
    use = Measurement.of("laplace", Terms.of(epsilon=1, contribution=1), 1, "fixed")
    with pytest.raises(UsageError, match="pyramid or topdown, not with laplace"):
        partitioned.partition_of(mechanism("laplace"), GRIDS["map"], use)
