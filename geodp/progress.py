"""How far work is: a live line on a terminal, elsewhere a line every ten seconds; and a log.

Work says what it does (:func:`begin`) and how much is done (:func:`advance`, :func:`part`). Whoever
runs it shows that (:func:`show`). The logger ``geodp`` is told the names of steps, at level INFO,
and nothing else; it has no handler of its own.

Who may see what: the person at a terminal is the operator, and sees shares and estimates of all
steps. What goes elsewhere may end in a log that others read, as may what is logged. There a step of
confidential data is its name alone, since how quickly its share grows depends on them. Only a step
that works on what is public (``public=True``), such as a release that is written, tells what is
left of it. That something is compiled is told there, and not what: which kernels a run needs may
depend on its data. Totals are public everywhere: bytes of the files given, runs of subtrees, and
what is released. Lines come at full ten seconds of the whole run, so that when a step began is told
no more exactly; where even a run's duration is to tell nothing (``--pad-time``), none come.
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
"""What is logged when the first kernel is compiled."""

_log = logging.getLogger("geodp")


class Over(Protocol):
    """Tells whether the work is over."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for so many seconds at most; True once the work is over."""


@dataclass
class Bar:
    """The step that runs: what it is, how much there is, how much is done, and since when.

    Attributes
    ----------
    what : str
    total : float or None
        None: nobody knows.
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
        """How much of the step is done, from 0 to 1; None where nobody knows."""
        if not self.total or self.compiling:
            return None
        return min((self.done + self.partly) / self.total, 1.0)

    def left(self, now: float) -> float | None:
        """Seconds left of the step, at its speed so far; None before that says anything.

        >>> Bar("Reading", 200, done=50, begun=0.0).left(10.0)
        30.0
        """
        share = self.share()
        if share is None or share < SURE:
            return None
        return (now - self.begun) * (1 - share) / share

    def name(self) -> str:
        """Return what is done just now, for the operator.

        >>> Bar("Reading", compiling=["sort"]).name()
        'Compiling sort'
        """
        return f"Compiling {self.compiling[-1]}" if self.compiling else self.what

    def line(self, run: float, now: float) -> str:
        """Tell the step where others may read it, ``run`` seconds after the run began.

        >>> Bar("Reading", 200, done=50, begun=0.0).line(10.0, 10.0)
        '[10 s] Reading'
        >>> Bar("Writing the CSV", 200, public=True, done=50, begun=0.0).line(20.0, 10.0)
        '[20 s] Writing the CSV, about 30 s left'
        """
        what = "Compiling" if self.compiling else self.what
        rest = in_words(self.left(now)) if self.public else ""
        return f"[{run:.0f} s] {', '.join(filter(None, (what, rest)))}"


_bar: Bar | None = None
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
    _log.info(what)
    if _bar is not None:
        _bar.what, _bar.total, _bar.public = what, total, public
        _bar.done, _bar.partly, _bar.begun = 0.0, 0.0, time.monotonic()


def advance(pieces: float = 1) -> None:
    """So many pieces more are done."""
    if _bar is not None and not _silent:
        _bar.done += pieces
        _bar.partly = 0.0


def part(share: float, pieces: float = 1) -> None:
    """Say which share, from 0 to 1, of the pieces worked on is done; `advance` counts them."""
    if _bar is not None and not _silent:
        _bar.partly = min(max(share, 0.0), 1.0) * pieces


def compile_begins(kernel: str) -> None:
    """Take note of a kernel that is compiled, which is no part of the step's own time."""
    global _at_compiling, _compiled, _since
    if not _compiled:
        _compiled = True
        _log.info(COMPILING)
    if _bar is None:
        return
    if not _bar.compiling:
        _since = time.monotonic()
    _bar.compiling.append(kernel)
    tell, _at_compiling = _at_compiling, None
    if tell is not None:
        tell()


def compile_ends() -> None:
    """Take note that the kernel which was begun last is compiled."""
    if _bar is not None and _bar.compiling:
        _bar.compiling.pop()
        if not _bar.compiling:
            _bar.begun += time.monotonic() - _since


def in_words(seconds: float | None) -> str:
    """Return an estimate, no more exact than it is.

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
    *,
    lines: bool = True,
) -> Iterator[Bar]:
    """Show what the block does: on a terminal after ``PATIENCE`` seconds, until it has ended.

    However the block ends, the line on the terminal is gone before anything else happens. Nothing
    is imported where there is none.

    Parameters
    ----------
    stream : file or None
        None: there is no screen at all.
    at_compiling : callable, optional
        Called when the first kernel is compiled, if one is.
    lines : bool
        Whether a stream that is no terminal is told a line every ``EVERY`` seconds.
    """
    global _bar, _at_compiling
    outer, told = _bar, _at_compiling
    _bar, _at_compiling = Bar(), at_compiling
    over = threading.Event()
    watcher = None
    if stream is not None:
        live = stream.isatty() and os.environ.get("TERM") != "dumb"
        if live or lines:
            watch = _watch if live else print_lines
            watcher = threading.Thread(target=watch, args=(_bar, over, stream), daemon=True)
            watcher.start()
    try:
        yield _bar
    finally:
        _bar, _at_compiling = outer, told
        over.set()
        if watcher is not None:
            watcher.join()


@contextmanager
def unsaid() -> Iterator[None]:
    """Say nothing of the steps of the block, which is a part of the step that was begun."""
    global _silent
    _silent += 1
    try:
        yield
    finally:
        _silent -= 1


def print_lines(bar: Bar, over: Over, stream: IO[str]) -> None:
    """Write the step of the bar every ``EVERY`` seconds until the work is over."""
    turns = 0
    while not over.wait(EVERY):
        turns += 1
        try:
            stream.write(bar.line(turns * EVERY, time.monotonic()) + "\n")
            stream.flush()
        except (OSError, ValueError):  # nobody reads it any more
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
