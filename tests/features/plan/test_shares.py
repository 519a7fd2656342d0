"""Planned budgets against brute force on small trees."""

import numpy as np
import pytest

import geodp
from geodp.accuracy.variance import TreeVariance, from_below
from geodp.features.plan.shares import (
    MIN_PARTS,
    PARTS,
    best_ratio,
    best_sum,
    chains,
    minimise_ratio,
    minimise_sum,
)
from geodp.mechanisms import mechanism


def simplex(levels, parts=60):
    """All shares of a budget in 60ths, none 0."""
    grid = np.indices((parts + 1,) * (levels - 1)).reshape(levels - 1, -1)
    last = parts - grid.sum(axis=0)
    every = np.vstack([grid, last])
    return every[:, (every > 0).all(axis=0)].T / parts


def block_variances(steps, shares, *, gaussian):
    """Variances of aligned blocks for a budget of 1; the shares of n alternatives at once."""
    own = 1 / shares if gaussian else 2 / shares**2
    fanouts = tuple(1 << step for step in steps)
    return TreeVariance(fanouts, from_below(fanouts, tuple(own))).blocks()


WEIGHTS = [1.0, 0.0, 0.0, 0.0, 3.0]
TARGETS = np.sqrt(2 * 2.0 ** np.arange(4, -1, -1)) * [4, 3, 2, 1, 2]


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("steps", [(2, 2), (1, 3), (4,)])
def test_weighted_sums_are_as_small_as_by_brute_force(steps, gaussian):
    found = minimise_sum(steps, WEIGHTS, gaussian=gaussian)
    variances = [block_variances(steps, s, gaussian=gaussian) for s in simplex(len(steps) + 1)]
    assert found.value <= 1.01 * min(float(np.dot(WEIGHTS, v)) for v in variances)


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("steps", [(2, 2), (1, 3), (4,)])
def test_largest_ratios_are_as_small_as_by_brute_force(steps, gaussian):
    found = minimise_ratio(steps, TARGETS, gaussian=gaussian)
    variances = [block_variances(steps, s, gaussian=gaussian) for s in simplex(len(steps) + 1)]
    assert found.value <= 1.01 * min(float(np.sqrt((v / TARGETS**2).max())) for v in variances)


def test_the_best_chain_is_no_worse_than_any_chain():
    every = [minimise_ratio(chain, TARGETS) for chain in chains(4)]
    assert best_ratio(4, TARGETS).value <= 1.01 * min(s.value for s in every)
    every = [minimise_sum(chain, WEIGHTS) for chain in chains(4)]
    assert best_sum(4, WEIGHTS).value <= 1.01 * min(s.value for s in every)


def test_chains_split_all_bits():
    for bits in (1, 2, 5, 18, 37):
        found = list(chains(bits))
        assert all(sum(chain) == bits for chain in found)
        assert len(found) == len(set(found))


def test_shares_are_all_of_the_budget_and_a_spec():
    found = minimise_sum((2, 2), WEIGHTS)
    assert sum(found.parts) == 10_000
    assert found.spec.startswith("pyramid:chain=2-2,shares=")
    assert mechanism(found.spec).unsupported(geodp.Grid.regular((4, 4))) is None


def test_laplace_on_every_cell_is_met_by_a_chain_of_one_level():
    targets = np.sqrt(2 * 2.0 ** np.arange(6, -1, -1))
    found = best_ratio(6, targets)
    assert found.parts == (MIN_PARTS, PARTS - MIN_PARTS)
    assert found.value < 1.0205  # 50/49: what the root has is missing below


def test_gaussian_noise_wants_few_children():
    flat = np.ones(13)
    assert max(best_ratio(12, flat, gaussian=True).steps) <= 2
    assert max(best_ratio(12, flat).steps) >= 3
