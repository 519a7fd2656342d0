"""What a release costs: exact budgets, guarantees in words, and events as frozen values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any

from geodp.errors import UsageError
from geodp.privacy.loss import (
    ApproximateDP,
    Loss,
    PureDP,
    ZeroConcentratedDP,
)
from geodp.privacy.neighbours import ADD_REMOVE as ADD_REMOVE
from geodp.privacy.neighbours import NEIGHBOURS as NEIGHBOURS
from geodp.privacy.neighbours import REPLACE as REPLACE
from geodp.privacy.neighbours import canonical_unit
from geodp.privacy.noise.gaussian import DiscreteGaussian
from geodp.privacy.noise.laplace import DiscreteLaplace
from geodp.privacy.noise.law import LARGEST_SCALE, Law, checked

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

    variant: str
    precondition: str
    source: str


@dataclass(frozen=True, slots=True)
class Event:
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
        Whether geodp bounded the contribution itself; otherwise the operator vouches for it.
    sensitivity : int
        L1 norm of the largest change of the measured vector between neighbours.
    unit : str
        Whom the guarantee protects, as a noun: person, household, person-day, trip.
    key_origin : str
        ``"entropy"``: fresh and forgotten; ``"file"``: kept by its owner; ``"fixed"``: given by
        a program in the clear, which protects nobody.
    rho, delta : Fraction, optional
        Of Gaussian noise; without rho the noise is Laplace.
    """

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
            raise UsageError("Gaussian noise has no scale but sigma2.")
        return self.sensitivity / self.epsilon

    @property
    def sigma2(self) -> Fraction:
        """Variance parameter of the discrete Gaussian noise: squared L2 sensitivity / (2 rho).

        Each time that a person is counted changes s measurements by 1, which has the L2 norm
        ``sqrt(s)``; f times, ``f sqrt(s)`` at most, with f the contribution, or twice that where
        people are replaced. As ``sensitivity`` is ``s f``, the square is ``sensitivity * f``.
        """
        if self.rho is None:
            raise UsageError("Laplace noise has no sigma2 but a scale.")
        factor = self.contribution * (2 if self.neighbours == REPLACE else 1)
        return self.sensitivity * factor / (2 * self.rho)

    def law(self, share: Fraction = Fraction(1)) -> Law:
        """The noise of measurements that have a share of the budget."""
        if self.rho is None:
            return DiscreteLaplace.of_scale(self.scale / share)
        return DiscreteGaussian.of_sigma2(self.sigma2 / share)

    def require_drawable(self, share: Fraction) -> None:
        """Raise UsageError where that noise would be wider than can be drawn."""
        if self.rho is None:
            checked(self.scale / share, LARGEST_SCALE, "scale")
        else:
            checked(self.sigma2 / share, LARGEST_SCALE**2, "sigma**2")

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
    def words(self) -> str:
        """The guarantee as one sentence."""
        if not self.is_private:
            return "NOT PRIVATE: the noise was made with a fixed key, for tests only."
        most = "once" if self.contribution == 1 else f"at most {self.contribution} times"
        change = (
            f"adding or removing any one {self.unit}"
            if self.neighbours == ADD_REMOVE
            else f"replacing any one {self.unit} by another"
        )
        counted = f"where a {self.unit} is counted {most}."
        if self.epsilon is None:
            return (
                f"What anyone sees of this release is nearly as likely after {change}: the Renyi "
                f"divergence of order a is at most {self.rho} a for every a above 1, {counted}"
            )
        # Beyond that, the factor is no number that anyone could read.
        factor = f" = {math.exp(self.epsilon):.4g}" if self.epsilon < 100 else ""
        besides = "" if self.delta is None else f", and {float(self.delta):g} besides,"
        return (
            f"Whatever anyone sees of this release is at most exp({self.epsilon})"
            f"{factor} times as likely{besides} or as unlikely, after {change}, {counted}"
        ).replace("besides, or as unlikely,", "besides,")

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
            "contribution_bound": "enforced by geodp on the records"
            if self.enforced
            else "vouched for by the operator",
            "enforced": self.enforced,
            "unit": self.unit,
            "l1_sensitivity": self.sensitivity,
            "noise_scale": str(self.scale) if self.rho is None else None,
            "noise_scale_decimal": float(self.scale) if self.rho is None else None,
            "noise_sigma2": None if self.rho is None else str(self.sigma2),
            "key_origin": self.key_origin,
            "noise_key": {
                "entropy": "256 bits from the operating system, forgotten after the run",
                "file": "derived from a 256-bit key kept by its owner and a digest of the input",
                "fixed": "fixed by the calling program: NOT PRIVATE",
            }[self.key_origin],
        }


def _text(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def event(
    mechanism: str,
    epsilon: Fraction | None,
    neighbours: str,
    contribution: int,
    enforced: bool,
    sensitivity: int,
    unit: str,
    key_origin: str,
    rho: Fraction | None = None,
    delta: Fraction | None = None,
) -> Event:
    """A checked event; ``sensitivity`` is that of one person added or removed once.

    Replacing one person removes one and adds one, which doubles it; a contribution of c
    multiplies it by c.
    """
    if neighbours not in NEIGHBOURS:
        raise UsageError(f"neighbours must be one of: {', '.join(NEIGHBOURS)}.")
    if isinstance(contribution, bool) or not isinstance(contribution, Integral) or contribution < 1:
        raise UsageError("contribution must be a whole number of at least 1.")
    contribution = int(contribution)
    factor = contribution * (2 if neighbours == REPLACE else 1)
    most = sensitivity * factor
    return Event(
        mechanism,
        epsilon,
        neighbours,
        contribution,
        enforced,
        most,
        canonical_unit(unit),
        key_origin,
        rho,
        delta,
    )
