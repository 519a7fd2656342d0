"""When a process that was told to stop does so.

At once, as a rule. Not in the middle of a charge; and not once what was asked for is there: a run
that says that it was stopped has published nothing, and one that has published says so.

A signal's handler calls :func:`ask`, in the main thread; what must not be cut calls
:func:`hold_stops` and :func:`commits`. Libraries may swallow the exception that a handler raises,
so both look again before they begin. Without a handler that asks, nothing here does anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Stop:
    """What a process was told, and what it has done.

    Attributes
    ----------
    asked : BaseException or None
        What ends it.
    complete : bool
        What was asked for is in its place.
    commit_completes : bool
        The next commit puts it there.
    holds : int
        Blocks that must not be cut.
    """

    asked: BaseException | None = None
    complete: bool = False
    commit_completes: bool = False
    holds: int = 0


_stop = Stop()


def begin() -> Stop:
    """Nobody has asked the process to stop, and nothing is done."""
    global _stop
    _stop = Stop()
    return _stop


def complete_with_commit() -> None:
    """Say that the process is there for one result: with its commit, nothing is left to stop."""
    _stop.commit_completes = True


def ask(end: BaseException) -> None:
    """Raise ``end`` now, or where a block ends that must not be cut; never once all is there."""
    if _stop.complete:
        return
    _stop.asked = end
    if not _stop.holds:
        raise end


@contextmanager
def hold_stops() -> Iterator[None]:
    """Hold a stop back until the block has ended; one that was asked for before is raised first."""
    _raise_stop()
    _stop.holds += 1
    try:
        yield
    finally:
        _stop.holds -= 1
    _raise_stop()


@contextmanager
def commits() -> Iterator[None]:
    """:func:`hold_stops`, where a result is put in its place."""
    with hold_stops():
        yield
        _stop.complete = _stop.commit_completes


def _raise_stop() -> None:
    if _stop.asked is not None and not _stop.complete and not _stop.holds:
        raise _stop.asked
