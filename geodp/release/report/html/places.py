"""Places by name with their sums: what a page lists, finds and lets its readers quote."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import LAPLACE_Z, Estimate, Z
from geodp.errors import CodeError, UsageError
from geodp.grid.codes import coarser_system
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.lattice import Lattice
from geodp.grid.region import (
    Region,
    boxes_of_polygons,
    cells_of_polygon,
    middles_of,
    regions_of_polygons,
    shapes_on,
)
from geodp.io.read.public.places import Circle
from geodp.io.write.frame import cell_size
from geodp.io.write.map.panel import Panel
from geodp.io.write.view import View
from geodp.release.estimates import estimate_regions
from geodp.release.opening import WrittenRelease
from geodp.release.report.html.outlines import box_of_units, trace_cells
from geodp.typing import IntArray

if TYPE_CHECKING:
    from geodp.release.release import Release

MAX_CELLS = 1 << 22
"""Cells of a domain whose areas are listed, and listed cells among which the largest are found."""

MAX_SQUARES, MAX_REGIONS = 1000, 20_000
"""Areas of a code system, and regions of a table, that a page lists."""

MAX_LARGEST = 10
"""Cells with the most people that a page lists."""

FINE = 2.0
"""Kilometres of a square whose neighbours hundredths of a degree do not tell apart."""

MAX_BORDER_NUMBERS = 1 << 20
"""Numbers of all borders of places that a page has room for."""

SLACK = 1e-9
"""Share of the map's width by which rounding may move a polygon beyond its edge."""

UNIT = "*unit"
"""Level of a unit of a table with outlines, which has a code and no more."""

WHOLE = "*"
"""Name of the place that is the whole domain."""

Box = tuple[int, int, int, int]
"""The first row and column of a place, and those after its last."""


@dataclass(frozen=True)
class Place:
    """A place of a release's list.

    Attributes
    ----------
    name : str
        Of a list or a table; the code of an official square; empty of a square without a code;
        `WHOLE` of the whole domain.
    level : str
        What kind of place it is, in the words of its table or code system; or empty.
    box : tuple of int
        Rows and columns of the map that hold it.
    middle : (float, float) or None
        Longitude and latitude of a square, which tell where it is.
    estimate : Estimate
    km : float or None
        Radius of a circle that has the name of what lies in its middle.
    is_part : bool
        Whether some of the place lies off the map, and so is not in the sum.
    overlaps : bool
        Whether another place of the list has cells of this one.
    outline : int64[n] or None
        Its border, see :func:`geodp.release.report.html.outlines.trace_cells`; None: its box.
    """

    name: str
    level: str
    box: Box
    middle: tuple[float, float] | None
    estimate: Estimate
    km: float | None = None
    is_part: bool = False
    overlaps: bool = False
    outline: IntArray | None = None


@dataclass(frozen=True)
class Rounded:
    """An estimate as a sentence says it: no digit of the interval is better than it is.

    Attributes
    ----------
    count, low, high : int or float
        The interval rounded outwards, and not below 0, which counts of people are not.
    """

    count: float
    low: float
    high: float

    @classmethod
    def of(cls, found: Estimate) -> Rounded:
        """Round to the first digit of half the interval.

        Examples
        --------
        >>> Rounded.of(Estimate(12345, 61.0, 12223.0, 12467.0, clamped=False))
        Rounded(count=12300, low=12200, high=12500)
        """
        half = (found.high - found.low) / 2
        step = 10 ** max(math.floor(math.log10(half)), 0) if half > 0 else 1
        low, high = math.floor(found.low / step) * step, math.ceil(found.high / step) * step
        return cls(max(round(found.count / step) * step, 0), max(low, 0), max(high, 0))


def list_places(view: View, given: Mapping[str, Any] | None = None) -> list[Place]:
    """Return places with their sums, the whole domain first, then the largest.

    Parameters
    ----------
    view : View
        Of a written release.
    given : mapping of str to polygon or list of codes, optional
        A public list of places, as :meth:`geodp.Release.estimate` takes each. Default: the regions
        of the release's own table, or areas of its code system, or squares of cells.

    Returns
    -------
    list of Place
        Empty where the method has no closed form of errors. The whole alone for domains of more
        than 2**22 cells without a list. Of pairs the squares of either end, summed over all of the
        other, where the method does not clamp at 0.

    Raises
    ------
    UsageError
        A list, and cells that are not those of one map.
    """
    release = WrittenRelease.of(view)
    grid = release.grid
    if given is not None and grid.maps.missing:
        raise UsageError(
            "--places are of one map, which this release does not have; leave it out.",
            code="list-needs-one-map",
        )
    tree = release.method.tree_variance(grid, release.event)
    if (tree is None and release.parts is None) or not grid.places:
        return []
    if grid.maps.missing:
        found = _list_ends(view)
    else:
        named = _list_given(grid, given) if given is not None else _list_regions(grid)
        kept = [one for one in named if one.region.cells]
        estimates = estimate_regions(release, [one.region for one in kept])
        shared = _find_shared(kept, given is None)
        found = [
            Place(
                one.name, one.level, _box_of(one.region), one.middle, estimate,
                km=one.km, is_part=one.is_part, overlaps=number in shared, outline=outline,
            )
            for number, (one, estimate, outline) in enumerate(
                zip(kept, estimates, _trace_all(kept), strict=True)
            )
        ]  # fmt: skip
    return [*_list_whole(release), *sorted(found, key=lambda one: -one.estimate.count)]


@dataclass(frozen=True)
class _Named:
    """A place before its sum is known; the fields are those of `Place`."""

    name: str
    region: Region
    level: str = ""
    middle: tuple[float, float] | None = None
    km: float | None = None
    is_part: bool = False


def list_largest(view: View) -> list[Place]:
    """Return the `MAX_LARGEST` cells, or units, with the most people, the first of them first.

    Parameters
    ----------
    view : View
        Of a written release.

    Returns
    -------
    list of Place
        Empty where the errors of cells are not known, as in :func:`list_places`, for pairs, and
        for more than 2**22 listed cells.
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
    best = best[sums[best] > 0]
    squares = np.stack([linear[best] // place.cols, linear[best] % place.cols])
    regions = [Region.of_map(grid, *one.reshape(2, 1)) for one in squares.T]
    estimates = estimate_regions(release, regions)
    index = np.zeros((len(grid.shape), best.size), np.int64)
    index[:2] = squares
    is_coded = grid.outlines is not None or place.system is not None
    names = grid.names.format(0, index).tolist() if is_coded else [""] * best.size
    off_map = grid.outlines is not None
    middles = [None] * best.size if off_map else _middles(place, squares, 1, False)
    return [
        Place(name, UNIT if off_map else "", _box_of(region), middle, estimate)
        for name, region, middle, estimate in zip(names, regions, middles, estimates, strict=True)
    ]


def _find_shared(places: Sequence[_Named], is_level: bool) -> set[int]:
    """Return the numbers of places some of whose cells lie in other places, too.

    ``is_level``: places of one level, as they are listed by default, share none.
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


def _trace_all(places: Sequence[_Named]) -> list[IntArray | None]:
    """Return the border of every place but squares, or of none where the page has no room."""
    found: list[IntArray | None] = []
    room = MAX_BORDER_NUMBERS if sum(one.region.cells for one in places) <= MAX_CELLS else 0
    for one in places:
        grid, traced = one.region.grid, None
        if one.middle is None and room > 0:
            index = grid.decode(one.region.key)[:2]
            traced = np.unique(index[1]) if grid.outlines is not None else trace_cells(index)
            room -= traced.size
        found.append(traced)
    # All or none: a list in which some places have a border and others a box would mislead.
    return found if room > 0 else [None] * len(places)


def _list_whole(release: Release) -> list[Place]:
    """Return the whole domain as a place, where its error is known."""
    grid, place = release.grid, release.grid.places[0]
    box = (0, 0, place.rows, place.cols)
    if grid.size <= MAX_CELLS and not grid.maps.missing:
        (estimate,) = estimate_regions(release, [Region(grid, _keys_of(grid))])
        return [Place(WHOLE, "", box, None, estimate)]
    root = release.block_errors[0] if release.block_errors else None
    if root is None or root.cells != grid.size or release.totals is not None:
        return []
    return [Place(WHOLE, "", box, None, _around(release.table.count.sum(), root.standard_error))]


def _around(count: Any, error: float) -> Estimate:
    """Return an estimate whose interval is that of the noise, on both sides."""
    margin, middle = LAPLACE_Z * error, count.item()
    return Estimate(middle, error, middle - margin, middle + margin, clamped=False)


def _list_ends(view: View) -> list[Place]:
    """Return squares of either end of pairs, summed over all of the other end.

    None where a method clamps at 0: it moves more than their margin, as most pairs are of few.
    """
    grid, found = view.table.grid, list[Place]()
    if view.card.mechanism.nonnegative:
        return found
    for number, (end, place) in enumerate(zip(grid.maps.ends, grid.places, strict=True)):
        panel = Panel.of(view, number)
        side, counts = panel.frame.block, panel.value * panel.frame.areas()
        if panel.margin is None:
            continue
        best = np.argsort(-counts, axis=None, kind="stable")[: MAX_SQUARES // 2]
        squares = np.array(np.unravel_index(best, counts.shape))
        middles = _middles(place, squares, side, False)
        for row, col, middle in zip(*squares.tolist(), middles, strict=True):
            box = (row * side, col * side, (row + 1) * side, (col + 1) * side)
            estimate = _around(np.rint(counts[row, col]), panel.margin / Z)
            found.append(Place("", end, box, middle, estimate))
    return found


def _keys_of(grid: Grid) -> NDArray[np.uint64]:
    """Return the keys of all cells of a domain, in order: uint64[n]."""
    return np.sort(grid.domain.keys_of_ranks(np.arange(grid.size)))


def _list_given(grid: Grid, given: Mapping[str, Any]) -> list[_Named]:
    """Return the places of a list; those outside the domain have no cells."""
    circles = {name: one.km for name, one in given.items() if isinstance(one, Circle)}
    plain = {name: one.shape if name in circles else one for name, one in given.items()}
    shapes = {name: one for name, one in plain.items() if hasattr(one, "geom_type")}
    regions = dict(zip(shapes, regions_of_polygons(grid, [*shapes.values()]), strict=True))
    cut = {name for name, one in shapes.items() if _is_cut(grid, one, regions[name])}
    for name, codes in plain.items():
        if name not in shapes:
            regions[name] = _of_codes(grid, codes)
            cut |= {name} if _misses_codes(grid, codes) else set()
    return [
        _Named(name, regions[name], km=circles.get(name), is_part=name in cut) for name in given
    ]


def _is_cut(grid: Grid, shape: Any, region: Region) -> bool:
    """Return whether the edge of the map or its mask cuts off some of a polygon."""
    if grid.outlines is not None:  # a polygon that cuts units is refused, so it holds whole ones
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
    """Return whether some of the areas with these codes lies outside the domain."""
    for code in codes:
        try:
            cells = Region.of_areas(grid, [code]).cells
        except (CodeError, UsageError):
            return True
        side = _side_of(grid, code)
        if cells < side**2 * math.prod(grid.shape[2:]):
            return True
    return False


def _side_of(grid: Grid, code: str) -> int:
    """Return the cells along a side of an official area; 0 for a region of a table."""
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
    """Return the cells of areas by their codes, as far as they lie in the domain."""
    try:
        return Region.of_areas(grid, codes)
    except (CodeError, UsageError) as error:
        if error.code not in ("area-outside-domain", "region-without-cell"):
            raise
    each = [_of_codes(grid, [code]).key for code in codes if len(codes) > 1]
    return Region(grid, np.unique(np.concatenate([np.empty(0, np.uint64), *each])))


def _list_regions(grid: Grid) -> list[_Named]:
    """Return the regions of the grid's table, or areas of its code system, or squares of cells."""
    place = grid.places[0]
    if grid.size > MAX_CELLS:
        return []
    key = _keys_of(grid)
    index = grid.decode(key)[:2]
    if grid.hierarchy is not None:
        return [*_regions_of_table(grid, grid.hierarchy, key, index)]
    official = sorted((side, name) for name, side in grid.maps.areas if side > 1)
    doubled = [(1 << power, "") for power in range(1, 64)]
    side, level = next(one for one in (*official, *doubled) if _count(place, one[0]) < MAX_SQUARES)
    first = [index[0] + place.row0, index[1] + place.col0] if level else [*index]
    row, col = (each // side for each in first)
    wide = int(col.max()) + 1
    groups = [*_group(grid, key, row * wide + col)]
    squares = np.array([divmod(number, wide) for number, _ in groups], np.int64).T
    names = _codes_of(place, level, squares) if level else [""] * len(groups)
    middles = _middles(place, squares, side, bool(level))
    full = side**2 * math.prod(grid.shape[2:]) if level else 0
    return [
        _Named(name, region, level, middle, is_part=region.cells < full)
        for name, (_, region), middle in zip(names, groups, middles, strict=True)
    ]


def _count(place: Lattice, side: int) -> int:
    """Count the squares of a side that cover a map."""
    return -(-place.rows // side) * -(-place.cols // side)


def _codes_of(place: Lattice, level: str, squares: IntArray) -> list[str]:
    """Return the codes of squares, by their rows and columns among the system's."""
    system = coarser_system(place.system, level)  # type: ignore[arg-type]  # a level has a system
    row, col = squares
    codes = system.format(row, col % system.around if system.around else col)
    return [str(code) for code in codes]


def _regions_of_table(
    grid: Grid, table: Hierarchy, key: NDArray[np.uint64], index: IntArray
) -> Iterator[_Named]:
    """Yield the regions of a table on all its levels, the finest first, while there is room."""
    cols, room = grid.shape[1], MAX_REGIONS
    linear = table.cell[0] * cols + table.cell[1]
    order = np.argsort(linear)
    at = order[np.searchsorted(linear, index[0] * cols + index[1], sorter=order)]
    for number in reversed(range(len(table.levels))):
        codes = table.codes[number]
        if len(codes) > room:
            continue
        room -= len(codes)
        for region, cells in _group(grid, key, table.region[number][at]):
            yield _Named(codes[region], cells, table.levels[number])


def _group(grid: Grid, key: NDArray[np.uint64], number: IntArray) -> Iterator[tuple[int, Region]]:
    """Yield each number, and the region of the cells that have it."""
    order = np.argsort(number, kind="stable")
    ends = np.flatnonzero(np.diff(number[order])) + 1
    for part in np.split(order, ends):
        yield int(number[part[0]]), Region(grid, key[part])


def _middles(
    place: Lattice, squares: IntArray, side: int, official: bool
) -> Sequence[tuple[float, float] | None]:
    """Return longitude and latitude of the middles of squares, rounded; None off the Earth."""
    from pyproj import Transformer

    if place.crs is None or place.transform is None:
        return [None] * squares.shape[1]
    row, col = squares * side + side / 2
    if official:
        row, col = row - place.row0, col - place.col0
    a, _, c, _, e, f = place.transform
    move = Transformer.from_crs(str(place.crs), "OGC:CRS84", always_xy=True)
    lon, lat = move.transform(c + a * col, f + e * row)
    digits = 2 if side * float(cell_size(place)[0]) >= FINE else 3
    return [*zip(np.round(lon, digits).tolist(), np.round(lat, digits).tolist(), strict=True)]


def _box_of(region: Region) -> Box:
    """Return the rows and columns that hold a region; steps of the map where it is of units."""
    index, outlines = region.grid.decode(region.key)[:2], region.grid.outlines
    if outlines is not None:
        return box_of_units(outlines.drawn, index[1])
    (top, left), (bottom, right) = index.min(axis=1).tolist(), (index.max(axis=1) + 1).tolist()
    return top, left, bottom, right
