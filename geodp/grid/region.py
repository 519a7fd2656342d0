"""Regions: which cells of a grid a rectangle, a polygon, codes of areas or indices mean."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from geodp.errors import CodeError, Rule, UsageError, printable
from geodp.grid.codes import CodeSystem, coarser_system
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.lattice import Lattice
from geodp.grid.pairs import ENDS, PairOrder

MOST_CELLS = 1 << 26
"""Most cells of a region."""

NO_PLACE = Rule(
    "polygons-need-one-map",
    "Polygons need a grid of one map with a place on the Earth, or units with outlines.",
)

Labels = Mapping[str, str | Sequence[str]]
"""Chosen labels by attribute; all labels of attributes that are not named."""

ABOVE = "give those of the regions above it first, the coarsest first, as in 13/101."


@dataclass(frozen=True, eq=False)
class Region:
    """A set of cells of a grid's public domain.

    Attributes
    ----------
    grid : Grid
    key : uint64[n]
        Of its cells, strictly increasing.

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
        """Number of its cells."""
        return int(self.key.size)

    @classmethod
    def of(cls, grid: Grid, given: Any, labels: Labels | None = None) -> Self:
        """Return the cells that a description means.

        Parameters
        ----------
        grid : Grid
        given : Region, shapely geometry, str, sequence or array
            A region of an equal grid; a polygon or multipolygon in the grid's CRS (cells whose
            centre lies inside; of units with outlines those that it holds, where it cuts none); one
            code or several of an office's regions or units, or of areas of the grid's code system,
            of any of its published levels; four numbers west, south, east, north in the grid's CRS,
            in a list or tuple (cells whose centre lies inside); an array of cell indices int[d, n],
            of rows and columns of a map int[2, n], or of keys uint64[n].
        labels : mapping, optional
            With places only: chosen labels by attribute. Default: the sum over all.

        Raises
        ------
        UsageError, CodeError
            Something else, an area outside the domain, or more than 2**26 cells.
        """
        if isinstance(given, np.ndarray) and given.ndim == 2 and len(given) == 2 < len(grid.shape):
            return cls._of_places(grid, given, labels)
        if isinstance(given, np.ndarray | Region):
            if labels is not None:
                raise UsageError(
                    "Labels go with places; cells say their labels themselves.",
                    code="labels-need-places",
                )
            return cls._of_cells(grid, given)
        if isinstance(given, str):
            return cls.of_areas(grid, [given], labels)
        if isinstance(given, Sequence) and given and all(isinstance(c, str) for c in given):
            return cls.of_areas(grid, given, labels)
        if isinstance(given, Sequence):
            return cls.of_rectangle(grid, given, labels)
        return cls._of_polygon(grid, given, labels)

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
    def _of_cells(cls, grid: Grid, given: Any) -> Self:
        if isinstance(given, Region):
            if given.grid != grid:
                raise UsageError("The region is one of another grid.", code="region-of-other-grid")
            return cls(grid, given.key)
        if given.dtype.kind in "iu" and given.ndim == 2:
            return cls(grid, np.unique(grid.encode(given)))
        if given.dtype != np.uint64 or given.ndim != 1:
            raise UsageError(
                "Cells are an array of indices, int[d, n], or of keys, uint64[n].",
                code="cells-not-indices-or-keys",
            )
        outside = np.flatnonzero(~grid.contains_keys(given))
        if outside.size:
            raise CodeError(
                int(outside[0]),
                "The key is no cell of the grid's domain.",
                code="key-outside-domain",
            )
        return cls(grid, np.unique(given))

    @classmethod
    def _of_places(cls, grid: Grid, given: NDArray[Any], labels: Labels | None) -> Self:
        _map_of(grid)
        if given.dtype.kind not in "iu":
            raise UsageError(
                "Rows and columns of a map are whole numbers, int[2, n].",
                code="rows-columns-not-whole",
            )
        return cls(grid, np.unique(grid.encode(_times_labels(grid, given, labels)[0])))

    @classmethod
    def of_rectangle(
        cls, grid: Grid, bounds: Sequence[float], labels: Labels | None = None
    ) -> Self:
        """Cells whose centre lies within west, south, east, north, in the grid's CRS."""
        edges = np.array(bounds, np.float64) if len(bounds) == 4 else np.full(4, np.nan)
        place = _map_of(grid)
        turn = place.turn or 0.0
        if edges[0] > edges[2]:  # across 180 degrees
            edges[2] += turn
        if not np.isfinite(edges).all() or edges[0] > edges[2] or edges[1] > edges[3]:
            raise UsageError(
                "A rectangle is four numbers: west, south, east, north.", code="rectangle-form"
            )
        west, south, east, north = edges.tolist()
        xs, ys = place.edges()
        x, y = (xs[1:] + xs[:-1]) / 2, (ys[1:] + ys[:-1]) / 2
        rows = np.flatnonzero((y >= south) & (y <= north))
        within = ((x + way >= west) & (x + way <= east) for way in (-turn, 0.0, turn))
        cols = np.flatnonzero(np.logical_or.reduce([*within]))
        _require_few(rows.size * cols.size)
        col, row = (part.reshape(-1) for part in np.meshgrid(cols, rows))
        return cls.of_map(grid, row, col, labels)

    @classmethod
    def of_areas(cls, grid: Grid, codes: Sequence[str], labels: Labels | None = None) -> Self:
        """Cells of an office's regions, or of areas of the grid's code system, by their codes.

        A code that regions of an office have is theirs, on any level; where several have it, the
        codes of those above it come first, as in ``13/101``. Of an area that the domain cuts, the
        cells inside. CodeError for what is no such code, and for an area without a cell in the
        domain. Of pairs of units two codes with a colon between, origin and destination; an end
        that is left out means all units.
        """
        if isinstance(grid.order, PairOrder):
            pairs = [_pairs_of(grid.order.hierarchy, *one) for one in enumerate(codes)]
            return cls(grid, np.unique(grid.encode(np.concatenate(pairs, axis=1))))
        found = [_cells_of(grid, code, position) for position, code in enumerate(codes)]
        row, col = np.concatenate(found, axis=1)
        return cls.of_map(grid, row, col, labels)

    @classmethod
    def of_map(
        cls, grid: Grid, row: ArrayLike, col: ArrayLike, labels: Labels | None = None
    ) -> Self:
        """Cells at rows and columns of the map (int[n] each), times the chosen labels.

        Cells outside the mask are left out.
        """
        _map_of(grid)
        index, _ = _times_labels(grid, np.array([row, col], np.int64), labels)
        inside = grid.contains(index)
        if not inside.any():
            place = grid.places[0] if grid.outlines is None else grid.outlines.ground
            west, south, east, north = (f"{edge:g}" for edge in place.bounds)
            raise UsageError(
                f"The region holds no cell of the domain, which lies within west {west}, south "
                f"{south}, east {east}, north {north}.",
                code="region-without-cell",
            )
        return cls(grid, np.unique(grid.encode(index[:, inside])))


def regions_of_polygons(
    grid: Grid, shapes: Sequence[Any], labels: Labels | None = None
) -> list[Region]:
    """Return the region of each polygon, as :meth:`Region.of` does, all looked up together.

    That of a polygon without a cell of the domain, and that of None, has no cells.

    Raises UsageError for other shapes, and for a grid that is no map on the Earth.
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
    found = [np.empty((2, 0), np.int64)]
    if grid.outlines is not None:
        found += [np.empty((2, 0), np.int64) if one is None else _units_of(grid, one)
                  for one in shapes]  # fmt: skip
    else:
        middles, shapes = middles_of(place), shapes_on(place, shapes)
        for shape, box in zip(shapes, boxes_of_polygons(place, shapes), strict=True):
            found.append(np.array(cells_of_polygon(middles, shape, box)))
    index, times = _times_labels(grid, np.concatenate(found, axis=1), labels)
    inside = grid.contains(index)
    key = np.full(inside.size, 0, np.uint64)
    key[inside] = grid.order.encode(index[:, inside])
    ends = np.cumsum([one.shape[1] * times for one in found])
    return [
        Region(grid, np.sort(key[start:end][inside[start:end]]))
        for start, end in itertools.pairwise(ends.tolist())
    ]


def _times_labels(
    grid: Grid, index: NDArray[np.int64], labels: Labels | None
) -> tuple[NDArray[np.int64], int]:
    """Return places int64[2, n] times the chosen labels, int64[d, n * k], and k.

    Raises UsageError for labels and attributes that the grid does not have.
    """
    if labels is not None and not isinstance(labels, Mapping):
        raise UsageError(
            'Labels are chosen by attribute: {"sex": "male"}.', code="labels-not-by-attribute"
        )
    chosen, times = dict(labels or {}), 1
    for attribute in grid.attributes:
        names = chosen.pop(attribute.name, attribute.labels)
        names = (names,) if isinstance(names, str) else tuple(names)
        if unknown := [name for name in names if name not in attribute.labels]:
            raise UsageError(f"{attribute.name} has no label {unknown[0]!r}.", code="label-unknown")
        which = np.unique([attribute.labels.index(name) for name in names])
        _require_few(index.shape[1] * which.size)
        repeated = np.tile(which, index.shape[1])
        index = np.vstack([np.repeat(index, which.size, axis=1), repeated])
        times *= which.size
    if chosen:
        raise UsageError(
            f"The grid has no attribute {next(iter(chosen))!r}.", code="attribute-unknown"
        )
    return index, times


def shapes_on(place: Lattice, shapes: Sequence[Any]) -> list[Any]:
    """Return polygons as they lie on a lattice across 180 degrees: also a whole turn away.

    Parameters
    ----------
    place : Lattice
    shapes : sequence of shapely Polygon, MultiPolygon or None
        In the lattice's CRS, from -180 to 180 degrees or beyond.

    On other lattices they stay as they are.
    """
    if place.turn is None:
        return [*shapes]
    import shapely
    from shapely.affinity import translate

    turn = place.turn
    return [
        shape
        if shape is None
        else shapely.union_all([translate(shape, way) for way in (-turn, 0.0, turn)])
        for shape in shapes
    ]


def boxes_of_polygons(place: Lattice, shapes: Sequence[Any]) -> list[tuple[slice, slice]]:
    """Rows and columns of the cells that the bounding box of each polygon overlaps.

    Parameters
    ----------
    place : Lattice
        With a transform.
    shapes : sequence of shapely Polygon, MultiPolygon or None
        In the lattice's CRS.

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
    """Middles of all rows and of all columns of a map, in its CRS: float64[rows], float64[cols]."""
    x, y = place.edges()
    return (y[1:] + y[:-1]) / 2, (x[1:] + x[:-1]) / 2


def cells_of_polygon(
    middles: tuple[NDArray[np.float64], NDArray[np.float64]], shape: Any, box: tuple[slice, slice]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows and columns (int64[n] each) of the cells of a box whose centre lies inside a polygon."""
    import shapely

    (y, x), (rows, cols) = (axis[own] for axis, own in zip(middles, box, strict=True)), box
    if not y.size or not x.size:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    shapely.prepare(shape)
    row, col = np.nonzero(shapely.contains_xy(shape, x, y[:, None]))
    return row + rows.start, col + cols.start


def _units_of(grid: Grid, shape: Any) -> NDArray[np.int64]:
    """Row and column of the units that a polygon holds, int64[2, n]; UsageError where it cuts one.

    The polygon has the CRS of the outlines.
    """
    assert grid.outlines is not None
    inside, cut = grid.outlines.units_in(shape)
    if cut >= 0:
        code = grid.names.format(0, np.array([[0], [cut]]))[0]
        raise UsageError(
            f"The polygon cuts unit {printable(str(code))}, and units are summed whole: draw it "
            "along their borders, or give the codes of the units (--area, codes instead of a "
            "polygon).",
            code="polygon-cuts-unit",
        )
    col = np.flatnonzero(inside)
    return np.stack([np.zeros_like(col), col])


def _cells_of(grid: Grid, code: str, position: int) -> NDArray[np.int64]:
    """Row and column of the cells of a region or area: int64[2, k]."""
    place, regions = _map_of(grid), grid.hierarchy
    if regions is not None:
        own = _region(regions, code, position)
        if own is not None:
            return own
        if place.system is None:
            names = ", ".join(regions.levels)
            raise CodeError(position, f"{code!r} is no code of {names}.", code="code-unknown")
    if place.system is None:
        raise UsageError(
            "The grid has no code system whose areas could be named.", code="grid-names-no-areas"
        )
    row, col, side = _area(place.system, code, position)
    row, col = row - place.row0, col - place.col0
    if place.turn is not None and col + side <= 0:
        col += place.system.around or 0
    down = np.arange(max(row, 0), min(row + side, place.rows))
    right = np.arange(max(col, 0), min(col + side, place.cols))
    if not down.size or not right.size:
        raise CodeError(
            position, f"The area {code} lies outside the domain.", code="area-outside-domain"
        )
    across, along = np.meshgrid(right, down)
    return np.stack([along.reshape(-1), across.reshape(-1)])


def _pairs_of(regions: Hierarchy, position: int, code: str) -> NDArray[np.int64]:
    """Return row and column of origins and destinations of a pair of codes: int64[4, k]."""
    found = []
    for at in (i for i, character in enumerate(code) if character == ":"):
        ends = [
            _region(regions, end, position) if end else regions.cell
            for end in (code[:at], code[at + 1 :])
        ]
        found += [[one for one in ends if one is not None]]
    found = [ends for ends in found if len(ends) == len(ENDS)]
    if len(found) != 1:
        names = ", ".join(regions.levels)
        raise CodeError(
            position,
            f"{code!r} is no pair of codes of {names}; write ORIGIN:DESTINATION, where an end that "
            "is left out means all units.",
            code="pair-form",
        )
    ((origin, destination),) = found
    _require_few(origin.shape[1] * destination.shape[1])
    first = np.repeat(origin, destination.shape[1], axis=1)
    return np.concatenate([first, np.tile(destination, origin.shape[1])])


def _area(system: CodeSystem, code: str, position: int) -> tuple[int, int, int]:
    """First row and column of an area in the code system, and its side in cells."""
    for name, side in system.areas:
        try:
            row, col = coarser_system(system, name).parse([code])
        except CodeError:
            continue
        return int(row[0]) * side, int(col[0]) * side, side
    names = ", ".join(name for name, _ in system.areas)
    raise CodeError(position, f"{code!r} is no code of {names}.", code="code-unknown")


def _region(regions: Hierarchy, code: str, position: int) -> NDArray[np.int64] | None:
    """Row and column of the cells of an office's region, int64[2, k]; None where it has none."""
    found = [
        number == which
        for codes, number in zip(regions.codes, regions.region, strict=True)
        for which in np.flatnonzero(np.array(codes) == code)
    ]
    if found:
        if any((one != found[0]).any() for one in found):
            raise CodeError(
                position,
                f"Several regions have the code {code!r}; {ABOVE}",
                code="code-of-several-regions",
            )
        return regions.cell[:, found[0]]
    with suppress(UsageError):
        return regions.cells_in(*code.split("/"))
    return None


def _map_of(grid: Grid) -> Lattice:
    return grid.require_map(
        Rule("places-need-one-map", "Places need a grid of one map; give cell indices or keys.")
    )


def _require_few(cells: int) -> None:
    if cells > MOST_CELLS:
        raise UsageError(
            "The region's box holds more than 2**26 cells; give a smaller one.",
            code="region-box-too-large",
        )
