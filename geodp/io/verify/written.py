"""Read the view of a written release, with its measurements, and compute it again from its card.

From either its files are written again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow.compute as pc

from geodp.accuracy.area_sums import Areas, areas_of
from geodp.errors import Rule, VerificationError
from geodp.grid.grid import Grid
from geodp.io.numbers import numbers_of
from geodp.io.opening import read_json, read_parquet
from geodp.io.verify.card import require
from geodp.io.verify.readback import BROKEN, read_rows
from geodp.io.write.areas import file_names
from geodp.io.write.measurements import SCHEMA
from geodp.io.write.public_tables import totals_file
from geodp.io.write.tables import ERROR, Intervals, RowErrors, extra_columns_of, slices
from geodp.io.write.view import View
from geodp.table.card import Card
from geodp.table.counts import ReleasedTable
from geodp.table.measured import (
    Bias,
    MeasuredLevel,
    MeasuredLevels,
    NodeLevel,
    public_nodes,
    stride_of,
    visited_nodes,
)
from geodp.table.plain import read_plain, write_plain
from geodp.table.public_totals import PublicTotals
from geodp.table.stated.domain import StatedDomain
from geodp.table.stated.error import StatedCells
from geodp.table.stated.release import Count
from geodp.typing import FloatArray, KeyArray


@dataclass(frozen=True)
class CodebookBias:
    """Bias of a level, as a codebook states it: :class:`~geodp.table.measured.Bias`."""

    people: int
    missing: float
    bias: float


@dataclass(frozen=True)
class CodebookLevel:
    """Level of the measurements, as a codebook states it.

    Attributes
    ----------
    measures : {"count", "difference"}
    keys, keys_above : int
        Keys of a node, and of the node above it that decides whether it is visited.
    nodes : int
    complete : bool
    law, parameter : str
    variance : float
    simulated : CodebookBias or None
    """

    measures: Literal["count", "difference"]
    keys: Count
    keys_above: Count
    nodes: Count
    complete: bool
    law: str
    parameter: str
    variance: float
    simulated: CodebookBias | None


def _read_book(folder: Path, card: Card) -> tuple[dict[str, Any], list[CodebookLevel]]:
    """Read the codebook, and what it states of the levels; VerificationError for other types."""
    book = read_json(folder / f"{card.name}.measurements.json")
    names = [one.name for one in fields(CodebookLevel)]
    return book, [
        read_plain(CodebookLevel, {name: entry[name] for name in names}, f"levels[{number}]")
        for number, entry in enumerate(book["levels"])
    ]


def has_measurements(card: Card) -> bool:
    """Return whether the card lists measurements."""
    return f"{card.name}.measurements.parquet" in card.listed


def read_measurements(folder: Path, table: ReleasedTable, card: Card) -> MeasuredLevels | None:
    """Read the measurements of a written release, which nothing has clamped.

    None if they are not published, or if the files do not contain the whole domain.

    Parameters
    ----------
    folder : path
        The public folder.
    table : ReleasedTable
    card : Card
        The release's card.

    Raises
    ------
    VerificationError
        The files are damaged, or no measurements on the table's grid.
    """
    if not has_measurements(card) or StatedDomain.of(table.grid) != card.domain:
        return None
    try:
        _, stated = _read_book(folder, card)
        # No level has more nodes than the domain has cells.
        nodes = sum(min(one.nodes, card.domain.cells) for one in stated)
        path = folder / f"{card.name}.measurements.parquet"
        rows = read_parquet(path, nodes, ["level", "key", "value"])
        return MeasuredLevels(tuple(_read_levels(rows, table.grid, stated)))
    except MemoryError:
        raise
    except BROKEN as error:
        raise VerificationError(
            f"Measurements in {folder} cannot be read back: {error}",
            code=error.code
            if isinstance(error, VerificationError)
            else "measurements-not-read-back",
        ) from error


def _read_levels(rows: Any, grid: Grid, stated: list[CodebookLevel]) -> Iterator[MeasuredLevel]:
    """Read the levels; VerificationError where nodes are out of order or missing."""
    # Nodes of complete levels follow from the domain alone.
    every = public_nodes(grid, tuple(_level(grid, one) for one in stated))
    for number, one in enumerate(stated):
        level = _level(grid, one)
        level_rows = rows.filter(pc.equal(rows["level"], number))
        node = numbers_of(level_rows["key"]) // np.uint64(stride_of(grid, level.digits))
        require(
            bool((node[1:] > node[:-1]).all()),
            Rule("nodes-not-in-order", "Nodes are not in key order."),
        )
        if one.complete:
            require(
                np.array_equal(node, next(every)),
                Rule("nodes-of-level-missing", "Nodes of a complete level are missing."),
            )
        bias = None if one.simulated is None else Bias(**write_plain(one.simulated))
        yield MeasuredLevel(level, one.complete, node, numbers_of(level_rows["value"]), bias)


def check_measurements(folder: Path, view: View) -> str:
    """Require complete levels down to some level, and the visited nodes of those below it.

    Nodes of complete levels are checked when they are read.
    """
    book, stated = _read_book(folder, view.card)
    require(
        book["schema"] == SCHEMA,
        Rule("codebook-schema-unknown", "The codebook has an unknown schema."),
    )
    require(
        book["release"]["release_id"] == view.card.release_id,
        Rule("codebook-of-other-release", "The codebook belongs to another release."),
    )
    if view.measurements is None:
        return "nodes are not checked, as the files do not contain the whole domain"
    complete = [one.complete for one in stated]
    n_complete = complete.index(False) if False in complete else len(complete)
    require(
        not any(complete[n_complete:]),
        Rule("level-below-incomplete", "A complete level stands below one that is not."),
    )
    levels = view.measurements.levels
    for number, one in enumerate(levels[n_complete:], n_complete):
        require(
            np.array_equal(one.node, visited_nodes(view.table.grid, one.level, view.table)),
            Rule(
                "nodes-missing-or-odd",
                f"Nodes are missing or unexpected on level {number} of the measurements.",
            ),
        )
    nodes = sum(one.node.size for one in levels)
    return f"{nodes:,} nodes on {len(levels)} levels, {n_complete} of them complete"


def _level(grid: Grid, one: CodebookLevel) -> NodeLevel:
    digits, under = (grid.order.digits_above(keys) for keys in (one.keys, one.keys_above))
    return NodeLevel(digits, under, one.measures, (one.law, Fraction(one.parameter)), one.variance)


@dataclass(frozen=True, eq=False)
class WrittenErrors(RowErrors):
    """Errors of a table, read from its files.

    Attributes
    ----------
    written : list of float64[n]
        Columns of the errors.
    """

    written: list[FloatArray] = field(default_factory=list, repr=False)

    def columns(self, key: KeyArray, rows: slice) -> list[FloatArray]:
        """Return the columns of some rows, exactly as they were written."""
        return [column[rows] for column in self.written]


@dataclass(frozen=True, eq=False)
class ListedIntervals:
    """Intervals of cells: those of listed cells in arrays, and of others from elsewhere.

    Attributes
    ----------
    key : uint64[n]
        Keys of listed cells, increasing.
    low, high : float64[n]
        Their ends.
    others : Intervals
        Intervals of all other cells.
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
        for end, known, other in zip(ends, (self.low, self.high), others, strict=True):
            end[listed] = known[place[listed]]
            end[~listed] = other
        return ends

    def unlisted(self, error: float) -> tuple[float, float]:
        """Return the interval of cells that are not listed."""
        return self.others.unlisted(error)


@dataclass(frozen=True, eq=False)
class StatedIntervals:
    """The interval of cells that are not listed, as a card states it.

    Attributes
    ----------
    cells : StatedCells or None
        None if the card states nothing of such cells.
    """

    cells: StatedCells | None

    alike = 1

    def of(self, key: KeyArray) -> tuple[FloatArray, FloatArray]:
        """Return low and high ends for cells that are not listed: float64[n] each."""
        low, high = self.unlisted(0)
        return np.full(key.size, low), np.full(key.size, high)

    def unlisted(self, error: float) -> tuple[float, float]:
        """Return the ends of cells that are not listed, at most."""
        return (-np.inf, np.inf) if self.cells is None else self.cells.ends


def read_view(folder: Path, card: Card) -> View:
    """Read the view of a table's release: counts, errors, measurements and totals of its files.

    Parameters
    ----------
    folder : path
        The public folder.
    card : Card

    Raises
    ------
    VerificationError
        The files are damaged, or are not those of the card.
    """
    names = extra_columns_of(card)
    table, columns = read_rows(folder, card, names)
    return View(
        table,
        card,
        write_errors(table, card, columns) if names else None,
        partial(_read_areas, folder, table, card),
        read_measurements(folder, table, card),
        read_release_totals(folder, card, table.grid),
    )


def write_errors(table: ReleasedTable, card: Card, columns: list[FloatArray]) -> WrittenErrors:
    """Make the errors of a table from their columns: float64[n] each."""
    error, low, high = columns
    others = StatedIntervals(card.expected_error.cells)
    return WrittenErrors(error, ListedIntervals(table.key, low, high, others), columns)


def _read_areas(folder: Path, table: ReleasedTable, card: Card) -> Iterator[Areas]:
    """Yield the sums of every level of areas, with the standard errors of its file."""
    stems = file_names(table.grid, card.name)
    for areas in areas_of(table, None):
        rows = read_parquet(folder / f"{stems[areas.level]}.parquet", areas.count.size)
        require(
            rows.num_rows == areas.count.size,
            Rule(
                "area-sums-differ",
                f"The sums of {stems[areas.level]} are not those of its cells.",
            ),
        )
        errors = numbers_of(rows[ERROR]) if ERROR in rows.column_names else None
        yield replace(areas, standard_error=errors)


def has_totals(card: Card) -> bool:
    """Return whether the card lists public totals."""
    return totals_file(card.name) in card.listed


def read_release_totals(folder: Path, card: Card, grid: Grid) -> PublicTotals | None:
    """Read the public totals of a written release; None where the card lists none.

    None, too, without the table of regions, which may be the areas of totals.
    """
    if not has_totals(card) or card.domain.lacks_table(grid):
        return None
    # All readers of tables come with it, which few releases need.
    from geodp.io.read.public.tables import read_totals

    return read_totals(folder / totals_file(card.name), grid, source="the release")


MAX_SIMULATED = 10_000
"""Simulated releases of a card at most: a stranger's card cannot keep the processor busy."""


Remake: TypeAlias = Callable[[View], Any]
"""Function from the view of a written release to the same release, computed again.

It returns None for a method that this installation does not have.
"""


OpenView: TypeAlias = Callable[[Path], View]
"""Function from the folder of a release to the view that exports are written from."""


class Remaking:
    """A written release, read once for all checks, and computed again when the first needs it.

    Attributes
    ----------
    folder : path
        The public folder.
    card : Card
    remake : callable or None
        The ``errors`` of :func:`geodp.io.verify.verify.verify`.
    """

    def __init__(self, folder: Path, card: Card, remake: Remake | None) -> None:
        self.folder, self.card, self._remake = folder, card, remake

    @cached_property
    def written(self) -> View:
        """The view of the release as its files have it; raises what reading them raises."""
        return read_view(self.folder, self.card)

    @property
    def is_whole(self) -> bool:
        """Whether the files have the whole domain: its mask, and the table of its regions."""
        return StatedDomain.of(self.written.table.grid) == self.card.domain

    @cached_property
    def release(self) -> Any:
        """The release, or why it cannot be computed again, as the end of a sentence."""
        cells = self.card.expected_error.cells
        if self._remake is None:
            return "nothing is given that computes them"
        if cells is not None and (cells.simulated or 0) > MAX_SIMULATED:
            return "too many releases were simulated"
        # Without the mask or the regions, nodes have other children, and cells other intervals.
        if not self.is_whole:
            return "the files do not contain the whole domain"
        return self._remake(self.written) or "this version does not know their method"

    @cached_property
    def view(self) -> View | None:
        """The view that this version makes of the release; None where it makes none."""
        again = self.release
        return None if isinstance(again, str) else again.view(self.card.name)

    @cached_property
    def errors(self) -> RowErrors | None:
        """The errors of rows as this version computes them; None without a closed form."""
        errors = None if self.view is None else self.view.errors
        if errors is None or errors.intervals is None:
            return errors
        # The raster shows most cells again, so that the ends of listed ones are kept for it.
        key, ends = self.written.table.key, errors.intervals
        parts = [ends.of(key[part]) for part in slices(key.size)]
        low, high = map(np.concatenate, zip(*[*parts, (np.empty(0),) * 2], strict=True))
        return replace(errors, intervals=ListedIntervals(key, low, high, ends))
