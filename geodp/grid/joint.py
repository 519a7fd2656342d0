"""Parts of a map's cells: combinations of the labels of all attributes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid


@dataclass(frozen=True, eq=False)
class Joint:
    """A map and the parts of its cells, for a grid whose keys end with the attributes.

    Attributes
    ----------
    map : Grid
        The grid without its attributes.
    labels : tuple of int
        Number of labels of each attribute.
    width : int
        Number of keys of the grid that a cell of the map covers.
    low : uint64[parts]
        Offset of each part's key from its cell's first key, strictly increasing; the last
        attribute's labels vary fastest.
    """

    map: Grid
    labels: tuple[int, ...]
    width: int
    low: NDArray[np.uint64] = field(repr=False)

    @property
    def parts(self) -> int:
        """Number of combinations of labels."""
        return self.low.size

    def split(self, key: NDArray[np.uint64]) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return cell and part of keys of the grid's domain: uint64[n], int64[n]."""
        width = np.uint64(self.width)
        cell = key // width
        return cell, self._part[key - cell * width]

    @cached_property
    def _part(self) -> NDArray[np.int64]:
        """Part of every offset of a key: int64[width]."""
        part = np.zeros(self.width, np.int64)
        part[self.low] = np.arange(self.parts)
        return part

    def join(self, cell: NDArray[np.uint64], part: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Return the keys of parts of cells: uint64[n]."""
        return np.asarray(cell * np.uint64(self.width) + self.low[part], np.uint64)


def split_grid(grid: Grid) -> Joint | None:
    """Return the map and the parts of a grid; None if attributes come above any part of the map.

    A grid without attributes has one part.
    """
    spatial = len(grid.shape) - len(grid.attributes)
    order = grid.order
    digits = sum(axis < spatial for axis in order.axes)
    # Only then is a cell of the map one run of keys, so that its parts differ in the last digits.
    if any(axis >= spatial for axis in order.axes[:digits]):
        return None
    width = prod(order.radices[digits:])
    labels = tuple(len(attribute.labels) for attribute in grid.attributes)
    places_order = order.without_attributes(digits, spatial)
    mask = grid.mask
    if mask is not None:
        mask = replace(mask, ranges=mask.ranges // np.uint64(width))
    places = Grid(grid.places, (), grid.extents, mask, places_order)
    first = order.decode(np.zeros(1, np.uint64), len(grid.shape))
    index = np.repeat(first, prod(labels), axis=1)
    index[spatial:] = np.indices(labels).reshape(len(labels), prod(labels))
    return Joint(places, labels, width, order.encode(index))
