"""The tables of the pyramid's default: levels and shares by domain, and how well they perform."""

from __future__ import annotations

import argparse
import json
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import geodp
from bench.inputs import derived
from bench.inputs.families import draw_families
from bench.measure.shares import Levels, minimise_product
from bench.measure.simulation import FRESH, ErrorRatio, PlanSimulation
from bench.suites import shares_bound
from bench.suites.shares_bound import (
    LARGE,
    PAPER,
    SMALL,
    SMALL_GAUSSIAN,
    TABLES,
    first_large,
)
from bench.tables import excerpt, fill, markdown, table
from geodp.grid.grid import Grid
from geodp.mechanisms import mechanism
from geodp.mechanisms.trees.levels import FEW_BITS, default_levels
from geodp.privacy.terms import Terms
from geodp.table.proxy import Proxy

TITLE = """\
Plans for the pyramid's default: mean absolute errors over those of the paper's method.
  plan       of each map that which the maps of other places choose
  largest    ratio of small aligned blocks (of up to 2^10 cells; 2^18 on domains of 2^22 and more),
             and of all, that is known to 5 %"""

OBJECTIVES = ("cells", "polygons", "municipalities", "rectangles", "squares")
PATTERNS = {
    "3-6": (3, (6,)),
    "3-4-4-6": (3, (4, 4, 6)),
    "4-5": (4, (5,)),
    "4-6": (4, (6,)),
    "4-2-4-6": (4, (2, 4, 6)),
}
"""Bits of the levels from the cells up: the lowest, and those that are repeated above them."""

GAUSSIAN = "2"
GAUSSIAN_PATTERN: dict[str, tuple[int, tuple[int, ...]]] = {GAUSSIAN: (2, ())}
"""The pattern with Gaussian noise: nodes of 4 children on every level."""

MAX_BITS = 36
"""Size of the tables; a larger domain repeats one of its levels."""

CLOSED = 0.8
"""Part of the bound of large blocks that closed forms may reach: few are measured, by chance."""

OF_HALVES = 0.93
"""Part of the bound for halves of the lowest nodes, to allow for what the clamp adds there."""

LONG_TAILS = 0.944
"""Mean absolute error over standard error, of the paper's blocks by those of the pyramid.

The paper's error is the Laplace noise of the block's level for three quarters, .746; the pyramid's
is a sum of many, .79. The bounds on closed forms are lower by this factor.
"""

OF_TOTAL = 0.883
"""The same ratio for the total, which in the paper's method has one Laplace noise: .707 by .80."""

TARGETS = {"cells": 0.40, "polygons": 0.55, "municipalities": 0.46}
"""Target means over the maps at epsilon 0.1 of the default."""

SAVED = Path(__file__).parents[1] / "results" / "shares.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "pyramid.md"

Floats = NDArray[np.float64]


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="directory of public statistics")
    parser.add_argument("--trials", type=int, default=6, help="releases of each plan")
    parser.add_argument(
        "--epsilons", type=lambda text: text.split(","), default=["0.1", "1"], metavar="A,B"
    )


def chain_of(bits: int, pattern: str) -> tuple[int, ...]:
    """Compute the bits of the levels of a pattern; what does not fit is left out at the top.

    Examples
    --------
    >>> chain_of(18, "3-2-4-4"), chain_of(5, "3-2-4-4"), chain_of(18, "3-6")
    ((2, 3, 3, 2, 4, 4), (1, 4), (3, 3, 3, 3, 6))
    """
    step, bottom = (PATTERNS | GAUSSIAN_PATTERN)[pattern]
    chain: list[int] = []
    for size in (*reversed(bottom), *[step] * bits):
        size = min(size, bits - sum(chain))
        chain = [size, *chain] if size else chain
    return tuple(chain)


@lru_cache(maxsize=1)
def regions() -> tuple[Floats, Floats]:
    """Compute squares of families of regions on a public synthetic map, and their weights."""
    grid = Grid.regular((512, 512))
    families = draw_families(OBJECTIVES, grid, Proxy.make_up(grid, None))[:-1]
    rows = [group.squares(grid) for family in families for group in family.groups]
    weights = np.array([1 / len(family.groups) for family in families for _ in family.groups])
    return np.array(rows), weights / weights.sum()


def regions_of(bits: int) -> tuple[Floats, Floats]:
    """Extend the squares and weights of :func:`regions` to a domain of any size.

    A region has the same cells on a larger domain, and on a smaller one at most all of it.
    """
    rows, weights = regions()
    above = 4.0 ** -np.arange(max(0, bits + 1 - rows.shape[1]), 0, -1)
    rows = np.concatenate([rows[:, :1] * above, rows], axis=1)
    return np.minimum(rows[:, -bits - 1 :], 2.0 ** np.arange(bits + 1)), weights


def limits_of(bits: int, *, gaussian: bool = False) -> Floats:
    """Compute the allowed standard errors of blocks for a budget of 1, by shared digits."""
    grid = Grid.regular((1 << bits // 2, 1 << bits - bits // 2))
    method = mechanism(PAPER)
    # A share s of rho 1/2 has the variance 1 / s, as the search assumes.
    loss = {"rho": "1/2"} if gaussian else {"epsilon": 1}
    variance = method.variances(grid, method.event(grid, Terms.of(**loss, contribution=1)))
    assert variance is not None
    small = np.arange(bits, -1, -1) < first_large(bits)
    factor = np.where(small, SMALL_GAUSSIAN if gaussian else SMALL, LARGE * CLOSED)
    if not gaussian:
        factor *= LONG_TAILS
        factor[0] *= OF_TOTAL / LONG_TAILS
    return np.asarray(np.sqrt(variance) * factor, np.float64)


def plan_of(bits: int, pattern: str) -> Levels:
    """Compute levels and shares by closed form, within the bound on aligned blocks."""
    (squares, weights), gaussian = regions_of(bits), pattern == GAUSSIAN
    chain, limits = chain_of(bits, pattern), limits_of(bits, gaussian=gaussian)
    if not gaussian:
        # Halves of lowest nodes lose more by the clamp than the closed form says.
        limits[bits - chain[-1] + 1] *= OF_HALVES
    return minimise_product(chain, squares, weights, limits, gaussian=gaussian)


def plan_on(grid: Grid, pattern: str) -> Levels:
    """Compute levels and shares for a grid; small domains have the default's."""
    if grid.bits <= FEW_BITS:
        steps, weights = default_levels(grid, gaussian=pattern == GAUSSIAN)
        return Levels.of(steps, [int(weight) for weight in weights])
    return plan_of(grid.bits, pattern)


def measure(
    data: Path | None = None, trials: int = 6, epsilons: list[str] | None = None
) -> dict[str, Any]:
    """Measure every pattern on every map, choose, and make the table."""
    rows = []
    for name in TABLES:
        source = derived.load(name, data)
        for epsilon in epsilons or ["0.1", "1"]:
            rows += _rows(name, source, epsilon, trials)
    for row in rows:
        # Each map is judged by the pattern that maps of other places choose.
        row["by_others"] = best(rows, row["data"]) == row["pattern"]
    chosen = best(rows)

    def spec(grid: Grid) -> str:
        return plan_on(grid, chosen).spec

    bound = shares_bound.measure(spec, data, epsilons or ["0.1", "1"])
    return {"trials": trials, "rows": rows, "chosen": chosen, "bound": bound}


def _rows(name: str, source: geodp.CountTable, epsilon: str, trials: int) -> list[dict[str, Any]]:
    """Measure all patterns on one map; regions are drawn on it, as users' regions are."""
    grid, proxy = source.grid, Proxy(source, name)
    # Drawn on the true map, as users ask for regions where people are.
    families = draw_families(OBJECTIVES, grid, proxy)
    simulation, terms = PlanSimulation(proxy, families), Terms.of(epsilon=epsilon, contribution=1)

    def run(spec: str, often: int) -> Any:
        method = mechanism(spec)
        return simulation.run(method, method.event(grid, terms), range(FRESH, FRESH + often))

    theirs = run(PAPER, 4 * trials)
    squares = [group.count(grid) for group in families[-1].groups]
    signal = float(epsilon) * float(source.count.sum()) / grid.size
    rows = []
    for pattern in ("R", *PATTERNS):
        spec = "pyramid:setting=R" if pattern == "R" else plan_on(grid, pattern).spec
        ratios = ErrorRatio.all_of(run(spec, trials), theirs)
        ends = [0, *accumulate(len(family.groups) for family in families)]
        mae = np.array([ratio.mae for ratio in ratios])
        # Geometric means, as ratios of different maps must count alike.
        logs = [np.log(mae[a:b]).mean() for a, b in pairwise(ends)]
        small, all_ = shares_bound.largest([r.largest for r in ratios[ends[-2] :]], squares)
        # A pattern that breaks the bound on blocks is penalised, but not excluded.
        over = max(0.0, float(np.log(small / SMALL)), float(np.log(all_ / LARGE)))
        errors = {o.name: float(np.exp(v)) for o, v in zip(families, logs, strict=True)}
        polygons = {r.name: r.mae for r in ratios if r.name.startswith("polygons")}
        rows.append(
            {
                "data": name,
                "bits": grid.bits,
                "epsilon": epsilon,
                "signal": signal,
                "pattern": pattern,
                "spec": spec,
                "families": errors,
                "polygons": polygons,
                "largest": small,
                "largest_of_all": all_,
                "value": float(np.mean(logs)) + over,
            }
        )
    return rows


def best(rows: list[dict[str, Any]], without: str = "") -> str:
    """Choose the pattern with the smallest geometric mean over maps, except those of one place."""
    others = [row for row in rows if not _same(row["data"], without)]
    values = {p: [row["value"] for row in others if row["pattern"] == p] for p in PATTERNS}
    return min(PATTERNS, key=lambda pattern: float(np.mean(values[pattern])))


def _same(one: str, other: str) -> bool:
    """Return whether two maps are of one place: its other years are left out with it."""
    return bool(other) and place_of(one) == place_of(other)


def place_of(name: str) -> str:
    """Strip the year from a map's name."""
    return "".join(part for part in name.split("-") if part not in ("2010", "2011", "2018", "2020"))


def code(pattern: str) -> str:
    """Format the rows of both tables in the code: a line for each number of bits."""
    return "\n\n".join(
        "\n".join(
            f'    {bits}: "{"-".join(map(str, plan_of(bits, name).parts))}",'
            for bits in range(FEW_BITS + 1, MAX_BITS + 1)
        )
        for name in (pattern, GAUSSIAN)
    )


def show(result: dict[str, Any]) -> str:
    """Format the measured tables, and the code's rows."""
    shown = [table(rows(result)) for rows in SHOWN.values()]
    return "\n\n".join([*shown, result["chosen"], code(result["chosen"])])


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of the measured table: for every map `R`, and the choice of other maps."""
    table_lines = []
    for row in result["rows"]:
        if row["pattern"] == "R" or row["by_others"]:
            table_lines.append(
                {
                    "map": row["data"],
                    "epsilon": row["epsilon"],
                    "signal": f"{row['signal']:.3g}",
                    "plan": row["pattern"],
                    **{name: f"{ratio:.2f}" for name, ratio in row["families"].items()},
                }
            )
    return table_lines


def means(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Compute geometric means over the maps, of plans that other maps choose, and the worst map."""
    table_lines = []
    for epsilon in sorted({row["epsilon"] for row in result["rows"]}):
        rows = [r for r in result["rows"] if r["by_others"] and r["epsilon"] == epsilon]
        names = dict.fromkeys(rows[0]["families"], "families")
        names |= {name: "polygons" for row in rows for name in row["polygons"]}
        for name, part in sorted(names.items()):
            ratios = {row["data"]: row[part][name] for row in rows if name in row[part]}
            worst = max(ratios, key=lambda map_name: ratios[map_name])
            target = TARGETS.get(name) if epsilon == "0.1" else None
            table_lines.append(
                {
                    "epsilon": epsilon,
                    "regions": name,
                    "mean": f"{np.exp(np.mean(np.log([*ratios.values()]))):.3f}",
                    "asked": "-" if target is None else f"{target:.2f}",
                    "worst map": f"{ratios[worst]:.2f}, {worst}",
                }
            )
    return table_lines


def bound(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of aligned blocks."""
    return shares_bound.lines(result["bound"])


def choices(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the document's rows: the choice of other maps, at the smaller budget."""
    rows = [row for row in lines(result) if row["plan"] != "R"]
    return excerpt(rows, {"epsilon": ["0.1"]}, ["epsilon", "signal", "plan"])


def families(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the document's rows of means: of families of regions, without classes of polygons."""
    return [row for row in means(result) if not row["regions"].startswith("polygons of")]


def farthest(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the document's rows of aligned blocks: the worst table of each size of the domain."""
    worst_of: dict[int, dict[str, Any]] = {}
    for row in result["bound"]:
        ratio, *_ = shares_bound.worst(row, shares_bound.first_large(row["bits"]))
        held = worst_of.setdefault(row["bits"], {"ratio": 0.0})
        if ratio > held["ratio"]:
            worst_of[row["bits"]] = {"ratio": ratio, "row": row}
    rows = [worst_of[bits]["row"] for bits in sorted(worst_of)]
    return excerpt(shares_bound.lines(rows), without=["2^2", "2^4", "2^6", "2^8", "2^10", "2^14"])


SHOWN = {"shares": choices, "shares:means": families, "shares:bound": farthest}
"""Tables of the document, by their markers."""


def fill_document() -> dict[str, Any]:
    """Fill the document's tables with the saved figures, and return those."""
    result: dict[str, Any] = json.loads(SAVED.read_text(encoding="utf-8"))
    for part, rows in SHOWN.items():
        fill(DOCUMENT, marks(part), markdown(rows(result)))
    return result


def marks(part: str) -> tuple[str, str]:
    """Return the markers around a part of the page."""
    return f"<!-- bench:{part} -->", f"<!-- /bench:{part} -->"
