"""Assumptions of a guarantee about its input, and who is responsible for each.

geodp can enforce some assumptions on records; a table of counts shows nothing about the others.
Every card therefore names who states each assumption. geodp never infers one from a file's name, a
default or the counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Self

from geodp.errors import UsageError
from geodp.reprs import one_line

Responsible = Literal["operator", "geodp", "layout", "device"]
"""Parties responsible for an assumption: the operator in this call; geodp, which enforces it on the
records; the documented layout of a publisher's table; or each device that sends a report."""

ANSWERS: dict[Responsible, str] = {
    "operator": "The operator vouches for it",
    "geodp": "geodp enforces it on the records",
    "layout": "The layout of one table of its publisher states it",
    "device": "Each device sees to it",
}
"""Statements of responsibility, as the second half of a card's sentence."""


@dataclass(frozen=True, slots=True)
class ContributionBound:
    """The most that one person adds to the sum of all counts of a table.

    Attributes
    ----------
    value : int
        At least 1; otherwise UsageError.
    stated_by : {"operator", "geodp", "layout", "device"}
    layout : str
        Name and title of the layout, where one states it.
    unit : str
        Whose records were bounded, such as one person-day, where a reader knows it: a release of
        the table then protects this unit and no other. Empty: whomever the operator names.
    """

    __repr__ = one_line

    value: int
    stated_by: Responsible = "operator"
    layout: str = ""
    unit: str = ""

    def __post_init__(self) -> None:
        if self.value < 1 or bool(self.layout) != (self.stated_by == "layout"):
            raise UsageError(
                "A bound is at least 1, and names a layout where one states it.",
                code="assumed-bound-form",
            )

    @classmethod
    def of(cls, value: int, enforced: bool, layout: str) -> Self:
        """Make the bound of an event, which has the answers as two fields."""
        # Enforcement wins over a layout: what geodp does itself needs nobody's statement.
        stated_by: Responsible = "geodp" if enforced else "layout" if layout else "operator"
        return cls(value, stated_by, layout)

    @property
    def enforced(self) -> bool:
        """Whether geodp bounded the contribution record by record."""
        return self.stated_by == "geodp"

    def assume(self, unit: str, *, derived: bool = False) -> Assumption:
        """Return the bound as an assumption about a unit, such as a person.

        ``derived``: whether the table itself is computed from the counts that the bound is of.
        """
        statement = f"One {unit} adds at most {self.value:,} to the sum of all counts."
        if derived:
            statement = (
                f"One {unit} adds at most {self.value:,} to the sum of the counts that this table "
                "is computed from."
            )
        return Assumption("contribution", statement, self.stated_by, self.layout or None)


@dataclass(frozen=True)
class Assumption:
    """An assumption of a guarantee, as a card lists it.

    Attributes
    ----------
    kind : str
        What it is about: contribution, domain, mask, table of regions, prior, public totals.
    statement : str
        A sentence.
    stated_by : {"operator", "geodp", "layout", "device"}
    source : str or None
        In the operator's words, where a public table comes from; of a layout its name and title.
    """

    __repr__ = one_line

    kind: str
    statement: str
    stated_by: Responsible
    source: str | None = None

    @property
    def sentence(self) -> str:
        """The statement, and who answers for it."""
        source = "" if self.source is None else f": {self.source}"
        return f"{self.statement} {ANSWERS[self.stated_by]}{source}."


def describe_bound(enforced: bool, layout: str) -> str:
    """Describe who answers for the contribution, as cards say it."""
    if enforced:
        return "enforced by geodp on the records"
    if layout:
        return f"stated by the layout {layout}, for one table of its publisher"
    return "vouched for by the operator"


def name_layout(assumptions: Iterable[Assumption]) -> str:
    """Name the layout that states a contribution among assumptions; empty where none does."""
    return next((one.source or "" for one in assumptions if one.stated_by == "layout"), "")
