"""The state of an aggregation: the sums that a server stores of reports."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.kernels import key_lists
from geodp.local.kernels import oracles

MAX_REPORTS = 1 << 62
"""Largest number of reports of a state: their sums stay in int64."""

DENSE = 1 << 20
"""Largest number of sums that a state stores one by one; of more it stores the nonzero ones."""


class StateOwner(ABC):
    """An oracle as its state needs it."""

    @property
    @abstractmethod
    def identity(self) -> str:
        """The settings as one text: equal exactly for equal oracles."""

    @property
    @abstractmethod
    def sums(self) -> int:
        """The number of sums of a state."""

    @property
    def reach(self) -> int:
        """The largest total of absolute values that one report adds to the sums of a state."""
        return 1


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
        cls, oracle: StateOwner, reports: int, key: NDArray[np.uint64], count: NDArray[np.int64]
    ) -> State:
        """Build the state from counts (int64[n]) at keys (uint64[n]), in any order."""
        if oracle.sums <= DENSE:
            total = np.zeros(oracle.sums, np.int64)
            oracles.add(key, count, total)
            return cls(oracle.identity, reports, oracle.sums, np.empty(0, np.uint64), total)
        return cls(oracle.identity, reports, oracle.sums, *_sum_up(key, count))

    @classmethod
    def of_totals(cls, oracle: StateOwner, reports: int, total: NDArray[np.int64]) -> State:
        """Build the state from all sums, one by one: int64[oracle.sums]."""
        if oracle.sums <= DENSE:
            return cls(oracle.identity, reports, oracle.sums, np.empty(0, np.uint64), total)
        key = np.flatnonzero(total)
        return cls(oracle.identity, reports, oracle.sums, key.astype(np.uint64), total[key])

    @classmethod
    def of_arrays(cls, oracle: StateOwner, arrays: Mapping[str, NDArray[Any]]) -> State:
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
