"""Errors of flows between two single zones by their size, in closed form.

They are those of estimates of some pairs of each size, chosen by nothing but their places, so that
whoever has the release finds the same ones.
"""

from __future__ import annotations

import numpy as np

from geodp.grid.region import Region
from geodp.io.write.tables import six_digits, widen
from geodp.kinds.flows.estimates import FlowEstimator
from geodp.kinds.flows.kind import StatedPairError, StatedPairErrors
from geodp.typing import FloatArray, IntArray

SIZES = (0, *(1 << power for power in range(21)))
"""Sizes of flows whose errors an index states, in trips."""

LEAST = np.ceil(np.array(SIZES[1:]) / 2**0.5).astype(np.int64)
"""Fewest trips of a pair of each size but 0."""

SAMPLED = 24
"""Pairs of each size that are estimated, at most."""

STATED = 0.9
"""Quantile of their errors, and of both margins, that is stated."""

MEANING = (
    "standard error and 95 % interval of the trips between two single zones, of all labels "
    "together, by the released trips: those of estimates of some pairs of each size, of which "
    "nine tenths have no larger ones; flows of believed_from trips and more are at least as large "
    "as half the width of their interval, and smaller ones may be noise alone; None: of no size "
    "are they"
)
"""The sentence of the index on what its errors are."""


def state_errors(estimator: FlowEstimator) -> StatedPairErrors | None:
    """State the errors of a released map of flows by size; None: it has no trips."""
    if not estimator.origins.count.any():
        return None
    columns = measure_sizes(estimator)
    error, below, above = columns
    size = np.array(SIZES, np.float64)
    low, high = widen(np.maximum(size - below, 0), size + above)
    rows = [SIZES, *(one.tolist() for one in (six_digits(error), low, high))]
    sizes, believed = tuple(StatedPairError(*row) for row in zip(*rows, strict=True)), None
    for one in reversed(sizes):
        if one.trips < (one.high - one.low) / 2:
            break
        believed = one.trips
    return StatedPairErrors(MEANING, believed, sizes)


def measure_sizes(estimator: FlowEstimator) -> FloatArray:
    """Return standard errors, lower and upper margins of flows of each size: float64[3, sizes].

    Those of sizes without a pair lie between, or are those of the largest one that has some, in
    proportion to the flow.
    """
    size, place = choose_pairs(estimator)
    grid, key = estimator.plan.zones.grid, estimator.plan.zones.key
    regions = [
        (Region(grid, key[a : a + 1]), Region(grid, key[b : b + 1]))
        for a, b in zip(*(one.tolist() for one in np.divmod(place, key.size)), strict=True)
    ]
    (found,) = estimator.estimate_sets([[one] for one in regions], [{}])
    # Lower margins by how much of the flow they are, as many reach down to 0.
    margins = np.array(
        [
            (one.standard_error, 1 - one.low / max(one.count, 1), one.high - one.count)
            for one in found
        ]
    )
    known = np.unique(size)
    stated = np.array([np.quantile(margins[size == one], STATED, axis=0) for one in known]).T
    trips, every = np.array(SIZES, np.float64)[known], np.array(SIZES, np.float64)
    error, below, above = (np.interp(every, trips, one) for one in stated)
    beyond = np.maximum(every / max(trips[-1], 1.0), 1)
    return np.stack([error * beyond, np.minimum(below, 1) * every, above * beyond])


def choose_pairs(estimator: FlowEstimator) -> tuple[IntArray, IntArray]:
    """Choose pairs of zones of each size, evenly among all of them in the order of their places.

    Of a size are those of up to the square root of two as many trips, or as few.

    Returns
    -------
    size : int64[n]
        Place of the size among ``SIZES``.
    place : int64[n]
        Number of the zone of origin times that of all zones, and of the destination.
    """
    # Most pairs have no trips.
    some = _spread(estimator.plan.zones.number**2, 4 * SAMPLED)
    empty, of_size = np.ones(some.size, np.bool_), np.zeros(len(SIZES), np.int64)
    for place, count in estimator.sum_labels():
        empty &= np.searchsorted(place, some) == np.searchsorted(place, some, "right")
        of_size += np.bincount(_find_size(count), minlength=of_size.size)
    wanted = [_spread(one, SAMPLED) for one in of_size.tolist()]
    chosen, before = [some[empty][:SAMPLED]], np.zeros_like(of_size)
    sizes = [np.zeros(chosen[0].size, np.int64)]
    for place, count in estimator.sum_labels():
        size = _find_size(count)
        after = before + np.bincount(size, minlength=before.size)
        for at, one in enumerate(wanted):
            here = one[(one >= before[at]) & (one < after[at])]
            if here.size:
                chosen.append(place[np.flatnonzero(size == at)[here - before[at]]])
                sizes.append(np.full(here.size, at))
        before = after
    size = np.concatenate(sizes)
    order = np.argsort(size, kind="stable")
    return size[order], np.concatenate(chosen)[order]


def _find_size(count: IntArray) -> IntArray:
    """Return the places of sizes among ``SIZES``, of pairs with trips: int64[n]."""
    return np.searchsorted(LEAST, count, "right")


def _spread(number: int, most: int) -> IntArray:
    """Return places that are spread evenly over so many: int64[n], of ``most`` or fewer."""
    return np.unique(np.linspace(0, number - 1, min(number, most)).astype(np.int64))


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
