"""Two levels of grids: blocks with many people are cut once more, the finer the more there are."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import exp, expm1, floor, isqrt, prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.mechanisms.base import Mechanism, Query, within
from geodp.mechanisms.baselines.ugrid import MIN_BLOCKS, count_blocks, noisy_total, why_no_plane
from geodp.mechanisms.measure import add_noise, release_dense, stage_query
from geodp.privacy.event import Guarantee, Measurement
from geodp.privacy.key import NoiseKey
from geodp.table.counts import CountTable, ReleasedTable
from geodp.typing import FloatArray, IntArray


def root_up(square: Fraction) -> int:
    """Return the square root, rounded up; 0 for what is not above 0.

    Examples
    --------
    >>> root_up(Fraction(4)), root_up(Fraction(17, 4)), root_up(Fraction(-1))
    (2, 3, 0)
    """
    ceiling = -(-square.numerator // square.denominator)
    return isqrt(ceiling - 1) + 1 if ceiling > 0 else 0


@dataclass(frozen=True)
class AGrid(Mechanism):
    """Qardaji, Yang, Li (2013), AG: a coarse grid, and a finer one inside each of its blocks.

    About ``m1 x m1`` blocks come first, ``m1 = max(10, sqrt(N epsilon / c1) / 4)`` rounded up,
    whose counts get the share alpha of the budget; then each block with the noisy count N' is cut
    into about ``m2 x m2`` parts, ``m2 = sqrt(N' (1 - alpha) epsilon / c2)`` rounded up, at least
    1, and their counts get the rest. Blocks and parts are squares of whole cells, narrower at the
    far edges: the side is the root of ``cells / m**2`` rounded down, and at least 1, as in the
    code of DPBench (Hay et al. 2016).

    Both levels are made consistent: a block's count becomes the average of its two estimates,
    weighted by ``w = a**2 K / ((1 - a)**2 + a**2 K)`` with ``a = alpha`` and ``K = m2**2``, the
    block's cells at most, and what that changes is shared out evenly over its parts.

    *Bias.* K follows from the noisy count N' that it weighs, so the paper's average is biased: by
    ``E[w(N') z]``, z the noise of N'. Of discrete Laplace noise of scale s this is the mean of
    a known function of N', see :func:`excess`, which is taken off. So the count of every block,
    and the total, is unbiased.

    The paper takes the number of people N as public. Here a small share of the budget buys a
    noisy N, and epsilon in the formulas is what is left. Parts without any cell of the
    domain are not counted among the parts.

    Parameters
    ----------
    share : Fraction
        Share of the budget for N: above 0, below 1; otherwise UsageError.
    alpha : Fraction
        Share of the rest for the first level: above 0, below 1.
    c1 : Fraction
        The paper's constant of the first level, above 0.
    c2 : Fraction
        And of the second.
    """

    share: Fraction = field(default=Fraction(1, 20), metadata=within(0, 1, strictly=True))
    alpha: Fraction = field(default=Fraction(1, 2), metadata=within(0, 1, strictly=True))
    c1: Fraction = field(default=Fraction(10), metadata=within(0, strictly=True))
    c2: Fraction = field(default=Fraction(5), metadata=within(0, strictly=True))

    name: ClassVar[str] = "agrid"
    version: ClassVar[int] = 3
    title: ClassVar[str] = "adaptive grid of noisy block counts (Qardaji et al. 2013)"
    citation: ClassVar[str] = (
        "Qardaji, Yang, Li: Differentially Private Grids for Geospatial Data. ICDE 2013."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        "Qardaji, Yang, Li (2013), section IV: on each level one person changes one count "
        "by 1; how the blocks are cut depends on earlier noisy counts only, and the three shares "
        "add up to epsilon",
    )
    postprocessing: ClassVar[tuple[str, ...]] = (
        "Consistency: each block's two estimates are averaged, and the average's expected error, "
        "which its weight causes, is taken off; unbiased for whole blocks and the total.",
        "Uniformity: the cells of a part share its count evenly, which evens out what differs "
        "inside; biased within blocks.",
        "Negative counts stay as they are.",
    )

    @property
    def shares(self) -> tuple[Fraction, Fraction, Fraction]:
        """Shares of the budget for the number of people, the first level and the second level."""
        rest = 1 - self.share
        return self.share, rest * self.alpha, rest * (1 - self.alpha)

    def unsupported(self, grid: Grid) -> str | None:
        """Reject grids without exactly two axes, and grids that are too large."""
        return why_no_plane(self.name, grid) or super().unsupported(grid)

    def min_share(self, grid: Grid, event: Measurement) -> Fraction:
        """Return the smallest share, of the total or of a level."""
        return min(self.shares)

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Explain the sensitivity in one sentence for the release card."""
        return (
            "a person counted once changes the total by 1, and on each of the two levels the count "
            "of one block by 1; each of the three has its own share of the budget"
        )

    def queries(self, grid: Grid, event: Measurement) -> tuple[Query, ...]:
        """List the total, the blocks that depend on it, and the parts that depend on these."""
        total, upper, lower = (event.scale / share for share in self.shares)
        return (
            stage_query(0, total, "total"),
            stage_query(1, upper, "blocks", self.c1, MIN_BLOCKS),
            stage_query(2, lower, "parts of blocks", self.c2),
        )

    def blocks_per_axis(self, total: int, event: Measurement) -> int:
        """Compute m1 from a noisy total; it may exceed the cells of an axis."""
        epsilon = (1 - self.share) / event.scale
        return max(MIN_BLOCKS, root_up(total * epsilon / self.c1 / 16))

    def parts_per_axis(self, noisy: IntArray, event: Measurement) -> IntArray:
        """Compute m2 of every block from their noisy counts: int64[n], at least 1."""
        # In fractions, once for each distinct count: the grid must not depend on a float's last
        # digit.
        each = self.shares[2] / event.scale / self.c2
        different, place = np.unique(noisy, return_inverse=True)
        parts = [max(1, root_up(people * each)) for people in different.tolist()]
        return np.array(parts, np.int64)[place]

    @property
    def ratio(self) -> float:
        """Ratio of the variances of a part's count and a block's count."""
        return float((self.alpha / (1 - self.alpha)) ** 2)

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Release all cells of the domain, with equal values within each part."""
        grid = table.grid
        _, upper, lower = self.shares
        m1 = self.blocks_per_axis(noisy_total(table, event, key, self.share), event)
        row, col = squares(grid.shape, m1)
        blocks = int((row[-1] + 1) * (col[-1] + 1))
        block = row[:, None] * (col[-1] + 1) + col
        coarse = add_noise(count_blocks(table, block, blocks), key, 1, event.scale / upper)
        parts = self.parts_per_axis(coarse, event)
        part, first = cut(row, col, parts)
        fine = add_noise(count_blocks(table, part, int(first[-1])), key, 2, event.scale / lower)
        inside = grid.domain.to_dense()
        held = np.bincount(block[inside], minlength=blocks)
        cells = np.bincount(part[inside], minlength=fine.size)
        owner = np.repeat(np.arange(blocks), np.diff(first))
        weight = weights(parts, held, self.ratio)
        step = self.c2 * event.scale / lower
        less = excess(coarse, held, event.scale / upper, step, self.ratio)
        each = consistent(coarse, fine, owner, cells > 0, weight, less)
        each /= np.maximum(cells, 1)
        return release_dense(np.where(inside, each[part], 0), grid, event)


def squares(shape: tuple[int, ...], m: int) -> tuple[IntArray, IntArray]:
    """Find the block of every row and column: about m x m squares of cells.

    Examples
    --------
    >>> squares((5, 4), 2)
    (array([0, 0, 1, 1, 2]), array([0, 0, 1, 1]))
    """
    side = max(1, isqrt(prod(shape) // m**2))
    row, col = (np.arange(size) // side for size in shape)
    return row, col


def cut(row: IntArray, col: IntArray, parts: IntArray) -> tuple[IntArray, IntArray]:
    """Cut every block of a grid into squares of cells, narrower at its far edges.

    Parameters
    ----------
    row, col : int64[rows], int64[cols]
        Block of every row and column, from 0, as :func:`squares` makes them.
    parts : int64[blocks]
        About how many squares per axis every block is cut into, row by row; at least 1.

    Returns
    -------
    part : int64[rows, cols]
        Number of every cell's part: block by block, row by row.
    first : int64[blocks + 1]
        The first part of every block, and how many there are.
    """
    height, width = np.bincount(row), np.bincount(col)
    area = np.multiply.outer(height, width)
    # More parts than cells make none smaller; so the squares fit into 63 bits.
    wanted = np.minimum(parts.reshape(area.shape), area)
    side = np.maximum(np.sqrt(area // wanted**2).astype(np.int64), 1)
    tall, wide = -(-height[:, None] // side), -(-width // side)
    first = np.append(0, np.cumsum(tall * wide))
    inner_row = np.arange(row.size) - np.searchsorted(row, row)
    inner_col = np.arange(col.size) - np.searchsorted(col, col)
    at = np.ix_(row, col)
    down, along = inner_row[:, None] // side[at], inner_col // side[at]
    return first[:-1].reshape(area.shape)[at] + down * wide[at] + along, first


def weights(parts: IntArray, cells: IntArray, ratio: float) -> FloatArray:
    """Compute the weight of a block's own count in its average, 0 to 1: float64[blocks].

    Parameters
    ----------
    parts : int64[blocks]
        Parts per axis by its noisy count.
    cells : int64[blocks]
        Its cells in the domain, which bound the number of parts.
    ratio : float
        Ratio of the variances of a part's count and a block's count.
    """
    share = ratio * np.minimum(parts.astype(np.float64) ** 2, cells)
    return np.asarray(share / (share + 1))


def excess(
    noisy: IntArray,
    cells: IntArray,
    scale: Fraction,
    step: Fraction,
    ratio: float,
) -> FloatArray:
    """Estimate without bias what the weights add to the averages on average: float64[blocks].

    Parameters
    ----------
    noisy, cells : int64[blocks]
        Noisy counts of the blocks, and their cells in the domain.
    scale : Fraction
        Scale of the noise of the blocks' counts.
    step : Fraction
        Noisy count above which a block has 2 parts per axis.
    ratio : float
        See :func:`weights`.
    """
    # For noise z with P(z) = (1 - a) / (1 + a) a**|z|, a = exp(-1 / scale), any bounded w and any
    # count x, E[z w(x + z)] is the mean over z of the sum over y of a / (1 - a)**2 P(y) (w(x + z +
    # y + 1) - w(x + z + y - 1)): z P(z) and the convolution of P with a / (1 - a)**2 (P(y - 1) -
    # P(y + 1)) have the same generating function. Here w is a step function: it rises where the
    # noisy count passes m**2 step, so that m becomes m + 1.
    rate = float(1 / scale)
    total, value = np.zeros(noisy.size), noisy.astype(np.float64)
    m = 1
    while (at := np.flatnonzero(cells > m * m)).size:
        lower, upper = (weights(np.array([n]), cells[at], ratio) for n in (m, m + 1))
        beyond = floor(m * m * step) + 1 - value[at]
        near = np.exp(-rate * np.abs(beyond)) + np.exp(-rate * np.abs(beyond - 1))
        total[at] += (upper - lower) * near
        m += 1
    return total * exp(-rate) / -expm1(-2 * rate)


def consistent(
    coarse: IntArray,
    fine: IntArray,
    owner: IntArray,
    counts: NDArray[np.bool_],
    weight: FloatArray,
    less: FloatArray,
) -> FloatArray:
    """Adjust the counts of the parts to their blocks' averages: float64[parts].

    Parameters
    ----------
    coarse : int64[blocks]
        Noisy counts of the blocks.
    fine, owner : int64[parts]
        Noisy counts of the parts, and their blocks.
    counts : bool[parts]
        Whether a part has any cell; the others are 0.
    weight, less : float64[blocks]
        Weight of a block's own count in its average, and the correction that is subtracted.
    """
    blocks = coarse.size
    counted = np.where(counts, fine, 0).astype(np.float64)
    number = np.bincount(owner[counts], minlength=blocks)
    below = np.bincount(owner, counted, minlength=blocks)
    change = (weight * (coarse - below) - less) / np.maximum(number, 1)
    return np.where(counts, counted + change[owner], 0.0)


METHODS = (AGrid(),)
