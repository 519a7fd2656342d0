"""Completeness of shapefiles and dBASE tables: lengths in the headers, and the records.

GDAL reads a truncated table as blanks, and as many shapes as the shorter of two files has.
"""

from __future__ import annotations

import os
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
from geodp.io.read.rows.complete.error import incomplete

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
class DbaseHeader:
    """Numbers of records that a dBASE table declares.

    Attributes
    ----------
    declared : int
        Records that the header declares; all of them exist.
    deleted : int
        Records among them marked as deleted, which GDAL does not read.
    """

    declared: int
    deleted: int


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


def check_shapefile(parts: ShapefileParts) -> DbaseHeader:
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
            raise incomplete(
                parts.name,
                Rule("shx-places-missing", "The .shx refers to places beyond the end of the .shp"),
            )
    records = check_dbf(parts)
    if offset.size != records.declared:
        raise incomplete(
            parts.name,
            Rule("dbf-records-differ", "The .dbf has another number of records than the .shx"),
        )
    return records


def check_dbf(parts: ShapefileParts) -> DbaseHeader:
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
            raise incomplete(
                parts.name, Rule("dbf-shorter", "The .dbf is shorter than its header says")
            )
        stream.read(start - 32)
        deleted, left, step = 0, declared, max(1, CHUNK // width)
        while left:
            count = min(step, left)
            marks = np.frombuffer(stream.read(count * width), np.uint8)[::width]
            if marks.size != count or not np.isin(marks, (ACTIVE, DELETED)).all():
                raise incomplete(
                    parts.name,
                    Rule(
                        "dbf-records-displaced",
                        ("The records of the .dbf do not begin where they should"),
                    ),
                )
            deleted += int(np.count_nonzero(marks == DELETED))
            left -= count
        # A mark of the end follows, or nothing; some programs fill a block.
        if rest > CHUNK or stream.read().strip(b"\0\x1a"):
            raise incomplete(
                parts.name, Rule("dbf-longer", "The .dbf is longer than its header says")
            )
    return DbaseHeader(declared, deleted)


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
