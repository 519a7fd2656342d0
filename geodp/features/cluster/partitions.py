"""Partitions: the files of one confidential table, each read by a task of its own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from geodp.errors import CodeError, InputError, UsageError
from geodp.grid.grid import Grid
from geodp.io.read.points import Points
from geodp.io.read.rows.columns import batches, find_column, open_tables
from geodp.io.read.rows.input_files import FilePath, list_paths
from geodp.io.read.rows.persons import Records, number_persons, partition_records
from geodp.io.read.rows.survey import Survey
from geodp.io.read.table import read_table
from geodp.privacy.assumption import ContributionBound
from geodp.table.counts import CountTable
from geodp.table.reading import Reading


@dataclass(frozen=True, eq=False)
class Partitions:
    """Files that together are one table; every worker must see them under the same paths.

    Attributes
    ----------
    grid : Grid
        Public.
    paths : tuple of str
    stamps : tuple
        Size and time of change of every file, so that a task that runs again reads the same.
    reading : mapping
        Options of :func:`geodp.read_table` or :func:`geodp.read_points`; for files of keys, the
        names of their columns.
    kind : {"tables", "keys", "points"}
        What the files hold: tables of cells, keys of the grid, or records.
    repeated : bool
        Whether a cell may be there several times; its counts are then summed.
    """

    grid: Grid
    paths: tuple[str, ...]
    stamps: tuple[tuple[int, int], ...]
    reading: Mapping[str, Any]
    kind: Literal["tables", "keys", "points"]
    repeated: bool

    @classmethod
    def of_tables(
        cls, paths: FilePath | Sequence[FilePath], *, grid: str | Grid, **options: Any
    ) -> Self:
        """Tables of cells and counts, by code or coordinates.

        Parameters
        ----------
        options
            Of :func:`geodp.read_table`: ``value``, ``code``, ``x``, ``y``, ``duplicates`` ...
        """
        public = Grid.mesh(grid) if isinstance(grid, str) else grid
        repeated = options.get("duplicates") == "sum"
        return cls(public, *_stamp_of(paths), options, kind="tables", repeated=repeated)

    @classmethod
    def of_points(
        cls, paths: FilePath | Sequence[FilePath], *, grid: str | Grid, **options: Any
    ) -> Self:
        """Describe records with coordinates or geometries, whose persons may be in several files.

        Parameters
        ----------
        options
            Of :func:`geodp.read_points`: ``x``, ``y``, ``person``, ``cells``, ``per_cell`` ...
            The first cells of a person are kept, in the order of the paths.

        Raises
        ------
        UsageError
            A sample of each person's cells, or bounds that are none.
        """
        public = Grid.mesh(grid) if isinstance(grid, str) else grid
        if options.get("truncation", "first") != "first":
            raise UsageError(
                "A cluster keeps the first cells of a person: a sample would be another where a "
                "task runs again, and one that a kept key draws needs all records in one process. "
                'Choose --truncation first (truncation="first").',
                code="cluster-truncates-first",
            )
        # Reading nothing refuses options that make no sense.
        Points(grid=public, **options).truncate(np.empty(0, np.int64), np.empty(0, np.uint64))
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
        """Parquet files of keys of the grid's order (``grid.encode``) and counts.

        A cell may be there several times; its counts are summed.
        """
        public = Grid.mesh(grid) if isinstance(grid, str) else grid
        columns = {"key": key, "count": count}
        return cls(public, *_stamp_of(paths), columns, kind="keys", repeated=True)

    def __repr__(self) -> str:
        return f"Partitions({len(self.paths)} files)"

    @property
    def empty(self) -> CountTable:
        """A table without cells, with the grid and what bounds a person's contribution."""
        bound = None
        if self.by_person:
            bound = ContributionBound(self._points.cells * self._points.per_cell, "geodp")
        key, count = np.empty(0, np.uint64), np.empty(0, np.int64)
        return CountTable.of_cells(self.grid, key, count, bound=bound)

    @property
    def by_person(self) -> bool:
        """Whether what a person adds is bounded, whichever files the records are in."""
        return self.kind == "points" and self._points.person is not None

    @property
    def _points(self) -> Points:
        return Points(grid=self.grid, **self.reading)

    def read(self, number: int) -> CountTable:
        """Read the table of one file.

        Raises InputError for data that must not be used, or a file that has changed.
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
        """Read the records of one file, parted by a hash of the person; raises as :meth:`read`."""
        self._require_unchanged(number)
        survey = Survey()
        found = self._points.list_records(self.paths[number], survey)
        parted = partition_records(found, weights, parts)
        self._require_unchanged(number)
        return parted, survey.reading()

    def bound_persons(
        self, files: Sequence[Records]
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Keep what is allowed of persons, of all of their records in order: keys and counts."""
        return self._points.truncate(*number_persons(files))

    def read_all(self) -> CountTable:
        """Read the table of all files in one process; for files of tables only.

        Raises InputError as :func:`geodp.read_table` does, for a cell that two files have too.
        """
        return read_table(self.paths, grid=self.grid, **self.reading)

    def _require_unchanged(self, number: int) -> None:
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
        found = os.stat(path)
    except OSError as error:
        raise InputError(
            f"The file cannot be read ({error.strerror}).", file=path, code="file-unreadable"
        ) from None
    return found.st_size, found.st_mtime_ns
