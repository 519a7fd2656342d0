"""The stated errors are the real ones: variances of blocks, and no bias, by simulation.

For every method with closed-form variances, on tables with so many people in every cell that
nothing is clamped. Keys are fixed, the significance is 1e-6, and wrong statements are caught.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import geodp
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import NEIGHBOURS, Terms

pytestmark = pytest.mark.law

METHODS = sorted(geodp.METHODS)
GRIDS = {"square": geodp.Grid.regular((8, 8)), "line": geodp.Grid.regular((64,))}
TRIALS = 1600
PEOPLE = 1_000_000
RISK = 1e-6
EPSILON = Fraction(1, 4)
"""The noise is many counts, so that the rounding of whole numbers does not show."""


def spent_by(method, grid):
    sensitivity = method.sensitivity(grid)
    return Measurement.of(
        method.spec,
        Terms.of(epsilon=EPSILON, neighbours=NEIGHBOURS[0], contribution=1),
        sensitivity,
        "fixed",
    )


def errors_of(method, grid, trials):
    """Released minus true values of every key: float64[trials, keys]."""
    table = geodp.CountTable.from_dense(np.full(grid.shape, PEOPLE), grid)
    spent = spent_by(method, grid)
    truth = table.to_vector()
    found = np.zeros((trials, truth.size))
    for trial in range(trials):
        released = method.release(table, spent, NoiseKey(trial.to_bytes(32, "little")))
        found[trial, released.key.astype(np.int64)] = released.count
        found[trial] -= truth
    return found


@dataclass(frozen=True)
class Off:
    """How far simulated errors lie from the stated ones, in standard errors; each above 0 is bad.

    Attributes
    ----------
    bias : float
        Of the worst block of any size, beyond what the number of blocks excuses.
    above, below : float64[levels]
        Variances larger or smaller than stated, by blocks of 64, 32, ... 1 keys.
    """

    bias: float
    above: np.ndarray
    below: np.ndarray

    @property
    def caught(self):
        return self.bias > 0 or (self.above > 0).any() or (self.below > 0).any()


def beyond(square, stated):
    """Mean square minus the stated variance, in standard errors by the fourth moment."""
    each = square.mean(axis=1)  # the blocks of one release are not independent
    return (each.mean() - stated) / (each.std(ddof=1) / np.sqrt(each.size))


def compared(errors, stated):
    """Compare simulated errors with the stated variances of every level.

    A method states the largest variance of a level. The first half of the trials picks the
    blocks that come close to the largest, the second half tests those: their mean variance is
    not above what is stated, and not more than 5 % below.
    """
    half = len(errors) // 2
    levels = errors.shape[1].bit_length()
    scores, above, below = [], [], []
    for level in range(levels):
        blocks = errors.reshape(len(errors), 1 << level, -1).sum(axis=2)
        scores.append(blocks.mean(axis=0) / (blocks.std(axis=0, ddof=1) / np.sqrt(len(blocks))))
        first = (blocks[:half] ** 2).mean(axis=0)
        second = blocks[half:] ** 2
        large = first >= np.median(first[first >= first.max() / 1.5])
        above.append(max(beyond(second, stated[level]), beyond(second[:, large], stated[level])))
        below.append(-beyond(second[:, large], 0.95 * stated[level]))
    scores = np.abs(np.concatenate(scores))
    return Off(
        float(scores.max() - stats.norm.isf(RISK / 2 / scores.size)),
        np.array(above) - stats.norm.isf(RISK),
        np.array(below) - stats.norm.isf(RISK),
    )


QUICK = ("pyramid", "topdown", "laplace", "hb")


@pytest.mark.parametrize("grid", GRIDS.values(), ids=list(GRIDS))
@pytest.mark.parametrize(
    "name", [pytest.param(m, marks=[pytest.mark.law] * (m not in QUICK)) for m in METHODS]
)
def test_simulated_errors_are_the_stated_ones(name, grid):
    method = geodp.METHODS[name]
    if method.unsupported(grid):
        pytest.skip("takes no such grid")
    stated = method.variances(grid, spent_by(method, grid))
    if stated is None:
        pytest.skip("the error depends on the data")
    off = compared(errors_of(method, grid, TRIALS), stated)
    assert not off.caught, off


@pytest.mark.parametrize("name", ["geometric", "topdown"])
@pytest.mark.parametrize("factor", [0.8, 1.2])
def test_variances_that_are_off_by_a_fifth_are_caught(name, factor):
    method, grid = geodp.METHODS[name], GRIDS["square"]
    stated = method.variances(grid, spent_by(method, grid)) * factor
    off = compared(errors_of(method, grid, TRIALS), stated)
    assert off.caught
    assert off.bias < 0


def test_the_variance_of_one_level_that_is_off_by_half_is_caught():
    method, grid = geodp.METHODS["geometric"], GRIDS["line"]
    errors = errors_of(method, grid, TRIALS)
    for level in range(grid.bits + 1):
        stated = method.variances(grid, spent_by(method, grid))
        stated[level] *= 1.5
        assert (compared(errors, stated).below > 0).nonzero()[0].tolist() == [level]


def test_a_bias_of_one_cell_is_caught():
    method, grid = geodp.METHODS["geometric"], GRIDS["line"]
    stated = method.variances(grid, spent_by(method, grid))
    errors = errors_of(method, grid, TRIALS)
    errors[:, 5] += 0.3 * np.sqrt(stated[-1])
    assert compared(errors, stated).bias > 0
