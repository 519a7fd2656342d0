"""Ask intervals of single cells, and what the card says of errors, by working them out again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import isclose
from typing import Any

import numpy as np

from geodp.accuracy.margins import DROPPED_VERSION, VERSION
from geodp.accuracy.parts import VERSION as PARTS
from geodp.errors import Rule, VerificationError
from geodp.io.verify.card import require
from geodp.io.verify.chunks import Chunk
from geodp.io.verify.raster import Piece, are_near, ask_raster_ends
from geodp.io.verify.readback import raster_file
from geodp.io.verify.sweep import Passed, Written
from geodp.io.write.uncertainty import HIGH, LOW, Intervals
from geodp.table.card import Card
from geodp.table.plain import write_plain
from geodp.table.released import ReleasedTable
from geodp.table.stated.domain import StatedDomain
from geodp.table.stated.error import StatedCells, StatedSettlements, StatedTree
from geodp.typing import FloatArray, KeyArray

MOST_SIMULATED = 10_000
"""Releases of a card that are simulated again."""

OTHER_VERSION = "hold their counts; not worked out again, as another version made them"

NEAR_PER_CENT = 0.02
"""Of simulated biases in per cent, which are written with two digits."""


@dataclass(frozen=True, eq=False)
class CellErrors:
    """What follows from a released table of the errors of its cells.

    Attributes
    ----------
    intervals : Intervals
    stated : StatedCells
        What the card says of cells.
    settlements : StatedSettlements or None
        The same of simulated settlements.
    """

    intervals: Intervals
    stated: StatedCells
    settlements: StatedSettlements | None


ErrorsOf = Callable[[ReleasedTable, int, bool], CellErrors | None]


def ask_intervals(
    again: ErrorsOf | None, written: Written, rows: Passed[Chunk], maps: Passed[Piece]
) -> str:
    """Require the intervals of files and card to be those of the released counts.

    Parameters
    ----------
    again : callable or None
        As for :func:`geodp.io.verify.verify.verify`.
    written : Written
    rows : Passed
        Asks ``ends`` on its way: whether intervals hold their counts.
    maps : Passed
        Of the raster, whose intervals are asked on the same way as its counts.
    """
    card, made = written.card, written.card.expected_error.cells
    if card.expected_error.blocks is None and not card.expected_error.has_parts:
        require(
            made is None,
            Rule("intervals-without-errors", "The card has intervals, and no errors."),
        )
        return "none: the error depends on the data"
    rows.outcome("ends")
    _require_made_by_simulation(card)
    if again is None:
        return "hold their counts"
    known = made is not None and made.version in (VERSION, DROPPED_VERSION)
    if made is None or not known or made.parts not in (None, PARTS):
        return OTHER_VERSION
    simulated = made.simulated or 0
    if simulated > MOST_SIMULATED:
        return "hold their counts; not worked out again, as too many releases were simulated"
    try:
        table = written.table(masked=True)
    except VerificationError:  # which other questions explain
        return "hold their counts; not worked out again, as the table cannot be read"
    if StatedDomain.of(table.grid) != card.domain:
        return "hold their counts; not worked out again, as the domain is not all here"
    errors = again(table, simulated, made.closed_form)
    if errors is None:
        return "hold their counts; not worked out again, as their method is not known here"
    if made.version != errors.stated.version:
        return OTHER_VERSION
    known_ends = _ask_ends(written, table, errors.intervals)
    _ask_stated(made, errors.stated)
    _ask_settlements(card.expected_error.settlements, errors.settlements)
    _ask_tree(made.tree, errors.stated.tree)
    has_raster = not card.expected_error.has_parts and raster_file(written.folder, card).is_file()
    if card.in_parts or not has_raster:
        return "those of the released counts, worked out again"
    maps.join("ends", partial(ask_raster_ends, written, known_ends))
    return maps.outcome("ends")


@dataclass(frozen=True, eq=False)
class KnownIntervals:
    """Intervals that are worked out for listed cells; those of others are when asked for.

    Attributes
    ----------
    key : uint64[n]
        Of listed cells, in order.
    low, high : float64[n]
    others : Intervals
    """

    key: KeyArray
    low: FloatArray
    high: FloatArray
    others: Intervals

    @property
    def alike(self) -> int:
        """As of the intervals of others."""
        return self.others.alike

    def of(self, key: KeyArray) -> tuple[FloatArray, FloatArray]:
        """Low and high ends for cells of the domain: float64[n] each; ``key``: uint64[n]."""
        place = np.minimum(np.searchsorted(self.key, key), max(self.key.size - 1, 0))
        listed = self.key[place] == key if self.key.size else np.zeros(key.size, np.bool_)
        found = np.empty(key.size), np.empty(key.size)
        others = self.others.of(key[~listed])
        for each, known, other in zip(found, (self.low, self.high), others, strict=True):
            each[listed] = known[place[listed]]
            each[~listed] = other
        return found

    def unlisted(self, error: float) -> tuple[float, float, float]:
        """Return those of cells that are not listed."""
        return self.others.unlisted(error)


def _ask_ends(written: Written, table: ReleasedTable, intervals: Intervals) -> Intervals:
    """Require the intervals in the rows of the tables; return all that are known then."""
    ends = np.empty(table.key.size), np.empty(table.key.size)
    for chunk in written.chunks():
        part = slice(chunk.start, chunk.start + chunk.size)
        found = [chunk.numbers(name) for name in (LOW, HIGH)]
        for each, one, other in zip(ends, intervals.of(table.key[part]), found, strict=True):
            each[part] = one
            require(
                are_near(other, one), Rule("intervals-differ", "Intervals are not the release's.")
            )
    return KnownIntervals(table.key, *ends, intervals)


def _require_made_by_simulation(card: Card) -> None:
    """Require that only a card whose cells were simulated says something of settlements."""
    made, settlements = card.expected_error.cells, card.expected_error.settlements
    simulated = made is not None and made.simulated is not None
    require(
        settlements is None or simulated,
        Rule("settlements-not-simulated", "Settlements of the card were not simulated."),
    )


def _ask_stated(made: StatedCells, again: StatedCells) -> None:
    """Require the card's intervals of cells that are not listed."""
    found, expected = (np.array([one.low, one.beside, one.alone]) for one in (made, again))
    same = are_near(found, expected)
    require(
        same,
        Rule(
            "intervals-of-unlisted-differ",
            "The card has other intervals of cells that are not listed.",
        ),
    )


def _ask_tree(declared: StatedTree | None, computed: StatedTree | None) -> None:
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


def _ask_settlements(said: StatedSettlements | None, again: StatedSettlements | None) -> None:
    """Require the card's biases of settlements: the same kinds, and figures near enough."""
    wrong = Rule("settlements-differ", "The card has other biases of settlements.")
    if said is None or again is None:
        require(said is again, wrong)
        return
    kinds, figures = [], []
    for one in (said, again):
        kinds.append([(row.people, row.below, row.surroundings) for row in one.settlements])
        rows = [
            (row.own, row.own_simulation_error, row.near, row.near_simulation_error)
            for row in one.settlements
        ]
        figures.append(np.array(rows, np.float64))
    require(said.meaning == again.meaning and kinds[0] == kinds[1], wrong)
    require(bool((np.abs(figures[0] - figures[1]) <= NEAR_PER_CENT).all()), wrong)
