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
from geodp.noise import Law, NodeNoise
from geodp.noise.node import SLOTS
from geodp.randomness import NoiseKey, Stream
from geodp.table import CountTable, ReleasedTable
from geodp.tree import overlaps
from geodp.variance import TreeVariance, from_below

WIDEST = 4096
"""Most children of a node."""


@dataclass(frozen=True)
class Chain:
    """Levels from the root to the cells.

    Attributes
    ----------
    fanouts : tuple of int
        Children of a node of each level but the last.
    shares : tuple of Fraction
        Of the budget, for every level from the root on; they add up to 1.
    """

    fanouts: tuple[int, ...]
    shares: tuple[Fraction, ...]

    @property
    def strides(self) -> tuple[int, ...]:
        """Keys that a node of each level covers."""
        below = accumulate(reversed(self.fanouts), lambda a, b: a * b, initial=1)
        return tuple(below)[::-1]


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
        ``"official"``: the published areas of the grid's code system, shares as for R;
        ``"auto"``: R with Laplace noise, flat with Gaussian noise.
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
        steps, weights = _steps(self.chain), _weights(self.shares)
        if self.chain and len(weights) != len(steps) + 1:
            raise UsageError("pyramid:shares has a weight for the root and one for every step.")

    def refusal(self, grid: Grid) -> str | None:
        """Any size; but an own chain must split all digits of a key."""
        digits = len(grid.order.radices)
        if self.setting == "official" and not self.chain and grid.official_steps() is None:
            return (
                "pyramid:setting=official needs a grid in the order of its code system's areas "
                "(--order official, Grid.with_official_order)."
            )
        if self.chain and sum(_steps(self.chain)) != digits:
            return f"pyramid:chain must add up to the {digits} digits of a key of this grid."
        if any(fanout > WIDEST for fanout in self.levels(grid).fanouts):
            return f"A level of pyramid:chain may have at most {WIDEST} children a node."
        return None

    def levels(self, grid: Grid, *, gaussian: bool = False) -> Chain:
        """The chain on a grid, with Laplace or Gaussian noise."""
        radices = grid.order.radices
        if self.chain:
            steps, weights = _steps(self.chain), _weights(self.shares)
        elif self.setting == "official":
            steps, weights = [step for _, step in grid.official_steps() or ()], []
        else:
            auto = "flat" if gaussian else "R"
            preset = auto if self.setting == "auto" else self.setting
            steps, weights = _preset(preset, len(radices))
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
    span = np.array([[0], [table.key.size]])
    above: NDArray[np.uint64] = np.zeros(1, np.uint64)
    levels: list[Level] = []
    count = np.zeros(0, np.int64)
    for i, (fanout, stride) in enumerate(zip((1, *chain.fanouts), chain.strides, strict=True)):
        law = laws[i]
        noise = NodeNoise(key, Stream.PYRAMID + i, law)
        child = _numbered(above, fanout)
        z, uniform = _noise(noise, above, child, fanout)
        start = np.empty(child.size + 1, np.int64)
        start[-1] = span[1, -1] if span.size else 0
        kernels.measure(child, np.uint64(stride), fanout, span, table.key, cumulative, start, z)
        variance = np.where(overlaps(table.grid, child, stride), law.variance, 0.0)
        level = Level(fanout, child, z, variance, uniform)
        shared = level.shared(count, least[i]) if i else np.maximum(z, 0).astype(np.int64)
        level.open = np.flatnonzero(shared)
        level.count = count = shared[level.open]
        levels.append(level)
        above = child[level.open]
        stop = np.where(level.open % fanout == fanout - 1, span[1, level.open // fanout], 0)
        stop = np.where(level.open % fanout == fanout - 1, stop, start[level.open + 1])
        span = np.stack([start[level.open], stop])
    return levels


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


def _steps(chain: str) -> list[int]:
    try:
        steps = [int(part) for part in chain.split("-")] if chain else []
    except ValueError:
        steps = [0]
    if any(step < 1 for step in steps):
        raise UsageError("pyramid:chain is written as digits per level, such as 2-4-4-4-4.")
    return steps


def _weights(shares: str) -> list[Fraction]:
    try:
        weights = [Fraction(part) for part in shares.split("-")] if shares else []
    except (ValueError, ZeroDivisionError):
        weights = [Fraction(0)]
    if any(weight <= 0 for weight in weights):
        raise UsageError("pyramid:shares is written as weights above 0, such as 2-2-4-4-4-4.")
    return weights


def _preset(setting: str, digits: int) -> tuple[list[int], list[Fraction]]:
    """Digits of each level and weights, the root's first; what does not fit comes at the top."""
    bottom, size = {"R": ([], 4), "fine": ([3, 3, 4], 2), "flat": ([], 2)}[setting]
    while sum(bottom) > digits:
        bottom = bottom[1:]
    rest = digits - sum(bottom)
    top = [rest % size] * bool(rest % size) + [size] * (rest // size)
    steps = top + bottom
    if setting == "R":
        weights = [2, *steps]
    elif setting == "flat":
        weights = [1] * (len(steps) + 1)
    else:
        # 0.35 of the budget for the root and the upper levels, as in the table of 2**18 cells.
        upper = [Fraction(2), *[Fraction(3)] * len(top)]
        lower = [Fraction(115), Fraction(110), Fraction(425)][3 - len(bottom) :]
        return steps, [350 * w / sum(upper) for w in upper] + lower
    return steps, [Fraction(weight) for weight in weights]


METHODS = (Pyramid(),)
