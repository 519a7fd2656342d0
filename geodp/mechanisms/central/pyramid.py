"""The pyramid, geodp's default: noisy counts of few levels, apportioned from the top down.

The levels and their noise are a :class:`geodp.mechanisms.trees.descent.Descent`; the passes are in
:mod:`geodp.mechanisms.trees.traversal`. docs/decisions/0006 explains why it is the default.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate, pairwise
from math import prod
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.closed_form import IrregularTree
from geodp.accuracy.variance import Drop, TreeVariance, fourths_from_below, from_below
from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import WIDEST
from geodp.mechanisms.base import Mechanism, Method, Query, within
from geodp.mechanisms.trees import (
    attributes,
    descent,
    informed,
    shrinkage,
    traversal,
)
from geodp.mechanisms.trees.levels import (
    FEW_BITS,
    LevelScheme,
    default_levels,
    preset,
    steps_of,
    trusting_levels,
    weights_of,
)
from geodp.privacy.event import Guarantee, Measurement
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.noise.node import NodeNoise
from geodp.table.counts import CountTable, ReleasedTable
from geodp.table.measured import COUNT, NodeLevel
from geodp.table.prior import Prior
from geodp.table.stated.release import StatedPrior

SETTINGS = ("auto", "R", "fine", "flat", "informed", "islands", "official")

SMALL = 1 << 10
"""Number of keys below which the total gets the weight of a single bit: on so few keys a larger
share of the total costs the blocks below it more than it gains them."""

PURPOSE = (
    "; they are the default's, chosen for cells, municipalities and polygons; aligned blocks of "
    "more than 1,024 cells can have up to 3 times the error of topdown, and for these setting=R "
    "is better"
)
"""The default's strengths and costs, measured by ``python -m bench shares``."""


@dataclass(frozen=True)
class Pyramid(Mechanism):
    """Noisy counts of a few levels of a tree, made consistent from the top down.

    Every level has a share of the budget, and every node of it a noisy count. From the root down, a
    node's released count is apportioned to its children, as close as possible to their noisy counts
    and without negative ones; an empty node is not visited any further. With two passes,
    measurements below a node then improve its own estimate, and the counts are apportioned once
    more. One person changes one count on every level, so the shares add up to epsilon; with few
    levels each has more of it.

    Attributes
    ----------
    setting : str
        ``"auto"``: by the domain's shape and the law of the noise, for common queries (cells,
        municipalities, polygons, rectangles, the published areas of the grid's order), at the cost
        of large aligned blocks; see :mod:`geodp.mechanisms.trees.levels`.
        ``"R"``: nodes of 16 children, shares proportional to the bits that a level splits, for
        aligned blocks of all sizes; ``"fine"``: for small areas; ``"flat"``: nodes of 4, equal
        shares; ``"informed"``: nodes of 64 children, with less for the cells and more for the
        levels above, to be used with a reliable prior; ``"islands"``: for isolated settlements, at
        the cost of large areas; ``"official"``: the published areas of the grid's code system, or
        an office's regions, with shares as for R.
    chain : str
        Custom levels: the digits of a key (bits, in a binary order) that each splits, from the
        root on, such as ``"2-4-4-4-4"``; with ``shares``.
    shares : str
        Weights of the custom levels, the root's first: ``"2-2-4-4-4-4"``.
    passes : int
        1 or 2.
    prune : Fraction
        Children with fewer than this many noise scales are dropped.
    """

    setting: str = field(default="auto", metadata={"choices": SETTINGS})
    chain: str = ""
    shares: str = ""
    passes: int = field(default=2, metadata=within(1, 2))
    prune: Fraction = field(default=Fraction(0), metadata=within(0))

    name: ClassVar[str] = "pyramid"
    version: ClassVar[int] = 6
    title: ClassVar[str] = "noisy counts of few levels, divided from the top down"
    citation: ClassVar[str] = (
        "geodp: its own method, defined and proved in the documentation of its class Pyramid."
    )
    guarantee: ClassVar[Guarantee] = Guarantee(
        "one person changes exactly one count on each level, by 1; level i has noise of "
        "scale 1/e_i, so the L1 norm of the change in units of the noise is the sum of all e_i, "
        "which is epsilon; Gaussian noise with the share of rho that the level has adds up to rho. "
        "Whether a node is visited depends only on noisy values above it, and the noise of nodes "
        "is independent; everything else is post-processing",
    )
    whole: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    gaussian: ClassVar[bool] = True
    informed: ClassVar[bool] = True
    skips_outside: ClassVar[bool] = True
    postprocessing: ClassVar[tuple[str, ...]] = (
        "Non-negativity: children below 0 become 0 and their siblings are lowered by as much, with "
        "two passes the populous ones by less. It is biased: an isolated occupied cell is lowered, "
        "and what it loses goes to the empty cells around it.",
        "Additivity: every area's count is exactly the sum of its cells.",
        "Whole numbers: shares are rounded systematically with one random number of their node; "
        "unbiased.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
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
        """Reject settings that do not fit the grid's order; any size is supported."""
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
        """Return the levels on a grid, with Laplace or Gaussian noise."""
        return _cached(_levels, self)(self, grid, gaussian)

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Explain the sensitivity of 1 for each level, and list the levels' shares."""
        gaussian = event is not None and event.rho is not None
        shares = ", ".join(str(share) for share in self.levels(grid, gaussian=gaussian).shares)
        custom = self.setting != "auto" or self.chain or gaussian
        table = grid.order.is_binary and grid.bits > FEW_BITS
        return (
            "a person counted once changes one count by 1 on each level; the levels, from the "
            f"total to the cells, have these shares of the budget: {shares}"
            f"{PURPOSE if table and not custom else ''}"
        )

    def queries(self, grid: Grid, event: Measurement) -> tuple[Query, ...]:
        """List the counts of the nodes of every level, the root's first."""
        steps = self.descent(grid, event)
        levels = zip(steps.laws, (1, *steps.fanouts), steps.strides, strict=True)
        return tuple(
            Query(Stream.PYRAMID + i, law.identity, ("nodes of keys", fanout, stride))
            for i, (law, fanout, stride) in enumerate(levels)
        )

    def list_levels(self, grid: Grid, event: Measurement) -> tuple[NodeLevel, ...]:
        """List the counts of all levels; a node is visited if its parent is above 0."""
        steps = self.descent(grid, event)
        digits = [grid.order.digits_above(stride) for stride in steps.strides]
        above = [0, *digits[:-1]]
        return tuple(
            NodeLevel(below, under, COUNT, law.identity, law.variance)
            for below, under, law in zip(digits, above, steps.laws, strict=True)
        )

    def draw_nodes(
        self, grid: Grid, event: Measurement, key: NoiseKey, level: int, node: NDArray[np.uint64]
    ) -> NDArray[np.int64]:
        """Draw the noise of counts."""
        descent = self.descent(grid, event)
        noise = NodeNoise(key, Stream.PYRAMID + level, descent.laws[level])
        return noise.among_children(node, (1, *descent.fanouts)[level])

    def tree_variance(self, grid: Grid, event: Measurement) -> TreeVariance:
        """Return the tree of the levels with the variances of their estimates."""
        return _cached(_tree_variance, self)(self, grid, event)

    def min_share(self, grid: Grid, event: Measurement) -> Fraction:
        """Return the smallest share of a level."""
        return min(self.levels(grid, gaussian=event.rho is not None).shares)

    def variances(self, grid: Grid, event: Measurement) -> NDArray[np.float64] | None:
        """Compute the variance of aligned blocks where nothing is clamped; None if digits are no
        bits.

        On a domain with edges, where nodes have fewer children, it is the largest of all blocks of
        a size; with a mask it is a bound.
        """
        return self.tree_variance(grid, event).largest(grid) if grid.order.is_binary else None

    def isolated_cell(self, grid: Grid, event: Measurement) -> dict[str, float]:
        """Compute bias and root-mean-square error of an isolated cell, in counts.

        They are accurate to about 3 % for trees of up to 2**40 cells.
        """
        # The mechanism itself runs, with a public key, on hundreds of trees with one occupied cell
        # each: unlike for topdown, no recursion of one variable describes it.
        return shrinkage.cell(self.descent(grid, event))

    def isolated_block(self, grid: Grid, event: Measurement) -> dict[str, Any] | None:
        """Compute bias and root-mean-square error of an isolated settlement's sum.

        They are accurate to about 5 % for trees of up to 2**40 cells.
        """
        steps = self.descent(grid, event)
        run = traversal.SyntheticLevels(steps.fanouts, steps.laws, steps.min_counts, steps.passes)
        return shrinkage.block(run, grid)

    def label_totals(
        self, grid: Grid, event: Measurement, people: float | None
    ) -> attributes.Rows | None:
        """Compute what the clamp adds to the total of a small label of every attribute."""
        steps = self.descent(grid, event)

        def levels(top: int, last: int) -> traversal.SyntheticLevels:
            noisy = slice(top, last + 1)
            fanouts, laws = steps.fanouts[top:last], steps.laws[noisy]
            return traversal.SyntheticLevels(fanouts, laws, steps.min_counts[noisy], steps.passes)

        return attributes.totals(grid, self.tree_variance(grid, event), levels, people)

    def clamp_losses(self, grid: Grid, event: Measurement) -> list[tuple[float, float]]:
        """Compute the clamp's loss: what a node's occupied children lose to empty siblings."""
        tree, steps = self.tree_variance(grid, event), self.descent(grid, event)
        losses = []
        for i, (law, fanout) in enumerate(zip(steps.laws[1:], tree.fanouts, strict=True)):
            shrunk = (tree.variances[i + 1] / descent.variance_of(law)) ** 0.5
            above = tree.nodes()[i] ** 0.5
            spared = None if self.passes == 1 else i + 1 < len(steps.fanouts)
            losses.append(
                shrinkage.split(law, fanout, shrunk, above, steps.min_counts[i + 1], spared)
            )
        return losses

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Release by the sparse form: O(fanout * m+ * levels) time, O(visited nodes) memory."""
        cells, counts, _ = refine(table, self, event, key)
        return ReleasedTable(table.grid, cells, counts, event)

    def release_informed(
        self, table: CountTable, event: Measurement, key: NoiseKey, prior: Prior
    ) -> tuple[ReleasedTable, StatedPrior]:
        """Release the same measurements with a prior; open nodes of all levels stay in memory."""
        result = informed.refine(table, self.descent(table.grid, event), key, prior)
        cells, counts, learned = result
        released = ReleasedTable(table.grid, cells, counts, event)
        return released, informed.state(prior, learned)

    def descent(self, grid: Grid, event: Measurement) -> descent.Descent:
        """Return the levels on a grid with the noise of an event."""
        return _cached(_descent, self)(self, grid, event)

    def visited(self, released: ReleasedTable) -> int:
        """Count the nodes that were certainly measured: all children of the cells' ancestors."""
        chain = self.levels(released.grid, gaussian=released.event.rho is not None)
        measured = 1
        for fanout, stride in zip(chain.fanouts, chain.strides, strict=False):
            node = released.key // np.uint64(stride)
            measured += fanout * (int((node[1:] != node[:-1]).sum()) + min(node.size, 1))
        return measured


Result = TypeVar("Result")


def _cached(function: Callable[..., Result], method: Pyramid) -> Callable[..., Result]:
    """Return the cached form of a function; for a subclass the function itself."""
    # A cache looks values up by equality, which may ignore what a subclass adds.
    return function if type(method) is Pyramid else inspect.unwrap(function)


@lru_cache(maxsize=8)
def _levels(method: Pyramid, grid: Grid, gaussian: bool) -> LevelScheme:
    radices = grid.order.radices
    if method.chain:
        steps, weights = steps_of(method.chain), weights_of(method.shares)
    elif method.setting == "auto":
        steps, weights = default_levels(grid, gaussian=gaussian)
    elif method.setting == "informed":
        steps, weights = trusting_levels(radices, gaussian=gaussian)
    elif method.setting == "official":
        steps, weights = [step for _, step in grid.areas.steps], []
    else:
        steps, weights = preset(method.setting, radices)
    ends = [0, *accumulate(steps)]
    fanouts = tuple(prod(radices[a:b]) for a, b in pairwise(ends))
    if not weights:
        root = 1 if prod(fanouts) < SMALL else 2
        weights = [Fraction(w) for w in (root, *(f.bit_length() - 1 for f in fanouts))]
    return LevelScheme(fanouts, tuple(weight / sum(weights) for weight in weights))


@lru_cache(maxsize=8)
def _descent(method: Pyramid, grid: Grid, event: Measurement) -> descent.Descent:
    chain = method.levels(grid, gaussian=event.rho is not None)
    return descent.Descent.of(chain, event, float(method.prune), method.passes)


@lru_cache(maxsize=8)
def _tree_variance(method: Pyramid, grid: Grid, event: Measurement) -> TreeVariance:
    steps = method.descent(grid, event)
    fanouts, measured = steps.fanouts, steps.variances
    best = from_below(fanouts, measured) if method.passes == 2 else measured
    # Gaussian noise has practically no fourth cumulant, so quantiles of sums need no correction.
    fourths = fourths_from_below(fanouts, measured, best) if event.rho is None else ()
    drops: tuple[Drop, ...] = ()
    if method.prune:
        shares = method.levels(grid, gaussian=event.rho is not None).shares
        scales = (0.0 if event.rho is not None else event.width(share) for share in shares)
        drops = tuple(map(Drop, steps.min_counts, scales))[1:]
    if method.passes == 1:
        return TreeVariance(fanouts, measured, fourths, drops)
    return IrregularTree(fanouts, best, fourths, drops, measured)


def refine(
    table: CountTable,
    method: Pyramid,
    event: Measurement,
    key: NoiseKey,
    parts: int = 0,
    threads: int = 0,
) -> tuple[NDArray[np.uint64], NDArray[np.int64], int]:
    """Return cells above 0 and their counts in key order, and the number of nodes measured.

    Parameters
    ----------
    parts : int
        Number of chunks of subtrees that are processed in parallel, if there are many nodes; 0:
        some for every thread. It does not affect the result.
    threads : int
        0: one for every processor.
    """
    return traversal.refine(table, method.descent(table.grid, event), key, parts, threads)


class OfPyramid(Method[Measurement]):
    """A table of streams that a pyramid measures; a subclass is a dataclass with its settings.

    Attributes
    ----------
    setting, chain, shares : str
        Those of the pyramid.
    """

    setting: str
    chain: str
    shares: str

    noise: ClassVar[str] = Mechanism.noise
    noise_format: ClassVar[str] = Mechanism.noise_format
    whole: ClassVar[bool] = True
    skips_outside: ClassVar[bool] = True

    @cached_property
    def pyramid(self) -> Pyramid:
        """The method that measures each stream."""
        return Pyramid(self.setting, self.chain, self.shares)

    def unsupported(self, grid: Grid) -> str | None:
        """Explain in one sentence why a grid cannot be taken; None: it can."""
        return self.pyramid.unsupported(grid)

    def list_shares(self, grid: Grid, event: Measurement | None) -> str:
        """List the shares of the budget of the levels, from the total to the cells, as text."""
        levels = self.pyramid.levels(grid, gaussian=event is not None and event.rho is not None)
        return ", ".join(str(share) for share in levels.shares)


METHODS = (Pyramid(),)
