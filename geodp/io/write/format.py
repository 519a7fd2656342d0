"""What a format of a release is, and an export: found by the files that list one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from geodp.grid.grid import Grid
from geodp.io.write.view import View


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

    def try_out(self, empty: View) -> None:
        """Do all that may fail and needs no counts; before anything is charged.

        ``empty``: of a release without a cell, on the grid of the one that is written.
        """
        return

    def unsupported(self, view: View) -> str | None:
        """Return why a release is written without it, in words; None where it is written."""
        return None

    @abstractmethod
    def write(self, view: View, folder: Path) -> Iterator[Entry]:
        """Write its files into a folder; yield an entry for each when it is complete.

        Raises OSError where the file system refuses.
        """


class Export(ABC):
    """One format that a release is exported to; one file for each published level.

    A file of the folder ``export`` lists it in its ``EXPORTS``; a :class:`Format` is one of every
    release, listed in the ``FORMATS`` of a file of this folder.

    Attributes
    ----------
    name : str
        As ``--to`` has it: ``"csv:excel"``.
    ending : str
        Of its files, after the name of the count and of the level.
    help : str
        Who opens it, in some words.
    takes_regions : bool
        Whether it has files of levels of an office's own regions, which have no outlines.
    """

    name: ClassVar[str]
    ending: ClassVar[str]
    help: ClassVar[str]
    takes_regions: ClassVar[bool] = False

    @abstractmethod
    def why_not(self, view: View) -> str | None:
        """Return why a level cannot be written, as a sentence's end; None where it can."""

    @abstractmethod
    def write(self, view: View, path: Path) -> None:
        """Write one file.

        Raises OSError where the file system refuses, UsageError where a library is not there.
        """
