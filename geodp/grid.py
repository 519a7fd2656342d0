"""Grids: products of axes with a public domain and an order of cells.

A grid never looks at data. Its extent comes from a code system, from bounds or from a mask
that the caller names; indices count from the lower left cell northwards and eastwards where
the grid has a code system, and as the transform says elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import prod
from operator import index as whole
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError, UsageError
from geodp.gridcode import CodeSystem, code_system
from geodp.lattice import Lattice, Transform
from geodp.order import Order, bits_for


@dataclass(frozen=True)
class Attribute:
    """One axis that is no place: sex, age band, hour. ``labels`` name its indices."""

    name: str
    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        texts = all(isinstance(text, str) and text for text in (self.name, *self.labels))
        if not texts or not self.labels or len(set(self.labels)) != len(self.labels):
            raise UsageError("An attribute has a name and labels: texts that differ.")

    def describe(self) -> dict[str, Any]:
        """Plain values for the release card."""
        return {"attribute": self.name, "labels": list(self.labels)}


@dataclass(frozen=True)
class Mask:
    """The public part of a grid where people can be: disjoint, sorted ranges of keys.

    Attributes
    ----------
    ranges : uint64[r, 2]
        [start, stop) each, padded attribute indices included.
    cells : int
        Cells of the spatial axes inside.
    source : str
        Where the mask comes from, in words: published with every release.
    """

    ranges: NDArray[np.uint64] = field(repr=False)
    cells: int
    source: str

    @property
    def sha256(self) -> str:
        """Digest of the ranges."""
        return hashlib.sha256(self.ranges.astype("<u8").tobytes()).hexdigest()


@dataclass(frozen=True, eq=False)
class Grid:
    """A product of places and attributes, with an order of cells and an optional mask.

    Attributes
    ----------
    places : tuple of Lattice
        One for a map, two for origin and destination.
    attributes : tuple of Attribute
    extents : tuple of int
        Sizes of plain axes, for a grid without any place.
    mask : Mask, optional
    order : Order
        Axes are numbered place by place (row, column), then plain axes, then attributes.
        Default: the bits of places and plain axes interleaved, attributes under them.

    Examples
    --------
    >>> kanto = Grid.mesh("jis:half", bounds=(138, 35, 141.2, 37.1333333333))
    >>> kanto.shape, kanto.bits
    ((512, 512), 18)
    >>> kanto.with_attribute("sex", ["male", "female"]).shape
    (512, 512, 2)
    >>> Grid.regular((94, 168)).pairs().bits
    30
    """

    places: tuple[Lattice, ...]
    attributes: tuple[Attribute, ...] = ()
    extents: tuple[int, ...] = ()
    mask: Mask | None = None
    order: Order = field(default=None)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if self.order is None:
            object.__setattr__(self, "order", self._morton())
        if len(set(self.axis_names)) != len(self.axis_names):
            raise UsageError(f"Axes need different names: {', '.join(self.axis_names)}.")
        offset = self.order.offset or (0,) * len(self.shape)
        if len(offset) != len(self.shape) or min(offset) < 0:
            raise UsageError("An order's offset has a number, 0 or more, for every axis.")
        capacity = [1] * len(self.shape)
        for axis, radix in zip(self.order.axes, self.order.radices, strict=True):
            if not 0 <= axis < len(capacity):
                raise UsageError(f"The order names axis {axis}; the grid has {len(capacity)}.")
            capacity[axis] *= radix
        sizes = (size + first for size, first in zip(self.shape, offset, strict=True))
        if any(room < size for room, size in zip(capacity, sizes, strict=True)):
            raise UsageError("The order has too few digits for the sizes of the grid's axes.")
        if self.mask is not None and (len(self.places) != 1 or self.order != self._morton()):
            raise UsageError("A mask needs a grid of one map in Morton order.")

    @classmethod
    def regular(
        cls,
        shape: Sequence[int],
        *,
        crs: Any = None,
        transform: Sequence[float] | None = None,
    ) -> Grid:
        """A grid of equal cells, with or without a place on the Earth.

        Parameters
        ----------
        shape : sequence of int
            (rows, columns), or the sizes of any number of plain axes.
        crs, transform : optional
            Of a two-dimensional grid: a CRS as text, or of rasterio or pyproj; the transform takes
            (column, row) to coordinates, as rasterio's ``Affine`` does, and needs a CRS to be
            written to a map.
        """
        try:
            sizes = tuple(whole(size) for size in shape)
        except TypeError:
            raise UsageError("A shape is a sequence of whole numbers: (rows, columns).") from None
        if not sizes or min(sizes) < 1:
            raise UsageError("A shape has at least one axis, and every axis at least one cell.")
        if len(sizes) == 2:
            affine = None if transform is None else _six(transform)
            return cls((Lattice(*sizes, crs=_crs_text(crs), transform=affine),))
        if crs is not None or transform is not None:
            raise UsageError("Only a grid of two axes (rows, columns) takes a CRS and a transform.")
        return cls((), extents=sizes)

    @classmethod
    def mesh(
        cls, system: str | CodeSystem, *, bounds: Sequence[float | Fraction] | None = None
    ) -> Grid:
        """The cells of a published code system, such as ``"jis:half"`` or ``"inspire:1km"``.

        Parameters
        ----------
        system : str or CodeSystem
        bounds : (west, south, east, north), optional
            In the code system's CRS, along cell edges. Default: its whole public extent.
        """
        found = code_system(system) if isinstance(system, str) else system
        return cls((Lattice.of_system(found, bounds),))

    def with_attribute(self, name: str, labels: Sequence[str]) -> Grid:
        """This grid times an attribute; its bits come under the places' in the key."""
        self._require_morton()
        attributes = (*self.attributes, Attribute(name, tuple(labels)))
        mask = self.mask
        if mask is not None:  # every cell of the map becomes a run of keys
            mask = replace(mask, ranges=mask.ranges << np.uint64(bits_for(len(labels))))
        return Grid(self.places, attributes, self.extents, mask)

    def pairs(self) -> Grid:
        """Origins times destinations, both on this grid."""
        if len(self.places) != 1 or self.mask is not None:
            raise UsageError("Pairs are made of one map without a mask.")
        self._require_morton()
        return Grid(self.places * 2, self.attributes)

    def _require_morton(self) -> None:
        if self.order != self._morton():
            raise UsageError("Build the grid first and give it its own order last.")

    def with_order(self, order: Order) -> Grid:
        """This grid with another order of its cells."""
        return replace(self, order=order)

    def with_official_order(self) -> Grid:
        """This map with its cells in the order of the code system's published areas.

        Every published area is then a run of keys: 80 km, 10 km, 5 km and 1 km meshes of Japan;
        100, 10 and 1 km cells of Europe. Attributes come below the cells.

        Raises UsageError for a grid without a code system, of pairs, or with a mask.
        """
        if len(self.places) != 1 or self.places[0].system is None or self.mask is not None:
            raise UsageError("Official areas need one map of a code system, without a mask.")
        (place,) = self.places
        assert place.system is not None
        largest = place.system.areas[0][1]
        offset = (place.row0 % largest, place.col0 % largest)
        digits = [
            (axis, -(-(first + size) // largest))
            for axis, (first, size) in enumerate(zip(offset, self.shape, strict=False))
        ]
        sides = [side for _, side in place.system.areas]
        digits += [(axis, a // b) for a, b in pairwise(sides) for axis in (0, 1)]
        digits += [(2 + i, len(a.labels)) for i, a in enumerate(self.attributes)]
        axes, radices = zip(*(digit for digit in digits if digit[1] > 1), strict=True)
        zeros = (0,) * len(self.attributes)
        return replace(self, order=Order(axes, radices, (*offset, *zeros)))

    def official_steps(self) -> tuple[tuple[str, int], ...] | None:
        """Digits of a key that lead from each published area to the next finer one.

        Names of the areas (or attributes) that a step ends at, and its number of digits; None
        where the order is not that of :meth:`with_official_order`.
        """
        if len(self.places) != 1 or self.places[0].system is None or self.mask is not None:
            return None
        if self.order != self.with_official_order().order:
            return None
        ends = [(name, np.array([side, side])) for name, side in self.places[0].system.areas]
        steps, digits = [], 0
        for name, side in ends:
            start = digits
            while (self.order.sides(digits, len(self.shape))[:2] > side).any():
                digits += 1
            if digits > start:
                steps.append((name, digits - start))
        return (*steps, *((a.name, 1) for a in self.attributes if len(a.labels) > 1))

    def with_mask(self, mask: Mask) -> Grid:
        """This grid cut down to a public mask, see :mod:`geodp.domain`."""
        return replace(self, mask=mask)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Sizes of all axes."""
        spatial = tuple(size for place in self.places for size in (place.rows, place.cols))
        return spatial + self.extents + tuple(len(a.labels) for a in self.attributes)

    @cached_property
    def axis_names(self) -> tuple[str, ...]:
        """Names of all axes."""
        if len(self.places) == 2:
            spatial = ["origin_row", "origin_col", "destination_row", "destination_col"]
        else:
            spatial = ["row", "col"][: 2 * len(self.places)]
        plain = [f"axis{i}" for i in range(len(self.extents))]
        return (*spatial, *plain, *(a.name for a in self.attributes))

    def _morton(self) -> Order:
        spatial = len(self.shape) - len(self.attributes)
        return Order.morton(self.shape[:spatial], below=self.shape[spatial:])

    @property
    def bits(self) -> int:
        """Bits of a key: the binary tree's height k."""
        return self.order.bits

    @property
    def size(self) -> int:
        """Cells of the domain; padding and cells outside the mask do not count."""
        if self.mask is None:
            return prod(self.shape)
        return self.mask.cells * prod(len(a.labels) for a in self.attributes)

    def encode(self, index: ArrayLike) -> NDArray[np.uint64]:
        """Keys (uint64[n]) of cell indices (int64[d, n]).

        Raises CodeError for an index outside the extent or the mask.
        """
        index = np.atleast_2d(np.asarray(index, np.int64))
        outside = np.flatnonzero(~self.contains(index))
        if outside.size:
            raise CodeError(int(outside[0]), OUTSIDE)
        return self.order.encode(index)

    def decode(self, key: ArrayLike) -> NDArray[np.int64]:
        """Cell indices (int64[d, n]) of keys (uint64[n])."""
        return self.order.decode(np.asarray(key, np.uint64), len(self.shape))

    def in_extent(self, index: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether indices (int64[d, n]) lie inside the axes' sizes: bool[n]."""
        if index.shape[0] != len(self.shape):
            raise UsageError(f"The grid has {len(self.shape)} axes: {', '.join(self.axis_names)}.")
        size = np.array(self.shape, np.int64)[:, None]
        return np.asarray(((index >= 0) & (index < size)).all(axis=0), np.bool_)

    def contains(self, index: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether indices (int64[d, n]) are cells of the domain: bool[n]."""
        inside = self.in_extent(index)
        if self.mask is not None:
            key = self.order.encode(np.where(inside, index, 0))
            after = np.searchsorted(self.mask.ranges[:, 1], key, side="right")
            start = np.append(self.mask.ranges[:, 0], np.uint64(2**64 - 1))[after]
            inside &= start <= key
        return inside

    def contains_keys(self, key: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Whether keys (uint64[n]) are cells of the domain: bool[n]."""
        beyond = key >= np.uint64(prod(self.order.radices))
        return self.contains(self.decode(np.where(beyond, np.uint64(0), key))) & ~beyond

    def domain_tests(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]:
        """What :func:`geodp.kernels.tree.branches` needs.

        Returns
        -------
        mask, limit : uint64[bits]
            For every level from the root: the split axis's key bits, and its last index there.
        domain : uint64[r, 2]
        """
        masks = self.order.axis_masks()
        last = self.order.encode(np.array(self.shape, np.int64)[:, None] - 1)
        ranges = np.empty((0, 2), np.uint64) if self.mask is None else self.mask.ranges
        return masks, masks & last[0], ranges

    def describe(self) -> dict[str, Any]:
        """Plain values for the release card, enough to make the grid again but for the mask."""
        return {
            "axes": dict(zip(self.axis_names, self.shape, strict=True)),
            "places": [place.describe() for place in self.places],
            "attributes": [attribute.describe() for attribute in self.attributes],
            "cells": self.size,
            "key_bits": self.bits,
            "order": "Morton"
            if self.order == self._morton()
            else [list(self.order.axes), list(self.order.radices), list(self.order.offset)],
            "mask": None
            if self.mask is None
            else {"source": self.mask.source, "sha256": self.mask.sha256},
        }

    @property
    def identity(self) -> bytes:
        """The description as canonical JSON: equal exactly for equal grids."""
        return json.dumps(self.describe(), sort_keys=True, ensure_ascii=True).encode()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grid) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)


OUTSIDE = (
    "The cell lies outside the public domain; choose a domain that holds all cells, "
    "or have cells outside dropped (--outside drop, outside='drop')."
)


def _crs_text(crs: Any) -> str | None:
    """A CRS as text that GDAL and PROJ know; objects of rasterio and pyproj say theirs."""
    if crs is None:
        return None
    from pyproj import CRS  # late: it is slow, and grids of code systems do without
    from pyproj.exceptions import CRSError

    text = crs if isinstance(crs, str) else getattr(crs, "to_string", lambda: None)()
    try:
        CRS.from_user_input(text)
    except CRSError:
        raise UsageError("The CRS is unknown; name one such as EPSG:3035.") from None
    return str(text)


def _six(transform: Sequence[float]) -> Transform:
    """The six coefficients of an affine transform (an ``Affine`` has nine)."""
    values = tuple(transform)[:6]
    if len(values) != 6:
        raise UsageError("A transform has six coefficients: a, b, c, d, e, f.")
    a, b, c, d, e, f = (float(value) for value in values)
    return (a, b, c, d, e, f)
