"""The bound on the trips of a unit: what one costs and keeps, and the choice of one.

Errors and kept trips are computed before any data are read. A bound that is chosen from the data,
by a quantile of the units, has a charge of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from geodp.advice import pick, takes
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.io.read.rows.input_files import TableSource
from geodp.io.read.rows.survey import Survey
from geodp.kinds.flows.levels import FlowsOptions, LevelRule, explain_rule
from geodp.kinds.flows.methods import EndsOfFlows
from geodp.kinds.flows.publish import count_trips_a_loss, make_plan
from geodp.kinds.flows.reading.labels import By, TripLabels
from geodp.kinds.flows.reading.options import COUNTED
from geodp.kinds.flows.reading.reader import RowReader
from geodp.kinds.flows.reading.stays import Pings, Stays
from geodp.kinds.flows.reading.trips import Trips
from geodp.kinds.flows.reading.units import require_bounds, trips_of_units
from geodp.kinds.flows.zones import Zones
from geodp.kinds.selection.question import (
    ROUND,
    Answer,
    Quantile,
    count_at,
    line_up,
    request_selection,
)
from geodp.kinds.selection.selected import Selected, prepare
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.loss import Budget, rational
from geodp.privacy.terms import ADD_REMOVE, Terms
from geodp.table.counts import CountTable
from geodp.typing import IntArray


@dataclass(frozen=True)
class PlannedFlows:
    """Noise of a release that keeps at most so many trips of a unit.

    Attributes
    ----------
    trips : int
    end_error : float or None
        Standard error of the trips from one zone, or to one, where nothing is clamped.
    total_error : float or None
        That of all trips, before the totals of both ends are averaged.
    pair_errors : mapping of int to float
        Standard error of a noisy pair of blocks, by side of the blocks in zones.
    pairs : mapping of int to int
        Number of pairs of blocks of each side.
    retained : float or None
        Share of the trips that the bound keeps, by the guess of ``mean_trips``; None without one.
    label_error : float or None
        Standard error of a noisy count by label; None: flows have no labels.
    label_sides : tuple of int
        Sides of the blocks of ends, and of pairs, that are counted by label; empty without labels.
    shares : mapping of int to str
        Share of the budget of the pairs of each side: an exact fraction.
    rule : {"given", "default", "few-trips", "more-trips", "many-trips", "concentrated"}
        What decides which blocks are measured.
    reason : str
        When it decides, as the end of a sentence.
    others : tuple of PlannedFlows
        What the release would be by the other rules, but with the same options.
    """

    trips: int
    end_error: float | None
    total_error: float | None
    pair_errors: Mapping[int, float]
    pairs: Mapping[int, int]
    retained: float | None
    label_error: float | None = None
    label_sides: tuple[int, ...] = ()
    shares: Mapping[int, str] = field(default_factory=dict)
    rule: LevelRule = "default"
    reason: str = ""
    others: tuple[PlannedFlows, ...] = field(default=(), repr=False)


@takes(FlowsOptions)
def plan(
    grid: Grid | str,
    *,
    trips: int,
    epsilon: Budget | None = None,
    rho: Budget | None = None,
    delta: Budget | None = None,
    neighbours: str = ADD_REMOVE,
    by: By | None = None,
    labels: Mapping[str, Sequence[str]] | None = None,
    method: str | None = None,
    mean_trips: float | None = None,
    **options: Any,
) -> PlannedFlows:
    """Compute the noise of a release of flows, in closed form, and of what other guesses choose.

    Parameters
    ----------
    grid : Grid or str
        The public grid of zones.
    trips : int
        Most trips that are kept of a unit.
    mean_trips : float, optional
        A public guess of the mean trips of a unit that has any, above 1. The trips of units are
        taken as geometric: many have few, and few have many.
    by, labels
        See :func:`geodp.flows.read_trips`.
    epsilon, rho, delta, neighbours, method
        See :func:`geodp.flows.publish`.
    levels, expected_trips, concentrated, label_share
        See :func:`geodp.flows.publish`.

    Examples
    --------
    >>> import geodp
    >>> few, many = (
    ...     geodp.flows.plan(
    ...         geodp.Grid.regular((47, 84)), trips=k, epsilon=1, levels={4: "0.5"}, mean_trips=7
    ...     )
    ...     for k in (5, 10)
    ... )
    >>> round(few.retained, 2), round(many.retained, 2), many.pair_errors[4] > few.pair_errors[4]
    (0.54, 0.79, True)
    >>> guessed = geodp.flows.plan(
    ...     geodp.Grid.regular((40, 40)), trips=10, epsilon=1, expected_trips=20_000
    ... )
    >>> dict(guessed.shares), guessed.reason
    ({8: '1/4'}, 'fewer than 80,000 trips are expected')
    """
    require_bounds(trips, trips)
    if mean_trips is not None and not 1 < mean_trips < float("inf"):
        raise UsageError(
            "mean_trips is a public guess of the mean trips of a unit that has any: above 1.",
            code="flows-mean-trips",
        )
    zones = Zones.of(Grid.mesh(grid) if isinstance(grid, str) else grid)
    terms = Terms.of(epsilon, rho, delta, neighbours, trips)
    attributes = TripLabels.of(by, labels or {}, None).attributes
    asked, per_loss = FlowsOptions(**options), count_trips_a_loss(terms)
    retained = None if mean_trips is None else retained_share(trips, mean_trips)

    def describe(rule: LevelRule) -> PlannedFlows:
        made = make_plan(zones, terms, method, asked, attributes=attributes, rule=rule)
        errors = EndsOfFlows.of(made.method).block_errors(zones.grid, made.ends)
        sides, by_label = made.design.sides, made.design.labels
        return PlannedFlows(
            trips,
            None if errors is None else errors[-1].largest,
            None if errors is None else errors[0].largest,
            {side: law.variance**0.5 for side, law in zip(sides, made.laws, strict=True)},
            # Also of blocks of a unit that lies nowhere.
            {side: zones.blocks(side).number ** 2 for side in sides},
            retained,
            None if made.label_law is None else made.label_law.variance**0.5,
            () if by_label is None else (by_label.side, by_label.pair_side),
            {side: str(share) for side, share in zip(sides, made.design.shares, strict=True)},
            rule,
            explain_rule(rule, zones.grid, per_loss),
        )

    chosen = asked.find_rule(zones.grid, per_loss)
    made, others = describe(chosen), list[PlannedFlows]()
    for rule in get_args(LevelRule):
        # Noise of a smaller share may be too wide to be drawn.
        with suppress(UsageError):
            if rule not in ("given", chosen):
                others.append(describe(rule))
    return replace(made, others=tuple(others))


def retained_share(trips: int, mean: float) -> float:
    """Return the share of geometric trips of a mean that are among the first of their unit."""
    # The sum of P(more than i trips) over the first i, over that of all i, which is the mean.
    return float(1 - (1 - 1 / mean) ** trips)


AXIS = "trips"

Form: TypeAlias = Literal["trips", "stays", "pings"]
"""Records that a row can be."""

FORMS: dict[Form, type[RowReader]] = {"trips": Trips, "stays": Stays, "pings": Pings}

ONCE_FACT = (
    "that each {unit} with trips in the domain counts once, by its number of trips, or by "
    "{largest:,} where it has more"
)
"""Statement of a choice on what was counted."""


@dataclass(frozen=True)
class TripsChoice:
    """The most trips of a unit, as they were chosen from the rows.

    Attributes
    ----------
    trips : int
        For ``trips`` of :func:`geodp.flows.publish`.
    selected : Selected
        The selection, with its guarantee and its charge; it can be written and verified.
    """

    trips: int
    selected: Selected = field(repr=False)


@takes(
    request_selection,
    Trips,
    Stays,
    Pings,
    without=("contribution", "trips", "value", "weight", "max_weight", "raked_to", *COUNTED),
    trips="largest",
)
def choose_trips(
    paths: TableSource,
    *,
    grid: str | Grid,
    largest: int,
    share: Budget = "0.1",
    form: Form = "trips",
    **options: Any,
) -> TripsChoice:
    """Choose the most trips that are kept of a unit, so that about a share of units has more.

    One of the numbers up to ``largest``, all from 1 to 10 and round ones above, is drawn as
    a quantile of the units. Each unit that is protected counts once, however many trips it has.
    The choice spends a budget of its own, which adds to that of the release: a hundredth of it,
    usually. With a public guess of the trips of a person
    :func:`geodp.flows.plan`, which spends nothing, takes its place.

    Parameters
    ----------
    paths : path, sequence of paths, or a table in memory
    grid : str or Grid
        The public grid of zones. Trips with an end outside are no trips of a unit.
    largest : int
        The largest number that may be chosen, public and chosen without the data: 2 to 10,000.
    share : number
        Of the units with trips that may have more than the chosen number, above 0 and below 1.
    form : {"trips", "stays", "pings"}
        What a row is.
    unit
        The unit of the release, whose trips are counted.
    place
        Of stays and pings: see :func:`geodp.flows.read_stays`.

    Raises
    ------
    UsageError, InputError, BudgetError
        As for the reader and for :func:`geodp.select.top_cells`. Nothing was charged.

    Examples
    --------
    >>> import pyarrow as pa, geodp
    >>> number = [1, 1, 2, 2, 3, 4] * 50
    >>> names = [str(i) for i, most in enumerate(number) for _ in range(most)]
    >>> places = {name: [0] * len(names) for name in ("oy", "ox", "dy", "dx")}
    >>> columns = {"origin": ("oy", "ox"), "destination": ("dy", "dx"), "person": "id"}
    >>> geodp.flows.choose_trips(pa.table({"id": names, **places}), **columns,
    ...     grid=geodp.Grid.regular((8, 8)), largest=20, share="1/4", epsilon=5)
    TripsChoice(trips=3)
    """
    q, most, kind = require_quantile(share), require_largest(largest), _find_form(form)
    asked = pick(request_selection, options)
    # Of the bound it is only required that there is one.
    reader = kind.of(grid, **options, unit=asked.get("unit"), trips=most)
    request = request_selection(**asked | {"unit": reader.require_units()})
    counted = count_units(reader, paths, most)
    selected = prepare(counted, Quantile(q, AXIS), request).release()
    return TripsChoice(find_trips(selected.chosen), selected)


def require_quantile(share: Budget) -> Fraction:
    """Return the part of units with no more trips; UsageError unless a share is between 0 and 1."""
    part = rational(share, "share")
    if not 0 < part < 1:
        raise UsageError(
            "share is the part of persons who may have more trips: above 0 and below 1.",
            code="flows-choice-share",
        )
    return 1 - part


def require_largest(largest: object) -> int:
    """Return the largest number that may be chosen; UsageError where it would be the only one."""
    most, _ = require_bounds(largest, 1)
    if most == 1:
        raise UsageError(
            "With a largest number of 1 the answer is 1, and nothing has to be charged for it: "
            "give a larger one (--largest, largest=), or publish with 1 trip (--trips 1, trips=1).",
            code="flows-choice-known",
        )
    return most


def find_trips(chosen: Sequence[Answer]) -> int:
    """Return the number of trips of an answer, which has one candidate."""
    return int(str(chosen[0]["label"]))


def ask(q: Fraction, largest: int) -> tuple[Quantile, Grid]:
    """Return the question of the most trips, and the grid of its candidates."""
    labels = [str(one) for one in list_candidates(largest)]
    return Quantile(q, AXIS), line_up(AXIS, labels)


def list_candidates(largest: int) -> IntArray:
    """List the numbers that may be chosen: int64[n], the last one being ``largest``.

    Above 10 they are round, as many candidates that nobody needs would hide the others.

    Examples
    --------
    >>> list_candidates(35).tolist()
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30, 35]
    """
    scale = {int(Fraction(f"{digits}e{power}")) for digits in ROUND for power in range(1, 5)}
    some = {one for one in {*range(1, 11)} | scale if one < largest}
    return np.array([*sorted(some), largest], np.int64)


def count_units(reader: RowReader, paths: TableSource, largest: int) -> CountTable:
    """Count units by their number of trips, each at the first candidate that is not exceeded.

    Each unit is counted once, from its own rows, so that one more changes one count by 1. The last
    candidate, ``largest``, stands for more trips, too.
    """
    unit, survey = reader.require_units(), Survey()
    candidates = list_candidates(largest)
    number = np.zeros(candidates.size, np.int64)
    per_pair = largest if reader.per_pair is None else reader.per_pair
    # Trips beyond the largest number do not count, between two zones neither.
    _, of_pair = require_bounds(largest, per_pair)
    facts = reader.state_units()
    for names, key, *_ in reader.list_units(paths, survey):
        at = np.searchsorted(candidates, np.minimum(trips_of_units(names, key, of_pair), largest))
        number += np.bincount(at, minlength=number.size)
    once = ONCE_FACT.format(unit=unit, largest=largest)
    return replace(
        count_at(AXIS, [str(one) for one in candidates], number),
        bound=ContributionBound(1, "geodp", unit=unit),
        reading=survey.reading((once, *facts)),
    )


def _find_form(form: Form) -> type[RowReader]:
    """Return the reader of rows of a form."""
    if form not in FORMS:
        listed = ", ".join(FORMS)
        raise UsageError(f"form must be one of {listed}.", code="flows-choice-form")
    return FORMS[form]
