"""Verification of a written series: its index, its snapshots, its budget."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

from geodp.errors import Rule
from geodp.features.series.card import INDEX, SeriesCard
from geodp.features.series.periods import Periods
from geodp.io.folder.kinds import Check
from geodp.io.verify.card import read_table_card, require
from geodp.io.verify.files import check_restricted
from geodp.io.verify.index import check_checksums, read_listed_card, verify_index
from geodp.io.verify.intervals import ErrorsOf


def verify_series(folder: Path, errors: ErrorsOf | None = None) -> list[Check]:
    """Verify that the index of a written series matches its snapshots, and verify each of these.

    Parameters
    ----------
    folder : path
        Folder of its public files.
    errors : callable, optional
        See :func:`geodp.io.verify.verify.verify`.

    Returns
    -------
    list of Check
        Checks of the index, and one for every snapshot, with the checks that failed there.
    """
    return verify_index(
        folder / INDEX,
        SeriesCard.from_json,
        lambda card: f"schema {card.schema}, {len(card.snapshots)} snapshots",
        QUESTIONS,
        lambda card: (one.time for one in card.snapshots),
        errors,
    )


def _check_checksums(folder: Path, card: SeriesCard) -> str:
    return check_checksums(folder / INDEX, card.files, (one.time for one in card.snapshots))


def _check_times(folder: Path, card: SeriesCard) -> str:
    periods = Periods.of([one.time for one in card.snapshots])
    require(
        periods.step == card.step,
        Rule("series-step-differs", "The length of the snapshots differs from the index."),
    )
    return f"{len(periods.names)} {periods.step}s, none missing"


def _check_snapshots(folder: Path, card: SeriesCard) -> str:
    """Check that every snapshot is the one in the index, on one grid, with its part."""
    domains = []
    for one in card.snapshots:
        snapshot = read_listed_card(folder / one.time, one, card.name, card)
        guarantee = snapshot.guarantee
        mine = (
            guarantee.spends,
            guarantee.mechanism,
            guarantee.unit,
            guarantee.neighbours,
            guarantee.contribution,
        )
        promise = card.guarantee
        expected = (promise.mechanism, promise.unit, promise.neighbours, promise.contribution)
        require(
            mine == (promise.each_spends, *expected),
            Rule(
                "series-snapshot-promises-otherwise",
                "The guarantee of a snapshot differs from the index.",
            ),
        )
        domains.append(snapshot.domain)
    require(
        all(one == domains[0] for one in domains),
        Rule("series-grids-differ", "The snapshots have different grids."),
    )
    return "cards, ids and guarantees are those of the index; one grid"


def _check_sharing(folder: Path, card: SeriesCard) -> str:
    """Check that the budgets of the snapshots that a person changes add up exactly."""
    promise, changed = card.guarantee, card.guarantee.sharing.changed
    # Computed anew from the declared facts, so that a card cannot claim a smaller number of
    # changes.
    expected = len(card.snapshots) if promise.sharing.person == "all" else 1
    if promise.sharing.person == "one" and promise.neighbours == "replace-one":
        expected = 2
    require(
        changed == expected,
        Rule("series-changes-differ", "The number of snapshots that one person changes differs."),
    )
    guarantee = read_table_card(folder / card.snapshots[0].time).guarantee
    name = "epsilon" if promise.rho is None else "rho"
    each: Any = getattr(guarantee, name)
    total: Any = getattr(promise, name)
    require(None not in (each, total), Rule("series-without-budget", "A card has no budget."))
    require(
        # Exact, as cards store ratios.
        Fraction(each) * changed == Fraction(total),
        Rule("series-parts-differ", "The budgets of the snapshots do not add up to the total."),
    )
    return f"{changed} x {name} {each} = {total}"


QUESTIONS: list[tuple[str, Callable[[Path, SeriesCard], str]]] = [
    ("checksums", _check_checksums),
    ("times", _check_times),
    ("snapshots", _check_snapshots),
    ("budget", _check_sharing),
    ("restricted", check_restricted),
]
