"""Areas whose errors are measured: blocks, random rectangles, polygons, and custom queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.grid.region import Region, boxes_of_polygons, cells_of_polygon, middles_of, shapes_on
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

MOST_BOXED = 1 << 26
"""Most cells of the boxes around polygons, all of which are looked at."""


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


MAX_AXES = 4
"""Maximal axes of a grid on which rectangles are drawn."""

NO_EARTH = Rule("polygons-need-earth", "Polygons need a grid of one map with a place on the Earth.")


@dataclass(frozen=True, eq=False)
class Rectangles:
    """A workload of rectangles: boxes of cells in index order, axis by axis.

    Attributes
    ----------
    low, high : int64[d, r]
        Opposite corners, both inside.
    """

    low: NDArray[np.int64] = field(repr=False)
    high: NDArray[np.int64] = field(repr=False)

    @classmethod
    def random(cls, grid: Grid, n: int, seed: int) -> Rectangles:
        """Draw two uniform corner points for each rectangle, as in DPBench (Hay et al. 2016).

        Rectangles are public, as they depend on the grid and the seed only. Raises UsageError for a
        grid of more than four axes.
        """
        if len(grid.shape) > MAX_AXES:
            raise UsageError(
                f"Rectangles need a grid of at most {MAX_AXES} axes.",
                code="rectangles-of-many-axes",
            )
        size = np.array(grid.shape, np.int64)[:, None, None]
        corners = np.random.default_rng(seed).integers(0, size, (len(grid.shape), n, 2))
        return cls(corners.min(axis=2), corners.max(axis=2))

    def sums(self, grid: Grid, key: Keys, value: NDArray[Any]) -> NDArray[np.float64]:
        """Return sums of cells over every rectangle: float64[r].

        Prefix sums are used if the grid has at most 2**26 cells, otherwise every cell is compared.

        Parameters
        ----------
        key : uint64[n] or None
        value : int64[n] or float64[n]
        """
        if key is None:
            key = np.flatnonzero(value).astype(np.uint64)
            value = value[key.astype(np.int64)]
        index = grid.decode(key)
        # Prefix sums cost as much as the box has cells, direct sums cells times rectangles.
        if prod(grid.shape) <= MAX_KEYS:
            return self._by_prefix_sums(grid.shape, index, value)
        # The cells of a rectangle's rows are found by binary search.
        order = np.argsort(index[0], kind="stable")
        index, value = index[:, order], value[order]
        first = np.searchsorted(index[0], self.low[0])
        last = np.searchsorted(index[0], self.high[0], "right")
        sums = []
        for low, high, *ends in zip(self.low.T, self.high.T, first, last, strict=True):
            rows = index[1:, slice(*ends)].T
            inside = ((rows >= low[1:]) & (rows <= high[1:])).all(axis=1)
            sums.append(value[slice(*ends)][inside].sum())
        return np.array(sums, np.float64)

    def _by_prefix_sums(
        self, shape: tuple[int, ...], index: NDArray[np.int64], value: NDArray[Any]
    ) -> NDArray[np.float64]:
        # Entry i holds the sum of all cells below i on every axis.
        below = np.zeros([size + 1 for size in shape], value.dtype)
        below[tuple(index + 1)] = value
        for axis in range(len(shape)):
            np.cumsum(below, axis=axis, out=below)
        out = np.zeros(self.low.shape[1], value.dtype)
        for upper in product((False, True), repeat=len(shape)):
            corner = np.where(np.array(upper)[:, None], self.high + 1, self.low)
            # Inclusion and exclusion over the corners of the box.
            sign = -1 if upper.count(False) % 2 else 1
            out += sign * below[tuple(corner)]
        return out.astype(np.float64)

    def errors(self, grid: Grid, key: Keys, error: NDArray[Any]) -> dict[str, float]:
        """Return mean absolute and squared error, and the L2 norm of errors over their number."""
        sums = self.sums(grid, key, error)
        square = float(np.square(sums).mean())
        return {
            "rectangle_absolute": float(np.abs(sums).mean()),
            "rectangle_square": square,
            "rectangle_norm": (square / sums.size) ** 0.5,
        }


@dataclass(frozen=True, eq=False)
class Polygons:
    """Named areas of a map: the cells of the domain whose centre lies inside.

    Attributes
    ----------
    names : tuple of str
    place : uint64[n]
        Keys of cells without their attributes' digits.
    polygon : int64[n]
        Number of the polygon that each belongs to; a cell may belong to several.
    stride : int
        Number of keys of a place, one for each combination of labels; a polygon sums over them.
    """

    names: tuple[str, ...]
    place: NDArray[np.uint64] = field(repr=False)
    polygon: NDArray[np.int64] = field(repr=False)
    stride: int

    @classmethod
    def of(cls, grid: Grid, shapes: Mapping[str, Any] | Sequence[Any]) -> Polygons:
        """Find the cells of polygons.

        Parameters
        ----------
        grid : Grid
            One map with a place on the Earth, with attributes, if any, below its places.
        shapes : mapping from name to shapely geometry, or sequence of geometries
            Polygons in the grid's CRS.

        Raises
        ------
        UsageError
            The grid has no map, a shape is not a polygon, or the boxes around the polygons have
            more than 2**26 cells.
        """
        import shapely

        if not isinstance(shapes, Mapping):
            shapes = {str(number): shape for number, shape in enumerate(shapes, start=1)}
        place = grid.require_map(NO_EARTH)
        if place.transform is None:
            raise UsageError(NO_EARTH)
        # With attributes below its places, a place is one run of keys, and a polygon needs no list
        # of labels.
        under = sum(1 for axis in grid.order.axes if axis > 1)
        if any(axis > 1 for axis in grid.order.axes[: len(grid.order.axes) - under]):
            raise UsageError(
                "Polygons need a grid whose attributes come below its places "
                "(--attribute-order below).",
                code="polygons-need-attributes-below",
            )
        stride = prod(grid.order.radices[len(grid.order.axes) - under :])
        for name, shape in shapes.items():
            if not isinstance(shape, shapely.Polygon | shapely.MultiPolygon):
                raise UsageError(
                    f"{name} is not a polygon; give polygons in the grid's CRS.",
                    code="polygon-expected",
                )
        lying = shapes_on(place, [*shapes.values()])
        boxes = boxes_of_polygons(place, lying)
        if sum(prod(max(end.stop - end.start, 0) for end in box) for box in boxes) > MOST_BOXED:
            raise UsageError(
                "The polygons' boxes have more than 2**26 cells; give smaller polygons.",
                code="polygons-too-large",
            )
        members: list[NDArray[np.uint64]] = []
        middles = middles_of(place)
        for shape, box in zip(lying, boxes, strict=True):
            row, col = cells_of_polygon(middles, shape, box)
            index = np.zeros((len(grid.shape), row.size), np.int64)
            index[0], index[1] = row, col
            inside = index[:, grid.contains(index)]
            members.append(grid.order.encode(inside) // np.uint64(stride))
        number = np.repeat(np.arange(len(members)), [part.size for part in members])
        keys = np.concatenate([np.empty(0, np.uint64), *members])
        return cls(tuple(shapes), keys, number.astype(np.int64), stride)

    @property
    def cells(self) -> NDArray[np.int64]:
        """Number of cells of the map's domain in each polygon: int64[p]."""
        return np.bincount(self.polygon, minlength=len(self.names))

    def sums(self, key: Keys, value: NDArray[Any]) -> NDArray[np.float64]:
        """Return sums of cells over every polygon: float64[p]; values: see :func:`coarser`."""
        if key is None:
            key = np.flatnonzero(value).astype(np.uint64)
            value = value[key.astype(np.int64)]
        values = np.zeros(self.place.size)
        if key.size:
            node, sums = sum_blocks(key // np.uint64(self.stride), value)
            at = np.minimum(np.searchsorted(node, self.place), node.size - 1)
            values = np.where(node[at] == self.place, sums[at], 0).astype(np.float64)
        return np.bincount(self.polygon, values, len(self.names)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Queries:
    """A custom workload: named sets of cells.

    Attributes
    ----------
    names : tuple of str
    key : uint64[n]
        Keys of the cells of all queries, one query after the other.
    query : int64[n]
        Number of the query that each belongs to; a cell may belong to several.
    """

    names: tuple[str, ...]
    key: NDArray[np.uint64] = field(repr=False)
    query: NDArray[np.int64] = field(repr=False)

    @classmethod
    def of(cls, grid: Grid, queries: Mapping[str, Any] | Sequence[Any]) -> Queries:
        """Create the workload; each query is a region of :meth:`geodp.grid.region.Region.of`.

        Without names they are numbered from 1. Raises its errors, and UsageError without queries.
        """
        if not isinstance(queries, Mapping):
            queries = {str(number): one for number, one in enumerate(queries, start=1)}
        keys = [Region.of(grid, one).key for one in queries.values()]
        if not keys:
            raise UsageError("Give at least one query.", code="queries-missing")
        number = np.repeat(np.arange(len(keys)), [key.size for key in keys])
        return cls(tuple(map(str, queries)), np.concatenate(keys), number.astype(np.int64))

    @property
    def cells(self) -> NDArray[np.int64]:
        """Number of cells of each query: int64[q]."""
        return np.bincount(self.query, minlength=len(self.names))

    def sums(self, key: Keys, value: NDArray[Any]) -> NDArray[np.float64]:
        """Return sums of cells over every query: float64[q].

        Parameters
        ----------
        key : uint64[n], increasing, or None
        value : int64[n] or float64[n]
        """
        if key is None:
            values = value[self.key.astype(np.int64)]
        elif not key.size:
            values = np.zeros(self.key.size)
        else:
            at = np.minimum(np.searchsorted(key, self.key), key.size - 1)
            values = np.where(key[at] == self.key, value[at], 0)
        return np.bincount(self.query, values, len(self.names)).astype(np.float64)
