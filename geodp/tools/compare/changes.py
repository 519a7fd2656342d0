"""Test which cells differ between two releases of one grid, and estimate their changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import LAPLACE_Z
from geodp.errors import Rule, UsageError
from geodp.release.release import Release
from geodp.reprs import one_line
from geodp.tools.compare.difference import (
    REACH,
    Alternative,
    Correction,
    Hypothesis,
    LatticeNoise,
    adjust,
    tail_of_difference,
    tail_of_sum,
)
from geodp.tools.compare.regions import noise_of_cells
from geodp.typing import FloatArray

CELL_ERROR_UNKNOWN = Rule("cell-error-unknown", "{} has no closed form of the error of a cell.")

FEW = 2048
"""Values of a difference of unlike noises whose tails are summed; more are rounded to so many."""


@dataclass(frozen=True, eq=False)
class CellDifferences:
    """Differences of the cells of two releases, second less first.

    Attributes
    ----------
    key : uint64[n]
        Cells that either release lists; of all others in the domain both counts are 0.
    value : int64[n] or float64[n]
    p_value, adjusted : float64[n]
        P-values of each cell by itself, and corrected for all cells of the domain.
    basis : str
        ``"exact"``: the law of the errors is known; ``"long-tailed"``: as if each cell had one
        Laplace noise.
    """

    __repr__ = one_line

    key: NDArray[np.uint64]
    value: NDArray[Any]
    p_value: FloatArray
    adjusted: FloatArray
    basis: str


def compare_cells(
    first: Release,
    second: Release,
    *,
    alternative: Alternative = "two-sided",
    correction: Correction = "holm",
) -> CellDifferences:
    """Test every cell of two releases for a difference; costs no budget.

    Parameters
    ----------
    first, second : Release
        Releases of one grid, by methods that do not clamp at 0.
    alternative : str
        ``"two-sided"``, ``"greater"`` or ``"less"``.
    correction : str
        ``"holm"`` or ``"benjamini-hochberg"``, see :func:`geodp.compare.adjust`.

    Raises
    ------
    UsageError
        The releases are one and the same or have different grids, or a method clamps at 0 or has
        no closed form of its error.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> grid = geodp.Grid.regular((4, 4))
    >>> tables = [geodp.CountTable.from_dense(np.full((4, 4), n), grid) for n in (900, 100)]
    >>> options = {"epsilon": 1, "contribution": 1, "method": "laplace"}
    >>> first, second = (geodp.publish(table, **options) for table in tables)
    >>> bool((geodp.compare.compare_cells(first, second).adjusted < 0.01).all())
    True
    """
    question = Hypothesis(0.0, alternative)
    first.require_other(second, same_grid=True)
    # A clamp moves people by amounts whose law is not known, so that no p-value holds.
    if first.method.nonnegative or second.method.nonnegative:
        raise UsageError(
            "Single cells are compared where the method does not clamp at 0; elsewhere compare "
            "regions (--area or --polygons, with --conservative), or estimate changes of cells "
            "(geodp diff OLD NEW).",
            code="cells-clamped",
        )
    key = np.union1d(first.table.key, second.table.key)
    counts = [counts_at(one, key) for one in (first, second)]
    difference = counts[1] - counts[0]
    noises = [noise_of_cells(one) for one in (first, second)]
    # Only independent Laplace noise of each cell has a known law of the difference.
    if noises[0] is not None and noises[1] is not None:
        basis = "exact"
        above, below = (_tails(noises[1], noises[0], sign * difference) for sign in (1, -1))
    else:
        basis = "long-tailed"
        one, two = (variances_at(release, key) for release in (first, second))
        variance = one + two
        # Fourth cumulants of independent noises add up: 3 V^2 for Laplace noise of variance V.
        excess = (one**2 + two**2) / variance**2
        z = difference / np.sqrt(variance)
        above, below = (tail_of_sum(sign * z, excess) for sign in (1, -1))
    pairs = zip(above.tolist(), below.tolist(), strict=True)
    p_value = np.array([question.p_value(*pair) for pair in pairs])
    # Cells that neither release lists are tests, too, with a p-value of 1.
    adjusted = adjust(p_value, correction, tests=first.grid.size)
    return CellDifferences(key, difference, p_value, adjusted, basis)


def counts_at(release: Release, key: NDArray[np.uint64]) -> NDArray[Any]:
    """Return counts in key order, 0 where a release lists none; ``key`` holds all that it lists."""
    counts = np.zeros(key.size, release.table.count.dtype)
    counts[np.isin(key, release.table.key, assume_unique=True)] = release.table.count
    return counts


def variances_at(release: Release, key: NDArray[np.uint64]) -> FloatArray:
    """Compute the variances of cells: float64[n]; UsageError if there is no closed form."""
    variances = release.method.variances_of(release.grid, release.event, 1, key)
    if variances is None:
        raise UsageError(CELL_ERROR_UNKNOWN.format(release.event.mechanism))
    return variances


def _tails(first: LatticeNoise, second: LatticeNoise, difference: NDArray[Any]) -> FloatArray:
    """Return the tails of differences; many differences are rounded, which makes tails larger."""
    counts = np.asarray(difference, np.float64)
    # Each tail of unlike noises is a sum of its own. Rounding down errs on the safe side.
    if first != second and np.unique(counts).size > FEW:
        step = 2 * REACH * float(first.scale + second.scale) / FEW
        counts = np.floor(counts / step) * step
    return tail_of_difference(first, second, counts)


EXCESS_STEPS = 64
"""Lengths of tails whose quantiles are computed; others take the next longer one."""


@dataclass(frozen=True, eq=False)
class CellChanges:
    """Changes of n cells, new less old.

    Attributes
    ----------
    key : uint64[n]
        Cells that either release lists; of all others both counts are 0.
    old, new, value : int64[n] or float64[n]
    standard_error : float64[n]
        Closed form of the error of the difference, which does not count what a clamp at 0 moved:
        rely on the interval there.
    low, high : float64[n]
        A 95 % interval of each cell by itself.
    basis : str
        ``"long-tailed"``: as if each cell had one Laplace noise in each release;
        ``"conservative"``: from both intervals of the cell, which a clamp has widened.
    """

    __repr__ = one_line

    key: NDArray[np.uint64]
    old: NDArray[Any]
    new: NDArray[Any]
    value: NDArray[Any]
    standard_error: FloatArray
    low: FloatArray
    high: FloatArray
    basis: str


def estimate_cell_changes(old: Release, new: Release) -> CellChanges:
    """Estimate how every listed cell changed between two releases; costs no budget.

    Parameters
    ----------
    old, new : Release
        Releases of one grid. Their noise is independent, as a kept key gives another table other
        noise.

    Raises
    ------
    UsageError
        The releases have different grids or are one and the same, are parts of a map, or a method
        has no closed form of its error.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> grid = geodp.Grid.regular((4, 4))
    >>> tables = [geodp.CountTable.from_dense(np.full((4, 4), n), grid) for n in (100, 900)]
    >>> old, new = (geodp.publish(table, epsilon=1, contribution=1) for table in tables)
    >>> changes = geodp.compare.estimate_cell_changes(old, new)
    >>> len(changes.key), bool((changes.value > 0).all())
    (16, True)
    """
    old.require_other(new, same_grid=True)
    # The parts of a cell add up to the map's count, whose error they share.
    if old.parts is not None or new.parts is not None:
        raise UsageError(
            "Cells of parts of a map share errors; ask for changes of regions.",
            code="cells-share-errors",
        )
    key = np.union1d(old.table.key, new.table.key)
    before, after = old.table.counts_at(key), new.table.counts_at(key)
    one, two = variances_at(old, key), variances_at(new, key)
    difference, error = after - before, np.sqrt(one + two)
    if old.method.nonnegative or new.method.nonnegative:
        basis = "conservative"
        (old_low, old_high), (new_low, new_high) = _ends_of(old, key), _ends_of(new, key)
        # The clamp moves both counts unpredictably, so that the ends add up as they are. They reach
        # at least as far as the noise alone, as those of compare_regions(conservative=True) do.
        reach = LAPLACE_Z * (np.sqrt(one) + np.sqrt(two))
        down = np.maximum((after - new_low) + (old_high - before), reach)
        up = np.maximum((new_high - after) + (before - old_low), reach)
    else:
        basis = "long-tailed"
        down = up = _quantiles(one, two) * error
    low, high = difference - down, difference + up
    return CellChanges(key, before, after, difference, error, low, high, basis)


def _ends_of(release: Release, key: NDArray[np.uint64]) -> tuple[FloatArray, FloatArray]:
    """Return the 95 % intervals of cells."""
    intervals = release.intervals()
    if intervals is None:
        raise UsageError(CELL_ERROR_UNKNOWN.format(release.event.mechanism))
    return intervals.of(key)


def _quantiles(one: FloatArray, two: FloatArray) -> FloatArray:
    """Return the quantiles of sums of two Laplace noises, in standard errors of a 95 % interval."""
    variance = one + two
    # A cell that is known exactly has no variance, hence no ratio of cumulants.
    squares = np.divide(one**2 + two**2, variance**2, np.zeros(one.size), where=variance > 0)
    # Bisection is slow, so that all cells share a few quantiles, rounded to the longer tail.
    steps, inverse = np.unique(np.ceil(squares * EXCESS_STEPS), return_inverse=True)
    question = Hypothesis()
    quantiles = [question.quantile(min(1.0, step / EXCESS_STEPS)) for step in steps.tolist()]
    return np.asarray(quantiles, np.float64)[inverse]
