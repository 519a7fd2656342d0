"""The margins of single cells: the values that public maps need, and their coverage elsewhere."""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import geodp
from bench.inputs import public, regions
from bench.suites.methods import names
from bench.tables import fill_saved, markdown, table
from geodp.accuracy.cell_interval import ClampedIntervals
from geodp.accuracy.margins import CHILDREN, MARGINS, SHARES, Margins, read_margins
from geodp.release.settlements import KINDS, ErrorTally, largest

TITLE = """\
Margins of cells in standard errors, below and above the count, that hold 97.5 % of what is below
and of what is above on every map, by every method and budget: of empty cells, of those with fewer
people than 2 and than 8 standard errors, and of those with more. Then per cent of a map's cells
that a table of the maps of all other places holds, the least of all methods and budgets. Then the
same of pyramids that drop children with fewer than some noise scales. Last the tables in the code.
"""

MAPS = [
    *("kanto", "germany-1km", "europe-2018-7-5", "europe-2018-9-8", "hiroshima-2020"),
    *("samoa-100m", "flow", "taxi"),
]
METHODS = ["pyramid", "topdown", *(f"pyramid:setting={name}" for name in ("R", "fine", "flat"))]
DROPPED = ("1", "2", "3", "4", "5")
"""Noise scales below which children are dropped."""

DROPPING = ("pyramid:prune={}", "pyramid:setting=R,prune={}", "pyramid:setting=fine,prune={}")
BUDGETS = ("1/10", "1")
SAVED = Path(__file__).parents[1] / "results" / "margins.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "uncertainty.md"
MARKS = ("<!-- bench:margins -->", "<!-- /bench:margins -->")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="public statistics")
    parser.add_argument("--maps", type=names, default=MAPS, metavar="A;B")
    parser.add_argument("--trials", type=int, default=2)


def measure(data: Path | None, maps: list[str], trials: int) -> dict[str, Any]:
    """Measure the margins of every map, the table, and the coverage of tables of other maps."""
    tallies: dict[str, dict[str, list[ErrorTally]]] = {}
    for name in maps:
        source = public.load(name, data)
        # Isolated settlements are rare on real maps, so some are added where there is one map.
        if len(source.grid.shape) == 2:
            source, _ = regions.place_villages(source, np.random.default_rng(regions.SEED))
        by_threshold = {"": METHODS} | {p: [one.format(p) for one in DROPPING] for p in DROPPED}
        for threshold, methods in by_threshold.items():
            runs = [(method, budget) for method in methods for budget in BUDGETS]
            # topdown needs a binary order.
            if not source.grid.order.is_binary:
                runs = [run for run in runs if run[0] != "topdown"]
            tallies.setdefault(threshold, {})[name] = [tally(source, *run, trials) for run in runs]
    rows, tables, smaller = [], {}, list[Margins]()
    for threshold, by_map in tallies.items():
        rows += [{"least": threshold, **row} for row in _held_by_others(by_map)]
        margins_of = largest(
            [one.margins() for map_tallies in by_map.values() for one in map_tallies]
        )
        # A larger threshold needs margins at least as large.
        smaller += [margins_of] if threshold else []
        tables[threshold] = written(largest(smaller) if threshold else margins_of)
    settings = {"trials": trials}
    return {"rows": rows, "table": tables.pop(""), "dropped": tables, "settings": settings}


def _held_by_others(tallies: dict[str, list[ErrorTally]]) -> list[dict[str, Any]]:
    """Measure the coverage of a table of the maps of all other places, on each map."""
    rows = []
    for name, of_map in tallies.items():
        others = [
            one.margins()
            for other, other_tallies in tallies.items()
            if place(other) != place(name)
            for one in other_tallies
        ]
        line: dict[str, Any] = {"map": public.SOURCES[name].title, "data": name}
        margins = largest(others) if others else MARGINS
        held = np.array([one.held(margins) for one in of_map])
        for kind, shares in zip(KINDS, held.T, strict=True):
            finite = shares[np.isfinite(shares)]
            line[kind] = float(finite.min()) if finite.size else None
        rows.append(line)
    return rows


def tally(source: geodp.CountTable, method: str, budget: str, trials: int) -> ErrorTally:
    """Release a table several times, and count the errors of its cells."""
    errors = ErrorTally()
    for trial in range(trials):
        noise = geodp.NoiseKey((trial + 1).to_bytes(32, "little"))
        release = geodp.publish(
            source, method=method, epsilon=Fraction(budget), contribution=1, key=noise
        )
        intervals = release.intervals()
        assert isinstance(intervals, ClampedIntervals)
        errors.add(source, release.table, intervals)
    return errors


def place(name: str) -> str:
    """Return the place of a map; Japan's overlap in no cell but in habits."""
    return name.partition("-")[0]


def written(margins: Margins) -> list[str]:
    """Format margins as the code has them."""
    rows = zip(margins.down.tolist(), margins.up.tolist(), strict=True)
    pairs = [[*zip(*row, strict=True)] for row in rows]
    return [
        " ".join("-" if np.inf in pair else f"{pair[0]:.2f}/{pair[1]:.2f}" for pair in row)
        for row in pairs
    ]


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of the document's table: margins by share, and children of a node."""
    margins = read_margins("\n".join(result["table"]))
    headings = ["none", *(f"to {100 * share:.0f} %" for share in SHARES[1:-1]), "more, not all"]
    groups = [f"up to {upper}" for upper in CHILDREN] + ["more"]
    table_lines = []
    for name, down, up in zip(groups, margins.down, margins.up, strict=True):
        line = {"children of a node": name}
        for heading, below, above in zip(headings, down, up, strict=True):
            line[heading] = f"-{below:.2f} / +{above:.2f}" if np.isfinite(above) else "-"
        table_lines.append(line)
    return table_lines


def show(result: dict[str, Any]) -> str:
    """Format the margins, and the coverage of every map by the others."""
    held = [
        {name: 100 * value if isinstance(value, float) else value for name, value in row.items()}
        for row in result["rows"]
    ]
    tables = ["\n".join(one) for one in (result["table"], *result["dropped"].values())]
    return "\n\n".join([table(lines(result)), table(held), *tables])


def fill_document() -> dict[str, Any]:
    """Fill the document's table with the saved figures, and return those."""
    return fill_saved(SAVED, DOCUMENT, MARKS, lambda result: markdown(lines(result)))
