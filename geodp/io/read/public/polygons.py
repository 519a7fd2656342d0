"""Named areas of public files, over which counts are summed: polygons, codes, and circles."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from geodp.errors import InputError, Rule, UsageError, printable, require_none
from geodp.grid.grid import Grid
from geodp.io.opening import require_regular
from geodp.io.read.public.tables import open_public, read_texts
from geodp.io.read.rows import fields
from geodp.io.read.rows.columns import InputTable, batches, find_column, open_tables
from geodp.io.read.rows.forms.geometry import find_geometry, plain_columns, read_shapes
from geodp.io.read.rows.forms.json import CRS84, parse_features
from geodp.io.read.rows.input_files import FilePath, guard, kind_of
from geodp.io.read.rows.names import fold

NO_EARTH = Rule("polygons-need-earth", "Polygons need a grid of one map with a place on the Earth.")

DEGREE_STEP, STEP = 0.05, 5000.0
"""Largest distance in degrees, or metres, between corners of a polygon that is reprojected."""

NAMES = ("name", "id", "code")
"""Fields that name polygons, in any case; the first that exists is used."""

JSON = (".geojson", ".json")

ENDINGS = (*JSON, ".gpkg", ".shp", ".fgb", ".parquet", ".geoparquet", ".zip")
"""Endings of files of polygons; an archive holds a Shapefile, or one of these files."""

HALF = 180.0
"""Degrees around half of the Earth."""

JUMPS = Rule(
    "outline-jumps",
    "An outline jumps from one side of 180 degrees to the other, so that it is ambiguous which "
    "way around the Earth it goes: cut it in two there, or let its longitudes go on beyond 180.",
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


BROKEN = Rule("geojson-broken", "The file is not GeoJSON with polygons.")


@dataclass(frozen=True)
class ShapeKind:
    """A kind of shapes that a file must hold: shapely's type ids, and the refusal of others."""

    types: frozenset[int]
    others: Rule


POLYGONS = ShapeKind(
    frozenset((3, 6)), Rule("not-only-polygons", "The file must hold polygons and nothing else.")
)

LINES = ShapeKind(
    frozenset((1, 5)), Rule("not-only-lines", "The file must hold lines and nothing else.")
)

DEGREES = "EPSG:4326"
"""CRS84 with latitude first: from CRS84 itself, PROJ takes a second to find a way to Japan's datum.
"""


def read_polygons(path: FilePath, grid: Grid, *, name: str | None = None) -> dict[str, Any]:
    """Read polygons by name, in the grid's CRS.

    Parameters
    ----------
    path : path
        GeoJSON (longitude and latitude, or the CRS that a member "crs" names) or GeoParquet; with
        pyogrio installed also GeoPackage, Shapefile (plain or zipped) and FlatGeobuf, in any CRS:
        they are moved to that of the grid. GDAL's other formats can name files and addresses,
        which are not followed.
    grid : Grid
        Grid of one map with a place on the Earth, or of units with outlines.
    name : str, optional
        Field of the names. Default: name, id or code in this order, in any case; numbers
        from 1 if there are no fields.

    Returns
    -------
    dict of shapely geometry

    Raises
    ------
    UsageError
        The grid has no CRS; PROJ has no transformation from the file's CRS to the grid's; the field
        does not exist, or no field is known to name the polygons.
    InputError
        The file is unreadable or holds anything but polygons with different names.
    """
    outlines = grid.known_outlines
    crs = grid.require_map(NO_EARTH).crs if outlines is None else outlines.crs
    if crs is None:
        raise UsageError(NO_EARTH)
    shapes, fields = read_shapes_in(path, crs)
    return dict(zip(name_polygons(path, fields, shapes.size, name), shapes, strict=True))


def name_polygons(
    path: FilePath, fields: dict[str, list[Any]], number: int, name: str | None
) -> list[str]:
    """Return the names of so many polygons in the order of their file.

    ``fields``, ``name`` and errors: see :func:`read_layer` and :func:`read_polygons`.
    """
    file = os.fspath(path)
    plain = {field.casefold(): field for field in reversed(fields)}
    chosen = name or next((plain[candidate] for candidate in NAMES if candidate in plain), None)
    if chosen is None and fields:
        raise UsageError(
            "Say which field names the polygons (--polygon-name, name=): "
            f"{', '.join(map(printable, fields))}.",
            code="polygon-name-missing",
        )
    if chosen is None:
        names = [str(at) for at in range(1, number + 1)]
    elif chosen in fields:
        names = [str(value) for value in fields[chosen]]
    else:
        raise UsageError(
            f"The polygons have no field of this name; they have {', '.join(fields)}.",
            code="polygon-field-unknown",
        )
    # Results are reported by name, so that two polygons of one name would be mixed up.
    if len(set(names)) < len(names):
        raise InputError(
            f"The names in the field {chosen} do not differ.", file=file, code="polygon-names-alike"
        )
    return names


def read_shapes_in(
    path: FilePath, crs: str, kind: ShapeKind = POLYGONS
) -> tuple[Any, dict[str, list[Any]]]:
    """Read the shapes of one kind in a file, in a CRS: shapely objects[n], and its fields by name.

    Raises as :func:`read_polygons` does.
    """
    shapes, fields, crs_of_file = read_layer(path, kind)
    if crs_of_file is None:
        raise InputError(
            f"The file does not say the CRS of its polygons; write it into the file ({crs}).",
            file=os.fspath(path),
            code="polygons-without-crs",
        )
    return move_polygons(shapes, crs_of_file, crs), fields


def read_layer(
    path: FilePath, kind: ShapeKind = POLYGONS
) -> tuple[Any, dict[str, list[Any]], str | None]:
    """Read the shapes of one kind in a file as they are, its fields by name, and its CRS.

    Raises InputError for a file that is unreadable or holds anything but such shapes.
    """
    import shapely

    kind_of(path)  # raises if the file does not exist
    if Path(path).suffix.lower() in JSON:
        shapes, fields, crs_of_file = _geojson(path)
    else:
        shapes, fields, crs_of_file = _of_table(path)
    if not shapes.size or not {*shapely.get_type_id(shapes)} <= kind.types:
        raise InputError(kind.others, file=os.fspath(path))
    return shapes, fields, crs_of_file


def _geojson(path: FilePath) -> tuple[Any, dict[str, list[Any]], str | None]:

    file = os.fspath(path)
    require_regular(path)
    # Read as a whole, since a GeoJSON document has no index of its features.
    data = guard(file, partial(Path(path).read_bytes))
    shapes, properties, crs = parse_features(data, file, BROKEN)
    # A field that some features lack cannot name all of them.
    names = [key for key in (properties or [{}])[0] if all(key in each for each in properties)]
    return shapes, {key: [each[key] for each in properties] for key in names}, crs


def _of_table(path: FilePath) -> tuple[Any, dict[str, list[Any]], str | None]:
    """Read geometries, fields and CRS of a file that is a table of features."""
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
    # An edge between both ends of the map is not a jump: a box around the entire Earth has it.
    at_edge = np.abs(np.abs(points[:, 0]) - HALF) < 1e-6
    jumps = np.zeros(len(shapes), np.bool_)
    jumps[shape[part[ring[1:][ahead & ~(at_edge[1:] & at_edge[:-1])]]]] = True
    return jumps


def move_polygons(shapes: Any, source: str, target: str) -> Any:
    """Transform polygons to the grid's CRS, by PROJ's best transformation that is installed."""
    import shapely
    from pyproj import CRS, Transformer
    from pyproj.exceptions import CRSError, ProjError

    try:
        parsed = CRS.from_user_input(source)
    except CRSError:
        parsed = None
    if parsed is None:
        raise UsageError(
            "The CRS that the polygons name is unknown; write one such as EPSG:3035.",
            code="polygons-crs-unknown",
        )
    if parsed.equals(CRS.from_user_input(target), ignore_axis_order=True):
        return shapes
    degrees = parsed.equals(CRS.from_user_input(CRS84), ignore_axis_order=True)
    try:
        move = Transformer.from_crs(
            DEGREES if degrees else parsed, target, always_xy=True, allow_ballpark=degrees
        )
    except ProjError:
        move = None
    if move is None:
        raise UsageError(
            f"PROJ knows no way from the polygons' CRS ({parsed.name}) to {target}; bring them to "
            "degrees of WGS 84, or to that CRS.",
            code="polygons-crs-apart",
        )
    # A straight edge is curved in another CRS: corners in between keep it where it was.
    step = (
        DEGREE_STEP if parsed.is_geographic else STEP / parsed.axis_info[0].unit_conversion_factor
    )
    moved = shapely.transform(
        shapely.segmentize(shapes, step),
        lambda points: np.stack(move.transform(*points.T), axis=1),
        include_z=False,
    )
    if not np.isfinite(shapely.get_coordinates(moved)).all():
        raise UsageError("The polygons reach beyond the grid's CRS.", code="polygons-beyond-crs")
    return moved


NAME, CODE = "name", "code"
RANGES = {"longitude": (-179.0, 179.0), "latitude": (-85.0, 85.0), "km": (0.01, 100.0)}
"""Columns of a point and of the radius around it, with their allowed ranges."""

CORNERS = 72
"""Number of corners of a polygon that approximates a circle."""

REGIONS = ("region", "prefecture")
"""Columns that distinguish places of the same name: their values follow the name in brackets."""


@dataclass(frozen=True)
class Circle:
    """The surroundings of a point.

    Attributes
    ----------
    shape : shapely Polygon
        In the grid's CRS.
    km : float
        Radius on the Earth.
    """

    shape: Any
    km: float


def read_places(path: FilePath, grid: Grid, *, name: str | None = None) -> dict[str, Any]:
    """Read a public list of places, each a polygon or codes of areas.

    Parameters
    ----------
    path : path
        Polygons as :func:`geodp.io.read.public.polygons.read_polygons` takes them; or a table with
        a header: ``name`` and ``code``, of an area of the grid's codes or of a region, one row or
        more a place; or ``name``, ``longitude``, ``latitude`` and ``km``, a circle each. Either may
        have a column ``region`` or ``prefecture``, whose text is put in brackets after the name.
    grid : Grid
        Grid of one map.
    name : str, optional
        Field or column of the names. Default: name, id or code for polygons; name for tables.

    Returns
    -------
    dict of str to shapely geometry, Circle or list of str

    Raises
    ------
    UsageError
        The call cannot be carried out.
    InputError
        The file cannot be read, or a table does not have these columns.
    """
    if Path(path).suffix.lower() in ENDINGS:
        return read_polygons(path, grid, name=name)
    table = open_public(path, "places")
    # A column of codes decides, as such a table may have coordinates for other uses.
    there = {fold(column) for column in table.columns}
    if CODE in there:
        return _read_codes(table, name or NAME)
    if {*RANGES} <= there:
        return _read_circles(table, grid, name or NAME)
    raise InputError(
        f"A table of places has the columns {name or NAME} and {CODE}, or {name or NAME}, "
        f"{', '.join(RANGES)}.",
        file=table.name,
        row=1,
        code="places-columns",
    )


def _read_codes(table: InputTable, name: str) -> dict[str, Any]:
    """Read codes by place, in the order of the table."""
    codes: dict[str, Any] = {}
    wanted = (name, CODE, *_find_regions(table))
    chosen = [find_column(table, one, [NAME, CODE]) for one in wanted]
    for rows, columns in batches(table, chosen):
        texts = [one.tolist() for one in read_texts(rows, wanted, columns, _BLANK)]
        for place, code, *region in zip(*texts, strict=True):
            codes.setdefault(_join_name(place, *region), []).append(code)
    return codes


def _find_regions(table: InputTable) -> list[str]:
    """Find the column that distinguishes places of the same name, if the table has one."""
    columns = {fold(column) for column in table.columns}
    return [name for name in REGIONS if name in columns][:1]


def _join_name(place: str, *region: str) -> str:
    """Return a place's name, with its region in brackets.

    Examples
    --------
    >>> _join_name("Ueno", "Tokyo"), _join_name("Mito")
    ('Ueno (Tokyo)', 'Mito')
    """
    return f"{place} ({region[0]})" if region else place


def _read_circles(table: InputTable, grid: Grid, name: str) -> dict[str, Any]:
    """Read circles on the Earth around points, as polygons in the grid's CRS."""
    import shapely

    crs = grid.require_map(NO_EARTH).crs
    if crs is None:
        raise UsageError(NO_EARTH)
    circles: dict[str, tuple[Any, float]] = {}
    wanted = (name, *_find_regions(table))
    chosen = [find_column(table, one, [NAME, *RANGES]) for one in (*wanted, *RANGES)]
    for rows, columns in batches(table, chosen):
        texts = [one.tolist() for one in read_texts(rows, wanted, columns, _BLANK)]
        numbers = []
        for column, array in zip(RANGES, columns[len(wanted) :], strict=True):
            with rows.named(column):
                numbers.append(_read_numbers(array, column).tolist())
        each = zip(zip(*texts, strict=True), zip(*numbers, strict=True), strict=True)
        for position, (names, circle) in enumerate(each):
            place = _join_name(*names)
            # Two circles of one place could overlap and count cells twice.
            if place in circles:
                raise rows.error(position, _REPEATED)
            circles[place] = shapely.Polygon(_trace_circle(*circle)), circle[-1]
    # All circles are transformed at once: finding PROJ's transformation takes longer than using it.
    shapes = move_polygons(np.array([one for one, _ in circles.values()], object), CRS84, crs)
    return {
        place: Circle(shape, km)
        for (place, (_, km)), shape in zip(circles.items(), shapes, strict=True)
    }


def _read_numbers(column: pa.Array, name: str) -> NDArray[np.float64]:
    """Read a column of a circle as numbers; CodeError at the first that is out of range."""
    low, high = RANGES[name]
    numbers = fields.coordinates(column)
    sentence = f"the {name} of a place is a number from {low:g} to {high:g}."
    require_none(~((numbers >= low) & (numbers <= high)), Rule("place-number", sentence))
    return numbers


def _trace_circle(lon: float, lat: float, km: float) -> NDArray[np.float64]:
    """Return corners of a circle on the Earth in degrees: float64[n, 2]."""
    from pyproj import Geod

    azimuth = np.linspace(0, 360, CORNERS, endpoint=False)
    distance = np.full(CORNERS, 1000 * km)
    east, north, _ = Geod(ellps="WGS84").fwd(
        np.full(CORNERS, lon), np.full(CORNERS, lat), azimuth, distance
    )
    return np.stack([east, north], axis=1)


_BLANK = Rule(
    "place-blank", "the name, the code or the region is blank: every row has one of each."
)
_REPEATED = Rule(
    "place-repeated",
    "the place is in the table already; a place is one circle. A column region or prefecture "
    "distinguishes places with the same name.",
)
