"""What every local oracle offers: reports of devices in, unbiased counts out."""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError, UsageError
from geodp.features.local.coins import Chance, Coins
from geodp.features.local.oracles.state import State, of_another
from geodp.privacy.budget import Budget, rational
from geodp.privacy.event import Guarantee

MOST_CELLS = 1 << 62
"""Largest domain of any oracle."""

MOST_LISTED = 1 << 26
"""Most cells that are estimated all together; of larger domains, values are named."""

FEW = 1 << 16
"""Most cells of oracles that send a bit for each, and that look at every cell and report."""

LEAST_EPSILON, WEAK_EPSILON, MOST_EPSILON = Fraction(1, 10**6), 16, 64
"""Below the first the error is beyond all use; above the second a report hides little, above the
third nothing."""

ONE_REPORT = "a device sends one report; k reports of one device have k times the epsilon"

Plain = None | bool | int | str


@dataclass(frozen=True, kw_only=True)
class Oracle(ABC):
    """A frequency oracle of local differential privacy: a frozen value with its settings.

    A subclass gives the class attributes and the abstract methods. The file that holds it lists
    the class in ``ORACLES``, and that is all it takes.

    Attributes
    ----------
    cells : int
        The domain is 0 to cells - 1.
    epsilon : Fraction
        Of one report, at least one millionth.
    allow_weak : bool
        Take an epsilon above 16, with which a report hides little.

    Raises
    ------
    UsageError
        Settings that the oracle does not take.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    title: ClassVar[str]
    citation: ClassVar[str]
    guarantee: ClassVar[Guarantee]
    scheme: ClassVar[str] = "none"
    """How values are hashed."""
    most_cells: ClassVar[int] = MOST_CELLS
    most_listed: ClassVar[int] = MOST_LISTED
    """Most cells that are estimated without being named."""

    cells: int
    epsilon: Fraction
    allow_weak: bool = False

    def __post_init__(self) -> None:
        epsilon = require_epsilon(self.epsilon, self.allow_weak)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "cells", whole(self.cells, "cells", 2, self.most_cells, self.name))

    @property
    @abstractmethod
    def report_type(self) -> np.dtype[Any]:
        """Fields of a report: a fixed, small structured type."""

    @property
    def report_bytes(self) -> int:
        """Bytes of a report."""
        return int(self.report_type.itemsize)

    @property
    @abstractmethod
    def sums(self) -> int:
        """How many sums a state has."""

    @property
    def reach(self) -> int:
        """The most that one report adds to the sums of a state, absolute values added up."""
        return 1

    @property
    @abstractmethod
    def turns(self) -> tuple[Chance, ...]:
        """Chances of the coins that a device flips for a report."""

    def declare(self) -> tuple[Chance, ...]:
        """Return the chances of all coins that a device flips, also of what it keeps to itself."""
        return self.turns

    @abstractmethod
    def draw(self, value: NDArray[np.uint64], coins: Coins) -> NDArray[Any]:
        """Return reports of values that are in the domain."""

    @abstractmethod
    def collect(self, reports: NDArray[Any]) -> State:
        """Return the state of reports of the right type.

        Raises
        ------
        CodeError
            A field that is out of its range, see :func:`require_fitting`.
        """

    @abstractmethod
    def count(self, state: State, value: NDArray[np.uint64] | None) -> NDArray[np.float64]:
        """Return the estimates of values, or of all cells."""

    @abstractmethod
    def variance(self, n: float, count: float = 0) -> float:
        """Return the variance of the estimate of a value that ``count`` of n devices have."""

    @property
    def settings(self) -> dict[str, Plain]:
        """All that decides what a report means, as plain values for a public file."""
        plain: dict[str, Plain] = {
            "oracle": self.name,
            "version": self.version,
            "scheme": self.scheme,
        }
        for one in fields(self):
            value = getattr(self, one.name)
            plain[one.name] = str(value) if isinstance(value, Fraction) else value
        return plain

    @property
    def identity(self) -> str:
        """The settings as one text: equal exactly for equal oracles."""
        return json.dumps(self.settings, sort_keys=True)

    def randomize(self, values: ArrayLike, coins: Coins | None = None) -> NDArray[Any]:
        """Return one report for each value, as its device would make it.

        Parameters
        ----------
        values : int array, [n]
            0 to cells - 1.
        coins : Coins, optional
            The operating system's entropy, if none are given; others are for tests.

        Returns
        -------
        structured array [n] of ``report_type``

        Raises
        ------
        UsageError
            A value outside the domain: refused and not clipped, which would tell.
        """
        return self.draw(self.check_values(values), Coins() if coins is None else coins)

    def aggregate(self, reports: NDArray[Any]) -> State:
        """Return the state of reports; states of parts add up to that of the whole.

        Raises
        ------
        UsageError
            Reports of another type.
        CodeError
            A report with a field that is out of its range, by its position.
        """
        given = np.asarray(reports)
        if given.dtype != self.report_type or given.ndim != 1:
            raise UsageError(
                f"These are no reports of {self.name} with these settings: their fields differ.",
                code="oracle-report-fields",
            )
        return self.collect(given)

    def estimate(self, state: State, values: ArrayLike | None = None) -> NDArray[np.float64]:
        """Return unbiased estimates of how many devices have each value.

        Parameters
        ----------
        state : State
        values : int array, [n], optional
            Otherwise all cells, of which there may be ``most_listed`` then.

        Returns
        -------
        float64[n], or float64[cells]

        Raises
        ------
        UsageError
            The state of another oracle, a value outside the domain, or too many cells.
        """
        if state.identity != self.identity:
            raise of_another()
        if values is not None:
            return self.count(state, self.check_values(values))
        if self.cells > self.most_listed:
            raise UsageError(
                f"{self.name} estimates at most {self.most_listed:,} cells all together; name the "
                "values that are asked for.",
                code="oracle-lists-too-many",
            )
        return self.count(state, None)

    def check_values(self, values: ArrayLike) -> NDArray[np.uint64]:
        """Return values as uint64[n]; UsageError where one is not in the domain."""
        given = np.asarray(values)
        if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
            raise UsageError("Values are a list of whole numbers.", code="values-not-whole")
        if given.size and not 0 <= int(given.min()) <= int(given.max()) < self.cells:
            raise UsageError(
                f"A value is outside of the domain, which is 0 to {self.cells - 1}; it is refused, "
                "for a value that is moved into the domain would tell.",
                code="value-outside-domain",
            )
        return np.ascontiguousarray(given, np.uint64)


def require_epsilon(given: Budget, allow_weak: bool) -> Fraction:
    """Return the epsilon of a report exactly; UsageError outside of its range."""
    epsilon = rational(given)
    if not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        raise UsageError(
            f"epsilon of a report must lie between 0.000001 and {MOST_EPSILON}.",
            code="report-epsilon-range",
        )
    if epsilon > WEAK_EPSILON and not allow_weak:
        raise UsageError(
            f"An epsilon above {WEAK_EPSILON} hides little of where a device is; choose a smaller "
            "one, or allow weak protection with allow_weak (--allow-weak).",
            code="epsilon-weak",
        )
    return epsilon


def whole(value: object, name: str, least: int, most: int, of: str) -> int:
    """Return a whole number of a setting; UsageError outside of its range."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise UsageError(f"{name} must be a whole number.", code="setting-not-whole")
    if not least <= value <= most:
        raise UsageError(
            f"{name} of {of} must lie between {least} and {most}.", code="setting-out-of-range"
        )
    return int(value)


def require_fitting(fits: NDArray[np.bool_], oracle: Oracle, field: str, allowed: str) -> None:
    """Refuse reports of which one has a field out of its range; the error quotes none.

    Raises
    ------
    CodeError
        By the position of the first report that does not fit.
    """
    if not fits.all():
        raise CodeError(
            int(fits.argmin()),
            f"A report of {oracle.name} has a {field} that is not {allowed}; it is of another "
            "round or damaged, and nothing was added up.",
            code="report-field-out-of-range",
        )


def field_of(reports: NDArray[Any], name: str) -> NDArray[np.uint64]:
    """Return a field of all reports as uint64[n]."""
    return np.ascontiguousarray(reports[name], np.uint64)


def correction(epsilon: Fraction) -> float:
    """Return ``(e + 1) / (e - 1)`` with ``e = exp(epsilon)``: what undoes the turns of one bit."""
    return 1 / math.tanh(epsilon / 2)


def unbias(told: NDArray[np.int64], n: int, p: float, q: float) -> NDArray[np.float64]:
    """Return estimates of counts from how many of n reports speak for each value.

    A report speaks for its own value with probability p, and for any other with q.
    """
    return np.asarray((told - n * q) / (p - q), np.float64)


def indicator_variance(p: float, q: float, n: float, count: float) -> float:
    """Return the variance of :func:`unbias` for a value that ``count`` of n devices have."""
    return ((n - count) * q * (1 - q) + count * p * (1 - p)) / (p - q) ** 2
