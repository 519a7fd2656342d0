"""Publish tables of one grid, a snapshot each, under one budget and with one line of the ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from geodp import progress
from geodp.errors import UsageError
from geodp.features.series.periods import Periods
from geodp.features.series.series import Series
from geodp.features.series.sharing import Noise, Person, Sharing, share_budget
from geodp.features.series.smoothing import Mode, Smoother, Smoothing
from geodp.grid.grid import Grid
from geodp.io.read.public.land import state_land
from geodp.mechanisms import Mechanism, choose_method
from geodp.mechanisms.base import Plain
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.budget import Budget
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, digest
from geodp.privacy.ledger import Charge, Ledger
from geodp.privacy.neighbours import ADD_REMOVE
from geodp.privacy.noise.draws import Draws
from geodp.privacy.terms import Terms
from geodp.release.charging import Keep, draw_and_charge
from geodp.release.identity import encode, loss_fields, release_digest, release_key
from geodp.release.metadata import require_series_metadata, state_metadata
from geodp.release.preview import preview_release, warn_before_release
from geodp.release.publish import make_event
from geodp.release.release import Release
from geodp.release.request import Request
from geodp.table.contribution import bound_contribution, combine_bounds, require_no_sums
from geodp.table.counts import CountTable
from geodp.table.reading import require_rows_of_series
from geodp.table.released import ReleasedTable
from geodp.table.stated.reading import StatedReading, join_descriptions
from geodp.table.totals import InMemoryTable

LABEL = b"geodp series identity 1"
"""Of this use of the hash, and of the list of components."""

SNAPSHOT = b"geodp series snapshot 1"
"""Of the derivation of a snapshot's key."""


@dataclass(frozen=True, kw_only=True)
class SeriesOptions:
    """What a series is asked for beside what its snapshots are; see :func:`publish_series`.

    Attributes
    ----------
    person : {"all", "one"}
    noise : {"best", "laplace", "gaussian"}
    smooth : {"best", "both", "forward", "none"}
    cycles : sequence of int
    """

    person: Person
    noise: Noise = "best"
    smooth: Mode = "best"
    cycles: Sequence[int] = ()


def publish_series(
    tables: Sequence[CountTable],
    *,
    times: Sequence[str],
    person: Person,
    epsilon: Budget | None = None,
    rho: Budget | None = None,
    delta: Budget | None = None,
    neighbours: str = ADD_REMOVE,
    contribution: int | None = None,
    unit: str = "person",
    people: float | None = None,
    method: str | Mechanism = "pyramid",
    noise: Noise = "best",
    smooth: Mode = "best",
    cycles: Sequence[int] = (),
    metadata: Mapping[str, str | int] | None = None,
    allow_empty: bool = False,
    key: NoiseKey | None = None,
    ledger: Ledger | None = None,
    dataset: str | None = None,
    records: str | None = None,
) -> Series:
    """Release the snapshots of a series under one budget.

    Parameters
    ----------
    tables : sequence of CountTable
        Confidential counts on one public grid, in the order of time.
    times : sequence of str
        Public: years, months, days or hours as ISO 8601 writes them (``2024-05``), none missing and
        none twice.
    person : {"all", "one"}
        Whether one person may be in every snapshot, which then share the budget, or is in one only,
        and each has all of it. You vouch for it. Where a person replaces another (``neighbours``),
        the two may be in different snapshots: each then has half.
    method, key, ledger, dataset
        As for :func:`geodp.publish`. A kept key makes a key for every snapshot, of all tables, all
        parameters and the snapshot's number: the same series again is the same releases, at no
        cost, and no two snapshots share noise, whether their tables are equal or not. The ledger
        has one line, which is charged before anything drawn is returned. The pyramid without a
        setting has that of series where the noise is Gaussian
        (:func:`geodp.features.series.sharing.settle_method`).
    epsilon, rho, delta
        Of all snapshots together, exact. With epsilon and delta, Gaussian noise where it is less.
    noise : {"best", "laplace", "gaussian"}
        Best: Gaussian where a person is measured 30 times or more in all snapshots and levels.
    smooth : {"best", "both", "forward", "none"}
        Whether snapshots before one, or before and after it, predict what is below a node
        (:mod:`geodp.features.series.smoothing`): post-processing of the same measurements, so that
        under a kept key another choice costs nothing. Best: both, with the pyramid.
    cycles : sequence of int
        Snapshots after which the like comes again, such as 24 and 168 of hours.
    allow_empty, records, neighbours, contribution, unit, people
        As for :func:`geodp.publish`; contribution and people are of one snapshot. A snapshot may
        be empty without ``allow_empty``, but no file, and no value of a selection that several
        snapshots share.
    metadata : mapping, optional
        As for :func:`geodp.publish`, for the card of every snapshot; without ``supersedes`` and
        ``reference_date``, which are of one.

    Returns
    -------
    Series
        A list of releases, each as :func:`geodp.publish` makes it, with its part of the budget.

    Raises
    ------
    UsageError
        Before the charge: tables of different grids, times that are missing or twice, a person
        that is not declared, a budget that does not fit the noise, and what a single release
        refuses.
    BudgetError
        The ledger's cap would be exceeded; nothing was charged or shown.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> grid = geodp.Grid.regular((16, 16))
    >>> months = [geodp.CountTable.from_dense(np.full((16, 16), n), grid) for n in (90, 100)]
    >>> asked = {"person": "all", "epsilon": 1, "contribution": 1}
    >>> series = geodp.publish_series(months, times=["2024-01", "2024-02"], **asked)
    >>> len(series), str(series[0].event.epsilon)
    (2, '1/2')
    """
    request = Request(
        terms=Terms.of(epsilon, rho, delta, neighbours, contribution, unit, people),
        method=method,
        metadata=require_series_metadata(state_metadata(metadata or {})),
        allow_empty=allow_empty,
        key=key,
        ledger=ledger,
        dataset=dataset,
        records=records,
    )
    options = SeriesOptions(person=person, noise=noise, smooth=smooth, cycles=cycles)
    prepared = prepare_series(tables, Periods.of(times), request, options)
    warn_before_release(prepared.preview)
    return prepared.release()


@dataclass(frozen=True, eq=False)
class PreparedSeries:
    """A series of which all is settled that is public; nothing is charged and nothing drawn.

    Attributes
    ----------
    tables : tuple of CountTable
    periods : Periods
    request : Request
    sharing : Sharing
    smoothing : Smoothing
    whole, each : Measurement
        What all snapshots spend together, and one of them.
    preview : Release
        A snapshot of nobody, without what tells one from another.
    """

    tables: tuple[CountTable, ...] = field(repr=False)
    periods: Periods
    request: Request
    sharing: Sharing
    smoothing: Smoothing
    whole: Measurement
    each: Measurement
    preview: Release

    @property
    def method(self) -> Mechanism:
        """The method of a snapshot."""
        return self.sharing.method

    def release(self, keep: Keep[list[ReleasedTable]] | None = None) -> Series:
        """Draw every snapshot, and charge once; ``keep`` gets them before, and a fingerprint."""
        named = name_series(self.whole, self.periods, self.sharing)
        request = self.request
        own, fingerprint = release_key(request.key, self.declare(), self.identify)
        try:
            drawn, charge = draw_and_charge(
                request.ledger,
                request.dataset,
                named,
                fingerprint,
                lambda: self._draw(own),
                keep,
                records=request.records,
            )
        finally:
            own.forget()
        return self.complete(drawn, charge)

    def declare(self) -> Draws:
        """Return all that can be drawn: with a key of every snapshot, what its method measures."""
        each = self.method.declare(self.tables[0].grid, self.each)
        return Draws.of((), {name_snapshot(t): each for t in range(len(self.tables))})

    def identify(self) -> bytes:
        """SHA-256 of everything that the series depends on but the key."""
        named: tuple[Plain, ...] = (
            ("times", self.periods.names),
            ("person", self.sharing.person),
            ("whole", loss_fields(self.whole)),
        )
        digests = [release_digest(table, self.method, self.each) for table in self.tables]
        return digest(LABEL, encode(named), *digests)

    def complete(self, drawn: Sequence[ReleasedTable], charge: Charge | None) -> Series:
        """Return the series of tables that were drawn."""
        return complete_series(
            self.preview, self.periods, self.sharing, self.smoothing, self.whole, drawn, charge
        )

    def _draw(self, own: NoiseKey) -> list[ReleasedTable]:
        """Draw the snapshots, each with a key of its own."""
        keys = tuple(own.derive(name_snapshot(t)) for t in range(len(self.tables)))
        try:
            if self.smoothing.mode != "none":
                method = cast(Pyramid, self.method)
                return Smoother(self.tables, keys, method, self.each, self.smoothing).run()
            found = []
            for time, table, key in zip(self.periods.names, self.tables, keys, strict=True):
                progress.begin(f"Releasing {time}")
                found.append(self.method.release(table, self.each, key))
            return found
        finally:
            for key in keys:
                key.forget()


def name_snapshot(number: int) -> bytes:
    """Return the digest by which the key of a snapshot is derived, counted from 0."""
    return digest(SNAPSHOT, encode(number))


def prepare_series(
    tables: Sequence[CountTable], periods: Periods, request: Request, options: SeriesOptions
) -> PreparedSeries:
    """Do everything of :func:`publish_series` that comes before the charge.

    Raises
    ------
    UsageError
        As :func:`publish_series`.
    """
    grid, terms = require_one_grid(tables, periods), request.terms
    bounds = [bound_contribution(table, terms.contribution) for table in tables]
    bound = terms.bound(combine_bounds(bounds))
    sharing, smoothing = _share(grid, request, options, bound, len(tables))
    method = sharing.method
    whole = make_event(grid, method, sharing.whole, request.key_origin)
    each = make_event(grid, method, sharing.each, request.key_origin)
    read = {
        time: (table.rows, table.reading) for time, table in zip(periods.names, tables, strict=True)
    }
    met = require_rows_of_series(read, allow_empty=request.allow_empty)
    sums = [fact for table in tables for fact in require_no_sums(grid, each, InMemoryTable(table))]
    stated = (*dict.fromkeys((*met, *sums)), *state_land(grid))
    public = join_descriptions(
        None if one.reading is None else one.reading.public for one in tables
    )
    nobody = _outline(grid, each, sharing, smoothing, request, stated, public)
    return PreparedSeries(tuple(tables), periods, request, sharing, smoothing, whole, each, nobody)


def _share(
    grid: Grid, request: Request, options: SeriesOptions, bound: Terms, snapshots: int
) -> tuple[Sharing, Smoothing]:
    """Return how snapshots share the budget, and what they tell about each other."""
    method = choose_method(request.method, grid)
    if refusal := method.unsupported(grid):
        raise UsageError(refusal)
    sharing = share_budget(
        grid,
        method,
        bound,
        snapshots=snapshots,
        person=options.person,
        noise=options.noise,
    )
    return sharing, Smoothing.of(options.smooth, options.cycles, sharing.method, snapshots)


def _outline(
    grid: Grid,
    each: Measurement,
    sharing: Sharing,
    smoothing: Smoothing,
    request: Request,
    public_facts: tuple[str, ...],
    reading: StatedReading | None,
) -> Release:
    """Return the snapshot of nobody."""
    people = request.terms.people
    nobody = preview_release(
        grid, sharing.method, each, people, public_facts, reading, request.metadata
    )
    return smoothing.say(nobody)


def require_one_grid(tables: Sequence[CountTable], periods: Periods) -> Grid:
    """Return the one grid of all tables; UsageError where they have not one, or not one a time."""
    if not all(isinstance(table, CountTable) for table in tables):
        raise UsageError(
            "publish_series takes CountTables; CountTable.from_dense makes one.",
            code="table-expected",
        )
    if len(tables) != len(periods.names):
        raise UsageError(
            f"There are {len(tables)} tables and {len(periods.names)} times; give one of each.",
            code="snapshots-and-times-differ",
        )
    grid: Grid = tables[0].grid
    for table, time in zip(tables, periods.names, strict=True):
        if table.grid != grid:
            raise UsageError(
                f"The snapshot of {time} has another grid than that of {periods.names[0]}; read "
                "all of them on one public grid.",
                code="snapshot-grid-differs",
            )
    return grid


def restore_series(
    drawn: Sequence[ReleasedTable],
    periods: Periods,
    request: Request,
    options: SeriesOptions,
    public_facts: tuple[str, ...],
    reading: StatedReading | None,
    charge: Charge,
) -> Series:
    """Return the series of tables that were drawn, charged and kept, for the same call."""
    each = cast(Measurement, drawn[0].event)
    grid, bound = drawn[0].grid, request.terms.bound(each.bound)
    sharing, smoothing = _share(grid, request, options, bound, len(drawn))
    whole = sharing.method.event(grid, sharing.whole, each.key_origin)
    nobody = _outline(grid, each, sharing, smoothing, request, public_facts, reading)
    return complete_series(nobody, periods, sharing, smoothing, whole, drawn, charge)


def name_series(whole: Measurement, periods: Periods, sharing: Sharing) -> Measurement:
    """Return what is charged for all snapshots, with the series' name in a ledger's line."""
    first, last, number = periods.names[0], periods.names[-1], len(periods.names)
    where = "all" if sharing.person == "all" else "one"
    said = f"{whole.mechanism}, {number} snapshots {first} to {last}, {whole.unit} in {where}"
    return replace(whole, mechanism=said)


def complete_series(
    nobody: Release,
    periods: Periods,
    sharing: Sharing,
    smoothing: Smoothing,
    whole: Measurement,
    drawn: Sequence[ReleasedTable],
    charge: Charge | None,
) -> Series:
    """Return the series of drawn tables, each a release that says of which series it is."""
    where = "every snapshot" if sharing.person == "all" else "one snapshot only"
    releases = []
    for table, time in zip(drawn, periods.names, strict=True):
        fact = (
            f"that it is the snapshot of {time} in a series of {len(periods.names)}, from "
            f"{periods.names[0]} to {periods.names[-1]}, of which a {whole.unit} is in {where}; "
            f"together they spend {whole.spends}, charged once"
        )
        facts = (*nobody.public_facts, fact)
        releases.append(replace(nobody, table=table, charge=charge, public_facts=facts))
    return Series(releases, periods, sharing, smoothing, whole)
