"""The paper's method: noisy Haar details, refined from the top down."""

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
    node holds, so no count is negative, children add up to their parent, and a node with
    nobody is not visited any further.
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
        "holds. The clamp is biased: a "
        "lone occupied cell in an empty region is pulled down by about 2 to 3 noise scales, and "
        "what it loses goes to the empty cells around it (isolated-cell shrinkage).",
        "Additivity: every area's count is exactly the sum of its cells.",
        "Whole numbers: an odd sum is split by a random bit of its node; unbiased.",
    )

    def unsupported(self, grid: Grid) -> str | None:
        """Any size; but every node must split in two."""
        return grid.order.why_no_halves(self.name)

    def sensitivity(self, grid: Grid) -> int:
        """``1 + k``: the total, and one detail on each of the k levels.

        On a masked domain k is the largest number of branching nodes above a cell: at a node with
        one possible child the detail is the node's sum or its negative, so it is not measured,
        and one person changes only the details of the branching nodes above their cell.
        """
        paths = worst_paths(binary(grid), 0, lambda count: count + 1, lambda count: count)
        return 1 + int(paths[-1])

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Why it is that, as one sentence for the release card."""
        b = self.sensitivity(grid) - 1
        return (
            f"a person counted once changes the total by 1, and one difference by 1 on each of the "
            f"{b} levels where both halves of the person's block can hold somebody"
        )

    def queries(self, grid: Grid, event: Measurement) -> tuple[Query, ...]:
        """Return the total, and the difference of the halves of every node."""
        noise = event.law().identity
        return (
            Query(Stream.TOPDOWN_TOTAL, noise, ("total",)),
            Query(Stream.TOPDOWN_DETAIL, noise, ("differences of halves", grid.bits)),
        )

    def list_levels(self, grid: Grid, event: Measurement) -> tuple[NodeLevel, ...]:
        """Return the total, and the differences of the halves of the nodes of every level."""
        noise, variance = event.law().identity, event.law().variance
        total = NodeLevel(0, 0, COUNT, noise, variance)
        halves = [NodeLevel(i, i, DIFFERENCE, noise, variance) for i in range(grid.bits)]
        return (total, *halves)

    def draw_nodes(
        self, grid: Grid, event: Measurement, key: NoiseKey, level: int, node: NDArray[np.uint64]
    ) -> NDArray[np.int64]:
        """Return the noise of the total, or of differences."""
        noise = RefinementNoise.of(event, key)
        if not level:
            return noise.total.at(refinement.ROOT, 0, 0)[0]
        height = level - 1
        return noise.detail.at(node | np.uint64(1 << height), height, grid.bits)[0]

    def isolated_cell(self, grid: Grid, event: Measurement) -> dict[str, float]:
        """Bias and root-mean-square error of one lone cell in an empty region, in counts.

        With E the error of a block that holds all people of its surroundings, in noise scales:
        E has the noise's law at the root, and becomes ``min(E, (E + N) / 2)`` on every level, N of
        that law too, as the empty half cannot become negative. Evaluated on a grid of 1/20 scale.
        """
        scale, gaussian = event.width(), event.rho is not None
        bias, rmse = _isolated_errors(self.sensitivity(grid) - 1, gaussian)
        return {"bias": float(f"{bias * scale:.4g}"), "rmse": float(f"{rmse * scale:.4g}")}

    def isolated_block(self, grid: Grid, event: Measurement) -> dict[str, Any] | None:
        """Return the same of a lone settlement's sum.

        It is right within about 5 % for trees up to 2**40 cells.
        """
        return shrinkage.block(refinement.Halving(event.law()), grid)

    def label_totals(
        self, grid: Grid, event: Measurement, people: float | None
    ) -> attributes.Rows | None:
        """Return what the clamp adds to the total of a small label of every attribute."""
        run = refinement.Halving(event.law())
        tree = self.tree_variance(grid, event)
        return attributes.totals(grid, tree, lambda top, last: run, people)

    def clamp_losses(self, grid: Grid, event: Measurement) -> list[tuple[float, float]]:
        """Return what the clamp takes from an occupied half beside an empty one, at one node."""
        width, gaussian, sigma2 = event.width(), event.rho is not None, event.law().variance
        above = [(v / sigma2) ** 0.5 for v in self.tree_variance(grid, event).nodes()[:-1]]
        losses = [halving.lose(round(error, 3), gaussian) for error in above]
        return [(mean * width, spread * width) for mean, spread in losses]

    def variances(self, grid: Grid, event: Measurement) -> NDArray[np.float64]:
        """Largest variance of a block of each level where nothing is clamped.

        Halving a node's sum with a noisy detail gives ``(V + sigma**2) / 4``, from ``sigma**2`` at
        the root. On a domain of ``2**k`` cells without a mask a block of ``2**l`` cells has
        ``sigma**2 / 3 * (1 + 2 / q**2)``, ``q = 2**(k - l)``: Terada et al. (2015), Theorem 3,
        read as an equality, which is also the variance of Privelet. A node with one possible
        child passes its variance on. The rounding of odd sums, not counted here, adds less than 1.

        Returns
        -------
        float64[bits + 1]
            From the root to the cells.
        """
        sigma2 = event.law().variance
        return sigma2 * worst_paths(binary(grid), 1, lambda v: (v + 1) / 4, lambda v: v)

    def tree_variance(self, grid: Grid, event: Measurement) -> TreeVariance:
        """Halves with the variance ``sigma**2 / 2`` each: a detail's noise, halved, to and fro."""
        sigma2, bits = event.law().variance, grid.bits
        variances = (sigma2, *[sigma2 / 2] * bits)
        # Both halves deviate by the same noise N / 2: as two of fourth cumulant 3 sigma**4 / 2.
        fourths = (3 * sigma2**2, *[1.5 * sigma2**2] * bits) if event.rho is None else ()
        return TreeVariance((2,) * bits, variances, fourths)

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """T2, the sparse form: ``O(m+ log n)`` visited nodes."""
        keys, counts, _ = refine(table, RefinementNoise.of(event, key))
        return ReleasedTable(table.grid, keys, counts, event)

    def visited(self, released: ReleasedTable) -> int:
        """Nodes that were split: all that lie above an output cell."""
        if not released.key.size:
            return 0
        meet = released.key[1:] ^ released.key[:-1]
        low, high = np.frexp(meet & np.uint64(2**32 - 1))[1], np.frexp(meet >> np.uint64(32))[1]
        return released.grid.bits + int(np.where(high > 0, high + 31, low - 1).sum())


@lru_cache(maxsize=128)
def _isolated_errors(levels: int, gaussian: bool) -> tuple[float, float]:
    """Bias and root-mean-square error of :meth:`TopDown.isolated_cell`, in noise scales."""
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
