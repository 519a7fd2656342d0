"""Epsilons that devices choose in secret from a public menu: what the secret is worth.

Devices answer by randomised response over the same values, each with the epsilon of a label of the
menu that it tells nobody. Whoever sees a report without the label sees the mixture of all labels'
answers. Takagi, Cao and Yoshikawa propose a number for what is lost then: label t's

    pbp(t) = max over d, d', o with P_t(o|d) > 0 of min over u of
             |ln(w_t P_t(o|d) / (w_u P_u(o|d')))|

with the shares w and the laws P. **It is an indicator and no guarantee.** Split a label in two that
answer alike: the truth is told with probability 0.8, 0.8 and 0.2, a third of the devices each. Then
for every answer of one label another label explains it as well, so that the indicator is 0 for all
three; yet the mixture tells the truth with probability 0.6, and who sees a report learns ln 1.5 =
0.405 about its device. (Merged into 0.8 with two thirds and 0.2 with one it is ln 2.) Where half of
the devices are honest and half answer at random, it is ln 2 and the mixture has ln 3. Nor does it
add up over several reports of a device. So it stands beside what is proved: the local epsilon of
the label (:attr:`Blend.ldp`), of which the largest alone may reach a ledger (:attr:`Blend.loss`),
and the epsilon of the mixture (:attr:`Blend.mixture`), which holds against those who never learn
the label and only while the shares are what they are said to be.

Unary encodings gain nothing from four values on, as the number of ones tells the label.

Source
------
Takagi, Cao and Yoshikawa: the parameters of local privacy as a secret of their own. Its equations
15 and 16 are used with the sum over labels inside the logarithm, and its rule to take the estimate
with the least estimated variance is not: of labels that are told, maximum likelihood is better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.privacy.budget import Budget, rational
from geodp.privacy.loss import PureDP

WEAK = 16
"""An epsilon above protects hardly anybody and has to be asked for."""

MOST_LABELS = 64
"""Most labels of a menu."""

_WORK = Context(prec=40)
_ROUND_UP = Context(prec=15, rounding=ROUND_CEILING)


class Share(NamedTuple):
    """An estimate of the share of devices that have a value, and its variance."""

    share: float
    variance: float


@dataclass(frozen=True, eq=False)
class Blend:
    """A menu of epsilons, what it protects and how to estimate from it; see :func:`blend`.

    Attributes
    ----------
    shares : tuple of Fraction
        Of the devices that have each label; their sum is 1.
    epsilons : tuple of Fraction
        The local epsilon of each label, rounded up to 15 digits where it is a logarithm.
    values : int
        How many values there are, k.
    keep, lie : float64[labels]
        Probability of the truth, and of each other value.
    """

    shares: tuple[Fraction, ...]
    epsilons: tuple[Fraction, ...]
    values: int
    keep: NDArray[np.float64]
    lie: NDArray[np.float64]

    @property
    def ldp(self) -> tuple[float, ...]:
        """The local epsilon of each label: the guarantee."""
        return tuple(map(float, self.epsilons))

    @property
    def loss(self) -> PureDP:
        """What a ledger may be charged for one report: the largest local epsilon."""
        return PureDP(max(self.epsilons))

    @cached_property
    def pbp(self) -> tuple[float, ...]:
        """The indicator of each label, which is no guarantee; O(labels squared)."""
        truth, other = self._weights * self.keep, self._weights * self.lie
        rows = [_nearest(truth, other), _nearest(other, truth)]
        return tuple(np.max(rows, axis=0).tolist())

    @property
    def mixture(self) -> float:
        """The epsilon of a report whose label is unknown and drawn by the shares."""
        return abs(math.log(self._truth / self._other))

    @property
    def best_shares(self) -> tuple[float, float] | None:
        """The shares of two labels with the least largest indicator; None of other menus.

        That indicator is half the sum of both epsilons where both tell the truth more often than
        any other value.
        """
        if len(self.shares) != 2:
            return None
        first, second = (self.keep * self.lie).tolist()
        ratio = math.sqrt(second / first)
        return ratio / (1 + ratio), 1 / (1 + ratio)

    @property
    def words(self) -> str:
        """What is guaranteed and what is not."""
        return (
            f"Every report is at most exp({float(self.loss.epsilon):.6g}) times as likely for any "
            "other value of its device, and that is what a ledger is charged. The indicator is no "
            "guarantee: labels that are split make it small without protecting anybody, and it "
            "does not add up over several reports."
        )

    def hidden(self, told: int, n: int) -> Share:
        """Estimate the share of devices with a value from reports without labels.

        Unbiased, so it may lie outside 0 to 1; the variance is that at the estimate moved inside.

        Parameters
        ----------
        told : int
            Reports that name the value.
        n : int
            All reports, at least 2.
        """
        _require_counts([told], [n])
        share = (told / n - self._other) / (self._truth - self._other)
        return Share(share, self.hidden_variance(min(max(share, 0.0), 1.0), n))

    def hidden_variance(self, share: float, n: int) -> float:
        """Return the variance of :meth:`hidden` about the share of the n devices themselves.

        The groups of the labels have fixed sizes and are drawn without regard to values.
        """
        _require_share(share, n)
        return self._variance(self._weights * (self.keep - self.lie), share, n)

    def disclosed(self, told: Sequence[int], n: Sequence[int]) -> Share:
        """Estimate the same from reports whose labels are known: maximum likelihood, in [0, 1].

        The likelihood is concave, so its slope is bisected.

        Parameters
        ----------
        told, n : sequence of int
            By label: reports that name the value, and all reports.
        """
        _require_counts(told, n)
        if len(told) != len(self.shares):
            raise UsageError(
                f"Give a number for each of the {len(self.shares)} labels.",
                code="label-number-missing",
            )
        ones, zeros = np.array(told, float), np.array(n, float) - np.array(told, float)
        gain = self.keep - self.lie

        def slope(share: float) -> float:
            chance = self.lie + gain * share
            return float((gain * (ones / chance - zeros / (1 - chance))).sum())

        low, high = 0.0, 1.0
        if slope(low) <= 0:
            high = low
        elif slope(high) >= 0:
            low = high
        while high - low > 1e-14:
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle) > 0 else (low, middle)
        share = (low + high) / 2
        return Share(share, self.disclosed_variance(share, sum(n)))

    def disclosed_variance(self, share: float, n: int) -> float:
        """Return the variance of :meth:`disclosed` to first order, as :meth:`hidden_variance`.

        Labels count by the inverse variance of a report: ``w (keep - lie)^2 / (l (1 - l))`` with l
        the chance that it names the value.
        """
        _require_share(share, n)
        gain = self.keep - self.lie
        chance = self.lie + gain * share
        return self._variance(self._weights * gain**2 / (chance * (1 - chance)), share, n)

    def _variance(self, weight: NDArray[np.float64], share: float, n: int) -> float:
        """Variance of the mean, with these weights, of the estimates of the labels' groups.

        The sum of the reports' own variances, and that of how many devices with the value each
        group has, which is multivariate hypergeometric.
        """
        weight = weight / weight.sum()
        each = share * self.keep * (1 - self.keep) + (1 - share) * self.lie * (1 - self.lie)
        gain = self.keep - self.lie
        own = (weight**2 * each / (n * self._weights * gain**2)).sum()
        groups = share * (1 - share) / (n - 1) * ((weight**2 / self._weights).sum() - 1)
        return float(own + groups)

    def describe(self) -> dict[str, Any]:
        """Plain values."""
        rows = zip(self.shares, self.keep.tolist(), self.ldp, self.pbp, strict=True)
        names = ("share", "truth", "ldp", "indicator")
        labels = [dict(zip(names, (float(row[0]), *row[1:]), strict=True)) for row in rows]
        best = None if self.best_shares is None else list(self.best_shares)
        return {
            "values": self.values,
            "labels": labels,
            "mixture": self.mixture,
            "loss": self.loss.describe(),
            "best_shares": best,
            "words": self.words,
        }

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        return np.array([float(share) for share in self.shares])

    @cached_property
    def _truth(self) -> float:
        return float((self._weights * self.keep).sum())

    @cached_property
    def _other(self) -> float:
        return float((self._weights * self.lie).sum())


def blend(
    shares: Sequence[Budget],
    epsilons: Sequence[Budget] | None = None,
    values: int = 2,
    *,
    truths: Sequence[Budget] | None = None,
    allow_weak: bool = False,
) -> Blend:
    """Return what a menu of epsilons chosen in secret protects, and its estimators.

    Devices answer by randomised response: the truth with probability ``e / (e + k - 1)``, e the
    exponential of their label's epsilon, and each of the other k - 1 values alike. The indicator
    ``pbp`` is no guarantee; the module says why, with a counter-example.

    Parameters
    ----------
    shares : sequence of number or str
        Of the devices that have each label, read exactly; write a third as ``"1/3"``.
    epsilons : sequence of number or str
        Of the labels.
    values : int
        How many values there are, k: at least 2.
    truths : sequence of number or str, optional
        Instead of epsilons the probabilities of the truth, read exactly.
    allow_weak : bool
        Take epsilons above 16 too.

    Raises
    ------
    UsageError
        Shares that do not add up to 1, epsilons that are not above 0, labels that answer alike,
        and probabilities with which the average answer tells nothing.

    Examples
    --------
    >>> found = blend(["1/2", "1/2"], truths=["0.8", "0.6"])
    >>> [round(number, 4) for number in (*found.pbp, *found.ldp, found.mixture)]
    [1.0986, 0.4055, 1.3863, 0.4055, 0.8473]
    """
    if isinstance(values, bool) or not isinstance(values, int) or values < 2:
        raise UsageError(
            "values must be a whole number of at least 2.", code="values-fewer-than-two"
        )
    if (epsilons is None) == (truths is None):
        raise UsageError("Give either epsilons or truths.", code="epsilons-or-truths")
    given = truths if epsilons is None else epsilons
    assert given is not None
    exact = [rational(share, "share") for share in shares]
    if not 1 <= len(exact) == len(given) <= MOST_LABELS:
        raise UsageError(
            f"Give a share for each label, and at most {MOST_LABELS} labels.", code="menu-size"
        )
    if sum(exact) != 1:
        raise UsageError(
            "The shares must add up to 1 exactly; write a third as 1/3.",
            code="shares-do-not-add-up",
        )
    if epsilons is None:
        keep = [_probability(truth, values) for truth in given]
        lie = [(1 - one) / (values - 1) for one in keep]
        if sum(w * (a - b) for w, a, b in zip(exact, keep, lie, strict=True)) == 0:
            raise UsageError(
                f"On average the truth is told with probability 1/{values}, so that reports tell "
                "nothing; change the shares or the probabilities.",
                code="menu-tells-nothing",
            )
        amounts = [_epsilon_of(a / b) for a, b in zip(keep, lie, strict=True)]
        table = np.array([[float(one) for one in keep], [float(one) for one in lie]])
    else:
        amounts = [rational(epsilon) for epsilon in given]
        table = np.array([_response(epsilon, values) for epsilon in amounts]).T
        keep = amounts
    if len({*keep}) < len(keep):
        raise UsageError(
            "Two labels answer alike: merge them and add their shares. Split labels would make the "
            "indicator small without protecting anybody.",
            code="labels-answer-alike",
        )
    if max(amounts) > WEAK and not allow_weak:
        raise UsageError(
            f"A local epsilon above {WEAK} protects hardly anybody; choose a smaller one, or allow "
            "it with allow_weak (--allow-weak).",
            code="menu-epsilon-weak",
        )
    return Blend(tuple(exact), tuple(amounts), values, *table)


def _nearest(here: NDArray[np.float64], there: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the least distance of the logarithm of each weight here to one there."""
    gaps = np.abs(np.log(here)[:, None] - np.log(there)[None])
    return np.asarray(gaps.min(axis=1), np.float64)


def _response(epsilon: Fraction, values: int) -> tuple[float, float]:
    """Return the probabilities of the truth and of each other value."""
    if epsilon > 700:
        raise UsageError(
            "A local epsilon above 700 is no protection; choose a smaller one.",
            code="epsilon-no-protection",
        )
    e = math.exp(epsilon)
    return e / (e + values - 1), 1 / (e + values - 1)


def _probability(value: Budget, values: int) -> Fraction:
    truth = rational(value, "truth")
    if truth >= 1:
        raise UsageError(
            "A truth must be a probability above 0 and below 1.", code="truth-no-probability"
        )
    if truth == Fraction(1, values):
        raise UsageError(
            f"The truth with probability 1/{values} among {values} values is an epsilon of 0, "
            "which tells nothing.",
            code="truth-tells-nothing",
        )
    return truth


def _epsilon_of(ratio: Fraction) -> Fraction:
    """Return |ln ratio|, rounded up to 15 digits."""
    above = max(ratio, 1 / ratio)
    log = _WORK.ln(_WORK.divide(Decimal(above.numerator), Decimal(above.denominator)))
    return Fraction(_ROUND_UP.plus(_WORK.multiply(log, 1 + Decimal("1e-30"))))


def _require_counts(told: Sequence[int], n: Sequence[int]) -> None:
    """Raise UsageError for what are no whole numbers of reports, some of them all."""
    whole = len(told) == len(n) and all(isinstance(one, int | np.integer) for one in (*told, *n))
    if not whole or any(a < 0 or a > b for a, b in zip(told, n, strict=True)):
        raise UsageError(
            "Reports that name a value are whole numbers from 0 to all reports.",
            code="ones-out-of-range",
        )
    if sum(n) < 2:
        raise UsageError("An estimate needs at least 2 reports.", code="reports-fewer-than-two")


def _require_share(share: float, n: int) -> None:
    if not 0 <= share <= 1 or n < 2:
        raise UsageError(
            "A variance is that of a share from 0 to 1 of at least 2 devices.",
            code="variance-out-of-range",
        )
