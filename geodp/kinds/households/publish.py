"""Publish persons and households of the same cells as one release with one charge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from geodp.advice import takes
from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.grid.tree import overlaps
from geodp.kinds.households.households import Households, describe_release, name_streams
from geodp.kinds.households.inputs import (
    DEFAULT_SIZE,
    NO_SIZES,
    TWO_TABLES,
    Sizes,
    Streams,
    require_one_date,
    require_size,
    sizes_of,
    streams_of,
)
from geodp.kinds.households.kernels import fitting
from geodp.kinds.households.kind import Protect
from geodp.kinds.households.methods import PersonsOfStreams
from geodp.kinds.households.options import PROTECTED
from geodp.mechanisms.base import Plain
from geodp.mechanisms.central.parts import Parts
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.trees.descent import Descent
from geodp.options.option import as_keyword
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, Stream, digest
from geodp.privacy.ledger import Charge
from geodp.privacy.noise.draws import Draws
from geodp.privacy.noise.node import NodeNoise, number_children
from geodp.release.composite import place_cells
from geodp.release.inputs import state_tables
from geodp.release.noise_identity import encode, loss_fields, release_digest
from geodp.release.preview import preview_release, warn_before_release
from geodp.release.publish import DrawnTable, TableDesign, design_table, make_event, prepare
from geodp.release.release import Release
from geodp.release.request import OF_TABLES, Request, choose_pyramid, make_request
from geodp.release.transaction import DrawnCells, Inputs, Prepared
from geodp.table.contribution import bound_contribution
from geodp.table.counts import CountTable, ReleasedTable
from geodp.table.measured import sums_of
from geodp.table.reading import StatedReading, join_known
from geodp.typing import FloatArray, IntArray, KeyArray

HOUSEHOLDS = digest(b"geodp households stream 1", b"households")
"""Derives the key of the noise of households from that of the release."""

MEMBERS = digest(b"geodp households stream 1", b"members beyond the first")
"""Derives the key of the noise of the other members."""

OTHERS = digest(b"geodp households stream 1", b"persons outside households")
"""Derives the key of the noise of persons outside households."""


AT_ONCE = 1 << 20
"""Most children that are measured together, which bounds the memory."""


@dataclass(frozen=True, eq=False)
class HouseholdNodes:
    """The nodes of a level that have released households, in key order.

    Attributes
    ----------
    cap : int64[n]
        Largest possible number of members beyond the first.
    z : float64[n]
        Noisy numbers of these members; later the estimates from below.
    """

    cap: IntArray
    z: FloatArray


@dataclass(frozen=True, eq=False)
class Families:
    """The children of the nodes of a level, of which some have released households.

    Attributes
    ----------
    first : int64[n + 1]
        Where the children with households of each node lie on the level below.
    closed, closed_number : float64[n], float64[n]
        Sum of the noisy members of the other children, and their number.
    uniform : float64[n]
        Random numbers in [0, 1) that round what the children get.
    """

    first: IntArray
    closed: FloatArray
    closed_number: FloatArray
    uniform: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class MeasuredMembers:
    """Noisy members beyond the first of all nodes that have released households.

    Attributes
    ----------
    levels : list of Nodes
        The root first.
    families : list of Families
        Of the root alone as a child first, and then of the nodes of each level but the last.
    """

    levels: list[HouseholdNodes]
    families: list[Families]


def release_streams(
    households: CountTable,
    members: CountTable,
    method: Pyramid,
    event: Measurement,
    key: NoiseKey,
    max_size: int,
) -> tuple[ReleasedTable, ReleasedTable]:
    """Release persons and households of one grid.

    Parameters
    ----------
    households, members : CountTable
        Households, and their members beyond the first.
    method : Pyramid
    event : Measurement
        That of the method on the grid: each stream is measured with all of it.
    key : NoiseKey
        From which the keys of the streams are derived.
    max_size : int
        Most persons of a household.

    Returns
    -------
    persons, households : ReleasedTable
        In every block of keys of a level, households <= persons <= max_size * households.
    """
    descent = method.descent(households.grid, event)
    with key.derive(HOUSEHOLDS) as own, key.derive(MEMBERS) as other:
        released = method.release(households, event, own)
        measured = measure_members(members, released, descent, other, max_size)
        count = fit_members(measured, descent)
    persons = ReleasedTable(released.grid, released.key, released.count + count, event)
    return persons, released


def measure_members(
    members: CountTable, released: ReleasedTable, descent: Descent, key: NoiseKey, max_size: int
) -> MeasuredMembers:
    """Measure the members of all nodes that have released households, and of their siblings."""
    prefix, cap = released.key, np.asarray(released.count, np.int64) * (max_size - 1)
    levels, families = [], []
    for i in reversed(range(len(descent.laws))):
        fanout, stride = (1, *descent.fanouts)[i], descent.strides[i]
        noise = NodeNoise(key, Stream.PYRAMID + i, descent.laws[i])
        above = prefix // np.uint64(fanout)
        starts = np.flatnonzero(np.append(True, above[1:] != above[:-1])[: above.size])
        first, above = np.append(starts, prefix.size), above[starts]
        noisy, family = _measure_families(members, noise, (fanout, stride), prefix, above, first)
        levels.append(HouseholdNodes(cap, noisy.astype(np.float64)))
        families.append(family)
        prefix, cap = above, np.add.reduceat(cap, starts) if starts.size else cap
    return MeasuredMembers(levels[::-1], families[::-1])


def _measure_families(
    members: CountTable,
    noise: NodeNoise,
    shape: tuple[int, int],
    prefix: KeyArray,
    above: KeyArray,
    first: IntArray,
) -> tuple[IntArray, Families]:
    """Measure all children of nodes; return the listed ones, and sums of the others.

    ``shape``: children of a node, and keys of a child.
    """
    fanout, stride = shape
    sums = partial(sums_of, members.key, members.count)
    noisy = sums(prefix, stride)
    closed, uniform = sums(above, stride * fanout), np.empty(above.size)
    number = np.zeros(above.size, np.int64)
    step = max(1, AT_ONCE // fanout)
    for start in range(0, above.size, step):
        part = slice(start, min(start + step, above.size))
        children = slice(first[part.start], first[part.stop])
        drawn, uniform[part] = noise.families(above[part], fanout)
        inside = overlaps(members.grid, number_children(above[part], fanout), stride)
        row = np.repeat(np.arange(part.stop - part.start), np.diff(first[start : part.stop + 1]))
        child = prefix[children] - above[part][row] * np.uint64(fanout)
        # Whole until the noise is in.
        noisy[children] += drawn[row * fanout + child.astype(np.int64)]
        closed[part] += np.where(inside, drawn, 0).reshape(-1, fanout).sum(axis=1)
        number[part] = inside.reshape(-1, fanout).sum(axis=1)
    if above.size:
        closed -= np.add.reduceat(noisy, first[:-1])
        number -= np.diff(first)
    real = closed.astype(np.float64), number.astype(np.float64)
    return noisy, Families(first, *real, uniform)


def fit_members(measured: MeasuredMembers, descent: Descent) -> IntArray:
    """Fit whole members to the measurements, from the root to the cells; int64[cells]."""
    levels, families, noises = measured.levels, measured.families, descent.variances
    variances = [np.full(one.z.size, v) for one, v in zip(levels, noises, strict=True)]
    for i in reversed(range(len(levels) - 1)):
        above, below, family = levels[i], levels[i + 1], families[i + 1]
        # Children that have no released households were measured, too: without them, members of
        # households that were released as 0 would be missing from the sums.
        spread = family.closed_number * noises[i + 1]
        closed = family.closed, spread
        fitting.combine(
            family.first, below.z, variances[i + 1], *closed, noises[i], above.z, variances[i]
        )
    top = levels[0]
    count = np.clip(np.floor(top.z + families[0].uniform).astype(np.int64), 0, top.cap)
    for below, family, variance in zip(levels[1:], families[1:], variances[1:], strict=True):
        total, count = count, np.empty(below.z.size, np.int64)
        fitting.apportion(family.first, total, family.uniform, below.z, variance, below.cap, count)
    return count


CONTRIBUTION = Rule(
    "households-contribution-unstated",
    "No table of counts shows in how many households one person is counted, or how often a "
    "household, so say it: --contribution N (contribution=N), which is 1 if each person is in one "
    "household and each household is counted once.",
)

TABLES = ("persons", "households", "households_by_size", "others")
"""Names of the tables that are read, in their order."""

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
    warn_before_release(prepared.design.shown, between=1)
    return prepared.release()


def require_protect(protect: object) -> None:
    """Raise UsageError unless a person or a household is to be protected."""
    PROTECTED.one("protect").check(protect, as_keyword)


def prepare_households(
    persons: CountTable | None,
    households: CountTable | None,
    by_size: CountTable | None,
    others: CountTable | None,
    max_size: int,
    request: Request,
    *,
    size_attribute: str | None = None,
) -> Prepared[AnyHouseholds, Households]:
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
            prepared: Prepared[AnyHouseholds, Households] = _prepare_sizes(sizes, request)
        else:
            streams = sizes.streams().with_others(others)
            # Households by size are read once, for persons and households.
            read = (by_size, by_size, *extra)
            prepared = _prepare_streams(streams, sizes.max_size, read, request)
    elif persons is None or households is None or by_size is not None:
        raise UsageError(TWO_TABLES)
    elif size_attribute is not None:
        raise UsageError(NO_SIZES)
    elif request.terms.unit == "household":
        raise UsageError(
            "To protect households, give households by size (by_size=): from persons and "
            "households alone, one household would change persons by its whole size.",
            code="households-by-size-needed",
        )
    else:
        streams = streams_of(persons, households, size).with_others(others)
        prepared = _prepare_streams(streams, size, (persons, households, *extra), request)
    tables = dict(zip(TABLES, (persons, households, by_size, others), strict=True))
    named = {name: one for name, one in tables.items() if one is not None}
    return replace(
        prepared,
        reading=join_known(one.reading for one in named.values()),
        counted={
            "occupied_cells": {name: int(one.key.size) for name, one in named.items()},
            "counted": {name: int(one.count.sum()) for name, one in named.items()},
        },
        record={"occupied_cells": prepared.cells},
    )


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


def _prepare_streams(
    streams: Streams, max_size: int, tables: tuple[CountTable, ...], request: Request
) -> Prepared[StreamsDesign, Households]:
    """Prepare a release that protects persons; ``tables``: what was read for each stream."""
    require_one_date(tables)
    bound = vouch_contribution(tables, request.terms.contribution)
    grid = streams.households.grid
    inputs = Inputs(*state_tables(tables, request, streams.facts), bound)
    design = design_households(grid, max_size, request, inputs)
    assert isinstance(design, StreamsDesign)
    return prepare_streams(design, streams)


def prepare_streams(design: StreamsDesign, streams: Streams) -> Prepared[StreamsDesign, Households]:
    """Prepare a release that protects persons by its design."""
    return Prepared(
        design,
        partial(design.identify, streams),
        partial(design.draw, streams),
        cells=int(streams.households.key.size),
    )


def design_households(grid: Grid, max_size: int, request: Request, inputs: Inputs) -> AnyHouseholds:
    """Design a release from public things alone; raises UsageError as :func:`publish` does.

    ``grid``: with the sizes, if households are protected.
    """
    if request.terms.unit == "household":
        return SizesDesign.of(grid, request, inputs)
    method = choose_pyramid(request.method, "Persons and households")
    each = make_event(grid, method, request.terms.bound(inputs.bound), request.key_origin)
    facts = (*inputs.facts, describe_release("person", each))
    preview = preview_streams(grid, method, each, max_size, request, facts, inputs.readings)
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
        # Ids of households bound how often these are counted, and no person.
        own = None if bounds_households(one) else one.bound
        bound_contribution(replace(one, bound=own), contribution)
    return ContributionBound(contribution)


def bounds_households(table: CountTable) -> bool:
    """Test whether the records of a table were bounded by household, which bounds no person."""
    return table.bound is not None and table.bound.unit == "household"


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


def _prepare_sizes(sizes: Sizes, request: Request) -> Prepared[SizesDesign, Households]:
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
    inputs = prepared.design.inputs
    inputs = replace(inputs, facts=(*inputs.facts, *sizes.facts))
    design = SizesDesign.of(table.grid, request, inputs)
    return Prepared(design, prepared.identify, prepared.draw, cells=prepared.cells)
