"""All methods of geodp on all data sets and sizes."""

from __future__ import annotations

import argparse
import hashlib
from fractions import Fraction
from typing import Any

import geodp
from bench.baselines import libraries
from bench.inputs import named
from bench.measure import cost
from bench.tables import area, table
from geodp.mechanisms import mechanism
from geodp.privacy.loss import rational

TITLE = """\
Every method of geodp; seconds are of this machine, compare them within one table only.
  best, median            milliseconds of geodp.publish over rounds that alternate all methods
  peak MB                 memory above the input's, in a fresh process
  visited                 nodes, cells or coefficients that the method took
  MAE n                   mean absolute error of the sums of blocks of n cells"""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--methods", type=names, metavar="A;B", help="default: all; see below")
    parser.add_argument(
        "--data", type=names, default=["clusters"], help=f"of {', '.join(named.DATA)}; or all"
    )
    parser.add_argument("--size", type=integers, default=[64, 256, 512], help="cells along a side")
    parser.add_argument("--epsilon", type=rational, default=Fraction(1, 10))
    parser.add_argument("--trials", type=int, default=10, help="releases for the error")
    parser.add_argument("--rounds", type=int, default=5, help="rounds for the time")
    parser.add_argument(
        "--patience", type=float, default=30, help="seconds for all rounds, or trials, of a method"
    )
    parser.epilog = (
        "Lists are separated by commas, methods that have settings by semicolons: "
        "'laplace;hay:fanout=4,nonnegative=yes'."
    )


def names(text: str) -> list[str]:
    """Split a list at semicolons if there is one or a setting, otherwise at commas."""
    return [name.strip() for name in text.split(";" if set(";:") & set(text) else ",")]


def integers(text: str) -> list[int]:
    """Parse integers, separated by commas."""
    return [int(part) for part in text.split(",")]


def measure(
    methods: list[str] | None = None,
    data: list[str] | None = None,
    size: list[int] | None = None,
    epsilon: Fraction = Fraction(1, 10),
    trials: int = 10,
    rounds: int = 5,
    patience: float = 30,
) -> dict[str, Any]:
    """Measure a row for each data set, size and method; list settings and refusals."""
    specs = [mechanism(spec).spec for spec in methods or geodp.METHODS]
    sets = data or ["clusters"]
    rows: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    for name in _expanded(sets):
        for side in size or [64]:
            measured_rows, refusals = _measured(
                name, side, specs, epsilon, trials, rounds, patience
            )
            rows += measured_rows
            refused += refusals
    settings = {"epsilon": str(epsilon), "trials": trials, "rounds": rounds, "patience": patience}
    return {"settings": settings, "rows": rows, "refused": refused}


def _expanded(sets: list[str]) -> list[str]:
    """Expand names of data sets; ``all`` stands for those that are available."""
    available = [name for name in named.DATA if name != "real" or named.CENSUS.is_dir()]
    return available if sets == ["all"] else sets


def _measured(
    name: str,
    size: int,
    specs: list[str],
    epsilon: Fraction,
    trials: int,
    rounds: int,
    patience: float,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Measure rows of one table, and list refusals."""
    here = {"data": name, "size": size}
    try:
        source = named.load(name, size)
    except geodp.GeodpError as error:
        return [], [{**here, "method": "all", "reason": str(error)}]
    supported, reasons = libraries.accepted(specs, source)
    refused = [{**here, "method": spec, "reason": reason} for spec, reason in reasons.items()]
    # Memory first: a method that fails or takes too long is not timed.
    memory = {spec: cost.alone(spec, name, size, epsilon, patience) for spec in supported}
    for spec in supported:
        if "problem" in memory[spec]:
            refused.append({**here, "method": spec, "reason": memory[spec]["problem"]})
    supported = [spec for spec in supported if "problem" not in memory[spec]]
    runs = {spec: libraries.of_method(spec).prepare(source, epsilon)[0] for spec in supported}
    seconds = cost.alternate(runs, rounds, patience)
    rows = []
    for spec in supported:
        # Slow methods get fewer trials, rather than delaying the others.
        enough = max(1, min(trials, int(patience / max(seconds[spec]["median"], 1e-9))))
        rows.append(
            {
                **here,
                "method": spec,
                "cells": source.grid.size,
                "occupied": int(source.key.size),
                "best_ms": seconds[spec]["best"] * 1e3,
                "median_ms": seconds[spec]["median"] * 1e3,
                "rounds": seconds[spec]["rounds"],
                "peak_mb": memory[spec]["peak"] / 1e6,
                **_errors(spec, source, epsilon, enough),
            }
        )
    return rows, refused


def _errors(spec: str, source: geodp.CountTable, epsilon: Fraction, trials: int) -> dict[str, Any]:
    """Measure visited nodes, and errors by area; the noise is the same in every run."""
    # One key for a method: results differ between versions only where the method does.
    key = geodp.NoiseKey(hashlib.sha256(f"bench {spec}".encode()).digest())
    evaluation = geodp.evaluate(
        source,
        methods=spec,
        epsilon=epsilon,
        contribution=1,
        trials=trials,
        key=key,
        public=True,
    ).to_dict()
    (figures,) = evaluation["methods"].values()
    shown_columns = ("visited", "negative", "nonzero", "mae", "mae_se", "rmse", "bias")
    return {
        "trials": trials,
        "areas": evaluation["areas"],
        **{name: figures[name] for name in shown_columns},
    }


def show(result: dict[str, Any]) -> str:
    """Format a table for each data set and size, and the refusals."""
    parts = []
    for name, size in dict.fromkeys((row["data"], row["size"]) for row in result["rows"]):
        rows = [row for row in result["rows"] if (row["data"], row["size"]) == (name, size)]
        cells, occupied = rows[0]["cells"], rows[0]["occupied"]
        parts.append(f"{name}, size {size}: {cells:,} cells, {occupied:,} occupied")
        parts.append(table([_line(row) for row in rows]))
    if result["refused"]:
        parts.append("Not measured")
        parts.append(table(result["refused"]))
    return "\n\n".join(parts)


def _line(row: dict[str, Any]) -> dict[str, Any]:
    last = len(row["areas"]) - 1
    shown = sorted({0, last // 3, 2 * last // 3, last})
    return {
        "method": row["method"],
        "best": row["best_ms"],
        "median": row["median_ms"],
        "peak MB": row["peak_mb"],
        "visited": round(row["visited"]),
        **{area(row["areas"][i]): row["mae"][i] for i in shown},
    }
