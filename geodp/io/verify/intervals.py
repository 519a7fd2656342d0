"""Ask intervals of single cells, and what the card says of errors, by working them out again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.margins import DROPPED_VERSION, VERSION
from geodp.accuracy.parts import VERSION as PARTS
from geodp.errors import Rule, VerificationError
from geodp.io.verify.card import require
from geodp.io.verify.readback import open_map, parquet_rows, raster_file, read_table
from geodp.io.write import geotiff, pixels, tables
from geodp.io.write.uncertainty import HIGH, LOW, Intervals
from geodp.table.card import Card
from geodp.table.released import ReleasedTable
from geodp.table.stated.domain import StatedDomain
from geodp.table.stated.error import StatedCells, StatedSettlements

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


def ask_intervals(again: ErrorsOf | None, folder: Path, card: Card) -> str:
    """Require the intervals of files and card to be those of the released counts."""
    if card.expected_error.blocks is None and not card.expected_error.has_parts:
        require(
            card.expected_error.cells is None,
            Rule("intervals-without-errors", "The card has intervals, and no errors."),
        )
        return "none: the error depends on the data"
    rows = parquet_rows(folder, card, (LOW, card.name, HIGH))
    low, count, high = (rows[name].to_numpy() for name in (LOW, card.name, HIGH))
    require(
        bool(((low <= count) & (count <= high)).all()),
        Rule("count-outside-interval", "A count is outside its interval."),
    )
    made = card.expected_error.cells
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
        table = read_table(folder, card, masked=True)
    except VerificationError:  # which other questions explain
        return "hold their counts; not worked out again, as the table cannot be read"
    if StatedDomain.of(table.grid) != card.domain:
        return "hold their counts; not worked out again, as the domain is not all here"
    errors = again(table, simulated, made.closed_form)
    if errors is None:
        return "hold their counts; not worked out again, as their method is not known here"
    if made.version != errors.stated.version:
        return OTHER_VERSION
    for start in range(0, table.key.size, tables.CHUNK):
        part = slice(start, start + tables.CHUNK)
        ends = errors.intervals.of(table.key[part])
        same = _near(low[part], ends[0]) and _near(high[part], ends[1])
        require(same, Rule("intervals-differ", "Intervals are not the release's."))
    _ask_stated(made, errors.stated)
    _ask_settlements(card.expected_error.settlements, errors.settlements)
    has_raster = not card.expected_error.has_parts and raster_file(folder, card).is_file()
    if card.in_parts or not has_raster:
        return "those of the released counts, worked out again"
    return _ask_raster(folder, card, table, errors.intervals)


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
    same = _near(found, expected)
    require(
        same,
        Rule(
            "intervals-of-unlisted-differ",
            "The card has other intervals of cells that are not listed.",
        ),
    )


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


def _ask_raster(folder: Path, card: Card, table: ReleasedTable, intervals: Intervals) -> str:
    """Require the raster's intervals."""
    bands = geotiff.band_count(table.grid)
    with open_map(folder, card) as raster:
        if raster.count != 3 * bands + 1 or raster.shape != table.grid.shape[:2]:
            return "those of the released counts, worked out again; the raster is another one"
        drawn = pixels.Pixels(table)
        for number, window in pixels.windows(table.grid.places[0]):
            for band in range(bands):
                counts = pixels.background(table.grid, window)
                drawn.dense(number, band, counts)
                expected = pixels.ends_in(table.grid, counts, window, band, intervals)
                for after, end in zip((bands + 2, 2 * bands + 2), expected, strict=True):
                    found = raster.read(band + after, window=window)
                    require(
                        _near(found, end),
                        Rule(
                            "raster-intervals-differ",
                            "The raster's intervals are not the release's.",
                        ),
                    )
    return "those of the released counts, worked out again, in tables and raster"


def _near(found: NDArray[np.floating[Any]], expected: NDArray[np.float64]) -> bool:
    """Return whether numbers are the same but for the digits that are not written."""
    if np.array_equal(found, expected.astype(found.dtype), equal_nan=True):  # at a tenth the cost
        return True
    return bool(np.allclose(found, expected, rtol=1e-6, atol=2e-3, equal_nan=True))
