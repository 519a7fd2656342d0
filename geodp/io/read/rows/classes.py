"""Evidence, in a raster or beside it, that its numbers are classes and no counts.

GDAL 3.10, which reads the pixels, shows neither the attribute tables that ArcGIS keeps beside a
raster nor those that later versions of GDAL write into its metadata.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from geodp.errors import printable
from geodp.io.opening import require_regular
from geodp.io.read.rows.complete.tiff import read_metadata
from geodp.io.read.rows.input_files import FilePath, guard

ELEMENTS = (b"<CategoryNames", b"<ColorTable", b"<GDALRasterAttributeTable")
"""Elements of GDAL's XML metadata that name classes or colours."""

COUNTING = {"OID", "OBJECTID", "ROWID", "FID", "VALUE", "COUNT"}
"""Fields of the histogram that ArcGIS writes for any raster of whole numbers."""

THEMATIC = re.compile(rb'"(?:LAYER_TYPE|DataType)"\s*>\s*thematic', re.IGNORECASE)

SIDECAR, TABLE = ".aux.xml", ".vat.dbf"
"""Endings of files beside a raster: GDAL's metadata, and ArcGIS's table of attributes."""


def find_classes(path: FilePath, raster: Any) -> str | None:
    """Return where a raster declares its numbers as classes, as a noun phrase; None if nowhere.

    Parameters
    ----------
    path : path
    raster : rasterio.io.DatasetReader

    Raises InputError for a file beside it that cannot be read.
    """
    metadata = _read_sidecar(path, SIDECAR)
    if any(word in metadata for word in ELEMENTS):
        return f"names of classes or colours in {printable(_name(path, SIDECAR))}"
    # GDAL 3.10 does not show attribute tables that later versions embed, so the tag is read here.
    if raster.driver == "GTiff" and any(word in read_metadata(path) for word in ELEMENTS):
        return "a table of attributes in its metadata"
    for table in (Path(f"{path}{TABLE}"), Path(path).with_suffix(TABLE)):
        require_regular(table)
        fields = _fields(guard(str(table), table.read_bytes)) if table.is_file() else {"VALUE"}
        if not fields or not fields <= COUNTING:
            return f"the table of attributes {printable(table.name)}"
    return None


def is_thematic(path: FilePath, raster: Any, band: int) -> bool:
    """Whether a raster is declared thematic, which programs also write for whole numbers."""
    tags = {**raster.tags(), **raster.tags(band)}
    if any(tags.get(key, "").lower() == "thematic" for key in ("LAYER_TYPE", "DataType")):
        return True
    return THEMATIC.search(_read_sidecar(path, SIDECAR)) is not None


def _name(path: FilePath, ending: str) -> str:
    """Return the name of a file beside a raster."""
    return f"{Path(path).name}{ending}"


def _read_sidecar(path: FilePath, ending: str) -> bytes:
    """Return the bytes of a file beside a raster; empty without one."""
    where = Path(path).with_name(_name(path, ending))
    require_regular(where)
    return guard(str(where), where.read_bytes) if where.is_file() else b""


def _fields(data: bytes) -> set[str]:
    """Return the names of the fields of a dBASE table."""
    names = set()
    for at in range(32, len(data) - 31, 32):
        # The list of fields ends with a carriage return.
        if data[at] == 0x0D:
            break
        names.add(data[at : at + 11].partition(b"\0")[0].decode("ascii", "replace").upper())
    return names
