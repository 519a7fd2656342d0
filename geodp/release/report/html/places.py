"""Places by name with their estimates, which a page lists, searches and quotes.

:mod:`.quotes` writes the sentences on them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import LAPLACE_Z, Estimate, Z
from geodp.errors import CodeError, UsageError
from geodp.grid.codes import coarser_system
from geodp.grid.crs import open_transformer
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.lattice import Lattice
from geodp.grid.names import entitle
from geodp.grid.region import (
    Region,
    boxes_of_polygons,
    cells_of_polygon,
    middles_of,
    regions_of_polygons,
    shapes_on,
    share_on,
)
from geodp.io.read.public.polygons import Circle
from geodp.io.write.frame import cell_size
from geodp.io.write.map.panel import Panel
from geodp.io.write.view import View
from geodp.release.estimates import estimate_regions
from geodp.release.opening import WrittenRelease
from geodp.release.release import Release
from geodp.release.report.html.outlines import box_of_units, trace_cells
from geodp.typing import IntArray

MAX_CELLS = 1 << 22
"""Maximum cells of a domain whose areas are listed, and of a table whose largest are listed."""

MAX_SQUARES, MAX_REGIONS = 1000, 20_000
"""Maximum areas of a code system, and regions of a table, that a page lists."""

MAX_LARGEST = 10
"""Number of cells with the largest counts that a page lists."""

FINE = 2.0
"""Side of squares in kilometres below which their middles are given to thousandths of a degree."""

MAX_BORDER_NUMBERS = 1 << 20
"""Maximum size of all borders of places together, in numbers."""

SLACK = 1e-9
"""Tolerance for rounding at the map's edge, as a share of its width."""

MIN_SHARE = 0.5
"""Part of a polygon of a public list that must lie on the map for it to be listed."""

UNIT = "*unit"
"""Level of a unit of a table with outlines, or with names beside codes."""

ENTIRE_DOMAIN = "*"
"""Name of the place that is the entire domain."""

Box = tuple[int, int, int, int]
"""First row and column of a place, and those after its last."""


@dataclass(frozen=True)
class Place:
    """Place in the list of a page, with its estimate.

    Attributes
    ----------
    name : str
        Name in a list or a table; the code of an official square; empty for a square without a
        code; `ENTIRE_DOMAIN` for the entire domain.
    level : str
        Kind of place, as its table or code system calls it; or empty.
    box : tuple of int
        Rows and columns of the map that hold it.
    middle : (float, float) or None
        Longitude and latitude of a square's middle, in degrees.
    estimate : Estimate
    km : float or None
        Radius of a circle around the named place, in kilometres.
    is_part : bool
        Whether part of the place lies outside the domain, and so is not in the sum.
    overlaps : bool
        Whether it shares cells with another place of the list.
    border : int64[n] or None
        Border, see :func:`geodp.release.report.html.outlines.trace_cells`; None: its box.
    """

    name: str
    level: str
    box: Box
    middle: tuple[float, float] | None
    estimate: Estimate
    km: float | None = None
    is_part: bool = False
    overlaps: bool = False
    border: IntArray | None = None


@dataclass(frozen=True)
class Rounded:
    """Estimate rounded for a sentence, to digits that its interval supports.

    Attributes
    ----------
    count, low, high : int or float
        Count and interval, rounded outwards and at least 0.
    """

    count: float
    low: float
    high: float

    @classmethod
    def of(cls, estimate: Estimate, step: int | None = None) -> Rounded:
        """Round to the first digit of half the interval, or to multiples of ``step``.

        Examples
        --------
        >>> Rounded.of(Estimate(12345, 12223.0, 12467.0, 61.0, clamped=False))
        Rounded(count=12300, low=12200, high=12500)
        """
        step = step_of(estimate) if step is None else step
        low, high = math.floor(estimate.low / step) * step, math.ceil(estimate.high / step) * step
        return cls(max(round(estimate.count / step) * step, 0), max(low, 0), max(high, 0))


def step_of(estimate: Estimate) -> int:
    """Return the power of ten of the first digit of half an interval; at least 1."""
    half = (estimate.high - estimate.low) / 2
    return int(10 ** max(math.floor(math.log10(half)), 0)) if half > 0 else 1


def list_places(view: View, public_list: Mapping[str, Any] | None = None) -> list[Place]:
    """List places with their estimates, the entire domain first, then by falling lower ends.

    Parameters
    ----------
    view : View
        View of a written release.
    public_list : mapping of str to polygon or list of codes, optional
        A public list of places, as :meth:`geodp.Release.estimate` takes each; those of which less
        than half lies on the map are left out. Default: the regions of the release's table, or
        areas of its code system, or squares of cells.

    Returns
    -------
    list of Place
        Empty where the method has no closed form of errors. The entire domain alone for more than
        2**22 cells without a list. For pairs, squares of either end, summed over the other end,
        where the method does not clamp at 0.

    Raises
    ------
    UsageError
        A list is given, and the cells are not those of a single map.
    """
    release = WrittenRelease.of(view)
    grid = release.grid
    if public_list is not None and grid.maps.missing:
        raise UsageError(
            "--places needs a release with a single map, which this one is not; leave it out.",
            code="list-needs-one-map",
        )
    tree = release.method.tree_variance(grid, release.event)
    if (tree is None and release.parts is None) or not grid.places:
        return []
    if grid.maps.missing:
        places = _list_ends(view)
    else:
        nonempty = list_regions(grid, public_list)
        estimates = estimate_regions(release, [one.region for one in nonempty])
        shared = _find_shared(nonempty, public_list is None)
        places = [
            one.with_estimate(estimate, overlaps=number in shared, border=border)
            for number, (one, estimate, border) in enumerate(
                zip(nonempty, estimates, _trace_all(nonempty), strict=True)
            )
        ]
    return [*_list_domain(release), *sorted(places, key=_order)]


def _order(place: Place) -> tuple[float, float]:
    """Order a place by the lower end of its sentence, then by the upper one, largest first."""
    # The count itself would be an order that the reader cannot see where the sentence has none.
    rounded = Rounded.of(place.estimate)
    return -rounded.low, -rounded.high


@dataclass(frozen=True)
class NamedRegion:
    """Place before its estimate; the fields are those of `Place`."""

    name: str
    region: Region
    level: str = ""
    middle: tuple[float, float] | None = None
    km: float | None = None
    is_part: bool = False

    @property
    def box(self) -> Box:
        """Rows and columns of the map that hold it."""
        return box_of(self.region)

    def with_estimate(self, estimate: Estimate, **more: Any) -> Place:
        """Return the place with the estimate of its region; ``more``: other fields of it."""
        return Place(
            self.name, self.level, self.box, self.middle, estimate,
            km=self.km, is_part=self.is_part, **more,
        )  # fmt: skip


def list_largest(view: View) -> list[Place]:
    """List the `MAX_LARGEST` cells, or units, with the largest counts, in falling order.

    Parameters
    ----------
    view : View
        View of a written release.

    Returns
    -------
    list of Place
        Empty for methods without a closed form of errors, for pairs, and for more than 2**22 cells
        in the table.
    """
    release = WrittenRelease.of(view)
    grid, table = release.grid, release.table
    tree = release.method.tree_variance(grid, release.event)
    if (tree is None and release.parts is None) or not grid.places or grid.maps.missing:
        return []
    place = grid.places[0]
    if table.key.size > MAX_CELLS:
        return []
    row, col = grid.decode(table.key)[:2]
    linear, which = np.unique(row * place.cols + col, return_inverse=True)
    sums = np.zeros(linear.size, table.count.dtype)
    np.add.at(sums, which, table.count)
    # A stable order, so that the same release has the same page where counts are alike.
    best = np.argsort(-sums, kind="stable")[:MAX_LARGEST]
    # In a sparse release, fewer cells than that may have a positive count.
    best = best[sums[best] > 0]
    squares = np.stack([linear[best] // place.cols, linear[best] % place.cols])
    regions = [Region.of_map(grid, *one.reshape(2, 1)) for one in squares.T]
    estimates = estimate_regions(release, regions)
    index = np.zeros((len(grid.shape), best.size), np.int64)
    index[:2] = squares
    is_coded = grid.outlines is not None or place.system is not None
    names = grid.names.show(0, index) if is_coded else [""] * best.size
    off_map = grid.outlines is not None
    middles = [None] * best.size if off_map else _middles(place, squares, 1, False)
    return [
        Place(name, UNIT if off_map else "", box_of(region), middle, estimate)
        for name, region, middle, estimate in zip(names, regions, middles, estimates, strict=True)
    ]


def _find_shared(places: Sequence[NamedRegion], is_level: bool) -> set[int]:
    """Find the places that share cells with other places: their numbers.

    ``is_level``: the default list, in which places share cells only if it has several levels.
    """
    if is_level:
        has_levels = len({one.level for one in places}) > 1
        return {*range(len(places))} if has_levels else set()
    keys = [one.region.key for one in places]
    if not keys:
        return set()
    _, which, times = np.unique(np.concatenate(keys), return_inverse=True, return_counts=True)
    ends = np.cumsum([key.size for key in keys])
    is_shared = np.split(times[which] > 1, ends[:-1])
    return {number for number, one in enumerate(is_shared) if one.any()}


def _trace_all(places: Sequence[NamedRegion]) -> list[IntArray | None]:
    """Trace the borders of all places except squares; of none beyond `MAX_BORDER_NUMBERS`."""
    borders: list[IntArray | None] = []
    capacity = MAX_BORDER_NUMBERS if sum(one.region.cells for one in places) <= MAX_CELLS else 0
    for one in places:
        grid, traced = one.region.grid, None
        if one.middle is None and capacity > 0:
            index = grid.decode(one.region.key)[:2]
            traced = np.unique(index[1]) if grid.outlines is not None else trace_cells(index)
            capacity -= traced.size
        borders.append(traced)
    # All or none: a list in which some places have a border and others a box would mislead.
    return borders if capacity > 0 else [None] * len(places)


def _list_domain(release: Release) -> list[Place]:
    """List the entire domain as a place; nothing where its error is not known."""
    grid, place = release.grid, release.grid.places[0]
    box = (0, 0, place.rows, place.cols)
    if grid.size <= MAX_CELLS and not grid.maps.missing:
        (estimate,) = estimate_regions(release, [Region(grid, _keys_of(grid))])
        return [Place(ENTIRE_DOMAIN, "", box, None, estimate)]
    # Too large to sum cell by cell: the error of the root block is that of the total.
    root = release.block_errors[0] if release.block_errors else None
    if root is None or root.cells != grid.size or release.totals is not None:
        return []
    return [
        Place(ENTIRE_DOMAIN, "", box, None, _around(release.table.count.sum(), root.standard_error))
    ]


def _around(count: Any, error: float) -> Estimate:
    """Estimate a count with a two-sided interval of the noise."""
    margin, middle = LAPLACE_Z * error, count.item()
    return Estimate(middle, middle - margin, middle + margin, error, clamped=False)


def _list_ends(view: View) -> list[Place]:
    """List squares of either end of pairs, summed over the other end.

    Empty for methods that clamp at 0: most pairs have few trips, and the clamping bias of their sum
    exceeds its margin.
    """
    grid, places = view.table.grid, list[Place]()
    if view.card.mechanism.nonnegative:
        return places
    for number, (end, place) in enumerate(zip(grid.maps.ends, grid.places, strict=True)):
        panel = Panel.of(view, number)
        side, counts = panel.frame.block, panel.value * panel.frame.areas()
        if panel.margin is None:
            continue
        # Each end gets half of the list.
        best = np.argsort(-counts, axis=None, kind="stable")[: MAX_SQUARES // 2]
        squares = np.array(np.unravel_index(best, counts.shape))
        middles = _middles(place, squares, side, False)
        for row, col, middle in zip(*squares.tolist(), middles, strict=True):
            box = (row * side, col * side, (row + 1) * side, (col + 1) * side)
            estimate = _around(np.rint(counts[row, col]), panel.margin / Z)
            places.append(Place("", end, box, middle, estimate))
    return places


def _keys_of(grid: Grid) -> NDArray[np.uint64]:
    """Return the sorted keys of all cells of a domain: uint64[n]."""
    return np.sort(grid.domain.keys_of_ranks(np.arange(grid.size)))


def _list_public(grid: Grid, public_list: Mapping[str, Any]) -> list[NamedRegion]:
    """Locate the places of a public list that lie on the map, by half at least."""
    # A circle is estimated as the polygon around it, and keeps its radius for the sentence.
    circles = {name: one.km for name, one in public_list.items() if isinstance(one, Circle)}
    plain = {name: one.shape if name in circles else one for name, one in public_list.items()}
    shapes = {name: one for name, one in plain.items() if hasattr(one, "geom_type")}
    regions = dict(zip(shapes, regions_of_polygons(grid, [*shapes.values()]), strict=True))
    cut = {name for name, one in shapes.items() if _is_cut(grid, one, regions[name])}
    # The map's mask does not count: half of a town at the coast may be sea.
    shares = {name: share_on(grid.places[0], shapes[name]) for name in cut}
    for name, codes in plain.items():
        if name not in shapes:
            regions[name] = _of_codes(grid, codes)
            cut |= {name} if _misses_codes(grid, codes) else set()
    return [
        NamedRegion(name, regions[name], km=circles.get(name), is_part=name in cut)
        for name in public_list
        if shares.get(name, 1.0) > MIN_SHARE - SLACK
    ]


def _is_cut(grid: Grid, shape: Any, region: Region) -> bool:
    """Test whether a polygon extends beyond the map or its mask."""
    # Polygons that cut units are refused before, so that this one consists of complete units.
    if grid.outlines is not None:
        return False
    place = grid.places[0]
    (west, south, east, north), (left, bottom, right, top) = place.bounds, shape.bounds
    slack = SLACK * (east - west)
    # Around the Earth a polygon may lie a whole turn away, where longitudes compare wrongly.
    is_wide = place.period is None and (left < west - slack or right > east + slack)
    if is_wide or bottom < south - slack or top > north + slack:
        return True
    (lain,) = shapes_on(place, [shape])
    (box,) = boxes_of_polygons(place, [lain])
    row, _ = cells_of_polygon(middles_of(place), lain, box)
    return region.cells < row.size * math.prod(grid.shape[2:])


def _misses_codes(grid: Grid, codes: Sequence[str]) -> bool:
    """Test whether any area with one of these codes extends beyond the domain."""
    for code in codes:
        try:
            cells = Region.of_areas(grid, [code]).cells
        # An area without any cell in the domain extends beyond it as well.
        except (CodeError, UsageError):
            return True
        side = _side_of(grid, code)
        if cells < side**2 * math.prod(grid.shape[2:]):
            return True
    return False


def _side_of(grid: Grid, code: str) -> int:
    """Count the cells along a side of an official area; 0 for a region of a table."""
    system = grid.places[0].system
    if system is None:
        return 0
    for name, side in system.areas:
        try:
            coarser_system(system, name).parse([code])
        except CodeError:
            continue
        return side
    return 0


def _of_codes(grid: Grid, codes: Sequence[str]) -> Region:
    """Collect the cells of areas by their codes, as far as they lie in the domain."""
    try:
        return Region.of_areas(grid, codes)
    except (CodeError, UsageError) as error:
        if error.code not in ("area-outside-domain", "region-without-cell"):
            raise
    # One of several codes has no cell in the domain: take them one by one, without it.
    each = [_of_codes(grid, [code]).key for code in codes if len(codes) > 1]
    return Region(grid, np.unique(np.concatenate([np.empty(0, np.uint64), *each])))


def list_regions(
    grid: Grid, public_list: Mapping[str, Any] | None = None, *, side: int | None = None
) -> list[NamedRegion]:
    """List the places of a page that have a cell in the domain, without their estimates.

    Parameters
    ----------
    grid : Grid
        A single map.
    public_list : mapping of str to polygon or list of codes, optional
        See `list_places`.
    side : int, optional
        Cells along a side of the squares that are listed where there is no public list. Default:
        the finest squares that are few enough.
    """
    named = _list_areas(grid, side) if public_list is None else _list_public(grid, public_list)
    return [one for one in named if one.region.cells]


def _list_areas(grid: Grid, side: int | None) -> list[NamedRegion]:
    """List the regions of the grid's table, or areas of its code system, or squares of cells."""
    place = grid.places[0]
    if grid.size > MAX_CELLS:
        return []
    key = _keys_of(grid)
    index = grid.decode(key)[:2]
    if grid.hierarchy is not None:
        return [*_regions_of_table(grid, grid.hierarchy, key, index)]
    official = sorted((side, name) for name, side in grid.maps.areas if side > 1)
    # The finest squares that are few enough for a list.
    doubled = [(1 << power, "") for power in range(1, 64)]
    if side is None:
        few = (one for one in (*official, *doubled) if _count(place, one[0]) < MAX_SQUARES)
        side, level = next(few)
    else:
        level = dict(official).get(side, "")
    first = [index[0] + place.row0, index[1] + place.col0] if level else [*index]
    row, col = (each // side for each in first)
    wide = int(col.max()) + 1
    groups = [*_group(grid, key, row * wide + col)]
    squares = np.array([divmod(number, wide) for number, _ in groups], np.int64).T
    names = _codes_of(place, level, squares) if level else [""] * len(groups)
    middles = _middles(place, squares, side, bool(level))
    full = side**2 * math.prod(grid.shape[2:]) if level else 0
    return [
        NamedRegion(name, region, level, middle, is_part=region.cells < full)
        for name, (_, region), middle in zip(names, groups, middles, strict=True)
    ]


def _count(place: Lattice, side: int) -> int:
    """Count the squares of a side that cover a map."""
    return -(-place.rows // side) * -(-place.cols // side)


def _codes_of(place: Lattice, level: str, squares: IntArray) -> list[str]:
    """Format the codes of squares from their rows and columns in the code system."""
    system = coarser_system(place.system, level)  # type: ignore[arg-type]  # only systems have levels
    row, col = squares
    # A system around the Earth wraps: a map across the date line has columns beyond its last.
    codes = system.format(row, col % system.around if system.around else col)
    return [str(code) for code in codes]


def _regions_of_table(
    grid: Grid, table: Hierarchy, key: NDArray[np.uint64], index: IntArray
) -> Iterator[NamedRegion]:
    """Yield the regions of a table by level, the finest first, up to `MAX_REGIONS` in all."""
    cols, capacity = grid.shape[1], MAX_REGIONS
    linear = table.cell[0] * cols + table.cell[1]
    order = np.argsort(linear)
    at = order[np.searchsorted(linear, index[0] * cols + index[1], sorter=order)]
    for number in reversed(range(len(table.levels))):
        codes, level = table.codes[number], show_level(table, number)
        if level == UNIT:
            codes = tuple(map(entitle, table.names or (), codes))
        # A level that does not fit is left out; coarser ones may still fit.
        if len(codes) > capacity:
            continue
        capacity -= len(codes)
        for region, cells in _group(grid, key, table.region[number][at]):
            yield NamedRegion(codes[region], cells, level)


def show_level(table: Hierarchy, number: int) -> str:
    """Return the level of the places of a table for readers: units with names are plain areas."""
    named = table.names is not None and number == len(table.levels) - 1
    return UNIT if named else table.levels[number]


def _group(grid: Grid, key: NDArray[np.uint64], number: IntArray) -> Iterator[tuple[int, Region]]:
    """Group cells by a number: yield each number and the region of its cells."""
    order = np.argsort(number, kind="stable")
    ends = np.flatnonzero(np.diff(number[order])) + 1
    for part in np.split(order, ends):
        yield int(number[part[0]]), Region(grid, key[part])


def _middles(
    place: Lattice, squares: IntArray, side: int, official: bool
) -> Sequence[tuple[float, float] | None]:
    """Compute rounded longitudes and latitudes of the middles of squares; None without a CRS."""
    if place.crs is None or place.transform is None:
        return [None] * squares.shape[1]
    row, col = squares * side + side / 2
    if official:
        # Official squares are counted from the code system's origin, not from the map's corner.
        row, col = row - place.row0, col - place.col0
    a, _, c, _, e, f = place.transform
    move = open_transformer(str(place.crs), "OGC:CRS84")
    lon, lat = move.transform(c + a * col, f + e * row)
    digits = 2 if side * float(cell_size(place)[0]) >= FINE else 3
    return [*zip(np.round(lon, digits).tolist(), np.round(lat, digits).tolist(), strict=True)]


def box_of(region: Region) -> Box:
    """Return the bounding box of a region in rows and columns; in steps for maps of units."""
    index, outlines = region.grid.decode(region.key)[:2], region.grid.outlines
    if outlines is not None:
        return box_of_units(outlines.drawn, index[1])
    (top, left), (bottom, right) = index.min(axis=1).tolist(), (index.max(axis=1) + 1).tolist()
    return top, left, bottom, right
