"""Locators by geometry: points, and polygons that are cells of the grid."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from geodp.errors import InputError, Rule, UsageError, require_none
from geodp.grid.crs import same_crs
from geodp.grid.lattice import Lattice
from geodp.io.opening import parse_json
from geodp.io.read.rows.arrow import NATIVE, ArrowTable
from geodp.io.read.rows.columns import InputTable, file_columns
from geodp.io.read.rows.forms.json import CRS84, JsonTable
from geodp.io.read.rows.forms.vector import VectorTable
from geodp.io.read.rows.locators import (
    ON_LATTICE,
    Locator,
    Transform,
    locate_points,
    transformation,
)
from geodp.io.read.rows.parquet import ParquetTable

POINT, POLYGON, MULTI = 0, 3, 6
DEPTH_OF_PARTS = 3
"""Nesting of lists in multipolygons: parts, rings, points."""

NO_GEOMETRY = Rule(
    "table-without-geometries",
    "The table has no geometries; name the columns that locate its rows (--code, or --x and --y; "
    "code=, or x= and y=).",
)


NO_CELL = Rule(
    "geometry-no-cell",
    "the geometry is no cell of the grid, to a thousandth of its side; check the grid and the "
    "digits of coordinates, or read points as such (--points, read_points), or the column of codes "
    "(--code, code=).",
)
MISSING = Rule(
    "geometry-missing", "a geometry is missing or damaged; give the row one, or leave the row out."
)
NOT_POINT = Rule("geometry-not-a-point", "the geometry must be one point.")


@dataclass(frozen=True)
class Geometry:
    """A column of geometries, as WKB or coordinates, and its CRS in any form that pyproj reads."""

    name: str
    crs: str | None


def find_geometry(table: InputTable) -> Geometry:
    """Return the column of geometries of a table; UsageError without one."""
    if (geometry := geometry_of(table)) is None:
        raise UsageError(NO_GEOMETRY)
    return geometry


def geometry_of(table: InputTable, name: str | None = None) -> Geometry | None:
    """Return a column of geometries by the name that the table gives it; None for another column.

    A frame or a GeoParquet file may have several, each with a CRS of its own. Without a name it is
    the table's own, None if there is none.
    """
    geometry: tuple[str, str | None] | None = None
    if isinstance(table, ParquetTable):
        geometry = _of_parquet(table, name)
    elif isinstance(table, ArrowTable) and name is not None:
        geometry = table.geometry_of(name)
    elif isinstance(table, VectorTable | JsonTable | ArrowTable):
        geometry = table.geometry
    if geometry is None or name not in (None, geometry[0]):
        return None
    return Geometry(*geometry)


def plain_columns(table: InputTable) -> dict[int, str]:
    """Return positions and names of the columns in a table's file, except geometries.

    Tables of areas often have geometries besides codes; only the codes identify an area.
    """
    geometry = geometry_of(table)
    geometry_name, columns = geometry and geometry.name, enumerate(file_columns(table))
    return {i: name.strip() for i, name in columns if name != geometry_name}


def _of_parquet(table: ParquetTable, wanted: str | None = None) -> tuple[str, str | None] | None:
    """Return a column of GeoParquet 1.x, as WKB or in a native encoding, or None.

    ``wanted``: its name; default: the primary column.
    """
    try:
        stored = table.parquet.schema_arrow.metadata or {}
        if b"geo" not in stored:
            return _of_parquet_types(table, stored, wanted)
        metadata: Any = parse_json(stored[b"geo"])
        name = str(metadata["primary_column"]) if wanted is None else wanted
        column = metadata["columns"][name]
        # GeoParquet without a crs key means OGC:CRS84; an explicit null means unknown.
        crs = column.get("crs", CRS84)
        if column["encoding"] not in ("WKB", *NATIVE) or name not in table.columns:
            return None
        return name, crs if crs is None or isinstance(crs, str) else json.dumps(crs)
    except (KeyError, ValueError, TypeError, AttributeError):
        return None


def _of_parquet_types(
    table: ParquetTable, stored: Mapping[bytes, bytes], wanted: str | None
) -> tuple[str, str | None] | None:
    """Return a column of Parquet's own type GEOMETRY or GEOGRAPHY, as WKB, and its CRS, or None.

    ``stored``: the metadata of the file, which may hold its CRS. ``wanted``: the column's name;
    default: the only one.
    """
    schema = table.parquet.schema
    columns = [schema.column(at) for at in range(len(schema))]
    drawn = [one for one in columns if one.logical_type.type in ("GEOMETRY", "GEOGRAPHY")]
    named = [one for one in drawn if wanted in (None, one.path)]
    if len(named) != 1 or named[0].path not in table.columns:
        return None
    # The form of the type has the CRS as the format's standard defines it: "Geometry(crs=...)".
    written = re.fullmatch(r"\w+\(crs=(.*?)(?:, algorithm=\w*)?\)", str(named[0].logical_type))
    crs = "" if written is None else written[1].strip()
    kind, _, rest = crs.partition(":")
    if kind == "projjson":
        crs = stored[rest.encode()].decode()
    elif kind == "srid":
        crs = f"EPSG:{rest}"
    return named[0].path, crs or CRS84


def crs_of_points(geometry: Geometry, crs: str | None) -> str:
    """Return the CRS of points: ``crs``, or that of the file; UsageError without any."""
    resolved = crs or geometry.crs
    if resolved is None:
        raise UsageError(
            "The geometries have no CRS; name it (--points-crs, crs=).",
            code="geometries-without-crs",
        )
    return resolved


def read_points(column: pa.Array) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return x and y of points: float64[n] each; CodeError at the first geometry that is none."""
    import shapely

    shapes = read_shapes(column)
    require_none((shapely.get_type_id(shapes) != POINT) | shapely.is_empty(shapes), NOT_POINT)
    return shapely.get_x(shapes), shapely.get_y(shapes)


def geometry_points(
    lattice: Lattice, geometry: Geometry, crs: str | None, allow_ballpark: bool
) -> Locator:
    """Return the locator of points, moved into the lattice's CRS; ``crs`` overrides the file's."""
    move = transformation(lattice, crs_of_points(geometry, crs), allow_ballpark)

    def read(column: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return locate_points(lattice, *read_points(column), move)

    return Locator((geometry.name,), (0, 1), read)


def geometry_cells(lattice: Lattice, geometry: Geometry, file: str) -> Locator:
    """Return the locator of polygons that are cells of the lattice, or of their centres.

    Vertices in another CRS are first transformed to the lattice's, if PROJ can do so exactly.
    Raises InputError for other CRSs and, when rows are read, CodeError for a geometry that is no
    cell.
    """
    if lattice.transform is None:
        raise InputError(
            "The grid has no map with cells that geometries could be; name the column of codes "
            "(--code, code=), or of cell indices (--column, columns=).",
            file=file,
            code="geometry-needs-map",
        )
    move = _move_of_cells(lattice, geometry.crs, file)
    a, _, c, _, e, f = lattice.transform

    def read(column: pa.Array) -> list[NDArray[np.int64]]:
        import shapely

        shapes = read_shapes(column)
        if move is not None:
            shapes = shapely.transform(shapes, lambda at: np.stack(move(*at.T), axis=1))
        west, south, east, north = shapely.bounds(shapes).T
        # Longitudes from 0 to 360 and from -180 to 180 are the same places.
        middle = (west + east) / 2
        shift = lattice.wrap(middle) - middle
        west, east = west + shift, east + shift
        kind, exact = shapely.get_type_id(shapes), ((north + south) / 2, (east + west) / 2)
        row, col = (exact[0] - f) / e - 0.5, (exact[1] - c) / a - 0.5
        with np.errstate(invalid="ignore"):
            at = np.stack([row, col])
            good = ((np.abs(at - np.rint(at)) <= ON_LATTICE) & (np.abs(at) < 2**52)).all(axis=0)
            # A polygon may fit the box of a cell and be no cell: its area has to agree as well.
            filled = np.abs(shapely.area(shapes) / (abs(a * e)) - 1) <= ON_LATTICE
            size = np.stack([(east - west) / abs(a), (north - south) / abs(e)])
            square = (np.abs(size - 1) <= ON_LATTICE).all(axis=0) & filled
        good &= np.where(kind == POINT, True, np.isin(kind, (POLYGON, MULTI)) & square)
        require_none(~good, NO_CELL)
        return [np.rint(row).astype(np.int64), np.rint(col).astype(np.int64)]

    return Locator((geometry.name,), (0, 1), read)


def _move_of_cells(lattice: Lattice, crs: str | None, file: str) -> Transform | None:
    """Return the transformation of vertices to the lattice's CRS; None if they have it."""
    if crs is None:
        raise InputError(
            "The geometries have no CRS, so it is unknown whether they are cells of the grid; "
            f"write the CRS into the file (the grid's is {lattice.crs}; a Shapefile has it in its "
            ".prj), or read the file by its column of codes (--code, code=).",
            file=file,
            code="geometries-crs-untold",
        )
    if _same_crs(crs, lattice.crs):
        return None
    with suppress(UsageError):
        return transformation(lattice, crs, allow_ballpark=False)
    raise InputError(
        f"The geometries must be cells in the grid's CRS ({lattice.crs}), or in one that is moved "
        "to it exactly; read the file by its column of codes (--code, code=), or choose a grid in "
        "the file's CRS.",
        file=file,
        code="geometries-crs-differs",
    )


def shape_kinds(column: pa.Array) -> list[int]:
    """Return the type id of each geometry in Shapely; -1 for a missing one."""
    import shapely

    return [*map(int, shapely.get_type_id(_read_shapes(column)))]


def read_shapes(column: pa.Array) -> NDArray[Any]:
    """Return geometries of a column; CodeError at the first that is missing or damaged."""
    import shapely

    shapes = _read_shapes(column)
    require_none(shapely.is_missing(shapes), MISSING)
    return shapes


def _read_shapes(column: pa.Array) -> NDArray[Any]:
    """Return geometries of WKB or native coordinates; None for missing or damaged ones."""
    import shapely

    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    if pa.types.is_nested(column.type):
        return _of_coordinates(column)
    # Errors of Shapely would quote the geometry; invalid WKB becomes None instead.
    shapes: NDArray[Any] = shapely.from_wkb(
        column.to_numpy(zero_copy_only=False), on_invalid="ignore"
    )
    return shapes


def _of_coordinates(column: pa.Array) -> NDArray[Any]:
    """Return points, polygons or multipolygons, by the depth of their lists."""
    import shapely

    empty, inner, offsets = column.is_null().to_numpy(zero_copy_only=False), column, []
    while pa.types.is_list(inner.type) or pa.types.is_large_list(inner.type):
        lengths = pc.fill_null(pc.list_value_length(inner), 0).to_numpy(zero_copy_only=False)
        offsets.append(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
        inner = inner.flatten()  # nulls have no parts
    if pa.types.is_struct(inner.type):
        axes = [pc.struct_field(inner, name) for name in ("x", "y")]
        points = np.stack([one.to_numpy(zero_copy_only=False) for one in axes], axis=1)
    else:
        width = inner.type.list_size
        flat = inner.values.slice(inner.offset * width, len(inner) * width)
        points = flat.to_numpy(zero_copy_only=False).reshape(-1, width)[:, :2]
    points = points.astype(np.float64)
    shapes: NDArray[Any]
    if not offsets:
        shapes = shapely.points(points)
        empty = empty | np.isnan(points).any(axis=1)
    else:
        kind = shapely.GeometryType.POLYGON
        if len(offsets) == DEPTH_OF_PARTS:
            kind = shapely.GeometryType.MULTIPOLYGON
        try:
            shapes = shapely.from_ragged_array(kind, points, tuple(reversed(offsets)))
        except (ValueError, shapely.errors.GEOSException):  # of rings that do not close
            # One ring that does not close fails the entire array; each geometry is then built by
            # itself.
            if len(column) == 1:
                return np.array([None], object)
            return np.concatenate([_of_coordinates(column.slice(i, 1)) for i in range(len(column))])
    shapes[empty] = None
    return shapes


def _same_crs(written: str, wanted: str | None) -> bool:
    """Whether the CRS of a file is the grid's."""
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    try:
        return same_crs(CRS.from_user_input(written).to_wkt(), wanted)
    except CRSError:
        return False
