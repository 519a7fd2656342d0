"""Random rectangles by the protocol of DPBench: Hay, Machanavajjhala, Miklau, Chen, Zhang,
"Principled Evaluation of Differentially Private Algorithms using DPBench", SIGMOD 2016.

A data set is a shape and a scale: exactly so many people drawn from the shape. The error of a
release is the scaled average per-query error over random rectangles, its L2 norm divided by
the number of queries and by the scale. A method is competitive where its mean is not
significantly above the smallest: Welch's t-test, one minus 95 % divided among the methods.
"""

from __future__ import annotations

import argparse
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import geodp
from bench.baselines import libraries
from bench.inputs import named
from bench.measure import errors as accuracy
from bench.suites.methods import names
from bench.tables import fill_saved, markdown, table, text
from geodp.mechanisms import mechanism
from geodp.privacy.loss import rational

TITLE = """\
Scaled average per-query error of random rectangles, x 10^-9 (smaller is better).
  *                       the least mean of the column
  +                       not significantly above it (Welch's t-test, 95 %, Bonferroni)
  regret                  error over the least one, geometric mean over the columns"""

SIGNIFICANCE = 0.05
SAVED = Path(__file__).parents[1] / "results" / "rectangles.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "benchmark.md"
MARKS = ("<!-- bench:rectangles -->", "<!-- /bench:rectangles -->")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--methods", type=names, metavar="A;B", help="default: all")
    parser.add_argument("--shapes", type=names, default=list(named.SHAPES))
    parser.add_argument("--scales", type=scales, default=[10_000, 10_000_000], help="people")
    parser.add_argument("--size", type=int, default=256, help="cells along a side")
    parser.add_argument("--rectangles", type=int, default=2000)
    parser.add_argument("--epsilon", type=rational, default=Fraction(1, 10))
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument(
        "--patience", type=float, default=30, help="seconds for the trials of a method on a table"
    )
    parser.add_argument(
        "--document",
        action="store_true",
        help=f"measure nothing; fill docs/measured/benchmark.md from bench/results/{SAVED.name}",
    )


def scales(text: str) -> list[int]:
    """Parse numbers of people such as ``1e4,1e7``."""
    return [int(float(part)) for part in text.split(",")]


def measure(
    methods: list[str] | None = None,
    shapes: list[str] | None = None,
    scales: list[int] | None = None,
    size: int = 256,
    rectangles: int = 2000,
    epsilon: Fraction = Fraction(1, 10),
    trials: int = 20,
    patience: float = 30,
    document: bool = False,
) -> dict[str, Any]:
    """Measure a row for each shape, scale and method; list settings and refusals."""
    if document:
        return fill_document()
    specs = [mechanism(spec).spec for spec in methods or geodp.METHODS]
    # The same rectangles for all methods and releases.
    queries = accuracy.rectangles((size, size), rectangles, named.SEED)
    rows: list[dict[str, Any]] = []
    refused: dict[str, str] = {}
    for shape in shapes or named.SHAPES:
        for people in scales or [10_000]:
            source = named.sample(shape, size, people)
            supported, reasons = libraries.accepted(specs, source)
            refused |= reasons
            table_rows = [
                _row(spec, source, queries, epsilon, trials, patience) for spec in supported
            ]
            flag_best(table_rows)
            rows += [{"shape": shape, "scale": people, **row} for row in table_rows]
    settings = {
        "size": size,
        "rectangles": rectangles,
        "epsilon": str(epsilon),
        "trials": trials,
        "patience": patience,
    }
    return {"settings": settings, "rows": rows, "refused": refused}


def _row(
    spec: str,
    source: geodp.CountTable,
    queries: Any,
    epsilon: Fraction,
    trials: int,
    patience: float,
) -> dict[str, Any]:
    """Measure errors of the trials of one method, as many as its patience allows."""
    run, _ = libraries.of_method(spec).prepare(source, epsilon)
    people = int(source.count.sum())
    truth = accuracy.sums(source.to_dense().astype(np.float64), queries)
    errors: list[float] = []
    absolute: list[float] = []
    start = time.perf_counter()
    while len(errors) < trials and (not errors or time.perf_counter() - start < patience):
        released = run(len(errors)).table.to_dense().astype(np.float64)
        difference = accuracy.sums(released, queries) - truth
        errors.append(accuracy.scaled_error(difference, people))
        absolute.append(float(np.abs(difference).mean()))
    return {
        "method": spec,
        "trials": len(errors),
        "seconds": (time.perf_counter() - start) / len(errors),
        "errors": errors,
        "error": float(np.mean(errors)),
        "mae": float(np.mean(absolute)),
    }


def flag_best(rows: list[dict[str, Any]]) -> None:
    """Add ``best`` and ``competitive`` to the rows of one shape and scale."""
    from scipy.stats import ttest_ind

    best = min(rows, key=lambda row: row["error"])
    # Bonferroni's correction for the comparisons with the best method.
    level = SIGNIFICANCE / max(1, len(rows) - 1)
    for row in rows:
        row["best"] = row is best
        few = min(row["trials"], best["trials"]) < 2
        # Equal samples have no variance, for which the test is undefined.
        same = row is best or row["errors"] == best["errors"]
        row["competitive"] = same or (
            not few
            and float(ttest_ind(row["errors"], best["errors"], equal_var=False).pvalue) >= level
        )


def regrets(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Compute each method's error over the smallest, geometric mean over shapes and scales."""
    smallest = {(row["shape"], row["scale"]): row["error"] for row in rows if row["best"]}
    logs: dict[str, list[float]] = {}
    for row in rows:
        over = np.log(row["error"] / smallest[row["shape"], row["scale"]])
        logs.setdefault(row["method"], []).append(float(over))
    return {method: float(np.exp(np.mean(values))) for method, values in logs.items()}


def show(result: dict[str, Any]) -> str:
    """Format methods by shapes and scales, and the refusals."""
    parts = [table(_lines(result, "*", "+"))]
    if result["refused"]:
        rows = [{"method": spec, "reason": reason} for spec, reason in result["refused"].items()]
        parts += ["Not measured", table(rows)]
    return "\n\n".join(parts)


def fill_document() -> dict[str, Any]:
    """Fill the document's table with the saved figures, and return those."""
    return fill_saved(SAVED, DOCUMENT, MARKS, section)


def section(result: dict[str, Any]) -> str:
    """Format the document's table: the smallest in bold, competitive ones with a plus."""
    settings = result["settings"]
    refused = ", ".join(f"`{spec}`" for spec in result["refused"])
    lines = [
        f"{settings['size']} x {settings['size']} cells, {settings['rectangles']:,} rectangles, "
        f"epsilon = {settings['epsilon']}, {settings['trials']} releases of each method. Scaled "
        "average per-query error, x 10^-9; **bold**: the least of its column; +: not significantly "
        "above it. Regret: the error over the least one, geometric mean over the columns.",
        "",
        markdown(_lines(result, "**", "+")),
    ]
    if refused:
        lines += ["", f"Not measured, as they refuse a grid of this size: {refused}."]
    return "\n".join(lines)


def _lines(result: dict[str, Any], best: str, competitive: str) -> list[dict[str, Any]]:
    """Build a line for each method; the markers of the best surround it if they can."""
    columns = list(dict.fromkeys((row["shape"], row["scale"]) for row in result["rows"]))
    row_of = {(row["method"], row["shape"], row["scale"]): row for row in result["rows"]}
    regret = regrets(result["rows"])
    lines = []
    for method in dict.fromkeys(row["method"] for row in result["rows"]):
        line: dict[str, Any] = {"method": method}
        for shape, people in columns:
            row = row_of[method, shape, people]
            figure = text(float(f"{row['error'] * 1e9:.3g}"))
            if row["best"]:
                figure = f"**{figure}**" if best == "**" else figure + best
            elif row["competitive"]:
                figure += competitive
            line[f"{shape} {people:.0e}".replace("e+0", "e")] = figure
        line["regret"] = regret[method]
        lines.append(line)
    return lines
