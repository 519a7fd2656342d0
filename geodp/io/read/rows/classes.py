"""What says, in a raster or beside it, that its numbers stand for classes.

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

WORDS = (b"<CategoryNames", b"<ColorTable", b"<GDALRasterAttributeTable")
"""Of GDAL's own metadata, as XML."""

COUNTING = {"OID", "OBJECTID", "ROWID", "FID", "VALUE", "COUNT"}
"""Fields of an attribute table that ArcGIS makes of any raster of whole numbers, as a histogram."""

THEMATIC = re.compile(rb'"(?:LAYER_TYPE|DataType)"\s*>\s*thematic', re.IGNORECASE)

SIDECAR, TABLE = ".aux.xml", ".vat.dbf"
"""Endings of files beside a raster: GDAL's metadata, and ArcGIS's table of attributes."""


def find_classes(path: FilePath, raster: Any) -> str | None:
    """Return where a raster says that its numbers are classes, as a noun; None where nowhere.

    Parameters
    ----------
    path : path
    raster : rasterio.io.DatasetReader

    Raises InputError for a file beside it that cannot be read.
    """
    said = _beside(path, SIDECAR)
    if any(word in said for word in WORDS):
        return f"names of classes or colours in {printable(_name(path, SIDECAR))}"
    if raster.driver == "GTiff" and any(word in read_metadata(path) for word in WORDS):
        return "a table of attributes in its metadata"
    for where in (Path(f"{path}{TABLE}"), Path(path).with_suffix(TABLE)):
        require_regular(where)
        fields = _fields(guard(str(where), where.read_bytes)) if where.is_file() else {"VALUE"}
        if not fields or not fields <= COUNTING:
            return f"the table of attributes {printable(where.name)}"
    return None


def is_thematic(path: FilePath, raster: Any, band: int) -> bool:
    """Whether a raster says that it is thematic, which programs also write of whole numbers."""
    tags = {**raster.tags(), **raster.tags(band)}
    if any(tags.get(key, "").lower() == "thematic" for key in ("LAYER_TYPE", "DataType")):
        return True
    return THEMATIC.search(_beside(path, SIDECAR)) is not None


def _name(path: FilePath, ending: str) -> str:
    return f"{Path(path).name}{ending}"


def _beside(path: FilePath, ending: str) -> bytes:
    """Return the bytes of a file beside a raster, none where there is none."""
    where = Path(path).with_name(_name(path, ending))
    require_regular(where)
    return guard(str(where), where.read_bytes) if where.is_file() else b""


def _fields(data: bytes) -> set[str]:
    """Return the names of the fields of a table of dBASE."""
    found = set()
    for at in range(32, len(data) - 31, 32):
        if data[at] == 0x0D:
            break
        found.add(data[at : at + 11].partition(b"\0")[0].decode("ascii", "replace").upper())
    return found
