"""A report about the device's own node on a random level of any tree, by a frequency oracle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from math import inf, prod, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.variance import TreeVariance, from_below
from geodp.errors import CodeError, Rule, UsageError
from geodp.features.local import clamping
from geodp.features.local.coins import Coins
from geodp.features.local.kernels import local_tree as kernels
from geodp.features.local.oracles.base import WEAK_EPSILON, Oracle, require_fitting
from geodp.features.local.tree import (
    Protocol,
    TreeState,
    draw_uniforms,
    is_weak,
    open_nodes,
    parse_weights,
)
from geodp.grid.grid import Grid
from geodp.kernels.pyramid import shares
from geodp.mechanisms.trees.levels import steps_of
from geodp.privacy.reports import LocalReports
from geodp.table.released import ReleasedTable
from geodp.typing import FloatArray, IntArray, ReportArray, WordArray

ALL_BITS = 20
"""On trees of up to so many bits all nodes are estimated, and no node is closed early."""


@dataclass(frozen=True)
class Counts(Protocol):
    """Cormode, Kulkarni, Srivastava (2019): counts of nodes on levels of any fan-outs.

    A device draws a level and reports its node there through the level's oracle. The count of a
    node is the oracle's estimate divided by the chance of the level. With two passes, what is
    known below a node improves its own estimate; then the total, which is known, is shared out
    from the root down.

    Attributes
    ----------
    oracle : str
        A name in ``ORACLES``, or ``"auto"``: for each level what suits its number of nodes.
    chain : str
        Digits of a key (bits, on a binary order) that each level splits, from the root on, such
        as ``"4-4"``. Empty: the published areas, or 4 bits each with the rest at the top.
    weights : str
        Whole numbers, the first level's first, by which levels are drawn: ``"2-1"``. Empty: all
        levels are equally likely.
    passes : int
        1 or 2.
    """

    oracle: str = "auto"
    chain: str = ""
    weights: str = ""
    passes: int = 2

    name: ClassVar[str] = "counts"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "a device's node on a random level, by a frequency oracle"
    citation: ClassVar[str] = (
        "Cormode, Kulkarni, Srivastava: Answering Range Queries Under Local Differential Privacy. "
        "PVLDB 12(10), 2019."
    )
    noise: ClassVar[str] = "randomised response on the device, by a frequency oracle, exact coins"

    def __post_init__(self) -> None:
        if self.passes not in (1, 2):
            raise UsageError("counts:passes is 1 or 2.", code="counts-passes")
        steps_of(self.chain, self.name)

    def unsupported(self, grid: Grid) -> str | None:
        """Return why a grid cannot be asked about, as one sentence."""
        if (refusal := super().unsupported(grid)) is not None:
            return refusal
        if self.chain and sum(steps_of(self.chain, self.name)) != len(grid.order.radices):
            return Rule(
                "counts-chain",
                f"counts:chain must add up to the {len(grid.order.radices)} digits of a key of "
                "the release.",
            )
        return None

    def levels(self, grid: Grid) -> tuple[tuple[int, ...], tuple[Fraction, ...]]:
        """Return the fan-outs of the tree and the chances that a device is asked about each."""
        ends = [0, *accumulate(self._steps(grid))]
        fanouts = tuple(prod(grid.order.radices[a:b]) for a, b in pairwise(ends))
        weights = parse_weights(self.weights, len(fanouts), self.name)
        return fanouts, tuple(Fraction(w, sum(weights)) for w in weights)

    def _steps(self, grid: Grid) -> list[int]:
        """Return the digits that each level splits."""
        if self.chain:
            return steps_of(self.chain, self.name)
        if grid.areas.nested:
            return [step for _, step in grid.areas.steps]
        rest, digits = len(grid.order.radices) % 4, len(grid.order.radices)
        return [rest] * bool(rest) + [4] * (digits // 4)

    def oracles(self, grid: Grid, epsilon: Fraction) -> tuple[Oracle, ...]:
        """Return the oracle of each level; UsageError for one whose reports are no numbers."""
        from geodp.features.local.oracles import ORACLES, choose_oracle

        found = list[Oracle]()
        for cells in accumulate(self.levels(grid)[0], lambda a, b: a * b):
            if self.oracle == "auto":
                name = choose_oracle(cells, min(epsilon, Fraction(WEAK_EPSILON))).name
            elif (name := self.oracle) not in ORACLES:
                raise UsageError(
                    f"counts:oracle must be auto or one of: {', '.join(ORACLES)}.",
                    code="counts-oracle-unknown",
                )
            found.append(ORACLES[name](cells=cells, epsilon=epsilon, allow_weak=is_weak(epsilon)))
            kind = found[-1].report_type
            if any(kind[field].kind != "u" for field in kind.names or ()):
                raise UsageError(
                    f"counts:oracle={name} sends no short report; choose another.",
                    code="counts-oracle-long",
                )
        return tuple(found)

    def report_type(self, oracles: tuple[Oracle, ...]) -> np.dtype[Any]:
        """Return the type of a report: level, and the fields of all oracles; others are 0."""
        widest = dict[str, np.dtype[Any]]()
        for oracle in oracles:
            kind = oracle.report_type
            for name in kind.names or ():
                widest[name] = np.promote_types(widest.get(name, kind[name]), kind[name])
        return np.dtype([("level", "u1"), *widest.items()])

    def randomize(
        self, oracles: tuple[Oracle, ...], key: NDArray[np.uint64], coins: Coins
    ) -> ReportArray:
        """Return one report of every device."""
        level = np.empty(key.size, np.uint8)
        ends = np.cumsum(np.array(parse_weights(self.weights, len(oracles), self.name), np.uint64))

        def step(first: int, unit: WordArray, digit: NDArray[np.uint64]) -> tuple[int, int]:
            return kernels.draw_levels(first, unit, digit, ends, level)

        coins.fill(step, key.size, 1)
        found = np.zeros(key.size, self.report_type(oracles))
        found["level"] = level
        for i, oracle in enumerate(oracles):
            here = np.flatnonzero(level == i)
            stride = np.uint64(oracles[-1].cells // oracle.cells)
            reports = oracle.randomize(key[here] // stride, coins)
            for name in reports.dtype.names or ():
                found[name][here] = reports[name]
        return found

    def aggregate(self, oracles: tuple[Oracle, ...], reports: ReportArray) -> TreeState:
        """Return the state of reports; CodeError where one is none of this tree."""
        if reports.dtype != self.report_type(oracles):
            raise UsageError(
                "The reports have other fields than those of the round.",
                code="report-fields-differ",
            )
        level = reports["level"]
        known = f"below the {len(oracles)} levels of the round"
        require_fitting(level < len(oracles), oracles[0], "level", known)
        states = []
        for i, oracle in enumerate(oracles):
            at = np.flatnonzero(level == i)
            try:
                states.append(oracle.aggregate(_own_fields(oracle, reports[at])))
            except CodeError as error:
                raise CodeError(int(at[error.position]), error.rule) from None
        return TreeState(tuple(states))

    def refine(self, grid: Grid, event: LocalReports, state: TreeState) -> ReleasedTable:
        """Return the released cells: all estimates from below, then shares from above."""
        oracles = self.oracles(grid, event.epsilon)
        levels = list(self._measure(grid, event, oracles, state))
        if self.passes == 2:
            for above, below in reversed(list(pairwise(levels))):
                fanout = below.child.size // below.parents
                z, variance = above.z, above.variance
                shares.combine(
                    below.z, below.variance, fanout, above.own, above.opened, z, variance
                )
        total = np.array([event.reports])
        for i, level in enumerate(levels):
            count = level.share(i, total)
            total = count[level.opened]
        child, some = levels[-1].child[levels[-1].opened], total > 0
        return ReleasedTable(grid, child[some], total[some], event)

    def _measure(
        self, grid: Grid, event: LocalReports, oracles: tuple[Oracle, ...], state: TreeState
    ) -> Iterator[_Level]:
        """Yield the levels: all nodes that can hold somebody, or those that get somebody."""
        fanouts, chances = self.levels(grid)
        every, own = grid.bits <= ALL_BITS, self.own_variances(grid, event)
        prefix, total = np.zeros(1, np.uint64), np.array([event.reports])
        for i, (fanout, chance) in enumerate(zip(fanouts, chances, strict=True)):
            child = np.repeat(prefix * np.uint64(fanout), fanout)
            child += np.tile(np.arange(fanout, dtype=np.uint64), prefix.size)
            can_hold = open_nodes(grid, child, oracles[-1].cells // oracles[i].cells)
            z = oracles[i].estimate(state.states[i], child) / float(chance)
            variance = np.where(can_hold, own[i], 0.0)
            level = _Level(prefix.size, child, z, variance, own[i], np.flatnonzero(can_hold))
            if not every:
                level = level.close(count := level.share(i, total))
                total = count[level.opened]
            yield level
            prefix = child[level.opened]

    def own_variances(self, grid: Grid, event: LocalReports) -> list[float]:
        """Return the variance of the estimate of a node of each level, from its reports alone.

        Of a node that holds the mean of its level: of its f devices ``f w (1 - w)`` more or less
        are asked, and the oracle's own variance depends on how many have the value.
        """
        found = []
        for oracle, w in zip(
            self.oracles(grid, event.epsilon), map(float, self.levels(grid)[1]), strict=True
        ):
            asked, held = event.reports * w, event.reports * w / oracle.cells
            found.append((oracle.variance(asked, held) + held * (1 - w)) / w**2)
        return found

    def measured_tree(self, grid: Grid, event: LocalReports) -> TreeVariance:
        """Return the levels and the variances of their estimates; the total is known.

        They hold for nodes with the mean people of their level, see :meth:`own_variances`. A
        node with f people more has up to ``f / w`` more, w the chance of its level: little beside
        the noise, unless epsilon is large and the node holds much of all.
        """
        fanouts, own = self.levels(grid)[0], tuple(self.own_variances(grid, event))
        best = own
        if self.passes == 2:
            best = from_below(fanouts, (inf, *own))[1:]
        return TreeVariance(fanouts, (0.0, *best))

    def lone_cell(self, grid: Grid, event: LocalReports) -> tuple[float, float]:
        """Return bias and root-mean-square error of one lone cell in an empty region.

        The shares themselves, with public normal noise, on some thousand trees: within about 3 %.
        """
        tree = self.measured_tree(grid, event)
        spreads = tuple(float(f"{sqrt(v):.6g}") for v in tree.variances[1:])
        return clamping.isolate(tree.fanouts, spreads)

    def clamp_losses(self, grid: Grid, event: LocalReports) -> list[tuple[float, float]]:
        """Return what the clamp takes from the occupied among a node's children."""
        tree = self.measured_tree(grid, event)
        rows = zip(tree.fanouts, tree.variances[1:], tree.nodes()[:-1], strict=True)
        return [
            clamping.lose(fanout, float(f"{sqrt(v):.6g}"), float(f"{sqrt(above):.6g}"))
            for fanout, v, above in rows
        ]


@dataclass(frozen=True, eq=False)
class _Level:
    """Nodes of a level, all children of those that are open above.

    Attributes
    ----------
    parents : int
    child : uint64[n]
        Prefixes, in key order.
    z, variance : float64[n]
        What is known of each; variance 0: it holds nobody.
    own : float
        Variance of a node's own estimate.
    opened : int64[m]
        Which of them are looked into.
    """

    parents: int
    child: NDArray[np.uint64]
    z: FloatArray
    variance: FloatArray
    own: float
    opened: NDArray[np.intp]

    def share(self, level: int, total: IntArray) -> IntArray:
        """Return counts of all nodes that add up to those of their parents."""
        fanout = self.child.size // self.parents
        above = self.child[::fanout] // np.uint64(fanout)
        out, members = np.empty(self.child.size, np.int64), np.full(self.parents, fanout)
        uniform = draw_uniforms(level, above)
        shares.share(self.z, self.variance, members, total, uniform, 0.0, out)
        return out

    def close(self, count: IntArray) -> _Level:
        """Return the level with only those open that got somebody."""
        variance = np.where(count > 0, self.variance, 0.0)
        at = np.flatnonzero(count > 0)
        return _Level(self.parents, self.child, self.z, variance, self.own, at)


def _own_fields(oracle: Oracle, reports: ReportArray) -> ReportArray:
    """Return reports of a level in its oracle's type; CodeError where a field does not fit it."""
    kind = oracle.report_type
    found = np.empty(reports.size, kind)
    for name in (reports.dtype.names or ())[1:]:
        if name in (kind.names or ()):
            found[name] = reports[name]
            require_fitting(found[name] == reports[name], oracle, name, "in range")
        else:
            require_fitting(reports[name] == 0, oracle, name, "0, as its level has none")
    return found


PROTOCOLS = (Counts(),)
