"""How far releases of a table lie from it: methods side by side, over many trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from geodp.errors import Rule, UsageError
from geodp.features.evaluate.queries import Polygons, Queries, Rectangles
from geodp.features.evaluate.result import NOTICE, Evaluation, summary
from geodp.features.evaluate.trials import Bench, Progress, Run, Task, run_all
from geodp.grid.grid import Grid
from geodp.mechanisms import METHODS, Mechanism, mechanism
from geodp.privacy.budget import Budget
from geodp.privacy.key import NoiseKey
from geodp.privacy.neighbours import ADD_REMOVE
from geodp.privacy.terms import Terms
from geodp.release.request import Request
from geodp.table.contribution import bound_contribution
from geodp.table.counts import CountTable

DEFAULT_EPSILON = "0.1"

NOTHING_RUNS = "No method takes this grid and budget."

__all__ = ["NOTICE", "Evaluation", "choose_methods", "evaluate"]


def evaluate(
    table: CountTable,
    *,
    methods: str | Mechanism | Sequence[str | Mechanism] = ("pyramid", "topdown", "laplace"),
    epsilon: Budget | None = None,
    rho: Budget | None = None,
    delta: Budget | None = None,
    neighbours: str = ADD_REMOVE,
    contribution: int | None = None,
    unit: str = "person",
    people: float | None = None,
    trials: int = 10,
    key: NoiseKey | None = None,
    rectangles: int = 0,
    seed: int = 0,
    polygons: Mapping[str, Any] | Sequence[Any] | None = None,
    queries: Mapping[str, Any] | Sequence[Any] | None = None,
    processes: int = 1,
    public: bool = False,
    progress: Progress | None = None,
) -> Evaluation:
    """Measure the errors of methods on a table.

    Every trial releases the table with noise of its own and compares the release with the
    truth, over aligned blocks of 1, 4, 16 ... and all keys that overlap the public domain.

    The result is computed from the confidential counts and is not differentially private.

    Parameters
    ----------
    table : CountTable
        Confidential counts on a public domain.
    methods : str, Mechanism or sequence of these
        Names with settings, such as ``"hay:fanout=4"``; ``"all"`` for every one; or methods of
        your own. A method that cannot take the grid, or the noise of the budget, is not run, and
        listed with its reason.
    epsilon, rho, delta, neighbours, contribution, unit, people
        As in :func:`geodp.publish`; without epsilon and rho, epsilon is 0.1. Epsilon and delta, or
        rho, are Gaussian noise. No error depends on the last two.
    trials : int
        Releases of each method.
    key : NoiseKey, optional
        Makes the evaluation reproducible, for any number of processes. Default: fresh.
    rectangles : int
        Random rectangles of cells whose errors are measured too; 0: none.
    seed : int
        Of the rectangles.
    polygons : mapping from name to shapely geometry, or sequence of geometries, optional
        In the grid's CRS; the cells whose centre lies inside count.
    queries : mapping from name to region, or sequence of regions, optional
        A workload of your own: sums over codes of areas, bounds, polygons or cells, each as
        :meth:`geodp.Release.estimate` takes it.
    processes : int
        That run trials at the same time. With more than one, a program needs the guard
        ``if __name__ == "__main__":``, as multiprocessing starts it afresh.
    public : bool
        You vouch that the table is public, such as a published census.
    progress : callable, optional
        Called after every trial with the number of trials done and of all.

    Returns
    -------
    Evaluation

    Raises
    ------
    UsageError
        A call that cannot be carried out, or a grid or budget that none of the methods takes.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> table = geodp.CountTable.from_dense(np.full((64, 64), 9), geodp.Grid.regular((64, 64)))
    >>> asked = {"epsilon": 1, "contribution": 1, "trials": 2, "public": True}
    >>> found = geodp.evaluate(table, methods="geometric", **asked)
    >>> found.areas
    (1, 4, 16, 64, 256, 1024, 4096)
    >>> 1.2 < float(found.methods["geometric"]["rmse"][0]) < 1.5
    True
    """
    if not isinstance(table, CountTable):
        raise UsageError(
            "evaluate takes a CountTable; CountTable.from_dense makes one.", code="table-expected"
        )
    _require_whole("trials", trials, 1)
    _require_whole("processes", processes, 1)
    if epsilon is None and rho is None:
        epsilon = DEFAULT_EPSILON
    terms = Terms.of(epsilon, rho, delta, neighbours, contribution, unit, people)
    request = Request(terms=terms, key=key)
    terms = request.terms.bound(bound_contribution(table, contribution))
    runs, refused = _runs(methods, table.grid, terms, request.key_origin)
    asked = _queries(table.grid, rectangles, seed, polygons, queries)
    bench = Bench(Task(table, runs, *asked))
    master = NoiseKey.generate() if key is None else key
    try:
        found = run_all(bench, master, int(trials), int(processes), progress)
    finally:
        if key is None:
            master.forget()
    return Evaluation(
        terms=terms,
        trials=int(trials),
        areas=tuple(1 << shift for shift in bench.truth.shifts),
        blocks=tuple(int(n) for n in bench.truth.blocks),
        cells=table.grid.size,
        methods=_figures(bench, found),
        refused=refused,
        public=bool(public),
        queries={
            method.spec: np.array([trial["query"] for trial in own])
            for (method, _), own in zip(runs, found, strict=True)
            if bench.task.queries is not None
        },
    )


def _require_whole(name: str, number: object, least: int) -> None:
    if isinstance(number, bool) or not isinstance(number, Integral) or number < least:
        raise UsageError(
            f"{name} must be a whole number of at least {least}.", code="number-below-least"
        )


def _queries(
    grid: Grid,
    rectangles: int,
    seed: int,
    polygons: Mapping[str, Any] | Sequence[Any] | None,
    queries: Mapping[str, Any] | Sequence[Any] | None,
) -> tuple[Rectangles | None, Polygons | None, Queries | None]:
    """Return the sums over regions that are asked for."""
    _require_whole("rectangles", rectangles, 0)
    _require_whole("seed", seed, 0)
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
    """Return the methods that can run with what they spend, and why the others cannot."""
    chosen, refused = choose_methods(methods, grid, gaussian=terms.gaussian)
    runs = tuple((method, method.event(grid, terms, key_origin)) for method in chosen)
    overloads = {method.spec: method.explain_noise_limit(grid, spent) for method, spent in runs}
    refused |= {spec: reason for spec, reason in overloads.items() if reason is not None}
    runs = tuple(run for run in runs if run[0].spec not in refused)
    if not runs:
        raise UsageError(f"{NOTHING_RUNS} {' '.join(refused.values())}", code="no-method-runs")
    return runs, refused


def _figures(bench: Bench, found: list[list[dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    """Return the figures of every method from those of its trials, beside its closed form."""
    grid, figures = bench.task.table.grid, {}
    for (method, spent), own in zip(bench.task.runs, found, strict=True):
        variances = method.variances(grid, spent)
        figures[method.spec] = {
            **summary(bench.truth, own, bench.task.polygons, bench.task.queries),
            "closed_form": None
            if variances is None
            else np.sqrt([variances[grid.bits - shift] for shift in bench.truth.shifts]),
        }
    return figures


def choose_methods(
    methods: str | Mechanism | Sequence[str | Mechanism], grid: Grid, *, gaussian: bool = False
) -> tuple[list[Mechanism], dict[str, str]]:
    """Methods that take a grid and a noise, each once, and why the others do not.

    Both by specification; ``gaussian`` says that the budget asks for Gaussian noise.

    Nothing is allocated. Raises UsageError for an unknown method or setting, and where no method
    is left.

    Examples
    --------
    >>> chosen, refused = choose_methods(["topdown", "laplace"], Grid.regular((2**20, 2**20)))
    >>> [method.name for method in chosen], list(refused)
    (['topdown'], ['laplace'])
    """
    names = [methods] if isinstance(methods, str | Mechanism) else list(methods)
    listed = [mechanism(name) for n in names for name in (METHODS if n == "all" else [n])]
    if not listed:
        raise UsageError("Name at least one method to evaluate.", code="methods-missing")
    by_spec = {method.spec: method for method in listed}
    reasons = {spec: _reason(method, grid, gaussian) for spec, method in by_spec.items()}
    refused = {spec: reason for spec, reason in reasons.items() if reason is not None}
    if len(refused) == len(by_spec):
        raise UsageError(f"{NOTHING_RUNS} {' '.join(refused.values())}", code="no-method-runs")
    return [method for spec, method in by_spec.items() if spec not in refused], refused


def _reason(method: Mechanism, grid: Grid, gaussian: bool) -> str | None:
    """Why a method cannot run; None: it can."""
    if gaussian and not method.gaussian:
        return Rule(
            "method-has-no-gaussian", f"{method.name} has Laplace noise only: give epsilon alone."
        )
    return method.unsupported(grid)
