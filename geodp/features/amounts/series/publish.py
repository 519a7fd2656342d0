"""Publish amounts of several periods on one scale, under one budget with one charge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from geodp import progress
from geodp.advice import takes
from geodp.errors import UsageError
from geodp.features.amounts.amounts import Amounts, preview_amounts, with_drawn
from geodp.features.amounts.card import StatedAmountsPrior
from geodp.features.amounts.declaring import AnyPrior, declare_prior
from geodp.features.amounts.formats.joint import require_columns
from geodp.features.amounts.publish import (
    PreparedAmounts,
    choose_pyramid,
    find_released,
    make_design,
    name_release,
    require_exact,
)
from geodp.features.amounts.scale import Scale
from geodp.features.amounts.series.card import AmountsSeriesCard
from geodp.features.amounts.series.series import (
    AmountsSeries,
    describe_period,
    name_period,
    state_series,
    state_series_guarantee,
)
from geodp.features.amounts.streams import AmountTable, Design, ReleasedAmounts
from geodp.features.series.periods import Periods
from geodp.features.series.sharing import Person, Sharing, share_budget
from geodp.grid.grid import Grid
from geodp.io.read.public.land import state_land
from geodp.mechanisms.base import Plain
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, digest
from geodp.privacy.ledger import Charge
from geodp.privacy.noise.draws import Draws
from geodp.release.card import state_budget
from geodp.release.charging import Keep, release_and_charge
from geodp.release.metadata import require_series_metadata
from geodp.release.noise_identity import encode, loss_fields
from geodp.release.preview import warn_before_release
from geodp.release.publish import make_event
from geodp.release.request import OF_TABLES, Request, make_request
from geodp.table.contribution import bound_contribution, combine_bounds
from geodp.table.reading import require_rows_of_series
from geodp.table.stated.reading import StatedReading, join_descriptions

LABEL = b"geodp amounts series identity 1"
"""Domain separation of the hash of a series, with a version of the list of components."""

PERIOD = b"geodp amounts period 1"
"""Domain separation of the derivation of a period's key."""


@takes(make_request, without=OF_TABLES)
def publish_series(
    tables: Sequence[AmountTable],
    *,
    times: Sequence[str],
    person: Person,
    means: bool = True,
    share: Any = "1/2",
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
    >>> change = series.compare((0, 0, 16, 16)).mean
    >>> 20 < change.low <= change.value <= change.high < 45
    True
    """
    request = make_request(**options, method=method)
    request = replace(request, metadata=require_series_metadata(request.metadata))
    chosen = AmountsSeriesOptions(person=person, means=means, share=share)
    prepared = prepare_series(
        tables, Periods.of(times), request, chosen, prior=prior, prior_source=prior_source
    )
    # Between: the frame of the decorator.
    warn_before_release(prepared.parts[0].preview.count, between=1)
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


@dataclass(frozen=True)
class SharedScale:
    """The scale, classes and grid that all periods of a series share.

    Attributes
    ----------
    scale : Scale
    edges : tuple of int
        Of classes, in steps above the lower end.
    grid : Grid
    max_weight : int
        Largest weight of a record; 1 without weights.
    """

    scale: Scale
    edges: tuple[int, ...]
    grid: Grid
    max_weight: int = 1


@dataclass(frozen=True)
class SeriesPlan:
    """How the budget of a series is divided, and what is measured in every period.

    Attributes
    ----------
    periods : Periods
    shared : SharedScale
    sharing : Sharing
    design : Design
        Of every period, with its part of the budget.
    total : Measurement
        Event of all periods together.
    """

    periods: Periods
    shared: SharedScale
    sharing: Sharing
    design: Design
    total: Measurement

    @property
    def named(self) -> Measurement:
        """The event to charge for all periods, with the series' name for the ledger."""
        names, unit = self.periods.names, self.total.unit
        one = name_release(replace(self.design, whole=self.total))
        text = (
            f"{one.mechanism}, {len(names)} periods {names[0]} to {names[-1]}, {unit} in "
            f"{self.sharing.person}"
        )
        return replace(one, mechanism=text)

    def preview(
        self,
        request: Request,
        facts: tuple[str, ...],
        reading: StatedReading | None,
        prior: StatedAmountsPrior | None,
    ) -> tuple[tuple[Amounts, ...], AmountsSeriesCard]:
        """Make all periods without records, and the index of their series.

        ``facts``: public facts about the input of all periods; ``reading``: how they were read;
        ``prior``: that of every period, of which nothing is learned yet.
        """
        each = replace(request, terms=self.sharing.each)
        empty = preview_amounts(self.design, self.shared.grid, each, facts, reading, prior)
        require_columns(self.shared.grid, empty.index.amount)
        told = empty.index.guarantee.not_protected[len(self.design.whole.not_protected) :]
        promise = state_series_guarantee(
            self.total,
            empty.index.amount,
            told,
            prior,
            person=self.sharing.person,
            periods=len(self.periods.names),
            changed=self.sharing.changed,
            each_spends=self.design.whole.spends,
        )
        times = self.periods.names
        named = [name_period(empty, describe_period(time, times, promise)) for time in times]
        private = self.total.is_private
        card = state_series(self.periods, empty.index.amount, promise, prior, private=private)
        return tuple(named), card


@dataclass(frozen=True, eq=False)
class PreparedAmountsSeries:
    """A series of amounts, ready to be drawn; nothing is charged and nothing drawn.

    Attributes
    ----------
    plan : SeriesPlan
    request : Request
        Of all periods together.
    parts : tuple of PreparedAmounts
        The periods, each with its part of the budget.
    index : AmountsSeriesCard
        Without a charge.
    """

    plan: SeriesPlan
    request: Request
    parts: tuple[PreparedAmounts, ...] = field(repr=False)
    index: AmountsSeriesCard

    def release(self, keep: Keep[list[ReleasedAmounts]] | None = None) -> AmountsSeries:
        """Draw every period, and charge once; ``keep`` stores them and a fingerprint before."""
        drawn, charge = release_and_charge(
            self.request, self.plan.named, self.declare(), self.identify, self._draw, keep
        )
        previews = [part.preview for part in self.parts]
        return complete_series(self.plan, previews, self.index, drawn, charge)

    def declare(self) -> Draws:
        """Declare all draws: with the key of every period, those of a release of its amounts."""
        each = self.plan.design.declare(self.plan.shared.grid)
        return Draws.of((), {label_period(t): each for t in range(len(self.parts))})

    def identify(self) -> bytes:
        """Return the SHA-256 of everything that is measured in all periods, except the key."""
        named: tuple[Plain, ...] = (
            ("times", self.plan.periods.names),
            ("person", self.plan.sharing.person),
            ("whole", loss_fields(self.plan.total)),
        )
        # Keys depend on all periods: adding one to a series gives fresh noise everywhere, so that
        # no difference of two series reveals the records of one period.
        return digest(LABEL, encode(named), *(part.identify() for part in self.parts))

    def _draw(self, series_key: NoiseKey) -> list[ReleasedAmounts]:
        """Draw the periods, each with a key of its own."""
        drawn = []
        for number, (time, part) in enumerate(
            zip(self.plan.periods.names, self.parts, strict=True)
        ):
            progress.begin(f"Releasing {time}")
            own = series_key.derive(label_period(number))
            try:
                drawn.append(part.draw(own))
            finally:
                own.forget()
        return drawn


def label_period(number: int) -> bytes:
    """Return the digest from which the key of a period is derived, counted from 0."""
    return digest(PERIOD, encode(number))


def prepare_series(
    tables: Sequence[AmountTable],
    periods: Periods,
    request: Request,
    options: AmountsSeriesOptions,
    *,
    prior: AnyPrior | None = None,
    prior_source: str | None = None,
) -> PreparedAmountsSeries:
    """Do everything of :func:`publish_series` that comes before the charge.

    Raises
    ------
    UsageError
        See :func:`publish_series`.
    """
    shared = require_one_scale(tables, periods)
    # The charge must cover the largest contribution in any of the periods.
    stated = request.terms.contribution
    records = combine_bounds([bound_contribution(one.records, stated) for one in tables])
    bound = replace(records, value=records.value * shared.max_weight)
    plan = plan_series(shared, periods, request, bound, options)
    for one in tables:
        require_exact(one, plan.design)
    read = {
        time: (one.records.rows, one.records.reading)
        for time, one in zip(periods.names, tables, strict=True)
    }
    met = require_rows_of_series(read, allow_empty=request.allow_empty)
    told = [fact for one in tables for fact in one.facts]
    facts = (*dict.fromkeys((*met, *told)), *state_land(shared.grid))
    public = join_descriptions(
        None if one.records.reading is None else one.records.reading.public for one in tables
    )
    known = declare_prior(find_released(tables, prior), plan.design, prior, prior_source)
    expected = None if known is None else known.state()
    previews, index = plan.preview(request, facts, public, expected)
    each = replace(request, terms=plan.sharing.each)
    parts = [
        PreparedAmounts(one, plan.design, each, facts, preview, known)
        for one, preview in zip(tables, previews, strict=True)
    ]
    return PreparedAmountsSeries(plan, request, tuple(parts), index)


def require_one_scale(tables: Sequence[AmountTable], periods: Periods) -> SharedScale:
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
    return SharedScale(first.scale, first.edges, first.records.grid, first.max_weight)


def plan_series(
    shared: SharedScale,
    periods: Periods,
    request: Request,
    bound: ContributionBound,
    options: AmountsSeriesOptions,
) -> SeriesPlan:
    """Divide the budget among periods, and in every period among sums and classes.

    Raises UsageError as :func:`publish_series` does.
    """
    grid, method = shared.grid, choose_pyramid(request.method)
    terms, origin = request.terms.bound(bound), request.key_origin
    total = make_event(grid, method, terms, origin)
    sharing = share_budget(
        grid,
        method,
        terms,
        snapshots=len(periods.names),
        person=options.person,
        # As in a single release of amounts, the budget says which noise it is for.
        noise="gaussian" if terms.gaussian else "laplace",
    )
    design = make_design(
        *(shared.scale, shared.edges, grid, method, replace(request, terms=sharing.each), bound),
        means=options.means,
        share=options.share,
    )
    design = replace(design, max_weight=shared.max_weight)
    return SeriesPlan(periods, shared, sharing, design, total)


def restore_series(
    drawn: Sequence[ReleasedAmounts],
    shared: SharedScale,
    periods: Periods,
    request: Request,
    bound: ContributionBound,
    options: AmountsSeriesOptions,
    facts: tuple[str, ...],
    reading: StatedReading | None,
    charge: Charge,
    priors: Sequence[StatedAmountsPrior],
) -> AmountsSeries:
    """Restore the series of what was drawn, charged and stored by the same call.

    ``priors``: of every period, with what was learned of it; empty without a prior.
    """
    plan = plan_series(shared, periods, request, bound, options)
    unlearned = priors[0].unlearned if priors else None
    previews, index = plan.preview(request, facts, reading, unlearned)
    if priors:
        previews = tuple(
            replace(one, index=replace(one.index, prior=prior))
            for one, prior in zip(previews, priors, strict=True)
        )
    return complete_series(plan, previews, index, drawn, charge)


def complete_series(
    plan: SeriesPlan,
    previews: Sequence[Amounts],
    index: AmountsSeriesCard,
    drawn: Sequence[ReleasedAmounts],
    charge: Charge | None,
) -> AmountsSeries:
    """Return the series of what was drawn in place of nothing."""
    releases = [with_drawn(empty, one, charge) for empty, one in zip(previews, drawn, strict=True)]
    charged = replace(index, budget=state_budget(charge))
    return AmountsSeries(plan.periods, tuple(releases), charged)
