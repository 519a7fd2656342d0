"""A release of persons and households: tables, one guarantee, one folder, one file of both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import USUAL
from geodp.errors import Rule
from geodp.io.folder.publication import write_rows
from geodp.io.verify.card import require
from geodp.io.write.tables import RowErrors, six_digits, widen
from geodp.io.write.view import JointView, View
from geodp.kinds.households.english import ROWS
from geodp.kinds.households.estimates import (
    HouseholdErrors,
    HouseholdEstimate,
    SizeErrors,
    StreamErrors,
)
from geodp.kinds.households.inputs import SizedGrid
from geodp.kinds.households.kind import (
    HOUSEHOLDS,
    OTHERS,
    PERSONS,
    SIZES,
    HouseholdsCard,
    HouseholdsGuarantee,
    Protect,
    describe_other_unit,
)
from geodp.kinds.households.methods import (
    SIZES_PROOF,
    STREAMS_PROOF,
    PersonsBySize,
    PersonsOfStreams,
)
from geodp.mechanisms.central.parts import Parts
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.assumption import Assumption
from geodp.privacy.event import Measurement
from geodp.privacy.key import digest
from geodp.privacy.ledger import Charge
from geodp.release.composite import JointRelease, fill_tables
from geodp.release.opening import open_release
from geodp.release.release import Release
from geodp.reprs import one_line
from geodp.table.counts import ReleasedTable, coalesce
from geodp.table.index import Constraint, Joint, Rebuilt, state_event
from geodp.typing import KeyArray

JOINT = "persons-and-households"
"""Name of the files that show both counts, without their endings."""

COUNTS = ("persons", "households", "mean_size")
"""Columns of counts and of their ratio."""

COLUMNS = tuple(
    f"{name}{end}"
    for name in COUNTS
    for end in ("", *([] if name == "mean_size" else ["_standard_error"]), "_low", "_high")
)
"""Columns after those that name the cell."""

DECIMALS = 4
"""Decimals of mean sizes."""


@dataclass(frozen=True, eq=False)
class JointColumns(RowErrors):
    """The columns after persons: their errors, households, and the mean size.

    Attributes
    ----------
    errors : HouseholdErrors
    """

    errors: HouseholdErrors | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return COLUMNS[1:]

    def columns(self, key: KeyArray, rows: slice) -> list[NDArray[np.float64]]:
        """Return the columns of cells: int64[n] households, float64[n] others; see `RowErrors`.

        Mean sizes are masked where they are not estimable. Ends of intervals are rounded outwards.
        """
        assert self.errors is not None  # as only `Households.view` makes these columns
        bounds = self.errors.of_cells(key)
        persons, homes = (
            [six_digits(one.error), *widen(one.low, one.high)]
            for one in (bounds.persons, bounds.households)
        )
        count = bounds.households.count.astype(np.int64)
        return [*persons, count, *homes, *bounds.mean_size.columns(DECIMALS)]


@dataclass(frozen=True, eq=False)
class HouseholdsView(JointView):
    """The view of persons, households and mean size of the cells as one table."""

    @property
    def sums(self) -> tuple[str, ...]:
        """Names of the columns that areas are sums of."""
        return (self.name, HOUSEHOLDS)

    @property
    def ratio(self) -> tuple[str, str, str]:
        """Names of the mean size, of persons and of households."""
        return COUNTS[2], self.name, HOUSEHOLDS


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
class Households(JointRelease[HouseholdsCard]):
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

    quantities = COUNTS

    # The table of both counts has as many rows as that of persons.
    joint_rows: ClassVar[dict[str, int]] = {PERSONS: 1}

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
        index = make_index(event, max_size, by_size=sizes is not None)
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

    def with_tables(self, drawn: list[ReleasedTable], charge: Charge | None) -> Self:
        """Return the release of drawn tables in place of empty ones, in the order of ``tables``."""
        # Of what is released: whoever puts tables of two releases together is found out.
        made = fill_tables(self.tables.values(), drawn, describe_identity(drawn), charge)
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

    @property
    def ratios(self) -> dict[str, tuple[str, str]]:
        """The mean size, of persons and households."""
        return {COUNTS[-1]: (PERSONS, HOUSEHOLDS)}

    def estimate(self, region: Any, *, interval: str = USUAL) -> HouseholdEstimate:
        """Estimate persons, households and mean size of a region, with 95 % intervals.

        Parameters
        ----------
        region
            As for :meth:`geodp.Release.estimate`.
        interval : str
            ``"usual"``, or ``"worst-case"``: bounds of all three that assume nothing of the map, as
            for :meth:`geodp.Release.estimate`.

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
        return self.estimate_all([region], interval=interval)[0]

    def estimate_all(
        self, regions: Iterable[Any], *, interval: str = USUAL
    ) -> list[HouseholdEstimate]:
        """Estimate many regions, in their order; each is as for :meth:`estimate`."""
        return self._errors.of_regions(regions, interval)

    @cached_property
    def _errors(self) -> HouseholdErrors:
        """Errors and intervals of regions and of cells."""
        if self.sizes is not None:
            return SizeErrors(self.sizes, self.households)
        return StreamErrors(self.persons, self.households, self.max_size)

    def view(self, name: str | None = None) -> JointView:
        """Return the view of persons, households and mean size of every cell as one table."""
        # The id of the table of persons is none of this table's.
        card = replace(self.persons.view(name or COUNTS[0]).card, release_id="")
        columns = JointColumns(0.0, None, self._errors)
        return HouseholdsView(self.persons.table, card, columns, stem=JOINT)

    def views(self) -> list[View]:
        """Return the view of the table, for exports."""
        return [self.view()]

    @property
    def constraints(self) -> tuple[Constraint[Households], ...]:
        """Sentences that hold in every cell, with their checks."""
        return list_constraints(self.max_size, by_size=self.sizes is not None)

    def write_joint(self, folder: Path) -> Joint:
        """Write the table of both counts in every format; return the index's entries of it."""
        return write_rows(self.view(), JOINT, folder, ROWS.format(size=self.max_size))

    def rebuild(self) -> Rebuilt[HouseholdsCard]:
        """Derive the index and the events of all tables from their cards.

        Raises VerificationError for tables of different grids, and for other methods.
        """
        sized = None if self.sizes is None else SizedGrid.of(self.sizes.grid)
        event = cast(Measurement, (self.households if self.sizes is None else self.sizes).event)
        require(
            event.unit == ("person" if sized is None else "household"),
            Rule("households-unit-differs", "The tables protect another unit than the index says."),
        )
        grids = [one.grid for name, one in self.tables.items() if name != SIZES]
        grids += [] if sized is None else [sized.joint.map]
        require(
            all(one == grids[0] for one in grids)
            and (sized is None or sized.max_size == self.max_size),
            Rule("households-grids-differ", "The tables have different grids or sizes."),
        )
        by_size, tables = sized is not None, [one.table for one in self.tables.values()]
        total = event if by_size else name_streams(event, len(tables))
        facts = [describe_release(self.index.protects, total)]
        if sized is not None:
            of_persons = replace(event, mechanism=PersonsBySize(self.max_size).spec)
            of_map = Parts().event_of_map(sized.joint, event)
            events = {PERSONS: of_persons, HOUSEHOLDS: of_map, SIZES: event}
        else:
            method: Any = self.households.method
            require(
                type(method) is Pyramid,
                Rule("households-method-differs", "Households have another method than a release."),
            )
            persons = PersonsOfStreams.of(method, self.max_size).spec
            events = dict.fromkeys(self.tables, event)
            events[PERSONS] = replace(event, mechanism=persons)
            facts.append(describe_identity(tables))
        index = make_index(total, self.max_size, by_size=by_size)
        return Rebuilt(index, events, tuple(facts), total.loss)


def open_households(folder: Path, card: HouseholdsCard) -> Households:
    """Open the tables in a public folder, which its index lists."""
    tables = {one.name: open_release(folder / one.name) for one in card.tables}
    sizes, others = tables.get(SIZES), tables.get(OTHERS)
    return Households(tables[PERSONS], tables[HOUSEHOLDS], sizes, card, others)


def make_index(event: Measurement, max_size: int, *, by_size: bool) -> HouseholdsCard:
    """Make the index of a release that is not drawn yet; ``event``: of all tables together."""
    protects: Protect = "household" if by_size else "person"
    constraints = list_constraints(max_size, by_size=by_size)
    return HouseholdsCard.state(
        event,
        protects=protects,
        max_size=max_size,
        guarantee=state_guarantee(protects, event, max_size),
        constraints=tuple(one.sentence for one in constraints),
    )


def state_guarantee(protects: Protect, event: Measurement, max_size: int) -> HouseholdsGuarantee:
    """State the guarantee of all tables together, and what it means for the other unit."""
    return HouseholdsGuarantee(
        other_unit=describe_other_unit(protects, event, max_size),
        source=STREAMS_PROOF if protects == "person" else SIZES_PROOF,
        **state_event(event, "any result of these tables together"),
        assumptions=(
            replace(event.assumption, statement=COUNTED[protects].format(event.contribution)),
            Assumption("households", LIVING, "operator"),
            *([Assumption("households", SINGLE, "operator")] if protects == "household" else []),
        ),
    )


def name_streams(event: Measurement, number: int = 2) -> Measurement:
    """Return the event of all streams together, with the release's name for the ledger."""
    streams = "households and of their other members"
    if number > 2:
        streams = "households, of their other members and of persons outside households"
    return replace(event, mechanism=f"{event.mechanism} of {streams}")


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


def list_constraints(max_size: int, *, by_size: bool) -> tuple[Constraint[Households], ...]:
    """List what holds in every cell; then it does in every area, which is a sum of cells."""
    sums = (
        "Households are the sum of the households of all sizes, and persons of sizes times these."
    )
    return (
        Constraint(
            "Persons are at least as many as households.",
            lambda one: _are_at_most(one.households.table, one.persons.table),
        ),
        Constraint(
            f"Persons are at most {max_size} for each household.",
            lambda one: _are_at_most(one.persons.table, one.households.table, max_size),
        ),
        *([Constraint(sums, _are_sums)] if by_size else []),
    )


def _are_at_most(few: ReleasedTable, many: ReleasedTable, times: int = 1) -> bool:
    """Test whether counts of every cell are at most so many times those of another table."""
    return np.array_equal(few.key, many.key) and bool((few.count <= times * many.count).all())


def _are_sums(release: Households) -> bool:
    """Test whether persons and households are sums of the households by size."""
    assert release.sizes is not None  # as only such releases have this constraint
    table = release.sizes.table
    sized, count = SizedGrid.of(table.grid), np.asarray(table.count, np.int64)
    cell, part = sized.joint.split(table.key)
    weights: dict[str, Any] = {HOUSEHOLDS: 1, PERSONS: sized.size[part]}
    for name, weight in weights.items():
        one, (key, total) = release.tables[name].table, coalesce(cell, count * weight)
        if not (np.array_equal(key, one.key) and np.array_equal(total, one.count)):
            return False
    return True
