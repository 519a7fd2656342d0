"""Released tables as GeoParquet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet

from geodp.grid.grid import Grid
from geodp.io.write.format import Entry, Format, Released
from geodp.io.write.geometry import SIDES, geo_metadata, geometry_kind, has_geometry, projjson
from geodp.io.write.tables import (
    ROW_GROUP,
    column_names,
    columns_in_words,
    name_of_counts,
    rows_in_words,
    values_in_words,
)
from geodp.io.write.uncertainty import BESIDE, names_of
from geodp.io.write.view import View
from geodp.privacy.event import Spent
from geodp.table.card import Card
from geodp.table.released import ReleasedTable

MEDIA_TYPE = "application/vnd.apache.parquet"

OUTLINES = {
    "Polygon": "the counts with the cells' outlines",
    "MultiPolygon": "the counts with the units' outlines",
    "LineString": (
        "the counts with lines from origins to destinations, of length 0 for those who stay"
    ),
}
"""What a file with each kind of geometry holds."""


class GeoParquet(Format):
    """The counts, with the cells' outlines where the grid lies on the Earth."""

    name: ClassVar[str] = "parquet"
    endings: ClassVar[tuple[str, ...]] = ("parquet",)
    rank: ClassVar[int] = 10

    def check(self, grid: Grid, name: str) -> None:
        """Ask whether GeoParquet can say where the grid lies."""
        for place in grid.places:
            projjson(place.crs)

    def try_out(self, nobody: ReleasedTable, card: Card) -> None:
        """Compose what the file says of the release."""
        describe_release(nobody.event, card.schema, card.name, "")

    def write(self, released: Released, folder: Path) -> Iterator[Entry]:
        """Write one file."""
        table, card, errors = released.table, released.card, released.errors
        grid, name = table.grid, card.name
        located = has_geometry(grid)
        about = describe_release(table.event, card.schema, name, card.release_id)
        write_parquet(released.view, folder / f"{name}.parquet", metadata=about)
        what = OUTLINES[geometry_kind(grid)] if located else "the counts"
        columns = column_names(grid, name, names_of(errors))
        said = {
            "columns": [*columns, *(("geometry", "bbox") if located else ())],
            **values_in_words(card),
            **columns_in_words(grid),
            "unit": name_of_counts(name, table.event.unit),
            "geoparquet": "1.1.0" if located else None,
        }
        yield Entry(f"{name}.parquet", MEDIA_TYPE, f"{what}, {rows_in_words(card)}", said)


def describe_release(event: Spent, schema: str, name: str, identity: str) -> dict[str, Any]:
    """Return what a Parquet file says of its release."""
    return {
        "schema": schema,
        "release_id": identity,
        "epsilon": None if event.epsilon is None else str(event.epsilon),
        "spends": event.spends,
        "guarantee": event.words,
        "private": event.is_private,
        "unit": name_of_counts(name, event.unit),
        "count": name,
    }


def write_parquet(
    view: View,
    path: Path,
    *,
    metadata: dict[str, Any],
    compression: str = "zstd",
) -> None:
    """Write GeoParquet 1.1, or plain Parquet for a grid that lies nowhere on the Earth.

    Cells are polygons whose corners are the same floats as their neighbours'; origin and
    destination are joined by a line between the cells' centres, of length 0 for those who
    stay. ``bbox`` columns and the key order let readers skip row groups.

    Parameters
    ----------
    view : View
    path : Path
    metadata : dict
        Plain values for the schema's metadata key ``geodp``.
    compression : str
        As Arrow calls it.
    """
    grid = view.table.grid
    located = has_geometry(grid)
    extra = {"geodp": json.dumps(metadata, ensure_ascii=False)}
    if located:
        extra["geo"] = json.dumps(geo_metadata(grid), ensure_ascii=False)
    schema = view.empty.located.schema.with_metadata(extra)
    repeated = [attribute.name for attribute in grid.attributes] + [*BESIDE]
    repeated += [f"bbox.{side}" for side in SIDES] if located else []
    with pa.parquet.ParquetWriter(
        path, schema, compression=compression, use_dictionary=repeated
    ) as writer:
        for rows in view.rows("Writing the Parquet file"):
            writer.write_table(rows.located, row_group_size=ROW_GROUP)


FORMATS = (GeoParquet(),)
