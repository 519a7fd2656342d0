"""Compute a written release again from its table and its card, once for all checks that need it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np

from geodp.io.verify.written import ListedIntervals, read_view
from geodp.io.write.tables import slices
from geodp.io.write.uncertainty import RowErrors
from geodp.io.write.view import View
from geodp.table.card import Card
from geodp.table.public_totals import PublicTotals
from geodp.table.stated.domain import StatedDomain

MAX_SIMULATED = 10_000
"""Simulated releases of a card at most: a stranger's card cannot keep the processor busy."""


class Remade(Protocol):
    """A release that was computed again from its table and its card."""

    @property
    def totals(self) -> PublicTotals | None:
        """Public totals that it meets."""
        ...

    def card(self) -> Card:
        """Return the card, without a list of files."""
        ...

    def view(self, name: str | None = None) -> View:
        """Return the view from which files are written."""
        ...


Remake: TypeAlias = Callable[[View], Remade | None]
"""Function from the view of a written release to the same release, computed again.

It returns None for a method that this installation does not have.
"""


class Remaking:
    """A written release, read once for all checks, and computed again when the first needs it.

    Attributes
    ----------
    folder : path
        The public folder.
    card : Card
    remake : callable or None
        The ``errors`` of :func:`geodp.io.verify.verify.verify`.
    """

    def __init__(self, folder: Path, card: Card, remake: Remake | None) -> None:
        self.folder, self.card, self._remake = folder, card, remake

    @cached_property
    def written(self) -> View:
        """The view of the release as its files have it; raises what reading them raises."""
        return read_view(self.folder, self.card)

    @property
    def is_whole(self) -> bool:
        """Whether the files have the whole domain: its mask, and the table of its regions."""
        return StatedDomain.of(self.written.table.grid) == self.card.domain

    @cached_property
    def release(self) -> Remade | str:
        """The release, or why it cannot be computed again, as the end of a sentence."""
        cells = self.card.expected_error.cells
        if self._remake is None:
            return "nothing is given that computes them"
        if cells is not None and (cells.simulated or 0) > MAX_SIMULATED:
            return "too many releases were simulated"
        # Without the mask or the regions, nodes have other children, and cells other intervals.
        if not self.is_whole:
            return "the files do not contain the whole domain"
        return self._remake(self.written) or "this version does not know their method"

    @cached_property
    def view(self) -> View | None:
        """The view that this version makes of the release; None where it makes none."""
        again = self.release
        return None if isinstance(again, str) else again.view(self.card.name)

    @cached_property
    def errors(self) -> RowErrors | None:
        """The errors of rows as this version computes them; None without a closed form."""
        errors = None if self.view is None else self.view.errors
        if errors is None or errors.intervals is None:
            return errors
        # The raster shows most cells again, so that the ends of listed ones are kept for it.
        key, ends = self.written.table.key, errors.intervals
        parts = [ends.of(key[part]) for part in slices(key.size)]
        low, high = map(np.concatenate, zip(*[*parts, (np.empty(0),) * 2], strict=True))
        return replace(errors, intervals=ListedIntervals(key, low, high, ends))
