"""Counts collected over files, with policies for rows outside the domain and for duplicates."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from geodp.errors import InputError, Rule, UsageError
from geodp.grid.grid import Grid
from geodp.grid.order import bits_for
from geodp.io.memory import MIN_MEMORY, bytes_of
from geodp.io.numbers import numbers_of
from geodp.io.read.rows.arrow import numbers_of_digits
from geodp.io.read.rows.columns import InputTable, RowPositions
from geodp.io.read.rows.input_files import FilePath
from geodp.io.read.rows.scratch import Runs
from geodp.io.read.rows.survey import Survey
from geodp.kernels import records
from geodp.privacy.assumption import ContributionBound
from geodp.table.counts import MAX_PEOPLE, CountTable, coalesce, exact_sum

Outside: TypeAlias = Literal["error", "crop", "drop"]
"""Policy for a row whose cell is outside the domain: "crop" drops it outside the grid's extent, and
refuses it inside the extent, where a mask, regions or a list of units can exclude it."""

ROUNDING_STATEMENTS = {
    "nearest": (
        "that modelled counts of fractions were rounded to the nearest whole number before the "
        "noise: every cell is off by up to 0.5 and sums of many small ones by more, which the "
        "stated errors leave out; the contribution is the number of cells that a person can change"
    ),
    "stochastic": (
        "that modelled counts of fractions were rounded up or down at random before the noise, "
        "with the fraction as the probability: every cell is off by less than 1 and none on "
        "average, which the stated errors leave out; the contribution is the number of cells that "
        "a person can change"
    ),
}
"""Sentences in which a release states the rounding, by its name."""

Duplicates: TypeAlias = Literal["error", "sum"]

MAX_PARTS = 1 << 10
"""Upper bound on the number of parts of cells, such as countries."""

COPIED = Rule(
    "cell-part-repeated",
    "This part of the cell, such as a country, already has a row. By this table's layout a cell "
    "has one row for each part, so this row is a copy; leave it out.",
)
MANY_CELLS = Rule(
    "grid-too-large-for-rows",
    "The grid has too many cells for a table with several rows a cell; give smaller bounds "
    "(--bounds, bounds=).",
)


class Tally:
    """Accumulator of the rows of one table on a grid, over all files.

    Parameters
    ----------
    grid : Grid
    outside : {"error", "crop", "drop"}
        See ``Outside``.
    duplicates : {"error", "sum"}
        Policy for a cell that occurs twice.
    within : bool
        Whether "sum" also applies to a cell that occurs twice in one file.
    other : int64[2], optional
        Row and column of the unit that counts codes missing from the table of units.
    rounding : {"nearest", "stochastic"}, optional
        How fractional counts became whole numbers.
    statements : tuple of str
        Further sentences in which a release states how the counts were made.
    memory, scratch
        See :class:`geodp.io.read.rows.scratch.Runs`.

    Attributes
    ----------
    survey : Survey
        Numbers and facts of the files read.
    """

    def __init__(
        self,
        grid: Grid,
        outside: Outside | None,
        duplicates: Duplicates,
        *,
        within: bool = True,
        other: NDArray[np.int64] | None = None,
        rounding: str | None = None,
        statements: tuple[str, ...] = (),
        memory: int | str | None = None,
        scratch: FilePath | None = None,
    ) -> None:
        self.grid = grid
        self.survey = Survey()
        self._outside, self._other = outside, other
        self._within, self._sums = within, duplicates == "sum"
        rounded = () if rounding is None else (ROUNDING_STATEMENTS[rounding],)
        self._statements = (*rounded, *statements)
        share = bytes_of(memory)
        self._file: Runs | None = None
        # Each file is merged by itself first, so that a repetition inside it is an error while the
        # same cell in another file is added.
        if duplicates == "sum" and not within:
            # Two sorts share the memory: that of the current file and that of all files.
            share = max(share // 2, MIN_MEMORY)
            self._file = Runs(share, scratch, recorded=True)
        self._run_options = share, scratch
        self._all_files = Runs(share, scratch, recorded=duplicates == "error")
        self._parts: Runs | None = None
        self._merged: Runs | None = None
        self._tables: list[InputTable] = []
        self._starts: list[int] = []
        self._next = 0

    def add(
        self,
        rows: RowPositions,
        index: NDArray[np.int64],
        count: NDArray[np.int64],
        sizes: NDArray[np.int64] | None = None,
        parts: NDArray[np.int64] | None = None,
    ) -> None:
        """Add rows: cell indices int64[d, n] and counts int64[n].

        ``sizes`` int64[2, n] holds how many rows each row stands for and how many of these are not
        0, see :meth:`Groups.group`; None means that each row stands for itself. ``parts`` int64[n]
        holds the number of the part of its cell that each row counts, if a cell has a row for each
        part; None if it is unknown.

        Raises InputError for a cell outside the domain, unless such cells are dropped, and for a
        duplicate inside an earlier file, if duplicates in one file are refused.
        """
        rows, key, inside = place(self.grid, rows, index, self._outside, self.survey, count, sizes)
        if self._other is not None:
            in_other = _is_at(self.grid, index, self._other)
            number = np.count_nonzero(in_other) if sizes is None else sizes[0][in_other].sum()
            self.survey.add(rows.table.name, other=int(number))
        count = count if inside is None else count[inside]
        if not self._tables or rows.table is not self._tables[-1]:
            if self._tables and rows.table.name != self._tables[-1].name:
                self._end_file()
            self._tables.append(rows.table)
            self._starts.append(self._next)
        if not key.size:
            return
        # Records count on over all tables, so that the merge can point to the first repetition.
        record = self._starts[-1] + rows.records(key.size)
        self._next = int(record[-1]) + 1
        (self._file or self._all_files).add(key, count, record)
        if parts is not None:
            self._add_parts(key, parts if inside is None else parts[inside], record)

    def merge(self, rows: RowPositions, index: NDArray[np.int64], count: NDArray[np.int64]) -> None:
        """Add rows of cells that are merged into others, which have rows of their own.

        ``index`` and ``count``: as for :meth:`add`, of the other cells. Raises InputError for a
        cell outside the domain, unless such cells are dropped.
        """
        rows, key, inside = place(self.grid, rows, index, self._outside, self.survey, count)
        if self._merged is None:
            self._merged = Runs(MIN_MEMORY, self._run_options[1])
        self._merged.add(key, count if inside is None else count[inside])

    def _add_parts(
        self, key: NDArray[np.uint64], part: NDArray[np.int64], record: NDArray[np.int64]
    ) -> None:
        """Add the parts of cells, each of which may occur once."""
        if self.grid.bits + bits_for(MAX_PARTS) > 64:
            raise UsageError(MANY_CELLS)
        if self._parts is None:
            self._parts = Runs(MIN_MEMORY, self._run_options[1], recorded=True)
        # The part is packed above the bits of the cell, so that one sort finds repeated pairs.
        mixed = key | (part.astype(np.uint64) << np.uint64(self.grid.bits))
        self._parts.add(mixed, np.ones(key.size, np.int64), record)

    def table(self, bound: ContributionBound | None = None) -> CountTable:
        """Return the table of all rows; may be called once.

        ``bound`` is the declared bound on the contribution.

        Raises InputError at the second row of a duplicate that must not be summed.
        """
        self._end_file()
        key, count = self._all_files.arrays()
        # Repetitions are known only once the runs were merged.
        self._check(self._all_files)
        if self._parts is not None:
            for _ in self._parts.blocks():
                pass  # merging detects repeated parts
            self._check(self._parts)
        if self._merged is not None:
            more = self._merged.arrays()
            pairs = zip((key, count), more, strict=True)
            key, count = coalesce(*(np.concatenate(pair) for pair in pairs))
        read = self.survey.reading(self._statements, cells=key.size if self._sums else None)
        return CountTable.of_cells(self.grid, key, count, bound=bound, reading=read)

    def _end_file(self) -> None:
        """Move the sums of one file to those of all files."""
        if self._file is None:
            return
        for key, count in self._file.blocks():
            self._all_files.add(key, count)
        self._check(self._file)
        share, scratch = self._run_options
        self._file = Runs(share, scratch, recorded=True)

    def _check(self, runs: Runs) -> None:
        """Raise InputError at the first record that repeats a key."""
        if runs.again is None:
            return
        # Records are numbered over all tables: the last table that starts before one holds it.
        before, again = (bisect_right(self._starts, record) - 1 for record in runs.again)
        same = self._tables[before].name == self._tables[again].name
        rule = (
            Rule(
                "cell-repeated-in-file",
                "The cell already has a row in this file; a file may list a cell only once.",
            )
            if same
            else Rule(
                "cell-repeated-in-files",
                "The cell already has a row in an earlier file; if the files hold shares of the "
                "same cell, as files of prefectures do, choose --duplicates sum "
                '(duplicates="sum").',
            )
        )
        if self._within:
            rule = Rule(
                "cell-repeated-in-rows",
                "The cell already has a row; if a column distinguishes its rows, such as sex or "
                "hour, name it (--by sex, by=['sex']) or choose one of its values (--where "
                "COLUMN=VALUE, where=); if its counts add up, choose --duplicates sum "
                '(duplicates="sum").',
            )
        if runs is self._parts:
            rule = COPIED
        table = self._tables[again]
        row = table.line(runs.again[1] - self._starts[again])
        raise InputError(rule, file=table.name, row=row)


class Groups:
    """Grouping of rows by code, so that each code is parsed once per batch.

    All batches share the same buffers: allocating new ones takes as long as grouping their rows.
    """

    def __init__(self) -> None:
        self._slot = np.empty(0, np.int32)
        self._lists = np.empty((5, 0), np.int64)

    def group(
        self, rows: RowPositions, column: pa.Array, count: NDArray[np.int64]
    ) -> tuple[RowPositions, pa.Array, NDArray[np.int64], NDArray[np.int64] | None]:
        """Return the first row of each code of a batch, the codes, and the sums of their counts.

        Parameters
        ----------
        rows : RowPositions
        column : integer, dictionary or string[n]
            Codes; texts that are not all digits are not grouped.
        count : int64[n]
            Non-negative counts.

        Returns
        -------
        rows : RowPositions
            The first of each code.
        column : pyarrow.Array
            Its codes.
        count : int64[m]
            The sums of their counts.
        sizes : int64[2, m] or None
            Number of rows of each code, and of those with a count above 0; None if nothing was
            grouped.
        """
        coded = pa.types.is_dictionary(column.type)
        plain = column.indices if coded else column
        unchanged = rows, column, count, None
        # Rows are needed one by one to say which of them is wrong.
        if column.null_count or exact_sum(count) > MAX_PEOPLE:  # both are refused
            return unchanged
        number: NDArray[Any] | None = None
        if pa.types.is_string(plain.type):
            number = numbers_of_digits(plain, as_names=True)
        elif pa.types.is_integer(plain.type) and len(plain):
            number = numbers_of(plain)
        if number is None:
            return unchanged
        slot, (numbers, *outputs) = self._buffers(number.size)
        numbers[:] = number
        groups = records.group(numbers, count, slot, *outputs)
        first, codes_of_groups, total, sizes = (array[:groups].copy() for array in outputs)
        values = codes_of_groups.astype(number.dtype)
        kind = pa.from_numpy_dtype(values.dtype)
        codes = pa.Array.from_buffers(kind, groups, [None, pa.py_buffer(values)])
        if coded:
            codes = pa.DictionaryArray.from_arrays(codes, column.dictionary)
        # The kernel packs both numbers of rows into one int64.
        return rows.at(first), codes, total, np.stack([sizes & (2**32 - 1), sizes >> 32])

    def _buffers(self, n: int) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return a cleared hash table and five lists of length n, for a batch of n rows."""
        # At least twice as many slots as rows keep the chains of the hash table short.
        slots = 1 << (2 * n - 1).bit_length()
        if self._lists.shape[1] < n:
            self._slot, self._lists = np.empty(slots, np.int32), np.empty((5, n), np.int64)
        self._slot[:slots] = 0
        return self._slot[:slots], self._lists[:, :n]


def place(
    grid: Grid,
    rows: RowPositions,
    index: NDArray[np.int64],
    outside: Outside | None,
    survey: Survey,
    count: NDArray[np.int64] | None = None,
    sizes: NDArray[np.int64] | None = None,
) -> tuple[RowPositions, NDArray[np.uint64], NDArray[np.bool_] | None]:
    """Return the rows inside the domain, their keys uint64[n], and a mask of them (None: all).

    The survey notes where rows lie; ``count`` and ``sizes`` are those of :meth:`Tally.add`, and by
    default every row counts one. Raises InputError for a cell outside the domain, unless such cells
    are dropped.
    """
    inside = grid.contains(index)
    count = np.ones(index.shape[1], np.int64) if count is None else count
    if inside.all():
        survey.place(rows.table.name, count, None, sizes)
        return rows, grid.order.encode(index), None
    if outside != "drop":
        refused = grid.in_extent(index) & ~inside if outside == "crop" else ~inside
        if refused.any():
            raise rows.error(int(refused.argmax()), grid.domain.outside_rule)
    reasons = grid.explain_outside(index, inside)
    survey.place(rows.table.name, count, inside, sizes, reasons=reasons)
    return rows.select(inside), grid.order.encode(index[:, inside]), inside


def _is_at(grid: Grid, index: NDArray[np.int64], cell: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which cells int64[d, n] lie at a row and column; for pairs, with either end."""
    row, col = cell
    ends = [
        (index[2 * end] == row) & (index[2 * end + 1] == col) for end, _ in enumerate(grid.places)
    ]
    return np.asarray(np.logical_or.reduce(ends), np.bool_)
