"""Projective geometry response: a point that is, or is not, orthogonal to the value's point."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.local.coins import Chance, Coins
from geodp.local.kernels import projective
from geodp.local.oracles.base import (
    MAX_CELLS,
    MAX_LISTED,
    Oracle,
    State,
    field_of,
    guarantee_of_report,
    indicator_variance,
    make_reports,
    require_fitting,
    require_integer,
    unbias,
)

MAX_PRIME = 1 << 16
"""Largest prime, so that products of two digits fit 32 bits."""

MAX_WORK = 1 << 33
"""Largest number of additions of the transform with a chosen prime, some seconds. In domains for
which no prime is that cheap, values are estimated one by one."""

SLACK = 1.02
"""Largest ratio of variance to the smallest one that is accepted for a smaller space."""


@dataclass(frozen=True, kw_only=True)
class Pgr(Oracle):
    """A report is a point of a projective space over a prime field; each value is such a point.

    A point that is orthogonal to the value's is e times as likely as one that is not,
    ``e = exp(epsilon)``. The variance is that of ``oue`` and ``olh``, and a report is one number.

    Attributes
    ----------
    prime : int, optional
        Order of the field, at most ``2**16``. By default, near ``e + 1`` in large domains, the one
        with the fewest points among those whose variance is within 2 % of the smallest.
    """

    name: ClassVar[str] = "pgr"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "a point of a projective space (Feldman et al. 2022)"
    citation: ClassVar[str] = (
        "Feldman, Nelson, Nguyen, Talwar: Private Frequency Estimation via Projective Geometry. "
        "ICML 2022."
    )
    guarantee = guarantee_of_report(
        "Feldman, Nelson, Nguyen, Talwar (2022), section 3: each value has the same number "
        "of orthogonal points, and a point is e times as likely for a value that it is orthogonal "
        "to"
    )

    prime: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        prime = self.prime
        if prime is None:
            prime = _choose_prime(self.cells, float(self.epsilon))
        prime = require_integer(prime, "prime", 2, MAX_PRIME, self.name)
        if prime not in _primes():
            raise UsageError("prime of pgr must be a prime number.", code="pgr-prime")
        object.__setattr__(self, "prime", prime)
        # Points are numbered like cells, and their number is bounded like that of cells.
        if self.points > MAX_CELLS:
            raise UsageError(
                f"pgr takes at most {MAX_CELLS:,} points, and this domain needs more; choose "
                "hadamard or olh.",
                code="pgr-points-too-many",
            )

    @property
    def space(self) -> tuple[int, int]:
        """The prime, and the smallest dimension from 2 on that gives every cell a point."""
        assert self.prime is not None
        return self.prime, _dimension(self.prime, self.cells)

    @property
    def points(self) -> int:
        """The number of points of the space."""
        return _points(*self.space)

    @property
    def orthogonal(self) -> int:
        """The number of points that are orthogonal to a point."""
        q, t = self.space
        return _points(q, t - 1)

    @property
    def report_type(self) -> np.dtype[Any]:
        """The point's number, in the narrowest type that holds them all."""
        return np.dtype([("point", "<u4" if self.points <= 1 << 32 else "<u8")])

    @property
    def sums(self) -> int:
        """The number of sums: one for each point."""
        return self.points

    @property
    def flip_chances(self) -> tuple[Chance, ...]:
        """The chance that a report is not orthogonal to its value."""
        return (Chance(self.points - self.orthogonal, self.orthogonal, self.epsilon),)

    def draw(self, value: NDArray[np.uint64], coins: Coins) -> NDArray[Any]:
        """Draw a coin for each value, and one of the points of the drawn kind."""
        q, t = self.space
        point, inverse = np.empty(value.size, np.uint64), _inverses(q)
        size = np.array([t, self.orthogonal, q ** (t - 1)], np.uint64)
        arguments = value, size, inverse, point
        coins.fill(projective.respond, arguments, value.size, 3, self.flip_chances)
        return make_reports(self.report_type, point=point)

    def collect(self, reports: NDArray[Any]) -> State:
        """Count how often each point was reported."""
        point = field_of(reports, "point")
        require_fitting(point < self.points, self, "point", "below the number of points")
        return State.of_keys(self, point.size, point, np.ones(point.size, np.int64))

    def count(self, state: State, value: NDArray[np.uint64] | None) -> NDArray[np.float64]:
        """Count the reports that are orthogonal to each value, or to all by the fast transform."""
        q, t = self.space
        transform_work = q * t * self.points
        if value is None and self.points > MAX_LISTED:
            raise UsageError(
                f"pgr estimates all cells together for at most {MAX_LISTED:,} points; name the "
                "values to estimate.",
                code="pgr-lists-too-many",
            )
        # Whichever takes fewer additions: the transform of all points, or each pair of value and
        # report.
        if value is None or (
            self.points <= MAX_LISTED and value.size * state.total.size * t > transform_work
        ):
            support = _transform(state.dense(), q, t)
            support = support[: self.cells] if value is None else support[value]
        else:
            support = np.empty(value.size, np.int64)
            size = np.array([t, q], np.uint64)
            projective.count_orthogonal(state.keys, state.total, value, size, support)
        return unbias(support, state.reports, *self._chances)

    def variance(self, n: float, count: float = 0) -> float:
        """Compute ``n q (1 - q) / (p - q)**2``, with p and q the chances of an orthogonal point.

        p is the chance for the device's value and q for another. The variance is nearly that of
        ``olh`` with as many hashes as the prime.
        """
        return indicator_variance(*self._chances, n, count)

    @property
    def _chances(self) -> tuple[float, float]:
        return _chances_of(*self.space, float(self.epsilon))


def _points(q: int, t: int) -> int:
    """Count the points of a space of dimension t over the field of order q."""
    return (int(q**t) - 1) // (q - 1)


def _dimension(q: int, cells: int) -> int:
    t = 2
    while _points(q, t) < cells:
        t += 1
    return t


def _chances_of(q: int, t: int, epsilon: float) -> tuple[float, float]:
    """Compute the chances that a report is orthogonal to its value, and to another."""
    e = math.exp(epsilon)
    points, orthogonal, both = _points(q, t), _points(q, t - 1), _points(q, t - 2)
    total = e * orthogonal + points - orthogonal
    return e * orthogonal / total, (e * both + orthogonal - both) / total


@lru_cache(maxsize=1)
def _primes() -> frozenset[int]:
    """List the primes below ``MAX_PRIME``."""
    # The sieve of Eratosthenes, once for a process.
    is_prime = np.ones(MAX_PRIME, bool)
    is_prime[:2] = False
    for n in range(2, math.isqrt(MAX_PRIME) + 1):
        is_prime[n * n :: n] &= not is_prime[n]
    return frozenset(np.flatnonzero(is_prime).tolist())


@lru_cache(maxsize=64)
def _choose_prime(cells: int, epsilon: float) -> int:
    """Choose a prime with few points and nearly the smallest variance."""
    near = min(math.exp(epsilon) + 1, MAX_PRIME)
    candidates = []
    for q in _primes():
        # The variance is smallest near e + 1; larger primes only add points.
        if q <= 2 * near:
            t = _dimension(q, cells)
            points = _points(q, t)
            variance = indicator_variance(*_chances_of(q, t, epsilon), 1, 0)
            candidates.append((q * t * points > MAX_WORK, variance, points, q))
    # Tuples sort by slowness first, so that a quick prime is chosen whenever there is one.
    slow, smallest, *_ = min(candidates)
    near_best = [
        candidate
        for candidate in candidates
        if candidate[0] == slow and candidate[1] <= SLACK * smallest
    ]
    return min((points, q) for _, _, points, q in near_best)[1]


def _inverses(q: int) -> NDArray[np.uint64]:
    inverse = np.zeros(q, np.uint64)
    projective.inverses(inverse)
    return inverse


def _transform(counts: NDArray[np.int64], q: int, t: int) -> NDArray[np.int64]:
    """Count the reports that are orthogonal to every point, in whole numbers: int64[points].

    Parameters
    ----------
    counts : int64[points]
        How often each point was reported.
    q, t : int
        The prime and the dimension.
    """
    point = np.zeros(q ** (t - 1), np.uint64)
    scale = np.zeros_like(point)
    projective.index_vectors(q, _inverses(q), point, scale)
    totals = np.concatenate([np.zeros(1, np.int64), counts])
    # Before the first step no digits are summed, so there are no points of last digits.
    held = np.empty((totals.size, 0, q), np.int64)
    for k in range(t):
        left = _points(q, t - k - 1) + 1
        out = np.empty((left, _points(q, k + 1), q if k + 1 < t else 1), np.int64)
        out_totals = np.empty(left, np.int64)
        projective.extend(q, held, totals, point[: q**k], scale[: q**k], out, out_totals)
        held, totals = out, out_totals
    return held[0, :, 0]


ORACLES = (Pgr,)
