"""Running of a command: timed phases, padded duration, and messages about compiling."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import click

from geodp import progress
from geodp.cli.inputs import FACTS, sha256
from geodp.cli.translation import translate, translate_message
from geodp.errors import UsageError
from geodp.io.folder.stopping import complete_with_commit

COMPILING = (
    "Compiling geodp's inner loops for this machine, once after an installation: about 40 "
    "seconds. geodp warmup does it in advance."
)
COMPILING_MORE = "Compiling further functions that this call needs, once for this machine."

# --resume compares the call with that of the interrupted run; these options may differ.
CARRIED_OUT = {
    *("output", "overwrite", "resume", "memory", "scratch", "pad_time", "profile", "as_json"),
    *("cluster", "workers", "key_folder", "trust_cluster", "formats", FACTS),
}
"""Options on how and where a run is carried out, or on who states what, which do not change a
release."""

PUBLIC_FILES = ("mask", "regions", "public_totals", "prior")
"""Options that name a public file, or a folder, of whose contents a release is made."""


TOO_LONG = "The run took longer than --pad-time; choose a longer one."

STORED = (
    "The release that was charged is stored in {folder}: the same command with --resume completes "
    "it and costs nothing."
)


def describe_call(options: Mapping[str, Any]) -> dict[str, str]:
    """Describe the options of a run as text, without those on how and where it is carried out.

    They have the names that the command gives them, which may differ from those of parameters.
    Behind the name of a public file is the digest of its contents.
    """
    context = click.get_current_context(silent=True)
    params = [] if context is None else context.command.get_params(context)
    flags = {one.name: one.opts[-1].removeprefix("--") for one in params if one.name is not None}
    kept = {name: value for name, value in options.items() if name not in CARRIED_OUT}
    return {flags.get(name, name): _describe_value(name, value) for name, value in kept.items()}


def _describe_value(name: str, value: Any) -> str:
    if name not in PUBLIC_FILES or not isinstance(value, Path):
        return str(value)
    files = (one for one in (value, *sorted(value.rglob("*"))) if one.is_file())
    return " ".join([str(value), *map(sha256, files)])


def format_result(
    options: Mapping[str, Any],
    written: Mapping[str, list[str]],
    fields: Mapping[str, Any],
    sentences: Iterable[str],
) -> str:
    """Format the final message of a run that wrote a release.

    Parameters
    ----------
    options : mapping
        With the folder ``output``, and ``as_json``.
    written : mapping of str to list of str
        Files by folder, for the document.
    fields : mapping
        What else the document has: of the guarantee alone, which does not depend on the data.
    sentences : iterable of str
        What else the message says, a line each.
    """
    if options["as_json"]:
        document = {"output": str(options["output"]), **written, **fields}
        return json.dumps(document, ensure_ascii=False, indent=1)
    public, restricted = options["output"] / "public", options["output"] / "restricted"
    message = f"Published in {public}; for the operator only: {restricted}"
    return "\n".join(map(translate_message, (message, *sentences)))


def carry_out(
    options: dict[str, Any], work: Callable[[dict[str, Any], dict[str, float]], str]
) -> None:
    """Carry out a command that publishes, and print its message.

    Parameters
    ----------
    options : dict
        Options of the command.
    work : callable
        Publishes by the options, and returns the message; it puts the seconds of each phase into
        its second argument.
    """
    complete_with_commit()
    seconds: dict[str, float] = {}
    with report_stored_draw(options["output"]), report_progress():
        message = work(options, seconds)
    if options.get("profile"):
        for phase, took in seconds.items():
            click.echo(f"{phase} {took:.3f} s", err=True)
    click.echo(message)


@contextmanager
def report_progress() -> Iterator[None]:
    """Report progress of the block on stderr, unless ``--quiet`` or ``--pad-time`` was given.

    :mod:`geodp.progress` describes who sees what. Results are printed after the block, when no line
    is drawn any more.
    """
    context = click.get_current_context(silent=True)
    if context is not None and (
        context.find_root().params.get("quiet") or context.params.get("pad_time")
    ):
        yield
        return
    with progress.show(sys.stderr, report_compiling):
        yield


def report_compiling() -> None:
    """Explain why this run takes longer than later ones."""
    from geodp.kernels.jit import count_cached

    click.echo(translate(COMPILING_MORE if count_cached() else COMPILING), err=True)


@contextmanager
def pad_time(options: Mapping[str, Any]) -> Iterator[None]:
    """Let the block take at least the seconds of ``--pad-time``, if the command has any.

    Also a block that raises an error takes as long. All that it prints is held back until then, as
    the time of a warning or of the result depends on the data, too. A run that the operator stops
    ends at once.

    """
    minimum = options.get("pad_time")
    if not minimum:
        yield
        return
    started, padded = time.perf_counter(), True
    lines: list[tuple[bool, str]] = []
    try:
        with redirect_stdout(_Held(lines, err=False)), redirect_stderr(_Held(lines, err=True)):
            yield
    except (KeyboardInterrupt, SystemExit):
        padded = False
        raise
    finally:
        left = minimum - (time.perf_counter() - started)
        try:
            if padded and left > 0:
                time.sleep(left)
        finally:
            for err, text in lines:
                click.echo(text, nl=False, err=err)
        if padded and left <= 0:
            click.echo(translate_message(TOO_LONG), err=True)


class _Held(io.TextIOBase):
    """A stream that stores what is written to it.

    Parameters
    ----------
    lines : list of tuple
        Gets each text, in the order in which several streams are written to.
    err : bool
        Whether the texts are meant for stderr.
    """

    def __init__(self, lines: list[tuple[bool, str]], *, err: bool) -> None:
        super().__init__()
        self._lines, self._err = lines, err

    def write(self, text: str) -> int:
        """Store a text; return its length."""
        self._lines.append((self._err, text))
        return len(text)


@contextmanager
def time_phase(label: str, name: str, seconds: dict[str, float]) -> Iterator[None]:
    """Time a phase."""
    started = time.perf_counter()
    progress.begin(label)
    yield
    seconds[name] = round(time.perf_counter() - started, 3)


@contextmanager
def report_stored_draw(output: Path) -> Iterator[None]:
    """Report, if a run ends early, that its charged draw is not lost."""
    from geodp.io.folder.staging import find_interrupted

    try:
        yield
    # A wrong call is refused before anything is drawn, so nothing can be stored.
    except UsageError:
        raise
    except BaseException:
        try:
            stored = find_interrupted(output)
        except UsageError as error:
            click.echo(translate_message(str(error)), err=True)
        else:
            if stored is not None:
                click.echo(translate_message(STORED.format(folder=stored)), err=True)
        raise
