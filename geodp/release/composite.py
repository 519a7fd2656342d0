"""Releases of several tables under one guarantee, in one folder with an index of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from geodp.grid.grid import Grid
from geodp.io.folder.staged_release import StagedTables, check_name, check_target
from geodp.io.write.view import View
from geodp.privacy.ledger import Charge
from geodp.release.card import state_budget
from geodp.release.frames import OnMaps, Rows, stack_frames
from geodp.release.opening import require_unwritten
from geodp.release.regional import Regional
from geodp.release.release import Release
from geodp.release.transaction import DrawnCells
from geodp.table.counts import ReleasedTable
from geodp.table.index import Constraint, Joint, Rebuilt, TablesCard
from geodp.table.stated.release import StatedCharge

IndexOf = TypeVar("IndexOf", bound=TablesCard)


class Composite(OnMaps, ABC, Generic[IndexOf]):
    """A frozen dataclass of tables and their index.

    Attributes
    ----------
    joint_rows : mapping of str to int
        How often files of all tables together list the cells of a table again, by its name.
    index : TablesCard
        What the tables share: the guarantee, the charge and the constraints.
    """

    joint_rows: ClassVar[Mapping[str, int]] = {}
    index: IndexOf

    @property
    @abstractmethod
    def tables(self) -> dict[str, Release]:
        """All tables by name."""

    @property
    def enclosed(self) -> Mapping[str, Path]:
        """Public folders of earlier releases that are enclosed as they are, by name."""
        return {}

    @property
    @abstractmethod
    def constraints(self) -> tuple[Constraint[Any], ...]:
        """Constraints that hold exactly, as the index states them."""

    @abstractmethod
    def write_joint(self, folder: Path) -> Joint:
        """Write the files of all tables together; return the index's entries of them."""

    @abstractmethod
    def rebuild(self) -> Rebuilt[IndexOf]:
        """Derive from the tables what their index and their cards must say.

        Raises VerificationError for tables that no release of this kind has.
        """

    def card(self) -> IndexOf:
        """Return the public index, without tables and files."""
        return self.index

    @property
    def ground(self) -> Grid:
        """The grid on which regions and places lie."""
        return next(iter(self.tables.values())).grid

    def views(self) -> list[View]:
        """Return the views of all tables, for exports."""
        return [*self.table_views.values()]

    @property
    def table_views(self) -> dict[str, View]:
        """Views of all tables by name, with the counts named as in their files."""
        return dict(self.iterate_views())

    def iterate_views(self) -> Iterator[tuple[str, View]]:
        """Yield the names and views of all tables, one after the other."""
        for name, one in self.tables.items():
            yield name, one.view(self.index.name_count(name))

    def to_pandas(self) -> Any:
        """Convert the rows of all tables to a ``pandas.DataFrame``, with a first column ``table``.

        Raises UsageError where pandas is not installed.
        """
        frames = {name: one.to_pandas("count") for name, one in self.tables.items()}
        return stack_frames(frames, "table")

    def to_geopandas(self) -> Any:
        """Convert the rows of all tables to a ``geopandas.GeoDataFrame``; see :meth:`to_pandas`.

        Raises UsageError for a grid without a place on the Earth, and without geopandas.
        """
        frames = {name: one.to_geopandas("count") for name, one in self.tables.items()}
        return stack_frames(frames, "table")

    def with_charge(self, charge: Charge | StatedCharge | None) -> Self:
        """Return the release with its charge to a ledger."""
        made: Any = self
        charged: Self = replace(made, index=replace(made.index, budget=state_budget(charge)))
        return charged

    def with_fact(self, fact: str) -> Self:
        """Return the release with one more public fact on the cards of all tables."""
        made: Any = self
        values = {one.name: getattr(made, one.name) for one in fields(made)}
        tables = {name: one for name, one in values.items() if isinstance(one, Release)}
        told: Self = replace(made, **add_fact(tables, fact))
        return told

    def write(
        self, path: str | Path, *, overwrite: bool = False, restricted: dict[str, Any] | None = None
    ) -> dict[str, list[str]]:
        """Write ``path/public`` and ``path/restricted``, all or nothing.

        Parameters
        ----------
        path, overwrite, restricted
            See :meth:`geodp.Release.write`. In ``path/public`` every table has a folder with a
            complete release; beside these are the index and the files of all tables together.

        Returns
        -------
        dict
            ``{"public": [...], "restricted": [...]}``: the paths of files and of tables.

        Raises
        ------
        UsageError, OutputError
            See :meth:`geodp.Release.write`.
        """
        require_unwritten(self.tables.values())
        self.check_place(path, overwrite=overwrite)
        with StagedTables.stage(path, overwrite=overwrite) as place:
            return self.write_into(place, restricted or {})

    def check_place(self, path: str | Path, *, overwrite: bool) -> None:
        """Raise UsageError if the release could not be written to a folder."""
        for name, table in self.tables.items():
            check_name(table.grid, self.index.name_count(name))
        check_target(path, overwrite=overwrite)

    def write_into(self, place: StagedTables, restricted: dict[str, Any]) -> dict[str, list[str]]:
        """Write the release into a folder that was staged before the charge."""
        return place.write(self, restricted)


class RegionalRelease(Regional, Composite[IndexOf]):
    """A release of several tables of which a region has several quantities."""


class JointRelease(Rows, RegionalRelease[IndexOf]):
    """A release whose quantities are columns of one table."""


def add_fact(tables: Mapping[str, Release], fact: str) -> dict[str, Release]:
    """Return tables with one more public fact on their cards."""
    return {
        name: replace(one, public_facts=(*one.public_facts, fact)) for name, one in tables.items()
    }


def place_cells(previews: Iterable[Release], drawn: Iterable[DrawnCells]) -> list[ReleasedTable]:
    """Place the drawn cells of several tables, each on the grid of its empty release."""
    pairs = zip(previews, drawn, strict=True)
    return [cells.on(empty.grid, empty.event) for empty, cells in pairs]


def fill_tables(
    previews: Iterable[Release],
    drawn: Iterable[ReleasedTable],
    identity: str,
    charge: Charge | None,
) -> list[Release]:
    """Return releases of drawn tables in place of empty ones.

    ``identity``: the fact on each card by which tables of two releases are told apart.
    """
    return [
        replace(
            preview,
            table=table,
            charge=charge,
            public_facts=(*preview.public_facts, identity),
            preview=preview,
        )
        for preview, table in zip(previews, drawn, strict=True)
    ]
