"""Verification of a written series of amounts: its index, its periods, its budget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import cast

from geodp.errors import Rule
from geodp.features.amounts.card import COUNT, AmountsCard
from geodp.features.amounts.methods import CountOfAmounts
from geodp.features.amounts.series.card import OF_PERIOD, AmountsSeriesCard
from geodp.features.amounts.series.series import (
    describe_period,
    state_series_guarantee,
)
from geodp.io.folder.kinds import Check
from geodp.io.folder.manifest import sha256
from geodp.io.verify.card import read_table_card, require
from geodp.io.verify.files import check_restricted
from geodp.io.verify.index import (
    check_checksums,
    read_index,
    require_one_correction,
    verify_index,
)
from geodp.io.verify.readback import event_of
from geodp.io.verify.remade import Remake
from geodp.io.verify.statements import require_charge
from geodp.mechanisms import find_method
from geodp.privacy.event import Measurement
from geodp.privacy.loss import epsilon_for
from geodp.privacy.neighbours import REPLACE
from geodp.release.periods import Periods
from geodp.table.index import read_amounts


def verify_series(folder: Path, errors: Remake | None = None) -> list[Check]:
    """Verify that the index of a series matches its periods, and verify each of these.

    Parameters and result are those of :func:`geodp.io.verify.index.verify_index`.
    """
    return verify_index(folder, AmountsSeriesCard, QUESTIONS, _list_times, errors)


def _list_times(card: AmountsSeriesCard) -> list[str]:
    return [one.time for one in card.periods]


def _check_checksums(folder: Path, card: AmountsSeriesCard) -> str:
    return check_checksums(folder / card.file, (), _list_times(card))


def _check_times(folder: Path, card: AmountsSeriesCard) -> str:
    periods = Periods.of(_list_times(card))
    require(
        periods.step == card.step,
        Rule("amounts-series-step", "The length of the periods differs from the index."),
    )
    return f"{len(periods.names)} {periods.step}s, none missing"


def _check_periods(folder: Path, card: AmountsSeriesCard) -> str:
    """Check that every period is the one in the index, on one scale and grid, charged once."""
    records, times = [], _list_times(card)
    for one in card.periods:
        require(
            sha256(folder / one.time / AmountsCard.file) == one.index_sha256,
            Rule("amounts-period-changed", "A period is not the one that the index lists."),
        )
        period = _read(folder, one.time)
        require(
            period.amount == card.amount,
            Rule(
                "amounts-period-scale",
                "A period has another amount, clip, step or other edges than the index.",
            ),
        )
        require(
            (None if period.prior is None else period.prior.unlearned) == card.prior,
            Rule("amounts-period-prior", "A period has another prior than the index."),
        )
        require(
            (period.private, period.budget, period.software)
            == (card.private, card.budget, card.software),
            Rule(
                "amounts-period-charge",
                "A period states another charge or other software than the index.",
            ),
        )
        named = [fact for fact in period.guarantee.not_protected if fact.startswith(OF_PERIOD)]
        require(
            named == [describe_period(one.time, times, card.guarantee)],
            Rule("amounts-period-named", "A period is that of another time or of another series."),
        )
        records.append(read_table_card(folder / one.time / COUNT))
    require(
        all(one.domain == records[0].domain for one in records),
        Rule("amounts-period-grids", "The periods have different grids."),
    )
    require_one_correction(records)
    return f"all of {card.amount.name}, on one scale and one grid"


def _read(folder: Path, time: str) -> AmountsCard:
    """Read the index of a period."""
    return read_index(folder, f"{time}/{AmountsCard.file}", AmountsCard.from_json)


def _check_budget(folder: Path, card: AmountsSeriesCard) -> str:
    """Check that the budgets of the periods that a person changes add up exactly."""
    promise, times = card.guarantee, _list_times(card)
    # Computed anew from what was declared, so that an index cannot claim fewer changes.
    expected = len(times) if promise.person == "all" else 1
    if promise.person == "one" and promise.neighbours == REPLACE:
        expected = 2
    require(
        promise.changed == expected,
        Rule("amounts-series-changed", "The number of periods that one person changes differs."),
    )
    name = "epsilon" if promise.rho is None else "rho"
    total: str | None = getattr(promise, name)
    for time in times:
        each: str | None = getattr(_read(folder, time).guarantee, name)
        require(
            # Exact, as cards store ratios.
            each is not None
            and total is not None
            and Fraction(each) * promise.changed == Fraction(total),
            Rule("amounts-series-parts", "The budgets of the periods do not add up to the total."),
        )
    return f"{promise.changed} x {promise.each_spends}, together {promise.spends}"


def _check_guarantee(folder: Path, card: AmountsSeriesCard) -> str:
    """Check that what the index promises is what the events of its periods promise together."""
    promise, times = card.guarantee, _list_times(card)
    require(bool(times), Rule("amounts-series-empty", "The index lists no periods."))
    guarantees = [_read(folder, time).guarantee for time in times]
    event = cast(Measurement, event_of(read_table_card(folder / times[0] / COUNT)))
    method = cast(CountOfAmounts, find_method(event.mechanism))
    total = replace(event, mechanism=method.pyramid.spec, **read_amounts(promise))
    require_charge(card.budget, total.unit, total.neighbours, total.loss)
    public = promise.not_protected[len(total.not_protected) :]
    require(
        all(
            replace(one, not_protected=()) == replace(guarantees[0], not_protected=())
            and one.spends == promise.each_spends
            and [*one.not_protected[len(total.not_protected) :]]
            == [*public, describe_period(time, times, promise)]
            for time, one in zip(times, guarantees, strict=True)
        ),
        Rule("amounts-period-promise", "The guarantee of a period differs from the index."),
    )
    if total.rho is not None and total.epsilon is not None:
        require(
            total.delta is not None and epsilon_for(total.rho, total.delta) <= total.epsilon,
            Rule("amounts-series-epsilon", "The index states a smaller epsilon than rho implies."),
        )
    made = state_series_guarantee(
        total,
        card.amount,
        public,
        card.prior,
        person=promise.person,
        periods=len(times),
        changed=promise.changed,
        each_spends=promise.each_spends,
    )
    require(
        promise == made,
        Rule("amounts-series-promise", "The index contradicts the guarantee of its periods."),
    )
    return f"{promise.spends} for one {promise.unit}, once for all periods"


QUESTIONS: list[tuple[str, Callable[[Path, AmountsSeriesCard], str]]] = [
    ("checksums", _check_checksums),
    ("times", _check_times),
    ("periods", _check_periods),
    ("budget", _check_budget),
    ("guarantee", _check_guarantee),
    ("restricted", check_restricted),
]
