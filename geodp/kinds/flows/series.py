"""Publish flows of several periods between the same zones, under one budget with one charge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from geodp.advice import pick, takes
from geodp.errors import Rule
from geodp.grid.axes import Attribute
from geodp.kinds.flows.flows import Flows
from geodp.kinds.flows.kind import FlowsSeriesCard
from geodp.kinds.flows.levels import FlowsOptions
from geodp.kinds.flows.prior_flows import FlowsPrior
from geodp.kinds.flows.publish import (
    FlowsDesign,
    FlowsInputs,
    choose_unit,
    declare_prior,
    design_flows,
    prepare_trips,
    require_pairs,
)
from geodp.kinds.flows.zones import Zones, zones_of
from geodp.release.inputs import choose_prior
from geodp.release.periods import Periods
from geodp.release.preview import warn_before_release
from geodp.release.request import (
    OF_TABLES,
    Request,
    choose_pyramid,
    make_request,
    make_series_request,
)
from geodp.release.series import (
    PeriodsDesign,
    ReleasedPeriods,
    design_periods,
    join_inputs,
    prepare_periods,
    require_alike,
    share_periods,
)
from geodp.release.sharing import Person
from geodp.release.transaction import Prepared
from geodp.table.contribution import bound_contribution, combine_bounds
from geodp.table.counts import CountTable

EXPECTED = Rule(
    "flows-series-tables",
    "A series of flows takes a table of trips for each period: geodp.flows.read_trips, read_stays "
    "and read_pings make one.",
)

FlowsSeries = ReleasedPeriods[Flows, FlowsSeriesCard]
"""Releases of flows in chronological order."""


@dataclass(frozen=True, kw_only=True)
class FlowsSeriesOptions(FlowsOptions):
    """Options of a series of flows; see :func:`publish_series`.

    Attributes
    ----------
    person : {"all", "one"}
    """

    person: Person


@takes(FlowsSeriesOptions, make_request, without=(*OF_TABLES, "people"))
def publish_series(
    tables: Sequence[CountTable],
    *,
    times: Sequence[str],
    person: Person,
    unit: str | None = None,
    method: str | None = None,
    prior: Flows | CountTable | None = None,
    prior_source: str | None = None,
    leave_out_prior: bool = False,
    **options: Any,
) -> FlowsSeries:
    """Release flows of several periods under one budget, with one charge.

    Every period is a release as of :func:`geodp.flows.publish`, with its part of the budget and
    with noise of its own. Nothing is smoothed over time.

    Parameters
    ----------
    tables : sequence of CountTable
        Confidential trips of every period in the order of time, as :func:`geodp.flows.read_trips`
        and others read them: between the same zones, and with the same labels.
    times : sequence of str
        Public: years, months, days or hours in ISO 8601 (``2024-05``), evenly spaced.
    person : {"all", "one"}
        Whether one person may be in every period, which then share the budget, or is in only one,
        and each has all of it. You assert this. A unit such as a person-day is in one.
    unit, contribution
        As for :func:`geodp.flows.publish`, of one period.
    levels, expected_trips, concentrated, label_share, method
        See :func:`geodp.flows.publish`; the same in all periods.
    prior, prior_source, leave_out_prior : optional
        See :func:`geodp.flows.publish`; one prior for every period, of which each learns by itself
        how far it can be trusted.
    epsilon, rho, delta
        Budget of all periods together, exact: epsilon alone for Laplace noise, otherwise the noise
        is Gaussian.

    Returns
    -------
    ReleasedPeriods
        Releases by number and by time, with ``estimate(origin, destination)`` and
        ``compare(origin, destination)``.

    Raises
    ------
    UsageError
        Before the charge: tables of other zones or labels, times that are missing or repeated, and
        as for :func:`geodp.flows.publish`.
    BudgetError
        The ledger's cap would be exceeded; nothing was charged or shown.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> pairs = geodp.Grid.regular((8, 8)).pairs()
    >>> years = [geodp.CountTable.from_dense(np.full(pairs.shape, n), pairs) for n in (3, 2)]
    >>> series = geodp.flows.publish_series(years, times=["2019", "2020"], person="all",
    ...     contribution=1, epsilon=1)
    >>> series["2020"].index.guarantee.spends
    'epsilon = 1/2'
    """
    chosen = FlowsSeriesOptions(person=person, **pick(FlowsSeriesOptions, options))
    periods = Periods.of(times)
    first = require_tables(tables, periods)
    unit = choose_unit(first, unit)
    request = make_series_request(**options, method=method, unit=unit)
    known = None
    if prior is None or any(one is prior for one in tables):
        # Trips of any period are confidential, and no prior.
        choose_prior(first, None if prior is None else first, prior_source)
    else:
        zones = Zones.of(zones_of(first.grid))
        known = declare_prior(zones, prior, prior_source, left_out=leave_out_prior)
    prepared = prepare_series(tables, periods, request, chosen, prior=known)
    # Between: the frame of the decorator.
    warn_before_release(prepared.design.shown, between=1)
    return prepared.release()


def prepare_series(
    tables: Sequence[CountTable],
    periods: Periods,
    request: Request,
    options: FlowsSeriesOptions,
    *,
    prior: FlowsPrior | None = None,
) -> Prepared[PeriodsDesign, FlowsSeries]:
    """Do everything of :func:`publish_series` that comes before the charge; a declared ``prior``.

    Raises
    ------
    UsageError
        See :func:`publish_series`.
    """
    grid = require_tables(tables, periods).grid
    stated = request.terms.contribution
    # The charge must cover the largest contribution in any of the periods.
    bound = combine_bounds([bound_contribution(one, stated) for one in tables])
    facts, reading = join_inputs(tables, periods, (), allow_empty=request.allow_empty)
    inputs = FlowsInputs(facts, (reading,), bound, prior)
    zones = Zones.of(zones_of(grid))
    design = design_series(zones, grid.attributes, periods, request, options, inputs)
    parts = [prepare_trips(part, one) for part, one in zip(design.parts, tables, strict=True)]
    return prepare_periods(design, parts)


def require_tables(tables: Sequence[CountTable], periods: Periods) -> CountTable:
    """Return the first table of trips; UsageError where not all are between the same zones."""
    first = require_alike(tables, periods, CountTable, EXPECTED, lambda one: {"grid": one.grid})
    require_pairs(first.grid)
    return first


def design_series(
    zones: Zones,
    attributes: tuple[Attribute, ...],
    periods: Periods,
    request: Request,
    options: FlowsSeriesOptions,
    inputs: FlowsInputs,
) -> PeriodsDesign:
    """Design a series from public things alone; raises as :func:`publish_series`."""
    method = choose_pyramid(request.method, "Both ends of flows")
    terms = request.terms.bound(inputs.bound)
    sharing = share_periods(zones.grid, method, terms, len(periods.names), options.person)

    def make(each: Request) -> FlowsDesign:
        return design_flows(zones, attributes, each, inputs, options)

    return design_periods(make, FlowsSeriesCard, periods, sharing, request, inputs)
