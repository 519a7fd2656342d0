"""Publish records, sums, means and classes of amounts as one release with one charge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, cast

import numpy as np

from geodp.advice import pick, takes
from geodp.errors import UsageError
from geodp.features.amounts.amounts import Amounts, preview_amounts, with_drawn
from geodp.features.amounts.card import StatedAmountsPrior
from geodp.features.amounts.declaring import AnyPrior, declare_prior
from geodp.features.amounts.formats.joint import require_columns
from geodp.features.amounts.prior import AmountsPrior
from geodp.features.amounts.records import LIMITS, AmountRecords, read_records
from geodp.features.amounts.scale import Scale, exact
from geodp.features.amounts.streams import (
    MOST,
    NOISES,
    AmountTable,
    Design,
    ReleasedAmounts,
    Stream,
    release_streams,
)
from geodp.grid.grid import Grid
from geodp.io.read.public.land import state_land
from geodp.io.read.rows.input_files import TableSource
from geodp.mechanisms import mechanism
from geodp.mechanisms.base import Plain
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey, digest
from geodp.privacy.ledger import Charge
from geodp.privacy.loss import ApproximateDP, PureDP, ZeroConcentratedDP
from geodp.privacy.terms import Terms
from geodp.release.charging import Keep, release_and_charge
from geodp.release.inputs import read_input
from geodp.release.noise_identity import encode, loss_fields, release_digest
from geodp.release.preview import warn_before_release
from geodp.release.publish import make_event
from geodp.release.request import OF_TABLES, Request, make_request
from geodp.table.contribution import bound_contribution
from geodp.table.counts import CountTable
from geodp.table.prior import Prior
from geodp.table.reading import require_rows
from geodp.table.stated.reading import StatedReading

LABEL = b"geodp amounts identity 1"
"""Domain separation of the hash of a release, with a version of the list of components."""

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
        table, request, means=means, share=share, prior=prior, prior_source=prior_source
    )
    # Between: the frame of the decorator.
    warn_before_release(prepared.preview.count, between=1)
    return prepared.release()


@dataclass(frozen=True, eq=False)
class PreparedAmounts:
    """A release, ready to be drawn; nothing is charged and nothing drawn.

    Attributes
    ----------
    table : AmountTable
    design : Design
    request : Request
    facts : tuple of str
        Public facts about the input.
    preview : Amounts
        The release of no records.
    prior : AmountsPrior or None
    """

    table: AmountTable = field(repr=False)
    design: Design
    request: Request
    facts: tuple[str, ...]
    preview: Amounts
    prior: AmountsPrior | None = None

    def release(self, keep: Keep[ReleasedAmounts] | None = None) -> Amounts:
        """Draw all streams, and charge once; ``keep`` stores them and a fingerprint before."""
        drawn, charge = release_and_charge(
            self.request,
            name_release(self.design),
            self.design.declare(self.table.records.grid),
            self.identify,
            self.draw,
            keep,
        )
        return self.complete(drawn, charge)

    def draw(self, key: NoiseKey) -> ReleasedAmounts:
        """Draw all streams, with keys that are derived from one; nothing is charged."""
        return release_streams(self.streams, self.design, key, self.priors)

    @property
    def cells(self) -> int:
        """Number of cells with records; confidential."""
        return int(self.table.records.key.size)

    @cached_property
    def streams(self) -> list[Stream]:
        """Everything that is measured; confidential."""
        return self.design.streams(self.table)

    @property
    def priors(self) -> tuple[Prior, ...]:
        """The prior of every stream; empty without one."""
        return () if self.prior is None else self.prior.streams

    def identify(self) -> bytes:
        """Return the SHA-256 of everything that is measured, except the key.

        A prior is not: measurements are the same without it, and charged once.
        """
        design, scale = self.design, self.table.scale
        named: tuple[Plain, ...] = (
            ("version", VERSION),
            ("scale", (scale.lower, scale.upper, scale.step, scale.unit, scale.name)),
            ("notches", design.notches),
            ("edges", design.edges),
            ("share", design.share),
            ("max weight", design.max_weight),
            ("whole", loss_fields(design.whole)),
        )
        digests = [
            release_digest(counts, design.method, event) for counts, event, _ in self.streams
        ]
        return digest(LABEL, encode(named), *digests)

    @property
    def example(self) -> Amounts:
        """A release of one record, which depends on no data: all that is written can be tried."""
        design, one = self.design, np.ones(1, np.int64)
        above = None if design.of_sums is None else 0 * one
        classes = np.zeros((max(len(design.edges) - 1, 0), 1), np.int64)
        classes[:1] = 1
        some = classes if len(classes) else None
        return self.complete(ReleasedAmounts(np.zeros(1, np.uint64), one, above, some), None)

    def complete(self, drawn: ReleasedAmounts, charge: Charge | None) -> Amounts:
        """Return the release of what was drawn."""
        return with_drawn(self.preview, drawn, charge)


def name_release(design: Design) -> Measurement:
    """Return the event of everything together, with the release's name for the ledger."""
    parts = (["sums"] if design.of_sums else []) + (["classes"] if design.of_classes else [])
    name = f"{design.method.spec} of {' and '.join(parts)} of amounts"
    return replace(design.whole, mechanism=name)


def prepare_amounts(
    table: AmountTable,
    request: Request,
    *,
    means: bool = True,
    share: Any = "1/2",
    prior: AnyPrior | None = None,
    prior_source: str | None = None,
) -> PreparedAmounts:
    """Do everything of :func:`publish` that comes before the charge.

    Raises
    ------
    UsageError
        See :func:`publish`.
    """
    method = choose_pyramid(request.method)
    records = bound_contribution(table.records, request.terms.contribution)
    # A record of weight w is w records of one person.
    bound = replace(records, value=records.value * table.max_weight)
    grid, reading = table.records.grid, table.records.reading
    kind = (table.scale, table.edges, grid, method)
    made = make_design(*kind, request, bound, means=means, share=share)
    design = replace(made, max_weight=table.max_weight)
    require_exact(table, design)
    met = require_rows(table.records.rows, reading, allow_empty=request.allow_empty)
    facts = (*dict.fromkeys((*met, *table.facts)), *state_land(grid))
    stated = None if reading is None else reading.public
    known = declare_prior(find_released([table], prior), design, prior, prior_source)
    expected = None if known is None else known.state()
    preview = preview_amounts(design, grid, request, facts, stated, expected)
    require_columns(grid, preview.index.amount)
    return PreparedAmounts(table, design, request, facts, preview, known)


def find_released(tables: Sequence[AmountTable], prior: AnyPrior | None) -> CountTable:
    """Find the table of the records themselves that is given as a prior; otherwise the first."""
    # Records of a class are confidential as all records are, and those of another period are.
    own = [part for one in tables for part in (one.records, *one.classes)]
    return next((one for one in own if one is prior), own[0])


def require_exact(table: AmountTable, design: Design) -> None:
    """Raise UsageError where sums with their noise may not be exact in tables and estimates."""
    share = design.method.min_share(table.records.grid, design.whole)
    events = [design.of_sums, design.of_classes]
    # Of the streams in records of the span, and of every class.
    widths = [one.width(share) / (design.notches if one is design.of_sums else 1)
              for one in events if one is not None]  # fmt: skip
    parts = 2 + max(len(design.edges) - 1, 0)
    noise = int(NOISES * parts * max(widths)) + 1
    table.scale.require_room(int(table.records.count.sum()) + noise, MOST)


def restore_amounts(
    drawn: ReleasedAmounts,
    kind: tuple[Scale, tuple[int, ...], Grid],
    request: Request,
    bound: ContributionBound,
    facts: tuple[str, ...],
    reading: StatedReading | None,
    charge: Charge,
    *,
    means: bool,
    share: Any,
    max_weight: int,
    prior: StatedAmountsPrior | None,
) -> Amounts:
    """Restore the release of what was drawn, charged and stored by the same call.

    ``kind``: scale, edges of classes and grid; ``bound``: that of the stored event; ``prior``: with
    what was learned of it.
    """
    method = choose_pyramid(request.method)
    made = make_design(*kind, method, request, bound, means=means, share=share)
    design = replace(made, max_weight=max_weight)
    empty = preview_amounts(design, kind[2], request, facts, reading, prior)
    return with_drawn(empty, drawn, charge)


def make_design(
    scale: Scale,
    edges: tuple[int, ...],
    grid: Grid,
    method: Pyramid,
    request: Request,
    bound: ContributionBound,
    *,
    means: bool,
    share: Any,
) -> Design:
    """Divide the budget among sums and classes, and choose the notches of sums."""
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
    origin = request.key_origin
    whole = make_event(grid, method, terms, origin)
    of_classes = None
    if edges:
        of_classes = make_event(grid, method, take_share(terms, 1 - part), origin)
    if not means:
        return Design(scale, method, whole, None, of_classes, 0, edges, part)
    of_records = make_event(grid, method, take_share(terms, part), origin)
    notches = scale.notches(of_records.width(method.min_share(grid, whole)))
    in_notches = ContributionBound(bound.value * notches, bound.stated_by, bound.layout)
    in_sums = make_event(grid, method, take_share(terms.bound(in_notches), part), origin)
    return Design(scale, method, whole, in_sums, of_classes, notches, edges, part)


def take_share(terms: Terms, share: Fraction) -> Terms:
    """Return terms with a part of the budget."""
    if share == 1:
        return terms
    loss = terms.loss
    if isinstance(loss, PureDP):
        return replace(terms, loss=PureDP(loss.epsilon * share))
    if isinstance(loss, ApproximateDP):
        assert isinstance(loss.original, ZeroConcentratedDP)  # as terms with Gaussian noise have
        loss = loss.original
    return replace(terms, loss=ZeroConcentratedDP(loss.rho * share), by_rho=False)


def choose_pyramid(chosen: object) -> Pyramid:
    """Return the method of all streams; UsageError for another than the pyramid."""
    method = mechanism("pyramid" if chosen is None else cast(str, chosen))
    if type(method) is not Pyramid or method.prune or method.passes != 2:
        raise UsageError(
            "Amounts are released by pyramid, with two passes and without prune; its other "
            "settings can be chosen.",
            code="amounts-need-pyramid",
        )
    return method
