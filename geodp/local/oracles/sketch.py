"""Sketches: values are hashed to a few columns, for domains whose values are not numbered."""

from __future__ import annotations

import hashlib
import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import UsageError
from geodp.local.coins import Chance, Coins
from geodp.local.kernels import hashing, oracles
from geodp.local.oracles.base import (
    MAX_CELLS,
    SMALL_DOMAIN,
    Oracle,
    State,
    correction,
    field_of,
    guarantee_of_report,
    indicator_variance,
    make_reports,
    require_fitting,
    unbias,
)
from geodp.local.oracles.olh import Olh
from geodp.local.oracles.unary import bits_type, count_bits, draw_bits, rows_of

MAX_ROWS, MAX_SUMS = 1 << 16, 1 << 26
"""Largest number of rows and of sums of a sketch."""

SEEDS = 0, (1 << 31) - 1
"""The lowest and the highest seed of hash functions."""


@dataclass(frozen=True, kw_only=True)
class Sketch(Oracle):
    """A report is a row, drawn without the value, and information on the value's column there.

    Values share columns, which is corrected on average. The variance that the closed form leaves
    out is at most ``sum(c (c - 1)) / (k (m - 1))`` over the counts c of all other values: it is
    large where very many devices have one other value.

    Attributes
    ----------
    k, m : int
        Number of rows, and of columns of each.
    seed : int
        Seed of the public hash functions, below ``2**31``.
    """

    version: ClassVar[int] = 1
    citation: ClassVar[str] = (
        "Apple, Differential Privacy Team: Learning with Privacy at Scale. Apple Machine Learning "
        "Journal 1(8), 2017."
    )
    scheme: ClassVar[str] = Olh.scheme
    max_listed: ClassVar[int] = SMALL_DOMAIN

    k: int = 1024
    m: int = 1024
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._read_integers(k=(1, MAX_ROWS), m=(2, SMALL_DOMAIN), seed=SEEDS)
        # The server stores all sums, which must fit its memory.
        if self.k * self.m > MAX_SUMS:
            raise UsageError(
                f"A sketch has at most {MAX_SUMS:,} sums; choose a smaller k or m.",
                code="sketch-too-large",
            )

    def check_values(self, values: ArrayLike) -> NDArray[np.uint64]:
        """Convert values to uint64[n]; with ``2**62`` cells a value may be a text.

        The number of a text is the first 62 bits of the SHA-256 of its UTF-8.

        Raises
        ------
        UsageError
            A value outside of the domain, or texts with another number of cells.
        """
        if np.asarray(values).dtype.kind not in "UO":
            return super().check_values(values)
        # As objects, since NumPy's texts would lose a NUL at the end.
        texts = np.asarray(values, np.object_)
        if texts.ndim != 1 or not all(isinstance(value, str) for value in texts):
            raise UsageError(
                "Give values as a list of whole numbers, or of texts.",
                code="values-not-whole-or-texts",
            )
        if self.cells != MAX_CELLS:
            raise UsageError(
                f"{self.name} takes texts only with cells=2**62; set cells to that.",
                code="texts-need-all-cells",
            )
        # 62 bits, so that numbers of texts stay below the largest domain.
        digests = (hashlib.sha256(text.encode()).digest()[:8] for text in texts)
        return np.array([int.from_bytes(value, "big") >> 2 for value in digests], np.uint64)

    @property
    def sums(self) -> int:
        """The number of sums: one for each column of each row."""
        return self.k * self.m

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The first seed, rows, hash functions of a row, and columns."""
        return self.seed << 32, self.k, 1, self.m

    def count(self, state: State, value: NDArray[np.uint64] | None) -> NDArray[np.float64]:
        """Sum the value's columns over all rows, less the share of other values in them."""
        wanted = np.arange(self.cells, dtype=np.uint64) if value is None else value
        support = np.empty(wanted.size, np.int64)
        hashing.sum_columns(wanted, np.array(self.shape, np.uint64), self.columns(state), support)
        # Every column holds an even share of the other values, as hashes are uniform.
        return part_from_others(self.undo(support, state.reports), state.reports, 1 / self.m)

    @abstractmethod
    def columns(self, state: State) -> NDArray[np.int64]:
        """Compute what reports contribute to each column: int64[k * m]."""

    @abstractmethod
    def undo(self, support: NDArray[np.int64], n: int) -> NDArray[np.float64]:
        """Estimate how many reports have a column, from what they contribute to it."""


def part_from_others(held: NDArray[np.float64], n: int, share: float) -> NDArray[np.float64]:
    """Estimate counts of values from counts of columns, which hold a share of all other values."""
    return np.asarray((held - n * share) / (1 - share), np.float64)


@dataclass(frozen=True, kw_only=True)
class Cms(Sketch):
    """A report has a bit for each column, each flipped with chance ``1 / (1 + sqrt(e))``."""

    name: ClassVar[str] = "cms"
    title: ClassVar[str] = "private count mean sketch (Apple 2017)"
    guarantee = guarantee_of_report(
        "Apple (2017), appendix: the row is drawn without the value, and two values differ "
        "in two bits of it at most, each with a factor of sqrt(e)"
    )

    @property
    def report_type(self) -> np.dtype[Any]:
        """The row, and its bits."""
        return bits_type(self.m, self.k)

    @property
    def reach(self) -> int:
        """The largest total that one report adds to the sums: 1 for each of its ones."""
        return self.m

    @property
    def flip_chances(self) -> tuple[Chance, Chance]:
        """The chances that a 0, and that a 1, is flipped."""
        chance = Chance(1, 1, self.epsilon / 2)
        return chance, chance

    def draw(self, value: NDArray[np.uint64], coins: Coins) -> NDArray[Any]:
        """Draw a row and a coin for each bit."""
        return draw_bits(self, value, self.shape, self.flip_chances, coins)

    def collect(self, reports: NDArray[Any]) -> State:
        """Count the ones of each column."""
        return count_bits(self, reports, self.m, self.k)

    def columns(self, state: State) -> NDArray[np.int64]:
        """Return the ones of each column."""
        return state.dense()

    def undo(self, support: NDArray[np.int64], n: int) -> NDArray[np.float64]:
        """Subtract the ones that coins are expected to have added."""
        return unbias(support, n, *self._chances)

    def variance(self, n: float, count: float = 0) -> float:
        """Compute ``n (m / (m - 1))**2 V + (n - count) / (m - 1)``, V the variance of ``sue``."""
        one = indicator_variance(*self._chances, 1, 0)
        return n * one * (self.m / (self.m - 1)) ** 2 + (n - count) / (self.m - 1)

    @property
    def _chances(self) -> tuple[float, float]:
        root = math.exp(self.epsilon / 2)
        return root / (1 + root), 1 / (1 + root)


@dataclass(frozen=True, kw_only=True)
class Hcms(Sketch):
    """A report is one bit of the row's Hadamard transform, flipped with chance ``1 / (1 + e)``.

    ``m`` is a power of two.
    """

    name: ClassVar[str] = "hcms"
    title: ClassVar[str] = "private Hadamard count mean sketch (Apple 2017)"
    guarantee = guarantee_of_report(
        "Apple (2017), appendix: row and column are drawn without the value, and the bit is "
        "Warner's randomised response"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        # Hadamard matrices of this form exist for powers of two only.
        if self.m & (self.m - 1):
            raise UsageError("m of hcms must be a power of two.", code="hcms-power-of-two")

    @property
    def report_type(self) -> np.dtype[Any]:
        """Row and column, and 1 for an entry of -1."""
        return np.dtype([("row", "<u4"), ("column", "<u4"), ("bit", "u1")])

    @property
    def flip_chances(self) -> tuple[Chance, ...]:
        """The chance that the bit is flipped."""
        return (Chance(1, 1, self.epsilon),)

    def draw(self, value: NDArray[np.uint64], coins: Coins) -> NDArray[Any]:
        """Draw a row, a column and a coin for each value."""
        row, column = np.empty(value.size, np.uint64), np.empty(value.size, np.uint64)
        bit, shape = np.empty(value.size, np.uint8), np.array(self.shape, np.uint64)
        arguments = value, shape, row, column, bit
        coins.fill(hashing.project_hashed, arguments, value.size, 3, self.flip_chances)
        return make_reports(self.report_type, row=row, column=column, bit=bit)

    def collect(self, reports: NDArray[Any]) -> State:
        """Add up the entries of each column of each row."""
        row, bit = rows_of(self, reports, self.k), reports["bit"]
        column = field_of(reports, "column")
        require_fitting(column < self.m, self, "column", "below the number of columns")
        require_fitting(bit <= 1, self, "bit", "0 or 1")
        key = row * np.uint64(self.m) + column
        return State.of_keys(self, row.size, key, 1 - 2 * bit.astype(np.int64))

    def columns(self, state: State) -> NDArray[np.int64]:
        """Transform each row by the Hadamard matrix."""
        total = state.dense()
        # Each row is transformed by itself: its bits are of one Hadamard matrix.
        for start in range(0, total.size, self.m):
            oracles.transform(total[start : start + self.m])
        return total

    def undo(self, support: NDArray[np.int64], n: int) -> NDArray[np.float64]:
        """Undo the flips."""
        return np.asarray(support * correction(self.epsilon), np.float64)

    def variance(self, n: float, count: float = 0) -> float:
        """Compute the variance ``(m / (m - 1))**2 (n c**2 - (n - count) / m**2 - count)``.

        Here ``c = (e + 1) / (e - 1)``.
        """
        inner = n * correction(self.epsilon) ** 2 - (n - count) / self.m**2 - count
        return inner * (self.m / (self.m - 1)) ** 2


ORACLES = (Cms, Hcms)
