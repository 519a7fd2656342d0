"""The pyramid: noisy counts of few levels, shared out from the top down."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from math import prod
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.dropped import Drop
from geodp.accuracy.hierarchy import IrregularTree
from geodp.accuracy.variance import TreeVariance, fourths_from_below, from_below
from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import WIDEST
from geodp.mechanisms.base import PUBLIC_DOMAIN, Mechanism, Query
from geodp.mechanisms.trees import (
    attributes,
    dense,
    descent,
    shrinkage,
    walk,
)
from geodp.mechanisms.trees.levels import LevelScheme, preset, steps_of, trust_below, weights_of
from geodp.privacy.event import PURE, Guarantee, Measurement
from geodp.privacy.key import NoiseKey, Stream
from geodp.table.counts import CountTable
from geodp.table.measured import COUNT, NodeLevel
from geodp.table.prior import Prior
from geodp.table.released import ReleasedTable
from geodp.table.stated.prior import StatedPrior

SETTINGS = ("auto", "R", "fine", "flat", "informed", "series", "islands", "official")

SMALL = 1 << 10
"""On fewer keys a heavy total costs the blocks below it more than it gives them."""

PURPOSE = (
    "; they are the default's, for cells, municipalities and polygons, and aligned blocks pay: "
    "those of more than 4,096 cells can have up to 1.25 times the error of topdown; setting=R is "
    "for those"
)
"""What the default is good for, and what it pays: ``python -m bench auto``."""


@dataclass(frozen=True)
class Pyramid(Mechanism):
    """Noisy counts of a few levels of a tree, made consistent from the top down.

    Every level has its share of the budget, and every node of it a noisy count. From the root
    down, a node's released count is shared out among its children as near as possible to their
    noisy counts, without negative ones; a node with nobody is not visited any further. With two
    passes, what was measured below a node then improves its own estimate, and the counts are
    shared out once more. One person changes one count of every level, so the shares add up to
    epsilon; few levels leave more of it for each.

    Attributes
    ----------
    setting : str
        ``"auto"``: a table by the size of the domain, for what people ask: cells, municipalities,
        polygons, rectangles, at the cost of large aligned blocks; official on a grid in the order
        of areas; with Gaussian noise flat.
        ``"R"``: nodes of 16 children, shares proportional to the bits that a level splits, for
        aligned blocks of all sizes; ``"fine"``: for small areas; ``"flat"``: nodes of 4, equal
        shares; ``"informed"``: those of R, less for the cells and more for what is above them, for
        who trusts a prior; ``"series"``: for snapshots with Gaussian noise that predict each
        other; ``"islands"``: for settlements that stand alone, at the cost of large areas;
        ``"official"``: the published areas of the grid's code system, or an office's regions,
        shares as for R.
    chain : str
        Own levels: the digits of a key (bits, on a binary order) that each splits, from the root
        on, such as ``"2-4-4-4-4"``; with ``shares``.
    shares : str
        Weights of the levels of an own chain, the root's first: ``"2-2-4-4-4-4"``.
    passes : int
        1 or 2.
    prune : Fraction
        Children with less than this many noise scales are dropped.
    """

    setting: str = "auto"
    chain: str = ""
    shares: str = ""
    passes: int = 2
    prune: Fraction = Fraction(0)

    name: ClassVar[str] = "pyramid"
    version: ClassVar[int] = 4
    title: ClassVar[str] = "noisy counts of few levels, shared out from the top down"
    citation: ClassVar[str] = (
        "geodp: its own method, defined and proved in the documentation of its class Pyramid."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        variant=PURE,
        precondition=PUBLIC_DOMAIN,
        source="one person changes exactly one count on each level, by 1; level i has noise of "
        "scale 1/e_i, so the L1 norm of the change in units of the noise is the sum of all e_i, "
        "which is epsilon; Gaussian noise with the share of rho that the level has adds up to rho. "
        "Whether a node is looked at depends on noisy values above it only, and "
        "noises are independent; everything else is post-processing",
    )
    whole: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    gaussian: ClassVar[bool] = True
    informed: ClassVar[bool] = True
    skips_outside: ClassVar[bool] = True
    postprocessing: ClassVar[tuple[str, ...]] = (
        "Non-negativity: children below 0 become 0 and their siblings pay for it, with two passes "
        "the populous ones less. It is biased: a lone occupied cell in an empty region is pulled "
        "down, and what it loses goes to the empty cells around it.",
        "Additivity: every area's count is exactly the sum of its cells.",
        "Whole numbers: shares are rounded systematically with one random number of their node; "
        "unbiased.",
    )

    def __post_init__(self) -> None:
        if self.setting not in SETTINGS:
            raise UsageError(
                f"pyramid:setting is {', '.join(SETTINGS[:-1])} or {SETTINGS[-1]}.",
                code="pyramid-setting",
            )
        if self.passes not in (1, 2):
            raise UsageError("pyramid:passes is 1 or 2.", code="pyramid-passes")
        if self.prune < 0:
            raise UsageError("pyramid:prune is 0 or more noise scales.", code="pyramid-prune")
        if bool(self.chain) != bool(self.shares):
            raise UsageError(
                "pyramid:chain and pyramid:shares go together.", code="pyramid-chain-and-shares"
            )
        steps, weights = steps_of(self.chain), weights_of(self.shares)
        if self.chain and len(weights) != len(steps) + 1:
            raise UsageError(
                "pyramid:shares has a weight for the root and one for every step.",
                code="pyramid-shares-count",
            )

    def unsupported(self, grid: Grid) -> str | None:
        """Any size; but an own chain must split all digits of a key."""
        digits = len(grid.order.radices)
        if self.setting == "official" and not self.chain and not grid.areas.nested:
            return Rule(
                "pyramid-needs-areas",
                "pyramid:setting=official needs a grid in the order of its code system's areas "
                "(--order official, Grid.with_official_order) or of regions (--regions, "
                "Grid.with_hierarchy).",
            )
        if self.setting == "islands" and not self.chain:
            refusal = grid.order.why_no_halves("pyramid:setting=islands")
            if refusal is not None:
                return refusal
        if self.chain and sum(steps_of(self.chain)) != digits:
            return Rule(
                "pyramid-chain",
                f"pyramid:chain must add up to the {digits} digits of a key of this grid.",
            )
        if any(fanout > WIDEST for fanout in self.levels(grid).fanouts):
            return Rule(
                "pyramid-too-wide",
                f"A level of the pyramid may have at most {WIDEST} children a node.",
            )
        return None

    def levels(self, grid: Grid, *, gaussian: bool = False) -> LevelScheme:
        """Return the chain on a grid, with Laplace or Gaussian noise."""
        return _keep(_levels, self)(self, grid, gaussian)

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Why it is 1 for each level, what each level's noise is, and what the default is for."""
        gaussian = event is not None and event.rho is not None
        shares = ", ".join(str(share) for share in self.levels(grid, gaussian=gaussian).shares)
        own = self.setting != "auto" or self.chain or gaussian
        official = grid.areas.nested or not grid.order.is_binary
        return (
            "a person counted once changes one count by 1 on each level; the levels, from the "
            f"total to the cells, have these shares of the budget: {shares}"
            f"{'' if own or official else PURPOSE}"
        )

    def queries(self, grid: Grid, event: Measurement) -> tuple[Query, ...]:
        """Return counts of the nodes of every level, the root's first."""
        steps = self.descent(grid, event)
        levels = zip(steps.laws, (1, *steps.fanouts), steps.strides, strict=True)
        return tuple(
            Query(Stream.PYRAMID + i, law.identity, ("nodes of keys", fanout, stride))
            for i, (law, fanout, stride) in enumerate(levels)
        )

    def list_levels(self, grid: Grid, event: Measurement) -> tuple[NodeLevel, ...]:
        """Return the counts of all levels; a node is visited where the one above it is above 0."""
        steps = self.descent(grid, event)
        digits = [grid.order.digits_above(stride) for stride in steps.strides]
        above = [0, *digits[:-1]]
        return tuple(
            NodeLevel(own, under, COUNT, law.identity, law.variance)
            for own, under, law in zip(digits, above, steps.laws, strict=True)
        )

    def draw_nodes(
        self, grid: Grid, event: Measurement, key: NoiseKey, level: int, node: NDArray[np.uint64]
    ) -> NDArray[np.int64]:
        """Return the noise of counts."""
        return dense.draw_nodes(self.descent(grid, event), key, level, node)

    def tree_variance(self, grid: Grid, event: Measurement) -> TreeVariance:
        """Return the levels and the variances of their estimates."""
        return _keep(_tree_variance, self)(self, grid, event)

    def min_share(self, grid: Grid, event: Measurement) -> Fraction:
        """Return that of a level."""
        return min(self.levels(grid, gaussian=event.rho is not None).shares)

    def variances(self, grid: Grid, event: Measurement) -> NDArray[np.float64] | None:
        """Variance of aligned blocks where nothing is clamped; None on digits that are no bits.

        On a domain with edges, where nodes have fewer children, the largest of all blocks of a
        size; with a mask, a bound.
        """
        return self.tree_variance(grid, event).largest(grid) if grid.order.is_binary else None

    def isolated_cell(self, grid: Grid, event: Measurement) -> dict[str, float]:
        """Bias and root-mean-square error of one lone cell in an empty region, in counts.

        The mechanism itself with a public key, on some hundred trees with one occupied cell each:
        within about 3 % for trees up to 2**40 cells.
        """
        return shrinkage.cell(self.descent(grid, event))

    def isolated_block(self, grid: Grid, event: Measurement) -> dict[str, Any] | None:
        """Return the same of a lone settlement's sum.

        It is right within about 5 % for trees up to 2**40 cells.
        """
        steps = self.descent(grid, event)
        run = walk.SyntheticLevels(steps.fanouts, steps.laws, steps.least, steps.passes)
        return shrinkage.block(run, grid)

    def label_totals(
        self, grid: Grid, event: Measurement, people: float | None
    ) -> attributes.Rows | None:
        """Return what the clamp adds to the total of a small label of every attribute."""
        steps = self.descent(grid, event)

        def levels(top: int, last: int) -> walk.SyntheticLevels:
            noisy = slice(top, last + 1)
            fanouts, laws, least = steps.fanouts[top:last], steps.laws[noisy], steps.least[noisy]
            return walk.SyntheticLevels(fanouts, laws, least, steps.passes)

        return attributes.totals(grid, self.tree_variance(grid, event), levels, people)

    def clamp_losses(self, grid: Grid, event: Measurement) -> list[tuple[float, float]]:
        """Return what the clamp takes from a node's occupied children, the others empty."""
        tree, steps = self.tree_variance(grid, event), self.descent(grid, event)
        found = []
        for i, (law, fanout) in enumerate(zip(steps.laws[1:], tree.fanouts, strict=True)):
            shrunk = (tree.variances[i + 1] / descent.variance_of(law)) ** 0.5
            above = tree.nodes()[i] ** 0.5
            spared = None if self.passes == 1 else i + 1 < len(steps.fanouts)
            found.append(shrinkage.split(law, fanout, shrunk, above, steps.least[i + 1], spared))
        return found

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Return the sparse form: O(fanout * m+ * levels), memory O(visited nodes)."""
        cells, counts, _ = refine(table, self, event, key)
        return ReleasedTable(table.grid, cells, counts, event)

    def release_informed(
        self, table: CountTable, event: Measurement, key: NoiseKey, prior: Prior
    ) -> tuple[ReleasedTable, StatedPrior]:
        """Return the same measurements' counts with a prior; open nodes of all levels are held."""
        from geodp.mechanisms.trees import informed  # its kernels are those of priors alone

        found = informed.refine(table, self.descent(table.grid, event), key, prior)
        cells, counts, learned = found
        released = ReleasedTable(table.grid, cells, counts, event)
        return released, informed.state(prior, learned)

    def descent(self, grid: Grid, event: Measurement) -> descent.Descent:
        """How to descend on a grid, with the noise of an event."""
        return _keep(_descent, self)(self, grid, event)

    def visited(self, released: ReleasedTable) -> int:
        """Nodes measured at least, as the output tells: all children of its cells' ancestors."""
        chain = self.levels(released.grid, gaussian=released.event.rho is not None)
        measured = 1
        for fanout, stride in zip(chain.fanouts, chain.strides, strict=False):
            node = released.key // np.uint64(stride)
            measured += fanout * (int((node[1:] != node[:-1]).sum()) + min(node.size, 1))
        return measured


Found = TypeVar("Found")


def _keep(function: Callable[..., Found], method: Pyramid) -> Callable[..., Found]:
    """Return a function that keeps what it found; of a subclass, whose fields may not be all."""
    return function if type(method) is Pyramid else inspect.unwrap(function)


@lru_cache(maxsize=8)
def _levels(method: Pyramid, grid: Grid, gaussian: bool) -> LevelScheme:
    radices = grid.order.radices
    official = grid.areas.nested and method.setting == "auto" and not gaussian
    if method.chain:
        steps, weights = steps_of(method.chain), weights_of(method.shares)
    elif method.setting == "official" or official:
        steps, weights = [step for _, step in grid.areas.steps], []
    else:
        flat = gaussian and method.setting == "auto"
        line = sum(size > 1 for size in grid.shape) < 2
        steps, weights = preset("flat" if flat else method.setting, radices, line=line)
    ends = [0, *accumulate(steps)]
    fanouts = tuple(prod(radices[a:b]) for a, b in pairwise(ends))
    if not weights:
        root = 1 if prod(fanouts) < SMALL else 2
        weights = [Fraction(w) for w in (root, *(f.bit_length() - 1 for f in fanouts))]
        if method.setting == "informed" and len(weights) > 2:
            weights = trust_below(weights)
    return LevelScheme(fanouts, tuple(weight / sum(weights) for weight in weights))


@lru_cache(maxsize=8)
def _descent(method: Pyramid, grid: Grid, event: Measurement) -> descent.Descent:
    chain = method.levels(grid, gaussian=event.rho is not None)
    return descent.Descent.of(chain, event, float(method.prune), method.passes)


@lru_cache(maxsize=8)
def _tree_variance(method: Pyramid, grid: Grid, event: Measurement) -> TreeVariance:
    steps = method.descent(grid, event)
    fanouts, own = steps.fanouts, steps.variances
    best = from_below(fanouts, own) if method.passes == 2 else own
    fourths = fourths_from_below(fanouts, own, best) if event.rho is None else ()
    drops: tuple[Drop, ...] = ()
    if method.prune:
        shares = method.levels(grid, gaussian=event.rho is not None).shares
        scales = (0.0 if event.rho is not None else event.width(share) for share in shares)
        drops = tuple(map(Drop, steps.least, scales))[1:]
    if method.passes == 1:
        return TreeVariance(fanouts, own, fourths, drops)
    return IrregularTree(fanouts, best, fourths, drops, own)


def refine(
    table: CountTable,
    method: Pyramid,
    event: Measurement,
    key: NoiseKey,
    parts: int = 0,
    threads: int = 0,
) -> tuple[NDArray[np.uint64], NDArray[np.int64], int]:
    """Cells above 0 and their counts in key order, and the number of nodes measured.

    Parameters
    ----------
    parts : int
        Runs of subtrees that are worked on side by side, where there are many nodes; 0: some for
        every thread. They do not show in the result.
    threads : int
        0: one for every processor.
    """
    return walk.refine(table, method.descent(table.grid, event), key, parts, threads)


def refine_dense(
    table: CountTable, method: Pyramid, event: Measurement, key: NoiseKey
) -> NDArray[np.int64]:
    """Return counts of all keys, from all nodes of all levels: bit for bit those of :func:`refine`.

    Returns
    -------
    int64[keys]
        In key order. Raises UsageError for more than 2**22 keys.
    """
    return dense.dense(table, method.descent(table.grid, event), key)


METHODS = (Pyramid(),)
