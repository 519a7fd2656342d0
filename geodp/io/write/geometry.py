"""Geometries of cells in GeoParquet: squares, outlines of units, and lines between two places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray
from pyproj import CRS
from pyproj.exceptions import CRSError

from geodp.errors import UsageError
from geodp.grid.crs import open_transformer, same_crs
from geodp.grid.grid import Grid
from geodp.grid.outlines import Outlines
from geodp.io.numbers import column_of
from geodp.typing import FloatArray

NOWHERE = "the grid lies nowhere on the Earth"
"""Why there are no geometries on a grid without a CRS."""

NO_OUTLINES = "its units have no outlines: publish with a table of units that has them"
"""Why there are no geometries of units of a table of codes alone."""

CODES_ALONE = "codes of H3 and S2 say where the cells lie, and files have no outlines of them"
"""Why there are no geometries of cells of H3 and S2."""

POINT = [("x", "<f8"), ("y", "<f8")]


HEADER = [("order", "u1"), ("type", "<u4")]


POLYGON = np.dtype([*HEADER, ("rings", "<u4"), ("points", "<u4"), ("at", POINT, 5)])


LINE = np.dtype([*HEADER, ("points", "<u4"), ("at", POINT, 2)])
"""Well-known binary (OGC 06-103r4) of a rectangle and of a line between two points."""


def has_geometry(grid: Grid) -> bool:
    """Test whether rows have geometries: outlines, or transforms of all maps with one CRS.

    Pairs of units have lines, except for those with an end that lies nowhere.
    """
    places, known = grid.places, grid.known_outlines
    if known is not None:
        return grid.outlines is not None or grid.maps.one is None
    return (
        bool(places)
        and all(place.transform is not None for place in places)
        and len({place.crs for place in places}) == 1
    )


def has_raster(grid: Grid) -> bool:
    """Test whether cells are pixels of a raster: those of one map, which units are not."""
    return grid.raster_map is not None and grid.names.on_map


def why_no_geometry(grid: Grid) -> str | None:
    """Return why rows have no geometries; None if they have."""
    if has_geometry(grid):
        return None
    if grid.known_outlines is not None:
        return "some of its units have no outline, as those for other places"
    if grid.names.on_map:
        return NOWHERE
    return NO_OUTLINES if grid.names.cells is None else CODES_ALONE


def geometry_crs(grid: Grid) -> str | None:
    """Return the CRS of geometries: of the outlines of units, or of the map."""
    known = grid.known_outlines
    return grid.places[0].crs if known is None else known.crs


def geometry_kind(grid: Grid) -> str:
    """Return the OGC type of the geometries of cells."""
    if grid.known_outlines is None or grid.maps.one is None:
        return grid.maps.geometry
    return "MultiPolygon"


def geometry_bounds(grid: Grid) -> tuple[float, float, float, float]:
    """Return west, south, east and north of all geometries, which are public."""
    known = grid.known_outlines
    if known is not None:
        return known.line_bounds if grid.maps.one is None else known.bounds
    edges = np.array([place.bounds for place in grid.places])
    west, south = edges[:, :2].min(axis=0).tolist()
    east, north = edges[:, 2:].max(axis=0).tolist()
    return west, south, east, north


def projjson(crs: str | None) -> Any:
    """Convert a CRS to PROJJSON as plain values; None stays None. UsageError for an unknown one."""

    try:
        return None if crs is None else CRS.from_user_input(crs).to_json_dict()
    except CRSError:
        raise UsageError(
            f"PROJ does not know the grid's CRS {crs!r}.", code="crs-not-known-to-proj"
        ) from None


SIDES = ("xmin", "ymin", "xmax", "ymax")


def geometry(grid: Grid, index: NDArray[np.int64]) -> tuple[Any, Any]:
    """Return Arrow arrays of the geometries, as WKB, and of their bounding boxes.

    Both are missing for pairs of units with an end that lies nowhere.

    Parameters
    ----------
    grid : Grid
        Grid for which `has_geometry` is true.
    index : int64[d, n]
    """
    if grid.outlines is not None:
        return outlines_at(grid.outlines, index[1])
    if grid.maps.one is None:
        return _layout_lines(line_ends(grid, index))
    box = _sides(grid, index, 0)
    # All records have one layout, so the WKB of all cells is one array without a loop over cells.
    shapes = np.zeros(index.shape[1], POLYGON)
    shapes["type"], shapes["rings"], shapes["points"] = 3, 1, 5
    for corner, (x, y) in enumerate([(0, 1), (2, 1), (2, 3), (0, 3), (0, 1)]):
        shapes["at"]["x"][:, corner] = box[x]  # counter-clockwise
        shapes["at"]["y"][:, corner] = box[y]
    return _pack_shapes(shapes), _pack_boxes(box)


def line_ends(grid: Grid, index: NDArray[np.int64]) -> FloatArray:
    """Return x and y of both ends of the lines of pairs, in their CRS: float64[n, 2, 2].

    Lines lead from centre to centre of cells, or from a point within a unit to one in another. Not
    a number: an end lies nowhere.
    """
    if grid.known_outlines is not None:
        return grid.known_outlines.connect(index[1], index[3])
    boxes = [_sides(grid, index, number) for number, _ in enumerate(grid.places)]
    centres = [np.stack([(w + e) / 2, (s + n) / 2], axis=1) for w, s, e, n in boxes]
    return np.stack(centres, axis=1)


LENGTH = "length_km"
"""Column of the lengths of lines."""


def measure_lines(grid: Grid, index: NDArray[np.int64]) -> NDArray[Any]:
    """Compute the lengths of the lines of pairs on the ellipsoid, in kilometres.

    Parameters
    ----------
    grid : Grid
        Grid of pairs for which `has_geometry` is true.
    index : int64[d, n]

    Returns
    -------
    float64[n], masked
        Three decimals; masked where an end lies nowhere.
    """
    ends = line_ends(grid, index)
    nowhere = np.asarray(~np.isfinite(ends).all(axis=(1, 2)), np.bool_)
    crs = CRS.from_user_input(geometry_crs(grid))
    geographic = crs.geodetic_crs
    if geographic is None:
        metres = np.hypot(*(ends[:, 1] - ends[:, 0]).T) * crs.axis_info[0].unit_conversion_factor
    else:
        move = open_transformer(crs, geographic)
        lon, lat = move.transform(ends[..., 0], ends[..., 1])
        geod = geographic.get_geod()
        assert geod is not None  # geographic CRSs have an ellipsoid
        to_degrees = np.rad2deg(geographic.axis_info[0].unit_conversion_factor)
        lon, lat = (np.where(nowhere[:, None], 0, one) * to_degrees for one in (lon, lat))
        *_, metres = geod.inv(lon[:, 0], lat[:, 0], lon[:, 1], lat[:, 1])
    return np.ma.masked_array(np.round(metres / 1e3, 3), nowhere)


def _layout_lines(ends: FloatArray) -> tuple[Any, Any]:
    """Return lines as WKB, and their boxes, from x and y of both ends: float64[n, 2, 2].

    Both are missing where these are not numbers.
    """
    shapes = np.zeros(len(ends), LINE)
    shapes["type"], shapes["points"] = 2, 2
    shapes["at"]["x"], shapes["at"]["y"] = ends[..., 0], ends[..., 1]
    located = np.asarray(np.isfinite(ends).all(axis=(1, 2)), np.bool_)
    return (
        _pack_shapes(shapes, located),
        _pack_boxes((*ends.min(axis=1).T, *ends.max(axis=1).T), located),
    )


def _pack_shapes(shapes: NDArray[Any], located: NDArray[np.bool_] | None = None) -> Any:
    """Return records of WKB as an Arrow array, which lacks those that are not ``located``."""
    n = shapes.size
    shapes["order"] = 1  # little-endian
    # All shapes have the same size, so that the offsets follow from their number.
    offsets = np.arange(n + 1, dtype=np.int32) * shapes.itemsize
    valid = None if located is None or located.all() else pa.array(located).buffers()[1]
    buffers = [valid, pa.py_buffer(offsets), pa.py_buffer(shapes.tobytes())]
    return pa.Array.from_buffers(pa.binary(), n, buffers)


def _pack_boxes(
    box: Sequence[NDArray[np.float64]], located: NDArray[np.bool_] | None = None
) -> Any:
    """Return the sides of boxes as an Arrow array, which lacks those that are not ``located``."""
    mask = None if located is None or located.all() else pa.array(~located)
    return pa.StructArray.from_arrays(
        [column_of(side) for side in box], names=list(SIDES), mask=mask
    )


def outlines_at(outlines: Outlines, at: NDArray[np.int64]) -> tuple[Any, Any]:
    """Return outlines of units at columns of their grid, int64[n], as WKB, and their boxes."""
    wkb = pa.array([outlines.wkb[one] for one in at.tolist()], pa.binary())
    return wkb, _pack_boxes([*outlines.boxes[at].T])


def _sides(grid: Grid, index: NDArray[np.int64], number: int) -> tuple[NDArray[np.float64], ...]:
    """Return west, south, east, north of cells of a map, in its CRS: float64[n] each."""
    return grid.places[number].edges_at(*index[2 * number : 2 * number + 2])


def geo_metadata(grid: Grid) -> dict[str, Any]:
    """Return the ``geo`` metadata of GeoParquet 1.1; its bbox is the public domain's."""
    return {
        "version": "1.1.0",
        "primary_column": "geometry",
        "columns": {
            "geometry": {
                "encoding": "WKB",
                "geometry_types": [geometry_kind(grid)],
                "crs": projjson(geometry_crs(grid)),
                "orientation": "counterclockwise",
                "edges": "planar",
                "bbox": [*geometry_bounds(grid)],
                "covering": {"bbox": {side: ["bbox", side] for side in SIDES}},
            }
        },
    }


def same_geo_metadata(written: Any, grid: Grid) -> bool:
    """Test whether GeoParquet's ``geo`` metadata are a grid's, up to the wording of its CRS."""
    metadata, crs = _apart(written)
    expected, _ = _apart(geo_metadata(grid))
    return metadata == expected and same_crs(crs, geometry_crs(grid))


def _apart(metadata: dict[str, Any]) -> tuple[dict[str, Any], Any]:
    """Split the metadata into the CRS of their one column and everything else."""
    column = dict(metadata["columns"]["geometry"])
    crs = column.pop("crs")
    return {**metadata, "columns": {**metadata["columns"], "geometry": column}}, crs
