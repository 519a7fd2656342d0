"""Evaluation of methods on a confidential table, over many trials."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, as_completed, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.advice import takes
from geodp.errors import GeodpError, Rule, UsageError
from geodp.grid.grid import Grid
from geodp.kernels.jit import count_compiled
from geodp.mechanisms import METHODS, Mechanism, mechanism
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, digest
from geodp.privacy.terms import Terms
from geodp.progress import silence
from geodp.release.noise_identity import release_digest
from geodp.release.request import Request
from geodp.table.contribution import bound_contribution
from geodp.table.counts import CountTable
from geodp.tools.evaluate.queries import Polygons, Queries, Rectangles, Truth
from geodp.tools.evaluate.result import NOTICE, Evaluation, summary

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
        kernels = count_compiled()
        with key.restrict(method.declare(task.table.grid, event)) as restricted, silence():
            released, seconds = _time(method, task.table, event, restricted)
            first = run not in self._loaded and seconds < LOADING
            # Repeated with the same key, so that only the time changes.
            if first or count_compiled() != kernels:
                released, seconds = _time(method, task.table, event, restricted)
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


DEFAULT_EPSILON = "0.1"

NOTHING_RUNS = "No method supports this grid and budget."

__all__ = ["NOTICE", "Evaluation", "choose_methods", "evaluate"]


@takes(Terms.of)
def evaluate(
    table: CountTable,
    *,
    methods: str | Mechanism | Sequence[str | Mechanism] = ("pyramid", "topdown", "laplace"),
    trials: int = 10,
    key: NoiseKey | None = None,
    rectangles: int = 0,
    seed: int = 0,
    polygons: Mapping[str, Any] | Sequence[Any] | None = None,
    queries: Mapping[str, Any] | Sequence[Any] | None = None,
    processes: int = 1,
    public: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> Evaluation:
    """Measure the errors of methods on a table.

    Every trial releases the table with fresh noise and compares the release with the truth, over
    aligned blocks of 1, 4, 16 ... and all keys that overlap the public domain.

    The result is computed from the confidential counts and is not differentially private.

    Without epsilon and rho, epsilon is 0.1. No error depends on ``unit`` and ``people``.

    Parameters
    ----------
    table : CountTable
        Confidential counts on a public domain.
    methods : str, Mechanism or sequence of these
        Names with settings, such as ``"hay:fanout=4"``; ``"all"`` for every method; or Mechanism
        objects. A method that does not support the grid, or the noise of the budget, is not run,
        and listed with the reason.
    trials : int
        Number of releases of each method.
    key : NoiseKey, optional
        Makes the evaluation reproducible, for any number of processes. Default: a fresh key.
    rectangles : int
        Number of random rectangles of cells whose errors are measured too; 0: none.
    seed : int
        Seed of the rectangles.
    polygons : mapping from name to shapely geometry, or sequence of geometries, optional
        In the grid's CRS; a polygon contains the cells whose centre lies inside.
    queries : mapping from name to region, or sequence of regions, optional
        A custom workload: sums over codes of areas, bounds, polygons or cells, each in a form that
        :meth:`geodp.Release.estimate` accepts.
    processes : int
        Number of parallel processes. With more than one, a program needs the guard
        ``if __name__ == "__main__":``, as multiprocessing starts it afresh.
    public : bool
        You assert that the table is public, such as a published census.
    progress : callable, optional
        Called after every trial with the number of finished trials and of all trials.

    Returns
    -------
    Evaluation

    Raises
    ------
    UsageError
        The call is invalid, or no method supports the grid and the budget.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> table = geodp.CountTable.from_dense(np.full((64, 64), 9), geodp.Grid.regular((64, 64)))
    >>> options = {"epsilon": 1, "contribution": 1, "trials": 2, "public": True}
    >>> evaluation = geodp.evaluate(table, methods="geometric", **options)
    >>> evaluation.areas
    (1, 4, 16, 64, 256, 1024, 4096)
    >>> 1.2 < float(evaluation.methods["geometric"]["rmse"][0]) < 1.5
    True
    """
    if not isinstance(table, CountTable):
        raise UsageError(
            "evaluate takes a CountTable; CountTable.from_dense makes one.", code="table-expected"
        )
    _require_integer("trials", trials, 1)
    _require_integer("processes", processes, 1)
    if options.get("epsilon") is None and options.get("rho") is None:
        options["epsilon"] = DEFAULT_EPSILON
    request = Request(terms=Terms.of(**options), key=key)
    terms = request.terms.bound(bound_contribution(table, options.get("contribution")))
    runs, refused = _runs(methods, table.grid, terms, request.key_origin)
    workload = _queries(table.grid, rectangles, seed, polygons, queries)
    bench = Bench(Task(table, runs, *workload))
    # Every trial derives a key of its own, so that trials are independent, and the same under a
    # given key in any process.
    master = NoiseKey.generate() if key is None else key
    try:
        figures = run_all(bench, master, int(trials), int(processes), progress)
    finally:
        if key is None:
            # A key that was given belongs to the caller.
            master.forget()
    return Evaluation(
        terms=terms,
        trials=int(trials),
        areas=tuple(1 << shift for shift in bench.truth.shifts),
        blocks=tuple(int(n) for n in bench.truth.blocks),
        cells=table.grid.size,
        methods=_figures(bench, figures),
        refused=refused,
        public=bool(public),
        queries={
            method.spec: np.array([trial["query"] for trial in method_figures])
            for (method, _), method_figures in zip(runs, figures, strict=True)
            if bench.task.queries is not None
        },
    )


def _require_integer(name: str, number: object, minimum: int) -> None:
    if isinstance(number, bool) or not isinstance(number, Integral) or number < minimum:
        raise UsageError(
            f"{name} must be an integer of at least {minimum}.", code="number-below-least"
        )


def _queries(
    grid: Grid,
    rectangles: int,
    seed: int,
    polygons: Mapping[str, Any] | Sequence[Any] | None,
    queries: Mapping[str, Any] | Sequence[Any] | None,
) -> tuple[Rectangles | None, Polygons | None, Queries | None]:
    """Return the requested sums over regions."""
    _require_integer("rectangles", rectangles, 0)
    _require_integer("seed", seed, 0)
    return (
        Rectangles.random(grid, int(rectangles), int(seed)) if rectangles else None,
        None if polygons is None else Polygons.of(grid, polygons),
        None if queries is None else Queries.of(grid, queries),
    )


def _runs(
    methods: str | Mechanism | Sequence[str | Mechanism],
    grid: Grid,
    terms: Terms,
    key_origin: str,
) -> tuple[tuple[Run, ...], dict[str, str]]:
    """Return the methods that can run, with their events, and why the others cannot."""
    chosen, refused = choose_methods(methods, grid, gaussian=terms.gaussian)
    runs = tuple((method, method.event(grid, terms, key_origin)) for method in chosen)
    overloads = {method.spec: method.explain_noise_limit(grid, event) for method, event in runs}
    refused |= {spec: reason for spec, reason in overloads.items() if reason is not None}
    runs = tuple(run for run in runs if run[0].spec not in refused)
    if not runs:
        raise UsageError(f"{NOTHING_RUNS} {' '.join(refused.values())}", code="no-method-runs")
    return runs, refused


def _figures(bench: Bench, trials: list[list[dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Return the figures of every method from those of its trials, with the closed form."""
    grid, figures = bench.task.table.grid, {}
    for (method, event), of_method in zip(bench.task.runs, trials, strict=True):
        variances = method.variances(grid, event)
        figures[method.spec] = {
            **summary(bench.truth, of_method, bench.task.polygons, bench.task.queries),
            "closed_form": None
            if variances is None
            else np.sqrt([variances[grid.bits - shift] for shift in bench.truth.shifts]),
        }
    return figures


def choose_methods(
    methods: str | Mechanism | Sequence[str | Mechanism], grid: Grid, *, gaussian: bool = False
) -> tuple[list[Mechanism], dict[str, str]]:
    """Return the methods that support a grid and a kind of noise, and why the others do not.

    Each method occurs once, by specification; ``gaussian``: whether the budget
    needs Gaussian noise.

    Nothing is allocated. Raises UsageError for an unknown method or setting, and if
    no method remains.

    Examples
    --------
    >>> chosen, refused = choose_methods(["topdown", "laplace"], Grid.regular((2**20, 2**20)))
    >>> [method.name for method in chosen], list(refused)
    (['topdown'], ['laplace'])
    """
    names = [methods] if isinstance(methods, str | Mechanism) else list(methods)
    listed = [mechanism(name) for n in names for name in (METHODS if n == "all" else [n])]
    if not listed:
        raise UsageError("Give at least one method to evaluate.", code="methods-missing")
    by_spec = {method.spec: method for method in listed}
    reasons = {spec: _reason(method, grid, gaussian) for spec, method in by_spec.items()}
    refused = {spec: reason for spec, reason in reasons.items() if reason is not None}
    if len(refused) == len(by_spec):
        raise UsageError(f"{NOTHING_RUNS} {' '.join(refused.values())}", code="no-method-runs")
    return [method for spec, method in by_spec.items() if spec not in refused], refused


def _reason(method: Mechanism, grid: Grid, gaussian: bool) -> str | None:
    """Return why a method cannot run; None if it can."""
    if gaussian and not method.gaussian:
        return Rule(
            "method-has-no-gaussian", f"{method.name} has Laplace noise only: give epsilon alone."
        )
    return method.unsupported(grid)
