"""Rows of a table: each has a cell, by code, coordinates or index, and counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from geodp.errors import InputError, Rule, UsageError
from geodp.grid.grid import Grid
from geodp.io.read.layout import official_tables as mesh
from geodp.io.read.layout.attributes import name_joint
from geodp.io.read.layout.official_tables import (
    HIDDEN,
    MERGED,
    NO_KEY,
    NO_PEOPLE,
    SUPPRESSED,
    MergedRows,
    OneTable,
    PartNumbers,
    find_columns,
    find_parts,
    is_mesh_grid,
    key_of,
)
from geodp.io.read.layout.plane import REMEDY_OF_CELLS, UnitCheck
from geodp.io.read.layout.presets import describe_layout
from geodp.io.read.layout.recognise import require_longitude_first
from geodp.io.read.options import NO_MARKS, TableOptions
from geodp.io.read.rows.amount_titles import require_counts
from geodp.io.read.rows.columns import InputTable, RowPositions, batches, find_column
from geodp.io.read.rows.count_parser import CountParser, Flags
from geodp.io.read.rows.delimited import TextTable
from geodp.io.read.rows.forms.geometry import find_geometry, geometry_cells
from geodp.io.read.rows.locators import (
    Locator,
    axis_locators,
    cell_locators,
    describe_columns,
    locate,
    require_axes,
)
from geodp.io.read.rows.pairing import ColumnPairing, numbers_of_labels, pair
from geodp.io.read.rows.survey import Survey
from geodp.io.read.rows.tally import Groups, Tally
from geodp.table.counts import CountTable
from geodp.table.reading import StatedCounts, StatedReading
from geodp.table.source import Fact

NO_VALUE = Rule(
    "value-column-to-name",
    "Name the column of counts (--value, value=), or several with the attribute that "
    "distinguishes them (--by, by=).",
)

MIXED = Rule(
    "layouts-mixed",
    "This table does not have the layout of the one before it: official mesh files (KEY_CODE) and "
    "other tables are not read in one call.",
)


@dataclass(frozen=True)
class Places:
    """How another reader locates the rows of a table.

    Attributes
    ----------
    find : function of InputTable
        Returns the locators of all axes of the grid but those of columns of counts.
    columns : mapping of str to str
        Columns of places by what they hold, for the card.
    crs : str or None
        CRS of coordinates, if it is stated.
    """

    find: Callable[[InputTable], list[Locator]]
    columns: Mapping[str, str]
    crs: str | None


@dataclass(frozen=True)
class TableRows:
    """The rows that a reader of tables reads, with their cells and counts.

    Attributes
    ----------
    reader : TableOptions
    places : Places or None
        How rows are located, in place of the reader's columns of places.
    """

    reader: TableOptions
    places: Places | None = None

    def count(self, tables: Iterator[InputTable], facts: Sequence[Fact] = ()) -> CountTable:
        """Read tables whose attributes the grid has; ``facts``: their origin."""
        reader = self.reader
        paired = pair(reader.grid, name_joint(reader.by, reader.value), reader.value)
        grid, wide = paired.grid, paired.wide
        located = self._locators(grid, wide) if self._names_places else None
        # Rows of one cell are added early if nothing else depends on the single row.
        summed = reader.duplicates == "sum" and not wide and reader.rounding is None
        tally: Tally | None = None
        details = self._add_unit(facts or [*paired.facts, *describe_columns(grid, reader.columns)])
        groups, one_table, parts = Groups(), OneTable(), PartNumbers()
        merged = MergedRows(in_files=reader.duplicates == "sum")
        for table in tables:
            keyed = reader.code is not None or (located is None and self.places is None)
            official = keyed and mesh.is_official(table, grid, reader.code)
            if tally is None:
                first, parsers = official, self._parsers(paired.columns, official)
                tally = self._tally(grid, official)
            elif official != first:
                # The conversion of values was chosen for the first table and would be wrong here.
                raise InputError(MIXED, file=table.name)
            locators = located or self._locators_of(grid, table, wide, official)
            columns = self._find_values(table, paired.columns, official)
            names = [name for locator in locators for name in locator.columns]
            used = [*(paired.columns or ()), *names]
            part = find_parts(table) if reader.duplicates == "sum" else []
            receiver = [merged.column(table)] if reader.suppressed == "merge" else []
            placed = [find_column(table, name, used) for name in names]
            chosen = [*columns, *placed, *part, *receiver]
            wanted = {find_column(table, name, used): reader.where[name] for name in reader.where}
            values = [mesh.title_of(table, column) for column in columns]
            one_table.add(table, columns)
            tally.survey.note(table.name, details)
            tally.survey.state(self._describe(table, paired, values, names))
            if wide or official:
                tally.survey.name(table.name, values)
            adding = Adding(tally, grid, wide, values, locators)
            for rows, arrays in batches(table, chosen, wanted, tally.survey):
                # A row that repeats the name of the column of codes is a second header.
                first_place = slice(len(values), len(values) + 1)
                mesh.require_one_header(rows, arrays[first_place], chosen[first_place])
                if official:
                    rows, arrays = mesh.drop_labels(rows, arrays, chosen)
                if receiver:
                    hidden = self._parsers(paired.columns, official, hides=True)
                    rows, arrays = adding.merge(rows, arrays, merged, hidden)
                part_of = parts.number(rows, arrays.pop()) if part else None
                by_code = summed and not official and not part
                adding.add(rows, arrays, parsers, groups if by_code else None, part_of)
        tally = tally or self._tally(grid, official=False)
        return tally.table(one_table.bound() if self._counts_once(grid) else None)

    def _describe(
        self, table: InputTable, paired: ColumnPairing, values: Sequence[str], names: Sequence[str]
    ) -> StatedReading:
        """Describe for the card how a table is read: columns as named, or by its header.

        ``values`` and ``names``: titles of the columns of counts, and names of the columns of
        places and labels.
        """
        reader = self.reader
        coordinates = {"code": reader.code, "x": reader.x, "y": reader.y}
        places = {role: name for role, name in coordinates.items() if name is not None}
        if self.places is not None:
            places = {**self.places.columns}
        elif not self._names_places:
            places = {"code" if names[0] == key_of(table, paired.grid) else "geometry": names[0]}
        attributes = {one.name for one in paired.grid.attributes}
        labels = {axis: name for axis, name in reader.columns.items() if axis in attributes}
        counts = [*zip(paired.columns or values, paired.labels, strict=False)]
        return StatedReading(
            form="table",
            layout=describe_layout(table.columns),
            crs=None if self.places is None else self.places.crs,
            places=places | {axis: n for axis, n in reader.columns.items() if axis not in labels},
            labels=labels,
            counts=tuple(StatedCounts(name, label) for name, label in counts),
            anchor=None if reader.x is None else reader.anchor,
        )

    def _counts_once(self, grid: Grid) -> bool:
        """Test whether a layout's contribution bound holds for the rows as they are read."""
        reader = self.reader
        # Rows that are added up may be of several dates, and a rounded share of several persons.
        # A person may change a number that is rounded to thousands by one of them.
        plain = reader.rounding is None and reader.value_unit in (None, 1)
        return reader.duplicates == "error" and plain and grid.plain_map is not None

    def _tally(self, grid: Grid, official: bool) -> Tally:
        """Return the accumulator of counts; an official file lists a cell once even with "sum"."""
        reader = self.reader
        other = None
        if reader.other is not None:
            other = grid.names.find([reader.other], other=reader.other)[:, 0]
        return Tally(
            grid,
            reader.outside,
            reader.duplicates,
            within=not official,
            other=other,
            rounding=reader.rounding,
            statements=(MERGED,) if reader.suppressed == "merge" else (),
            memory=reader.memory,
            scratch=reader.scratch,
        )

    def _parsers(
        self, columns: Sequence[str] | None, official: bool, *, hides: bool = False
    ) -> list[CountParser]:
        """Return the conversion of values to counts of every column.

        Official mesh files have special markers; ``hides``: of rows whose details may be hidden.
        """
        reader = self.reader
        how = (reader.decimal, reader.rounding, reader.secret)
        more: dict[str, Any] = {
            "flags": Flags.of(reader.flags),
            "unit": reader.value_unit,
        }
        if official:
            # "-" always means 0 in these files, while other marks hide a count.
            hides = hides or reader.suppressed == "zero"
            zero = (NO_PEOPLE, *(SUPPRESSED if hides else ()), *reader.missing)
            plain = CountParser(zero, *how, HIDDEN, **more)
        elif reader.suppressed != "error":
            raise UsageError(NO_MARKS)
        else:
            plain = CountParser(reader.missing, *how, **more)
        absent = [reader.missing_in.get(name, ()) for name in columns or ("",)]
        return [
            replace(plain, missing=(*plain.missing, *some)) if some else plain for some in absent
        ]

    def _find_values(
        self, table: InputTable, names: Sequence[str] | None, official: bool
    ) -> list[int]:
        """Return positions of the columns of counts; for official files also by their labels.

        Raises InputError for a column that is named for amounts, or titled in multiples.
        """
        if official and isinstance(table, TextTable):
            columns = find_columns(table, names)
        elif names is None:
            raise UsageError(NO_VALUE)
        else:
            columns = [find_column(table, name, names) for name in names]
        require_counts(table, columns, self.reader.value_unit)
        return columns

    def _add_unit(self, facts: Sequence[Fact]) -> list[Fact]:
        """Return facts with the number that stands for one person, if the operator stated it."""
        units = [] if self.reader.value_unit is None else [f"{self.reader.value_unit:g}"]
        return [*facts, *(Fact("value of one person", one, "operator") for one in units)]

    @property
    def _names_places(self) -> bool:
        """Whether columns, and not geometries, locate the rows."""
        reader = self.reader
        if reader.code is not None or reader.x is not None or reader.y is not None:
            return True
        return not {*reader.grid.axis_names[:2], "origin"}.isdisjoint(reader.columns)

    def _locators(self, grid: Grid, wide: bool, key: str | None = None) -> list[Locator]:

        reader = self.reader
        if reader.x is not None and reader.y is not None:
            require_longitude_first(reader.x, reader.y)
        check = None if reader.x is None else UnitCheck(grid.places[0], REMEDY_OF_CELLS)
        locators = cell_locators(
            grid,
            key or reader.code,
            reader.columns,
            point=(reader.x, reader.y),
            anchor=reader.anchor,
            drops=reader.outside == "drop",
            other=reader.other,
            check=check,
            decimal=reader.decimal,
        )
        return _complete(grid, locators, wide)

    def _locators_of(
        self, grid: Grid, table: InputTable, wide: bool, official: bool
    ) -> list[Locator]:
        """Return locators if no option names columns of places: by the key, or by geometries."""
        if self.places is not None:
            return self.places.find(table)
        key = key_of(table, grid)
        if official:
            return self._locators(grid, wide, key)
        try:
            return self._locators_of_geometry(grid, table, wide)
        except UsageError:
            if key is None and isinstance(table, TextTable) and is_mesh_grid(grid):
                raise InputError(NO_KEY, file=table.name, row=table.head_lines) from None
            if key is None:
                raise
        return self._locators(grid, wide, key)

    def _locators_of_geometry(self, grid: Grid, table: InputTable, wide: bool) -> list[Locator]:

        if (place := grid.maps.one) is None:
            return self._locators(grid, wide)  # raises the error that lists the missing columns
        located = [geometry_cells(place, find_geometry(table), table.name)]
        return _complete(grid, [*located, *axis_locators(grid, self.reader.columns)], wide)


@dataclass(frozen=True)
class Adding:
    """How the rows of a table are added.

    Attributes
    ----------
    tally : Tally
    grid : Grid
    wide : bool
        Whether columns of counts have labels.
    titles : sequence of str
        Of the columns of counts, which come first in every batch; those of places follow.
    locators : sequence of Locator
    """

    tally: Tally
    grid: Grid
    wide: bool
    titles: Sequence[str]
    locators: Sequence[Locator]

    def add(
        self,
        rows: RowPositions,
        arrays: list[Any],
        parsers: Sequence[CountParser],
        groups: Groups | None = None,
        parts: NDArray[np.int64] | None = None,
        *,
        merged: bool = False,
    ) -> None:
        """Add the rows of a batch.

        ``groups``: rows of one code are added up first; ``merged``: they are those of cells that
        are merged into others.
        """
        numbers = _count(rows, self.titles, arrays, parsers, self.tally.survey)
        places = arrays[len(self.titles) :]
        sizes = None
        if groups is not None and len(places) == 1:
            rows, places[0], numbers[0], sizes = groups.group(rows, places[0], numbers[0])
        index = locate(self.grid, rows, self.locators, places)
        for number, title in enumerate(self.titles):
            if self.wide:
                _set_labels(self.grid, index, number)
            with rows.named(title):
                count = parsers[number].counts(numbers[number], index)
            if merged:
                self.tally.merge(rows, index, count)
            else:
                self.tally.add(rows, index, count, sizes, None if number else parts)

    def merge(
        self,
        rows: RowPositions,
        arrays: list[Any],
        merged: MergedRows,
        parsers: Sequence[CountParser],
    ) -> tuple[RowPositions, list[Any]]:
        """Add the rows that are counted in other cells, whose codes come last; return the others.

        ``parsers``: of columns in which these rows hide counts.
        """
        at = len(self.titles)
        receiver = arrays.pop()
        moved = merged.find(rows, arrays[at], receiver)
        if moved.any():
            mask = pa.array(moved)
            others = [one.filter(mask) for one in (*arrays[:at], receiver, *arrays[at + 1 :])]
            self.add(rows.select(moved), others, parsers, merged=True)
        left = pa.array(~moved)
        return rows.select(~moved), [one.filter(left) for one in arrays]


def _count(
    rows: RowPositions,
    values: Sequence[str],
    arrays: list[Any],
    parsers: Sequence[CountParser],
    survey: Survey,
) -> list[NDArray[Any]]:
    """Return the numbers of each column of values, and record missing and flagged ones."""
    numbers = []
    for value, array, parser in zip(values, arrays, parsers, strict=False):
        with rows.named(value):
            plain, flagged = parser.drop_flags(array)
            numbers.append(parser.numbers(plain))
        survey.flag(rows.table.name, flagged)
        survey.add(rows.table.name, missing=parser.count_missing(plain, numbers[-1]))
    return numbers


def _set_labels(grid: Grid, index: NDArray[Any], column: int) -> None:
    """Set the labels that a column of counts is for, by its position, in indices of cells."""

    labels = np.unravel_index(column, numbers_of_labels(grid))
    index[-len(grid.attributes) :] = np.array(labels)[:, None]


def _complete(grid: Grid, locators: list[Locator], wide: bool) -> list[Locator]:
    """Check that locators cover all axes, or all but attributes made by columns of values."""

    places = len(grid.axis_names) - len(grid.attributes)
    if wide and any(axis >= places for locator in locators for axis in locator.axes):
        raise UsageError(
            "The attribute is given by several columns of values or by a column of labels, not by "
            "both (--value, --column; value=, columns=).",
            code="attribute-given-twice",
        )
    require_axes(grid, locators, places if wide else None)
    return locators
