"""Errors of the sums over aligned blocks of cells, and what else one release tells.

All of it works on the keys that the truth or the release names, or on all keys where the grid
is small, so a grid of any size is evaluated in time and memory of its occupied cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.table.counts import CountTable
from geodp.table.released import ReleasedTable

Keys = NDArray[np.uint64] | None
"""Keys that go with values; None: the values of all keys, in key order."""

CLASSES = (0, 1, 10, 100, 1000)
"""Smallest true count of every class of cells."""

CLASS_NAMES = ("0", "1-9", "10-99", "100-999", "1000+")

HOT_AREAS = (1, 16, 256)
"""Cells of the blocks among which hot spots are sought."""

HOT_COUNTS = (10, 100, 1000)
"""How many hot spots are sought."""

CHUNK = 64
"""Values of which only the largest counts where the largest of many are sought."""

MAX_KEYS = 1 << 26
"""Most keys of a grid whose vectors of all keys are made."""


def shifts_of(grid: Grid) -> tuple[int, ...]:
    """Bits of the blocks: 0, 2, 4 ... and all.

    Examples
    --------
    >>> shifts_of(Grid.regular((8, 4)))
    (0, 2, 4, 5)
    """
    return (*range(0, grid.bits, 2), grid.bits)


def coarser(key: Keys, values: NDArray[Any], shift: int) -> tuple[Keys, NDArray[Any]]:
    """Sum over blocks of ``2**shift`` keys.

    Parameters
    ----------
    key : uint64[n] or None
        Strictly increasing.
    values : array[n]
        With None of length ``2**bits``.
    shift : int

    Returns
    -------
    key : uint64[m] or None, values : array[m]
        ``key >> shift`` of the blocks that hold a key.
    """
    if not shift or not values.size:
        return key, values
    if key is None:
        for _ in range(shift // 2):
            values = (values[::4] + values[1::4]) + (values[2::4] + values[3::4])
        return None, values[::2] + values[1::2] if shift % 2 else values
    return sum_blocks(key >> np.uint64(shift), values)


def sum_blocks(
    block: NDArray[np.uint64], values: NDArray[Any]
) -> tuple[NDArray[np.uint64], NDArray[Any]]:
    """Every block once, with the sum of its values; blocks increase, and there is one or more."""
    start = np.flatnonzero(np.append(True, block[1:] != block[:-1]))
    return block[start], np.add.reduceat(values, start)


def hottest(key: Keys, values: NDArray[Any], most: int) -> NDArray[np.uint64]:
    """Keys of the largest values above 0, largest first; of equal ones the lowest key first."""
    n = values.size
    if n < CHUNK * most:
        found = np.flatnonzero(values > 0)
    else:  # as many chunks have a value of at least this, so all the largest values are as large
        largest = values[: n - n % CHUNK].reshape(-1, CHUNK).max(axis=1)
        least = np.partition(largest, largest.size - most)[largest.size - most]
        found = np.flatnonzero(values >= least) if least > 0 else np.flatnonzero(values > 0)
    by_size = found[np.argsort(-values[found], kind="stable")[:most]]
    return by_size.astype(np.uint64) if key is None else key[by_size]


class Truth:
    """What the confidential table says, prepared once for many releases.

    Parameters
    ----------
    table : CountTable
    """

    def __init__(self, table: CountTable) -> None:
        grid = table.grid
        self.table = table
        self.shifts = shifts_of(grid)
        self.blocks = np.array(grid.domain.count_blocks(self.shifts), np.float64)
        self.total = int(table.count.sum())
        self.of_class = np.searchsorted(CLASSES, table.count, side="right") - 1
        self.class_cells = np.bincount(self.of_class, minlength=len(CLASSES))
        self.class_cells[0] = grid.size - table.key.size
        self.hot: dict[int, NDArray[np.uint64]] = {}
        for area in HOT_AREAS:
            if area <= 1 << grid.bits:
                blocks = coarser(table.key, table.count, area.bit_length() - 1)
                self.hot[area] = hottest(*blocks, HOT_COUNTS[-1])
        self._vector: NDArray[np.int64] | None = None

    def beside(
        self, released: ReleasedTable
    ) -> tuple[Keys, NDArray[np.int64], NDArray[Any], NDArray[np.int64]]:
        """Return the true and the released values side by side.

        Returns
        -------
        key : uint64[n] or None
        true : int64[n], given : int64[n] or float64[n]
        at : int64[m]
            Where the true table's keys are.
        """
        n = 1 << self.table.grid.bits
        if n <= MAX_KEYS and n <= max(1 << 14, 4 * (self.table.key.size + released.key.size)):
            if self._vector is None:
                self._vector = self.table.to_vector()
            return None, self._vector, released.to_vector(), self.table.key.astype(np.int64)
        both = np.concatenate([self.table.key, released.key])
        both.sort(kind="stable")  # two sorted runs: merged
        key = both[np.append(True, both[1:] != both[:-1])[: both.size]]
        true = np.zeros(key.size, np.int64)
        given = np.zeros(key.size, released.count.dtype)
        at = np.searchsorted(key, self.table.key)
        true[at] = self.table.count
        given[np.searchsorted(key, released.key)] = released.count
        return key, true, given, at

    def errors(self, released: ReleasedTable) -> tuple[dict[str, Any], Keys, NDArray[Any]]:
        """All figures of one release, and the errors that they come from.

        Returns
        -------
        figures : dict
            Arrays by name: ``absolute``, ``square``, ``signed`` (means over blocks), ``worst``
            by block size, the same with ``class_`` by class of true count (sums), and numbers.
        key : uint64[n] or None, error : int64[n] or float64[n]
            Released less true, of cells.
        """
        key, true, given, at = self.beside(released)
        error = given - true
        figures: dict[str, Any] = self._by_area(key, error)
        figures |= self._by_class(error, at)
        figures["negative"] = int((released.count < 0).sum())
        figures["nonzero"] = released.key.size
        figures["total_variation"] = total_variation(true, given)
        for area, wanted in self.hot.items():
            found = hottest(*coarser(key, given, area.bit_length() - 1), HOT_COUNTS[-1])
            for k in HOT_COUNTS:
                if k <= wanted.size:
                    hits = np.intersect1d(wanted[:k], found[:k], assume_unique=True).size
                    figures[f"hot_{area}_{k}"] = hits / k
        return figures, key, error

    def _by_area(self, key: Keys, error: NDArray[Any]) -> dict[str, Any]:
        rows = []
        before = 0
        for shift in self.shifts:
            key, error = coarser(key, error, shift - before)
            before = shift
            rows.append(_sums(error))
        absolute, square, signed, worst = np.array(rows).T
        return {
            "absolute": absolute / self.blocks,
            "square": square / self.blocks,
            "signed": signed / self.blocks,
            "worst": worst,
        }

    def _by_class(self, error: NDArray[Any], at: NDArray[np.int64]) -> dict[str, Any]:
        empty = error.copy()
        empty[at] = 0
        ours = error[at].astype(np.float64)
        figures = {}
        for name, nobody, weights in zip(
            ("absolute", "square", "signed"),
            _sums(empty),
            (np.abs(ours), ours * ours, ours),
            strict=False,
        ):
            sums = np.bincount(self.of_class, weights, minlength=len(CLASSES)).astype(np.float64)
            sums[0] = nobody
            figures[f"class_{name}"] = sums
        return figures


def _sums(error: NDArray[Any]) -> tuple[float, float, float, float]:
    """Absolute, square and signed sum of errors, and the largest absolute one."""
    if not error.size:
        return 0.0, 0.0, 0.0, 0.0
    real = error.astype(np.float64, copy=False)
    size = np.abs(real)
    # Not by the dot product: BLAS's sums change with the number of threads.
    return float(size.sum()), float((size * size).sum()), float(real.sum()), float(size.max())


def total_variation(true: NDArray[np.int64], given: NDArray[Any]) -> float:
    """Half the L1 distance of the two shares of people, negative released counts taken as 0.

    1 where one of the two has nobody, and 0 where both have nobody.

    Examples
    --------
    >>> total_variation(np.array([1, 1, 0]), np.array([2.0, -5.0, 2.0]))
    0.5
    """
    above = np.maximum(given, 0)
    people, released = float(true.sum()), float(above.sum())
    if people == 0 or released == 0:
        return float(people != released)
    return float(np.abs(above / released - true / people).sum()) / 2
