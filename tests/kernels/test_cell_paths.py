"""Paths of many cells walked together tell of each what its own path tells."""

import numpy as np
import pytest

import geodp
from geodp.accuracy.cell_interval import cell_intervals
from geodp.accuracy.closed_form import keys_of_domain
from geodp.accuracy.interval import LAPLACE_Z, SKEWED_Z, Z
from geodp.accuracy.isolation_depth import FEW
from geodp.accuracy.margins import AROUND, CHILDREN, SHARES
from geodp.accuracy.reach import RegionKeys, strength
from geodp.mechanisms import mechanism
from geodp.privacy.terms import Terms
from geodp.table.counts import ReleasedTable
from tests.grids import FORMS
from tests.reference import cell_interval as reference

METHODS = ["pyramid", "pyramid:passes=1,setting=flat", "topdown"]
BUDGETS = [{"epsilon": "0.3"}, {"rho": "1/20"}]
MEANS = [0, 0.05, 5, 200]
CASES = [  # all pairs: the number of the form turns what it meets
    pytest.param(form, METHODS[(n + i) % 3], BUDGETS[i // 2], MEANS[(n + i) % 4], id=f"{form}-{i}")
    for n, form in enumerate(FORMS)
    for i in range(4)
]


def released(grid, mean, seed):
    """Few cells with many people, more with some, most with nobody; nobody at all for 0."""
    rng = np.random.default_rng(seed)
    key = np.sort(keys_of_domain(grid))
    count = rng.poisson(mean, key.size) * (rng.random(key.size) < 0.3)
    count *= 1 + 20 * (rng.random(key.size) < 0.1)
    return key[count > 0], count[count > 0]


def intervals_of(grid, key, count, method, budget):
    row = mechanism(method)
    event = row.event(grid, Terms.of(**budget, contribution=1), key_origin="fixed")
    return cell_intervals(row, ReleasedTable(grid, key, count, event), None)


@pytest.mark.parametrize(("form", "method", "budget", "mean"), CASES)
def test_ends_are_those_of_the_definition(form, method, budget, mean):
    grid = FORMS[form]
    if mechanism(method).unsupported(grid) is not None:
        pytest.skip("takes no such grid")
    key, count = released(grid, mean, 1)
    intervals = intervals_of(grid, key, count, method, budget)
    domain = np.sort(keys_of_domain(grid))
    low, high = intervals.of(domain)
    classes = intervals.classes(domain)
    own = intervals.tree
    tree = own.fanouts, own.variances, own.fourths or (0.0,) * len(own.variances)
    strong = float(strength(own, RegionKeys.of([domain[:1]]), intervals.gaussian)[0])
    counts = dict(zip(key.tolist(), count.tolist(), strict=True))
    alone = intervals.isolated
    known = None if alone is None else (alone["bias"], alone["rmse"]), intervals.losses
    margins = [
        [*side.reshape(-1).tolist(), np.inf]
        for side in (intervals.margins.down, intervals.margins.up)
    ]
    keys = domain.tolist()
    for i in np.random.default_rng(2).choice(domain.size, min(25, domain.size), replace=False):
        path = reference.walk(keys[i], counts, keys, tree, strong)
        bounds = SHARES, CHILDREN, AROUND, FEW
        kind = reference.class_of(keys[i], counts, keys, tree, bounds)
        assert classes[i] == kind
        z = Z, LAPLACE_Z, SKEWED_Z
        bottom, top = reference.interval(path, kind, known, margins, z)
        assert high[i] == top
        if np.isfinite(margins[1][kind]):
            assert low[i] == bottom
        else:
            least = reference.low_if_isolated(keys[i], counts, tree, FEW, z)
            assert low[i] == pytest.approx(min(bottom, least), rel=1e-12, abs=1e-9)


def test_any_order_and_any_choice_of_cells_give_the_same_ends(monkeypatch):
    grid = geodp.Grid.regular((50, 37))
    key, count = released(grid, 5, 3)
    intervals = intervals_of(grid, key, count, "topdown", {"epsilon": 1})
    domain = np.sort(keys_of_domain(grid))
    whole = np.stack(intervals.of(domain))
    chosen = np.random.default_rng(4).integers(0, domain.size, 500)
    np.testing.assert_array_equal(np.stack(intervals.of(domain[chosen])), whole[:, chosen])
    monkeypatch.setattr("geodp.accuracy.cell_interval.AT_ONCE", 7)
    np.testing.assert_array_equal(np.stack(intervals.of(domain)), whole)


def count_work(bits, cells):
    """Nodes looked at and states made for a cell, of cells that lie apart."""
    grid = geodp.Grid.regular((1 << bits // 2, 1 << bits // 2))
    rng = np.random.default_rng(5)
    key = np.unique(rng.integers(0, 1 << bits, cells).astype(np.uint64))
    intervals = intervals_of(grid, key, rng.zipf(1.5, key.size), "topdown", {"epsilon": 1})
    visited = 0
    for _, _, _, nodes in intervals.climb_paths(key):
        visited += nodes
    return visited / key.size


def test_a_cell_that_is_alone_costs_no_node_on_the_way():
    """Nodes that several cells share, about two a cell, whatever the height of the tree."""
    assert count_work(24, 3000) < 3
    assert count_work(48, 3000) < 3
