"""Menus of epsilons from which devices choose in secret: what the secrecy is worth.

Devices answer by randomised response over the same values, each with the epsilon of a label of the
menu that it keeps secret. An observer of a report without the label sees the mixture of all labels'
answers. Takagi, Cao and Yoshikawa propose a number for the remaining loss: label t's

    pbp(t) = max over d, d', o with P_t(o|d) > 0 of min over u of
             |ln(w_t P_t(o|d) / (w_u P_u(o|d')))|

with the shares w and the laws P. **It is an indicator and no guarantee.** Split a label in two that
answer alike: true answers have probability 0.8, 0.8 and 0.2, with a third of the devices each. Then
every answer of one label is explained as well by another label, so that the indicator is 0 for all
three; yet the mixture answers truthfully with probability 0.6, and an observer of a report learns
ln 1.5 = 0.405 about its device. (Merged into 0.8 with two thirds and 0.2 with one it is ln 2.) If
half of the devices are honest and half answer at random, it is ln 2 and the mixture has ln 3. Nor
does it add up over several reports of a device. So it only complements what is proved: the local
epsilon of the label (:attr:`Blend.ldp`), of which the largest alone may be charged to a ledger
(:attr:`Blend.loss`), and the epsilon of the mixture (:attr:`Blend.mixture`), which holds against
observers who never learn the label, as long as the shares are the real ones.

A label may always answer truthfully, or never (a probability of 1 or 0): then it has no local
epsilon, and nothing can be charged. Unary encodings gain nothing from four values on, as the number
of ones reveals the label.

Source
------
Takagi, Cao and Yoshikawa, on keeping the parameters of local privacy secret. Equations 15 and 16
are used with the sum over labels inside the logarithm. The rule to take the estimate with the
smallest estimated variance is included for comparison (:meth:`Blend.mean_square_errors`): with
known labels, maximum likelihood is better. To compare what hiding the labels is worth, the source
lets devices with known labels have the indicators of hidden ones as their local epsilons
(:meth:`Blend.as_disclosed`): for it, an indicator protects as an epsilon does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property
from os import PathLike
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.style import COLOURS, DASHES, INK, draw_figure, quiet_axes
from geodp.errors import UsageError
from geodp.privacy.loss import Budget, PureDP, rational
from geodp.reprs import one_line

WEAK = 16
"""Local epsilon above which a report hides little, so that it must be allowed explicitly."""

MAX_LABELS = 64
"""Largest number of labels of a menu."""

MAX_REPORTS = 1_000
"""Largest number of reports of one device whose loss is computed."""

_WORK = Context(prec=40)
_ROUND_UP = Context(prec=15, rounding=ROUND_CEILING)


ESTIMATORS = ("hidden", "likelihood", "inverse-variance", "min-rule")
"""Estimators of a share: one without the labels, three with them."""


class Share(NamedTuple):
    """An estimate of the share of devices that have a value, and its variance."""

    share: float
    variance: float


class SquareError(NamedTuple):
    """A simulated mean square error, and the standard error of the simulation."""

    mean: float
    standard_error: float


@dataclass(frozen=True, eq=False)
class Blend:
    """A menu of epsilons, what it protects and how to estimate from it; see :func:`blend`.

    Attributes
    ----------
    shares : tuple of Fraction
        Share of the devices that have each label; they add up to 1.
    epsilons : tuple of Fraction or None
        The local epsilon of each label, rounded up to 15 digits where it is a logarithm; None where
        there is no finite one.
    values : int
        Number of values, k.
    keep, lie : float64[labels]
        Probability of the true value, and of each other value.
    """

    __repr__ = one_line

    shares: tuple[Fraction, ...]
    epsilons: tuple[Fraction | None, ...]
    values: int
    keep: NDArray[np.float64]
    lie: NDArray[np.float64]

    @property
    def ldp(self) -> tuple[float, ...]:
        """The local epsilon of each label: the guarantee, infinite where there is none."""
        return tuple(math.inf if one is None else float(one) for one in self.epsilons)

    @property
    def loss(self) -> PureDP:
        """The loss that a ledger may be charged for one report: the largest local epsilon.

        Raises UsageError where a label always tells the truth, or never.
        """
        # A label without local epsilon protects nothing by itself, so no finite loss may be
        # charged.
        finite = [one for one in self.epsilons if one is not None]
        if len(finite) < len(self.epsilons):
            raise UsageError(
                "A label that always tells the truth, or never, has no local epsilon, so nothing "
                "can be charged for a report; give every label a truth above 0 and below 1.",
                code="label-without-epsilon",
            )
        return PureDP(max(finite))

    @cached_property
    def pbp(self) -> tuple[float, ...]:
        """The indicator of each label, which is no guarantee; O(labels squared)."""
        truth, other = self._weights * self.keep, self._weights * self.lie
        rows = [_nearest(truth, other), _nearest(other, truth)]
        return tuple(np.max(rows, axis=0).tolist())

    @property
    def mixture(self) -> float:
        """The epsilon of a report whose label is unknown and drawn by the shares."""
        return self.repeated(1)

    def repeated(self, reports: int) -> float:
        """Return the epsilon of several reports of a device that keeps its unknown label.

        The device answers anew each time, about the same value. Only how often a sequence of
        answers names either of two values matters: the largest ratio is searched over those
        counts, in O(reports squared).

        Parameters
        ----------
        reports : int
            From 1 to 1,000.

        Returns
        -------
        float
            Infinite where some sequence of answers is impossible for another value.

        Examples
        --------
        >>> menu = blend(["1/2", "1/2"], truths=["0.8", "0.6"])
        >>> [round(menu.repeated(times), 3) for times in (1, 2, 3)]
        [0.847, 1.609, 2.314]
        """
        if isinstance(reports, bool) or not 1 <= reports <= MAX_REPORTS:
            raise UsageError(
                f"reports must be a whole number from 1 to {MAX_REPORTS:,}.",
                code="repeated-reports-range",
            )
        times = np.arange(reports + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(np.array([self._weights, self.keep, self.lie]))
            # A probability of 0 to the power of 0 is 1.
            truthful = np.where(times[:, None] == 0, 0.0, times[:, None] * logs[1])
            rest = reports - times[:, None]
            lying = np.where(rest == 0, 0.0, rest * logs[2])
            log_chances = np.logaddexp.reduce(logs[0] + truthful + lying, axis=1)
            gaps = log_chances[:, None] - log_chances[None]
        # Two values are named at most as often as there are reports; exactly as often where k = 2.
        named = times[:, None] + times[None]
        possible = named == reports if self.values == 2 else named <= reports
        return float(np.nanmax(np.where(possible, gaps, np.nan)))

    @property
    def best_shares(self) -> tuple[float, float] | None:
        """The shares of two labels that minimise the largest indicator; None for other menus.

        That indicator is half the sum of both epsilons where both tell the truth more often than
        any other value. None also where a label has no finite epsilon, or one of 0.
        """
        if len(self.shares) != 2 or not all(self.epsilons):
            return None
        first, second = (self.keep * self.lie).tolist()
        ratio = math.sqrt(second / first)
        return ratio / (1 + ratio), 1 / (1 + ratio)

    @property
    def statement(self) -> str:
        """The guarantee, and what the indicator does not promise, as sentences."""
        indicator = (
            "The indicator is no guarantee: labels that are split make it small without "
            "protecting anybody, and it does not add up over several reports."
        )
        if None in self.epsilons:
            return (
                "A label always tells the truth, or never: its devices have no protection of "
                f"their own, and nothing can be charged to a ledger. {indicator}"
            )
        return (
            f"Every report is at most exp({float(self.loss.epsilon):.6g}) times as likely for any "
            f"other value of its device, and that is what a ledger is charged. {indicator}"
        )

    def with_shares(self, shares: Sequence[float]) -> Blend:
        """Copy the menu with other shares, which are above 0 and add up to 1."""
        exact = [Fraction(share) for share in shares]
        # The last share is made exact, as floating-point shares need not add up to 1.
        exact[-1] = 1 - sum(exact[:-1], Fraction())
        if len(exact) != len(self.shares) or min(exact) <= 0:
            raise UsageError(
                "Give a share above 0 for each label; their sum is 1.", code="menu-shares"
            )
        return replace(self, shares=tuple(exact))

    def as_disclosed(self) -> Blend:
        """Return the menu of known labels whose local epsilons are the indicators of this one.

        By the indicator, which is no guarantee, both menus protect equally: so their estimators are
        compared, :meth:`hidden` of this menu and :meth:`disclosed` of the other one.

        Examples
        --------
        >>> blend(["1/2", "1/2"], truths=["0.8", "0.6"]).as_disclosed().keep.round(9).tolist()
        [0.75, 0.6]
        """
        towards = np.sign(self.keep - self.lie) * np.array(self.pbp)
        return self._answering(1 / (1 + (self.values - 1) * np.exp(-towards)))

    def at_constant_protection(self, shares: Sequence[float]) -> Blend:
        """Return a menu of other shares whose indicators are at most those of this one.

        Truths are moved from those of :meth:`as_disclosed` towards those of this menu, and beyond
        them, up to the first ones with a larger indicator. (Further ones may have smaller ones: of
        a device that is always honest, lies are left out of the indicator.)

        Parameters
        ----------
        shares : sequence of float
            Above 0; they add up to 1.
        """
        start, limit = self.as_disclosed(), np.array(self.pbp) + 1e-9
        other, step = start.with_shares(shares), self.keep - start.keep
        with np.errstate(divide="ignore", invalid="ignore"):
            slack = np.where(step > 0, (1 - start.keep) / step, start.keep / -step)
        far = float(np.min(slack, where=step != 0, initial=math.inf))
        if math.isinf(far):
            return other

        def move(length: float) -> Blend:
            return other._answering(np.clip(start.keep + length * step, 0, 1))

        def is_allowed(length: float) -> bool:
            return bool((np.array(move(length).pbp) <= limit).all())

        tried = np.linspace(0, far, 200).tolist()
        beyond = next((at for at in range(1, len(tried)) if not is_allowed(tried[at])), None)
        if beyond is None:
            return move(far)
        low, high = tried[beyond - 1], tried[beyond]
        while high - low > 1e-9:
            middle = (low + high) / 2
            low, high = (middle, high) if is_allowed(middle) else (low, middle)
        return move(low)

    def _answering(self, keep: NDArray[np.float64]) -> Blend:
        """Copy the menu with other probabilities of the truth: float64[labels]."""
        lie = (1 - keep) / (self.values - 1)
        epsilons = tuple(
            _epsilon_of(Fraction(a), Fraction(b))
            for a, b in zip(keep.tolist(), lie.tolist(), strict=True)
        )
        return replace(self, epsilons=epsilons, keep=keep, lie=lie)

    def hidden(self, named: int, n: int) -> Share:
        """Estimate the share of devices with a value from reports without labels.

        The estimate is unbiased, so it may lie outside 0 to 1; the variance is taken at the
        estimate clipped to 0 to 1.

        Parameters
        ----------
        named : int
            Number of reports that name the value.
        n : int
            Number of all reports, at least 2.
        """
        _require_counts([named], [n])
        share = (named / n - self._other) / (self._truth - self._other)
        return Share(share, self.hidden_variance(min(max(share, 0.0), 1.0), n))

    def hidden_variance(self, share: float, n: int) -> float:
        """Compute the variance of :meth:`hidden` around the share among the n devices themselves.

        The groups of the labels have fixed sizes and are drawn without regard to values.
        """
        _require_share(share, n)
        return self._variance(self._weights, share, n)

    def disclosed(
        self, named: Sequence[int], n: Sequence[int], estimator: str = "likelihood"
    ) -> Share:
        """Estimate the share of devices with a value from reports whose labels are known.

        Parameters
        ----------
        named, n : sequence of int
            By label: number of reports that name the value, and of all reports.
        estimator : {"likelihood", "inverse-variance", "min-rule"}
            Maximum likelihood, which is within 0 to 1: the likelihood is concave, so its slope is
            bisected. Or the mean of the labels' estimates, weighted by ``n (keep - lie)^2``. Or the
            rule of the source: of the estimate of each label alone and that of :meth:`hidden` from
            all reports, each of which is unbiased, the one with the smallest estimated variance. A
            choice by the reports themselves is not unbiased any more. The latter two may lie
            outside 0 to 1.
        """
        # Silent broadcasting of a shorter list would give a wrong estimate.
        self._require_labels(named, n)
        gain, size = self.keep - self.lie, np.array(n, float)
        if estimator == "likelihood":
            share = self._likeliest(np.array(named, float), size)
            return Share(share, self.disclosed_variance(share, sum(n)))
        informative = (size > 0) & (gain != 0)
        if estimator not in ESTIMATORS[2:] or not informative.any():
            raise UsageError(
                f"An estimator for known labels is one of {', '.join(ESTIMATORS[1:])}, and needs "
                "reports of a label whose answers depend on the value.",
                code="estimator-unknown",
            )
        gain, size = gain[informative], size[informative]
        fraction = np.array(named, float)[informative] / size
        estimates = (fraction - self.lie[informative]) / gain
        if estimator == "inverse-variance":
            weight = size * gain**2
            share = float((weight * estimates).sum() / weight.sum())
            inside = min(max(share, 0.0), 1.0)
            return Share(share, self.disclosed_variance(inside, sum(n), estimator))
        # The source's candidates: each label alone, and all reports as if no label were known.
        fraction = np.append(fraction, sum(named) / sum(n))
        size, gain = np.append(size, sum(n)), np.append(gain, self._truth - self._other)
        estimates = np.append(estimates, self.hidden(sum(named), sum(n)).share)
        estimated = fraction * (1 - fraction) / (np.maximum(size - 1, 1) * gain**2)
        best = int(estimated.argmin())
        return Share(float(estimates[best]), float(estimated[best]))

    def disclosed_variance(self, share: float, n: int, estimator: str = "likelihood") -> float:
        """Compute the variance of :meth:`disclosed`, as :meth:`hidden_variance` does.

        For maximum likelihood to first order: labels are weighted by the inverse variance of a
        report, ``w (keep - lie)^2 / (l (1 - l))``, where l is the chance that it names the value.
        For "inverse-variance" exactly, as long as its weights are those of the shares. The rule of
        the smallest variance has no closed form; see :meth:`mean_square_errors`.
        """
        _require_share(share, n)
        gain = self.keep - self.lie
        if estimator == "inverse-variance":
            return self._variance(self._weights * gain, share, n)
        if estimator != "likelihood":
            raise UsageError(
                f"There is no closed form of the estimator {estimator}.",
                code="estimator-without-closed-form",
            )
        chance = self.lie + gain * share
        noise = chance * (1 - chance)
        certain = noise == 0
        # A label whose answers are certain has an infinite weight, so it decides alone.
        if certain.any():
            certainly = np.divide(self._weights, gain, out=np.zeros_like(gain), where=certain)
            return self._variance(certainly, share, n)
        return self._variance(self._weights * gain / noise, share, n)

    def mean_square_errors(
        self,
        share: float,
        n: int,
        trials: int = 10_000,
        seed: int = 0,
        estimators: Sequence[str] = ESTIMATORS,
    ) -> dict[str, SquareError]:
        """Simulate the mean square errors of estimators.

        In each trial the labels' groups, whose sizes are the shares of n rounded, are drawn anew
        from n devices of which a fixed number has the value.

        Parameters
        ----------
        share : float
            Share of the devices that have the value, from 0 to 1; rounded to whole devices.
        n : int
            Number of devices, at least 2.
        trials : int
            At least 100.
        seed : int
            Seed of the simulation.
        estimators : sequence of str
            Names in :data:`ESTIMATORS`.

        Returns
        -------
        dict of str to SquareError
            By the names of the estimators.

        Examples
        --------
        >>> menu = blend(["1/2", "1/2"], truths=["3/4", "3/5"])
        >>> errors = menu.mean_square_errors(0.5, 100, trials=2_000)
        >>> errors["likelihood"].mean < errors["min-rule"].mean
        True
        """
        _require_share(share, n)
        if trials < 100:
            raise UsageError(
                "A simulation needs at least 100 trials.", code="trials-fewer-than-100"
            )
        ends = np.round(np.cumsum(self._weights) * n).astype(int)
        sizes = np.diff(ends, prepend=0)
        holders = round(share * n)
        rng = np.random.default_rng(seed)
        inside = rng.multivariate_hypergeometric(sizes, holders, trials)
        named = rng.binomial(inside, self.keep) + rng.binomial(sizes - inside, self.lie)
        # Few different outcomes occur, so each is estimated once and weighted by its frequency.
        outcomes, times = np.unique(named, axis=0, return_counts=True)
        estimates = np.array(
            [
                [self._estimate(ones, sizes.tolist(), name) for name in estimators]
                for ones in outcomes.tolist()
            ]
        )
        squares = (estimates - holders / n) ** 2
        means = times @ squares / trials
        errors = np.sqrt(times @ (squares - means) ** 2) / trials
        return {
            name: SquareError(float(mean), float(error))
            for name, mean, error in zip(estimators, means, errors, strict=True)
        }

    def _estimate(self, named: Sequence[int], n: Sequence[int], estimator: str) -> float:
        """Estimate a share by an estimator; parameters are those of :meth:`disclosed`."""
        if estimator == ESTIMATORS[0]:
            return self.hidden(sum(named), sum(n)).share
        return self.disclosed(named, n, estimator).share

    def compare_estimators(
        self, share: float, n: int, trials: int = 10_000, seed: int = 0
    ) -> dict[str, SquareError]:
        """Compute the mean square errors of estimators that protect equally, by the indicator.

        That of hidden labels with the answers of this menu is a closed form; those of known labels
        with the answers of :meth:`as_disclosed` are simulated. Parameters and errors are those of
        :meth:`mean_square_errors`.

        Returns
        -------
        dict of str to SquareError
            By the names in :data:`ESTIMATORS`.
        """
        first, *others = ESTIMATORS
        disclosed = self.as_disclosed().mean_square_errors(share, n, trials, seed, others)
        return {first: SquareError(self.hidden_variance(round(share * n) / n, n), 0.0), **disclosed}

    def _likeliest(self, ones: NDArray[np.float64], size: NDArray[np.float64]) -> float:
        """Maximise the likelihood over the share, by bisecting its slope."""
        zeros, gain = size - ones, self.keep - self.lie

        def slope(share: float) -> float:
            chance = self.lie + gain * share
            with np.errstate(divide="ignore"):
                ones_slope = np.divide(ones, chance, out=np.zeros_like(ones), where=ones > 0)
                zeros_slope = np.divide(zeros, 1 - chance, out=np.zeros_like(ones), where=zeros > 0)
            # A label without information has no slope, also where its chance is 0.
            slopes = np.multiply(
                gain, ones_slope - zeros_slope, out=np.zeros_like(gain), where=gain != 0
            )
            return float(slopes.sum())

        low, high = 0.0, 1.0
        if slope(low) <= 0:
            high = low
        elif slope(high) >= 0:
            low = high
        # The likelihood is concave, so its slope changes sign at most once.
        while high - low > 1e-14:
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle) > 0 else (low, middle)
        return (low + high) / 2

    def _require_labels(self, named: Sequence[int], n: Sequence[int]) -> None:
        """Raise UsageError unless there is a number of reports for each label."""
        _require_counts(named, n)
        if len(named) != len(self.shares):
            raise UsageError(
                f"Give a number for each of the {len(self.shares)} labels.",
                code="label-number-missing",
            )

    def _variance(self, weight: NDArray[np.float64], share: float, n: int) -> float:
        """Compute the variance of an estimate that weights each label's fraction of named values.

        It is the sum of the reports' variances and of the variance of the number of devices with
        the value in each group, which is multivariate hypergeometric.
        """
        gain = self.keep - self.lie
        # Normalised so that the estimate is unbiased: the weighted gains add up to 1.
        weight = weight / (weight * gain).sum()
        each = share * self.keep * (1 - self.keep) + (1 - share) * self.lie * (1 - self.lie)
        within = (weight**2 * each / (n * self._weights)).sum()
        between = share * (1 - share) / (n - 1) * (((weight * gain) ** 2 / self._weights).sum() - 1)
        return float(within + between)

    def describe(self, reports: int = 1) -> dict[str, Any]:
        """Return plain values, with the epsilons of 1 to ``reports`` reports of a device."""
        labels = [
            {"share": float(share), "truth": truth, "ldp": _finite(ldp), "indicator": _finite(pbp)}
            for share, truth, ldp, pbp in zip(
                self.shares, self.keep.tolist(), self.ldp, self.pbp, strict=True
            )
        ]
        best = None if self.best_shares is None else list(self.best_shares)
        return {
            "values": self.values,
            "labels": labels,
            "mixture": _finite(self.mixture),
            "repeated": [_finite(self.repeated(times)) for times in range(1, reports + 1)],
            "loss": None if None in self.epsilons else self.loss.describe(),
            "best_shares": best,
            "words": self.statement,
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
    """Compute what a menu of epsilons chosen in secret protects, and its estimators.

    Devices answer by randomised response: the truth with probability ``e / (e + k - 1)``, where e
    is the exponential of their label's epsilon, and each of the other k - 1 values alike. The
    indicator ``pbp`` is no guarantee; the module says why, with a counter-example.

    Parameters
    ----------
    shares : sequence of number or str
        Share of the devices that have each label, read exactly; write a third as ``"1/3"``.
    epsilons : sequence of number or str
        Local epsilon of each label.
    values : int
        Number of values, k: at least 2.
    truths : sequence of number or str, optional
        The probabilities of the truth, from 0 to 1, read exactly: in place of epsilons.
    allow_weak : bool
        Accept epsilons above 16.

    Raises
    ------
    UsageError
        Shares that do not add up to 1, epsilons that are not above 0, labels that answer alike,
        and probabilities with which the average answer carries no information.

    Examples
    --------
    >>> menu = blend(["1/2", "1/2"], truths=["0.8", "0.6"])
    >>> [round(number, 4) for number in (*menu.pbp, *menu.ldp, menu.mixture)]
    [1.0986, 0.4055, 1.3863, 0.4055, 0.8473]
    """
    if isinstance(values, bool) or not isinstance(values, int) or values < 2:
        raise UsageError(
            "values must be a whole number of at least 2.", code="values-fewer-than-two"
        )
    if (epsilons is None) == (truths is None):
        raise UsageError("Give either epsilons or truths.", code="epsilons-or-truths")
    menu = truths if epsilons is None else epsilons
    assert menu is not None
    exact = [rational(share, "share") for share in shares]
    if not 1 <= len(exact) == len(menu) <= MAX_LABELS:
        raise UsageError(
            f"Give a share for each label, and at most {MAX_LABELS} labels.", code="menu-size"
        )
    if sum(exact) != 1:
        raise UsageError(
            "The shares must add up to 1 exactly; write a third as 1/3.",
            code="shares-do-not-add-up",
        )
    if epsilons is None:
        keep = [_probability(truth, values) for truth in menu]
        lie = [(1 - one) / (values - 1) for one in keep]
        if sum(w * (a - b) for w, a, b in zip(exact, keep, lie, strict=True)) == 0:
            raise UsageError(
                f"The true value is reported with probability 1/{values} on average, so that the "
                "reports carry no information; change the shares or the probabilities.",
                code="menu-tells-nothing",
            )
        amounts = [_epsilon_of(a, b) for a, b in zip(keep, lie, strict=True)]
        table = np.array([[float(one) for one in keep], [float(one) for one in lie]])
    else:
        keep = [rational(epsilon) for epsilon in menu]
        table = np.array([_response(epsilon, values) for epsilon in keep]).T
        amounts = [*keep]
    # Labels that answer alike explain each other's answers, which would make the indicator 0.
    if len({*keep}) < len(keep):
        raise UsageError(
            "Two labels answer alike: merge them and add their shares. Split labels would make the "
            "indicator small without protecting anybody.",
            code="labels-answer-alike",
        )
    if any(amount is not None and amount > WEAK for amount in amounts) and not allow_weak:
        raise UsageError(
            f"A local epsilon above {WEAK} protects hardly anybody; choose a smaller one, or allow "
            "it with allow_weak (--allow-weak).",
            code="menu-epsilon-weak",
        )
    return Blend(tuple(exact), tuple(amounts), values, *table)


def _nearest(here: NDArray[np.float64], there: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute the smallest distance from the logarithm of each weight here to one there.

    An answer that a label never gives is left out: its distance is 0.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        gaps = np.abs(np.log(here)[:, None] - np.log(there)[None])
    return np.where(here > 0, gaps.min(axis=1), 0.0)


def _response(epsilon: Fraction, values: int) -> tuple[float, float]:
    """Compute the probabilities of the truth and of each other value."""
    if epsilon > 700:
        raise UsageError(
            "A local epsilon above 700 is no protection; choose a smaller one.",
            code="epsilon-no-protection",
        )
    e = math.exp(epsilon)
    return e / (e + values - 1), 1 / (e + values - 1)


def _probability(value: Budget, values: int) -> Fraction:
    """Read a probability of the truth exactly, from 0 to 1."""
    truth = Fraction(0) if value in (0, "0") else rational(value, "truth")
    if truth > 1:
        raise UsageError("A truth is a probability from 0 to 1.", code="truth-no-chance")
    return truth


def _epsilon_of(keep: Fraction, lie: Fraction) -> Fraction | None:
    """Compute |ln(keep / lie)|, rounded up to 15 digits; None where it is infinite."""
    if not keep or not lie:
        return None
    above = max(keep / lie, lie / keep)
    # The factor exceeds the error of the logarithm to 40 digits, so rounding up is a true bound.
    log = _WORK.ln(_WORK.divide(Decimal(above.numerator), Decimal(above.denominator)))
    return Fraction(_ROUND_UP.plus(_WORK.multiply(log, 1 + Decimal("1e-30"))))


def _finite(value: float) -> float | None:
    """Convert a number for JSON: None where it is infinite."""
    return value if math.isfinite(value) else None


def _require_counts(named: Sequence[int], n: Sequence[int]) -> None:
    """Raise UsageError unless reports that name a value are whole numbers up to all reports."""
    integers = len(named) == len(n) and all(
        isinstance(one, int | np.integer) for one in (*named, *n)
    )
    if not integers or any(a < 0 or a > b for a, b in zip(named, n, strict=True)):
        raise UsageError(
            "Reports that name a value are whole numbers from 0 to all reports.",
            code="ones-out-of-range",
        )
    if sum(n) < 2:
        raise UsageError("An estimate needs at least 2 reports.", code="reports-fewer-than-two")


def _require_share(share: float, n: int) -> None:
    if not 0 <= share <= 1 or n < 2:
        raise UsageError(
            "A variance needs a share from 0 to 1 and at least 2 devices.",
            code="variance-out-of-range",
        )


MAX_DEVICES = 10_000
"""Largest number of devices whose estimators a figure simulates."""

DOTS = 21
"""Number of shares of a value at which estimators are simulated."""

TRIALS = 2_000
"""Trials of each simulated error."""

HALF = 0.5
"""Share of a value whose estimates have the largest errors."""

WIDEST = 0.6
"""Largest root mean square error that is drawn: beyond it, a share is not known at all."""


def plot_menu(
    menu: Blend,
    file: str | PathLike[str] | IO[bytes],
    form: str = "png",
    *,
    devices: int = 100,
    reports: int = 6,
) -> None:
    """Draw what a menu protects, what repeated reports reveal, and what hiding labels is worth.

    Above, left: the indicator of each label and the epsilon of the mixture by the share of the
    first label (the other labels keep their proportions); a dotted line is the menu's actual share.
    Right: the epsilon of 1 to `reports` reports of a device that keeps its label, next to as many
    times that of one. Below: errors of an estimated share where labels are hidden, and where they
    are known and protect as much by the indicator (:meth:`Blend.as_disclosed`). Left: the root of
    the mean square error of all estimators, simulated, by the share of devices with the value.
    Right: by the share of the first label, half of the devices having the value, while the
    protection stays that of the menu (:meth:`Blend.at_constant_protection`); a dot is the menu.

    Parameters
    ----------
    menu : Blend
    file : path or binary stream
    form : {"png", "pdf", "svg"}
    devices : int
        Number of devices in the simulation: from 2 to 10,000.
    reports : int
        Largest number of reports of one device.

    Raises UsageError where Matplotlib is not installed, or for a menu of one label.
    """
    if len(menu.shares) < 2:
        raise UsageError(
            "A figure compares labels; give a menu of at least two.", code="picture-of-one-label"
        )
    if not 2 <= devices <= MAX_DEVICES:
        raise UsageError(
            f"A figure simulates from 2 to {MAX_DEVICES:,} devices.", code="picture-devices-range"
        )
    with draw_figure((9.6, 7.8), file, form) as figure:
        above, below = figure.subplots(2, 2)
        figure.subplots_adjust(left=0.06, right=0.98, top=0.86, bottom=0.07)
        figure.subplots_adjust(wspace=0.16, hspace=0.34)
        _draw_shares(above[0], menu)
        _draw_reports(above[1], menu, reports)
        _draw_errors(below[0], menu, devices)
        _draw_constant(below[1], menu, devices)
        truths, shares, disclosed = (
            ", ".join(f"{float(one):.3g}" for one in each)
            for each in (menu.keep, menu.shares, menu.as_disclosed().keep)
        )
        title = f"Truth told with probability {truths} by {shares} of the devices"
        figure.text(0.06, 0.955, title, fontsize=12, fontweight="bold")
        figure.text(0.06, 0.925, f"Known labels of the same indicators tell it with {disclosed}")


def _draw_shares(axes: Any, menu: Blend) -> None:
    """Draw indicator and mixture by the share of the first label."""
    shares, varied = _vary(menu, 197)
    menus = [menu.with_shares(one) for one in varied]
    for label, keep in enumerate(menu.keep.tolist()):
        values = [one.pbp[label] for one in menus]
        name = f"indicator of {keep:.3g}"
        axes.plot(shares, values, color=COLOURS[label % len(COLOURS)], linewidth=1.5, label=name)
    mixture = [one.mixture for one in menus]
    axes.plot(shares, mixture, color=INK, linestyle="--", linewidth=1.5, label="mixture, epsilon")
    axes.axvline(float(menu.shares[0]), linestyle=":", color="#777777")
    _frame(axes, "Indicator (no guarantee) and mixture", "share of the first label")


def _vary(menu: Blend, number: int) -> tuple[list[float], list[list[float]]]:
    """Return shares of the first label, and the shares of all; others keep their proportions."""
    # The ends are left out: at a share of 0 or 1 a label has no devices, and no indicator.
    shares = np.linspace(0.01, 0.99, number).tolist()
    rest = np.array([float(share) for share in menu.shares[1:]])
    rest /= rest.sum()
    return shares, [[first, *((1 - first) * rest).tolist()] for first in shares]


def _draw_errors(axes: Any, menu: Blend, devices: int) -> None:
    """Draw the root mean square error of every estimator by the share of the value."""
    shares = np.linspace(0, 1, DOTS)
    rows = [menu.compare_estimators(share, devices, TRIALS) for share in shares.tolist()]
    for name in ESTIMATORS:
        axes.plot(shares, [math.sqrt(one[name].mean) for one in rows], **_style(name))
    _limit(axes)
    title = f"Error of a share of {devices:,} devices, at equal indicators"
    _frame(axes, title, "share that has the value")


def _draw_constant(axes: Any, menu: Blend, devices: int) -> None:
    """Draw the root mean square error by the share of the first label at constant protection."""
    disclosed, first = menu.as_disclosed(), float(menu.shares[0])
    shares, menus = _vary(menu, 99)
    hidden = [menu.at_constant_protection(one).hidden_variance(HALF, devices) for one in menus]
    axes.plot(shares, np.sqrt(hidden), **_style("hidden"))
    axes.plot(first, math.sqrt(menu.hidden_variance(HALF, devices)), "o", color=COLOURS[0])
    others = [disclosed.with_shares(one) for one in menus]
    for name in ("likelihood", "inverse-variance"):
        variances = [one.disclosed_variance(HALF, devices, name) for one in others]
        axes.plot(shares, np.sqrt(variances), **_style(name))
    # Before the rule of the source, whose errors in small groups would hide all others.
    _limit(axes)
    name, few, roots = "min-rule", list[float](), list[float]()
    for share, one in zip(*_vary(menu, DOTS), strict=True):
        # Where a label has no devices, it has no estimate.
        if min(one) * devices >= 1:
            rule = disclosed.with_shares(one).mean_square_errors(HALF, devices, TRIALS, 0, [name])
            few.append(share)
            roots.append(math.sqrt(rule[name].mean))
    axes.plot(few, roots, **_style(name))
    _frame(axes, "Error of a half, at constant indicators", "share of the first label")


def _draw_reports(axes: Any, menu: Blend, reports: int) -> None:
    """Draw the epsilon of several reports, next to as many times that of one."""
    from matplotlib.ticker import MaxNLocator

    times = np.arange(1, reports + 1)
    rows = {
        "label kept": [menu.repeated(number) for number in times.tolist()],
        "as many times one report": (menu.mixture * times).tolist(),
        "weakest label, known": (max(menu.ldp) * times).tolist(),
    }
    for row, (name, values) in enumerate(rows.items()):
        # Infinite epsilons have no line; the text names them.
        if all(map(math.isfinite, values)):
            style = {"color": COLOURS[row], "linestyle": DASHES[row], "linewidth": 1.5}
            axes.plot(times, values, label=name, **style)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylim(bottom=0)
    _frame(axes, "Epsilon for who never learns a label", "reports of a device")


def _style(estimator: str) -> dict[str, Any]:
    """Return the label and the line of an estimator."""
    row = ESTIMATORS.index(estimator)
    label = "labels hidden" if row == 0 else f"known, {estimator.replace('-', ' ')}"
    return {"color": COLOURS[row], "linestyle": DASHES[row], "linewidth": 1.5, "label": label}


def _limit(axes: Any) -> None:
    """Limit the axis of errors to those that say something of a share."""
    axes.set_ylim(0, min(axes.get_ylim()[1], WIDEST))


def _frame(axes: Any, title: str, label: str) -> None:
    """Set a title, a quiet grid and a legend."""
    quiet_axes(axes, title, label)
    axes.legend(frameon=False, fontsize=8.5)
