"""Tables in memory that speak Arrow: pandas, geopandas, Polars, DuckDB, pyarrow, unchanged.

Whatever has the Arrow C stream interface hands its columns over without a file and without a copy
where none is needed; geopandas hands its geometries over by ``to_arrow``, as GeoArrow. What every
batch of Arrow passes is here too, for files of Parquet, and texts
as the bytes that they are, without an object or a copy for each.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from geodp.errors import InputError, Rule
from geodp.io.opening import parse_json
from geodp.io.read.rows.input_files import ArrowStream, Given, guard
from geodp.kernels.records import CANONICAL, DIGITS, parse_digits
from geodp.table.source import TABLE_IN_MEMORY, Fact

BATCH = 1 << 18
"""Rows that are looked at at once."""


ENGINE = Rule(
    "engine-failed",
    "The table's own library failed to hand it over, in words that may quote a value; run its "
    "query by itself where those may be read, and give the result.",
)


SERIES = Rule(
    "series-not-a-frame",
    "A series is one column; give a frame that has the codes of cells as a column, too: "
    "series.reset_index(name='n'), with code= and value='n'.",
)

WKB = b"geoarrow.wkb"
"""The extension type of GeoArrow for geometries of any kind."""

NATIVE = ("point", "polygon", "multipolygon")
"""Kinds of geometries that are read where they stand as coordinates, one column of one kind."""


@dataclass(frozen=True, eq=False)
class Converted:
    """A frame of pandas that was converted to Arrow, for all who ask; its repr shows no rows.

    Attributes
    ----------
    name : str
        Of its library and class.
    active : str
        As :class:`ArrowTable` has it.
    table : pyarrow.Table
    """

    name: str
    active: str
    table: pa.Table = field(repr=False)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return a capsule of an ArrowArrayStream."""
        return self.table.__arrow_c_stream__(requested_schema)


def convert_once(given: Given) -> Given:
    """Return a frame of pandas or geopandas as Arrow has it; whatever else is given as it is.

    A frame converts all of its rows whenever it is asked for its columns. Other libraries hand
    theirs over as they are, or run a query bit by bit.
    """
    if not any(one.__module__.partition(".")[0] == "pandas" for one in type(given).__mro__):
        return given
    asked = ArrowTable.open(cast(ArrowStream, given))
    return Converted(asked.name, asked.active, guard(asked.name, asked.stream.read_all, ENGINE))


@dataclass(frozen=True)
class ArrowTable:
    """A table in memory; its rows count from 1.

    Attributes
    ----------
    name : str
        Of its library and class.
    stream : pyarrow.RecordBatchReader
    active : str
        Name of the column of geometries that a frame of geopandas has chosen; empty for others.
    """

    name: str
    stream: pa.RecordBatchReader = field(repr=False)
    active: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns."""
        return tuple(self.stream.schema.names)

    @classmethod
    def open(cls, given: ArrowStream) -> ArrowTable:
        """Ask for the schema. InputError where a column is of no one type."""
        if isinstance(given, Converted):
            return cls(given.name, given.table.to_reader(), given.active)
        kind = type(given)
        name = f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
        if kind.__name__ == "Series":
            raise InputError(SERIES, file=name)
        rule = ENGINE
        try:
            active = getattr(given, "active_geometry_name", None) or ""
            stream = given.to_arrow(geometry_encoding="WKB") if active else given  # type: ignore[attr-defined]
            return cls(name, pa.RecordBatchReader.from_stream(stream), active)
        except MemoryError:  # Arrow's is both
            raise
        except pa.ArrowException:
            # It quotes the value that it fails on, and must not be the context of ours.
            rule = Rule(
                "column-types-mixed", "A column holds values of several types; give it one."
            )
        except Exception:  # whatever the library whose table it is raises, with values in it
            pass
        raise InputError(rule, file=name)

    @property
    def geometry(self) -> tuple[str, str | None] | None:
        """Name of the column of geometries and its CRS; None where there is not one.

        Raises InputError for geometries in another encoding of GeoArrow.
        """
        kinds = {field.name: _extension(field) for field in self.stream.schema}
        known = {name: kind for name, kind in kinds.items() if kind[0].startswith(b"geoarrow.")}
        if self.active in known:
            known = {self.active: known[self.active]}
        if len(known) != 1:
            return None
        ((name, (encoding, metadata)),) = known.items()
        if (
            encoding != WKB
            and encoding.decode(errors="replace").removeprefix("geoarrow.") not in NATIVE
        ):
            rule = Rule(
                "geometry-encoding",
                f"The column {name} holds geometries in another encoding; give them as WKB.",
            )
            raise InputError(rule, file=self.name)
        try:
            crs = parse_json(metadata or b"{}").get("crs")
        except (ValueError, AttributeError):
            crs = None
        return name, crs if crs is None or isinstance(crs, str) else json.dumps(crs)

    def arrays(self, chosen: Sequence[int]) -> Iterator[list[pa.Array]]:
        """Batches of the chosen columns."""
        first = 0
        while True:
            try:
                whole = guard(self.name, self.stream.read_next_batch, ENGINE)
            except StopIteration:
                return
            for start in range(0, whole.num_rows, BATCH):
                batch = whole.slice(start, BATCH)
                yield checked([batch.column(i) for i in chosen], self.name, first)
                first += batch.num_rows

    @property
    def facts(self) -> tuple[Fact, ...]:
        """What is known of it: that it is in memory, and the CRS of its geometries."""
        geometry = self.geometry
        known = (TABLE_IN_MEMORY,)
        if geometry is None or geometry[1] is None:
            return known
        return (*known, Fact("CRS", geometry[1], "file"))

    def line(self, record: int) -> int:
        """Row, counted from 1."""
        return record + 1


def _extension(field: pa.Field) -> tuple[bytes, bytes]:
    """Return the name of a field's extension type and its metadata; empty where it has none."""
    kind = field.type
    if isinstance(kind, pa.ExtensionType):  # registered by a library of GeoArrow
        return kind.extension_name.encode(), kind.__arrow_ext_serialize__()
    said = field.metadata or {}
    return said.get(b"ARROW:extension:name", b""), said.get(b"ARROW:extension:metadata", b"")


def checked(arrays: Sequence[pa.Array], name: str, first: int) -> list[pa.Array]:
    """Return columns whose texts are UTF-8, as Arrow does not look at by itself, and are strings.

    Parameters
    ----------
    name : str
        Of the table, for errors.
    first : int
        Number of its rows before these.

    Raises InputError, which names the first bad row.
    """
    found = []
    for array in arrays:
        if not _valid(array):
            array = _spelt(array)
        if _valid(array):
            found.append(_as_string(array))
            continue
        low, high = 0, len(array)
        while high - low > 1:  # the first half that is bad holds the first bad row
            middle = (low + high) // 2
            low, high = (middle, high) if _valid(array[low:middle]) else (low, middle)
        rule = Rule(
            "arrow-text-not-utf8",
            "The text is not UTF-8, as texts of Arrow and Parquet are; write the table again.",
        )
        raise InputError(rule, file=name, row=first + low + 1)
    return found


def _spelt(array: pa.Array) -> pa.Array:
    """Return the texts of a dictionary row by row, so that a bad one is found in its row.

    Where its numbers or offsets lead elsewhere, it stays as it is.
    """
    if not pa.types.is_dictionary(array.type) or not pa.types.is_string(array.type.value_type):
        return array
    numbers = pc.min_max(array.indices).as_py()
    inside = numbers["min"] is None or (
        numbers["min"] >= 0 and numbers["max"] < len(array.dictionary)
    )
    sound = inside and _valid(array.dictionary.view(pa.binary()))
    return array.cast(pa.string()) if sound else array


def _as_string(array: pa.Array) -> pa.Array:
    """Return an array of views of texts, or of numbers of them, as one of texts.

    Every other one stays as it is.
    """
    if pa.types.is_dictionary(array.type) and pa.types.is_string_view(array.type.value_type):
        return pa.DictionaryArray.from_arrays(array.indices, array.dictionary.cast(pa.string()))
    return array.cast(pa.string()) if pa.types.is_string_view(array.type) else array


def _valid(array: pa.Array) -> bool:
    """Whether an array is what its type says."""
    try:
        array.validate(full=True)
    except pa.ArrowException:
        return False
    return True


def bytes_of_texts(column: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Where the texts or bytes (string or binary[n]) of a column begin, and all of them.

    Returns
    -------
    start : int32[n + 1]
        The last is where the last one ends.
    text : uint8[m]
        Not to be written to; more may be there than the column has.
    """
    _, starts, texts = column.buffers()
    if starts is None or not len(column):
        return np.zeros(1, np.int32), np.empty(0, np.uint8)
    start = np.frombuffer(starts, np.int32)[column.offset : column.offset + len(column) + 1]
    return start, np.frombuffer(texts or b"", np.uint8)


def is_ascii(column: pa.Array) -> bool:
    """Whether all texts or bytes of a column are ASCII."""
    return largest_byte(column) < 1 << 7


def largest_byte(column: pa.Array) -> int:
    """Return the largest byte of the texts or bytes (string or binary[n]) of a column."""
    start, text = bytes_of_texts(column)
    return int(text[start[0] : start[-1]].max(initial=0))


def numbers_of_digits(column: pa.Array, *, as_names: bool = False) -> NDArray[np.int64] | None:
    """Return texts of one to 18 digits as numbers, int64[n]; None where one is no such text.

    Parameters
    ----------
    column : string[n]
    as_names : bool
        None also where a number would not tell its text, as one has zeros before it.

    Examples
    --------
    >>> numbers_of_digits(pa.array(["53", "07"]))
    array([53,  7])
    >>> numbers_of_digits(pa.array(["53", "07"]), as_names=True) is None
    True
    """
    if column.null_count:
        return None
    value = np.empty(len(column), np.int64)
    found = parse_digits(*bytes_of_texts(column), value)
    return value if found >= (CANONICAL if as_names else DIGITS) else None
