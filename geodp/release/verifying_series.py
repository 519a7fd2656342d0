"""Verification of a written series of any kind: its index, its periods, its budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, cast

from geodp.errors import Rule
from geodp.io.folder.kinds import Check
from geodp.io.folder.manifest import sha256
from geodp.io.verify.card import read_table_card, require
from geodp.io.verify.files import check_restricted
from geodp.io.verify.index import (
    Questions,
    check_checksums,
    read_index,
    require_one_correction,
    verify_index,
)
from geodp.io.verify.readback import event_of
from geodp.io.verify.remade import Remake
from geodp.io.verify.statements import has_words_of, require_charge, require_same
from geodp.privacy.event import Measurement
from geodp.privacy.loss import epsilon_for
from geodp.release.periods import Periods
from geodp.release.series import state_series
from geodp.release.sharing import Person, count_changed
from geodp.table.card import Card
from geodp.table.index import (
    OF_PERIOD,
    PeriodsCard,
    TablesCard,
    describe_period,
    read_amounts,
)
from geodp.table.plain import write_plain

STATED_ALONE = ("software", "budget", "periods")
"""Fields of the index of a series that do not follow from those of its periods."""


def verify_periods(
    folder: Path, kind: type[PeriodsCard], errors: Remake | None = None
) -> list[Check]:
    """Verify that the index of a series follows from its periods, and verify each of these.

    Parameters and result are those of :func:`geodp.io.verify.index.verify_index`.
    """
    return verify_index(folder, kind, QUESTIONS, _list_times, errors)


def _list_times(card: PeriodsCard) -> list[str]:
    return [one.time for one in card.periods]


class _Period(NamedTuple):
    """A period: its index, the card of its first table, and the event of all its tables."""

    card: TablesCard
    table: Card
    event: Measurement


def _read(folder: Path, card: PeriodsCard) -> dict[str, _Period]:
    """Read what the periods say, by time."""
    require(bool(card.periods), Rule("series-without-periods", "The index lists no periods."))
    found = {}
    for time in _list_times(card):
        index = read_index(folder, f"{time}/{card.period.file}", card.period.from_json)
        require(
            bool(index.tables), Rule("period-without-tables", f"The index of {time} has no tables.")
        )
        table = read_table_card(folder / time / index.tables[0].name)
        event = event_of(table)
        require(
            isinstance(event, Measurement),
            Rule("period-not-measured", "A period of the series was not measured."),
        )
        found[time] = _Period(index, table, index.event_with(cast(Measurement, event)))
    return found


def _check_checksums(folder: Path, card: PeriodsCard) -> str:
    return check_checksums(folder / card.file, (), _list_times(card))


def _check_times(folder: Path, card: PeriodsCard) -> str:
    return f"{len(Periods.of(_list_times(card)).names)} {card.step}s, none missing"


def _check_periods(folder: Path, card: PeriodsCard) -> str:
    """Check that every period is the one in the index, on one grid, charged once with all."""
    for one in card.periods:
        require(
            sha256(folder / one.time / card.period.file) == one.index_sha256,
            Rule("period-changed", "A period is not the one that the index lists."),
        )
    times, promise, read = _list_times(card), card.guarantee, _read(folder, card)
    for time, (index, table, _) in read.items():
        require(
            (index.private, index.budget, index.software)
            == (card.private, card.budget, card.software),
            Rule("period-charge", "A period states another charge or other software."),
        )
        start, facts = OF_PERIOD.format("period"), table.guarantee.not_protected
        require(
            [fact for fact in facts if fact.startswith(start)]
            == [describe_period(time, times, promise.person, promise.unit, promise.spends)],
            Rule("period-named", "A period is that of another time or of another series."),
        )
    tables = [one.table for one in read.values()]
    require(
        all(one.domain == tables[0].domain for one in tables),
        Rule("period-grids", "The periods have different grids."),
    )
    require_one_correction(tables)
    return f"{card.about}, on one grid"


def _check_budget(folder: Path, card: PeriodsCard) -> str:
    events = [one.event for one in _read(folder, card).values()]
    return check_parts(card.guarantee, card.guarantee.person, events)


def check_parts(promise: Any, person: Person, events: Sequence[Measurement]) -> str:
    """Check that the budgets of the periods that a person changes add up exactly.

    Parameters
    ----------
    promise : SeriesGuarantee or Together
        Of all periods together.
    person : {"all", "one"}
    events : sequence of Measurement
        Of each period's own noise.
    """
    # Computed anew from what was declared, so that an index cannot claim fewer changes.
    changed = count_changed(person, promise.neighbours, len(events))
    name = "epsilon" if promise.rho is None else "rho"
    # Exact, as cards store ratios.
    total = getattr(promise, name)
    parts = {getattr(one, name) for one in events}
    require(
        total is not None and parts == {Fraction(total) / changed},
        Rule("series-parts-differ", "The budgets of the periods do not add up to the total."),
    )
    return f"{changed} x {name} {Fraction(total) / changed} = {total}"


def _check_guarantee(folder: Path, card: PeriodsCard) -> str:
    """Check that the index is what follows from that of every period."""
    promise, periods = card.guarantee, Periods.of(_list_times(card))
    stated = _list_fields(card)
    for index, _, each in _read(folder, card).values():
        total = replace(each, **read_amounts(promise))
        made = state_series(type(card), index, each, total, periods, promise.person)
        require_same(stated, _list_fields(made), "index", worded=has_words_of(card.software))
        require_charge(card.budget, total.unit, total.neighbours, total.loss)
        if total.rho is not None and total.epsilon is not None:
            require(
                total.delta is not None and epsilon_for(total.rho, total.delta) <= total.epsilon,
                Rule("series-epsilon", "The index states a smaller epsilon than rho implies."),
            )
    return f"{promise.spends} for one {promise.unit}, once for all periods"


def _list_fields(card: PeriodsCard) -> dict[str, Any]:
    """List the fields of an index that follow from the periods, as plain values."""
    return {name: one for name, one in write_plain(card).items() if name not in STATED_ALONE}


QUESTIONS: Questions = [
    ("checksums", _check_checksums),
    ("times", _check_times),
    ("periods", _check_periods),
    ("budget", _check_budget),
    ("guarantee", _check_guarantee),
    ("restricted", check_restricted),
]
