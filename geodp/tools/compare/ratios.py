"""Estimate ratios of released sums: shares, rates, changes and means, each with an interval.

A ratio is that of two linear forms of sums over parts that share no cell, ``n.x / d.x``. Sums of
one release share noise: of parts A and B, ``2 Cov(A, B) = V(A and B together) - V(A) - V(B)``, of
the closed form of any region; different releases have independent noise. The interval is Fieller's
(1954): all ratios t for which ``n.x - t d.x`` may be 0, given its variance by these covariances.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np

from geodp.accuracy.interval import LAPLACE_Z, Estimate, Interval
from geodp.errors import Rule, UsageError
from geodp.grid.region import Labels, Region
from geodp.release.release import Release
from geodp.tools.compare.difference import Hypothesis
from geodp.tools.compare.regions import excess_of, is_same
from geodp.typing import FloatArray

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
class Ratio(Interval):
    """The ratio of two released sums.

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
        _Part(release, region, above, below, release.estimate(region))
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
