"""Layers of polygons with the numbers of each: one more field for every number."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from geodp.cli.output import write_file
from geodp.errors import UsageError, require_library

if TYPE_CHECKING:
    from geodp.cli.figures import Row

LAYERS = {".gpkg": "GPKG", ".geojson": "GeoJSON", ".fgb": "FlatGeobuf"}
"""GDAL's drivers by the endings of files."""


OF_FILE = ("value", "standard_error", "low", "high", "below")
"""What is written of a number, of all that a document has."""


def is_layer(path: Path | None) -> bool:
    """Test whether a file is a layer by its ending."""
    return path is not None and path.suffix.lower() in LAYERS


def write_layer(rows: Sequence[Row], options: Mapping[str, Any]) -> None:
    """Write polygons as they are in their file, with their fields and those of their numbers.

    Parameters
    ----------
    rows : sequence of Row
        Numbers of the polygons, by name; of a series each polygon is written for every period.
    options : mapping
        Of the command: ``polygons``, ``polygon_name``, ``output`` and ``overwrite``.

    Raises
    ------
    UsageError
        Nothing names polygons, a field of the file is called as one of a number, or a library is
        missing.
    OutputError
        The file system refuses.
    """
    require_library("pyogrio", "A layer", "vector")
    import shapely
    from pyogrio.errors import DataLayerError, DataSourceError, FeatureError
    from pyogrio.raw import write_arrow

    from geodp.io.read.public.polygons import move_polygons, name_polygons, read_layer

    source, path = options["polygons"], options["output"]
    if source is None:
        raise UsageError(
            "A layer is written of the polygons of a file: name it (--polygons FILE), or write a "
            "CSV file (--output FILE.csv).",
            code="layer-without-polygons",
        )
    shapes, fields, crs = read_layer(source)
    at = {
        name: number
        for number, name in enumerate(
            name_polygons(source, fields, shapes.size, options["polygon_name"])
        )
    }
    gathered = _gather(rows)
    if any(name not in at for name, _ in gathered):
        raise UsageError(
            "A layer has the polygons of a file alone: leave out --area and --box, or write a CSV "
            "file (--output FILE.csv).",
            code="layer-of-polygons-alone",
        )
    records = dict(sorted(gathered.items(), key=lambda one: at[one[0][0]]))
    numbers = dict.fromkeys(name for one in records.values() for name in one)
    if taken := [name for name in fields if name.casefold() in {one.casefold() for one in numbers}]:
        raise UsageError(
            f"The polygons have a field {taken[0]!r} already; rename it.", code="layer-field-taken"
        )
    some = [at[name] for name, _ in records]
    # GeoJSON is in degrees by its standard.
    target = "EPSG:4326" if path.suffix.lower() == ".geojson" else crs
    moved = shapes if target == crs else move_polygons(shapes, str(crs), str(target))
    parts, of = shapely.get_parts(moved[some], return_index=True)
    table = pa.table(
        {
            **{name: _list_field([values[one] for one in some]) for name, values in fields.items()},
            **{name: pa.array([one.get(name) for one in records.values()]) for name in numbers},
            "geometry": pa.array(
                shapely.to_wkb(shapely.multipolygons(parts, indices=of)), pa.binary()
            ),
        }
    )
    with tempfile.TemporaryDirectory(prefix="geodp-") as folder:
        draft = Path(folder, path.name)
        try:
            write_arrow(
                table,
                os.fspath(draft),
                layer=path.stem,
                driver=LAYERS[path.suffix.lower()],
                geometry_name="geometry",
                geometry_type="MultiPolygon",
                crs=target,
            )
        except (DataLayerError, DataSourceError, FeatureError):
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path)) from None
        write_file(path, draft.read_bytes(), public=True, overwrite=options["overwrite"])


def _list_field(values: list[Any]) -> Any:
    """Return the values of a field as an Arrow array; as texts where they have no common type."""
    try:
        column = pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        column = None
    if column is None or pa.types.is_nested(column.type) or pa.types.is_null(column.type):
        return pa.array([None if one is None else str(one) for one in values], pa.string())
    return column


def _gather(rows: Sequence[Row]) -> dict[tuple[str, str], dict[str, Any]]:
    """Gather the fields of each polygon, and period, from its numbers.

    Of a single quantity the ends of the interval have no name in front, as in files of counts.
    """
    alone = len({one.quantity for one in rows}) == 1
    gathered: dict[tuple[str, str], dict[str, Any]] = {}
    for one in rows:
        place = {name: text for name, text in one.place.items() if name != "name"}
        record = gathered.setdefault((one.place["name"], str(place)), {**place})
        plain, front = one.to_dict(), "" if alone else f"{one.quantity}_"
        for name in OF_FILE:
            if name in plain:
                record[one.quantity if name == "value" else f"{front}{name}"] = plain[name]
    return gathered
