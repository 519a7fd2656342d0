"""A series under one budget compared with independent releases, on a public series."""

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
from bench.tables import excerpt, fill, markdown, table
from geodp.errors import UsageError
from geodp.kinds.series.smoothing import Mode
from geodp.privacy.loss import rational
from geodp.release.sharing import Noise

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
"""Bits of the largest blocks whose gain is compared."""

EVERY = 6
"""One in this many snapshots is used for squares."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
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
    """Measure a row for each method and accounting, and the coverage of the last one."""
    if data is None:
        raise UsageError("This benchmark reads a public series; --data DIR names its directory.")
    times, tables = load_months(data)
    rows, coverage = [], []
    for method in METHODS:
        pure: list[float] = []
        for name, (noise, smooth) in ACCOUNTS.items():
            # Laplace noise needs no delta.
            terms = {"epsilon": epsilon, **({"delta": delta} if noise != "laplace" else {})}
            errors = []
            for _ in range(trials):
                series = geodp.publish_series(
                    tables, times=times, person="all", contribution=1, method=method,
                    noise=noise, smooth=smooth, **terms
                )  # fmt: skip
                errors.append(error_of(series, tables))
            mean, spread = mean_and_error(errors)
            # The first accounting is the reference of all gains.
            pure = pure or mean
            gain = [a / b for a, b in zip(pure, mean, strict=True)]
            rows.append({"method": method, "accounting": name, "mae": mean[::2], "se": spread[::2],
                         "gain": gain[::2], "least": min(gain[: LARGEST + 1])})  # fmt: skip
        coverage += [{"method": method, **row} for row in cover(series, tables)]
    settings = {"snapshots": len(tables), "epsilon": str(epsilon), "delta": str(delta)}
    return {"settings": settings | {"trials": trials}, "rows": rows, "coverage": coverage}


def cover(series: list[geodp.Release], tables: list[geodp.CountTable]) -> Iterator[dict[str, Any]]:
    """Yield the coverage of intervals of squares, by where these are."""
    sampled = [*zip(series, tables, strict=True)][::EVERY]
    held = np.mean(
        [hold_squares(snapshot, truth.to_dense()) for snapshot, truth in sampled], axis=0
    )
    for place, row in zip(PLACES, held.tolist(), strict=True):
        yield {"place": place, "held": row}


ACCOUNTS: dict[str, tuple[Noise, Mode]] = {
    "pure": ("laplace", "none"),
    "pure, smoothed": ("laplace", "both"),
    "zCDP": ("gaussian", "none"),
    "zCDP, forward": ("gaussian", "forward"),
    "zCDP, smoothed": ("gaussian", "both"),
}
"""Noise and smoothing; all others are compared with the first."""


def error_of(series: list[geodp.Release], tables: list[geodp.CountTable]) -> NDArray[np.float64]:
    """Compute the mean absolute error of blocks of 1, 2, 4 ... cells, over all snapshots."""
    errors = []
    for snapshot, truth in zip(series, tables, strict=True):
        released = np.zeros(1 << truth.grid.bits)
        released[snapshot.table.key] = snapshot.table.count
        errors.append(by_area(released - truth.to_vector()))
    mean: NDArray[np.float64] = np.mean(errors, axis=0)
    return mean


def show(result: dict[str, Any]) -> str:
    """Format errors and gains of every method and accounting, and coverage."""
    caption = ", ".join(f"{name} {value}" for name, value in result["settings"].items())
    shown = [table(lines(part, result)) for part in PARTS]
    return "\n\n".join([caption, *shown])


def lines(part: str, result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the lines of a table: errors, gains or coverage."""
    if part == "coverage":
        return [
            {"method": row["method"], "squares": row["place"]}
            | {f"{n} x {n}": f"{share:.1%}" for n, share in zip(SIDES, row["held"], strict=True)}
            for row in result["coverage"]
        ]
    table_lines = []
    for row in result["rows"]:
        values = {f"2^{2 * i}": value for i, value in enumerate(row[part])}
        line = {"method": row["method"], "of": row["accounting"], **values}
        table_lines.append(line | ({"least": row["least"]} if part == "gain" else {}))
    return table_lines


PARTS = ("mae", "gain", "coverage")
"""Tables of the document, by their markers."""


def marks(part: str) -> tuple[str, str]:
    """Return the markers around a table of the document."""
    return f"<!-- bench:series:{part} -->", f"<!-- /bench:series:{part} -->"


def fill_document() -> dict[str, Any]:
    """Fill the document's tables with the saved figures, and return those."""
    result: dict[str, Any] = json.loads(SAVED.read_text(encoding="utf-8"))
    errors = [
        line | {"least gain": row["least"]}
        for line, row in zip(lines("mae", result), result["rows"], strict=True)
    ]
    fill(DOCUMENT, marks("mae"), markdown(excerpt(errors, without=["2^2", "2^6", "2^10"])))
    fill(DOCUMENT, marks("coverage"), markdown(lines("coverage", result)))
    return result
