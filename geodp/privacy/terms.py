"""Terms of a release: its budget, neighbours, unit and contribution, read once from a caller.

Neighbours are tables that differ in one unit, such as a person, which is added, removed or
replaced.

A front door (:func:`geodp.publish`, :func:`geodp.plan`, ...) takes the keyword arguments of
:meth:`Terms.of`, and makes one :class:`Terms` of them; everything behind it takes that value.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, replace
from fractions import Fraction
from numbers import Real
from typing import Any, Self

from geodp.errors import UsageError
from geodp.options.option import as_keyword
from geodp.options.shared import REQUEST
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.loss import (
    ApproximateDP,
    Budget,
    Loss,
    PureDP,
    ZeroConcentratedDP,
    amounts_of,
    budget,
)
from geodp.reprs import one_line

ADD_REMOVE = "add-remove-one"
REPLACE = "replace-one"
NEIGHBOURS = (ADD_REMOVE, REPLACE)


def canonical_unit(text: str) -> str:
    """Return the one form of a unit of privacy: a noun, without the number.

    Composed characters (NFC), single blanks, no "one" before it. UsageError for what is no short
    line of printable characters.

    Examples
    --------
    >>> canonical_unit("one person"), canonical_unit(" person  day")
    ('person', 'person day')
    """
    if isinstance(text, str) and text.isprintable() and len(text) <= 200:
        # "one person" and "person" must be one unit: losses add up only where the units are equal.
        parts = unicodedata.normalize("NFC", text).split()
        while parts and parts[0].casefold() == "one":
            parts = parts[1:]
        if parts:
            return " ".join(parts)
    raise UsageError(
        "unit must name whom the guarantee protects: person, household, trip ...",
        code="unit-missing",
    )


def require_neighbours(neighbours: str) -> None:
    """Raise UsageError for an unknown neighbouring relation."""
    if neighbours not in NEIGHBOURS:
        raise UsageError(
            f"neighbours must be one of: {', '.join(NEIGHBOURS)}.", code="neighbours-unknown"
        )


MAX_PEOPLE = 1 << 60
"""End of guesses of the sum of all counts: no larger counts are read."""

NAMES = ("epsilon", "rho", "delta", "neighbours", "contribution", "unit", "people")
"""Keyword arguments of :meth:`Terms.of`, of every front door and of plan files."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a release's guarantee, checked when they are made.

    Attributes
    ----------
    loss : PureDP, ZeroConcentratedDP or ApproximateDP
        Above 0. An approximate one holds the zero-concentrated loss of its Gaussian noise.
    neighbours : str
        One of ``NEIGHBOURS``.
    contribution : int or None
        The most that one person adds to the sum of all counts, at least 1; None: what bounds the
        table, which :meth:`bound` settles once there is a table.
    enforced : bool
        Whether geodp bounded the contribution itself.
    unit : str
        Whom the guarantee protects, as a noun: person, household, person-day, trip.
    people : float or None
        A public guess of the sum of all counts, above 0.
    by_rho : bool
        For an approximate loss: whether rho was given and epsilon follows from it; otherwise
        epsilon was given, and rho follows.
    layout : str
        Name and title of the layout that states the contribution; empty where none does. Unless
        geodp or a layout answers for the contribution, the operator does.

    Raises
    ------
    UsageError
        A value that makes no sense.
    """

    __repr__ = one_line

    loss: Loss
    neighbours: str = ADD_REMOVE
    contribution: int | None = None
    enforced: bool = False
    unit: str = "person"
    people: float | None = None
    by_rho: bool = False
    layout: str = ""

    def __post_init__(self) -> None:
        if not all(amount > 0 for amount in self.loss.amounts):
            raise UsageError("A budget must be above 0.", code="budget-not-positive")
        if isinstance(self.loss, ApproximateDP) and self.loss.original is None:
            raise UsageError(
                "A delta goes with Gaussian noise, which has a rho: give one.",
                code="delta-needs-rho",
            )
        require_neighbours(self.neighbours)
        if self.contribution is not None:
            object.__setattr__(self, "contribution", read_contribution(self.contribution))
        # Normalised once here, so that equal terms have equal digests and equal noise keys.
        object.__setattr__(self, "unit", canonical_unit(self.unit))
        object.__setattr__(self, "people", _guess(self.people))

    @classmethod
    def of(
        cls,
        epsilon: Budget | None = None,
        rho: Budget | None = None,
        delta: Budget | None = None,
        neighbours: str = ADD_REMOVE,
        contribution: int | None = None,
        unit: str = "person",
        people: float | None = None,
    ) -> Self:
        """Read the keyword arguments of a front door into exact values.

        Parameters
        ----------
        epsilon : str, int, float, Decimal or Fraction
            The budget, read exactly: ``0.1``, ``"1/10"``. Alone it means pure differential privacy;
            with delta, Gaussian noise with the largest rho that implies the two.
        rho : as epsilon
            Instead of epsilon: zero-concentrated differential privacy, with Gaussian noise.
        delta : as epsilon, optional
            With rho: the delta for which the release also states an epsilon.
        neighbours : {"add-remove-one", "replace-one"}
            Which tables are to be indistinguishable.
        contribution : int, optional
            The most that one person adds to the sum of all counts: 1 if everybody is counted once.
            You vouch for it. May be left out if a reader enforced it on the records, or if the
            layout of an official table states it (``table.bound``).
        unit : str
            Whom the guarantee protects, as a noun: person, household, person-day, trip.
        people : float, optional
            A public guess of the sum of all counts, for example from an older census; never taken
            from the data. The card then states the resolution floor.

        Raises
        ------
        UsageError
            A value that makes no sense.

        Examples
        --------
        >>> Terms.of(epsilon=0.1, unit="one  trip").loss, Terms.of(rho="1/8").gaussian
        (PureDP(epsilon=Fraction(1, 10)), True)
        """
        by_rho = rho is not None and delta is not None
        loss = budget(epsilon, rho, delta)
        return cls(loss, neighbours, contribution, False, unit, people, by_rho)

    @property
    def gaussian(self) -> bool:
        """Whether the budget asks for Gaussian noise."""
        return amounts_of(self.loss)["rho"] is not None

    def share(self, part: Fraction) -> Self:
        """Return terms with a part of the loss, exactly; of one with delta, of its rho.

        Examples
        --------
        >>> Terms.of(rho="1/2", delta="1e-10").share(Fraction(1, 4)).loss
        ZeroConcentratedDP(rho=Fraction(1, 8))
        """
        if part == 1:
            return self
        rho, epsilon = (amounts_of(self.loss)[name] for name in ("rho", "epsilon"))
        if rho is not None:
            return replace(self, loss=ZeroConcentratedDP(rho * part), by_rho=False)
        assert epsilon is not None
        return replace(self, loss=PureDP(epsilon * part), by_rho=False)

    @property
    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of :meth:`of` that make these terms, exact; those at None, too."""
        amounts = amounts_of(self.loss)
        if isinstance(self.loss, ApproximateDP):
            amounts["epsilon" if self.by_rho else "rho"] = None
        return {**amounts, **{name: getattr(self, name) for name in NAMES if name not in amounts}}

    def require_bounded(self) -> int:
        """Return how often a unit is counted at most; UsageError where that is not bounded."""
        if self.contribution is None:
            raise UsageError(
                "The contribution is not bounded; set it with Terms.bound.",
                code="contribution-unbounded",
            )
        return self.contribution

    def bound(self, bound: ContributionBound) -> Self:
        """Return these terms with a contribution, and with who answers for it.

        Raises UsageError for a bound of another unit than these terms protect: at most two trips
        of a person in a day are sixty of the person in a month.
        """
        if bound.unit and bound.unit != self.unit:
            raise UsageError(
                f"The records of each {bound.unit} were bounded, and those of one {self.unit} were "
                f"not: protect one {bound.unit} (--unit, unit=), or read the records again.",
                code="bound-of-other-unit",
            )
        return replace(self, contribution=bound.value, enforced=bound.enforced, layout=bound.layout)


def read_contribution(contribution: object) -> int:
    """Return how often a unit is counted at most; UsageError for no whole number above 0."""
    bound: int = REQUEST.one("contribution").check(contribution, as_keyword)
    return int(bound)


def _guess(people: Any) -> float | None:
    if people is None:
        return None
    number = isinstance(people, Real) and not isinstance(people, bool)
    if not (number and 0 < people < MAX_PEOPLE):
        raise UsageError(
            "people is a public guess of the sum of all counts: a number above 0 and below 2**60.",
            code="people-not-positive",
        )
    return float(people)
