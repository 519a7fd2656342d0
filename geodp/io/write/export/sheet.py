"""What an export sees, and what it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from geodp.accuracy.areas import Areas
from geodp.io.write.parquet import describe_release
from geodp.io.write.tables import require_released
from geodp.io.write.uncertainty import RowErrors
from geodp.io.write.view import View
from geodp.table.card import Card
from geodp.table.released import ReleasedTable


@dataclass(frozen=True, eq=False)
class ExportSheet:
    """A published level of a release: the cells, or areas that are sums of them.

    Attributes
    ----------
    table : ReleasedTable
    card : Card
        Of the whole release.
    errors : RowErrors or None
        None where the error depends on the data.
    level : str or None
        None of the cells.
    regions : Areas or None
        Of a level of an office's own regions, or of units, which are no cells of a grid; the table
        is then that of the cells.
    kept : View or None
        Whose rows are made once for all formats.
    """

    table: ReleasedTable
    card: Card
    errors: RowErrors | None
    level: str | None = None
    regions: Areas | None = None
    kept: View | None = None

    def __post_init__(self) -> None:
        require_released(self.table)

    @property
    def name(self) -> str:
        """Of the count's column."""
        return self.card.name

    @property
    def view(self) -> View:
        """The rows of the table."""
        return self.kept or View(self.table, self.name, self.errors)

    @property
    def about(self) -> dict[str, Any]:
        """Plain values that say which release it is of."""
        card = self.card
        found = describe_release(self.table.event, card.schema, card.name, card.release_id)
        return found if self.level is None else {**found, "level": self.level}


class Export(ABC):
    """One format that a release is exported to; one file for each published level.

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
    def why_not(self, sheet: ExportSheet) -> str | None:
        """Return why a level cannot be written, as a sentence's end; None where it can."""

    @abstractmethod
    def write(self, sheet: ExportSheet, path: Path) -> None:
        """Write one file.

        Raises OSError where the file system refuses, UsageError where a library is not there.
        """
