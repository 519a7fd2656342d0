"""Publish records, sums, means and classes of amounts as one release with one charge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from geodp.advice import pick, takes
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.io.read.rows.input_files import TableSource
from geodp.kinds.amounts.amounts import Amounts, preview_amounts, with_drawn
from geodp.kinds.amounts.declaring import AmountsPrior, AnyPrior, declare_prior
from geodp.kinds.amounts.given import NOT_WITH, Keeping, relate_persons
from geodp.kinds.amounts.joint import require_columns
from geodp.kinds.amounts.kind import RecordRelation, StatedAmountsPrior
from geodp.kinds.amounts.records import LIMITS, AmountRecords, read_records
from geodp.kinds.amounts.scale import exact
from geodp.kinds.amounts.streams import (
    MOST,
    NOISES,
    AmountAxes,
    AmountDesign,
    AmountStream,
    AmountTable,
    ReleasedAmounts,
    release_streams,
)
from geodp.mechanisms.base import Plain
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.event import Measurement
from geodp.privacy.key import digest
from geodp.privacy.ledger import Charge
from geodp.privacy.noise.draws import Draws
from geodp.release.inputs import read_input, state_tables
from geodp.release.noise_identity import encode, loss_fields, release_digest
from geodp.release.preview import warn_before_release
from geodp.release.release import Release
from geodp.release.request import OF_TABLES, Request, choose_pyramid, make_event, make_request
from geodp.release.transaction import Inputs, Prepared
from geodp.table.contribution import bound_contribution, combine_bounds
from geodp.table.counts import CountTable

LABEL = b"geodp amounts identity 1"
"""Domain separation of the hash of a release, with a version of the list of components."""

NOTHING_KEPT = Keeping()
"""No given release."""

VERSION = 1
"""Version of how sums and classes are made of the streams."""


@takes(
    make_request,
    AmountRecords,
    without=(*OF_TABLES, *LIMITS),
    bins="classes",
    bounds="clip",
    currency="unit_of_amount",
)
def publish(
    data: TableSource | AmountTable,
    *,
    grid: str | Grid | None = None,
    means: bool = True,
    share: Any = "1/2",
    method: str | None = None,
    prior: AnyPrior | None = None,
    prior_source: str | None = None,
    given: str | Path | None = None,
    given_source: str | None = None,
    relation: RecordRelation | None = None,
    **options: Any,
) -> Amounts:
    """Release how many records there are in every cell, and the sum, mean and median of amounts.

    Records, sums and means agree in every area, and means are within the clip.

    Parameters
    ----------
    data : path, sequence of paths, table in memory, or AmountTable
        Confidential records, one row each, such as persons with an income; or the result of
        :func:`geodp.amounts.read_records`, which has all that describes the amounts already.
    grid : str or Grid
        For a frame or files: the public grid.
    means : bool
        Whether sums and means are released; of classes alone, every class has the whole budget.
    share : number
        Part of the budget for sums, and so for records, where classes are released, too; above 0
        and below 1.
    method : str, optional
        ``pyramid``, the default, with settings after a colon.
    prior : CountTable, Release, Prior or Amounts, optional
        Where records are likely to be, such as a census of people, or an earlier release of
        amounts in the same unit, which also says where amounts are high: on the same grid or on
        larger squares. How far it can be trusted is learned from the noisy values of every stream.
        See docs/amounts.md.
    prior_source : str, optional
        Where the prior was published, as text that the card quotes. With it you vouch that the
        prior is public. A release that was charged to a ledger needs none.
    given : path, optional
        Folder of an earlier public release of the same persons: a map, or a census. Its counts of
        persons are kept, to the last cell, and the whole budget goes to the amounts. The new
        release holds both, and states the loss of both.
    given_source : str, optional
        Where the given release was published and charged, which the index quotes. Not needed where
        its card states a charge to a ledger.
    relation : {"same", "part"}, optional
        With a given release: whether every person has one record, so that records are its persons,
        or a part of them, such as earners, so that no cell has more. You vouch for it.
    contribution
        Most records of one person: with ``person`` the first ones count, otherwise you vouch for
        it.
    people
        A public guess of the number of all records; never taken from the data.

    Returns
    -------
    Amounts
        With the releases ``count`` and ``sum``, and ``estimate(region)``.

    Raises
    ------
    UsageError
        Arguments that do not go together, and as for :func:`geodp.publish`. Nothing was charged.
    InputError
        An amount that is missing, no plain number, or negative under a lower end of 0; it names
        file and row. Nothing was charged.
    BudgetError
        The ledger's cap would be exceeded; nothing was charged or shown.

    Notes
    -----
    The proof is in docs/proofs/amounts.md.

    Examples
    --------
    >>> import numpy as np, pyarrow as pa, geodp
    >>> draw = np.random.default_rng(1)
    >>> place, income = draw.uniform(0, 16, (2, 50_000)), draw.lognormal(5.5, 0.7, 50_000)
    >>> rows = pa.table({"x": place[0], "y": place[1], "income": income})
    >>> grid = geodp.Grid.regular((16, 16), crs="EPSG:3035", transform=(1, 0, 0, 0, 1, 0))
    >>> release = geodp.amounts.publish(rows, grid=grid, x="x", y="y", amount="income",
    ...     clip=(0, 1000), unit_of_amount="EUR", contribution=1, epsilon=1)
    >>> mean = release.estimate((0, 0, 8, 8)).mean
    >>> 290 < mean.low <= mean.value <= mean.high < 330
    True
    """
    request = make_request(**pick(make_request, options), method=method)
    read = partial(read_records, contribution=request.terms.contribution)
    table = read_input(data, AmountTable, read, grid=grid, **options)
    prepared = prepare_amounts(
        table,
        request,
        means=means,
        share=share,
        prior=prior,
        prior_source=prior_source,
        keeping=Keeping(given, given_source, relation),
    )
    # Between: the frame of the decorator.
    warn_before_release(prepared.design.shown, between=1)
    return prepared.release()


@dataclass(frozen=True)
class AmountsInputs(Inputs):
    """Facts on its inputs that a release of amounts states.

    Attributes
    ----------
    prior : StatedAmountsPrior or None
        The prior, before anything is drawn.
    """

    prior: StatedAmountsPrior | None = None


@dataclass(frozen=True, eq=False)
class AmountsDesign:
    """A release of amounts before anything is drawn.

    Attributes
    ----------
    request : Request
    inputs : AmountsInputs
    plan : AmountDesign
        What is measured.
    preview : Amounts
        The release of no records.
    """

    drawn: ClassVar[type] = ReleasedAmounts

    request: Request
    inputs: AmountsInputs
    plan: AmountDesign
    preview: Amounts

    @property
    def event(self) -> Measurement:
        """The event of everything together, with the release's name for the ledger."""
        return name_release(self.plan)

    @property
    def draws(self) -> Draws:
        """The draws of all streams."""
        return self.plan.declare(self.preview.count.grid)

    @property
    def shown(self) -> Release:
        """The map of no records."""
        return self.preview.count

    @property
    def example(self) -> Amounts:
        """A release of one record, which depends on no data: all that is written can be tried."""
        plan, one = self.plan, np.ones(1, np.int64)
        above = None if plan.of_sums is None else 0 * one
        classes = np.zeros((max(len(plan.edges) - 1, 0), 1), np.int64)
        classes[:1] = 1
        some = classes if len(classes) else None
        return self.complete(ReleasedAmounts(np.zeros(1, np.uint64), one, above, some), None)

    def complete(self, drawn: ReleasedAmounts, charge: Charge | None) -> Amounts:
        """Return the release of what was drawn."""
        return with_drawn(self.preview, drawn, charge)


def name_release(plan: AmountDesign) -> Measurement:
    """Return the event of everything together, with the release's name for the ledger."""
    parts = (["sums"] if plan.of_sums else []) + (["classes"] if plan.of_classes else [])
    name = f"{plan.method.spec} of {' and '.join(parts)} of amounts"
    return replace(plan.measured, mechanism=name)


def prepare_amounts(
    table: AmountTable,
    request: Request,
    *,
    means: bool = True,
    share: Any = "1/2",
    prior: AnyPrior | None = None,
    prior_source: str | None = None,
    keeping: Keeping = NOTHING_KEPT,
) -> Prepared[AmountsDesign, Amounts]:
    """Do everything of :func:`publish` that comes before the charge.

    Raises
    ------
    UsageError
        See :func:`publish`.
    """
    bound = bound_weights([table], request.terms.contribution)
    plan = make_plan(table.axes, request, bound, means=means, share=share, keeping=keeping)
    if plan.related is not None and prior is not None:
        raise UsageError(NOT_WITH)
    require_exact(table, plan)
    stated = state_tables([table.records], request, table.facts)
    known = declare_prior(find_released([table], prior), plan, prior, prior_source)
    inputs = AmountsInputs(*stated, bound, None if known is None else known.state())
    design = design_amounts(table.axes, request, inputs, means=means, share=share, keeping=keeping)
    return prepare_table(design, table, known)


def prepare_table(
    design: AmountsDesign, table: AmountTable, prior: AmountsPrior | None
) -> Prepared[AmountsDesign, Amounts]:
    """Prepare the release of a table by its design."""
    streams, known = design.plan.streams(table), () if prior is None else prior.streams
    cells = int(table.records.key.size)
    return Prepared(
        design,
        lambda: identify(streams, design.plan),
        lambda key: release_streams(streams, design.plan, key, known),
        table.records.reading,
        cells=cells,
        counted={
            "occupied_cells": cells,
            "counted_records": int(table.records.count.sum()),
            "records_beyond_clip": dict(table.beyond),
        },
        prior=None if prior is None else prior.sha256,
    )


def identify(streams: Sequence[AmountStream], plan: AmountDesign) -> bytes:
    """Return the SHA-256 of everything that is measured, except the key.

    A prior is not: measurements are the same without it, and charged once.
    """
    scale = plan.scale
    named: tuple[Plain, ...] = (
        ("version", VERSION),
        ("scale", (scale.lower, scale.upper, scale.step, scale.unit, scale.name)),
        ("notches", plan.notches),
        ("edges", plan.edges),
        ("share", plan.share),
        ("max weight", plan.max_weight),
        ("whole", loss_fields(plan.whole)),
    )
    if plan.related is not None:
        # Another given release is another draw: one noise at two scales would give the amounts.
        named += (("given", plan.related.fields),)
    digests = [release_digest(counts, plan.method, event) for counts, event, _ in streams]
    return digest(LABEL, encode(named), *digests)


def bound_weights(tables: Sequence[AmountTable], contribution: int | None) -> ContributionBound:
    """Bound the records of a person in each of several tables, with their weights."""
    bound = combine_bounds([bound_contribution(one.records, contribution) for one in tables])
    # A record of weight w is w records of one person.
    return replace(bound, value=bound.value * tables[0].max_weight)


def design_amounts(
    axes: AmountAxes,
    request: Request,
    inputs: AmountsInputs,
    *,
    means: bool,
    share: Any,
    keeping: Keeping = NOTHING_KEPT,
) -> AmountsDesign:
    """Design a release from public things alone; raises UsageError as :func:`publish` does."""
    plan = make_plan(axes, request, inputs.bound, means=means, share=share, keeping=keeping)
    preview = preview_amounts(
        plan, axes.grid, request, inputs.facts, inputs.readings[0], inputs.prior
    )
    require_columns(axes.grid, preview.index.amount)
    return AmountsDesign(request, inputs, plan, preview)


def find_released(tables: Sequence[AmountTable], prior: AnyPrior | None) -> CountTable:
    """Find the table of the records themselves that is given as a prior; otherwise the first."""
    # Records of a class are confidential as all records are, and those of another period are.
    own = [part for one in tables for part in (one.records, *one.classes)]
    return next((one for one in own if one is prior), own[0])


def require_exact(table: AmountTable, plan: AmountDesign) -> None:
    """Raise UsageError where sums with their noise may not be exact in tables and estimates."""
    share = plan.method.min_share(table.records.grid, plan.whole)
    events = [plan.of_sums, plan.of_classes]
    # Of the streams in records of the span, and of every class.
    widths = [one.width(share) / (plan.notches if one is plan.of_sums else 1)
              for one in events if one is not None]  # fmt: skip
    parts = 2 + max(len(plan.edges) - 1, 0)
    noise = int(NOISES * parts * max(widths)) + 1
    table.scale.require_room(int(table.records.count.sum()) + noise, MOST)


def make_plan(
    axes: AmountAxes,
    request: Request,
    bound: ContributionBound,
    *,
    means: bool,
    share: Any,
    keeping: Keeping = NOTHING_KEPT,
) -> AmountDesign:
    """Divide the budget among sums and classes, and choose the notches of sums."""
    method = choose_pyramid(request.method, "Amounts")
    scale, edges, grid = axes.scale, axes.edges, axes.grid
    if keeping.path is not None and (edges or not means or axes.max_weight > 1):
        raise UsageError(NOT_WITH)
    terms = request.terms.bound(bound)
    if not means and not edges:
        raise UsageError(
            "Without means, say the edges of classes (classes=, --classes): otherwise nothing of "
            "the amounts is released.",
            code="amounts-nothing-released",
        )
    part = exact(share, "share")
    if not 0 < part < 1:
        raise UsageError("share is a part of the budget above 0 and below 1.", code="amounts-share")
    part = part if means and edges else Fraction(int(means))
    origin, weight = request.key_origin, axes.max_weight
    whole = make_event(grid, method, terms, origin)
    of_classes = make_event(grid, method, terms.share(1 - part), origin) if edges else None
    if not means:
        return AmountDesign(scale, method, whole, None, of_classes, 0, edges, part, weight)
    of_records = make_event(grid, method, terms.share(part), origin)
    notches = scale.notches(of_records.width(method.min_share(grid, whole)))
    in_notches = ContributionBound(bound.value * notches, bound.stated_by, bound.layout)
    in_sums = make_event(grid, method, terms.bound(in_notches).share(part), origin)
    related = relate_persons(keeping, grid, whole)
    if related is not None:
        whole = related.given.add_loss(whole)
        part = in_sums.depending_on(whole).share
    return AmountDesign(
        scale, method, whole, in_sums, of_classes, notches, edges, part, weight, related
    )
