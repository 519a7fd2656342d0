"""Which cells differ between two releases of one grid, all of them tested together."""

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
"""Differences of two unlike noises whose tails are summed one by one; of more, as many steps."""


@dataclass(frozen=True, eq=False)
class CellDifferences:
    """Differences of cells, first less second.

    Attributes
    ----------
    key : uint64[n]
        Cells that either release has; of all others in the domain both counts are 0.
    difference : int64[n] or float64[n]
    p_value, adjusted : float64[n]
        Of each cell by itself, and corrected for all cells of the domain.
    basis : str
        ``"exact"`` law of the errors, or ``"long-tailed"``: as if each had one Laplace noise.
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
        Of one grid, by methods that do not clamp at 0.
    alternative : str
        ``"two-sided"``, ``"greater"`` or ``"less"``.
    correction : str
        As for :func:`geodp.compare.adjust`.

    Raises
    ------
    UsageError
        One release twice, different grids, or a method that clamps or has no closed form.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> grid = geodp.Grid.regular((4, 4))
    >>> tables = [geodp.CountTable.from_dense(np.full((4, 4), n), grid) for n in (900, 100)]
    >>> asked = {"epsilon": 1, "contribution": 1, "method": "laplace"}
    >>> first, second = (geodp.publish(table, **asked) for table in tables)
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
    if first.method.nonnegative or second.method.nonnegative:
        raise UsageError(
            "Single cells are compared where the method does not clamp at 0; elsewhere compare "
            "regions (--area or --polygons, with --conservative), or estimate changes of cells "
            "(geodp diff OLD NEW).",
            code="cells-clamped",
        )
    key = np.union1d(first.table.key, second.table.key)
    counts = [_counts_at(one, key) for one in (first, second)]
    difference = counts[0] - counts[1]
    noises = [noise_of_cells(one) for one in (first, second)]
    if noises[0] is not None and noises[1] is not None:
        basis = "exact"
        above, below = (_tails(noises[0], noises[1], sign * difference) for sign in (1, -1))
    else:
        basis = "long-tailed"
        one, two = (variances_at(release, key) for release in (first, second))
        variance = one + two
        excess = (one**2 + two**2) / variance**2
        z = difference / np.sqrt(variance)
        above, below = (tail_of_sum(sign * z, excess) for sign in (1, -1))
    pairs = zip(above.tolist(), below.tolist(), strict=True)
    p_value = np.array([question.p_value(*pair) for pair in pairs])
    adjusted = adjust(p_value, correction, tests=first.grid.size)
    return CellDifferences(key, difference, p_value, adjusted, basis)


def _counts_at(release: Release, key: NDArray[np.uint64]) -> NDArray[Any]:
    counts = np.zeros(key.size, release.table.count.dtype)
    counts[np.isin(key, release.table.key, assume_unique=True)] = release.table.count
    return counts


def variances_at(release: Release, key: NDArray[np.uint64]) -> FloatArray:
    """Return the variances of cells: float64[n]; UsageError where there is no closed form."""
    found = release.method.variances_of(release.grid, release.event, 1, key)
    if found is None:
        raise UsageError(
            f"{release.event.mechanism} has no closed form of the error of a cell.",
            code="cell-error-unknown",
        )
    return found


def _tails(first: LatticeNoise, second: LatticeNoise, difference: NDArray[Any]) -> FloatArray:
    """Tails of differences; of very many of unlike noises at the next of some steps below."""
    counts = np.asarray(difference, np.float64)
    if first != second and np.unique(counts).size > FEW:
        step = 2 * REACH * float(first.scale + second.scale) / FEW
        counts = np.floor(counts / step) * step
    return tail_of_difference(first, second, counts)
