"""The pyramid: noisy counts of few levels, shared out from the top down."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate, pairwise
from math import prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.accounting import Event, Guarantee
from geodp.errors import UsageError
from geodp.grid import Grid
from geodp.kernels import pyramid as kernels
from geodp.mechanisms.base import PUBLIC_DOMAIN, PURE, Mechanism
from geodp.mechanisms.levels import Chain, preset, steps_of, weights_of
from geodp.noise import Law, NodeNoise
from geodp.noise.node import SLOTS
from geodp.randomness import NoiseKey, Stream
from geodp.regions import WIDEST
from geodp.table import CountTable, ReleasedTable
from geodp.tree import overlaps
from geodp.variance import TreeVariance, from_below


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
        ``"R"``: nodes of 16 children, shares proportional to the bits that a level splits, for
        everything; ``"fine"``: for small areas; ``"flat"``: nodes of 4, equal shares;
        ``"official"``: the published areas of the grid's code system, or an office's regions,
        shares as for R; ``"auto"``: official on a grid in the order of areas, elsewhere R; with
        Gaussian noise flat.
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
    title: ClassVar[str] = "noisy counts of few levels, shared out from the top down"
    citation: ClassVar[str] = "geodp: its own method, defined and proved in this docstring."
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
    skips_outside: ClassVar[bool] = True
    postprocessing: ClassVar[tuple[str, ...]] = (
        "Non-negativity: children below 0 become 0 and their siblings pay for it. It is biased: "
        "a lone occupied cell in an empty region is pulled down, and what it loses goes to the "
        "empty cells around it.",
        "Additivity: every area's count is exactly the sum of its cells.",
        "Whole numbers: shares are rounded systematically with one random number of their node; "
        "unbiased.",
    )

    def __post_init__(self) -> None:
        if self.setting not in ("auto", "R", "fine", "flat", "official"):
            raise UsageError("pyramid:setting is auto, R, fine, flat or official.")
        if self.passes not in (1, 2):
            raise UsageError("pyramid:passes is 1 or 2.")
        if self.prune < 0:
            raise UsageError("pyramid:prune is 0 or more noise scales.")
        if bool(self.chain) != bool(self.shares):
            raise UsageError("pyramid:chain and pyramid:shares go together.")
        steps, weights = steps_of(self.chain), weights_of(self.shares)
        if self.chain and len(weights) != len(steps) + 1:
            raise UsageError("pyramid:shares has a weight for the root and one for every step.")

    def refusal(self, grid: Grid) -> str | None:
        """Any size; but an own chain must split all digits of a key."""
        digits = len(grid.order.radices)
        if self.setting == "official" and not self.chain and grid.official_steps() is None:
            return (
                "pyramid:setting=official needs a grid in the order of its code system's areas "
                "(--order official, Grid.with_official_order) or of regions (--regions, "
                "Grid.with_regions)."
            )
        if self.chain and sum(steps_of(self.chain)) != digits:
            return f"pyramid:chain must add up to the {digits} digits of a key of this grid."
        if any(fanout > WIDEST for fanout in self.levels(grid).fanouts):
            return f"A level of the pyramid may have at most {WIDEST} children a node."
        return None

    def levels(self, grid: Grid, *, gaussian: bool = False) -> Chain:
        """The chain on a grid, with Laplace or Gaussian noise."""
        radices = grid.order.radices
        areas = grid.official_steps() if self.setting in ("auto", "official") else None
        if self.chain:
            steps, weights = steps_of(self.chain), weights_of(self.shares)
        elif self.setting == "official" or (areas is not None and not gaussian):
            steps, weights = [step for _, step in areas or ()], []
        else:
            auto = "flat" if gaussian else "R"
            steps, weights = preset(auto if self.setting == "auto" else self.setting, radices)
        ends = [0, *accumulate(steps)]
        fanouts = tuple(prod(radices[a:b]) for a, b in pairwise(ends))
        weights = weights or [Fraction(2), *(Fraction(f.bit_length() - 1) for f in fanouts)]
        return Chain(fanouts, tuple(weight / sum(weights) for weight in weights))

    def sensitivity_words(self, grid: Grid) -> str:
        """Why it is 1 for each level, and what each level's noise is."""
        shares = ", ".join(str(share) for share in self.levels(grid).shares)
        return (
            "a person counted once changes one count by 1 on each level; the levels, from the "
            f"total to the cells, have these shares of the budget: {shares}"
        )

    def tree_variance(self, grid: Grid, event: Event) -> TreeVariance:
        """The levels and the variances of their estimates."""
        chain = self.levels(grid, gaussian=event.rho is not None)
        own = tuple(event.law(share).variance for share in chain.shares)
        best = from_below(chain.fanouts, own) if self.passes == 2 else own
        return TreeVariance(chain.fanouts, best)

    def variances(self, grid: Grid, event: Event) -> NDArray[np.float64] | None:
        """Variance of aligned blocks where nothing is clamped; None on digits that are no bits.

        On a domain with edges or a mask, where nodes may have fewer children, a bound.
        """
        if not grid.order.is_binary:
            return None
        tree = self.tree_variance(grid, event)
        if grid.size == 1 << grid.bits:
            return tree.blocks()
        found = [tree.variances[0]]
        node = found[0]
        for fanout, own, _ in tree.levels():
            k = fanout
            while (k := k // 2) > 0:
                widths = np.arange(k, fanout + 1)  # children that such a node may have
                part = k / widths
                found.append(float((k * own * (1 - part) + part**2 * node).max()))
            node = found[-1]
        return np.array(found)

    def release(self, table: CountTable, event: Event, key: NoiseKey) -> ReleasedTable:
        """The sparse form: O(fanout * m+ * levels), memory O(visited nodes)."""
        cells, counts, _ = refine(table, self, event, key)
        return ReleasedTable(table.grid, cells, counts, event)

    def visited(self, released: ReleasedTable) -> int:
        """Nodes measured at least, as the output tells: all children of its cells' ancestors."""
        chain = self.levels(released.grid, gaussian=released.event.rho is not None)
        measured = 1
        for fanout, stride in zip(chain.fanouts, chain.strides, strict=False):
            node = released.key // np.uint64(stride)
            measured += fanout * (int((node[1:] != node[:-1]).sum()) + min(node.size, 1))
        return measured


@dataclass(eq=False)
class Level:
    """The children of the open nodes above, each node's side by side.

    Attributes
    ----------
    fanout : int
    prefix : uint64[n * fanout]
    z : float64[n * fanout]
        Noisy counts; with two passes later the estimates from below.
    variance : float64[n * fanout]
        Of z; 0 where the domain ends and, later, where a child is closed.
    uniform : float64[n]
        The parents' random numbers.
    open : int64[.]
        Children with a count above 0, which are looked into.
    count : int64[.]
        Their counts.
    """

    fanout: int
    prefix: NDArray[np.uint64]
    z: NDArray[np.float64]
    variance: NDArray[np.float64]
    uniform: NDArray[np.float64]
    open: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    count: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def shared(self, total: NDArray[np.int64], least: float) -> NDArray[np.int64]:
        """Counts of all children that add up to their parents' totals: int64[n * fanout]."""
        out = np.empty(self.z.size, np.int64)
        kernels.share(self.z, self.variance, self.fanout, total, self.uniform, least, out)
        return out


def refine(
    table: CountTable, method: Pyramid, event: Event, key: NoiseKey
) -> tuple[NDArray[np.uint64], NDArray[np.int64], int]:
    """Cells above 0 and their counts in key order, and the number of nodes measured."""
    chain = method.levels(table.grid, gaussian=event.rho is not None)
    laws = [event.law(share) for share in chain.shares]
    least = [float(method.prune) * event.width(share) for share in chain.shares]
    levels = _expanded(table, chain, laws, least, key)
    if method.passes == 2:
        for above, level, law in zip(levels[-2::-1], levels[:0:-1], laws[-2::-1], strict=True):
            own = law.variance
            fanout = level.fanout
            kernels.combine(
                level.z, level.variance, fanout, own, above.open, above.z, above.variance
            )
        root = levels[0]
        root.count = np.maximum(np.floor(root.z + root.uniform), 0).astype(np.int64)[root.open]
        for above, level, few in zip(levels, levels[1:], least[1:], strict=False):
            closed = np.ones(level.z.size, np.bool_)
            closed[level.open] = False
            level.variance[closed] = 0
            level.count = level.shared(above.count, few)[level.open]
    last = levels[-1]
    some = last.count > 0
    nodes = sum(level.z.size for level in levels)
    return last.prefix[last.open][some], last.count[some], nodes


def _expanded(
    table: CountTable, chain: Chain, laws: list[Law], least: list[float], key: NoiseKey
) -> list[Level]:
    """The first pass: measure level by level, below nodes with a count above 0 only."""
    cumulative = np.concatenate([np.zeros(1, np.int64), np.cumsum(table.count)])
    frontier = Frontier(
        np.zeros(1, np.uint64), np.array([[0], [table.key.size]]), np.zeros(0, np.int64)
    )
    levels: list[Level] = []
    for i, law in enumerate(laws):
        noise = NodeNoise(key, Stream.PYRAMID + i, law)
        level, frontier = _below(table, chain, i, cumulative, frontier, noise, least[i])
        levels.append(level)
    return levels


@dataclass(frozen=True, eq=False)
class Frontier:
    """Open nodes of a level, in key order.

    Attributes
    ----------
    prefix : uint64[n]
    span : int64[2, n]
        First and one past the last of each node's data.
    count : int64[n]
        What is shared out below; empty above the root.
    """

    prefix: NDArray[np.uint64]
    span: NDArray[np.int64]
    count: NDArray[np.int64]


def _below(
    table: CountTable,
    chain: Chain,
    i: int,
    cumulative: NDArray[np.int64],
    frontier: Frontier,
    noise: NodeNoise,
    least: float,
) -> tuple[Level, Frontier]:
    """Level i, measured under a frontier, and the frontier of its own open nodes.

    A node's result depends on nothing but the node: a frontier may be cut anywhere.
    """
    fanout, stride = (1, *chain.fanouts)[i], chain.strides[i]
    child = _numbered(frontier.prefix, fanout)
    z, uniform = _noise(noise, frontier.prefix, child, fanout)
    span = frontier.span
    start = np.empty(child.size + 1, np.int64)
    start[-1] = span[1, -1] if span.size else 0
    kernels.measure(child, np.uint64(stride), fanout, span, table.key, cumulative, start, z)
    variance = np.where(overlaps(table.grid, child, stride), noise.law.variance, 0.0)
    level = Level(fanout, child, z, variance, uniform)
    shared = level.shared(frontier.count, least) if i else np.maximum(z, 0).astype(np.int64)
    level.open = np.flatnonzero(shared)
    level.count = shared[level.open]
    # The last child's data end where its node's do; elsewhere where the next child's begin.
    is_last = level.open % fanout == fanout - 1
    stop = np.where(is_last, span[1, level.open // fanout], start[level.open + 1])
    return level, Frontier(child[level.open], np.stack([start[level.open], stop]), level.count)


def _noise(
    noise: NodeNoise, above: NDArray[np.uint64], child: NDArray[np.uint64], fanout: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Noise of all children of nodes, and a number in [0, 1) for each node.

    A node has ceil(fanout / 7) blocks; child j takes word j % 7 of block j // 7, and word 7 of
    the first one is the node's own.
    """
    parts = -(-fanout // SLOTS)
    words = noise.blocks(_numbered(above, parts))
    place = np.arange(fanout)
    group = (np.arange(above.size)[:, None] * parts + place // SLOTS).ravel()
    slot = np.tile(place % SLOTS, above.size)
    drawn, _ = noise.draw(words, group, slot, child)
    uniform = (words[7, ::parts] >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return drawn.astype(np.float64), uniform


def _numbered(above: NDArray[np.uint64], fanout: int) -> NDArray[np.uint64]:
    """``above * fanout + j`` for every j below fanout: uint64[n * fanout]."""
    first = above[:, None] * np.uint64(fanout)
    return np.asarray(first + np.arange(fanout, dtype=np.uint64), np.uint64).reshape(-1)


METHODS = (Pyramid(),)
