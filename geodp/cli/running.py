"""How a command runs: phases that are timed, time that is filled up, what is said of compiling."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from geodp import progress
from geodp.cli.inputs import FACTS
from geodp.cli.translation import translate_message
from geodp.errors import UsageError

COMPILING = (
    "Compiling for this machine, which takes some seconds once after an installation; "
    "geodp warmup does it ahead."
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


def say_once() -> Callable[[str], None]:
    """Says at the first kernel that is compiled why this run takes longer."""
    said = False

    def tell(_kernel: str) -> None:
        nonlocal said
        if not said:
            said = True
            click.echo(COMPILING, err=True)

    return tell


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
def tell_if_kept(output: Path) -> Iterator[None]:
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
