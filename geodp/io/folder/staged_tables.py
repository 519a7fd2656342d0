"""The folder of a release of several tables: a release for every table, and an index of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Protocol

from geodp import progress
from geodp.io.folder.manifest import sha256
from geodp.io.folder.publication import write_index, write_member
from geodp.io.folder.staged_release import Staged, list_cells, try_formats, try_longest_name
from geodp.io.write.view import View
from geodp.table.index import IndexCard, Joint, PeriodInfo
from geodp.table.stated.release import TableInfo

LONGEST_TIME = "2000-01-01T00"
"""The longest name of the folder of a period, as an example."""


class Table(Protocol):
    """One of the tables of a release."""

    def view(self, name: str | None = None) -> View:
        """Return its view; ``name``: of the count."""


class Tables(Protocol):
    """A release of several tables, see :class:`geodp.release.composite.Composite`."""

    @property
    def joint_rows(self) -> Mapping[str, int]:
        """How often joint files list the cells of a table again, by its name."""

    @property
    def tables(self) -> Mapping[str, Table]:
        """All tables by name."""

    @property
    def index(self) -> Any:
        """The index, without tables and files."""

    def write_joint(self, folder: Path) -> Joint:
        """Write the files of all tables together; return the index's entries of them."""


class StagedTables(Staged):
    """A folder for a release of several tables.

    Attributes
    ----------
    inside : str
        Longest path of the folder of a release inside ``public``.
    """

    inside: ClassVar[str] = ""

    def try_out(self, empty: Tables, cells: Sequence[int], *examples: Tables) -> None:
        """Do everything that does not need the tables, and reserve space for them.

        Parameters
        ----------
        empty : Tables
            The release without cells, or a period of a series.
        cells : sequence of int
            Occupied cells of each table, at most; of every period of a series. No message reveals
            their number.
        *examples : Tables
            Releases whose joint files are tried, too.
        """
        listed = 0
        for name, table in empty.tables.items():
            view = table.view(name)
            try_formats(view)
            try_longest_name(self.folder, name, f"{self.inside}{name}")
            often = 1 + empty.joint_rows.get(name, 0)
            listed += often * sum(list_cells(view, one) for one in cells)
        for release in (empty, *examples):
            with TemporaryDirectory(dir=self.folder) as place:
                release.write_joint(Path(place))
        self.reserve(listed)

    def write(self, release: Tables, restricted: dict[str, Any]) -> dict[str, list[str]]:
        """Write tables, joint files, index and the operator's record; return their paths."""
        write_release(release, self.make_public())
        return self.finish(restricted)


class StagedPeriods(StagedTables):
    """A folder for a series, which has a release in a folder for every period."""

    inside: ClassVar[str] = f"{LONGEST_TIME}/"

    def write_periods(
        self, periods: Mapping[str, Tables], index: IndexCard, restricted: dict[str, Any]
    ) -> dict[str, list[str]]:
        """Write the periods by their times, and the index; return the paths."""
        public, written = self.make_public(), []
        for time, release in periods.items():
            progress.begin(f"Writing {time}", public=True)
            (public / time).mkdir()
            write_release(release, public / time)
            written.append(PeriodInfo(time, sha256(public / time / release.index.file)))
        made: Any = index
        write_index(public, replace(made, periods=tuple(written)))
        return self.finish(restricted)


def write_release(release: Tables, folder: Path) -> None:
    """Write the tables, the joint files and the index of a release into an empty public folder."""
    views = {name: one.view(name) for name, one in release.tables.items()}
    tables = write_tables(views, folder)
    files, left_out = release.write_joint(folder)
    write_index(folder, replace(release.index, tables=tables, files=files, left_out=left_out))


def write_tables(views: Mapping[str, View], folder: Path) -> tuple[TableInfo, ...]:
    """Write tables by name into folders of their own; return what an index says of them."""
    return tuple(TableInfo(name, *write_member(one, folder / name)) for name, one in views.items())
