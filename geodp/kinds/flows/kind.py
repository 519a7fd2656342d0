"""Flows as kinds of release, of one time or of several periods, and their public indexes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal

from geodp.release.index_kind import IndexKind, SeriesKind
from geodp.table.index import PeriodsCard, TablesCard, TablesGuarantee, Together
from geodp.table.plain import AtLeast, before
from geodp.table.stated.release import Amount, Count, Exact, Size, StatedPriorLevel, StatedSlope

FLOWS, ORIGINS, DESTINATIONS = "flows", "origins", "destinations"
"""Names of the tables: of their folders, files and columns."""

TABLES = (FLOWS, ORIGINS, DESTINATIONS)

GROUPED = (
    "A block of areal units holds at most side x side units that lie together; blocks.parquet "
    "lists them."
)
"""The constraint on blocks in a release between areal units."""


@dataclass(frozen=True)
class MeasuredPairs:
    """Noisy pairs of blocks of one size.

    Attributes
    ----------
    side : int
        Rows and columns of a block, in zones; of areal units a block has at most its square.
    share : str
        Share of the budget, exact.
    standard_error : float
        Of a noisy pair.
    """

    side: Size
    share: Exact
    standard_error: Annotated[float, AtLeast(0)]


@dataclass(frozen=True)
class MeasuredLabels:
    """Noisy trips by label of large cells.

    Attributes
    ----------
    attributes : tuple of str
        Names of the attributes whose labels trips have.
    side : int
        Rows and columns of the blocks of ends, in zones; of areal units a block has at most its
        square.
    pair_side : int
        Those of the blocks whose pairs are measured.
    share : str
        Share of the budget of all counts by label, exact; pairs, origins and destinations have
        equal parts.
    standard_error : float
        Of a noisy count.
    """

    attributes: tuple[str, ...]
    side: Size
    pair_side: Size
    share: Exact
    standard_error: Annotated[float, AtLeast(0)]


@dataclass(frozen=True, kw_only=True)
class FlowsGuarantee(TablesGuarantee):
    """The privacy guarantee of all tables together.

    Attributes
    ----------
    end_share : str
        Share of the budget of each map of ends, exact.
    levels : tuple of MeasuredLevel
        Measured pairs, the finest first.
    labels : MeasuredLabels or None
        Counts by label; None: flows have no labels. The shares of labels, of levels and of both
        ends add up to 1.
    contribution : int
        Most trips of one unit; with weights, their largest sum.
    max_weight : int or None
        Largest weight of a trip, which counts as so many; None: trips have no weights.
    raked_to : str or None
        Totals of the same data that weights were raked to.
    """

    end_share: Exact = field(metadata=before("neighbours"))
    levels: tuple[MeasuredPairs, ...] = field(metadata=before("neighbours"))
    labels: MeasuredLabels | None = field(metadata=before("neighbours"))
    max_weight: Size | None = None
    raked_to: str | None = None


@dataclass(frozen=True)
class StatedDecay:
    """The law of distance that was closest to the noisy pairs.

    Attributes
    ----------
    length : float or None
        Over which flows decrease by the factor e, as measured; None: distance plays no role.
    unit : {"km", "cells"}
    """

    length: Annotated[float, AtLeast(0)] | None
    unit: Literal["km", "cells"]


@dataclass(frozen=True)
class StatedPairError:
    """Standard error and ends of the 95 % interval of a pair of zones with so many trips."""

    trips: Count
    standard_error: Amount
    low: Amount
    high: Amount


@dataclass(frozen=True)
class StatedPairErrors:
    """Errors of flows between two single zones, by their size.

    Attributes
    ----------
    meaning : str
    believed_from : int or None
        Released trips from which on a flow is at least as large as half the width of its interval;
        None: at none of the sizes.
    sizes : tuple of StatedPairError
        The smallest first.
    """

    meaning: str
    believed_from: Count | None
    sizes: tuple[StatedPairError, ...]


@dataclass(frozen=True)
class StatedEndsPrior:
    """Trust of one map of ends in its prior.

    Attributes
    ----------
    levels : tuple of StatedPriorLevel
        Below the root.
    attenuation : tuple of StatedSlope
        Of changes of zones, in trips.
    """

    levels: tuple[StatedPriorLevel, ...] = ()
    attenuation: tuple[StatedSlope, ...] = ()

    @property
    def is_used(self) -> bool:
        """Whether the map was estimated with it."""
        return any(level.reliability > 0 for level in self.levels)


@dataclass(frozen=True)
class StatedFlowsPrior:
    """A prior that flows were estimated with.

    Attributes
    ----------
    source : str
        Where it was published, in the words of the operator, who vouches that it is public; or
        which charged release it is.
    weight : float
        Of the prior between blocks, with which flows were the closest to the noisy pairs: 0 to 1;
        0: it was not used between blocks.
    meaning : str
    version : int
        Version of what is computed from it for both maps of ends.
    ends : tuple of StatedEndsPrior
        Of origins and of destinations; empty before anything is drawn.
    left_out : bool or None
        Whether no file of the release has its flows. None: they are in one.
    """

    source: str
    weight: Annotated[float, AtLeast(0)]
    meaning: str
    version: Size
    ends: tuple[StatedEndsPrior, ...] = ()
    left_out: bool | None = None

    @property
    def is_used(self) -> bool:
        """Whether flows or ends were estimated with it."""
        return self.weight > 0 or any(one.is_used for one in self.ends)


@dataclass(frozen=True)
class StatedStays:
    """Rules by which trips were made of stays of persons, each from a stay to the next one.

    Attributes
    ----------
    gap_seconds : int or None
        Longest time without a ping, or from a stay to the next one, that a trip extends over; None:
        it does not matter.
    radius_metres : float or None
        Within which all pings of a stay are of the first one; None: stays were given, and not made
        of pings.
    dwell_seconds : int or None
        Least time from the first ping of a stay to the last one.
    """

    gap_seconds: Size | None = None
    radius_metres: Annotated[float, AtLeast(0)] | None = None
    dwell_seconds: Size | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class FlowsCard(TablesCard, kind="flows"):
    """The contents of ``flows.json``.

    Attributes
    ----------
    guarantee : FlowsGuarantee
    decay : StatedDecay
    prior : StatedFlowsPrior or None
        None: there was none.
    pairs : StatedPairErrors or None
        None: no trips are released, or nothing is drawn yet.
    stays : StatedStays or None
        None: trips were not made of pings or stays.
    tables : tuple of TableInfo
        Flows, origins and destinations, each with a card of its own.
    files : tuple of File
        Noisy pairs of blocks, noisy trips by label, and the flows of a prior.
    """

    schema: Literal["geodp-flows-1"]
    guarantee: FlowsGuarantee
    decay: StatedDecay = field(metadata=before("budget"))
    prior: StatedFlowsPrior | None = None
    pairs: StatedPairErrors | None = None
    stays: StatedStays | None = None


@dataclass(frozen=True)
class FlowsSeriesGuarantee(Together, FlowsGuarantee):
    """The privacy guarantee of all periods together; levels are those of a period."""


@dataclass(frozen=True, kw_only=True, repr=False)
class FlowsSeriesCard(PeriodsCard, kind="flows-series"):
    """The contents of ``flows-series.json``."""

    period: ClassVar = FlowsCard
    promise: ClassVar = FlowsSeriesGuarantee

    schema: Literal["geodp-flows-series-1"]
    guarantee: FlowsSeriesGuarantee


class FlowsKind(IndexKind):
    """The kind of release that ``geodp flows publish`` writes."""

    title: ClassVar[str] = "a release of flows"
    index = FlowsCard
    doors: ClassVar[dict[str, str]] = {
        "open": "kinds.flows.flows:open_flows",
        "explain": "kinds.flows.page:explain_flows",
        "page": "kinds.flows.page:write_page",
        "draw": "kinds.flows.flows:draw_map",
        "estimate": "kinds.flows.running.estimate:estimate",
        "compare": "kinds.flows.running.estimate:compare",
        "diff": "kinds.flows.running.estimate:diff",
    }


class FlowsSeriesKind(SeriesKind):
    """A series of releases of flows, one for every period."""

    title: ClassVar[str] = "a series of flows"
    index = FlowsSeriesCard


KINDS = (FlowsKind(), FlowsSeriesKind())
