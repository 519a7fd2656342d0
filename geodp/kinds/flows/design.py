"""What is measured of flows, and how the budget is divided among it: public, before any data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from geodp.errors import Rule, UsageError, VerificationError
from geodp.grid.grid import Grid
from geodp.kinds.flows.zones import count_zone_blocks, side_of_all
from geodp.privacy.loss import Budget

MOST_PAIRS = 1 << 26
"""Most pairs of blocks of one level: all of them are measured."""

FEW_TRIPS = 2
"""Trips of a unit for each unit of epsilon up to which single zones are measured by pairs."""

FEW_UNITS = 1 << 23
"""Pairs of areal units, times the trips of a unit of privacy for each unit of epsilon, up to which
single ones are measured (docs/measured/flows.md)."""

MANY = {4: Fraction(4, 10), 8: Fraction(1, 10)}
"""Shares by side where a unit has many trips: the noise of finer pairs hides all of them."""

FEW = {1: Fraction(40, 100), 2: Fraction(25, 100), 4: Fraction(10, 100), 8: Fraction(5, 100)}
"""Shares by side where a unit has few trips."""

LABELS = Fraction(3, 20)
"""Default share of all counts by label; the rest measures flows as without labels."""

LABEL_SIDES = 8, 4
"""Sides of the blocks of ends by label, where a unit has many trips and where it has few; of areal
units they are half of these, and a quarter where single ones are measured by pairs."""

WIDER = 4
"""Side of the blocks whose pairs are measured by label, in sides of those of ends."""

LABEL_STREAMS = 3
"""Kinds of cells by label: pairs of larger blocks, origins and destinations, of equal shares."""

LABEL_SHARE = Rule(
    "flows-label-share",
    "The share of the budget for labels is above 0 and leaves something for flows and both ends "
    "(--label-share 3/20, label_share=).",
)

STATED_LABELS = Rule(
    "flows-stated-labels",
    "The index states counts by label that no release has: blocks that are no power of two or "
    "larger than the map, a share of the budget that is not between 0 and 1, or too many counts.",
)

LEVELS_FORM = Rule(
    "flows-levels-form",
    "Levels are sides of blocks in zones, powers of two, and the share of the budget of each "
    "(--level 4=2/5 --level 8=1/10; levels=); the shares are above 0 and leave something for both "
    "ends.",
)


@dataclass(frozen=True)
class LabelDesign:
    """Tables that are measured by label, and their share of the budget.

    Attributes
    ----------
    side : int
        Rows and columns of the blocks of ends, in zones: a power of two. Of areal units a block
        has at most its square.
    share : Fraction
        Share of all counts by label; each kind of cells has an equal part.
    """

    side: int
    share: Fraction

    @property
    def each(self) -> Fraction:
        """Share of each kind of cells."""
        return self.share / LABEL_STREAMS

    @property
    def kinds(self) -> tuple[tuple[str, int], ...]:
        """Kinds of cells and the sides of their blocks, the largest first."""
        return (
            ("pairs", self.pair_side),
            ("origins", self.side),
            ("destinations", self.side),
        )

    @property
    def both_sides(self) -> tuple[int, int]:
        """Sides of the blocks of ends, and of those whose pairs are measured."""
        return self.side, self.pair_side

    @property
    def pair_side(self) -> int:
        """Rows and columns of the blocks whose pairs are measured."""
        return WIDER * self.side

    @classmethod
    def read(cls, side: int, share: str) -> Self:
        """Read what an index states; VerificationError for what no release measures."""
        try:
            read = Fraction(share)
        except (ValueError, ZeroDivisionError):
            raise VerificationError(STATED_LABELS) from None
        if side < 1 or side & (side - 1) or not 0 < read < 1:
            raise VerificationError(STATED_LABELS)
        return cls(side, read)

    def require_possible(self, grid: Grid, labels: int) -> None:
        """Raise VerificationError where no release of a grid has these blocks.

        Before any array is made, as their sizes may be a stranger's. ``labels``: combinations.
        """
        largest = max(*LABEL_SIDES, 2 * side_of_all(grid))
        # Sides first: those of a stranger may have any number of digits.
        if self.side > largest or count_pairs(grid, self.pair_side) * labels > MOST_PAIRS:
            raise VerificationError(STATED_LABELS)

    @classmethod
    def choose(cls, grid: Grid, labels: int, trips_a_loss: float, share: Fraction) -> Self:
        """Choose the blocks of a grid; ``trips_a_loss`` is that of :meth:`FlowDesign.choose`."""
        side = LABEL_SIDES[trips_a_loss <= FEW_TRIPS]
        if not grid.names.on_map:
            side //= 4 if are_few_units(grid, trips_a_loss) else 2
        while count_pairs(grid, WIDER * side) * labels > MOST_PAIRS:
            side *= 2
        return cls(side, share)


@dataclass(frozen=True)
class FlowDesign:
    """Measured streams and their shares of the budget.

    Attributes
    ----------
    sides : tuple of int
        Sides of the blocks whose pairs are measured, in zones: increasing powers of two.
    shares : tuple of Fraction
        Share of each.
    labels : LabelDesign or None
        What is measured by label; None: flows have no labels.
    """

    sides: tuple[int, ...]
    shares: tuple[Fraction, ...]
    labels: LabelDesign | None = None

    @property
    def end_share(self) -> Fraction:
        """Share of each of the two maps of ends: half of what pairs and labels leave."""
        labels = Fraction(0) if self.labels is None else self.labels.share
        return (1 - sum(self.shares, labels)) / 2

    @classmethod
    def of(cls, levels: Mapping[int, Budget], labels: LabelDesign | None = None) -> Self:
        """Read levels exactly; UsageError for sides or shares that make no sense."""
        if not isinstance(levels, Mapping):
            raise UsageError(LEVELS_FORM)
        read: dict[int, Fraction] = {}
        for side, share in levels.items():
            whole = isinstance(side, int) and not isinstance(side, bool) and side > 0
            try:
                read[side] = Fraction(str(share))
            except (ValueError, ZeroDivisionError, OverflowError):
                raise UsageError(LEVELS_FORM) from None
            if not whole or side & (side - 1) or read[side] <= 0:
                raise UsageError(LEVELS_FORM)
        sides = sorted(read)
        made = cls(tuple(sides), tuple(read[side] for side in sides), labels)
        if not read or made.end_share <= 0:
            raise UsageError(LEVELS_FORM)
        return made

    @classmethod
    def choose(cls, grid: Grid, trips_a_loss: float, labels: LabelDesign | None = None) -> Self:
        """Choose levels for a grid; ``trips_a_loss``: trips of a unit, for each unit of epsilon."""
        left = 1 if labels is None else 1 - labels.share
        few = trips_a_loss <= FEW_TRIPS or are_few_units(grid, trips_a_loss)
        levels = dict(FEW if few else MANY)
        while count_pairs(grid, min(levels)) > MOST_PAIRS:
            levels = {2 * side: share for side, share in levels.items()}
        return cls.of({side: str(share * left) for side, share in levels.items()}, labels)

    def require_fit(self, grid: Grid) -> None:
        """Raise UsageError where a level has too many pairs to measure all of them."""
        if count_pairs(grid, self.sides[0]) > MOST_PAIRS:
            raise UsageError(
                f"Blocks of {self.sides[0]} zones have more than {MOST_PAIRS:,} pairs; choose "
                "larger ones (--level, levels=).",
                code="flows-level-too-fine",
            )


def require_within(levels: Mapping[int, Budget], grid: Grid) -> None:
    """Raise UsageError where chosen blocks are larger than the one that holds the whole grid."""
    # The default has a level above small grids: it measures their total twice.
    if any(isinstance(side, int) and side >= 2 * side_of_all(grid) for side in levels):
        raise UsageError(
            "A level has blocks that are larger than the grid; choose smaller ones (--level, "
            "levels=).",
            code="flows-level-too-large",
        )


def are_few_units(grid: Grid, trips_a_loss: float) -> bool:
    """Return whether zones are areal units that are few and large, with many trips each."""
    return not grid.names.on_map and count_pairs(grid, 1) * trips_a_loss <= FEW_UNITS


def count_pairs(grid: Grid, side: int) -> int:
    """Count the pairs of blocks of a side."""
    return count_zone_blocks(grid, side) ** 2


def read_label_share(share: Budget | None) -> Fraction:
    """Read the share of labels exactly; UsageError where it is not between 0 and 1."""
    if share is None:
        return LABELS
    try:
        read = Fraction(str(share))
    except (ValueError, ZeroDivisionError, OverflowError):
        raise UsageError(LABEL_SHARE) from None
    if not 0 < read < 1:
        raise UsageError(LABEL_SHARE)
    return read
