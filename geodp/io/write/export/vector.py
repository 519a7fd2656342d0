"""Exports of outlines for GIS: GeoPackage, GeoParquet for browsers, FlatGeobuf."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from geodp.errors import require_library
from geodp.io.write.format import Export
from geodp.io.write.geometry import geometry_crs, geometry_kind, why_no_geometry
from geodp.io.write.geopackage import why_no_geopackage, write_geopackage
from geodp.io.write.parquet import write_parquet
from geodp.io.write.view import View


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
        from pyogrio.errors import DataLayerError, DataSourceError, FeatureError
        from pyogrio.raw import write_arrow

        grid = view.table.grid
        # FlatGeobuf needs all features at once for its index.
        some = (rows.located for rows in view.rows_of_units("Writing FlatGeobuf"))
        rows = pa.concat_tables([view.empty.located, *some])
        # Nor does it take rows without an outline.
        rows = rows.filter(rows["geometry"].is_valid())
        try:
            write_arrow(
                # The format stores boxes in its own index.
                rows.drop_columns("bbox"),
                str(path),
                layer=view.layer,
                driver="FlatGeobuf",
                geometry_name="geometry",
                geometry_type=geometry_kind(grid),
                crs=geometry_crs(grid),
            )
        except (DataLayerError, DataSourceError, FeatureError):
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path)) from None


EXPORTS = (GeoPackageExport(), FlatGeobuf(), Parquet())
