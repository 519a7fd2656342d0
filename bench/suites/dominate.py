"""Plans by ``--dominate`` against every method: planned and measured errors."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import geodp
from bench.inputs import public
from bench.suites.methods import names
from bench.tables import fill_saved, markdown, table
from geodp.errors import UsageError
from geodp.features.plan.dominance import FAMILIES, FEW, dominate
from geodp.features.plan.families import draw_families
from geodp.features.plan.simulation import ErrorRatio, PlanSimulation
from geodp.table.proxy import Proxy

TITLE = """\
Pyramids planned to be nowhere worse than a method, on a public map of another date or a made-up
one, and measured on the true map: ratios of errors (MAE or RMSE, the larger) to the method's.
  closed form             the largest planned ratio of aligned blocks, where there is one
  promised                the largest simulated one, of squares, polygons and rectangles
  measured, mean          the largest measured one, and the geometric mean of all
  worse at                where it is measured to be worse, by more than two standard errors"""

MAPS = {"kanto": ("", 4), "europe-2018-9-8": ("europe-2011-9-8", 4)}
"""Maps, the public ones that plans are simulated on, and the cells along a side that are merged."""

METHODS = [name for name in geodp.METHODS if name != "parts"]
"""All but the one for attributes: without any it releases the same as ``pyramid``."""

FRESH = 7000
"""Number of the first release that is measured, which no plan has used."""

SAVED = Path(__file__).parents[1] / "results" / "dominate.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "planning.md"
MARKS = ("<!-- bench:dominate -->", "<!-- /bench:dominate -->")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="directory of public statistics")
    parser.add_argument("--maps", type=lambda text: text.split(","), metavar="A,B")
    parser.add_argument("--methods", type=names, metavar="A;B", help="default: all")
    parser.add_argument("--epsilon", default="0.1")
    parser.add_argument("--releases", type=int, default=4, help="of every plan that is tried")
    parser.add_argument("--trials", type=int, default=12, help="releases that are measured")


def measure(
    data: Path | None = None,
    maps: list[str] | None = None,
    methods: list[str] | None = None,
    epsilon: str = "0.1",
    releases: int = 4,
    trials: int = 12,
) -> dict[str, Any]:
    """Measure a row for each map and method; list the methods that refuse a map."""
    rows, refused = [], {}
    for name in maps or MAPS:
        prior, block = MAPS[name]
        source = coarsen(public.load(name, data), block)
        prior_table = coarsen(public.load(prior, data), block) if prior else None
        for method in methods or METHODS:
            try:
                row = _row(source, prior_table, method, epsilon, (releases, trials))
            # Methods that refuse a map are listed with their reason.
            except UsageError as error:
                refused[f"{method} on {name}"] = str(error)
                continue
            rows.append({"map": name, "prior": prior, **row})
    return {
        "epsilon": epsilon,
        "releases": releases,
        "trials": trials,
        "rows": rows,
        "refused": refused,
    }


def coarsen(source: geodp.CountTable, block: int) -> geodp.CountTable:
    """Sum squares of ``block`` cells a side."""
    rows, cols = (size // block for size in source.grid.shape)
    cells = source.to_dense()[: rows * block, : cols * block]
    sums = cells.reshape(rows, block, cols, block).sum(axis=(1, 3))
    return geodp.CountTable.from_dense(sums, geodp.Grid.regular((rows, cols)))


def _row(
    source: geodp.CountTable,
    prior_table: geodp.CountTable | None,
    method: str,
    epsilon: str,
    often: tuple[int, int],
) -> dict[str, Any]:
    """Plan, and measure on the true map."""
    grid, proxy = source.grid, Proxy(source, "the true map")
    dominating = dominate(grid, method, prior=prior_table, releases=often[0], epsilon=epsilon)
    # Regions are drawn on the true map, which no planner has seen.
    simulation = PlanSimulation(proxy, draw_families(FAMILIES, grid, proxy))
    counts = [group.count(grid) for one in simulation.families for group in one.groups]
    other = geodp.plan(grid, method, epsilon=epsilon)
    fresh = range(FRESH, FRESH + often[1])
    both = [simulation.run(one.method, one.event, fresh) for one in (dominating.plan, other)]
    pairs = zip(ErrorRatio.all_of(*both), counts, strict=True)
    # Ratios of few blocks are left to chance.
    reliable = [ratio for ratio, n in pairs if n * often[1] >= FEW]
    worse = [ratio for ratio in reliable if _over(ratio)]
    promised = max(dominating.conclusive, key=lambda ratio: ratio.largest)
    measured = max(reliable, key=lambda ratio: ratio.largest)
    return {
        "method": method,
        "plan": dominating.plan.method.spec,
        "closed_form": max(dominating.ratios.values()) if dominating.ratios else None,
        "promised": promised.largest,
        "promised_at": promised.name,
        "said_to_fail": [ratio.name for ratio in dominating.conclusive if ratio.largest > 1],
        "measured": measured.largest,
        "measured_at": measured.name,
        "mean": float(np.exp(np.mean([np.log(max(ratio.mae, 1e-9)) for ratio in reliable]))),
        "worse": [ratio.name for ratio in worse],
    }


def _over(ratio: ErrorRatio) -> bool:
    """Return whether it is measured to be above 1."""
    return ratio.mae - 2 * ratio.mae_error > 1 or ratio.rmse - 2 * ratio.rmse_error > 1


def show(result: dict[str, Any]) -> str:
    """Format methods by maps, and refusals."""
    refused = (f"{one}: {why}" for one, why in result["refused"].items())
    return "\n\n".join([table(lines(result)), *refused])


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of the table."""
    return [
        {
            "map": row["map"],
            "method": row["method"],
            "closed form": "" if row["closed_form"] is None else f"{row['closed_form']:.2f}",
            "promised": f"{row['promised']:.2f} ({row['promised_at']})",
            "measured": f"{row['measured']:.2f} ({row['measured_at']})",
            "mean": f"{row['mean']:.2f}",
            "worse at": ", ".join(_short(row["worse"])) or "nowhere",
            "said before": ", ".join(_short(row["said_to_fail"])) or "nowhere",
        }
        for row in result["rows"]
    ]


def _short(regions: list[str]) -> list[str]:
    return [
        name.replace("squares of ", "").replace("polygons of ", "polygons ") for name in regions
    ]


def fill_document() -> dict[str, Any]:
    """Fill the document's table with the saved figures, and return those."""
    return fill_saved(SAVED, DOCUMENT, MARKS, lambda result: markdown(lines(result)))
