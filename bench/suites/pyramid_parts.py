"""Measurements of :mod:`bench.suites.pyramid`, part by part. All keys are derived from names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import geodp
from bench.inputs import public
from bench.measure import errors as accuracy
from geodp.mechanisms import mechanism
from geodp.tools.evaluate.queries import shifts_of
from geodp.tools.plan.plan import plan

EPSILON = "0.1"
DELTA = "0.000001"
LARGEST_MEASURED = 1 << 12
"""Cells of the largest blocks whose measured errors are compared; larger ones are too few."""

PYRAMID, PAPER = "pyramid:setting=R", "topdown"
FLAT = "pyramid"
"""The default under Gaussian noise."""
KANTO_METHODS = (
    *(PAPER, PYRAMID, f"{PYRAMID},passes=1", "pyramid:setting=fine", "pyramid:setting=flat"),
    "laplace",
)
TABLES = (
    *("kanto", "germany-1km", "europe-2011-7-5", "europe-2018-7-5", "europe-2011-9-8"),
    *("europe-2018-9-8", "hiroshima-2010", "hiroshima-2020", "samoa-100m", "flow"),
    *("flow-attributes", "taxi"),
)
LARGE_TABLES = ("japan", "trips")
PLANS = 10
MIN_SHARE = 0.02
PEOPLE = 1_000_000
"""People in every cell of a map on which nothing is clamped."""

Floats = NDArray[np.float64]
Rows = list[dict[str, Any]]


def evaluated(
    table: geodp.CountTable, methods: Sequence[str], trials: int, **budget: str
) -> geodp.Evaluation:
    """Evaluate methods with the library, with a key that is derived from the budget."""
    secret = hashlib.sha256(f"bench pyramid {sorted(budget.items())}".encode()).digest()
    return geodp.evaluate(
        table,
        methods=list(methods),
        contribution=1,
        trials=trials,
        key=geodp.NoiseKey(secret),
        public=True,
        **budget,  # type: ignore[arg-type]
    )


def kanto(folder: Path | None, trials: int) -> Rows:
    """Measure errors of the paper's window, a row for each method."""
    evaluation = evaluated(public.load("kanto", folder), KANTO_METHODS, trials, epsilon=EPSILON)
    return [
        {
            "method": spec,
            "trials": trials,
            "areas": list(evaluation.areas),
            **{name: figures[name].tolist() for name in ("mae", "mae_se", "rmse", "closed_form")},
            "output": figures["nonzero"],
        }
        for spec, figures in evaluation.methods.items()
    ]


def ratios(folder: Path | None, names: Sequence[str], trials: int) -> Rows:
    """Measure errors of the pyramid and the paper's method: a row for each table and epsilon.

    ``trials`` is for 100,000 occupied cells; small tables have up to four times as many, and large
    ones down to a tenth.
    """
    return list(_ratios(folder, names, trials))


def _ratios(folder: Path | None, names: Sequence[str], trials: int) -> Iterator[dict[str, Any]]:
    for name in names:
        table = public.load(name, folder)
        often = trials * min(4.0, max(0.1, 100_000 / table.key.size))
        # Two at least, since a standard error needs a spread.
        number = max(2, round(often))
        for epsilon in (EPSILON, "1"):
            evaluation = evaluated(table, [PYRAMID, PAPER], number, epsilon=epsilon)
            ours, theirs = evaluation.methods[PYRAMID], evaluation.methods[PAPER]
            ratio, error = ratio_of(ours, theirs)
            inside = {spec: _inside(table.grid, spec, epsilon) for spec in (PYRAMID, PAPER)}
            people = int(table.count.sum())
            yield {
                "data": name,
                "title": public.SOURCES[name].title,
                "bits": table.grid.bits,
                "cells": table.grid.size,
                "occupied": int(table.key.size),
                "people": people,
                "epsilon": epsilon,
                "trials": number,
                "areas": list(evaluation.areas),
                "ratio": ratio.tolist(),
                "ratio_se": error.tolist(),
                "closed_ratio": (inside[PYRAMID] / inside[PAPER]).tolist(),
                "mae": {PYRAMID: ours["mae"].tolist(), PAPER: theirs["mae"].tolist()},
                "closed_form": {spec: errors.tolist() for spec, errors in inside.items()},
                "mae_of_zeros": [people / blocks for blocks in evaluation.blocks],
                "output": {PYRAMID: ours["nonzero"], PAPER: theirs["nonzero"]},
            }


def _inside(grid: geodp.Grid, spec: str, epsilon: str) -> Floats:
    """Compute closed-form errors by area, away from edges: all ancestors have all children."""
    # A domain without edges has the errors of inner blocks.
    full = geodp.Grid.regular((1 << grid.bits,))
    method = mechanism(spec)
    # Pairs and attributes may have another sensitivity than a single map.
    scale = method.sensitivity(grid) / method.sensitivity(full)
    by_bits = np.array([b.standard_error for b in plan(full, spec, epsilon=epsilon).blocks])
    return by_bits[list(shifts_of(grid))] * scale


def ratio_of(
    ours: dict[str, Any], theirs: dict[str, Any], measure: str = "mae"
) -> tuple[Floats, Floats]:
    """Compute the ratio of two independent errors by area, and its standard error over trials."""
    ratio = ours[measure] / theirs[measure]
    parts = [row[f"{measure}_se"] / row[measure] for row in (ours, theirs)]
    return ratio, ratio * np.hypot(*parts)


def sizes(folder: Path | None, trials: int) -> Rows:
    """Measure the ratio on the Kanto window at every power of two, half nodes included."""
    table = public.load("kanto", folder)
    truth = table.to_vector()
    mae: dict[str, Floats] = {}
    for spec in (PYRAMID, PAPER):
        trial_errors = []
        for trial in range(trials):
            key = geodp.NoiseKey(hashlib.sha256(f"bench sizes {spec} {trial}".encode()).digest())
            released = geodp.publish(table, method=spec, epsilon=EPSILON, key=key, contribution=1)
            trial_errors.append(accuracy.by_area(released.table.to_vector() - truth))
        mae[spec] = np.array(trial_errors)
    mean = {spec: trial_errors.mean(axis=0) for spec, trial_errors in mae.items()}
    parts = [
        trial_errors.std(axis=0, ddof=1) / trials**0.5 / mean[spec]
        for spec, trial_errors in mae.items()
    ]
    ratio = mean[PYRAMID] / mean[PAPER]
    closed = _every_size(table.grid, PYRAMID) / _every_size(table.grid, PAPER)
    return [
        {
            "area": 1 << i,
            "trials": trials,
            "mae": {spec: float(trial_errors[i]) for spec, trial_errors in mean.items()},
            "ratio": float(ratio[i]),
            "ratio_se": float((ratio * np.hypot(*parts))[i]),
            "closed_ratio": float(closed[i]),
        }
        for i in range(ratio.size)
    ]


def domains() -> Rows:
    """Compute the largest closed-form ratio over all sizes of blocks, by size of the domain."""
    rows = []
    for bits in range(1, 41):
        grid = geodp.Grid.regular((1 << bits,))
        ratio = _every_size(grid, PYRAMID) / _every_size(grid, PAPER)
        rows.append(
            {
                "bits": bits,
                "largest": float(ratio.max()),
                "at": 1 << int(ratio.argmax()),
                "cells": float(ratio[0]),
            }
        )
    return rows


def _every_size(grid: geodp.Grid, spec: str) -> Floats:
    """Compute planned standard errors of blocks of 1, 2, 4 ... cells."""
    return np.array([b.standard_error for b in plan(grid, spec, epsilon=EPSILON).blocks])


def dense(side: int) -> geodp.CountTable:
    """Make a map with so many people in every cell that nothing is clamped."""
    return geodp.CountTable.from_dense(
        np.full((side, side), PEOPLE), geodp.Grid.regular((side, side))
    )


def gaussian(trials: int, side: int = 512) -> Rows:
    """Measure and plan standard errors under Gaussian noise where nothing is clamped."""
    methods = (FLAT, PYRAMID, PAPER)
    evaluation = evaluated(dense(side), methods, trials, epsilon=EPSILON, delta=DELTA)
    return [
        {
            "method": spec,
            "budget": evaluation.budget,
            "trials": trials,
            **_planned(evaluation, spec),
        }
        for spec in evaluation.methods
    ]


def _planned(evaluation: geodp.Evaluation, spec: str) -> dict[str, Any]:
    """Compute measured over planned RMSE by area, and its standard error."""
    figures = evaluation.methods[spec]
    return {
        "areas": list(evaluation.areas),
        "rmse": figures["rmse"].tolist(),
        "closed_form": figures["closed_form"].tolist(),
        "ratio": (figures["rmse"] / figures["closed_form"]).tolist(),
        "ratio_se": (figures["rmse_se"] / figures["closed_form"]).tolist(),
    }


def gains() -> Rows:
    """Compute the gain of Gaussian noise over pure privacy, by size, in closed form."""
    rows = []
    for bits in (18, 26, 40):
        grid = geodp.Grid.regular((1 << bits // 2,) * 2)
        for epsilon in ("0.01", EPSILON, "1"):
            pure = {spec: _errors(grid, spec, epsilon=epsilon) for spec in (PYRAMID, PAPER)}
            noisy = {
                spec: _errors(grid, spec, epsilon=epsilon, delta=DELTA) for spec in (FLAT, PYRAMID)
            }
            ours = noisy[FLAT]
            rows.append(
                {
                    "bits": bits,
                    "epsilon": epsilon,
                    "delta": DELTA,
                    "over_paper": (pure[PAPER] / ours).tolist(),
                    "over_pyramid": (pure[PYRAMID] / ours).tolist(),
                    "wide_over_quadtree": (noisy[PYRAMID] / ours).tolist(),
                }
            )
    return rows


def _errors(grid: geodp.Grid, spec: str, **budget: str) -> Floats:
    """Compute planned standard errors of blocks of 1, 4, 16 ... cells."""
    return np.array([b.standard_error for b in plan(grid, spec, **budget).blocks])[::2]  # type: ignore[arg-type]


def random_plan(draw: np.random.Generator, bits: int) -> str:
    """Draw a pyramid of random levels and shares of at least 2 % each, in 1/100 of a percent."""
    steps: list[int] = []
    while sum(steps) < bits:
        steps.append(int(draw.integers(1, min(6, bits - sum(steps)) + 1)))
    levels = len(steps) + 1
    # Every level has its minimum first; the rest is divided at random.
    free = 10_000 - round(MIN_SHARE * 10_000) * levels
    parts = round(MIN_SHARE * 10_000) + draw.multinomial(free, draw.dirichlet(np.ones(levels)))
    chain, shares = ("-".join(map(str, part)) for part in (steps, parts.tolist()))
    return f"pyramid:chain={chain},shares={shares}"


def planned(trials: int, side: int = 256) -> Rows:
    """Measure random pyramids: measured over planned standard errors where nothing is clamped."""
    draw = np.random.default_rng(public.SEED)
    # Without empty cells nothing is clamped, so closed forms must be exact.
    table = dense(side)
    specs = [random_plan(draw, table.grid.bits) for _ in range(PLANS)]
    rows = []
    for spec in specs:
        evaluation = evaluated(table, [spec], trials, epsilon=EPSILON)
        rows.append({"spec": spec, "trials": trials, **_planned(evaluation, *evaluation.methods)})
    return rows
