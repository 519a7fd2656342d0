"""Preview a release without data: card, closed-form errors and warnings, before the charge."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from geodp.grid.grid import Grid
from geodp.io.read.public.land import warn_of_sea
from geodp.mechanisms.base import Mechanism, Method
from geodp.mechanisms.trees.attributes import warnings_of
from geodp.privacy.event import TableEvent
from geodp.release.pure_or_gaussian import warn_of_delta
from geodp.release.release import Release
from geodp.release.request import Request
from geodp.table.card import StatedMetadata
from geodp.table.counts import ReleasedTable
from geodp.table.reading import StatedReading


def preview_release(
    grid: Grid,
    method: Method[Any],
    event: TableEvent,
    people: float | None,
    public_facts: tuple[str, ...] = (),
    reading: StatedReading | None = None,
    metadata: StatedMetadata | None = None,
    made: type[Release] = Release,
) -> Release:
    """Make a release of an empty table, with the card and the closed forms of the real one.

    They depend on public things only, so an error in computing them is raised before the charge.
    ``made``: class of the release, such as one whose counts have another name.
    """
    # Nothing on a card may depend on counts that are not drawn yet: with no rows, it cannot.
    none = np.empty(0, np.int64)
    table = ReleasedTable(grid, none.astype(np.uint64), none, event)
    release = made(table, None, people, public_facts, method, metadata=metadata, reading=reading)
    # Computed now and cached: the real release takes them over if nothing public differs.
    release.card()
    release.errors()
    for _ in release.areas():
        pass
    return release


def list_warnings(release: Release, request: Request | None = None) -> tuple[str, ...]:
    """List the warnings about a release before it is published, a sentence each.

    ``request`` is that of a single release, which may be better off without its delta.
    """
    about = warnings_of(release.method, release.grid, release.event, release.people)
    delta_notes = () if request is None else _warn_of_delta(release, request)
    return (*about, *warn_of_sea(release.grid), *delta_notes)


def _warn_of_delta(release: Release, request: Request) -> tuple[str, ...]:
    if not isinstance(release.method, Mechanism):
        return ()
    # The table may have bounded the contribution, so it is that of the event.
    terms = replace(request.terms, contribution=release.event.contribution)
    return warn_of_delta(release.grid, release.method, terms, request.ledger, request.dataset)


def warn_before_release(preview: Release, between: int = 0, request: Request | None = None) -> None:
    """Issue the warnings about a release at the line of the user's code that publishes it.

    ``between`` is the number of stack frames between that line and the caller of this function,
    such as those of decorators; ``request`` is as for :func:`list_warnings`.
    """
    for message in list_warnings(preview, request):
        warnings.warn(message, UserWarning, stacklevel=3 + between)
