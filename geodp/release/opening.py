"""A written release, opened again: its table, and what its card and its files say."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import Tops
from geodp.accuracy.margins import UNKNOWN, Margins
from geodp.errors import UsageError
from geodp.io.verify.card import open_card, public_folder, read_table_card
from geodp.io.verify.measurements import read_measurements
from geodp.io.verify.readback import read_rows
from geodp.io.verify.totals import read_release_totals
from geodp.io.verify.withdrawn import warn_if_withdrawn
from geodp.io.write.uncertainty import Intervals, RowErrors, extra_columns_of
from geodp.io.write.view import View
from geodp.release.release import Release
from geodp.table.card import Card
from geodp.table.released import ReleasedTable
from geodp.table.stated.error import StatedCells


@dataclass(frozen=True, eq=False)
class WrittenErrors(RowErrors):
    """Errors of a table as its files have them.

    Attributes
    ----------
    written : list of float64[n]
        The columns beside the count.
    """

    written: list[NDArray[np.float64]] = field(default_factory=list, repr=False)

    def columns(self, key: NDArray[np.uint64], rows: slice) -> list[NDArray[np.float64]]:
        """Return the columns of some rows, digit by digit."""
        return [column[rows] for column in self.written]


@dataclass(frozen=True, eq=False)
class WrittenIntervals:
    """Intervals of cells as the files have them; of cells that are not listed, the card's.

    Attributes
    ----------
    key : uint64[n]
    low, high : float64[n]
    stated : StatedCells or None
        None of cards that say nothing of such cells.
    """

    key: NDArray[np.uint64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    stated: StatedCells | None

    alike = 1

    def of(self, key: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Low and high ends for cells of the domain: float64[n] each; ``key``: uint64[n]."""
        low, _, far = self.unlisted(0)
        found = np.full(key.size, low), np.full(key.size, far)
        if self.key.size:
            place = np.minimum(np.searchsorted(self.key, key), self.key.size - 1)
            listed = self.key[place] == key
            found[0][listed], found[1][listed] = (
                ends[place[listed]] for ends in (self.low, self.high)
            )
        return found

    def unlisted(self, error: float) -> tuple[float, float, float]:
        """Return where intervals of cells that are not listed begin, and end at most."""
        stated = self.stated
        if stated is None:
            return -np.inf, np.inf, np.inf
        return stated.low, stated.beside, max(stated.beside, stated.alone)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class WrittenRelease(Release):
    """A release that stands in a folder; what its files say goes before what is worked out.

    Attributes
    ----------
    written : Card
    stored : RowErrors or None
        None where the error depends on the data.
    """

    written: Card
    stored: RowErrors | None = None

    @classmethod
    def of(cls, view: View) -> WrittenRelease:
        """Return what can be worked out of all that is shown of a written release."""
        card = view.card
        floor = card.expected_error.floor
        return cls(
            view.table,
            card.budget,
            None if floor is None else floor.people,
            measurements=view.measurements,
            totals=view.totals,
            prior=card.prior,
            margins=state_margins(card),
            metadata=card.metadata,
            reading=card.reading,
            written=card,
            stored=view.errors,
        )

    @property
    def name(self) -> str:
        """Name of the count."""
        return self.written.name

    def card(self) -> Card:
        """Return the card as it was read."""
        return self.written

    def errors(self, tops: Tops | None = None) -> RowErrors | None:
        """Return what the files say of the errors of cells."""
        return self.stored

    def intervals(self, tops: Tops | None = None) -> Intervals | None:
        """95 % intervals of single cells, as the files have them."""
        return None if self.stored is None else self.stored.intervals

    def _of_map(self, table: ReleasedTable) -> Release:
        """Return the release of the map of all parts together, whose intervals no file has."""
        # The stored intervals are those of parts: a cell of the map would be taken for a cell
        # that is not listed, and get the interval of one.
        known = {one.name: getattr(self, one.name) for one in fields(Release) if one.init}
        return Release(**known | {"table": table, "own": None, "charge": None})

    def write(self, path: str | Path, **given: Any) -> dict[str, list[str]]:
        """Raise UsageError: what was written is copied, or exported to other formats."""
        raise UsageError(
            "This release is written already: copy its folder, or geodp export.",
            code="release-written-already",
        )


def open_written(path: str | Path) -> WrittenRelease | Any:
    """Open whatever geodp has written, as ``geodp.open``: what comes back depends on its kind.

    Of a release of a table a :class:`WrittenRelease`, as :func:`open_release` says; of a series a
    dict of these by time; of a selection its card, whose ``chosen`` are the codes.

    Raises VerificationError where there is no release at ``path``.

    Examples
    --------
    >>> import tempfile, numpy as np, geodp
    >>> table = geodp.CountTable.from_dense(np.full((4, 4), 9), geodp.Grid.regular((4, 4)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = geodp.publish(table, epsilon=1, contribution=1).write(f"{folder}/release")
    ...     geodp.open(f"{folder}/release").grid.shape
    (4, 4)
    """
    folder = public_folder(path)
    card = open_card(folder)
    if isinstance(card, Card):
        return _open_table(folder, card)
    warn_if_withdrawn(folder)
    return card.open(folder)


def open_release(path: str | Path) -> WrittenRelease:
    """Open a written release: counts, card and errors are those of its files.

    Nothing is believed that :func:`geodp.io.verify.verify.verify` would have to check by working it
    out again: ask that of a stranger's release. Measurements that are published are read, too.

    Parameters
    ----------
    path : path
        The release's folder, or its ``public`` folder alone.

    Raises
    ------
    VerificationError
        There is no release of a table, or its files do not fit its card.

    Examples
    --------
    >>> import tempfile, numpy as np, geodp
    >>> table = geodp.CountTable.from_dense(np.full((4, 4), 90), geodp.Grid.regular((4, 4)))
    >>> release = geodp.publish(table, epsilon=1, contribution=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = release.write(f"{folder}/out", name="residents")
    ...     again = geodp.open(f"{folder}/out")
    >>> again.name, again.table.total == release.table.total
    ('residents', True)
    """
    folder = public_folder(path)
    return _open_table(folder, read_table_card(folder))


def _open_table(folder: Path, card: Card) -> WrittenRelease:
    """Return the release of a table in a public folder, whose card was read."""
    names = extra_columns_of(card)
    table, columns = read_rows(folder, card, masked=True, extras=names)
    errors = None
    if names:
        stated = card.expected_error.cells
        ends = WrittenIntervals(table.key, columns[1], columns[2], stated)
        errors = WrittenErrors(columns[0], ends, columns)
    measured = read_measurements(folder, table, card)
    totals = read_release_totals(folder, card, table.grid)
    return WrittenRelease.of(View(table, card, errors, measurements=measured, totals=totals))


def state_margins(card: Card) -> Margins | None:
    """Return margins of cells that a card's intervals go by, where they are not the method's."""
    stated = card.expected_error.cells
    return UNKNOWN if stated is not None and stated.closed_form else None


def open_view(path: str | Path) -> View:
    """Return all that may be shown of a written release.

    Raises VerificationError as :func:`open_release` does.
    """
    return open_release(path).view()
