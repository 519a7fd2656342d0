"""Events: uses of mechanisms on confidential data, as frozen values.

Who reads what
--------------
The ledger and every sum of losses read :attr:`Event.loss`, ``neighbours`` and ``unit``, of any
event. A mechanism reads the :class:`Measurement` that it made of its :class:`Terms`, and no terms
any more. Closed forms, cards and files of a released table read a :class:`TableEvent`, whatever made
the table. New kinds of events are new classes, each with its own ``loss`` and its own words; nobody
asks an event which kind it is.

What may never change
---------------------
- The names of the fields of :class:`Measurement`, their order and their values: all but
  ``key_origin`` and ``layout``, on which no noise depends, enter the digest that derives a
  release's noise from a kept key (:mod:`geodp.release.identity`). A changed field would draw new
  noise for a release that was published before, and charge for it again.
- ``mechanism``, ``neighbours``, ``contribution`` and the text of ``loss`` stand in ledger entries,
  and an entry is recognised by them.
- The keys of :meth:`Measurement.describe` stand in release cards, which are read back.

A new field needs a default that leaves all of these as they are.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from geodp.errors import UsageError
from geodp.privacy.assumption import Assumption, ContributionBound, describe_bound
from geodp.privacy.budget import amounts_of
from geodp.privacy.loss import (
    ApproximateDP,
    Loss,
    PureDP,
    ZeroConcentratedDP,
)
from geodp.privacy.neighbours import ADD_REMOVE, REPLACE
from geodp.privacy.noise.gaussian import DiscreteGaussian
from geodp.privacy.noise.laplace import DiscreteLaplace
from geodp.privacy.noise.law import LARGEST_SCALE, Law, check_parameter
from geodp.privacy.terms import Terms
from geodp.reprs import one_line

PURE = "pure epsilon-differential privacy"
CONCENTRATED = "rho-zero-concentrated differential privacy (zCDP)"


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What a mechanism promises, in words that a release card can quote.

    Attributes
    ----------
    variant : str
        Such as ``"pure epsilon-differential privacy"``.
    precondition : str
        What the caller must make sure of for the promise to hold.
    source : str
        Where it is proved.
    """

    __repr__ = one_line

    variant: str
    precondition: str
    source: str


NOT_PRIVATE = "NOT PRIVATE: the noise was made with a fixed key, for tests only."
NOISE_KEYS = {
    "entropy": "256 bits from the operating system, forgotten after the run",
    "file": "derived from a 256-bit key kept by its owner and a digest of the input",
    "fixed": "fixed by the calling program: NOT PRIVATE",
}
"""What a card says of the origin of a key."""


def name_change(neighbours: str, contribution: int, unit: str) -> tuple[str, str]:
    """Return in words what is done to a table, and how often a unit is counted in it."""
    most = "once" if contribution == 1 else f"at most {contribution} times"
    change = (
        f"adding or removing any one {unit}"
        if neighbours == ADD_REMOVE
        else f"replacing any one {unit} by another"
    )
    return change, f"where a {unit} is counted {most}."


class Event(ABC):
    """What is learnt of confidential data, and what it costs.

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
        """What it costs, for a ledger."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Plain values for a card."""


class TableEvent(Event):
    """What a released table was made with, as cards, files and closed forms read it.

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
        """How often a unit is counted at most, and who answers for it."""

    @property
    @abstractmethod
    def variant(self) -> str:
        """The notion of privacy, in words."""

    @property
    @abstractmethod
    def spends(self) -> str:
        """The budget's exact parameters, as text."""

    @property
    @abstractmethod
    def words(self) -> str:
        """The guarantee as one sentence."""

    @property
    @abstractmethod
    def is_private(self) -> bool:
        """Whether the noise comes from a key that nobody could know beforehand."""

    @property
    @abstractmethod
    def is_normal(self) -> bool:
        """Whether errors of estimates have a normal law's tails; otherwise Laplace's, longer."""

    @property
    @abstractmethod
    def not_protected(self) -> tuple[str, ...]:
        """What the guarantee does not hold for, beside what is public by construction."""


@dataclass(frozen=True, slots=True)
class Measurement(TableEvent):
    """One use of a mechanism on confidential data.

    Attributes
    ----------
    mechanism : str
        Name in ``METHODS``, and settings.
    epsilon : Fraction or None
        Of the pure guarantee; with rho, that of the approximate guarantee with delta, if stated.
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
        Of Gaussian noise; without rho the noise is Laplace.
    layout : str
        Name and title of the layout that states the contribution; empty where none does. Unless
        geodp or a layout answers for the contribution, the operator does.
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

    @classmethod
    def of(
        cls, mechanism: str, terms: Terms, sensitivity: int, key_origin: str = "entropy"
    ) -> Self:
        """Return what a mechanism spends under terms whose contribution is settled.

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
        if terms.contribution is None:
            raise UsageError(
                "Nothing bounds the contribution; settle it with Terms.bound.",
                code="contribution-unbounded",
            )
        amounts = amounts_of(terms.loss)
        factor = terms.contribution * (2 if terms.neighbours == REPLACE else 1)
        return cls(
            mechanism,
            amounts["epsilon"],
            terms.neighbours,
            terms.contribution,
            terms.enforced,
            sensitivity * factor,
            terms.unit,
            key_origin,
            amounts["rho"],
            amounts["delta"],
            terms.layout,
        )

    @property
    def bound(self) -> ContributionBound:
        """The contribution, and who answers for it."""
        return ContributionBound.of(self.contribution, self.enforced, self.layout)

    @property
    def assumption(self) -> Assumption:
        """The contribution, and who answers for it, as a card lists it."""
        return self.bound.assume(self.unit)

    @property
    def loss(self) -> Loss:
        """What it costs, for a ledger."""
        if self.rho is None:
            assert self.epsilon is not None
            return PureDP(self.epsilon)
        concentrated = ZeroConcentratedDP(self.rho)
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
        """The notion of privacy, in words."""
        return PURE if self.rho is None else CONCENTRATED

    @property
    def scale(self) -> Fraction:
        """Scale of the discrete Laplace noise: sensitivity / epsilon."""
        if self.rho is not None or self.epsilon is None:
            raise UsageError(
                "Gaussian noise has no scale but sigma2.", code="gaussian-has-no-scale"
            )
        return self.sensitivity / self.epsilon

    @property
    def sigma2(self) -> Fraction:
        """Variance parameter of the discrete Gaussian noise: squared L2 sensitivity / (2 rho).

        Each time that a person is counted changes s measurements by 1, which has the L2 norm
        ``sqrt(s)``; f times, ``f sqrt(s)`` at most, with f the contribution, or twice that where
        people are replaced. As ``sensitivity`` is ``s f``, the square is ``sensitivity * f``.
        """
        if self.rho is None:
            raise UsageError(
                "Laplace noise has no sigma2 but a scale.", code="laplace-has-no-sigma2"
            )
        factor = self.contribution * (2 if self.neighbours == REPLACE else 1)
        return self.sensitivity * factor / (2 * self.rho)

    def law(self, share: Fraction = Fraction(1)) -> Law:
        """Return the noise of measurements that have a share of the budget."""
        if self.rho is None:
            return DiscreteLaplace.of_scale(self.scale / share)
        return DiscreteGaussian.of_sigma2(self.sigma2 / share)

    def require_drawable(self, share: Fraction) -> None:
        """Raise UsageError where that noise would be wider than can be drawn."""
        if self.rho is None:
            check_parameter(self.scale / share, LARGEST_SCALE, "scale")
        else:
            check_parameter(self.sigma2 / share, LARGEST_SCALE**2, "sigma**2")

    def width(self, share: Fraction = Fraction(1)) -> float:
        """Scale or sigma of that noise."""
        if self.rho is None:
            return float(self.scale / share)
        return math.sqrt(self.sigma2 / share)

    @property
    def is_private(self) -> bool:
        """Whether the noise comes from a key that nobody could know beforehand."""
        return self.key_origin in ("entropy", "file")

    @property
    def is_normal(self) -> bool:
        """Whether the noise is Gaussian."""
        return self.rho is not None

    @property
    def not_protected(self) -> tuple[str, ...]:
        """Other releases, groups, and that a kept key repeats itself."""
        k = "k times epsilon" if self.rho is None else "k squared times rho"
        kept = (
            "whether two releases with the same kept key and parameters come from exactly the same "
            "input: they are then identical, so use a new key for every new state of the data",
        )
        return (
            "other releases about the same people: their budgets add to this one",
            f"groups: k people together are protected with {k}",
            *(() if self.key_origin == "entropy" else kept),
        )

    @property
    def words(self) -> str:
        """The guarantee as one sentence."""
        if not self.is_private:
            return NOT_PRIVATE
        change, counted = name_change(self.neighbours, self.contribution, self.unit)
        if self.epsilon is None:
            return (
                f"What anyone sees of this release is nearly as likely after {change}: the Renyi "
                f"divergence of order a is at most {self.rho} a for every a above 1, {counted}"
            )
        # Beyond that, the factor is no number that anyone could read.
        factor = f" = {math.exp(self.epsilon):.4g}" if self.epsilon < 100 else ""
        if self.delta is None:
            return (
                f"Whatever anyone sees of this release is at most exp({self.epsilon}){factor} "
                f"times as likely or as unlikely, after {change}, {counted}"
            )
        return (
            f"Whatever anyone sees of this release is at most exp({self.epsilon}){factor} times "
            f"as likely, and {float(self.delta):g} besides, after {change}, {counted}"
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
        }


def _text(value: Fraction | None) -> str | None:
    return None if value is None else str(value)
