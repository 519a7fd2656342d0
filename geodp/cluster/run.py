"""Driver of a run: the top of the tree, and the data that passes between the workers' tasks."""

from __future__ import annotations

import secrets
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from geodp.cluster import tasks
from geodp.cluster.partitions import InformedPartition, Partitions, TreePartition
from geodp.cluster.secret import KeyFile, key_file
from geodp.errors import InputError, UsageError
from geodp.io.read.rows.persons import draw_weights
from geodp.mechanisms.trees.informed import state
from geodp.mechanisms.trees.layer import Roots, fill_counts
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Charge
from geodp.release.noise_identity import digest_stream, release_key
from geodp.release.request import Request
from geodp.release.transaction import charge_event
from geodp.table.contribution import require_no_sums
from geodp.table.counts import MAX_PEOPLE, TOO_MANY, Cells
from geodp.table.reading import Reading, StatedReading, join_readings, require_rows
from geodp.table.stated.release import StatedPrior
from geodp.table.totals import Relation, Remainder
from geodp.typing import IntArray, KeyArray

AT_ONCE = 1 << 23
"""Maximal occupied cells that the driver holds at a time, unless one shelf has more."""

MAX_CHUNKS = 1 << 10
"""Maximal number of chunks that groups of files are divided into, each a task for the scheduler."""

FEWEST_GROUPS = 4

PERSONS = 64
"""Parts, by a hash of persons, in which contributions are bounded, unless there are many files."""

PARTS = 400
"""Default for the most ranges of keys, each of which is drawn by one worker into one file."""

LIGHTEST = 1 << 16
"""Fewest people of a range, by noisy totals and on average, unless somebody chooses ``parts``."""

SUMS = 16
"""Most arrays of totals of the cut's nodes that the driver holds at a time."""

SHELVES = 64
"""Most ranges of keys in which the cells are merged before the charge."""

Last = Callable[[int], tuple[Any, ...]]
"""Function and further arguments of the final task of every range."""

Progress = Callable[[int, int], object]
"""Callback with the numbers of finished and of all tasks that the driver waits for."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Options:
    """Options of a release on a cluster; see :func:`geodp.cluster.publish`.

    Attributes
    ----------
    parts : int, optional
        Most ranges of keys that are refined in parallel, each with about as many people by noisy
        totals; four for every worker keep all of them busy. Default: 400, but none with fewer than
        2**16 people.
    key_folder : path, optional
        Folder of the key of this release for the workers while it runs. Default: in this machine's
        memory, which workers on this machine can read. Otherwise a folder on storage that only this
        user's processes on every machine can read.
    trust_cluster : bool
        You assert that everybody who can reach the scheduler and its workers, now and during the
        run, may see the counts and the key, as they can run code there. Otherwise a cluster that
        listens beyond this machine without TLS, or has other clients, is refused.
    progress : callable, optional
        Called with the numbers of finished and of all tasks, in this process; an exception that it
        raises ends the run.
    """

    parts: int | None = None
    key_folder: str | Path | None = None
    trust_cluster: bool = False
    progress: Progress | None = None

    def __post_init__(self) -> None:
        parts = self.parts
        if parts is not None and (
            isinstance(parts, bool) or not isinstance(parts, int) or parts < 1
        ):
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
        self.parts = min(self.options.parts or PARTS, nodes.size)
        # Before the charge nothing noisy exists, so shelves have equal numbers of public nodes.
        shelves = min(self.parts, SHELVES)
        every = prod(self.cut.grid.order.radices) // self.cut.stride
        first = [int(nodes[nodes.size * i // shelves]) for i in range(1, shelves)]
        self._bounds = [0, *first, every]
        self._pieces = len(self.partitions.paths)
        if self.partitions.by_person:
            self._pieces = min(max(MAX_CHUNKS // self._pieces, FEWEST_GROUPS), PERSONS)
        self._rounds = len(self.cut.learns) + (2 if self.cut.two_passes else 1)
        read = len(self.partitions.paths) if self.partitions.by_person else 0
        self._all = self._pieces + read + shelves + self.parts * self._rounds

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
            shelves, totals, reading = self._shelve()
            sizes = self._results(self._each(tasks.size, shelves))
            self.public_facts = (
                *require_rows(totals.key.size, reading, allow_empty=request.allow_empty),
                *require_no_sums(self.cut.grid, self.cut.event.bound, _Shelves(self, shelves)),
            )
            self.reading = reading.public
            if ready is not None:
                ready(sum(sizes))
            # Workers get a key that can draw only what the release declares.
            draws = self.cut.declare()
            release_key_, fingerprint = release_key(
                request.key, draws, lambda: self._digest(shelves, sizes)
            )
            try:
                # The file of a range is written where it is drawn, and others may read it: a
                # cluster cannot draw before the charge, as `release_and_charge` does.
                charge = charge_event(
                    request.ledger,
                    request.dataset,
                    self.cut.event,
                    fingerprint,
                    records=request.records,
                )
                with key_file(release_key_, options.key_folder) as secret:
                    return self._refine(shelves, totals, release_key_, secret, last), charge
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
            jobs = [self._job] * len(rows)
            return self._results(self._each(function, jobs, *zip(*rows, strict=True)))
        finally:
            self._drop()

    def _drop(self) -> None:
        """Release every task, which ends those that still run."""
        for task in list(self._tasks):  # otherwise an error's traceback would keep them alive
            task.release()

    def _results(self, submitted: list[Any]) -> list[Any]:
        """Return the results of tasks, each of which is reported as progress."""
        self._wait(submitted)
        return list(self.client.gather(submitted))

    def _wait(self, submitted: list[Any]) -> None:
        """Report the end of each task as progress, if somebody asks for it."""
        if (progress := self.options.progress) is not None:
            from distributed import as_completed

            for _ in as_completed(submitted):
                self._done += 1
                progress(self._done, self._all)

    def _submit(self, function: Callable[..., Any], number: int | str, *arguments: Any) -> Any:
        name = self._name(function, number)
        task = self.client.submit(function, *arguments, key=name, pure=False)
        self._tasks.add(task)
        return task

    def _name(self, function: Callable[..., Any], number: int | str) -> str:
        # The token separates runs on one scheduler, which would return an earlier result for an
        # equal key.
        return f"geodp-{function.__name__}-{self._token}-{number}"

    def _send(self, number: int) -> Any:
        """Return a task whose result is the input of all tasks; it may contain a large prior."""
        import dask

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            return self._submit(tasks.same, number, tasks.Job(self.partitions, self.cut))

    def _each(
        self,
        function: Callable[..., Any],
        *columns: Sequence[Any],
        prefix: str = "",
        order: Sequence[int] | None = None,
    ) -> list[Any]:
        """Return a task for each entry of some lists.

        ``prefix``: distinguishes calls of one function. ``order``: that in which workers should
        begin the tasks.
        """
        order = range(len(columns[0])) if order is None else order
        if not order:
            return []
        names = [self._name(function, f"{prefix}{number}") for number in order]
        chosen = [[column[number] for number in order] for column in columns]
        # One graph for all of them: the scheduler takes most of its time for graphs, not for tasks.
        futures = self.client.map(function, *chosen, key=names, pure=False)
        self._tasks.update(futures)
        by_number = dict(zip(order, futures, strict=True))
        return [by_number[number] for number in range(len(by_number))]

    def _shelve(self) -> tuple[list[Any], Cells, Reading]:
        """Return tasks for the cells of every shelf, totals of the cut's nodes, and the reading."""
        files, read = self._persons() if self.partitions.by_person else (self._files(), None)
        # Every group of files sends a chunk to every shelf: without a limit the number of tasks,
        # files times shelves, would overwhelm the scheduler.
        shelves = len(self._bounds) - 1
        few = min(max(MAX_CHUNKS // shelves, FEWEST_GROUPS), len(files))
        totals, people, reading = self._sums(files)
        if people > MAX_PEOPLE:
            raise InputError(TOO_MANY)
        groups = [
            files[a] if b == a + 1 else self._submit(tasks.merge, f"of-{a}", self._job, files[a:b])
            for a, b in _divide(len(files), few)
        ]
        stride = np.uint64(self.cut.stride)
        starts = np.array(self._bounds[1:-1], np.uint64) * stride
        divided = self._each(tasks.divide, groups, [starts] * few)
        numbers = [number for number in range(shelves) for _ in divided]
        chunks = self._each(tasks.part, divided * shelves, numbers)
        joined = [chunks[few * number : few * (number + 1)] for number in range(shelves)]
        merged = self._each(tasks.merge, [self._job] * shelves, joined)
        top = Cells(self.cut.grid, totals.key * stride, totals.count)
        if read is not None:
            reading = join_readings(self._results(read))
        return merged, top, reading

    def _sums(self, files: list[Any]) -> tuple[tasks.Piece, int, Reading]:
        """Return totals of the cut's nodes, their sum, and the reading of files, if they tell."""
        sums = self._each(tasks.sum_nodes, [self._job] * len(files), files)
        self._wait(sums)
        # Added up on the workers: totals of many nodes from many files would fill the driver.
        some = [sums[a:b] for a, b in _divide(len(sums), min(SUMS, len(sums)))]
        added = self.client.gather(self._each(tasks.add_sums, some))
        together = tasks.add_sums(added)
        return together.totals, together.people, together.reading

    def _files(self) -> list[Any]:
        """Return a task for every file, whose result is its cells."""
        return self._each(tasks.read, [self._job] * self._pieces, range(self._pieces))

    def _persons(self) -> tuple[list[Any], list[Any]]:
        """Return tasks for the bounded counts of some persons, and for the reading of each file."""
        weights = self._submit(tasks.same, "weights", draw_weights())
        paths, pieces = len(self.partitions.paths), self._pieces
        files = self._each(
            tasks.read_persons,
            [self._job] * paths,
            range(paths),
            [weights] * paths,
            [pieces] * paths,
        )
        numbers = [number for number in range(pieces) for _ in files]
        records = self._each(tasks.some_records, files * pieces, numbers)
        of_piece = [records[paths * number : paths * (number + 1)] for number in range(pieces)]
        bounded = self._each(tasks.bound_persons, [self._job] * pieces, of_piece)
        return bounded, self._each(tasks.reading_of, files)

    def gather(self, function: Callable[..., Any], shelves: list[Any], *more: Any) -> list[Any]:
        """Return the results of a task for every shelf."""
        every = [[value] * len(shelves) for value in more]
        jobs, prefix = [self._job] * len(shelves), f"{secrets.token_hex(4)}-"
        return list(self.client.gather(self._each(function, jobs, shelves, *every, prefix=prefix)))

    def _digest(self, shelves: list[Any], sizes: list[int]) -> bytes:
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
                some, prefix = [shelves[number] for number in run], f"{run[0]}-"
                yield from self.client.gather(self._each(function, some, prefix=prefix))

        cut, cells = self.cut, sum(sizes)
        return digest_stream(
            cut.grid, cut.method, cut.event, cells, stream(tasks.keys), stream(tasks.counts)
        )

    def _refine(
        self, shelves: list[Any], totals: Cells, key: NoiseKey, secret: KeyFile, last: Last
    ) -> list[Any]:
        top = self.cut.above(totals, key)
        # Cut by what was drawn, so that the end of a file reveals nothing more about the data.
        parts, people = self.parts, int(top.count.sum())
        if self.options.parts is None:
            parts = max(min(parts, people // LIGHTEST), 1)
        roots = top.divide(parts)
        number = len(roots)
        self._all -= (self.parts - number) * self._rounds
        # What takes longest begins first: then no worker is left with it at the end.
        order = np.argsort([-int(some.count.sum()) for some in roots], kind="stable").tolist()
        jobs, secrets_ = [self._job] * number, [secret] * number
        columns = jobs, self._redivide(shelves, roots), roots, secrets_
        shelves.clear()  # workers may drop the results of tasks without references
        ends = [last(i) for i in range(number)]
        function, more = ends[0][0], [*zip(*(arguments for _, *arguments in ends), strict=True)]
        if not self.cut.two_passes and not self.cut.learns:
            tops = [self._store(top.prefix, top.count)] * number
            arguments = [[*row] for row in zip(*more, strict=True)] or [[] for _ in roots]
            functions = [function] * number
            drawn = self._each(tasks.draw, *columns, tops, functions, arguments, order=order)
            return self._results(drawn)
        begun = self._each(tasks.begin, *columns, order=order)
        if isinstance(self.cut, InformedPartition):
            begun = self._learn(self.cut, (*columns, begun), order, totals, key)
        del columns
        count = top.count
        if self.cut.two_passes:
            estimates = self._results(self._each(tasks.estimates, begun, order=order))
            z, variance = (np.concatenate(column) for column in zip(*estimates, strict=True))
            count = fill_counts(top, self.cut.improve(totals, key, z, variance))
        tops = [self._store(top.prefix, count)] * number
        return self._results(self._each(function, jobs, begun, tops, *more, order=order))

    def _store(self, prefix: KeyArray, count: IntArray) -> Any:
        """Return one task for all roots, so that they are not sent once for every range."""
        return self._submit(tasks.same, "roots", Roots.of_counts(prefix, count))

    def _redivide(self, shelves: list[Any], roots: list[Roots]) -> list[list[Any]]:
        """Return tasks for the cells of every range: pieces of shelves, in key order."""
        starts = np.array([some.prefix[0] for some in roots[1:]], np.uint64)
        ends = np.array(self._bounds, np.uint64)
        first = np.searchsorted(starts, ends[:-1], "right").tolist()
        inside = [starts[(a < starts) & (starts < b)] for a, b in pairwise(ends)]
        some = [number for number, cuts in enumerate(inside) if cuts.size]
        divided = self._each(
            tasks.divide,
            [shelves[number] for number in some],
            [inside[number] * np.uint64(self.cut.stride) for number in some],
            prefix="shelf-",
        )
        rows = [
            (pieces, i)
            for number, pieces in zip(some, divided, strict=True)
            for i in range(inside[number].size + 1)
        ]
        parts = iter(
            self._each(tasks.part, *([*column] for column in zip(*rows, strict=True)), prefix="of-")
            if rows
            else []
        )
        ranges: list[list[Any]] = [[] for _ in roots]
        for number, shelf in enumerate(shelves):
            for i in range(inside[number].size + 1):
                ranges[first[number] + i].append(next(parts) if inside[number].size else shelf)
        return ranges

    def _learn(
        self,
        cut: InformedPartition,
        columns: tuple[list[Any], list[Any], list[Any], list[Any], list[Any]],
        order: list[int],
        totals: Cells,
        key: NoiseKey,
    ) -> list[Any]:
        """Return tasks for the subtrees with all levels, and learn the reliability of the prior."""
        (jobs, ranges, _, secrets_, begun), learned = columns, [*cut.learn_above(totals, key)]
        for level in cut.learns:
            prefix = f"{level}-"
            seen = self._results(
                self._each(tasks.look, jobs, ranges, begun, secrets_, prefix=prefix, order=order)
            )
            learned.append(cut.learn(level, seen))
            reliabilities = [learned[-1].reliability] * len(ranges)
            columns_of_level = jobs, ranges, begun, reliabilities, secrets_
            begun = self._each(tasks.add_level, *columns_of_level, prefix=prefix, order=order)
        self.prior = state(cut.prior, tuple(learned))
        return begun


def _divide(size: int, parts: int) -> list[tuple[int, int]]:
    """Divide a number of things evenly: where each part begins and ends."""
    return [(size * i // parts, size * (i + 1) // parts) for i in range(parts)]


@dataclass(frozen=True, eq=False)
class _Shelves:
    """Sums of labels over the shelves of a run; see :class:`geodp.table.totals.Summed`."""

    run: Run
    shelves: list[Any]

    def label_sums(self) -> list[Any]:
        sums = self.run.gather(tasks.label, self.shelves)
        return [sum(parts) for parts in zip(*sums, strict=True)]

    def remainders(self, relation: Relation) -> list[Remainder]:
        return self.run.gather(tasks.subtract, self.shelves, relation)
