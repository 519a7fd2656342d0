"""Tables in memory that implement Arrow: pandas, geopandas, Polars, DuckDB and pyarrow.

Objects with the Arrow C stream interface export their columns without a file, and without a copy
where possible; geopandas exports geometries by ``to_arrow``, as GeoArrow. The validation of Arrow
batches is here too, also used for Parquet, and access to texts as bytes without Python objects.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from geodp.errors import InputError, Rule
from geodp.io.opening import parse_json
from geodp.io.read.rows.input_files import ArrowStream, TableSource, guard
from geodp.kernels.records import CANONICAL, DIGITS, parse_digits
from geodp.table.source import TABLE_IN_MEMORY, Fact

BATCH = 1 << 18
"""Rows in a batch."""


ENGINE = Rule(
    "engine-failed",
    "The library of the table failed to export it, with a message that may quote values and is "
    "not shown. Run its query by itself to see the message, and give the result.",
)


SERIES = Rule(
    "series-not-a-frame",
    "A series is one column; give a frame that has the codes of cells as a column, too: "
    "series.reset_index(name='n'), with code= and value='n'.",
)

WKB = b"geoarrow.wkb"
"""The extension type of GeoArrow for geometries of any kind."""

NATIVE = ("point", "polygon", "multipolygon")
"""Native GeoArrow encodings that are read: coordinates, with one kind of geometry a column."""


@dataclass(frozen=True, eq=False)
class Converted:
    """A pandas frame that was converted to Arrow once, for several passes; its repr hides the rows.

    Attributes
    ----------
    name : str
        Name of its library and class.
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


def convert_once(source: TableSource) -> TableSource:
    """Convert a frame of pandas or geopandas to Arrow; return other sources as they are.

    A pandas frame converts all of its rows at every export, while other libraries share their
    columns or run a query lazily.
    """
    # By the name of the module: pandas must not be imported to recognise its frames.
    if not any(base.__module__.partition(".")[0] == "pandas" for base in type(source).__mro__):
        return source
    table = ArrowTable.open(cast(ArrowStream, source))
    return Converted(table.name, table.active, guard(table.name, table.stream.read_all, ENGINE))


@dataclass(frozen=True)
class ArrowTable:
    """A table in memory; its rows count from 1.

    Attributes
    ----------
    name : str
        Name of its library and class.
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
    def open(cls, frame: ArrowStream) -> ArrowTable:
        """Import the schema; InputError if a column mixes types."""
        if isinstance(frame, Converted):
            return cls(frame.name, frame.table.to_reader(), frame.active)
        kind = type(frame)
        name = f"{kind.__module__.partition('.')[0]}.{kind.__name__}"
        # A series of pandas also exports a stream, of a struct without usable names.
        if kind.__name__ == "Series":
            raise InputError(SERIES, file=name)
        rule = ENGINE
        try:
            active = getattr(frame, "active_geometry_name", None) or ""
            stream = frame.to_arrow(geometry_encoding="WKB") if active else frame  # type: ignore[attr-defined]
            if isinstance(stream, pa.Table):
                # Before version 25, pyarrow crashes when it exports its own string views.
                return cls(name, stream.to_reader(), active)
            return cls(name, pa.RecordBatchReader.from_stream(stream), active)
        except MemoryError:  # Arrow's is both
            raise
        except pa.ArrowException:
            # It quotes the value that it fails on, and must not be the context of ours.
            sentence = "A column holds values of several types; convert it to one type."
            rule = Rule("column-types-mixed", sentence)
        except Exception:  # any error of the table's library, which may quote values
            pass
        raise InputError(rule, file=name)

    @property
    def geometry(self) -> tuple[str, str | None] | None:
        """Name of the column of geometries and its CRS; None unless there is exactly one.

        Raises InputError for geometries in another encoding of GeoArrow.
        """
        kinds = {field.name: _extension(field) for field in self.stream.schema}
        candidates = {
            name: kind for name, kind in kinds.items() if kind[0].startswith(b"geoarrow.")
        }
        if self.active in candidates:
            candidates = {self.active: candidates[self.active]}
        return self.geometry_of(next(iter(candidates))) if len(candidates) == 1 else None

    def geometry_of(self, name: str) -> tuple[str, str | None] | None:
        """Name of a column of geometries and its CRS; None for a column of something else.

        Raises InputError for geometries in another encoding of GeoArrow.
        """
        encoding, metadata = _extension(self.stream.schema.field(name))
        if not encoding.startswith(b"geoarrow."):
            return None
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
        """Yield batches of the chosen columns."""
        first = 0
        while True:
            try:
                read = guard(self.name, self.stream.read_next_batch, ENGINE)
            except StopIteration:
                return
            # A reader may yield the whole table as one batch; slices bound the memory of later
            # steps.
            for start in range(0, read.num_rows, BATCH):
                batch = read.slice(start, BATCH)
                yield validate_arrays([batch.column(i) for i in chosen], self.name, first)
                first += batch.num_rows

    @property
    def facts(self) -> tuple[Fact, ...]:
        """Facts: that the table is in memory, and the CRS of its geometries."""
        geometry = self.geometry
        facts = (TABLE_IN_MEMORY,)
        if geometry is None or geometry[1] is None:
            return facts
        return (*facts, Fact("CRS", geometry[1], "file"))

    def line(self, record: int) -> int:
        """Return the row, counted from 1."""
        return record + 1


def _extension(field: pa.Field) -> tuple[bytes, bytes]:
    """Return the name and metadata of a field's extension type; empty without one."""
    kind = field.type
    if isinstance(kind, pa.ExtensionType):  # registered by a library of GeoArrow
        return kind.extension_name.encode(), kind.__arrow_ext_serialize__()
    metadata = field.metadata or {}
    return metadata.get(b"ARROW:extension:name", b""), metadata.get(
        b"ARROW:extension:metadata", b""
    )


def validate_arrays(arrays: Sequence[pa.Array], name: str, first: int) -> list[pa.Array]:
    """Validate columns, whose texts must be UTF-8, and return views of texts as strings.

    Parameters
    ----------
    name : str
        Name of the table, for errors.
    first : int
        Number of rows before these.

    Raises InputError, which names the first bad row.
    """
    columns = []
    for array in arrays:
        # Arrow trusts the buffers that it imports: offsets or bytes that are wrong would be read
        # out of bounds, or counted as another text.
        if not _valid(array):
            array = _spelt(array)
        if _valid(array):
            columns.append(_as_string(array))
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
    return columns


def _spelt(array: pa.Array) -> pa.Array:
    """Decode a dictionary of texts, so that invalid UTF-8 is located in its row.

    Dictionaries with invalid indices or offsets stay as they are.
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
    """Convert string views, also in dictionaries, to strings; return other arrays unchanged."""
    # The readers handle one layout of strings; views have no offsets that kernels could read.
    if pa.types.is_dictionary(array.type) and pa.types.is_string_view(array.type.value_type):
        return pa.DictionaryArray.from_arrays(array.indices, array.dictionary.cast(pa.string()))
    return array.cast(pa.string()) if pa.types.is_string_view(array.type) else array


def _valid(array: pa.Array) -> bool:
    """Whether an array conforms to its type."""
    # A full validation also checks UTF-8 and every offset, in time linear in the data.
    try:
        array.validate(full=True)
    except pa.ArrowException:
        return False
    return True


def decode(column: pa.Array) -> pa.Array:
    """Return a column of categories as the values that these stand for; others as they are."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def map_values(column: pa.Array, change: Callable[[Any], str | None]) -> pa.Array:
    """Change every value of a column to a text, each different one once; nulls stay."""
    coded = column.dictionary_encode()
    changed = [change(value) for value in coded.dictionary.to_pylist()]
    return pa.array(changed, pa.string()).take(coded.indices)


def bytes_of_texts(column: pa.Array) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Return offsets and bytes of the texts (string or binary[n]) of a column.

    Returns
    -------
    start : int32[n + 1]
        Start of each text, and the end of the last.
    text : uint8[m]
        Read-only; may hold more bytes than the column's.
    """
    _, starts, texts = column.buffers()
    if starts is None or not len(column):
        return np.zeros(1, np.int32), np.empty(0, np.uint8)
    start = np.frombuffer(starts, np.int32)[column.offset : column.offset + len(column) + 1]
    return start, np.frombuffer(texts or b"", np.uint8)


def is_ascii(column: pa.Array) -> bool:
    """Whether all texts of a column are ASCII."""
    return largest_byte(column) < 1 << 7


def largest_byte(column: pa.Array) -> int:
    """Return the largest byte among the texts (string or binary[n]) of a column."""
    start, text = bytes_of_texts(column)
    return int(text[start[0] : start[-1]].max(initial=0))


def numbers_of_digits(column: pa.Array, *, as_names: bool = False) -> NDArray[np.int64] | None:
    """Parse texts of one to 18 digits as int64[n]; None if one is no such text.

    Parameters
    ----------
    column : string[n]
    as_names : bool
        Also return None if a text has leading zeros, as its number would not identify it.

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
    form = parse_digits(*bytes_of_texts(column), value)
    return value if form >= (CANONICAL if as_names else DIGITS) else None
