"""The interface of local oracles: from reports of devices to unbiased counts.

The state of an aggregation is what a server stores of reports: their sums.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError, UsageError
from geodp.kernels import key_lists
from geodp.local.coins import Chance, Coins
from geodp.local.kernels import oracles
from geodp.privacy.event import Guarantee
from geodp.privacy.loss import Budget, rational
from geodp.privacy.reports import LOCAL_PRIVACY

MAX_REPORTS = 1 << 62
"""Largest number of reports of a state: their sums stay in int64."""

DENSE = 1 << 20
"""Largest number of sums that a state stores one by one; of more it stores the nonzero ones."""


@dataclass(frozen=True, eq=False)
class State:
    """The sums that a server stores of reports: whole numbers, for any split of the reports.

    Attributes
    ----------
    identity : str
        Identity of the oracle.
    reports : int
        Number of reports.
    size : int
        Number of the oracle's sums.
    key : uint64[m], read-only
        Positions of sums that are not 0, increasing; empty where there are at most ``DENSE``.
    total : int64[m], or int64[size], read-only
        The sums.
    """

    identity: str
    reports: int
    size: int
    key: NDArray[np.uint64]
    total: NDArray[np.int64]

    def __post_init__(self) -> None:
        for array in (self.key, self.total):
            array.flags.writeable = False

    @classmethod
    def of_keys(
        cls, oracle: Oracle, reports: int, key: NDArray[np.uint64], count: NDArray[np.int64]
    ) -> State:
        """Build the state from counts (int64[n]) at keys (uint64[n]), in any order."""
        if oracle.sums <= DENSE:
            total = np.zeros(oracle.sums, np.int64)
            oracles.add(key, count, total)
            return cls(oracle.identity, reports, oracle.sums, np.empty(0, np.uint64), total)
        return cls(oracle.identity, reports, oracle.sums, *_sum_up(key, count))

    @classmethod
    def of_totals(cls, oracle: Oracle, reports: int, total: NDArray[np.int64]) -> State:
        """Build the state from all sums, one by one: int64[oracle.sums]."""
        if oracle.sums <= DENSE:
            return cls(oracle.identity, reports, oracle.sums, np.empty(0, np.uint64), total)
        key = np.flatnonzero(total)
        return cls(oracle.identity, reports, oracle.sums, key.astype(np.uint64), total[key])

    @classmethod
    def of_arrays(cls, oracle: Oracle, arrays: Mapping[str, NDArray[Any]]) -> State:
        """Restore the state from the arrays that :meth:`arrays` returned.

        Raises
        ------
        UsageError
            The state of another oracle, or arrays of something else.
        """
        wrong = UsageError(
            "This is not the complete state of an oracle; aggregate the reports again.",
            code="state-incomplete",
        )
        try:
            key, total = arrays["key"], arrays["total"]
            reports = int(arrays["reports"][0])
            identity = bytes(arrays["identity"]).decode()
        except (KeyError, IndexError, TypeError, ValueError):
            raise wrong from None
        if identity != oracle.identity:
            raise of_another()
        listed = oracle.sums > DENSE
        # A file is not trusted: everything that later code relies on is checked.
        fits = (
            key.dtype == np.uint64
            and total.dtype == np.int64
            and (key.shape, total.shape) == ((key.size,), (total.size,))
            and (key.size, total.size) == ((total.size,) * 2 if listed else (0, oracle.sums))
            and (not listed or (bool((key[1:] > key[:-1]).all()) and bool(total.all())))
            and (not key.size or int(key[-1]) < oracle.sums)
            and 0 <= reports <= MAX_REPORTS
        )
        # Sums beyond what that many reports can add were forged or damaged.
        if not fits or _magnitude(total) > reports * oracle.reach:
            raise wrong
        return cls(identity, reports, oracle.sums, key.copy(), total.copy())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as plain arrays, for a file."""
        return {
            "identity": np.frombuffer(self.identity.encode(), np.uint8),
            "reports": np.array([self.reports], np.int64),
            "key": self.key,
            "total": self.total,
        }

    def __add__(self, other: State) -> State:
        if not isinstance(other, State):
            return NotImplemented
        if other.identity != self.identity:
            raise of_another()
        if (reports := self.reports + other.reports) > MAX_REPORTS:
            raise too_many()
        # Damaged or forged sums could overflow int64 here without a warning.
        if _largest(self.total) + _largest(other.total) >= 1 << 63:
            raise UsageError(
                "These sums are too large to be added up: no reports can have them.",
                code="sums-too-large",
            )
        if self.size <= DENSE:
            key, total = self.key, self.total + other.total
        else:
            key = np.concatenate([self.key, other.key])
            key, total = _sum_up(key, np.concatenate([self.total, other.total]))
        return State(self.identity, reports, self.size, key, total)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, State)
            and (self.identity, self.reports) == (other.identity, other.reports)
            and np.array_equal(self.key, other.key)
            and np.array_equal(self.total, other.total)
        )

    # Arrays are compared by content, so a state must not be a key of a dict.
    __hash__ = None  # type: ignore[assignment]

    def dense(self) -> NDArray[np.int64]:
        """Return a copy of all sums, one by one: int64[size]."""
        if self.size <= DENSE:
            return self.total.copy()
        total = np.zeros(self.size, np.int64)
        total[self.key] = self.total
        return total

    def at(self, key: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Look up the sums at keys (uint64[n]) below size: int64[n]."""
        if self.size <= DENSE:
            return self.total[key]
        if not self.key.size:
            return np.zeros(key.size, np.int64)
        # A key above the last one would be out of bounds; it is compared and gives 0.
        place = np.minimum(np.searchsorted(self.key, key), self.key.size - 1)
        return np.where(self.key[place] == key, self.total[place], 0)

    @property
    def keys(self) -> NDArray[np.uint64]:
        """The positions of the sums of ``total``: uint64[m]."""
        return np.arange(self.size, dtype=np.uint64) if self.size <= DENSE else self.key


def _sum_up(
    key: NDArray[np.uint64], count: NDArray[np.int64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Merge equal keys and add their counts up; keys increase, and sums of 0 are dropped."""
    key, count, out_key, out_count = key_lists.sort_pairs_into(key, count)
    size = key_lists.coalesce(key, count, out_key, out_count)
    return out_key[:size].copy(), out_count[:size].copy()


def of_another() -> UsageError:
    """Build the error of a state and an oracle that do not belong together."""
    return UsageError(
        "These are the reports of another oracle or of other settings; each state goes with the "
        "oracle that it was made by.",
        code="state-of-other-oracle",
    )


def too_many() -> UsageError:
    """Build the error of more reports than a state can count."""
    return UsageError(
        "Sums hold at most 2**62 reports, and these claim to be of more.",
        code="reports-too-many",
    )


def _largest(total: NDArray[np.int64]) -> int:
    """Find the largest absolute value."""
    return max(int(total.max(initial=0)), -int(total.min(initial=0)))


def _magnitude(total: NDArray[np.int64]) -> int:
    """Sum the absolute values, which need not fit int64."""
    # Unsigned, as the absolute value of the smallest int64 does not fit int64.
    positive = np.abs(total).view(np.uint64)
    high, low = positive >> np.uint64(32), positive & np.uint64(0xFFFFFFFF)
    return (int(high.sum()) << 32) + int(low.sum())


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
class Oracle(ABC):
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
    @abstractmethod
    def sums(self) -> int:
        """The number of sums of a state."""

    @property
    def reach(self) -> int:
        """The largest total of absolute values that one report adds to the sums of a state."""
        return 1

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


def guarantee_of_report(source: str) -> Guarantee:
    """Return the guarantee of one report; ``source``: where it is proved, and why it holds."""
    return Guarantee(source, precondition=ONE_REPORT, variant=LOCAL_PRIVACY)


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
