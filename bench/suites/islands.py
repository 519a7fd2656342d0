"""The cost of the setting for islands elsewhere."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bench.inputs import derived
from bench.inputs.families import draw_families
from bench.measure.simulation import FRESH, PlanSimulation
from bench.suites.methods import names
from bench.suites.settlements import DOCUMENT
from bench.suites.shares import OBJECTIVES
from bench.suites.shares_bound import PAPER
from bench.suites.sparsest import by_family
from bench.tables import excerpt, fill_saved, markdown, table
from geodp.mechanisms import mechanism
from geodp.privacy.terms import Terms
from geodp.table.proxy import Proxy

TITLE = """\
Mean absolute errors over those of the paper's method, on public maps without lone settlements."""

MAPS = ["kanto", "germany-1km", "europe-2018-9-8", "hiroshima-2020", "samoa-100m"]
METHODS = ("pyramid", "pyramid:setting=islands")
SAVED = Path(__file__).parents[1] / "results" / "islands.json"
MARKS = ("<!-- bench:islands -->", "<!-- /bench:islands -->")


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
    return {"rows": rows, "settings": {"trials": trials}}


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of the document's table."""
    return [
        {k: f"{v:.2f}" if isinstance(v, float) else v for k, v in row.items()}
        for row in result["rows"]
    ]


def show(result: dict[str, Any]) -> str:
    """Format maps, budgets and methods."""
    return table(lines(result))


def fill_document() -> dict[str, Any]:
    """Fill the document's table with the saved figures, and return those."""
    return fill_saved(SAVED, DOCUMENT, MARKS, section)


def section(result: dict[str, Any]) -> str:
    """Format the document's table, at the smaller budget."""
    return markdown(
        excerpt(
            lines(result),
            {"epsilon": ["0.1"], "map": ["kanto", "germany-1km", "samoa-100m"]},
            ["epsilon"],
        )
    )
