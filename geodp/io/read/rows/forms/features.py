"""What files of features declare of their own length, and the number of features to be read.

GDAL reads a truncated dBASE table as blanks, and as many shapes as the shorter of two files of a
shapefile has; it stops silently where a FlatGeobuf file ends between two features or in the index.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sqlite3
import struct
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from geodp.errors import InputError, Rule
from geodp.io.opening import database_uri
from geodp.io.read.rows.complete import incomplete
from geodp.table.source import Fact


@dataclass(frozen=True)
class DeclaredFeatures:
    """Numbers of features that a file declares.

    Attributes
    ----------
    features : int
        Features to be read.
    deleted : int
        Records of dBASE marked as deleted, which are not read.
    """

    features: int
    deleted: int = 0

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The numbers as facts."""
        records = Fact("records declared", str(self.features + self.deleted), "file")
        if not self.deleted:
            return (records,)
        return (records, Fact("records marked as deleted, not read", str(self.deleted), "file"))


def check_fields(
    path: str | os.PathLike[str],
    kind: str,
    member: str,
    names: Sequence[str],
    chosen: Iterable[str],
) -> None:
    """Refuse numbers of chosen fields that GDAL would misread: :func:`check_numbers`.

    ``path, kind, member`` are those of :func:`check_features`; ``names`` are those of all
    fields, in order. Only tables of dBASE store numbers as texts.
    """
    if kind in ("zipped shapefile", "shapefile", "dbf"):
        with _open_parts(path, member) as parts:
            check_numbers(parts, names, chosen)


def check_features(path: str | os.PathLike[str], kind: str, member: str = "") -> DeclaredFeatures:
    """Compare the features that a file declares with its content.

    Parameters
    ----------
    kind : str
        "geopackage", "flatgeobuf", "shapefile", "zipped shapefile" or "dbf".
    member : str
        The .shp in an archive.

    Returns
    -------
    DeclaredFeatures
        0 features for a GeoPackage, whose layers are counted by :func:`count_features`.

    Raises
    ------
    InputError
        The file, or one that belongs to it, is shorter or longer than it declares.
    OSError, EOFError, zlib.error, zipfile.BadZipFile
        It cannot be read.
    """
    # Which layer is read is not chosen yet, so its features are counted later.
    if kind == "geopackage":
        check_geopackage(path)
        return DeclaredFeatures(0)
    if kind == "flatgeobuf":
        return DeclaredFeatures(check_flatgeobuf(path))
    with _open_parts(path, member) as parts:
        return check_dbf(parts) if kind == "dbf" else check_shapefile(parts)


@contextmanager
def _open_parts(path: str | os.PathLike[str], member: str) -> Iterator[ShapefileParts]:
    """Open the parts of a shapefile or dBASE table, from files or an archive."""
    if not member:
        yield parts_of_files(path)
        return
    with zipfile.ZipFile(path) as archive:
        yield parts_of_archive(os.fspath(path), archive, member)


HEAD = 100
"""Bytes of the header of a .shp or .shx."""

CHUNK = 1 << 22
"""Bytes read at once."""

ACTIVE, DELETED = 0x20, 0x2A
"""First byte of a dBASE record."""

INTEGER = r"^[ \x00]*([+-]?[0-9]+|\*+)?[ \x00]*$"
DECIMAL = r"^[ \x00]*([+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?|\*+)?[ \x00]*$"
"""Patterns of integers and decimal numbers; asterisks and blanks mean that a number is missing."""

NO_NUMBER = Rule(
    "dbf-number-signs",
    "a number in the .dbf has characters that the field's type does not allow, so that it would "
    "be read in part; write the table again, or copy or download it again.",
)
SHORT = Rule("shapefile-part-size", "The {part} is shorter or longer than its header says")


@dataclass(frozen=True)
class ShapefileParts:
    """The files of one shapefile, in a folder or an archive.

    Attributes
    ----------
    name : str
        Name of the shapefile in errors.
    opens : callable
        Function that opens the part with an ending, such as ``".dbf"``, and returns it with its
        length; None if the part is missing.
    """

    name: str
    opens: Callable[[str], tuple[IO[bytes], int] | None]

    @contextmanager
    def part(self, ending: str) -> Iterator[tuple[IO[bytes], int]]:
        """Open a part; InputError if it is missing."""
        opened = self.opens(ending)
        if opened is None:
            raise InputError(
                f"The shapefile's {ending} is missing; put it beside the .shp, as a shapefile "
                "consists of .shp, .shx and .dbf.",
                file=self.name,
                code="shapefile-incomplete",
            )
        with opened[0] as stream:
            yield stream, opened[1]


def companion_path(path: str | os.PathLike[str], ending: str) -> Path:
    """Return the path of a part of a shapefile, with its ending in lower or upper case.

    As in GDAL, lower case takes precedence; it is also returned if neither exists.
    """
    small, capital = (Path(path).with_suffix(suffix) for suffix in (ending, ending.upper()))
    return capital if not small.exists() and capital.exists() else small


def parts_of_files(path: str | os.PathLike[str]) -> ShapefileParts:
    """Return the parts beside a .shp or .dbf."""

    def opens(ending: str) -> tuple[IO[bytes], int] | None:
        part = companion_path(path, ending)
        return (part.open("rb"), part.stat().st_size) if part.is_file() else None

    return ShapefileParts(os.fspath(path), opens)


def parts_of_archive(name: str, archive: zipfile.ZipFile, member: str) -> ShapefileParts:
    """Return the parts of a .shp in an archive; reading to the end verifies checksums."""
    members = {info.filename: info for info in archive.infolist()}

    def opens(ending: str) -> tuple[IO[bytes], int] | None:
        stem = str(PurePosixPath(member).with_suffix(""))
        for name_of_part in (stem + ending, stem + ending.upper()):
            if name_of_part in members:
                return archive.open(members[name_of_part]), members[name_of_part].file_size
        return None

    return ShapefileParts(name, opens)


def check_shapefile(parts: ShapefileParts) -> DeclaredFeatures:
    """Compare the headers of a shapefile with its parts, which are read to their ends.

    Raises
    ------
    InputError
        A part is missing, is shorter or longer than its header declares, or has another number of
        records than the other parts.
    OSError, EOFError, zlib.error, zipfile.BadZipFile
        A member of an archive is damaged.
    """
    with parts.part(".shp") as (stream, size):
        _check_length(parts, ".shp", stream.read(HEAD), size)
        # Files need no reading here; members of archives are read to verify their checksums.
        while stream.read(CHUNK) and isinstance(stream, zipfile.ZipExtFile):
            pass
        shapes = size
    with parts.part(".shx") as (stream, size):
        index = stream.read()
        _check_length(parts, ".shx", index[:HEAD], size)
        if (size - HEAD) % 8:
            raise incomplete(parts.name, SHORT.format(part=".shx"))
        offset, length = np.frombuffer(index, ">u4", offset=HEAD).astype(np.int64).reshape(-1, 2).T
        inside = (2 * offset >= HEAD) & (2 * (offset + length) + 8 <= shapes)
        if not inside.all():
            what = Rule(
                "shx-places-missing", "The .shx refers to places beyond the end of the .shp"
            )
            raise incomplete(parts.name, what)
    records = check_dbf(parts)
    if offset.size != records.features + records.deleted:
        what = Rule("dbf-records-differ", "The .dbf has another number of records than the .shx")
        raise incomplete(parts.name, what)
    return records


def check_dbf(parts: ShapefileParts) -> DeclaredFeatures:
    """Compare the header of a dBASE table with its records.

    Raises InputError if the header declares another number of records, or if a record begins with a
    wrong byte, as after a loss of bytes.
    """
    with parts.part(".dbf") as (stream, size):
        head = stream.read(32)
        if len(head) < 32:
            raise incomplete(parts.name, SHORT.format(part=".dbf"))
        declared, start, width = struct.unpack("<LHH", head[4:12])
        rest = size - start - declared * width
        if start < 33 or width < 1 or rest < 0:
            what = Rule("dbf-shorter", "The .dbf is shorter than its header says")
            raise incomplete(parts.name, what)
        stream.read(start - 32)
        deleted, left, step = 0, declared, max(1, CHUNK // width)
        while left:
            count = min(step, left)
            marks = np.frombuffer(stream.read(count * width), np.uint8)[::width]
            if marks.size != count or not np.isin(marks, (ACTIVE, DELETED)).all():
                what = Rule(
                    "dbf-records-displaced",
                    "The records of the .dbf do not begin where they should",
                )
                raise incomplete(parts.name, what)
            deleted += int(np.count_nonzero(marks == DELETED))
            left -= count
        # A mark of the end follows, or nothing; some programs fill a block.
        if rest > CHUNK or stream.read().strip(b"\0\x1a"):
            what = Rule("dbf-longer", "The .dbf is longer than its header says")
            raise incomplete(parts.name, what)
    return DeclaredFeatures(declared - deleted, deleted)


def check_numbers(parts: ShapefileParts, names: Sequence[str], chosen: Iterable[str]) -> None:
    """Refuse numbers of a dBASE table that GDAL would read in part, or as 0.

    Parameters
    ----------
    names : sequence of str
        Names of all fields, in the order of the file.
    chosen : iterable of str
        Names of the fields that are read.

    Raises
    ------
    InputError
        A numeric field holds another text, or an integer field a decimal number; the error
        names the record.
    """
    with parts.part(".dbf") as (stream, _):
        declared, start, width = struct.unpack("<LHH", stream.read(32)[4:12])
        fields = _numeric_fields(stream.read(start - 32), names)
        wanted = {name: fields[name] for name in chosen if name in fields}
        first, active, step = 0, 0, max(1, CHUNK // width)
        while wanted and first < declared:
            count = min(step, declared - first)
            rows = np.frombuffer(stream.read(count * width), np.uint8).reshape(count, width)
            # GDAL skips deleted records, so their numbers do not matter and rows are counted
            # without them.
            present = rows[:, 0] != DELETED
            for name, (at, length, pattern) in wanted.items():
                good = _match(rows[present, at : at + length], pattern)
                if not good.all():
                    rule = Rule(NO_NUMBER.code, f"Column {name}: {NO_NUMBER}")
                    raise InputError(rule, file=parts.name, row=active + int(good.argmin()) + 1)
            first, active = first + count, active + int(np.count_nonzero(present))


def _numeric_fields(head: bytes, names: Sequence[str]) -> dict[str, tuple[int, int, str]]:
    """Return the position, length and pattern of each numeric field of a record."""
    fields, at = {}, 1
    for number, name in enumerate(names):
        descriptor = head[32 * number : 32 * (number + 1)]
        if len(descriptor) < 32:
            break
        kind, length, decimals = chr(descriptor[11]), descriptor[16], descriptor[17]
        if kind in "NF" and length:
            fields[name] = (at, length, DECIMAL if decimals or kind == "F" else INTEGER)
        at += length
    return fields


def _match(text: NDArray[np.uint8], pattern: str) -> NDArray[np.bool_]:
    """Return which rows of uint8[n, length] match a pattern: bool[n]."""
    digit, filled = (text >= ord("0")) & (text <= ord("9")), text != ord(" ")
    parts = np.count_nonzero(filled[:, 1:] & ~filled[:, :-1], axis=1) + filled[:, 0]
    good: NDArray[np.bool_] = (digit == filled).all(axis=1) & (parts <= 1)
    others = np.flatnonzero(~good)  # plain digits are matched as bytes; other texts are few
    if others.size:
        texts = [line.decode("latin-1") for line in map(bytes, text[others])]
        good[others] = pc.match_substring_regex(pa.array(texts), pattern)
    return good


def _check_length(parts: ShapefileParts, ending: str, head: bytes, size: int) -> None:
    """Raise InputError unless a header declares the size of its part."""
    if len(head) < HEAD or 2 * struct.unpack(">i", head[24:28])[0] != size:
        raise incomplete(parts.name, SHORT.format(part=ending))


START = 12
"""Bytes before the header: the signature and the header's length."""

FEATURES, NODE_SIZE = 8, 9
"""Positions of two fields in the header's table."""

NODE = 40
"""Bytes of a node of the index: a box and an offset."""


def check_flatgeobuf(path: str | os.PathLike[str]) -> int:
    """Return the number of features in a file, all of which are complete.

    Raises
    ------
    InputError
        The file ends in its header, index or a feature, continues after the last feature, or has
        another number of features than its header declares.
    """
    name = os.fspath(path)
    with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
        count, node_size, first = _header(data, name)
        if count and node_size > 1:
            leaves = first + NODE * _inner_nodes(count, node_size)
            first = leaves + NODE * count
            if first > len(data):
                what = Rule("flatgeobuf-ends-in-index", "The FlatGeobuf file ends in its index")
                raise incomplete(name, what)
            # Features stand in the order of the leaves, so that the last leaf names the last one.
            place = np.frombuffer(data[leaves:first], np.uint64)[4::5].astype(np.int64)
            rising = place[0] == 0 and (np.diff(place) > 0).all()
            if not rising or _behind(data, first + int(place[-1])) != len(data):
                what = Rule(
                    "flatgeobuf-end-elsewhere",
                    "The FlatGeobuf file does not end where its index says",
                )
                raise incomplete(name, what)
            return count
        # Without an index, features are counted one by one along their lengths.
        features, at = 0, first
        while at < len(data):
            at, features = _behind(data, at), features + 1
        if at != len(data) or (count and count != features):
            what = Rule(
                "flatgeobuf-features-differ",
                "The FlatGeobuf file has another number of features than its header says",
            )
            raise incomplete(name, what)
        return features


def _header(data: mmap.mmap, name: str) -> tuple[int, int, int]:
    """Return the number of features (0 if not declared), the index's node size, and the end."""
    if len(data) > START:
        (size,) = struct.unpack_from("<L", data, 8)
        try:
            table = START + struct.unpack_from("<L", data, START)[0]
            # A flatbuffer stores the offsets of its fields in a table before its data.
            names = table - struct.unpack_from("<i", data, table)[0]
            (entries,) = struct.unpack_from("<H", data, names)
            count, node_size = 0, 16
            if at := _field(data, names, entries, FEATURES):
                (count,) = struct.unpack_from("<Q", data, table + at)
            if at := _field(data, names, entries, NODE_SIZE):
                (node_size,) = struct.unpack_from("<H", data, table + at)
        except (struct.error, ValueError):
            count = -1
        if count >= 0 and count * NODE < 1 << 62 and START + size <= len(data):
            return count, node_size, START + size
    what = Rule("flatgeobuf-ends-in-header", "The FlatGeobuf file ends in its header")
    raise incomplete(name, what)


def _field(data: mmap.mmap, names: int, entries: int, number: int) -> int:
    """Return the offset of a field in its table; 0 if it has its default."""
    at = 4 + 2 * number
    return int(struct.unpack_from("<H", data, names + at)[0]) if at + 2 <= entries else 0


def _inner_nodes(count: int, node_size: int) -> int:
    """Return the number of nodes of the index that are not leaves."""
    nodes, level = 0, count
    while level > 1:
        level = -(-level // node_size)
        nodes += level
    return max(nodes, 1)


def _behind(data: mmap.mmap, at: int) -> int:
    """Return the end of the feature at an offset; beyond the file if there is none."""
    if at < 0 or at + 4 > len(data):
        return len(data) + 1
    return at + 4 + int(struct.unpack_from("<L", data, at)[0])


PAGES = 1 << 20
"""Bytes read at once."""

COUNTED = "SELECT feature_count FROM gpkg_ogr_contents WHERE lower(table_name) = lower(?)"

BROKEN = (sqlite3.DatabaseError, UnicodeDecodeError)
"""Errors of a damaged database; the second if the message of the first cannot be decoded."""

BASE_DAMAGED = Rule("geopackage-database-damaged", "The database in the GeoPackage is damaged")
OPEN = Rule(
    "geopackage-open",
    "A program has the GeoPackage open, or was interrupted while writing: {} beside it holds a "
    "part of the data. Close the program, or open and close the file once in QGIS.",
)


def check_geopackage(path: str | os.PathLike[str]) -> None:
    """Compare a database's header with its size, and check every page.

    Raises
    ------
    InputError
        The size of the file does not match its pages, a page is damaged, or there is a journal with
        rows that would not be read.
    """
    name = os.fspath(path)
    for ending in ("-wal", "-journal"):
        other = Path(f"{name}{ending}")
        if other.is_file() and other.stat().st_size:
            raise InputError(OPEN.format(f"{Path(name).name}{ending}"), file=name)
    size = os.path.getsize(path)
    with open(path, "rb") as stream:
        head = stream.read(100)
    if len(head) < 100:
        what = Rule("geopackage-ends-in-header", "The GeoPackage ends in its header")
        raise incomplete(name, what)
    (page,), (changed, pages) = struct.unpack(">H", head[16:18]), struct.unpack(">2L", head[24:32])
    (valid,) = struct.unpack(">L", head[92:96])
    # A page of 65,536 bytes does not fit 16 bits and is written as 1.
    page = 1 << 16 if page == 1 else page
    # Programs older than 2010 leave the number of pages as it was.
    wanted = pages * page if changed == valid and pages else size // max(page, 1) * page
    if not page or size < wanted or not _is_blank(path, wanted):
        what = Rule(
            "geopackage-size-differs", "The GeoPackage is shorter or longer than its header says"
        )
        raise incomplete(name, what)
    with open_database(path) as base:
        try:
            verdict = base.execute("PRAGMA quick_check(1)").fetchone()
        except BROKEN:
            verdict = None
    if verdict != ("ok",):
        raise incomplete(name, BASE_DAMAGED)


def count_features(path: str | os.PathLike[str], layer: str) -> int:
    """Return the number of features in a layer, compared with the GeoPackage's own count.

    Raises InputError if the layer cannot be counted or the counts differ.
    """
    quoted = layer.replace('"', '""')
    with open_database(path) as base:
        try:
            (count,) = base.execute(f'SELECT COUNT(*) FROM "{quoted}"').fetchone()
            declared = None
            # There may be no such table: it is an extension of GDAL's.
            with contextlib.suppress(sqlite3.OperationalError):
                declared = base.execute(COUNTED, (layer,)).fetchone()
        except BROKEN:
            count = None
    if count is None:
        raise incomplete(os.fspath(path), BASE_DAMAGED)
    if declared is not None and declared[0] is not None and declared[0] != count:
        raise InputError(
            "The GeoPackage declares another number of features than its table has rows "
            "(feature_count in gpkg_ogr_contents); copy it again, or write it again (ogr2ogr).",
            file=os.fspath(path),
            code="geopackage-incomplete",
        )
    return int(count)


def _is_blank(path: str | os.PathLike[str], at: int) -> bool:
    """Return whether a file has only zeros from an offset on, as SQLite may reserve space."""
    with open(path, "rb") as stream:
        stream.seek(at)
        while chunk := stream.read(PAGES):
            if chunk.count(0) != len(chunk):
                return False
    return True


@contextlib.contextmanager
def open_database(path: str | os.PathLike[str]) -> Iterator[sqlite3.Connection]:
    """Open a database read-only and as immutable, so that no journal is replayed or created."""
    address = database_uri(Path(path).resolve())
    with contextlib.closing(sqlite3.connect(address, uri=True)) as base:
        base.execute("PRAGMA trusted_schema = OFF")
        yield base
