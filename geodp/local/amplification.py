"""Privacy amplification by shuffling: the central guarantee of mixed local reports.

By Theorem 3.1 of Feldman, McMillan and Talwar, shuffled epsilon0-local reports of n devices are
post-processing of a pair of numbers. With ``C ~ Bin(n - 1, exp(-epsilon0))`` devices that answer
like one of the two compared ones (clones), ``A ~ Bin(C, 1/2)`` and
``b ~ Bernoulli(exp(epsilon0) / (exp(epsilon0) + 1))``, the pair is ``(A + b, C - A + 1 - b)`` for
one device and its mirror image for the other, so the delta of these two holds for the reports.

**The result is never below the true epsilon.** Given C, the ratio of the two laws increases with
the first number, so that delta is a closed form of one binomial probability and one tail
(:func:`_delta_of`). Every step errs to the safe side:

- Another clone is post-processing of the pair, so the delta given C decreases with C. A group of
  neighbouring C counts as its smallest one, values below the window of C have delta 1, and a
  smaller chance of a clone, a larger one of b and fewer devices are safe.
- Exponentials are integer bounds, the point where the ratio exceeds exp(epsilon) is an exact
  fraction, factorials are bounded by Robbins' inequality, tails are cut to the safe side, and the
  rounding errors of floating-point sums and products of positive terms are added.

Sources
-------
Feldman, McMillan, Talwar 2021, "Hiding among the clones: a simple and nearly optimal analysis of
privacy amplification by shuffling" (the reduction, and a closed form about four times as large).
Robbins 1955, "A remark on Stirling's formula".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, Self

import numpy as np

from geodp.errors import UsageError
from geodp.privacy.loss import ApproximateDP, Budget, PureDP, rational
from geodp.privacy.noise.law import exp_interval
from geodp.reprs import one_line

MAX_REPORTS = 1 << 30
"""Largest number of devices that is used; more are counted as this many, which is safe."""

MAX_EPSILON = 50
"""Largest local epsilon: beyond, no number of devices that counts would help."""

MIN_DELTA = Fraction(1, 10**100)
"""Smallest delta, so that no floating-point number underflows."""

_BITS = 256
_DIGITS = 5
_WORK = Context(prec=40)
_LOG_TWO = _WORK.ln(Decimal(2))
_LOG_TWO_PI = _WORK.ln(Decimal("6.28318530717958647692528676655900576839433879875021"))
# Below it factorials are exact, since Stirling's bounds are wide for small numbers.
_SMALL = 256
_ULP = 2.0**-53


@dataclass(frozen=True, slots=True)
class Shuffled(ApproximateDP):
    """The guarantee of shuffled reports, as long as the shuffler keeps their senders secret.

    It complements the local guarantee and never replaces it: no ledger accepts it as a charge,
    as :func:`geodp.privacy.loss.within` compares losses of the same class only.

    Attributes
    ----------
    epsilon, delta : Fraction
        The guarantee of all shuffled reports together, for neighbours that replace one device.
    local : PureDP
        The guarantee of every single report, whoever colludes.
    reports : int
        Number of reports that are shuffled.
    shuffler : str
        The party that is trusted to mix them.
    """

    __repr__ = one_line

    local: PureDP = field(kw_only=True)
    reports: int = field(kw_only=True)
    shuffler: str = field(kw_only=True)

    @property
    def statement(self) -> str:
        """The two guarantees and the trust that the first rests on, as two sentences."""
        return (
            f"If {self.shuffler} strips and mixes the reports of {self.reports:,} devices and "
            "nobody learns which report came from which, then what anyone sees is at most "
            f"exp({float(self.epsilon):g}) times as likely, and {float(self.delta):g} besides, "
            f"for any other place of one device. If {self.shuffler} colludes, what is left is the "
            f"local guarantee of every report, exp({float(self.local.epsilon):g})."
        )

    def describe(self) -> dict[str, Any]:
        """Return plain values, the local guarantee included."""
        return {
            **ApproximateDP.describe(self),
            "local": self.local.describe(),
            "reports": self.reports,
            "shuffler": self.shuffler,
            "words": self.statement,
        }


def amplify_by_shuffling(
    epsilon: Budget, n: int, delta: Budget, *, shuffler: str | None = None
) -> Shuffled:
    """Compute the guarantee of n shuffled reports, each of which is epsilon-locally private.

    Parameters
    ----------
    epsilon : number or str
        Local epsilon of every report, read exactly: above 0, at most 50.
    n : int
        Number of devices whose reports are mixed, one report each: at least 1. It must be certain
        that this many take part and follow the protocol.
    delta : number or str
        At least 1e-100, below 1.
    shuffler : str
        Name of the party that strips the reports of their senders and mixes them; the guarantee
        rests on it.

    Returns
    -------
    Shuffled
        Its epsilon is rounded up to 5 digits, is never below the true one of the reduction, and is
        at most the local one.

    Raises
    ------
    UsageError
        No shuffler, or numbers outside these ranges.

    Examples
    --------
    >>> shuffled = amplify_by_shuffling(1, 10**6, "1e-8", shuffler="the postal service")
    >>> round(float(shuffled.epsilon), 4)
    0.0061
    """
    local, target = rational(epsilon), rational(delta, "delta")
    if shuffler is None or not shuffler.strip() or not shuffler.isprintable():
        raise UsageError(
            "Shuffling protects only if a trusted party shuffles: name who strips and mixes the "
            'reports, such as shuffler="the statistical office".',
            code="shuffler-unnamed",
        )
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise UsageError("n must be a whole number of devices, at least 1.", code="devices-below-1")
    if local > MAX_EPSILON:
        raise UsageError(
            f"epsilon must be at most {MAX_EPSILON}; a larger one gives no protection.",
            code="epsilon-too-large",
        )
    if not MIN_DELTA <= target < 1:
        raise UsageError("delta must be at least 1e-100 and below 1.", code="delta-out-of-range")
    # Fewer devices amplify less, so a cap on n only weakens the guarantee that is stated.
    amplified = _solve_epsilon(local, min(n, MAX_REPORTS), target)
    name = shuffler.strip()
    return Shuffled(amplified, target, local=PureDP(local), reports=n, shuffler=name)


def _solve_epsilon(local: Fraction, n: int, delta: Fraction) -> Fraction:
    """Bisect for the epsilon of the pair at delta, rounded up: from 0 to the local one."""
    pair = _Pair(local, n, delta)
    if pair.holds(Fraction(0)):
        return Fraction(0)
    # Halving first brackets epsilon within a factor of 2, so that the bisection below stops on a
    # relative error; starting from 0 it would need one step for every leading zero.
    low, high = local / 2, local
    while pair.holds(low):
        low, high = low / 2, low
    while (high - low) * 10**_DIGITS > high:
        middle = (low + high) / 2
        low, high = (low, middle) if pair.holds(middle) else (middle, high)
    up = Context(prec=_DIGITS, rounding=ROUND_CEILING)
    return min(local, Fraction(up.divide(high.numerator, high.denominator)))


class _Pair:
    """The dominating pair of one local epsilon, with the weights of groups of C.

    Parameters
    ----------
    local : Fraction
    n : int
    delta : Fraction
        The delta that the pair is compared with; it also decides where the window of C may end.
    """

    def __init__(self, local: Fraction, n: int, delta: Fraction) -> None:
        self.max_ratio = _up(_exponential(local)[1])
        self.delta = _down(delta)
        self.groups, self.below = self._weights(n - 1)

    def _weights(self, others: int) -> tuple[list[tuple[int, float]], float]:
        """Bound the probability of each group, with its smallest C, and of all C below."""
        odds = _down(1 / (Fraction(self.max_ratio) - 1))
        # Centred on the most likely C, so that the products below start at 1 and can only shrink.
        mode = min(others, int((others + 1) * odds / (1 + odds)))
        spread = math.sqrt(others * odds) / (1 + odds)
        reach = int(8 * spread) + 64
        while True:
            first, last = max(0, mode - reach), min(others, mode + reach)
            rising = np.arange(mode, last, dtype=np.float64)
            falling = np.arange(mode, first, -1.0)
            above = np.cumprod(odds * ((others - rising) / (rising + 1)))
            under = np.cumprod(falling / (others - falling + 1) / odds)
            # Only ratios to the mode are needed, as the sum normalises them: no factorial of n is
            # computed.
            terms = np.concatenate([under[::-1], [1.0], above])
            before = _rest(terms[0], first / (others - first + 1) / odds) if first else 0.0
            after = _rest(terms[-1], odds * (others - last) / (last + 1)) if last < others else 0.0
            if max(before, after) <= self.delta * 2.0**-20:
                break
            # Rare: with few expected clones the tail is heavier than that of a normal law.
            reach *= 2
        # At most 8 roundings a factor, and terms.size in the sum, above and below the line.
        slack = 1 + 40 * terms.size * _ULP
        total = terms.sum() / slack
        width = max(1, int(spread / 4))
        starts = np.arange(0, terms.size, width)
        chance = np.add.reduceat(terms, starts)
        chance[-1] += after
        chance *= slack / total
        groups = list(zip((first + starts).tolist(), chance.tolist(), strict=True))
        return groups, float(before * slack / total)

    def holds(self, epsilon: Fraction) -> bool:
        """Return whether an upper bound of the pair's delta at epsilon is at most the target."""
        # Both bounds err to the side of a larger delta: exp(epsilon0) from above, exp(epsilon) from
        # below.
        cut = _Cut.of(Fraction(self.max_ratio), Fraction(_down(_exponential(epsilon)[0])))
        delta = self.below
        for clones, chance in self.groups:
            delta += chance * _delta_of(clones, cut)
            if delta > self.delta:
                return False
        # The factor covers the rounding of the sum above, one ulp for each of its terms.
        return delta * (1 + 1e-12) <= self.delta


class _Cut(NamedTuple):
    """The point where the first law is more than ``ratio`` times as likely as the second.

    Attributes
    ----------
    tau : Fraction
        The first law prevails where the first number exceeds ``tau (C + 1)``:
        ``tau = (ratio max_ratio - 1) / ((max_ratio - 1) (ratio + 1))``.
    gain, loss : float
        Bounds: ``(max_ratio - ratio) / (max_ratio + 1)`` or more, and ``ratio - 1`` or less.
    """

    tau: Fraction
    gain: float
    loss: float

    @classmethod
    def of(cls, max_ratio: Fraction, ratio: Fraction) -> Self:
        """Build the cut from bounds: exp(epsilon0) or more, and exp(epsilon) or less."""
        tau = (ratio * max_ratio - 1) / ((max_ratio - 1) * (ratio + 1))
        return cls(tau, _up((max_ratio - ratio) / (max_ratio + 1)), max(0.0, _down(ratio - 1)))


def _delta_of(clones: int, cut: _Cut) -> float:
    """Bound delta given C from above: ``gain P(A = k - 1) - loss P(A >= k)``.

    Here k is the first whole number above ``tau (C + 1)``.
    """
    # In exact integers: a rounded k on the wrong side would change which tail is bounded.
    k = cut.tau.numerator * (clones + 1) // cut.tau.denominator + 1
    if k > clones + 1:
        return 0.0
    # Terms beyond 5 standard deviations are left out: the subtracted tail may only be too small.
    terms = int(2.5 * math.sqrt(clones)) + 64
    j = np.arange(k, min(clones, k + terms) + 1, dtype=np.float64)
    tail = np.cumprod((clones + 1 - j) / j).sum() * (1 - 4 * (j.size + 1) * _ULP)
    # Two products and a difference: three roundings of what is at most the sum.
    each = cut.gain - cut.loss * tail + 4 * _ULP * (cut.gain + cut.loss * tail)
    return max(0.0, float(each)) * _binomial(clones, k - 1) * (1 + 8 * _ULP)


def _rest(last: float, ratio: float) -> float:
    """Bound a geometric tail after its last term; infinite where it does not decrease."""
    return last * ratio / (1 - ratio) if ratio < 1 else math.inf


def _binomial(n: int, k: int) -> float:
    """Bound ``P(Bin(n, 1/2) = k)`` from above, closely and above 0."""
    with localcontext(_WORK):
        (_, all_), (one, _), (other, _) = map(_log_factorial, (n, k, n - k))
        # The upper bound of n! over lower bounds of the others is an upper bound of the
        # coefficient.
        bound = (all_ - one - other - n * _LOG_TWO).exp()
    return max(float(bound) * (1 + 1e-12), 1e-300)


# Every step of the bisection needs the same factorials again.
@lru_cache(4096)
def _log_factorial(n: int) -> tuple[Decimal, Decimal]:
    """Bound ``ln n!``; the remainder of Stirling's formula is in (1/(12n+1), 1/(12n)) (Robbins)."""
    with localcontext(_WORK):
        if n < _SMALL:
            exact = Decimal(math.factorial(n)).ln()
            return exact, exact
        main = (n + Decimal("0.5")) * Decimal(n).ln() - n + _LOG_TWO_PI / 2
        return main + 1 / Decimal(12 * n + 1), main + 1 / Decimal(12 * n)


def _exponential(x: Fraction) -> tuple[Fraction, Fraction]:
    """Bound exp(x) for x from 0 to 50."""
    low, high = exp_interval(x, _BITS)
    one = 1 << _BITS
    return max(Fraction(one, high), Fraction(1)), Fraction(one, low)


def _down(x: Fraction) -> float:
    """Round to a floating-point number at most x."""
    near = float(x)
    return near if near <= x else math.nextafter(near, -math.inf)


def _up(x: Fraction) -> float:
    """Round to a floating-point number at least x."""
    near = float(x)
    return near if near >= x else math.nextafter(near, math.inf)
