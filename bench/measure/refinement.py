"""One refinement of one table: timed here, or in a separate process to measure its memory."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import geodp
from bench.inputs import synthetic
from bench.measure import cost, node_counts
from bench.measure.dense_pyramid import refine_dense as pyramid_dense
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.central.pyramid import refine as pyramid
from geodp.mechanisms.central.topdown import RefinementNoise, TopDown
from geodp.mechanisms.central.topdown import refine as topdown
from geodp.mechanisms.central.topdown import refine_dense as topdown_dense
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import Terms

METHODS = ("topdown", "pyramid")

Cells = tuple[NDArray[np.uint64], NDArray[np.int64], int]


@dataclass(frozen=True, eq=False)
class Refinement:
    """A method on a table, with a fixed key: the same noise in every run."""

    method: str
    table: geodp.CountTable
    epsilon: Fraction = Fraction(1)

    @property
    def key(self) -> NoiseKey:
        """The key, which is all zeros."""
        return NoiseKey(bytes(32))

    @property
    def event(self) -> geodp.Measurement:
        """The event: its budget, add-remove-one, one cell per person."""
        chosen = TopDown() if self.method == "topdown" else Pyramid()
        terms = Terms.of(epsilon=self.epsilon, contribution=1)
        return chosen.event(self.table.grid, terms, "fixed")

    @property
    def noise(self) -> RefinementNoise:
        """The noise of topdown."""
        return RefinementNoise.of(self.event, self.key)

    def run(self, threads: int = 1, parts: int = 0) -> Cells:
        """Refine; return keys, counts and the number of visited nodes."""
        if self.method == "topdown":
            return topdown(self.table, self.noise, parts, threads)
        return pyramid(self.table, Pyramid(), self.event, self.key, parts, threads)

    def dense(self) -> Cells:
        """Refine with the dense form."""
        if self.method == "topdown":
            count = topdown_dense(self.table, self.noise)
        else:
            count = pyramid_dense(self.table, Pyramid(), self.event, self.key)
        key = np.flatnonzero(count)
        return key.astype(np.uint64), count[key], 0

    def work(self, released: NDArray[np.uint64]) -> node_counts.Work:
        """Count the necessary work, from the output's keys."""
        occupied, grid = self.table.key, self.table.grid
        if self.method == "topdown":
            return node_counts.of_topdown(occupied, released, grid.bits)
        # What the first pass opens.
        once = Pyramid(passes=1)
        opened = pyramid(self.table, once, self.event, self.key)[0]
        return node_counts.of_pyramid(occupied, opened, once.levels(grid))


def digest(cells: Cells) -> str:
    """Compute the SHA-256 of keys and counts."""
    state = hashlib.sha256(cells[0].tobytes())
    state.update(cells[1].tobytes())
    return state.hexdigest()


def warm(methods: Sequence[str] = METHODS) -> None:
    """Compile everything, or load compiled code."""
    for table in (synthetic.clustered(14, 2000), synthetic.isolated(26, 100, 1_000_000)):
        for method in methods:
            # Serial and parallel runs may use different compiled functions.
            for threads in (1, 2):
                Refinement(method, table).run(threads)


def alone(
    folder: Path,
    bits: int,
    method: str,
    threads: int = 1,
    epsilon: Fraction = Fraction(1),
    limit: int = 0,
) -> dict[str, Any]:
    """Refine a saved table in a separate process: seconds, sizes, memory.

    Parameters
    ----------
    folder : Path
        See :func:`bench.inputs.synthetic.save`.
    limit : int
        Bytes of data that the process may allocate, so that it fails and not the machine; 0: any.

    Returns
    -------
    dict
        ``seconds``, ``output``, ``visited``, ``sha256``; ``peak_bytes``: memory of table, output
        and everything else, above that of the idle process; ``resident_bytes``: of the entire
        process. Or ``problem``, a sentence.
    """
    task = {"folder": str(folder), "bits": bits, "method": method}
    return child(
        "bench.measure.refinement", {**task, "threads": threads, "epsilon": str(epsilon)}, limit
    )


def child(module: str, task: dict[str, Any], limit: int = 0) -> dict[str, Any]:
    """Run a module as a process with a task on standard input; return what it prints last."""
    done = subprocess.run(
        [sys.executable, "-m", module],
        input=json.dumps({**task, "limit": limit}),
        capture_output=True,
        text=True,
        # The same geodp as here.
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1]
        return {"problem": last[:200]}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def answer(work: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Run the other side of :func:`child`: read a task, and print the result."""
    task = json.loads(sys.stdin.read())
    if task["limit"]:
        import resource

        # The limit is set in the child, so that the parent can still report what failed.
        resource.setrlimit(resource.RLIMIT_DATA, (task["limit"], task["limit"]))
    print(json.dumps(work(task)))


def _child(task: dict[str, Any]) -> dict[str, Any]:
    warm([task["method"]])
    before = cost.forget_peak()
    table = synthetic.load(Path(task["folder"]), task["bits"])
    cost.forget_peak()
    start = time.perf_counter()
    cells = Refinement(task["method"], table, Fraction(task["epsilon"])).run(task["threads"])
    seconds = time.perf_counter() - start
    peak = cost.peak()
    return {
        "seconds": seconds,
        "output": int(cells[0].size),
        "visited": int(cells[2]),
        "peak_bytes": peak - before,
        "resident_bytes": peak,
        "sha256": digest(cells),
    }


if __name__ == "__main__":
    answer(_child)
