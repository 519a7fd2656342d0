"""Publication of tables of one grid, one for each snapshot, under one budget and one charge."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from geodp.advice import pick, takes
from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.kinds.series.kind import SeriesCard, SharingInfo
from geodp.kinds.series.series import Series, state_index
from geodp.kinds.series.smoothing import Mode, Smoother, Smoothing
from geodp.mechanisms import Mechanism, choose_method
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Charge
from geodp.release.inputs import check_labels
from geodp.release.periods import Periods, name_part
from geodp.release.preview import warn_before_release
from geodp.release.publish import DrawnTable, design_table, prepare_table
from geodp.release.request import OF_TABLES, Request, make_event, make_request, make_series_request
from geodp.release.series import PeriodsDesign, join_inputs, prepare_periods, require_alike
from geodp.release.sharing import Noise, Person, share_budget, spread_loss
from geodp.release.transaction import DrawnCells, Inputs, Prepared
from geodp.table.contribution import bound_contribution, combine_bounds
from geodp.table.counts import CountTable
from geodp.table.index import describe_period

LABEL = b"geodp series identity 1"
"""Domain separation of the hash of a series, with a version of the list of components."""

SNAPSHOT = b"geodp series snapshot 1"
"""Domain separation of the derivation of a snapshot's key."""


TABLES = Rule(
    "table-expected", "publish_series takes CountTables; CountTable.from_dense makes one."
)


@dataclass(frozen=True, kw_only=True)
class SeriesOptions:
    """Options of a series that a single release does not have; see :func:`publish_series`.

    Attributes
    ----------
    person : {"all", "one"}
    noise : {"best", "laplace", "gaussian"}
        Best: the one with the smaller errors by closed forms; a method without them has Gaussian
        noise if a person is measured 30 times or more in all snapshots and levels.
    smooth : {"best", "both", "forward", "none"}
        Whether the snapshots before one, or before and after it, predict the children of a node
        (:mod:`geodp.kinds.series.smoothing`). This is post-processing of the same measurements,
        so that under a stored key another choice costs nothing. Best: both, with the pyramid.
    cycles : sequence of int
        Numbers of snapshots after which patterns repeat, such as 24 and 168 for hours.
    """

    person: Person
    noise: Noise = "best"
    smooth: Mode = "best"
    cycles: Sequence[int] = ()


@takes(SeriesOptions, make_request, without=OF_TABLES)
def publish_series(
    tables: Sequence[CountTable],
    *,
    times: Sequence[str],
    person: Person,
    method: str | Mechanism = "pyramid",
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
        Releases by number and by time, each like one of :func:`geodp.publish`, with the budget of
        all that it depends on: of its own noise, and where it is smoothed of that of other
        snapshots.

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
    chosen = SeriesOptions(person=person, **pick(SeriesOptions, options))
    request = make_series_request(**options, method=method)
    prepared = prepare_series(tables, Periods.of(times), request, chosen)
    # Between: the frame of the decorator.
    warn_before_release(prepared.design.shown, between=1)
    return prepared.release()


@dataclass(frozen=True, eq=False)
class SeriesDesign(PeriodsDesign):
    """A series of tables before anything is drawn.

    Its attributes are those of :class:`geodp.release.series.PeriodsDesign`, and ``smoothing``.
    """

    label: ClassVar[bytes] = SNAPSHOT
    identity: ClassVar[bytes] = LABEL

    smoothing: Smoothing

    def complete(self, drawn: Sequence[DrawnTable], charge: Charge | None) -> Series:
        """Return the series of what was drawn, each with the loss of all that it depends on."""
        made: Series = super().complete(drawn, charge)
        releases, changed = [], self.sharing.changed
        for number, (one, part) in enumerate(zip(made, self.parts, strict=True)):
            seen = self.smoothing.count_seen(number, len(drawn))
            event = spread_loss(part.event, self.total, changed, seen)
            releases.append(replace(one, table=replace(one.table, event=event)))
        return replace(made, releases=tuple(releases))


def prepare_series(
    tables: Sequence[CountTable], periods: Periods, request: Request, options: SeriesOptions
) -> Prepared[SeriesDesign, Series]:
    """Do everything of :func:`publish_series` that precedes the charge.

    Raises
    ------
    UsageError
        See :func:`publish_series`.
    """
    grid = require_alike(tables, periods, CountTable, TABLES, lambda one: {"grid": one.grid}).grid
    # The charge must cover the largest contribution in any of the tables, and all are checked
    # before the first draw.
    bound = combine_bounds([bound_contribution(one, request.terms.contribution) for one in tables])
    sums, empty = check_labels(tables, bound), request.allow_empty
    facts, public = join_inputs(tables, periods, sums, allow_empty=empty)
    design = design_series(grid, periods, request, options, Inputs(facts, (public,), bound))
    parts = [
        replace(prepare_table(part, one), draw=partial(part.draw_period, one))
        for part, one in zip(design.parts, tables, strict=True)
    ]
    prepared: Prepared[Any, Series] = prepare_periods(design, parts)
    if design.smoothing.mode == "none":
        return prepared
    return replace(prepared, draw=partial(draw_smoothed, design, tables))


def draw_smoothed(
    design: SeriesDesign, tables: Sequence[CountTable], key: NoiseKey
) -> tuple[DrawnTable, ...]:
    """Draw the snapshots, each with a separate key, and smooth them.

    The noise is the same as without smoothing; only the post-processing differs.
    """
    with ExitStack() as stack:
        derived = (key.derive(name_part(SNAPSHOT, t)) for t in range(len(tables)))
        keys, first = tuple(map(stack.enter_context, derived)), design.parts[0]
        drawn = Smoother(tuple(tables), keys, first.method, first.event, design.smoothing).run()
    return tuple(DrawnTable(DrawnCells.of(one)) for one in drawn)


def design_series(
    grid: Grid, periods: Periods, request: Request, options: SeriesOptions, inputs: Inputs
) -> SeriesDesign:
    """Design a series from public things alone; raises as :func:`publish_series`."""
    terms, number = request.terms.bound(inputs.bound), len(periods.names)
    method = choose_method(request.method, grid)
    if refusal := method.unsupported(grid):
        raise UsageError(refusal)
    person, noise = options.person, options.noise
    sharing = share_budget(grid, method, terms, snapshots=number, person=person, noise=noise)
    smoothing = Smoothing.of(options.smooth, options.cycles, sharing.method, number)
    one = design_table(grid, replace(request, terms=sharing.each, method=sharing.method), inputs)
    total = make_event(grid, sharing.method, sharing.total, request.key_origin)
    empty = smoothing.annotate(one.preview)
    named = periods.names, sharing.person, total.unit, total.spends, SeriesCard.called
    # A snapshot may be passed on alone: its card must show that the budget covers others.
    facts = [(*empty.public_facts, describe_period(time, *named)) for time in periods.names]
    parts = tuple(replace(one, preview=replace(empty, public_facts=each)) for each in facts)
    stated = state_index(
        "population", periods, one.event, total, SharingInfo.of(sharing), smoothing
    )
    made = partial(Series, sharing=sharing, smoothing=smoothing, total=total)
    return SeriesDesign(request, inputs, periods, sharing, total, parts, stated, made, smoothing)
