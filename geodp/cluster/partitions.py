"""Partitions: the files of one confidential table, each read by a separate task."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from geodp.advice import takes
from geodp.errors import CodeError, InputError, UsageError
from geodp.grid.grid import Grid
from geodp.grid.tree import overlaps
from geodp.io.read.counting.points import PointRows
from geodp.io.read.points import Points
from geodp.io.read.reader import find_grid
from geodp.io.read.rows.columns import batches, find_column, open_tables
from geodp.io.read.rows.input_files import FilePath, list_paths
from geodp.io.read.rows.persons import Records, number_persons, partition_records
from geodp.io.read.rows.survey import Survey
from geodp.io.read.table import Table, read_table
from geodp.kernels.noise import LEVELS
from geodp.mechanisms.base import Mechanism
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.central.topdown import RefinementNoise, RefinementRun, TopDown
from geodp.mechanisms.learned import Reliability, Residuals
from geodp.mechanisms.trees.descent import Descent
from geodp.mechanisms.trees.informed import Informed, Learned, informed_of, learn_level
from geodp.mechanisms.trees.layer import Held, Layer, Roots, Seen, Stage, Subtrees
from geodp.mechanisms.trees.traversal import OpenNodes, PassRecords, Traversal
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.draws import Draws
from geodp.table.counts import Cells, CountTable
from geodp.table.prior import Prior
from geodp.table.reading import Reading
from geodp.typing import FloatArray, IntArray, KeyArray, KeyedCounts


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


MAX_ROOTS = 1 << 17
"""Maximal number of nodes of a cut: so many that on clustered maps no node alone keeps one of a
hundred workers longer than the others; ``python -m bench cluster_cut``."""


@dataclass(frozen=True)
class TreePartition(ABC):
    """The cut of a method's tree on a grid, and the refinement of its two parts.

    Attributes
    ----------
    grid : Grid
    event : Measurement
    method : Mechanism
    """

    grid: Grid
    event: Measurement
    method: Mechanism

    def declare(self) -> Draws:
        """Declare all draws of the release, in any part of the tree."""
        return self.method.declare(self.grid, self.event)

    @property
    @abstractmethod
    def stride(self) -> int:
        """Number of keys that each root of a subtree covers."""

    @property
    def two_passes(self) -> bool:
        """Whether the top waits for estimates of the roots from the subtrees."""
        return False

    @property
    def learns(self) -> range:
        """Levels for which all subtrees contribute statistics before any of them proceeds."""
        return range(0)

    @abstractmethod
    def above(self, totals: Cells, key: NoiseKey) -> Roots:
        """Return the roots, from totals of the cut's nodes, keyed by the first key of each."""

    @abstractmethod
    def below(self, cells: Cells, roots: Roots, key: NoiseKey) -> Subtrees:
        """Return some subtrees, from their cells; other cells are ignored."""

    def improve(
        self,
        totals: Cells,
        key: NoiseKey,
        z: FloatArray,
        variance: FloatArray,
    ) -> KeyedCounts:
        """Return the roots above 0 after the second pass, from the estimates of the subtrees."""
        raise NotImplementedError

    def finish(self, subtrees: Subtrees, count: IntArray) -> KeyedCounts:
        """Return the released cells of some subtrees, from the final counts of their roots."""
        return subtrees.cells

    def nodes(self) -> KeyArray:
        """Return the cut's nodes that contain a cell of the public domain: uint64[n]."""
        # Public: the nodes depend on the domain only.
        every = np.arange(prod(self.grid.order.radices) // self.stride, dtype=np.uint64)
        return every[overlaps(self.grid, every, self.stride)]


@dataclass(frozen=True)
class PyramidPartition(TreePartition):
    """Cut of the pyramid, at its finest level with at most ``MAX_ROOTS`` nodes."""

    method: Pyramid

    @property
    def level(self) -> int:
        """Level of the cut in the chain."""
        strides = self.descent.strides
        return max(i for i, s in enumerate(strides) if strides[0] // s <= MAX_ROOTS)

    @property
    def stride(self) -> int:
        """Number of keys that each root of a subtree covers."""
        return self.descent.strides[self.level]

    @property
    def descent(self) -> Descent:
        """Levels and noise of the method."""
        return self.method.descent(self.grid, self.event)

    @property
    def two_passes(self) -> bool:
        """Whether the method has two passes."""
        return self.method.passes == 2

    def above(self, totals: Cells, key: NoiseKey) -> Roots:
        """Run the first pass down to the cut."""
        traversal = Traversal.of(totals, self.descent, key)
        front, _ = traversal.roots(np.zeros(1, np.uint64))
        cut, _ = traversal.open(front, self.level)
        return Roots(cut.prefix, cut.count, cut.z, cut.variance)

    def below(self, cells: Cells, roots: Roots, key: NoiseKey) -> Subtrees:
        """Run the first pass below the cut, and improve the estimates up to the roots."""
        traversal, none = Traversal.of(cells, self.descent, key), PassRecords([], 0)
        # Copies, as Dask may run a task again with the same arguments.
        z, variance = roots.z.copy(), roots.variance.copy()
        front = OpenNodes(self.level, roots.prefix, roots.count, z, variance)
        if not self.two_passes:
            cells_below, _ = traversal.cells(front, self.descent.last)
            return Subtrees(roots, cells_below, none)
        records, _ = traversal.measure(front, self.descent.last)
        better = replace(roots, z=front.z, variance=front.variance)
        return Subtrees(better, (np.empty(0, np.uint64), np.empty(0, np.int64)), records)

    def improve(
        self,
        totals: Cells,
        key: NoiseKey,
        z: FloatArray,
        variance: FloatArray,
    ) -> KeyedCounts:
        """Repeat the first pass, with improved estimates of the roots, and run the second."""
        traversal = Traversal.of(totals, self.descent, key)
        front, uniform = traversal.roots(np.zeros(1, np.uint64))
        cut, _ = traversal.open(front, self.level)
        count = traversal.final_counts(front, uniform, replace(cut, z=z, variance=variance))
        return cut.prefix[count > 0], count[count > 0]

    def finish(self, subtrees: Subtrees, count: IntArray) -> KeyedCounts:
        """Run the second pass below the cut."""
        if not self.two_passes:
            return subtrees.cells
        roots = subtrees.roots
        empty = Cells(self.grid, np.empty(0, np.uint64), np.empty(0, np.int64))
        front = OpenNodes(self.level, roots.prefix, roots.count, roots.z, roots.variance)
        traversal = Traversal.of(empty, self.descent, NoiseKey(bytes(32)))
        assert isinstance(subtrees.records, PassRecords)
        # A copy, as the task may run again.
        records = PassRecords([*subtrees.records.pieces], subtrees.records.opened)
        return traversal.share(front, self.descent.last, count, records)


@dataclass(frozen=True)
class InformedPartition(PyramidPartition):
    """Cut of the pyramid with a prior, whose reliability is learned from all subtrees together.

    Attributes
    ----------
    prior : Prior
    """

    prior: Prior

    @property
    def learns(self) -> range:
        """All levels below the cut."""
        return range(self.level + 1, self.descent.last + 1)

    def above(self, totals: Cells, key: NoiseKey) -> Roots:
        """Run the first pass down to the cut."""
        stage, _ = self._passes(totals, key).descend(self.level)
        z = stage.layers[-1].z
        variances = np.full(z.size, self.descent.variances[self.level])
        return Roots(stage.layers[-1].prefix, stage.count, z, variances)

    def below(self, cells: Cells, roots: Roots, key: NoiseKey) -> Subtrees:
        """Return the roots only, to which :meth:`open` adds one level after another."""
        stage = Stage(self.level, (Layer.of_open(roots.prefix, roots.z),), roots.count, ())
        return self._subtrees(self._passes(cells, key), roots, stage)

    def look(self, cells: Cells, subtrees: Subtrees, key: NoiseKey) -> Seen:
        """Return statistics of the predictions of the level below subtrees."""
        stage = _stage_of(subtrees)
        layer = stage.below(self.descent)
        residuals = self._passes(cells, key).gather(stage.level + 1, layer)
        return Seen(layer.above.size * layer.fanout, residuals)

    def learn(self, level: int, seen: Sequence[Seen]) -> Learned:
        """Learn the reliability of the prior on a level, from all subtrees."""
        residuals = sum((one.residuals for one in seen), start=Residuals.none())
        reliability = learn_level(self.descent, level, residuals)
        nodes = sum(one.nodes for one in seen)
        return Learned(self.descent.strides[level], nodes, reliability, residuals)

    def learn_above(self, totals: Cells, key: NoiseKey) -> tuple[Learned, ...]:
        """Return the reliabilities learned down to the cut."""
        return self._passes(totals, key).descend(self.level)[1]

    def open(
        self, cells: Cells, subtrees: Subtrees, reliability: Reliability | None, key: NoiseKey
    ) -> Subtrees:
        """Return the subtrees with one more level."""
        stage, passes = _stage_of(subtrees), self._passes(cells, key)
        stage = passes.open(stage, stage.below(self.descent), reliability)
        return self._subtrees(passes, subtrees.roots, stage)

    def improve(
        self,
        totals: Cells,
        key: NoiseKey,
        z: FloatArray,
        variance: FloatArray,
    ) -> KeyedCounts:
        """Repeat the first pass, with improved estimates of the roots, and run the second."""
        passes = self._passes(totals, key)
        stage, _ = passes.descend(self.level)
        # Estimates improved by the subtrees replace those of the first pass.
        stage.layers[-1].z = z
        below = variance if self.level < self.descent.last else None
        count = passes.share(stage, passes.improve(stage, below), passes.final_counts(stage))
        return stage.layers[-1].prefix[count > 0], count[count > 0]

    def finish(self, subtrees: Subtrees, count: IntArray) -> KeyedCounts:
        """Run the second pass below the cut."""
        if not self.two_passes:
            return subtrees.cells
        empty = Cells(self.grid, np.empty(0, np.uint64), np.empty(0, np.int64))
        passes, stage = self._passes(empty, NoiseKey(bytes(32))), _stage_of(subtrees)
        assert isinstance(subtrees.records, Held)
        count = passes.share(stage, [*subtrees.records.variances], count)
        return stage.layers[-1].prefix[count > 0], count[count > 0]

    def _passes(self, cells: Cells, key: NoiseKey) -> Informed:
        return informed_of(cells, self.descent, key, self.prior, 1)

    def _subtrees(self, passes: Informed, roots: Roots, stage: Stage) -> Subtrees:
        """Return the subtrees.

        Once all levels are open, their roots' estimates are improved from below.
        """
        none = np.empty(0, np.uint64), np.empty(0, np.int64)
        if stage.level < self.descent.last:
            return Subtrees(roots, none, Held(stage))
        if not self.two_passes:
            some = stage.count > 0
            return Subtrees(roots, (stage.layers[-1].prefix[some], stage.count[some]), Held(stage))
        stage = stage.copy()  # a task may run again
        variances = passes.improve(stage)
        root_variance = np.broadcast_to(variances[0], roots.z.shape)
        better = replace(roots, z=stage.layers[0].z, variance=root_variance)
        return Subtrees(better, none, Held(stage, tuple(variances)))


def _stage_of(subtrees: Subtrees) -> Stage:
    assert isinstance(subtrees.records, Held)
    return subtrees.records.stage


@dataclass(frozen=True)
class TopDownPartition(TreePartition):
    """Cut of the paper's method, at its lowest level with at most ``MAX_ROOTS`` nodes."""

    @property
    def level(self) -> int:
        """Level of the cut: a multiple of four above the cells, where blocks of noise
        start, or the root.
        """
        too_many = max(self.grid.bits - MAX_ROOTS.bit_length() + 1, 0)
        return max(self.grid.bits + -too_many // LEVELS * LEVELS, 0)

    @property
    def stride(self) -> int:
        """Number of keys that each root of a subtree covers."""
        return 1 << (self.grid.bits - self.level)

    def above(self, totals: Cells, key: NoiseKey) -> Roots:
        """Return the refined nodes of the cut."""
        noise = RefinementNoise.of(self.event, key)
        tree = RefinementRun(totals, noise.detail)
        (prefix, total), _ = tree.below(tree.root(noise), 0, self.level)
        return Roots.of_counts(prefix.view(np.uint64), total)

    def below(self, cells: Cells, roots: Roots, key: NoiseKey) -> Subtrees:
        """Return the refined cells."""
        tree = RefinementRun(cells, RefinementNoise.of(self.event, key).detail)
        nodes = roots.prefix.astype(np.int64), roots.count
        (prefix, count), _ = tree.below(nodes, self.level, self.grid.bits)
        return Subtrees(roots, (prefix.view(np.uint64), count), PassRecords([], 0))


def partition_of(
    method: Mechanism, grid: Grid, event: Measurement, prior: Prior | None = None
) -> TreePartition:
    """Return the cut of a method, with a prior if there is one; UsageError if it has none."""
    if prior is not None:
        if not isinstance(method, Pyramid):
            raise UsageError(
                f"{method.name} takes no prior; pyramid does.", code="prior-needs-pyramid"
            )
        return InformedPartition(grid, event, method, prior)
    if isinstance(method, Pyramid):
        return PyramidPartition(grid, event, method)
    if isinstance(method, TopDown):
        return TopDownPartition(grid, event, method)
    raise UsageError(
        f"Partitions are released with pyramid or topdown, not with {method.name}.",
        code="partitions-need-tree",
    )
