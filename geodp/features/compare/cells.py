"""Test which cells differ between two releases of one grid, all of them together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.features.compare.difference import Alternative, Hypothesis
from geodp.features.compare.many import Correction, adjust
from geodp.features.compare.regions import is_same, noise_of_cells
from geodp.features.compare.tails import (
    REACH,
    LatticeNoise,
    tail_of_difference,
    tail_of_sum,
)
from geodp.release.release import Release
from geodp.reprs import one_line
from geodp.typing import FloatArray

FEW = 2048
"""Values of a difference of unlike noises whose tails are summed; more are rounded to so many."""


@dataclass(frozen=True, eq=False)
class CellDifferences:
    """Differences of the cells of two releases, first less second.

    Attributes
    ----------
    key : uint64[n]
        Cells that either release lists; of all others in the domain both counts are 0.
    difference : int64[n] or float64[n]
    p_value, adjusted : float64[n]
        P-values of each cell by itself, and corrected for all cells of the domain.
    basis : str
        ``"exact"``: the law of the errors is known; ``"long-tailed"``: as if each cell had one
        Laplace noise.
    """

    __repr__ = one_line

    key: NDArray[np.uint64]
    difference: NDArray[Any]
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
    if first.grid != second.grid:
        raise UsageError(
            "The two releases are of different grids; compare regions of them.",
            code="compared-grids-differ",
        )
    if is_same(first, second):
        raise UsageError("The two releases are one and the same.", code="compared-release-twice")
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
    difference = counts[0] - counts[1]
    noises = [noise_of_cells(one) for one in (first, second)]
    # Only independent Laplace noise of each cell has a known law of the difference.
    if noises[0] is not None and noises[1] is not None:
        basis = "exact"
        above, below = (_tails(noises[0], noises[1], sign * difference) for sign in (1, -1))
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
        raise UsageError(
            f"{release.event.mechanism} has no closed form of the error of a cell.",
            code="cell-error-unknown",
        )
    return variances


def _tails(first: LatticeNoise, second: LatticeNoise, difference: NDArray[Any]) -> FloatArray:
    """Return the tails of differences; many differences are rounded, which makes tails larger."""
    counts = np.asarray(difference, np.float64)
    # Each tail of unlike noises is a sum of its own. Rounding down errs on the safe side.
    if first != second and np.unique(counts).size > FEW:
        step = 2 * REACH * float(first.scale + second.scale) / FEW
        counts = np.floor(counts / step) * step
    return tail_of_difference(first, second, counts)
