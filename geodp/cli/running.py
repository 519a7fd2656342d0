"""How a command runs: phases that are timed, time that is filled up, what is said of compiling."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from geodp import progress
from geodp.cli.inputs import FACTS
from geodp.cli.translation import translate, translate_message
from geodp.errors import UsageError

COMPILING = (
    "Compiling the loops of geodp for this machine, once after an installation: about 40 seconds. "
    "geodp warmup does it ahead."
)
COMPILING_MORE = (
    "Compiling what this call needs beyond what was compiled before, once for this machine."
)

CARRIED_OUT = {
    *("output", "overwrite", "resume", "memory", "scratch", "pad_time", "profile", "as_json"),
    *("cluster", "workers", "key_folder", "trust_cluster", "formats", FACTS),
}
"""Options that say how and where a run is carried out, or who says what, and change nothing in a
release."""


TOO_LONG = "The run took longer than --pad-time; choose a longer one."

KEPT = (
    "What was charged is kept in {folder}: the same command with --resume completes the release "
    "and costs nothing."
)


def describe_call(options: Mapping[str, Any]) -> dict[str, str]:
    """Return what a run is asked for, as text; not how and where it is carried out."""
    return {name: str(value) for name, value in options.items() if name not in CARRIED_OUT}


@contextmanager
def report_progress(*, lines: bool = True) -> Iterator[None]:
    """Tell on stderr what the block does and how long it takes, unless ``--quiet`` was given.

    What is told to whom: :mod:`geodp.progress`. Results are printed after the block, where no line
    is drawn any more.

    Parameters
    ----------
    lines : bool
        False: only a terminal is told, as when the duration of a run must tell nothing.
    """
    context = click.get_current_context(silent=True)
    if context is not None and context.find_root().params.get("quiet"):
        yield
        return
    with progress.show(sys.stderr, report_compiling, lines=lines):
        yield


def report_compiling() -> None:
    """Say why this run takes longer than the next."""
    from geodp.kernels.jit import count_kept

    click.echo(translate(COMPILING_MORE if count_kept() else COMPILING), err=True)


@contextmanager
def pad_time(least: float) -> Iterator[None]:
    """Sleep until ``least`` seconds have passed, also after an error."""
    started = time.perf_counter()
    try:
        yield
    finally:
        left = least - (time.perf_counter() - started)
        if left > 0:
            time.sleep(left)
        elif least:
            click.echo(translate_message(TOO_LONG), err=True)


@contextmanager
def time_phase(label: str, name: str, seconds: dict[str, float]) -> Iterator[None]:
    """Time a phase."""
    started = time.perf_counter()
    progress.begin(label)
    yield
    seconds[name] = round(time.perf_counter() - started, 3)


@contextmanager
def report_stored_draw(output: Path) -> Iterator[None]:
    """Say, where a run ends early, that what it was charged for is not lost."""
    from geodp.io.folder.staging import find_interrupted

    try:
        yield
    except UsageError:
        raise
    except BaseException:
        try:
            found = find_interrupted(output)
        except UsageError as error:
            click.echo(translate_message(str(error)), err=True)
        else:
            if found is not None:
                click.echo(translate_message(KEPT.format(folder=found)), err=True)
        raise
