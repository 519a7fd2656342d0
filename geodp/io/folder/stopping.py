"""Safe points at which a process that was requested to stop does so.

A stop usually takes effect at once, but not in the middle of a charge, and not once the requested
result is in its place: a run that reports that it was stopped has published nothing, and one that
has published reports that.

A signal's handler calls :func:`request_stop`, in the main thread; code that must not be
interrupted calls :func:`hold_stops` and :func:`commits`. Libraries may swallow the exception that a
handler raises, so both check again before they begin. Without such a handler, nothing here has any
effect.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Stop:
    """State of a process that may be requested to stop.

    Attributes
    ----------
    exception : BaseException or None
        Exception that ends it.
    complete : bool
        The requested result is in its place.
    commit_completes : bool
        The next commit puts it there.
    holds : int
        Number of open blocks that must not be interrupted.
    """

    exception: BaseException | None = None
    complete: bool = False
    commit_completes: bool = False
    holds: int = 0


_stop = Stop()


def begin() -> Stop:
    """Reset the state: no stop is requested, and nothing is complete."""
    global _stop
    _stop = Stop()
    return _stop


def complete_with_commit() -> None:
    """Declare that the process makes one result: after its commit, it is too late to stop."""
    _stop.commit_completes = True


def request_stop(end: BaseException) -> None:
    """Raise ``end`` now, or at the end of an uninterruptible block; never after completion."""
    if _stop.complete:
        return
    _stop.exception = end
    if not _stop.holds:
        raise end


@contextmanager
def hold_stops() -> Iterator[None]:
    """Hold a stop back until the block has ended; one requested earlier is raised first."""
    _raise_stop()
    _stop.holds += 1
    try:
        yield
    finally:
        _stop.holds -= 1
    # Not in `finally`: an exception of the block itself must not be replaced by the stop.
    _raise_stop()


@contextmanager
def commits() -> Iterator[None]:
    """Hold stops back, as :func:`hold_stops` does, while a result is moved to its place."""
    with hold_stops():
        yield
        _stop.complete = _stop.commit_completes


def _raise_stop() -> None:
    if _stop.exception is not None and not _stop.complete and not _stop.holds:
        raise _stop.exception
