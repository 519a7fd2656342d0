"""Grids: products of axes with a public domain and an order of cells.

A grid never looks at data. Its extent comes from a code system, from bounds or from a mask
that the caller names; indices count from the lower left cell northwards and eastwards where
the grid has a code system, and as the transform says elsewhere.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from operator import index as whole
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.advice import by_names
from geodp.errors import CodeError, Rule, UsageError
from geodp.grid.areas import AreaLevels, NoAreaLevels, RegionLevels, insert_attributes
from geodp.grid.axes import Attribute, Mask
from geodp.grid.bounds import bounds_of_degrees
from geodp.grid.codes import CodeSystem, code_system
from geodp.grid.crs import normalise_crs
from geodp.grid.domain import Domain, domain_of, in_box
from geodp.grid.hierarchy import Hierarchy, HierarchyOrder
from geodp.grid.lattice import Lattice, affine_coefficients
from geodp.grid.maps import KINDS, Maps
from geodp.grid.names import CellNames, names_of
from geodp.grid.order import Order, bits_for, official_digits
from geodp.grid.outlines import Outlines
from geodp.reprs import few


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
        if isinstance(self.places, str):
            raise UsageError(
                "The grid of published cells is made by Grid.mesh('jis:half'), one of equal cells "
                "by Grid.regular((rows, columns)).",
                code="grid-from-name",
            )
        if self.places[len(KINDS) - 1 :]:
            raise UsageError(
                "A grid has at most two places, an origin and a destination.",
                code="places-more-than-two",
            )
        if self.order is None:
            object.__setattr__(self, "order", self._morton())
        if len(set(self.axis_names)) != len(self.axis_names):
            raise UsageError(
                f"Axes need different names: {', '.join(self.axis_names)}.", code="axes-alike"
            )
        self.order.require_fit(self.shape)
        if self.mask is not None:
            refusal = Rule(
                "mask-needs-morton-map", "A mask needs a grid of one map in Morton order."
            )
            self.require_map(refusal)
            if self.order != self._morton():
                raise UsageError(refusal)

    def __repr__(self) -> str:
        if self.hierarchy is not None:
            what = [f"regions={few(self.areas.levels)}"]
        else:
            what = [one.words for one in self.places[:1] if one.words]
        if self.places[1:]:
            what.append("pairs")
        if self.attributes:
            what.append(f"attributes={few([one.name for one in self.attributes])}")
        if self.mask is not None:
            what.append("masked")
        if self.hierarchy is None and self.areas.nested:
            what.append("official order")
        return f"Grid({', '.join([*what, f'shape={self.shape}'])})"

    @classmethod
    def regular(
        cls,
        shape: Sequence[int],
        *,
        crs: Any = None,
        transform: Sequence[float] | None = None,
    ) -> Grid:
        """Return a grid of equal cells, with or without a place on the Earth.

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
            raise UsageError(
                "A shape is a sequence of whole numbers: (rows, columns).", code="shape-form"
            ) from None
        if not sizes or min(sizes) < 1:
            raise UsageError(
                "A shape has at least one axis, and every axis at least one cell.",
                code="shape-empty",
            )
        if len(sizes) == 2:
            affine = None if transform is None else affine_coefficients(transform)
            return cls((Lattice(*sizes, crs=normalise_crs(crs), transform=affine),))
        if crs is not None or transform is not None:
            raise UsageError(
                "Only a grid of two axes (rows, columns) takes a CRS and a transform.",
                code="crs-needs-two-axes",
            )
        return cls((), extents=sizes)

    @classmethod
    @by_names(bbox="bounds", extent="bounds", name="system")
    def mesh(
        cls,
        system: str | CodeSystem,
        *,
        bounds: Sequence[float | Fraction] | None = None,
        degrees: bool = False,
    ) -> Grid:
        """Return the cells of a published code system, such as ``"jis:half"`` or ``"inspire:1km"``.

        Parameters
        ----------
        system : str or CodeSystem
            A name that `geodp.grid.codes.code_system` takes, such as ``"file:mine.toml"`` of a
            description of your own.
        bounds : (west, south, east, north), optional
            In the code system's CRS, along cell edges. Default: its whole public extent.
        degrees : bool
            Whether bounds are degrees instead; they are widened to whole cells. See
            `geodp.grid.bounds.bounds_of_degrees`.
        """
        found = code_system(system) if isinstance(system, str) else system
        if isinstance(bounds, str):
            raise UsageError(
                "Bounds are four numbers: west, south, east, north. Those of a public area by its "
                "name are geodp.find_bounds(name, system).",
                code="bounds-form",
            )
        if degrees and bounds is None:
            raise UsageError("degrees=True goes with bounds only.", code="degrees-need-bounds")
        if degrees and bounds is not None:
            bounds = bounds_of_degrees(found, [float(edge) for edge in bounds])
        return cls((Lattice.of_system(found, bounds),))

    def with_attribute(self, name: str, labels: Sequence[str]) -> Grid:
        """Return this grid times an attribute; its digits come under the places' in the key."""
        own = self.hierarchy
        if own is not None and self.order == HierarchyOrder.of(own, self._attribute_digits):
            plain = replace(self, order=self._morton())
            return plain.with_attribute(name, labels).with_hierarchy(own)
        self._require_morton()
        attributes = (*self.attributes, Attribute(name, tuple(labels)))
        mask = self.mask
        if mask is not None:  # every cell of the map becomes a run of keys
            mask = replace(mask, ranges=mask.ranges << np.uint64(bits_for(len(labels))))
        return Grid(self.places, attributes, self.extents, mask)

    def pairs(self) -> Grid:
        """Origins times destinations, both on this grid."""
        self._require_unmasked(Rule("pairs-need-map", "Pairs are made of one map without a mask."))
        self._require_morton()
        return Grid(self.places * 2, self.attributes)

    def _require_unmasked(self, refusal: str) -> Lattice:
        """Return the only map of a grid without a mask; else raise UsageError."""
        place = self.require_map(refusal)
        if self.mask is not None:
            raise UsageError(refusal)
        return place

    def _require_morton(self) -> None:
        if self.order != self._morton():
            raise UsageError(
                "Build the grid first and give it its own order last.", code="order-not-last"
            )

    def with_order(self, order: Order) -> Grid:
        """Return this grid with another order of its cells."""
        return replace(self, order=order)

    def with_official_order(self, attributes: str = "below") -> Grid:
        """Return this map with its cells in the order of the code system's published areas.

        Every published area is then a run of keys: 80 km, 10 km, 5 km and 1 km meshes of Japan;
        100, 10 and 1 km cells of Europe.

        Parameters
        ----------
        attributes : str
            ``"below"`` the cells, ``"above"`` all areas, or the name of the areas that their
            digits come right under: with ``"inspire:100km"`` each 100 km cell's people are split
            by sex and age before its parts are.

        Raises UsageError for a grid without a code system, of pairs, or with a mask.
        """
        names, sides, place = self._official()
        under = {"below": None, "above": -1, **{name: i for i, name in enumerate(names)}}
        if attributes not in under:
            raise UsageError(f"Attributes come {', '.join(under)}.", code="attribute-order-unknown")
        digits, first = self._attribute_digits, (place.row0, place.col0)
        order = Order.official(sides, first, self.shape[:2], digits, under[attributes])
        return replace(self, order=order)

    def _official(self) -> tuple[tuple[str, ...], tuple[int, ...], Lattice]:
        """Names and sides in cells of the published areas, and the map."""
        refusal = Rule(
            "official-areas-need-codes",
            "Official areas need one map of a code system, without a mask.",
        )
        place = self._require_unmasked(refusal)
        if not self.maps.areas:
            raise UsageError(refusal)
        names, sides = zip(*self.maps.areas, strict=True)
        return names, sides, place

    def with_hierarchy(self, regions: Hierarchy, attributes: str = "below") -> Grid:
        """Return this map cut down to the cells of an office's regions, every region a run of keys.

        Parameters
        ----------
        regions : Hierarchy
            A public table, see :mod:`geodp.grid.hierarchy`; its cells outside the extent are left
            out.
        attributes : str
            ``"below"`` the cells, ``"above"`` all regions, or the level that they come under.
        """
        self._require_unmasked(Rule("regions-need-map", "Regions need one map, without a mask."))
        if attributes not in ("below", "above", *regions.levels):
            raise UsageError(
                f"Attributes come below, above, {', '.join(regions.levels)}.",
                code="attribute-order-unknown",
            )
        if taken := {"below", "above", *self.axis_names}.intersection(regions.levels):
            raise UsageError(
                f"A level of regions needs another name than {min(taken)!r}.",
                code="region-level-name-taken",
            )
        under = {"below": None, "above": ""}.get(attributes, attributes)
        own = regions.within(*self.shape[:2])
        return replace(self, order=HierarchyOrder.of(own, self._attribute_digits, under))

    def with_attribute_order(self, attributes: str) -> Grid:
        """Return this grid with the digits of its attributes elsewhere in the key.

        What comes first is measured over all that comes later: ``"below"`` keeps places first, so
        that every area's count is measured before it is split by sex and age; ``"above"`` measures
        the counts by sex and age of everywhere first.

        Parameters
        ----------
        attributes : str
            ``"below"``, ``"above"``; ``"interleaved"`` with the bits of places, in Morton order;
            or a level of areas, in the order of official areas or regions.
        """
        if self.hierarchy is not None:
            return self.with_hierarchy(self.hierarchy, attributes)
        if self.areas.nested:
            return self.with_official_order(attributes)
        spatial = len(self.shape) - len(self.attributes)
        orders = {
            "below": self._morton(),
            "above": Order.morton(self.shape[:spatial], above=self.shape[spatial:]),
            "interleaved": Order.morton(self.shape),
        }
        if self.order not in orders.values() or attributes not in orders:
            raise UsageError(
                "Attributes come below, above or interleaved on a grid in Morton order; below, "
                "above or under a level of areas on one in the order of areas.",
                code="attribute-order-unknown",
            )
        return replace(self, order=orders[attributes])

    @cached_property
    def areas(self) -> AreaLevels:
        """The levels of areas or regions that the order of cells puts one under the other."""
        labelled, digits = tuple(one.name for one in self.attributes), len(self.order.axes)
        if (table := self.hierarchy) is not None:
            return RegionLevels(self._among_attributes(self.order.steps), labelled, digits, table)
        if not self.maps.areas or self.mask is not None:
            return NoAreaLevels()
        names, sides, place = self._official()
        where = ("below", "above", *names)
        if all(self.order != self.with_official_order(at).order for at in where):
            return NoAreaLevels()
        parts = official_digits(sides, (place.row0, place.col0), self.shape[:2])
        count = [sum(radix > 1 for _, radix in part) for part in parts]
        steps = [step for step in zip(names, count, strict=True) if step[1]]
        return AreaLevels(self._among_attributes(steps), labelled, digits)

    def _among_attributes(self, steps: Sequence[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
        """Return the steps of areas with those of attributes where the order has them."""
        return insert_attributes(steps, self.order.axes, self.axis_names, len(self.maps.axes))

    @property
    def hierarchy(self) -> Hierarchy | None:
        """The office's regions that the cells are ordered by, if they are."""
        return getattr(self.order, "hierarchy", None)

    @property
    def outlines(self) -> Outlines | None:
        """Where the units of a table lie, if the table says so; None of pairs."""
        table = self.hierarchy
        return None if table is None or self.maps.one is None else table.outlines

    @property
    def _attribute_digits(self) -> list[tuple[int, int]]:
        """Axes and sizes of the attributes."""
        spatial = len(self.shape) - len(self.attributes)
        return [(spatial + i, len(a.labels)) for i, a in enumerate(self.attributes)]

    def with_mask(self, mask: Mask) -> Grid:
        """Return this grid cut down to a public mask, see :mod:`geodp.grid.mask`."""
        return replace(self, mask=mask)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Sizes of all axes."""
        spatial = tuple(size for place in self.places for size in (place.rows, place.cols))
        return spatial + self.extents + tuple(len(a.labels) for a in self.attributes)

    @cached_property
    def maps(self) -> Maps:
        """The maps that the cells lie on: none, one, or those of origin and destination."""
        return KINDS[len(self.places)](self.places)

    @cached_property
    def names(self) -> CellNames:
        """What the cells are called: by their maps, or as units of a public table."""
        return names_of(self.places, self.hierarchy)

    def require_map(self, refusal: str) -> Lattice:
        """Return the grid's only map; raise UsageError with a sentence where there is not one."""
        return self.maps.require_one(refusal)

    @property
    def plain_map(self) -> Lattice | None:
        """The only map of a grid without attributes; None of any other grid."""
        return self.maps.one if len(self.shape) == len(self.maps.axes) else None

    @property
    def raster_map(self) -> Lattice | None:
        """The only map of a grid without plain axes: each combination of labels has a raster."""
        return None if self.extents else self.maps.one

    def require_plain_map(self, refusal: str) -> Lattice:
        """Return the only map of a grid without attributes; else raise UsageError."""
        place = self.require_map(refusal)
        if self.attributes or self.extents:
            raise UsageError(refusal)
        return place

    def require_full_map(self, refusal: str) -> Lattice:
        """Return the grid's only map, all of whose cells are in the domain; else UsageError."""
        place = self.require_map(refusal)
        if not self.domain.is_box:
            raise UsageError(refusal)
        return place

    @property
    def plain_axes(self) -> range:
        """Numbers of the plain axes, which come after those of the maps."""
        first = len(self.maps.axes)
        return range(first, first + len(self.extents))

    @property
    def attribute_axes(self) -> range:
        """Numbers of the attributes' axes, which come last."""
        return range(self.plain_axes.stop, len(self.shape))

    @cached_property
    def axis_names(self) -> tuple[str, ...]:
        """Names of all axes."""
        plain = [f"axis{i}" for i in range(len(self.extents))]
        return (*self.maps.axes, *plain, *(a.name for a in self.attributes))

    def _morton(self) -> Order:
        spatial = len(self.shape) - len(self.attributes)
        return Order.morton(self.shape[:spatial], below=self.shape[spatial:])

    @property
    def bits(self) -> int:
        """Bits of a key: the binary tree's height k."""
        return self.order.bits

    @cached_property
    def domain(self) -> Domain:
        """Which keys are cells that can hold people."""
        return domain_of(self.order, self.shape, self.mask)

    @cached_property
    def size(self) -> int:
        """Cells of the domain; padding and cells outside mask or regions do not count."""
        return self.domain.cells

    def encode(self, index: ArrayLike) -> NDArray[np.uint64]:
        """Keys (uint64[n]) of cell indices (int64[d, n]).

        Raises CodeError for an index outside the extent or the mask, UsageError for numbers that
        are no integers.
        """
        given = np.asarray(index)
        if given.dtype.kind not in "iu" and given.size:
            raise UsageError(
                "Indices of cells are integers; a fraction is no cell.", code="indices-not-whole"
            )
        index = np.atleast_2d(np.asarray(given, np.int64))
        outside = np.flatnonzero(~self.contains(index))
        if outside.size:
            raise CodeError(int(outside[0]), self.domain.outside_rule)
        return self.order.encode(index)

    def decode(self, key: ArrayLike) -> NDArray[np.int64]:
        """Cell indices (int64[d, n]) of keys (uint64[n])."""
        return self.order.decode(np.asarray(key, np.uint64), len(self.shape))

    def in_extent(self, index: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether indices (int64[d, n]) lie inside the axes' sizes: bool[n]."""
        self._require_axes(index)
        return in_box(index, self.shape)

    def explain_outside(
        self, index: NDArray[np.int64], inside: NDArray[np.bool_]
    ) -> dict[str, NDArray[np.bool_]]:
        """Return why cells (int64[d, n]) that are not inside lie outside the domain: bool[n] each.

        "bounds", "mask", "regions" that hold no such cell, or "units" that no table has.
        """
        return self.names.explain_outside(inside, ~self.in_extent(index), self.domain.cut)

    def _require_axes(self, index: NDArray[np.int64]) -> None:
        if index.shape[0] != len(self.shape):
            raise UsageError(
                f"The grid has {len(self.shape)} axes: {', '.join(self.axis_names)}.",
                code="axes-count-differs",
            )

    def contains(self, index: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether indices (int64[d, n]) are cells of the domain: bool[n]."""
        self._require_axes(index)
        return self.domain.contains(index)

    def contains_keys(self, key: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Whether keys (uint64[n]) are cells of the domain: bool[n]."""
        return self.domain.contains_keys(key)

    def domain_tests(self) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]:
        """Return what :func:`geodp.kernels.tree.branches` needs.

        Returns
        -------
        mask, limit : uint64[bits]
            For every level from the root: the split axis's key bits, and its last index there.
        domain : uint64[r, 2]
            Writable, with a mask or without, so that kernels are compiled once.
        """
        masks = self.order.axis_masks()
        last = self.order.encode(np.array(self.shape, np.int64)[:, None] - 1)
        return masks, masks & last[0], self.domain.ranges

    def describe(self) -> dict[str, Any]:
        """Plain values for the release card, enough to make the grid again but for the mask."""
        outlines = self.outlines
        return self._drawn() | ({} if outlines is None else {"outlines": outlines.describe()})

    def _drawn(self) -> dict[str, Any]:
        """Return what noise depends on, which outlines of units are no part of."""
        return {
            "axes": dict(zip(self.axis_names, self.shape, strict=True)),
            "places": [place.describe() for place in self.places],
            "attributes": [attribute.describe() for attribute in self.attributes],
            "cells": self.size,
            "key_bits": self.bits,
            "order": "Morton" if self.order == self._morton() else self.order.describe(),
            "mask": self.domain.describe_mask(),
        }

    @cached_property
    def identity(self) -> bytes:
        """What noise depends on as canonical JSON: equal exactly for equal grids."""
        return json.dumps(self._drawn(), sort_keys=True, ensure_ascii=True).encode()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grid) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)
