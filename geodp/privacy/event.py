"""Events: each use of a mechanism on confidential data, as a frozen value.

Who reads what
--------------
The ledger and every sum of losses read :attr:`Event.loss`, ``neighbours`` and ``unit``. A mechanism
reads the :class:`Measurement` that it made of its :class:`Terms`, and never the terms again. Closed
forms, cards and files of a released table read a :class:`TableEvent`, whatever made the table. A
new kind of event is a new class with its own ``loss`` and ``statement``; no code tests the kind.

What may never change
---------------------
- The names of the fields of :class:`Measurement`, their order and their values: all but
  ``key_origin`` and ``layout``, on which no noise depends, and a ``share`` of 1, enter the digest
  that derives a release's noise from a kept key (:mod:`geodp.release.noise_identity`). A changed
  field would draw new noise for a release that was published before, and charge for it again.
- ``mechanism``, ``neighbours``, ``contribution`` and the text of ``loss`` stand in ledger entries,
  and an entry is recognised by them.
- The keys of :meth:`Measurement.describe` stand in release cards, which are read back.

A new field needs a default that leaves all of these as they are.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Self

from geodp.errors import UsageError
from geodp.privacy.assumption import Assumption, ContributionBound, describe_bound
from geodp.privacy.loss import (
    ApproximateDP,
    Loss,
    PureDP,
    ZeroConcentratedDP,
    amounts_of,
    compose,
    epsilon_for,
)
from geodp.privacy.noise.law import (
    LARGEST_SCALE,
    DiscreteGaussian,
    DiscreteLaplace,
    Law,
    check_parameter,
)
from geodp.privacy.terms import ADD_REMOVE, REPLACE, Terms
from geodp.reprs import one_line

PUBLIC_DOMAIN = (
    "one person adds at most `contribution` to the sum of all counts, and the domain was chosen "
    "without looking at the data"
)

PURE = "pure epsilon-differential privacy"
CONCENTRATED = "rho-zero-concentrated differential privacy (zCDP)"


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The guarantee of a mechanism, in sentences that a release card quotes.

    Attributes
    ----------
    source : str
        Where it is proved.
    precondition : str
        What the caller must make sure of for the promise to hold.
    variant : str
        The notion of privacy.
    """

    __repr__ = one_line

    source: str
    precondition: str = PUBLIC_DOMAIN
    variant: str = PURE


TOGETHER = "any result of this table together with all that it depends on"
"""Subject of the guarantee of a table that depends on the noise of other tables, too."""

DEPENDS = (
    "that this table depends on noisy counts of other tables of its release, too: the stated "
    "budget is that of all that it depends on, of which its own noise has {}; it was charged once, "
    "and budgets of tables of one release do not add up"
)
"""The fact about such a table, by its share of the budget."""

NOT_PRIVATE = "NOT PRIVATE: the noise was made with a fixed key, for tests only."
NOISE_KEYS = {
    "entropy": "256 bits from the operating system, forgotten after the run",
    "file": "derived from a 256-bit key kept by its owner and a digest of the input",
    "fixed": "fixed by the calling program: NOT PRIVATE",
}
"""Description of each origin of a key, for cards."""


def describe_change(neighbours: str, contribution: int, unit: str) -> tuple[str, str]:
    """Describe the change between neighbours, and the bound on how often a unit is counted."""
    times = "once" if contribution == 1 else f"at most {contribution} times"
    change = (
        f"Adding or removing one {unit}"
        if neighbours == ADD_REMOVE
        else f"Replacing one {unit} by another"
    )
    return change, f"if each {unit} is counted {times}."


def describe_factor(epsilon: Fraction) -> str:
    """Describe ``exp(epsilon)``, the factor by which a probability may change."""
    # A larger factor would be a number of more than 43 digits, which helps no reader.
    return f"{math.exp(epsilon):.4g} (exp({epsilon}))" if epsilon < 100 else f"exp({epsilon})"


class Event(ABC):
    """Use of confidential data, and its privacy loss.

    Attributes
    ----------
    neighbours : str
        One of ``NEIGHBOURS``.
    unit : str
        Whom the guarantee protects, as a noun.
    """

    __slots__ = ()
    neighbours: str
    unit: str

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """Privacy loss, as a ledger charges it."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Plain values for a card."""


class TableEvent(Event):
    """The event behind a released table, as cards, files and closed forms read it.

    Attributes
    ----------
    mechanism : str
        Name of a method, and settings.
    epsilon, rho, delta : Fraction or None
        Exact parameters of the budget.
    contribution : int
        How often one unit may be counted.
    key_origin : str
        Where the coins came from.
    """

    __slots__ = ()
    mechanism: str
    epsilon: Fraction | None
    rho: Fraction | None
    delta: Fraction | None
    contribution: int
    key_origin: str

    @property
    @abstractmethod
    def assumption(self) -> Assumption:
        """The bound on how often a unit is counted, and who is responsible for it."""

    @property
    def derived_assumption(self) -> Assumption:
        """The contribution to the counts that a table is computed from, as its card lists it."""
        return self.assumption

    @property
    @abstractmethod
    def variant(self) -> str:
        """Name of the notion of privacy."""

    @property
    @abstractmethod
    def spends(self) -> str:
        """The budget's exact parameters, as text."""

    @property
    @abstractmethod
    def statement(self) -> str:
        """The guarantee as one sentence."""

    @property
    def is_private(self) -> bool:
        """Whether the noise comes from a key that nobody could know beforehand."""
        return self.key_origin in ("entropy", "file")

    @property
    @abstractmethod
    def is_normal(self) -> bool:
        """Whether errors of estimates have a normal law's tails; otherwise Laplace's, longer."""

    @property
    @abstractmethod
    def not_protected(self) -> tuple[str, ...]:
        """Sentences on what the guarantee does not cover, apart from what is public anyway."""


@dataclass(frozen=True, slots=True)
class Measurement(TableEvent):
    """One use of a mechanism on confidential data.

    Attributes
    ----------
    mechanism : str
        Name in ``METHODS``, and settings.
    epsilon : Fraction or None
        Epsilon of the pure guarantee; with rho, of the approximate guarantee with delta, if stated.
    neighbours : str
        One of ``NEIGHBOURS``.
    contribution : int
        The most that one person adds to the table: cells times count in each.
    enforced : bool
        Whether geodp bounded the contribution itself.
    sensitivity : int
        L1 norm of the largest change of the measured vector between neighbours.
    unit : str
        Whom the guarantee protects, as a noun: person, household, person-day, trip.
    key_origin : str
        ``"entropy"``: fresh and forgotten; ``"file"``: kept by its owner; ``"fixed"``: given by
        a program in the clear, which protects nobody.
    rho, delta : Fraction, optional
        Parameters of Gaussian noise; without rho the noise is Laplace.
    layout : str
        Name and title of the layout that states the contribution; empty where none does. Unless
        geodp or a layout answers for the contribution, the operator does.
    share : Fraction
        Above 0 and at most 1: the part of the budget that the noise of this table has. Below 1 the
        table depends on other noisy counts, too, so that its loss is the whole budget, whereas its
        errors follow from the part.
    """

    __repr__ = one_line

    mechanism: str
    epsilon: Fraction | None
    neighbours: str
    contribution: int
    enforced: bool
    sensitivity: int
    unit: str
    key_origin: str
    rho: Fraction | None = None
    delta: Fraction | None = None
    layout: str = ""
    share: Fraction = Fraction(1)

    @classmethod
    def of(
        cls, mechanism: str, terms: Terms, sensitivity: int, key_origin: str = "entropy"
    ) -> Self:
        """Make the event of a mechanism under terms with a known contribution.

        Parameters
        ----------
        mechanism : str
        terms : Terms
        sensitivity : int
            That of one person added or removed once. Replacing one person removes one and adds
            one, which doubles it; a contribution of c multiplies it by c.
        key_origin : str

        Raises
        ------
        UsageError
            Terms that leave the contribution to a table.

        Examples
        --------
        >>> Measurement.of("laplace", Terms.of(epsilon="1/2", contribution=3), 1).scale
        Fraction(6, 1)
        """
        contribution = terms.require_bounded()
        # Positional, in the order of the fields: the order enters the digest that derives the
        # noise's key.
        amounts = amounts_of(terms.loss)
        # Replacing one person removes one and adds another: two changes of the measured vector.
        factor = contribution * (2 if terms.neighbours == REPLACE else 1)
        return cls(
            mechanism,
            amounts["epsilon"],
            terms.neighbours,
            contribution,
            terms.enforced,
            sensitivity * factor,
            terms.unit,
            key_origin,
            amounts["rho"],
            amounts["delta"],
            terms.layout,
        )

    def depending_on(self, complete: Measurement) -> Measurement:
        """Return the event of a table with this noise that depends on all of another event.

        Parameters
        ----------
        complete : Measurement
            Of everything that the table depends on, with its own noise.

        Examples
        --------
        >>> complete = Measurement.of("pyramid", Terms.of(epsilon=1, contribution=1), 1)
        >>> part = Measurement.of("pyramid", Terms.of(epsilon="1/4", contribution=1), 1)
        >>> made = part.depending_on(complete)
        >>> made.spends, str(made.share), made.scale == part.scale
        ('epsilon = 1', '1/4', True)
        """
        amounts = (self.epsilon, complete.epsilon) if self.rho is None else (self.rho, complete.rho)
        mine, all_of_it = amounts
        assert mine is not None
        assert all_of_it is not None
        share = mine / all_of_it
        if share == 1:
            return self
        return replace(
            self, epsilon=complete.epsilon, rho=complete.rho, delta=complete.delta, share=share
        )

    @property
    def own(self) -> Measurement:
        """The event of the table's own noise alone, with its share of the budget."""
        if self.share == 1:
            return self
        if self.rho is not None:
            rho = self.rho * self.share
            return replace(self, epsilon=None, rho=rho, delta=None, share=Fraction(1))
        assert self.epsilon is not None
        return replace(self, epsilon=self.epsilon * self.share, share=Fraction(1))

    def with_rho(self, rho: Fraction) -> Measurement:
        """Return the event with another rho; epsilon, if stated, follows at the same delta."""
        epsilon = None if self.delta is None else epsilon_for(rho, self.delta)
        return replace(self, rho=rho, epsilon=epsilon)

    def part(self, share: Fraction) -> Measurement:
        """Return the event of a part of the budget; of Gaussian noise, of its rho.

        Examples
        --------
        >>> whole = Measurement.of("pyramid", Terms.of(rho="1/2", delta="1e-6", contribution=1), 1)
        >>> part = Measurement.of("pyramid", Terms.of(rho="1/4", delta="1e-6", contribution=1), 1)
        >>> whole.part(Fraction(1, 2)) == part
        True
        """
        if share == 1:
            return self
        if self.rho is not None:
            return self.with_rho(self.rho * share)
        assert self.epsilon is not None
        return replace(self, epsilon=self.epsilon * share)

    @property
    def bound(self) -> ContributionBound:
        """The contribution, and who answers for it."""
        return ContributionBound.of(self.contribution, self.enforced, self.layout)

    @property
    def assumption(self) -> Assumption:
        """The contribution, and who answers for it, as a card lists it."""
        return self.bound.assume(self.unit)

    @property
    def derived_assumption(self) -> Assumption:
        """The contribution to the counts that a table is computed from, as its card lists it."""
        return self.bound.assume(self.unit, derived=True)

    @property
    def loss(self) -> Loss:
        """Privacy loss, as a ledger charges it."""
        if self.rho is None:
            assert self.epsilon is not None
            return PureDP(self.epsilon)
        concentrated = ZeroConcentratedDP(self.rho)
        # A rho without delta stays a concentrated loss, which composes more tightly.
        if self.epsilon is None or self.delta is None:
            return concentrated
        return ApproximateDP(self.epsilon, self.delta, concentrated)

    @property
    def spends(self) -> str:
        """The budget's exact parameters, as text."""
        amounts = {"rho": self.rho, "epsilon": self.epsilon, "delta": self.delta}
        return ", ".join(f"{name} = {n}" for name, n in amounts.items() if n is not None)

    @property
    def variant(self) -> str:
        """Name of the notion of privacy."""
        return PURE if self.rho is None else CONCENTRATED

    @property
    def scale(self) -> Fraction:
        """Scale of the discrete Laplace noise: sensitivity / (epsilon * share)."""
        if self.rho is not None or self.epsilon is None:
            raise UsageError(
                "Gaussian noise has no scale but sigma2.", code="gaussian-has-no-scale"
            )
        return self.sensitivity / (self.epsilon * self.share)

    @property
    def sigma2(self) -> Fraction:
        """Variance of the discrete Gaussian noise: squared L2 sensitivity / (2 rho share).

        Each time that a person is counted changes s measurements by 1, which has the L2 norm
        ``sqrt(s)``; f times, ``f sqrt(s)`` at most, with f the contribution, or twice that where
        people are replaced. As ``sensitivity`` is ``s f``, the square is ``sensitivity * f``.
        """
        if self.rho is None:
            raise UsageError(
                "Laplace noise has no sigma2 but a scale.", code="laplace-has-no-sigma2"
            )
        factor = self.contribution * (2 if self.neighbours == REPLACE else 1)
        return self.sensitivity * factor / (2 * self.rho * self.share)

    def law(self, share: Fraction = Fraction(1)) -> Law:
        """Return the noise of measurements that have a share of the budget."""
        if self.rho is None:
            return DiscreteLaplace.of_scale(self.scale / share)
        return DiscreteGaussian.of_sigma2(self.sigma2 / share)

    def require_drawable(self, share: Fraction) -> None:
        """Raise UsageError if the noise at this share would be wider than can be drawn."""
        if self.rho is None:
            check_parameter(self.scale / share, LARGEST_SCALE, "scale")
        else:
            check_parameter(self.sigma2 / share, LARGEST_SCALE**2, "sigma**2")

    def width(self, share: Fraction = Fraction(1)) -> float:
        """Scale (Laplace) or sigma (Gaussian) of the noise at a share of the budget."""
        if self.rho is None:
            return float(self.scale / share)
        return math.sqrt(self.sigma2 / share)

    @property
    def is_normal(self) -> bool:
        """Whether the noise is Gaussian."""
        return self.rho is not None

    @property
    def not_protected(self) -> tuple[str, ...]:
        """Other releases, groups, and that a kept key repeats itself."""
        k = "k times epsilon" if self.rho is None else "k squared times rho"
        repeats = (
            "whether two releases with the same kept key and parameters come from exactly the same "
            "input: they are then identical, so use a new key for every new state of the data",
        )
        return (
            "other releases about the same people: their budgets add to this one",
            f"groups: k people together are protected with {k}",
            *(() if self.key_origin == "entropy" else repeats),
            *(() if self.share == 1 else [DEPENDS.format(self.share)]),
        )

    @property
    def statement(self) -> str:
        """The guarantee as one sentence."""
        if not self.is_private:
            return NOT_PRIVATE
        change, counted = describe_change(self.neighbours, self.contribution, self.unit)
        result = "any result" if self.share == 1 else TOGETHER
        if self.epsilon is None:
            return (
                f"{change} changes the probability of {result} only slightly: the Renyi "
                f"divergence of order a is at most {self.rho} a for every a above 1, {counted}"
            )
        # Each sentence is one text, as catalogues of translations have it.
        factor = describe_factor(self.epsilon)
        if self.delta is None:
            return (
                f"{change} changes the probability of {result} by a factor of at most {factor}, "
                f"{counted}"
            )
        return (
            f"{change} changes the probability of {result} by a factor of at most {factor}, "
            f"plus at most {float(self.delta):g}, {counted}"
        )

    def describe(self) -> dict[str, Any]:
        """Plain values for the release card."""
        return {
            "mechanism": self.mechanism,
            "epsilon": _text(self.epsilon),
            "epsilon_decimal": None if self.epsilon is None else float(self.epsilon),
            "spends": self.spends,
            "rho": _text(self.rho),
            "rho_decimal": None if self.rho is None else float(self.rho),
            "delta": _text(self.delta),
            "delta_decimal": None if self.delta is None else float(self.delta),
            "neighbours": self.neighbours,
            "contribution": self.contribution,
            "contribution_bound": describe_bound(self.enforced, self.layout),
            "enforced": self.enforced,
            "unit": self.unit,
            "l1_sensitivity": self.sensitivity,
            "noise_scale": str(self.scale) if self.rho is None else None,
            "noise_scale_decimal": float(self.scale) if self.rho is None else None,
            "noise_sigma2": None if self.rho is None else str(self.sigma2),
            "key_origin": self.key_origin,
            "noise_key": NOISE_KEYS[self.key_origin],
            "share": None if self.share == 1 else str(self.share),
        }


def _text(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


@dataclass(frozen=True, slots=True)
class Composed(Event):
    """Several events about the same people, each possibly chosen after seeing the others.

    Attributes
    ----------
    events : tuple of Event
        At least one, all of one unit and one neighbouring relation: other losses do not add up.
    neighbours, unit : str
        Theirs.

    Raises
    ------
    UsageError
        No event, or events whose losses do not add up.

    Examples
    --------
    >>> from geodp.privacy.event import Measurement
    >>> from geodp.privacy.terms import Terms
    >>> tables = [
    ...     Measurement.of("pyramid", Terms.of(epsilon=epsilon, contribution=1), 1)
    ...     for epsilon in ("1/2", "1/3")
    ... ]
    >>> Composed(tables).loss
    PureDP(epsilon=Fraction(5, 6))
    """

    __repr__ = one_line

    events: Sequence[Event]
    neighbours: str = field(init=False)
    unit: str = field(init=False)

    def __post_init__(self) -> None:
        events = tuple(self.events)
        if len({(one.neighbours, one.unit) for one in events}) != 1:
            raise UsageError(
                "Losses add up for events of one unit and one neighbouring relation; give at "
                "least one.",
                code="losses-of-other-units",
            )
        object.__setattr__(self, "events", events)
        object.__setattr__(self, "neighbours", events[0].neighbours)
        object.__setattr__(self, "unit", events[0].unit)

    @property
    def loss(self) -> Loss:
        """The exact sum, by :func:`geodp.privacy.loss.compose`, as a ledger adds up charges."""
        # Not a tighter bound of the composition: it must equal what a ledger charges for the same
        # events.
        return compose(one.loss for one in self.events)

    def describe(self) -> dict[str, Any]:
        """Return the total loss and the description of each event as plain values."""
        return {
            "loss": self.loss.describe(),
            "neighbours": self.neighbours,
            "unit": self.unit,
            "events": [one.describe() for one in self.events],
        }
