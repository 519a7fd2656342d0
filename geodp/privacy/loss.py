"""Privacy losses and budgets as exact values: pure, zero-concentrated, approximate; composition.

Budgets are exact rationals, read from decimals and ratios. Sums and comparisons are exact
fractions. The conversions between notions, which need logarithms, are rounded to the safe side:
what they return is a proven bound, never an approximation of one.

Sources
-------
Bun and Steinke 2016, "Concentrated differential privacy: simplifications, extensions, and lower
bounds" (composition, Lemma 1.7; pure to concentrated, Proposition 1.4).
Canonne, Kamath and Steinke 2020, "The discrete Gaussian for differential privacy" (concentrated to
approximate, Proposition 7).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from numbers import Rational
from typing import Any, ClassVar

import numpy as np

from geodp.errors import UsageError

LARGEST = 10**100
"""No parameter may be above this, so that all can be shown as decimals."""


def _exact(value: object, name: str) -> Fraction:
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise UsageError(
            f"{name} must be a whole number or a Fraction; rational() reads texts.",
            code="loss-number-kind",
        )
    if not 0 <= value <= LARGEST:
        raise UsageError(f"{name} must lie between 0 and 1e100.", code="loss-number-range")
    return Fraction(value)


class _Parameters:
    """Base of the three notions of privacy; ``parameters`` names their fields."""

    __slots__ = ()
    variant: ClassVar[str]
    parameters: ClassVar[tuple[str, ...]]

    def __post_init__(self) -> None:
        for name in self.parameters:
            object.__setattr__(self, name, _exact(getattr(self, name), name))

    @property
    def amounts(self) -> tuple[Fraction, ...]:
        """The parameters as numbers, in the order of ``parameters``."""
        return tuple(getattr(self, name) for name in self.parameters)

    def __str__(self) -> str:
        pairs = zip(self.parameters, self.amounts, strict=True)
        return ", ".join(f"{name} {amount}" for name, amount in pairs)

    def describe(self) -> dict[str, Any]:
        """Plain values for a card: every parameter as exact text and as a decimal."""
        plain: dict[str, Any] = {"variant": self.variant}
        for name, amount in zip(self.parameters, self.amounts, strict=True):
            plain |= {name: str(amount), f"{name}_decimal": float(amount)}
        return plain


@dataclass(frozen=True, slots=True)
class PureDP(_Parameters):
    """Pure differential privacy: no output is more than exp(epsilon) times as likely."""

    variant: ClassVar[str] = "pure"
    parameters: ClassVar[tuple[str, ...]] = ("epsilon",)
    epsilon: Fraction


@dataclass(frozen=True, slots=True)
class ZeroConcentratedDP(_Parameters):
    """Zero-concentrated differential privacy: Rényi divergence of order a is at most rho * a."""

    variant: ClassVar[str] = "zero-concentrated"
    parameters: ClassVar[tuple[str, ...]] = ("rho",)
    rho: Fraction


@dataclass(frozen=True, slots=True)
class ApproximateDP(_Parameters):
    """Approximate differential privacy; a delta of 1 or more promises nothing.

    Attributes
    ----------
    epsilon, delta : Fraction
    original : ZeroConcentratedDP, optional
        What these parameters were converted from. It is more informative than they are, so cards
        and the ledger keep it.
    """

    variant: ClassVar[str] = "approximate"
    parameters: ClassVar[tuple[str, ...]] = ("epsilon", "delta")
    epsilon: Fraction
    delta: Fraction
    original: ZeroConcentratedDP | None = None

    def __str__(self) -> str:
        text = _Parameters.__str__(self)
        return text if self.original is None else f"{text} from {self.original}"

    def describe(self) -> dict[str, Any]:
        """Plain values for a card, with the parameters that these were converted from."""
        plain = _Parameters.describe(self)
        if self.original is not None:
            plain["converted_from"] = self.original.describe()
        return plain


Loss = PureDP | ZeroConcentratedDP | ApproximateDP

_KINDS: dict[tuple[str, ...], Callable[..., Loss]] = {
    kind.parameters: kind for kind in (PureDP, ZeroConcentratedDP, ApproximateDP)
}


@lru_cache(1024)
def parse(text: str) -> Loss:
    """Read what ``str(loss)`` wrote.

    Examples
    --------
    >>> parse("epsilon 1/5")
    PureDP(epsilon=Fraction(1, 5))
    """
    parameters, _, origin = text.partition(" from ")
    pairs = re.findall(r"(?:^|, )([a-z]+) ([0-9]+(?:/[0-9]+)?)", parameters)
    try:
        kind = _KINDS[tuple(name for name, _ in pairs)]
        loss = kind(*(Fraction(amount) for _, amount in pairs))
        original = parse(origin) if origin else None
        if isinstance(loss, ApproximateDP) and isinstance(original, ZeroConcentratedDP):
            loss = ApproximateDP(loss.epsilon, loss.delta, original)
    except (KeyError, ValueError, ZeroDivisionError):
        raise UsageError("A loss is written such as: epsilon 1/5.", code="loss-form") from None
    # One text per loss: the ledger recognises a replay by comparing texts, so 2/4 must not pass for
    # 1/2.
    if str(loss) != text:
        raise UsageError(
            "A loss is written in lowest terms, such as: epsilon 1/5.",
            code="loss-not-in-lowest-terms",
        )
    return loss


def to_zero_concentrated(loss: PureDP | ZeroConcentratedDP) -> ZeroConcentratedDP:
    """Convert a loss: pure epsilon is epsilon^2 / 2 zero-concentrated (Bun, Steinke, Prop. 1.4)."""
    return ZeroConcentratedDP(loss.epsilon**2 / 2) if isinstance(loss, PureDP) else loss


def compose(losses: Iterable[Loss]) -> Loss:
    """Compose the losses of several releases about the same people, chosen one after another.

    Like kinds add up. A pure loss among zero-concentrated ones counts as epsilon^2 / 2 of rho,
    among approximate ones as delta = 0. Zero-concentrated and approximate losses are not mixed:
    the right delta is a decision, so convert with `to_approximate` first, or better, compose all
    zero-concentrated losses and convert their sum once.

    A total states its own parameters; whoever lists the parts keeps theirs.

    Examples
    --------
    >>> compose([PureDP(Fraction(1, 2)), PureDP(Fraction(1, 3))])
    PureDP(epsilon=Fraction(5, 6))
    >>> compose([PureDP(1), ZeroConcentratedDP(Fraction(1, 4))])
    ZeroConcentratedDP(rho=Fraction(3, 4))
    """
    parts = list(losses)
    # A single loss keeps its origin, such as the rho of a converted guarantee.
    if len(parts) == 1:
        return parts[0]
    if not parts:
        raise UsageError(
            "There is nothing to compose: give at least one loss.", code="losses-missing"
        )
    pure = [part for part in parts if isinstance(part, PureDP)]
    approximate = [part for part in parts if isinstance(part, ApproximateDP)]
    if len(pure) == len(parts):
        return PureDP(sum((part.epsilon for part in pure), Fraction()))
    if not approximate:
        concentrated = [part for part in parts if not isinstance(part, ApproximateDP)]
        return ZeroConcentratedDP(
            sum((to_zero_concentrated(part).rho for part in concentrated), Fraction())
        )
    # Mixing would need a delta for the conversion, and any fixed choice would hide a decision.
    if len(pure) + len(approximate) < len(parts):
        raise UsageError(
            "A zero-concentrated and an approximate loss do not add up; choose a delta and convert "
            "the former with to_approximate.",
            code="losses-of-other-kinds",
        )
    epsilons = [part.epsilon for part in pure] + [part.epsilon for part in approximate]
    deltas = [part.delta for part in approximate]
    return ApproximateDP(sum(epsilons, Fraction()), sum(deltas, Fraction()))


def within(loss: Loss, cap: Loss) -> bool:
    """Whether every parameter of a loss is at most that of a cap of the same kind."""
    return type(loss) is type(cap) and all(
        amount <= limit for amount, limit in zip(loss.amounts, cap.amounts, strict=True)
    )


def remainder(cap: Loss, loss: Loss) -> Loss:
    """Return the part of a cap that is left after a loss of the same kind within it."""
    pairs = zip(cap.amounts, loss.amounts, strict=True)
    return _like(cap, (limit - amount for limit, amount in pairs))


def no_loss(cap: Loss) -> Loss:
    """Return a zero loss of the same kind as a cap."""
    return _like(cap, (Fraction() for _ in cap.amounts))


def _like(loss: Loss, amounts: Iterable[Fraction]) -> Loss:
    return _KINDS[loss.parameters](*amounts)


def to_approximate(loss: ZeroConcentratedDP, delta: Fraction) -> ApproximateDP:
    """Convert a zero-concentrated loss to an approximate one, which keeps the original."""
    return ApproximateDP(epsilon_for(loss.rho, delta), delta, loss)


# With u = alpha - 1 > 0, Proposition 7 of Canonne, Kamath and Steinke bounds, for every alpha,
#   epsilon(alpha) = alpha rho + log(1 / (alpha delta)) / u + log(u / alpha)
#   delta(alpha)   = exp(u (alpha rho - epsilon)) u^u / alpha^alpha.
# Each alpha gives a valid bound, so how well the best one is found decides tightness alone, never
# validity. log delta(alpha) is convex, hence epsilon(alpha) and the rho that solves it for given
# epsilon have one extremum each, and a bisection on the sign of the derivative finds it.

_WORK = Context(prec=60, Emin=MIN_EMIN, Emax=MAX_EMAX)
_SLACK = Decimal("1e-40")  # far above the rounding of a dozen operations with 60 digits


def _extremum(slope: Callable[[Decimal], Decimal]) -> Decimal:
    """Find the u where ``slope`` turns from negative to positive, to 12 digits and exact in 20."""
    # Bisection on a logarithmic scale, since the optimum spans many orders of magnitude.
    low, high = Decimal("1e-30"), Decimal("1e30")
    while high / low > 1 + Decimal("1e-12"):
        middle = (low * high).sqrt()
        low, high = (low, middle) if slope(middle) > 0 else (middle, high)
    return Context(prec=20).plus(low)


def to_decimal(value: Fraction) -> Decimal:
    """Return a number rounded to the precision of the current context."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def _check(value: Fraction, name: str, *, above_zero: bool) -> Fraction:
    exact = _exact(value, name)
    if above_zero and not exact:
        raise UsageError(f"{name} must be above 0.", code="budget-number-not-positive")
    if name == "delta" and exact >= 1:
        raise UsageError("delta must be below 1.", code="loss-delta")
    return exact


def epsilon_for(rho: Fraction, delta: Fraction) -> Fraction:
    """Compute the smallest epsilon such that rho-zCDP implies (epsilon, delta)-DP.

    It is rounded up to 15 digits.

    Examples
    --------
    >>> float(epsilon_for(Fraction(1, 2), Fraction(1, 10**6)))
    5.22153444453017
    """
    rho = _check(rho, "rho", above_zero=False)
    delta = _check(delta, "delta", above_zero=True)
    # No noise is needed for no loss; the formula would divide by 0.
    if not rho:
        return Fraction()
    with localcontext(_WORK):
        r, log_delta = to_decimal(rho), to_decimal(delta).ln()
        u = _extremum(lambda u: r * u * u + (1 + u).ln() + log_delta)
        terms = (
            r * (1 + u),
            -log_delta / u,
            -(1 + u).ln() / u,
            (u / (1 + u)).ln(),
        )
        # The slack covers the rounding of the operations above, so the result stays a proven bound.
        bound = sum(terms) + _SLACK * sum(map(abs, terms))
        return max(Fraction(), Fraction(Context(prec=15, rounding=ROUND_CEILING).plus(bound)))


def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Compute the largest rho such that rho-zCDP implies (epsilon, delta)-DP.

    It is rounded down to 12 digits.

    ``epsilon_for(rho_for(epsilon, delta), delta)`` is never above epsilon.
    """
    epsilon = _check(epsilon, "epsilon", above_zero=False)
    delta = _check(delta, "delta", above_zero=True)
    with localcontext(_WORK):
        e, log_delta = to_decimal(epsilon), to_decimal(delta).ln()

        def slope(u: Decimal) -> Decimal:
            shifted = log_delta + (1 + u).ln()
            return e + shifted * (1 + 2 * u) / (u * u) - (u / (1 + u)).ln()

        u = _extremum(slope)
        terms = (e, log_delta / u, (1 + u).ln() / u, -(u / (1 + u)).ln())
        bound = (sum(terms) - _SLACK * sum(map(abs, terms))) / (1 + u)
        step_down = 1 - Decimal("1e-12")
        down = Context(prec=12, rounding=ROUND_FLOOR)
        rho = Fraction(down.plus(max(bound, Decimal(0))))
        # epsilon_for rounds up, which can push a bound that is met exactly over a long epsilon.
        while epsilon_for(rho, delta) > epsilon:
            rho = Fraction(down.multiply(to_decimal(rho), step_down))
    return rho


LONGEST = 200
"""Most characters, and largest exponent, of a budget."""


Budget = str | int | float | Decimal | Rational
"""Values that are read exactly: ``0.1``, ``"1/10"``."""


def rational(value: Budget, name: str = "epsilon") -> Fraction:
    """Read a positive budget exactly.

    A string is a decimal or a ratio; a float is the decimal that it prints as, so ``0.1`` is
    1/10 and not the binary number next to it.

    Examples
    --------
    >>> rational(0.1), rational("1/5"), rational("0.25")
    (Fraction(1, 10), Fraction(1, 5), Fraction(1, 4))
    """
    exact = read_exact(value, name)
    if exact <= 0:
        raise UsageError(f"{name} must be above 0.", code="budget-number-not-positive")
    return exact


def read_exact(value: Budget, name: str) -> Fraction:
    """Return a number of either sign, read as :func:`rational` reads budgets.

    Raises UsageError for what is no decimal and no ratio, and for one of astronomical length.
    """
    if isinstance(value, np.generic):
        value = str(value)  # repr of float32(0.1) is 0.1; as a Python float it is 0.10000000149
    text = repr(value) if isinstance(value, float) else str(value)
    try:
        if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal | Rational):
            raise ValueError
        exponent = text.lower().partition("e")[2]
        if len(text) > LONGEST or abs(int(exponent or "0")) > LONGEST:
            raise ValueError  # Fraction("1e999999999") would fill the memory
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise UsageError(
            f"{name} must be a decimal such as 0.1 or a ratio such as 1/5.",
            code="budget-number-form",
        ) from None


def require_delta(delta: Budget) -> Fraction:
    """Read a delta exactly; UsageError outside (0, 1)."""
    exact = rational(delta, "delta")
    if exact >= 1:
        raise UsageError(
            "delta must be below 1; the inverse of ten times the people is usual.",
            code="delta-not-below-1",
        )
    return exact


def budget(
    epsilon: Budget | None = None, rho: Budget | None = None, delta: Budget | None = None
) -> Loss:
    """Return the exact loss of a budget that is specified in one of four ways.

    epsilon alone is pure. rho alone is zero-concentrated; with a delta the epsilon that follows
    is stated too. epsilon and delta give the largest rho that implies them (Canonne, Kamath and
    Steinke 2020, Proposition 7, solved for rho and rounded to the safe side).

    Raises
    ------
    UsageError
        Neither or both of epsilon and rho, a delta of 1 or more, or numbers above 1e100.

    Examples
    --------
    >>> budget(rho="1/8")
    ZeroConcentratedDP(rho=Fraction(1, 8))
    """
    if (epsilon is None) == (rho is None):
        raise UsageError("Give either epsilon or rho.", code="epsilon-or-rho")
    chance = None if delta is None else require_delta(delta)
    if epsilon is not None:
        exact = rational(epsilon)
        if chance is None:
            return PureDP(exact)
        # Rounded down, so that the rho in use never implies more than the requested epsilon.
        largest = rho_for(exact, chance)
        if largest == 0:
            raise UsageError(
                "No rho above 0 gives that epsilon and delta; choose larger ones.",
                code="rho-out-of-reach",
            )
        return ApproximateDP(exact, chance, ZeroConcentratedDP(largest))
    assert rho is not None
    concentrated = ZeroConcentratedDP(rational(rho, "rho"))
    return concentrated if chance is None else to_approximate(concentrated, chance)


def amounts_of(loss: Loss) -> dict[str, Fraction | None]:
    """Return epsilon, rho and delta of what :func:`budget` made; None for those it has not.

    Examples
    --------
    >>> amounts_of(PureDP(Fraction(1, 5)))
    {'epsilon': Fraction(1, 5), 'rho': None, 'delta': None}
    """
    amounts: dict[str, Fraction | None] = dict.fromkeys(("epsilon", "rho", "delta"))
    amounts |= zip(loss.parameters, loss.amounts, strict=True)
    # The noise is made for rho; epsilon and delta only describe it.
    if isinstance(loss, ApproximateDP) and loss.original is not None:
        amounts["rho"] = loss.original.rho
    return amounts
