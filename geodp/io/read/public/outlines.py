"""Outlines of units, and the column of their codes, from a table that has polygons."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyproj import CRS
from pyproj.exceptions import CRSError

from geodp.errors import CodeError, InputError, Rule, UsageError, printable
from geodp.grid.crs import name_plane
from geodp.grid.outlines import Outlines
from geodp.io.read.public.polygons import JUMPS, jump
from geodp.io.read.rows.columns import InputTable, batches
from geodp.io.read.rows.forms.geometry import Geometry, find_geometry, plain_columns, read_shapes
from geodp.io.read.rows.forms.json import CRS84

POLYGONS = (3, 6)
"""Shapely's type ids of polygons and multipolygons."""

INDEX = "__index_level_"
"""Prefix of columns that pandas adds to a Parquet file to number its rows."""

CODES = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer)
"""Predicates of Arrow types whose values can be codes."""

NO_POLYGON = Rule(
    "unit-no-polygon",
    "the unit has no outline: its geometry is none of a polygon with an area. Give a table of "
    "polygons, or one of codes alone (CSV).",
)


def find_outlines(table: InputTable) -> tuple[int, Geometry] | None:
    """Find the column of geometries, by its position and description; None if there is none.

    Raises InputError for geometries whose CRS is missing or unknown.
    """
    try:
        geometry = find_geometry(table)
    except UsageError:
        return None
    # Guessing a CRS would move the units.
    if geometry.crs is None:
        raise InputError(
            "The file does not say the CRS of its outlines; write it into the file (of a Shapefile "
            "it is in its .prj), or give a table of codes alone (CSV).",
            file=table.name,
            code="outlines-without-crs",
        )
    try:
        CRS.from_user_input(geometry.crs)
    except CRSError:
        raise InputError(
            "The CRS that the file names is unknown; write one such as EPSG:4326 into it.",
            file=table.name,
            code="outlines-crs-unknown",
        ) from None
    return table.columns.index(geometry.name), geometry


def find_code(table: InputTable) -> int:
    """Find the only column that identifies the units of a table of outlines, by its position.

    It has texts or integers, all of them different and none blank.

    Raises InputError if there is none, or if there are several, with their names.
    """
    plain = plain_columns(table)
    chosen = [at for at, name in plain.items() if not name.startswith(INDEX)]
    if len(chosen) == 1:
        return chosen[0]
    # Only the values show which column identifies the units: they must be complete and distinct.
    values: list[list[pa.Array]] = [[] for _ in chosen]
    for _, arrays in batches(table, chosen):
        for parts, array in zip(values, arrays, strict=True):
            parts.append(array)
    unique = [at for at, parts in zip(chosen, values, strict=True) if parts and _is_unique(parts)]
    if len(unique) == 1:
        return unique[0]
    names = ", ".join(printable(plain[at]) for at in unique or chosen)
    first = printable(plain[(unique or chosen)[0]]) if chosen else "CODE"
    remedy = (
        f"name the column of the codes that records have (--units-columns {first}, "
        f"columns=[{first!r}]), and behind it those of the areas that hold them, if there are any."
    )
    if unique:
        raise InputError(
            f"Several columns tell the units apart: {names}; {remedy}",
            file=table.name,
            code="units-codes-ambiguous",
        )
    raise InputError(
        f"No single column identifies the units; there are {names}: {remedy}",
        file=table.name,
        code="units-codes-missing",
    )


def _is_unique(parts: list[pa.Array]) -> bool:
    """Test whether values are texts or integers that all differ, and none is blank."""
    if not all(any(is_type(part.type) for is_type in CODES) for part in parts):
        return False
    values = pa.chunked_array([part.cast(pa.string()) for part in parts])
    texts = pc.utf8_trim_whitespace(values)
    if values.null_count or pc.any(pc.equal(texts, "")).as_py():
        return False
    return len(pc.unique(texts)) == len(texts)


def read_polygons_of(column: pa.Array, crs: str) -> NDArray[Any]:
    """Read the polygons of a column in a CRS, object[n]; CodeError at the first that is invalid.

    Rings that cross themselves are made valid, as they cannot be summed or simplified otherwise.
    """
    import shapely

    shapes = read_shapes(column)
    wrong = ~np.isin(shapely.get_type_id(shapes), POLYGONS)
    # Replaced by empty polygons, so that the checks below work on all rows at once.
    shapes = np.where(wrong, shapely.Polygon(), shapes)
    if CRS.from_user_input(crs).is_geographic and (jumping := jump(shapes)).any():
        raise CodeError(int(jumping.argmax()), JUMPS)
    bad = ~shapely.is_valid(shapes)
    if bad.any():
        shapes[bad] = shapely.make_valid(shapes[bad], method="structure", keep_collapsed=False)
    wrong |= ~(shapely.area(shapes) > 0) | ~np.isin(shapely.get_type_id(shapes), POLYGONS)
    if wrong.any():
        raise CodeError(int(wrong.argmax()), NO_POLYGON)
    return shapes


def outlines_of(shapes: list[NDArray[Any]], crs: str) -> Outlines:
    """Build outlines from polygons, in the CRS that their file names."""
    crs_name = name_plane(crs)
    return Outlines.of(np.concatenate(shapes), "EPSG:4326" if crs_name == CRS84 else crs_name)
