"""The method of Terada et al. (2015): noisy Haar details, refined from the top down.

The passes are in :mod:`geodp.mechanisms.trees.refinement`; docs/proofs/paper.md follows the paper
equation by equation, and docs/proofs/errata.md lists its misprints.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.variance import TreeVariance
from geodp.grid.grid import Grid
from geodp.grid.tree import worst_paths
from geodp.mechanisms.base import PUBLIC_DOMAIN, Mechanism, Query
from geodp.mechanisms.trees import attributes, halving, refinement, shrinkage
from geodp.mechanisms.trees.refinement import RefinementNoise, binary, refine
from geodp.privacy.event import PURE, Guarantee, Measurement
from geodp.privacy.key import NoiseKey, Stream
from geodp.table.counts import CountTable
from geodp.table.measured import COUNT, DIFFERENCE, NodeLevel
from geodp.table.released import ReleasedTable


@dataclass(frozen=True)
class TopDown(Mechanism):
    """Terada, Suzuki, Yamaguchi, Hongo (2015): pruned top-down refinement on integers.

    Measured are the total and, at every node of the binary tree over the keys, the difference
    of its two halves; each gets discrete Laplace noise of scale ``(1 + k) / epsilon`` on a
    domain of ``2**k`` cells. From the root down, every noisy difference is clamped to what its
    node holds, so no count is negative, children add up to their parent, and an empty node is not
    visited any further.
    """

    name: ClassVar[str] = "topdown"
    version: ClassVar[int] = 2
    title: ClassVar[str] = "top-down refinement of noisy Haar details (Terada et al. 2015)"
    citation: ClassVar[str] = (
        "Terada, Suzuki, Yamaguchi, Hongo: On Publishing Large Tabular Data with Differential "
        "Privacy. IPSJ Journal 56(9), 2015."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        variant=PURE,
        precondition=PUBLIC_DOMAIN,
        source="Terada et al. (2015), section 4: one person changes the total by 1 and one detail "
        "on each of the k levels by 1, so the L1 sensitivity is 1 + k; everything after the noise "
        "is post-processing",
    )
    whole: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    gaussian: ClassVar[bool] = True
    skips_outside: ClassVar[bool] = True
    postprocessing: ClassVar[tuple[str, ...]] = (
        "Non-negativity: a total below 0 becomes 0, and every detail is clamped to what its node "
        "holds. The clamp is biased: an isolated occupied cell is lowered by about 2 to 3 noise "
        "scales, and what it loses goes to the empty cells around it (isolated-cell shrinkage).",
        "Additivity: every area's count is exactly the sum of its cells.",
        "Whole numbers: an odd sum is split by a random bit of its node; unbiased.",
    )

    def unsupported(self, grid: Grid) -> str | None:
        """Reject orders in which a node does not split in two; any size is supported."""
        return grid.order.why_no_halves(self.name)

    def sensitivity(self, grid: Grid) -> int:
        """Return ``1 + k``: the total, and one detail on each of the k levels.

        On a masked domain k is the largest number of branching nodes above a cell: at a node with
        one possible child the detail is the node's sum or its negative, so it is not measured,
        and one person changes only the details of the branching nodes above their cell.
        """
        paths = worst_paths(binary(grid), 0, lambda count: count + 1, lambda count: count)
        return 1 + int(paths[-1])

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Explain the sensitivity in one sentence for the release card."""
        b = self.sensitivity(grid) - 1
        return (
            f"a person counted once changes the total by 1, and one difference by 1 on each of the "
            f"{b} levels where both halves of the person's block can hold somebody"
        )

    def queries(self, grid: Grid, event: Measurement) -> tuple[Query, ...]:
        """List the total, and the differences of the halves of all nodes."""
        noise = event.law().identity
        return (
            Query(Stream.TOPDOWN_TOTAL, noise, ("total",)),
            Query(Stream.TOPDOWN_DETAIL, noise, ("differences of halves", grid.bits)),
        )

    def list_levels(self, grid: Grid, event: Measurement) -> tuple[NodeLevel, ...]:
        """List the total, and the differences of the halves of the nodes of every level."""
        noise, variance = event.law().identity, event.law().variance
        total = NodeLevel(0, 0, COUNT, noise, variance)
        halves = [NodeLevel(i, i, DIFFERENCE, noise, variance) for i in range(grid.bits)]
        return (total, *halves)

    def draw_nodes(
        self, grid: Grid, event: Measurement, key: NoiseKey, level: int, node: NDArray[np.uint64]
    ) -> NDArray[np.int64]:
        """Draw the noise of the total, or of differences."""
        noise = RefinementNoise.of(event, key)
        if not level:
            return noise.total.at(refinement.ROOT, 0, 0)[0]
        height = level - 1
        return noise.detail.at(node | np.uint64(1 << height), height, grid.bits)[0]

    def isolated_cell(self, grid: Grid, event: Measurement) -> dict[str, float]:
        """Compute bias and root-mean-square error of an isolated cell, in counts."""
        # Let E be the error of the block that contains the cell, in noise scales. At the root it
        # has the law of the noise; on every level it becomes min(E, (E + N) / 2) with N of that
        # law, as the empty half cannot become negative. The paper's Theorem 3, an upper bound
        # everywhere, does not hold here: see docs/proofs/errata.md.
        scale, gaussian = event.width(), event.rho is not None
        bias, rmse = _isolated_errors(self.sensitivity(grid) - 1, gaussian)
        return {"bias": float(f"{bias * scale:.4g}"), "rmse": float(f"{rmse * scale:.4g}")}

    def isolated_block(self, grid: Grid, event: Measurement) -> dict[str, Any] | None:
        """Compute bias and root-mean-square error of an isolated settlement's sum.

        They are accurate to about 5 % for trees of up to 2**40 cells.
        """
        return shrinkage.block(refinement.Halving(event.law()), grid)

    def label_totals(
        self, grid: Grid, event: Measurement, people: float | None
    ) -> attributes.Rows | None:
        """Compute what the clamp adds to the total of a small label of every attribute."""
        run = refinement.Halving(event.law())
        tree = self.tree_variance(grid, event)
        return attributes.totals(grid, tree, lambda top, last: run, people)

    def clamp_losses(self, grid: Grid, event: Measurement) -> list[tuple[float, float]]:
        """Compute the clamp's loss of an occupied half whose sibling is empty, at one node."""
        width, gaussian, sigma2 = event.width(), event.rho is not None, event.law().variance
        above = [(v / sigma2) ** 0.5 for v in self.tree_variance(grid, event).nodes()[:-1]]
        losses = [halving.lose(round(error, 3), gaussian) for error in above]
        return [(mean * width, spread * width) for mean, spread in losses]

    def variances(self, grid: Grid, event: Measurement) -> NDArray[np.float64]:
        """Compute the largest variance of a block of each level, where nothing is clamped.

        Halving a node's sum with a noisy detail gives ``(V + sigma**2) / 4``, starting with
        ``sigma**2`` at the root. On a domain of ``2**k`` cells without a mask a block of ``2**l``
        cells has ``sigma**2 / 3 * (1 + 2 / q**2)``, ``q = 2**(k - l)``: Terada et al. (2015),
        Theorem 3, read as an equality, which is also the variance of Privelet. A node with one
        possible child passes its variance on. The rounding of odd sums, not counted here, adds less
        than 1.

        Returns
        -------
        float64[bits + 1]
            From the root to the cells.
        """
        sigma2 = event.law().variance
        return sigma2 * worst_paths(binary(grid), 1, lambda v: (v + 1) / 4, lambda v: v)

    def tree_variance(self, grid: Grid, event: Measurement) -> TreeVariance:
        """Return a tree of halves, each with variance ``sigma**2 / 2`` from half a detail."""
        sigma2, bits = event.law().variance, grid.bits
        variances = (sigma2, *[sigma2 / 2] * bits)
        # Both halves deviate by the same noise N / 2, in opposite directions: together they have
        # the cumulants of two independent halves with the fourth cumulant 3 sigma**4 / 2.
        fourths = (3 * sigma2**2, *[1.5 * sigma2**2] * bits) if event.rho is None else ()
        return TreeVariance((2,) * bits, variances, fourths)

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Release by T2, the sparse form, which visits ``O(m+ log n)`` nodes."""
        keys, counts, _ = refine(table, RefinementNoise.of(event, key))
        return ReleasedTable(table.grid, keys, counts, event)

    def visited(self, released: ReleasedTable) -> int:
        """Count the nodes that were split: all that lie above a released cell."""
        if not released.key.size:
            return 0
        # The highest bit in which neighbouring keys differ is the level where their paths part.
        # frexp finds it exactly only below 2**53, hence the two halves.
        meet = released.key[1:] ^ released.key[:-1]
        low, high = np.frexp(meet & np.uint64(2**32 - 1))[1], np.frexp(meet >> np.uint64(32))[1]
        return released.grid.bits + int(np.where(high > 0, high + 31, low - 1).sum())


@lru_cache(maxsize=128)
def _isolated_errors(levels: int, gaussian: bool) -> tuple[float, float]:
    """Compute bias and root-mean-square error of an isolated cell, in noise scales."""
    # The recursion of TopDown.isolated_cell for the law's density on a grid of 1/20 scale.
    step, reach = 1 / 20, 25.0
    value = np.arange(-reach, reach + step / 2, step)
    noise = np.exp(-(value**2) / 2 if gaussian else -np.abs(value))
    noise /= noise.sum()
    error = noise.copy()
    above = noise[::-1].cumsum()[::-1]  # P(N >= value)
    for _ in range(levels):
        error = error * above + halving.halve_sums(error, noise)
    return float(error @ value), float(np.sqrt(error @ value**2))


METHODS = (TopDown(),)
