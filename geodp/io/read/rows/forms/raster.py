"""What rasters declare of their own length: blocks of TIFF, variables of NetCDF, numbers of ASCII.

GDAL reads a block without an offset as pixels without a value, and ignores directories beyond the
end of a TIFF, which is harmless for overviews but not for a mask; it returns fill values for data
beyond the end of a NetCDF file.

GDAL reads missing numbers and other texts as 0.
"""

from __future__ import annotations

import os
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

import numpy as np
from numpy.typing import NDArray

from geodp.errors import InputError, Rule
from geodp.io.read.rows.complete import incomplete
from geodp.io.read.rows.forms.netcdf import read_header
from geodp.io.read.rows.input_files import FilePath, guard
from geodp.table.source import Fact


def check_raster(path: str | os.PathLike[str], kind: str) -> None:
    """Compare the header of a raster with the length of the file.

    Parameters
    ----------
    kind : str
        "tiff", "netcdf", or "ascii grid", whose numbers are counted on reading.

    Raises
    ------
    InputError
        The file is shorter or longer than its header declares.
    OSError
        It cannot be read.
    """
    if kind == "tiff":
        check_tiff(path)
    elif kind == "netcdf":
        check_netcdf(path)


def check_pixels(path: str | os.PathLike[str], kind: str) -> tuple[Fact, ...]:
    """Compare the pixels of a raster with their checksums, if it has any.

    Returns
    -------
    tuple of Fact
        Number of strips or tiles that are left out as nodata, if there are any.

    Raises
    ------
    InputError, OSError
    """
    if kind == "tiff":
        missing, blocks = check_tiff(path, unpack=True)
        if missing:
            return (Fact("blocks left out, as nodata", f"{missing} of {blocks}", "file"),)
    return ()


TYPES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8}
TYPES |= {17: 8, 18: 8}
"""Bytes of a value, by the number of its type in TIFF."""

WIDTH, HEIGHT, BITS, COMPRESSION, SAMPLES, STRIP_ROWS, PLANAR = 256, 257, 258, 259, 277, 278, 284
STRIPS, STRIP_BYTES, TILES, TILE_BYTES, TILE_WIDTH, TILE_HEIGHT = 273, 279, 324, 325, 322, 323
MORE_DIRECTORIES, METADATA, NODATA = 330, 42112, 42113
KIND, REDUCED, MASK = 254, 1, 4
"""Tag for the kind of a directory, and its bits for a reduced copy (overview) and a mask."""

OLD_KIND, OLD_REDUCED = 255, 2

ZLIB = (8, 32946)
"""TIFF's numbers for compression by zlib."""

MAX_UNPACKED = 1 << 22
"""Bytes that are decompressed at once."""

MAX_DIRECTORIES = 1 << 16

ENDS = Rule("tiff-ends-early", "The TIFF ends before the last of its strips and tiles")
SEVERAL = Rule(
    "tiff-several-pictures",
    "The TIFF holds several pictures, of which only the first would be read; write the one that "
    "is needed to a file of its own (gdal_translate GTIFF_DIR:1:FILE).",
)
NEVER_WRITTEN = Rule("tiff-never-written", "The TIFF's strips and tiles were never written")
SPARSE = Rule(
    "tiff-blocks-left-out",
    "Blocks of the TIFF are left out, and no nodata value says what their pixels are; write them "
    "(gdal_translate), or state the value (gdal_edit.py -a_nodata).",
)


@dataclass
class _Tiff:
    """An open TIFF.

    Attributes
    ----------
    order : str
        Byte order: "<" or ">".
    big : bool
        Whether it is a BigTIFF, whose numbers have 64 bits.
    seen : set of int
        Offsets of directories read so far.
    """

    name: str
    stream: IO[bytes]
    size: int
    order: str
    big: bool
    seen: set[int] = field(default_factory=set)

    def take(self, at: int, length: int) -> bytes:
        """Return bytes of the file; InputError if it ends before."""
        if at < 0 or length < 0 or at + length > self.size:
            what = Rule(
                "tiff-ends-in-directories", "The TIFF ends before the last of its directories"
            )
            raise incomplete(self.name, what)
        self.stream.seek(at)
        return self.stream.read(length)

    def directory(self, at: int) -> tuple[dict[int, NDArray[np.int64]], int]:
        """Return the integers of a directory by their tags, and the offset of the next one.

        Texts are returned as bytes. Other values are left out, but must lie within the file.
        """
        head, entry, inline = (8, 20, 8) if self.big else (2, 12, 4)
        (entries,) = struct.unpack(self.order + ("Q" if self.big else "H"), self.take(at, head))
        body = self.take(at + head, entries * entry + inline)
        tags: dict[int, NDArray[np.int64]] = {}
        for number in range(entries):
            record = body[number * entry : (number + 1) * entry]
            tag, kind = struct.unpack(self.order + "HH", record[:4])
            (count,) = struct.unpack(self.order + ("Q" if self.big else "L"), record[4:-inline])
            length = count * TYPES.get(kind, 0)
            value = record[-inline:][:length]
            if length > inline:
                value = self.take(self._place(record[-inline:]), length)
            # Unsigned integers of all sizes, offsets and texts; no tag of other types is needed.
            if kind in (1, 2, 3, 4, 13, 16, 18):
                numbers = np.frombuffer(value, f"{self.order}u{TYPES[kind]}")
                tags[tag] = numbers.astype(np.uint64).astype(np.int64)
        return tags, self._place(body[-inline:])

    def _place(self, data: bytes) -> int:
        """Decode an offset."""
        (place,) = struct.unpack(self.order + ("Q" if self.big else "L"), data)
        return int(place)


def check_tiff(path: str | os.PathLike[str], *, unpack: bool = False) -> tuple[int, int]:
    """Compare the directories of a TIFF with the file.

    Parameters
    ----------
    unpack : bool
        Whether strips and tiles compressed by zlib are decompressed and compared with their
        checksums, which GDAL rarely verifies.

    Returns
    -------
    missing, blocks : int
        Strips or tiles of the picture that are left out, whose pixels are nodata, and their total.

    Raises
    ------
    InputError
        A directory, strip or tile lies beyond the end of the file, an uncompressed one is too
        short, some are left out without a nodata value, or all of them are left out.
    """
    name, missing, blocks = os.fspath(path), 0, 0
    with open(path, "rb") as stream:
        file, first = _open(name, stream)
        waiting = [first]
        while waiting:
            at = waiting.pop()
            # Offsets may form a cycle in a hostile file.
            if not at or at in file.seen:
                continue
            if len(file.seen) > MAX_DIRECTORIES:
                what = Rule("tiff-too-many-directories", "The TIFF has too many directories")
                raise incomplete(name, what)
            main = not file.seen
            file.seen.add(at)
            tags, following = file.directory(at)
            waiting += [following, *tags.get(MORE_DIRECTORIES, np.empty(0, int)).tolist()]
            left_out, all_of_it = _check_blocks(file, tags, unpack)
            if main:
                missing, blocks = left_out, all_of_it
                if missing and missing < blocks and NODATA not in tags:
                    raise InputError(SPARSE, file=name)
                if missing and missing == blocks:
                    raise incomplete(name, NEVER_WRITTEN)
            elif not _kind(tags) & (REDUCED | MASK):
                raise InputError(SEVERAL, file=name)
            # A mask with more missing blocks than its picture would hide pixels that count people.
            elif not _kind(tags) & REDUCED and left_out > missing:  # people would be masked
                raise incomplete(name, NEVER_WRITTEN)
    return missing, blocks


def read_metadata(path: str | os.PathLike[str]) -> bytes:
    """Return the XML that GDAL stores in the first directory of a TIFF; empty without it.

    Raises InputError if the file ends in the directory.
    """
    with open(path, "rb") as stream:
        file, first = _open(os.fspath(path), stream)
        tags, _ = file.directory(first)
    return bytes(tags.get(METADATA, np.empty(0, np.int64)).astype(np.uint8))


def _open(name: str, stream: IO[bytes]) -> tuple[_Tiff, int]:
    """Return a TIFF and the offset of its first directory."""
    start = stream.read(16)
    order = "<" if start[:2] == b"II" else ">"
    big = start[2:4] in (b"+\0", b"\0+")
    file = _Tiff(name, stream, os.fstat(stream.fileno()).st_size, order, big)
    head = file.take(0, 16 if big else 8)
    return file, file._place(head[8:16] if big else head[4:8])


def _check_blocks(file: _Tiff, tags: dict[int, NDArray[np.int64]], unpack: bool) -> tuple[int, int]:
    """Return how many strips or tiles of a directory are left out, and how many there are."""

    def number(tag: int, default: int) -> int:
        values = tags.get(tag)
        return default if values is None or not values.size else int(values[0])

    tiled = TILES in tags
    place, length = (
        tags.get(tag) for tag in ((TILES, TILE_BYTES) if tiled else (STRIPS, STRIP_BYTES))
    )
    width, height = number(WIDTH, 0), number(HEIGHT, 0)
    samples = number(SAMPLES, 1)
    # Planar storage has separate blocks for each band.
    planes = samples if number(PLANAR, 1) == 2 else 1
    wide = number(TILE_WIDTH, 0) if tiled else width
    tall = number(TILE_HEIGHT, 0) if tiled else min(number(STRIP_ROWS, height), height)
    if place is None or length is None or min(width, height, wide, tall, samples) < 1:
        what = Rule(
            "tiff-places-missing", "A directory of the TIFF does not say where its pixels are"
        )
        raise incomplete(file.name, what)
    down = -(-height // tall)
    blocks = down * -(-width // wide) * planes
    if place.size != length.size or place.size < blocks:
        what = Rule("tiff-names-fewer", "The TIFF lists fewer strips or tiles than its pixels need")
        raise incomplete(file.name, what)
    place, length = place[:blocks], length[:blocks]
    stored = (length != 0) | (place != 0)
    # Offsets below 8 point into the header of the file.
    if (place[stored] < 8).any() or (length[stored] < 1).any():
        raise incomplete(file.name, ENDS)
    if (place + length > file.size).any() or (place > file.size).any() or (length < 0).any():
        raise incomplete(file.name, ENDS)
    # Only uncompressed blocks have a length that is known beforehand.
    if number(COMPRESSION, 1) == 1:
        row = -(-wide * number(BITS, 1) * (samples // planes) // 8)
        rows = np.full(down, tall)
        if not tiled:
            rows[-1] = height - (down - 1) * tall
        wanted = np.full(blocks, row * tall) if tiled else np.tile(row * rows, planes)
        if (length[stored] < wanted[stored]).any():
            what = Rule("tiff-strip-too-short", "A strip or tile of the TIFF is too short")
            raise incomplete(file.name, what)
    if unpack and number(COMPRESSION, 1) in ZLIB and not _kind(tags) & REDUCED:
        for at, held in zip(place[stored].tolist(), length[stored].tolist(), strict=True):
            _require_checksum(file, at, held)
    return int(np.count_nonzero(~stored)), blocks


def _kind(tags: dict[int, NDArray[np.int64]]) -> int:
    """Return the kind of a directory as bits, also from the older tag of TIFF 5."""
    if KIND in tags and tags[KIND].size:
        return int(tags[KIND][0])
    return REDUCED if OLD_KIND in tags and tags[OLD_KIND].tolist() == [OLD_REDUCED] else 0


def _require_checksum(file: _Tiff, at: int, length: int) -> None:
    """Decompress a block piece by piece; InputError if its checksum differs."""
    unpacker, data = zlib.decompressobj(), file.take(at, length)
    try:
        while data and not unpacker.eof:
            unpacker.decompress(data, MAX_UNPACKED)
            data = unpacker.unconsumed_tail
        complete = unpacker.eof
    except zlib.error:
        complete = False
    if not complete:
        what = Rule("tiff-checksum", "A strip or tile of the TIFF does not match its checksum")
        raise incomplete(file.name, what)


STREAMING = 0xFFFFFFFF
"""Number of records in a file whose writer did not update it."""

NETCDF_ENDS = Rule("netcdf-ends-early", "The NetCDF file ends before its variables do")


def check_netcdf(path: str | os.PathLike[str]) -> None:
    """Compare the header of a classic NetCDF file with its length.

    Raises
    ------
    InputError
        Variables or records lie beyond the end of the file or overlap, the header counts too few
        records or none, or the format is CDF-5.
    """
    header, name, size = read_header(path), os.fspath(path), os.path.getsize(path)
    fixed: list[tuple[int, int]] = []
    in_records: list[tuple[int, int]] = []
    for variable in header.variables.values():
        (in_records if header.is_record(variable) else fixed).append(
            (variable.begin, header.held(variable))
        )
    if header.records == STREAMING and in_records:
        rule = Rule(
            "netcdf-records-untold",
            "The NetCDF file does not state how many records it has; rewrite it (nccopy).",
        )
        raise InputError(rule, file=name)
    end = _end_of(name, fixed, header.end)
    if end > size:
        raise incomplete(name, NETCDF_ENDS)
    if not in_records:
        return
    first, last = min(in_records)[0], _end_of(name, in_records, end)
    records, step = header.records, header.step
    if records and last + (records - 1) * step > size:
        raise incomplete(name, NETCDF_ENDS)
    if step and size - first >= (records + 1) * step:
        what = Rule(
            "netcdf-records-differ", "The NetCDF file has more records than its header says"
        )
        raise incomplete(name, what)


def _end_of(name: str, places: list[tuple[int, int]], end: int) -> int:
    """Return where the last of variables ends that follow a place; InputError if they overlap.

    ``places``: the begin and the bytes of each.
    """
    for begin, held in sorted(places):
        if begin < end:
            rule = Rule(
                "netcdf-variables-overlap", "Variables of the NetCDF file lie over one another"
            )
            raise incomplete(name, rule)
        end = begin + held
    return end


CHUNK = 1 << 22
"""Bytes in a block, which is extended to the end of its line."""

NO_END = Rule(
    "ascii-grid-without-end",
    "The last line of the ASCII grid has no end, so that its last number may be cut; copy or "
    "download the file again, or end the line where it is whole.",
)

_HEADER = re.compile(rb"\s*(?:[A-Za-z_]+[ \t]+\S+[ \t]*\r?\n\s*)*")
# Possessive quantifiers (*+, ++) prevent backtracking, which would take minutes on a bad block.
_NUMBERS = re.compile(
    rb"(?:\s*+(?:[+-]?(?:\d++\.?\d*+|\.\d++)(?:e[+-]?\d++)?+|[+-]?nan)(?=\s|\Z))*+\s*+",
    re.IGNORECASE,
)


def require_numbers(path: FilePath, pixels: int) -> None:
    """Raise InputError unless an ASCII grid has this many numbers below its header."""
    number = guard(str(path), lambda: _count(path))
    if number is None:
        raise InputError(
            "The ASCII grid holds something that is no number, such as a decimal comma or a word "
            "for no data; write numbers with a decimal point, and NODATA_value in the header.",
            file=str(path),
            code="ascii-grid-not-number",
        )
    if number != pixels:
        what = Rule(
            "ascii-grid-values-differ",
            "The ASCII grid has another number of values than its header's lines and columns",
        )
        raise incomplete(str(path), what)
    if not _ends(path):
        raise InputError(NO_END, file=str(path))


def _ends(path: FilePath) -> bool:
    """Whether a blank or line end follows the last number, which is then complete."""
    with open(path, "rb") as stream:
        stream.seek(-1, os.SEEK_END)
        return stream.read(1).isspace()


def _count(path: FilePath) -> int | None:
    """Return the number of numbers; None if there is another text."""
    number = 0
    for part in _parts(path):
        if not _NUMBERS.fullmatch(part):
            return None
        number += len(part.split())
    return number


def _parts(path: FilePath) -> Iterator[bytes]:
    """Yield the text below the header in blocks of complete lines."""
    with open(path, "rb") as stream:
        first = stream.read(CHUNK) + stream.readline()
        header = _HEADER.match(first)
        yield first[header.end() if header else 0 :]
        while part := stream.read(CHUNK):
            yield part + stream.readline()
