"""JSON as tables: GeoJSON (RFC 7946) and JSON lines, one object a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from json import dumps
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json
from numpy.typing import NDArray

from geodp.errors import InputError, Rule
from geodp.io.opening import (
    JSON_TOO_DEEP,
    MAX_JSON_BYTES,
    check_json_lines,
    is_too_deep,
    parse_json,
)
from geodp.io.read.rows.arrow import BATCH, validate_arrays
from geodp.io.read.rows.complete import check_pages, fact_of_end
from geodp.io.read.rows.input_files import InputFile, guard
from geodp.io.read.rows.partitions import FileTable
from geodp.table.source import Fact

CRS84 = "OGC:CRS84"
"""Longitude and latitude on WGS 84: the default CRS of GeoJSON."""

GEOMETRY = "geometry"

REPEATED = Rule(
    "json-name-repeated",
    "A line has several values of one name; give each a name of its own in the file.",
)


MIXED = Rule(
    "geojson-mixed-types",
    "The file is no GeoJSON of features whose properties have one type each; write it again with "
    "one type a property, or as GeoPackage (ogr2ogr).",
)


@dataclass(frozen=True)
class JsonTable(FileTable):
    """Features or lines; they count from 1.

    Attributes
    ----------
    form : {"geojson", "json lines"}
    geometry : tuple of str and str, or None
        Name of the column of geometries, as WKB, and its CRS.
    ended : bool or None
        Whether the last of the lines has a line end; None: there are no lines.
    """

    file: InputFile
    form: str
    rows: pa.Table = field(repr=False)
    geometry: tuple[str, str | None] | None = None
    ended: bool | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the properties, and of the geometry."""
        return tuple(self.rows.column_names)

    @classmethod
    def open(cls, file: InputFile) -> JsonTable:
        """Read the entire file, as JSON cannot be read from the middle."""
        if file.kind == "json lines":
            with file.open() as stream:
                ended = guard(file.name, partial(check_json_lines, stream, file.name))
            rows = guard(file.name, partial(_lines, file))
            return cls(file, file.kind, rows, ended=ended)
        return cls._open_features(file)

    @classmethod
    def _open_features(cls, file: InputFile) -> JsonTable:
        """Read a GeoJSON document of features."""
        # The document is parsed at once and takes many times its size in memory.
        if file.size > MAX_JSON_BYTES:
            rule = Rule(
                "geojson-too-large",
                "GeoJSON is read up to 64 MB; convert it to GeoPackage or FlatGeobuf (ogr2ogr).",
            )
            raise InputError(rule, file=file.name)
        import shapely

        with file.open() as stream:
            data = guard(file.name, stream.read)
        shapes, properties, crs = parse_features(data, file.name, MIXED)
        names = dict.fromkeys(name for one in properties for name in one if name != GEOMETRY)
        try:
            columns = {name: pa.array([one.get(name) for one in properties]) for name in names}
            columns[GEOMETRY] = pa.array(shapely.to_wkb(shapes), pa.binary())
            return cls(file, file.kind, pa.table(columns), (GEOMETRY, crs))
        except (TypeError, pa.ArrowException):
            pass  # it quotes the value
        raise InputError(MIXED, file=file.name)

    def file_arrays(self, chosen: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Yield batches of the chosen columns."""
        first = 0
        for batch in self.rows.to_batches(BATCH):
            yield validate_arrays([batch.column(i) for i in chosen], self.name, first)
            first += batch.num_rows

    @property
    def declared_rows(self) -> int:
        """Number of rows that were read."""
        return int(self.rows.num_rows)

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Facts from the document."""
        crs = () if self.geometry is None else (Fact("CRS", str(self.geometry[1]), "file"),)
        end = () if self.ended is None else (fact_of_end(ended=self.ended),)
        return (Fact("format", self.form, "file"), *crs, *end)


def _lines(file: InputFile) -> pa.Table:
    """Read JSON lines; dates stay texts, as Arrow's timestamps would lose their offsets."""
    repeated = False
    with file.open() as stream:
        try:
            table = pyarrow.json.read_json(stream)
        except pa.ArrowInvalid as error:
            # It quotes the name, which may be a value, and must not be in the context of ours.
            if not (repeated := "specified twice" in str(error)):
                raise
    if repeated:
        raise InputError(REPEATED, file=file.name)
    # Arrow infers timestamps; such columns are read again as strings.
    texts = [field for field in table.schema if pa.types.is_timestamp(field.type)]
    if texts:
        schema = pa.schema([pa.field(field.name, pa.string()) for field in texts])
        options = pyarrow.json.ParseOptions(explicit_schema=schema)
        with file.open() as stream:
            table = pyarrow.json.read_json(stream, parse_options=options)
    return table.combine_chunks()


def parse_features(
    data: bytes, name: str, rule: Rule
) -> tuple[NDArray[Any], list[dict[str, Any]], str]:
    """Parse a GeoJSON document: the shapes of its features, their properties, and the CRS.

    A feature without a geometry has the shape None; it is a row all the same, and an error if its
    geometry is needed. A single feature or geometry counts as one. Raises InputError with the rule
    for any other document.
    """
    import shapely

    if is_too_deep(data):
        raise InputError(JSON_TOO_DEEP, file=name)
    try:
        document = parse_json(data)
        alone = document if document.get("type") == "Feature" else {"geometry": document}
        features = document.get("features", [alone])
        check_pages(name, document, len(features))
        drawn = [feature.get("geometry") for feature in features]
        shapes = np.full(len(drawn), None, dtype=object)
        located = [i for i, geometry in enumerate(drawn) if geometry is not None]
        shapes[located] = shapely.from_geojson([dumps(drawn[i]) for i in located])
        return shapes, [one.get("properties") or {} for one in features], _crs_of(document)
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, shapely.errors.ShapelyError):
        pass
    raise InputError(rule, file=name)


def _crs_of(document: Any) -> str:
    """Return the CRS of a document, which GeoJSON before RFC 7946 may name, as in Japan."""
    declared = document.get("crs")
    return CRS84 if declared is None else str(declared["properties"]["name"])
