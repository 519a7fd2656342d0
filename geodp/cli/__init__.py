"""The command line: parsing of options, and a message or one JSON document as the result.

Nothing heavy is imported here or at the top of a command's module, so that ``--help`` is quick.
"""

from __future__ import annotations

import codecs
import errno
import gc
import io
import json
import logging
import os
import pkgutil
import signal
import sys
import threading
import time
import traceback
import warnings
from types import FrameType
from typing import Any, NoReturn

import click

from geodp import __version__
from geodp.cli import commands
from geodp.cli.help import HELP_ALL_COMMANDS, CommandFiles, Steps
from geodp.cli.translation import choose_language, format_error, translate, translate_message
from geodp.errors import (
    AccessWarning,
    GeodpError,
    LettersWarning,
    PluginWarning,
    Rule,
    WithdrawnWarning,
    printable,
)
from geodp.io.folder.stopping import begin, request_stop
from geodp.registry import list_files

# Commands inherit these settings only at run time, so _prepare adds them to each one, too.
HELP = {"help_option_names": ["-h", "--help"]}


@click.group(cls=Steps, context_settings={**HELP, "max_content_width": 100})
@click.version_option(__version__, prog_name="geodp")
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Do not report progress: no live line on a terminal, and no line every ten seconds "
    "elsewhere.",
)
def geodp(**_options: bool) -> None:
    """Publish sparse geospatial counts with differential privacy.

    \b
    Exit codes: 0 done, 1 failed, 2 wrong call, 3 verification failed,
                4 budget refused, 5 input rejected.
    """


geodp.params.append(HELP_ALL_COMMANDS)


def _prepare(command: click.Command) -> click.Command:
    """Set up a command that was just imported with the program's help options and language."""
    # Click creates a command's help option once, on first use, so its flags are set before that.
    command.context_settings = {**HELP, **command.context_settings}
    command.context_class = geodp.context_class
    return command


_FILES = {
    info.name: f"{commands.__name__}.{info.name}"
    for info in pkgutil.iter_modules(commands.__path__)
}
geodp.commands = CommandFiles(_FILES | list_files("commands"), _prepare)


SHOWN_WARNINGS = (AccessWarning, LettersWarning, PluginWarning, WithdrawnWarning)
"""Warnings that are shown to people, as notes."""

INTERRUPTED, TERMINATED = 130, 143
"""The exit codes after Ctrl-C and after SIGTERM."""

COLLECT = 500_000
"""New objects between two garbage collections: more than all imports and a small release make.

Python's default of 700 scans the imports dozens of times, and reference cycles are rare.
"""

PATIENCE = 2.0
"""Seconds in which a second Ctrl-C is ignored, while temporary files are being removed."""


class _Signals:
    """Handlers of SIGTERM and Ctrl-C: each raises one exception, so that cleanup is undisturbed.

    A library that is being imported may replace or drop that exception, so the exit code is
    stored; :mod:`geodp.io.folder.stopping` defines until when a run can be stopped.
    """

    def __init__(self) -> None:
        self.stop = begin()
        self._last = -PATIENCE

    @property
    def code(self) -> int:
        """Exit code of a stopped run; 0 if it was not stopped, or had published before."""
        if self.stop.exception is None or self.stop.complete:
            return 0
        return INTERRUPTED if isinstance(self.stop.exception, KeyboardInterrupt) else TERMINATED

    def take_termination(self, _signal: int, _frame: FrameType | None) -> None:
        """Handle SIGTERM."""
        request_stop(SystemExit(TERMINATED))

    def take_interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        """Handle Ctrl-C."""
        now = time.monotonic()
        # Impatient users press Ctrl-C repeatedly; a second KeyboardInterrupt would interrupt the
        # cleanup and leave temporary files with confidential data behind.
        if now - self._last >= PATIENCE:
            self._last = now
            request_stop(KeyboardInterrupt())


def _show_warnings() -> None:
    """Show warnings that are meant for people as messages, without a line of code.

    Warnings of other libraries quote a line of their code, and perhaps data: they are shown with
    GEODP_TRACEBACK alone.
    """
    shown, printed_before = warnings.showwarning, set[str]()

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, SHOWN_WARNINGS):
            if (
                str(message) not in printed_before
            ):  # once, however many steps look at the same release
                click.echo(f"Note: {printable(str(message))}", err=True)
            printed_before.add(str(message))
        elif os.environ.get("GEODP_TRACEBACK"):
            shown(message, category, *where, **more)

    warnings.showwarning = show


def _open_streams() -> None:
    """Let the standard streams accept every file name.

    A name that is not UTF-8 is written as Python and JSON escape it (``\\udc90``), as is what the
    encoding of the screen lacks: a file or a pipe on Windows has that of the language.
    """
    codecs.register_error("geodp-escape", _escape)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a closed one is None
            stream.reconfigure(errors="geodp-escape")


def _escape(error: UnicodeError) -> tuple[str, int]:
    """Escape what an encoding lacks as JSON does, as a document may be printed."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    # Python's own "backslashreplace" writes \xe9, which no reader of JSON takes.
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


def _silence_libraries() -> None:
    """Suppress logs and unraisable exceptions of libraries, which may quote data.

    GDAL's errors are logged by rasterio, with a traceback where one of its messages is no text;
    geodp has its own message for each. With GEODP_TRACEBACK all is shown.
    """
    # Messages of libraries quote values and rows; a screen or log may be seen by others than the
    # operator.
    if not os.environ.get("GEODP_TRACEBACK"):
        logging.getLogger().addHandler(logging.NullHandler())
        sys.unraisablehook = _ignore


def _ignore(_report: Any) -> None:
    """Ignore an exception that could not be raised."""


def _end(code: int) -> NoReturn:
    """End the process with an exit code, which no later signal changes.

    Where threads of libraries still work after Ctrl-C, it ends by the signal itself, as shells
    expect (they say 130, too): waiting for them would take as long as the work.
    """
    # A late Ctrl-C must not change the exit code of a release that is already in its place.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    others = [one for one in threading.enumerate() if one is not threading.main_thread()]
    if code == INTERRUPTED and not all(one.daemon for one in others):
        sys.stdout.flush()
        sys.stderr.flush()
        if not hasattr(signal, "SIGHUP"):
            # Windows has no end by a signal: its C library exits with 3, another code of geodp.
            os._exit(code)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.raise_signal(signal.SIGINT)
    gc.freeze()  # a last garbage collection would only take time
    sys.exit(code)


def main(command: click.Command = geodp) -> NoReturn:
    """Run the command line and turn every error into a message and an exit code."""
    signals = _Signals()
    # A process started with nohup or in the background keeps ignoring Ctrl-C of its terminal.
    # SIGBREAK is what Windows sends for Ctrl+Break, by which schedulers stop a process.
    for name in ("SIGTERM", "SIGBREAK"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signals.take_termination)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as under nohup
        signal.signal(signal.SIGINT, signals.take_interrupt)
    gc.set_threshold(COLLECT)
    _open_streams()
    _silence_libraries()
    _show_warnings()
    choose_language(geodp)
    try:
        code = command.main(standalone_mode=False)
    except SystemExit as end:
        _end(signals.code or (end.code if isinstance(end.code, int) else 1))
    except OSError as error:  # such as a closed pipe, after a release is in its place
        _end(0 if signals.stop.complete else signals.code or _explain(error, 0))
    except Exception as error:
        _end(TERMINATED if signals.code == TERMINATED else _explain(error, signals.code))
    _end(signals.code or (code if isinstance(code, int) else 0))


SHORT = (
    "Error: there is not enough memory for this. Give the command more (a larger machine, a higher "
    "limit), or choose smaller bounds or coarser cells; --memory makes publish keep less."
)


NO_FOLDER = Rule(
    "current-folder-gone",
    "The current folder does not exist any more; go to one that does (cd) and run it again.",
)

FEW_FILES = Rule(
    "too-many-files-open",
    "Too few files may be open at once; allow the run more of them (ulimit -n 256).",
)

NOT_UTF8 = (
    "The name of a file, or of a folder above it, is not UTF-8, and a library takes no such name; "
    "rename it."
)


def _why_refused(error: Exception) -> str | None:
    """Explain what the system refused, or which name a library rejected; None for other errors.

    The explanation names at most a path of the operator, and nothing of the data.
    """
    if isinstance(error, UnicodeEncodeError):
        wrong = str(error.object)[error.start : error.end]
        return NOT_UTF8 if any("\udc80" <= character <= "\udcff" for character in wrong) else None
    if not isinstance(error, OSError) or error.strerror is None:
        return None
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return FEW_FILES
    try:
        os.getcwd()
    except OSError:
        return NO_FOLDER
    if isinstance(error.filename, str | bytes):
        return Rule(
            "file-unusable", f"{os.fsdecode(error.filename)} cannot be used ({error.strerror})."
        )
    return None


def _explain(error: Exception, stopped: int) -> int:
    """Print a message about an error; return the exit code."""
    if stopped or isinstance(error, click.exceptions.Abort):
        click.echo(translate("Interrupted; nothing was published."), err=True)
        return INTERRUPTED
    if isinstance(error, click.ClickException):
        # Click formats the usage line itself, so only the message is replaced.
        vars(error)["message"] = translate_message(error.message)
        error.show()
        return error.exit_code
    if isinstance(error, GeodpError):
        click.echo(printable(format_error(error)), err=True)
        return error.exit_code
    if isinstance(error, MemoryError):
        click.echo(translate(SHORT), err=True)
        return 1
    if (why := _why_refused(error)) is not None:
        click.echo(printable(format_error(GeodpError(why))), err=True)
        return 1
    # The message of an unforeseen error might quote data, so only its place is shown.
    if os.environ.get("GEODP_TRACEBACK"):
        traceback.print_exception(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    click.echo(
        f"Error: unforeseen {type(error).__name__} at {os.path.basename(last.filename)}:"
        f"{last.lineno}; nothing was published. GEODP_TRACEBACK=1 shows where, and may show "
        "confidential values.",
        err=True,
    )
    return 1


__all__ = ["geodp", "main"]
