"""A series under one budget beside independent releases of its snapshots, on a public series."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import geodp
from bench.inputs.series import load_months
from bench.measure.errors import by_area, mean_and_error
from bench.measure.squares import PLACES, SIDES, hold_squares
from bench.tables import fill, markdown, table
from geodp.errors import UsageError
from geodp.features.series.sharing import Noise
from geodp.features.series.smoothing import Mode
from geodp.privacy.budget import rational

TITLE = """\
Mean absolute errors of aligned blocks of 1, 4, 16 ... cells, over all snapshots and trials: one
person is in every snapshot, and all of them together spend epsilon and delta.
  pure                    independent releases with Laplace noise, epsilon / snapshots each
  zCDP                    Gaussian noise, rho / snapshots each
  smoothed, forward       predicted by the snapshots before and after, or before
  gain                    error of the pure ones with the same plan / that of the row
  least gain              the least of all blocks of 1, 2, 4 ... 4,096 cells
and how often 95 % intervals of squares hold their count, of snapshots with everything."""

METHODS = ("pyramid:setting=R", "pyramid")
SAVED = Path(__file__).parents[1] / "results" / "series.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "series.md"

LARGEST = 12
"""Bits of the largest blocks whose gain is looked at."""

EVERY = 6
"""Of so many snapshots one is asked for squares."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options; their names are :func:`measure`'s."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="directory of public statistics")
    parser.add_argument("--epsilon", type=rational, default=Fraction(1, 10), help="of all")
    parser.add_argument("--delta", type=rational, default=Fraction(1, 10**10), help="of all")
    parser.add_argument("--trials", type=int, default=3)


def measure(
    data: Path | None = None,
    epsilon: Fraction = Fraction(1, 10),
    delta: Fraction = Fraction(1, 10**10),
    trials: int = 3,
) -> dict[str, Any]:
    """Return settings, a row for each method and accounting, and the coverage of the last."""
    if data is None:
        raise UsageError("This benchmark reads a public series; --data DIR names its directory.")
    times, tables = load_months(data)
    rows, coverage = [], []
    for method in METHODS:
        usual: list[float] = []
        for name, (noise, smooth) in ACCOUNTS.items():
            terms = {"epsilon": epsilon, **({"delta": delta} if noise != "laplace" else {})}
            found = []
            for _ in range(trials):
                series = geodp.publish_series(
                    tables, times=times, person="all", contribution=1, method=method,
                    noise=noise, smooth=smooth, **terms
                )  # fmt: skip
                found.append(error_of(series, tables))
            mean, spread = mean_and_error(found)
            usual = usual or mean
            gain = [a / b for a, b in zip(usual, mean, strict=True)]
            rows.append({"method": method, "accounting": name, "mae": mean[::2], "se": spread[::2],
                         "gain": gain[::2], "least": min(gain[: LARGEST + 1])})  # fmt: skip
        coverage += [{"method": method, **row} for row in cover(series, tables)]
    settings = {"snapshots": len(tables), "epsilon": str(epsilon), "delta": str(delta)}
    return {"settings": settings | {"trials": trials}, "rows": rows, "coverage": coverage}


def cover(series: list[geodp.Release], tables: list[geodp.CountTable]) -> Iterator[dict[str, Any]]:
    """Yield how often intervals of squares hold the count, by where these are."""
    some = [*zip(series, tables, strict=True)][::EVERY]
    held = np.mean([hold_squares(one, truth.to_dense()) for one, truth in some], axis=0)
    for place, row in zip(PLACES, held.tolist(), strict=True):
        yield {"place": place, "held": row}


ACCOUNTS: dict[str, tuple[Noise, Mode]] = {
    "pure": ("laplace", "none"),
    "pure, smoothed": ("laplace", "both"),
    "zCDP": ("gaussian", "none"),
    "zCDP, forward": ("gaussian", "forward"),
    "zCDP, smoothed": ("gaussian", "both"),
}
"""Noise and smoothing; the first is what all others are compared with."""


def error_of(series: list[geodp.Release], tables: list[geodp.CountTable]) -> NDArray[np.float64]:
    """Mean absolute error of blocks of 1, 2, 4 ... cells, over all snapshots."""
    found = []
    for one, truth in zip(series, tables, strict=True):
        released = np.zeros(1 << truth.grid.bits)
        released[one.table.key] = one.table.count
        found.append(by_area(released - truth.to_vector()))
    mean: NDArray[np.float64] = np.mean(found, axis=0)
    return mean


def show(result: dict[str, Any]) -> str:
    """Return errors and gains of every method and accounting, and coverage."""
    words = ", ".join(f"{name} {value}" for name, value in result["settings"].items())
    shown = [table(lines(part, result)) for part in PARTS]
    return "\n\n".join([words, *shown])


def lines(part: str, result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the lines of a table: errors, gains or coverage."""
    if part == "coverage":
        return [
            {"method": row["method"], "squares": row["place"]}
            | {f"{n} x {n}": f"{one:.1%}" for n, one in zip(SIDES, row["held"], strict=True)}
            for row in result["coverage"]
        ]
    found = []
    for row in result["rows"]:
        values = {f"2^{2 * i}": value for i, value in enumerate(row[part])}
        line = {"method": row["method"], "of": row["accounting"], **values}
        found.append(line | ({"least": row["least"]} if part == "gain" else {}))
    return found


PARTS = ("mae", "gain", "coverage")
"""Tables of the document, by their marks."""


def marks(part: str) -> tuple[str, str]:
    """Return what a table of the document stands between."""
    return f"<!-- bench:series:{part} -->", f"<!-- /bench:series:{part} -->"


def fill_document() -> dict[str, Any]:
    """Write the document's tables from the kept figures, and return those."""
    result: dict[str, Any] = json.loads(SAVED.read_text(encoding="utf-8"))
    for part in PARTS:
        fill(DOCUMENT, marks(part), markdown(lines(part, result)))
    return result
