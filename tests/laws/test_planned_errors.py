"""A plan's standard errors are those of its releases, whatever the levels and shares.

Ten random pyramids on a map with so many people everywhere that nothing is clamped; keys are
fixed. Blocks of which there are enough must lie within 2 % of the plan, all within five standard
errors.
"""

import numpy as np
import pytest

import geodp
from geodp.mechanisms import mechanism
from geodp.privacy.key import NoiseKey
from geodp.tools.plan.plan import plan

pytestmark = pytest.mark.law

GRID = geodp.Grid.regular((64, 64))
PEOPLE = 1_000_000
TRIALS = 200
LEAST = 200
"""Parts, of 10,000 of the budget, that every level gets: 2 %."""

SURE = 0.007
"""Relative standard error below which 2 % is a test."""


def random_spec(seed):
    """Levels of 1 to 5 bits and shares, drawn at random."""
    draw = np.random.default_rng(seed)
    steps = []
    while sum(steps) < GRID.bits:
        steps.append(int(draw.integers(1, min(5, GRID.bits - sum(steps)) + 1)))
    levels = len(steps) + 1
    parts = LEAST + draw.multinomial(10_000 - LEAST * levels, draw.dirichlet(np.ones(levels)))
    chain, shares = ("-".join(map(str, row)) for row in (steps, parts))
    return f"pyramid:chain={chain},shares={shares}"


def measured_over_planned(spec, budget, trials=TRIALS):
    """Ratio of standard errors by block size, and its standard error: float64[2, 13]."""
    planned = plan(GRID, spec, **budget)
    table = geodp.CountTable.from_dense(np.full(GRID.shape, PEOPLE), GRID)
    squares = np.zeros((trials, GRID.bits + 1))
    for trial in range(trials):
        key = NoiseKey(trial.to_bytes(32, "little"))
        released = mechanism(spec).release(table, planned.event, key)
        error = released.to_vector().astype(float) - PEOPLE
        for shift in range(GRID.bits + 1):
            squares[trial, shift] = np.mean(error**2)
            error = error.reshape(-1, 2).sum(axis=1) if error.size > 1 else error
    variance = np.array([block.standard_error for block in planned.blocks]) ** 2
    ratio = np.sqrt(squares.mean(axis=0) / variance)
    spread = squares.std(axis=0, ddof=1) / np.sqrt(trials) / variance
    return ratio, spread / (2 * ratio)


@pytest.mark.parametrize("seed", range(10))
def test_random_plans_keep_what_they_promise(seed):
    ratio, error = measured_over_planned(random_spec(seed), {"epsilon": "0.1"})
    sure = error < SURE
    assert sure.sum() >= 4  # cells and the blocks above them at least
    assert np.abs(ratio[sure] - 1).max() < 0.02
    assert (np.abs(ratio - 1) / error).max() < 5


@pytest.mark.parametrize("method", ["pyramid", "topdown"])
def test_so_do_plans_of_gaussian_noise(method):
    budget = {"epsilon": "0.1", "delta": "1e-6"}
    ratio, error = measured_over_planned(method, budget, trials=2 * TRIALS)
    sure = error < SURE
    assert sure.sum() >= 6
    assert np.abs(ratio[sure] - 1).max() < 0.02
    assert (np.abs(ratio - 1) / error).max() < 5


def test_a_wrong_promise_is_caught():
    """A plan that weighs the cells by 11 where the release weighs them by 10 is found out."""
    right, wrong = (f"pyramid:chain=4-4-4,shares=30-30-30-{share}" for share in (10, 11))
    table = measured_over_planned(right, {"epsilon": "0.1"}, trials=20)
    promised = plan(GRID, wrong, epsilon="0.1").blocks[0].standard_error
    kept = plan(GRID, right, epsilon="0.1").blocks[0].standard_error
    assert abs(table[0][0] * kept / promised - 1) > 0.02 + 5 * table[1][0]
