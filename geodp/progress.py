"""How far a command is: a line on the terminal for work of more than two seconds.

Work says what it does (:func:`begin`) and how much is done (:func:`advance`, :func:`part`);
outside of :func:`show` that is nothing. Totals are public: bytes of the files given, runs of
subtrees, and what is written, which is released. Only a person at the terminal sees it.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO

PATIENCE = 2.0
"""Seconds before anything is shown."""

REFRESH = 0.1
"""Seconds between two looks at the work."""

SURE = 0.05
"""Share of a step that must be done before the rest of it is estimated."""


@dataclass
class Bar:
    """The step that runs: what it is, how much there is, how much is done, and since when.

    Attributes
    ----------
    what : str
    total : float or None
        None: nobody knows.
    done, partly : float
        In the unit of the total; what is done of the piece that is worked on.
    begun : float
        Seconds of the monotonic clock.
    """

    what: str = "Starting"
    total: float | None = None
    done: float = 0.0
    partly: float = 0.0
    begun: float = field(default_factory=time.monotonic)

    def share(self) -> float | None:
        """How much of the step is done, from 0 to 1; None where nobody knows."""
        if not self.total:
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


_bar: Bar | None = None


def begin(what: str, total: float | None = None) -> None:
    """Begin a step; ``total`` is a public number of pieces, None where there is none."""
    if _bar is not None:
        _bar.what, _bar.total, _bar.done, _bar.partly = what, total, 0.0, 0.0
        _bar.begun = time.monotonic()


def advance(pieces: float = 1) -> None:
    """So many pieces more are done."""
    if _bar is not None:
        _bar.done += pieces
        _bar.partly = 0.0


def part(share: float, pieces: float = 1) -> None:
    """Say which share, from 0 to 1, of the pieces worked on is done; `advance` counts them."""
    if _bar is not None:
        _bar.partly = min(max(share, 0.0), 1.0) * pieces


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
def show(stream: IO[str]) -> Iterator[Bar]:
    """Show on a terminal what the block does, once it has lasted ``PATIENCE`` seconds.

    Nothing is written, and nothing imported, where ``stream`` is no terminal. However the block
    ends, the line is gone before anything else happens.
    """
    global _bar
    outer, _bar = _bar, Bar()
    over = threading.Event()
    watcher = None
    if stream.isatty() and os.environ.get("TERM") != "dumb":
        watcher = threading.Thread(target=_watch, args=(_bar, over, stream), daemon=True)
        watcher.start()
    try:
        yield _bar
    finally:
        _bar = outer
        over.set()
        if watcher is not None:
            watcher.join()


@contextmanager
def unsaid() -> Iterator[None]:
    """Say nothing of what the block does: the line stays with the step that it is part of."""
    global _bar
    outer, _bar = _bar, None
    try:
        yield
    finally:
        _bar = outer


def _watch(bar: Bar, over: threading.Event, stream: IO[str]) -> None:
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
                description=bar.what,
                total=None if share is None else 1.0,
                completed=share or 0.0,
                left=in_words(bar.left(time.monotonic())),
            )
            if over.wait(REFRESH):
                return
