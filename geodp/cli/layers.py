"""Layers of polygons with the numbers of each: one more field for every number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from geodp.cli.output import write_file
from geodp.errors import UsageError

if TYPE_CHECKING:
    from geodp.cli.figures import Row

LAYERS = (".gpkg", ".geojson", ".fgb")
"""Endings of files of layers."""

OF_FILE = ("value", "standard_error", "low", "high", "cutting_error", "below")
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
        Something else than polygons is asked for, a field of the file is called as one of a
        number, or a library is missing.
    OutputError
        The file system refuses.
    """
    from geodp.io.read.public.polygons import name_polygons, read_layer
    from geodp.io.write.export.layer import encode_layer

    source, path = options["polygons"], options["output"]
    if source is None or options["area"] or options["box"]:
        raise UsageError(
            "A layer has the polygons of a file (--polygons FILE) alone: leave out --area and "
            "--box, or write a CSV file (--output FILE.csv).",
            code="layer-of-polygons-alone",
        )
    shapes, fields, crs = read_layer(source)
    names = name_polygons(source, fields, shapes.size, options["polygon_name"])
    at = {name: number for number, name in enumerate(names)}
    records = dict(sorted(_gather(rows).items(), key=lambda one: at[one[0][0]]))
    numbers = dict.fromkeys(name for one in records.values() for name in one)
    if taken := [name for name in fields if name.casefold() in {one.casefold() for one in numbers}]:
        raise UsageError(
            f"The polygons have a field {taken[0]!r} already; rename it.", code="layer-field-taken"
        )
    some = [at[name] for name, _ in records]
    columns = {name: [values[one] for one in some] for name, values in fields.items()}
    columns |= {name: [one.get(name) for one in records.values()] for name in numbers}
    data = encode_layer(path.name, shapes[some], columns, crs)
    write_file(path, data, public=True, overwrite=options["overwrite"])


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
