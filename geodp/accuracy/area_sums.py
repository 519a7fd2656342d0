"""Released sums of official areas and regions that are nodes of the order, with their errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.closed_form import Variances
from geodp.grid.coarsen import coarser_lattice
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import CELL
from geodp.grid.order import Order
from geodp.privacy.event import TableEvent
from geodp.reprs import one_line
from geodp.table.counts import ReleasedTable
from geodp.typing import CountArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Areas:
    """The areas of one level with counts other than 0, in key order.

    Attributes
    ----------
    level : str
        Name of the published areas or of the regions.
    event : TableEvent
        The release's privacy loss, for all levels together.
    count : int64[n] or float64[n]
        Exact sums of the cells of each area.
    standard_error : float64[n] or None
        Closed form, for the part of each area in the domain; None if there is none.
    table : ReleasedTable or None
        For published areas: the counts on a grid of areas.
    texts : dict of str to list of str
        For regions: the codes of each and of the regions that contain it, by level; then the
        labels of attributes that come above them.
    """

    __repr__ = one_line

    level: str
    event: TableEvent
    count: CountArray = field(repr=False)
    standard_error: FloatArray | None = field(repr=False)
    table: ReleasedTable | None = None
    texts: dict[str, list[str]] = field(default_factory=dict, repr=False)


def areas_of(table: ReleasedTable, variances: Variances | None) -> Iterator[Areas]:
    """Yield sums of the areas of every level, the coarsest first.

    Parameters
    ----------
    table : ReleasedTable
    variances : callable, optional
        Variances of blocks; without them no area has a standard error.
    """
    grid = table.grid
    for level, digits in grid.areas.above_cells:
        stride = prod(grid.order.radices[digits:])
        node = table.key // np.uint64(stride)
        first = np.flatnonzero(np.append(True, node[1:] != node[:-1])[: node.size])
        count = np.add.reduceat(table.count, first) if first.size else table.count
        # Counts below 0 may cancel: an area with listed cells can have the sum 0.
        first, count = first[count != 0], count[count != 0]
        node = node[first]
        variance = None if variances is None else variances(stride, node)
        # Rounding may leave a variance slightly below 0.
        error = None if variance is None else np.sqrt(np.maximum(variance, 0.0))
        if grid.areas.tables:
            index = grid.decode(node * np.uint64(stride))
            names = _names_of(grid, level, digits, index)
            yield Areas(level, table.event, count, error, None, names)
        else:
            published = ReleasedTable(_grid_of(grid, level, digits), node, count, table.event)
            yield Areas(level, table.event, count, error, published)


def codes_of(grid: Grid, digits: int, node: NDArray[np.uint64]) -> list[str] | None:
    """Return the codes of nodes that are cells or areas; None if the nodes have no codes.

    A region's code consists of those of the regions that contain it and its own, the coarsest
    first, joined by slashes. Labels of attributes are not part of codes.

    Parameters
    ----------
    digits : int
        Number of first digits of a key that identify a node.
    node : uint64[n]
    """
    radices, names = grid.order.radices, {n: name for name, n in grid.areas.above_cells}
    names[len(radices)] = grid.names.level
    index = grid.decode(node * np.uint64(prod(radices[digits:])))
    if names.get(digits) == CELL:
        place = grid.maps.one
        return None if place is None else list(place.format(index[0], index[1]))
    if digits not in names:
        return None
    if grid.areas.tables:
        texts = _names_of(grid, names[digits], digits, index)
        return ["/".join(path) for path in zip(*_regions(grid, texts), strict=True)]
    areas = _grid_of(grid, names[digits], digits)
    at = areas.decode(node)
    return list(areas.places[0].format(at[0], at[1]))


def _regions(grid: Grid, texts: dict[str, list[str]]) -> list[list[str]]:
    """Return the codes by level, without the labels of attributes."""
    (regions,) = grid.areas.tables
    names = grid.maps.name_columns(*regions.levels)
    return [texts[name] for name in names if name in texts]


def _grid_of(grid: Grid, level: str, digits: int) -> Grid:
    """Return the grid of the areas of a level, with the attributes that come above them.

    The order is the same.
    """
    side = dict(grid.maps.areas)[level]
    axes, radices = grid.order.axes[:digits], grid.order.radices[:digits]
    spatial = len(grid.shape) - len(grid.attributes)
    above = [i for i in range(len(grid.attributes)) if spatial + i in axes]
    number = {0: 0, 1: 1, **{spatial + old: spatial + new for new, old in enumerate(above)}}
    offset = [first // side for first in grid.order.offset[:2]] + [0] * len(above)
    # Keys of areas are those of their cells without the last digits.
    order = Order(tuple(number[axis] for axis in axes), radices, tuple(offset))
    attributes = tuple(grid.attributes[i] for i in above)
    return Grid((coarser_lattice(grid.places[0], side),), attributes, order=order)


def _names_of(grid: Grid, level: str, digits: int, index: IntArray) -> dict[str, list[str]]:
    """Return codes and labels of regions, from the indices of a cell in each."""
    (regions,) = grid.areas.tables
    names: dict[str, list[str]] = {}
    for end, prefix in enumerate(grid.maps.prefixes):
        at = np.searchsorted(regions.number, regions.number_of(index[2 * end : 2 * end + 2]))
        for number in range(regions.levels.index(level) + 1):
            texts = np.array(regions.codes[number])
            names[prefix + regions.levels[number]] = texts[regions.region[number, at]].tolist()
    spatial = len(grid.shape) - len(grid.attributes)
    for i, attribute in enumerate(grid.attributes):
        if spatial + i in grid.order.axes[:digits]:
            names[attribute.name] = np.array(attribute.labels)[index[spatial + i]].tolist()
    return names
