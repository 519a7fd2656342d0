"""Regions of zones, polygons in units and in cells of H3 and S2, and sides of lines on a map."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from geodp.accuracy.interval import Estimate
from geodp.errors import InputError, Rule, UsageError, printable
from geodp.grid.grid import Grid
from geodp.grid.lattice import longitude_period
from geodp.grid.region import Region, middles_of
from geodp.io.read.public.polygons import LINES, NAMES, NO_EARTH, read_shapes_in
from geodp.io.read.rows.input_files import FilePath
from geodp.kinds.flows.zones import DEGREES, HALF, find_outlines
from geodp.typing import FloatArray, IntArray

NO_ZONE = Rule("flows-polygon-without-zone", "No zone has its centre in the polygon.")

NO_UNIT = Rule("flows-polygon-without-unit", "No unit lies in the polygon.")


def find_region(grid: Grid, region: Any) -> Region:
    """Find the zones of a region.

    Parameters
    ----------
    grid : Grid
        Of the zones.
    region
        As for :meth:`geodp.Release.estimate`. Cells of H3 and S2 are in a polygon, in degrees, in
        which their centre is.

    Raises
    ------
    UsageError, CodeError
        It is no region of the grid, or a polygon cuts a unit.
    """
    if grid.names.on_map or not hasattr(region, "geom_type"):
        return Region.of(grid, region)
    column = find_columns(grid, region)
    if not column.size:
        raise UsageError(NO_ZONE if has_cells(grid) else NO_UNIT)
    return Region.of_map(grid, np.zeros_like(column), column)


def ground_of(grid: Grid) -> Grid:
    """Return a grid in the CRS in which polygons are read: of cells of H3 and S2 in degrees."""
    if not has_cells(grid):
        return grid
    return Grid.regular((180, 360), crs=DEGREES, transform=(1, 0, -HALF, 0, -1, HALF / 2))


def has_cells(grid: Grid) -> bool:
    """Test whether zones are cells of H3 or S2 whose outlines no file lists."""
    return grid.known_outlines is None and grid.names.cells is not None


def find_columns(grid: Grid, shape: Any) -> IntArray:
    """Return the columns of the units in a polygon: int64[n].

    UsageError for another shape, and where it cuts a unit with an outline. Cells of H3 and S2 are
    where their centre is, and the polygon may go on across 180 degrees.
    """
    import shapely

    if not isinstance(shape, shapely.Polygon | shapely.MultiPolygon):
        # Refused in the words of other grids.
        Region.of(Grid.regular((1, 1)), shape)
    assert grid.hierarchy is not None
    outlines, column = find_outlines(grid.hierarchy)
    if not has_cells(grid):
        whole, cut = outlines.units_in(shape)
        if cut >= 0:
            code = grid.names.format(0, np.array([[0], [column[cut]]]))[0]
            raise UsageError(
                f"The polygon cuts unit {printable(str(code))}, and flows are known between entire "
                "units only: draw it along their borders, or name units by their codes (--from, "
                "--to).",
                code="flows-polygon-cuts-unit",
            )
        return np.asarray(column[whole], np.int64)
    x, y = outlines.inner_points.T
    shapely.prepare(shape)
    turns = (-2 * HALF, 0.0, 2 * HALF)
    inside = [shapely.contains_xy(shape, x + turn, y) for turn in turns]
    return np.asarray(column[np.any(inside, axis=0)], np.int64)


LINE_FORM = Rule(
    "flows-line-form", "A screenline is a LineString of shapely, without crossing itself."
)

DIVIDES = Rule(
    "flows-line-divides",
    "The line does not divide the map in two: let it reach from edge to edge, cross no edge in "
    "between, or be closed.",
)

NEAR = 1e-12
"""Distance from the edge of the map, relative to its length, at which a line ends there."""

TURN = 360.0
"""A turn around the Earth, in degrees."""

ASIDE = 1e-6
"""Distance from a line at which its sides are told apart, relative to the step of the line."""


@dataclass(frozen=True)
class Crossing:
    """Trips across a line.

    Attributes
    ----------
    there : Estimate
        From its left to its right, as seen along the line on the map as it is drawn; out of a line
        that is closed anticlockwise.
    back : Estimate
        From its right to its left.
    both : Estimate
        Trips in both directions.
    """

    there: Estimate
    back: Estimate
    both: Estimate


def read_lines(path: FilePath, grid: Grid) -> dict[str, Any]:
    """Read the lines of a file by name, in the grid's CRS.

    Names are those of a field ``name``, ``id`` or ``code``, otherwise numbers from 1.

    Raises
    ------
    UsageError
        The grid has no CRS, or PROJ knows no way to it.
    InputError
        The file is unreadable, holds anything but lines, or two of one name.
    """
    import shapely

    table = None if grid.names.on_map else grid.hierarchy
    crs = grid.require_map(NO_EARTH).crs if table is None else find_outlines(table)[0].crs
    if crs is None:
        raise UsageError(NO_EARTH)
    shapes, fields = read_shapes_in(path, crs, LINES)
    plain = {field.casefold(): field for field in reversed(fields)}
    chosen = next((plain[one] for one in NAMES if one in plain), None)
    names = [str(n) for n in (range(1, len(shapes) + 1) if chosen is None else fields[chosen])]
    if len({*names}) < len(names):
        raise InputError(
            f"The names in the field {chosen} do not differ.",
            file=os.fspath(path),
            code="polygon-names-alike",
        )
    # A file of one line may hold it as one of several lines.
    merged = [shapely.line_merge(one) for one in shapes]
    return dict(zip(names, merged, strict=True))


def divide_zones(grid: Grid, line: Any) -> tuple[Region, Region]:
    """Return the zones on the left and on the right of a line.

    Parameters
    ----------
    grid : Grid
        Of the zones.
    line : shapely LineString
        In the grid's CRS, or in columns and rows; see :meth:`Flows.estimate_across`.

    Raises
    ------
    UsageError
        It is no line, or does not divide the map in two.
    """
    import shapely
    from shapely.ops import split

    if type(line) is not shapely.LineString or line.is_empty:
        raise UsageError(LINE_FORM)
    if not np.isfinite(shapely.get_coordinates(line)).all() or not line.is_simple:
        raise UsageError(LINE_FORM)
    # On a grid that lies nowhere rows count downwards, as it is drawn.
    mirrored = grid.names.on_map and grid.places[0].transform is None
    bounds, x, y, index = _find_centres(grid)
    box = shapely.box(*bounds)
    piece = _find_piece(_repeat(line, bounds) if _turns(grid) else [line], box)
    parts = [*split(box, piece).geoms]
    if len(parts) != 2:
        raise UsageError(DIVIDES)
    left = parts[0] if _lies_left(parts[0], piece, box) is not mirrored else parts[1]
    # Centres on the line itself are within neither part: they are of its right side.
    inside = shapely.contains_xy(left, x, y)
    if inside.all() or not inside.any():
        raise UsageError(DIVIDES)
    there, here = (Region.of_map(grid, *index[:, one]) for one in (inside, ~inside))
    return there, here


def _find_centres(
    grid: Grid,
) -> tuple[tuple[float, float, float, float], FloatArray, FloatArray, IntArray]:
    """Return the bounds of all zones, their centres, and their rows and columns: int64[2, n].

    Units lie where a point within their outline does; one that lies nowhere is on no side. Across
    180 degrees the map goes on, as it is drawn.
    """
    if grid.names.on_map or grid.hierarchy is None:
        place = grid.places[0]
        y, x = middles_of(place)
        index = grid.decode(grid.domain.keys_of_ranks(np.arange(grid.size)))
        return place.bounds, x[index[1]], y[index[0]], index
    outlines, column = find_outlines(grid.hierarchy)
    x, y = outlines.drawn.inner_points.T
    return outlines.drawn.bounds, x, y, np.stack([np.zeros_like(column), column])


def _turns(grid: Grid) -> bool:
    """Test whether zones are units with longitudes in degrees."""
    if grid.names.on_map or grid.hierarchy is None:
        return False
    return longitude_period(find_outlines(grid.hierarchy)[0].crs) == TURN


def _repeat(line: Any, bounds: tuple[float, float, float, float]) -> list[Any]:
    """Repeat a line at every turn around the Earth that may lie on a map across 180 degrees.

    Between points more than 180 degrees apart it takes the shorter way, across 180 degrees. On
    other maps it is unchanged.
    """
    import shapely

    if bounds[0] >= -TURN / 2 and bounds[2] <= TURN / 2:
        return [line]
    x, y = shapely.get_coordinates(line).T
    x = np.unwrap(x, period=TURN)
    return [shapely.LineString(np.stack([x + way, y], axis=1)) for way in (-TURN, 0, TURN)]


def _find_piece(lines: Sequence[Any], box: Any) -> Any:
    """Find the piece of a line, or of its copies, within the map, from edge to edge or closed.

    UsageError unless there is exactly one: of several, or where one ends within the map, nobody
    could say which side of the line a zone is on.
    """
    import shapely

    inside = shapely.difference(shapely.intersection(lines, box), box.boundary)
    pieces = [one for each in inside for one in shapely.get_parts(shapely.line_merge(each))]
    pieces = [one for one in pieces if isinstance(one, shapely.LineString) and one.length > 0]
    if len(pieces) != 1:
        raise UsageError(DIVIDES)
    (piece,) = pieces
    ends = shapely.get_coordinates(piece)[[0, -1]]
    edge = shapely.distance(shapely.points(ends), box.boundary)
    if not piece.is_ring and (edge > NEAR * box.length).any():
        raise UsageError(DIVIDES)
    return piece


def _lies_left(part: Any, piece: Any, box: Any) -> bool:
    """Test whether a part of the map lies on the left of the piece that cuts it."""
    import shapely

    points = shapely.get_coordinates(piece)
    way, middle = np.diff(points, axis=0), (points[1:] + points[:-1]) / 2
    inside = shapely.contains_xy(box, *middle.T)
    at = int(np.argmax(np.where(inside, np.hypot(*way.T), -1)))
    aside = np.array([-way[at, 1], way[at, 0]]) * ASIDE
    return bool(shapely.contains_xy(part, *(middle[at] + aside)))
