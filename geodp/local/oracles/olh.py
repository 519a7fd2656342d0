"""Local hashing: a hash function of each device, and randomised response of the value's hash."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.local.coins import Chance, Coins
from geodp.local.kernels import hashing
from geodp.local.oracles.base import (
    SMALL_DOMAIN,
    Oracle,
    State,
    field_of,
    guarantee_of_report,
    indicator_variance,
    make_reports,
    require_fitting,
    unbias,
)


@dataclass(frozen=True, kw_only=True)
class Olh(Oracle):
    """A report is the seed of a hash function, drawn without the value, and one of its hashes.

    Hashes are below g, the whole number closest to e + 1. The value's hash is e times as likely as
    each of the others, ``e = exp(epsilon)``. A server evaluates each report for each value, so this
    is for lists of candidates. Its variance does not grow with the domain.
    """

    name: ClassVar[str] = "olh"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "optimised local hashing (Wang et al. 2017)"
    citation: ClassVar[str] = (
        "Wang, Blocki, Li, Jha: Locally Differentially Private Protocols for Frequency "
        "Estimation. USENIX Security 2017."
    )
    guarantee = guarantee_of_report(
        "Wang, Blocki, Li, Jha (2017), section 3.2: the function is drawn without the "
        "value, and its hash goes through randomised response"
    )
    scheme: ClassVar[str] = "multiply-shift of words by SplitMix64"
    # Each value is compared with each report, which takes too long for large domains.
    max_listed: ClassVar[int] = SMALL_DOMAIN

    @property
    def hashes(self) -> int:
        """The number of values of a hash."""
        # The variance is smallest near e + 1 hashes; the hash must fit its field.
        return min(round(math.exp(self.epsilon)) + 1, 1 << hashing.HASH_BITS)

    @property
    def report_type(self) -> np.dtype[Any]:
        """The seed, of 48 bits, and the hash."""
        return np.dtype([("seed", "<u8"), ("hash", "<u2")])

    @property
    def sums(self) -> int:
        """The number of sums: one for each seed and hash, as a state holds the reports."""
        return 1 << hashing.SEED_BITS + hashing.HASH_BITS

    @property
    def flip_chances(self) -> tuple[Chance, ...]:
        """The chance that a report has another hash."""
        return (Chance(self.hashes - 1, 1, self.epsilon),)

    def draw(self, value: NDArray[np.uint64], coins: Coins) -> NDArray[Any]:
        """Draw a seed and a coin for each value, and another hash where it is flipped."""
        seed, reported = np.empty(value.size, np.uint64), np.empty(value.size, np.uint64)
        arguments = value, self.hashes, seed, reported
        coins.fill(hashing.answer_hashed, arguments, value.size, 4, self.flip_chances)
        return make_reports(self.report_type, seed=seed, hash=reported)

    def collect(self, reports: NDArray[Any]) -> State:
        """Sort the reports."""
        seed, reported = field_of(reports, "seed"), field_of(reports, "hash")
        short = seed >> np.uint64(hashing.SEED_BITS) == 0
        require_fitting(short, self, "seed", f"of {hashing.SEED_BITS} bits")
        require_fitting(reported < self.hashes, self, "hash", "below the number of hashes")
        # Seed and hash in one word, so that equal reports can be counted by sorting.
        word = seed << np.uint64(hashing.HASH_BITS) | reported
        return State.of_keys(self, word.size, word, np.ones(word.size, np.int64))

    def count(self, state: State, value: NDArray[np.uint64] | None) -> NDArray[np.float64]:
        """Count the reports that support each value."""
        wanted = np.arange(self.cells, dtype=np.uint64) if value is None else value
        support = np.empty(wanted.size, np.int64)
        hashing.count_matches(state.key, state.total, wanted, self.hashes, support)
        return unbias(support, state.reports, *self._chances)

    def variance(self, n: float, count: float = 0) -> float:
        """Compute ``n (e - 1 + g)**2 / ((e - 1)**2 (g - 1))``, where no device has the value."""
        return indicator_variance(*self._chances, n, count)

    @property
    def _chances(self) -> tuple[float, float]:
        e, g = math.exp(self.epsilon), self.hashes
        return e / (e + g - 1), 1 / g


ORACLES = (Olh,)
