"""Named polygons from files, as areas to sum counts over."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from geodp.errors import InputError, Rule, UsageError, printable
from geodp.grid.grid import Grid
from geodp.io.opening import parse_json, require_regular, require_utf8
from geodp.io.read.rows.complete.error import incomplete
from geodp.io.read.rows.complete.features import check_features
from geodp.io.read.rows.complete.pages import check_pages
from geodp.io.read.rows.complete.shapefile import beside
from geodp.io.read.rows.forms.json import CRS84, crs_of
from geodp.io.read.rows.forms.vector import COMPANIONS, MISCOUNTED, VIEWS, computes
from geodp.io.read.rows.input_files import FilePath, guard, kind_of

NO_EARTH = Rule("polygons-need-earth", "Polygons need a grid of one map with a place on the Earth.")

NAMES = ("name", "id", "code")
"""Fields that name polygons, in capitals or not, the first that is there."""

FORMATS = {".gpkg": b"SQLite format 3\0", ".shp": b"\0\0\x27\x0a", ".fgb": b"fgb\x03fgb"}
"""How files begin that GDAL reads, by the endings of their names."""

DEGREES = "EPSG:4326"
"""CRS84 with latitude first: PROJ looks for a way from CRS84 to Japan's datum for a second."""


def read_polygons(path: FilePath, grid: Grid, *, name: str | None = None) -> dict[str, Any]:
    """Polygons by name, in the grid's CRS.

    Parameters
    ----------
    path : path
        GeoJSON (longitude and latitude, which are moved to the grid's CRS, or the grid's CRS where
        a member "crs" names it); with pyogrio installed also GeoPackage, Shapefile and
        FlatGeobuf, in degrees of WGS 84 or in the grid's CRS. GDAL's other formats can name files
        and addresses, which are not followed.
    grid : Grid
        One map with a place on the Earth.
    name : str, optional
        Field of the names. Default: name, id or code in this order, in capitals or not; numbers
        from 1 where there are no fields.

    Returns
    -------
    dict of shapely geometry

    Raises
    ------
    UsageError
        A grid without a CRS, a CRS other than the grid's, a field that is not there, or fields of
        which none is known to name the polygons.
    InputError
        A file that is unreadable or holds anything but polygons with names that differ.
    """
    file = os.fspath(path)
    crs = grid.require_map(NO_EARTH).crs
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
    if Path(path).suffix.lower() in (".geojson", ".json"):
        shapes, fields, said = _geojson(path)
    else:
        shapes, fields, said = _by_gdal(path)
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


def _by_gdal(path: FilePath) -> tuple[Any, dict[str, list[Any]], str | None]:
    import shapely

    try:
        import pyogrio
    except ImportError:
        raise UsageError(
            "Polygons are read from GeoJSON; for other formats install pyogrio.",
            code="library-missing",
        ) from None
    require_utf8(path)
    declared = _require_known(Path(path))
    try:
        meta, _, shapes, values = pyogrio.raw.read(Path(path).resolve())
    except (pyogrio.errors.DataSourceError, pyogrio.errors.DataLayerError):
        shapes = None
    if shapes is None:
        raise InputError(
            "The file holds no polygons that GDAL reads.",
            file=os.fspath(path),
            code="polygons-not-found",
        )
    if declared is not None and len(shapes) != declared:
        raise incomplete(os.fspath(path), MISCOUNTED)
    fields = {str(key): list(value) for key, value in zip(meta["fields"], values, strict=True)}
    return shapely.from_wkb(shapes), fields, meta["crs"]


def _require_known(path: Path) -> int | None:
    """Return how many polygons a file has, where it says so.

    InputError for a file that GDAL could take for another format than it is called by, and for one
    that is not whole.

    GDAL asks all its drivers, and some follow what a text names. These formats begin with bytes
    that no text has, so that their own driver is the one that answers.
    """
    for part in (path, *(beside(path, ending) for ending in COMPANIONS)):
        require_regular(part)
    begins = FORMATS.get(path.suffix.lower())
    with path.open("rb") as file:
        known = begins is not None and file.read(len(begins)) == begins
    if not known:
        raise InputError(
            "Polygons are read from GeoJSON (.geojson), GeoPackage (.gpkg), Shapefile (.shp) and "
            "FlatGeobuf (.fgb), unpacked; this file is none, or is damaged. A table of cells and "
            "their areas goes into geodp publish (--regions), whose areas are then asked for by "
            "their codes (--area).",
            file=os.fspath(path),
            code="polygons-format-unknown",
        )
    kind = kind_of(path)
    declared = guard(os.fspath(path), partial(check_features, path, kind))
    if kind != "geopackage":
        return declared.features
    if computes(path):
        raise InputError(VIEWS, file=os.fspath(path))
    return None


def move_polygons(shapes: Any, given: str, wanted: str) -> Any:
    """Return polygons in the grid's CRS; only longitude and latitude are moved to it."""
    import shapely
    from pyproj import CRS, Transformer
    from pyproj.exceptions import CRSError

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
    if not known.equals(CRS.from_user_input(CRS84), ignore_axis_order=True):
        raise UsageError(
            f"The polygons have another CRS than the grid; bring them to {wanted}, such as by "
            f"ogr2ogr -t_srs {wanted} moved.gpkg FILE.",
            code="polygons-crs-differs",
        )
    move = Transformer.from_crs(DEGREES, wanted, always_xy=True)
    step = 0.05  # degrees: edges stay where they are when the grid's CRS bends them
    moved = shapely.transform(
        shapely.segmentize(shapes, step),
        lambda points: np.stack(move.transform(*points.T), axis=1),
        include_z=False,
    )
    if not np.isfinite(shapely.get_coordinates(moved)).all():
        raise UsageError("The polygons reach beyond the grid's CRS.", code="polygons-beyond-crs")
    return moved
