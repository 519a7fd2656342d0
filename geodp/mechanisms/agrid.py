"""Two levels of grids: blocks with many people are cut once more, the finer the more there are."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.accounting import Event, Guarantee
from geodp.errors import UsageError
from geodp.grid import Grid
from geodp.mechanisms.base import (
    PUBLIC_DOMAIN,
    PURE,
    Mechanism,
    Query,
    add_noise,
    released_dense,
    stage_query,
)
from geodp.mechanisms.ugrid import (
    LEAST,
    counted,
    noisy_total,
    plane_refusal,
    split,
)
from geodp.randomness import NoiseKey
from geodp.table import CountTable, ReleasedTable


def root_up(square: Fraction) -> int:
    """The square root, rounded up; 0 for what is not above 0.

    Examples
    --------
    >>> root_up(Fraction(4)), root_up(Fraction(17, 4)), root_up(Fraction(-1))
    (2, 3, 0)
    """
    whole = -(-square.numerator // square.denominator)
    return isqrt(whole - 1) + 1 if whole > 0 else 0


@dataclass(frozen=True)
class AGrid(Mechanism):
    """Qardaji, Yang, Li (2013), AG: a coarse grid, and a finer one inside each of its blocks.

    First ``m1 x m1`` blocks, ``m1 = max(10, sqrt(N epsilon / c1) / 4)`` rounded up, whose counts
    get the share alpha of the budget; then each block with the noisy count N' is cut into
    ``m2 x m2``, ``m2 = sqrt(N' (1 - alpha) epsilon / c2)`` rounded up, at least 1 and at most the
    block's cells per axis; the parts' counts get the rest. Both levels are made consistent: a
    block's count becomes the average of its two estimates, weighted by their variances, and what
    that changes is shared out evenly over its parts, which is the least-squares estimate.

    The paper takes the number of people N as public. Here a small share of the budget buys a
    noisy N, and epsilon in the formulas is what is left. Parts without any cell of the
    domain are not counted among the parts.

    Parameters
    ----------
    share : Fraction
        Of the budget, for N: above 0, below 1; otherwise UsageError.
    alpha : Fraction
        Of the rest, for the first level: above 0, below 1.
    c1 : Fraction
        The paper's constant of the first level, above 0.
    c2 : Fraction
        And of the second.
    """

    share: Fraction = Fraction(1, 20)
    alpha: Fraction = Fraction(1, 2)
    c1: Fraction = Fraction(10)
    c2: Fraction = Fraction(5)

    name: ClassVar[str] = "agrid"
    version: ClassVar[int] = 2
    title: ClassVar[str] = "adaptive grid of noisy block counts (Qardaji et al. 2013)"
    citation: ClassVar[str] = (
        "Qardaji, Yang, Li: Differentially Private Grids for Geospatial Data. ICDE 2013."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        variant=PURE,
        precondition=PUBLIC_DOMAIN,
        source="Qardaji, Yang, Li (2013), section IV: on each level one person changes one count "
        "by 1; how the blocks are cut depends on earlier noisy counts only, and the three shares "
        "add up to epsilon",
    )
    postprocessing: ClassVar[tuple[str, ...]] = (
        "Consistency: the two levels' counts are combined by least squares; unbiased.",
        "Uniformity: the cells of a part share its count evenly, which evens out what differs "
        "inside; unbiased for whole parts, biased within them.",
        "Negative counts stay as they are.",
    )

    def __post_init__(self) -> None:
        if not (0 < self.share < 1 and 0 < self.alpha < 1 and self.c1 > 0 and self.c2 > 0):
            raise UsageError(
                "agrid: share and alpha lie above 0 and below 1, and c1 and c2 above 0."
            )

    @property
    def shares(self) -> tuple[Fraction, Fraction, Fraction]:
        """Of the budget: for the number of people, for the first and the second level."""
        rest = 1 - self.share
        return self.share, rest * self.alpha, rest * (1 - self.alpha)

    def refusal(self, grid: Grid) -> str | None:
        """Two axes only."""
        return plane_refusal(self.name, grid) or super().refusal(grid)

    def least_share(self, grid: Grid, event: Event) -> Fraction:
        """That of the total or of a level."""
        return min(self.shares)

    def sensitivity_words(self, grid: Grid, event: Event | None = None) -> str:
        """Why it is that, as one sentence for the release card."""
        return (
            "a person counted once changes the total by 1, and on each of the two levels the count "
            "of one block by 1; each of the three has its own share of the budget"
        )

    def queries(self, grid: Grid, event: Event) -> tuple[Query, ...]:
        """The total, the blocks that it decides for, and the parts that they decide for."""
        total, upper, lower = (event.scale / share for share in self.shares)
        return (
            stage_query(0, total, "total"),
            stage_query(1, upper, "blocks", self.c1, LEAST),
            stage_query(2, lower, "parts of blocks", self.c2),
        )

    def blocks_per_axis(self, total: int, event: Event) -> int:
        """m1, from a noisy total; it may exceed the cells of an axis."""
        epsilon = (1 - self.share) / event.scale
        return max(LEAST, root_up(total * epsilon / self.c1 / 16))

    def parts_per_axis(self, noisy: NDArray[np.int64], event: Event) -> NDArray[np.int64]:
        """m2 of every block, from their noisy counts: int64[n], at least 1."""
        each = self.shares[2] / event.scale / self.c2
        different, place = np.unique(noisy, return_inverse=True)
        parts = [max(1, root_up(people * each)) for people in different.tolist()]
        return np.array(parts, np.int64)[place]

    def release(self, table: CountTable, event: Event, key: NoiseKey) -> ReleasedTable:
        """All cells of the domain, evenly within each part."""
        grid = table.grid
        rows, cols = grid.shape
        _, upper, lower = self.shares
        m1 = self.blocks_per_axis(noisy_total(table, event, key, self.share), event)
        tall, wide = min(m1, rows), min(m1, cols)
        row, col = split(rows, tall), split(cols, wide)
        block = row[:, None] * wide + col
        coarse = add_noise(counted(table, block, tall * wide), key, 1, event.scale / upper)
        part, first = cut(row, col, self.parts_per_axis(coarse, event))
        fine = add_noise(counted(table, part, int(first[-1])), key, 2, event.scale / lower)
        inside = grid.domain.to_dense()
        cells = np.bincount(part[inside], minlength=fine.size)
        owner = np.repeat(np.arange(coarse.size), np.diff(first))
        each = consistent(coarse, fine, owner, cells > 0, float(upper**2 / lower**2))
        each /= np.maximum(cells, 1)
        return released_dense(np.where(inside, each[part], 0), grid, event)


def cut(
    row: NDArray[np.int64], col: NDArray[np.int64], parts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cut every block of a grid into parts, as equal as can be.

    Parameters
    ----------
    row, col : int64[rows], int64[cols]
        Block of every row and column, from 0.
    parts : int64[blocks]
        Parts per axis of every block, row by row; at most one per cell is made.

    Returns
    -------
    part : int64[rows, cols]
        Number of every cell's part: block by block, row by row.
    first : int64[blocks + 1]
        The first part of every block, and how many there are.
    """
    height, width = np.bincount(row), np.bincount(col)
    wanted = parts.reshape(height.size, width.size)
    tall, wide = np.minimum(wanted, height[:, None]), np.minimum(wanted, width)
    first = np.append(0, np.cumsum(tall * wide))
    inner_row = np.arange(row.size) - np.searchsorted(row, row)
    inner_col = np.arange(col.size) - np.searchsorted(col, col)
    at = np.ix_(row, col)
    down = ((inner_row[:, None] + 1) * tall[at] - 1) // height[row][:, None]
    along = ((inner_col + 1) * wide[at] - 1) // width[col]
    start = first[:-1].reshape(wanted.shape)
    return start[at] + down * wide[at] + along, first


def consistent(
    coarse: NDArray[np.int64],
    fine: NDArray[np.int64],
    owner: NDArray[np.int64],
    counts: NDArray[np.bool_],
    ratio: float,
) -> NDArray[np.float64]:
    """Counts of the parts that agree with both levels by least squares: float64[parts].

    Parameters
    ----------
    coarse : int64[blocks]
        Noisy counts of the blocks.
    fine, owner : int64[parts]
        Noisy counts of the parts, and their blocks.
    counts : bool[parts]
        Whether a part has any cell; the others are 0.
    ratio : float
        Variance of a fine count over that of a coarse one.
    """
    blocks = coarse.size
    kept = np.where(counts, fine, 0).astype(np.float64)
    number = np.bincount(owner[counts], minlength=blocks)
    below = np.bincount(owner, kept, minlength=blocks)
    weight = ratio * number / (ratio * number + 1)
    change = weight * (coarse - below) / np.maximum(number, 1)
    return np.where(counts, kept + change[owner], 0.0)


METHODS = (AGrid(),)
