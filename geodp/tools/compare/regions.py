"""Test differences of regions, and estimate their ratios: of one release, or of two.

Two regions of one release share noise: that of the nodes above them, and often the sum of one is
the rest of a node whose other part is the other one. So their common cells are left out, and the
difference of the others, A and B, has the variance ``2 V(A) + 2 V(B) - V(A and B together)`` by the
closed form of any region. Different releases have independent noise.

A ratio is that of two linear forms of sums over parts that share no cell, ``n.x / d.x``. Sums of
one release share noise: of parts A and B, ``2 Cov(A, B) = V(A and B together) - V(A) - V(B)``. The
interval is that of Fieller (1954): all ratios t for which ``n.x - t d.x`` may be 0, given its
variance by these covariances.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from math import gcd, isclose, sqrt
from typing import Any, NamedTuple

import numpy as np

from geodp.accuracy.interval import EMPTY_ESTIMATE, LAPLACE_Z, WORST_CASE, Estimate, Interval, Z
from geodp.errors import Rule, UsageError
from geodp.grid.region import Labels, Region
from geodp.mechanisms import Mechanism
from geodp.privacy.event import Measurement
from geodp.privacy.noise.law import LAPLACE, DiscreteLaplace
from geodp.release.regional import is_same
from geodp.release.release import Release
from geodp.tools.compare.difference import (
    Alternative,
    Difference,
    Hypothesis,
    LatticeNoise,
    tail_of_difference,
)
from geodp.typing import FloatArray

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
        The difference, second less first, of the null hypothesis.
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
    >>> pair = ((release, small), (release, large))
    >>> bool(geodp.compare.compare_regions(*pair, conservative=True).low > 0)
    True
    """
    question = Hypothesis(null, alternative, alpha)
    is_one = is_same(first[0], second[0])
    sides = _sides(first, second, is_one)
    difference = sides[1].estimate.count - sides[0].estimate.count
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
        return _exact(noises[1], noises[0], difference, question)
    return _by_errors(sides, difference, question, is_one=is_one)


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
        Side(
            release,
            region,
            # Asked for where a clamp may have acted, of which nothing is assumed.
            release.estimate(region, interval=WORST_CASE) if region.cells else EMPTY_ESTIMATE,
        )
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
    # Intervals interpolate between those of normal errors and of Laplace noise: half_interval in
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
    start, end = (side.estimate for side in sides)
    # An interval that the clamp has cut at 0 is shorter than the noise: count at least both errors.
    smallest = start.standard_error + end.standard_error
    down = max(((end.count - end.low) + (start.high - start.count)) / LAPLACE_Z, smallest)
    up = max(((end.high - end.count) + (start.count - start.low)) / LAPLACE_Z, smallest)
    # The p-value is that of the side to which the difference points.
    is_above = question.alternative == "greater" or (
        question.alternative == "two-sided" and difference > question.null
    )
    test = Difference.of_error(difference, down if is_above else up, question, excess=1.0)
    far = question.quantile(excess=1.0)
    low, high = difference - far * down, difference + far * up
    return replace(test, low=low, high=high, basis="conservative")


NEAR_ZERO = Rule(
    "ratio-denominator-near-zero",
    "The denominator is not known to be above 0, so that the ratio can be anything: choose a "
    "larger one.",
)

CLAMPED = Rule(
    "ratio-clamped",
    "A clamp at 0 may have moved people into or out of a part of the ratio, so that its error is "
    "not known: choose larger regions, or ask for its interval with conservative (--conservative).",
)


@dataclass(frozen=True)
class CountChange(Interval):
    """A number that follows from two released sums.

    Its interval is two-sided, of confidence ``1 - alpha``.

    Attributes
    ----------
    standard_error : float
        To first order, without what a clamp moved.
    basis : str
        ``"normal"``, ``"long-tailed"`` or ``"conservative"``, see
        :class:`geodp.compare.Difference`.
    """

    standard_error: float
    basis: str


@dataclass(frozen=True)
class Ratio(CountChange):
    """The ratio of two released sums."""

    def minus(self, number: float) -> Ratio:
        """Subtract a number: 1 makes the relative change from the ratio of two dates."""
        value, low, high = (one - number for one in (self.value, self.low, self.high))
        return replace(self, value=value, low=low, high=high)


@dataclass(frozen=True, eq=False)
class _Part:
    """A sum of a release, and its weights in the numerator and in the denominator."""

    release: Release
    region: Region
    above: float
    below: float
    estimate: Estimate


def estimate_ratio(
    first: tuple[Release, Any],
    second: tuple[Release, Any],
    *,
    alpha: float = 0.05,
    conservative: bool = False,
) -> Ratio:
    """Estimate the ratio of two regions: a share, a rate or a change; costs no budget.

    Parameters
    ----------
    first, second : (Release, region)
        Numerator and denominator. They may be of one release, whose regions may overlap, such as a
        part and its whole; or of two, such as two dates, or cases and people. A region as for
        :meth:`geodp.Release.estimate`; with labels of attributes a :class:`Region`.
    alpha : float
        One less the confidence of the interval.
    conservative : bool
        If a clamp at 0 may have moved people, use the widened 95 % intervals of all parts, and
        assume that all of them may be at their ends at once.

    Raises
    ------
    UsageError
        A denominator that may be 0, a clamped part without ``conservative``, or a method without a
        closed form of the error of a region.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> grid = geodp.Grid.mesh("jis:half", bounds=(139.4, 35.4, 139.8, 35.66666))
    >>> table = geodp.CountTable.from_dense(np.full(grid.shape, 100), grid)
    >>> release = geodp.publish(table, epsilon=1, contribution=1)
    >>> part, total = (139.5, 35.5, 139.6, 35.6), (139.5, 35.5, 139.7, 35.6)
    >>> share = geodp.compare.estimate_ratio((release, part), (release, total), conservative=True)
    >>> round(share.value, 1)
    0.5
    """
    (here, shape), (there, other) = first, second
    one, two = Region.of(here.grid, shape), Region.of(there.grid, other)
    # Cells that both regions have count on either side, with one and the same noise.
    if not is_same(here, there):
        parts = [(here, one, 1.0, 0.0), (there, two, 0.0, 1.0)]
    else:
        keys = [
            (np.setdiff1d(one.key, two.key), 1.0, 0.0),
            (np.intersect1d(one.key, two.key), 1.0, 1.0),
            (np.setdiff1d(two.key, one.key), 0.0, 1.0),
        ]
        parts = [(here, Region(here.grid, key), a, b) for key, a, b in keys if key.size]
    return _estimate(parts, Hypothesis(alpha=alpha), conservative=conservative)


def estimate_mean(
    release: Release,
    region: Any,
    attribute: str,
    values: Mapping[str, float],
    *,
    labels: Labels | None = None,
    alpha: float = 0.05,
    conservative: bool = False,
) -> Ratio:
    """Estimate the mean of the values of an attribute's labels, such as ages; costs no budget.

    Parameters
    ----------
    release : Release
    region : polygon, codes or bounds
        A place as for :meth:`geodp.Release.estimate`.
    attribute : str
    values : mapping of str to float
        The value of each label; people with other labels are left out. Values of 0 and 1 make the
        mean a share.
    labels : mapping, optional
        Selected labels of other attributes.
    alpha, conservative
        See :func:`estimate_ratio`.

    Raises
    ------
    UsageError
        For the reasons of :func:`estimate_ratio`, an unknown attribute or label, or a value that is
        not finite.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> grid = geodp.Grid.mesh("jis:half", bounds=(139.4, 35.4, 139.8, 35.66666))
    >>> grid = grid.with_attribute("age", ("child", "adult"))
    >>> table = geodp.CountTable.from_dense(np.full(grid.shape, 100), grid)
    >>> release = geodp.publish(table, epsilon=1, contribution=1)
    >>> around, adults = (139.5, 35.5, 139.6, 35.6), {"child": 0, "adult": 1}
    >>> share = geodp.compare.estimate_mean(release, around, "age", adults, conservative=True)
    >>> round(share.value, 1)
    0.5
    """
    if not values or not all(np.isfinite(value) for value in values.values()):
        raise UsageError(
            "A mean needs a finite value for one label or more.", code="mean-of-no-value"
        )
    parts = []
    for label, value in values.items():
        chosen = {**(labels or {}), attribute: label}
        parts.append((release, Region.of(release.grid, region, chosen), float(value), 1.0))
    return _estimate(parts, Hypothesis(alpha=alpha), conservative=conservative)


def _estimate(
    weighted: list[tuple[Release, Region, float, float]],
    question: Hypothesis,
    *,
    conservative: bool,
) -> Ratio:
    parts = [
        _Part(release, region, above, below, release.estimate(region, interval=WORST_CASE))
        for release, region, above, below in weighted
    ]
    x = np.array([float(part.estimate.count) for part in parts])
    forms = np.array([[part.above for part in parts], [part.below for part in parts]])
    over, under = (forms @ x).tolist()
    if under <= 0:
        raise UsageError(NEAR_ZERO)
    spread = covariances(parts)
    # The gradient of the ratio, but for 1 / under: its standard error to first order.
    weight = forms[0] - over / under * forms[1]
    variance = max(float(weight @ spread @ weight), 0.0)
    error = sqrt(variance) / under
    # What a clamp moves has no known covariance with other sums.
    if any(part.estimate.clamped for part in parts):
        if not conservative:
            raise UsageError(CLAMPED)
        ends = _widest(parts, forms, question)
        return Ratio(over / under, *ends, error, "conservative")
    excess = min(1.0, _fourth(parts, weight) / variance**2) if variance else 0.0
    ends = _fieller(over, under, forms @ spread @ forms.T, question.quantile(excess))
    return Ratio(over / under, *ends, error, "long-tailed" if excess else "normal")


def covariances(parts: list[_Part]) -> FloatArray:
    """Compute the covariances of the errors of sums over parts: float64[n, n]."""
    matrix = np.diag([part.estimate.standard_error**2 for part in parts])
    for (i, one), (j, two) in combinations(enumerate(parts), 2):
        if is_same(one.release, two.release):
            # Parts share no cell, so that the variance of their sum tells their covariance.
            both = Region(one.region.grid, np.union1d(one.region.key, two.region.key))
            together = one.release.standard_error(both) ** 2
            matrix[i, j] = matrix[j, i] = (together - matrix[i, i] - matrix[j, j]) / 2
    return matrix


def _fieller(over: float, under: float, spread: FloatArray, z: float) -> tuple[float, float]:
    """Return the ends of the ratios t with ``(over - t under)**2`` of at most z**2 variances."""
    # Only if the denominator is significantly above 0, these t are an interval.
    a = under**2 - z**2 * spread[1, 1]
    if a <= 0:
        raise UsageError(NEAR_ZERO)
    b, c = over * under - z**2 * spread[0, 1], over**2 - z**2 * spread[0, 0]
    half = sqrt(max(b**2 - a * c, 0.0))
    return float((b - half) / a), float((b + half) / a)


def _fourth(parts: list[_Part], weight: FloatArray) -> float:
    """Bound a third of the fourth cumulant of a weighted sum of errors.

    Minkowski's inequality bounds that of shared noise; those of independent releases add up.
    """
    roots: list[tuple[Release, float]] = []
    for part, factor in zip(parts, np.abs(weight).tolist(), strict=True):
        root = factor * (excess_of(part.estimate) * part.estimate.standard_error**4) ** 0.25
        at = next((i for i, (one, _) in enumerate(roots) if is_same(one, part.release)), None)
        if at is None:
            roots.append((part.release, root))
        else:
            roots[at] = part.release, roots[at][1] + root
    return sum(root**4 for _, root in roots)


def _widest(parts: list[_Part], forms: FloatArray, question: Hypothesis) -> tuple[float, float]:
    """Return the smallest and the largest ratio of sums within intervals that all hold together."""
    # All intervals hold with a chance of 1 - alpha if each holds with 1 - alpha / n (Bonferroni).
    each = replace(question, alpha=question.alpha / len(parts))
    wider = each.quantile(excess=1.0) / LAPLACE_Z
    lowest = 0.0 if all(part.release.method.nonnegative for part in parts) else -np.inf
    sums = [part.estimate for part in parts]
    low = np.array([max(s.count - wider * (s.count - s.low), lowest) for s in sums])
    # Intervals are taken for those of Laplace noise, which a smaller alpha makes longer.
    high = np.array([s.count + wider * (s.high - s.count) for s in sums])
    if (np.where(forms[1] > 0, low, high) @ forms[1]) <= 0:
        raise UsageError(NEAR_ZERO)
    return -_largest(-forms[0], forms[1], low, high), _largest(forms[0], forms[1], low, high)


def _largest(above: FloatArray, below: FloatArray, low: FloatArray, high: FloatArray) -> float:
    """Return the largest ratio over a box, on which the denominator is above 0.

    It is where the largest ``(above - t below) x`` is 0, found by Dinkelbach's steps (1967): each
    takes the ratio of the corner that is best for the last one.
    """
    ratio = -np.inf
    corner = low
    while (better := float(above @ corner / (below @ corner))) > ratio:
        ratio = better
        corner = np.where(above > ratio * below, high, low)
    return ratio
