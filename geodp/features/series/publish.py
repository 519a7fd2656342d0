"""Publication of tables of one grid, one for each snapshot, under one budget and one charge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from geodp import progress
from geodp.advice import takes
from geodp.errors import UsageError
from geodp.features.series.periods import Periods
from geodp.features.series.series import Series
from geodp.features.series.sharing import Noise, Person, Sharing, share_budget, spread_loss
from geodp.features.series.smoothing import Mode, Smoother, Smoothing
from geodp.grid.grid import Grid
from geodp.io.read.public.land import state_land
from geodp.mechanisms import Mechanism, choose_method
from geodp.mechanisms.base import Plain
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, digest
from geodp.privacy.ledger import Charge
from geodp.privacy.noise.draws import Draws
from geodp.privacy.terms import Terms
from geodp.release.charging import Keep, release_and_charge
from geodp.release.metadata import require_series_metadata
from geodp.release.noise_identity import encode, loss_fields, release_digest
from geodp.release.preview import preview_release, warn_before_release
from geodp.release.publish import make_event
from geodp.release.release import Release
from geodp.release.request import OF_TABLES, Request, make_request
from geodp.table.contribution import bound_contribution, combine_bounds, require_no_sums
from geodp.table.counts import CountTable
from geodp.table.reading import require_rows_of_series
from geodp.table.released import ReleasedTable
from geodp.table.stated.reading import StatedReading, join_descriptions
from geodp.table.totals import InMemoryTable

LABEL = b"geodp series identity 1"
"""Domain separation of the hash of a series, with a version of the list of components."""

SNAPSHOT = b"geodp series snapshot 1"
"""Domain separation of the derivation of a snapshot's key."""


@dataclass(frozen=True, kw_only=True)
class SeriesOptions:
    """Options of a series that a single release does not have; see :func:`publish_series`.

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


@takes(make_request, without=OF_TABLES)
def publish_series(
    tables: Sequence[CountTable],
    *,
    times: Sequence[str],
    person: Person,
    method: str | Mechanism = "pyramid",
    noise: Noise = "best",
    smooth: Mode = "best",
    cycles: Sequence[int] = (),
    **options: Any,
) -> Series:
    """Release the snapshots of a series under one budget.

    Parameters
    ----------
    tables : sequence of CountTable
        Confidential counts on one public grid, in the order of time.
    times : sequence of str
        Public: years, months, days or hours in ISO 8601 (``2024-05``), without gaps and
        repetitions.
    person : {"all", "one"}
        Whether one person may be in every snapshot, which then share the budget, or is in only one,
        and each has all of it. You assert this. If a person replaces another (``neighbours``), the
        two may be in different snapshots, each of which then has half.
    method : str or Mechanism
        See :func:`geodp.publish`.
    key, ledger, dataset
        See :func:`geodp.publish`. From a stored key, a key for every snapshot is derived, using all
        tables, all parameters and the snapshot's number: publishing the same series again gives the
        same releases, at no cost, and no two snapshots share noise, even if their tables are equal.
        The ledger gets one line, which is charged before anything drawn is returned.
    epsilon, rho, delta
        Budget of all snapshots together, exact. With epsilon and delta, the noise is Gaussian where
        this is less.
    noise : {"best", "laplace", "gaussian"}
        Best: the one with the smaller errors by closed forms; a method without them has Gaussian
        noise if a person is measured 30 times or more in all snapshots and levels.
    smooth : {"best", "both", "forward", "none"}
        Whether the snapshots before one, or before and after it, predict the children of a node
        (:mod:`geodp.features.series.smoothing`). This is post-processing of the same measurements,
        so that under a stored key another choice costs nothing. Best: both, with the pyramid.
    cycles : sequence of int
        Numbers of snapshots after which patterns repeat, such as 24 and 168 for hours.
    allow_empty, records, neighbours, contribution, unit, people
        See :func:`geodp.publish`; contribution and people are those of one snapshot. A snapshot may
        be empty without ``allow_empty``, but not a file, nor a value of a filter that several
        snapshots share.
    metadata
        See :func:`geodp.publish`; for the card of every snapshot, without ``reference_date``,
        which belongs to one snapshot; ``supersedes`` is the id of the earlier series.

    Returns
    -------
    Series
        A list of releases, each like one of :func:`geodp.publish`, with the budget of all that it
        depends on: of its own noise, and where it is smoothed of that of other snapshots.

    Raises
    ------
    UsageError
        Before the charge: tables have different grids, times are missing or repeated, ``person`` is
        not declared, the budget does not fit the noise, or a single release would be refused.
    BudgetError
        The ledger's cap would be exceeded; nothing was charged or shown.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> grid = geodp.Grid.regular((16, 16))
    >>> months = [geodp.CountTable.from_dense(np.full((16, 16), n), grid) for n in (90, 100)]
    >>> options = {"person": "all", "epsilon": 1, "contribution": 1}
    >>> series = geodp.publish_series(months, times=["2024-01", "2024-02"], **options)
    >>> len(series), str(series[0].event.epsilon), str(series[0].event.own.epsilon)
    (2, '1', '1/2')
    """
    request = make_request(**options, method=method)
    request = replace(request, metadata=require_series_metadata(request.metadata))
    chosen = SeriesOptions(person=person, noise=noise, smooth=smooth, cycles=cycles)
    prepared = prepare_series(tables, Periods.of(times), request, chosen)
    # Between: the frame of the decorator.
    warn_before_release(prepared.preview, between=1)
    return prepared.release()


@dataclass(frozen=True, eq=False)
class PreparedSeries:
    """A series with all public properties resolved; nothing is charged and nothing drawn.

    Attributes
    ----------
    tables : tuple of CountTable
    periods : Periods
    request : Request
    sharing : Sharing
    smoothing : Smoothing
    total, each : Measurement
        Privacy events of all snapshots together, and of one of them.
    preview : Release
        An empty snapshot, without the properties that distinguish snapshots.
    """

    tables: tuple[CountTable, ...] = field(repr=False)
    periods: Periods
    request: Request
    sharing: Sharing
    smoothing: Smoothing
    total: Measurement
    each: Measurement
    preview: Release

    @property
    def method(self) -> Mechanism:
        """The method of a snapshot."""
        return self.sharing.method

    def release(self, keep: Keep[list[ReleasedTable]] | None = None) -> Series:
        """Draw every snapshot, and charge once; ``keep`` stores them and a fingerprint before."""
        named = name_series(self.total, self.periods, self.sharing)
        drawn, charge = release_and_charge(
            self.request, named, self.declare(), self.identify, self._draw, keep
        )
        return self.complete(drawn, charge)

    def declare(self) -> Draws:
        """Declare all draws: with the key of every snapshot, the measurements of its method."""
        each = self.method.declare(self.tables[0].grid, self.each)
        return Draws.of((), {name_snapshot(t): each for t in range(len(self.tables))})

    def identify(self) -> bytes:
        """Return the SHA-256 of everything that the series depends on except the key."""
        named: tuple[Plain, ...] = (
            ("times", self.periods.names),
            ("person", self.sharing.person),
            # A label in the input of the hash: renaming it would change the derived keys, and with
            # them every release under a stored key.
            ("whole", loss_fields(self.total)),
        )
        # Keys depend on all tables: adding a snapshot to a series gives fresh noise everywhere, so
        # that no difference of two series reveals one table.
        digests = [release_digest(table, self.method, self.each) for table in self.tables]
        return digest(LABEL, encode(named), *digests)

    def complete(self, drawn: Sequence[ReleasedTable], charge: Charge | None) -> Series:
        """Return the series of drawn tables."""
        return complete_series(
            self.preview, self.periods, self.sharing, self.smoothing, self.total, drawn, charge
        )

    def _draw(self, series_key: NoiseKey) -> list[ReleasedTable]:
        """Draw the snapshots, each with a separate key."""
        keys = tuple(series_key.derive(name_snapshot(t)) for t in range(len(self.tables)))
        try:
            # Smoothing draws the same noise under the same keys; only the post-processing differs.
            if self.smoothing.mode != "none":
                method = cast(Pyramid, self.method)
                return Smoother(self.tables, keys, method, self.each, self.smoothing).run()
            released = []
            for time, table, key in zip(self.periods.names, self.tables, keys, strict=True):
                progress.begin(f"Releasing {time}")
                released.append(self.method.release(table, self.each, key))
            return released
        finally:
            for key in keys:
                key.forget()


def name_snapshot(number: int) -> bytes:
    """Return the digest from which the key of a snapshot is derived, counted from 0."""
    return digest(SNAPSHOT, encode(number))


def prepare_series(
    tables: Sequence[CountTable], periods: Periods, request: Request, options: SeriesOptions
) -> PreparedSeries:
    """Do everything of :func:`publish_series` that precedes the charge.

    Raises
    ------
    UsageError
        See :func:`publish_series`.
    """
    grid, terms = require_one_grid(tables, periods), request.terms
    # The charge must cover the largest contribution in any of the tables, and all are checked
    # before the first draw.
    bounds = [bound_contribution(table, terms.contribution) for table in tables]
    bound = terms.bound(combine_bounds(bounds))
    sharing, smoothing = _share(grid, request, options, bound, len(tables))
    method = sharing.method
    total = make_event(grid, method, sharing.total, request.key_origin)
    each = make_event(grid, method, sharing.each, request.key_origin)
    read = {
        time: (table.rows, table.reading) for time, table in zip(periods.names, tables, strict=True)
    }
    met = require_rows_of_series(read, allow_empty=request.allow_empty)
    sums = [fact for table in tables for fact in require_no_sums(grid, each, InMemoryTable(table))]
    public_facts = (*dict.fromkeys((*met, *sums)), *state_land(grid))
    public = join_descriptions(
        None if one.reading is None else one.reading.public for one in tables
    )
    preview = _make_dry_release(grid, each, sharing, smoothing, request, public_facts, public)
    return PreparedSeries(tuple(tables), periods, request, sharing, smoothing, total, each, preview)


def _share(
    grid: Grid, request: Request, options: SeriesOptions, bound: Terms, snapshots: int
) -> tuple[Sharing, Smoothing]:
    """Return how snapshots share the budget, and how they predict each other."""
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


def _make_dry_release(
    grid: Grid,
    each: Measurement,
    sharing: Sharing,
    smoothing: Smoothing,
    request: Request,
    public_facts: tuple[str, ...],
    reading: StatedReading | None,
) -> Release:
    """Return the dry release, an empty snapshot."""
    people = request.terms.people
    preview = preview_release(
        grid, sharing.method, each, people, public_facts, reading, request.metadata
    )
    return smoothing.annotate(preview)


def require_one_grid(tables: Sequence[CountTable], periods: Periods) -> Grid:
    """Return the grid of all tables.

    UsageError if grids differ, or tables do not match the times.
    """
    if not all(isinstance(table, CountTable) for table in tables):
        raise UsageError(
            "publish_series takes CountTables; CountTable.from_dense makes one.",
            code="table-expected",
        )
    if len(tables) != len(periods.names):
        raise UsageError(
            f"There are {len(tables)} tables and {len(periods.names)} times; give one table for "
            "each time.",
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
    """Restore the series of tables that were drawn, charged and stored by the same call."""
    each = cast(Measurement, drawn[0].event)
    grid, bound = drawn[0].grid, request.terms.bound(each.bound)
    sharing, smoothing = _share(grid, request, options, bound, len(drawn))
    total = sharing.method.event(grid, sharing.total, each.key_origin)
    preview = _make_dry_release(grid, each, sharing, smoothing, request, public_facts, reading)
    return complete_series(preview, periods, sharing, smoothing, total, drawn, charge)


def name_series(total: Measurement, periods: Periods, sharing: Sharing) -> Measurement:
    """Return the event to charge for all snapshots, with the series' name for the ledger."""
    first, last, number = periods.names[0], periods.names[-1], len(periods.names)
    where = "all" if sharing.person == "all" else "one"
    description = (
        f"{total.mechanism}, {number} snapshots {first} to {last}, {total.unit} in {where}"
    )
    return replace(total, mechanism=description)


def complete_series(
    preview: Release,
    periods: Periods,
    sharing: Sharing,
    smoothing: Smoothing,
    total: Measurement,
    drawn: Sequence[ReleasedTable],
    charge: Charge | None,
) -> Series:
    """Return the series of drawn tables, each a release that describes its series."""
    where = "every snapshot" if sharing.person == "all" else "one snapshot only"
    releases = []
    for number, (table, time) in enumerate(zip(drawn, periods.names, strict=True)):
        seen = smoothing.count_seen(number, len(drawn))
        event = spread_loss(cast(Measurement, table.event), total, sharing.changed, seen)
        fact = (
            f"that it is the snapshot of {time} in a series of {len(periods.names)}, from "
            f"{periods.names[0]} to {periods.names[-1]}, of which a {total.unit} is in {where}; "
            f"together they spend {total.spends}, charged once"
        )
        # A snapshot may be passed on alone: its card must show that the budget covers others, too.
        facts = (*preview.public_facts, fact)
        made = replace(table, event=event)
        releases.append(replace(preview, table=made, charge=charge, public_facts=facts))
    return Series(releases, periods, sharing, smoothing, total)
