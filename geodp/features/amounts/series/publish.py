"""Publish amounts of several periods on one scale, under one budget with one charge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

from geodp.advice import by_names
from geodp.errors import UsageError
from geodp.features.amounts.amounts import Amounts
from geodp.features.amounts.declaring import AnyPrior, declare_prior
from geodp.features.amounts.publish import (
    AmountsDesign,
    AmountsInputs,
    bound_weights,
    design_amounts,
    find_released,
    make_plan,
    name_release,
    prepare_table,
    require_exact,
)
from geodp.features.amounts.series.card import AmountsSeriesCard
from geodp.features.amounts.series.series import (
    AmountsSeries,
    describe_period,
    name_period,
    state_series,
    state_series_guarantee,
)
from geodp.features.amounts.streams import AmountAxes, AmountTable, ReleasedAmounts
from geodp.io.read.public.land import state_land
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.budget import Budget
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Charge, Ledger
from geodp.privacy.neighbours import ADD_REMOVE
from geodp.privacy.noise.draws import Draws
from geodp.privacy.terms import Terms
from geodp.release.card import state_budget
from geodp.release.metadata import require_series_metadata, state_metadata
from geodp.release.periods import Periods, declare_periods, draw_periods, identify_periods
from geodp.release.preview import warn_before_release
from geodp.release.publish import make_event
from geodp.release.release import Release
from geodp.release.request import Request, choose_pyramid
from geodp.release.sharing import Person, Sharing, share_budget
from geodp.release.transaction import Prepared
from geodp.table.reading import join_known, require_rows_of_series
from geodp.table.stated.reading import join_descriptions

LABEL = b"geodp amounts series identity 1"
"""Domain separation of the hash of a series, with a version of the list of components."""

PERIOD = b"geodp amounts period 1"
"""Domain separation of the derivation of a period's key."""


@by_names(eps="epsilon", privacy_budget="epsilon", seed="key")
def publish_series(
    tables: Sequence[AmountTable],
    *,
    times: Sequence[str],
    person: Person,
    means: bool = True,
    share: Any = "1/2",
    epsilon: Budget | None = None,
    rho: Budget | None = None,
    delta: Budget | None = None,
    neighbours: str = ADD_REMOVE,
    contribution: int | None = None,
    unit: str = "person",
    people: float | None = None,
    method: str | None = None,
    prior: AnyPrior | None = None,
    prior_source: str | None = None,
    metadata: Mapping[str, str | int] | None = None,
    allow_empty: bool = False,
    key: NoiseKey | None = None,
    ledger: Ledger | None = None,
    dataset: str | None = None,
    records: str | None = None,
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
    neighbours, unit, method
        See :func:`geodp.amounts.publish`.
    prior, prior_source : optional
        See :func:`geodp.amounts.publish`; one prior for every period, of which each learns by
        itself how far it can be trusted.
    metadata : mapping, optional
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
    >>> change = series.compare((0, 0, 16, 16)).mean
    >>> 20 < change.low <= change.value <= change.high < 45
    True
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
    options = AmountsSeriesOptions(person=person, means=means, share=share)
    prepared = prepare_series(
        tables, Periods.of(times), request, options, prior=prior, prior_source=prior_source
    )
    # Between: the frame of the decorator by_names.
    warn_before_release(prepared.design.shown, between=1)
    return prepared.release()


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


@dataclass(frozen=True, eq=False)
class AmountsSeriesDesign:
    """A series of amounts before anything is drawn.

    Attributes
    ----------
    request : Request
        Of all periods together.
    inputs : AmountsInputs
        Of all periods together.
    periods : Periods
    sharing : Sharing
    total : Measurement
        Event of all periods together.
    parts : tuple of AmountsDesign
        The periods, each with its part of the budget.
    index : AmountsSeriesCard
        Without a charge.
    """

    drawn: ClassVar[Any] = tuple[ReleasedAmounts, ...]

    request: Request
    inputs: AmountsInputs
    periods: Periods
    sharing: Sharing
    total: Measurement
    parts: tuple[AmountsDesign, ...]
    index: AmountsSeriesCard

    @property
    def event(self) -> Measurement:
        """The event to charge for all periods, with the series' name for the ledger."""
        names, unit = self.periods.names, self.total.unit
        one = name_release(replace(self.parts[0].plan, whole=self.total))
        text = (
            f"{one.mechanism}, {len(names)} periods {names[0]} to {names[-1]}, {unit} in "
            f"{self.sharing.person}"
        )
        return replace(one, mechanism=text)

    @property
    def draws(self) -> Draws:
        """With the key of every period, the draws of a release of its amounts."""
        return declare_periods(PERIOD, len(self.parts), self.parts[0].draws)

    @property
    def shown(self) -> Release:
        """The map of no records of the first period."""
        return self.parts[0].shown

    def complete(self, drawn: Sequence[ReleasedAmounts], charge: Charge | None) -> AmountsSeries:
        """Return the series of what was drawn in place of nothing."""
        parts = zip(self.parts, drawn, strict=True)
        releases = tuple(part.complete(one, charge) for part, one in parts)
        return AmountsSeries(
            self.periods, releases, replace(self.index, budget=state_budget(charge))
        )


def prepare_series(
    tables: Sequence[AmountTable],
    periods: Periods,
    request: Request,
    options: AmountsSeriesOptions,
    *,
    prior: AnyPrior | None = None,
    prior_source: str | None = None,
) -> Prepared[AmountsSeriesDesign, AmountsSeries]:
    """Do everything of :func:`publish_series` that comes before the charge.

    Raises
    ------
    UsageError
        See :func:`publish_series`.
    """
    axes, times = require_one_scale(tables, periods), periods.names
    # The charge must cover the largest contribution in any of the periods.
    bound = bound_weights(tables, request.terms.contribution)
    each = replace(request, terms=share(axes, periods, request, bound, options).each)
    plan = make_plan(axes, each, bound, means=options.means, share=options.share)
    for one in tables:
        require_exact(one, plan)
    read = {
        time: (one.records.rows, one.records.reading)
        for time, one in zip(times, tables, strict=True)
    }
    met = require_rows_of_series(read, allow_empty=request.allow_empty)
    told = [fact for one in tables for fact in one.facts]
    facts = (*dict.fromkeys((*met, *told)), *state_land(axes.grid))
    public = join_descriptions(
        None if one.records.reading is None else one.records.reading.public for one in tables
    )
    known = declare_prior(find_released(tables, prior), plan, prior, prior_source)
    expected = None if known is None else known.state()
    inputs = AmountsInputs(facts, (public,), bound, expected)
    design = design_series(axes, periods, request, options, inputs)
    parts = [
        prepare_table(part, one, known) for part, one in zip(design.parts, tables, strict=True)
    ]
    cells, draws = [one.cells for one in parts], [one.draw for one in parts]
    named: dict[str, Prepared[AmountsDesign, Amounts]] = dict(zip(times, parts, strict=True))

    def identify() -> bytes:
        digests = [one.identify() for one in parts]
        return identify_periods(LABEL, times, options.person, design.total, digests)

    record = {
        "occupied_cells": cells,
        "records_beyond_clip": {
            time: one.record["records_beyond_clip"] for time, one in named.items()
        },
    }
    if known is not None:
        record["prior"] = parts[0].record["prior"]
    return Prepared(
        design,
        identify,
        lambda key: draw_periods(PERIOD, times, key, draws),
        join_known(one.records.reading for one in tables),
        cells=cells,
        counted={
            name: {time: one.counted[name] for time, one in named.items()}
            for name in parts[0].counted
        },
        record=record,
    )


def require_one_scale(tables: Sequence[AmountTable], periods: Periods) -> AmountAxes:
    """Return the scale and grid of all tables; UsageError where they differ or miss a time."""
    if not all(isinstance(table, AmountTable) for table in tables):
        raise UsageError(
            "A series of amounts takes an AmountTable for each period: "
            "geodp.amounts.read_records makes one of records.",
            code="amounts-series-tables",
        )
    if len(tables) != len(periods.names):
        raise UsageError(
            f"There are {len(tables)} tables of amounts and {len(periods.names)} times; give one "
            "table for each time.",
            code="amounts-series-times",
        )
    first = tables[0]
    for table, time in zip(tables, periods.names, strict=True):
        different = [
            name
            for name, one, other in (
                ("grid", first.records.grid, table.records.grid),
                ("amount, clip, step or unit", first.scale, table.scale),
                ("edges of classes", first.edges, table.edges),
                ("largest weight", first.max_weight, table.max_weight),
            )
            if one != other
        ]
        if different:
            raise UsageError(
                f"The period {time} has another {different[0]} than {periods.names[0]}; read the "
                "records of all periods with the same options.",
                code="amounts-periods-differ",
            )
    return first.axes


def share(
    axes: AmountAxes,
    periods: Periods,
    request: Request,
    bound: ContributionBound,
    options: AmountsSeriesOptions,
) -> Sharing:
    """Divide the budget among periods; UsageError as :func:`publish_series` raises it."""
    terms = request.terms.bound(bound)
    return share_budget(
        axes.grid,
        choose_pyramid(request.method, "Amounts"),
        terms,
        snapshots=len(periods.names),
        person=options.person,
        # As in a single release of amounts, the budget says which noise it is for.
        noise="gaussian" if terms.gaussian else "laplace",
    )


def design_series(
    axes: AmountAxes,
    periods: Periods,
    request: Request,
    options: AmountsSeriesOptions,
    inputs: AmountsInputs,
) -> AmountsSeriesDesign:
    """Design a series from public things alone; raises as :func:`publish_series`."""
    sharing, times = share(axes, periods, request, inputs.bound, options), periods.names
    terms = request.terms.bound(inputs.bound)
    total = make_event(axes.grid, cast(Pyramid, sharing.method), terms, request.key_origin)
    own = replace(request, terms=sharing.each)
    one = design_amounts(axes, own, inputs, means=options.means, share=options.share)
    empty, whole = one.preview, one.plan.whole
    promise = state_series_guarantee(
        total,
        empty.index.amount,
        empty.index.guarantee.not_protected[len(whole.not_protected) :],
        inputs.prior,
        person=sharing.person,
        periods=len(times),
        changed=sharing.changed,
        each_spends=whole.spends,
    )
    facts = [describe_period(time, times, promise) for time in times]
    parts = tuple(replace(one, preview=name_period(empty, fact)) for fact in facts)
    index = state_series(
        periods, empty.index.amount, promise, inputs.prior, private=total.is_private
    )
    return AmountsSeriesDesign(request, inputs, periods, sharing, total, parts, index)
