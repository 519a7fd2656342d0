"""Released tables as GeoParquet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.parquet

from geodp.grid.grid import Grid
from geodp.io.write.format import Entry, Format
from geodp.io.write.geometry import SIDES, geo_metadata, geometry_kind, projjson
from geodp.io.write.tables import ROW_GROUP, UNCERTAINTY_COLUMNS
from geodp.io.write.view import View

MEDIA_TYPE = "application/vnd.apache.parquet"

OUTLINES = {
    "Polygon": "the counts with the cells' outlines",
    "MultiPolygon": "the counts with the units' outlines",
    "LineString": (
        "the counts with lines from origins to destinations, of length 0 for those who stay"
    ),
}
"""Description of a file with each kind of geometry."""


class GeoParquet(Format):
    """The counts, with the cells' outlines if the grid lies on the Earth."""

    name: ClassVar[str] = "parquet"
    endings: ClassVar[tuple[str, ...]] = ("parquet",)
    rank: ClassVar[int] = 10

    def check(self, grid: Grid, name: str) -> None:
        """Check that the CRS of the grid can be written to GeoParquet."""
        for place in grid.places:
            projjson(place.crs)

    def try_out(self, empty: View) -> None:
        """Encode the metadata of the release."""
        json.dumps(empty.about)

    def write(self, view: View, folder: Path) -> Iterator[Entry]:
        """Write one file."""
        name, grid, located = view.name, view.table.grid, view.located
        write_parquet(view, folder / f"{name}.parquet")
        what = OUTLINES[geometry_kind(grid)] if located else "the counts"
        details = view.describe_columns(*(("geometry", "bbox") if located else ()))
        details["geoparquet"] = "1.1.0" if located else None
        yield Entry(f"{name}.parquet", MEDIA_TYPE, f"{what}, {view.listed}", details)


def write_parquet(view: View, path: Path, *, compression: str = "zstd") -> None:
    """Write GeoParquet 1.1, or plain Parquet for a grid without a place on the Earth.

    Cells are polygons whose corners are the same floats as their neighbours'; origin and
    destination are joined by a line between the cells' centres, or points within units, of length 0
    for those who stay. ``bbox`` columns and the key order let readers skip row groups.

    Parameters
    ----------
    view : View
    path : Path
    compression : str
        Arrow's name of the compression.
    """
    grid = view.table.grid
    located = view.located
    extra = {"geodp": json.dumps(view.about, ensure_ascii=False)}
    if located:
        extra["geo"] = json.dumps(geo_metadata(grid), ensure_ascii=False)
    # The schema is fixed before the first row, so that a release without rows is valid, too.
    schema = view.empty.located.schema.with_metadata(extra)
    # Dictionaries pay for columns with few different values; for keys and codes they only cost
    # time.
    repeated = [attribute.name for attribute in grid.attributes] + [*UNCERTAINTY_COLUMNS]
    repeated += [f"bbox.{side}" for side in SIDES] if located else []
    with pa.parquet.ParquetWriter(
        path, schema, compression=compression, use_dictionary=repeated
    ) as writer:
        for rows in view.rows("Writing the Parquet file"):
            writer.write_table(rows.located, row_group_size=ROW_GROUP)


FORMATS = (GeoParquet(),)
