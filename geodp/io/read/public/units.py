"""Public tables of areal units, and files of their outlines: tracts, municipalities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyproj import CRS
from pyproj.exceptions import CRSError

from geodp.advice import takes
from geodp.errors import CodeError, InputError, Rule, UsageError, printable, require_none
from geodp.grid.crs import name_plane
from geodp.grid.grid import Grid
from geodp.grid.markers import LISTED_TOTAL, is_named_total
from geodp.grid.outlines import Outlines
from geodp.grid.units import TWICE, TWO_PARENTS, add_other, grid_of_units
from geodp.io.opening import texts_of
from geodp.io.read.public.polygons import JUMPS, jump
from geodp.io.read.public.tables import error_at, open_public, read_texts
from geodp.io.read.rows.columns import InputTable, RowPositions, batches, find_column
from geodp.io.read.rows.forms.geometry import Geometry, find_geometry, plain_columns, read_shapes
from geodp.io.read.rows.forms.json import CRS84
from geodp.io.read.rows.input_files import FilePath
from geodp.io.read.rows.span import Opening


@takes(Opening)
def read_units(
    path: FilePath,
    *,
    source: str,
    columns: Sequence[str] = (),
    name: str | None = None,
    other: str | None = None,
    **opening: Any,
) -> Grid:
    """Read the units of a public table, one row for each finest unit.

    A table with polygons (GeoPackage, Shapefile, FlatGeobuf, GeoJSON, GeoParquet) gives the units
    their outlines, in its CRS. Columns go from the finest level to the coarsest: block, tract,
    county. All units belong to the domain, including those without records.

    Parameters
    ----------
    path : path
        File with a header: text (plain, gzip, zip), Parquet, or any other format of tables and
        vectors.
    source : str
        Description of the table's source, published with every release. By giving it you
        declare that the table is public and was not made from the data.
    columns : sequence of str, optional
        Columns in this order. Default: all of them, in the order of the table; for a file of
        outlines the only one that identifies its units.
    name : str, optional
        Column of the names of the finest units, which tables of a release have beside their codes,
        and by which areas can be asked for; it is no level.
    other : str, optional
        Name of a unit that is added on every level, for codes that the table does not have, such
        as places abroad: ``geodp.read_table(..., other=...)`` counts them there.

    Returns
    -------
    Grid
        Grid whose levels are named after the columns; tables are read on it by the finest
        units' codes (``geodp.read_table(..., code=...)``).

    Raises
    ------
    UsageError
        The call cannot be carried out.
    InputError
        The table is not a tree, with file and row: a unit is repeated, lies in two
        units of the next level, has no code, parent or outline, or its outline overlaps another
        one. Outlines have no CRS, or several columns may have the codes.

    Examples
    --------
    >>> from pathlib import Path; from tempfile import TemporaryDirectory; import geodp
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "towns.csv")
    ...     _ = path.write_text("town,county\\nA1,A\\nA2,A\\nB1,B\\n")
    ...     grid = geodp.read_units(path, source="made up")
    >>> geodp.publish(geodp.CountTable.from_index(grid, grid.names.find(["A1", "B1"]), [70, 40]),
    ...               epsilon=1, contribution=1).estimate("A").count >= 0
    True
    """
    table = open_public(path, "units", **opening)
    drawn = find_outlines(table)
    titled = None if name is None else find_column(table, name, (name, *columns))
    chosen, names = _choose_columns(table, columns, titled, outlined=drawn is not None)
    titles: list[str] = []
    texts: list[list[np.ndarray]] = [[] for _ in names]
    shapes: list[np.ndarray] = []
    read: list[RowPositions] = []
    further = [at for at in (titled, None if drawn is None else drawn[0]) if at is not None]
    for rows, arrays in batches(table, [*chosen, *further]):
        read.append(rows)
        for values, one in zip(texts, read_texts(rows, names, arrays, _BLANK), strict=True):
            values.append(one)
        if titled is not None:
            titles += _read_names(arrays[len(chosen)])
        if drawn is not None:
            with rows.named():
                shapes.append(read_polygons_of(arrays[-1], str(drawn[1].crs)))
    if not sum(part.size for part in texts[0]):
        raise InputError(
            "The table of units has no rows.", file=table.name, code="units-without-rows"
        )
    levels = {name: np.concatenate(values) for name, values in zip(names, texts, strict=True)}
    if other is not None:
        levels, source = add_other(levels, source, other)
        shapes.append(np.full(1, None, object))
        titles.append("")
    outlines = None if drawn is None else outlines_of(shapes, str(drawn[1].crs))
    try:
        _require_no_total(next(iter(levels.values())))
        return grid_of_units(levels, source, outlines, None if titled is None else titles)
    except CodeError as error:
        nested = error.code in (TWICE.code, TWO_PARENTS.code)
        more = _suggest_levels(levels) if nested and not columns else ""
        raise error_at(read, error.position, error.rule + more) from None


def _read_names(column: pa.Array) -> list[str]:
    """Return the names of units of a column, blank for those that are missing."""
    names: list[str] = texts_of(pc.fill_null(column.cast(pa.string()), "")).tolist()
    return names


def _choose_columns(
    table: InputTable, columns: Sequence[str], titled: int | None, *, outlined: bool
) -> tuple[list[int], list[str]]:
    """Return positions and names of the levels' columns; InputError if two are the same.

    ``titled``: column of the names of units, which is no level unless it is named as one.
    """
    plain = {at: name for at, name in plain_columns(table).items() if at != titled}
    if outlined and not columns:
        # Files of outlines have many columns that are no levels, so only the unique one is taken.
        at = find_code(table, plain)
        return [at], [plain[at]]
    names = [str(name).strip() for name in columns] or [*plain.values()]
    chosen = [find_column(table, name, names) for name in columns] or [*plain]
    if len({*names}) < len(names) or len({*chosen}) < len(names):
        raise InputError(
            "The levels of units need different columns.",
            file=table.name,
            row=1,
            code="units-levels-alike",
        )
    return chosen, names


def _require_no_total(codes: NDArray[Any]) -> None:
    """Raise CodeError at the first unit that is a total of units."""
    total = next((at for at, code in enumerate(codes.tolist()) if is_named_total(code)), None)
    if total is not None:
        raise CodeError(total, LISTED_TOTAL)


def _suggest_levels(levels: Mapping[str, NDArray[Any]]) -> str:
    """Suggest the columns that may be the finest level, if all were taken for levels."""
    size = next(iter(levels.values())).size
    # The finest level has a different code in every row.
    finest = [printable(name) for name, codes in levels.items() if np.unique(codes).size == size]
    if not finest:
        return ""
    return (
        f" All columns were taken for levels. Name the one of the codes that records have, one of "
        f"{', '.join(finest)}, and behind it those of the areas that hold them, if there are any "
        f"(--units-columns {finest[0]}, columns=[{finest[0]!r}])."
    )


_BLANK = Rule(
    "unit-code-blank",
    "the code is blank; every unit has a code and lies in one unit of every coarser level.",
)


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


def find_code(table: InputTable, plain: Mapping[int, str]) -> int:
    """Find the only column that identifies the units of a table of outlines, by its position.

    It has texts or integers, all of them different and none blank. ``plain``: names of the columns
    that may be it, by their positions.

    Raises InputError if there is none, or if there are several, with their names.
    """
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
        f"columns=[{first!r}]), and behind it those of the areas that hold them, if there are any; "
        "a column of names beside the codes is one of --units-name (name=)."
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
    if CRS.from_user_input(crs).is_geographic:
        require_none(jump(shapes), JUMPS)
    bad = ~shapely.is_valid(shapes)
    if bad.any():
        shapes[bad] = shapely.make_valid(shapes[bad], method="structure", keep_collapsed=False)
    wrong |= ~(shapely.area(shapes) > 0) | ~np.isin(shapely.get_type_id(shapes), POLYGONS)
    require_none(wrong, NO_POLYGON)
    return shapes


def outlines_of(shapes: list[NDArray[Any]], crs: str) -> Outlines:
    """Build outlines from polygons, in the CRS that their file names."""
    crs_name = name_plane(crs)
    return Outlines.of(np.concatenate(shapes), "EPSG:4326" if crs_name == CRS84 else crs_name)
