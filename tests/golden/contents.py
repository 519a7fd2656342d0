"""What files hold whose bytes belong to a library, as texts that can be read and compared.

Other versions of Arrow, GDAL, zlib, SQLite, Pillow and PROJ write other bytes. Definitions of
coordinate systems are PROJ's, and are left out: their code is in the text.
"""

import json
import sqlite3
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import rasterio
import shapely
from PIL import Image
from pyarrow.types import is_dictionary
from scipy.io import netcdf_file

DEFINITIONS = ("wkt", "definition", "crs", "spatial_ref")
"""Names of values that PROJ words."""


def describe(path: Path) -> str | None:
    """Return the contents of a file as text; None where its bytes are geodp's own."""
    form = FORMS.get(path.suffix)
    return None if form is None else "\n".join(form(path)) + "\n"


def _parquet(path):
    file = pq.ParquetFile(path)
    schema, groups = file.schema_arrow, file.metadata
    yield f"rows {groups.num_rows}"
    for one in schema:
        # Which width of numbers a dictionary has is Arrow's choice.
        plain = f"dictionary of {one.type.value_type}" if is_dictionary(one.type) else one.type
        yield f"column {one.name}: {plain}"
    for name, text in sorted((schema.metadata or {}).items()):
        yield f"metadata {name.decode()}: {_json(_without_definitions(json.loads(text)))}"
    for row in file.read().to_pylist():
        yield _json([_plain(value) for value in row.values()])


def _geopackage(path):
    with sqlite3.connect(path) as base:
        tables = base.execute("SELECT name, sql FROM sqlite_master ORDER BY type, name").fetchall()
        yield f"application {base.execute('PRAGMA application_id').fetchone()[0]:#x}"
        for name, sql in tables:
            if sql is None or name.startswith("sqlite_") or "rtree_" in name:
                continue
            cursor = base.execute(f'SELECT * FROM "{name}"')
            columns = [one[0] for one in cursor.description]
            yield f"table {name}: {', '.join(columns)}"
            for row in cursor:
                named = _without_definitions(dict(zip(columns, row, strict=True)))
                yield _json([_plain(one) for one in named.values()])
    base.close()


def _tiff(path):
    with rasterio.open(path) as file:
        profile = file.profile
        yield f"EPSG {file.crs.to_epsg()}" if file.crs else "no CRS"
        yield f"transform {[*file.transform][:6]}"
        for name in ("driver", "dtype", "nodata", "compress", "tiled", "blockxsize", "blockysize"):
            yield f"{name} {profile.get(name)}"
        for name, value in sorted(file.tags().items()):
            yield f"tag {name}: {value}"
        for band, name in enumerate(file.descriptions, 1):
            yield f"band {name}, overviews {file.overviews(band)}"
            for key, value in sorted(file.tags(band).items()):
                yield f"tag {key}: {float(value):.6g}"  # sums of floats
            yield from (" ".join(f"{one:.9g}" for one in row) for row in file.read(band))


def _picture(path):
    with Image.open(path) as picture:
        yield f"mode {picture.mode}"
        # Libraries draw letters otherwise, and break lines otherwise: what is large is the map.
        yield f"about {' by '.join(str(round(one, -2)) for one in picture.size)} pixels"
        yield from (
            f"{name}: {value}"
            for name, value in sorted(picture.info.items())
            if isinstance(value, str)
        )
        counted = picture.getcolors(1 << 16)  # by number in the palette, where there is one
        palette, pixels = bytes(picture.getpalette() or []), picture.width * picture.height
        shares = {
            bytes(one) if isinstance(one, tuple) else palette[3 * one : 3 * one + 3]: number
            / pixels
            for number, one in counted
        }
        for colour, share in sorted(shares.items()):
            if share > 0.01:
                yield f"colour #{colour.hex()}: {share:.0%} of the picture"


def _netcdf(path):
    with netcdf_file(path, mmap=False) as file:
        yield f"dimensions {_json(file.dimensions)}"
        yield from _attributes(file)
        for name, one in file.variables.items():
            yield f"variable {name}: {one.typecode()}{one.itemsize()} {', '.join(one.dimensions)}"
            yield from _attributes(one)
            yield _json(np.asarray(one.data).tolist())


def _attributes(one):
    for name, value in _without_definitions(vars(one)["_attributes"]).items():
        text = value.decode() if isinstance(value, bytes) else np.asarray(value).tolist()
        yield f"attribute {name}: {text}"


def _json(value):
    return json.dumps(value, ensure_ascii=False)


def _plain(value):
    """Return a value for JSON; shapes as well-known text."""
    if isinstance(value, dict):
        return [*map(_plain, value.values())]
    if not isinstance(value, bytes):
        return value
    if value[:2] == b"GP":  # a GeoPackage's header: flags, system, envelope
        sizes = (0, 32, 48, 48, 64)
        value = value[8 + sizes[value[3] >> 1 & 7] :]
    return shapely.to_wkt(shapely.from_wkb(value), rounding_precision=-1)


def _without_definitions(value):
    """Replace PROJ's definitions by the code that they state."""
    if isinstance(value, dict):
        return {
            name: _code(one)
            if any(part in name for part in DEFINITIONS)
            else _without_definitions(one)
            for name, one in value.items()
        }
    return [*map(_without_definitions, value)] if isinstance(value, list) else value


def _code(value):
    if isinstance(value, dict) and "id" in value:
        return "{authority}:{code}".format(**value["id"])
    return "by PROJ" if "[" in str(value) else value


FORMS = {
    ".parquet": _parquet,
    ".gpkg": _geopackage,
    ".tif": _tiff,
    ".png": _picture,
    ".nc": _netcdf,
}
