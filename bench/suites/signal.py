"""Possible gain of the default if its plan also depended on people a cell times epsilon."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.inputs import derived
from bench.inputs.families import draw_families
from bench.measure.shares import Levels
from bench.measure.simulation import FRESH, ErrorRatio, PlanSimulation
from bench.suites.methods import names
from bench.suites.shares import DOCUMENT, OBJECTIVES, limits_of
from bench.suites.shares_bound import ENOUGH, LARGE, PAPER, SMALL, first_large
from bench.suites.sparsest import by_family
from bench.tables import excerpt, fill_saved, markdown, table
from geodp.grid.grid import Grid
from geodp.mechanisms import mechanism
from geodp.mechanisms.trees.levels import default_levels
from geodp.privacy.terms import Terms
from geodp.table.proxy import Proxy

TITLE = """\
The default, and the best of random pyramids within its bound on aligned blocks, each searched on
the very map: more than rows by signal could ever give. Geometric means over cells, polygons,
municipalities, rectangles and squares of mean absolute errors over those of the paper's method.
  signal          epsilon times the people of a cell
  best, elsewhere of the pyramids that were found on other maps of as many cells, the best here"""

CASES = [
    *("samoa-100m:0.1", "europe-2018-9-8:0.1", "hiroshima-2020:0.1", "kanto:0.1"),
    *("germany-1km:1", "flow:0.1"),
]
"""Maps and budgets, from the weakest signal to the strongest."""

TRIED, REMEASURED = 2, 24
"""Releases of every pyramid, and of those that are measured again."""

AGAIN = 12
"""Number of pyramids that are measured again."""

MIN_SHARE = 0.01
"""Share of the budget that a level gets before its random factor."""

SEED = 20261125
SAVED = Path(__file__).parents[1] / "results" / "signal.json"
MARKS = ("<!-- bench:signal -->", "<!-- /bench:signal -->")

Floats = NDArray[np.float64]


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="directory of public statistics")
    parser.add_argument("--cases", type=names, default=CASES, metavar="MAP:EPSILON;...")
    parser.add_argument("--plans", type=int, default=200, help="random pyramids of each")


def measure(data: Path | None, cases: list[str], plans: int) -> dict[str, Any]:
    """Measure a row for each map and budget."""
    maps = [Case(name, data) for name in cases]
    best = {case.name: case.search(plans) for case in maps}
    return {"plans": plans, "rows": [case.row(best) for case in maps]}


class Case:
    """A map, a budget, and the errors of the paper's method on it."""

    def __init__(self, case: str, data: Path | None) -> None:
        self.name, self.epsilon = case.split(":")
        source = derived.load(self.name, data)
        self.grid = source.grid
        self.signal = float(self.epsilon) * float(source.count.sum()) / self.grid.size
        proxy = Proxy(source, self.name)
        self.families = draw_families(OBJECTIVES, self.grid, proxy)
        self.simulation = PlanSimulation(proxy, self.families)
        self.paper = self._run(PAPER, FRESH, REMEASURED)

    def search(self, plans: int) -> str:
        """Find the best of random pyramids on this map."""
        random = np.random.default_rng(SEED)
        tried = draw_plans(self.grid, random)
        specs = [next(tried) for _ in range(plans)]
        # A cheap first pass selects the plans that are worth many releases.
        first = sorted(specs, key=lambda spec: self.value(spec, 0, TRIED)[0])
        return min(first[:AGAIN], key=lambda spec: self.value(spec, TRIED, REMEASURED)[0])

    def row(self, best: dict[str, str]) -> dict[str, Any]:
        """Measure the default and the best pyramids, on releases that were not searched with."""
        here = {
            name: self.value(spec, FRESH, REMEASURED) for name, spec in self._fitting(best).items()
        }
        _, default = self.value("pyramid", FRESH, REMEASURED)
        # Pyramids of other maps show what a shared choice by signal could reach.
        others = [(v, spec) for (v, spec) in here.values() if spec is not here[self.name][1]]
        elsewhere = min(others, key=lambda pair: pair[0])[1]["mean"] if others else None
        return {
            "map": self.name,
            "n": f"2^{self.grid.bits}",
            "epsilon": self.epsilon,
            "signal": self.signal,
            "default": default,
            "best": here[self.name][1],
            "elsewhere": elsewhere,
            "pyramid": best[self.name],
        }

    def value(self, spec: str, first: int, often: int) -> tuple[float, dict[str, float]]:
        """Compute the value to minimise, and ratios by family with their mean."""
        ratios = ErrorRatio.all_of(self._run(spec, first, often), self.paper)
        by_kind = by_family(self.families, np.array([ratio.mae for ratio in ratios]))
        mean = float(np.exp(np.mean(np.log([*by_kind.values()]))))
        over = self.over(spec, np.array([ratio.largest for ratio in ratios]))
        # Plans above the bound are penalised three times as much as errors.
        return np.log(mean) + 3 * max(0.0, over), by_kind | {"mean": mean}

    def over(self, spec: str, largest: Floats) -> float:
        """Compute by how much the bound on blocks is exceeded; many blocks are measured."""
        blocks = len(self.families[-1].groups)
        many = np.array([group.count(self.grid) for group in self.families[-1].groups]) >= ENOUGH
        bound = np.where(np.arange(blocks) < first_large(self.grid.bits), SMALL, LARGE)
        return max(float(np.log(largest[-blocks:] / bound)[many].max()), closed(self.grid, spec))

    def _fitting(self, best: dict[str, str]) -> dict[str, str]:
        """Select the pyramids for this domain's size."""
        return {name: spec for name, spec in best.items() if _bits(spec) == self.grid.bits}

    def _run(self, spec: str, first: int, often: int) -> Any:
        method, terms = mechanism(spec), Terms.of(epsilon=self.epsilon, contribution=1)
        event = method.event(self.grid, terms)
        return self.simulation.run(method, event, range(first, first + often))


def draw_plans(grid: Grid, random: np.random.Generator) -> Iterator[str]:
    """Yield pyramids around the default, within its bound on few large blocks, without end.

    Two fifths have its levels, others levels of 2 to 7 bits at the cells and of 2 to 5 above;
    shares are the default's of as many bits, times log-normal factors.
    """
    steps, weights = default_levels(grid, gaussian=False)
    deep, cumulative = [0, *accumulate(steps)], np.cumsum([float(weight) for weight in weights])
    cumulative /= cumulative[-1]
    while True:
        levels = list(steps)
        if random.random() > 0.4:
            levels = [min(int(random.integers(2, 8)), grid.bits)]
            while (rest := grid.bits - sum(levels)) > 0:
                levels.insert(0, min(int(random.integers(2, 6)), rest))
        share = np.diff(np.interp([0, *accumulate(levels)], deep, cumulative), prepend=0.0)
        # Two widths of the factors, for plans close to the default and far from it.
        spread = random.normal(0, random.choice([0.2, 0.5]), share.size)
        plan = Levels.of(levels, (np.maximum(share, MIN_SHARE) * np.exp(spread)).tolist())
        if closed(grid, plan.spec) <= 0:
            yield plan.spec


def closed(grid: Grid, spec: str) -> float:
    """Compute the largest logarithm of a closed-form error over its bound, of few large blocks.

    The default counts as 0 where it exceeds the bound, as its shares are rounded.
    """
    excess = _over_limits(grid, spec)
    return excess - max(0.0, _over_limits(grid, "pyramid"))


def _over_limits(grid: Grid, spec: str) -> float:
    method = mechanism(spec)
    variance = method.variances(grid, method.event(grid, Terms.of(epsilon=1, contribution=1)))
    assert variance is not None
    few = 2.0 ** np.arange(grid.bits + 1) < ENOUGH
    return float(np.log(np.sqrt(variance) / limits_of(grid.bits))[few].max())


def _bits(spec: str) -> int:
    chain = spec.partition("chain=")[2].partition(",")[0]
    return sum(int(step) for step in chain.split("-"))


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of the document's table."""
    table_lines = []
    for row in result["rows"]:
        default, best, elsewhere = row["default"], row["best"], row["elsewhere"]
        kinds = {
            kind: f"{default[kind]:.3f} / {best[kind]:.3f}"
            for kind in ("mean", "cells", "municipalities")
        }
        table_lines.append(
            {
                "map": row["map"],
                "n": row["n"],
                "epsilon": row["epsilon"],
                "signal": f"{row['signal']:.3g}",
                **kinds,
                "elsewhere": "-" if elsewhere is None else f"{elsewhere:.3f}",
                "best": f"`{row['pyramid']}`",
            }
        )
    return table_lines


def show(result: dict[str, Any]) -> str:
    """Format maps and budgets."""
    return table(lines(result))


def fill_document() -> dict[str, Any]:
    """Fill the document's table with the saved figures, and return those."""
    return fill_saved(SAVED, DOCUMENT, MARKS, section)


def section(result: dict[str, Any]) -> str:
    """Format the document's table, without the best pyramids."""
    return markdown(
        excerpt(
            lines(result), without=["n", "signal", "cells", "municipalities", "best", "elsewhere"]
        )
    )
