"""geodp and other libraries: one input, one run, one table."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import geodp
from bench.baselines import libraries
from bench.inputs import named
from bench.measure import cost
from bench.measure import errors as accuracy
from bench.suites.methods import names
from bench.tables import area, fill, markdown, paragraph, table
from geodp.privacy.loss import rational

TITLE = """\
Releases of one table, by geodp and by others, in alternating rounds of one run.
  best, median            milliseconds a release, from the input in the peer's own form
  ratio                   median / that of geodp topdown in the same run
  peak MB                 memory above the input's, in a fresh process
  negative                released counts below 0, of all cells; nonzero likewise
  MAE n                   mean absolute error of the sums of blocks of n cells"""

SAVED = Path(__file__).parents[1] / "results" / "peers.json"
ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "measured" / "comparison.md"
MARKS = ("<!-- bench:peers -->", "<!-- /bench:peers -->")
README = ROOT / "README.md"
README_MARKS = ("<!-- bench:peers:readme -->", "<!-- /bench:peers:readme -->")
IN_README = (
    "geodp pyramid",
    "geodp laplace",
    "OpenDP consistent 16-ary tree",
    "OpenDP laplace, each cell",
    "PyDP laplace, each cell",
    "diffprivlib histogramdd",
    "NumPy laplace, each cell",
)
"""In the README: the default, Laplace noise by geodp, and one of each kind of the others."""
PACKAGES = ("opendp", "diffprivlib", "scikit-learn", "python-dp", "PyWavelets", "scipy")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--methods", type=names, metavar="A;B", help="of geodp; default: all")
    parser.add_argument("--only", type=names, metavar="A;B", help="of the others; default: all")
    parser.add_argument("--data", default="kanto-example", help=f"of {', '.join(named.DATA)}")
    parser.add_argument("--size", type=int, default=512, help="cells along a side")
    parser.add_argument("--epsilon", type=rational, default=Fraction(1, 10))
    parser.add_argument("--trials", type=int, default=20, help="releases for the error")
    parser.add_argument("--rounds", type=int, default=9, help="rounds for the time")
    parser.add_argument(
        "--patience", type=float, default=60, help="seconds for all rounds, or trials, of one"
    )
    parser.add_argument(
        "--readme",
        action="store_true",
        help=f"measure nothing; write the documents' tables from bench/results/{SAVED.name}",
    )


def measure(
    methods: list[str] | None = None,
    only: list[str] | None = None,
    data: str = "kanto-example",
    size: int = 512,
    epsilon: Fraction = Fraction(1, 10),
    trials: int = 20,
    rounds: int = 9,
    patience: float = 60,
    readme: bool = False,
) -> dict[str, Any]:
    """Measure a row for each library; list settings, versions and missing libraries."""
    # Documents can be filled again without measuring.
    if readme:
        return fill_document()
    source = load(data, size)
    specs, refused = libraries.accepted(methods or list(geodp.METHODS), source)
    missing = [{"peer": f"geodp {spec}", "reason": reason} for spec, reason in refused.items()]
    # topdown is always measured: it is the reference of all ratios.
    peers = [libraries.of_method(spec) for spec in dict.fromkeys(["topdown", *specs])]
    peers += [other for other in libraries.OTHERS if only is None or other.name in only]
    memory: dict[str, dict[str, Any]] = {}
    prepared: dict[str, tuple[libraries.Run, libraries.Vector]] = {}
    for peer in peers:
        # Missing libraries are listed, so that the table says who was left out.
        if libraries.version(peer.package) is None:
            missing.append({"peer": peer.name, "reason": "not installed"})
            continue
        memory[peer.name] = cost.alone(peer.name, data, size, epsilon, patience)
        if problem := memory[peer.name].get("problem"):
            missing.append({"peer": label(peer), "reason": problem})
            continue
        prepared[peer.name] = peer.prepare(source, epsilon)
    runs = {name: run for name, (run, _) in prepared.items()}
    seconds = cost.alternate(runs, rounds, patience)
    rows = []
    for peer in peers:
        if peer.name in prepared:
            times = seconds[peer.name]
            enough = max(1, min(trials, int(patience / times["median"])))
            rows.append(
                {
                    "peer": label(peer),
                    "guarantee": peer.guarantee,
                    "noise": peer.noise,
                    "best_ms": times["best"] * 1e3,
                    "median_ms": times["median"] * 1e3,
                    "rounds": times["rounds"],
                    "ratio": times["median"] / seconds["topdown"]["median"],
                    "peak_mb": memory[peer.name]["peak"] / 1e6,
                    **_accuracy(*prepared[peer.name], source, enough),
                }
            )
    return {
        "settings": {
            "data": data,
            "size": size,
            "cells": source.grid.size,
            "occupied": int(source.key.size),
            # Not confidential: the inputs are synthetic or public.
            "people": int(source.count.sum()),
            "epsilon": str(epsilon),
            "trials": trials,
            "rounds": rounds,
            "patience": patience,
        },
        "versions": {package: libraries.version(package) for package in PACKAGES},
        "rows": rows,
        "missing": missing,
    }


load = named.load


def label(peer: libraries.Peer) -> str:
    """Return the peer's name in the table."""
    return f"geodp {peer.name}" if peer.package == "geodp" else peer.name


def _accuracy(
    run: libraries.Run,
    vector: Callable[[Any], Any],
    source: geodp.CountTable,
    trials: int,
) -> dict[str, Any]:
    """Measure total, negative counts and errors by area of several releases."""
    truth = source.to_vector()
    errors, negative, nonzero, total = [], [], [], []
    for trial in range(trials):
        released = vector(run(trial))
        errors.append(accuracy.by_area(released - truth))
        negative.append(int((released < 0).sum()))
        nonzero.append(int((released != 0).sum()))
        total.append(float(released.sum()))
    mean, spread = accuracy.mean_and_error(errors)
    return {
        "trials": trials,
        "negative": float(np.mean(negative)),
        "nonzero": float(np.mean(nonzero)),
        "total": float(np.mean(total)),
        "mae": mean,
        "mae_se": spread,
    }


def show(result: dict[str, Any]) -> str:
    """Format cost, then error, then the libraries that are not in the tables."""
    cost_rows = [
        {
            "peer": row["peer"],
            "best": row["best_ms"],
            "median": row["median_ms"],
            "ratio": row["ratio"],
            "peak MB": row["peak_mb"],
            "guarantee": row["guarantee"],
            "noise": row["noise"],
        }
        for row in result["rows"]
    ]
    error_rows = [
        {
            "peer": row["peer"],
            "negative": round(row["negative"]),
            "nonzero": round(row["nonzero"]),
            "total": round(row["total"]),
            **{area(1 << i): row["mae"][i] for i in range(0, len(row["mae"]), 2)},
        }
        for row in result["rows"]
    ]
    parts = [table(cost_rows), table(error_rows)]
    if result["missing"]:
        parts += ["Not measured", table(result["missing"])]
    return "\n\n".join(parts)


def fill_document() -> dict[str, Any]:
    """Fill the tables of the page and of the README with the saved figures, and return those."""
    result: dict[str, Any] = json.loads(SAVED.read_text(encoding="utf-8"))
    fill(DOCUMENT, MARKS, section(result))
    fill(README, README_MARKS, summary(result))
    return result


OURS = ("geodp topdown", "geodp pyramid", "geodp laplace")
"""Methods of geodp in the page's table; `regions` and `rectangles` compare all of them."""


def shares(row: dict[str, Any], settings: dict[str, Any]) -> str:
    """Format the share of cells below 0, in per cent."""
    return f"{100 * row['negative'] / settings['cells']:.0f} %"


def summary(result: dict[str, Any]) -> str:
    """Format the README's table: few libraries, with the columns of the comparison."""
    settings = result["settings"]
    empty = 100 * (1 - settings["occupied"] / settings["cells"])
    rows = {row["peer"]: row for row in result["rows"]}
    lines = [
        {
            "": name,
            "ms": rows[name]["median_ms"],
            "negative": shares(rows[name], settings),
            **{area(1 << shift): rows[name]["mae"][shift] for shift in (0, 6, 12)},
            "noise": rows[name]["noise"],
        }
        for name in IN_README
    ]
    caption = (
        f"{settings['cells']:,} cells ({settings['data']}), epsilon = {settings['epsilon']}: "
        "median time of a release, cells below 0, and mean absolute error (MAE) of the sums of "
        f"blocks of so many cells, over up to {settings['trials']} releases. Laplace noise on each "
        "cell has nearly the same errors in every library; at 2^12 the rows differ by chance. MAE "
        f"1 is over all cells, {empty:.0f} % of them truly empty. [All "
        "libraries](docs/measured/comparison.md)."
    )
    return f"{paragraph(caption)}\n\n{markdown(lines)}"


def section(result: dict[str, Any]) -> str:
    """Format the page's table, with a sentence on how it was made."""
    settings, versions = result["settings"], result["versions"]
    here = result["machine"]
    bits = len(result["rows"][0]["mae"]) - 1
    shifts = sorted({0, bits // 3 // 2 * 2, bits * 2 // 3 // 2 * 2})
    rows = [
        {
            "": row["peer"],
            "ms": row["median_ms"],
            "ratio": row["ratio"],
            "negative": shares(row, settings),
            **{area(1 << shift): row["mae"][shift] for shift in shifts},
            "noise": row["noise"],
        }
        for row in result["rows"]
        if not row["peer"].startswith("geodp ") or row["peer"] in OURS
    ]
    installed = ", ".join(f"{name} {v}" for name, v in versions.items() if v)
    missing = [one["peer"] for one in result["missing"]]
    made = (
        f"{settings['cells']:,} cells ({settings['data']}), epsilon = {settings['epsilon']}. "
        f"Median time of up to {settings['rounds']} alternating rounds and its ratio to topdown; "
        "cells below 0; mean absolute error (MAE) of the sums of "
        f"blocks of so many cells, over up to {settings['trials']} releases (the slowest: fewer)."
    )
    machine = (
        f"Python {here['python']}, NumPy {here['numpy']}, {installed}; {here['processor']}. "
        + (
            f"Not measured, for reasons that bench/results/{SAVED.name} tells: "
            f"{', '.join(missing)}. "
            if missing
            else ""
        )
        + "Each takes its input in its own form, ready in memory. Plain floats do not keep the "
        "guarantee, whose proof is for real numbers (Mironov 2012)."
    )
    return "\n\n".join([paragraph(made), markdown(rows), paragraph(machine)])
