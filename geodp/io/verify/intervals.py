"""Compute the intervals of single cells again, and what the card says of errors, and compare."""

from __future__ import annotations

from geodp.accuracy.margins import DROPPED_VERSION, VERSION
from geodp.accuracy.part_errors import VERSION as PARTS
from geodp.errors import Rule
from geodp.io.verify.card import require
from geodp.io.verify.rewritten import are_near
from geodp.io.verify.statements import has_words_of, require_same
from geodp.io.verify.written import Remaking, WrittenErrors
from geodp.io.write.tables import slices
from geodp.io.write.view import View
from geodp.table.card import Card
from geodp.table.plain import write_plain
from geodp.typing import FloatArray

OTHER_VERSION = "contain their counts; not computed again, as another version made them"


def check_intervals(remaking: Remaking) -> str:
    """Require the errors and intervals of files and card to be those of the released counts."""
    view, card = remaking.written, remaking.card
    made = card.expected_error.cells
    if not isinstance(view.errors, WrittenErrors):
        require(
            made is None,
            Rule("intervals-without-errors", "The card has intervals, and no errors."),
        )
        return "none: the error depends on the data"
    _check_columns(view, view.errors.written)
    _require_made_by_simulation(card)
    is_current = made is not None and made.version in (VERSION, DROPPED_VERSION)
    again = remaking.release
    if made is None or not is_current or made.parts not in (None, PARTS):
        return OTHER_VERSION
    if isinstance(again, str):
        return f"contain their counts; not computed again, as {again}"
    own, computed = again.card().expected_error, remaking.errors
    require(
        computed is not None and own.cells is not None,
        Rule("intervals-without-errors", "The card has intervals, and no errors."),
    )
    assert computed is not None
    assert own.cells is not None
    # An older card has the intervals of its version, which is no fault of the release.
    if made.version != own.cells.version:
        return OTHER_VERSION
    for part in slices(view.size):
        expected = computed.columns(view.table.key[part], part)
        require(
            all(map(are_near, (one[part] for one in view.errors.written), expected)),
            Rule("intervals-differ", "Errors or intervals are not the release's."),
        )
    stated, derived = (
        {"cells": one.cells, "settlements": one.settlements} for one in (card.expected_error, own)
    )
    worded = has_words_of(card.software, card.mechanism.noise_format)
    require_same(write_plain(stated), write_plain(derived), "expected_error", worded=worded)
    return "those of the released counts, computed again"


def _check_columns(view: View, columns: list[FloatArray]) -> None:
    """Require standard errors as the card states them, and intervals that contain the counts."""
    error, low, high = columns
    stated = view.card.expected_error
    largest = stated.largest
    require(
        bool((error > 0).all() and (error <= largest).all())
        if largest is not None
        else bool((error >= 0).all()),
        Rule("errors-not-stated", "Standard errors are not in the range that the card states."),
    )
    # Cells at the edge of a domain have other errors, up to the largest one that the card says.
    usual = None if stated.blocks is None else float(stated.blocks[0].standard_error)
    require(
        largest is None or usual != largest or bool((error == largest).all()),
        Rule("standard-errors-differ", f"The standard errors are not {largest} in every row."),
    )
    count = view.table.count
    require(
        bool(((low <= count) & (count <= high)).all()),
        Rule("count-outside-interval", "A count is outside its interval."),
    )


def _require_made_by_simulation(card: Card) -> None:
    """Require that a card says something of settlements only if it was simulated."""
    made, settlements = card.expected_error.cells, card.expected_error.settlements
    simulated = made is not None and made.simulated is not None
    require(
        settlements is None or simulated,
        Rule("settlements-not-simulated", "Settlements of the card were not simulated."),
    )
