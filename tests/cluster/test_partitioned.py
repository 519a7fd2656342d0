"""Top and subtrees, refined apart and put together, are the release of one machine."""

import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from geodp.cluster import partitions
from geodp.errors import UsageError
from geodp.grid.coarsen import Coarsening
from geodp.grid.grid import Grid
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.mechanisms import mechanism
from geodp.mechanisms.trees.informed import state
from geodp.mechanisms.trees.layer import fill_counts
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import Terms
from geodp.table.counts import Cells, CountTable, coarsen
from geodp.table.prior import Prior
from tests.refusals import refuses

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


def prior_of(table: CountTable) -> Prior:
    """A prior of an earlier time: a third of its cells differ, and counts have changed."""
    rng = np.random.default_rng(11)
    then = table_on(table.grid, people=2000)
    count = np.maximum(then.count * rng.integers(0, 3, then.count.size), 1)
    return Prior(table.grid, then.key, count, 1, "an earlier table")


def learned(table: CountTable, cut, ranges: list, begun: list, totals: Cells, key: NoiseKey):
    """Subtrees with all levels, and what was learned on the way, as the cluster does it."""
    found = [*cut.learn_above(totals, key)]
    for level in cut.learns:
        seen = [cut.look(cells, one, key) for cells, one in zip(ranges, begun, strict=True)]
        found.append(cut.learn(level, pickle.loads(pickle.dumps(seen))))
        told = pickle.loads(pickle.dumps(found[-1].reliability))
        for _ in range(2):  # a task that runs again finds the same
            some = [cut.open(*each, told, key) for each in zip(ranges, begun, strict=True)]
        begun = pickle.loads(pickle.dumps(some))
    return begun, found


def taken_apart(table: CountTable, cut, parts: int):
    """As the cluster does it, here; and what was learned of a prior."""
    key = NoiseKey(SECRET)
    stride = np.uint64(cut.stride)
    node, first = np.unique(table.key // stride, return_index=True)
    total = np.add.reduceat(table.count, first) if node.size else np.zeros(0, np.int64)
    totals = Cells(table.grid, node * stride, total)
    top, nodes = cut.above(totals, key), cut.nodes()
    assert np.isin(top.prefix, nodes).all()
    roots = top.divide(parts)
    last = int(nodes[-1]) + 1
    bounds = [0, *(int(some.prefix[0]) for some in roots[1:]), last]
    begun, ranges, told = [], [], []
    for (a, b), some in zip(pairwise(bounds), roots, strict=True):
        here = (table.key // stride >= a) & (table.key // stride < b)
        ranges.append(Cells(table.grid, table.key[here], table.count[here]))
        below = cut.below(ranges[-1], some, key)
        begun.append(pickle.loads(pickle.dumps(below)))
    if isinstance(cut, partitions.InformedPartition):
        begun, told = learned(table, cut, ranges, begun, totals, key)
    count = top.count
    if cut.two_passes:
        estimates = [(found.roots.z, found.roots.variance) for found in begun]
        columns = [np.concatenate(column) for column in zip(*estimates, strict=True)]
        count = fill_counts(top, cut.improve(totals, key, *columns))
    ends = np.cumsum([found.roots.prefix.size for found in begun])[:-1]
    for _ in range(2):  # a task that runs again finds the same
        found = [cut.finish(*each) for each in zip(begun, np.split(count, ends), strict=True)]
    return *(np.concatenate(column) for column in zip(*found, strict=True)), told


@pytest.mark.parametrize("most_roots", [1, 40, 1 << 17])
@pytest.mark.parametrize("spec", ["pyramid", "pyramid:passes=1", "pyramid:prune=2", "topdown"])
@pytest.mark.parametrize("name", GRIDS)
def test_the_parts_are_the_whole(name, spec, most_roots, monkeypatch):
    monkeypatch.setattr(partitions, "MAX_ROOTS", most_roots)
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
        cut = partitions.partition_of(method, grid, use)
        assert cut.nodes().size <= most_roots
        for parts in {1, min(5, cut.nodes().size)}:
            key, count, _ = taken_apart(table, cut, parts)
            assert (key.tolist(), count.tolist()) == (whole.key.tolist(), whole.count.tolist())
    assert whole.key.size


@pytest.mark.parametrize("most_roots", [1, 40, 1 << 14])
@pytest.mark.parametrize("spec", ["pyramid", "pyramid:passes=1", "pyramid:prune=2"])
@pytest.mark.parametrize("name", GRIDS)
def test_the_parts_are_the_whole_with_a_prior(name, spec, most_roots, monkeypatch):
    monkeypatch.setattr(partitions, "MAX_ROOTS", most_roots)
    grid, method = GRIDS[name], mechanism(spec)
    table = table_on(grid)
    prior = prior_of(table)
    for epsilon, rho in [(1, None), (None, 2)] if most_roots == 40 else [(Fraction(1, 4), None)]:
        use = Measurement.of(
            spec,
            Terms.of(epsilon=epsilon, rho=rho, contribution=1),
            method.sensitivity(grid),
            "fixed",
        )
        whole, stated = method.release_informed(table, use, NoiseKey(SECRET), prior)
        cut = partitions.partition_of(method, grid, use, prior)
        for parts in {1, min(5, cut.nodes().size)}:
            key, count, told = taken_apart(table, cut, parts)
            assert (key.tolist(), count.tolist()) == (whole.key.tolist(), whole.count.tolist())
            assert state(prior, tuple(told)) == stated
    plain = method.release(table, use, NoiseKey(SECRET))
    informs = any(level.in_use for level in stated.levels)
    assert informs == (
        (whole.key.tolist(), whole.count.tolist()) != (plain.key.tolist(), plain.count.tolist())
    )


def test_a_prior_of_larger_cells_than_the_cut(monkeypatch):
    """Below its cells nothing is predicted, whoever draws."""
    monkeypatch.setattr(partitions, "MAX_ROOTS", 1 << 14)
    grid = Grid.regular((128, 128))
    table = table_on(grid)
    then = coarsen(table_on(grid, 2000), Coarsening.by_digits(grid, 4))
    prior, method = Prior.of(grid, then, "blocks"), mechanism("pyramid")
    use = Measurement.of("pyramid", Terms.of(epsilon=1, contribution=1), 1, "fixed")
    whole, stated = method.release_informed(table, use, NoiseKey(SECRET), prior)
    for most in (1, 64, 1 << 14):
        monkeypatch.setattr(partitions, "MAX_ROOTS", most)
        cut = partitions.partition_of(method, grid, use, prior)
        key, count, told = taken_apart(table, cut, min(5, cut.nodes().size))
        assert (key.tolist(), count.tolist()) == (whole.key.tolist(), whole.count.tolist())
        assert state(prior, tuple(told)) == stated
    with refuses(UsageError, "prior-needs-pyramid"):
        partitions.partition_of(mechanism("topdown"), grid, use, prior)


def test_nobody_at_all():
    grid = GRIDS["map"]
    table = CountTable.from_keys(grid, np.zeros(0, np.uint64), np.zeros(0, np.int64))
    for spec in ("pyramid", "topdown"):
        method = mechanism(spec)
        most = method.sensitivity(grid)
        use = Measurement.of(spec, Terms.of(epsilon=1, contribution=1), most, "fixed")
        whole = method.release(table, use, NoiseKey(SECRET))
        key, count, _ = taken_apart(table, partitions.partition_of(method, grid, use), 3)
        assert (key.tolist(), count.tolist()) == (whole.key.tolist(), whole.count.tolist())


def test_other_methods_are_refused():
    use = Measurement.of("laplace", Terms.of(epsilon=1, contribution=1), 1, "fixed")
    with refuses(UsageError, "partitions-need-tree"):
        partitions.partition_of(mechanism("laplace"), GRIDS["map"], use)
