"""Time in alternating rounds, and peak memory in a separate process."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")


def alternate(
    runs: Mapping[str, Callable[[int], object]], rounds: int, patience: float
) -> dict[str, dict[str, float]]:
    """Time every peer, in rounds that run each in turn.

    A first round warms up and is not counted. A peer that has used up its patience (seconds in
    total) skips the other rounds; the warm-up then counts if it must.

    Returns
    -------
    dict
        For each: ``best`` and ``median`` in seconds, and ``rounds``.
    """
    took: dict[str, list[float]] = {name: [] for name in runs}
    warm: dict[str, float] = {}
    for number in range(-1, rounds):
        for name, run in runs.items():
            # The warm-up counts as patience, so that a very slow peer runs only once.
            if number >= 0 and warm[name] + sum(took[name]) > patience:
                continue
            start = time.perf_counter()
            run(max(number, 0))
            seconds = time.perf_counter() - start
            if number < 0:
                warm[name] = seconds
            else:
                took[name].append(seconds)
    counted = {name: took[name] or [warm[name]] for name in runs}
    return {
        name: {
            "best": min(seconds),
            "median": statistics.median(seconds),
            "rounds": len(seconds),
        }
        for name, seconds in counted.items()
    }


def best(
    calls: Mapping[str, Callable[[], Any]], rounds: int, patience: float
) -> tuple[dict[str, float], dict[str, Any]]:
    """Find the fastest run of every peer, in rounds that run each in turn, and its last result.

    Nothing is warmed up here. A peer that has taken more than ``patience`` seconds is skipped.
    """
    fastest, total = dict.fromkeys(calls, float("inf")), dict.fromkeys(calls, 0.0)
    results: dict[str, Any] = {}
    for _ in range(rounds):
        for name, call in calls.items():
            if total[name] <= patience:
                # The previous result is freed before the next one is made.
                results.pop(name, None)
                start = time.perf_counter()
                results[name] = call()
                seconds = time.perf_counter() - start
                fastest[name], total[name] = min(fastest[name], seconds), total[name] + seconds
    return fastest, results


def alone(peer: str, data: str, size: int, epsilon: Fraction, patience: float) -> dict[str, Any]:
    """Run a peer once in a fresh process.

    Returns
    -------
    dict
        ``peak`` (bytes above what the process held before) and ``seconds``; or ``problem``, a
        sentence, where the run fails or exceeds its patience.
    """
    task = {"peer": peer, "data": data, "size": size, "epsilon": str(epsilon)}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "bench.measure.cost"],
            input=json.dumps(task),
            capture_output=True,
            text=True,
            timeout=patience + 60,
            # The same geodp as here.
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"problem": f"takes more than {patience + 60:.0f} s"}
    if done.returncode:
        # The last line of a traceback is the error.
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"problem": last[:200]}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _child() -> None:
    """Read a task, warm up on a small table, run it once and print its cost."""
    from bench.baselines import libraries
    from bench.inputs import named

    task = json.loads(sys.stdin.read())
    peer = libraries.by_name(task["peer"])
    epsilon = Fraction(task["epsilon"])
    table = named.load(task["data"], task["size"])
    small = named.load("trips" if len(table.grid.shape) == 4 else "clusters", 4)
    # Imports, and compiled code from the cache.
    peer.prepare(small, epsilon)[0](0)
    run, _ = peer.prepare(table, epsilon)
    # Memory of the interpreter and the input is not the peer's.
    before = forget_peak()
    start = time.perf_counter()
    result = run(0)
    seconds = time.perf_counter() - start
    above = max(peak() - before, 0)
    del result
    print(json.dumps({"peak": above, "seconds": seconds}))


def forget_peak() -> int:
    """Return resident bytes now; the peak restarts from here where the system allows it (Linux)."""
    try:
        CLEAR.write_text("5")
        return _resident("VmRSS")
    except OSError:
        return peak()


def peak() -> int:
    """Return the largest resident bytes so far."""
    if STATUS.exists():
        return _resident("VmHWM")
    import resource

    # macOS reports bytes where Linux reports KiB.
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _resident(field: str) -> int:
    lines = STATUS.read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    _child()
