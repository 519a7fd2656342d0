"""Outlines and layers of polygons for GIS: GeoPackage, GeoParquet for browsers, FlatGeobuf."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from geodp.errors import require_library
from geodp.grid.crs import open_transformer
from geodp.io.write.format import Export
from geodp.io.write.geometry import geometry_crs, geometry_kind, why_no_geometry
from geodp.io.write.geopackage import why_no_geopackage, write_geopackage
from geodp.io.write.parquet import write_parquet
from geodp.io.write.view import View

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
        rows = pa.table({**columns, "geometry": pa.array(wkb, pa.binary())})
        _write(rows, path, path.stem, driver, "MultiPolygon", crs)
        return path.read_bytes()


def _write(rows: pa.Table, path: Path, layer: str, driver: str, kind: str, crs: str | None) -> None:
    """Write rows with geometries of a kind by GDAL; OSError if it cannot, for any reason."""
    from pyogrio.errors import DataLayerError, DataSourceError, FeatureError
    from pyogrio.raw import write_arrow

    try:
        write_arrow(
            rows,
            os.fspath(path),
            layer=layer,
            driver=driver,
            geometry_name="geometry",
            geometry_type=kind,
            crs=crs,
        )
    except (DataLayerError, DataSourceError, FeatureError):
        raise OSError(errno.EIO, os.strerror(errno.EIO), path.name) from None


def _list_field(values: Sequence[Any]) -> Any:
    """Return the values of a field as an Arrow array."""
    try:
        column = pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        column = None
    if column is None or pa.types.is_nested(column.type) or pa.types.is_null(column.type):
        return pa.array([None if one is None else str(one) for one in values], pa.string())
    return column


class GeoPackageExport(Export):
    """The GeoPackage of every release, for any number of cells."""

    name: ClassVar[str] = "gpkg"
    ending: ClassVar[str] = "gpkg"
    help: ClassVar[str] = "GeoPackage of one layer: QGIS, GDAL, R, ArcGIS"
    takes_columns: ClassVar[bool] = True

    def why_not(self, view: View) -> str | None:
        """Require a place on the Earth."""
        return why_no_geopackage(view.table.grid)

    def write(self, view: View, path: Path) -> None:
        """Write one layer."""
        write_geopackage(view, path)


class Parquet(Export):
    """GeoParquet with a compression that readers in browsers support; the release's is better."""

    name: ClassVar[str] = "parquet"
    ending: ClassVar[str] = "parquet"
    help: ClassVar[str] = "GeoParquet, compressed by Snappy: readers in browsers, too"
    takes_columns: ClassVar[bool] = True

    def write(self, view: View, path: Path) -> None:
        """Write one file."""
        write_parquet(view, path, compression="snappy")


class FlatGeobuf(Export):
    """Written by GDAL, through pyogrio."""

    name: ClassVar[str] = "fgb"
    ending: ClassVar[str] = "fgb"
    help: ClassVar[str] = "FlatGeobuf: maps in browsers (pip install geodp[vector])"
    takes_columns: ClassVar[bool] = True

    def why_not(self, view: View) -> str | None:
        """Require a place on the Earth."""
        return why_no_geometry(view.table.grid)

    def write(self, view: View, path: Path) -> None:
        """Write one layer, in the order of its index.

        Raises OSError if GDAL cannot write, for any reason.
        """
        require_library("pyogrio", "FlatGeobuf", "vector")
        grid = view.table.grid
        # FlatGeobuf needs all features at once for its index.
        some = (rows.located for rows in view.rows_of_units("Writing FlatGeobuf"))
        rows = pa.concat_tables([view.empty.located, *some])
        # Nor does it take rows without an outline.
        rows = rows.filter(rows["geometry"].is_valid())
        # The format stores boxes in its own index.
        rows = rows.drop_columns("bbox")
        _write(rows, path, view.layer, "FlatGeobuf", geometry_kind(grid), geometry_crs(grid))


EXPORTS = (GeoPackageExport(), FlatGeobuf(), Parquet())
