"""A whole ``geodp publish`` in a process of its own, and what each of its phases costs.

The process imports nothing of the benchmarks that imports geodp, so that its start is a command's.
Names of steps are those that the logger ``geodp`` is told; formats, the rows that the first of them
makes, and intervals are clocked where they are asked for.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

START, READ, MECHANISM, TRIAL, REST = "start", "read", "mechanism", "trial", "card, ledger"
END = "end"
ROWS, INTERVALS = "rows", "intervals"
FORMATS = {
    "csv": "CSV",
    "parquet": "Parquet",
    "gpkg": "GeoPackage",
    "geotiff": "GeoTIFF",
    "picture": "map",
}
"""Phases by the formats of a release; others count as the rest."""

PHASES = (START, READ, MECHANISM, TRIAL, ROWS, INTERVALS, *FORMATS.values(), REST, END)
STEPS = {
    "Starting": START,
    "Reading": READ,
    "Sorting": READ,
    "Releasing": MECHANISM,
    "Writing": REST,
}
"""Phases by the steps that begin them."""


def spawn(words: list[str]) -> dict[str, Any]:
    """Run a command of Python's; its processor time, user and system, and its peak memory.

    Returns
    -------
    dict
        ``cpu_seconds``, ``resident_bytes``; or ``problem``, a sentence.
    """
    read, write = os.pipe()
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}  # the same geodp as here
    null = os.open(os.devnull, os.O_WRONLY)
    process = os.posix_spawn(
        sys.executable,
        [sys.executable, *words],
        environment,
        file_actions=[(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, write, 2)],
    )
    os.close(write)
    os.close(null)
    with os.fdopen(read, encoding="utf-8", errors="replace") as errors:
        said = errors.read()
    _, status, used = os.wait4(process, 0)
    if status:
        last = (said.strip().splitlines() or [f"ended with {status}"])[-1]
        return {"problem": last[:200]}
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "resident_bytes": used.ru_maxrss * unit,
    }


def publish(arguments: list[str], output: Path, scratch: Path) -> dict[str, Any]:
    """Publish into a folder that is replaced.

    Returns
    -------
    dict
        As :func:`spawn`, and ``phases``: seconds of processor time by phase, which add up to the
        command's.
    """
    kept = scratch / "phases.json"
    words = ["publish", *arguments, "--output", str(output), "--overwrite"]
    done = spawn(["-m", "bench.measure.phases", str(kept), *words])
    if "problem" in done:
        return done
    phases: dict[str, float] = json.loads(kept.read_text(encoding="utf-8"))
    phases[END] = done["cpu_seconds"] - sum(phases.values())
    return {**done, "phases": phases}


Clocked = Callable[[str, Callable[..., Any]], Callable[..., Any]]


class Clock(logging.Handler):
    """Counts the process's time to the phase that it is in."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.spent = dict.fromkeys(PHASES, 0.0)
        self.phase, self._since, self._watches = START, 0.0, False

    def enter(self, phase: str) -> str:
        """Go on to a phase; return the one that it was."""
        now, before = time.process_time(), self.phase
        self.spent[before] += now - self._since
        self.phase, self._since = phase, now
        return before

    def emit(self, record: logging.LogRecord) -> None:
        """Take the name of a step."""
        phase = STEPS.get(record.getMessage())
        if phase is not None:
            self.enter(phase)
        if phase == MECHANISM and not self._watches:
            self._watches = True
            self._watch()

    @contextmanager
    def during(self, phase: str) -> Iterator[None]:
        """Count to a phase, then to the one before again."""
        before = self.enter(phase)
        try:
            yield
        finally:
            self.enter(before)

    def within(self, phase: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function whose time counts to a phase."""

        @wraps(call)
        def clocked(*given: Any, **named: Any) -> Any:
            with self.during(phase):
                return call(*given, **named)

        return clocked

    def through(self, phase: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return the same of a generator, with whatever is done with what it yields."""

        @wraps(call)
        def clocked(*given: Any) -> Iterator[Any]:
            with self.during(phase):
                yield from call(*given)

        return clocked

    def _watch(self) -> None:
        """Clock formats, rows and intervals; they are imported before anything is released."""
        from geodp.accuracy.cell_interval import ClampedIntervals, PlainIntervals
        from geodp.io.folder.formats import find_formats
        from geodp.io.write import view

        for one in {type(one) for one in find_formats()}:
            phase = FORMATS.get(one.name, REST)
            self._replace(one, "write", self.through, phase)
            self._replace(one, "try_out", self.within, TRIAL)
        for law in (ClampedIntervals, PlainIntervals):
            self._replace(law, "of", self.within, INTERVALS)
        self._replace(view, "arrow_columns", self.within, ROWS)

    def _replace(self, owner: Any, name: str, clocked: Clocked, phase: str) -> None:
        setattr(owner, name, clocked(phase, getattr(owner, name)))


def _child(kept: Path, words: list[str]) -> None:
    clock = Clock()
    log = logging.getLogger("geodp")
    log.setLevel(logging.INFO)
    log.addHandler(clock)
    from geodp.__main__ import main

    sys.argv = ["geodp", *words]
    try:
        main()
    finally:
        clock.enter(END)
        kept.write_text(json.dumps(clock.spent), encoding="utf-8")


if __name__ == "__main__":
    _child(Path(sys.argv[1]), sys.argv[2:])
