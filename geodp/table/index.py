"""The public index of a release of several tables, and what follows from these tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    Self,
    TypeVar,
)

from geodp import __version__
from geodp.privacy.assumption import Assumption
from geodp.table.card import File, LeftOut
from geodp.table.plain import Text, before, read_plain, write_plain
from geodp.table.stated.release import (
    Amount,
    Digest,
    Exact,
    Size,
    Software,
    StatedCharge,
    TableInfo,
)

if TYPE_CHECKING:
    # Laws of noise load Numba, which explanations do not need.
    from geodp.privacy.event import Measurement
    from geodp.privacy.loss import Loss

AMOUNTS = ("epsilon", "rho", "delta")
"""Names of exact amounts of a budget in a guarantee; each has its nearest decimal beside it."""

Joint = tuple[tuple[File, ...], tuple[LeftOut, ...]]
"""Entries of files that show several tables together, and of those that were left out."""


@dataclass(frozen=True, kw_only=True, repr=False)
class IndexCard:
    """An index: fields that every kind has.

    An index is a frozen dataclass of keywords, whose fields are the names of its JSON.

    Attributes
    ----------
    kind : str
        Name of the kind of release.
    file : str
        Name of the index inside ``public``.
    identifier : str
        Value of ``schema``.
    schema : str
    software : Software
    private : bool
        Whether the key of the noise was secret.
    guarantee : dataclass
        Of all that the index lists together.
    budget : StatedCharge or None
        Charge to a ledger, once for everything.
    """

    kind: ClassVar[str]
    file: ClassVar[str]
    identifier: ClassVar[str]

    def __init_subclass__(cls, kind: str = "") -> None:
        """Name the file and the schema by the kind."""
        cls.kind, cls.file, cls.identifier = kind, f"{kind}.json", f"geodp-{kind}-1"

    schema: str
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
        """The contents of the release in few words."""
        return f"{self.guarantee.unit} protected"

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


@dataclass(frozen=True, kw_only=True)
class TogetherGuarantee:
    """The privacy guarantee of several results together, as :func:`state_event` states it.

    Attributes
    ----------
    in_words, mechanism : str
    epsilon, rho, delta : str or None
        Exact, each with the nearest decimal; ``spends``: as one line.
    neighbours, unit : str
    contribution : int
        The most that one unit adds to the sum of the counts of each table, or of each snapshot.
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
    neighbours: Literal["add-remove-one", "replace-one"]
    unit: str
    contribution: Size


@dataclass(frozen=True, kw_only=True)
class TablesGuarantee(TogetherGuarantee):
    """The privacy guarantee of all tables of a release together.

    Attributes
    ----------
    source : str
        Why it holds.
    assumptions : tuple of Assumption
        Assumptions about the input, and who answers for them.
    """

    source: str = field(metadata=before("mechanism"))
    assumptions: tuple[Assumption, ...]


@dataclass(frozen=True, kw_only=True, repr=False)
class TablesCard(IndexCard):
    """An index of tables, each of which is a release in a folder of its name.

    Attributes
    ----------
    counts : mapping of str to str
        Names of what tables count, of their files, layers and columns, where it is not their own.
    constraints : tuple of str
        What holds exactly, a sentence each.
    tables : tuple of TableInfo
        Tables, each with a card of its own; empty before they are written.
    files : tuple of File
        Files that show all tables together.
    left_out : tuple of LeftOut
    """

    counts: ClassVar[Mapping[str, str]] = {}

    guarantee: TablesGuarantee
    constraints: tuple[str, ...]
    tables: tuple[TableInfo, ...] = ()
    files: tuple[File, ...] = ()
    left_out: tuple[LeftOut, ...] = ()

    @property
    def enclosed(self) -> tuple[str, ...]:
        """Names of the folders of earlier releases that are enclosed as they were published."""
        return ()

    def name_count(self, table: str) -> str:
        """Return the name of what a table counts."""
        return self.counts.get(table, table)

    def event_with(self, table: Measurement) -> Measurement:
        """Return the event of all tables together; ``table``: that of one of them."""
        return replace(table, mechanism=self.guarantee.mechanism, share=Fraction(1))

    def state_together(self, each: Measurement, total: Measurement) -> Any:
        """State the guarantee of the periods of a series, of which one has this index.

        Parameters
        ----------
        each, total : Measurement
            Event of this period, and of all periods together.
        """
        bound, *others = self.guarantee.assumptions
        counted = replace(bound, statement=f"{bound.statement[:-1]}, in each period.")
        return replace(
            self.guarantee,
            **state_event(total, "any result of these releases together"),
            assumptions=(counted, *others),
        )


@dataclass(frozen=True, kw_only=True)
class Together:
    """Statements of a series' guarantee beside those of a period.

    Attributes
    ----------
    person : {"all", "one"}
        Whether a person may be in all periods or in one.
    changed : int
        Maximal number of periods that differ between neighbours; each has 1 / changed of the
        budget.
    each_spends : str
        Budget of one period.
    """

    person: Literal["all", "one"]
    changed: Size
    each_spends: str


@dataclass(frozen=True)
class PeriodInfo:
    """A period: its time, which is also its folder's name, and the digest of its index.

    Attributes
    ----------
    time : str
        In ISO 8601.
    index_sha256 : str
        Of the index in its folder.
    """

    time: Annotated[str, Text(r"\d{4}(-\d{2}(-\d{2}(T\d{2})?)?)?")]
    index_sha256: Digest


@dataclass(frozen=True, kw_only=True, repr=False)
class PeriodsCard(IndexCard):
    """An index of periods, each of which is a release in a folder named by its time.

    Attributes
    ----------
    step : {"year", "month", "day", "hour"}
        Length of a period.
    periods : tuple of PeriodInfo
        In chronological order; empty before they are written.
    period : type
        Class of the index of a period.
    promise : type
        Class of the guarantee: that of a period with :class:`Together`.
    called : str
        Name of a period in sentences.
    """

    called: ClassVar[str] = "period"
    period: ClassVar[type[TablesCard]]
    promise: ClassVar[type]

    step: Literal["year", "month", "day", "hour"] = field(metadata=before("guarantee"))
    periods: tuple[PeriodInfo, ...] = ()
    files: ClassVar[tuple[File, ...]] = ()

    @property
    def times(self) -> list[str]:
        """Times of the periods, which are also the names of their folders."""
        return [one.time for one in self.periods]

    @property
    def person(self) -> Literal["all", "one"]:
        """Whether a person may be in all periods or in one."""
        person: Literal["all", "one"] = self.guarantee.person
        return person

    @classmethod
    def take(cls, period: Any) -> dict[str, Any]:
        """Return the index's further statements on a period; ``period``: its own index."""
        return {}

    @property
    def about(self) -> str:
        """The contents of the release in few words."""
        return f"{len(self.periods) or ''} {self.step}s".strip()


OF_PERIOD = "that it is the {} of "
"""Beginning of the fact by which the card of a period, or of a snapshot, names it."""

PERIOD_FACT = (
    OF_PERIOD + "{time} in a series of {number}, from {first} to {last}, of which a {unit} is in "
    "{where}; together they spend {spends}, charged once"
)
"""Statement on the series of a period, which may be passed on alone: others share its budget."""


def describe_period(
    time: str, times: Sequence[str], person: str, unit: str, spends: str, name: str = "period"
) -> str:
    """Describe, for the cards of a period, the series that it is a part of.

    Parameters
    ----------
    time : str
    times : sequence of str
        Of all periods.
    person : {"all", "one"}
    unit, spends : str
        Of all periods together.
    name : str
        What a period is called.
    """
    return PERIOD_FACT.format(
        name,
        time=time,
        number=len(times),
        first=times[0],
        last=times[-1],
        unit=unit,
        where=f"every {name}" if person == "all" else f"one {name} only",
        spends=spends,
    )


class PeriodOfSeries(NamedTuple):
    """The series of a period, as the cards of the period state it.

    Attributes
    ----------
    time, number, first, last, spends : str
    """

    time: str
    number: str
    first: str
    last: str
    spends: str


def find_period(facts: Iterable[str]) -> PeriodOfSeries | None:
    """Find of which period a release is by its facts; None: it is part of no series."""
    names = {name: f"(?P<{name}>.+)" for name in (*PeriodOfSeries._fields, "unit", "where")}
    form = re.compile(PERIOD_FACT.format("period", **names))
    found = next((one for fact in facts if (one := form.fullmatch(fact))), None)
    return None if found is None else PeriodOfSeries(*found.group(*PeriodOfSeries._fields))


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
    """An index that was rebuilt from the tables of a release.

    Attributes
    ----------
    index : TablesCard
        The index, without tables and files.
    events : mapping of str to Measurement
        Event of every table, by name.
    facts : tuple of str
        Public facts that the card of every table states: of which release it is a part.
    loss : Loss
        What was charged for all tables.
    note : str
        What was not computed again, and why; empty: all was.
    """

    index: IndexOf
    events: Mapping[str, Measurement]
    facts: tuple[str, ...]
    loss: Loss
    note: str = ""
