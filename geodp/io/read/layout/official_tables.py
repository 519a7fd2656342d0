"""Official tables: columns of mesh files of Japan, and what the layout of a table states.

One row is one mesh: ``KEY_CODE``, on newer files ``HTKSYORI`` (0: as counted; 1: holds details
of others; 2: its details are hidden), ``HTKSAKI`` and ``GASSAN`` (where they went and came
from), then values. Totals are counted in every row, whatever HTKSYORI is, and are never moved:
adding the rows up is right.

A publisher's layout documents how often a person occurs in one of its tables. That says nothing
about two tables, two years, a copy or counts that are added up: then the operator must declare it.

Layouts may have a row for each part of a cell, such as each country. Their counts add up, and the
same part of a cell twice is a copy, which must not be counted twice.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from geodp.errors import InputError, Rule, UsageError
from geodp.grid.codes import JISMesh
from geodp.grid.grid import Grid
from geodp.grid.mask import grid_of_primaries
from geodp.io.read.layout.presets import Preset, find_layout
from geodp.io.read.rows.arrow import largest_byte
from geodp.io.read.rows.columns import InputTable, RowPositions
from geodp.io.read.rows.delimited import TextTable
from geodp.io.read.rows.fields import as_text
from geodp.io.read.rows.names import fold, match
from geodp.io.read.rows.span import is_name
from geodp.io.read.rows.tally import MAX_PARTS
from geodp.privacy.assumption import ContributionBound

KEY = "KEY_CODE"
NOT_VALUES = (KEY, "HTKSYORI", "HTKSAKI", "GASSAN")
NO_PEOPLE = "-"
"""Symbol for no people in these files; it counts as 0."""

SUPPRESSED = ("*", "X", "x", "")
"""Symbols for suppressed values in these files."""

NO_KEY = Rule(
    "key-code-missing",
    f"The header must have one column {KEY}; for another table, name the columns that locate its "
    "rows (--code, or --x and --y; code=, or x= and y= of read_table).",
)

REPEATED = Rule(
    "header-repeated",
    "the header is repeated in this row, as where files were joined end to end; give the files as "
    "they were published, one beside the other, or leave repeated headers out.",
)

BLANKS = r"[\s\p{Z}]*"
"""Blanks of any script, as a regular expression of Arrow."""

HIDDEN = Rule(
    "value-suppressed",
    "the value is suppressed or blank; totals never are, so choose a total, or choose "
    '--suppressed zero (suppressed="zero") where the file has added such details to another '
    "row (HTKSAKI), or merge to count all of the row there.",
)

RECEIVER = "HTKSAKI"
"""Column of the code of the cell that the details of a row were added to."""

MERGED = (
    "that cells whose details their publisher had added to another cell are counted there in every "
    "column, so that both are one cell"
)
"""Sentence in which a release states that such cells are merged."""

MERGED_TWICE = Rule(
    "cell-merged-twice",
    "The cell already has a row, whose details were added to another cell; a cell is listed once.",
)

NO_RECEIVER = Rule(
    "merge-without-receivers",
    "Cells are merged (--suppressed merge, suppressed=) by a column HTKSAKI, which this table does "
    "not have.",
)


def is_official(table: InputTable, grid: Grid, code: str | None) -> bool:
    """Whether a table is a text whose column KEY_CODE locates its rows in meshes of Japan.

    ``code`` is the column that locates rows; None if no option names one.
    """
    if not isinstance(table, TextTable) or fold(code or KEY) != fold(KEY):
        return False
    return key_of(table, grid) is not None


def key_of(table: InputTable, grid: Grid) -> str | None:
    """Return the name of the only column KEY_CODE, on a grid of meshes, or None."""
    names = [name for name in table.columns if fold(name) == fold(KEY)]
    return names[0] if is_mesh_grid(grid) and len(names) == 1 else None


def require_one_header(
    rows: RowPositions, arrays: Sequence[pa.Array], columns: Sequence[int]
) -> None:
    """Raise InputError for a row of a text that repeats the header in all these columns.

    Files that were concatenated have such rows, and may be copies of one table.
    """
    if not isinstance(rows.table, TextTable):
        return
    names = [rows.table.columns[column] for column in columns]
    if (repeated := _repeats(arrays, names)) is not None:
        raise rows.error(int(repeated.to_numpy(zero_copy_only=False).argmax()), REPEATED)


def drop_labels(
    rows: RowPositions, arrays: list[pa.Array], columns: Sequence[int]
) -> tuple[RowPositions, list[pa.Array]]:
    """Drop rows that repeat the labels, as files concatenated under one header do."""
    table = rows.table
    if not isinstance(table, TextTable) or not any(table.labels):
        return rows, arrays
    repeated = _repeats(arrays, [table.labels[column] for column in columns])
    if repeated is None:
        return rows, arrays
    rows_of_data = pc.invert(repeated)
    return rows.select(rows_of_data.to_numpy(zero_copy_only=False)), [
        a.filter(rows_of_data) for a in arrays
    ]


def _repeats(arrays: Sequence[pa.Array], titles: Sequence[str]) -> pa.Array | None:
    """Return which rows consist of these titles; None if none does."""
    repeated = None
    for array, title in zip(arrays, titles, strict=True):
        # Letters are larger than digits: codes and counts need not be searched.
        if max(title.encode(), default=0) > largest_byte(array):
            return None
        # Patterns are options: a text that becomes an array or a scalar has Arrow import pandas.
        if not pc.match_substring(array, title).true_count:
            return None
        same = pc.match_substring_regex(array, rf"\A{BLANKS}{re.escape(title)}{BLANKS}\z")
        repeated = same if repeated is None else pc.and_(repeated, same)
        if not repeated.true_count:
            return None
    return repeated


def public_map(
    grid: str | Grid,
    bounds: Sequence[float | Fraction] | None,
    primary: str | int | Sequence[str | int] | None,
) -> Grid:
    """Return the grid itself, or that of a code system in bounds or in primary meshes."""
    if isinstance(grid, Grid):
        if bounds is not None or primary is not None:
            raise UsageError(
                "Bounds and primary meshes go with a grid named by a string.",
                code="bounds-need-named-grid",
            )
        return grid
    if primary is None:
        return Grid.mesh(grid, bounds=bounds)
    if bounds is not None:
        raise UsageError(
            "Give bounds or primary meshes, not both.", code="bounds-or-primary-meshes"
        )
    return grid_of_primaries(grid, primary)


def is_mesh_grid(grid: Grid) -> bool:
    """Whether a grid is one map of meshes of Japan."""
    return isinstance(grid.maps.system, JISMesh)


def require_meshes(grid: Grid) -> None:
    """Raise UsageError for a grid that is not a map of meshes."""
    if not is_mesh_grid(grid):
        raise UsageError(
            'Official mesh files need a map of JIS meshes, such as "jis:half"; a table on another '
            "grid is read by its columns of codes or of places (read_table).",
            code="mesh-needs-jis",
        )


def find_columns(table: TextTable, values: Sequence[str] | None) -> list[int]:
    """Return the positions of the chosen values."""
    names = [fold(name).upper() for name in table.columns]
    if names.count(KEY) != 1:
        raise InputError(NO_KEY, file=table.name, row=table.head_lines)
    # Columns of folders hold no values.
    in_file = enumerate(names[: len(table.names)])
    candidates = [i for i, name in in_file if name and name not in NOT_VALUES]
    if values is not None:
        return [_find(table, candidates, wanted) for wanted in values]
    if len(candidates) != 1:
        columns = _list_columns(table, candidates)
        raise InputError(
            f"Name one of the columns of values (--value, value=): {columns}.",
            file=table.name,
            code="value-column-missing",
        )
    return candidates


def _find(table: TextTable, candidates: Sequence[int], wanted: str) -> int:
    """Return the column with this name or label, up to width and spaces."""
    for form in (str.strip, fold):
        for titles in (table.columns, table.labels):
            positions = [i for i in candidates if form(titles[i]) == form(wanted)]
            if len(positions) == 1:
                return positions[0]
            if positions:
                raise InputError(
                    f"Several columns have this label; name one by its code: "
                    f"{_list_columns(table, positions)}.",
                    file=table.name,
                    code="value-label-of-several",
                )
    # Similar names help with typing errors, of which long Japanese labels have many.
    folded = {fold(t[i]): i for t in (table.columns, table.labels) for i in candidates}
    close = [folded[near] for near in get_close_matches(fold(wanted), folded, 6, 0.4)]
    hint = "" if any(table.labels) else " The file has no labels, only codes of columns."
    raise InputError(
        f"No column of values is named '{wanted}'; there are "
        f"{_list_columns(table, close or candidates)}.{hint}",
        file=table.name,
        code="value-column-unknown",
    )


def title_of(table: InputTable, column: int) -> str:
    """Return the label of a column, or its name if it has no label."""
    label = table.labels[column] if isinstance(table, TextTable) else ""
    return label or table.columns[column].strip()


def _list_columns(table: TextTable, columns: Sequence[int], limit: int = 8) -> str:
    """List columns for a message; a header that looks like data is not shown."""
    if not all(is_name(table.columns[i]) for i in columns):
        return "names that look like data, so that the first row may be no header"
    shown = [f"{table.columns[i]} {table.labels[i]}".strip() for i in columns[:limit]]
    more = [f"{len(columns) - limit} more"] if len(columns) > limit else []
    return ", ".join([*shown, *more]) or "none"


class MergedRows:
    """Rows of cells whose details were added to other cells.

    Parameters
    ----------
    in_files : bool
        Whether a cell may have a row in every file, as those of prefectures do.
    """

    def __init__(self, *, in_files: bool) -> None:
        self._seen = set[tuple[str, str]]()
        self._in_files = in_files

    @staticmethod
    def column(table: InputTable) -> int:
        """Return the position of the column of receiving cells; InputError if there is none."""
        names = [fold(name) for name in table.columns]
        if names.count(fold(RECEIVER)) != 1:
            raise InputError(NO_RECEIVER, file=table.name)
        return names.index(fold(RECEIVER))

    def find(self, rows: RowPositions, code: pa.Array, receiver: pa.Array) -> NDArray[np.bool_]:
        """Return which of n rows are to be counted in other cells: bool[n].

        ``code``, ``receiver``: those of the row's own cell, and of the other one. Raises InputError
        for a cell that has such a row already.
        """
        texts = pc.fill_null(pc.utf8_trim_whitespace(as_text(receiver)), "")
        merged = pc.not_equal(texts, "").to_numpy(zero_copy_only=False)
        file = rows.table.name if self._in_files else ""
        codes = as_text(code.filter(pa.array(merged))).to_pylist()
        for at, one in zip(np.flatnonzero(merged).tolist(), codes, strict=True):
            if (file, one) in self._seen:
                raise rows.error(at, MERGED_TWICE)
            self._seen.add((file, one))
        return np.asarray(merged, np.bool_)


class OneTable:
    """Headers of all tables of a call, and whether they are one table of one layout.

    Several files are one table if the layout is published in sheets and all of them have the
    same header, which carries the table's id. That no cell is in two of them is checked with the
    rows: readers refuse it unless counts are to be added up.
    """

    def __init__(self) -> None:
        self._header: tuple[tuple[str, ...], ...] | None = None
        self._values: list[int] = []
        self._layout: Preset | None = None

    def add(self, table: InputTable, values: Sequence[int]) -> None:
        """Record the header of another table.

        Parameters
        ----------
        table : InputTable
        values : sequence of int
            Positions of the columns of counts.
        """
        columns, labels = tuple(table.columns), tuple(getattr(table, "labels", ()))
        if self._header is None:
            self._header, self._values = (columns, labels), [*values]
            self._layout = _find_layout(columns, labels, values)
        elif self._layout is not None:
            same = (columns, labels) == self._header and [*values] == self._values
            sheets = self._layout.sheets
            # Two tables of one layout may hold the same people, so only sheets of one table keep
            # the bound.
            if not (same and sheets and match(sheets, columns)):
                self._layout = None

    def bound(self) -> ContributionBound | None:
        """Return the bound that the layout states; None unless all tables are one of its tables."""
        layout = self._layout
        if layout is None or layout.contribution is None:
            return None
        return ContributionBound(layout.contribution, "layout", f"{layout.name} ({layout.title})")


def _find_layout(
    columns: Sequence[str], labels: Sequence[str], values: Sequence[int]
) -> Preset | None:
    """Find the one layout with such a header that states a contribution for these counts."""
    layout = find_layout(columns)
    if len(values) != 1 or layout is None or layout.contribution is None:
        return None
    (value,) = values
    titles = {columns[value].strip(), labels[value].strip() if labels else ""} - {""}
    names = [*columns, *(label.strip() for label in labels)]
    counted = {name.strip() for name in match(str(layout.options["value"]), names)}
    return layout if titles & counted else None


TOO_MANY = Rule(
    "parts-too-many",
    f"The column has more than {MAX_PARTS:,} texts, and by this table's layout it distinguishes "
    f"the countries of a cell; give the table as it was published.",
)


def find_parts(table: InputTable) -> list[int]:
    """Find the column that distinguishes rows of one cell, by the table's header.

    Returns its position; an empty list if no packaged layout has such a column, or several fit.
    """
    layout = find_layout(table.columns)
    if layout is None or not layout.parts:
        return []
    matches = match(layout.parts, table.columns)
    return [[*table.columns].index(matches[0])] if len(matches) == 1 else []


class PartNumbers:
    """Numbers of parts, in the order in which they first occur."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, rows: RowPositions, column: pa.Array) -> NDArray[np.int64]:
        """Return the numbers int64[n] of the parts of n rows, below ``MAX_PARTS``.

        Case, width and blanks of a name are ignored; a missing name counts as a name. InputError if
        the column has more parts, or is not a text.
        """
        with rows.named():
            plain = as_text(column)
        coded = pc.fill_null(plain, "").dictionary_encode()
        names = map(fold, coded.dictionary.to_pylist())
        numbers_of_names = [self._numbers.setdefault(name, len(self._numbers)) for name in names]
        # Numbers of parts share 64 bits with the keys of cells.
        if len(self._numbers) > MAX_PARTS:
            raise InputError(TOO_MANY, file=rows.table.name)
        numbers = np.array(numbers_of_names, np.int64)[coded.indices.to_numpy()]
        return np.asarray(numbers, np.int64)
