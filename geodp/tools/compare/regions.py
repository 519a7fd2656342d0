"""Test whether two regions, of one release or of two, hold different numbers of people.

Two regions of one release share noise: that of the nodes above them, and often the sum of one is
the rest of a node whose other part is the other one. So their common cells are left out, and the
difference of the others, A and B, has the variance ``2 V(A) + 2 V(B) - V(A and B together)`` by the
closed form of any region. Different releases have independent noise.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from math import gcd, isclose, sqrt
from typing import Any, NamedTuple

import numpy as np

from geodp.accuracy.interval import EMPTY_ESTIMATE, LAPLACE_Z, Estimate, Z
from geodp.errors import UsageError
from geodp.grid.region import Region
from geodp.mechanisms import Mechanism
from geodp.privacy.event import Measurement
from geodp.privacy.noise.laplace import LAPLACE, DiscreteLaplace
from geodp.release.release import Release
from geodp.tools.compare.difference import (
    Alternative,
    Difference,
    Hypothesis,
    LatticeNoise,
    tail_of_difference,
)

ROUNDING = 1e-6
"""Excess kurtosis that the rounding of an interval makes at most; less counts as none."""


class Side(NamedTuple):
    """One side of a comparison.

    Attributes
    ----------
    release : Release
    region : Region
        Its cells without those that the other side has, too.
    estimate : Estimate
    """

    release: Release
    region: Region
    estimate: Estimate


def compare_regions(
    first: tuple[Release, Any],
    second: tuple[Release, Any],
    *,
    null: float = 0.0,
    alternative: Alternative = "two-sided",
    alpha: float = 0.05,
    conservative: bool = False,
) -> Difference:
    """Test whether two regions hold different numbers of people; costs no budget.

    Single cells with independent Laplace noise are tested by the exact law of the difference. Other
    regions are tested by the law of the sum of as many Laplace noises as have the error's fourth
    cumulant or a larger one; it is the normal law if they are many, or if the noise is Gaussian.

    Parameters
    ----------
    first, second : (Release, region)
        Twice the same release, or two; a region as for :meth:`geodp.Release.estimate`. A place is
        looked up in the grid of its release.
    null : float
        The difference, first less second, of the null hypothesis.
    alternative : str
        ``"two-sided"``, ``"greater"`` or ``"less"``.
    alpha : float
        One less the confidence of the interval.
    conservative : bool
        If a clamp at 0 may have moved people into or out of a region, take its 95 % interval for
        that of a Laplace noise, and add up those of both regions: at an alpha of 0.05 a difference
        is significant if the intervals do not meet.

    Raises
    ------
    UsageError
        Regions of the same cells of one release, a clamped region without ``conservative``, or a
        method without a closed form of the error of a region.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> grid = geodp.Grid.mesh("jis:half", bounds=(139.4, 35.4, 139.8, 35.66666))
    >>> table = geodp.CountTable.from_dense(np.full(grid.shape, 100), grid)
    >>> release = geodp.publish(table, epsilon=1, contribution=1)
    >>> small, large = (139.5, 35.5, 139.6, 35.6), (139.4, 35.4, 139.7, 35.6)
    >>> pair = ((release, large), (release, small))
    >>> bool(geodp.compare.compare_regions(*pair, conservative=True).low > 0)
    True
    """
    question = Hypothesis(null, alternative, alpha)
    is_one = is_same(first[0], second[0])
    sides = _sides(first, second, is_one)
    difference = sides[0].estimate.count - sides[1].estimate.count
    if any(side.estimate.clamped for side in sides):
        if not conservative:
            raise UsageError(
                "A clamp at 0 may have moved people into or out of a region, so that its error is "
                "not known: compare larger regions, or ask for its interval with conservative "
                "(--conservative).",
                code="region-clamped",
            )
        return _conservative(sides, difference, question)
    noises = [_noise_of(side) for side in sides]
    if noises[0] is not None and noises[1] is not None:
        return _exact(noises[0], noises[1], difference, question)
    return _by_errors(sides, difference, question, is_one=is_one)


def is_same(first: Release, second: Release) -> bool:
    """Return whether two releases are the same, perhaps read twice: they share all noise."""
    one, other = first.table, second.table
    return one is other or (
        one.event == other.event
        and one.grid == other.grid
        and np.array_equal(one.key, other.key)
        and np.array_equal(one.count, other.count)
    )


def noise_of_cells(release: Release) -> LatticeNoise | None:
    """Return the noise of each cell; None unless it is independent Laplace noise alone."""
    event, grid, method = release.event, release.grid, release.method
    if not isinstance(method, Mechanism) or not isinstance(event, Measurement):
        # Estimates from devices' reports have no Laplace noise.
        return None
    tree = method.tree_variance(grid, event)
    if tree is None or len(tree.fanouts) != 1 or event.rho is not None or method.nonnegative:
        return None
    queries = method.queries(grid, event)
    if len(queries) != 1 or queries[0].noise[0] != LAPLACE:
        return None
    scale = queries[0].noise[1]
    noise = LatticeNoise(event.scale, event.scale / scale)
    # A tree of one level may still estimate cells from more than their own measurements.
    variance = DiscreteLaplace.of_scale(scale).variance * float(noise.step) ** 2
    return noise if isclose(variance, tree.variances[1], rel_tol=1e-9) else None


def _sides(
    first: tuple[Release, Any], second: tuple[Release, Any], is_one: bool
) -> tuple[Side, Side]:
    (here, shape), (there, other) = first, second
    regions = [Region.of(here.grid, shape), Region.of(there.grid, other)]
    if is_one:
        one, two = (region.key for region in regions)
        keys = [np.setdiff1d(one, two), np.setdiff1d(two, one)]
        if not keys[0].size and not keys[1].size:
            raise UsageError(
                "The two regions hold the same cells of the same release.", code="regions-same"
            )
        regions = [Region(here.grid, key) for key in keys]
    sides = [
        Side(release, region, release.estimate(region) if region.cells else EMPTY_ESTIMATE)
        for release, region in zip((here, there), regions, strict=True)
    ]
    return sides[0], sides[1]


def _noise_of(side: Side) -> LatticeNoise | None:
    return noise_of_cells(side.release) if side.region.cells == 1 else None


def _by_errors(
    sides: tuple[Side, Side], difference: float, question: Hypothesis, *, is_one: bool
) -> Difference:
    """Test a difference by both errors and by bounds of their fourth cumulants.

    Fourth cumulants of independent errors add up. Shared noise has the weights a - b, whose fourth
    powers Minkowski's inequality bounds by ``(|a|_4 + |b|_4)^4``.
    """
    variances = [side.estimate.standard_error**2 for side in sides]
    fourths = [excess_of(side.estimate) * v**2 for side, v in zip(sides, variances, strict=True)]
    variance, fourth = sum(variances), sum(fourths)
    if is_one:
        one, two = (side.region for side in sides)
        both = Region(one.grid, np.union1d(one.key, two.key))
        # V(A - B) = 2 V(A) + 2 V(B) - V(A + B), as A and B share no cell.
        together = sides[0].release.standard_error(both)
        variance = max(2 * variance - together**2, 0.0)
        fourth = sum(part**0.25 for part in fourths) ** 4
    excess = min(1.0, fourth / variance**2) if variance else 0.0
    # Differences of integer counts lie on whole numbers, which asks for a continuity correction.
    step = float(all(side.release.method.whole for side in sides))
    return Difference.of_error(difference, sqrt(variance), question, excess, step)


def excess_of(estimate: Estimate) -> float:
    """Compute a third of the excess kurtosis of an error from the length of its interval."""
    if not estimate.standard_error:
        return 0.0
    half = (estimate.high - estimate.count) / estimate.standard_error
    # Intervals interpolate between those of normal errors and of Laplace noise, see _margins in
    # geodp.accuracy.interval.
    excess = (half - Z) / (LAPLACE_Z - Z)
    return min(1.0, excess) if excess > ROUNDING else 0.0


def _exact(
    first: LatticeNoise, second: LatticeNoise, difference: float, question: Hypothesis
) -> Difference:
    """Test a difference by the exact law of the difference of two noises, which is symmetric."""
    away = float(difference - question.null)
    above, below = tail_of_difference(first, second, np.array([away, -away])).tolist()
    variances = [
        DiscreteLaplace.of_scale(noise.scale / noise.step).variance * float(noise.step) ** 2
        for noise in (first, second)
    ]
    error = sqrt(sum(variances))
    reach = _reach(first, second, question.alpha / 2)
    return Difference(
        value=difference,
        standard_error=error,
        p_value=question.p_value(above, below),
        low=difference - reach,
        high=difference + reach,
        null=question.null,
        alternative=question.alternative,
        basis="exact",
    )


def _reach(first: LatticeNoise, second: LatticeNoise, chance: float) -> float:
    """Return the smallest distance that noise exceeds with at most a chance, to either side."""
    one, two = first.step, second.step
    below = one.denominator * two.denominator
    step = gcd(one.numerator * two.denominator, two.numerator * one.denominator) / below

    def is_far(steps: int) -> bool:
        tail = tail_of_difference(first, second, np.array([steps * step]))[0]
        return bool(tail <= chance)

    # The number of steps is unknown: double it until it is enough, then bisect.
    short, reach = 0, 1
    while not is_far(reach):
        short, reach = reach, 2 * reach
    return (short + bisect_left(range(short + 1, reach), True, key=is_far)) * step


def _conservative(sides: tuple[Side, Side], difference: float, question: Hypothesis) -> Difference:
    """Test a difference by how far the intervals reach towards each other and apart."""
    one, two = (side.estimate for side in sides)
    # An interval that the clamp has cut at 0 is shorter than the noise: count at least both errors.
    smallest = one.standard_error + two.standard_error
    down = max(((one.count - one.low) + (two.high - two.count)) / LAPLACE_Z, smallest)
    up = max(((one.high - one.count) + (two.count - two.low)) / LAPLACE_Z, smallest)
    # The p-value is that of the side to which the difference points.
    is_above = question.alternative == "greater" or (
        question.alternative == "two-sided" and difference > question.null
    )
    test = Difference.of_error(difference, down if is_above else up, question, excess=1.0)
    far = question.quantile(excess=1.0)
    low, high = difference - far * down, difference + far * up
    return replace(test, low=low, high=high, basis="conservative")
