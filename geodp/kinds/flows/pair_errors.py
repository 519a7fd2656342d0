"""Errors of flows between two single zones by their size, in closed form.

They follow from what is released alone: from what the noisy flows between the smallest measured
blocks say of the true ones, of all pairs whose flow became as large; and, where these blocks hold
several zones, from how trips lie in them. A pair with as many trips as its whole block has the
largest error, so that no pair of this size has a larger one.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from geodp.accuracy.interval import Z
from geodp.io.write.tables import six_digits, widen
from geodp.kinds.flows.deconvolution import LearnedFlows
from geodp.kinds.flows.estimates import FlowEstimator
from geodp.kinds.flows.intervals import SINGLE_Z, Overdispersion, find_quantile, fit_parts
from geodp.kinds.flows.kind import StatedPairError, StatedPairErrors
from geodp.typing import FloatArray

SIZES = (0, *(1 << power for power in range(21)))
"""Sizes of flows whose errors an index states, in trips."""

MEANING = (
    "standard error and 95 % interval of the trips between two single zones, of all labels "
    "together, by the released trips: computed from the release, about as large for any pair of "
    "this size; flows of believed_from trips and more are at least as large as half the width of "
    "their interval, and smaller ones may be noise alone; None: of no size are they"
)
"""The sentence of the index on what its errors are."""


def state_errors(estimator: FlowEstimator) -> StatedPairErrors | None:
    """State the errors of a released map of flows by size; None: it has no trips."""
    if not estimator.origins.count.any():
        return None
    finest, learned = estimator.noisy[0], estimator.learn()
    single = finest.blocks.number == estimator.plan.zones.number
    parts = None if single else fit_parts(learned, finest.variance, estimator.repeated)
    rows, believed = list_sizes(learned, parts, sqrt(finest.variance)), None
    for one in reversed(rows):
        if one.trips < (one.high - one.low) / 2:
            break
        believed = one.trips
    return StatedPairErrors(MEANING, believed, rows)


def list_sizes(
    learned: LearnedFlows, parts: Overdispersion | None, deviation: float
) -> tuple[StatedPairError, ...]:
    """List the errors of flows by size.

    Parameters
    ----------
    learned : LearnedFlows
    parts : Overdispersion or None
        Of trips in parts of blocks; None: blocks are single zones.
    deviation : float
        Standard deviation of the noise of a pair of blocks.
    """
    value = learned.concentrate()
    size = np.array(SIZES, np.float64)
    errors = np.array([_of_size(learned, value, n, deviation) for n in SIZES])
    error, below, above = errors.T
    if parts is not None:
        spread = parts.variance(size)
        error = np.sqrt(error**2 + spread)
        below, above = below + Z * np.sqrt(spread), above + parts.skew(size)
    low, high = widen(np.maximum(size - below, 0), size + above)
    columns = (SIZES, six_digits(error).tolist(), low.tolist(), high.tolist())
    return tuple(StatedPairError(*row) for row in zip(*columns, strict=True))


def _of_size(
    learned: LearnedFlows, value: FloatArray, n: int, deviation: float
) -> tuple[float, float, float]:
    """Return the error of flows between blocks that became about n, and the margins of an interval.

    Flows from n / sqrt(2) to n * sqrt(2) count; where there are none, what noise alone leaves. The
    upper end is that of the flow that a trip belongs to, as for
    :class:`geodp.kinds.flows.intervals.KnownFlows`.

    ``value``: what the flow of each entry became, float64[entries].
    """
    apart, weights, trips = [np.zeros(0)], [np.zeros(0)], [np.zeros(0)]
    least, most = (n / sqrt(2), n * sqrt(2)) if n else (-1.0, 0.5)
    for at, one in learned.bins():
        some = np.flatnonzero((value[at] > least) & (value[at] <= most) & (one.count > 0))
        moved = one.support - value[at][some][:, None]
        apart.append(moved.ravel())
        pairs = one.count[some][:, None] * one.posterior[some]
        weights.append(pairs.ravel())
        trips.append((pairs * one.support).ravel())
    moved, weight, biased = (np.concatenate(one) for one in (apart, weights, trips))
    total = float(weight.sum())
    if not total:
        return deviation, SINGLE_Z * deviation, SINGLE_Z * deviation
    order = np.argsort(moved, kind="stable")
    moved, weight, biased = moved[order], weight[order], biased[order]
    low = find_quantile(weight[None], moved, 0.025)[0]
    high = find_quantile((biased if biased.any() else weight)[None], moved, 0.975)[0]
    error = sqrt(float(weight @ moved**2) / total)
    return error, max(-float(low), 0.0), max(float(high), 0.0)


def look_up_errors(
    stated: StatedPairErrors | None, count: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return standard errors and 95 % intervals of single pairs, by what an index states.

    Between two stated sizes the standard error and both ends are interpolated, and beyond the
    largest one they grow in proportion to the flow. So whoever reads a release computes the same
    numbers. Standard errors have six significant digits, and ends three decimals.

    Parameters
    ----------
    stated : StatedPairErrors or None
        None: no trips are released, and there are no pairs.
    count : float64[n]
        Released trips.

    Returns
    -------
    float64[n] each
        Standard error, low and high end.
    """
    if stated is None:
        return count, count, count
    names = ("trips", "standard_error", "low", "high")
    rows = [[getattr(one, name) for name in names] for one in stated.sizes]
    size, *columns = np.array(rows, np.float64).T
    beyond = np.maximum(count / size[-1], 1)
    error, low, high = (np.interp(count, size, one) * beyond for one in columns)
    return six_digits(error), np.round(low, 3), np.round(high, 3)


def are_near(one: StatedPairErrors, other: StatedPairErrors) -> bool:
    """Return whether errors are equal, but for what platforms round."""
    # Sizes are whole numbers, and the same on every platform.
    if _list_exact(one) != _list_exact(other):
        return False
    first, second = (
        np.array([[row.standard_error, row.low, row.high] for row in each.sizes])
        for each in (one, other)
    )
    return bool(np.allclose(first, second, rtol=1e-4, atol=0.002))


def _list_exact(errors: StatedPairErrors) -> list[object]:
    """List what no platform rounds."""
    return [errors.meaning, errors.believed_from, *(row.trips for row in errors.sizes)]
