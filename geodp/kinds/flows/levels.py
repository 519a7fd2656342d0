"""The blocks whose pairs are measured: as they are given, or by what is expected of the trips.

What is expected is public, as a guess that is made without the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Literal, TypeAlias

from geodp.grid.grid import Grid
from geodp.kinds.flows.options import MEASURED
from geodp.kinds.flows.zones import count_zone_blocks
from geodp.options.option import as_keyword, check_together
from geodp.privacy.loss import Budget

MOST_PAIRS = 1 << 26
"""Most pairs of blocks of one level: all of them are measured."""

FEW_TRIPS = 2
"""Trips of a unit for each unit of epsilon up to which single zones are measured by pairs, where
nothing is expected of all trips."""

FEW_UNITS = 1 << 23
"""Pairs of areal units, times the trips of a unit of privacy for each unit of epsilon, up to which
single ones are measured (docs/measured/flows.md)."""

COARSE, CONCENTRATED, FINE = 5, 20, 50
"""Expected trips of a zone, times epsilon and divided by the trips of a unit: below the first,
large blocks alone are measured; from the second on the smallest ones, if trips are concentrated;
and from the third on in any case (docs/flows.md)."""

SEVERAL = 4
"""Fewest of the smallest blocks that a guess chooses, where there are as many zones."""

LevelRule: TypeAlias = Literal[
    "given", "default", "few-trips", "more-trips", "many-trips", "concentrated"
]
"""What decides which blocks are measured."""

RULES: Mapping[LevelRule, Mapping[int, Fraction]] = {
    # The noise of pairs of smaller blocks would hide the few trips of each.
    "few-trips": {8: Fraction(1, 4)},
    "more-trips": {4: Fraction(2, 5), 8: Fraction(1, 10)},
    "many-trips": {1: Fraction(2, 5), 2: Fraction(1, 4), 4: Fraction(1, 10), 8: Fraction(1, 20)},
    "concentrated": {1: Fraction(1, 2), 4: Fraction(7, 20)},
}
"""Shares of the budget by side of the blocks."""


@dataclass(frozen=True, kw_only=True)
class FlowsOptions:
    """Options of what is measured of flows.

    Attributes
    ----------
    levels : mapping, optional
        Sides of the blocks whose pairs are measured, in zones and powers of two, and the share of
        the budget of each: ``{4: "2/5", 8: "1/10"}``. Both maps of ends have half of the rest
        each. Default: by ``expected_trips`` and ``concentrated``; without them, by the trips of a
        unit for each unit of epsilon, which are public.
    expected_trips : float, optional
        A public guess of all trips that are counted, of a series those of one period: the fewer,
        the larger are the blocks. Make it without the data.
    concentrated : bool
        Whether most trips of a zone are expected to lead to a few zones, as flights do: the
        smallest blocks are measured then. Know it without the data.
    label_share : int, float, str or Fraction, optional
        Share of the budget for what is measured by label, where trips have labels (``by``).
        Default: 3/20.
    """

    levels: Mapping[int, Budget] | None = None
    expected_trips: float | None = None
    concentrated: bool = False
    label_share: Budget | None = None

    def __post_init__(self) -> None:
        check_together(MEASURED, vars(self), as_keyword)
        if self.expected_trips is not None:
            MEASURED.one("expected_trips").check(self.expected_trips, as_keyword)

    def find_rule(self, grid: Grid, trips_a_loss: float) -> LevelRule:
        """Find what decides which blocks are measured.

        ``trips_a_loss``: trips of a unit, for each unit of epsilon.
        """
        if self.levels is not None:
            return "given"
        expected = self.expected_trips
        if expected is None:
            return "concentrated" if self.concentrated else "default"
        more, thick, many = (
            expected >= count_trips(each, grid, trips_a_loss)
            for each in (COARSE, CONCENTRATED, FINE)
        )
        # Of fewer trips, noise hides pairs of zones even where trips are concentrated.
        if self.concentrated and thick:
            return "concentrated"
        if not more:
            return "few-trips"
        return "many-trips" if many else "more-trips"


DEFAULT_OPTIONS = FlowsOptions()
"""Options of flows of which nothing is expected or given."""


def count_trips(each: int, grid: Grid, trips_a_loss: float) -> int:
    """Count the trips of all zones that have so many each, in units of noise."""
    return ceil(each * grid.size * trips_a_loss)


def choose_levels(rule: LevelRule, grid: Grid, trips_a_loss: float) -> dict[int, Fraction]:
    """Choose sides of blocks and their shares of the budget by a rule, without given levels."""
    if rule == "default":
        single = trips_a_loss <= FEW_TRIPS or are_few_units(grid, trips_a_loss)
        levels = dict(RULES["many-trips" if single else "more-trips"])
    else:
        levels = dict(RULES[rule])
        # One block of all zones would tell nothing of where their trips lead.
        while min(levels) > 1 and count_zone_blocks(grid, min(levels)) < SEVERAL:
            levels = {side // 2: share for side, share in levels.items()}
    while count_pairs(grid, min(levels)) > MOST_PAIRS:
        levels = {2 * side: share for side, share in levels.items()}
    return levels


def explain_rule(rule: LevelRule, grid: Grid, trips_a_loss: float) -> str:
    """Say when a rule decides."""
    few, many = (count_trips(each, grid, trips_a_loss) for each in (COARSE, FINE))
    return {
        "given": "levels are given",
        "default": "nothing is expected of the trips",
        "few-trips": f"fewer than {few:,} trips are expected",
        "more-trips": f"{few:,} trips or more are expected",
        "many-trips": f"{many:,} trips or more are expected",
        "concentrated": "trips are expected to be concentrated",
    }[rule]


def are_few_units(grid: Grid, trips_a_loss: float) -> bool:
    """Return whether zones are areal units that are few and large, with many trips each."""
    return not grid.names.on_map and count_pairs(grid, 1) * trips_a_loss <= FEW_UNITS


def count_pairs(grid: Grid, side: int) -> int:
    """Count the pairs of blocks of a side."""
    return count_zone_blocks(grid, side) ** 2
