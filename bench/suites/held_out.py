"""The default and settings compared with the paper's method on maps that no choice was based on."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bench.inputs import derived
from bench.suites.methods import names
from bench.suites.shares import DOCUMENT
from bench.suites.sparsest import compare
from bench.tables import excerpt, fill_saved, markdown, table

TITLE = """\
Mean absolute errors over those of the paper's method, on maps by which neither levels nor shares
nor constants of geodp were chosen.
  signal     epsilon times the people of a cell
  largest    ratio of aligned blocks of up to 2^12 cells, and of all, that is known to 5 %, in mean
             absolute or in root-mean-square errors"""

MAPS = ["brazil-5km", "hiroshima-2015-wide", "kanto-foreigners"]
"""Another country in larger cells; another year and window; other people of a known place."""

METHODS = ["pyramid", "pyramid:setting=R"]
SAVED = Path(__file__).parents[1] / "results" / "held_out.json"
MARKS = ("<!-- bench:held_out -->", "<!-- /bench:held_out -->")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="directory of public statistics")
    parser.add_argument("--maps", type=names, default=MAPS, metavar="A;B")
    parser.add_argument("--epsilons", type=lambda text: text.split(","), default=["0.1", "1"])
    parser.add_argument("--trials", type=int, default=3, help="a third of the releases of each")


def measure(data: Path | None, maps: list[str], epsilons: list[str], trials: int) -> dict[str, Any]:
    """Measure ratios by map, budget and method."""
    rows = []
    for name in maps:
        source = derived.load(name, data)
        for epsilon in epsilons:
            signal = float(epsilon) * float(source.count.sum()) / source.grid.size
            labels = {
                "map": name,
                "n": f"2^{source.grid.bits}",
                "epsilon": epsilon,
                "signal": signal,
            }
            ratios = compare(source, name, METHODS, epsilon, trials)
            rows += [{**labels, "method": m, **row} for m, row in zip(METHODS, ratios, strict=True)]
    return {"rows": rows, "settings": {"trials": trials}}


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of the document's table."""
    return [
        {
            k: f"{v:.3g}" if k == "signal" else f"{v:.2f}" if isinstance(v, float) else v
            for k, v in row.items()
        }
        for row in result["rows"]
    ]


def show(result: dict[str, Any]) -> str:
    """Format maps, budgets and methods."""
    return table(lines(result))


def fill_document() -> dict[str, Any]:
    """Fill the document's table with the saved figures, and return those."""
    return fill_saved(SAVED, DOCUMENT, MARKS, section)


def section(result: dict[str, Any]) -> str:
    """Format the document's table: the default alone."""
    return markdown(
        excerpt(
            lines(result),
            {"method": ["pyramid"], "epsilon": ["0.1"]},
            ["n", "epsilon", "signal", "method", "largest"],
        )
    )
