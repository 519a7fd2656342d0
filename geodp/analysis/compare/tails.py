"""The law of the difference of two independent discrete Laplace noises, out to its tails.

Normal tails would be far too thin for single cells among many.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp, expm1

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

REACH = 60
"""Scales beyond which a tail is not followed: it counts as that there, below 1e-20."""

CUT = 40
"""Scales after which a sum over a noise ends; what is left is added as a bound."""


@dataclass(frozen=True)
class Noise:
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
        """The logarithm by which the law falls from one integer to the next."""
        return float(self.step / self.scale)

    def mass(self, number: Floats) -> Floats:
        """Return the chance of each integer: float64[n]."""
        fall = exp(-self.rate)
        return np.asarray(-expm1(-self.rate) / (1 + fall) * np.exp(-self.rate * np.abs(number)))

    def above(self, counts: Floats) -> Floats:
        """Return the chance of noise of at least so many counts: float64[n]."""
        number = np.ceil(counts / float(self.step))
        far = np.exp(-self.rate * np.where(number > 0, number, 1 - number))
        far /= 1 + exp(-self.rate)
        return np.where(number > 0, far, 1 - far)


def tail_of_difference(first: Noise, second: Noise, counts: Floats) -> Floats:
    """Return the chance that one noise exceeds the other by at least so many counts.

    Parameters
    ----------
    first, second : Noise
    counts : float64[n]

    Returns
    -------
    float64[n]
        To the precision of floating-point numbers; never too small beyond ``REACH`` scales.
    """
    most = REACH * float(first.scale + second.scale)
    asked = np.clip(np.asarray(counts, np.float64), -most, most)
    if first == second:
        return _of_equal(first, asked)
    wide, narrow = sorted((first, second), key=lambda one: -one.scale)
    unique, where = np.unique(asked, return_inverse=True)
    return np.array([_summed(wide, narrow, one) for one in unique.tolist()])[where]


def _of_equal(noise: Noise, counts: Floats) -> Floats:
    """Closed form: P(d) is proportional to ``q^|d| (|d| + (1 + q^2)/(1 - q^2))``."""
    rate, q = noise.rate, exp(-noise.rate)
    less = -expm1(-rate)
    middle = (1 + q * q) / -expm1(-2 * rate)
    number = np.ceil(counts / float(noise.step))
    far = np.where(number > 0, number, 1 - number)
    found = np.exp(-rate * far) * ((far + middle) * less + q) / (1 + q) ** 2
    return np.where(number > 0, found, 1 - found)


def _summed(wide: Noise, narrow: Noise, counts: float) -> float:
    """The sum over all values of the wider noise."""
    step = float(wide.step)
    ends = CUT * float(wide.scale) / step
    last = np.ceil(max(counts, 0.0) / step + ends)
    number = np.arange(-np.ceil(ends), last + 1)
    found = (wide.mass(number) * narrow.above(counts - number * step)).sum()
    beyond = wide.above(np.array([(last + 1) * step]))[0]
    return float(min(1.0, found + beyond))
