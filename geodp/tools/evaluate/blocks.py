"""Errors of sums over aligned blocks of cells, and other figures of one release.

Everything works on the keys of the truth and the release, or on all keys if the grid is small, so
that a grid of any size is evaluated in time and memory of its occupied cells.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.table.counts import CountTable, ReleasedTable

Keys = NDArray[np.uint64] | None
"""Keys of values; None: the values are those of all keys, in key order."""

CLASSES = (0, 1, 10, 100, 1000)
"""Smallest true count of every class of cells."""

CLASS_NAMES = ("0", "1-9", "10-99", "100-999", "1000+")

HOT_AREAS = (1, 16, 256)
"""Numbers of cells of the blocks among which hot spots are sought."""

HOT_COUNTS = (10, 100, 1000)
"""Numbers of hot spots that are sought."""

CHUNK = 64
"""Number of values of which only the largest is compared when the largest of many are sought."""

MAX_KEYS = 1 << 26
"""Maximal keys of a grid for which vectors of all keys are made."""


def shifts_of(grid: Grid) -> tuple[int, ...]:
    """Return the bits of the blocks: 0, 2, 4 ... and all.

    Examples
    --------
    >>> shifts_of(Grid.regular((8, 4)))
    (0, 2, 4, 5)
    """
    return (*range(0, grid.bits, 2), grid.bits)


def coarser(key: Keys, values: NDArray[Any], shift: int) -> tuple[Keys, NDArray[Any]]:
    """Sum values over blocks of ``2**shift`` keys.

    Parameters
    ----------
    key : uint64[n] or None
        Keys, strictly increasing.
    values : array[n]
        Values; of length ``2**bits`` if ``key`` is None.
    shift : int

    Returns
    -------
    key : uint64[m] or None, values : array[m]
        ``key >> shift`` of the blocks that contain a key.
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
    """Return every block once, in increasing order, with the sum of its values.

    At least one block.
    """
    start = np.flatnonzero(np.append(True, block[1:] != block[:-1]))
    return block[start], np.add.reduceat(values, start)


def hottest(key: Keys, values: NDArray[Any], number: int) -> NDArray[np.uint64]:
    """Return the keys of the largest values above 0, largest first.

    Among equal values, the lowest key comes first.
    """
    n = values.size
    if n < CHUNK * number:
        positions = np.flatnonzero(values > 0)
    else:
        # That many chunks have a value of at least `lowest`, so no smaller value is among the
        # largest. Partitioning the maxima of chunks avoids sorting a vector of all keys.
        largest = values[: n - n % CHUNK].reshape(-1, CHUNK).max(axis=1)
        lowest = np.partition(largest, largest.size - number)[largest.size - number]
        positions = np.flatnonzero(values >= lowest) if lowest > 0 else np.flatnonzero(values > 0)
    by_size = positions[np.argsort(-values[positions], kind="stable")[:number]]
    return by_size.astype(np.uint64) if key is None else key[by_size]


class Truth:
    """The confidential table, prepared once for many releases.

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

    def align(
        self, released: ReleasedTable
    ) -> tuple[Keys, NDArray[np.int64], NDArray[Any], NDArray[np.int64]]:
        """Align the true and the released values by key.

        Returns
        -------
        key : uint64[n] or None
        true : int64[n], given : int64[n] or float64[n]
        at : int64[m]
            Positions of the true table's keys.
        """
        n = 1 << self.table.grid.bits
        # Vectors of all keys are faster than merging keys, unless most of them are empty.
        if n <= MAX_KEYS and n <= max(1 << 14, 4 * (self.table.key.size + released.key.size)):
            if self._vector is None:
                self._vector = self.table.to_vector()
            return None, self._vector, released.to_vector(), self.table.key.astype(np.int64)
        both = np.concatenate([self.table.key, released.key])
        both.sort(kind="stable")  # two sorted runs: merged
        key = both[np.append(True, both[1:] != both[:-1])[: both.size]]
        true = np.zeros(key.size, np.int64)
        estimate = np.zeros(key.size, released.count.dtype)
        at = np.searchsorted(key, self.table.key)
        true[at] = self.table.count
        estimate[np.searchsorted(key, released.key)] = released.count
        return key, true, estimate, at

    def errors(self, released: ReleasedTable) -> tuple[dict[str, Any], Keys, NDArray[Any]]:
        """Return all figures of one release, and the errors that they are computed from.

        Returns
        -------
        figures : dict
            Arrays by name: ``absolute``, ``square``, ``signed`` (means over blocks), ``worst``
            by block size; with the prefix ``class_``, sums by class of true count; and numbers.
        key : uint64[n] or None, error : int64[n] or float64[n]
            Released minus true counts of cells.
        """
        key, true, estimate, at = self.align(released)
        error = estimate - true
        figures: dict[str, Any] = self._by_area(key, error)
        figures |= self._by_class(error, at)
        figures["negative"] = int((released.count < 0).sum())
        figures["nonzero"] = released.key.size
        figures["total_variation"] = total_variation(true, estimate)
        for area, true_blocks in self.hot.items():
            hot_blocks = hottest(*coarser(key, estimate, area.bit_length() - 1), HOT_COUNTS[-1])
            for k in HOT_COUNTS:
                if k <= true_blocks.size:
                    hits = np.intersect1d(true_blocks[:k], hot_blocks[:k], assume_unique=True).size
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
        # Errors of cells that are truly empty are those of all keys without the occupied ones.
        empty = error.copy()
        empty[at] = 0
        ours = error[at].astype(np.float64)
        figures = {}
        for name, empty_sum, weights in zip(
            ("absolute", "square", "signed"),
            _sums(empty),
            (np.abs(ours), ours * ours, ours),
            strict=False,
        ):
            sums = np.bincount(self.of_class, weights, minlength=len(CLASSES)).astype(np.float64)
            sums[0] = empty_sum
            figures[f"class_{name}"] = sums
        return figures


def _sums(error: NDArray[Any]) -> tuple[float, float, float, float]:
    """Return the absolute, squared and signed sum of errors, and the largest absolute error."""
    if not error.size:
        return 0.0, 0.0, 0.0, 0.0
    real = error.astype(np.float64, copy=False)
    size = np.abs(real)
    # Not the dot product, as BLAS's sums depend on the number of threads.
    return float(size.sum()), float((size * size).sum()), float(real.sum()), float(size.max())


def total_variation(true: NDArray[np.int64], estimate: NDArray[Any]) -> float:
    """Return half the L1 distance of the two distributions of people, negative counts taken as 0.

    The result is 1 if only one of the two is empty, and 0 if both are.

    Examples
    --------
    >>> total_variation(np.array([1, 1, 0]), np.array([2.0, -5.0, 2.0]))
    0.5
    """
    above = np.maximum(estimate, 0)
    people, released = float(true.sum()), float(above.sum())
    if people == 0 or released == 0:
        return float(people != released)
    return float(np.abs(above / released - true / people).sum()) / 2
