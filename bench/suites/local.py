"""Local collection compared with other libraries and with sorting, and the growth of its time."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.baselines.libraries import version
from bench.baselines.local import BASELINES
from bench.inputs import public
from bench.measure import cost
from bench.measure.refinement import child
from bench.tables import excerpt, fill, markdown, table
from geodp.grid.grid import Grid
from geodp.local.collect import aggregate, publish, randomize
from geodp.local.files import write_reports
from geodp.local.haar import Haar, descend
from geodp.local.opening import open_round
from geodp.local.oracles import ORACLES
from geodp.local.planning import LocalPlan, plan
from geodp.local.round import read_round

TITLE = """\
Reports of devices, and counts from them, in one run; entropy from the operating system included.
  seconds                 devices, server and estimates, of so many reports
  ratio                   theirs / ours, or what is measured / what it is held against
  error                   root-mean-square error of a count / sqrt(reports)"""

SAVED = Path(__file__).parents[1] / "results" / "local.json"
DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "measured" / "local.md"
MARKS = ("<!-- bench:local -->", "<!-- /bench:local -->")
MAP_MARKS = ("<!-- bench:local:kanto -->", "<!-- /bench:local:kanto -->")

DEVICES, EPSILONS, RUNS = (100_000, 1_000_000, 10_000_000), ("1/2", "1", "3"), 3
"""Settings of the maps from the census."""

AREAS = (1, 16, 256, 4096)
"""Cells of the blocks whose errors are shown."""

PEERS = (
    ("hadamard", "pure-ldp HadamardResponse", 1 << 18, 1.0, 20_000, 100),
    ("grr", "multi-freq-ldpy GRR", 1024, 1.0, 20_000, 100),
    ("olh", "pure-ldp LocalHashing", 1024, 1.0, 1_000, 100),
)
"""Our oracle, the other, cells, epsilon, number of reports on which the other is timed, and the
smallest ratio to reach."""

TREE_BITS, TREE_DEPTH = 40, 24
"""Bits of the grid, and of the blocks that devices report."""

BATCH = 1 << 17
"""Reports that are made and aggregated together, as not all devices fit memory at once."""

CHUNK = 1 << 22
"""Number of reports of a file."""

GIB = 1 << 30


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("--reports", type=float, default=1e6, metavar="N", help="default: 1e6")
    parser.add_argument("--rounds", type=int, default=5, help="rounds for the time; default: 5")
    parser.add_argument("--stream", type=float, default=1e8, metavar="N", help="default: 1e8")
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="public statistics, for maps from the census"
    )
    parser.add_argument("--scratch", type=Path, metavar="DIR", help="for streamed reports: 1 GB")


def measure(
    reports: float = 1e6,
    rounds: int = 5,
    stream: float = 1e8,
    data: Path | None = None,
    scratch: Path | None = None,
) -> dict[str, Any]:
    """Measure figures and their targets, a row for each; and errors of maps."""
    n = int(reports)
    rows = [row for peer in PEERS if (row := compare_oracle(*peer, n, rounds)) is not None]
    rows += [projective(n, rounds), *tree(n, rounds), *growth(n, rounds)]
    rows.append(streamed(int(stream), scratch))
    packages = sorted({package for package, _ in BASELINES.values()})
    return {
        "settings": {"reports": n, "rounds": rounds, "streamed": int(stream)},
        "versions": {package: version(package) for package in packages},
        "rows": rows,
        "kanto": [] if data is None else maps(data),
    }


def show(result: dict[str, Any]) -> str:
    """Format both tables."""
    return "\n\n".join(table(rows) for rows in (lines(result), errors(result)) if rows)


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows for readers."""
    return [
        {
            "what": row["what"],
            "beside": row["beside"],
            "figure": row["figure"],
            "aim": ("at least " if row["least"] else "at most ") + f"{row['aim']:g}",
            "met": "yes" if row["met"] else "**no**",
            "ours, s": row["seconds"],
            "error, theirs / ours": row.get("errors"),
        }
        for row in result["rows"]
    ]


def fill_document() -> None:
    """Fill the document with the saved figures."""
    saved = json.loads(SAVED.read_text(encoding="utf-8"))
    fill(DOCUMENT, MARKS, markdown(lines(saved)))
    if saved["kanto"]:
        rows = excerpt(errors(saved), {"epsilon": ["1/2", "3"]})
        fill(DOCUMENT, MAP_MARKS, markdown(rows))


def errors(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Build the rows of the maps for readers."""
    return [
        {
            "devices": row["devices"],
            "epsilon": row["epsilon"],
            "asked": row["protocol"],
            **{f"RMSE {cells:,}": error for cells, error in zip(AREAS, row["rmse"], strict=True)},
        }
        for row in result["kanto"]
    ]


def maps(data: Path) -> list[dict[str, Any]]:
    """Measure errors of rounds whose devices are drawn from the census of Kanto."""
    people = public.load("kanto", data)
    size, ends = people.grid.size, np.cumsum(people.count)
    draw, rows = np.random.default_rng(2020), []
    for devices in DEVICES:
        for epsilon in EPSILONS:
            local_plan = plan(people.grid, devices=devices, epsilon=epsilon)
            squares = np.zeros(len(AREAS))
            for _ in range(RUNS):
                at = np.searchsorted(ends, draw.integers(0, ends[-1], devices), side="right")
                truth = np.bincount(people.key[at].astype(np.int64), minlength=size)
                counts = release_counts(local_plan, people.grid.decode(people.key[at]), size)
                for i, cells in enumerate(AREAS):
                    sums = (cells_of.reshape(-1, cells).sum(axis=1) for cells_of in (counts, truth))
                    squares[i] += np.mean(np.subtract(*sums) ** 2)
            rmse = np.sqrt(squares / RUNS).tolist()
            row = {"devices": devices, "epsilon": epsilon, "protocol": local_plan.protocol.spec}
            rows.append({**row, "rmse": rmse})
    return rows


def release_counts(
    local_plan: LocalPlan, index: NDArray[np.int64], size: int
) -> NDArray[np.float64]:
    """Compute the counts of all cells, spread evenly within the blocks of a round's release."""
    round_ = open_round(local_plan)
    table = publish(round_, aggregate(round_, randomize(round_, index))).table
    counts = np.zeros(1 << local_plan.depth)
    counts[table.key.astype(np.int64)] = table.count
    return np.repeat(counts, size >> local_plan.depth) / (size >> local_plan.depth)


def compare_with_target(
    what: str, reference: str, figure: float, aim: float, seconds: float, at_least: bool
) -> Any:
    """Build a row: a figure and its target, at least or at most."""
    met = figure >= aim if at_least else figure <= aim
    row = {"what": what, "beside": reference, "figure": figure, "aim": aim, "least": at_least}
    return {**row, "met": bool(met), "seconds": seconds}


def values(n: int, cells: int) -> NDArray[np.int64]:
    """Draw cells of devices, the same every time: a few devices in most places, many in some."""
    draw = np.random.default_rng(20_261_122)
    return np.minimum((draw.pareto(1.2, n) * cells / 50).astype(np.int64), cells - 1)


def job(name: str, value: NDArray[np.int64], cells: int, epsilon: float) -> NDArray[np.float64]:
    """Randomise, aggregate, and estimate the counts of all cells."""
    oracle = ORACLES[name](cells=cells, epsilon=Fraction(epsilon))
    state = oracle.aggregate(oracle.randomize(value))
    return oracle.estimate(state, np.arange(cells))


def compare_oracle(
    ours: str, theirs: str, cells: int, epsilon: float, timed: int, aim: float, n: int, rounds: int
) -> dict[str, Any] | None:
    """Compare an oracle with that of a library; None where the library is not installed."""
    package, run = BASELINES[theirs]
    # Rows of libraries that are not installed are left out.
    if version(package) is None:
        return None
    value = values(n, cells)
    # Compiles, or loads compiled code.
    job(ours, value[:1000], cells, epsilon)
    fastest, results = cost.best({"ours": lambda: job(ours, value, cells, epsilon)}, rounds, 60)
    # Loops in Python are timed on few reports, as their cost grows in proportion.
    other = run(value[: min(timed, n)], cells, epsilon)
    ratio = other.seconds(n) / fastest["ours"]
    row = compare_with_target(f"{ours}, {cells:,} cells", theirs, ratio, aim, fastest["ours"], True)
    errors = None
    if other.counts is not None:
        errors = rmse(other.counts, value[: min(timed, n)]) / rmse(results["ours"], value)
    return {**row, "theirs": other.seconds(n), "errors": errors}


def rmse(counts: NDArray[np.float64], value: NDArray[np.int64]) -> float:
    """Compute the root-mean-square error of all counts, over the root of the number of reports."""
    truth = np.bincount(value, minlength=counts.size)
    return float(np.sqrt(np.mean((counts - truth) ** 2) / value.size))


def projective(n: int, rounds: int) -> dict[str, Any]:
    """Measure the time of pgr over that of hadamard, at epsilon 2."""
    cells = 1 << 18
    value = values(n, cells)
    for name in ("pgr", "hadamard"):
        job(name, value[:1000], cells, 2)
    calls = {name: lambda name=name: job(name, value, cells, 2) for name in ("pgr", "hadamard")}
    fastest, _ = cost.best(calls, rounds, 60)
    ratio = fastest["pgr"] / fastest["hadamard"]
    return compare_with_target("pgr, epsilon 2", "hadamard", ratio, 20, fastest["pgr"], False)


def places(n: int) -> NDArray[np.uint64]:
    """Draw keys of a grid of 2^40 cells, in towns."""
    draw = np.random.default_rng(40)
    town = draw.integers(0, 1 << TREE_BITS, 500)
    chosen = town[np.minimum(draw.pareto(1.2, n) * 20, 499).astype(int)]
    return (chosen + draw.integers(0, 1 << 22, n)).astype(np.uint64) % np.uint64(1 << TREE_BITS)


def tree(n: int, rounds: int) -> list[dict[str, Any]]:
    """Measure the server of a tree against sorting as many numbers, and the memory of all."""
    oracle, state, grid = collected(n)
    numbers = np.random.default_rng(1).integers(0, 1 << 63, n).astype(np.uint64)
    calls = {
        "ours": lambda: descend(grid, oracle, state),
        "sort": lambda: np.sort(numbers),
    }
    fastest, _ = cost.best(calls, rounds, 60)
    what = f"haar, server, 2^{TREE_BITS} cells, 2^{TREE_DEPTH} blocks"
    ratio = fastest["ours"] / fastest["sort"]
    rows = [compare_with_target(what, "numpy.sort of uint64", ratio, 30, fastest["ours"], False)]
    usage = child("bench.suites.local", {"reports": n})
    what = f"haar, all of it, 2^{TREE_BITS} cells: MB of the process"
    rows.append(
        compare_with_target(what, "300 MB", usage["peak"] / 1e6, 300, usage["seconds"], False)
    )
    return rows


def collected(n: int) -> tuple[Any, Any, Grid]:
    """Return the oracle of a tree, the state of reports, and the grid of its blocks."""
    grid = Grid.regular((1 << TREE_DEPTH // 2, 1 << TREE_DEPTH // 2))
    oracle = Haar().halves(grid, Fraction(1))
    key = places(n) >> np.uint64(TREE_BITS - TREE_DEPTH)
    batches = np.array_split(key, -(-n // BATCH))
    states = [oracle.aggregate(oracle.randomize(batch)) for batch in batches]
    return oracle, sum(states[1:], states[0]), grid


def growth(n: int, rounds: int) -> list[dict[str, Any]]:
    """Measure exponents of the time in the number of reports, from a tenth to all of them."""
    return [exponent(name, n, rounds) for name in ("hadamard", "grr")]


def exponent(name: str, n: int, rounds: int) -> dict[str, Any]:
    """Measure how the time to make reports and add them up grows: a slope of logarithms."""
    oracle = ORACLES[name](cells=1 << 12, epsilon=Fraction(1))
    value, sizes = values(n, 1 << 12), [n // 10, n // 3, n]

    def run(size: int) -> object:
        return oracle.aggregate(oracle.randomize(value[:size]))

    calls = {str(size): lambda size=size: run(size) for size in sizes}
    # A first round warms up.
    cost.best(calls, 1, 60)
    fastest, _ = cost.best(calls, rounds, 60)
    seconds = [fastest[str(size)] for size in sizes]
    # The slope of logarithms is the exponent of growth.
    slope = float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
    row = compare_with_target(
        f"{name}: exponent of time", "1.00 +- 0.07", slope, 1, seconds[-1], False
    )
    return {**row, "met": bool(abs(slope - 1) <= 0.07)}


def streamed(n: int, scratch: Path | None) -> dict[str, Any]:
    """Measure the memory of a process that aggregates files of reports."""
    with tempfile.TemporaryDirectory(prefix="geodp-bench-", dir=scratch) as folder:
        grid = Grid.regular((512, 512))
        round_ = open_round(plan(grid, devices=n, epsilon=1), path=Path(folder) / "round.json")
        for number, first in enumerate(range(0, n, CHUNK)):
            cell = values(min(CHUNK, n - first), grid.size)
            reports = randomize(round_, np.array(np.unravel_index(cell, grid.shape)))
            write_reports(Path(folder) / f"{number:04}.parquet", round_.digest, reports)
        usage = child("bench.suites.local", {"stream": n, "folder": folder})
    what = f"{n:,} reports from Parquet: GiB of the process"
    return compare_with_target(what, "1 GiB", usage["peak"] / GIB, 1, usage["seconds"], False)


def _child(task: dict[str, Any]) -> dict[str, Any]:
    """Measure the full job of a tree, or the aggregation of many files, in this process."""
    if "folder" in task:
        opened = read_round(Path(task["folder"]) / "round.json")
        files = sorted(Path(task["folder"]).glob("*.parquet"))
        start = time.perf_counter()
        assert aggregate(opened, files).reports == task["stream"]
        return {"seconds": time.perf_counter() - start, "peak": cost.peak()}
    # Compiles, or loads compiled code.
    collected(1000)
    start = time.perf_counter()
    oracle, state, grid = collected(task["reports"])
    descend(grid, oracle, state)
    return {"seconds": time.perf_counter() - start, "peak": cost.peak()}


if __name__ == "__main__":
    print(json.dumps(_child(json.loads(sys.stdin.read()))))
