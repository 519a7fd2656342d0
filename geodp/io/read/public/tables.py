"""Public tables: how they are opened, and those of regions and of totals of areas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from geodp.advice import takes
from geodp.errors import CodeError, InputError, Rule, UsageError, require_none
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import CELL, Hierarchy
from geodp.grid.lattice import Lattice, parse_codes
from geodp.grid.mask import Blocks, blocks_of_codes
from geodp.io.opening import texts_of
from geodp.io.read.rows import fields
from geodp.io.read.rows.columns import InputTable, RowPositions, batches, find_column, open_tables
from geodp.io.read.rows.forms.geometry import plain_columns
from geodp.io.read.rows.input_files import FilePath
from geodp.io.read.rows.span import Opening, opening_options
from geodp.table.public_totals import PublicTotals

FLAGS = ("member", "layer", "header-row", "last-row", "encoding", "delimiter")
"""Options that errors about a file may suggest."""

OF_PUBLIC = (
    " --{flag} applies to the inputs: for a public file, write --public-file {name}.{flag}=VALUE "
    "(in Python: {word}= of its reader)."
)


def open_public(path: FilePath, what: str, **opening: Any) -> InputTable:
    """Open the one table of a public file.

    Parameters
    ----------
    path : path
    what : str
        Subject of its rows, for messages: "units".
    **opening
        Passed to :func:`geodp.io.read.rows.columns.open_tables`.

    Raises
    ------
    UsageError
        The file holds several tables.
    InputError
        The file cannot be read, or the tables of the archive differ.
    """
    name = "public-totals" if what == "totals" else what
    try:
        tables = list(open_tables(path, **{**opening, **opening_options(path)}))
    except InputError as error:
        # The error suggests an option that applies to the inputs; that of a public file is spelt
        # otherwise.
        flag = next((one for one in FLAGS if f"--{one}" in error.rule), None)
        if flag is None:
            raise
        rule, file, row = error.rule, error.file, error.row
    else:
        if len(tables) != 1:
            raise UsageError(
                f"The archive holds several tables; name that of the {what} (--public-file "
                f"{name}.member=NAME, member=).",
                code="public-archive-ambiguous",
            )
        return tables[0]
    more = OF_PUBLIC.format(name=name, flag=flag, word=flag.replace("-", "_"))
    raise InputError(rule + more, file=file, row=row)


def texts_without_blanks(column: pa.Array, rule: str) -> NDArray[Any]:
    """Convert a column to trimmed texts; CodeError at the first that is empty."""
    try:
        text = pc.fill_null(pc.utf8_trim_whitespace(column.cast(pa.string())), "")
    except pa.ArrowException:
        raise CodeError(
            0, "the column is neither text nor whole numbers.", code="column-not-text-or-whole"
        ) from None
    require_none(pc.equal(text, "").to_numpy(zero_copy_only=False), rule)
    return texts_of(text)


def read_texts(
    rows: RowPositions, names: Sequence[str], columns: Sequence[pa.Array], rule: str
) -> list[NDArray[Any]]:
    """Return columns of names as texts [n], those of each name; InputError with a rule for a blank.

    Columns beyond the names are left out.
    """
    texts = []
    for name, column in zip(names, columns, strict=False):
        with rows.named(name):
            texts.append(texts_without_blanks(column, rule))
    return texts


def error_at(read: Sequence[RowPositions], position: int, rule: str) -> InputError:
    """Return an InputError at a row of a table, by its place among the rows of all batches."""
    rows = next(one for one in reversed(read) if one.first <= position)
    return rows.error(position - rows.first, rule)


BACKWARDS = Rule(
    "regions-backwards",
    "Columns {finer} and {coarser}: every region of the second holds one of the first only, and "
    "the same ones come again and again. After the cell's code comes the finest level, the "
    "coarsest last; name the columns in this order (--regions-columns, columns=).",
)

MAX_CELLS = 1 << 26
"""Largest number of cells that the codes of a table may stand for."""


@takes(Opening)
def read_hierarchy(
    path: FilePath,
    grid: Grid,
    *,
    source: str,
    columns: Sequence[str] = (),
    placed: bool = False,
    **opening: Any,
) -> Hierarchy:
    """Read an office's regions from a public table with one row for each cell.

    The first column is the cell's code, the others are its regions from the finest level to the
    coarsest: cell, municipality, prefecture. Codes are of the grid's level, or of a coarser one
    (JIS), whose cells then lie in the same regions; if the grid has no code system they have the
    form row_col, as in releases. Cells outside the grid's extent are left out.

    Parameters
    ----------
    path : path
        File with a header: text (plain, gzip, zip), Parquet, or any other format of tables.
    grid : Grid
        Grid of one map.
    source : str
        Description of the table's source, published with every release. By giving it you
        declare that the table is public and was not made from the data.
    columns : sequence of str, optional
        Columns in this order. Default: all of them, in the order of the table, except geometries.

    placed : bool
        Whether the finest regions, each of one cell, stand in the order of their cells, as the
        card of a release of units states.

    Returns
    -------
    Hierarchy
        For :meth:`geodp.grid.grid.Grid.with_hierarchy`; the names of the columns are those of the
        levels.

    Raises
    ------
    UsageError
        The call cannot be carried out, or no cell is inside the grid.
    InputError
        The table must not be used as it is: an unknown code, a repeated cell, a
        blank region, levels in the wrong order; names file and row.
    """
    place = grid.require_map(Rule("regions-need-one-map", "Regions need a grid of one map."))
    table = open_public(path, "regions", **opening)
    plain = plain_columns(table)
    names = [str(name).strip() for name in columns] or [*plain.values()]
    chosen = [find_column(table, name, names) for name in columns] or [*plain]
    levels = names[1:]
    if not levels or len(set(chosen)) < len(names) or len({*levels, "", CELL}) < len(names) + 1:
        raise InputError(
            "A table of regions has a column of cell codes, and one or more columns of regions "
            f"with different names, none of them blank or {CELL!r}.",
            file=table.name,
            row=1,
            code="regions-table-form",
        )
    parts = _Parts(table, place)
    for rows, (code, *regions) in batches(table, chosen):
        with rows.named(table.columns[chosen[0]]):
            texts = texts_without_blanks(
                code, Rule("region-code-missing", "a code is missing: drop the rows without one.")
            )
            parts.add(rows, _blocks(place, texts))
        for level, texts in zip(levels, read_texts(rows, levels, regions, _BLANK), strict=True):
            parts.labels.setdefault(level, []).append(texts)
    return parts.regions(levels, source, placed)


_BLANK = Rule(
    "region-blank", "the region is blank; every cell that is listed lies in one of every level."
)


class _Parts:
    """Collector of the rows of a table, until all are read."""

    def __init__(self, table: InputTable, place: Lattice) -> None:
        self.table, self.place = table, place
        self.labels: dict[str, list[NDArray[Any]]] = {}
        self._rows: list[RowPositions] = []
        self._cells: list[NDArray[np.int64]] = []
        self._row: list[NDArray[np.int64]] = []
        self._read = 0

    def add(self, rows: RowPositions, blocks: Blocks) -> None:
        """Add rectangles of cells, int64[4, n], one for each row, clipped to the extent."""
        # Tables of a country list cells outside a smaller grid; these are clipped, not refused.
        low = np.maximum(blocks[:2], 0)
        size = np.array([[self.place.rows], [self.place.cols]])
        tall, wide = np.maximum(np.minimum(blocks[:2] + blocks[2:], size) - low, 0)
        each = tall * wide
        # Checked before anything is allocated: one coarse code can stand for millions of cells.
        if int(each.sum()) > MAX_CELLS:
            raise UsageError(
                "The regions hold more than 2**26 cells of the grid.", code="regions-too-large"
            )
        block = np.repeat(np.arange(each.size), each)
        within = np.arange(block.size) - np.repeat(np.cumsum(each) - each, each)
        down, right = within // wide[block], within % wide[block]
        self._cells.append(np.stack([low[0][block] + down, low[1][block] + right]))
        self._row.append(self._read + block)
        self._rows.append(rows)
        self._read += each.size

    def regions(self, levels: Sequence[str], source: str, placed: bool) -> Hierarchy:
        """Build the hierarchy from all rows."""
        if not self._read:
            raise InputError(
                "The table of regions has no rows.",
                file=self.table.name,
                code="regions-without-rows",
            )
        row, cells = np.concatenate(self._row), np.concatenate(self._cells, axis=1)
        labels = {name: np.concatenate(self.labels[name])[row] for name in reversed(levels)}
        if not cells.size:
            raise UsageError(
                "The regions hold no cell of the grid; check its level and its bounds.",
                code="regions-hold-no-cell-of-grid",
            )
        try:
            hierarchy = Hierarchy.of_cells(cells, labels, source, placed=placed)
        except CodeError as error:
            rule = Rule(
                "region-cell-repeated",
                "the cell is in the table already, under this code or a coarser one; where it is "
                "divided, keep the region that it is to be counted in.",
            )
            raise error_at(self._rows, int(row[error.position]), rule) from None
        fine, coarse = hierarchy.codes[1:], hierarchy.codes[:-1]
        for i, (few, many) in enumerate(zip(fine, coarse, strict=True)):
            # Two levels with equally many regions but fewer distinct codes on the finer one are
            # swapped.
            if len(few) == len(many) and len({*few}) < len({*many}):
                names = {"finer": hierarchy.levels[i + 1], "coarser": hierarchy.levels[i]}
                raise InputError(BACKWARDS.format(**names), file=self.table.name, row=1)
        return hierarchy


def _blocks(place: Lattice, texts: NDArray[Any]) -> Blocks:
    """Return the rectangles of cells, int64[4, n], of codes."""
    if place.system is None:
        # Nine digits fit into 32 bits; longer numbers cannot be rows or columns.
        numbers = pc.match_substring_regex(pa.array(texts, pa.string()), r"^\d{1,9}_\d{1,9}$")
        rule = Rule("row-col-code", "a code of this grid reads row_col.")
        require_none(~numbers.to_numpy(zero_copy_only=False), rule)
        row, col = parse_codes(place, texts)
    else:
        try:
            row, col = place.parse(
                fields.codes(pa.array(texts, pa.string()), as_text=place.system.zeros)
            )
        except CodeError:
            return _coarser(place, texts)
    return np.stack([row, col, np.ones_like(row), np.ones_like(col)])


def _coarser(place: Lattice, texts: NDArray[Any]) -> Blocks:
    try:
        return blocks_of_codes(place, texts)
    except CodeError as error:
        assert place.system is not None
        rule = Rule(
            "mask-code-unknown",
            f"the code is none of {place.system.name} or of a coarser level of its system.",
        )
        raise CodeError(error.position, rule) from None


TOTAL = "total"


@takes(Opening)
def read_totals(
    path: FilePath,
    grid: Grid,
    *,
    source: str,
    **opening: Any,
) -> PublicTotals:
    """Read totals of areas that are public already: one row for each area, its total last.

    The columns before it hold the area's code on any published level of the grid's code system, or
    on a grid of regions the codes of a region, the coarsest level first, named after the levels.

    Parameters
    ----------
    path : path
        File with a header: text (plain, gzip, zip), Parquet, or any other format of tables.
    grid : Grid
        Grid of one map.
    source : str
        Where the totals were published; every release quotes it.

    Raises
    ------
    UsageError
        The call cannot be carried out.
    InputError
        The table must not be used as it is; names file and row.
    """
    table = open_public(path, "totals", **opening)
    plain = plain_columns(table)
    *names, last = [*plain.values()] or [""]
    # Names and order of the columns are fixed, as a total under a wrong level would go unnoticed.
    if last != TOTAL or not names or names != [*grid.areas.name_codes(len(names))]:
        wanted = ", ".join(grid.areas.name_codes())
        raise InputError(
            f"A table of totals has the columns {wanted} (or the first of them) and {TOTAL}.",
            file=table.name,
            row=1,
            code="totals-columns",
        )
    codes: list[tuple[str, ...]] = []
    counts: list[NDArray[np.int64]] = []
    read: list[RowPositions] = []
    for rows, (*columns, total) in batches(table, [*plain]):
        texts = read_texts(rows, names, columns, Rule("code-missing", "a code is missing."))
        with rows.named(TOTAL):
            counts.append(fields.counts(total))
        codes += zip(*(one.tolist() for one in texts), strict=True)
        # Kept to name the row of an error that shows only when all rows are known.
        read.append(rows)
    total = np.concatenate(counts) if counts else np.empty(0, np.int64)
    try:
        return PublicTotals.of_areas(grid, codes, tuple(names), total, source)
    except CodeError as error:
        raise error_at(read, error.position, error.rule) from None
