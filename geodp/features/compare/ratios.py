"""Ratios of released sums: shares, rates, changes and means, each with an interval.

A ratio is that of two linear forms of sums over parts that share no cell, ``n.x / d.x``. Sums of
one release share noise: of parts A and B, ``2 Cov(A, B) = V(A and B together) - V(A) - V(B)``, of
the closed form of any region; different releases have independent noise. The interval is Fieller's
(1954): all ratios t for which ``n.x - t d.x`` could be 0, as it has the covariances to tell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np

from geodp.accuracy.interval import LAPLACE_Z, Estimate
from geodp.errors import Rule, UsageError
from geodp.features.compare.difference import Hypothesis
from geodp.features.compare.regions import excess_of, is_same
from geodp.grid.region import Labels, Region
from geodp.release.release import Release
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
class Ratio:
    """A ratio of two private numbers.

    Attributes
    ----------
    ratio : float
        Of the released sums.
    standard_error : float
        Of the ratio, to first order; of clamped parts, where they were not.
    low, high : float
        An interval of confidence ``1 - alpha``, two-sided.
    basis : str
        ``"normal"``, ``"long-tailed"`` or ``"conservative"``, as of a
        :class:`geodp.compare.Difference`.
    """

    ratio: float
    standard_error: float
    low: float
    high: float
    basis: str

    def minus(self, known: float) -> Ratio:
        """Return the ratio less a number: with 1, of two dates, the relative change."""
        return replace(self, ratio=self.ratio - known, low=self.low - known, high=self.high - known)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class _Part:
    """A sum of a release, and what it counts above and below the line."""

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
        Above and below the line. Of one release, whose regions may overlap, as a part and its whole
        do; or of two, as of two dates, or of cases and people. A region as for
        :meth:`geodp.Release.estimate`; with labels of attributes a :class:`Region`.
    alpha : float
        One less the confidence of the interval.
    conservative : bool
        Where a clamp at 0 may have moved people, take the widened 95 % intervals of all parts, and
        let all of them be at their ends at once.

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
    >>> part, whole = (139.5, 35.5, 139.6, 35.6), (139.5, 35.5, 139.7, 35.6)
    >>> found = geodp.compare.estimate_ratio((release, part), (release, whole), conservative=True)
    >>> round(found.ratio, 1)
    0.5
    """
    (here, shape), (there, other) = first, second
    one, two = Region.of(here.grid, shape), Region.of(there.grid, other)
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
    """Estimate the mean of what labels of an attribute stand for, such as ages; costs no budget.

    Parameters
    ----------
    release : Release
    region : polygon, codes or bounds
        A place as for :meth:`geodp.Release.estimate`.
    attribute : str
    values : mapping of str to float
        What each label stands for; people with other labels are not in the mean. With 0 and 1 it is
        a share.
    labels : mapping, optional
        Chosen labels of other attributes.
    alpha, conservative
        As for :func:`estimate_ratio`.

    Raises
    ------
    UsageError
        As :func:`estimate_ratio`; no such attribute or label, or a value that is not finite.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> grid = geodp.Grid.mesh("jis:half", bounds=(139.4, 35.4, 139.8, 35.66666))
    >>> grid = grid.with_attribute("age", ("child", "adult"))
    >>> table = geodp.CountTable.from_dense(np.full(grid.shape, 100), grid)
    >>> release = geodp.publish(table, epsilon=1, contribution=1)
    >>> around, adults = (139.5, 35.5, 139.6, 35.6), {"child": 0, "adult": 1}
    >>> found = geodp.compare.estimate_mean(release, around, "age", adults, conservative=True)
    >>> round(found.ratio, 1)
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
    given: list[tuple[Release, Region, float, float]], question: Hypothesis, *, conservative: bool
) -> Ratio:
    parts = [
        _Part(release, region, above, below, release.estimate(region))
        for release, region, above, below in given
    ]
    x = np.array([float(part.estimate.count) for part in parts])
    forms = np.array([[part.above for part in parts], [part.below for part in parts]])
    over, under = (forms @ x).tolist()
    if under <= 0:
        raise UsageError(NEAR_ZERO)
    spread = covariances(parts)
    weight = forms[0] - over / under * forms[1]
    variance = max(float(weight @ spread @ weight), 0.0)
    error = sqrt(variance) / under
    if any(part.estimate.clamped for part in parts):
        if not conservative:
            raise UsageError(CLAMPED)
        ends = _widest(parts, forms, question)
        return Ratio(over / under, error, *ends, "conservative")
    excess = min(1.0, _fourth(parts, weight) / variance**2) if variance else 0.0
    ends = _fieller(over, under, forms @ spread @ forms.T, question.quantile(excess))
    return Ratio(over / under, error, *ends, "long-tailed" if excess else "normal")


def covariances(parts: list[_Part]) -> FloatArray:
    """Return the covariances of the errors of sums over parts: float64[n, n]."""
    found = np.diag([part.estimate.standard_error**2 for part in parts])
    for (i, one), (j, two) in combinations(enumerate(parts), 2):
        if is_same(one.release, two.release):
            both = Region(one.region.grid, np.union1d(one.region.key, two.region.key))
            together = one.release.standard_error(both) ** 2
            found[i, j] = found[j, i] = (together - found[i, i] - found[j, j]) / 2
    return found


def _fieller(over: float, under: float, spread: FloatArray, z: float) -> tuple[float, float]:
    """Return the ratios t with ``(over - t under)**2`` of at most z**2 variances."""
    a = under**2 - z**2 * spread[1, 1]
    if a <= 0:
        raise UsageError(NEAR_ZERO)
    b, c = over * under - z**2 * spread[0, 1], over**2 - z**2 * spread[0, 0]
    half = sqrt(max(b**2 - a * c, 0.0))
    return float((b - half) / a), float((b + half) / a)


def _fourth(parts: list[_Part], weight: FloatArray) -> float:
    """Return a bound of a third of the fourth cumulant of a weighted sum of errors.

    Of shared noise by Minkowski's inequality; those of independent releases add up.
    """
    found: list[tuple[Release, float]] = []
    for part, own in zip(parts, np.abs(weight).tolist(), strict=True):
        root = own * (excess_of(part.estimate) * part.estimate.standard_error**4) ** 0.25
        at = next((i for i, (one, _) in enumerate(found) if is_same(one, part.release)), None)
        if at is None:
            found.append((part.release, root))
        else:
            found[at] = part.release, found[at][1] + root
    return sum(root**4 for _, root in found)


def _widest(parts: list[_Part], forms: FloatArray, question: Hypothesis) -> tuple[float, float]:
    """Return the least and largest ratio of sums within intervals that all hold together."""
    each = replace(question, alpha=question.alpha / len(parts))
    wider = each.quantile(excess=1.0) / LAPLACE_Z
    least = 0.0 if all(part.release.method.nonnegative for part in parts) else -np.inf
    sums = [part.estimate for part in parts]
    low = np.array([max(s.count - wider * (s.count - s.low), least) for s in sums])
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
    while (found := float(above @ corner / (below @ corner))) > ratio:
        ratio = found
        corner = np.where(above > ratio * below, high, low)
    return ratio
