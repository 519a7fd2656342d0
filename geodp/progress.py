"""Progress of work: a live line on a terminal, a line every ten seconds elsewhere, and a log.

Work reports its step (:func:`begin`) and how much is done (:func:`advance`, :func:`part`), and its
caller shows that (:func:`show`). The logger ``geodp`` gets the names of steps, at level INFO, and
nothing else; it has no handler of its own.

Who may see what: the person at a terminal is the operator, and sees shares and estimates of all
steps. Other output may end in a log that others read, and so may the logger's. There a step on
confidential data shows only its name, since the growth of its share depends on the data. Only a
step on public data (``public=True``), such as writing a release, shows how much of it is left. That
something is compiled is shown, but not what: which kernels a run needs may depend on its data.
Totals are public everywhere: bytes of the input files, runs of subtrees, and released counts. Lines
appear at multiples of ten seconds of the entire run, so that they do not reveal more precisely when
a step began; where even the duration must reveal nothing (``--pad-time``), nothing is shown.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Protocol

PATIENCE = 2.0
"""Seconds before anything is shown on a terminal."""

REFRESH = 0.1
"""Seconds between two looks at the work there."""

EVERY = 10.0
"""Seconds between two lines elsewhere."""

SURE = 0.05
"""Share of a step that must be done before the rest of it is estimated."""

COMPILING = "Compiling for this machine"
"""Log message when the first kernel is compiled."""

_log = logging.getLogger("geodp")


class Over(Protocol):
    """Event that signals the end of the work."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for at most ``timeout`` seconds; return True once the work is over."""


@dataclass
class Bar:
    """The running step: its name, size, progress and start.

    Attributes
    ----------
    what : str
    total : float or None
        None if it is unknown.
    public : bool
        Whether it works on nothing confidential.
    done, partly : float
        In the unit of the total; what is done of the piece that is worked on.
    begun : float
        Seconds of the monotonic clock, later by what compiling took meanwhile.
    compiling : list of str
        Kernels that are compiled just now, each for the one before it.
    """

    what: str = "Starting"
    total: float | None = None
    public: bool = False
    done: float = 0.0
    partly: float = 0.0
    begun: float = field(default_factory=time.monotonic)
    compiling: list[str] = field(default_factory=list)

    def share(self) -> float | None:
        """Return the share of the step that is done, from 0 to 1; None if it is unknown."""
        if not self.total or self.compiling:
            return None
        return min((self.done + self.partly) / self.total, 1.0)

    def left(self, now: float) -> float | None:
        """Estimate the seconds left of the step from its speed; None before there is an estimate.

        >>> Bar("Reading", 200, done=50, begun=0.0).left(10.0)
        30.0
        """
        share = self.share()
        if share is None or share < SURE:
            return None
        return (now - self.begun) * (1 - share) / share

    def name(self) -> str:
        """Return the name of the current work, for the operator.

        >>> Bar("Reading", compiling=["sort"]).name()
        'Compiling sort'
        """
        return f"Compiling {self.compiling[-1]}" if self.compiling else self.what

    def line(self, run: float, now: float) -> str:
        """Describe the step for places that others may read, ``run`` seconds after the run began.

        >>> Bar("Reading", 200, done=50, begun=0.0).line(10.0, 10.0)
        '[10 s] Reading'
        >>> Bar("Writing the CSV", 200, public=True, done=50, begun=0.0).line(20.0, 10.0)
        '[20 s] Writing the CSV, about 30 s left'
        """
        what = "Compiling" if self.compiling else self.what
        rest = in_words(self.left(now)) if self.public else ""
        return f"[{run:.0f} s] {', '.join(filter(None, (what, rest)))}"


_bar: Bar | None = None
_of = ""
_at_compiling: Callable[[], None] | None = None
_silent = 0
_compiled = False
_since = 0.0


def begin(what: str, total: float | None = None, *, public: bool = False) -> None:
    """Begin a step; ``total`` is a public number of pieces, None where there is none.

    ``public``: it works on nothing confidential, so that all may know how much of it is done.
    """
    if _silent:
        return
    what = _of + what
    _log.info(what)
    if _bar is not None:
        _bar.what, _bar.total, _bar.public = what, total, public
        _bar.done, _bar.partly, _bar.begun = 0.0, 0.0, time.monotonic()


def advance(pieces: float = 1) -> None:
    """Count further pieces as done."""
    if _bar is not None and not _silent:
        _bar.done += pieces
        _bar.partly = 0.0


def part(share: float, pieces: float = 1) -> None:
    """Set the share, from 0 to 1, that is done of the current pieces; `advance` counts them."""
    if _bar is not None and not _silent:
        _bar.partly = min(max(share, 0.0), 1.0) * pieces


def compile_begins(kernel: str) -> None:
    """Record the start of compiling a kernel, which does not count as time of the step."""
    global _at_compiling, _compiled, _since
    if not _compiled:
        _compiled = True
        _log.info(COMPILING)
    if _bar is None:
        return
    if not _bar.compiling:
        _since = time.monotonic()
    _bar.compiling.append(kernel)
    callback, _at_compiling = _at_compiling, None
    if callback is not None:
        callback()


def compile_ends() -> None:
    """Record that the kernel that was begun last is compiled."""
    if _bar is not None and _bar.compiling:
        _bar.compiling.pop()
        if not _bar.compiling:
            # The start moves by the time of compiling, so that the estimate is of the step's own
            # speed.
            _bar.begun += time.monotonic() - _since


def in_words(seconds: float | None) -> str:
    """Format an estimate of seconds, rounded to its precision.

    >>> in_words(42.3), in_words(400), in_words(None)
    ('about 40 s left', 'about 7 min left', '')
    """
    if seconds is None:
        return ""
    if seconds < 10:
        return f"about {max(round(seconds), 1)} s left"
    if seconds < 95:
        return f"about {round(seconds, -1):.0f} s left"
    if seconds < 5400:
        return f"about {seconds / 60:.0f} min left"
    return f"about {seconds / 3600:.1f} h left"


@contextmanager
def show(
    stream: IO[str] | None,
    at_compiling: Callable[[], None] | None = None,
) -> Iterator[Bar]:
    """Show the progress of the block: on a terminal after ``PATIENCE`` seconds, until it ends.

    However the block ends, the line on the terminal is gone before anything else happens. Nothing
    is imported where there is none.

    Parameters
    ----------
    stream : file or None
        None: there is no screen at all.
    at_compiling : callable, optional
        Called when the first kernel is compiled, if one is.
    """
    global _bar, _at_compiling
    outer, outer_callback = _bar, _at_compiling
    _bar, _at_compiling = Bar(), at_compiling
    over = threading.Event()
    watcher = None
    if stream is not None:
        live = stream.isatty() and os.environ.get("TERM") != "dumb"
        watch = _watch if live else print_lines
        watcher = threading.Thread(target=watch, args=(_bar, over, stream), daemon=True)
        watcher.start()
    try:
        yield _bar
    finally:
        _bar, _at_compiling = outer, outer_callback
        over.set()
        if watcher is not None:
            watcher.join()


@contextmanager
def inside(name: str, number: int, total: int) -> Iterator[None]:
    """Name what the steps of the block are of: ``number`` of ``total``, all of them public.

    >>> with show(None) as bar, inside("age", 2, 5):
    ...     begin("Writing the CSV")
    >>> bar.name()
    'age (2 of 5): Writing the CSV'
    """
    global _of
    outer, _of = _of, f"{_of}{name} ({number} of {total}): "
    try:
        yield
    finally:
        _of = outer


@contextmanager
def silence() -> Iterator[None]:
    """Do not report the steps of the block, which is part of the step that was begun."""
    global _silent
    _silent += 1
    try:
        yield
    finally:
        _silent -= 1


def print_lines(bar: Bar, over: Over, stream: IO[str]) -> None:
    """Write a line about the step every ``EVERY`` seconds until the work is over."""
    periods = 0
    while not over.wait(EVERY):
        periods += 1
        try:
            stream.write(bar.line(periods * EVERY, time.monotonic()) + "\n")
            stream.flush()
        except (OSError, ValueError):  # the stream is closed
            return


def _watch(bar: Bar, over: Over, stream: IO[str]) -> None:
    """Draw the bar until the work is over."""
    if over.wait(PATIENCE):
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[left]}"),
        console=Console(file=stream),
        transient=True,
        redirect_stdout=False,
    ) as drawn:
        task = drawn.add_task(bar.what, total=None, left="")
        while True:
            share = bar.share()
            drawn.update(
                task,
                description=bar.name(),
                total=None if share is None else 1.0,
                completed=share or 0.0,
                left=in_words(bar.left(time.monotonic())),
            )
            if over.wait(REFRESH):
                return
