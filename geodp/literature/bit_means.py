"""Amounts that devices report as one bit each: the bits, and tests of means with their plans.

A device with a value x from 0 to ``maximum`` sends 1 with probability
``1/(e + 1) + x/maximum (e - 1)/(e + 1)``, where e is exp(epsilon), and 0 otherwise: it rounds
``x/maximum`` to 1 or 0 at random, and flips that with probability ``1/(e + 1)``. With
``t = tanh(epsilon / 2)`` the bits have the mean ``(1 - t)/2 + t x/maximum``: a difference of means
is ``maximum / t`` times that of the bits. Without noise t is 1.

Sources
-------
Ding, Kulkarni, Yekhanin 2017, "Collecting telemetry data privately", section 3: the bits of two
values differ in probability by a factor of at most exp(epsilon), reached by 0 and ``maximum``.
Ding, Nori, Li, Allen 2018, "Comparing population means under local differential privacy: with
significance and power".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, erfc, isfinite, sqrt, tanh
from os import PathLike
from statistics import NormalDist
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.accuracy.style import COLOURS, DASHES, draw_figure, quiet_axes
from geodp.advice import takes
from geodp.errors import CodeError, UsageError
from geodp.local.coins import Chance, Coins
from geodp.local.kernels import oracles
from geodp.local.oracles.base import MAX_CELLS, require_epsilon, require_integer
from geodp.privacy.loss import Budget, rational
from geodp.tools.compare.difference import Alternative, Difference, Hypothesis, require_chance


def report_bits(
    values: ArrayLike,
    maximum: int,
    epsilon: Budget,
    coins: Coins | None = None,
    *,
    allow_weak: bool = False,
) -> NDArray[np.uint8]:
    """Randomise one bit for each value, as its device would do it; exactly, in whole numbers.

    Parameters
    ----------
    values : int array, [n]
        0 to ``maximum``, in a unit so small that they are whole numbers.
    maximum : int
        The largest value of any device, known to all; at most ``2**62``.
    epsilon : str, int, float, Decimal or Fraction
        Epsilon of one bit. A device sends one: k bits have k times the epsilon.
    coins : Coins, optional
        By default the operating system's entropy; others are for tests.
    allow_weak : bool
        Accept an epsilon above 16.

    Returns
    -------
    uint8[n]

    Raises
    ------
    CodeError
        A value outside its range, by position: refused, as clipping would reveal it.
    UsageError
        Values that are not whole numbers, or another maximum or epsilon out of range.

    Examples
    --------
    >>> bits = report_bits([0] * 10_000 + [15_000] * 10_000, 15_000, 1)
    >>> bool(bits[:10_000].mean() < 1 / 2 < bits[10_000:].mean())
    True
    """
    exact = require_epsilon(epsilon, allow_weak)
    largest = require_integer(maximum, "maximum", 1, MAX_CELLS, "a value")
    array = np.asarray(values)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise UsageError(
            "Give values as a list of whole numbers; use a smaller unit for fractions.",
            code="values-need-smaller-unit",
        )
    # Compared before the conversion to unsigned, in which a negative number would be huge.
    outside = (array < 0) | (array > largest)
    if outside.any():
        raise CodeError(
            int(outside.argmax()),
            f"A value is not from 0 to {largest}; it is refused, as moving it into the range would "
            "reveal something about its device.",
            code="value-above-most",
        )
    value, bit = np.ascontiguousarray(array, np.uint64), np.empty(array.size, np.uint8)
    source, units = Coins() if coins is None else coins, 2 if largest <= 1 << 32 else 3
    chances = (Chance(1, 1, exact),)
    source.fill(oracles.report_bit, (value, largest, bit), value.size, units, chances)
    return bit


MAX_DEVICES = 10**15
"""Devices of a group at most; a difference that needs more is refused as too small."""


@dataclass(frozen=True)
class _Design:
    """The design of a test of two means.

    Attributes
    ----------
    gap : float
        The difference of the bits' means.
    variance : float
        The sum of the variances of a bit of either group.
    quantile : float
        Standard errors beyond which a difference is significant.
    sides : int
    """

    gap: float
    variance: float
    quantile: float
    sides: int

    def power(self, n: float) -> float:
        """Return the chance that groups of n devices show the difference."""
        reach = abs(self.gap) / sqrt(self.variance / (n - 1))
        # A two-sided test also counts the (rare) findings of the wrong sign.
        ends = (self.quantile - reach, self.quantile + reach)[: self.sides]
        return sum(erfc(end / sqrt(2)) / 2 for end in ends)


def sample_size(
    difference: float,
    maximum: float,
    epsilon: Budget | None = None,
    *,
    share: float | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    sides: int = 2,
) -> int:
    """Compute the devices that each of two groups needs to show a difference of their means.

    Parameters
    ----------
    difference : float
        The second mean less the first: not 0, and at most ``maximum`` in size.
    maximum : float
        The largest value; the smallest is 0.
    epsilon : number or str, optional
        Budget of a device's bit. Default: no noise beyond that of drawing a bit by its value.
    share : float, optional
        The first group's mean divided by ``maximum``, from 0 to 1. Default: the worst case, which
        is the largest variance that a bit can have.
    alpha : float
        Chance of a significant result if the means are equal.
    power : float
        Chance of a significant result if they differ so.
    sides : int
        2, or 1 if the sign of the difference is known beforehand.

    Raises
    ------
    UsageError
        Numbers outside these ranges, or more than 1e15 devices.

    Examples
    --------
    >>> sample_size(600, 15000, 1, share=0.2, sides=1), sample_size(600, 15000, 1, sides=1)
    (8440, 9049)
    """
    require_chance(power, "power")
    design = _design(difference, maximum, epsilon, share, alpha, sides)
    # For a power below alpha no devices are needed: chance alone finds as often.
    wanted = design.quantile + NormalDist().inv_cdf(power)
    n = wanted**2 * design.variance / design.gap**2 + 1 if wanted > 0 else 2
    if n > MAX_DEVICES:
        raise UsageError(
            "So small a difference needs more than 1e15 devices in each group.",
            code="difference-too-small",
        )
    return max(2, ceil(n))


@takes(sample_size, without=("power",))
def power(
    n: int, difference: float, maximum: float, epsilon: Budget | None = None, **options: Any
) -> float:
    """Compute the chance that two groups of n devices each show a difference of their means.

    Parameters
    ----------
    n : int
        Devices of each group, at least 2.
    difference, maximum, epsilon, share, alpha, sides
        See :func:`sample_size`; without a share it is the smallest power for any means.

    Raises
    ------
    UsageError
        Numbers outside these ranges.

    Examples
    --------
    >>> round(power(1000, 600, 15000, 1, share=0.2, sides=1), 3)
    0.215
    """
    if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 2:
        raise UsageError(
            "n must be a whole number of devices, at least 2.", code="devices-fewer-than-two"
        )
    return _design(difference, maximum, epsilon, **options).power(int(n))


def means(
    first: tuple[int, int],
    second: tuple[int, int],
    maximum: float,
    epsilon: Budget | None = None,
    *,
    null: float = 0.0,
    alternative: Alternative = "two-sided",
    alpha: float = 0.05,
) -> Difference:
    """Test whether the means of two groups differ, from one bit of each device.

    Parameters
    ----------
    first, second : (int, int)
        Number of bits of the group that are 1, and of all its bits, at least 2.
    maximum, epsilon
        See :func:`sample_size`.
    null : float
        The difference of the means, second less first, of the null hypothesis.
    alternative : str
        ``"two-sided"``, ``"greater"`` or ``"less"``.
    alpha : float
        One less the confidence of the interval.

    Returns
    -------
    Difference
        The difference of the means, in the unit of the values, with a normal error.

    Raises
    ------
    UsageError
        Numbers outside these ranges, or bits that are all alike.

    Examples
    --------
    >>> test = means((4250, 9000), (4500, 9000), 15000, 1)
    >>> round(test.value), round(test.p_value, 5)
    (902, 0.00019)
    """
    question = Hypothesis(null, alternative, alpha)
    scale = _maximum(maximum) / _contrast(epsilon)
    shares, variance = [], 0.0
    for ones, n in (first, second):
        if not all(isinstance(one, int | np.integer) for one in (ones, n)):
            raise UsageError(
                "Bits are counted in whole numbers: those that are 1, and all.",
                code="bits-not-whole",
            )
        if n < 2 or not 0 <= ones <= n:
            raise UsageError(
                "A group has at least 2 bits, of which 0 to all are 1.", code="group-too-small"
            )
        # The variance of a mean is estimated without bias with n - 1.
        shares.append(int(ones) / int(n))
        variance += shares[-1] * (1 - shares[-1]) / (int(n) - 1)
    if not variance:
        raise UsageError(
            "All bits of a group are alike, so that their error is unknown.", code="bits-alike"
        )
    return Difference.of_error((shares[1] - shares[0]) * scale, sqrt(variance) * scale, question)


def _design(
    difference: float,
    maximum: float,
    epsilon: Budget | None,
    share: float | None = None,
    alpha: float = 0.05,
    sides: int = 2,
) -> _Design:
    require_chance(alpha, "alpha")
    if sides not in (1, 2):
        raise UsageError("sides is 1 or 2.", code="sides-not-1-or-2")
    contrast, apart = _contrast(epsilon), difference / _maximum(maximum)
    if not 0 < abs(apart) <= 1:
        raise UsageError(
            "difference must not be 0, nor above maximum in size.", code="difference-out-of-range"
        )
    # Two bits have a variance of 1/4 each at most, where both have a mean of 1/2.
    variance = 0.5
    if share is not None:
        groups = (share, share + apart)
        if not all(0 <= one <= 1 for one in groups):
            raise UsageError(
                "share must be from 0 to 1, and so must share plus difference / maximum.",
                code="share-out-of-range",
            )
        bits = [(1 - contrast) / 2 + contrast * one for one in groups]
        variance = sum(p * (1 - p) for p in bits)
    if not variance:
        raise UsageError(
            "Bits without noise of groups at 0 and at maximum have no error.",
            code="bits-without-error",
        )
    return _Design(apart * contrast, variance, -NormalDist().inv_cdf(alpha / sides), sides)


def _contrast(epsilon: Budget | None) -> float:
    return 1.0 if epsilon is None else tanh(rational(epsilon) / 2)


def _maximum(value: float) -> float:
    if not (isfinite(value) and value > 0):
        raise UsageError("maximum must be a finite number above 0.", code="maximum-not-positive")
    return float(value)


def plot_power(
    difference: float,
    maximum: float,
    epsilons: Sequence[Budget | None],
    file: str | PathLike[str] | IO[bytes],
    form: str = "png",
    *,
    share: float | None = None,
    alpha: float = 0.05,
    sides: int = 2,
) -> None:
    """Draw the power of a test of two means over the devices of each group, a curve an epsilon.

    A dotted line is a power of 0.8. The axis of devices is logarithmic, and ends where the smallest
    epsilon reaches a power of 0.99.

    Parameters
    ----------
    difference, maximum, share, alpha, sides
        See :func:`~geodp.literature.sample_size`.
    epsilons : sequence of number, str or None
        Budgets of a device's bit, one a curve; None: without noise.
    file : path or binary stream
    form : {"png", "pdf", "svg"}

    Raises UsageError where Matplotlib is not installed.
    """
    options: dict[str, Any] = {"share": share, "alpha": alpha, "sides": sides}
    # The axis reaches from where the test hardly has any power to where it nearly always succeeds.
    sizes = [
        sample_size(difference, maximum, one, power=goal, **options)
        for one in epsilons
        for goal in (max(2 * alpha, 0.1), 0.99)
    ]
    devices = np.unique(np.geomspace(max(2, min(sizes)), max(sizes), 120).round().astype(int))
    with draw_figure((7.2, 4.4), file, form) as figure:
        axes = figure.subplots()
        figure.subplots_adjust(left=0.08, right=0.97, top=0.84, bottom=0.13)
        for number, epsilon in enumerate(epsilons):
            values = [power(n, difference, maximum, epsilon, **options) for n in devices.tolist()]
            name = "without noise" if epsilon is None else f"epsilon {epsilon}"
            style = {"color": COLOURS[number % len(COLOURS)], "linestyle": DASHES[number % 4]}
            axes.plot(devices, values, label=name, linewidth=1.5, **style)
        axes.axhline(0.8, linestyle=":", color="#777777", zorder=1)
        axes.set_xscale("log")
        axes.set_ylim(0, 1.02)
        quiet_axes(axes, "power", "devices of each group")
        axes.legend(loc="lower right", frameon=False, fontsize=8.5)
        means = (
            "whatever the means are" if share is None else f"first mean {share:g} of the maximum"
        )
        title = f"A difference of {difference:,g} of {maximum:,g}, {means}"
        figure.text(0.08, 0.93, title, fontsize=12, fontweight="bold")
