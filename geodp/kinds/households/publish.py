"""Publish persons and households of the same cells as one release with one charge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias

from geodp.advice import takes
from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.kinds.households.households import Households, describe_release, name_streams
from geodp.kinds.households.inputs import (
    NO_SIZES,
    TWO_TABLES,
    SizedGrid,
    Sizes,
    Streams,
    require_one_date,
    require_size,
    sizes_of,
    streams_of,
)
from geodp.kinds.households.kind import Protect
from geodp.kinds.households.methods import PersonsOfStreams
from geodp.kinds.households.options import PROTECTED
from geodp.kinds.households.streams import HOUSEHOLDS, MEMBERS, OTHERS, release_streams
from geodp.mechanisms.base import Plain
from geodp.mechanisms.central.parts import Parts
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.options.option import as_keyword
from geodp.options.shared import DEFAULT_SIZE
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, digest
from geodp.privacy.ledger import Charge
from geodp.privacy.noise.draws import Draws
from geodp.release.composite import place_cells
from geodp.release.inputs import check_labels, state_tables
from geodp.release.noise_identity import encode, loss_fields, release_digest
from geodp.release.preview import preview_release, warn_before_release
from geodp.release.publish import DrawnTable, TableDesign, design_table, prepare_table
from geodp.release.release import Release
from geodp.release.request import OF_TABLES, Request, choose_pyramid, make_event, make_request
from geodp.release.transaction import DrawnCells, Inputs, Prepared
from geodp.table.contribution import bound_contribution
from geodp.table.counts import CountTable
from geodp.table.reading import join_known

CONTRIBUTION = Rule(
    "households-contribution-unstated",
    "No table of counts shows in how many households one person is counted, or how often a "
    "household, so say it: --contribution N (contribution=N), which is 1 if each person is in one "
    "household and each household is counted once.",
)

TABLES = {
    "persons": "persons",
    "households": "households",
    "by_size": "households_by_size",
    "others": "others",
}
"""Names of the tables that are read, in their order, and in the operator's record."""

LABEL = b"geodp households identity 1"
"""Domain separation of the hash of a release, with a version of the list of components."""


@takes(
    make_request,
    without=(*OF_TABLES, "unit"),
    sizes="by_size",
    cap="max_size",
    unit="protect",
)
def publish(
    persons: CountTable | None = None,
    households: CountTable | None = None,
    *,
    by_size: CountTable | None = None,
    others: CountTable | None = None,
    max_size: int = DEFAULT_SIZE,
    size_attribute: str | None = None,
    protect: Protect,
    method: str | None = None,
    **options: Any,
) -> Households:
    """Release persons and households of the same cells, so that every area is possible.

    In every cell, and so in every area, households are at most persons, and persons at most
    ``max_size`` for each household.

    Parameters
    ----------
    persons, households : CountTable
        Confidential counts on one public grid: persons who live in households, and these
        households, each counted in the cell where it lives. Persons outside households are no part
        of them.
    by_size : CountTable
        Instead of the two: households on a grid with an attribute, named ``size`` or
        ``household-size``, whose labels are their sizes 1, 2, 3 ..., the last one for all larger
        ones, too. Needed to protect households, which may have further attributes, such as type
        and tenure.
    others : CountTable, optional
        Persons outside households on the same grid, such as those in institutions, if a person is
        protected. It costs nothing more, as nobody is both.
    max_size : int
        Most persons of a household. Larger households of ``by_size`` are counted as of this size.
    size_attribute : str, optional
        Of ``by_size``: the attribute of the sizes, if its name is another; it is released as
        ``size``.
    protect : {"person", "household"}
        Whom the guarantee protects. One person changes the households, or the members beyond the
        first of each, by one: each is measured with the whole budget, and a household of k persons
        is protected with k times epsilon. One household changes the households of one size; a
        person who joins one changes two sizes and not their sum, which has half of the budget, so
        that a person is protected with epsilon, too.
    contribution
        In how many households one person is counted, or how often a household: 1, usually.
        You vouch for it, as no table of counts shows it, and no limit on the records of a person
        in one table limits the others. May be left out if a household is protected and the table
        is of :func:`geodp.households.read_records`.
    people
        A public guess of all persons, or of all households if these are protected; never taken
        from the data.
    method : str, optional
        Of the streams of persons: ``pyramid``, the default, with settings after a colon.

    Returns
    -------
    Households
        With the releases ``persons`` and ``households``, perhaps ``others``, and
        ``estimate(region)``.

    Raises
    ------
    UsageError
        Tables that do not go together, or have a cell that no households can make; and as for
        :func:`geodp.publish`. Nothing was charged.
    BudgetError
        The ledger's cap would be exceeded; nothing was charged or shown.

    Notes
    -----
    The proof is in docs/proofs/households.md.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> grid = geodp.Grid.regular((16, 16))
    >>> homes = geodp.CountTable.from_dense(np.full((16, 16), 40), grid)
    >>> people = geodp.CountTable.from_dense(np.full((16, 16), 90), grid)
    >>> options = {"protect": "person", "epsilon": 1, "contribution": 1}
    >>> release = geodp.households.publish(people, homes, **options)
    >>> p, h = release.persons.table.to_dense(), release.households.table.to_dense()
    >>> bool(((h <= p) & (p <= 7 * h)).all())
    True
    """
    require_protect(protect)
    request = make_request(**options, method=method, unit=protect)
    tables = dict(zip(TABLES, (persons, households, by_size, others), strict=True))
    prepared = prepare_households(tables, max_size, request, size_attribute=size_attribute)
    # Between: the frame of the decorator.
    warn_before_release(prepared.design.shown, between=1)
    return prepared.release()


def require_protect(protect: object) -> None:
    """Raise UsageError unless a person or a household is to be protected."""
    PROTECTED.one("protect").check(protect, as_keyword)


@dataclass(frozen=True, eq=False)
class CheckedTables:
    """Tables of one time that go together.

    Attributes
    ----------
    named : dict of str to CountTable
        What was given, by its name.
    read : tuple of CountTable
        What was read for each stream, or households by size.
    max_size : int
    streams : Streams or None
        None: households are protected.
    sizes : Sizes or None
        None: persons are protected.
    """

    named: dict[str, CountTable]
    read: tuple[CountTable, ...]
    max_size: int
    streams: Streams | None = None
    sizes: Sizes | None = None

    @property
    def grid(self) -> Grid:
        """The grid of the design: with the sizes, if households are protected."""
        return self.read[0].grid if self.streams is None else self.streams.households.grid

    def bound(self, contribution: int | None) -> ContributionBound:
        """Bound how often one unit is counted; UsageError where nobody states it."""
        if self.sizes is None:
            return vouch_contribution(self.read, contribution)
        table = self.sizes.table
        # What bounds the records of a person, or is stated of a column of people, bounds no
        # household.
        if not bounds_households(table):
            table = replace(table, bound=vouch_contribution(self.read, contribution))
        return bound_contribution(table, contribution)

    def list_facts(self, bound: ContributionBound) -> Iterator[str]:
        """Yield the public facts that follow from what was checked."""
        if self.streams is not None:
            yield from self.streams.facts
        if self.sizes is not None:
            table = self.sizes.table
            # No household has two sizes: equal counts of small numbers of them are chance.
            sizes = table.grid.attributes[SizedGrid.of(table.grid).axis].name
            yield from check_labels([table], bound, [sizes])

    def prepare(
        self, design: AnyHouseholds, *, period: bool = False
    ) -> Prepared[AnyHouseholds, Households]:
        """Prepare the release of a design; ``period``: that of one time among several."""
        prepared: Prepared[Any, Households]
        if isinstance(design, StreamsDesign):
            assert self.streams is not None  # as both follow from whom the guarantee protects
            prepared = Prepared(
                design,
                partial(design.identify, self.streams),
                partial(design.draw, self.streams),
                cells=int(self.streams.households.key.size),
            )
        else:
            assert self.sizes is not None
            table = self.sizes.table
            made: Prepared[Any, Any] = prepare_table(design.by_size, table)
            draw = partial(design.by_size.draw_period, table) if period else made.draw
            prepared = replace(made, design=design, draw=draw)
        return replace(
            prepared,
            reading=join_known(one.reading for one in self.named.values()),
            counted={
                "occupied_cells": {TABLES[n]: int(one.key.size) for n, one in self.named.items()},
                "counted": {TABLES[n]: int(one.count.sum()) for n, one in self.named.items()},
            },
        )


def check_tables(
    tables: Mapping[str, CountTable | None],
    max_size: int,
    request: Request,
    *,
    size_attribute: str | None = None,
) -> CheckedTables:
    """Check that tables of one time go together; raises UsageError as :func:`publish`.

    ``tables``: by the names `TABLES`.
    """
    size = require_size(max_size)
    persons, households, by_size, others = (tables.get(name) for name in TABLES)
    given = [one for one in (persons, households, by_size) if one is not None]
    extra = () if others is None else (others,)
    if not all(isinstance(one, CountTable) for one in (*given, *extra)):
        raise UsageError(TWO_TABLES)
    protects_households = request.terms.unit == "household"
    if others is not None and protects_households:
        raise UsageError(
            "Persons outside households are protected one by one, and here households are: "
            "publish them alone, with geodp publish.",
            code="households-others-apart",
        )
    named = {name: one for name in TABLES if (one := tables.get(name)) is not None}
    if by_size is not None and len(given) == 1:
        sizes = sizes_of(by_size, size, size_attribute)
        if protects_households:
            if request.method is not None:
                raise UsageError(
                    "Households by size are released by parts: leave the method out.",
                    code="households-sizes-have-method",
                )
            return CheckedTables(named, (sizes.table,), sizes.max_size, sizes=sizes)
        streams = sizes.streams().with_others(others)
        # Households by size are read once, for persons and households.
        read = (by_size, by_size, *extra)
        return _check_streams(streams, sizes.max_size, read, named)
    if persons is None or households is None or by_size is not None:
        raise UsageError(TWO_TABLES)
    if size_attribute is not None:
        raise UsageError(NO_SIZES)
    if protects_households:
        raise UsageError(
            "To protect households, give households by size (by_size=): from persons and "
            "households alone, one household would change persons by its whole size.",
            code="households-by-size-needed",
        )
    streams = streams_of(persons, households, size).with_others(others)
    return _check_streams(streams, size, (persons, households, *extra), named)


def _check_streams(
    streams: Streams, size: int, read: tuple[CountTable, ...], named: dict[str, CountTable]
) -> CheckedTables:
    """Return tables of persons and households; UsageError for those of different dates."""
    require_one_date(read)
    return CheckedTables(named, read, size, streams=streams)


def prepare_households(
    tables: Mapping[str, CountTable | None],
    max_size: int,
    request: Request,
    *,
    size_attribute: str | None = None,
) -> Prepared[AnyHouseholds, Households]:
    """Do everything of :func:`publish` that comes before the charge; ``tables``: by name.

    Raises
    ------
    UsageError
        See :func:`publish`.
    """
    checked = check_tables(tables, max_size, request, size_attribute=size_attribute)
    bound = checked.bound(request.terms.contribution)
    facts, readings = state_tables(checked.read, request, checked.list_facts(bound))
    inputs = Inputs((*facts, *list_clips(checked)), readings, bound)
    return checked.prepare(design_households(checked.grid, checked.max_size, request, inputs))


def list_clips(checked: CheckedTables) -> tuple[str, ...]:
    """Return the facts on how sizes were read, where households are protected."""
    return () if checked.sizes is None else checked.sizes.facts


@dataclass(frozen=True, eq=False)
class StreamsDesign:
    """A release that protects persons, before anything is drawn.

    Attributes
    ----------
    request : Request
    inputs : Inputs
    method : Pyramid
    each : Measurement
        Privacy event of each stream, and of all together.
    max_size : int
    preview : Households
        The release of empty tables.
    """

    drawn: ClassVar[Any] = tuple[DrawnCells, ...]

    request: Request
    inputs: Inputs
    method: Pyramid
    each: Measurement
    max_size: int
    preview: Households

    @property
    def event(self) -> Measurement:
        """Privacy event of all streams together, as a ledger names it."""
        return name_streams(self.each, len(self.inputs.readings))

    @property
    def draws(self) -> Draws:
        """The draws of the method, with the key of each stream."""
        each = self.method.declare(self.preview.households.grid, self.each)
        keys = (HOUSEHOLDS, MEMBERS, OTHERS)[: len(self.inputs.readings)]
        return Draws.of((), dict.fromkeys(keys, each))

    @property
    def shown(self) -> Release:
        """The empty table of households."""
        return self.preview.households

    def identify(self, streams: Streams) -> bytes:
        """Return the SHA-256 of everything that the release depends on except the key."""
        named: tuple[Plain, ...] = (
            ("protect", "person"),
            ("max_size", self.max_size),
            ("version", PersonsOfStreams.version),
            ("whole", loss_fields(self.event)),
        )
        # Two streams and three have digests of other lengths, and so other keys.
        digests = [release_digest(one, self.method, self.each) for one in streams.tables]
        return digest(LABEL, encode(named), *digests)

    def draw(self, streams: Streams, key: NoiseKey) -> tuple[DrawnCells, ...]:
        """Draw persons and households, and perhaps persons outside households."""
        method, each = self.method, self.each
        drawn = [
            *release_streams(
                *(streams.households, streams.members, method, each, key, self.max_size)
            )
        ]
        if streams.others is not None:
            with key.derive(OTHERS) as own:
                drawn.append(method.release(streams.others, each, own))
        return tuple(map(DrawnCells.of, drawn))

    def complete(self, drawn: Sequence[DrawnCells], charge: Charge | None) -> Households:
        """Return the release of drawn tables, in their order."""
        # Persons have errors of their own, which the name of their method tells.
        return self.preview.with_tables(place_cells(self.preview.drawn, drawn), charge)


AnyHouseholds: TypeAlias = "StreamsDesign | SizesDesign"
"""Design of a release that protects persons, or households."""


def design_households(grid: Grid, max_size: int, request: Request, inputs: Inputs) -> AnyHouseholds:
    """Design a release from public things alone; raises UsageError as :func:`publish` does.

    ``grid``: with the sizes, if households are protected.
    """
    if request.terms.unit == "household":
        return SizesDesign.of(grid, request, inputs)
    method = choose_pyramid(request.method, "Persons and households")
    each = make_event(grid, method, request.terms.bound(inputs.bound), request.key_origin)
    of_persons = PersonsOfStreams.of(method, max_size)
    first = replace(each, mechanism=of_persons.spec)
    methods: list[tuple[Any, Any, Any]] = [(of_persons, first, request.terms.people)]
    methods += [(method, each, None)] * (len(inputs.readings) - 1)
    facts = (*inputs.facts, describe_release("person", each))
    persons, households, *others = (
        preview_release(grid, *one, facts, reading, request.metadata)
        for one, reading in zip(methods, inputs.readings, strict=True)
    )
    total, extra = name_streams(each, len(inputs.readings)), others[0] if others else None
    preview = Households.of(persons, households, total, max_size, others=extra)
    return StreamsDesign(request, inputs, method, each, max_size, preview)


def vouch_contribution(tables: Sequence[CountTable], contribution: int | None) -> ContributionBound:
    """Take the operator's bound, in how many households one person is counted.

    Raises UsageError where the operator states none, or less than a table allows.
    """
    # Each table keeps cells of a person by itself, perhaps other ones than the other table, so that
    # its bound is none of both streams; a layout states that of its column of people.
    if contribution is None:
        raise UsageError(CONTRIBUTION)
    for one in tables:
        # Ids of households bound how often these are counted, and no person; but a person in a
        # household of weight w changes its members by w.
        own = one.bound
        if own is not None and bounds_households(one):
            own = ContributionBound(own.value)
        bound_contribution(replace(one, bound=own), contribution)
    return ContributionBound(contribution)


def bounds_households(table: CountTable) -> bool:
    """Test whether the records of a table were bounded by household, which bounds no person."""
    return table.bound is not None and table.bound.unit == "household"


@dataclass(frozen=True, eq=False)
class SizesDesign:
    """A release that protects households, before anything is drawn: that of a table by size.

    Attributes
    ----------
    by_size : TableDesign
        The release of the households by size, which is the whole of it.
    preview : Households
        The release of empty tables.
    """

    drawn: ClassVar[type] = DrawnTable

    by_size: TableDesign
    preview: Households

    @classmethod
    def of(cls, grid: Grid, request: Request, inputs: Inputs) -> Self:
        """Design the release on a grid with sizes."""
        design = design_table(grid, replace(request, method=Parts()), inputs)
        facts = (*design.preview.public_facts, describe_release("household", design.event))
        by_size = replace(design.preview, public_facts=facts, preview=None)
        by_size.card()
        return cls(replace(design, preview=by_size), Households.of_sizes(by_size))

    @property
    def request(self) -> Request:
        """The request of the table by size."""
        return self.by_size.request

    @property
    def inputs(self) -> Inputs:
        """Facts on the inputs, which are those of the table by size."""
        return self.by_size.inputs

    @property
    def event(self) -> Measurement:
        """The event of the households by size."""
        return self.by_size.event

    @property
    def draws(self) -> Draws:
        """The draws of the households by size."""
        return self.by_size.draws

    @property
    def shown(self) -> Release:
        """The empty table of households."""
        return self.preview.households

    def complete(self, drawn: DrawnTable, charge: Charge | None) -> Households:
        """Return the release of drawn households by size."""
        assert self.preview.sizes is not None  # as all releases of this design have them
        by_size = replace(self.by_size, preview=self.preview.sizes)
        return Households.of_sizes(by_size.complete(drawn, charge))
