"""Protocols in which every device reports its node on one level of a tree."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.variance import TreeVariance
from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.grid.tree import overlaps
from geodp.local.coins import Coins
from geodp.local.oracles.base import MAX_REPORTS, WEAK_EPSILON, Oracle, State, too_many
from geodp.mechanisms.base import Method
from geodp.privacy.event import Guarantee
from geodp.privacy.key import NoiseKey, Stream, blocks
from geodp.privacy.reports import LOCAL_PRIVACY, LocalReports
from geodp.table.counts import ReleasedTable
from geodp.typing import FloatArray, ReportArray

MAX_BITS = 62
"""Largest number of bits of a key: a level and a row fit into 63 bits."""

PUBLIC = NoiseKey(bytes(32))
"""Key of the rounding of estimates, which hides nothing and is the same for everybody."""

GUARANTEE = Guarantee(
    variant=LOCAL_PRIVACY,
    precondition="a device draws its coins itself and sends one report in a period, and the grid, "
    "its depth and the levels were chosen without looking at any place",
    source="the level, and the row or hash of a report, are drawn without looking at the place; "
    "given them, a device sends one randomised response, whose probabilities differ by a factor "
    "of at most exp(epsilon) between any two places; everything else is post-processing",
)

POSTPROCESSING = (
    "Non-negativity: children below 0 become 0 and their siblings are lowered by as much. It is "
    "biased: an isolated occupied cell is lowered, and what it loses goes to the empty cells "
    "around it.",
    "Additivity: every area's count is exactly the sum of its cells, and all cells together are "
    "the number of reports.",
    "Whole numbers: shares are rounded systematically with one public random number of their "
    "node; unbiased.",
    "Depth: the cells of the release are the finest blocks that devices were asked about; nothing "
    "is stated below them. A block at the edge may reach beyond the round's domain: it counts the "
    "devices of its part inside, as none was asked outside.",
)

SPREAD = (
    "Even within: devices were asked about larger blocks, and the cells of a block share its count "
    "evenly; differences between them are not measured, and no error of a cell is known. The "
    "blocks themselves, published from the same sums at no charge, have known errors."
)


@dataclass(frozen=True)
class TreeState:
    """The aggregate of reports: whole numbers, which add up in any order.

    Attributes
    ----------
    states : tuple of State
        The states of a protocol's oracles, in their order.

    Raises
    ------
    UsageError
        More than ``2**62`` reports in all.
    """

    states: tuple[State, ...]

    def __post_init__(self) -> None:
        if self.reports > MAX_REPORTS:
            raise too_many()

    @property
    def reports(self) -> int:
        """Number of reports."""
        return sum(state.reports for state in self.states)

    def __add__(self, other: TreeState) -> TreeState:
        """Add the states of both; UsageError for reports of another protocol."""
        if len(self.states) != len(other.states):
            raise UsageError(
                "States of different protocols do not add up.", code="states-of-other-protocols"
            )
        pairs = zip(self.states, other.states, strict=True)
        return TreeState(tuple(one + another for one, another in pairs))

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as plain arrays by name, for a file."""
        named = (state.arrays().items() for state in self.states)
        return {f"{i}.{name}": array for i, one in enumerate(named) for name, array in one}


@dataclass(frozen=True)
class Protocol(Method[LocalReports]):
    """A published protocol on a tree: a frozen value, whose fields are its settings.

    Its methods take the grid of the release, whose cells are what devices report.

    Attributes
    ----------
    spread : bool
        The cells of the release are finer than what devices reported: every block is spread evenly
        over its cells, so that no error of these is available.
    """

    spread: bool = False

    guarantee: ClassVar[Guarantee] = GUARANTEE
    postprocessing: ClassVar[tuple[str, ...]] = POSTPROCESSING
    noise_format: ClassVar[str] = "geodp-reports-1"
    whole: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True
    skips_outside: ClassVar[bool] = True

    def event(
        self, epsilon: Fraction, unit: str = "device", period: str = "day", reports: int = 0
    ) -> LocalReports:
        """Build the event of ``reports`` reports, one of each device."""
        return LocalReports(self.spec, epsilon, unit, period, reports)

    def describe_sensitivity(self, grid: Grid, event: LocalReports | None = None) -> str:
        """Explain the sensitivity in one sentence for the release card."""
        return "a device sends one report, about one level; its place changes nothing else"

    def list_postprocessing(self) -> tuple[str, ...]:
        """List the steps of post-processing, a sentence each."""
        # The last sentence describes blocks that were not spread, and is replaced.
        return (*self.postprocessing[:-1], SPREAD) if self.spread else self.postprocessing

    def tree_variance(self, grid: Grid, event: LocalReports) -> TreeVariance | None:
        """Compute the variances of the levels' estimates; None where blocks were spread."""
        return None if self.spread else self.measured_tree(grid, event)

    def variances(self, grid: Grid, event: LocalReports) -> FloatArray | None:
        """Compute the largest variance of aligned blocks without clamping; None on other digits."""
        tree = self.tree_variance(grid, event)
        return None if tree is None or not grid.order.is_binary else tree.largest(grid)

    def isolated_cell(self, grid: Grid, event: LocalReports) -> dict[str, float] | None:
        """Compute bias and root-mean-square error of an isolated cell in an empty region."""
        if self.spread:
            return None
        bias, rmse = self.isolated_cell_error(grid, event)
        return {"bias": float(f"{bias:.4g}"), "rmse": float(f"{rmse:.4g}")}

    @abstractmethod
    def measured_tree(self, grid: Grid, event: LocalReports) -> TreeVariance:
        """Compute the levels and the variances of their estimates; the total is known."""

    @abstractmethod
    def isolated_cell_error(self, grid: Grid, event: LocalReports) -> tuple[float, float]:
        """Compute bias and root-mean-square error of an isolated cell in an empty region."""

    def unsupported(self, grid: Grid) -> str | None:
        """Explain why a grid is not supported; None if it is."""
        if grid.plain_map is None or not grid.order.follows_map:
            return Rule(
                "round-needs-plain-order",
                f"{self.name} needs one map without attributes, in Morton order or that of "
                "official areas; choose such a grid.",
            )
        if not 1 <= grid.bits <= MAX_BITS:
            return Rule(
                "round-cells", f"{self.name} takes 2 to 2**{MAX_BITS} cells; choose another grid."
            )
        return None

    @abstractmethod
    def levels(self, grid: Grid) -> tuple[tuple[int, ...], tuple[Fraction, ...]]:
        """Compute the fan-outs of the tree and the probability that a device reports each level."""

    @abstractmethod
    def oracles(self, grid: Grid, epsilon: Fraction) -> tuple[Oracle, ...]:
        """Build the oracles: one for all levels, or one for each level."""

    @abstractmethod
    def report_type(self, oracles: tuple[Oracle, ...]) -> np.dtype[Any]:
        """Build the type of a report: fields of whole numbers, ``level`` the first of them."""

    @abstractmethod
    def randomize(
        self, oracles: tuple[Oracle, ...], key: NDArray[np.uint64], coins: Coins
    ) -> ReportArray:
        """Randomise one report for every device.

        Parameters
        ----------
        oracles : tuple of Oracle
        key : uint64[n]
            Keys of the release's cells in which the devices are.
        coins : Coins
        """

    @abstractmethod
    def aggregate(self, oracles: tuple[Oracle, ...], reports: ReportArray) -> TreeState:
        """Aggregate reports; CodeError with the position of a bad one, which is not quoted."""

    @abstractmethod
    def refine(self, grid: Grid, event: LocalReports, state: TreeState) -> ReleasedTable:
        """Estimate the released cells; their sum is the number of reports."""


def restore_state(oracles: tuple[Oracle, ...], arrays: Mapping[str, NDArray[Any]]) -> TreeState:
    """Restore a state from its arrays; UsageError where these are not those of the oracles."""
    parts: list[dict[str, NDArray[Any]]] = [{} for _ in oracles]
    for name, array in arrays.items():
        # Arrays are named by the number of their oracle, as in TreeState.arrays.
        number, _, field = name.partition(".")
        if not number.isdecimal() or int(number) >= len(parts):
            raise UsageError(
                "The state has other parts than this round; aggregate again.",
                code="state-parts-differ",
            )
        parts[int(number)][field] = array
    pairs = zip(oracles, parts, strict=True)
    return TreeState(tuple(State.of_arrays(oracle, part) for oracle, part in pairs))


def parse_weights(text: str, levels: int, name: str) -> tuple[int, ...]:
    """Parse the weights of levels; an empty text stands for equal weights.

    Raises
    ------
    UsageError
        Another number of weights than levels, or one that is not a whole number above 0.
    """
    parts = text.split("-") if text else ["1"] * levels
    if len(parts) != levels or not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise UsageError(
            f"{name}:weights is written as a whole number above 0 for each of the {levels} levels, "
            "such as 2-1-1.",
            code="weights-form",
        )
    weights = tuple(int(part) for part in parts)
    # The sum of the weights is the bound of one draw, which takes a single unit of 32 bits.
    if sum(weights) >= 1 << 32:
        raise UsageError(
            f"{name}:weights add up to less than 2**32; choose smaller ones.",
            code="weights-too-large",
        )
    return weights


def is_weak(epsilon: Fraction) -> bool:
    """Return whether a report hides so little that a round must allow it explicitly."""
    return epsilon > WEAK_EPSILON


def open_nodes(grid: Grid, child: NDArray[np.uint64], stride: int) -> NDArray[np.bool_]:
    """Return which nodes, of ``stride`` keys each, overlap the domain and can be occupied."""
    # A domain that fills its keys has no node outside, and needs no search.
    if grid.size == 1 << grid.bits:
        return np.ones(child.size, np.bool_)
    return np.asarray(overlaps(grid, child, stride), np.bool_)


def draw_uniforms(level: int, prefix: NDArray[np.uint64]) -> FloatArray:
    """Draw the public random numbers of nodes, in [0, 1), by which shares are rounded."""
    # A function of the node alone, so that everyone who repeats the estimate rounds alike.
    word = blocks(PUBLIC, Stream.LOCAL_ROUNDING + level, prefix)[0]
    return np.asarray((word >> np.uint64(11)).astype(np.float64) / 2.0**53)
