"""Compute a written release again from its table and its card, once for all checks that need it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Protocol, TypeAlias

from geodp.errors import VerificationError
from geodp.io.verify.measurements import read_measurements
from geodp.io.verify.sweep import ReleaseFiles
from geodp.io.verify.totals import read_release_totals
from geodp.io.write.uncertainty import Intervals
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

    def intervals(self) -> Intervals | None:
        """Return the intervals of cells; None without a closed form."""
        ...

    def view(self, name: str | None = None) -> View:
        """Return the view from which files are written."""
        ...


Remake: TypeAlias = Callable[[View], Remade | None]
"""Function from the view of a written release to the same release, computed again.

It returns None for a method that this installation does not have.
"""


class Remaking:
    """A release to be computed again, when the first check needs it.

    Parameters
    ----------
    written : ReleaseFiles
    remake : callable or None
        The ``errors`` of :func:`geodp.io.verify.verify.verify`.
    """

    def __init__(self, written: ReleaseFiles, remake: Remake | None) -> None:
        self.written, self._remake = written, remake

    @cached_property
    def release(self) -> Remade | str:
        """The release, or why it cannot be computed again, as the end of a sentence."""
        written = self.written
        folder, card = written.folder, written.card
        cells = card.expected_error.cells
        if self._remake is None:
            return "nothing is given that computes them"
        if cells is not None and (cells.simulated or 0) > MAX_SIMULATED:
            return "too many releases were simulated"
        try:
            # Intervals follow from sums of all rows, so that the whole table is needed.
            table = written.table(masked=True)
        except VerificationError:  # other checks of the same files say what is wrong
            return "the table cannot be read"
        # Without the mask or the regions, nodes have other children, and cells other intervals.
        if StatedDomain.of(table.grid) != card.domain:
            return "the files do not contain the whole domain"
        try:
            measured = read_measurements(folder, table, card)
            totals = read_release_totals(folder, card, table.grid)
        except VerificationError:
            return "measurements or totals cannot be read"
        view = View(table, card, measurements=measured, totals=totals)
        return self._remake(view) or "this version does not know their method"
