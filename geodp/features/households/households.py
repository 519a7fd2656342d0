"""A release of persons and households: two tables, one guarantee, one folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from geodp import __version__
from geodp.features.households.card import (
    HOUSEHOLDS,
    HOUSEHOLDS_SCHEMA,
    OTHERS,
    PERSONS,
    SIZES,
    HouseholdsCard,
    HouseholdsGuarantee,
    Protect,
)
from geodp.features.households.estimates import (
    HouseholdErrors,
    HouseholdEstimate,
    SizeErrors,
    StreamErrors,
)
from geodp.features.households.files import StagedHouseholds
from geodp.features.households.formats.joint import view_joint
from geodp.features.households.methods import SIZES_PROOF, STREAMS_PROOF, PersonsBySize
from geodp.features.households.sizes import SizedGrid
from geodp.io.folder.staged_release import check_publication
from geodp.io.write.view import View
from geodp.privacy.assumption import Assumption
from geodp.privacy.event import Measurement
from geodp.privacy.key import digest
from geodp.privacy.ledger import Charge
from geodp.release.card import state_budget
from geodp.release.opening import open_release, require_unwritten
from geodp.release.release import Release
from geodp.reprs import one_line
from geodp.table.charged import StatedCharge
from geodp.table.counts import coalesce
from geodp.table.released import ReleasedTable
from geodp.table.stated.release import Software

LIVING = (
    "Households are counted where they live, each because of its counted members and with all of "
    "them; persons outside households are not among their members."
)
"""The assumption about the input that two tables cannot show."""

SINGLE = "Each person is in one household."
"""Further assumption where a household is protected, so that a person is protected, too."""

COUNTED = {
    "person": "One person is counted in at most {:,} of all households.",
    "household": "One household adds at most {:,} to the households of all cells and sizes.",
}
"""The assumption of the contribution, which is no sum over two tables, by who is protected."""


@dataclass(frozen=True, eq=False)
class Households:
    """A release of persons and households, possible in every area.

    Attributes
    ----------
    persons, households : Release
        Their counts, each with its card and errors. They are one release: pass both on together.
    sizes : Release or None
        Households by size, if households are protected.
    others : Release or None
        Persons outside households, if they are released, too.
    index : HouseholdsCard
        What both share: the guarantee, the charge and the constraints.
    """

    __repr__ = one_line

    persons: Release = field(repr=False)
    households: Release = field(repr=False)
    sizes: Release | None = field(repr=False)
    index: HouseholdsCard
    others: Release | None = field(default=None, repr=False)

    @classmethod
    def of(
        cls,
        persons: Release,
        households: Release,
        event: Measurement,
        max_size: int,
        sizes: Release | None = None,
        others: Release | None = None,
    ) -> Self:
        """Make the release of tables; ``event``: of all of them together."""
        protects: Protect = "person" if sizes is None else "household"
        index = HouseholdsCard(
            schema=HOUSEHOLDS_SCHEMA,
            software=Software("geodp", __version__),
            private=event.is_private,
            protects=protects,
            max_size=max_size,
            guarantee=state_guarantee(protects, event, max_size),
            budget=None,
            constraints=list_constraints(max_size, sizes is not None),
        )
        return cls(persons, households, sizes, index, others)

    @classmethod
    def of_sizes(cls, sizes: Release) -> Self:
        """Make the release of households by size: persons and households are their sums."""
        sized, event = SizedGrid.of(sizes.grid), sizes.event
        split = sizes.method.split(sizes.table)
        # As sizes are an attribute below the cells, which parts has released.
        assert split is not None
        assert isinstance(event, Measurement)
        cell, part = sized.joint.split(sizes.table.key)
        counts = coalesce(cell, np.asarray(sizes.table.count, np.int64) * sized.size[part])
        method = PersonsBySize(sized.max_size)
        shared: dict[str, Any] = {
            name: getattr(sizes, name) for name in ("charge", "public_facts", "metadata", "reading")
        }
        persons = ReleasedTable(sized.joint.map, *counts, replace(event, mechanism=method.spec))
        made = cls.of(
            Release(persons, **shared), Release(split.map, **shared), event, sized.max_size, sizes
        )
        return made.with_charge(sizes.charge)

    @classmethod
    def open(cls, folder: Path, card: HouseholdsCard) -> Self:
        """Open the tables in a public folder, which its index lists."""
        return cls.of_tables(
            {one.name: open_release(folder / one.name) for one in card.tables}, card
        )

    @classmethod
    def of_tables(cls, tables: Mapping[str, Release], card: HouseholdsCard) -> Self:
        """Make a release of its tables by name, and its index."""
        sizes, others = tables.get(SIZES), tables.get(OTHERS)
        return cls(tables[PERSONS], tables[HOUSEHOLDS], sizes, card, others)

    def with_charge(self, charge: Charge | StatedCharge | None) -> Self:
        """Return the release with its charge to a ledger."""
        return replace(self, index=replace(self.index, budget=state_budget(charge)))

    def with_tables(self, drawn: list[ReleasedTable], charge: Charge | None) -> Self:
        """Return the release of drawn tables in place of empty ones, in the order of ``tables``."""
        # Of what is released: whoever puts tables of two releases together is found out.
        identity = describe_identity(drawn)
        made = [
            replace(
                preview,
                table=table,
                charge=charge,
                public_facts=(*preview.public_facts, identity),
                preview=preview,
            )
            for preview, table in zip(self.tables.values(), drawn, strict=True)
        ]
        others = None if self.others is None else made[2]
        made_release = replace(self, persons=made[0], households=made[1], others=others)
        return made_release.with_charge(charge)

    @property
    def max_size(self) -> int:
        """Most persons of a household."""
        return self.index.max_size

    @property
    def tables(self) -> dict[str, Release]:
        """All tables by name."""
        tables = {PERSONS: self.persons, HOUSEHOLDS: self.households}
        extra = {OTHERS: self.others, SIZES: self.sizes}
        return tables | {name: one for name, one in extra.items() if one is not None}

    @property
    def drawn(self) -> list[Release]:
        """The tables that were drawn, from which the others follow."""
        return [*self.tables.values()] if self.sizes is None else [self.sizes]

    def estimate(self, region: Any) -> HouseholdEstimate:
        """Estimate persons, households and mean size of a region, with 95 % intervals.

        Parameters
        ----------
        region
            As for :meth:`geodp.Release.estimate`.

        Returns
        -------
        HouseholdEstimate
            Its ``mean_size`` is None where the region has too few households to tell. If
            households are protected, intervals of persons and mean size are bounds.

        Examples
        --------
        >>> import numpy as np, geodp
        >>> grid = geodp.Grid.regular((16, 16))
        >>> homes = geodp.CountTable.from_dense(np.full((16, 16), 40), grid)
        >>> people = geodp.CountTable.from_dense(np.full((16, 16), 90), grid)
        >>> options = {"protect": "person", "epsilon": 1, "contribution": 1}
        >>> release = geodp.households.publish(people, homes, **options)
        >>> size = release.estimate((0, 0, 8, 8)).mean_size
        >>> 1 <= size.low <= size.value <= size.high <= 7
        True
        """
        return self.estimate_all([region])[0]

    def estimate_all(self, regions: Iterable[Any]) -> list[HouseholdEstimate]:
        """Estimate many regions, in their order; each is as for :meth:`estimate`."""
        return self._errors.of_regions(regions)

    @cached_property
    def _errors(self) -> HouseholdErrors:
        """Errors and intervals of regions and of cells."""
        if self.sizes is not None:
            return SizeErrors(self.sizes, self.households)
        return StreamErrors(self.persons, self.households, self.max_size)

    @property
    def joint(self) -> View:
        """The table of persons, households and mean size of every cell, for files."""
        return view_joint(self.persons, self._errors)

    def card(self) -> HouseholdsCard:
        """Return the public index, without tables and files."""
        return self.index

    def write(
        self, path: str | Path, *, overwrite: bool = False, restricted: dict[str, Any] | None = None
    ) -> dict[str, list[str]]:
        """Write ``path/public`` and ``path/restricted``, all or nothing.

        Parameters
        ----------
        path, overwrite, restricted
            See :meth:`geodp.Release.write`. In ``path/public`` every table has a folder with a
            complete release; ``households.json`` is the index, and a table has both counts.

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
        with StagedHouseholds.stage(path, overwrite=overwrite) as place:
            return self.write_into(place, restricted or {})

    def check_place(self, path: str | Path, *, overwrite: bool) -> None:
        """Raise UsageError if the release could not be written to a folder."""
        for name, table in self.tables.items():
            check_publication(table.grid, path, name=name, overwrite=overwrite)

    def write_into(
        self, place: StagedHouseholds, restricted: dict[str, Any]
    ) -> dict[str, list[str]]:
        """Write the release into a folder that was staged before the charge."""
        return place.write(self.tables, self.joint, self.index, restricted)


def state_guarantee(protects: Protect, event: Measurement, max_size: int) -> HouseholdsGuarantee:
    """State the guarantee of all tables together, and what it means for the other unit."""
    described = event.describe()
    amounts = [n + end for n in ("epsilon", "rho", "delta") for end in ("", "_decimal")]
    return HouseholdsGuarantee(
        in_words=event.statement.replace("any result", "any result of these tables together"),
        other_unit=describe_other_unit(protects, event, max_size),
        source=STREAMS_PROOF if protects == "person" else SIZES_PROOF,
        mechanism=event.mechanism,
        **{name: described[name] for name in amounts},
        spends=event.spends,
        neighbours=described["neighbours"],
        unit=protects,
        contribution=event.contribution,
        assumptions=(
            replace(event.assumption, statement=COUNTED[protects].format(event.contribution)),
            Assumption("households", LIVING, "operator"),
            *([Assumption("households", SINGLE, "operator")] if protects == "household" else []),
        ),
    )


def describe_other_unit(protects: Protect, event: Measurement, max_size: int) -> str:
    """Describe what the guarantee means for a household, or for a person."""
    budget = "rho" if event.rho is not None else "epsilon"
    amount = event.rho if event.rho is not None else event.epsilon
    assert amount is not None
    if protects == "household":
        return (
            f"A person is protected by the same {budget}, {amount}: who joins a household or "
            "leaves it changes the households of two sizes, but not their sum, which has half of "
            "the budget."
        )
    # k persons together are a group: k times epsilon, k squared times rho.
    times = max_size**2 if event.rho is not None else max_size
    power = "k squared" if event.rho is not None else "k"
    return (
        f"A household of k persons is protected by {power} times {budget}: one of {max_size} by "
        f"{times * amount}."
    )


def describe_release(protects: Protect, event: Measurement) -> str:
    """Describe, for the card of one table, the release that it is a part of."""
    return (
        "that it is one of the tables of a release of persons and households that protects one "
        f"{protects}; together they spend {event.spends}, charged once"
    )


def describe_identity(tables: Sequence[ReleasedTable]) -> str:
    """Describe, for the card of each table, the released counts of all tables of its release."""
    arrays = (array for one in tables for array in (one.key, np.asarray(one.count, np.int64)))
    return f"that the counts of all tables of its release have the digest {digest(*arrays).hex()}"


def list_constraints(max_size: int, by_size: bool) -> tuple[str, ...]:
    """List what holds in every cell, a sentence each."""
    sums = (
        "Households are the sum of the households of all sizes, and persons of sizes times these."
    )
    return (
        "Persons are at least as many as households.",
        f"Persons are at most {max_size} for each household.",
        *([sums] if by_size else []),
    )
