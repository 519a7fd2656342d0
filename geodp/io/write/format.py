"""Base classes of a release's formats, and of exports, found by the files that list one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from geodp.grid.grid import Grid
from geodp.io.write.view import View


@dataclass(frozen=True)
class Entry:
    """A card's entry for a file, without its digest; see :class:`geodp.table.card.File`.

    Attributes
    ----------
    name, media_type, what : str
    details : mapping
    """

    name: str
    media_type: str
    what: str
    details: Mapping[str, Any] = field(default_factory=dict)


class Format(ABC):
    """One format: the files it writes, and the releases it refuses.

    Attributes
    ----------
    name : str
    endings : tuple of str
        Endings of its files after the count's name, such as ``"csv"``: no two formats share one. If
        it refuses a release, the card lists the first as left out.
    rank : int
        Position of its files in the card, the lowest first; equal ranks are sorted by name.
    """

    name: ClassVar[str]
    # Empty for formats whose files depend on the grid, such as one for each level of areas.
    endings: ClassVar[tuple[str, ...]] = ()
    rank: ClassVar[int] = 100

    def check(self, grid: Grid, name: str) -> None:
        """Raise UsageError if a release could not be written; before any noise is drawn.

        ``name``: the name of the count.
        """
        return

    def try_out(self, empty: View) -> None:
        """Do everything that may fail and needs no counts; before anything is charged.

        ``empty``: view of a release without a cell, on the grid of the one to be written.
        """
        return

    def unsupported(self, view: View) -> str | None:
        """Return why a release is written without this format; None if it is written."""
        return None

    @abstractmethod
    def write(self, view: View, folder: Path) -> Iterator[Entry]:
        """Write its files into a folder; yield an entry for each when it is complete.

        Raises OSError if the file system refuses.
        """


class Export(ABC):
    """One format for exports of a release; one file for each published level, or several.

    A module of the folder ``export`` lists it in its ``EXPORTS``; a :class:`Format` is part of
    every release, listed in the ``FORMATS`` of a module of this folder.

    Attributes
    ----------
    name : str
        Name for ``--to``: ``"csv:excel"``.
    ending : str
        Ending of its files, after the names of the count and of the level.
    help : str
        Short list of programs that open it.
    takes_regions : bool
        Whether it has files for levels of an office's own regions, which have no outlines.
    takes_columns : bool
        Whether its files are tables of all columns, and not maps of one count.
    """

    name: ClassVar[str]
    ending: ClassVar[str]
    help: ClassVar[str]
    takes_regions: ClassVar[bool] = False
    takes_columns: ClassVar[bool] = False

    def why_not(self, view: View) -> str | None:
        """Return why a level cannot be written, as the end of a sentence; None if it can."""
        return None

    def list_files(self, view: View, stem: str) -> Iterable[str]:
        """List the names of the files of a level, which have the stem unless they are fixed."""
        return [f"{stem}.{self.ending}"]

    @abstractmethod
    def write(self, view: View, path: Path) -> None:
        """Write one file, of those that a level has the one with the name of the path.

        Raises OSError if the file system refuses, UsageError if a library is missing.
        """
