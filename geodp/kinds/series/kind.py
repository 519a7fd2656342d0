"""A series as a kind of release: its public index, which lists a release for every snapshot."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from geodp.release.index_kind import IN_PERIODS, OF_SERIES, IndexKind
from geodp.table.card import File, LeftOut
from geodp.table.index import IndexCard, TogetherGuarantee
from geodp.table.plain import Text, before
from geodp.table.stated.release import Digest, Identity, Size

if TYPE_CHECKING:
    # It loads methods, which reading an index does not need.
    from geodp.release.sharing import Sharing


@dataclass(frozen=True)
class SharingInfo:
    """The division of a series' budget among its snapshots.

    Attributes
    ----------
    person : {"all", "one"}
        Whether a person may be in all snapshots or in one.
    changed : int
        Maximal number of snapshots that differ between neighbours; each has 1 /
        changed of the budget.
    levels : int
        Number of times that a person is counted in the measurements of a snapshot.
    gaussian : bool
        Whether the noise is Gaussian; ``rule`` is the reason.
    """

    person: Literal["all", "one"]
    changed: Size
    levels: Size
    gaussian: bool
    rule: str

    @classmethod
    def of(cls, sharing: Sharing) -> Self:
        """State a division."""
        return cls(*(getattr(sharing, one.name) for one in fields(cls)))


@dataclass(frozen=True, kw_only=True)
class SeriesGuarantee(TogetherGuarantee):
    """The privacy guarantee of all snapshots together.

    Attributes
    ----------
    each_spends : str
        Budget of one snapshot.
    sharing : SharingInfo
    """

    each_spends: str = field(metadata=before("neighbours"))
    sharing: SharingInfo


@dataclass(frozen=True)
class SnapshotInfo:
    """A snapshot: its time, which is also its folder's name, and its release's id and card."""

    time: Annotated[str, Text(r"\d{4}(-\d{2}(-\d{2}(T\d{2})?)?)?")]
    release_id: Identity
    card_sha256: Digest


@dataclass(frozen=True, kw_only=True, repr=False)
class SeriesCard(IndexCard, kind="series"):
    """The contents of ``series.json``.

    Attributes
    ----------
    name : str
        Name of the count and of the files.
    step : {"year", "month", "day", "hour"}
        Length of a snapshot.
    guarantee : SeriesGuarantee
    smoothing : {"both", "forward", "none"}
        Whether the snapshots before one, or before and after it, predict it; ``cycles``: numbers of
        snapshots after which patterns repeat.
    snapshots : tuple of SnapshotInfo
        Snapshots in chronological order.
    files : tuple of File
        Files besides the snapshots.
    left_out : tuple of LeftOut
    """

    called: ClassVar[str] = "snapshot"

    schema: Literal["geodp-series-1"]
    name: Annotated[str, Text(r"\w[\w-]*")] = field(metadata=before("guarantee"))
    step: Literal["year", "month", "day", "hour"] = field(metadata=before("guarantee"))
    guarantee: SeriesGuarantee
    smoothing: Literal["both", "forward", "none"]
    cycles: tuple[Size, ...]
    snapshots: tuple[SnapshotInfo, ...] = ()
    files: tuple[File, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    @property
    def times(self) -> list[str]:
        """Times of the snapshots, which are also the names of their folders."""
        return [one.time for one in self.snapshots]

    @property
    def person(self) -> Literal["all", "one"]:
        """Whether a person may be in all snapshots or in one."""
        return self.guarantee.sharing.person

    @property
    def about(self) -> str:
        """The contents of the release in few words."""
        return f"{self.name}, {len(self.snapshots)} {self.step}s"


class SeriesOfReleases(IndexKind):
    """The kind of release that ``geodp publish-series`` writes."""

    title: ClassVar[str] = "a series"
    index = SeriesCard
    instead: ClassVar[str] = IN_PERIODS
    doors: ClassVar[dict[str, str]] = {
        "verify": "kinds.series.series:verify_series",
        "open": "kinds.series.series:open_series",
        **OF_SERIES,
    }


KINDS = (SeriesOfReleases(),)
