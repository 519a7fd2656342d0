"""Sums, means and medians of amounts, beside sum and count at half each and beside OpenDP."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import geodp
from bench.inputs.public import load
from bench.parts import add_parts, choose_parts
from bench.tables import excerpt, fill, least, markdown, table
from geodp.accuracy.interval import USUAL, WORST_CASE
from geodp.grid.region import Region
from geodp.kinds.amounts.clip import find_dense_method
from geodp.kinds.amounts.scale import Scale
from geodp.kinds.amounts.streams import AmountTable
from geodp.privacy.key import NoiseKey
from geodp.privacy.loss import rational

TITLE = """\
Incomes of the people of the Kanto window, census 2020, made up: lognormal with the logarithm's
standard deviation 0.7 and mean 5.5 plus a field of 16, 2 and 0.5 km (seed 3), in 10,000 yen,
clipped at 1,000. Errors of means and medians are medians over areas, in per cent of the truth.
  sums       mean absolute errors of sums, divided by those of OpenDP's clipped sums per cell, added
             up, with the whole budget and no counts
  class      per cent of areas whose median class is right
  held       how often 95 % intervals hold the truth, by the records of the region
  cost       time in that of one map of counts"""

SAVED = Path(__file__).parents[1] / "results" / "amounts.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "amounts.md"

EPSILONS = (Fraction(1), Fraction(1, 10))
LARGE = (Fraction(2), Fraction(4), Fraction(8))
"""Further budgets at which intervals are measured: their noise is a record or less."""

UPPER = 1000
EDGES = (0, 50, 100, 150, 200, 250, 300, 400, 500, 600, 700, 800, UPPER)
"""Edges of the twelve classes."""

AREAS = 200
"""Number of made-up municipalities: nearest of so many people's cells (seed 2)."""

POLYGONS = {"discs of 50": 4, "discs of 200": 8, "discs of 800": 16, "discs of 3,200": 32,
            "discs of 12,800": 64}  # fmt: skip
"""Radii of discs in cells, by about how many cells they have; 60 around people's cells (seed 7)."""

DISCS = 60

MEANS = {
    "cells of 500 and more": ("cell", 500, 1 << 60, 0.3),
    "cells of 100 and more": ("cell", 100, 1 << 60, 0.85),
    "cells of 100 to 199": ("cell", 100, 200, 3.3),
    "1 km of 500 and more": ("1 km", 500, 1 << 60, 0.45),
    "8 km of 500 and more": ("8 km", 500, 1 << 60, 0.15),
    "municipalities": ("municipality", 500, 1 << 60, 0.03),
}
"""Classes of areas: which, from how many people to before how many, and the goal at epsilon 1."""

MEDIANS = {
    "4 km": (95.0, 0.3),
    "8 km": (None, None),
    "municipality": (99.0, 0.1),
}
"""Goals of the median's class and of the interpolated median, as above, of 500 people and more."""

SHARES = ("1/3", "2/5", "1/2", "3/5", "2/3")
"""Shares of sums in releases of means and medians."""


SIDES = {"cell": 1, "1 km": 2, "4 km": 8, "8 km": 16}

RELEASED = {"below 50": (1, 50), "50 to 499": (50, 500), "500 to 4,999": (500, 5000),
            "5,000 and more": (5000, 1 << 60)}  # fmt: skip
"""Classes of regions by their released records."""

REGION_SIDES, REGIONS, COVERED, COMPARED = (1, 2, 4, 8, 16), 60, 6, 2
"""Sides of squares whose intervals are measured, how many of each in a trial, and trials: of one
square, and of two."""

SIDE, WEST, EAST = 128, 32, 96
"""Side of the made-up maps of people who live alone, and between which rows and columns they do."""

RELEASES = 100
"""Releases of each such map."""

Dense = NDArray[np.int64]

Box = tuple[slice, slice]
"""Rows and columns of a square."""

WINDOW = (slice(64, 192), slice(0, 128))
"""Part of the map whose incomes are kept one by one: for Gini coefficients."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="directory of public statistics")
    parser.add_argument("--epsilon", type=rational, nargs="+", default=EPSILONS)
    parser.add_argument("--trials", type=int, default=20)
    add_parts(parser, PARTS)


@dataclass(frozen=True)
class Truth:
    """The amounts to release.

    Attributes
    ----------
    table : AmountTable
    number, total : int64[rows, columns]
        People, and their clipped incomes.
    unclipped : float64[rows, columns]
        Their incomes.
    classes : int64[rows, columns, 12]
    municipality : int64[rows, columns]
    """

    table: AmountTable
    number: Dense
    total: Dense
    unclipped: NDArray[np.float64]
    classes: Dense
    municipality: Dense

    @property
    def grid(self) -> geodp.Grid:
        """The grid."""
        return self.table.records.grid


def make_incomes(people: geodp.CountTable) -> Truth:
    """Make an income of everybody, from a public distribution and stated seeds."""
    number, grid = people.to_dense(), people.grid
    draw = np.random.default_rng(3)
    field = np.zeros(number.shape)
    for side, spread in ((number.shape[0] // 16, 0.25), (number.shape[0] // 128, 0.1), (1, 0.1)):
        side = max(side, 1)
        coarse = draw.normal(size=tuple(-(-size // side) for size in number.shape)) * spread
        field += np.kron(coarse, np.ones((side, side)))[: number.shape[0], : number.shape[1]]
    index = grid.decode(people.key)
    above, unclipped = np.zeros(people.key.size, np.int64), np.zeros(people.key.size)
    classes = np.zeros((people.key.size, len(EDGES) - 1), np.int64)
    for i, (size, mean) in enumerate(zip(people.count, field[tuple(index)], strict=True)):
        income = draw.lognormal(5.5 + mean, 0.7, size)
        counted = np.minimum(np.floor(income + 0.5).astype(np.int64), UPPER)
        above[i], unclipped[i] = counted.sum(), income.sum()
        at = np.minimum(np.searchsorted(EDGES, counted, "right") - 1, len(EDGES) - 2)
        classes[i] = np.bincount(at, minlength=len(EDGES) - 1)
    scale = Scale.of((0, UPPER), 1, "10,000 yen", "income")
    maps = tuple(geodp.CountTable.from_keys(grid, people.key, one) for one in classes.T)
    made = AmountTable(people, above, scale, (), EDGES, maps)
    total, raw = np.zeros_like(number), np.zeros(number.shape)
    total[tuple(index)], raw[tuple(index)] = above, unclipped
    dense = np.zeros((*number.shape, len(EDGES) - 1), np.int64)
    dense[tuple(index)] = classes
    return Truth(made, number, total, raw, dense, _municipalities(number))


def _municipalities(number: Dense) -> Dense:
    """Return the number of the nearest of ``AREAS`` cells with people."""
    from scipy.spatial import cKDTree

    occupied = np.argwhere(number > 0)
    weight = number[number > 0] / number.sum()
    few = min(AREAS, len(occupied))
    seeds = occupied[np.random.default_rng(2).choice(len(occupied), few, replace=False, p=weight)]
    nearest = cKDTree(seeds).query(np.argwhere(np.ones_like(number)))[1]
    return np.asarray(nearest.reshape(number.shape), np.int64)


def sum_areas(truth: Truth, values: NDArray[Any], area: str) -> NDArray[Any]:
    """Sum values of cells over areas: [areas] or [areas, classes]."""
    if area == "municipality":
        at, last = truth.municipality.ravel(), int(truth.municipality.max()) + 1
        columns = values.reshape(values.shape[0] * values.shape[1], -1)
        sums = [np.bincount(at, one, last) for one in columns.T]
        return np.stack(sums, axis=-1).reshape(last, *values.shape[2:])
    side = SIDES[area]
    rows, columns_of = (size // side for size in values.shape[:2])
    cut = values[: rows * side, : columns_of * side]
    sums_of = cut.reshape(rows, side, columns_of, side, *values.shape[2:]).sum(axis=(1, 3))
    return sums_of.reshape(rows * columns_of, *values.shape[2:])


Means = Callable[[Truth, Fraction, int], tuple[NDArray[Any], NDArray[Any]]]
"""Releases people and sums of cells; the last argument is the trial."""


def key_of(trial: int) -> NoiseKey:
    """Return the key of a trial."""
    return NoiseKey((5000 + trial).to_bytes(32, "little"))


def publish_amounts(
    truth: Truth, epsilon: Fraction, trial: int, **more: Any
) -> geodp.amounts.Amounts:
    """Publish people and incomes."""
    made = truth.table
    if not more.pop("classes", False):
        made = AmountTable(made.records, made.above, made.scale)
    return geodp.amounts.publish(made, epsilon=epsilon, contribution=1, key=key_of(trial), **more)


def by_streams(truth: Truth, epsilon: Fraction, trial: int) -> tuple[Dense, Dense]:
    """Release by ``geodp.amounts``."""
    release = publish_amounts(truth, epsilon, trial)
    assert release.sum is not None
    return release.count.table.to_dense(), release.sum.table.to_dense()


def by_halves(truth: Truth, epsilon: Fraction, trial: int) -> tuple[Dense, Dense]:
    """Release sums and counts with half of the budget each, as maps of counts."""
    # By hand, as wider noise than can be drawn is refused: sums of cells in tens.
    notch = 1 if epsilon >= 1 else 10
    total = geodp.CountTable.from_dense(truth.total // notch, truth.grid)
    half = {"epsilon": epsilon / 2, "key": key_of(trial)}
    sums = geodp.publish(total, contribution=UPPER // notch, **half)
    counts = geodp.publish(truth.table.records, contribution=1, **half)
    return counts.table.to_dense(), notch * sums.table.to_dense()


def noisy_cells(counts: Dense, scale: float) -> NDArray[np.float64]:
    """Add OpenDP's Laplace noise to every cell."""
    import opendp.prelude as dp

    # OpenDP requires consent to mechanisms that are not vetted.
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    noisy = dp.m.make_laplace(*space, scale=scale)(counts.ravel().tolist())
    return np.array(noisy, np.float64).reshape(counts.shape)


def by_opendp(
    truth: Truth, epsilon: Fraction, trial: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Release clipped sums and counts of every cell by OpenDP, with half of the budget each."""
    counts = noisy_cells(truth.number, float(2 / epsilon))
    return counts, noisy_cells(truth.total, float(2 * UPPER / epsilon))


def by_bounded_means(
    truth: Truth, epsilon: Fraction, trial: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Release every cell as the bounded mean of Google's library does, with OpenDP's noise.

    Half of the budget is for the count, and half for the sum of what amounts are above the middle
    of the clip, which one record changes by half of the clip at most.
    """
    counts = noisy_cells(truth.number, float(2 / epsilon))
    centred = noisy_cells(truth.total - UPPER // 2 * truth.number, float(UPPER / epsilon))
    return counts, centred + UPPER // 2 * counts


def by_cells(truth: Truth, epsilon: Fraction, trial: int) -> tuple[Dense, Dense]:
    """Release by ``geodp.amounts`` with the method that ``plan`` names for cells of dense maps."""
    people = float(truth.number.sum())
    found = find_dense_method(truth.grid, people=people, epsilon=1)
    # On small maps it names none.
    release = publish_amounts(truth, epsilon, trial, method=found and found[0])
    assert release.sum is not None
    return release.count.table.to_dense(), release.sum.table.to_dense()


METHODS: dict[str, Means] = {
    "geodp.amounts": by_streams,
    "geodp.amounts, for cells": by_cells,
    "sum and count, half each": by_halves,
    "OpenDP, per cell, half each": by_opendp,
    "bounded means, per cell": by_bounded_means,
}


def measure(
    data: Path | None = None,
    epsilon: tuple[Fraction, ...] = EPSILONS,
    trials: int = 20,
    parts: list[str] | None = None,
) -> dict[str, Any]:
    """Measure errors of means, sums and medians, coverage of intervals, and the cost.

    Of ``parts`` only, where these are named; others are taken from the saved figures.
    """
    chosen, saved = choose_parts(parts, PARTS, SAVED)
    result: dict[str, Any] = {name: saved.get(name, []) for name in ("settings", *PARTS)}
    once: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
        "cost": lambda: measure_cost(data),
        "alone": lambda: (row for one in epsilon for row in cover_alone(one, RELEASES)),
    }
    result |= {part: [*once[part]()] for part in chosen if part in once}
    if {*chosen} <= {*once}:
        return result
    truth = make_incomes(load("kanto", data))
    each: dict[str, Callable[[Fraction], Any]] = {
        "means": lambda one: measure_means(truth, one, trials),
        "sums": lambda one: measure_sums(truth, one, trials),
        "medians": lambda one: measure_medians(truth, one, trials),
        "coverage": lambda one: cover(truth, one, min(trials, COVERED)),
        "differences": lambda one: cover_differences(truth, one, min(trials, COMPARED)),
    }
    for part in chosen:
        if part in each:
            more = LARGE if part == "coverage" else ()
            result[part] = [row for one in (*epsilon, *more) for row in each[part](one)]
    if "shares" in chosen:
        result["shares"] = [*measure_shares(truth, trials)]
    if parts is None:
        people = int(truth.number.sum())
        whole, cut = (float(one.sum() / people) for one in (truth.unclipped, truth.total))
        result["settings"] = {"trials": trials, "mean": whole, "clipped": cut, "people": people}
    return result


def measure_means(truth: Truth, epsilon: Fraction, trials: int) -> list[dict[str, Any]]:
    """Measure the errors of means by every method."""
    errors: dict[tuple[str, str], list[float]] = {}
    clip: dict[str, float] = {}
    for trial in range(trials):
        for name, method in METHODS.items():
            number, total = method(truth, epsilon, trial)
            for area in MEANS:
                error, of_raw = judge_means(truth, area, number, total)
                errors.setdefault((area, name), []).append(error)
                clip[area] = of_raw if name == "geodp.amounts" else clip[area]
    return [
        {"epsilon": str(epsilon), "areas": area, "goal": goal if epsilon == 1 else None}
        | {name: float(np.mean(errors[area, name])) for name in METHODS}
        | {"of the unclipped mean": clip[area]}
        for area, (*_, goal) in MEANS.items()
    ]


def judge_means(
    truth: Truth, area: str, number: NDArray[Any], total: NDArray[Any]
) -> tuple[float, float]:
    """Return the median errors of means of areas, of the clipped and of the unclipped truth."""
    kind, low, high, _ = MEANS[area]
    people = sum_areas(truth, truth.number, kind)
    some = (people >= low) & (people < high)
    n, s = (sum_areas(truth, one, kind)[some] for one in (number, total))
    mean = np.clip(s / np.maximum(n, 1e-9), 0, UPPER)
    exact = (sum_areas(truth, one, kind)[some] for one in (truth.total, truth.unclipped))
    clipped, raw = (
        100 * float(np.median(np.abs(mean / (one / people[some]) - 1))) for one in exact
    )
    return clipped, raw


def draw_discs(truth: Truth, radius: int) -> list[tuple[Dense, Dense]]:
    """Draw discs around people's cells: rows and columns of their cells."""
    draw, occupied = np.random.default_rng(7), np.argwhere(truth.number > 0)
    rows, columns = np.mgrid[-radius : radius + 1, -radius : radius + 1]
    inside = rows**2 + columns**2 <= radius**2
    discs = []
    for centre in occupied[draw.integers(0, len(occupied), DISCS)]:
        at = np.stack([rows[inside] + centre[0], columns[inside] + centre[1]])
        fits = ((at >= 0) & (at < np.array(truth.number.shape)[:, None])).all(axis=0)
        discs.append((at[0][fits], at[1][fits]))
    return discs


def measure_sums(truth: Truth, epsilon: Fraction, trials: int) -> list[dict[str, Any]]:
    """Measure errors of sums of cells, squares and discs, beside those of OpenDP's sums."""
    areas: dict[str, Callable[[NDArray[Any]], NDArray[Any]]] = {
        name: lambda x, name=name: sum_areas(truth, x, name) for name in ("cell", "1 km", "8 km")
    }
    for name, radius in POLYGONS.items():
        discs = draw_discs(truth, radius)
        areas[name] = lambda x, discs=discs: np.array([x[at].sum() for at in discs])
    errors: dict[tuple[str, str], list[float]] = {}
    for trial in range(trials):
        ours = by_streams(truth, epsilon, trial)[1] - truth.total
        theirs = noisy_cells(truth.total, float(UPPER / epsilon)) - truth.total
        for name, add in areas.items():
            for who, error in (("geodp.amounts", ours), ("OpenDP", theirs)):
                errors.setdefault((name, who), []).append(float(np.abs(add(error)).mean()))
    goals = {"cell": 1.03, "1 km": 1.03, "discs of 800": 0.7, "discs of 3,200": 0.7,
             "discs of 12,800": 0.45}  # fmt: skip
    found = []
    for name in areas:
        ours_of, theirs_of = (float(np.mean(errors[name, w])) for w in ("geodp.amounts", "OpenDP"))
        found.append(
            {"epsilon": str(epsilon), "areas": name, "goal": goals.get(name),
             "ratio": ours_of / theirs_of, "geodp.amounts": ours_of, "OpenDP": theirs_of}
        )  # fmt: skip
    return found


def find_medians(classes: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the class of the median of areas, and the interpolated median."""
    edges, reached = np.array(EDGES, np.float64), np.cumsum(classes, axis=-1)
    half = reached[:, -1:] / 2
    at = np.minimum((reached < half).sum(axis=1), len(EDGES) - 2)
    before = np.concatenate([np.zeros((len(at), 1)), reached], axis=1)[np.arange(len(at)), at]
    inside = np.maximum(classes[np.arange(len(at)), at], 1e-9)
    part = np.clip((half[:, 0] - before) / inside, 0, 1)
    return at, edges[at] + part * (edges[at + 1] - edges[at])


def measure_medians(truth: Truth, epsilon: Fraction, trials: int) -> list[dict[str, Any]]:
    """Measure medians from classes alone, and from classes beside means."""
    figures: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for trial in range(trials):
        for name, means in (("alone", False), ("with means", True)):
            release = publish_amounts(truth, epsilon, trial, classes=True, means=means)
            for area, judged in judge_medians(truth, release).items():
                figures.setdefault((area, name), []).append(judged)
    found = []
    for area, (of_class, of_median) in MEDIANS.items():
        row: dict[str, Any] = {"epsilon": str(epsilon), "areas": area}
        for name in ("alone", "with means"):
            right, error = np.mean(figures[area, name], axis=0)
            row |= {f"class, {name}": float(right), f"median, {name}": float(error)}
        goals = (of_class, of_median) if epsilon == 1 else (None, None)
        found.append(row | {"goal of class": goals[0], "goal of median": goals[1]})
    return found


def judge_medians(truth: Truth, release: geodp.amounts.Amounts) -> dict[str, tuple[float, float]]:
    """Return the per cent of areas whose median class is right, and the median error of medians."""
    dense, found = np.stack([one.to_dense() for one in release.classes], axis=-1), {}
    for area in MEDIANS:
        some = sum_areas(truth, truth.number, area) >= 500
        at, median = find_medians(sum_areas(truth, dense, area)[some])
        true_at, true = find_medians(sum_areas(truth, truth.classes, area)[some])
        error = 100 * float(np.median(np.abs(median / true - 1)))
        found[area] = 100 * float((at == true_at).mean()), error
    return found


def measure_shares(truth: Truth, trials: int) -> Iterator[dict[str, Any]]:
    """Yield the errors of medians and means of one release at epsilon 1, by the share of sums."""
    for part in SHARES:
        rows: list[list[float]] = []
        for trial in range(trials):
            release = publish_amounts(truth, Fraction(1), trial, classes=True, share=part)
            assert release.sum is not None
            maps = release.count.table.to_dense(), release.sum.table.to_dense()
            medians = judge_medians(truth, release)
            row = [medians["4 km"][0], *(error for _, error in medians.values())]
            rows.append(row + [judge_means(truth, area, *maps)[0] for area in MEANS])
        names = ["class, 4 km", *(f"median, {area}" for area in MEDIANS), *MEANS]
        yield {"share of sums": part} | dict(
            zip(names, map(float, np.mean(rows, axis=0)), strict=True)
        )


NAMES = ("count", "sum", "mean", "median")
"""Numbers whose intervals are measured; medians are those of a release of classes alone."""


def cover(truth: Truth, epsilon: Fraction, trials: int) -> Iterator[dict[str, Any]]:
    """Yield how often intervals of squares hold the truth, by their released records."""
    held: dict[str, list[list[bool | None]]] = {name: [] for name in RELEASED}
    single: list[list[bool | None]] = []
    for trial in range(trials):
        found = [*hold(truth, epsilon, 1000 + trial, draw_squares(truth, trial))]
        # Squares are drawn in the order of their sides, the first ones of a cell each.
        single += [shown for released, shown in found[:REGIONS] if released]
        for released, shown in found:
            for name, (low, high) in RELEASED.items():
                if low <= released < high:
                    held[name].append(shown)
    for name, rows in (*held.items(), ("single cells", single)):
        yield (
            {"epsilon": str(epsilon), "released records": name, "squares": len(rows)} | share(rows)
        )


def hold(
    truth: Truth,
    epsilon: Fraction,
    trial: int,
    boxes: list[tuple[slice, slice]],
    interval: str = USUAL,
) -> Iterator[tuple[float, list[bool | None]]]:
    """Yield the released records of squares, and which of their intervals hold the truth."""
    both = publish_amounts(truth, epsilon, trial)
    medians = publish_amounts(truth, epsilon, trial, classes=True, means=False)
    regions = [Region.of_map(truth.grid, *np.mgrid[box].reshape(2, -1)) for box in boxes]
    found = (release.estimate_all(regions, interval=interval) for release in (both, medians))
    for one, other, box in zip(*found, boxes, strict=True):
        n, s = int(truth.number[box].sum()), int(truth.total[box].sum())
        shown: list[bool | None] = [
            one.count.low <= n <= one.count.high,
            one.sum is not None and one.sum.low <= s <= one.sum.high,
            None if one.mean is None or not n else one.mean.low <= s / n <= one.mean.high,
        ]
        median = find_medians(truth.classes[box].sum(axis=(0, 1))[None])[1][0]
        ends = other.median
        shown.append(None if ends is None or not n else ends.low <= median <= ends.high)
        yield one.count.count, shown


def share(rows: list[list[bool | None]]) -> dict[str, float | None]:
    """Return the shares of intervals that hold the truth, and of numbers with an interval."""
    known = {name: [r[i] for r in rows if r[i] is not None] for i, name in enumerate(NAMES)}
    held = {name: float(np.mean(one)) if one else None for name, one in known.items()}
    part = {f"{n}s known": len(known[n]) / len(rows) if rows else None for n in NAMES[2:]}
    return held | part


def find_pairs(truth: Truth, trial: int) -> Iterator[tuple[str, tuple[Box, Box]]]:
    """Yield pairs of squares: one beside the other, and one anywhere else."""
    boxes = draw_squares(truth, trial)
    last = truth.number.shape[1]
    for one, other in zip(boxes, boxes[1:] + boxes[:1], strict=True):
        rows, columns = one
        side = columns.stop - columns.start
        if columns.stop + side <= last:
            yield "neighbours", (one, (rows, slice(columns.stop, columns.stop + side)))
        if any(a.stop <= b.start or b.stop <= a.start for a, b in zip(one, other, strict=True)):
            yield "apart", (one, other)


def cover_differences(truth: Truth, epsilon: Fraction, trials: int) -> Iterator[dict[str, Any]]:
    """Yield how often intervals of differences hold, by the released records of the smaller."""
    held: dict[tuple[str, str], list[list[bool | None]]] = {}
    for trial in range(trials):
        means = publish_amounts(truth, epsilon, 3000 + trial)
        medians = publish_amounts(truth, epsilon, 3000 + trial, classes=True, means=False)
        for where, pair in find_pairs(truth, trial):
            regions = [Region.of_map(truth.grid, *np.mgrid[box].reshape(2, -1)) for box in pair]
            name = name_of(min(one.count.count for one in means.estimate_all(regions)))
            if name is None:
                continue
            found = means.compare(*regions), medians.compare(*regions)
            exact = [truth_of_box(truth, box) for box in pair]
            row: list[bool | None] = []
            for number in NAMES:
                one = found[number == "median"].get(number)
                known = one is not None and None not in (exact[0][number], exact[1][number])
                row.append(
                    one.low <= exact[1][number] - exact[0][number] <= one.high if known else None
                )
            held.setdefault((where, name), []).append(row)
    for (where, name), rows in sorted(
        held.items(), key=lambda one: (one[0][0], [*RELEASED].index(one[0][1]))
    ):
        first = {"epsilon": str(epsilon), "squares": where, "released records": name}
        yield first | {"pairs": len(rows)} | share(rows)


def truth_of_box(truth: Truth, box: Box) -> dict[str, Any]:
    """Return the numbers of a square; a mean and a median of nobody are None."""
    n, s = int(truth.number[box].sum()), int(truth.total[box].sum())
    median = find_medians(truth.classes[box].sum(axis=(0, 1))[None])[1][0] if n else None
    return {"count": n, "sum": s, "mean": s / n if n else None, "median": median}


def name_of(released: float) -> str | None:
    """Return the class of a number of released records; None where there are none."""
    return next((name for name, (low, high) in RELEASED.items() if low <= released < high), None)


def list_alone() -> Iterator[tuple[str, Dense, NDArray[Any], list[tuple[slice, slice]]]]:
    """Yield made-up maps of people who live alone: name, cells and amounts of records, squares."""
    draw, quarter = np.random.default_rng(11), slice(WEST, EAST)
    one = [(slice(60, 61), slice(60, 61))]
    for size in (10, 30, 100, 300):
        cells = np.full((2, size), 60)
        yield f"one cell of {size}", cells, draw.lognormal(5.5, 0.7, size), one
    lattice = np.mgrid[WEST:EAST:2, WEST:EAST:2].reshape(2, -1)
    incomes = draw.lognormal(5.5, 0.7, lattice.shape[1])
    yield "one in every 4th cell", lattice, incomes, [(quarter, quarter)]
    villages = np.mgrid[WEST:EAST:8, WEST:EAST:8].reshape(2, -1)
    boxes = [(slice(r, r + 1), slice(c, c + 1)) for r, c in villages.T.tolist()]
    cells = np.repeat(villages, 40, axis=1)
    yield "villages of 40", cells, draw.lognormal(5.5, 0.7, cells.shape[1]), boxes
    whole = [(quarter, quarter)]
    cells = np.repeat(lattice[:, ::8], 3, axis=1)
    yield "3 rich in every 32nd cell", cells, np.full(cells.shape[1], float(UPPER)), whole
    cells = np.repeat(np.mgrid[WEST:EAST, WEST:EAST].reshape(2, -1), 50, axis=1)
    earns = (cells % 8 == 0).all(axis=0)
    yield "one cell in 64 earns", cells, np.where(earns, 0.9 * UPPER, 0.0), boxes


def cover_alone(epsilon: Fraction, trials: int) -> Iterator[dict[str, Any]]:
    """Yield how often intervals hold where people live alone, or amounts lie alone."""
    for name, cells, incomes, boxes in list_alone():
        truth = truth_of(cells, incomes)
        rows: dict[str, list[list[bool | None]]] = {USUAL: [], WORST_CASE: []}
        # Many squares of one map need fewer releases.
        for trial in range(max(trials // len(boxes), trials // 5)):
            for interval, each in rows.items():
                each += [one for _, one in hold(truth, epsilon, 2000 + trial, boxes, interval)]
        first = {"epsilon": str(epsilon), "map": name, "intervals": len(rows[USUAL])}
        bound = {f"{part}, worst case": value for part, value in share(rows[WORST_CASE]).items()}
        yield first | share(rows[USUAL]) | bound


def truth_of(cells: Dense, incomes: NDArray[Any]) -> Truth:
    """Make the truth of records; ``cells``: int64[2, n], rows and columns."""
    shape = (SIDE, SIDE)
    counted = np.minimum(np.floor(incomes + 0.5).astype(np.int64), UPPER)
    at = np.minimum(np.searchsorted(EDGES, counted, "right") - 1, len(EDGES) - 2)
    number, total = np.zeros((2, *shape), np.int64)
    raw, classes = np.zeros(shape), np.zeros((*shape, len(EDGES) - 1), np.int64)
    for into, place, value in ((number, cells, 1), (total, cells, counted), (raw, cells, incomes),
                               (classes, (*cells, at), 1)):  # fmt: skip
        np.add.at(into, tuple(place), value)
    grid = geodp.Grid.regular(shape)
    people = geodp.CountTable.from_dense(number, grid)
    maps = tuple(geodp.CountTable.from_dense(one, grid) for one in np.moveaxis(classes, -1, 0))
    above = total[tuple(grid.decode(people.key))]
    scale = Scale.of((0, UPPER), 1, "10,000 yen", "income")
    table = AmountTable(people, above, scale, (), EDGES, maps)
    return Truth(table, number, total, raw, classes, np.zeros(shape, np.int64))


def draw_squares(truth: Truth, trial: int) -> list[tuple[slice, slice]]:
    """Draw squares around cells with people."""
    draw, occupied = np.random.default_rng(trial), np.argwhere(truth.number > 0)
    boxes = []
    for side in REGION_SIDES:
        corners = occupied[draw.integers(0, len(occupied), REGIONS)] - draw.integers(0, side)
        limit = np.array(truth.number.shape) - side
        for row, column in np.clip(corners, 0, limit).tolist():
            boxes.append((slice(row, row + side), slice(column, column + side)))
    return boxes


def measure_cost(data: Path | None, repeats: int = 9) -> Iterator[dict[str, Any]]:
    """Yield the times of releases, in that of one map of counts, on two domains."""
    scale = Scale.of((0, UPPER), 1, "10,000 yen", "income")
    for name in ("kanto", "japan"):
        people = load(name, data)
        parts = np.random.default_rng(1).multinomial(people.count, [1 / 12] * 12).T
        maps = tuple(geodp.CountTable.from_keys(people.grid, people.key, one) for one in parts)
        plain = AmountTable(people, 300 * people.count, scale)
        classes = AmountTable(people, plain.above, scale, (), EDGES, maps)
        runs = {
            "a map of counts": partial(geodp.publish, people),
            "sums and means": partial(geodp.amounts.publish, plain),
            "12 classes": partial(geodp.amounts.publish, classes, means=False),
        }
        seconds = dict.fromkeys(runs, float("inf"))
        for trial in range(repeats + 1):
            for run, release in runs.items():
                begun = time.perf_counter()
                release(epsilon=1, contribution=1, key=key_of(trial))
                # The first run fills caches, which all later ones use.
                if trial:
                    seconds[run] = min(seconds[run], time.perf_counter() - begun)
        goals = {"sums and means": 2.5, "12 classes": 13.0}
        for run, second in seconds.items():
            ratio = second / seconds["a map of counts"]
            yield {"domain": name, "cells": people.grid.size, "release": run, "seconds": second,
                   "maps of counts": ratio, "goal": goals.get(run)}  # fmt: skip


PARTS = ("means", "sums", "medians", "shares", "coverage", "alone", "differences", "cost")
"""Tables of the document, by their markers."""


def show(result: dict[str, Any]) -> str:
    """Format all tables."""
    one = result["settings"]
    bias = 100 * (1 - one["clipped"] / one["mean"])
    caption = (
        f"{one['trials']} trials; mean income {one['mean']:.1f}, clipped {one['clipped']:.1f}: the "
        f"clip alone costs {bias:.1f} %"
    )
    return "\n\n".join([caption, *(table(lines(part, result)) for part in PARTS)])


def lines(part: str, result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the lines of a table."""
    rows: list[dict[str, Any]] = result[part]
    shares: tuple[str, ...] = (*NAMES, "means known", "medians known")
    if part not in ("coverage", "alone", "differences"):
        return rows
    first = ("epsilon", "map", "intervals", "squares", "released records", "pairs")
    if part == "alone":
        shares = (*shares, *(f"{name}, worst case" for name in NAMES))
    return [
        {name: value for name, value in row.items() if name in first}
        | {n: "-" if row[n] is None else f"{row[n]:.1%}" for n in shares}
        for row in rows
    ]


def excerpts(result: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Build the document's tables: of coverage, the least over all budgets."""
    held = (*NAMES, "means known", "medians known")
    lowest = {
        part: lines(part, {part: least(result[part], ["released records"], held)})
        for part in ("coverage", "differences")
    }
    sums: dict[str, dict[str, Any]] = {}
    for row in result["sums"]:
        line = sums.setdefault(row["areas"], {"areas": row["areas"], "goal": row["goal"]})
        line[f"ratio at {row['epsilon']}"] = row["ratio"]
    kept = ("share of sums", "median, 4 km", "cells of 500 and more", "8 km of 500 and more")
    return {
        "means": [row for row in result["means"] if row["areas"] != "cells of 100 to 199"],
        "sums": [*sums.values()],
        "medians": [row for row in result["medians"] if row["areas"] != "8 km"],
        "shares": [{name: row[name] for name in kept} for row in result["shares"]],
        **lowest,
        "alone": [
            {name: line[name] for name in ("epsilon", "map", "count", "sum", "mean")}
            | {"worst case, least": f"{lowest_of(row):.1%}"}
            for row, line in zip(result["alone"], lines("alone", result), strict=True)
        ],
        "cost": excerpt(result["cost"], without=["cells"]),
    }


def lowest_of(row: dict[str, Any]) -> float:
    """Return the least share of worst-case intervals that hold, of all numbers."""
    shares = (row[f"{name}, worst case"] for name in NAMES)
    return min(share for share in shares if share is not None)


def marks(part: str) -> tuple[str, str]:
    """Return the markers around a table of the document."""
    return f"<!-- bench:amounts:{part} -->", f"<!-- /bench:amounts:{part} -->"


def fill_document() -> dict[str, Any]:
    """Fill the document's tables with the saved figures, and return those."""
    result: dict[str, Any] = json.loads(SAVED.read_text(encoding="utf-8"))
    for part, rows in excerpts(result).items():
        fill(DOCUMENT, marks(part), markdown(rows))
    return result
