"""The cost of the setting for islands elsewhere, and plans for islands of other domains."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import geodp
from bench.inputs import derived, public
from bench.suites.methods import names
from bench.suites.settlements import DOCUMENT
from bench.suites.shares import OBJECTIVES
from bench.suites.shares_bound import PAPER
from bench.suites.sparsest import by_family
from bench.tables import fill_saved, markdown, table
from geodp.features.plan.api import serve
from geodp.features.plan.families import draw_families
from geodp.features.plan.islands import FEW
from geodp.features.plan.simulation import FRESH, PlanSimulation, public_key
from geodp.io.read.public.land import cut_to_land
from geodp.mechanisms import mechanism
from geodp.privacy.terms import Terms
from geodp.release.settlement_map import KINDS, SIZES, place_isolated
from geodp.table.proxy import Proxy

TITLE = """\
Mean absolute errors over those of the paper's method, on public maps without lone settlements;
then what settlements have more or less than in truth, with all within 4 cells, in per cent of
their people (with the standard error over settlements): they are placed on those maps, with nobody
else within 16 cells, and the plan was made on a map of towns that is made up on the same land."""

MAPS = ["kanto", "germany-1km", "europe-2018-9-8", "hiroshima-2020", "samoa-100m"]
METHODS = ("pyramid", "pyramid:setting=islands")
LANDS = {
    "kanto": "land:japan",
    "hiroshima-2020": "land:japan",
    "europe-2018-9-8": "land:europe",
    "samoa-100m": "land:world",
}
"""Domains of maps on which isolated settlements are placed."""

SEEDS = range(101, 105)
"""Seeds of maps with settlements: no plan uses them."""

SAVED = Path(__file__).parents[1] / "results" / "islands.json"
MARKS = ("<!-- bench:islands -->", "<!-- /bench:islands -->")
PLANS = ("<!-- bench:islands:plans -->", "<!-- /bench:islands:plans -->")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="directory of public statistics")
    parser.add_argument("--maps", type=names, default=MAPS, metavar="A;B")
    parser.add_argument("--epsilons", type=lambda text: text.split(","), default=["0.1", "1"])
    parser.add_argument("--trials", type=int, default=4, help="releases of each method")


def measure(data: Path | None, maps: list[str], epsilons: list[str], trials: int) -> dict[str, Any]:
    """Measure ratios by map, budget and method."""
    rows = []
    for name in maps:
        source = derived.load(name, data)
        families = draw_families(OBJECTIVES, source.grid, Proxy(source, name))
        simulation = PlanSimulation(Proxy(source, name), families)
        for epsilon in epsilons:
            terms, errors = Terms.of(epsilon=epsilon, contribution=1), {}
            for spec in (PAPER, *METHODS):
                method, often = mechanism(spec), range(FRESH, FRESH + trials)
                run = simulation.run(method, method.event(source.grid, terms), often)
                errors[spec] = by_family(families, run.mae)
            for spec in METHODS:
                ratio = {kind: errors[spec][kind] / errors[PAPER][kind] for kind in errors[spec]}
                rows.append({"map": name, "epsilon": epsilon, "method": spec, **ratio})
    loss_rows = [
        row
        for name in maps
        if name in LANDS
        # Plans take long, so they are made for the first budget only.
        for epsilon in epsilons[:1]
        for row in losses(public.load(name, data), name, epsilon, trials)
    ]
    return {"rows": rows, "plans": loss_rows, "settings": {"trials": trials}}


def losses(source: geodp.CountTable, name: str, epsilon: str, trials: int) -> list[dict[str, Any]]:
    """Measure what settlements lose on a map's land: by the default, the setting and a plan."""
    land = cut_to_land(source.grid, LANDS[name])
    towns = _keep_inside(source, land)
    # A public guess, as an operator would give it, and not the exact total.
    people = float(f"{source.count.sum():.1e}")
    plan = serve(land, "islands=1", people=people, epsilon=epsilon)
    maps = [place_isolated(towns, FEW, np.random.default_rng(seed)) for seed in SEEDS]
    rows = []
    for spec in (*METHODS, plan.name):
        method, by_kind = mechanism(spec), dict[int, list[tuple[float, float]]]()
        event = method.event(land, Terms.of(epsilon=epsilon, contribution=1))
        for planted in maps:
            runs = [
                method.release(planted.table, event, public_key(FRESH + i)) for i in range(trials)
            ]
            for kind, around in zip(planted.kinds, planted.around, strict=True):
                true = float(planted.table.counts_at(around).sum())
                held = np.mean([run.counts_at(around).sum() for run in runs])
                by_kind.setdefault(KINDS[kind][0], []).append((true, float(held) - true))
        row: dict[str, Any] = {"map": name, "domain": LANDS[name], "epsilon": epsilon}
        row |= {"method": spec, "planned": spec == plan.name}
        for size, pairs in sorted(by_kind.items()):
            true, difference = np.array(pairs).T
            figures = difference.sum(), difference.std(ddof=1) * difference.size**0.5
            row[f"{SIZES[size]:,}-{SIZES[size + 1]:,}"] = [
                100 * figure / true.sum() for figure in figures
            ]
        rows.append(row)
    return rows


def _keep_inside(source: geodp.CountTable, land: geodp.Grid) -> geodp.CountTable:
    """Restrict a table to the cells on the land."""
    index = source.grid.decode(source.key)
    on_land = land.contains(index)
    return geodp.CountTable.from_keys(
        land, land.encode(np.array(index)[:, on_land]), source.count[on_land]
    )


def plan_lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of the document's table of plans."""
    return [
        {
            k: f"{v[0]:+.1f} ± {v[1]:.1f}" if isinstance(v, list) else v
            for k, v in row.items()
            if k != "planned"
        }
        | {"method": f"`{row['method']}`"}
        for row in result["plans"]
    ]


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of the document's table."""
    return [
        {k: f"{v:.2f}" if isinstance(v, float) else v for k, v in row.items()}
        for row in result["rows"]
    ]


def show(result: dict[str, Any]) -> str:
    """Format maps, budgets and methods."""
    return f"{table(lines(result))}\n\n{table(plan_lines(result))}"


def fill_document() -> dict[str, Any]:
    """Fill the document's table with the saved figures, and return those."""
    fill_saved(SAVED, DOCUMENT, PLANS, lambda result: markdown(plan_lines(result)))
    return fill_saved(SAVED, DOCUMENT, MARKS, lambda result: markdown(lines(result)))
