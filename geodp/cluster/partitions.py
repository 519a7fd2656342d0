"""Partitions: the files of one confidential table, each read by a separate task."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from geodp.advice import takes
from geodp.errors import CodeError, InputError, UsageError
from geodp.grid.grid import Grid
from geodp.io.read.counting.points import PointRows
from geodp.io.read.points import Points
from geodp.io.read.reader import find_grid
from geodp.io.read.rows.columns import batches, find_column, open_tables
from geodp.io.read.rows.input_files import FilePath, list_paths
from geodp.io.read.rows.persons import Records, number_persons, partition_records
from geodp.io.read.rows.survey import Survey
from geodp.io.read.table import Table, read_table
from geodp.privacy.assumption import ContributionBound
from geodp.table.counts import CountTable
from geodp.table.reading import Reading


@dataclass(frozen=True, eq=False)
class Partitions:
    """Files that together are one table; every worker must see them under the same paths.

    Attributes
    ----------
    grid : Grid
        Public grid.
    paths : tuple of str
    stamps : tuple
        Size and modification time of every file, so that a repeated task reads the same data.
    reading : mapping
        Options of :func:`geodp.read_table` or :func:`geodp.read_points`; for files of keys, the
        names of their columns.
    kind : {"tables", "keys", "points"}
        Content of the files: tables of cells, keys of the grid, or records.
    repeated : bool
        Whether a cell may occur several times; its counts are then summed.
    """

    grid: Grid
    paths: tuple[str, ...]
    stamps: tuple[tuple[int, int], ...]
    reading: Mapping[str, Any]
    kind: Literal["tables", "keys", "points"]
    repeated: bool

    @classmethod
    @takes(Table, without=("secret",))
    def of_tables(
        cls, paths: FilePath | Sequence[FilePath], *, grid: str | Grid, **options: Any
    ) -> Self:
        """Describe files that are tables of cells and counts, by code or coordinates.

        Parameters
        ----------
        paths : path or sequence of paths
        grid : str or Grid
            Public grid; a string names a code system.
        """
        repeated = options.get("duplicates") == "sum"
        return cls(find_grid(grid), *_stamp_of(paths), options, kind="tables", repeated=repeated)

    @classmethod
    @takes(Points, without=("secret",))
    def of_points(
        cls, paths: FilePath | Sequence[FilePath], *, grid: str | Grid, **options: Any
    ) -> Self:
        """Describe files of records with coordinates or geometries.

        A person may be in several files: the first cells of a person are used, in the order of the
        paths.

        Parameters
        ----------
        paths : path or sequence of paths
        grid : str or Grid
            Public grid; a string names a code system.

        Raises
        ------
        UsageError
            A sample of each person's cells is requested, or bounds are invalid.
        """
        public = find_grid(grid)
        if options.get("truncation", "first") != "first":
            raise UsageError(
                "A cluster uses the first cells of a person: a sample would differ when a task "
                "runs again, and one that a stored key draws needs all records in one process. "
                'Choose --truncation first (truncation="first").',
                code="cluster-truncates-first",
            )
        # Reading an empty table raises the errors of invalid options before any file is opened.
        PointRows(Points.of(public, **options)).truncate(
            np.empty(0, np.int64), np.empty(0, np.uint64)
        )
        return cls(public, *_stamp_of(paths), options, kind="points", repeated=True)

    @classmethod
    def of_keys(
        cls,
        paths: FilePath | Sequence[FilePath],
        *,
        grid: str | Grid,
        key: str = "key",
        count: str = "count",
    ) -> Self:
        """Describe Parquet files of keys of the grid's order (``grid.encode``) and counts.

        A cell may occur several times; its counts are summed.
        """
        columns = {"key": key, "count": count}
        return cls(find_grid(grid), *_stamp_of(paths), columns, kind="keys", repeated=True)

    def __repr__(self) -> str:
        return f"Partitions({len(self.paths)} files)"

    @property
    def empty(self) -> CountTable:
        """A table without cells, with the grid and the bound of a person's contribution."""
        bound = None
        if self.by_person:
            # geodp enforces this bound itself, so the operator need not declare it.
            bound = ContributionBound(self._points.cells * self._points.per_cell, "geodp")
        key, count = np.empty(0, np.uint64), np.empty(0, np.int64)
        return CountTable.of_cells(self.grid, key, count, bound=bound)

    @property
    def by_person(self) -> bool:
        """Whether a person's contribution is bounded across all files."""
        return self.kind == "points" and self._points.person is not None

    @property
    def _points(self) -> Points:
        return Points.of(self.grid, **self.reading)

    def read(self, number: int) -> CountTable:
        """Read the table of one file.

        Raises InputError if the data must not be used, or the file has changed.
        """
        path = self.paths[number]
        self._require_unchanged(number)
        if self.kind == "tables":
            table = read_table(path, grid=self.grid, **self.reading)
        elif self.kind == "points":
            table = self._points.read(path)
        else:
            table = self._keys(path)
        self._require_unchanged(number)
        return table

    def read_persons(
        self, number: int, weights: NDArray[np.uint64], parts: int
    ) -> tuple[list[Records], Reading]:
        """Read the records of one file, divided by a hash of the person; raises as :meth:`read`."""
        self._require_unchanged(number)
        survey = Survey()
        records = PointRows(self._points).list_records(self.paths[number], survey)
        parted = partition_records(records, weights, parts)
        self._require_unchanged(number)
        return parted, survey.reading()

    def bound_persons(
        self, files: Sequence[Records]
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Bound the contribution of persons, from all of their records: keys and counts."""
        return PointRows(self._points).truncate(*number_persons(files))

    def read_all(self) -> CountTable:
        """Read the table of all files in one process; for files of tables only.

        Raises InputError as :func:`geodp.read_table` does, also for a cell in two files.
        """
        return read_table(self.paths, grid=self.grid, **self.reading)

    def _require_unchanged(self, number: int) -> None:
        # A task may run again on another worker: after a change, the release would mix two states
        # of the data.
        if _stamp(self.paths[number]) != self.stamps[number]:
            raise InputError(
                "The file has changed since the run began.",
                file=self.paths[number],
                code="file-changed",
            )

    def _keys(self, path: str) -> CountTable:
        names = [self.reading["key"], self.reading["count"]]
        keys, counts = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
        survey = Survey()
        for table in open_tables(path):
            chosen = [find_column(table, name, names) for name in names]
            for rows, arrays in batches(table, chosen, survey=survey):
                if any(array.null_count for array in arrays):
                    raise InputError(
                        "A key or a count is missing.", file=path, code="key-or-count-missing"
                    )
                key, count = (array.to_numpy(zero_copy_only=False) for array in arrays)
                with rows.named():
                    part = CountTable.from_keys(self.grid, key, count)
                keys.append(part.key)
                counts.append(part.count)
                survey.place(table.name, np.asarray(count, np.int64), None)
        key, count = np.concatenate(keys), np.concatenate(counts)
        try:
            return CountTable.from_keys(self.grid, key, count, reading=survey.reading())
        # An overflow of the sum over the file belongs to no row.
        except CodeError:
            raise InputError(
                "The counts of a cell add up to 2**60 or more.",
                file=path,
                code="cell-sum-too-large",
            ) from None


def _stamp_of(
    paths: FilePath | Sequence[FilePath],
) -> tuple[tuple[str, ...], tuple[tuple[int, int], ...]]:
    names = tuple(os.path.abspath(path) for path in list_paths(paths))
    return names, tuple(_stamp(name) for name in names)


def _stamp(path: str) -> tuple[int, int]:
    try:
        info = os.stat(path)
    except OSError as error:
        raise InputError(
            f"The file cannot be read ({error.strerror}).", file=path, code="file-unreadable"
        ) from None
    return info.st_size, info.st_mtime_ns
