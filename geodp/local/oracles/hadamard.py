"""Hadamard response: a random row of a Hadamard matrix, and one bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.local.coins import Chance, Coins
from geodp.local.kernels import local_tree, oracles
from geodp.local.oracles.base import (
    MAX_LISTED,
    Oracle,
    State,
    correction,
    field_of,
    guarantee_of_report,
    make_reports,
    require_fitting,
)

MAX_ROW_REPORTS = 16
"""Mean reports of a row up to which they are compared bit by bit; above, sums are used."""


@dataclass(frozen=True, kw_only=True)
class Hadamard(Oracle):
    """A report is a row, drawn without the value, and the row's entry for the value, maybe flipped.

    The entry of row r for value v is 1, or -1 where r and v have an odd number of binary ones in
    common. It is flipped with chance ``1 / (1 + e)``, ``e = exp(epsilon)``.
    """

    name: ClassVar[str] = "hadamard"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "one bit of a Hadamard matrix (Bassily, Smith 2015)"
    citation: ClassVar[str] = (
        "Acharya, Sun, Zhang: Hadamard Response: Estimating Distributions Privately, Efficiently, "
        "and with Little Communication. AISTATS 2019."
    )
    guarantee = guarantee_of_report(
        "Bassily, Smith (2015), section 3: the row is drawn without the value, and its one "
        "bit is Warner's randomised response"
    )

    @property
    def rows(self) -> int:
        """The number of rows: the smallest power of two that is at least the number of cells."""
        return 1 << (self.cells - 1).bit_length()

    @property
    def report_type(self) -> np.dtype[Any]:
        """The row, and 1 for an entry of -1."""
        return np.dtype([("row", "<u4" if self.rows <= 1 << 32 else "<u8"), ("bit", "u1")])

    @property
    def sums(self) -> int:
        """The number of sums: one for each row."""
        return self.rows

    @property
    def flip_chances(self) -> tuple[Chance, ...]:
        """The chance that the bit is flipped."""
        return (Chance(1, 1, self.epsilon),)

    def draw(self, value: NDArray[np.uint64], coins: Coins) -> NDArray[Any]:
        """Draw a row and a coin for each value."""
        row, bit = np.empty(value.size, np.uint64), np.empty(value.size, np.uint8)
        # Units of most reports: one or two for the row, and one for the coin.
        units, arguments = 2 if self.rows <= 1 << 32 else 3, (value, self.rows, row, bit)
        coins.fill(oracles.project, arguments, value.size, units, self.flip_chances)
        return make_reports(self.report_type, row=row, bit=bit)

    def collect(self, reports: NDArray[Any]) -> State:
        """Add up the entries of each row."""
        row, bit = field_of(reports, "row"), reports["bit"]
        require_fitting(row < self.rows, self, "row", "below the number of rows")
        require_fitting(bit <= 1, self, "bit", "0 or 1")
        return State.of_keys(self, row.size, row, 1 - 2 * bit.astype(np.int64))

    def count(self, state: State, value: NDArray[np.uint64] | None) -> NDArray[np.float64]:
        """Multiply the sums by the matrix, in whole numbers, and undo the flips."""
        return np.asarray(self.products(state, value) * correction(self.epsilon), np.float64)

    def products(self, state: State, value: NDArray[np.uint64] | None) -> NDArray[np.int64]:
        """Sum all rows' totals times their entries for values, or for all cells."""
        rows, held = self.rows, state.total.size
        # The transform costs about 8 steps a row; looking values up costs one for each pair.
        is_dense = rows <= MAX_LISTED and value is not None and value.size * held > 8 * rows
        if value is None or is_dense:
            total = state.dense()
            oracles.transform(total)
            return total[: self.cells] if value is None else total[value]
        products, key, total = np.empty(value.size, np.int64), state.keys, state.total
        if np.abs(total).sum() <= MAX_ROW_REPORTS * held:
            local_tree.multiply(key, total, rows.bit_length() - 1, value, products)
        else:
            oracles.correlate(key, total, value, products)
        return products

    def variance(self, n: float, count: float = 0) -> float:
        """Compute ``n ((e + 1) / (e - 1))**2``, less 1 for each device with the value."""
        # A report has mean 1 for its device's value, and so a variance of c**2 - 1; for any other
        # value its mean is 0 and its variance c**2.
        return n * correction(self.epsilon) ** 2 - count


ORACLES = (Hadamard,)
