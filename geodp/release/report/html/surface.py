"""Data of a page's map for its scripts: cells, counts, levels, land and coastline."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice
from geodp.io.read.public.background import QUARTERS, find_towns, trace_coast
from geodp.io.write.frame import Frame, cell_size, crs_of, middles
from geodp.io.write.map.ground import quarters_of_land
from geodp.io.write.tables import chunks
from geodp.io.write.view import View
from geodp.release.opening import WrittenRelease
from geodp.release.report.html.embed import pack_bits, pack_counts, pack_integers, pack_sorted
from geodp.release.report.html.formula import (
    missing_cells_reason,
    missing_formula_reason,
    pack_formula,
    pack_grid,
)
from geodp.release.report.html.levels import list_levels
from geodp.release.report.html.outlines import lay_ground, pack_outlines
from geodp.table.released import ReleasedTable

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
    from pyproj import Transformer

    if crs_of(str(place.crs)).is_geographic:
        return None
    move = Transformer.from_crs(str(place.crs), "OGC:CRS84", always_xy=True)
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
