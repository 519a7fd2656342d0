"""Compute tails of errors: exactly for two noises, and closely for sums of a few noises.

Normal tails would be far too thin where many regions are compared: a single Laplace noise exceeds
four standard errors fifty times as often as a normal error.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1, log

import numpy as np

from geodp.typing import FloatArray

REACH = 60
"""Scales beyond which a tail counts as the one there, which is below 1e-20."""

CUT = 40
"""Scales after which a sum over a noise ends; a bound of the rest is added."""


@dataclass(frozen=True)
class LatticeNoise:
    """Discrete Laplace noise on a lattice.

    Attributes
    ----------
    scale, step : Fraction
        In counts; the noise is ``step`` times an integer of the law of scale ``scale / step``.
    """

    scale: Fraction
    step: Fraction

    @property
    def rate(self) -> float:
        """The logarithm of the ratio of the chances of an integer and the next larger one."""
        return float(self.step / self.scale)

    def mass(self, number: FloatArray) -> FloatArray:
        """Return the chance of each integer: float64[n]."""
        fall = exp(-self.rate)
        return np.asarray(-expm1(-self.rate) / (1 + fall) * np.exp(-self.rate * np.abs(number)))

    def above(self, counts: FloatArray) -> FloatArray:
        """Return the chance of noise of at least so many counts: float64[n]."""
        # Chances of negative values follow by symmetry, without cancellation in either tail.
        number = np.ceil(counts / float(self.step))
        far = np.exp(-self.rate * np.where(number > 0, number, 1 - number))
        far /= 1 + exp(-self.rate)
        return np.where(number > 0, far, 1 - far)


def tail_of_difference(first: LatticeNoise, second: LatticeNoise, counts: FloatArray) -> FloatArray:
    """Return the chance that one noise exceeds the other by at least so many counts.

    Parameters
    ----------
    first, second : LatticeNoise
    counts : float64[n]

    Returns
    -------
    float64[n]
        Exact to the precision of floats; never too small beyond ``REACH`` scales.
    """
    far = REACH * float(first.scale + second.scale)
    limited = np.clip(np.asarray(counts, np.float64), -far, far)
    if first == second:
        return _of_equal(first, limited)
    # The noise with fewer values within reach is summed over, and the other has a closed form.
    pairs = [(first, second), (second, first)]
    few, many = min(pairs, key=lambda pair: (CUT * pair[0].scale + Fraction(far)) / pair[0].step)
    unique, where = np.unique(limited, return_inverse=True)
    return np.array([_summed(few, many, one) for one in unique.tolist()])[where]


def _of_equal(noise: LatticeNoise, counts: FloatArray) -> FloatArray:
    """Compute the closed form: P(d) is proportional to ``q^|d| (|d| + (1 + q^2)/(1 - q^2))``."""
    rate, q = noise.rate, exp(-noise.rate)
    # 1 - q and 1 - q^2 by expm1: q is close to 1 where the noise is large.
    less = -expm1(-rate)
    middle = (1 + q * q) / -expm1(-2 * rate)
    number = np.ceil(counts / float(noise.step))
    far = np.where(number > 0, number, 1 - number)
    tail = np.exp(-rate * far) * ((far + middle) * less + q) / (1 + q) ** 2
    return np.where(number > 0, tail, 1 - tail)


def _summed(listed: LatticeNoise, other: LatticeNoise, counts: float) -> float:
    """Sum the tails of one noise over all values of the other."""
    step = float(listed.step)
    ends = np.ceil(CUT * float(listed.scale) / step)
    last = np.ceil(max(counts, 0.0) / step) + ends
    number = np.arange(-ends, last + 1)
    total = (listed.mass(number) * other.above(counts - number * step)).sum()
    # Larger values of the summed noise exceed the difference nearly always: count them as doing so.
    beyond = listed.above(np.array([(last + 1) * step]))[0]
    return float(min(1.0, total + beyond))


MIN_EXCESS = 1e-3
"""Smallest excess of a tail that is not normal: a smaller one is taken for this one."""

GRID = (-40.0, 7.0)
"""Logarithms of the first and the last variance of the mixture, in units of their mean."""

CHUNK = 1 << 21
"""Numbers of a table that are held at a time."""


def tail_of_sum(z: FloatArray, excess: FloatArray) -> FloatArray:
    """Compute the chance that a sum of independent noises is at least z standard errors.

    The sum is taken for that of ``n = 1 / excess`` equal Laplace noises, which has the same
    variance and fourth cumulant: exact for one noise and for any number of equal ones. Its law is
    normal with a variance of a gamma law of shape n and mean 1, which is summed up on a
    logarithmic scale.

    Parameters
    ----------
    z : float64[n]
    excess : float64[n]
        A third of the excess kurtosis: from 0, where it is the normal law, to 1.

    Returns
    -------
    float64[n]

    Examples
    --------
    >>> tail_of_sum(np.array([1.96, 2.118]), np.array([0.0, 1.0])).round(4).tolist()
    [0.025, 0.025]
    """
    from scipy.special import gammaln, ndtr  # imported late, as it takes long

    tails = np.asarray(ndtr(-z), np.float64)
    chosen = np.flatnonzero((excess > 0) & np.isfinite(z))
    if not chosen.size:
        return tails
    # A smaller excess would need a finer grid; the tail of this one is longer, which is safe.
    shape = 1 / np.clip(excess[chosen], MIN_EXCESS, 1)
    step = min(0.06, 0.4 / float(shape.max()) ** 0.5)
    logs = np.arange(*GRID, step)
    # The table of z by variances is split so that it fits into memory.
    rows = max(1, CHUNK // logs.size)
    for start in range(0, chosen.size, rows):
        some = chosen[start : start + rows]
        n = shape[start : start + rows, None]
        density = np.exp(n * (np.log(n) + logs - np.exp(logs)) - gammaln(n) + log(step))
        far = (density * ndtr(-np.abs(z[some, None]) * np.exp(-logs / 2))).sum(axis=1)
        tails[some] = np.where(z[some] >= 0, far, 1 - far)
    return tails
