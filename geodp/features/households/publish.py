"""Publish persons and households of the same cells as one release with one charge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from geodp.advice import takes
from geodp.errors import Rule, UsageError
from geodp.features.households.card import Protect
from geodp.features.households.households import Households, describe_release
from geodp.features.households.inputs import (
    DEFAULT_SIZE,
    TWO_TABLES,
    Streams,
    require_one_date,
    require_size,
    streams_of,
)
from geodp.features.households.methods import PersonsOfStreams
from geodp.features.households.sizes import NO_SIZES, Sizes, sizes_of
from geodp.features.households.streams import (
    HOUSEHOLDS,
    MEMBERS,
    OTHERS,
    release_others,
    release_streams,
)
from geodp.grid.grid import Grid
from geodp.io.read.public.land import state_land
from geodp.mechanisms import mechanism
from geodp.mechanisms.base import Plain
from geodp.mechanisms.central.parts import Parts
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, digest
from geodp.privacy.ledger import Charge
from geodp.privacy.noise.draws import Draws
from geodp.release.charging import Keep, release_and_charge
from geodp.release.noise_identity import encode, loss_fields, release_digest
from geodp.release.preview import preview_release, warn_before_release
from geodp.release.publish import Prepared, make_event, prepare
from geodp.release.release import Release
from geodp.release.request import OF_TABLES, Request, make_request
from geodp.table.contribution import bound_contribution
from geodp.table.counts import CountTable
from geodp.table.reading import require_rows
from geodp.table.released import ReleasedTable
from geodp.table.stated.reading import StatedReading

CONTRIBUTION = Rule(
    "households-contribution-unstated",
    "No table of counts shows in how many households one person is counted, or how often a "
    "household, so say it: --contribution N (contribution=N), which is 1 if each person is in one "
    "household and each household is counted once.",
)

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
    prepared = prepare_households(
        persons, households, by_size, others, max_size, request, size_attribute=size_attribute
    )
    # Between: the frame of the decorator.
    warn_before_release(prepared.preview.households, between=1)
    return prepared.release()


def require_protect(protect: object) -> None:
    """Raise UsageError unless a person or a household is to be protected."""
    if protect not in ("person", "household"):
        raise UsageError("protect must be person or household.", code="households-protect-unknown")


def prepare_households(
    persons: CountTable | None,
    households: CountTable | None,
    by_size: CountTable | None,
    others: CountTable | None,
    max_size: int,
    request: Request,
    *,
    size_attribute: str | None = None,
) -> PreparedStreams | PreparedSizes:
    """Do everything of :func:`publish` that comes before the charge.

    Raises
    ------
    UsageError
        See :func:`publish`.
    """
    size = require_size(max_size)
    given = [one for one in (persons, households, by_size) if one is not None]
    extra = () if others is None else (others,)
    if not all(isinstance(one, CountTable) for one in (*given, *extra)):
        raise UsageError(TWO_TABLES)
    if others is not None and request.terms.unit == "household":
        raise UsageError(
            "Persons outside households are protected one by one, and here households are: "
            "publish them alone, with geodp publish.",
            code="households-others-apart",
        )
    if by_size is not None and len(given) == 1:
        sizes = sizes_of(by_size, size, size_attribute)
        if request.terms.unit == "household":
            return _prepare_sizes(sizes, request)
        streams = sizes.streams().with_others(others)
        return _prepare_streams(streams, sizes.max_size, (by_size, *extra), request)
    if persons is None or households is None or by_size is not None:
        raise UsageError(TWO_TABLES)
    if size_attribute is not None:
        raise UsageError(NO_SIZES)
    if request.terms.unit == "household":
        raise UsageError(
            "To protect households, give households by size (by_size=): from persons and "
            "households alone, one household would change persons by its whole size.",
            code="households-by-size-needed",
        )
    streams = streams_of(persons, households, size).with_others(others)
    return _prepare_streams(streams, size, (persons, households, *extra), request)


@dataclass(frozen=True, eq=False)
class PreparedStreams:
    """A release that protects persons, ready to be drawn; nothing is charged and nothing drawn.

    Attributes
    ----------
    streams : Streams
    max_size : int
    request : Request
    method : Pyramid
    event : Measurement
        Privacy event of each stream, and of all together.
    preview : Households
        The release of empty tables.
    """

    streams: Streams = field(repr=False)
    max_size: int
    request: Request
    method: Pyramid
    event: Measurement
    preview: Households

    def release(self, keep: Keep[list[ReleasedTable]] | None = None) -> Households:
        """Draw all streams, and charge once; ``keep`` stores them and a fingerprint before."""
        drawn, charge = release_and_charge(
            self.request, self.total, self.declare(), self.identify, self._draw, keep
        )
        return self.complete(drawn, charge)

    @property
    def total(self) -> Measurement:
        """Privacy event of all streams together, as a ledger names it."""
        return name_streams(self.event, len(self.streams.tables))

    @property
    def cells(self) -> int:
        """Number of cells with households; confidential."""
        return int(self.streams.households.key.size)

    def declare(self) -> Draws:
        """Declare all draws: those of the method, with the key of each stream."""
        each = self.method.declare(self.streams.households.grid, self.event)
        keys = (HOUSEHOLDS, MEMBERS, OTHERS)[: len(self.streams.tables)]
        return Draws.of((), dict.fromkeys(keys, each))

    def identify(self) -> bytes:
        """Return the SHA-256 of everything that the release depends on except the key."""
        named: tuple[Plain, ...] = (
            ("protect", "person"),
            ("max_size", self.max_size),
            ("version", PersonsOfStreams.version),
            ("whole", loss_fields(self.total)),
        )
        # Two streams and three have digests of other lengths, and so other keys.
        digests = [release_digest(one, self.method, self.event) for one in self.streams.tables]
        return digest(LABEL, encode(named), *digests)

    def complete(self, drawn: list[ReleasedTable], charge: Charge | None) -> Households:
        """Return the release of drawn tables, in their order."""
        return self.preview.with_tables(drawn, charge)

    def _draw(self, key: NoiseKey) -> list[ReleasedTable]:
        """Draw persons and households, and perhaps persons outside households."""
        streams, method = self.streams, self.method
        persons, households = release_streams(
            streams.households, streams.members, method, self.event, key, self.max_size
        )
        # Persons have errors of their own, which the name of their method tells.
        event = cast(Measurement, self.preview.persons.event)
        drawn = [replace(persons, event=event), households]
        if streams.others is not None:
            drawn.append(release_others(streams.others, method, self.event, key))
        return drawn


def _prepare_streams(
    streams: Streams, max_size: int, tables: tuple[CountTable, ...], request: Request
) -> PreparedStreams:
    """Prepare a release that protects persons; ``tables``: those that were read, persons first."""
    method = choose_pyramid(request.method)
    require_one_date(tables)
    bound = vouch_contribution(tables, request.terms.contribution)
    grid, terms = streams.households.grid, request.terms.bound(bound)
    event = make_event(grid, method, terms, request.key_origin)
    met = [
        fact
        for table in tables
        for fact in require_rows(table.rows, table.reading, allow_empty=request.allow_empty)
    ]
    stated = (*streams.facts, *state_land(grid), describe_release("person", event))
    # Households by size are read once, for persons and households.
    read = tables if len(tables) == len(streams.tables) else (tables[0], *tables)
    readings = [None if one.reading is None else one.reading.public for one in read]
    facts = (*dict.fromkeys(met), *stated)
    preview = preview_streams(grid, method, event, max_size, request, facts, readings)
    return PreparedStreams(streams, max_size, request, method, event, preview)


def vouch_contribution(tables: Sequence[CountTable], contribution: int | None) -> ContributionBound:
    """Take the operator's bound, in how many households one person is counted.

    Raises UsageError where the operator states none, or less than a table allows.
    """
    # Each table keeps cells of a person by itself, perhaps other ones than the other table, so that
    # its bound is none of both streams; a layout states that of its column of people.
    if contribution is None:
        raise UsageError(CONTRIBUTION)
    for one in tables:
        # Ids of households bound how often these are counted, and no person.
        own = None if bounds_households(one) else one.bound
        bound_contribution(replace(one, bound=own), contribution)
    return ContributionBound(contribution)


def bounds_households(table: CountTable) -> bool:
    """Test whether the records of a table were bounded by household, which bounds no person."""
    return table.bound is not None and table.bound.unit == "household"


def choose_pyramid(chosen: object) -> Pyramid:
    """Return the method of both streams; UsageError for another than the pyramid."""
    method = mechanism("pyramid" if chosen is None else cast(str, chosen))
    if type(method) is not Pyramid or method.prune or method.passes != 2:
        raise UsageError(
            "Persons and households are released by pyramid, with two passes and without prune; "
            "its other settings can be chosen.",
            code="households-need-pyramid",
        )
    return method


def preview_streams(
    grid: Grid,
    method: Pyramid,
    event: Measurement,
    max_size: int,
    request: Request,
    facts: tuple[str, ...],
    readings: Sequence[StatedReading | None],
) -> Households:
    """Make the release of empty tables, with cards and closed forms of the real one.

    ``event``: privacy event of each stream, and of all together; ``readings``: of the tables of
    persons, of households and perhaps of persons outside households.
    """
    of_persons = PersonsOfStreams.of(method, max_size)
    persons_event = replace(event, mechanism=of_persons.spec)
    people, metadata = request.terms.people, request.metadata
    persons = preview_release(grid, of_persons, persons_event, people, facts, readings[0], metadata)
    households, *others = (
        preview_release(grid, method, event, None, facts, one, metadata) for one in readings[1:]
    )
    total = name_streams(event, len(readings))
    return Households.of(persons, households, total, max_size, others=others[0] if others else None)


def name_streams(event: Measurement, number: int = 2) -> Measurement:
    """Return the event of all streams together, with the release's name for the ledger."""
    streams = "households and of their other members"
    if number > 2:
        streams = "households, of their other members and of persons outside households"
    return replace(event, mechanism=f"{event.mechanism} of {streams}")


@dataclass(frozen=True, eq=False)
class PreparedSizes:
    """A release that protects households, ready to be drawn: that of a table by size.

    Attributes
    ----------
    sizes : Sizes
    prepared : Prepared
        The release of the households by size, which is the whole of it.
    preview : Households
        The release of empty tables.
    """

    sizes: Sizes = field(repr=False)
    prepared: Prepared
    preview: Households

    @property
    def request(self) -> Request:
        """Request of the release."""
        return self.prepared.request

    @property
    def cells(self) -> int:
        """Number of sizes of cells with households; confidential."""
        return int(self.sizes.table.key.size)

    def release(self, keep: Keep[Release] | None = None) -> Households:
        """Draw the households by size, and charge; ``keep`` stores them before."""
        return Households.of_sizes(self.prepared.release(keep))


def _prepare_sizes(sizes: Sizes, request: Request) -> PreparedSizes:
    """Prepare a release that protects households."""
    if request.method is not None:
        raise UsageError(
            "Households by size are released by parts: leave the method out.",
            code="households-sizes-have-method",
        )
    table = sizes.table
    # What bounds the records of a person, or is stated of a column of people, bounds no household.
    if not bounds_households(table):
        bound = vouch_contribution((table,), request.terms.contribution)
        table = replace(table, bound=bound)
    prepared = prepare(table, replace(request, method=Parts()))
    event = prepared.event
    facts = (*prepared.preview.public_facts, *sizes.facts, describe_release("household", event))
    by_size = replace(prepared.preview, public_facts=facts, preview=None)
    by_size.card()
    prepared = replace(prepared, preview=by_size)
    return PreparedSizes(sizes, prepared, Households.of_sizes(by_size))


def restore_households(
    drawn: list[ReleasedTable],
    request: Request,
    max_size: int,
    facts: tuple[str, ...],
    readings: Sequence[StatedReading | None],
    charge: Charge,
) -> Households:
    """Restore the release of tables that were drawn, charged and stored by the same call.

    ``drawn``: households by size alone, or persons and households, and perhaps others.
    """
    event = cast(Measurement, drawn[0].event)
    if request.terms.unit == "household":
        metadata = request.metadata
        by_size = Release(drawn[0], charge, None, facts, metadata=metadata, reading=readings[0])
        return Households.of_sizes(by_size)
    method = choose_pyramid(request.method)
    event = replace(event, mechanism=method.spec)
    preview = preview_streams(drawn[0].grid, method, event, max_size, request, facts, readings)
    # All tables were stored with the event of the first one.
    others = [replace(one, event=event) for one in drawn[1:]]
    return preview.with_tables([drawn[0], *others], charge)
