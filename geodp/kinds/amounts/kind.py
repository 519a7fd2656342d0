"""Amounts as kinds of release, all its numbers or a series of these, and their public indexes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, Self

from geodp.kinds.census.kind import GIVEN, StatedGiven
from geodp.privacy.event import Measurement
from geodp.release.index_kind import IndexKind, SeriesKind
from geodp.table.index import OF_PERIOD, PeriodsCard, TablesCard, TablesGuarantee, Together
from geodp.table.plain import Text, before
from geodp.table.stated.release import Digest, Exact, Size, StatedPriorLevel, StatedSlope

COUNT, SUM, MEAN, MEDIAN = "count", "sum", "mean", "median"
"""Names of the tables and columns; the table of records is a folder of its own."""

IDENTITY = "that the sums and classes of its release, with all of the amount, have the digest "
"""Beginning of the fact that names the release on the card of its records."""

COUNTED_EACH = "One {} has at most {:,} of the records of each period."
"""The assumption of the contribution to a series, which is in records of a period."""

WEIGHED_EACH = "The records of one {} in each period have weights of at most {:,} together."
"""The assumption where records have weights."""

Number = Annotated[str, Text(r"-?[0-9]{1,400}([./][0-9]{1,400})?")]
"""An exact number: in decimals, or as a ratio."""


@dataclass(frozen=True)
class StatedAmount:
    """The amount that is added up, and its scale.

    Attributes
    ----------
    name : str
        Of the amount, such as income.
    unit : str
        One of which it is counted in, such as 10,000 yen.
    lower, upper : str
        Ends of the clip, in units: smaller and larger amounts count as these.
    step : str
        Amounts are counted on multiples of it.
    notches : int or None
        On how many parts of the clip sums of cells are counted; None without sums.
    edges : tuple of str
        Of classes, in units; empty without classes.
    share : str or None
        Part of the budget for sums, where classes, or a given release, have the rest.
    max_weight : int or None
        Largest weight of a record, which counts as so many; None without weights.
    """

    name: str
    unit: str
    lower: Number
    upper: Number
    step: Number
    notches: Size | None
    edges: tuple[Number, ...] = ()
    share: Exact | None = None
    max_weight: Size | None = None


@dataclass(frozen=True, kw_only=True)
class AmountsGuarantee(TablesGuarantee):
    """The privacy guarantee of all numbers together.

    Attributes
    ----------
    contribution : int
        Most records of one person; with weights, their largest sum.
    not_protected : tuple of str
        What the guarantee does not cover, and what the absence of an error reveals.
    """

    not_protected: tuple[str, ...]


Shape = Literal["amounts", "records"]
"""Whether a stream is expected to lie as the same one of an earlier release, or as records."""


@dataclass(frozen=True)
class StatedStreamPrior:
    """The trust of one stream in its prior.

    Attributes
    ----------
    shape : {"amounts", "records"}
        See :data:`Shape`.
    finest : int
        Keys that one cell of the prior covers.
    levels : tuple of StatedPriorLevel
        Below the root; empty before anything is drawn.
    attenuation : tuple of StatedSlope
        Of changes of cells, in notches of a sum, or in records of a class.
    """

    shape: Shape
    finest: Size
    levels: tuple[StatedPriorLevel, ...] = ()
    attenuation: tuple[StatedSlope, ...] = ()


@dataclass(frozen=True)
class StatedAmountsPrior:
    """A prior that a release of amounts was made with.

    Attributes
    ----------
    source : str
        Where it was published, in the words of the operator, who vouches that it is public; or
        which charged release it is.
    version : int
        Version of what is computed from a prior.
    meaning : str
    streams : tuple of StatedStreamPrior
        The sums above the lower and below the upper end, where there are sums, and all classes.
    identity : str or None
        Digest that names the earlier release of amounts that is the prior. None of a map, as a
        digest would confirm guesses about a prior that was not public.
    """

    source: str
    version: Size
    meaning: str
    streams: tuple[StatedStreamPrior, ...]
    identity: Digest | None = None

    @property
    def unlearned(self) -> Self:
        """This prior before anything is drawn, of which nothing is learned yet."""
        streams = (replace(one, levels=(), attenuation=()) for one in self.streams)
        return replace(self, streams=tuple(streams))

    @property
    def is_used(self) -> bool:
        """Whether any stream was estimated with it."""
        return any(level.reliability > 0 for one in self.streams for level in one.levels)


RecordRelation = Literal["same", "part"]
"""Whether every person of a given release has one record, or a part of them."""


@dataclass(frozen=True)
class StatedRelation:
    """What an index says of an earlier release of the same persons that records agree with.

    Attributes
    ----------
    relation : {"same", "part"}
        See :data:`RecordRelation`; the operator vouches for it.
    release : StatedGiven
    """

    relation: RecordRelation
    release: StatedGiven


@dataclass(frozen=True, kw_only=True, repr=False)
class AmountsCard(TablesCard, kind="amounts"):
    """The contents of ``amounts.json``.

    Attributes
    ----------
    amount : StatedAmount
    guarantee : AmountsGuarantee
    constraints : tuple of str
        What holds in every cell, and so in every area, a sentence each.
    tables : tuple of TableInfo
        The release of records, which has a folder and a card of its own; empty before it is
        written.
    files : tuple of File
        Tables with the numbers of all cells.
    prior : StatedAmountsPrior or None
    related : StatedRelation or None
        The earlier release in the folder ``given``, with whose persons records agree.
    """

    schema: Literal["geodp-amounts-1"]
    amount: StatedAmount = field(metadata=before("guarantee"))
    guarantee: AmountsGuarantee
    prior: StatedAmountsPrior | None = None
    related: StatedRelation | None = None

    @property
    def enclosed(self) -> tuple[str, ...]:
        """The folder of the earlier release with whose persons records agree."""
        return () if self.related is None else (GIVEN,)

    def state_together(self, each: Measurement, total: Measurement) -> AmountsGuarantee:
        """State the guarantee of the periods of a series, of which one has this index.

        Parameters: see :meth:`geodp.table.index.TablesCard.state_together`.
        """
        promise: AmountsGuarantee = super().state_together(each, total)
        counted = COUNTED_EACH if self.amount.max_weight is None else WEIGHED_EACH
        bound, *others = promise.assumptions
        bound = replace(bound, statement=counted.format(total.unit, total.contribution))
        facts = promise.not_protected[len(each.not_protected) :]
        own = (fact for fact in facts if not fact.startswith(OF_PERIOD.format("period")))
        return replace(
            promise,
            assumptions=(bound, *others),
            not_protected=(*total.not_protected, *own),
        )

    @property
    def about(self) -> str:
        """The contents of the release in few words."""
        return f"{self.amount.name} in {self.amount.unit}"


@dataclass(frozen=True)
class AmountsSeriesGuarantee(Together, AmountsGuarantee):
    """The privacy guarantee of all periods together."""


@dataclass(frozen=True, kw_only=True, repr=False)
class AmountsSeriesCard(PeriodsCard, kind="amounts-series"):
    """The contents of ``amounts-series.json``.

    Attributes
    ----------
    amount : StatedAmount
        The same in all periods.
    guarantee : AmountsSeriesGuarantee
    prior : StatedAmountsPrior or None
        The prior of every period; what each learned of it is in its own index.
    """

    period: ClassVar = AmountsCard
    promise: ClassVar = AmountsSeriesGuarantee

    schema: Literal["geodp-amounts-series-1"]
    amount: StatedAmount = field(metadata=before("guarantee"))
    guarantee: AmountsSeriesGuarantee
    prior: StatedAmountsPrior | None = None

    @classmethod
    def take(cls, period: AmountsCard) -> dict[str, Any]:
        """Return the amount, and the prior of which nothing is learned yet."""
        prior = period.prior
        return {"amount": period.amount, "prior": None if prior is None else prior.unlearned}

    @property
    def about(self) -> str:
        """The contents of the release in few words."""
        return f"{self.amount.name}, {super().about}"


class AmountsKind(IndexKind):
    """The kind of release that ``geodp amounts publish`` writes: index, numbers, and records."""

    title: ClassVar[str] = "a release of amounts"
    index = AmountsCard
    doors: ClassVar[dict[str, str]] = {
        "open": "kinds.amounts.amounts:open_amounts",
        "draw": "kinds.amounts.drawing:draw_amounts",
        "page": "kinds.amounts.page:write_page",
        "explain": "kinds.amounts.page:explain_amounts",
        "estimate": "kinds.amounts.running.estimate:estimate",
        "compare": "kinds.amounts.running.estimate:compare",
        "diff": "kinds.amounts.running.estimate:diff",
    }


class AmountsSeriesKind(SeriesKind):
    """The kind that ``geodp amounts publish-series`` writes: an index, and a release a period."""

    title: ClassVar[str] = "a series of amounts"
    index = AmountsSeriesCard
    doors: ClassVar[dict[str, str]] = {
        "series": "kinds.amounts.series:AmountsSeries",
        "explain": "kinds.amounts.page:explain_series",
    }


KINDS = (AmountsKind(), AmountsSeriesKind())
