"""Named polygons from files, as areas to sum counts over."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import InputError, Rule, UsageError, printable
from geodp.grid.grid import Grid
from geodp.io.opening import parse_json, require_regular
from geodp.io.read.rows.columns import batches, open_tables
from geodp.io.read.rows.complete.pages import check_pages
from geodp.io.read.rows.forms.geometry import find_geometry, plain_columns, read_shapes
from geodp.io.read.rows.forms.json import CRS84, crs_of
from geodp.io.read.rows.input_files import FilePath, guard, kind_of

NO_EARTH = Rule("polygons-need-earth", "Polygons need a grid of one map with a place on the Earth.")

DEGREE_STEP, STEP = 0.05, 5000.0
"""Degrees, or metres, between two corners of a polygon that is moved to another CRS, at most."""

NAMES = ("name", "id", "code")
"""Fields that name polygons, in capitals or not, the first that is there."""

JSON = (".geojson", ".json")

ENDINGS = (*JSON, ".gpkg", ".shp", ".fgb", ".parquet", ".geoparquet", ".zip")
"""How the names of files of polygons end; of an archive those of a Shapefile, or one of these."""

HALF = 180.0
"""Degrees around half of the Earth."""

JUMPS = Rule(
    "outline-jumps",
    "An outline jumps from one side of 180 degrees to the other, so that nothing tells which way "
    "around the Earth it goes: cut it in two there, or let its longitudes go on beyond 180.",
)

SEVERAL = Rule(
    "polygons-in-several-layers",
    "The file has several layers or files; give one with the polygons that are meant alone "
    "(ogr2ogr areas.gpkg FILE LAYER).",
)

NO_POLYGONS = Rule(
    "polygons-format-unknown",
    "Polygons are read from GeoJSON (.geojson), GeoPackage (.gpkg), Shapefile (.shp, or zipped), "
    "FlatGeobuf (.fgb) and GeoParquet (.parquet); this file is none. A table of cells and their "
    "areas goes into geodp publish (--regions), whose areas are then asked for by their codes "
    "(--area).",
)

DEGREES = "EPSG:4326"
"""CRS84 with latitude first: PROJ looks for a way from CRS84 to Japan's datum for a second."""


def read_polygons(path: FilePath, grid: Grid, *, name: str | None = None) -> dict[str, Any]:
    """Polygons by name, in the grid's CRS.

    Parameters
    ----------
    path : path
        GeoJSON (longitude and latitude, or the CRS that a member "crs" names) or GeoParquet; with
        pyogrio installed also GeoPackage, Shapefile (plain or zipped) and FlatGeobuf, in any CRS:
        they are moved to that of the grid. GDAL's other formats can name files and addresses,
        which are not followed.
    grid : Grid
        One map with a place on the Earth, or units with outlines.
    name : str, optional
        Field of the names. Default: name, id or code in this order, in capitals or not; numbers
        from 1 where there are no fields.

    Returns
    -------
    dict of shapely geometry

    Raises
    ------
    UsageError
        A grid without a CRS, a CRS from which PROJ knows no way to the grid's, a field that is not
        there, or fields of which none is known to name the polygons.
    InputError
        A file that is unreadable or holds anything but polygons with names that differ.
    """
    file = os.fspath(path)
    outlines = grid.outlines
    crs = grid.require_map(NO_EARTH).crs if outlines is None else outlines.crs
    if crs is None:
        raise UsageError(NO_EARTH)
    shapes, fields = read_outlines(path, crs)
    plain = {field.casefold(): field for field in reversed(fields)}
    chosen = name or next((plain[known] for known in NAMES if known in plain), None)
    if chosen is None and fields:
        raise UsageError(
            "Say which field names the polygons (--polygon-name, name=): "
            f"{', '.join(map(printable, fields))}.",
            code="polygon-name-missing",
        )
    if chosen is None:
        names = [str(number) for number in range(1, shapes.size + 1)]
    elif chosen in fields:
        names = [str(value) for value in fields[chosen]]
    else:
        raise UsageError(
            f"The polygons have no field of this name; they have {', '.join(fields)}.",
            code="polygon-field-unknown",
        )
    if len(set(names)) < len(names):
        raise InputError(
            f"The names in the field {chosen} do not differ.", file=file, code="polygon-names-alike"
        )
    return dict(zip(names, shapes, strict=True))


def read_outlines(path: FilePath, crs: str) -> tuple[Any, dict[str, list[Any]]]:
    """Return the polygons of a file in a CRS, shapely objects[n], and its fields by name.

    Raises as :func:`read_polygons` does.
    """
    import shapely

    kind_of(path)  # refuses what is not there
    if Path(path).suffix.lower() in JSON:
        shapes, fields, said = _geojson(path)
    else:
        shapes, fields, said = _of_table(path)
    if not shapes.size or not {*shapely.get_type_id(shapes)} <= {3, 6}:
        raise InputError(
            "The file must hold polygons and nothing else.",
            file=os.fspath(path),
            code="not-only-polygons",
        )
    if said is None:
        raise InputError(
            f"The file does not say the CRS of its polygons; write it into the file ({crs}).",
            file=os.fspath(path),
            code="polygons-without-crs",
        )
    return move_polygons(shapes, said, crs), fields


def _geojson(path: FilePath) -> tuple[Any, dict[str, list[Any]], str | None]:
    import shapely

    file = os.fspath(path)
    require_regular(path)
    data = guard(file, partial(Path(path).read_bytes))
    try:
        document = parse_json(data)
        features = (
            document["features"]
            if document["type"] == "FeatureCollection"
            else [document if document["type"] == "Feature" else {"geometry": document}]
        )
        check_pages(file, document, len(features))
        shapes = shapely.from_geojson([json.dumps(feature["geometry"]) for feature in features])
        properties = [feature.get("properties") or {} for feature in features]
        names = [key for key in properties[0] if all(key in each for each in properties)]
        return shapes, {key: [each[key] for each in properties] for key in names}, crs_of(document)
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        pass
    except shapely.errors.GEOSException:
        pass
    raise InputError("The file is no GeoJSON with polygons.", file=file, code="geojson-broken")


def _of_table(path: FilePath) -> tuple[Any, dict[str, list[Any]], str | None]:
    """Return geometries, fields and CRS of a file that is read as a table of features."""
    try:
        (table,) = open_tables(path)
    except InputError as error:
        if getattr(error.rule, "code", "") != "layer-missing":
            raise
        raise InputError(SEVERAL, file=error.file) from None
    except ValueError:  # an archive of several files
        raise InputError(SEVERAL, file=os.fspath(path)) from None
    try:
        geometry = find_geometry(table)
    except UsageError:
        raise InputError(NO_POLYGONS, file=table.name) from None
    plain = plain_columns(table)
    shapes, fields = [np.empty(0, object)], {name: list[Any]() for name in plain.values()}
    for rows, arrays in batches(table, [*plain, table.columns.index(geometry.name)]):
        with rows.named():
            shapes.append(read_shapes(arrays[-1]))
        for values, array in zip(fields.values(), arrays, strict=False):
            values.extend(array.to_pylist())
    return np.concatenate(shapes), fields, geometry.crs


def jump(shapes: Any) -> NDArray[np.bool_]:
    """Return which polygons in degrees have an edge that jumps across 180 degrees: bool[n]."""
    import shapely

    parts, shape = shapely.get_parts(shapes, return_index=True)
    rings, part = shapely.get_rings(parts, return_index=True)
    points, ring = shapely.get_coordinates(rings, return_index=True)
    ahead = (ring[1:] == ring[:-1]) & (np.abs(np.diff(points[:, 0])) > HALF)
    beside = np.abs(np.abs(points[:, 0]) - HALF) < 1e-6  # a box around the Earth ends there
    found = np.zeros(len(shapes), np.bool_)
    found[shape[part[ring[1:][ahead & ~(beside[1:] & beside[:-1])]]]] = True
    return found


def move_polygons(shapes: Any, given: str, wanted: str) -> Any:
    """Return polygons in the grid's CRS, by PROJ's best way that is installed."""
    import shapely
    from pyproj import CRS, Transformer
    from pyproj.exceptions import CRSError, ProjError

    try:
        known = CRS.from_user_input(given)
    except CRSError:
        known = None
    if known is None:
        raise UsageError(
            "The CRS that the polygons name is unknown; write one such as EPSG:3035.",
            code="polygons-crs-unknown",
        )
    if known.equals(CRS.from_user_input(wanted), ignore_axis_order=True):
        return shapes
    degrees = known.equals(CRS.from_user_input(CRS84), ignore_axis_order=True)
    try:
        move = Transformer.from_crs(
            DEGREES if degrees else known, wanted, always_xy=True, allow_ballpark=degrees
        )
    except ProjError:
        move = None
    if move is None:
        raise UsageError(
            f"PROJ knows no way from the polygons' CRS ({known.name}) to {wanted}; bring them to "
            "degrees of WGS 84, or to that CRS.",
            code="polygons-crs-apart",
        )
    # Edges stay where they are when the grid's CRS bends them.
    step = DEGREE_STEP if known.is_geographic else STEP / known.axis_info[0].unit_conversion_factor
    moved = shapely.transform(
        shapely.segmentize(shapes, step),
        lambda points: np.stack(move.transform(*points.T), axis=1),
        include_z=False,
    )
    if not np.isfinite(shapely.get_coordinates(moved)).all():
        raise UsageError("The polygons reach beyond the grid's CRS.", code="polygons-beyond-crs")
    return moved
