"""By how much true flows differ from expected ones, as a function of how large these are.

Of pairs of blocks, the mean squared difference of noisy flows from expected ones, less the variance
of the noise, is known by class of the expected flow. Two terms describe it: one that is
proportional to the flow, as of trips that come in groups, and one that is proportional to its
square, as of a law that is off by a factor.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from geodp.features.flows.kernels.balancing import CLASSES
from geodp.typing import FloatArray

FEW = 10
"""Pairs of a class below which its differences do not tell what the noise is of them."""

ROUNDS = 6
"""Rounds of weighted least squares, whose weights follow from the fit before."""

KURTOSIS = 6.0
"""Of Laplace noise, from which the variance of its squares follows; Gaussian noise has less."""

MIDDLES = 2.0 ** ((np.arange(CLASSES) + 0.5) / 2 - 14)
"""The middle of each class of expected flows: float64[CLASSES]."""


@dataclass(frozen=True)
class Dispersion:
    """Variance of true flows around expected ones: ``linear * flow + squared * flow**2``.

    Attributes
    ----------
    linear, squared : float
        0 or more.
    """

    linear: float
    squared: float

    def vary(self, flow: FloatArray, least: float) -> FloatArray:
        """Compute the variance of flows; ``least``: smallest linear term."""
        return max(self.linear, least) * flow + self.squared * flow**2


NO_DISPERSION = Dispersion(0.0, 0.0)


def fit_dispersion(beyond: FloatArray, number: FloatArray, noise: float) -> Dispersion:
    """Fit a dispersion to classes of pairs by weighted least squares.

    Parameters
    ----------
    beyond : float64[CLASSES]
        Mean squared differences less the variance of the noise, which may be below 0.
    number : float64[CLASSES]
        Pairs of each class; those with fewer than ``FEW`` do not count.
    noise : float
        Variance of the noise, above 0.
    """
    some = number >= FEW
    if some.sum() < 2:
        return NO_DISPERSION
    terms = np.stack([MIDDLES[some], MIDDLES[some] ** 2], axis=1)
    fit = np.zeros(2)
    for _ in range(ROUNDS):
        # The variance of a mean of squares, of noise and of nearly normal differences.
        spread = (KURTOSIS - 1) * noise**2 + 2 * (terms @ fit) ** 2
        fit = _fit_positive(terms, beyond[some], number[some] / spread)
    return Dispersion(float(fit[0]), float(fit[1]))


def _fit_positive(terms: FloatArray, values: FloatArray, weights: FloatArray) -> FloatArray:
    """Fit two coefficients, neither below 0, by weighted least squares: float64[2].

    ``terms``: float64[n, 2]; ``values``, ``weights``: float64[n].
    """
    (a, b), (_, d) = terms.T @ (terms * weights[:, None])
    right = terms.T @ (weights * values)
    fit = np.array([right[0] * d - right[1] * b, right[1] * a - right[0] * b]) / (a * d - b * b)
    if (fit >= 0).all():
        return np.asarray(fit)
    # Otherwise one of them is 0, that which is below it where both are free.
    alone = np.maximum(right / np.array([a, d]), 0)
    return np.asarray(np.where(fit < 0, 0.0, alone) if (fit >= 0).any() else np.zeros(2))
