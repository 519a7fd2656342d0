"""Compare the speed of another commit: both trees in turn, each run in a separate process."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from math import prod
from pathlib import Path
from typing import Any

from bench.inputs import synthetic
from bench.measure.refinement import METHODS
from bench.suites.speed_parts import FULL, QUICK, Rows, table_of
from bench.tables import table
from geodp.errors import UsageError

TITLE = """\
Refinements by two commits, in alternating rounds; least seconds, and bytes an output cell beyond
the table's. A ratio above 1: this tree is faster."""

ROOT = Path(__file__).resolve().parents[2]

CHILD = """
import json, sys, time
from bench.measure import refinement
task = json.loads(sys.stdin.read())
found = refinement._child(task)
end = time.perf_counter() + 2
while time.perf_counter() < end:
    found["seconds"] = min(found["seconds"], refinement._child(task)["seconds"])
print(json.dumps(found))
"""
"""Code of a tree's process: it runs the tree's code, small tables repeatedly."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the command line's options, named as the parameters of :func:`measure`."""
    parser.add_argument("commit", help="of this repository, from 371558b on")
    parser.add_argument("--quick", action="store_true", help="small tables")
    parser.add_argument("--rounds", type=int, default=4, help="of both; default: 4")


def measure(commit: str, quick: bool = False, rounds: int = 4) -> dict[str, Any]:
    """Measure rows of every table, method and number of threads."""
    rows: Rows = []
    with tempfile.TemporaryDirectory(prefix="geodp-bench-") as folder:
        trees = {"before": unpack(commit, Path(folder) / "tree"), "now": ROOT}
        for kind, bits, occupied in (QUICK if quick else FULL).tables:
            synthetic.save(table_of(kind, bits, occupied), Path(folder))
            for method in METHODS:
                for threads in (1, 2):
                    task = {"folder": folder, "bits": bits, "method": method, "threads": threads}
                    # Rounds alternate, so that load on the machine affects both trees.
                    fastest = alternate(trees, task, rounds)
                    size = {"table": kind, "occupied": occupied, "ratio": _ratio(fastest)}
                    rows.append({**task, **size, **fastest, "folder": None})
    return {"settings": {"commit": commit, "quick": quick, "rounds": rounds}, "rows": rows}


def unpack(commit: str, folder: Path) -> Path:
    """Write a commit's files to a new folder."""
    folder.mkdir()
    packed = folder / "commit.tar"
    command = ["git", "archive", f"--output={packed}", "--format=tar", "--end-of-options", commit]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if done.returncode:
        raise UsageError(f"git knows no such commit here: {commit}.")
    with tarfile.open(packed) as files:
        # The filter refuses paths outside the folder.
        files.extractall(folder, filter="data")
    return folder


def alternate(trees: dict[str, Path], task: dict[str, Any], rounds: int) -> dict[str, Any]:
    """Find the fastest round of every tree."""
    results: dict[str, list[dict[str, Any]]] = {name: [] for name in trees}
    for _ in range(rounds):
        for name, tree in trees.items():
            results[name].append(run(tree, task))
    return {
        name: min(attempts, key=lambda result: result["seconds"])
        for name, attempts in results.items()
    }


def run(tree: Path, task: dict[str, Any]) -> dict[str, Any]:
    """Refine by the code of a tree, in a separate process that compiles first."""
    task_text = json.dumps({**task, "epsilon": "1", "limit": 0})
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=task_text,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
        raise UsageError(f"{tree.name} cannot be measured: {last[:200]}")
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _ratio(fastest: dict[str, Any]) -> float:
    return float(fastest["before"]["seconds"] / fastest["now"]["seconds"])


def show(result: dict[str, Any]) -> str:
    """Format a line for each row; then the mean ratio of each method, and its worst."""
    parts = [table([_line(row) for row in result["rows"]])]
    for method in METHODS:
        ratios = [row["ratio"] for row in result["rows"] if row["method"] == method]
        mean = prod(ratios) ** (1 / len(ratios))
        parts.append(f"{method}: geometric mean {mean:.2f}, worst {min(ratios):.2f}")
    return "\n\n".join(parts)


def _line(row: dict[str, Any]) -> dict[str, Any]:
    line = {
        "table": row["table"],
        "method": row["method"],
        "n": f"2^{row['bits']}",
        "m": row["occupied"],
        "threads": row["threads"],
    }
    for name in ("before", "now"):
        result = row[name]
        line[f"{name}, s"] = result["seconds"]
        line[f"{name}, ns a node"] = result["seconds"] / result["visited"] * 1e9
        line[f"{name}, bytes"] = (result["peak_bytes"] - 16 * row["occupied"]) / result["output"]
    return {**line, "ratio": row["ratio"]}
