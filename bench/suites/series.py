"""A series under one budget beside independent releases of its snapshots, on a public series."""

from __future__ import annotations

import argparse
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import geodp
from bench.inputs.series import load_months
from bench.measure.errors import by_area, mean_and_error
from bench.tables import table
from geodp.errors import UsageError
from geodp.privacy.budget import rational
from geodp.release.series.sharing import Noise
from geodp.release.series.smoothing import Mode

TITLE = """\
Mean absolute errors of aligned blocks of 1, 4, 16 ... cells, over all snapshots and trials: one
person is in every snapshot, and all of them together spend epsilon and delta.
  pure                    independent releases with Laplace noise, epsilon / snapshots each
  zCDP                    Gaussian noise, rho / snapshots each
  smoothed, forward       predicted by the snapshots before and after, or before
  gain                    error of the pure ones with the same plan / that of the row"""

METHODS = ("pyramid:setting=R", "pyramid")


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
    """Return settings, and a row for each method and accounting."""
    if data is None:
        raise UsageError("This benchmark reads a public series; --data DIR names its directory.")
    times, tables = load_months(data)
    rows = []
    for method in METHODS:
        usual: list[float] = []
        for name, (noise, smooth) in ACCOUNTS.items():
            terms = {"epsilon": epsilon, **({"delta": delta} if noise != "laplace" else {})}
            found = []
            for _ in range(trials):
                series = geodp.publish_series(
                    tables, times=times, person="all", contribution=1, method=method,
                    noise=noise,
                    smooth=smooth, **terms
                )  # fmt: skip
                found.append(error_of(series, tables))
            mean, spread = mean_and_error(found)
            usual = usual or mean
            gain = [a / b for a, b in zip(usual, mean, strict=True)]
            rows.append({"method": method, "accounting": name, "mae": mean[::2], "se": spread[::2],
                         "gain": gain[::2]})  # fmt: skip
    settings = {"snapshots": len(tables), "epsilon": str(epsilon), "delta": str(delta)}
    return {"settings": settings | {"trials": trials}, "rows": rows}


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
    """Two rows a method and accounting: the errors, and the gains."""
    rows = []
    for row in result["rows"]:
        for what in ("mae", "gain"):
            values = {f"2^{2 * i}": value for i, value in enumerate(row[what])}
            rows.append({"method": row["method"], "of": row["accounting"], "what": what, **values})
    settings = result["settings"]
    words = ", ".join(f"{name} {value}" for name, value in settings.items())
    return f"{words}\n\n{table(rows)}"
