"""Which method wins where: geodp's methods and those of papers, by kinds of regions."""

from __future__ import annotations

import argparse
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import geodp
from bench.baselines import libraries
from bench.inputs import public
from bench.inputs.families import draw_families
from bench.measure.regions import MapDifference
from bench.suites.methods import names
from bench.tables import excerpt, fill_saved, markdown, table, text
from geodp.table.proxy import Proxy

TITLE = """\
Mean absolute errors of the sums of regions.
  *                       the least of a map and family
  cells 2^n               aligned blocks of so many cells: squares, or half squares for odd n"""

MAPS = ("kanto", "europe-2018-9-8")
SETTINGS = ("pyramid:setting=R", "pyramid:setting=fine")
"""Settings of the pyramid, in addition to the default of every method."""

PAPERS = ("HDMM, all ranges", "PrivTree", "AG, as its authors have it", "NumPy topdown (T2)")
FAMILIES = ("polygons", "municipalities", "rectangles")
SIZES = (0, 2, 4, 6, 8, 12, 16)
"""Bits of aligned blocks."""

SAVED = Path(__file__).parents[1] / "results" / "regions.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "comparison.md"
MARKS = ("<!-- bench:regions -->", "<!-- /bench:regions -->")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="directory of public statistics")
    parser.add_argument("--maps", type=lambda text: text.split(","), metavar="A,B")
    parser.add_argument("--methods", type=names, metavar="A;B", help="of geodp; default: all")
    parser.add_argument("--epsilon", default="0.1")
    parser.add_argument("--trials", type=int, default=4, help="releases")
    parser.add_argument(
        "--patience", type=float, default=10, help="seconds for the releases of one of them"
    )


def measure(
    data: Path | None = None,
    maps: list[str] | None = None,
    methods: list[str] | None = None,
    epsilon: str = "0.1",
    trials: int = 4,
    patience: float = 10,
) -> dict[str, Any]:
    """Measure a row for each map, method and family; list the methods that refuse a map."""
    rows: list[dict[str, Any]] = []
    refused: dict[str, str] = {}
    for name in maps or MAPS:
        loaded = public.load(name, data)
        # Without places, so that all methods accept the grid.
        grid = geodp.Grid.regular(loaded.grid.shape)
        source = geodp.CountTable.from_dense(loaded.to_dense(), grid)
        specs, reasons = libraries.accepted(methods or [*geodp.METHODS, *SETTINGS], source)
        refused |= reasons
        groups = [
            g
            for family in draw_families(FAMILIES, grid, Proxy(source, name))
            for g in family.groups
        ]
        for peer in (*specs, *PAPERS):
            errors, often = _errors(peer, source, Fraction(epsilon), groups, trials, patience)
            rows += [
                {"map": name, "peer": peer, "trials": often, "regions": regions, "mae": mae}
                for regions, mae in errors.items()
            ]
    for row in rows:
        same_regions = [
            r["mae"] for r in rows if (r["map"], r["regions"]) == (row["map"], row["regions"])
        ]
        row["best"] = row["mae"] == min(same_regions)
    return {"epsilon": epsilon, "trials": trials, "rows": rows, "refused": refused}


def _errors(
    peer: str,
    source: geodp.CountTable,
    epsilon: Fraction,
    groups: list[Any],
    trials: int,
    patience: float,
) -> tuple[dict[str, float], int]:
    """Measure mean absolute errors by family, and the number of releases."""
    run, to_vector = libraries.by_name(peer).prepare(source, epsilon)
    grid, people = source.grid, source.to_vector().astype(np.float64)
    inside = grid.domain.to_vector(np.ones(grid.shape, np.bool_))
    errors, start = [], time.perf_counter()
    while len(errors) < trials and (not errors or time.perf_counter() - start < patience):
        # Cells outside the domain are no answer of any method.
        error = np.where(inside, to_vector(run(len(errors))) - people, 0.0)
        difference = MapDifference(grid, None, people, error)
        means = {
            f"cells 2^{bits}": float(np.abs(difference.blocks[grid.bits - bits][1]).sum())
            / grid.domain.count_blocks([bits])[0]
            for bits in SIZES
            if bits <= grid.bits
        }
        for group in groups:
            means[group.name] = float(np.abs(group.sums(difference)[1]).sum()) / group.count(grid)
        errors.append(means)
    return {
        name: float(np.mean([error_of[name] for error_of in errors])) for name in errors[0]
    }, len(errors)


def show(result: dict[str, Any]) -> str:
    """Format methods by families, a table for each map, and refusals."""
    parts = [f"{name}\n\n{table(lines(result, name, '*'))}" for name in _maps(result)]
    return "\n\n".join(
        [*parts, *(f"{method}: {reason}" for method, reason in result["refused"].items())]
    )


def _maps(result: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(row["map"] for row in result["rows"]))


def lines(result: dict[str, Any], name: str, best: str) -> list[dict[str, Any]]:
    """Build a row for each method on a map; the smallest error of a family is between markers."""
    line_of: dict[str, dict[str, Any]] = {}
    for row in result["rows"]:
        if row["map"] == name:
            marker = best if row["best"] else ""
            line = line_of.setdefault(row["peer"], {"method": row["peer"]})
            title = row["regions"].removeprefix("polygons of ").replace(" cells", "")
            line[title] = f"{marker}{text(row['mae'])}{marker}"
    return list(line_of.values())


BETWEEN = ("cells 2^2", "cells 2^6", "cells 2^8", "cells 2^12")
"""Sizes of blocks that the document leaves out."""

ALWAYS = ("topdown", "pyramid", "AG, as its authors have it")
"""Methods that the document shows even where others are better."""


def section(result: dict[str, Any]) -> str:
    """Format the document's tables, one for each map, of methods that are best somewhere."""
    best = {row["peer"] for row in result["rows"] if row["best"] and row["regions"] not in BETWEEN}
    shown = {"method": [*best, *ALWAYS]}
    tables = {name: excerpt(lines(result, name, "**"), shown, BETWEEN) for name in _maps(result)}
    parts = [f"{public.SOURCES[name].title}:\n\n{markdown(rows)}" for name, rows in tables.items()]
    refused = ", ".join(f"`{method}`" for method in result["refused"])
    sentence = f"Not measured, as they refuse domains of this size: {refused}."
    return "\n\n".join([*parts, *[sentence] * bool(refused)])


def fill_document() -> dict[str, Any]:
    """Fill the document's tables with the saved figures, and return those."""
    return fill_saved(SAVED, DOCUMENT, MARKS, section)
