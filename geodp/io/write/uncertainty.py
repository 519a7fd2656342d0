"""What files say beside a count of how far it may be off."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from geodp.reprs import one_line
from geodp.table.card import Card

ERROR, LOW, HIGH = BESIDE = ("standard_error", "low", "high")
"""Columns of tables after the count, and the raster's bands after the counts; a method whose error
depends on the data has none of them, and areas have the first."""


class Intervals(Protocol):
    """95 % intervals of single cells.

    Attributes
    ----------
    alike : int
        Cells released as 0 have one interval within an aligned block of so many keys.
    """

    @property
    def alike(self) -> int:
        """As above."""

    def of(self, key: NDArray[np.uint64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Low and high ends for cells of the domain: float64[n] each; ``key``: uint64[n]."""
        ...

    def unlisted(self, error: float) -> tuple[float, float, float]:
        """Return where intervals of cells that are not listed begin, and end at most.

        Ends: with company and alone; ``error``: the largest standard error of a cell.
        """
        ...


@dataclass(frozen=True, eq=False)
class RowErrors:
    """What is said of the errors of a table.

    Attributes
    ----------
    standard_error : float or float64[n]
        Closed form, of every row, or one for all rows, in counts.
    intervals : Intervals, optional
        None for areas.
    """

    __repr__ = one_line

    standard_error: float | NDArray[np.float64] = field(repr=False)
    intervals: Intervals | None = field(default=None, repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns."""
        return BESIDE[:1] if self.intervals is None else BESIDE

    def columns(self, key: NDArray[np.uint64], rows: slice) -> list[NDArray[np.float64]]:
        """Return the columns of some rows: float64[n] each.

        Standard errors have six significant digits, the ends of intervals three decimals.

        Parameters
        ----------
        key : uint64[n]
            Of the rows' cells.
        rows : slice
            Which they are in the table.
        """
        error = self.standard_error
        once = np.array([error]) if isinstance(error, float) else error[rows]
        each = np.broadcast_to(six_digits(once), key.shape)
        ends = () if self.intervals is None else widen(*self.intervals.of(key))
        return [each, *ends]


def extra_columns_of(card: Card) -> tuple[str, ...]:
    """Return the names of the columns beside the count in the tables of a card's cells."""
    error = card.expected_error
    return () if error.blocks is None and not error.has_parts else BESIDE


def names_of(errors: RowErrors | None) -> tuple[str, ...]:
    """Names of the columns beside the count."""
    return () if errors is None else errors.names


def widen(
    low: NDArray[np.float64], high: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Intervals with three decimals that hold the given ones: float64[n] each.

    Examples
    --------
    >>> widen(np.array([0.0, 1.2345]), np.array([1.0, 7.0001]))
    (array([0.   , 1.234]), array([1.   , 7.001]))
    """
    below, above = np.floor(low * 1000) / 1000, np.ceil(high * 1000) / 1000
    return np.minimum(below, low), np.maximum(above, high)


def six_digits(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values with six significant digits, as the card has them."""
    once, back = np.unique(values, return_inverse=True)
    return np.array([float(f"{value:.6g}") for value in once.tolist()], np.float64)[back]
