"""The public index of a series: what all snapshots share, and where each of them lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from geodp.table.card import File, LeftOut
from geodp.table.charged import Amount, Exact, StatedCharge
from geodp.table.plain import Text, read_plain, write_plain
from geodp.table.stated.release import Digest, Size, Software

SERIES_SCHEMA: Literal["geodp-series-1"] = "geodp-series-1"
"""What ``schema`` says in the index of a series."""

INDEX = "series.json"
"""Name of the index inside ``public``; every snapshot has a card in a folder of its own."""

Identity = Annotated[str, Text(r"[0-9a-f]{16}")]


@dataclass(frozen=True)
class StatedSharing:
    """How the budget of a series is shared among its snapshots.

    Attributes
    ----------
    person : {"all", "one"}
        In how many snapshots one person is.
    changed : int
        How many snapshots differ between neighbours at most: each has so much of the budget.
    levels : int
        How often a person is counted in the measurements of a snapshot.
    gaussian : bool
        Whether the noise is Gaussian; ``rule``: why.
    """

    person: Literal["all", "one"]
    changed: Size
    levels: Size
    gaussian: bool
    rule: str


@dataclass(frozen=True)
class StatedWhole:
    """What all snapshots together promise whom.

    Attributes
    ----------
    in_words, mechanism : str
    epsilon, rho, delta : str or None
        Exact, each with the nearest decimal; ``spends``: in a line.
    each_spends : str
        Of one snapshot.
    neighbours, unit : str
    contribution : int
        The most that one unit adds to the sum of the counts of a snapshot.
    sharing : StatedSharing
    """

    in_words: str
    mechanism: str
    epsilon: Exact | None
    epsilon_decimal: Amount | None
    rho: Exact | None
    rho_decimal: Amount | None
    delta: Exact | None
    delta_decimal: Amount | None
    spends: str
    each_spends: str
    neighbours: Literal["add-remove-one", "replace-one"]
    unit: str
    contribution: Size
    sharing: StatedSharing


@dataclass(frozen=True)
class StatedSnapshot:
    """One snapshot: its time, which is its folder's name too, its release's id and card."""

    time: Annotated[str, Text(r"\d{4}(-\d{2}(-\d{2}(T\d{2})?)?)?")]
    release_id: Identity
    card_sha256: Digest


@dataclass(frozen=True, kw_only=True)
class SeriesCard:
    """All of ``series.json``.

    Attributes
    ----------
    schema : "geodp-series-1"
    software : Software
    private : bool
        Whether nobody could know the key of the noise beforehand.
    name : str
        Of the count and of the files.
    step : {"year", "month", "day", "hour"}
        How long a snapshot lasts.
    guarantee : StatedWhole
    budget : StatedCharge or None
        What was charged to a ledger, once for all snapshots.
    smoothing : {"both", "forward", "none"}
        Whether snapshots before one, or before and after it, predict it; ``cycles``: after how many
        snapshots the like comes again, beside the one before.
    snapshots : tuple of StatedSnapshot
        In the order of time.
    files : tuple of File
        Beside the snapshots.
    left_out : tuple of LeftOut
    """

    schema: Literal["geodp-series-1"]
    software: Software
    private: bool
    name: Annotated[str, Text(r"\w[\w-]*")]
    step: Literal["year", "month", "day", "hour"]
    guarantee: StatedWhole
    budget: StatedCharge | None
    smoothing: Literal["both", "forward", "none"]
    cycles: tuple[Size, ...]
    snapshots: tuple[StatedSnapshot, ...] = ()
    files: tuple[File, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    def __repr__(self) -> str:
        size = f"{len(self.snapshots)} {self.step}s"
        return f"SeriesCard({self.name!r}, {size}, {self.guarantee.spends})"

    def to_json(self) -> dict[str, Any]:
        """Return the index as plain values."""
        plain: dict[str, Any] = write_plain(self)
        return plain

    @classmethod
    def from_json(cls, plain: Any) -> Self:
        """Return the index of plain values; VerificationError for what is none."""
        return read_plain(cls, plain, "series")
