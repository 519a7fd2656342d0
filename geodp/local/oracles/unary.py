"""Unary encodings: a bit for each cell, each flipped by an independent coin."""

from __future__ import annotations

from abc import abstractmethod
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


def bits_type(width: int, rows: int = 1) -> np.dtype[Any]:
    """Build the type of reports of ``width`` bits, with their row where there are several."""
    bits = ("bits", "u1", ((width + 7) // 8,))
    return np.dtype([("row", "<u4"), bits] if rows > 1 else [bits])


def draw_bits(
    oracle: Oracle,
    value: NDArray[np.uint64],
    shape: tuple[int, int, int, int],
    flip_chances: tuple[Chance, Chance],
    coins: Coins,
) -> NDArray[Any]:
    """Draw reports with a row, and a coin for each bit.

    Parameters
    ----------
    oracle : Oracle
    value : uint64[n]
    shape : tuple
        The first seed, rows, hash functions and bits, see
        :func:`geodp.local.kernels.hashing.draw_bits`.
    flip_chances : pair of Chance
        The chance that a 0, and that a 1, is flipped.
    coins : Coins
    """
    _, rows, _, width = shape
    row, bits = np.empty(value.size, np.uint64), np.empty((value.size, (width + 7) // 8), np.uint8)
    arguments, units = (value, np.array(shape, np.uint64), row, bits), width + (rows > 1)
    coins.fill(hashing.draw_bits, arguments, value.size, units, flip_chances)
    return make_reports(oracle.report_type, bits=bits, **({"row": row} if rows > 1 else {}))


def count_bits(oracle: Oracle, reports: NDArray[Any], width: int, rows: int = 1) -> State:
    """Count the ones of each bit of each row, read by :func:`rows_of` and :func:`bits_of`."""
    row, bits = rows_of(oracle, reports, rows), bits_of(oracle, reports, width)
    total = np.zeros(rows * width, np.int64)
    hashing.add_bits(row, bits, width, total)
    return State.of_totals(oracle, reports.size, total)


def bits_of(oracle: Oracle, reports: NDArray[Any], width: int) -> NDArray[np.uint8]:
    """Read the bits of reports, uint8[n, bytes]; CodeError where one beyond the last is 1."""
    bits = np.ascontiguousarray(reports["bits"])
    if width % 8:
        require_fitting(bits[:, -1] >> width % 8 == 0, oracle, "bit beyond its last one", "0")
    return bits


def rows_of(oracle: Oracle, reports: NDArray[Any], rows: int) -> NDArray[np.uint64]:
    """Read the rows of reports, uint64[n]; CodeError where one is not below their number."""
    if "row" not in (oracle.report_type.names or ()):
        return np.zeros(reports.size, np.uint64)
    row = field_of(reports, "row")
    require_fitting(row < rows, oracle, "row", "below the number of rows")
    return row


@dataclass(frozen=True, kw_only=True)
class Unary(Oracle):
    """A report has a bit for each cell, of which one was 1 before the coins."""

    version: ClassVar[int] = 1
    citation: ClassVar[str] = (
        "Wang, Blocki, Li, Jha: Locally Differentially Private Protocols for Frequency "
        "Estimation. USENIX Security 2017."
    )
    max_cells: ClassVar[int] = SMALL_DOMAIN
    max_listed: ClassVar[int] = SMALL_DOMAIN

    @property
    @abstractmethod
    def flip_chances(self) -> tuple[Chance, Chance]:
        """The chances that a 0, and that a 1, is flipped."""

    @property
    def reach(self) -> int:
        """The largest total that one report adds to the sums: 1 for each of its ones."""
        return self.cells

    @property
    def report_type(self) -> np.dtype[Any]:
        """The bits: bit j of a report is bit ``j % 8`` of byte ``j // 8``."""
        return bits_type(self.cells)

    @property
    def sums(self) -> int:
        """The number of sums: one for each cell."""
        return self.cells

    def draw(self, value: NDArray[np.uint64], coins: Coins) -> NDArray[Any]:
        """Draw a coin for each bit."""
        return draw_bits(self, value, (0, 1, 0, self.cells), self.flip_chances, coins)

    def collect(self, reports: NDArray[Any]) -> State:
        """Count the ones of each cell."""
        return count_bits(self, reports, self.cells)

    def count(self, state: State, value: NDArray[np.uint64] | None) -> NDArray[np.float64]:
        """Correct each count for the bits that were flipped to 1 and to 0."""
        support = state.dense() if value is None else state.at(value)
        return unbias(support, state.reports, *self._chances)

    def variance(self, n: float, count: float = 0) -> float:
        """Compute ``n q (1 - q) / (p - q)**2``, plus the difference for ``count`` devices.

        p and q are the chances of a 1 where the true bit is 1 and 0; devices with the value have
        ``p (1 - p)`` for ``q (1 - q)``.
        """
        return indicator_variance(*self._chances, n, count)

    @property
    def _chances(self) -> tuple[float, float]:
        # A 1 stays unless it is flipped, and a 0 becomes 1 when it is.
        zero, one = self.flip_chances
        return 1 - float(one), float(zero)


@dataclass(frozen=True, kw_only=True)
class Sue(Unary):
    """Every bit is flipped with chance ``1 / (1 + sqrt(e))``, ``e = exp(epsilon)``.

    The variance of a rare value is ``n sqrt(e) / (sqrt(e) - 1)**2``.
    """

    name: ClassVar[str] = "sue"
    title: ClassVar[str] = "symmetric unary encoding (basic RAPPOR, one report)"
    guarantee = guarantee_of_report(
        "Wang, Blocki, Li, Jha (2017), section 3.2: two values differ in two bits, and each "
        "has a factor of sqrt(e)"
    )

    @property
    def flip_chances(self) -> tuple[Chance, Chance]:
        """The chances of flipping a 0 and a 1, which are equal."""
        # Two values differ in two bits, each of which gets half of epsilon.
        chance = Chance(1, 1, self.epsilon / 2)
        return chance, chance


@dataclass(frozen=True, kw_only=True)
class Oue(Unary):
    """A 1 stays with chance 1/2; a 0 is flipped with ``1 / (1 + e)``, ``e = exp(epsilon)``.

    The variance of a rare value is ``n 4 e / (e - 1)**2``.
    """

    name: ClassVar[str] = "oue"
    title: ClassVar[str] = "optimised unary encoding (Wang et al. 2017)"
    guarantee = guarantee_of_report(
        "Wang, Blocki, Li, Jha (2017), section 4.1: two values differ in two bits, and the "
        "two factors, of a 1 and of a 0, are at most e together"
    )

    @property
    def flip_chances(self) -> tuple[Chance, Chance]:
        """The chances of flipping a 0 and a 1."""
        # Most bits are 0: flipping these rarely is worth flipping the single 1 half of the time.
        return Chance(1, 1, self.epsilon), Chance(1, 1)


ORACLES = (Sue, Oue)
