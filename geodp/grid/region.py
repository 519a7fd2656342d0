"""Regions: sets of cells selected by a rectangle, a polygon, codes of areas or indices."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError, Rule, UsageError, printable
from geodp.grid.codes import CodeSystem, coarser_system
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import ENDS, Hierarchy, PairOrder
from geodp.grid.lattice import Lattice
from geodp.grid.names import entitle

MAX_CELLS = 1 << 26
"""Maximal cells of a region."""

NO_PLACE = Rule(
    "polygons-need-one-map",
    "Polygons need a grid of one map with a place on the Earth, or units with outlines.",
)

Labels = Mapping[str, str | Sequence[str]]
"""Selected labels by attribute; all labels of attributes that are not listed."""

CELLS = re.compile(r"([0-9]{1,9})_([0-9]{1,9})(?::([0-9]{1,9})_([0-9]{1,9}))?")
"""Row and column of one cell, or of the first and the last of a box."""

MAX_CODES = 10
"""Most codes of units of one name that a message lists."""

ABOVE = "give those of the regions above it first, the coarsest first, as in 13/101."


@dataclass(frozen=True, eq=False)
class Region:
    """A set of cells of a grid's public domain.

    Attributes
    ----------
    grid : Grid
    key : uint64[n]
        Keys of its cells, strictly increasing.

    Examples
    --------
    >>> grid = Grid.regular((8, 8)).with_attribute("sex", ["male", "female"])
    >>> Region.of(grid, np.array([[0, 0], [1, 1], [0, 1]])).cells
    2
    >>> Region.of_map(grid, [0, 1], [0, 0], {"sex": "male"}).cells
    2
    """

    grid: Grid
    key: NDArray[np.uint64] = field(repr=False)

    def __repr__(self) -> str:
        return f"Region({self.cells:,} of {self.grid.size:,} cells)"

    @property
    def cells(self) -> int:
        """Number of cells of the region."""
        return int(self.key.size)

    @classmethod
    def of(cls, grid: Grid, area: Any, labels: Labels | None = None) -> Self:
        """Create the region that a description selects.

        Parameters
        ----------
        grid : Grid
        area : Region, shapely geometry, str, sequence or array
            A region of an equal grid; a polygon or multipolygon in the grid's CRS (cells whose
            centre lies inside; for units with outlines, the units inside, none of which it may
            cut); one or more codes of official regions or units, or of areas of the grid's code
            system, on any published level; four numbers west, south, east, north in the grid's CRS,
            in a list or tuple (cells whose centre lies inside); an array of cell indices int[d, n],
            of rows and columns of a map int[2, n], or of keys uint64[n].
        labels : mapping, optional
            Selected labels by attribute, if places are given. Default: the sum over all.

        Raises
        ------
        UsageError, CodeError
            It is none of these, lies outside the domain, or has more than 2**26 cells.
        """
        # Two rows on a grid with more axes are rows and columns of the map; cell indices have one
        # row for each axis.
        if isinstance(area, np.ndarray) and area.ndim == 2 and len(area) == 2 < len(grid.shape):
            return cls._of_places(grid, area, labels)
        if isinstance(area, np.ndarray | Region):
            if labels is not None:
                raise UsageError(
                    "Labels require places; indices and keys of cells include their labels.",
                    code="labels-need-places",
                )
            return cls._of_cells(grid, area)
        if isinstance(area, str):
            return cls.of_areas(grid, [area], labels)
        if isinstance(area, Sequence) and area and all(isinstance(c, str) for c in area):
            return cls.of_areas(grid, area, labels)
        if isinstance(area, Sequence):
            return cls.of_rectangle(grid, area, labels)
        return cls._of_polygon(grid, area, labels)

    @classmethod
    def _of_polygon(cls, grid: Grid, shape: Any, labels: Labels | None) -> Self:
        import shapely

        if not isinstance(shape, shapely.Polygon | shapely.MultiPolygon):
            raise UsageError(
                "A region is a polygon, four bounds, codes of areas, indices or keys.",
                code="region-form",
            )
        if grid.outlines is not None:
            row, col = _units_of(grid, shape)
            return cls.of_map(grid, row, col, labels)
        place = _map_of(grid)
        if place.transform is None:
            raise UsageError(NO_PLACE)
        (shape,) = shapes_on(place, [shape])
        (box,) = boxes_of_polygons(place, [shape])
        return cls.of_map(grid, *cells_of_polygon(middles_of(place), shape, box), labels)

    @classmethod
    def _of_cells(cls, grid: Grid, cells: Any) -> Self:
        if isinstance(cells, Region):
            if cells.grid != grid:
                raise UsageError("The region belongs to another grid.", code="region-of-other-grid")
            return cls(grid, cells.key)
        if cells.dtype.kind in "iu" and cells.ndim == 2:
            return cls(grid, np.unique(grid.encode(cells)))
        if cells.dtype != np.uint64 or cells.ndim != 1:
            raise UsageError(
                "Cells are an array of indices, int[d, n], or of keys, uint64[n].",
                code="cells-not-indices-or-keys",
            )
        outside = np.flatnonzero(~grid.contains_keys(cells))
        if outside.size:
            raise CodeError(
                int(outside[0]),
                "The key is not a cell of the grid's domain.",
                code="key-outside-domain",
            )
        return cls(grid, np.unique(cells))

    @classmethod
    def _of_places(cls, grid: Grid, index: NDArray[Any], labels: Labels | None) -> Self:
        _map_of(grid)
        if index.dtype.kind not in "iu":
            raise UsageError(
                "Rows and columns of a map must be integers, int[2, n].",
                code="rows-columns-not-whole",
            )
        return cls(grid, np.unique(grid.encode(_times_labels(grid, index, labels)[0])))

    @classmethod
    def of_rectangle(
        cls, grid: Grid, bounds: Sequence[float], labels: Labels | None = None
    ) -> Self:
        """Select the cells whose centre lies within west, south, east, north, in the grid's CRS."""
        edges = np.array(bounds, np.float64) if len(bounds) == 4 else np.full(4, np.nan)
        place = _map_of(grid)
        period = place.period or 0.0
        if edges[0] > edges[2]:  # across 180 degrees
            edges[2] += period
        if not np.isfinite(edges).all() or edges[0] > edges[2] or edges[1] > edges[3]:
            raise UsageError(
                "A rectangle is four numbers: west, south, east, north.", code="rectangle-form"
            )
        west, south, east, north = edges.tolist()
        xs, ys = place.edges()
        x, y = (xs[1:] + xs[:-1]) / 2, (ys[1:] + ys[:-1]) / 2
        rows = np.flatnonzero((y >= south) & (y <= north))
        # Centres of a lattice across 180 degrees may lie a period away from the given bounds.
        within = ((x + way >= west) & (x + way <= east) for way in (-period, 0.0, period))
        cols = np.flatnonzero(np.logical_or.reduce([*within]))
        # Checked before the product is built: a rectangle of a fine grid may have billions of
        # cells.
        _require_few(rows.size * cols.size)
        col, row = (part.reshape(-1) for part in np.meshgrid(cols, rows))
        return cls.of_map(grid, row, col, labels)

    @classmethod
    def of_areas(cls, grid: Grid, codes: Sequence[str], labels: Labels | None = None) -> Self:
        """Select the cells of official regions, or of areas of the grid's code system, by code.

        Codes of official regions, on any level, take precedence; if several regions have a
        code, put the codes of the regions above in front, as in ``13/101``. Areas are clipped
        to the domain. For pairs of units, join two codes by a colon, origin and destination; an
        omitted end means all units. CodeError for an unknown code, and for an area without a
        cell in the domain.
        """
        if isinstance(grid.order, PairOrder):
            pairs = [_pairs_of(grid.order.hierarchy, *one) for one in enumerate(codes)]
            index, _ = _times_labels(grid, np.concatenate(pairs, axis=1), labels)
            return cls(grid, np.unique(grid.encode(index)))
        cells = [_cells_of(grid, code, position) for position, code in enumerate(codes)]
        row, col = np.concatenate(cells, axis=1)
        return cls.of_map(grid, row, col, labels)

    @classmethod
    def of_map(
        cls, grid: Grid, row: ArrayLike, col: ArrayLike, labels: Labels | None = None
    ) -> Self:
        """Select the cells at rows and columns of the map (int[n] each), for the selected labels.

        Cells outside the mask are dropped.
        """
        _map_of(grid)
        index, _ = _times_labels(grid, np.array([row, col], np.int64), labels)
        inside = grid.contains(index)
        if not inside.any():
            place = grid.places[0] if grid.outlines is None else grid.outlines.ground
            west, south, east, north = (f"{edge:g}" for edge in place.bounds)
            raise UsageError(
                f"The region contains no cell of the domain, which lies within west {west}, south "
                f"{south}, east {east}, north {north}.",
                code="region-without-cell",
            )
        return cls(grid, np.unique(grid.encode(index[:, inside])))


Result = TypeVar("Result")


def find_named(areas: Mapping[str, Any], find: Callable[[Any], Result]) -> dict[str, Result]:
    """Find regions, or what belongs to them, by name: an error says which of them it is about.

    Parameters
    ----------
    areas : mapping of str to object
    find : callable
        Finds what belongs to an area, such as :meth:`Region.of` with a grid.

    Raises
    ------
    UsageError, CodeError
        As ``find`` does; a UsageError begins with the name.

    Examples
    --------
    >>> from functools import partial
    >>> from shapely import box
    >>> grid = Grid.regular((2, 2), crs="EPSG:3035", transform=(1, 0, 0, 0, -1, 2))
    >>> areas = {"here": box(0, 0, 2, 2), "there": box(8, 8, 9, 9)}
    >>> find_named(areas, partial(Region.of, grid))
    Traceback (most recent call last):
        ...
    geodp.errors.UsageError: there: The region contains no cell of the domain, which lies within \
west 0, south 0, east 2, north 2.
    """
    results = {}
    for name, area in areas.items():
        try:
            results[name] = find(area)
        except UsageError as error:
            raise UsageError(f"{printable(name)}: {error}", code=error.code) from None
    return results


def regions_of_polygons(
    grid: Grid, shapes: Sequence[Any], labels: Labels | None = None
) -> list[Region]:
    """Return the region of each polygon, see :meth:`Region.of`; one look-up serves all.

    The region of None, and of a polygon without a cell of the domain, is empty.

    Raises UsageError for other shapes, and for a grid without a map on the Earth.
    """
    import shapely

    place = _map_of(grid)
    if place.transform is None and grid.outlines is None:
        raise UsageError(NO_PLACE)
    for shape in shapes:
        if shape is not None and not isinstance(shape, shapely.Polygon | shapely.MultiPolygon):
            raise UsageError(
                "Regions of a frame are polygons or multipolygons.", code="frame-not-polygons"
            )
    cells = [np.empty((2, 0), np.int64)]
    if grid.outlines is not None:
        cells += [np.empty((2, 0), np.int64) if one is None else _units_of(grid, one)
                  for one in shapes]  # fmt: skip
    else:
        middles, shapes = middles_of(place), shapes_on(place, shapes)
        for shape, box in zip(shapes, boxes_of_polygons(place, shapes), strict=True):
            cells.append(np.array(cells_of_polygon(middles, shape, box)))
    index, times = _times_labels(grid, np.concatenate(cells, axis=1), labels)
    inside = grid.contains(index)
    # One call for all polygons: testing and encoding cells has a cost per call that exceeds that
    # of a small polygon.
    key = np.full(inside.size, 0, np.uint64)
    key[inside] = grid.order.encode(index[:, inside])
    ends = np.cumsum([one.shape[1] * times for one in cells])
    return [
        Region(grid, np.sort(key[start:end][inside[start:end]]))
        for start, end in itertools.pairwise(ends.tolist())
    ]


def keys_of_places(
    grid: Grid, place: NDArray[np.int64], labels: Labels | None = None
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return the cells of the domain at places, and the number of the place of each, int64[m].

    ``place``: rows and columns of the map, int64[2, n], perhaps outside; of each place, the cells
    of the selected labels. Raises UsageError for labels that the grid does not have.
    """
    index, times = _times_labels(grid, place, labels)
    inside = np.flatnonzero(grid.contains(index))
    return grid.order.encode(index[:, inside]), inside // times


def _times_labels(
    grid: Grid, index: NDArray[np.int64], labels: Labels | None
) -> tuple[NDArray[np.int64], int]:
    """Return places, or pairs, int64[2 or 4, n] times the selected labels, int64[d, n * k], and k.

    Raises UsageError for labels and attributes that the grid does not have.
    """
    times = 1
    for which in choose_labels(grid, labels):
        _require_few(index.shape[1] * which.size)
        repeated = np.tile(which, index.shape[1])
        index = np.vstack([np.repeat(index, which.size, axis=1), repeated])
        times *= which.size
    return index, times


def choose_labels(grid: Grid, labels: Labels | None) -> list[NDArray[np.int64]]:
    """Find the positions of the selected labels of every attribute, int64[k] in rising order.

    Raises UsageError for labels and attributes that the grid does not have.
    """
    if labels is not None and not isinstance(labels, Mapping):
        raise UsageError(
            'Labels are chosen by attribute: {"sex": "male"}.', code="labels-not-by-attribute"
        )
    chosen, positions = dict(labels or {}), list[NDArray[np.int64]]()
    for attribute in grid.attributes:
        names = chosen.pop(attribute.name, attribute.labels)
        names = (names,) if isinstance(names, str) else tuple(names)
        if unknown := [name for name in names if name not in attribute.labels]:
            raise UsageError(f"{attribute.name} has no label {unknown[0]!r}.", code="label-unknown")
        positions.append(np.unique([attribute.labels.index(name) for name in names]))
    if chosen:
        raise UsageError(
            f"The grid has no attribute {next(iter(chosen))!r}.", code="attribute-unknown"
        )
    return positions


def shapes_on(place: Lattice, shapes: Sequence[Any]) -> list[Any]:
    """Repeat polygons at every period that may lie on a lattice across 180 degrees.

    Parameters
    ----------
    place : Lattice
    shapes : sequence of shapely Polygon, MultiPolygon or None
        Polygons in the lattice's CRS, from -180 to 180 degrees or beyond.

    On other lattices, polygons are unchanged.
    """
    if place.period is None:
        return [*shapes]
    import shapely
    from shapely.affinity import translate

    period = place.period
    return [
        shape
        if shape is None
        else shapely.union_all([translate(shape, way) for way in (-period, 0.0, period)])
        for shape in shapes
    ]


def share_on(place: Lattice, shape: Any) -> float:
    """Compute the part of a polygon's area that lies within a lattice's bounds.

    Parameters
    ----------
    place : Lattice
    shape : shapely Polygon or MultiPolygon
        Polygon in the lattice's CRS.

    Returns
    -------
    float
        Between 0 and 1; 1 for a polygon without an area.
    """
    import shapely

    (lain,) = shapes_on(place, [shape])
    inside = lain.intersection(shapely.box(*place.bounds)).area
    return float(min(inside / shape.area, 1.0)) if shape.area else 1.0


def boxes_of_polygons(place: Lattice, shapes: Sequence[Any]) -> list[tuple[slice, slice]]:
    """Return rows and columns of the cells that the bounding box of each polygon overlaps.

    Parameters
    ----------
    place : Lattice
        Lattice with a transform.
    shapes : sequence of shapely Polygon, MultiPolygon or None
        Polygons in the lattice's CRS.

    Raises UsageError for a box of more than 2**26 cells.
    """
    import shapely

    a, _, c, _, e, f = place.transform or (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
    west, south, east, north = shapely.bounds(np.array(shapes, object)).T
    ends = np.stack([[(south - f) / e, (north - f) / e], [(west - c) / a, (east - c) / a]])
    size = np.array([[place.rows], [place.cols]], np.float64)
    low, high = np.floor(ends.min(axis=1)), np.floor(ends.max(axis=1)) + 1
    start, stop = (np.clip(end, 0, size) for end in (low, high))
    start, stop = (np.nan_to_num(end).astype(np.int64) for end in (start, stop))  # of no polygon
    _require_few(int(np.prod(np.maximum(stop - start, 0), axis=0).max(initial=0)))
    rows, cols = (
        [slice(*one) for one in zip(*axis, strict=True)]
        for axis in zip(start.tolist(), stop.tolist(), strict=True)
    )
    return [*zip(rows, cols, strict=True)]


def middles_of(place: Lattice) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the centres of rows and of columns of a map, in its CRS: float64[rows],
    float64[cols].
    """
    x, y = place.edges()
    return (y[1:] + y[:-1]) / 2, (x[1:] + x[:-1]) / 2


def cells_of_polygon(
    middles: tuple[NDArray[np.float64], NDArray[np.float64]], shape: Any, box: tuple[slice, slice]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return rows and columns (int64[n] each) of a box's cells with their centre in a polygon."""
    import shapely

    (y, x), (rows, cols) = (axis[span] for axis, span in zip(middles, box, strict=True)), box
    if not y.size or not x.size:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    # A prepared polygon indexes its edges; otherwise every point would be compared with all of
    # them.
    shapely.prepare(shape)
    row, col = np.nonzero(shapely.contains_xy(shape, x, y[:, None]))
    return row + rows.start, col + cols.start


def choose_code(grid: Grid) -> str | None:
    """Return the code of one of the largest areas of a domain, as an example.

    Without codes it is a box of rows and columns in the middle; None for pairs, and where units or
    cells have no areas.

    Examples
    --------
    >>> choose_code(Grid.mesh("jis:half", bounds=(139, 35 + 1 / 3, 140, 36)))
    '5339'
    >>> choose_code(Grid.regular((94, 168)))
    '23_42:70_125'
    """
    if isinstance(grid.order, PairOrder):
        return None
    if (regions := grid.hierarchy) is not None:
        return regions.codes[0][0]
    place = grid.maps.one
    if place is None or not (place.system is None or place.system.areas):
        return None
    if place.system is None:
        rows, cols = place.rows, place.cols
        return f"{rows // 4}_{cols // 4}:{rows - 1 - rows // 4}_{cols - 1 - cols // 4}"
    row, col = np.array([place.rows // 2]), np.array([place.cols // 2])
    if grid.mask is not None:  # the middle of the map may lie outside
        ranges = grid.mask.ranges
        row, col = grid.decode(ranges[len(ranges) // 2, :1].copy())[:2]
    name, side = place.system.areas[0]
    at = (row + place.row0) // side, (col + place.col0) // side
    return str(coarser_system(place.system, name).format(*at)[0])


def _units_of(grid: Grid, shape: Any) -> NDArray[np.int64]:
    """Return row and column of the units in a polygon, int64[2, n]; UsageError if it cuts one.

    The polygon has the CRS of the outlines.
    """
    assert grid.outlines is not None
    inside, cut = grid.outlines.units_in(shape)
    if cut >= 0:
        code = grid.names.format(0, np.array([[0], [cut]]))[0]
        raise UsageError(
            f"The polygon cuts unit {printable(str(code))}, and only entire units can be summed: "
            "draw it along their borders, or give the codes of the units (--area, codes in place "
            "of a polygon).",
            code="polygon-cuts-unit",
        )
    col = np.flatnonzero(inside)
    return np.stack([np.zeros_like(col), col])


def _cells_of(grid: Grid, code: str, position: int) -> NDArray[np.int64]:
    """Return row and column of the cells of a region or area: int64[2, k]."""
    place, regions = _map_of(grid), grid.hierarchy
    if regions is not None:
        cells = _region(regions, code, position)
        if cells is not None:
            return cells
        if place.system is None and not (grid.names.on_map and CELLS.fullmatch(code.strip())):
            names = ", ".join(regions.levels)
            if regions.names is not None:
                rule = f"{code!r} is not a name or a code of {names}."
            else:
                rule = f"{code!r} is not a code of {names}."
            raise CodeError(position, rule, code="code-unknown")
    if place.system is None:
        return _box_of(place, code, position)
    row, col, side = _area(place.system, code, position)
    row, col = row - place.row0, col - place.col0
    # An area on the far side of 180 degrees has columns before the lattice's first one; its other
    # copy lies once around.
    if place.period is not None and col + side <= 0:
        col += place.system.around or 0
    down = np.arange(max(row, 0), min(row + side, place.rows))
    right = np.arange(max(col, 0), min(col + side, place.cols))
    if not down.size or not right.size:
        raise CodeError(
            position, f"The area {code} lies outside the domain.", code="area-outside-domain"
        )
    across, along = np.meshgrid(right, down)
    return np.stack([along.reshape(-1), across.reshape(-1)])


def _box_of(place: Lattice, code: str, position: int) -> NDArray[np.int64]:
    """Return row and column of the cells of a box on a grid without codes: int64[2, k]."""
    match = CELLS.fullmatch(code.strip())
    if match is not None:
        top, left = (int(one) for one in match.group(1, 2))
        bottom, right = (int(match[at] or first) for at, first in ((3, top), (4, left)))
        if top <= bottom < place.rows and left <= right < place.cols:
            _require_few((bottom - top + 1) * (right - left + 1))
            return np.mgrid[top : bottom + 1, left : right + 1].reshape(2, -1)
    raise CodeError(
        position,
        f"{printable(code)} names no cell: this grid has no codes, and its cells are named by row "
        f"and column, from 0_0 to {place.rows - 1}_{place.cols - 1}; 0_0:7_7 is the box of all "
        "cells between two of them.",
        code="cell-name-form",
    )


def _pairs_of(regions: Hierarchy, position: int, code: str) -> NDArray[np.int64]:
    """Return row and column of origins and destinations of a pair of codes: int64[4, k]."""
    splits = []
    # Codes may contain colons themselves: every colon is tried, and exactly one must separate two
    # known codes.
    for at in (i for i, character in enumerate(code) if character == ":"):
        ends = [
            _region(regions, end, position) if end else regions.cell
            for end in (code[:at], code[at + 1 :])
        ]
        splits += [[one for one in ends if one is not None]]
    splits = [ends for ends in splits if len(ends) == len(ENDS)]
    if len(splits) != 1:
        names = ", ".join(regions.levels)
        raise CodeError(
            position,
            f"{code!r} is not a pair of codes of {names}; write ORIGIN:DESTINATION, where an "
            "omitted end means all units.",
            code="pair-form",
        )
    ((origin, destination),) = splits
    _require_few(origin.shape[1] * destination.shape[1])
    first = np.repeat(origin, destination.shape[1], axis=1)
    return np.concatenate([first, np.tile(destination, origin.shape[1])])


def _area(system: CodeSystem, code: str, position: int) -> tuple[int, int, int]:
    """Return first row and column of an area in the code system, and its side in cells."""
    for name, side in system.areas:
        try:
            row, col = coarser_system(system, name).parse([code])
        except CodeError:
            continue
        return int(row[0]) * side, int(col[0]) * side, side
    names = ", ".join(name for name, _ in system.areas)
    raise CodeError(position, f"{code!r} is not a code of {names}.", code="code-unknown")


def _region(regions: Hierarchy, code: str, position: int) -> NDArray[np.int64] | None:
    """Return row and column of the cells of an official region, int64[2, k].

    None if there is none.
    """
    matches = [
        number == which
        for codes, number in zip(regions.codes, regions.region, strict=True)
        for which in np.flatnonzero(np.array(codes) == code)
    ]
    if matches:
        # A code on several levels is unambiguous if all its regions have the same cells.
        if any((one != matches[0]).any() for one in matches):
            raise CodeError(
                position,
                f"Several regions have the code {code!r}; {ABOVE}",
                code="code-of-several-regions",
            )
        return regions.cell[:, matches[0]]
    with suppress(UsageError):
        return regions.cells_in(*code.split("/"))
    return _named_unit(regions, code, position)


def _named_unit(regions: Hierarchy, name: str, position: int) -> NDArray[np.int64] | None:
    """Return row and column of the unit of a name, int64[2, 1]; None if there is none.

    Raises CodeError for a name of several units.
    """
    plain = " ".join(name.split()).casefold()
    named = zip(regions.names or (), regions.codes[-1], strict=False)
    matches = [
        at
        for at, (one, code) in enumerate(named)
        if one and plain in (one.casefold(), entitle(one, code).casefold())
    ]
    if len(matches) > 1:
        codes = [printable(regions.codes[-1][at]) for at in matches]
        listed = ", ".join(codes[:MAX_CODES]) + (", ..." if len(codes) > MAX_CODES else "")
        raise CodeError(
            position,
            f"Several units are called {printable(name)}; give the code of one: {listed}.",
            code="name-of-several-units",
        )
    return regions.cell[:, matches] if matches else None


def _map_of(grid: Grid) -> Lattice:
    return grid.require_map(
        Rule("places-need-one-map", "Places need a grid of one map; give cell indices or keys.")
    )


def _require_few(cells: int) -> None:
    if cells > MAX_CELLS:
        raise UsageError(
            "The region's box has more than 2**26 cells; give a smaller one.",
            code="region-box-too-large",
        )
