"""The interface of local oracles: from reports of devices to unbiased counts."""

from __future__ import annotations

import json
import math
from abc import abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError, UsageError
from geodp.local.coins import Chance, Coins
from geodp.local.oracles.state import State, StateOwner, of_another
from geodp.privacy.event import Guarantee
from geodp.privacy.loss import Budget, rational

MAX_CELLS = 1 << 62
"""Largest domain of any oracle."""

MAX_LISTED = 1 << 26
"""Largest domain that is estimated all together; of larger ones, values must be named."""

SMALL_DOMAIN = 1 << 16
"""Largest domain of oracles that send a bit for each cell, or compare each cell and report."""

MIN_EPSILON, WEAK_EPSILON, MAX_EPSILON = Fraction(1, 10**6), 16, 64
"""Below the first the error is beyond all use; above the second a report hides little, above the
third nothing."""

ONE_REPORT = "a device sends one report; k reports of one device have k times the epsilon"

Plain = None | bool | int | str


@dataclass(frozen=True, kw_only=True)
class Oracle(StateOwner):
    """A frequency oracle of local differential privacy: a frozen value with its settings.

    A subclass gives the class attributes and the abstract methods. The file that holds it lists
    the class in ``ORACLES``, and that is all it takes.

    Attributes
    ----------
    cells : int
        Size of the domain, which is 0 to cells - 1.
    epsilon : Fraction
        Epsilon of one report, at least one millionth.
    allow_weak : bool
        Accept an epsilon above 16, with which a report hides little.

    Raises
    ------
    UsageError
        Settings that the oracle does not support.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    title: ClassVar[str]
    citation: ClassVar[str]
    guarantee: ClassVar[Guarantee]
    scheme: ClassVar[str] = "none"
    """Scheme by which values are hashed."""
    max_cells: ClassVar[int] = MAX_CELLS
    max_listed: ClassVar[int] = MAX_LISTED
    """Largest domain that is estimated without naming values."""

    cells: int
    epsilon: Fraction
    allow_weak: bool = False

    def __post_init__(self) -> None:
        # Normalised although frozen, so that equal settings make equal oracles and identities.
        epsilon = require_epsilon(self.epsilon, self.allow_weak)
        object.__setattr__(self, "epsilon", epsilon)
        self._read_integers(cells=(2, self.max_cells))

    def _read_integers(self, **limits: tuple[int, int]) -> None:
        """Replace fields by whole numbers; UsageError outside their limits, low and high."""
        for field, (lowest, highest) in limits.items():
            number = require_integer(getattr(self, field), field, lowest, highest, self.name)
            object.__setattr__(self, field, number)

    @property
    @abstractmethod
    def report_type(self) -> np.dtype[Any]:
        """The fields of a report: a fixed, small structured type."""

    @property
    def report_bytes(self) -> int:
        """The size of a report in bytes."""
        return int(self.report_type.itemsize)

    @property
    @abstractmethod
    def flip_chances(self) -> tuple[Chance, ...]:
        """The chances of the coins that a device flips for a report."""

    def list_flip_chances(self) -> tuple[Chance, ...]:
        """List the chances of all coins that a device flips, including any permanent stage."""
        return self.flip_chances

    @abstractmethod
    def draw(self, value: NDArray[np.uint64], coins: Coins) -> NDArray[Any]:
        """Draw reports of values that are in the domain."""

    @abstractmethod
    def collect(self, reports: NDArray[Any]) -> State:
        """Aggregate reports of the right type.

        Raises
        ------
        CodeError
            A field out of range, see :func:`require_fitting`.
        """

    @abstractmethod
    def count(self, state: State, value: NDArray[np.uint64] | None) -> NDArray[np.float64]:
        """Estimate the counts of values, or of all cells."""

    @abstractmethod
    def variance(self, n: float, count: float = 0) -> float:
        """Compute the variance of the estimate of a value that ``count`` of n devices have."""

    @property
    def settings(self) -> dict[str, Plain]:
        """The settings that decide what a report means, as plain values for a public file."""
        plain: dict[str, Plain] = {
            "oracle": self.name,
            "version": self.version,
            "scheme": self.scheme,
        }
        for setting in fields(self):
            value = getattr(self, setting.name)
            plain[setting.name] = str(value) if isinstance(value, Fraction) else value
        return plain

    @property
    def identity(self) -> str:
        """The settings as one text: equal exactly for equal oracles."""
        return json.dumps(self.settings, sort_keys=True)

    def randomize(self, values: ArrayLike, coins: Coins | None = None) -> NDArray[Any]:
        """Randomise one report for each value, as its device would do it.

        Parameters
        ----------
        values : int array, [n]
            0 to cells - 1.
        coins : Coins, optional
            By default the operating system's entropy; others are for tests.

        Returns
        -------
        structured array [n] of ``report_type``

        Raises
        ------
        UsageError
            A value outside the domain: refused and not clipped, as clipping would reveal it.
        """
        # Values are checked first, so that no coin is used for a refused call.
        return self.draw(self.check_values(values), Coins() if coins is None else coins)

    def aggregate(self, reports: NDArray[Any]) -> State:
        """Aggregate reports; states of parts add up to that of all reports.

        Raises
        ------
        UsageError
            Reports of another type.
        CodeError
            A report with a field out of range, by its position.
        """
        array = np.asarray(reports)
        if array.dtype != self.report_type or array.ndim != 1:
            raise UsageError(
                f"These are not reports of {self.name} with these settings: their fields differ.",
                code="oracle-report-fields",
            )
        return self.collect(array)

    def estimate(self, state: State, values: ArrayLike | None = None) -> NDArray[np.float64]:
        """Estimate without bias how many devices have each value.

        Parameters
        ----------
        state : State
        values : int array, [n], optional
            By default all cells, of which there may be at most ``max_listed``.

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
        if self.cells > self.max_listed:
            raise UsageError(
                f"{self.name} estimates at most {self.max_listed:,} cells all together; name the "
                "values to estimate.",
                code="oracle-lists-too-many",
            )
        return self.count(state, None)

    def check_values(self, values: ArrayLike) -> NDArray[np.uint64]:
        """Convert values to uint64[n]; UsageError where one is not in the domain."""
        array = np.asarray(values)
        if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
            raise UsageError("Give values as a list of whole numbers.", code="values-not-whole")
        # Neither clipped nor dropped: both would reveal that the device is outside.
        if array.size and not 0 <= int(array.min()) <= int(array.max()) < self.cells:
            raise UsageError(
                f"A value is outside of the domain, which is 0 to {self.cells - 1}; it is refused, "
                "as moving it into the domain would reveal something about its device.",
                code="value-outside-domain",
            )
        return np.ascontiguousarray(array, np.uint64)


def require_epsilon(budget: Budget, allow_weak: bool) -> Fraction:
    """Read the epsilon of a report exactly; UsageError outside of its range."""
    epsilon = rational(budget)
    if not MIN_EPSILON <= epsilon <= MAX_EPSILON:
        raise UsageError(
            f"epsilon of a report must lie between 0.000001 and {MAX_EPSILON}.",
            code="report-epsilon-range",
        )
    # Weak protection is an explicit choice, and the round's file records it.
    if epsilon > WEAK_EPSILON and not allow_weak:
        raise UsageError(
            f"An epsilon above {WEAK_EPSILON} hides little of where a device is; choose a smaller "
            "one, or allow weak protection with allow_weak (--allow-weak).",
            code="epsilon-weak",
        )
    return epsilon


def require_integer(value: object, name: str, minimum: int, maximum: int, owner: str) -> int:
    """Read a whole number of a setting; UsageError outside of its range."""
    # bool is a subclass of int.
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise UsageError(f"{name} must be a whole number.", code="setting-not-whole")
    if not minimum <= value <= maximum:
        raise UsageError(
            f"{name} of {owner} must lie between {minimum} and {maximum}.",
            code="setting-out-of-range",
        )
    return int(value)


def require_fitting(fits: NDArray[np.bool_], oracle: Oracle, field: str, allowed: str) -> None:
    """Raise CodeError where a report has a field out of range; the error does not quote it.

    Raises
    ------
    CodeError
        With the position of the first report that does not fit.
    """
    if not fits.all():
        raise CodeError(
            # Only the position: the value may be a device's answer.
            int(fits.argmin()),
            f"A report of {oracle.name} has a {field} that is not {allowed}; it is of another "
            "round or damaged, and nothing was added up.",
            code="report-field-out-of-range",
        )


def make_reports(kind: np.dtype[Any], **fields: NDArray[Any]) -> NDArray[Any]:
    """Make reports of a type from their fields [n], in their order."""
    reports = np.empty(len(next(iter(fields.values()))), kind)
    for name, values in fields.items():
        reports[name] = values
    return reports


def field_of(reports: NDArray[Any], name: str) -> NDArray[np.uint64]:
    """Return a field of all reports as uint64[n]."""
    # Kernels are compiled for one type, and fields of structured arrays are not contiguous.
    return np.ascontiguousarray(reports[name], np.uint64)


def correction(epsilon: Fraction) -> float:
    """Compute ``(e + 1) / (e - 1)``, ``e = exp(epsilon)``, which undoes the flips of one bit."""
    return 1 / math.tanh(epsilon / 2)


def unbias(support: NDArray[np.int64], n: int, p: float, q: float) -> NDArray[np.float64]:
    """Estimate counts from how many of n reports support each value.

    A report supports its device's value with probability p, and any other with q.
    """
    return np.asarray((support - n * q) / (p - q), np.float64)


def indicator_variance(p: float, q: float, n: float, count: float) -> float:
    """Compute the variance of :func:`unbias` for a value that ``count`` of n devices have."""
    return ((n - count) * q * (1 - q) + count * p * (1 - p)) / (p - q) ** 2
