"""Fit a logistic regression to labels that devices have randomised.

A device reports its label y in {0, 1} with probability ``p = e / (1 + e)`` and the other one
otherwise, e being exp(epsilon); its features are public. So a label reads 1 with probability
``l = (1 - p) + (2 p - 1) s(x b)``, s the logistic function. The coefficients b of largest
likelihood are found by Fisher scoring, and their covariance is the inverse of the information
``sum x x' ((2 p - 1) s')^2 / (l (1 - l))``.

Each label is randomised **once**, whatever is fitted to it and how often: noise that is drawn anew
for every round of a fit costs epsilon every round. Averaging models that are fitted to randomised
data as if it were true is biased.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import tanh
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from geodp.errors import UsageError
from geodp.privacy.loss import Budget, rational
from geodp.reprs import one_line
from geodp.typing import FloatArray

ROUNDS = 200
"""Steps of Fisher scoring at most."""


@dataclass(frozen=True, eq=False)
class Logit:
    """Coefficients of a fitted logistic regression, and their errors.

    Attributes
    ----------
    coefficients, standard_errors : float64[features]
        In the order of the features, after the intercept if there is one.
    covariance : float64[features, features]
    log_likelihood : float
    """

    __repr__ = one_line

    coefficients: FloatArray
    standard_errors: FloatArray
    covariance: FloatArray
    log_likelihood: float

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "coefficients": self.coefficients.tolist(),
            "standard_errors": self.standard_errors.tolist(),
            "log_likelihood": self.log_likelihood,
        }


def logit(
    features: ArrayLike, labels: ArrayLike, epsilon: Budget, *, intercept: bool = True
) -> Logit:
    """Fit a logistic regression to randomised labels.

    Parameters
    ----------
    features : float64[n, d]
        Public features of every device.
    labels : int or bool[n]
        The devices' reports: 0 or 1, randomised once each.
    epsilon : number or str
        Budget of the randomisation.
    intercept : bool
        Put a constant before the features.

    Raises
    ------
    UsageError
        Features that are not finite or depend on one another, labels that are neither 0 nor 1, or
        data in which no coefficients fit best.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> coins = np.random.default_rng(1)
    >>> x = coins.normal(size=(10_000, 1))
    >>> true = coins.random(10_000) < 1 / (1 + np.exp(-x[:, 0]))
    >>> reports = np.where(coins.random(10_000) < 1 / (1 + np.exp(2)), ~true, true)
    >>> round(float(geodp.compare.logit(x, reports, epsilon=2).coefficients[1]))
    1
    """
    table, answers = read_sample(features, labels)
    # The rank is that of all columns: a constant feature makes an intercept redundant.
    if intercept:
        table = np.column_stack([np.ones(answers.size), table])
    if answers.size <= table.shape[1] or np.linalg.matrix_rank(table) < table.shape[1]:
        raise UsageError(
            "The features depend on one another, or there are too few rows.",
            code="features-dependent",
        )
    # 2 p - 1 of the module's docstring.
    contrast = tanh(rational(epsilon) / 2)
    return _fit(table, answers, contrast)


def read_sample(features: ArrayLike, labels: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Check features, float64[n, d], and labels of 0 and 1, float64[n]; UsageError for others."""
    table = np.asarray(features, np.float64)
    answers = np.asarray(labels)
    if table.ndim != 2 or answers.shape != table.shape[:1] or not np.isfinite(table).all():
        raise UsageError(
            "Features are finite numbers [n, d], and there is a label for each row.",
            code="features-form",
        )
    if not np.isin(answers, (0, 1)).all():
        raise UsageError("Labels are 0 or 1.", code="labels-not-binary")
    return table, answers.astype(np.float64)


def _fit(table: FloatArray, answers: FloatArray, contrast: float) -> Logit:
    """Maximise the likelihood by Fisher scoring, with steps halved until it rises."""
    coefficients = np.zeros(table.shape[1])
    value, slope, information = _score(table, answers, contrast, coefficients)
    for _ in range(ROUNDS):
        try:
            step = np.linalg.solve(information, slope)
        except np.linalg.LinAlgError:
            break
        # Where features tell labels apart, nothing is gained any more and steps stay as large.
        if slope @ step < 1e-10 and np.abs(step).max() < 1e-4 * (1 + np.abs(coefficients).max()):
            covariance = np.asarray(np.linalg.inv(information), np.float64)
            return Logit(coefficients, np.sqrt(np.diag(covariance)), covariance, value)
        # Far from the maximum, a full step may overshoot it.
        for _ in range(60):
            tried = _score(table, answers, contrast, coefficients + step)
            if tried[0] >= value:
                break
            step /= 2
        coefficients, (value, slope, information) = coefficients + step, tried
    raise UsageError(
        "No coefficients fit best: the features tell the labels apart completely, or epsilon or "
        "the number of rows is too small.",
        code="labels-separable",
    )


def _score(
    table: FloatArray, answers: FloatArray, contrast: float, coefficients: FloatArray
) -> tuple[float, FloatArray, FloatArray]:
    """Compute the log-likelihood, its slope and the expected information."""
    true = np.exp(-np.logaddexp(0, -(table @ coefficients)))
    chance = (1 - contrast) / 2 + contrast * true
    # With large epsilon, chances round to 0 or 1, and their logarithms would not be finite.
    spread = np.maximum(chance * (1 - chance), 1e-300)
    rise = contrast * true * (1 - true)
    logs = np.log(np.maximum(np.where(answers == 1, chance, 1 - chance), 1e-300))
    slope = table.T @ ((answers - chance) / spread * rise)
    information = (table * (rise**2 / spread)[:, None]).T @ table
    return float(logs.sum()), np.asarray(slope), np.asarray(information)
