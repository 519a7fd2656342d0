"""Aligned blocks of the pyramid's default compared with the paper's: where its bound holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import geodp
from bench.inputs import derived
from bench.measure.simulation import FRESH, public_key
from geodp.grid.grid import Grid
from geodp.mechanisms import mechanism
from geodp.privacy.terms import Terms
from geodp.table.counts import ReleasedTable

PAPER = "topdown"
TABLES = (
    *("kanto", "germany-1km", "europe-2011-7-5", "europe-2018-7-5", "europe-2011-9-8"),
    *("europe-2018-9-8", "hiroshima-2010", "hiroshima-2020", "samoa-100m", "flow"),
)
WIDE = ("flow-attributes", "taxi", "japan")
"""Tables of many axes, and a large domain."""

LARGE_DOMAIN = 22
"""Bits of the smallest domain that is large."""

SMALL, LARGE = 1.05, 3.0
"""Allowed ratio to the paper's method for a small block, and for a larger one."""

SMALL_GAUSSIAN = 1.4
"""The same for a small block with Gaussian noise, in closed forms."""

ENOUGH = 256
"""Number of blocks below which measured ratios of a few releases are left to chance."""

MAX_RELATIVE_ERROR = 0.05
"""Relative standard error of a ratio above which it is left to chance and not reported."""

TRIALS = ((17, 200), (19, 40), (22, 20), (27, 60), (64, 8))
"""Number of releases on domains of fewer bits than these."""

Floats = NDArray[np.float64]


def first_large(bits: int) -> int:
    """Return the bits of the smallest blocks that are large, on a domain of so many bits."""
    return 11 if bits < LARGE_DOMAIN else 19


def largest(ratios: Sequence[float], blocks: Sequence[int]) -> tuple[float, float]:
    """Find the largest ratio of small blocks, and of all that are enough."""
    reliable = [r if n >= ENOUGH else 0.0 for r, n in zip(ratios, blocks, strict=True)]
    return max(reliable[: first_large(len(ratios) - 1)]), max(reliable)


def measure(
    spec: Callable[[Grid], str], data: Path | None, epsilons: Sequence[str]
) -> list[dict[str, Any]]:
    """Measure MAE and RMSE of the default's plan on the grid of every table.

    They are ratios of blocks of all powers of two, with standard errors for mean absolute ones.
    """
    rows = []
    for name in (*TABLES, *WIDE, *derived.TABLES):
        table = derived.load(name, data)
        bits = table.grid.bits
        trials = next(often for below, often in TRIALS if bits < below)
        for epsilon in epsilons:
            both = [_errors(table, s, epsilon, trials) for s in (spec(table.grid), PAPER)]
            ratio = both[0].mean(axis=0) / both[1].mean(axis=0)
            spread = [
                errors.std(axis=0, ddof=1) / errors.mean(axis=0) / trials**0.5 for errors in both
            ]
            rows.append(
                {
                    "data": name,
                    "bits": bits,
                    "epsilon": epsilon,
                    "trials": trials,
                    "mae": ratio[0].tolist(),
                    "rmse": np.sqrt(ratio[1]).tolist(),
                    "error": np.hypot(*spread)[0].tolist(),
                }
            )
    return rows


def _errors(table: geodp.CountTable, spec: str, epsilon: str, trials: int) -> Floats:
    """Sum absolute and squared errors: float64[releases, 2, bits + 1]."""
    method = mechanism(spec)
    event = method.event(table.grid, Terms.of(epsilon=epsilon, contribution=1))
    # Both methods are measured with the same keys.
    keys = map(public_key, range(FRESH, FRESH + trials))
    return np.array([sums_of_errors(table, method.release(table, event, key)) for key in keys])


def sums_of_errors(table: geodp.CountTable, released: ReleasedTable) -> Floats:
    """Sum absolute and squared errors of blocks of 2^0, 2^1 ... cells.

    Returns
    -------
    float64[2, bits + 1]
    """
    key = np.concatenate([table.key, released.key])
    error = np.concatenate([-table.count, released.count]).astype(np.float64)
    order = np.argsort(key, kind="stable")
    key, error = key[order], error[order]
    sums = np.zeros((2, table.grid.bits + 1))
    for size in range(table.grid.bits + 1):
        if size:
            key = key >> np.uint64(1)
        # Keys are sorted, so blocks of each size are runs of equal prefixes.
        first = np.flatnonzero(np.append(True, key[1:] != key[:-1])[: key.size])
        error = np.add.reduceat(error, first) if first.size else error
        key = key[first]
        sums[:, size] = np.abs(error).sum(), error @ error
    return sums


def lines(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Build the rows of the document's table."""
    table_rows = []
    for row in rows:
        mae = [f"{r:.2f}" for r in row["mae"]]
        shown = [
            ratio if e <= MAX_RELATIVE_ERROR else "-"
            for ratio, e in zip(mae, row["error"], strict=True)
        ]
        small, every = (worst(row, sizes) for sizes in (first_large(row["bits"]), None))
        table_rows.append(
            {
                "table": row["data"],
                "n": f"2^{row['bits']}",
                "epsilon": row["epsilon"],
                **{f"2^{i}": shown[i] if i < len(shown) else "-" for i in range(0, 15, 2)},
                "largest": f"{small[0]:.2f} ± {small[1]:.2f}, 2^{small[2]}",
                "of all": f"{every[0]:.2f} ± {every[1]:.2f}, 2^{every[2]}",
            }
        )
    return table_rows


def worst(row: dict[str, Any], sizes: int | None = None) -> tuple[float, float, int]:
    """Find the largest reliable ratio, its standard error, and the bits of its blocks."""
    both = np.maximum(row["mae"], row["rmse"])[:sizes]
    error = np.array(row["error"])[:sizes]
    at = int(np.where(error <= MAX_RELATIVE_ERROR, both, 0).argmax())
    return float(both[at]), float(both[at] * error[at]), at
