"""Compute the intervals of single cells again, and what the card says of errors, and compare."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import isclose
from typing import Any

import numpy as np

from geodp.accuracy.margins import DROPPED_VERSION, VERSION
from geodp.accuracy.parts import VERSION as PARTS
from geodp.errors import Rule
from geodp.io.verify.card import require
from geodp.io.verify.chunks import Chunk
from geodp.io.verify.raster import BandWindow, are_near, check_raster_intervals
from geodp.io.verify.readback import raster_file
from geodp.io.verify.remade import Remaking
from geodp.io.verify.sweep import CheckPass, ReleaseFiles
from geodp.io.write.uncertainty import HIGH, LOW, Intervals
from geodp.table.card import Card
from geodp.table.plain import write_plain
from geodp.table.released import ReleasedTable
from geodp.table.stated.error import StatedCells, StatedSettlements, StatedTree
from geodp.typing import FloatArray, KeyArray

OTHER_VERSION = "contain their counts; not computed again, as another version made them"

NEAR_PER_CENT = 0.02
"""Tolerance of simulated biases in per cent, which are written with two digits."""


def check_intervals(
    remaking: Remaking,
    rows: CheckPass[Chunk],
    maps: CheckPass[BandWindow],
) -> str:
    """Require the intervals of files and card to be those of the released counts.

    Parameters
    ----------
    remaking : Remaking
    rows : CheckPass
        The pass over rows; its check ``ends`` is whether intervals contain their counts.
    maps : CheckPass
        The pass over the raster, which compares intervals while it reads counts.
    """
    written = remaking.written
    card, made = written.card, written.card.expected_error.cells
    if card.expected_error.blocks is None and not card.expected_error.has_parts:
        require(
            made is None,
            Rule("intervals-without-errors", "The card has intervals, and no errors."),
        )
        return "none: the error depends on the data"
    rows.outcome("ends")
    _require_made_by_simulation(card)
    is_current = made is not None and made.version in (VERSION, DROPPED_VERSION)
    again = remaking.release
    if made is None or not is_current or made.parts not in (None, PARTS):
        return OTHER_VERSION
    if isinstance(again, str):
        return f"contain their counts; not computed again, as {again}"
    computed, own = again.intervals(), again.card().expected_error
    require(
        computed is not None and own.cells is not None,
        Rule("intervals-without-errors", "The card has intervals, and no errors."),
    )
    assert computed is not None
    assert own.cells is not None
    # An older card has the intervals of its version, which is no fault of the release.
    if made.version != own.cells.version:
        return OTHER_VERSION
    computed = _check_ends(written, written.table(masked=True), computed)
    _check_unlisted(made, own.cells)
    _check_settlements(card.expected_error.settlements, own.settlements)
    _check_tree(made.tree, own.cells.tree)
    has_raster = not card.expected_error.has_parts and raster_file(written.folder, card).is_file()
    if card.in_parts or not has_raster:
        return "those of the released counts, computed again"
    maps.join("ends", partial(check_raster_intervals, written, computed))
    return maps.outcome("ends")


@dataclass(frozen=True, eq=False)
class ComputedIntervals:
    """Intervals that are computed for listed cells; those of others are computed when needed.

    Attributes
    ----------
    key : uint64[n]
        Keys of listed cells, increasing.
    low, high : float64[n]
        Their ends.
    others : Intervals
        The intervals of all other cells.
    """

    key: KeyArray
    low: FloatArray
    high: FloatArray
    others: Intervals

    @property
    def alike(self) -> int:
        """Keys of an aligned block within which cells released as 0 have one interval."""
        return self.others.alike

    def of(self, key: KeyArray) -> tuple[FloatArray, FloatArray]:
        """Return low and high ends for cells of the domain: float64[n] each; ``key``: uint64[n]."""
        place = np.minimum(np.searchsorted(self.key, key), max(self.key.size - 1, 0))
        listed = self.key[place] == key if self.key.size else np.zeros(key.size, np.bool_)
        ends = np.empty(key.size), np.empty(key.size)
        others = self.others.of(key[~listed])
        for end, computed, other in zip(ends, (self.low, self.high), others, strict=True):
            end[listed] = computed[place[listed]]
            end[~listed] = other
        return ends

    def unlisted(self, error: float) -> tuple[float, float, float]:
        """Return the intervals of cells that are not listed."""
        return self.others.unlisted(error)


def _check_ends(written: ReleaseFiles, table: ReleasedTable, intervals: Intervals) -> Intervals:
    """Require the intervals in the rows of the tables; return those of all cells."""
    # The raster shows most cells again, so that the ends of listed ones are kept for its check.
    ends = np.empty(table.key.size), np.empty(table.key.size)
    for chunk in written.chunks():
        part = slice(chunk.start, chunk.start + chunk.size)
        written_ends = [chunk.numbers(name) for name in (LOW, HIGH)]
        expected = intervals.of(table.key[part])
        for end, one, other in zip(ends, expected, written_ends, strict=True):
            end[part] = one
            require(
                are_near(other, one), Rule("intervals-differ", "Intervals are not the release's.")
            )
    return ComputedIntervals(table.key, *ends, intervals)


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
