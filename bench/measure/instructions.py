"""Instructions of a visited node, counted by valgrind: a figure that no load on the machine moves.

Kernels are compiled for one named processor, so that the count is that of every machine with the
same versions of Numba and LLVM. valgrind has no AVX-512.
"""

from __future__ import annotations

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
"""Runs beyond the first one: what they take is theirs alone, without start and compiling."""


def measure(sizes: Sizes) -> Rows:
    """Measure a row for each method; with a sentence instead where there is no valgrind."""
    problem = None if sizes.instructions else "left out of a quick run"
    if platform.machine().lower() not in ("x86_64", "amd64"):
        problem = "the named processor is an x86-64 one"
    elif not shutil.which("valgrind"):
        problem = "valgrind is not installed"
    if problem:
        return [{"method": method, "problem": problem} for method in METHODS]
    visited = [Refinement(method, _table()).run()[2] for method in METHODS]
    with tempfile.TemporaryDirectory(prefix="geodp-bench-") as cache:
        _run([], [1, 1], cache)  # compiles
        once = _counted([1, 1], cache)
        each = [_counted([1 + MORE * (m == method) for m in METHODS], cache) for method in METHODS]
    return [
        {"method": method, "visited": nodes, "a_node": (count - once) / MORE / nodes}
        for method, nodes, count in zip(METHODS, visited, each, strict=True)
    ]


def _counted(runs: list[int], cache: str) -> int:
    """Instructions of a whole process that refines so many times by each method."""
    quiet = ["--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    told = _run(["valgrind", "--tool=cachegrind", *quiet], runs, cache)
    found = re.search(r"I\s+refs:\s+([\d,]+)", told)
    if found is None:
        raise RuntimeError(f"valgrind counted nothing: {told[-300:]}")
    return int(found[1].replace(",", ""))


def _run(before: list[str], runs: list[int], cache: str) -> str:
    path = os.pathsep.join(sys.path)  # the same geodp as here
    own = {"PYTHONPATH": path, "PYTHONHASHSEED": "0", "NUMBA_CACHE_DIR": cache}
    own["OPENBLAS_NUM_THREADS"] = "1"  # others wait in loops, which would be counted
    command = [*before, sys.executable, "-m", "bench.measure.instructions", *map(str, runs)]
    env = {**os.environ, **PROCESSOR, **own}
    done = subprocess.run(command, capture_output=True, text=True, env=env, check=True)
    return done.stderr


def _table() -> geodp.CountTable:
    return synthetic.isolated(37, CELLS, 12_000 * CELLS)


if __name__ == "__main__":
    for number, name in enumerate(METHODS, 1):
        for _ in range(int(sys.argv[number])):
            Refinement(name, _table()).run()
