"""Publish amounts of several periods on one scale, under one budget with one charge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from geodp.accuracy.interval import USUAL, Interval
from geodp.advice import pick, takes
from geodp.errors import Rule
from geodp.grid.region import Labels
from geodp.kinds.amounts.amounts import Amounts
from geodp.kinds.amounts.declaring import AnyPrior, declare_prior
from geodp.kinds.amounts.kind import AmountsSeriesCard
from geodp.kinds.amounts.publish import (
    AmountsDesign,
    AmountsInputs,
    bound_weights,
    design_amounts,
    find_released,
    make_plan,
    prepare_table,
    require_exact,
)
from geodp.kinds.amounts.streams import AmountAxes, AmountTable
from geodp.privacy.assumption import ContributionBound
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
from geodp.release.sharing import Person, Sharing
from geodp.release.transaction import Prepared

TABLES = Rule(
    "amounts-series-tables",
    "A series of amounts takes an AmountTable for each period: geodp.amounts.read_records makes "
    "one of records.",
)


class AmountsSeries(ReleasedPeriods[Amounts, AmountsSeriesCard]):
    """Releases of amounts in chronological order, on one scale and one grid.

    Its attributes are those of :class:`geodp.release.series.ReleasedPeriods`: ``periods``,
    ``releases``, one with its part of the budget for each period, and ``index``. ``series[2]`` and
    ``series["2020"]`` are single releases, and ``series[1:]`` a tuple of some.
    """

    def compare(
        self,
        region: Any,
        labels: Labels | None = None,
        *,
        times: tuple[str, str] | None = None,
        interval: str = USUAL,
    ) -> dict[str, Interval | None]:
        """Estimate by how much a region differs between two periods, the later less the earlier.

        Parameters
        ----------
        region, labels
            As for :meth:`geodp.amounts.Amounts.estimate`.
        times : (str, str), optional
            The two periods; default: the first and the last one.
        interval : str
            As for :meth:`geodp.Release.estimate`.

        Returns
        -------
        dict of str
            As :meth:`geodp.amounts.Amounts.compare` returns it: the errors of two periods are
            independent.

        Raises
        ------
        UsageError
            A time that is no period, the same one twice, or not two of them.
        """
        found: dict[str, Interval | None] = super().compare(
            region, labels=(labels, labels), times=times, interval=interval
        )
        return found


@dataclass(frozen=True, kw_only=True)
class AmountsSeriesOptions:
    """Options of a series of amounts; see :func:`publish_series`.

    Attributes
    ----------
    person : {"all", "one"}
    means : bool
    share : number
    """

    person: Person
    means: bool = True
    share: Any = "1/2"


@takes(AmountsSeriesOptions, make_request, without=OF_TABLES)
def publish_series(
    tables: Sequence[AmountTable],
    *,
    times: Sequence[str],
    person: Person,
    method: str | None = None,
    prior: AnyPrior | None = None,
    prior_source: str | None = None,
    **options: Any,
) -> AmountsSeries:
    """Release amounts of several periods, such as mean income by year, under one budget.

    Every period is a release as of :func:`geodp.amounts.publish`, with its part of the budget and
    with noise of its own. Nothing is smoothed over time: what differs between two periods is the
    difference of what was measured in each.

    Parameters
    ----------
    tables : sequence of AmountTable
        Confidential records of every period, in the order of time, each read by
        :func:`geodp.amounts.read_records` on one grid, with one clip, step, unit and name of the
        amount, the same edges of classes and the same largest weight.
    times : sequence of str
        Public: years, months, days or hours in ISO 8601 (``2024-05``), evenly spaced.
    person : {"all", "one"}
        Whether one person may be in every period, which then share the budget, or is in only one,
        and each has all of it. You assert this. If a person replaces another (``neighbours``), the
        two may be in different periods, each of which then has half.
    means, share
        See :func:`geodp.amounts.publish`; the same in all periods.
    epsilon, rho, delta
        Budget of all periods together, exact: epsilon alone for Laplace noise, otherwise the noise
        is Gaussian.
    contribution, people
        As for :func:`geodp.amounts.publish`, of one period.
    method : str, optional
        See :func:`geodp.amounts.publish`.
    prior, prior_source : optional
        See :func:`geodp.amounts.publish`; one prior for every period, of which each learns by
        itself how far it can be trusted.
    metadata
        See :func:`geodp.publish`; for the card of every period, without ``reference_date``,
        which belongs to one period; ``supersedes`` is the id of the earlier series.
    allow_empty
        See :func:`geodp.publish`. A period may be empty without it, but not a file.
    key, ledger, dataset, records
        See :func:`geodp.publish`. From a stored key, a key for every period is derived, using the
        records of all periods, all parameters and the period's number: publishing the same series
        again gives the same releases, at no cost, and no two periods share noise. The ledger gets
        one line, which is charged before anything drawn is returned.

    Returns
    -------
    AmountsSeries
        Releases by number and by time, with ``estimate(region)`` and ``compare(region)``.

    Raises
    ------
    UsageError
        Before the charge: tables of another grid or scale, times that are missing or repeated,
        ``person`` that is not declared, or a period that :func:`geodp.amounts.publish` would
        refuse.
    BudgetError
        The ledger's cap would be exceeded; nothing was charged or shown.

    Notes
    -----
    The proof is in docs/proofs/amounts.md.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa, geodp
    >>> draw, tables = np.random.default_rng(1), []
    >>> grid = geodp.Grid.regular((16, 16), crs="EPSG:3035", transform=(1, 0, 0, 0, 1, 0))
    >>> for raised in (1, 1.1):
    ...     x, y = draw.uniform(0, 16, (2, 50_000))
    ...     income = raised * draw.lognormal(5.5, 0.7, 50_000)
    ...     rows = pa.table({"x": x, "y": y, "income": income})
    ...     tables.append(geodp.amounts.read_records(rows, grid=grid, x="x", y="y",
    ...         amount="income", clip=(0, 2000), unit_of_amount="EUR"))
    >>> series = geodp.amounts.publish_series(tables, times=["2015", "2020"], person="all",
    ...     contribution=1, epsilon=1)
    >>> series["2020"].index.guarantee.spends
    'epsilon = 1/2'
    >>> change = series.compare((0, 0, 16, 16))["mean"]
    >>> 20 < change.low <= change.value <= change.high < 45
    True
    """
    chosen = AmountsSeriesOptions(person=person, **pick(AmountsSeriesOptions, options))
    request = make_series_request(**options, method=method)
    prepared = prepare_series(
        tables, Periods.of(times), request, chosen, prior=prior, prior_source=prior_source
    )
    # Between: the frame of the decorator.
    warn_before_release(prepared.design.shown, between=1)
    return prepared.release()


def prepare_series(
    tables: Sequence[AmountTable],
    periods: Periods,
    request: Request,
    options: AmountsSeriesOptions,
    *,
    prior: AnyPrior | None = None,
    prior_source: str | None = None,
) -> Prepared[PeriodsDesign, AmountsSeries]:
    """Do everything of :func:`publish_series` that comes before the charge.

    Raises
    ------
    UsageError
        See :func:`publish_series`.
    """
    first = require_alike(tables, periods, AmountTable, TABLES, _list_alike)
    # The charge must cover the largest contribution in any of the periods.
    bound = bound_weights(tables, request.terms.contribution)
    sharing = share(first.axes, periods, request, bound, options)
    each = replace(request, terms=sharing.each)
    plan = make_plan(first.axes, each, bound, means=options.means, share=options.share)
    for one in tables:
        require_exact(one, plan)
    told = [fact for one in tables for fact in one.facts]
    records = [one.records for one in tables]
    facts, read = join_inputs(records, periods, told, allow_empty=request.allow_empty)
    known = declare_prior(find_released(tables, prior), plan, prior, prior_source)
    inputs = AmountsInputs(facts, (read,), bound, None if known is None else known.state())
    design = design_series(first.axes, periods, request, options, inputs)
    parts = [
        prepare_table(part, one, known) for part, one in zip(design.parts, tables, strict=True)
    ]
    return prepare_periods(design, parts)


def _list_alike(table: AmountTable) -> dict[str, object]:
    """List what all periods have the same of."""
    return {
        "grid": table.records.grid,
        "amount, clip, step or unit": table.scale,
        "edges of classes": table.edges,
        "largest weight": table.max_weight,
    }


def share(
    axes: AmountAxes,
    periods: Periods,
    request: Request,
    bound: ContributionBound,
    options: AmountsSeriesOptions,
) -> Sharing:
    """Divide the budget among periods; UsageError as :func:`publish_series` raises it."""
    method = choose_pyramid(request.method, "Amounts")
    return share_periods(
        axes.grid, method, request.terms.bound(bound), len(periods.names), options.person
    )


def design_series(
    axes: AmountAxes,
    periods: Periods,
    request: Request,
    options: AmountsSeriesOptions,
    inputs: AmountsInputs,
) -> PeriodsDesign:
    """Design a series from public things alone; raises as :func:`publish_series`."""
    sharing = share(axes, periods, request, inputs.bound, options)
    asked: dict[str, Any] = {"means": options.means, "share": options.share}

    def make(each: Request) -> AmountsDesign:
        return design_amounts(axes, each, inputs, **asked)

    card, made = AmountsSeriesCard, AmountsSeries
    return design_periods(make, card, periods, sharing, request, inputs, made)
