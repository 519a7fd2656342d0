"""Layers of polygons with fields, written by GDAL: GeoPackage, GeoJSON and FlatGeobuf."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from geodp.errors import require_library
from geodp.grid.crs import open_transformer

DRIVERS = {".gpkg": "GPKG", ".geojson": "GeoJSON", ".fgb": "FlatGeobuf"}
"""GDAL's drivers by the endings of files."""

DEGREES = "EPSG:4326"


def encode_layer(
    name: str, shapes: NDArray[Any], fields: Mapping[str, Sequence[Any]], crs: str | None
) -> bytes:
    """Encode a layer of multipolygons as the bytes of a file.

    Parameters
    ----------
    name : str
        Of the file, whose ending says the format: ``.gpkg``, ``.geojson`` or ``.fgb``.
    shapes : object[n]
        Polygons and multipolygons of shapely.
    fields : mapping of str to sequence
        Values by field, None where one is missing; texts where they have no common type.
    crs : str or None
        Of the shapes. GeoJSON is written in degrees, as its standard requires.

    Raises
    ------
    UsageError
        pyogrio is missing.
    OSError
        GDAL cannot write the file, for any reason.
    """
    require_library("pyogrio", "A layer", "vector")
    import shapely
    from pyogrio.errors import DataLayerError, DataSourceError, FeatureError
    from pyogrio.raw import write_arrow

    driver = DRIVERS[Path(name).suffix.lower()]
    if driver == "GeoJSON" and crs is not None:
        across, crs = open_transformer(crs, DEGREES), DEGREES
        shapes = shapely.transform(
            shapes, lambda points: np.stack(across.transform(*points.T), axis=1), include_z=False
        )
    parts, of = shapely.get_parts(shapes, return_index=True)
    wkb = shapely.to_wkb(shapely.multipolygons(parts, indices=of))
    columns = {field: _list_field(values) for field, values in fields.items()}
    with tempfile.TemporaryDirectory(prefix="geodp-") as folder:
        path = Path(folder, name)
        try:
            write_arrow(
                pa.table({**columns, "geometry": pa.array(wkb, pa.binary())}),
                os.fspath(path),
                layer=path.stem,
                driver=driver,
                geometry_name="geometry",
                geometry_type="MultiPolygon",
                crs=crs,
            )
        except (DataLayerError, DataSourceError, FeatureError):
            raise OSError(errno.EIO, os.strerror(errno.EIO), name) from None
        return path.read_bytes()


def _list_field(values: Sequence[Any]) -> Any:
    """Return the values of a field as an Arrow array."""
    try:
        column = pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        column = None
    if column is None or pa.types.is_nested(column.type) or pa.types.is_null(column.type):
        return pa.array([None if one is None else str(one) for one in values], pa.string())
    return column
