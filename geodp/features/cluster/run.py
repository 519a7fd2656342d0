"""Driver of a run: the top of the tree, and the data that passes between the workers' tasks."""

from __future__ import annotations

import secrets
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from geodp.errors import InputError, UsageError
from geodp.features.cluster import tasks
from geodp.features.cluster.partitioned import InformedPartition, TreePartition
from geodp.features.cluster.partitions import Partitions
from geodp.features.cluster.secret import KeyFile, key_file
from geodp.io.read.rows.persons import draw_weights
from geodp.mechanisms.trees.cut import Roots, fill_counts
from geodp.mechanisms.trees.informed import state
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Charge
from geodp.release.charging import charge_event
from geodp.release.identity import digest_stream, release_key
from geodp.release.request import Request
from geodp.table.contribution import require_no_sums
from geodp.table.counts import MAX_PEOPLE, TOO_MANY, Cells, exact_sum
from geodp.table.reading import Reading, join_readings, require_rows
from geodp.table.stated.prior import StatedPrior
from geodp.table.stated.reading import StatedReading
from geodp.table.totals import Relation, Remainder

AT_ONCE = 1 << 23
"""Maximal occupied cells that the driver holds at a time, unless one range has more."""

MAX_CHUNKS = 1 << 10
"""Maximal number of chunks that groups of files are divided into, each a task for the scheduler."""

FEWEST_GROUPS = 4

PERSONS = 64
"""Parts, by a hash of persons, in which contributions are bounded, unless there are many files."""

PARTS = 64
"""Default number of ranges of keys, and of files of a written release."""

Last = Callable[[int], tuple[Any, ...]]
"""Function and further arguments of the final task of every range."""

Progress = Callable[[int, int], object]
"""Callback with the numbers of finished and of all tasks that the driver waits for."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Options:
    """Options of a release on a cluster; see :func:`geodp.cluster.publish`.

    Attributes
    ----------
    parts : int
        Number of ranges of keys, each with the same number of public nodes of the cut.
    key_folder : path, optional
    trust_cluster : bool
    progress : callable, optional
    """

    parts: int = PARTS
    key_folder: str | Path | None = None
    trust_cluster: bool = False
    progress: Progress | None = None

    def __post_init__(self) -> None:
        if isinstance(self.parts, bool) or not isinstance(self.parts, int) or self.parts < 1:
            raise UsageError("parts must be an integer of at least 1.", code="parts-below-1")


@dataclass(eq=False, repr=False)
class Run:
    """One release on a cluster.

    Attributes
    ----------
    client : distributed.Client
    partitions : Partitions
    cut : TreePartition
    request : Request
    options : Options
    public_facts : tuple of str
        Facts for the card, available after the input was read; see :class:`geodp.Release`.
    reading : StatedReading or None
        Description of the reading for the card, available after the input was read.
    prior : StatedPrior or None
        Reliability of a prior for the card, available after the draw.
    """

    client: Any
    partitions: Partitions
    cut: TreePartition
    request: Request
    options: Options
    public_facts: tuple[str, ...] = ()
    reading: StatedReading | None = None
    prior: StatedPrior | None = None
    _token: str = field(default_factory=lambda: secrets.token_hex(4))
    _tasks: weakref.WeakSet[Any] = field(default_factory=weakref.WeakSet)
    _job: Any = None
    _done: int = 0

    def __post_init__(self) -> None:
        nodes = self.cut.nodes()
        self.parts = min(self.options.parts, nodes.size)
        every = prod(self.cut.grid.order.radices) // self.cut.stride
        first = [int(nodes[nodes.size * i // self.parts]) for i in range(1, self.parts)]
        # Ranges have equal numbers of public nodes. Equal numbers of people would balance better,
        # but the end of a file would then reveal something about the data.
        self._bounds = [0, *first, every]
        self._pieces = len(self.partitions.paths)
        if self.partitions.by_person:
            self._pieces = min(max(MAX_CHUNKS // self._pieces, FEWEST_GROUPS), PERSONS)
        rounds = len(self.cut.learns) + (3 if self.cut.two_passes else 2)
        read = len(self.partitions.paths) if self.partitions.by_person else 0
        self._all = self._pieces + read + self.parts * rounds

    def release(
        self, last: Last, ready: Callable[[int], None] | None = None
    ) -> tuple[list[Any], Charge | None]:
        """Return the results of the final task of every range, in key order, and the charge.

        ``ready`` is called with the number of occupied cells before the charge, and may raise.
        Errors of tasks are raised here; no task runs afterwards.
        """
        request, options = self.request, self.options
        try:
            self._job = self._send(0)
            ranges, top, reading = self._ranges()
            sizes = self._results(self._each(tasks.size, ranges))
            self.public_facts = (
                *require_rows(top.key.size, reading, allow_empty=request.allow_empty),
                *require_no_sums(self.cut.grid, self.cut.event, _Ranges(self, ranges)),
            )
            self.reading = reading.public
            if ready is not None:
                ready(sum(sizes))
            # Workers get a key that can draw only what the release declares.
            draws = self.cut.declare()
            release_key_, fingerprint = release_key(
                request.key, draws, lambda: self._digest(ranges, sizes)
            )
            try:
                # Files of a range are written where it is drawn, and others may read them.
                charge = charge_event(
                    request.ledger,
                    request.dataset,
                    self.cut.event,
                    fingerprint,
                    records=request.records,
                )
                with key_file(release_key_, options.key_folder) as secret:
                    return self._refine(ranges, top, release_key_, secret, last), charge
            finally:
                release_key_.forget()
        except tasks.RepeatedCellError:
            # Read again as one table: its error names file and row of the repeated cell.
            self._submit(tasks.read_all, 0, self._job).result()
            raise
        finally:
            self._drop()

    def results(self, function: Callable[..., Any], rows: list[tuple[Any, ...]]) -> list[Any]:
        """Return the results of a task for each row of arguments; no task runs afterwards."""
        try:
            self._job = self._send(1)
            self._all += len(rows)
            submitted = [self._submit(function, i, self._job, *row) for i, row in enumerate(rows)]
            return self._results(submitted)
        finally:
            self._drop()

    def _drop(self) -> None:
        """Release every task, which ends those that still run."""
        for task in list(self._tasks):  # otherwise an error's traceback would keep them alive
            task.release()

    def _results(self, submitted: list[Any]) -> list[Any]:
        """Return the results of tasks, each of which is reported as progress."""
        if (progress := self.options.progress) is not None:
            from distributed import as_completed

            for _ in as_completed(submitted):
                self._done += 1
                progress(self._done, self._all)
        return list(self.client.gather(submitted))

    def _submit(self, function: Callable[..., Any], number: int | str, *arguments: Any) -> Any:
        # The token separates runs on one scheduler, which would return an earlier result for an
        # equal key.
        name = f"geodp-{function.__name__}-{self._token}-{number}"
        task = self.client.submit(function, *arguments, key=name, pure=False)
        self._tasks.add(task)
        return task

    def _send(self, number: int) -> Any:
        """Return a task whose result is the input of all tasks; it may contain a large prior."""
        import dask

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            return self._submit(tasks.same, number, tasks.Job(self.partitions, self.cut))

    def _each(self, function: Callable[..., Any], *columns: Any, prefix: str = "") -> list[Any]:
        """Return a task for each entry of some lists.

        ``prefix``: distinguishes calls of one function.
        """
        rows = enumerate(zip(*columns, strict=True))
        return [self._submit(function, f"{prefix}{number}", *row) for number, row in rows]

    def _ranges(self) -> tuple[list[Any], Cells, Reading]:
        """Return tasks for the cells of every range, totals of the cut's nodes, and the reading."""
        files, read = self._persons() if self.partitions.by_person else (self._files(), None)
        sums = self._results(self._each(tasks.sum_nodes, [self._job] * len(files), files))
        if sum(exact_sum(piece.count) for piece in sums) > MAX_PEOPLE:
            raise InputError(TOO_MANY)
        totals = tasks.join(sums)
        stride = np.uint64(self.cut.stride)
        starts = np.array(self._bounds[1:-1], np.uint64) * stride
        # Every group of files sends a chunk to every range: without a limit the number of tasks,
        # files times ranges, would overwhelm the scheduler.
        few = min(max(MAX_CHUNKS // self.parts, FEWEST_GROUPS), len(files))
        at = [len(files) * i // few for i in range(few + 1)]
        groups = [
            files[a] if b == a + 1 else self._submit(tasks.merge, f"of-{a}", self._job, *files[a:b])
            for a, b in pairwise(at)
        ]
        divided = [self._submit(tasks.divide, i, group, starts) for i, group in enumerate(groups)]
        ranges = []
        for number in range(self.parts):
            chunks = [
                self._submit(tasks.part, f"{number}-{i}", pieces, number)
                for i, pieces in enumerate(divided)
            ]
            ranges.append(self._submit(tasks.merge, number, self._job, *chunks))
        top = Cells(self.cut.grid, totals.key * stride, totals.count)
        chunks = [piece.reading for piece in sums] if read is None else self._results(read)
        return ranges, top, join_readings([one for one in chunks if one is not None])

    def _files(self) -> list[Any]:
        """Return a task for every file, whose result is its cells."""
        return [self._submit(tasks.read, i, self._job, i) for i in range(self._pieces)]

    def _persons(self) -> tuple[list[Any], list[Any]]:
        """Return tasks for the bounded counts of some persons, and for the reading of each file."""
        weights = self._submit(tasks.same, "weights", draw_weights())
        files = [
            self._submit(tasks.read_persons, i, self._job, i, weights, self._pieces)
            for i in range(len(self.partitions.paths))
        ]
        bounded = []
        for number in range(self._pieces):
            records_of_files = [
                self._submit(tasks.some_records, f"persons-{number}-{i}", records, number)
                for i, records in enumerate(files)
            ]
            bounded.append(self._submit(tasks.bound_persons, number, self._job, *records_of_files))
        read = [self._submit(tasks.reading_of, f"file-{i}", one) for i, one in enumerate(files)]
        return bounded, read

    def gather(self, function: Callable[..., Any], ranges: list[Any], *more: Any) -> list[Any]:
        """Return the results of a task for every range."""
        token = secrets.token_hex(4)
        rows = enumerate(ranges)
        submitted = [
            self._submit(function, f"{token}-{i}", self._job, some, *more) for i, some in rows
        ]
        return list(self.client.gather(submitted))

    def _digest(self, ranges: list[Any], sizes: list[int]) -> bytes:
        """Return the digest of the input, equal to that of one machine.

        All keys are hashed in order, and then all counts, a limited number at a time.
        """
        runs, held = [list[int]()], 0
        for number, cells in enumerate(sizes):
            if runs[-1] and held + cells > AT_ONCE:
                runs, held = [*runs, []], 0
            runs[-1].append(number)
            held += cells

        def stream(function: Callable[..., Any]) -> Iterator[Any]:
            for run in runs:
                yield from self.client.gather(
                    [self._submit(function, number, ranges[number]) for number in run]
                )

        cut, cells = self.cut, sum(sizes)
        return digest_stream(
            cut.grid, cut.method, cut.event, cells, stream(tasks.keys), stream(tasks.counts)
        )

    def _refine(
        self, ranges: list[Any], totals: Cells, key: NoiseKey, secret: KeyFile, last: Last
    ) -> list[Any]:
        top = self.cut.above(totals, key)
        roots = [top.between(a, b) for a, b in pairwise(self._bounds)]
        jobs, secrets_ = [self._job] * len(ranges), [secret] * len(ranges)
        begun = self._each(tasks.begin, jobs, ranges, roots, secrets_)
        if isinstance(self.cut, InformedPartition):
            begun = self._learn(self.cut, (jobs, ranges, begun, secrets_), totals, key)
        ranges.clear()  # workers may drop the results of tasks without references
        count = top.count
        if self.cut.two_passes:
            estimates = self._results(self._each(tasks.estimates, begun))
            z, variance = (np.concatenate(column) for column in zip(*estimates, strict=True))
            count = fill_counts(top, self.cut.improve(totals, key, z, variance))
        # One task stores the roots, so that they are not sent with the arguments of every range.
        tops = self._submit(tasks.all_roots, 0, Roots.of_counts(top.prefix, count))
        ends = []
        for number, subtrees in enumerate(begun):
            function, *more = last(number)
            ends.append(self._submit(function, number, self._job, subtrees, tops, *more))
        return self._results(ends)

    def _learn(
        self,
        cut: InformedPartition,
        columns: tuple[list[Any], list[Any], list[Any], list[Any]],
        totals: Cells,
        key: NoiseKey,
    ) -> list[Any]:
        """Return tasks for the subtrees with all levels, and learn the reliability of the prior."""
        (jobs, ranges, begun, secrets_), learned = columns, [*cut.learn_above(totals, key)]
        for level in cut.learns:
            prefix = f"{level}-"
            seen = self._results(
                self._each(tasks.look, jobs, ranges, begun, secrets_, prefix=prefix)
            )
            learned.append(cut.learn(level, seen))
            reliabilities = [learned[-1].reliability] * len(ranges)
            begun = self._each(
                tasks.add_level, jobs, ranges, begun, reliabilities, secrets_, prefix=prefix
            )
        self.prior = state(cut.prior, tuple(learned))
        return begun


@dataclass(frozen=True, eq=False)
class _Ranges:
    """Sums of labels over the ranges of a run; see :class:`geodp.table.totals.Summed`."""

    run: Run
    ranges: list[Any]

    def label_sums(self) -> list[Any]:
        found = self.run.gather(tasks.label, self.ranges)
        return [sum(parts) for parts in zip(*found, strict=True)]

    def remainders(self, relation: Relation) -> list[Remainder]:
        return self.run.gather(tasks.subtract, self.ranges, relation)
