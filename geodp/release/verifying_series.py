"""Verification of a written series of any kind: its index, its periods, its budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from geodp.errors import Rule
from geodp.io.folder.kinds import Check
from geodp.io.folder.manifest import sha256
from geodp.io.verify.card import read_table_card, require
from geodp.io.verify.files import check_restricted
from geodp.io.verify.index import (
    Questions,
    check_checksums,
    measurement_of,
    read_index,
    require_one_correction,
    verify_index,
)
from geodp.io.verify.statements import has_words_of, require_charge, require_same
from geodp.io.verify.written import Remake
from geodp.privacy.event import Measurement
from geodp.privacy.loss import epsilon_for
from geodp.release.periods import Periods
from geodp.release.series import state_series
from geodp.release.sharing import count_changed
from geodp.table.card import Card
from geodp.table.index import OF_PERIOD, IndexCard, PeriodsCard, describe_period, read_amounts
from geodp.table.plain import write_plain

STATED_ALONE = ("software", "budget", "periods", "snapshots", "files", "left_out")
"""Fields of the index of a series that do not follow from its periods, or that other questions
compare."""


class Period(NamedTuple):
    """A period as its files have it.

    Attributes
    ----------
    table : Card
        Card of its table, or of its first one.
    event : Measurement
        Event of its own noise.
    index : TablesCard or None
        Index of its tables; None for one table.
    """

    table: Card
    event: Measurement
    index: Any = None


class Way(NamedTuple):
    """Ways in which series of tables and of other kinds differ.

    Attributes
    ----------
    read : callable
        Reads the periods in a public folder by time, given the index.
    state : callable
        Yields the index that follows from each period, given the folder and the index.
    questions : Questions
        What else is asked of such a series.
    """

    read: Callable[[Path, Any], dict[str, Period]]
    state: Callable[[Path, Any, Mapping[str, Period]], Iterator[IndexCard]]
    questions: Questions = ()


def verify_periods(
    folder: Path, kind: Any, errors: Remake | None = None, way: Way | None = None
) -> list[Check]:
    """Verify that the index of a series follows from its periods, and verify each of these.

    Parameters and result are those of :func:`geodp.io.verify.index.verify_index`; ``way``: that of
    a series of tables, and None for all other kinds.
    """
    way = way or OF_INDEXES
    questions: Questions = [
        ("checksums", _check_checksums),
        ("times", _check_times),
        (f"{kind.called}s", partial(_check_periods, way)),
        ("budget", partial(_check_budget, way)),
        ("guarantee", partial(_check_guarantee, way)),
        *way.questions,
        ("restricted", check_restricted),
    ]
    return verify_index(folder, kind, questions, lambda card: card.times, errors)


def _check_checksums(folder: Path, card: Any) -> str:
    return check_checksums(folder / card.file, card.files, card.times)


def _check_times(folder: Path, card: Any) -> str:
    return f"{len(Periods.of(card.times).names)} {card.step}s, none missing"


def _check_periods(way: Way, folder: Path, card: Any) -> str:
    """Check that every period is the one in the index, on one grid, charged once with all."""
    promise, tables = card.guarantee, []
    named = card.times, card.person, promise.unit, promise.spends, card.called
    for time, (table, *_) in way.read(folder, card).items():
        start, facts = OF_PERIOD.format(card.called), table.guarantee.not_protected
        said = [fact for fact in facts if fact.startswith(start)]
        require(
            not has_words_of(card.software) or said == [describe_period(time, *named)],
            Rule("period-named", f"{time} is that of another time or of another series."),
        )
        tables.append(table)
    require(
        all(one.domain == tables[0].domain for one in tables),
        Rule("period-grids", f"The {card.called}s have different grids."),
    )
    require_one_correction(tables)
    return f"{card.about}, on one grid"


def _check_budget(way: Way, folder: Path, card: Any) -> str:
    """Check that the budgets of the periods that a person changes add up exactly."""
    promise, events = card.guarantee, [one.event for one in way.read(folder, card).values()]
    # Computed anew from what was declared, so that an index cannot claim fewer changes.
    changed = count_changed(card.person, promise.neighbours, len(events))
    name = "epsilon" if promise.rho is None else "rho"
    # Exact, as cards store ratios.
    total = getattr(promise, name)
    parts = {getattr(one, name) for one in events}
    require(
        total is not None and parts == {Fraction(total) / changed},
        Rule(
            "series-parts-differ", f"The budgets of the {card.called}s do not add up to the total."
        ),
    )
    return f"{changed} x {name} {Fraction(total) / changed} = {total}"


def _check_guarantee(way: Way, folder: Path, card: Any) -> str:
    """Check that the index is what follows from every period."""
    promise, read = card.guarantee, way.read(folder, card)
    stated, worded = _list_fields(card), has_words_of(card.software)
    for one, made in zip(read.values(), way.state(folder, card, read), strict=True):
        require_same(stated, _list_fields(made), "index", worded=worded)
        total = replace(one.event, **read_amounts(promise))
        require_charge(card.budget, total.unit, total.neighbours, total.loss)
        if total.rho is not None and total.epsilon is not None:
            require(
                total.delta is not None and epsilon_for(total.rho, total.delta) <= total.epsilon,
                Rule("series-epsilon", "The index states a smaller epsilon than rho implies."),
            )
    return f"{promise.spends} for one {promise.unit}, once for all {card.called}s"


def _list_fields(card: IndexCard) -> dict[str, Any]:
    """List the fields of an index that follow from the periods, as plain values."""
    return {name: one for name, one in write_plain(card).items() if name not in STATED_ALONE}


def _read(folder: Path, card: PeriodsCard) -> dict[str, Period]:
    """Read periods that are indexes of tables; VerificationError for others than those listed."""
    found = {}
    for listed in card.periods:
        time = listed.time
        index = read_index(folder, f"{time}/{card.period.file}", card.period.from_json)
        require(
            sha256(folder / time / card.period.file) == listed.index_sha256,
            Rule("period-changed", f"{time} is not the period that the index lists."),
        )
        require(
            (index.private, index.budget, index.software)
            == (card.private, card.budget, card.software),
            Rule("period-charge", f"{time} states another charge or other software."),
        )
        require(
            bool(index.tables), Rule("period-without-tables", f"The index of {time} has no tables.")
        )
        table = read_table_card(folder / time / index.tables[0].name)
        event = index.event_with(measurement_of(table))
        found[time] = Period(table, event, index)
    return found


def _state(folder: Path, card: PeriodsCard, read: Mapping[str, Period]) -> Iterator[PeriodsCard]:
    periods = Periods.of(card.times)
    for _, event, index in read.values():
        total = replace(event, **read_amounts(card.guarantee))
        yield state_series(type(card), index, event, total, periods, card.person)


OF_INDEXES = Way(_read, _state)
"""Way of series whose periods have an index of tables."""
