"""Data of a page's map for its scripts: cells, counts, levels, land and coastline."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import Z
from geodp.errors import UsageError
from geodp.grid.crs import open_transformer
from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice
from geodp.grid.region import Region
from geodp.io.read.public.background import QUARTERS, find_towns, trace_coast
from geodp.io.write.frame import Frame, cell_size, crs_of, middles
from geodp.io.write.map.ground import quarters_of_land
from geodp.io.write.tables import chunks
from geodp.io.write.view import View
from geodp.release.opening import WrittenRelease
from geodp.release.release import Release
from geodp.release.report.html.markup import (
    MAX_NUMBER,
    pack_bits,
    pack_counts,
    pack_integers,
    pack_sorted,
)
from geodp.release.report.html.outlines import lay_ground, pack_outlines
from geodp.table.counts import ReleasedTable
from geodp.typing import IntArray

MAX_SQUARES = 1 << 22
"""Maximum number of squares that a page draws; more cells are summed first."""

FINENESS = 3000
"""Steps of the coastline along the longer side of the map."""

MAX_NAMES = 300
"""Maximum towns of a page, of which its map labels those that fit."""

KNOTS = 65
"""Knots along each side of the lattice on which a projection is tabulated."""

STEPS = 1 << 26
"""Resolution of projected coordinates: steps along the longer side of the map."""


def pack_surface(view: View) -> dict[str, Any]:
    """Pack all data of a page's map and estimates, as plain values and packed arrays.

    ``view``: of a grid with one place or two.
    """
    table, release = view.table, WrittenRelease.of(view)
    grid = table.grid
    place, outlines = grid.places[0], None if grid.outlines is None else grid.outlines.drawn
    ground = place if outlines is None else lay_ground(outlines)
    levels = list_levels(release)
    # Levels whose side is not a multiple of the base are not drawn.
    base = _find_base(place, [level.side for level in levels])
    no_cells, no_formula = missing_cells_reason(release), missing_formula_reason(release)
    surface: dict[str, Any] = {
        "place": _describe_place(place, base) | ({} if outlines is None else _lay(ground)),
        "levels": [level.to_json() for level in levels if level.side % base == 0],
        "cell": levels[0].to_json(),
        "attributes": [one.describe() for one in grid.attributes if no_cells is None],
        "inside": _pack_inside(grid, base),
        "land": _pack_land(grid, base),
        "whole": table.count.dtype.kind != "f",
        "below": view.limit,
        "no_cells": no_cells,
        "no_formula": no_formula,
        "coast": None,
        "projection": None,
    }
    if no_cells is None:
        cells = {"key": pack_sorted(table.key), "count": pack_counts(table.count)}
        surface |= {"cells": cells, "grid": pack_grid(grid)}
    else:
        surface["layers"] = _sum_layers(table, base)
    if no_formula is None:
        surface["formula"] = pack_formula(release)
        if view.totals is not None:
            totals = view.totals
            surface["totals"] = {
                "place": pack_sorted(totals.place),
                "area": pack_integers(totals.area),
            }
    if outlines is not None:
        surface["outlines"] = pack_outlines(grid, outlines, ground)
    if ground.crs is not None and ground.transform is not None:
        lines = trace_coast(ground, FINENESS)
        surface["coast"] = {"steps": FINENESS, "lines": pack_integers(lines)}
        surface["projection"] = _tabulate(ground)
    return surface


def list_names(grid: Grid, language: str) -> list[list[Any]]:
    """List towns for orientation, the most important first: column, row, name.

    Rows are counted from the top of the map. Empty for maps without a CRS.
    """
    ground = grid.places[0] if grid.outlines is None else lay_ground(grid.outlines.drawn)
    if ground.crs is None or ground.transform is None:
        return []
    west, south, east, north = ground.bounds
    return [
        [
            round((one.x - west) / (east - west) * ground.cols, 1),
            round((north - one.y) / (north - south) * ground.rows, 1),
            one.japanese if language == "ja" and one.japanese else one.name,
        ]
        for one in find_towns(ground)[:MAX_NAMES]
    ]


def _find_base(place: Lattice, sides: list[int]) -> int:
    """Find the side of the finest squares that a page draws."""
    return next(
        (side for side in sides if -(-place.rows // side) * -(-place.cols // side) <= MAX_SQUARES),
        sides[-1],
    )


def _describe_place(place: Lattice, base: int) -> dict[str, Any]:
    """Describe the lattice of the cells, and the areas of the finest squares by row."""
    frame = Frame(place, base, (1, 1), None)
    area = frame.areas()[:, 0]
    # A single column of squares is cut off at the edge; the page needs the area of a complete one.
    if place.cols < base:
        area = area * base / place.cols
    width, height = cell_size(place)
    on_earth = place.crs is not None and place.transform is not None
    return {
        "rows": place.rows,
        "cols": place.cols,
        "base": base,
        "first": [place.row0, place.col0],
        "system": None if place.system is None else place.system.name,
        "crs": place.crs,
        "geographic": on_earth and crs_of(str(place.crs)).is_geographic,
        "transform": list(place.transform or (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)),
        "bounds": list(place.bounds),
        "northwards": place.northwards,
        "aspect": float(width / height),
        "kilometres": float(width) if on_earth else None,
        # Twelve digits, as the last ones may differ between platforms, and pages should not.
        "areas": [float(f"{each:.12g}") for each in _shorten(area)],
    }


def _lay(ground: Lattice) -> dict[str, Any]:
    """Describe the ground of a map of units, in place of the lattice of its codes."""
    names = ("crs", "geographic", "transform", "bounds", "northwards", "kilometres")
    place = _describe_place(ground, 1)
    return {name: place[name] for name in names}


def _shorten(area: NDArray[np.float64]) -> list[float]:
    """Reduce areas that are equal up to rounding to a single one."""
    values: list[float] = area.tolist()
    alike = all(math.isclose(each, values[0], rel_tol=1e-12) for each in values)
    return values[:1] if alike else values


def _pack_inside(grid: Grid, base: int) -> dict[str, Any] | None:
    """Pack whether the middle of each square lies in the domain; None: all do."""
    if grid.domain.is_box or grid.maps.one is None:
        return None
    place = grid.places[0]
    row, col = middles(place.rows, base), middles(place.cols, base)
    return pack_bits(grid.domain.contains_lattice(row, col).reshape(-1))


def _pack_land(grid: Grid, base: int) -> dict[str, Any] | None:
    """Pack the land share of the squares in quarters; None: all land, or no land data."""
    land = quarters_of_land(grid, grid.places[0], base)
    if land is None or land.min() == QUARTERS:
        return None
    return pack_integers(land.reshape(-1).astype(np.int64))


def _sum_layers(table: ReleasedTable, base: int) -> list[dict[str, Any]]:
    """Sum the counts over the squares of each place and all other axes; sums of 0 are left out."""
    layers = []
    for number, place in enumerate(table.grid.places):
        rows, cols = -(-place.rows // base), -(-place.cols // base)
        total = np.zeros(rows * cols, table.count.dtype)
        for _, index, count in chunks(table):
            row, col = index[2 * number : 2 * number + 2] // base
            np.add.at(total, row * cols + col, count)
        square = np.flatnonzero(total)
        layers.append({"square": pack_sorted(square), "count": pack_counts(total[square])})
    return layers


def _tabulate(place: Lattice) -> dict[str, Any] | None:
    """Tabulate the projection between the map's coordinates and degrees; None in degrees.

    A page interpolates linearly between the knots; ``off`` is the largest error in the middles
    between them, in units of the CRS.
    """
    if crs_of(str(place.crs)).is_geographic:
        return None
    move = open_transformer(str(place.crs), "OGC:CRS84")
    west, south, east, north = place.bounds
    frame = move.transform_bounds(west, south, east, north, densify_pts=41)
    if not np.isfinite(frame).all() or frame[0] >= frame[2]:
        # Around a pole or across the date line: no rectangle in degrees.
        return None
    step = max(east - west, north - south) / STEPS
    across, up = (np.linspace(*ends, KNOTS) for ends in ((west, east), (south, north)))
    lon, lat = move.transform(*np.meshgrid(across, up))
    over, high = (
        np.linspace(*ends, KNOTS) for ends in ((frame[0], frame[2]), (frame[1], frame[3]))
    )
    x, y = move.transform(*np.meshgrid(over, high), direction="INVERSE")
    if not all(np.isfinite(each).all() for each in (lon, lat, x, y)):
        return None
    # The error of linear interpolation is largest near the middles between the knots.
    half = np.meshgrid((over[1:] + over[:-1]) / 2, (high[1:] + high[:-1]) / 2)
    true = move.transform(*half, direction="INVERSE")
    straight = [(e[1:, 1:] + e[1:, :-1] + e[:-1, 1:] + e[:-1, :-1]) / 4 for e in (x, y)]
    off = np.hypot(true[0] - straight[0], true[1] - straight[1]).max()
    return {
        "knots": KNOTS,
        "map": [west, south, east, north],
        "degrees": [float(f"{edge:.9g}") for edge in frame],
        "lon": _pack_table(lon, 1e-7),
        "lat": _pack_table(lat, 1e-7),
        "x": _pack_table(x, step),
        "y": _pack_table(y, step),
        "off": float(f"{off:.2g}"),
    }


def _pack_table(values: Any, step: float) -> dict[str, Any]:
    """Pack a table in integer multiples of a step, each as the difference from the one before."""
    first = float(values.flat[0])
    multiples = np.rint((np.asarray(values).reshape(-1) - first) / step).astype(np.int64)
    return {"first": first, "step": step, "steps": pack_integers(np.diff(multiples, prepend=0))}


KEY_BITS = 50
"""Maximum bits of keys, which a browser divides without an error."""

MAX_CHILDREN = 1 << 20
"""Maximum children of a node, which a browser visits one by one."""


def missing_cells_reason(release: Release) -> str | None:
    """Name the text on why a page has sums of blocks only; None: it has every cell."""
    grid, table = release.grid, release.table
    if grid.maps.missing:
        return grid.maps.missing
    if release.card().domain.lacks_table(grid):
        return "no_regions"
    if grid.bits > KEY_BITS or table.key.size > MAX_CHILDREN * 4:
        return "no_room"
    # Sums of counts must stay exact in the page's script.
    if float(np.abs(table.count).sum(dtype=np.float64)) >= MAX_NUMBER / 4:
        return "no_room"
    return None


def missing_formula_reason(release: Release) -> str | None:
    """Name the text on why a page computes no errors of areas; None where it does."""
    reason = missing_cells_reason(release)
    if reason is not None:
        return reason
    tree = release.method.tree_variance(release.grid, release.event)
    if tree is None:
        return "no_closed_form"
    return "no_room" if max(tree.fanouts, default=1) > MAX_CHILDREN else None


def pack_formula(release: Release) -> dict[str, Any]:
    """Collect the parameters of :meth:`geodp.Release.estimate` as plain values."""
    grid, method = release.grid, release.method
    tree = method.tree_variance(grid, release.event)
    assert tree is not None  # missing_formula_reason names a reason
    return {
        "nonnegative": method.nonnegative,
        "fanouts": list(tree.fanouts),
        "variances": list(tree.variances),
        "fourths": list(tree.fourths),
        "drops": [[drop.threshold, drop.scale] for drop in tree.drops],
        "skips": method.skips_outside and grid.size < prod(tree.fanouts),
    }


def pack_grid(grid: Grid) -> dict[str, Any]:
    """Collect the key order of a grid, and its mask or its regions' cells, as plain values."""
    limits, (start, stop) = grid.order.limits(grid.shape), grid.domain.ranges.T
    values = {
        "shape": (limits.high - limits.low).tolist(),
        "axes": list(limits.axes),
        "radices": list(grid.order.radices),
        "offset": list(grid.order.offset),
        "mask": {"start": pack_sorted(start), "stop": pack_sorted(stop)} if start.size else None,
    }
    for regions in grid.areas.tables:
        row, col = regions.cell
        values["number"] = pack_sorted(regions.number)
        values["cell"] = pack_integers(row * grid.shape[1] + col)
    return values


MIN_SQUARES = 3
"""Minimum number of squares along the longer side of the coarsest level."""

MAX_CELLS = 1 << 16
"""Maximum cells of a square whose error is computed from them."""

MAX_CANDIDATES = 5
"""Cells of the domain around which a square without cells outside the domain is searched."""


@dataclass(frozen=True)
class SquareLevel:
    """Level of squares of cells.

    Attributes
    ----------
    side : int
        Cells along a side.
    offset : (int, int)
        Rows and columns of the first square that lie outside the map.
    area : str or None
        Name of the squares in the code system.
    nested : bool
        Whether each lies within one of the next coarser level that is nested.
    margins : mapping of str to float or None
        95 % margin of a square in the middle of the domain, in counts. The key has a character for
        each attribute: "1" summed over all labels, "0" one label. None without a closed form.
    """

    side: int
    offset: tuple[int, int]
    area: str | None
    nested: bool
    margins: Mapping[str, float | None]

    def to_json(self) -> dict[str, Any]:
        """Convert to plain values for JSON."""
        return {
            "side": self.side,
            "offset": list(self.offset),
            "area": self.area,
            "nested": self.nested,
            "margins": dict(self.margins),
        }


def list_levels(release: Release) -> list[SquareLevel]:
    """List the levels of a map, cells first: nested squares of the key order, official areas."""
    grid = release.grid
    sides = _nested_sides(grid) if grid.outlines is None else [1]
    areas = _official_sides(grid)
    levels = []
    for side in sorted({*sides, *areas}):
        nested, offset = side in sides, (0, 0)
        # Official areas start at the code system's origin, which may lie outside the map.
        if side in areas and (not nested or any(grid.order.offset)):
            place = grid.places[0]
            offset = place.row0 % side, place.col0 % side
        margins = _margins_of(release, side, offset)
        levels.append(SquareLevel(side, offset, areas.get(side), nested, margins))
    return levels


def _nested_sides(grid: Grid) -> list[int]:
    """List sides of squares that are runs of keys, or powers of two in other orders."""
    longest = _longest(grid)
    if any(grid.order.offset) and grid.maps.one is not None:
        return [
            side for side in _official_sides(grid) if side == 1 or side * MIN_SQUARES <= longest
        ]
    sides = [1]
    while 2 * sides[-1] * MIN_SQUARES <= longest:
        sides.append(2 * sides[-1])
    return sides


def _longest(grid: Grid) -> int:
    """Count the cells along the longest side of a map."""
    return max(max(place.rows, place.cols) for place in grid.places)


def _official_sides(grid: Grid) -> dict[int, str]:
    """Map the sides of the code system's areas, in cells, to their names."""
    longest = _longest(grid)
    return {side: name for name, side in grid.maps.areas if side == 1 or side <= longest}


def _margins_of(release: Release, side: int, offset: tuple[int, int]) -> dict[str, float | None]:
    """Compute the margin of a square for every pattern of summed attributes."""
    grid = release.grid
    if grid.maps.missing:
        return {"": None}
    if release.card().domain.lacks_table(grid):
        return dict.fromkeys(_patterns(grid))
    margins: dict[str, float | None] = {}
    square = _find_square(grid, side, offset)
    for pattern in _patterns(grid):
        chosen = {
            one.name: one.labels[0]
            for one, every in zip(grid.attributes, pattern, strict=True)
            if every == "0"
        }
        margins[pattern] = None
        if square is not None and square.shape[1] * _labels(grid, pattern) <= MAX_CELLS:
            margins[pattern] = _margin(release, Region.of_map(grid, square[0], square[1], chosen))
        # Too large to list its cells: the sum over all labels may still be a single run of keys.
        elif "0" not in pattern:
            margins[pattern] = _margin_of_block(release, side)
    return margins


def _patterns(grid: Grid) -> Iterator[str]:
    """Yield a pattern of summed attributes each, the sum over all first."""
    return map("".join, product("10", repeat=len(grid.attributes)))


def _labels(grid: Grid, pattern: str) -> int:
    chosen = zip(grid.attributes, pattern, strict=True)
    return prod(len(one.labels) if every == "1" else 1 for one, every in chosen)


def _margin(release: Release, region: Region) -> float | None:
    """Compute half the width of a region's 95 % interval, clamping left out."""
    try:
        return _round(Z * release.standard_error(region))
    except UsageError:
        pass
    # No closed form for regions: the last block shares all digits, so it is a single cell.
    if release.block_errors is None or region.cells > 1:
        return None
    return _round(Z * release.block_errors[-1].standard_error)


def _margin_of_block(release: Release, side: int) -> float | None:
    """Compute the margin of a square that is a run of keys, summed over all labels."""
    order, ndim = release.grid.order, len(release.grid.shape)
    if release.block_errors is None or not order.follows_map:
        return None
    for digits, error in enumerate(release.block_errors):
        # The block must be a square on the map that holds all labels of all other axes.
        sides = order.sides(digits, ndim).tolist()
        if sides[:2] == [side, side] and all(
            a >= b for a, b in zip(sides[2:], release.grid.shape[2:], strict=True)
        ):
            return _round(Z * error.standard_error)
    return None


def _round(value: float) -> float:
    return float(f"{value:.6g}")


def _find_square(grid: Grid, side: int, offset: tuple[int, int]) -> IntArray | None:
    """Find the square with the most cells of the domain, among a few: int64[2, n].

    Rows and columns of its cells; None as soon as one has more than `MAX_CELLS` cells.
    """
    # The domain's edge cuts squares off, and these have smaller margins: try squares around cells
    # spread over the domain, the middle first, until one lies in it completely.
    parts = np.array(
        [i * grid.size // (2 * MAX_CANDIDATES) for i in range(1, 2 * MAX_CANDIDATES, 2)]
    )
    parts = parts[np.argsort(np.abs(parts - grid.size // 2), kind="stable")]
    best = np.empty((2, 0), np.int64)
    for at in grid.decode(grid.domain.keys_of_ranks(parts))[:2].T.tolist():
        first = [(i + o) // side * side - o for i, o in zip(at, offset, strict=True)]
        low = [max(i, 0) for i in first]
        high = [min(i + side, n) for i, n in zip(first, grid.shape, strict=False)]
        pieces = [np.empty((2, 0), np.int64)]
        for cells in _cells_in(grid, low, high, at):
            pieces.append(cells)
            if sum(some.shape[1] for some in pieces) > MAX_CELLS:
                return None
        square = np.concatenate(pieces, axis=1)
        if square.shape[1] > best.shape[1]:
            best = square[:, np.lexsort(square[::-1])]
        if best.shape[1] == side * side:
            break
    return best


def _cells_in(grid: Grid, low: list[int], high: list[int], at: list[int]) -> Iterator[IntArray]:
    """Yield rows and columns of the domain's cells in a rectangle, piece by piece: int64[2, n].

    The piece with ``at`` is the first.
    """
    # The cheaper of two ways: go through the domain's cells, or through those of the rectangle.
    tall, wide = high[0] - low[0], high[1] - low[1]
    if tall * wide > grid.size:
        for start in range(0, grid.size, MAX_CELLS):
            rank = np.arange(start, min(start + MAX_CELLS, grid.size))
            index = grid.decode(grid.domain.keys_of_ranks(rank))
            inside = (index[2:] == 0).all(axis=0)
            for axis in (0, 1):
                inside &= (index[axis] >= low[axis]) & (index[axis] < high[axis])
            yield index[:2, inside]
        return
    across = min(wide, MAX_CELLS)
    down = max(1, MAX_CELLS // across)
    strips, pieces = -(-tall // down), -(-wide // across)
    begin = (at[0] - low[0]) // down * pieces + (at[1] - low[1]) // across
    for number in range(strips * pieces):
        strip, piece = divmod((begin + number) % (strips * pieces), pieces)
        row = np.arange(low[0] + strip * down, min(low[0] + (strip + 1) * down, high[0]))
        col = np.arange(low[1] + piece * across, min(low[1] + (piece + 1) * across, high[1]))
        index = np.zeros((len(grid.shape), row.size * col.size), np.int64)
        index[0], index[1] = np.repeat(row, col.size), np.tile(col, row.size)
        yield index[:2, grid.contains(index)]
