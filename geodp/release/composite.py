"""Releases of several tables under one guarantee, in one folder with an index of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from geodp.accuracy.interval import Interval
from geodp.accuracy.interval_arithmetic import Figures, subtract_all
from geodp.errors import Rule, UsageError
from geodp.grid.region import Region
from geodp.io.folder.staged_release import StagedTables, check_publication
from geodp.privacy.ledger import Charge
from geodp.release.card import state_budget
from geodp.release.opening import require_unwritten
from geodp.release.release import Release
from geodp.release.transaction import DrawnCells
from geodp.table.counts import ReleasedTable
from geodp.table.index import Constraint, Joint, Rebuilt, TablesCard
from geodp.table.stated.release import StatedCharge

IndexOf = TypeVar("IndexOf", bound=TablesCard)


OTHER_KIND = Rule(
    "compare-other-kind",
    "A release is compared with one of the same kind, and of the same quantities.",
)


class Composite(ABC, Generic[IndexOf]):
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

    def with_charge(self, charge: Charge | StatedCharge | None) -> Self:
        """Return the release with its charge to a ledger."""
        made: Any = self
        charged: Self = replace(made, index=replace(made.index, budget=state_budget(charge)))
        return charged

    def with_fact(self, fact: str) -> Self:
        """Return the release with one more public fact on the cards of all tables."""
        made: Any = self
        tables = {one.name: getattr(made, one.name) for one in fields(made)}
        told: Self = replace(
            made,
            **{
                name: replace(one, public_facts=(*one.public_facts, fact))
                for name, one in tables.items()
                if isinstance(one, Release)
            },
        )
        return told

    def require_other(self, release: Any) -> None:
        """Raise UsageError unless ``release`` is of the same kind, and is another one than this."""
        if type(release) is not type(self):
            raise UsageError(OTHER_KIND)
        # Two releases of one kind may have different tables, such as sizes or persons alone.
        pairs = zip(self.tables.values(), release.tables.values(), strict=False)
        if [*self.tables] == [*release.tables] and all(
            one.grid == other.grid
            and np.array_equal(one.table.key, other.table.key)
            and np.array_equal(one.table.count, other.table.count)
            and one.public_facts == other.public_facts
            for one, other in pairs
        ):
            raise UsageError(
                "Both are the same release, which differs nowhere from itself.",
                code="compare-same-release",
            )

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
            check_publication(table.grid, path, name=name, overwrite=overwrite)

    def write_into(self, place: StagedTables, restricted: dict[str, Any]) -> dict[str, list[str]]:
        """Write the release into a folder that was staged before the charge."""
        return place.write(self, restricted)


class RegionalRelease(Composite[IndexOf]):
    """A release of which a region has several quantities."""

    @property
    def counts(self) -> Release:
        """The first table, whose card has the limit of display of all."""
        return next(iter(self.tables.values()))

    @property
    @abstractmethod
    def quantities(self) -> tuple[str, ...]:
        """Names of the quantities, in the order in which they are shown."""

    @abstractmethod
    def estimate_all(self, regions: Iterable[Any]) -> list[Any]:
        """Estimate many regions, in their order."""

    def list_figures(self, regions: Iterable[Any], **options: Any) -> list[Figures]:
        """Return the quantities of many regions by their names.

        An :class:`~geodp.Estimate` is a count, which a limit of display may hide. ``options``: see
        `estimate_all`.
        """
        return [
            {name: getattr(one, name) for name in self.quantities}
            for one in self.estimate_all(regions, **options)
        ]

    def compare(
        self, one: Any, other: Any = None, *, release: Self | None = None
    ) -> dict[str, Interval | None]:
        """Estimate by how much a second region differs from a first, or a later release from this.

        Parameters
        ----------
        one : region
            As for :meth:`estimate`.
        other : region, optional
            The second region, without common cells; default: ``one``.
        release : release of this kind, optional
            That of the second region, with independent noise; default: this one.

        Returns
        -------
        dict of str
            The second less the first, by the names of the quantities, with 95 % intervals; None
            where one of the two is not estimable. Within one release they are bounds, as errors of
            regions may be opposite. Where ``is_certain`` is False, noise does not tell the two
            apart.

        Raises
        ------
        UsageError
            Regions of this release that overlap; the same release twice, or one of another kind.
        """
        grid = self.counts.grid
        first, second = Region.of(grid, one), Region.of(grid, one if other is None else other)
        if release is None:
            require_apart(first, second)
            before, after = self.list_figures([first, second])
            return subtract_all(before, after, 1.0)
        self.require_other(release)
        if [*release.quantities] != [*self.quantities]:
            raise UsageError(OTHER_KIND)
        (before,), (after,) = self.list_figures([first]), release.list_figures([second])
        return subtract_all(before, after)


def require_apart(one: Region, other: Region) -> None:
    """Raise UsageError where two regions of one release have common cells."""
    if np.intersect1d(one.key, other.key).size:
        raise UsageError(
            "The regions have common cells; compare regions apart from each other.",
            code="compare-regions-overlap",
        )


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
