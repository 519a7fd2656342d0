"""Tree protocols: unbiased, of the stated variance, covered by their intervals, over many runs."""

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.local.coins import Coins
from geodp.local.protocols import protocol
from geodp.release.release import Release

pytestmark = pytest.mark.law

SPECS = ["haar", "haar:weights=1-2-3-4", "counts:chain=2-2", "counts:chain=4", "counts:chain=1-3"]


def released(method, grid, key, epsilon):
    oracles = method.oracles(grid, epsilon)
    state = method.aggregate(oracles, method.randomize(oracles, key, Coins()))
    return method.refine(grid, method.event(epsilon, reports=key.size), state)


def spread_evenly(n, keys):
    return (np.arange(n) % keys).astype(np.uint64)


@pytest.mark.parametrize("spec", SPECS)
def test_cells_are_unbiased_and_have_the_stated_variance(spec):
    """Where nothing is clamped, on cells with the same number of people."""
    method, grid, epsilon = protocol(spec), Grid.regular((4, 4)), Fraction(1)
    runs, n = 300, 60_000
    key = spread_evenly(n, 16)
    errors = np.empty((runs, 16))
    for run in range(runs):
        table = released(method, grid, key, epsilon)
        errors[run] = table.to_dense().reshape(-1)[:16] - n / 16
    event = method.event(epsilon, reports=n)
    stated = method.tree_variance(grid, event).nodes()[-1]
    assert n / 16 > 4 * sqrt(stated)
    mean = errors.mean(axis=0)
    assert np.abs(mean).max() < 5 * sqrt(stated / runs)  # of hundreds of cells in all
    # Errors of the cells of one run hang together: a fifteenth are free, and the people themselves
    # are drawn by levels.
    found = float((errors**2).mean())
    assert found == pytest.approx(stated, rel=0.05 + 3 * sqrt(2 / (runs * 5)))


@pytest.mark.parametrize("spec", ["haar", "counts:chain=2-2"])
def test_intervals_cover_random_rectangles(spec):
    """As closed forms do: 94.2 % of 8,000 for counts; 3.5 standard errors of 1,000 are 2.6 %."""
    method, grid, n = protocol(spec), Grid.regular((4, 4)), 12_000
    key, rng = spread_evenly(n, 16), np.random.default_rng(0)
    held, runs = 0, 1000
    for _ in range(runs):
        table = released(method, grid, key, Fraction(2))
        (r0, r1), (c0, c1) = (np.sort(rng.choice(5, 2, replace=False)) for _ in range(2))
        rows, cols = (part.reshape(-1) for part in np.mgrid[r0:r1, c0:c1])
        region = Region.of_map(grid, rows, cols)
        found = Release(table, custom_method=method).estimate(region)
        truth = n / 16 * region.cells
        assert not found.clamped
        held += found.low <= truth <= found.high
    assert 0.916 <= held / runs <= 0.968


@pytest.mark.parametrize("spec", ["haar", "counts:chain=4-4", "counts:chain=2-2-4"])
def test_a_lone_cell_loses_what_is_stated(spec):
    """All devices in one cell of 2**8, against the closed form."""
    method, grid, epsilon = protocol(spec), Grid.regular((16, 16)), Fraction(1, 2)
    n, runs = 40_000, 400
    key = np.full(n, 77, np.uint64)
    error = np.empty(runs)
    for run in range(runs):
        table = released(method, grid, key, epsilon)
        error[run] = table.count[table.key == 77].sum() - n
    stated = method.isolated_cell(grid, method.event(epsilon, reports=n))
    around = error.std() / sqrt(runs)
    assert abs(error.mean() - stated["bias"]) < 3 * around + 0.03 * abs(stated["bias"])
    found = sqrt((error**2).mean())
    assert found == pytest.approx(stated["rmse"], rel=0.03 + 3 / sqrt(2 * runs))
