"""Fit a logistic regression by averaging models of devices: a baseline, which is biased.

Every device fits a model to its own few records, cuts its coefficients off at a bound, and sends
one randomised bit for each; a server averages them. An overview of local privacy proposes such a
scheme. It is here to be compared with :func:`~geodp.tools.compare.logit.logit`, which fits one
model to randomised labels and is not biased. Two things bias an average of models, however many
devices take part:

- A logistic model of few records overstates its coefficients, or has none where the features tell
  the labels apart. A penalty keeps it finite and pulls it to 0.
- A coefficient that is cut off at the bound is not the one that was fitted.

Both shrink as a device has more records, which few devices have.

Each bit has the epsilon of the report divided by the number of coefficients
(:func:`~geodp.literature.bit_means.report_bits`, in whole numbers and with exact coins), so
that a report is epsilon-differentially private for whatever its device holds.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, tanh

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import UsageError
from geodp.literature.bit_means import report_bits
from geodp.local.coins import Coins
from geodp.privacy.loss import Budget, rational
from geodp.tools.compare.logit import read_sample
from geodp.typing import FloatArray

STEPS = 1 << 20
"""Steps between its bounds to which a coefficient is rounded before its bit is drawn."""

ROUNDS = 50
"""Newton steps of a device's fit at most."""


@dataclass(frozen=True, eq=False)
class AveragedModel:
    """The average of devices' models.

    Attributes
    ----------
    coefficients, standard_errors : float64[features]
        The averages, and their random errors, which do not include the bias.
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
    """Fit a logistic model to the records of one device, and randomise it to a bit a coefficient.

    The model has no intercept: put a column of ones before the features to have one. Its penalty is
    that of a normal prior with the bound as standard deviation.

    Parameters
    ----------
    features : float64[n, d]
        The device's records; they stay on the device, as do the labels.
    labels : int or bool[n]
        0 or 1.
    epsilon : number or str
        Budget of the whole report.
    bound : float
        Coefficients are clipped to ``[-bound, bound]``: above 0, the same for all devices.
    coins : Coins, optional
        Source of randomness. Default: the operating system's; others are for tests.

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
    table, answers = read_sample(features, labels)
    coefficients = np.clip(_fit_device(table, answers, _bound(bound)), -bound, bound)
    # The bit is drawn from whole numbers: floats would let the report depend on how they round.
    step = np.rint((coefficients + bound) / (2 * bound) * STEPS).astype(np.int64)
    return report_bits(step, STEPS, rational(epsilon) / table.shape[1], coins)


def average_models(bits: ArrayLike, epsilon: Budget, *, bound: float = 4.0) -> AveragedModel:
    """Average the models that devices reported.

    Parameters
    ----------
    bits : uint8[devices, d]
        Results of :func:`report_model`, from at least two devices.
    epsilon, bound
        The arguments of the reports.

    Raises
    ------
    UsageError
        Bits that are neither 0 nor 1, fewer than two devices, or a bound not above 0.

    Examples
    --------
    >>> model = average_models([[1, 0], [1, 1], [0, 0]], epsilon=8)
    >>> model.coefficients.round(2).tolist()
    [1.38, -1.38]
    """
    table = np.asarray(bits)
    if table.ndim != 2 or len(table) < 2 or not np.isin(table, (0, 1)).all():
        raise UsageError(
            "Reports are bits [devices, d], of at least two devices.", code="model-reports-form"
        )
    # A bit is true with a chance of (1 + contrast) / 2, so that its mean is off the middle by that.
    contrast = tanh(rational(epsilon) / table.shape[1] / 2)
    scale = 2 * _bound(bound) / contrast
    # A share of ones is between (1 - contrast) / 2 and (1 + contrast) / 2, the two bounds.
    share = table.mean(axis=0)
    spread = np.sqrt(share * (1 - share) / (len(table) - 1))
    return AveragedModel((share - 0.5) * scale, spread * scale)


def _bound(value: float) -> float:
    if not (isfinite(value) and value > 0):
        raise UsageError("bound must be a finite number above 0.", code="bound-not-positive")
    return float(value)


def _fit_device(table: FloatArray, labels: FloatArray, bound: float) -> FloatArray:
    """Fit the model of one device by Newton's method; the penalty keeps the maximum finite."""
    # Without a penalty, records whose features tell the labels apart have no finite maximum.
    penalty = 1 / bound**2

    def value(at: FloatArray) -> float:
        line = table @ at
        return float(labels @ line - np.logaddexp(0, line).sum() - penalty / 2 * at @ at)

    coefficients = np.zeros(table.shape[1])
    for _ in range(ROUNDS):
        chance = np.exp(-np.logaddexp(0, -(table @ coefficients)))
        slope = table.T @ (labels - chance) - penalty * coefficients
        weighted = table * (chance * (1 - chance))[:, None]
        step = np.linalg.solve(weighted.T @ table + penalty * np.eye(coefficients.size), slope)
        # Newton's step may overshoot where the likelihood is flat: halve it until it climbs.
        while value(coefficients + step) < value(coefficients) and np.abs(step).max() > 1e-9:
            step = step / 2
        coefficients = coefficients + step
        if np.abs(step).max() < 1e-9:
            break
    return coefficients
