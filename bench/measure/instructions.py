"""Instructions of a visited node, counted by valgrind, which no load on the machine changes.

Kernels are compiled for one named processor, so that the count is that of every machine with the
same versions of Numba and LLVM. valgrind has no AVX-512.
"""

from __future__ import annotations

import multiprocessing
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING

import geodp
from bench.inputs import synthetic
from bench.measure.refinement import METHODS, Refinement

if TYPE_CHECKING:
    from bench.suites.speed_parts import Rows, Sizes

FEATURES = "+sse4.2,+popcnt,+avx,+avx2,+bmi,+bmi2,+fma,+f16c,+lzcnt,+movbe"
PROCESSOR = {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": FEATURES}
CELLS = 500
"""Occupied cells of the table of isolated cells, at ``2**37``: 5e5 nodes, as valgrind is slow."""

MORE = 5
"""Runs of a method that are counted, after a first one that starts and compiles."""


def measure(sizes: Sizes) -> Rows:
    """Measure a row for each method; with a sentence in its place where valgrind is missing."""
    problem = None if sizes.instructions else "left out of a quick run"
    if platform.machine().lower() not in ("x86_64", "amd64"):
        problem = "the named processor is an x86-64 one"
    elif not shutil.which("valgrind"):
        problem = "valgrind is not installed"
    if problem:
        return [{"method": method, "problem": problem} for method in METHODS]
    visited = [Refinement(method, _table()).run()[2] for method in METHODS]
    with tempfile.TemporaryDirectory(prefix="geodp-bench-") as cache:
        # Compiles.
        _run([], cache)
        counts = _counted(cache)
    return [
        {"method": method, "visited": nodes, "a_node": (counts[method] - counts[""]) / MORE / nodes}
        for method, nodes in zip(METHODS, visited, strict=True)
    ]


def _counted(cache: str) -> dict[str, int]:
    """Count the instructions of processes that refine by each method, and by none."""
    # Only instructions are counted: simulating caches would take much longer.
    quiet = ["--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    done = _run(["valgrind", "--tool=cachegrind", *quiet], cache)
    references = dict(re.findall(r"==(\d+)== I\s+refs:\s+([\d,]+)", done.stderr))
    processes = dict(re.findall(r"^(\d+) (\w*)$", done.stdout, re.MULTILINE))
    if not references.keys() >= processes.keys() or len(processes) <= len(METHODS):
        raise RuntimeError(f"valgrind counted nothing: {done.stderr[-300:]}")
    return {name: int(references[process].replace(",", "")) for process, name in processes.items()}


def _run(prefix: list[str], cache: str) -> subprocess.CompletedProcess[str]:
    # The same geodp as here.
    path = os.pathsep.join(sys.path)
    settings = {"PYTHONPATH": path, "PYTHONHASHSEED": "0", "NUMBA_CACHE_DIR": cache}
    # Others wait in loops, which would be counted.
    settings["OPENBLAS_NUM_THREADS"] = "1"
    command = [*prefix, sys.executable, "-m", "bench.measure.instructions"]
    env = {**os.environ, **PROCESSOR, **settings}
    return subprocess.run(command, capture_output=True, text=True, env=env, check=True)


def _table() -> geodp.CountTable:
    return synthetic.isolated(37, CELLS, 12_000 * CELLS)


def _refine_more(method: str) -> None:
    for _ in range(MORE if method else 0):
        Refinement(method, _table()).run()


if __name__ == "__main__":
    for each in METHODS:
        Refinement(each, _table()).run()
    # Processes that fork go on from what valgrind has counted so far: one start for all.
    fork = multiprocessing.get_context("fork")
    for each in ("", *METHODS):
        process = fork.Process(target=_refine_more, args=(each,))
        process.start()
        print(process.pid, each, flush=True)
        process.join()
