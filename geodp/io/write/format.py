"""What a format of a release is: one file of this package lists one in its ``FORMATS``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from geodp.accuracy.areas import Areas
from geodp.grid.grid import Grid
from geodp.io.write.uncertainty import RowErrors
from geodp.io.write.view import View
from geodp.table.card import Card
from geodp.table.measured import Measurements
from geodp.table.public_totals import PublicTotals
from geodp.table.released import ReleasedTable


@dataclass(frozen=True, eq=False)
class Released:
    """All that a format sees, and all of it is public.

    Attributes
    ----------
    table : ReleasedTable
    card : Card
        With the name of the count and, but for the first format, the release's id; without files.
    errors : RowErrors or None
        Of the cells; None where the error depends on the data.
    areas : callable
        Sums of every level of official areas or regions, one after the other.
    measurements : Measurements or None
        What was measured before any clamp, where it is published.
    totals : PublicTotals or None
        That the counts meet exactly.
    kept : View or None
        Whose rows are made once for all formats.
    """

    table: ReleasedTable
    card: Card
    errors: RowErrors | None
    areas: Callable[[], Iterable[Areas]] = tuple
    measurements: Measurements | None = None
    totals: PublicTotals | None = None
    kept: View | None = None

    @property
    def view(self) -> View:
        """The rows of the table."""
        return self.kept or View(self.table, self.card.name, self.errors)


@dataclass(frozen=True)
class Entry:
    """What a release's card says of a file, but for its digest; see :class:`geodp.table.card.File`.

    Attributes
    ----------
    name, media_type, what : str
    said : mapping
    """

    name: str
    media_type: str
    what: str
    said: Mapping[str, Any] = field(default_factory=dict)


class Format(ABC):
    """One format: which files it writes, and what it refuses.

    Attributes
    ----------
    name : str
    endings : tuple of str
        Of its files after the count's name, such as ``"csv"``: no two formats share one. Where it
        refuses a release, the first is what the card lists as left out.
    rank : int
        Where its files stand in the card, the lowest first; of equal ones by name.
    """

    name: ClassVar[str]
    endings: ClassVar[tuple[str, ...]] = ()
    rank: ClassVar[int] = 100

    def check(self, grid: Grid, name: str) -> None:
        """Raise UsageError where a release could not be written; before any noise is drawn.

        ``name``: of the count.
        """
        return

    def try_out(self, nobody: ReleasedTable, card: Card) -> None:
        """Do all that may fail and needs no counts; before anything is charged.

        ``nobody``: a table without a cell, on the grid of the release.
        """
        return

    def unsupported(self, released: Released) -> str | None:
        """Return why a release is written without it, in words; None where it is written."""
        return None

    @abstractmethod
    def write(self, released: Released, folder: Path) -> Iterator[Entry]:
        """Write its files into a folder; yield an entry for each when it is complete.

        Raises OSError where the file system refuses.
        """
