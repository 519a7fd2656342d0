"""What a file is, without saying anything about the people in it."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

from pyproj import CRS
from pyproj.exceptions import CRSError

from geodp.errors import CodeError, UsageError
from geodp.grid.codes import code_system, infer_jis_level
from geodp.grid.codes.arrays import as_array
from geodp.io.read.rows import fields
from geodp.io.read.rows.columns import Rows, Table, open_tables
from geodp.io.read.rows.delimited import TextTable, is_name
from geodp.io.read.rows.forms.geometry import find_geometry
from geodp.io.read.rows.input_files import RASTER, FilePath, kind_of
from geodp.io.read.rows.mesh_columns import require_one_header
from geodp.io.read.rows.parquet import ParquetTable
from geodp.io.read.rows.pixels import open_raster_file
from geodp.io.read.rows.raster_header import RasterHeader, describe_raster

KEYS = (
    *("KEY_CODE", "GRD_ID", "GITTER_ID", "MESH_ID", "MESHCODE", "MESH_CODE", "MESH1KMID", "MESH"),
    *("CRS28992RES", "C28992R", "RELI", "QUADKEY", "GEOHASH", "CODE"),
)
"""Beginnings of the names of columns that hold codes."""

PROTECTED = ("HTKSYORI", "CONFIDENTIALSTATUS", "WERTERLAEUTERNDE")
"""Beginnings of the names of columns that say which values are hidden."""

SAMPLE = 1000
"""Codes whose form is looked at."""


def inspect(
    path: FilePath,
    *,
    encoding: str | None = None,
    key: str | None = None,
    delimiter: str | None = None,
    layer: str | None = None,
) -> dict[str, Any]:
    """Describe a file by its header.

    No count, no number of rows, no code and no extent of rows is said. Of the rows, only the
    form of the first codes is looked at, to tell the level of the grid.

    Parameters
    ----------
    path : path
    encoding : str, optional
        Of a text. Default: as found in the header; UTF-8 or CP932.
    key : str, optional
        Name of the column of codes. Default: by its name, where it is a known one.
    delimiter : str, optional
        Of a text. Default: as found in the header.
    layer : str, optional
        Of a GeoPackage with several, or sheet of a workbook.

    Returns
    -------
    dict
        ``format``: "raster", or what :func:`geodp.io.read.rows.input_files.kind_of` says. Of a
        raster, ``raster``: its header. Otherwise ``tables``, a list of: ``name``; ``columns``, a
        list of ``name`` with ``label`` or ``type``, or None where the first row looks like data;
        ``key``, the column of codes, or None; ``grid``, the name of a code system, or None where
        it is not certain; ``digits`` of all codes, or None; ``geometry``, the CRS of geometries, or
        None; ``protected``, whether columns tell of hidden values; and of a text
        ``encoding`` and ``delimiter``.

    Raises
    ------
    UsageError
        An encoding that is unknown or does not keep ASCII, or of a file that is no text.
    InputError
        A file that is none of these, or damaged; a header that is repeated in a row.
    """
    kind = kind_of(path)
    if encoding is not None and kind in (*RASTER, "parquet"):
        raise UsageError("Only a text has an encoding (--encoding, encoding=).")
    if kind in RASTER:
        return {"format": "raster", "raster": _raster(path)}
    opened = open_tables(path, delimiter=delimiter, encoding=encoding, labelled=True, layer=layer)
    tables = [_table(table, key) for table in opened]
    return {"format": kind, "tables": tables}


def _raster(path: FilePath) -> dict[str, Any]:
    with open_raster_file(path) as raster:
        return dict(describe_raster(RasterHeader(raster, path)))


def _table(table: Table, code: str | None) -> dict[str, Any]:
    names = [name.upper() for name in table.columns]
    found: dict[str, Any] = {"name": table.name, "columns": None, "key": None, "grid": None}
    found |= {"digits": None, "geometry": _geometry(table)}
    found["protected"] = any(name.startswith(PROTECTED) or name.endswith("_CI") for name in names)
    if isinstance(table, TextTable):
        found |= {"encoding": table.encoding, "delimiter": table.delimiter}
        second, kind = table.labels, "label"
    elif isinstance(table, ParquetTable):
        second, kind = tuple(map(str, table.parquet.schema_arrow.types)), "type"
        second += ("",) * (len(names) - len(second))  # columns of the file's path
    else:
        second, kind = ("",) * len(names), "label"
    if not all(map(is_name, names)):
        return found
    found["columns"] = [
        {"name": name, kind: more} for name, more in zip(table.columns, second, strict=True)
    ]
    known = (i for start in KEYS for i, name in enumerate(names) if name.startswith(start))
    if code is not None:
        known = (i for i, name in enumerate(table.columns) if name.strip() == code.strip())
    key = next(known, None)
    if key is not None:
        grid, digits = _level(table, key)
        found |= {"key": table.columns[key], "grid": grid, "digits": digits}
    return found


def _geometry(table: Table) -> str | None:
    """Return the CRS of a table's geometries, "unknown" where they state none; None without."""
    try:
        crs = find_geometry(table).crs
        known = CRS.from_user_input(crs)
    except UsageError:
        return None
    except CRSError:
        return "unknown"
    return ":".join(known.to_authority() or (str(known.name),))


def _level(table: Table, key: int) -> tuple[str | None, int | None]:
    """Return the code system of the first codes, where all have one, and how many digits all have.

    The digits are None where codes are no numbers, or of several lengths.
    """
    first = next(islice(table.arrays([key]), 1), None)
    if first is None or not len(first[0]):
        return None, None
    require_one_header(Rows(table, 0), first, [key])
    digits = None
    try:
        some = as_array(fields.codes(first[0].slice(0, SAMPLE), as_text=True))
        codes = [str(code) for code in some.tolist()]
        lengths = {len(code) if code.isdecimal() else None for code in codes}
        digits = lengths.pop() if len(lengths) == 1 else None
        systems = {_system(code, table.columns[key].upper()) for code in codes}
        if len(systems) == 1:
            code_system(min(systems)).parse(codes)
    except (CodeError, UsageError):
        return None, digits
    return (systems.pop() if len(systems) == 1 else None), digits


def _system(code: str, name: str) -> str:
    """Return the code system of a code in a column of a name; CodeError or UsageError for none."""
    if found := re.match(r"CRS3035RES(\d+)m|(\d+k?m)N\d", code):
        return code_system(f"inspire:{found.group(1) or found.group(2)}").name
    if found := re.match(r"CRS(\d+)RES(\d+)m", code):
        return code_system(f"national:{found.group(1)}:{found.group(2)}").name
    if re.match(r"E\d+N\d+$", code) and "28992" in name:
        return "cbs:500m" if "500" in name else "cbs:100m"
    if name.startswith("RELI"):
        return "statpop:100m"
    if name.startswith("QUADKEY"):  # a program may have taken zeros in front from all of them
        raise UsageError("The number of digits of quadkeys is no proof of their zoom.")
    if name.startswith("GEOHASH"):
        return f"geohash:{len(code)}"
    return f"jis:{infer_jis_level(code)}"
