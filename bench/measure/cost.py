"""Time in alternating rounds, and peak memory in a process of its own."""

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
    """Seconds of every peer, in rounds that take each in turn.

    A round of all comes first that warms up and is not counted. A peer that has used up
    its patience (seconds in total) sits the other rounds out; the warm-up then counts if it must.

    Returns
    -------
    dict
        For each: ``best``, ``median`` in seconds, ``rounds``.
    """
    took: dict[str, list[float]] = {name: [] for name in runs}
    warm: dict[str, float] = {}
    for number in range(-1, rounds):
        for name, run in runs.items():
            if number >= 0 and warm[name] + sum(took[name]) > patience:
                continue
            start = time.perf_counter()
            run(max(number, 0))
            seconds = time.perf_counter() - start
            if number < 0:
                warm[name] = seconds
            else:
                took[name].append(seconds)
    kept = {name: took[name] or [warm[name]] for name in runs}
    return {
        name: {
            "best": min(seconds),
            "median": statistics.median(seconds),
            "rounds": len(seconds),
        }
        for name, seconds in kept.items()
    }


def best(
    calls: Mapping[str, Callable[[], Any]], rounds: int, patience: float
) -> tuple[dict[str, float], dict[str, Any]]:
    """Least seconds of every peer, in rounds that take each in turn, and its last result.

    Nothing is warmed up here. Who has taken more than ``patience`` seconds in all sits out.
    """
    least, spent = dict.fromkeys(calls, float("inf")), dict.fromkeys(calls, 0.0)
    results: dict[str, Any] = {}
    for _ in range(rounds):
        for name, call in calls.items():
            if spent[name] <= patience:
                results.pop(name, None)
                start = time.perf_counter()
                results[name] = call()
                seconds = time.perf_counter() - start
                least[name], spent[name] = min(least[name], seconds), spent[name] + seconds
    return least, results


def alone(peer: str, data: str, size: int, epsilon: Fraction, patience: float) -> dict[str, Any]:
    """One run in a fresh process.

    Returns
    -------
    dict
        ``peak`` (bytes above what the process held before) and ``seconds``; or ``problem``, a
        sentence, where the run fails or loses patience.
    """
    task = {"peer": peer, "data": data, "size": size, "epsilon": str(epsilon)}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "bench.measure.cost"],
            input=json.dumps(task),
            capture_output=True,
            text=True,
            timeout=patience + 60,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},  # the same geodp as here
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"problem": f"takes more than {patience + 60:.0f} s"}
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        return {"problem": last[:200]}
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def _child() -> None:
    """Read a task, warm up on a small table, run it once and print what it took."""
    from bench.baselines import libraries
    from bench.inputs import named

    task = json.loads(sys.stdin.read())
    peer = libraries.by_name(task["peer"])
    epsilon = Fraction(task["epsilon"])
    table = named.load(task["data"], task["size"])
    small = named.load("trips" if len(table.grid.shape) == 4 else "clusters", 4)
    peer.prepare(small, epsilon)[0](0)  # imports, and compiled code from the cache
    run, _ = peer.prepare(table, epsilon)
    before = forget_peak()
    start = time.perf_counter()
    kept = run(0)
    seconds = time.perf_counter() - start
    above = max(peak() - before, 0)
    del kept
    print(json.dumps({"peak": above, "seconds": seconds}))


def forget_peak() -> int:
    """Resident bytes now; the peak starts from here where the system allows it (Linux)."""
    try:
        CLEAR.write_text("5")
        return _resident("VmRSS")
    except OSError:
        return peak()


def peak() -> int:
    """Largest resident bytes so far."""
    if STATUS.exists():
        return _resident("VmHWM")
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _resident(field: str) -> int:
    lines = STATUS.read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    _child()
