"""Logistic regression by averaging models of devices: a baseline, which is biased.

Every device fits a model to its own few records, cuts its coefficients off at a bound, and sends
one randomised bit for each; a server averages them. An overview of local privacy proposes such a
scheme. It is here to be compared with :func:`~geodp.features.compare.logit.logit`, which fits one
model to randomised labels and is not biased. Two things bias an average of models, and no number of
devices mends them:

- A logistic model of few records overstates its coefficients, or has none where the features tell
  the labels apart. A penalty keeps it finite and pulls it to 0.
- A coefficient that is cut off at the bound is not the one that was fitted.

Both shrink as a device has more records, which few devices have.

Each bit has the epsilon of the report divided by the number of coefficients
(:func:`~geodp.features.local.oracles.mean.report_bits`, in whole numbers and with exact coins), so
that a report is epsilon-differentially private for whatever its device holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, tanh

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import UsageError
from geodp.features.compare.logit import read_sample
from geodp.features.local.coins import Coins
from geodp.features.local.oracles.mean import report_bits
from geodp.privacy.budget import Budget, rational
from geodp.typing import FloatArray

STEPS = 1 << 20
"""A coefficient is rounded to so many steps between its bounds before its bit is drawn."""

ROUNDS = 50
"""Most Newton steps of a device's own fit."""


@dataclass(frozen=True, eq=False)
class AveragedModel:
    """The average of devices' models.

    Attributes
    ----------
    coefficients, standard_errors : float64[features]
        Of the average: the errors are those of chance, and do not have the bias.
    """

    coefficients: FloatArray
    standard_errors: FloatArray


def report_model(
    features: ArrayLike,
    labels: ArrayLike,
    epsilon: Budget,
    *,
    bound: float = 4.0,
    coins: Coins | None = None,
) -> NDArray[np.uint8]:
    """Return what one device sends of a logistic model of its own records: a bit a coefficient.

    The model has no intercept of its own: put a column of ones before the features where there is
    to be one. Its penalty is that of a normal prior with the bound as standard deviation.

    Parameters
    ----------
    features : float64[n, d]
        Of the device's records; they stay on the device, as do the labels.
    labels : int or bool[n]
        0 or 1.
    epsilon : number or str
        Of the whole report.
    bound : float
        At which coefficients are cut off: above 0, the same for all devices.
    coins : Coins, optional
        The operating system's entropy, if none are given; others are for tests.

    Returns
    -------
    uint8[d]

    Raises
    ------
    UsageError
        Features that are not finite, labels that are neither 0 nor 1, or a bound not above 0.

    Examples
    --------
    >>> report_model([[1, 0.5], [1, -2.0], [1, 1.5]], [1, 0, 1], epsilon=1).shape
    (2,)
    """
    table, said = read_sample(features, labels)
    own = np.clip(_fit_own(table, said, _bound(bound)), -bound, bound)
    # Rounded to the nearest step, so that the bit is drawn from whole numbers.
    step = np.rint((own + bound) / (2 * bound) * STEPS).astype(np.int64)
    return report_bits(step, STEPS, rational(epsilon) / table.shape[1], coins)


def average_models(bits: ArrayLike, epsilon: Budget, *, bound: float = 4.0) -> AveragedModel:
    """Average the models that devices reported.

    Parameters
    ----------
    bits : uint8[devices, d]
        Of :func:`report_model`; at least two devices.
    epsilon, bound
        Those of the reports.

    Raises
    ------
    UsageError
        Bits that are neither 0 nor 1, fewer than two devices, or a bound not above 0.

    Examples
    --------
    >>> found = average_models([[1, 0], [1, 1], [0, 0]], epsilon=8)
    >>> found.coefficients.round(2).tolist()
    [1.38, -1.38]
    """
    table = np.asarray(bits)
    if table.ndim != 2 or len(table) < 2 or not np.isin(table, (0, 1)).all():
        raise UsageError(
            "Reports are bits [devices, d], of at least two devices.", code="model-reports-form"
        )
    contrast = tanh(rational(epsilon) / table.shape[1] / 2)
    scale = 2 * _bound(bound) / contrast
    share = table.mean(axis=0)
    spread = np.sqrt(share * (1 - share) / (len(table) - 1))
    return AveragedModel((share - 0.5) * scale, spread * scale)


def _bound(value: float) -> float:
    if not (isfinite(value) and value > 0):
        raise UsageError("bound must be a finite number above 0.", code="bound-not-positive")
    return float(value)


def _fit_own(table: FloatArray, said: FloatArray, bound: float) -> FloatArray:
    """Fit a device's own model by Newton's method; the penalty makes the likelihood concave."""
    penalty = 1 / bound**2

    def value(at: FloatArray) -> float:
        line = table @ at
        return float(said @ line - np.logaddexp(0, line).sum() - penalty / 2 * at @ at)

    found = np.zeros(table.shape[1])
    for _ in range(ROUNDS):
        chance = np.exp(-np.logaddexp(0, -(table @ found)))
        slope = table.T @ (said - chance) - penalty * found
        weighted = table * (chance * (1 - chance))[:, None]
        step = np.linalg.solve(weighted.T @ table + penalty * np.eye(found.size), slope)
        while value(found + step) < value(found) and np.abs(step).max() > 1e-9:
            step = step / 2
        found = found + step
        if np.abs(step).max() < 1e-9:
            break
    return found
