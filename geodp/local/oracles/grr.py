"""Generalised randomised response: the true value, or uniformly another one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.local.coins import Chance, Coins
from geodp.local.kernels import oracles
from geodp.local.oracles.base import (
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
class Grr(Oracle):
    """A report is a value: the true one e times as likely as each of the others.

    It has the smallest variance for fewer than ``3 e + 2`` cells, with ``e = exp(epsilon)``.
    """

    name: ClassVar[str] = "grr"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "generalised randomised response (Warner 1965)"
    citation: ClassVar[str] = (
        "Wang, Blocki, Li, Jha: Locally Differentially Private Protocols for Frequency "
        "Estimation. USENIX Security 2017."
    )
    guarantee = guarantee_of_report(
        "Wang, Blocki, Li, Jha (2017), section 3.1: a report has probability e / (e + d - 1)"
        " for its own value and 1 / (e + d - 1) for any other"
    )

    @property
    def report_type(self) -> np.dtype[Any]:
        """The value, in the narrowest type that holds the domain."""
        # Every device must know the width in advance, so it depends on the domain alone.
        return np.dtype([("value", "<u4" if self.cells <= 1 << 32 else "<u8")])

    @property
    def sums(self) -> int:
        """The number of sums: one for each value."""
        return self.cells

    @property
    def flip_chances(self) -> tuple[Chance, ...]:
        """The chance that a report has another value."""
        return (Chance(self.cells - 1, 1, self.epsilon),)

    def draw(self, value: NDArray[np.uint64], coins: Coins) -> NDArray[Any]:
        """Draw a coin for each value, and uniformly another value where it is flipped."""
        reported = np.empty(value.size, np.uint64)
        # Units of most reports: one for the coin, and one or two for another value.
        units, arguments = 2 if self.cells <= 1 << 32 else 3, (value, self.cells, reported)
        coins.fill(oracles.answer, arguments, value.size, units, self.flip_chances)
        return make_reports(self.report_type, value=reported)

    def collect(self, reports: NDArray[Any]) -> State:
        """Count how often each value was reported."""
        reported = field_of(reports, "value")
        require_fitting(reported < self.cells, self, "value", "in its domain")
        return State.of_keys(self, reported.size, reported, np.ones(reported.size, np.int64))

    def count(self, state: State, value: NDArray[np.uint64] | None) -> NDArray[np.float64]:
        """Correct each count for the reports that were flipped to and from the value."""
        support = state.dense() if value is None else state.at(value)
        return unbias(support, state.reports, *self._chances)

    def variance(self, n: float, count: float = 0) -> float:
        """Compute ``n (d - 2 + e) / (e - 1)**2``, plus ``count (d - 2) / (e - 1)``."""
        return indicator_variance(*self._chances, n, count)

    @property
    def _chances(self) -> tuple[float, float]:
        e = math.exp(self.epsilon)
        return e / (e + self.cells - 1), 1 / (e + self.cells - 1)


ORACLES = (Grr,)
