"""Reports about the device's node on a random level of any tree, through a frequency oracle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from math import inf, pi, prod, sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.variance import TreeVariance, from_below
from geodp.errors import CodeError, Rule, UsageError
from geodp.grid.grid import Grid
from geodp.kernels.pyramid import shares
from geodp.local.coins import Coins
from geodp.local.kernels import local_tree as kernels
from geodp.local.oracles import ORACLES, choose_oracle
from geodp.local.oracles.base import WEAK_EPSILON, Oracle, require_fitting
from geodp.local.tree import (
    PUBLIC,
    Protocol,
    TreeState,
    draw_uniforms,
    is_weak,
    open_nodes,
    parse_weights,
)
from geodp.mechanisms.trees.levels import steps_of
from geodp.privacy.key import Stream, blocks
from geodp.privacy.reports import LocalReports
from geodp.table.counts import ReleasedTable
from geodp.typing import FloatArray, IntArray, ReportArray

TRIALS = 1 << 11
"""Trees that are simulated."""

NODE_PEOPLE = 1 << 40
"""People of the simulated node: far more than the clamp can take away."""


@lru_cache(maxsize=64)
def simulate_isolated(fanouts: tuple[int, ...], spreads: tuple[float, ...]) -> tuple[float, float]:
    """Simulate bias and root-mean-square error of an isolated cell under a known total.

    Parameters
    ----------
    fanouts : tuple of int
        Number of children of a node of each level, the root's first.
    spreads : tuple of float
        Standard deviation of the normal estimate of a child, by level.
    """
    error = np.zeros(TRIALS)
    for level, (fanout, spread) in enumerate(zip(fanouts, spreads, strict=True)):
        error = _split(fanout, spread, error, 1, level)
    return float(error.mean()), float(np.sqrt((error**2).mean()))


@lru_cache(maxsize=256)
def simulate_losses(fanout: int, spread: float, above: float) -> tuple[float, float]:
    """Simulate mean and standard deviation of what one split takes from occupied children.

    All other children are empty; the worst of 1, 2, 4 ... occupied ones is returned.

    Parameters
    ----------
    fanout : int
    spread : float
        Standard deviation of the estimate of a child; ``above``: of the node's error.
    """
    # A stage that no level uses, so that the parent's error is independent of the children's.
    parent_error = above * _normals(1, 1 << 7)[0]
    worst, occupied = (0.0, 0.0), 1
    # Which number loses most depends on fan-out and spread, so powers of two are tried.
    while occupied < fanout:
        lost = -_split(fanout, spread, parent_error, occupied, 0)
        worst = max(worst, (float(lost.mean()), float(lost.std())))
        occupied *= 2
    return worst


def _split(
    fanout: int, spread: float, error: NDArray[np.float64], occupied: int, level: int
) -> NDArray[np.float64]:
    """Simulate the error of the occupied children's sum, given their node's: float64[TRIALS]."""
    z = spread * _normals(fanout, level).T
    z[:, :occupied] += NODE_PEOPLE / occupied
    out, members = np.empty(z.size, np.int64), np.full(TRIALS, fanout)
    total = NODE_PEOPLE + np.rint(error).astype(np.int64)
    # Stratified over the trials: every rounding threshold is used once.
    uniform = (np.arange(TRIALS) + 0.5) / TRIALS
    # The released code itself is simulated, as the clamp has no closed form with several children.
    shares.share(z.reshape(-1), np.ones(z.size), members, total, uniform, 0.0, out)
    held = out.reshape(TRIALS, fanout)[:, :occupied].sum(axis=1)
    return np.asarray(held - NODE_PEOPLE, np.float64)


@lru_cache(maxsize=16)
def _normals(rows: int, stage: int) -> NDArray[np.float64]:
    """Draw public normal numbers by Box and Muller's transform: float64[rows, TRIALS]."""
    n = rows * TRIALS
    words = blocks(PUBLIC, Stream.CONTINUOUS, np.arange(n, dtype=np.uint64), stage)
    radius, angle = ((word >> np.uint64(12)).astype(np.float64) + 0.5 for word in words[:2])
    normals = np.sqrt(-2 * np.log(radius / 2.0**52)) * np.cos(2 * pi * angle / 2.0**52)
    return np.asarray(normals.reshape(rows, TRIALS))


DENSE_BITS = 20
"""Largest key size in bits for which all nodes are estimated and no node is closed early."""


@dataclass(frozen=True)
class Counts(Protocol):
    """Cormode, Kulkarni, Srivastava (2019): counts of nodes on levels of any fan-outs.

    A device draws a level and reports its node there through the level's oracle. The count of a
    node is the oracle's estimate divided by the chance of the level. With two passes, the estimates
    below a node improve its direct estimate; then the total, which is known, is shared out from
    the root down.

    Attributes
    ----------
    oracle : str
        A name in ``ORACLES``, or ``"auto"``: for each level the one that suits its number of nodes.
    chain : str
        Digits of a key (bits, on a binary order) that each level splits, from the root on, such
        as ``"4-4"``. Empty: the published areas, or 4 bits each with the remainder at the top.
    weights : str
        Whole numbers, the first level's first, in proportion to which levels are drawn: ``"2-1"``.
        Empty: all levels are equally likely.
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
        """Explain why a grid is not supported; None if it is."""
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
        """Compute the fan-outs of the tree and the probability that a device reports each level."""
        ends = [0, *accumulate(self._steps(grid))]
        fanouts = tuple(prod(grid.order.radices[a:b]) for a, b in pairwise(ends))
        weights = parse_weights(self.weights, len(fanouts), self.name)
        return fanouts, tuple(Fraction(w, sum(weights)) for w in weights)

    def _steps(self, grid: Grid) -> list[int]:
        """List the digits that each level splits."""
        if self.chain:
            return steps_of(self.chain, self.name)
        if grid.areas.nested:
            return [step for _, step in grid.areas.steps]
        # The remainder goes to the top, where few nodes make a short level cheap.
        rest, digits = len(grid.order.radices) % 4, len(grid.order.radices)
        return [rest] * bool(rest) + [4] * (digits // 4)

    def oracles(self, grid: Grid, epsilon: Fraction) -> tuple[Oracle, ...]:
        """Build the oracle of each level; UsageError for one whose reports are no short numbers."""
        chosen = list[Oracle]()
        for cells in accumulate(self.levels(grid)[0], lambda a, b: a * b):
            if self.oracle == "auto":
                # With --allow-weak epsilon may be above what oracles are compared at.
                name = choose_oracle(cells, min(epsilon, Fraction(WEAK_EPSILON))).name
            elif (name := self.oracle) not in ORACLES:
                raise UsageError(
                    f"counts:oracle must be auto or one of: {', '.join(ORACLES)}.",
                    code="counts-oracle-unknown",
                )
            chosen.append(ORACLES[name](cells=cells, epsilon=epsilon, allow_weak=is_weak(epsilon)))
            # Reports of all levels share one record, so each field must fit a plain unsigned
            # number.
            kind = chosen[-1].report_type
            if any(kind[field].kind != "u" for field in kind.names or ()):
                raise UsageError(
                    f"counts:oracle={name} has reports that are too long; choose another oracle.",
                    code="counts-oracle-long",
                )
        return tuple(chosen)

    def report_type(self, oracles: tuple[Oracle, ...]) -> np.dtype[Any]:
        """Build the type of a report: level, and the fields of all oracles; unused ones are 0."""
        widest = dict[str, np.dtype[Any]]()
        for oracle in oracles:
            kind = oracle.report_type
            for name in kind.names or ():
                widest[name] = np.promote_types(widest.get(name, kind[name]), kind[name])
        return np.dtype([("level", "u1"), *widest.items()])

    def randomize(
        self, oracles: tuple[Oracle, ...], key: NDArray[np.uint64], coins: Coins
    ) -> ReportArray:
        """Randomise one report for every device."""
        # The level is drawn before the place is looked at, which the guarantee rests on.
        level = np.empty(key.size, np.uint8)
        ends = np.cumsum(np.array(parse_weights(self.weights, len(oracles), self.name), np.uint64))
        coins.fill(kernels.draw_levels, (ends, level), key.size, 1)
        reports = np.zeros(key.size, self.report_type(oracles))
        reports["level"] = level
        for i, oracle in enumerate(oracles):
            here = np.flatnonzero(level == i)
            # A node's number on this level is the key divided by the number of keys below a node.
            stride = np.uint64(oracles[-1].cells // oracle.cells)
            answers = oracle.randomize(key[here] // stride, coins)
            for name in answers.dtype.names or ():
                reports[name][here] = answers[name]
        return reports

    def aggregate(self, oracles: tuple[Oracle, ...], reports: ReportArray) -> TreeState:
        """Aggregate reports; CodeError where one is not of this tree."""
        if reports.dtype != self.report_type(oracles):
            raise UsageError(
                "The reports have other fields than those of the round.",
                code="report-fields-differ",
            )
        level = reports["level"]
        allowed = f"below the {len(oracles)} levels of the round"
        require_fitting(level < len(oracles), oracles[0], "level", allowed)
        states = []
        for i, oracle in enumerate(oracles):
            at = np.flatnonzero(level == i)
            try:
                states.append(oracle.aggregate(_oracle_fields(oracle, reports[at])))
            except CodeError as error:
                raise CodeError(int(at[error.position]), error.rule) from None
        return TreeState(tuple(states))

    def refine(self, grid: Grid, event: LocalReports, state: TreeState) -> ReleasedTable:
        """Estimate the released cells: combine from below, then share the total from above."""
        oracles = self.oracles(grid, event.epsilon)
        levels = list(self._measure(grid, event, oracles, state))
        if self.passes == 2:
            # From the lowest level up: each level uses estimates that are already combined below
            # it.
            for above, below in reversed(list(pairwise(levels))):
                fanout = below.child.size // below.parents
                z, variance = above.z, above.variance
                shares.combine(
                    below.z,
                    below.variance,
                    fanout,
                    above.direct_variance,
                    above.opened,
                    z,
                    variance,
                )
        # The number of reports is public, so the root needs no estimate.
        total = np.array([event.reports])
        for i, level in enumerate(levels):
            count = level.share(i, total)
            total = count[level.opened]
        child, occupied = levels[-1].child[levels[-1].opened], total > 0
        return ReleasedTable(grid, child[occupied], total[occupied], event)

    def _measure(
        self, grid: Grid, event: LocalReports, oracles: tuple[Oracle, ...], state: TreeState
    ) -> Iterator[_Level]:
        """Yield the levels: all nodes that can be occupied, or those that are estimated to be."""
        fanouts, chances = self.levels(grid)
        all_nodes, direct = grid.bits <= DENSE_BITS, self.report_variances(grid, event)
        prefix, total = np.zeros(1, np.uint64), np.array([event.reports])
        for i, (fanout, chance) in enumerate(zip(fanouts, chances, strict=True)):
            child = np.repeat(prefix * np.uint64(fanout), fanout)
            child += np.tile(np.arange(fanout, dtype=np.uint64), prefix.size)
            can_hold = open_nodes(grid, child, oracles[-1].cells // oracles[i].cells)
            # Dividing by the chance of the level makes the estimate unbiased for all devices.
            z = oracles[i].estimate(state.states[i], child) / float(chance)
            variance = np.where(can_hold, direct[i], 0.0)
            level = _Level(prefix.size, child, z, variance, direct[i], np.flatnonzero(can_hold))
            # On deep trees empty nodes are closed at once: their descendants would not fit memory.
            if not all_nodes:
                level = level.close(count := level.share(i, total))
                total = count[level.opened]
            yield level
            prefix = child[level.opened]

    def report_variances(self, grid: Grid, event: LocalReports) -> list[float]:
        """Compute the variance of the estimate of a node of each level, from its reports alone.

        It is that of a node with the mean devices of its level. Of f devices about ``f w`` report
        the level, with variance ``f w (1 - w)``, and the oracle's variance depends on how many
        devices have the value.
        """
        variances = []
        for oracle, w in zip(
            self.oracles(grid, event.epsilon), map(float, self.levels(grid)[1]), strict=True
        ):
            level_reports, held = event.reports * w, event.reports * w / oracle.cells
            variances.append((oracle.variance(level_reports, held) + held * (1 - w)) / w**2)
        return variances

    def measured_tree(self, grid: Grid, event: LocalReports) -> TreeVariance:
        """Compute the levels and the variances of their estimates; the total is known.

        They hold for nodes with the mean people of their level, see :meth:`report_variances`. A
        node with f people more has up to ``f / w`` more, w the chance of its level: little compared
        with the noise, unless epsilon is large and the node holds much of all.
        """
        fanouts, direct = self.levels(grid)[0], tuple(self.report_variances(grid, event))
        variances = direct
        if self.passes == 2:
            variances = from_below(fanouts, (inf, *direct))[1:]
        return TreeVariance(fanouts, (0.0, *variances))

    def isolated_cell_error(self, grid: Grid, event: LocalReports) -> tuple[float, float]:
        """Simulate bias and root-mean-square error of one isolated cell in an empty region.

        The sharing itself runs on some thousand trees with public normal noise: within about 3 %.
        """
        tree = self.measured_tree(grid, event)
        # Six digits, so that the cache of simulations is hit again for the same plan.
        spreads = tuple(float(f"{sqrt(v):.6g}") for v in tree.variances[1:])
        return simulate_isolated(tree.fanouts, spreads)

    def clamp_losses(self, grid: Grid, event: LocalReports) -> list[tuple[float, float]]:
        """Simulate what the clamp takes from the occupied among a node's children."""
        tree = self.measured_tree(grid, event)
        rows = zip(tree.fanouts, tree.variances[1:], tree.nodes()[:-1], strict=True)
        return [
            simulate_losses(fanout, float(f"{sqrt(v):.6g}"), float(f"{sqrt(above):.6g}"))
            for fanout, v, above in rows
        ]


@dataclass(frozen=True, eq=False)
class _Level:
    """Nodes of a level: all children of those that are open on the level above.

    Attributes
    ----------
    parents : int
    child : uint64[n]
        Prefixes, in key order.
    z, variance : float64[n]
        Estimate of each and its variance; variance 0: the node is empty.
    direct_variance : float
        Variance of a node's estimate from its reports alone.
    opened : int64[m]
        Positions of the nodes whose children are estimated.
    """

    parents: int
    child: NDArray[np.uint64]
    z: FloatArray
    variance: FloatArray
    direct_variance: float
    opened: NDArray[np.intp]

    def share(self, level: int, total: IntArray) -> IntArray:
        """Share the counts of the parents among all nodes, so that they add up."""
        fanout = self.child.size // self.parents
        above = self.child[::fanout] // np.uint64(fanout)
        out, members = np.empty(self.child.size, np.int64), np.full(self.parents, fanout)
        uniform = draw_uniforms(level, above)
        shares.share(self.z, self.variance, members, total, uniform, 0.0, out)
        return out

    def close(self, count: IntArray) -> _Level:
        """Close the nodes whose count is 0."""
        variance = np.where(count > 0, self.variance, 0.0)
        at = np.flatnonzero(count > 0)
        return _Level(self.parents, self.child, self.z, variance, self.direct_variance, at)


def _oracle_fields(oracle: Oracle, reports: ReportArray) -> ReportArray:
    """Convert reports of a level to its oracle's type; CodeError where a field does not fit it."""
    kind = oracle.report_type
    converted = np.empty(reports.size, kind)
    for name in (reports.dtype.names or ())[1:]:
        if name in (kind.names or ()):
            converted[name] = reports[name]
            # Converting to a narrower type may wrap around: then the value differs.
            require_fitting(converted[name] == reports[name], oracle, name, "in range")
        else:
            require_fitting(reports[name] == 0, oracle, name, "0, as its level has none")
    return converted


PROTOCOLS = (Counts(),)
