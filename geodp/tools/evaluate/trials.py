"""Execution of the trials of an evaluation, in this process or in several."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Future,
    ProcessPoolExecutor,
    as_completed,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import GeodpError
from geodp.kernels.jit import count_compiled
from geodp.mechanisms import Mechanism
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, digest
from geodp.progress import silence
from geodp.release.noise_identity import release_digest
from geodp.table.counts import CountTable
from geodp.tools.evaluate.blocks import Truth
from geodp.tools.evaluate.queries import Polygons, Queries, Rectangles

Progress = Callable[[int, int], None]
"""Callback with the numbers of finished trials and of all trials."""

Run = tuple[Mechanism, Measurement]
"""A method, and the privacy event of one of its releases."""

AHEAD = 4
"""Number of waiting jobs for each process, enough to keep it busy."""

WINDOWS_PROCESSES = 61
"""The most processes of a pool on Windows, which waits for at most 63 handles at once."""

LOADING = 2.0
"""Seconds: a method's first run that takes less is repeated, as it may have imported modules.

A run that has compiled or loaded kernels is repeated regardless of its time. So the time of a
method does not include loading.
"""


@dataclass(frozen=True, eq=False)
class Task:
    """Input of every trial of an evaluation; its repr shows nothing.

    Attributes
    ----------
    table : CountTable
    runs : tuple of (Mechanism, Measurement)
    rectangles : Rectangles, optional
    polygons : Polygons, optional
    queries : Queries, optional
    """

    table: CountTable = field(repr=False)
    runs: tuple[Run, ...] = field(repr=False)
    rectangles: Rectangles | None = field(repr=False)
    polygons: Polygons | None = field(repr=False)
    queries: Queries | None = field(repr=False)


class Bench:
    """A task, prepared once for all of its trials in one process."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.truth = Truth(task.table)
        self._loaded: set[int] = set()

    def trial(self, run: int, key: NoiseKey) -> dict[str, Any]:
        """Return the figures of one release of one method."""
        task = self.task
        method, event = task.runs[run]
        # As in a release: the key can draw only what the method declares.
        with key.restrict(method.declare(task.table.grid, event)) as restricted:
            return self._measure(run, restricted)

    def _measure(self, run: int, key: NoiseKey) -> dict[str, Any]:
        task = self.task
        method, event = task.runs[run]
        kernels = count_compiled()
        with silence():
            released, seconds = _time(method, task.table, event, key)
        first = run not in self._loaded and seconds < LOADING
        # Repeated with the same key, so that only the time changes.
        if first or count_compiled() != kernels:
            with silence():
                released, seconds = _time(method, task.table, event, key)
        self._loaded.add(run)
        figures, keys, error = self.truth.errors(released)
        figures["seconds"] = seconds
        figures["visited"] = method.visited(released)
        if task.rectangles is not None:
            figures |= task.rectangles.errors(task.table.grid, keys, error)
        if task.polygons is not None:
            figures["polygon"] = task.polygons.sums(keys, error)
        if task.queries is not None:
            figures["query"] = task.queries.sums(keys, error)
        return figures


def _time(
    method: Mechanism, table: CountTable, event: Measurement, key: NoiseKey
) -> tuple[Any, float]:
    """Return a release, and the seconds that it took."""
    started = time.perf_counter()
    released = method.release(table, event, key)
    return released, time.perf_counter() - started


def trial_key(master: NoiseKey, contents: bytes, trial: int) -> NoiseKey:
    """Derive the key of one trial, for this use, table, method and number only.

    No trial shares noise with another, nor with a release that is published with the
    same stored key.

    Parameters
    ----------
    master : NoiseKey
    contents : bytes
        :func:`geodp.release.noise_identity.release_digest` of the table, the method and its event.
    trial : int
    """
    return master.derive(digest(b"geodp evaluation", contents, trial.to_bytes(8, "little")))


def run_all(
    bench: Bench, master: NoiseKey, trials: int, processes: int, progress: Progress | None
) -> list[list[dict[str, Any]]]:
    """Run all trials, and return a list of figures for every run, in trial order."""
    task = bench.task
    identities = [release_digest(task.table, method, event) for method, event in task.runs]
    jobs = [(run, trial) for run in range(len(task.runs)) for trial in range(trials)]
    results: list[list[dict[str, Any]]] = [[{}] * trials for _ in task.runs]

    def keys() -> Iterator[NoiseKey]:
        for run, trial in jobs:
            yield trial_key(master, identities[run], trial)

    done = _here(bench, jobs, keys()) if processes == 1 else _apart(task, jobs, keys(), processes)
    for number, (job, figures) in enumerate(done, start=1):
        run, trial = jobs[job]
        results[run][trial] = figures
        if progress is not None:
            progress(number, len(jobs))
    return results


def _here(
    bench: Bench, jobs: Sequence[tuple[int, int]], keys: Iterator[NoiseKey]
) -> Iterator[tuple[int, dict[str, Any]]]:
    for job, (key, (run, _)) in enumerate(zip(keys, jobs, strict=True)):
        with key:
            yield job, bench.trial(run, key)


def _apart(
    task: Task, jobs: Sequence[tuple[int, int]], keys: Iterator[NoiseKey], processes: int
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Run jobs in child processes, and yield results as they are finished.

    The table and the keys of the trials (never the key they are derived from) reach the
    children through anonymous pipes, which no other process can open; nothing is written to a
    file or to shared memory. A NoiseKey itself is never pickled. The children are spawned and not
    forked, as a fork copies all memory of this process, and may copy locks that its threads hold.
    """
    executor = ProcessPoolExecutor(
        count_processes(processes, len(jobs)),
        multiprocessing.get_context("spawn"),
        initializer=_begin,
        initargs=(task,),
    )
    waiting: dict[Future[dict[str, Any]], int] = {}
    try:
        for job, (key, (run, _)) in enumerate(zip(keys, jobs, strict=True)):
            with _hold_interrupts():  # each of the first submissions may start a process
                waiting[executor.submit(_trial, run, key.words(), key.origin)] = job
            key.forget()
            # Keys are derived only when a process will soon need them, so that few copies exist at
            # a time.
            if len(waiting) >= AHEAD * processes:
                for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                    yield waiting.pop(future), future.result()
        for future in as_completed(waiting):
            yield waiting[future], future.result()
    except BrokenProcessPool:
        raise GeodpError(
            "A process of the evaluation ended early, perhaps because memory ran out; "
            "try fewer processes.",
            code="process-ended-early",
        ) from None
    finally:
        executor.shutdown(cancel_futures=True)


def count_processes(processes: int, jobs: int) -> int:
    """Return how many processes work on some jobs: never more than jobs, or than Windows takes."""
    return min(processes, jobs, WINDOWS_PROCESSES if sys.platform == "win32" else processes)


@contextmanager
def _hold_interrupts() -> Iterator[None]:
    """Block Ctrl-C for children that start meanwhile, until they can end without a traceback."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_bench: Bench | None = None
"""The task of a child process."""


def _begin(task: Task) -> None:
    global _bench
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends a child without a traceback
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    _bench = Bench(task)


def _trial(run: int, words: NDArray[np.uint32], origin: str) -> dict[str, Any]:
    assert _bench is not None
    key = NoiseKey(words.astype("<u4").tobytes(), _origin=origin)
    # The array is a copy of the key's words: overwriting it leaves the key in one place only.
    words.fill(0)
    with key:
        return _bench.trial(run, key)
