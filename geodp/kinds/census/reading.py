"""Read the whole table of an office: all of its columns in one pass, related as its layout says."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from geodp.advice import takes
from geodp.errors import InputError, Rule, UsageError
from geodp.grid.grid import Grid
from geodp.grid.joint import split_grid
from geodp.io.read.layout.presets import choose_fitting, find_preset
from geodp.io.read.layout.relations import NO_RELATIONS, RelatedMargin, Relations, TableLayout
from geodp.io.read.rows.columns import open_tables
from geodp.io.read.rows.input_files import ArrowStream, TableSource
from geodp.io.read.rows.span import Opening
from geodp.io.read.table import Table
from geodp.kinds.census.inputs import (
    CensusTables,
    Contradictions,
    require_choice,
    require_columns,
)
from geodp.kinds.census.kind import Column
from geodp.kinds.census.margins import (
    HOUSEHOLDS,
    PERSONS,
    Margin,
    Margins,
    in_order,
    number_part,
)
from geodp.options.shared import DEFAULT_SIZE
from geodp.table.counts import CountTable
from geodp.table.reading import Reading, StatedCounts
from geodp.typing import IntArray, KeyArray

COLUMN = "column"
"""Attribute of the table that is read: the columns of counts."""

DISAGREE = Rule(
    "census-columns-contradict",
    "In some cell, the columns of the margin {margin} contradict each other. Where their office "
    "has added hidden details to other cells, merge these (--suppressed merge, suppressed=); "
    "contradictions='fit' (--contradictions fit) is for margins with one column for each part.",
)


HIDDEN = Rule(
    "census-count-hidden",
    "a count is hidden, or no count. Give the file before its counts were hidden, or fit the parts "
    "(--contradictions fit, contradictions=), which counts a hidden part as 0 first; a hidden "
    "number of all persons is always refused.",
)


@dataclass(frozen=True)
class TableHeader:
    """Columns of a file and their titles, which are their names where there is no second header."""

    file: str
    names: tuple[str, ...]
    titles: tuple[str, ...]

    @classmethod
    def of(cls, paths: TableSource, **opening: Any) -> TableHeader:
        """Read the header of the first table with several columns; ``opening``: how to open it."""
        with closing(open_tables(paths, labelled=True, **opening)) as tables:
            for table in tables:
                names = tuple(name.strip() for name in table.columns)
                if len(names) > 1:
                    break
            labels = tuple(getattr(table, "labels", ())) or names
        pairs = zip(names, labels, strict=False)
        return cls(table.name, names, tuple(label.strip() or name for name, label in pairs))

    def name(self, column: str) -> str:
        """Return the name of the column that a name or a title is of."""
        return column if column in self.names else self.names[self.titles.index(column)]


@dataclass(frozen=True)
class CensusFile:
    """How the columns of a file are related.

    Attributes
    ----------
    header : TableHeader
    relations : Relations
    """

    header: TableHeader
    relations: Relations

    @classmethod
    def of(cls, header: TableHeader, layout: TableLayout | None) -> CensusFile:
        """Find the columns of a layout; InputError for a file that does not have them."""
        columns = [*dict.fromkeys((*header.names, *header.titles))]
        try:
            relations = None if layout is None else layout.find(columns)
        except UsageError as error:
            raise InputError(str(error), file=header.file, code=error.code) from None
        if relations is None or not relations.margins:
            raise UsageError(NO_RELATIONS)
        found = cls(header, relations)
        if len(found.values) < 2:
            raise UsageError(
                "A census needs a column beside that of all persons, or geodp publish counts them "
                "alone.",
                code="census-one-column",
            )
        require_columns(found.margins, found.columns)
        return found

    @property
    def margins(self) -> Margins:
        """The margins; UsageError where they do not go together."""
        some = [
            Margin(one.name, one.of, one.all_labels, one.within, one.max_size)
            for one in (margin.layout for margin in self.relations.margins)
        ]
        return Margins(in_order(some), bool(self.relations.households))

    @property
    def persons(self) -> str:
        """Name of the column of all persons."""
        return self.header.name(self.relations.persons)

    @property
    def values(self) -> tuple[str, ...]:
        """Names of the columns of counts, in the order of the file."""
        named = {self.header.name(one) for one in self.relations.columns}
        return tuple(one for one in self.header.names if one in named)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Columns of the release, in the order of the file."""
        found = {self.header.name(one): of for one, of in self.relations.columns.items()}
        titles = dict(zip(self.header.names, self.header.titles, strict=True))
        return tuple(
            Column(titles[one], *found[one], "" if titles[one] == one else one)
            for one in self.values
        )

    def read(
        self, reader: Table, paths: TableSource, contradictions: Contradictions | None
    ) -> CensusTables:
        """Read all columns in one pass into confidential tables that agree.

        Parameters
        ----------
        reader : Table
            Its grid is the map; it names no columns of counts.
        paths : path, sequence of paths, or table in memory
        contradictions : {"refuse", "fit"}
            With ``"fit"``, hidden counts of parts count nobody before they are fitted.

        Raises
        ------
        UsageError
            Columns that contradict each other.
        InputError
            Data that must not be used as they are, such as a hidden count; it names file and line.
        """
        contradictions = require_choice(contradictions)
        values, ground, relations = self.values, reader.grid, self.relations
        hidden = dict[str, Sequence[str]]()
        if contradictions == "fit":
            whole = {
                self.header.name(one) for one in (relations.persons, relations.households) if one
            }
            hidden = {one: relations.hidden for one in values if one not in whole}
        wide = replace(reader, value=values, by=(COLUMN,), missing_in=hidden)
        try:
            table = wide.read(paths)
        except InputError as error:
            # The general rule proposes to count it as 0 (--missing), which no whole table can.
            if relations.hidden and error.code in ("count-negative", "count-is-mark"):
                raise InputError(HIDDEN, file=error.file, row=error.row) from None
            raise
        return self._complete(ground, table, contradictions)

    def _complete(
        self, ground: Grid, table: CountTable, contradictions: Contradictions
    ) -> CensusTables:
        """Make the tables of populations and parts from that of all columns."""
        relations = self.relations
        cells, counts = _spread(table)
        at = {found: self.values.index(self.header.name(found)) for found in relations.columns}

        def select(name: str) -> CountTable:
            return _count_cells(ground, cells, counts[:, at[name]])

        homes = {HOUSEHOLDS: relations.households} if relations.households else {}
        max_size = DEFAULT_SIZE
        tables: dict[str, dict[str, CountTable]] = {PERSONS: {}, HOUSEHOLDS: {}}
        above: dict[str, tuple[str, Grid]] = {name: (name, ground) for name in tables}
        for margin in relations.margins:
            one = margin.layout
            if one.max_size:
                # What cannot be in a cell is trimmed, or refused, by the tables.
                names = zip((HOUSEHOLDS, "members"), margin.columns, strict=True)
                homes, max_size = dict(names), one.max_size
                continue
            population, outer = above[one.of]
            above[one.name] = population, outer.with_attribute(one.name, one.all_labels)
            parts = _solve(margin, counts[:, [at[name] for name in margin.columns]], contradictions)
            tables[population][one.name] = _count_parts(
                outer.with_attribute(one.name, one.column_labels), margin, cells, parts
            )
        made = CensusTables.of(
            select(relations.persons),
            tables[PERSONS],
            **{name: select(column) for name, column in homes.items()},
            max_size=max_size,
            household_margins=tables[HOUSEHOLDS],
            rest={
                one.layout.name: one.layout.rest
                for one in relations.margins
                if one.layout.rest and not one.layout.max_size
            },
            within={
                one.layout.name: (one.layout.within, one.layout.elsewhere)
                for one in relations.margins
                if one.layout.within
            },
            columns=self.columns,
            contradictions=contradictions,
        )
        return replace(made, read=(self._state(made.tables[PERSONS], table.reading),))

    def _state(self, persons: CountTable, reading: Reading | None) -> CountTable:
        """Return the persons with how all columns were read, for the card.

        These are no labels of one attribute, and some are totals of others, as relations say.
        """
        if reading is not None and reading.public is not None:
            counts = tuple(StatedCounts(one) for one in self.values)
            sources = tuple(replace(one, totals=()) for one in reading.sources)
            public = replace(reading.public, counts=counts)
            reading = replace(reading, public=public, sources=sources)
        return CountTable.of_cells(persons.grid, persons.key, persons.count, reading=reading)


def _spread(table: CountTable) -> tuple[KeyArray, IntArray]:
    """Return the cells of a table of all columns, and their counts: int64[n, columns]."""
    joint = split_grid(table.grid)
    if joint is None:
        raise UsageError(
            "The columns of a census lie below the cells (--attribute-order below).",
            code="census-order",
        )
    cell, column = joint.split(table.key)
    cells, row = np.unique(cell, return_inverse=True)
    counts = np.zeros((cells.size, joint.parts), np.int64)
    counts[row, column] = table.count
    return cells, counts


def _count_cells(grid: Grid, cells: KeyArray, count: IntArray) -> CountTable:
    """Make a table of the cells that have somebody."""
    return CountTable.of_cells(grid, cells[count > 0], count[count > 0])


def _solve(margin: RelatedMargin, counts: IntArray, contradictions: str) -> IntArray:
    """Return the counts of a margin's parts: int64[n, parts]; UsageError if columns disagree."""
    parts = counts @ margin.solution.T
    agree = bool((parts >= 0).all()) and np.array_equal(parts @ margin.sums.T, counts)
    # What is one column a part agrees always; whether the parts add up is for CensusTables.
    if not agree:
        raise UsageError(DISAGREE.format(margin=margin.layout.name))
    return parts


def _count_parts(grid: Grid, margin: RelatedMargin, cells: KeyArray, parts: IntArray) -> CountTable:
    """Make the table of a margin's parts; ``grid``: with its attributes."""
    joint = split_grid(grid)
    assert joint is not None  # as columns lie below the cells
    labels = [one.labels for one in grid.attributes]
    numbers = np.array([number_part(labels, part) for part in margin.parts], np.int64)
    order = np.argsort(numbers)
    at, part = np.nonzero(parts[:, order])
    key = joint.join(cells[at], numbers[order][part])
    return CountTable.of_cells(grid, key, parts[at, order[part]])


@takes(Table, without=("value", "by", "labels", "columns", "missing_in"))
def read_table(
    paths: TableSource,
    *,
    grid: str | Grid,
    preset: str | None = None,
    contradictions: Contradictions,
    **options: Any,
) -> CensusTables:
    """Read all columns of a census that a layout relates, for :func:`geodp.census.publish`.

    Parameters
    ----------
    paths : path, sequence of paths, or table in memory
    grid : str or Grid
        The public map.
    preset : str, optional
        A layout by its name, or a TOML file of one's own. Default: the one that the header fits.
    contradictions : {"refuse", "fit"}
        What happens where counts contradict each other, or are hidden.

    Returns
    -------
    CensusTables
        Persons, perhaps households, margins and columns: confidential.

    Raises
    ------
    UsageError
        A file without such a layout, options that do not go together, or columns that contradict
        each other.
    InputError
        Data that must not be used as they are, such as a hidden count; it names file and line.

    Examples
    --------
    >>> import pyarrow as pa, geodp
    >>> cells = {"GRD_ID": ["CRS3035RES1000mN3000000E4000000"], "T": [30], "M": [12], "F": [18]}
    >>> box = geodp.Grid.mesh("inspire:1km", bounds=(4000000, 3000000, 4008000, 3008000))
    >>> options = {"code": "GRD_ID", "contradictions": "refuse"}
    >>> tables = geodp.census.read_table(pa.table(cells), grid=box, **options)
    >>> [one.name for one in tables.columns]
    ['T', 'M', 'F']
    >>> census = geodp.census.publish(tables, epsilon=1, contribution=1)
    >>> census.quantities
    ('T', 'M', 'F')
    """
    require_choice(contradictions)
    reader = Table.of(grid, **options)
    header = TableHeader.of(paths, **reader.shared(Opening))
    file = CensusFile.of(header, choose_layout(paths, header, preset))
    return file.read(reader, paths, contradictions)


def choose_layout(
    paths: TableSource, header: TableHeader, preset: str | None
) -> TableLayout | None:
    """Return the relations of a preset, or of the layout that fits; None without any."""
    listed = paths if isinstance(paths, list | tuple) else [paths]
    first = Path() if isinstance(listed[0], ArrowStream) else Path(str(listed[0]))
    chosen = find_preset(preset) if preset else choose_fitting(first, header.names)
    return None if chosen is None else chosen.related
