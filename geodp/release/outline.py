"""The release of nobody: all that is public of one, and what must be known before it is made."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from geodp.grid.grid import Grid
from geodp.io.read.public.land import warn_of_sea
from geodp.mechanisms.base import Method
from geodp.mechanisms.trees.attributes import warnings_of
from geodp.privacy.event import TableEvent
from geodp.release.release import Release
from geodp.table.card import StatedMetadata
from geodp.table.released import ReleasedTable
from geodp.table.stated.reading import StatedReading


def outline(
    grid: Grid,
    method: Method[Any],
    spent: TableEvent,
    people: float | None,
    public_facts: tuple[str, ...] = (),
    reading: StatedReading | None = None,
    metadata: StatedMetadata | None = None,
) -> Release:
    """Work out the card and the closed forms of the release of nobody, once.

    They are public, so what is wrong with them shows before anything is charged.
    """
    none = np.empty(0, np.int64)
    table = ReleasedTable(grid, none.astype(np.uint64), none, spent)
    found = Release(table, None, people, public_facts, method, metadata=metadata, reading=reading)
    found.card()
    found.errors()
    for _ in found.areas():
        pass
    return found


def list_warnings(release: Release) -> tuple[str, ...]:
    """Return what must be known of a release before it is published; a sentence each."""
    about = warnings_of(release.method, release.grid, release.event, release.people)
    return (*about, *warn_of_sea(release.grid))


def warn_before_release(nobody: Release, between: int = 0) -> None:
    """Warn of that, on behalf of who publishes.

    ``between``: calls between that of the caller's caller and the caller itself.
    """
    for words in list_warnings(nobody):
        warnings.warn(words, UserWarning, stacklevel=3 + between)
