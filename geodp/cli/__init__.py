"""The command line: options in, one sentence or one JSON document out.

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
from geodp.cli.help import CommandFiles, Steps
from geodp.cli.translation import choose_language, tell, translate, translate_message
from geodp.errors import (
    AccessWarning,
    GeodpError,
    LettersWarning,
    PluginWarning,
    Rule,
    WithdrawnWarning,
    printable,
)
from geodp.io.folder.stopping import ask, begin
from geodp.registry import list_files

HELP = {"help_option_names": ["-h", "--help"]}


@click.group(cls=Steps, context_settings={**HELP, "max_content_width": 100})
@click.version_option(__version__, prog_name="geodp")
@click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Tell nothing of how far a command is: no live line on a terminal, and no line every ten "
    "seconds elsewhere.",
)
def geodp(**_options: bool) -> None:
    """Publish sparse geospatial counts with differential privacy.

    \b
    Exit codes: 0 done, 1 failed, 2 wrong call, 3 verification failed,
                4 budget refused, 5 input rejected.
    """


def _prepare(command: click.Command) -> click.Command:
    """Give a command that was just imported the help options and the language of the program."""
    # Click makes a command's option of help once, for whoever asks first.
    command.context_settings = {**HELP, **command.context_settings}
    command.context_class = geodp.context_class
    for inner in getattr(command, "commands", {}).values():
        inner.context_class = geodp.context_class
    return command


_FILES = {
    info.name: f"{commands.__name__}.{info.name}"
    for info in pkgutil.iter_modules(commands.__path__)
}
geodp.commands = CommandFiles(_FILES | list_files("commands"), _prepare)


SAID = (AccessWarning, LettersWarning, PluginWarning, WithdrawnWarning)
"""Warnings that are meant for people."""

INTERRUPTED, TERMINATED = 130, 143
"""The exit codes after Ctrl-C and after SIGTERM."""

COLLECT = 500_000
"""New objects between two searches for garbage: more than all imports and a small release make.

Python's 700 search the imports dozens of times; what is searched for, circles of objects, is rare.
"""

PATIENCE = 2.0
"""Seconds after Ctrl-C in which another is the same one: temporary files are being removed."""


class _Signals:
    """What SIGTERM and Ctrl-C do: once an exception, so that temporary files are removed in peace.

    A library that is just being imported may turn it into an error of its own or drop it, so the
    exit code is kept; :mod:`geodp.io.folder.stopping` says until when a stop is one.
    """

    def __init__(self) -> None:
        self.stop = begin()
        self._last = -PATIENCE

    @property
    def code(self) -> int:
        """The exit code of a run that was stopped; 0 of one that was not, or had published."""
        if self.stop.asked is None or self.stop.complete:
            return 0
        return INTERRUPTED if isinstance(self.stop.asked, KeyboardInterrupt) else TERMINATED

    def take_termination(self, _signal: int, _frame: FrameType | None) -> None:
        """SIGTERM."""
        ask(SystemExit(TERMINATED))

    def take_interrupt(self, _signal: int, _frame: FrameType | None) -> None:
        """Ctrl-C."""
        now = time.monotonic()
        if now - self._last >= PATIENCE:
            self._last = now
            ask(KeyboardInterrupt())


def _as_sentences() -> None:
    """Tell what is meant for people as a sentence, without the line of code that it comes from.

    What other libraries warn of comes with a line of theirs, and may quote data: it is shown with
    GEODP_TRACEBACK alone.
    """
    shown, said = warnings.showwarning, set[str]()

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, SAID):
            if str(message) not in said:  # once, however many steps look at the same release
                click.echo(f"Note: {printable(str(message))}", err=True)
            said.add(str(message))
        elif os.environ.get("GEODP_TRACEBACK"):
            shown(message, category, *where, **more)

    warnings.showwarning = show


def _open_streams() -> None:
    """Have the screen take every name of a file.

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
    """Keep what libraries log, and what they cannot raise, off the screen: it may quote data.

    GDAL's errors are logged by rasterio, with a traceback where one of its messages is no text;
    geodp has a sentence of its own for each. With GEODP_TRACEBACK all is shown.
    """
    if not os.environ.get("GEODP_TRACEBACK"):
        logging.getLogger().addHandler(logging.NullHandler())
        sys.unraisablehook = _ignore


def _ignore(_report: Any) -> None:
    """Show nothing of an exception that could not be raised."""


def _end(code: int) -> NoReturn:
    """End the process: everything is done, and no other signal may say otherwise.

    Where threads of libraries still work after Ctrl-C, it ends by the signal itself, as shells
    expect (they say 130, too): waiting for them would take as long as the work.
    """
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
    gc.freeze()  # nothing of the process is worth a search for garbage any more
    sys.exit(code)


def main() -> NoReturn:
    """Run the command line and turn every error into one sentence and an exit code."""
    signals = _Signals()
    # SIGBREAK is what Windows sends for Ctrl+Break, by which schedulers stop a process.
    for name in ("SIGTERM", "SIGBREAK"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signals.take_termination)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:  # as under nohup
        signal.signal(signal.SIGINT, signals.take_interrupt)
    gc.set_threshold(COLLECT)
    _open_streams()
    _silence_libraries()
    _as_sentences()
    choose_language(geodp)
    try:
        code = geodp.main(standalone_mode=False)
    except SystemExit as end:
        _end(signals.code or (end.code if isinstance(end.code, int) else 1))
    except OSError as error:  # of the screen, where a release is in its place already
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
    """Return what the system refused, or the name that a library did not take; None of others.

    It names a path of the operator at most, and nothing of the data.
    """
    if isinstance(error, UnicodeEncodeError):
        wrong = str(error.object)[error.start : error.end]
        return NOT_UTF8 if any("\udc80" <= mark <= "\udcff" for mark in wrong) else None
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
    """Tell what went wrong in one sentence; return the exit code."""
    if stopped or isinstance(error, click.exceptions.Abort):
        click.echo(translate("Interrupted; nothing was published."), err=True)
        return INTERRUPTED
    if isinstance(error, click.ClickException):
        vars(error)["message"] = translate_message(error.message)
        error.show()
        return error.exit_code
    if isinstance(error, GeodpError):
        click.echo(printable(tell(error)), err=True)
        return error.exit_code
    if isinstance(error, MemoryError):
        click.echo(translate(SHORT), err=True)
        return 1
    if (why := _why_refused(error)) is not None:
        click.echo(printable(tell(GeodpError(why))), err=True)
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
