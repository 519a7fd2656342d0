"""Time of both tree methods to 2^62 cells, beside a sort and the paper's T2 in NumPy."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import geodp
from bench.tables import table
from geodp.accounting import Event, event, rational
from geodp.mechanisms import mechanism
from geodp.mechanisms.pyramid import Pyramid
from geodp.mechanisms.pyramid import refine as pyramid
from geodp.mechanisms.refinement import Noise
from geodp.mechanisms.refinement import refine as topdown
from geodp.randomness import NoiseKey

TITLE = """\
Refinement of towns of heavy-tailed sizes on n = 2^bits cells; best of alternating rounds.
  m, m+                   occupied cells, and cells of the output
  visited                 nodes that were split (topdown) or measured (pyramid)
  seconds t               with t threads
  ns                      a visited node, with the first number of threads
  / sort                  the same time over np.sort's of the same m keys, shuffled
  NumPy / this            of T2 level by level on NumPy arrays, sparse, in floating point
  exponent                slope of log time (or visited nodes) against log(m+ log2 n), all rows"""

BITS = [18, 26, 37, 50, 62]
OCCUPIED = [10_000, 100_000, 1_000_000]
PEOPLE = 12
"""People of an occupied cell, on average."""

TOWNS = 2000
SEED = 20150901


def options(parser: argparse.ArgumentParser) -> None:
    """The command line's options; their names are :func:`measure`'s."""
    parser.add_argument("--bits", type=_numbers, default=BITS, metavar="A,B", help="of n")
    parser.add_argument("--occupied", type=_numbers, default=OCCUPIED, metavar="A,B", help="cells")
    parser.add_argument("--threads", type=_numbers, default=[1, 2], metavar="A,B")
    parser.add_argument("--epsilon", type=rational, default=Fraction(1))
    parser.add_argument("--rounds", type=int, default=3)


def _numbers(text: str) -> list[int]:
    return [int(float(part)) for part in text.split(",")]


def measure(
    bits: list[int] | None = None,
    occupied: list[int] | None = None,
    threads: list[int] | None = None,
    epsilon: Fraction = Fraction(1),
    rounds: int = 3,
) -> dict[str, Any]:
    """A row for each method, size and number of occupied cells; exponents of each method."""
    threads = threads or [1, 2]
    sizes = [(b, m) for b in bits or BITS for m in occupied or OCCUPIED if 4 * m <= 1 << b]
    _rows(towns(14, 1000), epsilon, threads, 1)  # compiles
    rows = [row for b, m in sizes for row in _rows(towns(b, m), epsilon, threads, rounds)]
    exponents = []
    for name in ("topdown", "pyramid"):
        mine = [row for row in rows if row["method"] == name]
        work = [row["output"] * row["bits"] for row in mine]
        fitted = {
            f"seconds_{t}": _slope(work, [row[f"seconds_{t}"] for row in mine]) for t in threads
        }
        nodes = _slope(work, [row["visited"] for row in mine])
        exponents.append({"method": name, "rows": len(mine), "visited": nodes, **fitted})
    return {"threads": threads, "rows": rows, "exponents": exponents}


def show(result: dict[str, Any]) -> str:
    """The rows and the exponents."""
    lines = [
        {
            "method": row["method"],
            "bits": row["bits"],
            "m": row["occupied"],
            "m+": row["output"],
            "visited": row["visited"],
            **{f"seconds {t}": row[f"seconds_{t}"] for t in result["threads"]},
            "ns": row["ns_a_node"],
            "/ sort": row["over_sort"],
            "NumPy / this": row["numpy_over_this"],
        }
        for row in result["rows"]
    ]
    return f"{table(lines)}\n\nexponents\n{table(result['exponents'])}"


def towns(bits: int, occupied: int) -> geodp.CountTable:
    """Cells around places of heavy-tailed sizes; some people in each."""
    draw = np.random.default_rng(SEED)
    grid = geodp.Grid.regular((1 << bits // 2, 1 << (bits - bits // 2)))
    weight = draw.pareto(1.1, TOWNS) + 1
    place = draw.uniform(0.2, 0.8, (2, TOWNS))
    found = np.empty(0, np.uint64)
    while found.size < occupied:
        town = draw.choice(TOWNS, 2 * occupied, p=weight / weight.sum())
        spread = 0.1 * np.sqrt(weight / weight.sum())[town]
        where = place[:, town] + spread * draw.normal(size=(2, town.size)) ** 3
        where = where[:, ((where >= 0) & (where < 1)).all(axis=0)]
        index = (where * np.array(grid.shape)[:, None]).astype(np.int64)
        found = np.union1d(found, grid.encode(index))
    keys = np.sort(draw.choice(found, occupied, replace=False))
    return geodp.CountTable.from_keys(grid, keys, 1 + draw.geometric(1 / (PEOPLE - 1), occupied))


def _rows(
    source: geodp.CountTable, epsilon: Fraction, threads: list[int], rounds: int
) -> list[dict[str, Any]]:
    """Both methods on one table, and what they are compared with, in alternating rounds."""
    key, method = NoiseKey(bytes(32)), Pyramid()
    detail, levels = _event("topdown", source, epsilon), _event("pyramid", source, epsilon)
    shuffled = np.random.default_rng(SEED).permutation(source.key)
    calls: dict[str, Callable[[], Any]] = {
        "sort": lambda: np.sort(shuffled),
        "numpy": lambda: numpy_topdown(source, float(detail.scale)),
    }
    for t in threads:
        calls[f"topdown {t}"] = partial(topdown, source, Noise.of(detail, key), threads=t)
        calls[f"pyramid {t}"] = partial(pyramid, source, method, levels, key, threads=t)
    best, results = dict.fromkeys(calls, np.inf), {}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            results[name] = call()
            best[name] = min(best[name], time.perf_counter() - start)
    found = []
    for name in ("topdown", "pyramid"):
        _, output, visited = results[f"{name} {threads[0]}"]
        seconds = best[f"{name} {threads[0]}"]
        found.append(
            {
                "method": name,
                "bits": source.grid.bits,
                "occupied": int(source.key.size),
                "output": int(output.size),
                "visited": int(visited),
                **{f"seconds_{t}": best[f"{name} {t}"] for t in threads},
                "ns_a_node": seconds / visited * 1e9,
                "over_sort": seconds / best["sort"],
                "numpy_over_this": best["numpy"] / seconds,
            }
        )
    return found


def _event(name: str, source: geodp.CountTable, epsilon: Fraction) -> Event:
    method = mechanism(name)
    most = method.sensitivity(source.grid)
    return event(method.spec, epsilon, "add-remove-one", 1, False, most, "person", "fixed")


def numpy_topdown(source: geodp.CountTable, scale: float) -> NDArray[np.uint64]:
    """T2 level by level on arrays of the nodes that hold somebody, in floating point; its keys."""
    draw, bits = np.random.default_rng(1), source.grid.bits
    before = np.concatenate([[0], np.cumsum(source.count)])
    node = np.zeros(1, np.uint64)
    count = np.maximum(before[-1:] + draw.laplace(0, scale, 1), 0.0)
    start, stop = np.zeros(1, np.int64), np.array([source.key.size])
    for height in range(bits - 1, -1, -1):
        middle = np.searchsorted(source.key, (2 * node + np.uint64(1)) << np.uint64(height))
        detail = 2 * before[middle] - before[start] - before[stop]
        detail = np.clip(detail + draw.laplace(0, scale, node.size), -count, count)
        count = np.stack([count + detail, count - detail], axis=1).reshape(-1) / 2
        node = np.stack([2 * node, 2 * node + np.uint64(1)], axis=1).reshape(-1)
        start, stop = (
            np.stack(pair, axis=1).reshape(-1) for pair in ((start, middle), (middle, stop))
        )
        kept = count >= 0.5  # without the rounding of whole numbers, halves would never end
        node, count, start, stop = node[kept], count[kept], start[kept], stop[kept]
    return node


def _slope(work: list[float], values: list[float]) -> float | None:
    """Least squares on logarithms; None for fewer than two sizes."""
    if len(set(work)) < 2:
        return None
    return float(np.polyfit(np.log(work), np.log(values), 1)[0])
