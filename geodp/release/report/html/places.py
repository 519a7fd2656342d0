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
from geodp.grid.region import Region, regions_of_polygons
from geodp.io.write.map.panel import Panel
from geodp.io.write.view import View
from geodp.release.estimates import estimate_regions
from geodp.release.opening import WrittenRelease
from geodp.release.report.html.outlines import box_of_units
from geodp.typing import IntArray

if TYPE_CHECKING:
    from geodp.release.release import Release

MOST_CELLS = 1 << 22
"""Of a domain whose own areas are listed: each of its cells is looked at."""

MOST_SQUARES, MOST_REGIONS = 1000, 20_000
"""Areas of a code system, and regions of a table, that a page lists."""

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
    """

    name: str
    level: str
    box: Box
    middle: tuple[float, float] | None
    estimate: Estimate


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
        kept = [one for one in named if one[1].cells]
        estimates = estimate_regions(release, [region for _, region, *_ in kept])
        found = [
            Place(name, level, _box_of(region), middle, estimate)
            for (name, region, level, middle), estimate in zip(kept, estimates, strict=True)
        ]
    return [*_list_whole(release), *sorted(found, key=lambda one: -one.estimate.count)]


_Named = tuple[str, Region, str, tuple[float, float] | None]


def _list_whole(release: Release) -> list[Place]:
    """Return the whole domain as a place, where its error is known."""
    grid, place = release.grid, release.grid.places[0]
    box = (0, 0, place.rows, place.cols)
    if grid.size <= MOST_CELLS and not grid.maps.missing:
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
        best = np.argsort(-counts, axis=None, kind="stable")[: MOST_SQUARES // 2]
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
    shapes = {name: one for name, one in given.items() if hasattr(one, "geom_type")}
    regions = dict(zip(shapes, regions_of_polygons(grid, [*shapes.values()]), strict=True))
    regions |= {name: _of_codes(grid, given[name]) for name in given if name not in shapes}
    return [(name, regions[name], "", None) for name in given]


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
    if grid.size > MOST_CELLS:
        return []
    key = _keys_of(grid)
    index = grid.decode(key)[:2]
    if grid.hierarchy is not None:
        return [*_regions_of_table(grid, grid.hierarchy, key, index)]
    official = sorted((side, name) for name, side in grid.maps.areas if side > 1)
    doubled = [(1 << power, "") for power in range(1, 64)]
    side, level = next(one for one in (*official, *doubled) if _count(place, one[0]) < MOST_SQUARES)
    first = [index[0] + place.row0, index[1] + place.col0] if level else [*index]
    row, col = (each // side for each in first)
    wide = int(col.max()) + 1
    groups = [*_group(grid, key, row * wide + col)]
    squares = np.array([divmod(number, wide) for number, _ in groups], np.int64).T
    names = _codes_of(place, level, squares) if level else [""] * len(groups)
    middles = _middles(place, squares, side, bool(level))
    return [
        (name, region, level, middle)
        for name, (_, region), middle in zip(names, groups, middles, strict=True)
    ]


def _count(place: Lattice, side: int) -> int:
    """Return how many squares of a side a map has, all but for those that its edge cuts."""
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
    cols, room = grid.shape[1], MOST_REGIONS
    linear = table.cell[0] * cols + table.cell[1]
    order = np.argsort(linear)
    at = order[np.searchsorted(linear, index[0] * cols + index[1], sorter=order)]
    for number in reversed(range(len(table.levels))):
        codes = table.codes[number]
        if len(codes) > room:
            continue
        room -= len(codes)
        for region, cells in _group(grid, key, table.region[number][at]):
            yield codes[region], cells, table.levels[number], None


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
    return [*zip(np.round(lon, 2).tolist(), np.round(lat, 2).tolist(), strict=True)]


def _box_of(region: Region) -> Box:
    """Return the rows and columns that hold a region; steps of the map where it is of units."""
    index, outlines = region.grid.decode(region.key)[:2], region.grid.outlines
    if outlines is not None:
        return box_of_units(outlines.drawn, index[1])
    (top, left), (bottom, right) = index.min(axis=1).tolist(), (index.max(axis=1) + 1).tolist()
    return top, left, bottom, right
