"""A ``geodp publish`` in a separate process, and the cost of each of its phases.

The process imports nothing of the benchmarks that imports geodp, so that it starts like a command.
Steps are named as in the messages of the logger ``geodp``; formats, the rows that the first of them
makes, and intervals are clocked where they are called.
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
"""Phases by the formats of a release; other formats count as the rest."""

PHASES = (START, READ, MECHANISM, TRIAL, ROWS, INTERVALS, *FORMATS.values(), REST, END)
STEPS = {
    "Starting": START,
    "Reading": READ,
    "Sorting": READ,
    "Releasing": MECHANISM,
    "Writing": REST,
}
"""Phases by the messages that begin them."""


def spawn(arguments: list[str]) -> dict[str, Any]:
    """Run a Python command; measure its processor time, user and system, and its peak memory.

    Returns
    -------
    dict
        ``cpu_seconds``, ``resident_bytes``; or ``problem``, a sentence.
    """
    read, write = os.pipe()
    # The same geodp as here.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    # Output goes nowhere, as writing to a terminal would be timed.
    null = os.open(os.devnull, os.O_WRONLY)
    # Not subprocess: wait4 gives the usage of this one child.
    process = os.posix_spawn(
        sys.executable,
        [sys.executable, *arguments],
        environment,
        file_actions=[(os.POSIX_SPAWN_DUP2, null, 1), (os.POSIX_SPAWN_DUP2, write, 2)],
    )
    os.close(write)
    os.close(null)
    with os.fdopen(read, encoding="utf-8", errors="replace") as errors:
        messages = errors.read()
    _, status, used = os.wait4(process, 0)
    if status:
        last = (messages.strip().splitlines() or [f"ended with {status}"])[-1]
        return {"problem": last[:200]}
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "cpu_seconds": used.ru_utime + used.ru_stime,
        "resident_bytes": used.ru_maxrss * unit,
    }


def publish(arguments: list[str], output: Path, scratch: Path) -> dict[str, Any]:
    """Publish into a folder, which is replaced.

    Returns
    -------
    dict
        As :func:`spawn`, and ``phases``: seconds of processor time by phase, which add up to the
        command's.
    """
    times_file = scratch / "phases.json"
    command = ["publish", *arguments, "--output", str(output), "--overwrite"]
    done = spawn(["-m", "bench.measure.phases", str(times_file), *command])
    if "problem" in done:
        return done
    phases: dict[str, float] = json.loads(times_file.read_text(encoding="utf-8"))
    # The end of the interpreter cannot clock itself: it is the difference.
    phases[END] = done["cpu_seconds"] - sum(phases.values())
    return {**done, "phases": phases}


Clocked = Callable[[str, Callable[..., Any]], Callable[..., Any]]


class Clock(logging.Handler):
    """A log handler that attributes the process's time to phases."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.seconds = dict.fromkeys(PHASES, 0.0)
        self.phase, self._since, self._watches = START, 0.0, False

    def enter(self, phase: str) -> str:
        """Enter a phase; return the previous one."""
        now, before = time.process_time(), self.phase
        self.seconds[before] += now - self._since
        self.phase, self._since = phase, now
        return before

    def emit(self, record: logging.LogRecord) -> None:
        """Enter the phase of a step's message."""
        phase = STEPS.get(record.getMessage())
        if phase is not None:
            self.enter(phase)
        # Formats are imported by then, and not yet used.
        if phase == MECHANISM and not self._watches:
            self._watches = True
            self._watch()

    @contextmanager
    def during(self, phase: str) -> Iterator[None]:
        """Attribute time to a phase, then to the previous one again."""
        before = self.enter(phase)
        try:
            yield
        finally:
            self.enter(before)

    def within(self, phase: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a function so that its time counts to a phase."""

        @wraps(call)
        def clocked(*args: Any, **kwargs: Any) -> Any:
            with self.during(phase):
                return call(*args, **kwargs)

        return clocked

    def through(self, phase: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a generator so that its time, and that of its consumer, counts to a phase."""

        @wraps(call)
        def clocked(*args: Any) -> Iterator[Any]:
            with self.during(phase):
                yield from call(*args)

        return clocked

    def _watch(self) -> None:
        """Clock formats, rows and intervals; they are imported before anything is released."""
        from geodp.accuracy.cell_interval import ClampedIntervals, PlainIntervals
        from geodp.io.folder.formats import find_formats
        from geodp.io.write import view

        for format_ in {type(instance) for instance in find_formats()}:
            phase = FORMATS.get(format_.name, REST)
            self._replace(format_, "write", self.through, phase)
            self._replace(format_, "try_out", self.within, TRIAL)
        for law in (ClampedIntervals, PlainIntervals):
            self._replace(law, "of", self.within, INTERVALS)
        self._replace(view, "arrow_columns", self.within, ROWS)

    def _replace(self, owner: Any, name: str, clocked: Clocked, phase: str) -> None:
        setattr(owner, name, clocked(phase, getattr(owner, name)))


def _child(times_file: Path, arguments: list[str]) -> None:
    clock = Clock()
    log = logging.getLogger("geodp")
    log.setLevel(logging.INFO)
    log.addHandler(clock)
    from geodp.__main__ import main

    sys.argv = ["geodp", *arguments]
    try:
        main()
    finally:
        clock.enter(END)
        times_file.write_text(json.dumps(clock.seconds), encoding="utf-8")


if __name__ == "__main__":
    _child(Path(sys.argv[1]), sys.argv[2:])
