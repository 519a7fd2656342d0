"""Errors of flows between two single zones by their size, in closed form.

They follow from what is released alone, as intervals of estimates do, without a simulation: what
is left of the deviations from the law once the noisy pairs were weighed, by class of the flow; what
their noise may hide; and, where the smallest measured blocks hold several zones, by how much zones
may differ from their blocks. A pair with as many trips as its whole block has the largest error, so
that no pair of this size has a larger one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt

import numpy as np

from geodp.io.write.tables import six_digits, widen
from geodp.kinds.flows.estimates import (
    MODEL_ERROR,
    QUANTILE,
    FlowEstimator,
    hidden_variance,
    relative_variance,
)
from geodp.kinds.flows.estimator import KnownLevel, learn_finest
from geodp.kinds.flows.kernels import balancing
from geodp.kinds.flows.kind import StatedPairError, StatedPairErrors
from geodp.typing import FloatArray

SIZES = (0, *(1 << power for power in range(21)))
"""Sizes of flows whose errors an index states, in trips."""

EARLIER = (
    "standard error and 95 % interval of the trips between two single zones, of all labels "
    "together, by the released trips: computed from the release, at most as large as stated for "
    "any pair of this size; flows of believed_from trips and more are at least as large as half "
    "the width of their interval, and smaller ones may be noise alone; None: of no size are they"
)
"""Words of earlier versions for the errors, which do not say when intervals fail."""

MEANING = (
    f"{EARLIER}. Intervals hold as often as they say where trips spread as the law of distance, or "
    "their own measurements, tell; where those from a zone go to one or two others, far fewer "
    "intervals between single zones, and between regions of a few, hold the truth"
)
"""The sentence of the index on what its errors are."""


@dataclass(frozen=True, eq=False)
class PairErrors:
    """Errors of flows between two zones.

    Attributes
    ----------
    level : KnownLevel
        How well flows between the smallest measured blocks are known.
    repeated : int
        Most trips of a unit.
    noise : float
        Standard error of the measurement that tells the most of a pair of these blocks.
    relative : float or None
        Variance of flows between zones within blocks, as a multiple of the squared flow; None: the
        smallest measured blocks are single zones.
    """

    level: KnownLevel = field(repr=False)
    repeated: int
    noise: float
    relative: float | None

    @classmethod
    def of(cls, estimator: FlowEstimator) -> PairErrors:
        """Take the errors from a released map of flows."""
        zones, finest = estimator.plan.zones, estimator.noisy[0]
        level = learn_finest(
            zones, estimator.margins, estimator.noisy, estimator.decay, estimator.prior
        )
        single = finest.blocks.number == zones.number
        return cls(
            level,
            estimator.repeated,
            min(sqrt(finest.variance), estimator.total_error),
            None if single else relative_variance(level),
        )

    def standard_error(self, count: FloatArray) -> FloatArray:
        """Compute the standard errors of pairs with so many released trips: float64[n]."""
        trips, left = count.reshape(1, -1), np.empty((1, count.size))
        balancing.look_up_classes(trips, self.level.variance, left)
        variance = left + hidden_variance(self.level, trips, self.repeated)
        if self.relative is not None:
            variance += self.repeated * trips + self.relative * trips**2
        variance += (MODEL_ERROR * trips) ** 2
        return np.asarray(np.maximum(np.sqrt(variance[0]), self.noise))

    def state(self) -> StatedPairErrors:
        """State the errors by size, for the index."""
        count = np.array(SIZES, np.float64)
        columns = find_ends(count, self.standard_error(count), self.repeated)
        error, low, high = (one.tolist() for one in columns)
        rows = tuple(map(StatedPairError, SIZES, error, low, high))
        believed = None
        for one in reversed(rows):
            if one.trips < (one.high - one.low) / 2:
                break
            believed = one.trips
        return StatedPairErrors(MEANING, believed, rows)


def find_ends(
    count: FloatArray, error: FloatArray, repeated: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return standard errors and 95 % intervals of so many released trips: float64[n] each.

    Ends are those of :func:`geodp.kinds.flows.estimates.make_estimate` without a bias.
    Standard errors have six significant digits, and ends three decimals.
    """
    spread, skew = QUANTILE * error, repeated * QUANTILE**2 / 2
    low = np.maximum(count - spread, 0)
    high = count + skew + np.sqrt(spread**2 + skew**2)
    return six_digits(error), *widen(low, high)


def look_up_errors(
    stated: StatedPairErrors | None, count: FloatArray, repeated: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return standard errors and 95 % intervals of single pairs, by what an index states.

    Between two stated sizes the standard error is interpolated, and beyond the largest one it grows
    in proportion to the flow. So whoever reads a release computes the same numbers.

    Parameters
    ----------
    stated : StatedPairErrors or None
        None: no trips are released, and there are no pairs.
    count : float64[n]
        Released trips.
    repeated : int
        Most trips of a unit.

    Returns
    -------
    float64[n] each
        Standard error, low and high end; see :func:`find_ends`.
    """
    if stated is None:
        return count, count, count
    size, error = (
        np.array([getattr(one, name) for one in stated.sizes], np.float64)
        for name in ("trips", "standard_error")
    )
    found = np.interp(count, size, error) * np.maximum(count / size[-1], 1)
    return find_ends(count, found, repeated)


def state_errors(estimator: FlowEstimator) -> StatedPairErrors | None:
    """State the errors of a released map of flows by size; None: it has no trips."""
    if not estimator.origins.count.any():
        return None
    return PairErrors.of(estimator).state()


def are_near(one: StatedPairErrors, other: StatedPairErrors) -> bool:
    """Return whether errors are equal, but for what platforms round."""
    # Both are right for the same numbers: releases keep the words of their version.
    if not {one.meaning, other.meaning} <= {MEANING, EARLIER}:
        return False
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
    return [errors.believed_from, *(row.trips for row in errors.sizes)]
