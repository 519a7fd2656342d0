"""How close any pyramid comes to the targets of the default on the maps that gain least."""

from __future__ import annotations

import argparse
import json
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np

import geodp
from bench.inputs import derived
from bench.inputs.families import Family, draw_families
from bench.measure.regions import MapDifference
from bench.measure.shares import Levels
from bench.measure.simulation import FRESH, ErrorRatio, PlanSimulation, Simulated
from bench.suites.methods import names
from bench.suites.shares import DOCUMENT, TARGETS
from bench.suites.shares_bound import MAX_RELATIVE_ERROR, PAPER, first_large
from bench.tables import excerpt, fill_saved, markdown, table
from geodp.grid.grid import Grid
from geodp.mechanisms import mechanism
from geodp.privacy.loss import rational
from geodp.privacy.terms import Terms
from geodp.table.proxy import Proxy

TITLE = """\
Mean absolute errors over those of the paper's method, of random pyramids, on the sparsest maps.
  limit             1.1 times what is asked of the default's mean over all maps
  pyramids below    the limit, of all that were tried
  below all         and below the limits of all these regions at once
  best              pyramid of these regions, by as many other releases
  cells, at best    nothing but cells measured, with the whole budget, by who knows how many cells
                    have how many people: the median of those that a noisy count speaks of"""

MAPS = ["samoa-100m", "europe-2018-9-8"]
"""Maps on which the default is above 1.1 times the target of its mean."""

OBJECTIVES = ("cells", "polygons", "municipalities", "rectangles")
WITH_SQUARES = (*OBJECTIVES, "squares")
WIDEST = 8
"""Bits of the widest level that is tried."""

PRUNED = ("", "1", "2", "3", "4")
"""Noise scales below which children are dropped, one after another."""

SEED = 20190601
SAVED = Path(__file__).parents[1] / "results" / "sparsest.json"
MARKS = ("<!-- bench:sparsest -->", "<!-- /bench:sparsest -->")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="directory of public statistics")
    parser.add_argument("--maps", type=names, default=MAPS, metavar="A;B")
    parser.add_argument("--epsilon", default="0.1")
    parser.add_argument("--plans", type=int, default=300, help="random pyramids")
    parser.add_argument("--trials", type=int, default=3, help="releases of each plan")


def measure(
    data: Path | None, maps: list[str], epsilon: str, plans: int, trials: int
) -> dict[str, Any]:
    """Measure a row for each map and family of regions, and list every pyramid that was tried.

    Saved figures of other maps stay.
    """
    rows, tried = _saved(set(maps))
    for name in maps:
        source = derived.load(name, data)
        map_rows, pyramids = _measure_map(source, name, epsilon, plans, trials)
        rows += map_rows
        tried += [{"map": name, **pyramid} for pyramid in pyramids]
    settings = {"epsilon": epsilon, "trials": trials}
    return {**settings, "rows": rows, "tried": tried}


def compare(
    source: geodp.CountTable, name: str, specs: list[str], epsilon: str, trials: int
) -> list[dict[str, float]]:
    """Measure ratios of some methods to the paper's, by family, and the largest of aligned blocks.

    ``trials``: a third of the releases of each.
    """
    grid, proxy, terms = source.grid, Proxy(source, name), Terms.of(epsilon=epsilon, contribution=1)
    families = draw_families(WITH_SQUARES, grid, proxy)
    simulation, blocks = PlanSimulation(proxy, families), len(families[-1].groups)

    def run(spec: str, often: int) -> Simulated:
        method = mechanism(spec)
        return simulation.run(method, method.event(grid, terms), range(FRESH, FRESH + often))

    paper, table_rows = run(PAPER, 8 * trials), []
    for spec in specs:
        ratios = ErrorRatio.all_of(run(spec, 3 * trials), paper)
        mean = by_family(families, np.array([ratio.mae for ratio in ratios]))
        reliable = [
            ratio.largest if ratio.mae_error < MAX_RELATIVE_ERROR * ratio.mae else 0.0
            for ratio in ratios
        ]
        largest = {
            "largest": max(reliable[-blocks:][: first_large(blocks - 1)]),
            "of all": max(reliable[-blocks:]),
        }
        table_rows.append({kind: mean[kind] for kind in [*TARGETS, "rectangles"]} | largest)
    return table_rows


def _saved(remeasured: set[str]) -> tuple[list[dict[str, Any]], ...]:
    """Load the saved figures of the document's maps that are not measured again."""
    saved = json.loads(SAVED.read_text(encoding="utf-8"))
    # Maps that are no longer in the document are dropped.
    others, parts = set(MAPS) - remeasured, ("rows", "tried")
    return tuple([row for row in saved[part] if row["map"] in others] for part in parts)


def _measure_map(
    source: geodp.CountTable, name: str, epsilon: str, plans: int, trials: int
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Measure rows of one map, and every pyramid that was tried on it."""
    grid, proxy = source.grid, Proxy(source, name)
    families = draw_families(OBJECTIVES, grid, proxy)
    simulation, terms = PlanSimulation(proxy, families), Terms.of(epsilon=epsilon, contribution=1)

    def errors(spec: str, first: int, often: int) -> dict[str, float]:
        method = mechanism(spec)
        simulated = simulation.run(method, method.event(grid, terms), range(first, first + often))
        return by_family(families, simulated.mae)

    paper, default = (errors(spec, FRESH, 4 * trials) for spec in (PAPER, "pyramid"))
    random = np.random.default_rng(SEED)
    specs = [draw_plan(grid, random, PRUNED[i % len(PRUNED)]) for i in range(plans)]
    tried = [{"spec": spec, **_over(errors(spec, 0, trials), paper)} for spec in specs]
    zeros, lowest = _over(errors_of_zeros(source, families), paper), min_error(source, epsilon)
    rows = []
    for kind in TARGETS:
        best = min(tried, key=lambda pyramid: pyramid[kind])
        # The best of many tried pyramids looks better than it is on the releases that chose it.
        remeasured = errors(best["spec"], FRESH, trials)
        rows.append(
            {
                "map": name,
                "regions": kind,
                "limit": limit_of(kind),
                "pyramids below": sum(pyramid[kind] < limit_of(kind) for pyramid in tried),
                "below all": sum(
                    all(pyramid[k] < limit_of(k) for k in TARGETS) for pyramid in tried
                ),
                "of": len(tried),
                "default": default[kind] / paper[kind],
                "best": remeasured[kind] / paper[kind],
                "best pyramid": best["spec"],
                "its others": {k: v for k, v in _over(remeasured, paper).items() if k != kind},
                "zeros": zeros[kind],
                "cells, at best": lowest / paper[kind] if kind == "cells" else None,
            }
        )
    return rows, tried


def limit_of(kind: str) -> float:
    """Return the limit that no map's ratio should exceed."""
    return 1.1 * TARGETS[kind]


def by_family(families: tuple[Family, ...], groups: Any) -> dict[str, float]:
    """Compute geometric means over the groups of every family."""
    ends = [0, *accumulate(len(family.groups) for family in families)]
    parts = zip(families, pairwise(ends), strict=True)
    return {family.name: float(np.exp(np.log(groups[a:b]).mean())) for family, (a, b) in parts}


def _over(errors: dict[str, float], others: dict[str, float]) -> dict[str, float]:
    return {name: error / others[name] for name, error in errors.items()}


def draw_plan(grid: Grid, random: np.random.Generator, prune: str) -> str:
    """Draw levels of 2 bits or more and log-normal shares, each at least 2 %."""
    steps: list[int] = []
    while (rest := grid.bits - sum(steps)) > 0:
        steps.append(int(random.integers(min(2, rest), min(WIDEST, rest) + 1)))
    plan = Levels.of(steps, np.exp(random.normal(0, 1, len(steps) + 1)).tolist())
    return plan.spec + (f",prune={prune}" if prune else "")


def errors_of_zeros(source: geodp.CountTable, families: tuple[Family, ...]) -> dict[str, float]:
    """Compute the mean absolute errors of publishing that all cells are empty."""
    difference = MapDifference(
        source.grid, source.key, source.count.astype(float), -source.count.astype(float)
    )
    groups = [group for family in families for group in family.groups]
    errors = [np.abs(group.sums(difference)[1]).sum() for group in groups]
    cells = [group.count(source.grid) for group in groups]
    return by_family(families, np.array(errors) / cells)


def min_error(source: geodp.CountTable, epsilon: str) -> float:
    """Compute the smallest mean absolute error of cells with the entire budget's noise on each.

    With knowledge of how many cells have how many people, but not of where, it is best to publish
    the median of the counts given a noisy one: by Bayes' rule no other number has a smaller error.
    """
    count, often = np.unique(source.count, return_counts=True)
    # Empty cells are candidates for the median as well.
    count, often = np.append(0, count), np.append(source.grid.size - source.count.size, often)
    decay = np.exp(-float(rational(epsilon)))
    # Beyond this distance the noise has a probability below exp(-40).
    reach = int(np.ceil(40 / float(rational(epsilon))))
    noisy = np.arange(-reach, int(count[-1]) + reach + 1)
    # The discrete Laplace law of a noisy count, by true count.
    law = (1 - decay) / (1 + decay) * decay ** np.abs(noisy[:, None] - count)
    weight = law * often
    median = (weight.cumsum(axis=1) >= weight.sum(axis=1, keepdims=True) / 2).argmax(axis=1)
    error = weight * np.abs(count - count[median][:, None])
    return float(error.sum() / source.grid.size)


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of the document's table."""
    table_lines = []
    for row in result["rows"]:
        others = ", ".join(f"{name} {ratio:.2f}" for name, ratio in row["its others"].items())
        lowest = row["cells, at best"]
        table_lines.append(
            {
                "map": row["map"],
                "regions": row["regions"],
                "limit": f"{row['limit']:.2f}",
                "pyramids below": f"{row['pyramids below']} of {row['of']}",
                "below all": f"{row['below all']} of {row['of']}",
                "default": f"{row['default']:.2f}",
                "best": f"{row['best']:.2f}: `{row['best pyramid']}` ({others})",
                "zeros": f"{row['zeros']:.2f}",
                "cells, at best": "" if lowest is None else f"{lowest:.2f}",
            }
        )
    return table_lines


def show(result: dict[str, Any]) -> str:
    """Format maps and families of regions."""
    return table(lines(result))


def fill_document() -> dict[str, Any]:
    """Fill the document's table with the saved figures, and return those."""
    return fill_saved(SAVED, DOCUMENT, MARKS, section)


def section(result: dict[str, Any]) -> str:
    """Format the document's table, without the best pyramids."""
    best = {(row["map"], row["regions"]): f"{row['best']:.2f}" for row in result["rows"]}
    rows = [row | {"best": best[row["map"], row["regions"]]} for row in lines(result)]
    return markdown(excerpt(rows, without=["below all"]))
