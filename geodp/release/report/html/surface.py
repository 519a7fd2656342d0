"""A page's map: where its cells lie, what is released of them, and the coastline around them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice
from geodp.io.read.public.coast import trace_coast
from geodp.io.read.public.land_shares import QUARTERS
from geodp.io.read.public.towns import find_towns
from geodp.io.write.frame import Frame, cell_size, crs_of
from geodp.io.write.map.ground import quarters_of_land
from geodp.io.write.tables import chunks
from geodp.io.write.view import View
from geodp.release.opening import WrittenRelease
from geodp.release.report.html.embed import pack_bits, pack_counts, pack_integers, pack_sorted
from geodp.release.report.html.formula import (
    state_formula,
    state_grid,
    why_no_cells,
    why_no_formula,
)
from geodp.release.report.html.levels import list_levels
from geodp.release.report.html.outlines import lay_ground, state_outlines
from geodp.table.released import ReleasedTable

MAX_SQUARES = 1 << 22
"""Number of the finest squares that a page draws; more cells are summed first."""

FINENESS = 3000
"""Steps of the coastline along the longer side of the map."""

MAX_NAMES = 300
"""Towns of a page, of which its map shows those that have room."""

KNOTS = 65
"""Along each side of the lattice at which a projection is tabulated."""

STEPS = 1 << 26
"""Along the longer side of the map: how finely projected coordinates are written."""


def state_surface(view: View) -> dict[str, Any]:
    """Return all that a page's map draws and works out, as plain values and packed arrays.

    ``view``: of a grid with one place or two.
    """
    table, release = view.table, WrittenRelease.of(view)
    grid = table.grid
    place, outlines = grid.places[0], None if grid.outlines is None else grid.outlines.drawn
    ground = place if outlines is None else lay_ground(outlines)
    levels = list_levels(release)
    base = _find_base(place, [level.side for level in levels])
    no_cells, no_formula = why_no_cells(release), why_no_formula(release)
    found: dict[str, Any] = {
        "place": _state_place(place, base) | ({} if outlines is None else _lay(ground)),
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
        found |= {"cells": cells, "grid": state_grid(grid)}
    else:
        found["layers"] = _sum_layers(table, base)
    if no_formula is None:
        found["formula"] = state_formula(release)
        if view.totals is not None:
            known = view.totals
            found["totals"] = {"place": pack_sorted(known.place), "area": pack_integers(known.area)}
    if outlines is not None:
        found["outlines"] = state_outlines(grid, outlines, ground)
    if ground.crs is not None and ground.transform is not None:
        lines = trace_coast(ground, FINENESS)
        found["coast"] = {"steps": FINENESS, "lines": pack_integers(lines)}
        found["projection"] = _tabulate(ground)
    return found


def list_names(grid: Grid, language: str) -> list[list[Any]]:
    """Return towns to find one's way by, the most important first: column, row, name.

    Rows are counted from the top of the map. Empty for maps that do not lie on the Earth.
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
    """Return the side of the finest squares that a page draws."""
    return next(
        (side for side in sides if -(-place.rows // side) * -(-place.cols // side) <= MAX_SQUARES),
        sides[-1],
    )


def _state_place(place: Lattice, base: int) -> dict[str, Any]:
    """Return where the cells lie, and the areas of the finest squares' rows."""
    frame = Frame(place, base, (1, 1), None)
    area = frame.areas()[:, 0]
    if place.cols < base:  # a single column that is cut
        area = area * base / place.cols
    width, height = cell_size(place)
    known = place.crs is not None and place.transform is not None
    return {
        "rows": place.rows,
        "cols": place.cols,
        "base": base,
        "first": [place.row0, place.col0],
        "system": None if place.system is None else place.system.name,
        "crs": place.crs,
        "geographic": known and crs_of(str(place.crs)).is_geographic,
        "transform": list(place.transform or (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)),
        "bounds": list(place.bounds),
        "northwards": place.northwards,
        "aspect": float(width / height),
        "kilometres": float(width) if known else None,
        "areas": [float(f"{each:.12g}") for each in _shorten(area)],
    }


def _lay(ground: Lattice) -> dict[str, Any]:
    """Return where the steps of a map of units lie, beside the units of its table."""
    names = ("crs", "geographic", "transform", "bounds", "northwards", "kilometres")
    stated = _state_place(ground, 1)
    return {name: stated[name] for name in names}


def _shorten(area: NDArray[np.float64]) -> list[float]:
    """Return one area where all are alike, all but for rounding; the last row may be cut."""
    values: list[float] = area.tolist()
    alike = all(math.isclose(each, values[0], rel_tol=1e-12) for each in values)
    return values[:1] if alike else values


def _pack_inside(grid: Grid, base: int) -> dict[str, Any] | None:
    """Pack whether the middle of each finest square lies in the domain; None: all do."""
    if grid.domain.is_box or grid.maps.one is None:
        return None
    place = grid.places[0]
    shape = -(-place.rows // base), -(-place.cols // base)
    at = np.indices(shape).reshape(2, -1) * base + base // 2
    index = np.zeros((len(grid.shape), at.shape[1]), np.int64)
    index[:2] = np.minimum(at, [[place.rows - 1], [place.cols - 1]])
    return pack_bits(grid.contains(index))


def _pack_land(grid: Grid, base: int) -> dict[str, Any] | None:
    """Pack the quarters of land of the finest squares; None: all land, as far as is known."""
    land = quarters_of_land(grid, grid.places[0], base)
    if land is None or land.min() == QUARTERS:
        return None
    return pack_integers(land.reshape(-1).astype(np.int64))


def _sum_layers(table: ReleasedTable, base: int) -> list[dict[str, Any]]:
    """Return sums over the finest squares of each place, over all else, where they are not 0."""
    found = []
    for number, place in enumerate(table.grid.places):
        rows, cols = -(-place.rows // base), -(-place.cols // base)
        total = np.zeros(rows * cols, table.count.dtype)
        for _, index, count in chunks(table):
            row, col = index[2 * number : 2 * number + 2] // base
            np.add.at(total, row * cols + col, count)
        square = np.flatnonzero(total)
        found.append({"square": pack_sorted(square), "count": pack_counts(total[square])})
    return found


def _tabulate(place: Lattice) -> dict[str, Any] | None:
    """Return tables that lead from coordinates of the map to degrees and back; None in degrees.

    Between the knots a page goes on in straight lines; ``off`` is how far off that is at most
    between them, in units of the CRS.
    """
    from pyproj import Transformer

    if crs_of(str(place.crs)).is_geographic:
        return None
    move = Transformer.from_crs(str(place.crs), "OGC:CRS84", always_xy=True)
    west, south, east, north = place.bounds
    frame = move.transform_bounds(west, south, east, north, densify_pts=41)
    if not np.isfinite(frame).all() or frame[0] >= frame[2]:
        return None  # around a pole, or across the date line
    step = max(east - west, north - south) / STEPS
    across, up = (np.linspace(*ends, KNOTS) for ends in ((west, east), (south, north)))
    lon, lat = move.transform(*np.meshgrid(across, up))
    over, high = (
        np.linspace(*ends, KNOTS) for ends in ((frame[0], frame[2]), (frame[1], frame[3]))
    )
    x, y = move.transform(*np.meshgrid(over, high), direction="INVERSE")
    if not all(np.isfinite(each).all() for each in (lon, lat, x, y)):
        return None
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
    """Return a table as whole steps from its first value, each from the one before."""
    first = float(values.flat[0])
    whole = np.rint((np.asarray(values).reshape(-1) - first) / step).astype(np.int64)
    return {"first": first, "step": step, "steps": pack_integers(np.diff(whole, prepend=0))}
