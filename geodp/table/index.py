"""The public index of a release of several tables, and what follows from these tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Generic, Self, TypeVar

from geodp import __version__
from geodp.privacy.event import Measurement
from geodp.privacy.loss import Loss
from geodp.table.card import File, LeftOut
from geodp.table.charged import StatedCharge
from geodp.table.plain import read_plain, write_plain
from geodp.table.stated.release import Software, TableInfo

AMOUNTS = ("epsilon", "rho", "delta")
"""Names of exact amounts of a budget in a guarantee; each has its nearest decimal beside it."""

Joint = tuple[tuple[File, ...], tuple[LeftOut, ...]]
"""Entries of files that show several tables together, and of those that were left out."""


class IndexCard:
    """What indexes of every kind have in common.

    An index is a frozen dataclass of keywords, whose fields are the names of its JSON, in order.

    Attributes
    ----------
    kind : str
        Name of the kind of release.
    file : str
        Name of the index inside ``public``.
    identifier : str
        Value of ``schema``.
    """

    kind: ClassVar[str]
    file: ClassVar[str]
    identifier: ClassVar[str]

    def __init_subclass__(cls, kind: str = "") -> None:
        """Name the file and the schema by the kind."""
        cls.kind, cls.file, cls.identifier = kind, f"{kind}.json", f"geodp-{kind}-1"

    software: Software
    private: bool
    guarantee: Any
    budget: StatedCharge | None

    @classmethod
    def state(cls, event: Measurement, **own: Any) -> Self:
        """Make the index of a release that is not drawn yet.

        Parameters
        ----------
        event : Measurement
            Privacy event of all tables together.
        **own
            Fields that only this kind of index has.
        """
        # Which fields an index has, only its class knows.
        make: Any = cls
        made: Self = make(
            schema=cls.identifier,
            software=Software("geodp", __version__),
            private=event.is_private,
            budget=None,
            **own,
        )
        return made

    @property
    def about(self) -> str:
        """What is in the release, in few words."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.about}, {self.guarantee.spends})"

    def to_json(self) -> dict[str, Any]:
        """Convert the index to plain values."""
        plain: dict[str, Any] = write_plain(self)
        return plain

    @classmethod
    def from_json(cls, plain: Any) -> Self:
        """Create the index from plain values; VerificationError if they are invalid."""
        return read_plain(cls, plain, cls.kind)


class TablesCard(IndexCard):
    """An index of tables, each of which is a release in a folder of its name."""

    tables: tuple[TableInfo, ...]
    files: tuple[File, ...]
    left_out: tuple[LeftOut, ...]


def state_event(event: Measurement, results: str) -> dict[str, Any]:
    """Return the fields of a guarantee that state the event of several results together.

    Parameters
    ----------
    event : Measurement
    results : str
        What its sentence says of, such as "any result of these tables together".
    """
    described = event.describe()
    amounts = [name + end for name in AMOUNTS for end in ("", "_decimal")]
    return {
        "in_words": event.statement.replace("any result", results),
        "mechanism": event.mechanism,
        **{name: described[name] for name in amounts},
        "spends": event.spends,
        "neighbours": described["neighbours"],
        "unit": event.unit,
        "contribution": event.contribution,
    }


def read_amounts(promise: Any) -> dict[str, Any]:
    """Read the exact amounts of a budget by name, as fields of an event: Fraction or None."""
    stated = {name: getattr(promise, name) for name in AMOUNTS}
    return {name: None if text is None else Fraction(text) for name, text in stated.items()}


ReleaseOf = TypeVar("ReleaseOf")
IndexOf = TypeVar("IndexOf", bound=TablesCard)


@dataclass(frozen=True)
class Constraint(Generic[ReleaseOf]):
    """A sentence of an index on what holds exactly, and its check.

    Attributes
    ----------
    sentence : str
    holds : callable
        Tests whether it holds in a release.
    """

    sentence: str
    holds: Callable[[ReleaseOf], bool]


@dataclass(frozen=True)
class Rebuilt(Generic[IndexOf]):
    """What follows from the tables of a release.

    Attributes
    ----------
    index : TablesCard
        The index, without tables and files.
    events : mapping of str to Measurement
        Event of every table, by name.
    facts : tuple of str
        Public facts that the card of every table states: of which release it is a part.
    loss : Loss or None
        What was charged for all tables; None: they share a charge with others.
    note : str
        What was not computed again, and why; empty: all was.
    """

    index: IndexOf
    events: Mapping[str, Measurement]
    facts: tuple[str, ...]
    loss: Loss | None
    note: str = ""
