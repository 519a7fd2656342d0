"""Compute the intervals of single cells again, and what the card says of errors, and compare."""

from __future__ import annotations

from math import isclose
from typing import Any

import numpy as np

from geodp.accuracy.margins import DROPPED_VERSION, VERSION
from geodp.accuracy.parts import VERSION as PARTS
from geodp.errors import Rule
from geodp.io.verify.card import require
from geodp.io.verify.remade import Remaking
from geodp.io.verify.rewritten import are_near
from geodp.io.verify.written import WrittenErrors
from geodp.io.write.tables import slices
from geodp.io.write.view import View
from geodp.table.card import Card
from geodp.table.plain import write_plain
from geodp.table.stated.error import StatedCells, StatedSettlements, StatedTree
from geodp.typing import FloatArray

OTHER_VERSION = "contain their counts; not computed again, as another version made them"

NEAR_PER_CENT = 0.02
"""Tolerance of simulated biases in per cent, which are written with two digits."""


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
    _check_unlisted(made, own.cells)
    _check_settlements(card.expected_error.settlements, own.settlements)
    _check_tree(made.tree, own.cells.tree)
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


def _check_unlisted(made: StatedCells, computed: StatedCells) -> None:
    """Require the card's intervals of cells that are not listed to be the computed ones."""
    declared, expected = (np.array([one.low, one.beside, one.isolated]) for one in (made, computed))
    require(
        are_near(declared, expected),
        Rule(
            "intervals-of-unlisted-differ",
            "The card has other intervals of cells that are not listed.",
        ),
    )


def _check_tree(declared: StatedTree | None, computed: StatedTree | None) -> None:
    """Require the card's tree to have the method's numbers, but for what platforms round.

    Cards of earlier versions have none.
    """
    one, other = (_flatten(write_plain(tree)) for tree in (declared, computed))
    same = len(one) == len(other) and all(map(_are_equal, one, other))
    require(
        declared is None or same,
        Rule("interval-tree-differs", "The card's tree of intervals is not that of the release."),
    )


def _are_equal(one: Any, other: Any) -> bool:
    """Return whether two names or numbers are equal, floats to six digits."""
    floats = isinstance(one, float) and isinstance(other, float)
    return bool(isclose(one, other, rel_tol=1e-6) if floats else one == other)


def _flatten(value: Any) -> list[Any]:
    """Return the names and numbers of nested objects and lists, in their order."""
    if isinstance(value, dict):
        return [one for name, inner in value.items() for one in (name, *_flatten(inner))]
    if isinstance(value, list):
        return [len(value), *(one for inner in value for one in _flatten(inner))]
    return [value]


def _check_settlements(
    declared: StatedSettlements | None, computed: StatedSettlements | None
) -> None:
    """Require the card's biases of settlements: the same kinds, and nearly the same figures."""
    wrong = Rule("settlements-differ", "The card has other biases of settlements.")
    if declared is None or computed is None:
        require(declared is computed, wrong)
        return
    kinds, figures = [], []
    for one in (declared, computed):
        kinds.append([(row.people, row.below, row.surroundings) for row in one.settlements])
        rows = [
            (row.own, row.own_simulation_error, row.near, row.near_simulation_error)
            for row in one.settlements
        ]
        figures.append(np.array(rows, np.float64))
    require(declared.meaning == computed.meaning and kinds[0] == kinds[1], wrong)
    require(bool((np.abs(figures[0] - figures[1]) <= NEAR_PER_CENT).all()), wrong)
