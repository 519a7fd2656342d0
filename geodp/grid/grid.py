"""Grids: products of axes with a public domain and an order of cells.

A grid never looks at data. Its extent comes from a code system, from bounds or from a mask that the
caller gives. Indices count from the lower left cell northwards and eastwards if the grid has a code
system, and as the transform defines otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from operator import index as to_integer
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.advice import by_names
from geodp.errors import CodeError, Rule, UsageError
from geodp.grid.area_levels import AreaLevels, insert_attributes
from geodp.grid.axes import Attribute, Mask
from geodp.grid.bounds import bounds_of_degrees
from geodp.grid.codes import CodeSystem, code_system
from geodp.grid.crs import normalise_crs
from geodp.grid.domain import Domain, domain_of, in_box
from geodp.grid.hierarchy import ENDS, Hierarchy, HierarchyOrder, PairOrder, TableOrder
from geodp.grid.lattice import Lattice, affine_coefficients
from geodp.grid.names import CellNames, names_of
from geodp.grid.order import Order, bits_for, official_digits
from geodp.grid.outlines import Outlines
from geodp.reprs import few


@dataclass(frozen=True)
class MapProperties:
    """Properties that depend on the number of maps of a grid.

    Attributes
    ----------
    places : tuple of Lattice
    codes : tuple of str
        Names of the columns that hold the codes of cells, one for each map.
    ends : tuple of str
        Names of the two ends of a pair; empty if cells are not pairs.
    prefixes : tuple of str
        Prefixes of the names of other columns of each map.
    axes : tuple of str
        Names of the rows and columns of all maps, which are a grid's first axes.
    region_order : type
        Order of cells, or of their pairs, by the regions of a table.
    geometry : str
        OGC's name of the geometry that draws a cell; empty if there is none.
    missing : str
        Reason why there is not exactly one map: "", "no_map" or "no_pairs".
    """

    places: tuple[Lattice, ...]

    codes: ClassVar[tuple[str, ...]]
    ends: ClassVar[tuple[str, ...]] = ()
    prefixes: ClassVar[tuple[str, ...]]
    axes: ClassVar[tuple[str, ...]]
    region_order: ClassVar[type[TableOrder]] = HierarchyOrder
    geometry: ClassVar[str]
    missing: ClassVar[str]

    @property
    def one(self) -> Lattice | None:
        """The only map; None if there are more or none."""
        return self.places[0] if len(self.places) == 1 else None

    @property
    def system(self) -> CodeSystem | None:
        """Code system of the only map, if it has one."""
        return None if self.one is None else self.one.system

    @property
    def areas(self) -> tuple[tuple[str, int], ...]:
        """Names of the published areas of the only map and their sides in cells, if it has any."""
        return () if self.system is None else tuple(self.system.areas)

    def name_columns(self, *names: str) -> tuple[str, ...]:
        """Return the names of columns that each map has."""
        return tuple(prefix + name for prefix in self.prefixes for name in names)

    def share(self, length: int) -> Fraction:
        """Divide a length that all maps share equally among them."""
        return Fraction(length, len(self.places))


@dataclass(frozen=True)
class OneMap(MapProperties):
    """One map, such as one of where people live.

    Examples
    --------
    >>> OneMap((Lattice(2, 3),)).axes
    ('row', 'col')
    """

    codes: ClassVar[tuple[str, ...]] = ("code",)
    prefixes: ClassVar[tuple[str, ...]] = ("",)
    axes: ClassVar[tuple[str, ...]] = ("row", "col")
    geometry: ClassVar[str] = "Polygon"
    missing: ClassVar[str] = ""


@dataclass(frozen=True)
class NoMap(MapProperties):
    """Plain axes only, without a location."""

    codes: ClassVar[tuple[str, ...]] = ()
    prefixes: ClassVar[tuple[str, ...]] = ()
    axes: ClassVar[tuple[str, ...]] = ()
    geometry: ClassVar[str] = ""
    missing: ClassVar[str] = "no_map"


@dataclass(frozen=True)
class MapPair(MapProperties):
    """Maps of origin and destination, such as where people live and work.

    Examples
    --------
    >>> pair = MapPair((Lattice(2, 3), Lattice(2, 3)))
    >>> pair.axes
    ('origin_row', 'origin_col', 'destination_row', 'destination_col')
    """

    codes: ClassVar[tuple[str, ...]] = ENDS
    ends: ClassVar[tuple[str, ...]] = ENDS
    prefixes: ClassVar[tuple[str, ...]] = tuple(f"{end}_" for end in ENDS)
    axes: ClassVar[tuple[str, ...]] = tuple(f"{end}_{one}" for end in ENDS for one in OneMap.axes)
    region_order: ClassVar[type[TableOrder]] = PairOrder
    geometry: ClassVar[str] = "LineString"
    missing: ClassVar[str] = "no_pairs"


# The number of a grid's places selects the class, so the order matters.
KINDS = (NoMap, OneMap, MapPair)
"""Classes by the number of maps."""


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
        Of pairs, that of both maps, with the keys of one map without attributes.
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
                "Create a grid of published cells with Grid.mesh('jis:half'), one of equal cells "
                "with Grid.regular((rows, columns)).",
                code="grid-from-name",
            )
        if self.places[len(KINDS) - 1 :]:
            raise UsageError(
                "A grid has at most two places, an origin and a destination.",
                code="places-more-than-two",
            )
        # Not a `default_factory`, as the default depends on the other fields.
        if self.order is None:
            object.__setattr__(self, "order", self._morton())
        if len(set(self.axis_names)) != len(self.axis_names):
            raise UsageError(
                f"Names of axes must differ: {', '.join(self.axis_names)}.", code="axes-alike"
            )
        self.order.require_fit(self.shape)
        if self.mask is not None:
            refusal = Rule(
                "mask-needs-morton-map",
                "A mask needs a grid of one map, or of its pairs, in Morton order.",
            )
            if len({*self.places}) != 1 or self.order != self._morton():
                raise UsageError(refusal)

    def __repr__(self) -> str:
        if self.hierarchy is not None:
            what = [f"regions={few(self.areas.levels)}"]
        else:
            what = [one.label for one in self.places[:1] if one.label]
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
        """Create a grid of equal cells, with or without a place on the Earth.

        Parameters
        ----------
        shape : sequence of int
            (rows, columns), or the sizes of any number of plain axes.
        crs, transform : optional
            For two-dimensional grids: a CRS as text or as an object of rasterio or pyproj; the
            transform maps (column, row) to coordinates, as rasterio's ``Affine`` does, and needs a
            CRS if maps are to be written.
        """
        try:
            sizes = tuple(to_integer(size) for size in shape)
        except TypeError:
            raise UsageError(
                "A shape is a sequence of integers: (rows, columns).", code="shape-form"
            ) from None
        if not sizes or min(sizes) < 1:
            raise UsageError(
                "A shape needs at least one axis, and every axis at least one cell.",
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
        """Create the grid of a published code system, such as ``"jis:half"`` or ``"inspire:1km"``.

        Parameters
        ----------
        system : str or CodeSystem
            A name that `geodp.grid.codes.code_system` accepts, such as ``"file:mine.toml"`` for
            a description of your own.
        bounds : (west, south, east, north), optional
            In the code system's CRS, along cell edges. Default: its full public extent.
        degrees : bool
            Whether bounds are in degrees; they are widened to entire cells. See
            `geodp.grid.bounds.bounds_of_degrees`.
        """
        code = code_system(system) if isinstance(system, str) else system
        if isinstance(bounds, str):
            raise UsageError(
                "Bounds are four numbers: west, south, east, north. For those of a public area by "
                "name use geodp.find_bounds(name, system).",
                code="bounds-form",
            )
        if degrees and bounds is None:
            raise UsageError("degrees=True requires bounds.", code="degrees-need-bounds")
        if degrees and bounds is not None:
            bounds = bounds_of_degrees(code, [float(edge) for edge in bounds])
        return cls((Lattice.of_system(code, bounds),))

    def with_attribute(self, name: str, labels: Sequence[str]) -> Grid:
        """Return the product of this grid and an attribute, whose digits come last in the key."""
        regions = self.hierarchy
        # Regions define their order with all attributes at once, so the table is applied again to
        # the larger grid.
        order = self.maps.region_order
        if regions is not None and self.order == order.of(regions, self._attribute_digits):
            larger = replace(self, order=self._morton()).with_attribute(name, labels)
            if self.maps.one is not None:
                return larger.with_hierarchy(regions)
            larger._require_levels(regions)
            return larger.with_order(order.of(regions, larger._attribute_digits))
        self._require_morton()
        attributes = (*self.attributes, Attribute(name, tuple(labels)))
        mask = self.mask
        # Every cell of the map becomes a run of keys; the mask of pairs has the keys of one end.
        if mask is not None and self.maps.one is not None:
            mask = replace(mask, ranges=mask.ranges << np.uint64(bits_for(len(labels))))
        return Grid(self.places, attributes, self.extents, mask)

    def pairs(self) -> Grid:
        """Return the grid of pairs of an origin and a destination, both on this grid."""
        self._require_unmasked(Rule("pairs-need-map", "Pairs need one map without a mask."))
        self._require_morton()
        return Grid(self.places * 2, self.attributes)

    def _require_unmasked(self, refusal: str) -> Lattice:
        """Return the only map of a grid without a mask; otherwise raise UsageError."""
        place = self.require_map(refusal)
        if self.mask is not None:
            raise UsageError(refusal)
        return place

    def _require_morton(self) -> None:
        if self.order != self._morton():
            raise UsageError(
                "Build the grid first and set a custom order last.", code="order-not-last"
            )

    def with_order(self, order: Order) -> Grid:
        """Return this grid with another order of its cells."""
        return replace(self, order=order)

    def with_official_order(self, attributes: str = "below") -> Grid:
        """Return this map with its cells ordered by the code system's published areas.

        Every published area is then a run of keys: 80 km, 10 km, 5 km and 1 km meshes of Japan;
        100, 10 and 1 km cells of Europe.

        Parameters
        ----------
        attributes : str
            ``"below"`` the cells, ``"above"`` all areas, or the name of the areas directly below
            which they come: with ``"inspire:100km"`` the people of each 100 km cell are split by
            sex and age before they are split by smaller cells.

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
        """Return names and sides in cells of the published areas, and the map."""
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
        """Return this map restricted to the cells of official regions, ordered by region.

        Parameters
        ----------
        regions : Hierarchy
            A public table, see :mod:`geodp.grid.hierarchy`; its cells outside the
            extent are dropped.
        attributes : str
            ``"below"`` the cells, ``"above"`` all regions, or the level directly below
            which they come.
        """
        self._require_unmasked(Rule("regions-need-map", "Regions need one map, without a mask."))
        if attributes not in ("below", "above", *regions.levels):
            raise UsageError(
                f"Attributes come below, above, {', '.join(regions.levels)}.",
                code="attribute-order-unknown",
            )
        self._require_levels(regions)
        under = {"below": None, "above": ""}.get(attributes, attributes)
        # A national table may be used for a part of the country.
        table = regions.within(*self.shape[:2])
        return replace(self, order=HierarchyOrder.of(table, self._attribute_digits, under))

    def _require_levels(self, regions: Hierarchy) -> None:
        """Raise UsageError for a level of regions that is named as an axis is."""
        if taken := {"below", "above", *self.axis_names}.intersection(regions.levels):
            raise UsageError(
                f"A level of regions may not be named {min(taken)!r}, as this name is in use.",
                code="region-level-name-taken",
            )

    def with_attribute_order(self, attributes: str) -> Grid:
        """Return this grid with the digits of its attributes elsewhere in the key.

        Leading digits are measured first: with ``"below"``, places lead, so that every area's count
        is measured before it is split by sex and age; with ``"above"``, the counts by sex and age
        of the entire domain are measured first.

        Parameters
        ----------
        attributes : str
            ``"below"`` or ``"above"``; in Morton order also ``"interleaved"`` with the bits of
            places; in the order of official areas or regions also a level of areas.
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
        """Levels of areas or regions that the order of cells nests."""
        labelled, digits = tuple(one.name for one in self.attributes), len(self.order.axes)
        if (table := self.hierarchy) is not None:
            return AreaLevels(self._among_attributes(self.order.steps), labelled, digits, table)
        if not self.maps.areas or self.mask is not None:
            return AreaLevels(nested=False)
        names, sides, place = self._official()
        where = ("below", "above", *names)
        # An order is a list of digits without a name: it follows official areas if it equals the
        # order that these areas give.
        if all(self.order != self.with_official_order(at).order for at in where):
            return AreaLevels(nested=False)
        parts = official_digits(sides, (place.row0, place.col0), self.shape[:2])
        count = [sum(radix > 1 for _, radix in part) for part in parts]
        # An area as large as the entire map needs no digit.
        steps = [step for step in zip(names, count, strict=True) if step[1]]
        return AreaLevels(self._among_attributes(steps), labelled, digits)

    def _among_attributes(self, steps: Sequence[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
        """Return the steps of areas, with those of attributes at their place in the order."""
        return insert_attributes(steps, self.order.axes, self.axis_names, len(self.maps.axes))

    @property
    def hierarchy(self) -> Hierarchy | None:
        """Official regions that the cells are ordered by, or None."""
        return getattr(self.order, "hierarchy", None)

    @property
    def outlines(self) -> Outlines | None:
        """Locations of the units of a table, if it has those of all; None for pairs."""
        known = self.known_outlines
        if known is None or self.maps.one is None:
            return None
        return known if known.located.all() else None

    @property
    def known_outlines(self) -> Outlines | None:
        """Locations of the units of a table, or of both ends of pairs; some may lie nowhere."""
        table = self.hierarchy
        return None if table is None else table.outlines

    @property
    def _attribute_digits(self) -> list[tuple[int, int]]:
        """Axes and sizes of the attributes."""
        spatial = len(self.shape) - len(self.attributes)
        return [(spatial + i, len(a.labels)) for i, a in enumerate(self.attributes)]

    def with_mask(self, mask: Mask) -> Grid:
        """Return this grid restricted to a public mask, see :mod:`geodp.grid.mask`."""
        return replace(self, mask=mask)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Sizes of all axes."""
        spatial = tuple(size for place in self.places for size in (place.rows, place.cols))
        return spatial + self.extents + tuple(len(a.labels) for a in self.attributes)

    @cached_property
    def maps(self) -> MapProperties:
        """Maps that the cells lie on: none, one, or those of origin and destination."""
        return KINDS[len(self.places)](self.places)

    @cached_property
    def names(self) -> CellNames:
        """Names of the cells, from their maps or as units of a public table."""
        return names_of(self.places, self.hierarchy)

    def require_map(self, refusal: str) -> Lattice:
        """Return the grid's only map.

        Raise UsageError with a message if there is not exactly one.
        """
        if (place := self.maps.one) is None:
            raise UsageError(refusal)
        return place

    @property
    def plain_map(self) -> Lattice | None:
        """The only map of a grid without attributes; None for other grids."""
        return self.maps.one if len(self.shape) == len(self.maps.axes) else None

    @property
    def raster_map(self) -> Lattice | None:
        """The only map of a grid without plain axes, on which each combination of
        labels is a raster.
        """
        return None if self.extents else self.maps.one

    def require_plain_map(self, refusal: str) -> Lattice:
        """Return the only map of a grid without attributes; otherwise raise UsageError."""
        place = self.require_map(refusal)
        if self.attributes or self.extents:
            raise UsageError(refusal)
        return place

    def require_full_map(self, refusal: str) -> Lattice:
        """Return the only map of a grid whose domain is the full box.

        Otherwise raise UsageError.
        """
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
        """Number of bits of a key, the height k of the binary tree."""
        return self.order.bits

    @cached_property
    def domain(self) -> Domain:
        """Domain of the grid: the keys that are cells which can hold people."""
        return domain_of(self.order, self.shape, self.mask, len(self.places))

    @cached_property
    def size(self) -> int:
        """Number of cells of the domain, without padding and cells outside mask or regions."""
        return self.domain.cells

    def encode(self, index: ArrayLike) -> NDArray[np.uint64]:
        """Return the keys (uint64[n]) of cell indices (int64[d, n]).

        Raises CodeError for an index outside the extent or the mask, UsageError for numbers that
        are not integers.
        """
        array = np.asarray(index)
        if array.dtype.kind not in "iu" and array.size:
            raise UsageError("Indices of cells must be integers.", code="indices-not-whole")
        index = np.atleast_2d(np.asarray(array, np.int64))
        # Only the position is reported: an error must not quote data.
        outside = np.flatnonzero(~self.contains(index))
        if outside.size:
            raise CodeError(int(outside[0]), self.domain.outside_rule)
        return self.order.encode(index)

    def decode(self, key: ArrayLike) -> NDArray[np.int64]:
        """Return the cell indices (int64[d, n]) of keys (uint64[n])."""
        return self.order.decode(np.asarray(key, np.uint64), len(self.shape))

    def in_extent(self, index: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether indices (int64[d, n]) lie inside the axes' sizes: bool[n]."""
        self._require_axes(index)
        return in_box(index, self.shape)

    def explain_outside(
        self, index: NDArray[np.int64], inside: NDArray[np.bool_]
    ) -> dict[str, NDArray[np.bool_]]:
        """Return why cells (int64[d, n]) lie outside the domain: bool[n] for each reason.

        Reasons are "bounds", "mask", "regions" and "units". ``inside``: cells of the domain.
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
        """Return the arrays with which :func:`geodp.kernels.tree.branches` tests nodes.

        Returns
        -------
        mask, limit : uint64[bits]
            For every level from the root, the split axis's bits in a key, and its last index in
            these bits.
        domain : uint64[r, 2]
            Ranges of the mask; always writable, so that kernels are compiled once.
        """
        masks = self.order.axis_masks()
        last = self.order.encode(np.array(self.shape, np.int64)[:, None] - 1)
        return masks, masks & last[0], self.domain.ranges

    def describe(self) -> dict[str, Any]:
        """Return plain values for the release card, enough to recreate the grid, mask aside."""
        outlines = self.known_outlines
        return self._drawn() | ({} if outlines is None else {"outlines": outlines.describe()})

    def _drawn(self) -> dict[str, Any]:
        """Return the part of the description that noise depends on, without outlines of units."""
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
        """Canonical JSON of what noise depends on: equal if and only if grids are equal."""
        # A canonical text, as the seeds of noise and the digest of a release are derived from it:
        # two spellings of one grid would get different noise. Outlines only draw maps and are left
        # out.
        return json.dumps(self._drawn(), sort_keys=True, ensure_ascii=True).encode()

    def __eq__(self, other: object) -> bool:
        # Grids are equal if they get the same noise; outlines of units do not matter.
        return isinstance(other, Grid) and self.identity == other.identity

    def __hash__(self) -> int:
        return hash(self.identity)
