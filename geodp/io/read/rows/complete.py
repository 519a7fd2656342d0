"""What files declare of their own length: entries of archives, line ends, chunks and pages.

Lengths and checksums of members are verified by zipfile and gzip, which raise at the end of a
member: every reader therefore reads members to their ends. Services return pages of GeoJSON and
declare them as such.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Mapping
from typing import Any
from zipfile import BadZipFile, ZipFile

from geodp.errors import InputError, Rule
from geodp.table.source import Fact


def incomplete(name: str, what: Rule) -> InputError:
    """Return the error for a file that does not match its own declarations.

    Parameters
    ----------
    name : str
        Name of the file.
    what : Rule
        The mismatch, as a sentence without its full stop. It states no size and no number of
        records, which would reveal something about the data.

    Examples
    --------
    >>> print(incomplete("a.shx", Rule("shx-shorter", "The index is shorter than its header says")))
    a.shx: The index is shorter than its header says. The file is incomplete or damaged; copy or \
download it again, or write it again if it was created like this.
    """
    sentence = (
        f"{what}. The file is incomplete or damaged; copy or download it again, or write it again "
        "if it was created like this."
    )
    return InputError(sentence, file=name, code=what.code)


def fact_of_end(*, ended: bool) -> Fact:
    """Make the fact on the last line of a text: without its end, the file may have been cut off."""
    return Fact("line end at the end", "there" if ended else "missing", "file")


DAMAGES = (OSError, EOFError, zlib.error, BadZipFile)
"""Errors raised by reading a truncated or damaged file."""

MAX_COMMENT = 1 << 16
"""Maximum length of the comment at the end of an archive, in bytes."""

BLOCKED = b"BC\x02\x00"
"""Extra field of a gzip file that consists of blocks, as written by bgzip."""

BLOCKS_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
"""Empty block at the end of such a file."""


def check_archive(path: str | os.PathLike[str], archive: ZipFile) -> None:
    """Refuse a zip archive of several volumes, or with an incomplete directory.

    Raises
    ------
    InputError
        The archive has other volumes, its directory declares another number of entries, or data
        precede its first member, as in two archives that were concatenated.
    """
    name = os.fspath(path)
    entries = len(archive.filelist)
    with open(path, "rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - MAX_COMMENT - 22))
        tail = stream.read()
        end = tail.rfind(b"PK\x05\x06")
        disk, first, _, declared = struct.unpack("<4H", tail[end + 4 : end + 12])
        # Zip64: the numbers that do not fit are in another record, to which a locator in front
        # points.
        if declared == 0xFFFF and tail[end - 20 : end - 16] == b"PK\x06\x07":
            (at,) = struct.unpack("<Q", tail[end - 12 : end - 4])
            stream.seek(at)
            record = stream.read(56)
            if len(record) == 56 and record.startswith(b"PK\x06\x06"):
                disk, first, _, declared = struct.unpack("<LLQQ", record[16:40])
    rule = None
    if {disk, first} - {0, 0xFFFF}:
        rule = Rule(
            "archive-volume-missing",
            "This is one of several volumes of an archive, of which all are needed",
        )
    elif declared != entries:
        rule = Rule(
            "archive-entries-differ",
            "The archive's directory has another number of entries than it declares",
        )
    elif entries and min(member.header_offset for member in archive.filelist):
        rule = Rule(
            "archive-members-before", "The archive holds members before those of its directory"
        )
    if rule is not None:
        raise incomplete(name, rule)


def check_blocks(path: str | os.PathLike[str]) -> None:
    """Refuse a bgzip file that does not end with the empty block.

    Raises
    ------
    InputError
        The file was cut between two blocks, each of which is complete.
    """
    with open(path, "rb") as stream:
        head = stream.read(18)
        # Plain gzip files end with a length and a checksum that gzip verifies by itself.
        if len(head) < 18 or not head[3] & 4 or head[12:16] != BLOCKED:
            return
        stream.seek(0, os.SEEK_END)
        stream.seek(max(0, stream.tell() - len(BLOCKS_END)))
        if stream.read() != BLOCKS_END:
            what = Rule("bgzip-without-end", "The final block of the bgzip file is missing")
            raise incomplete(os.fspath(path), what)


MAGIC = 4
"""Bytes of the magic number at both ends of a file."""


def check_chunks(name: str, footer: Any, size: int) -> None:
    """Refuse a file whose columns overlap its footer, as after a loss of bytes.

    Parameters
    ----------
    footer : pyarrow.parquet.FileMetaData
    size : int
        Size of the file in bytes.

    Raises
    ------
    InputError
        A column chunk reaches beyond the data.
    """
    last = size - footer.serialized_size - 2 * MAGIC
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        for column in range(footer.num_columns if group.num_rows else 0):
            chunk = group.column(column)
            # A dictionary page precedes the data pages; an offset of 0 means that there is none.
            first = chunk.data_page_offset
            if chunk.has_dictionary_page and chunk.dictionary_page_offset:
                first = min(first, chunk.dictionary_page_offset)
            if first < MAGIC or first + chunk.total_compressed_size > last:
                what = Rule(
                    "parquet-columns-beyond-data",
                    "The Parquet file's columns reach beyond its data",
                )
                raise incomplete(name, what)


OF_ALL = ("numberMatched", "totalFeatures")
"""Members in which WFS and OGC API Features state the number of all matching features."""

PAGE = Rule(
    "pages-incomplete",
    "The file is one page of a larger result, as it declares itself ({}); fetch all pages, and "
    "put them into one file (ogr2ogr does both).",
)


def check_pages(name: str, document: Mapping[str, Any], features: int) -> None:
    """Refuse a GeoJSON document that declares itself incomplete.

    Parameters
    ----------
    document : mapping
        Top level of the document.
    features : int
        Number of its features.

    Raises
    ------
    InputError
        The document states another number of features, a higher total, a next page, or that a limit
        was exceeded.
    """
    returned = _feature_count(document.get("numberReturned"))
    if returned is not None and returned != features:
        what = Rule(
            "geojson-features-differ", "The GeoJSON has another number of features than it says"
        )
        raise incomplete(name, what)
    for member in OF_ALL:
        every = _feature_count(document.get(member))
        if every is not None and every > features:
            raise InputError(PAGE.format(member), file=name)
    links = document.get("links")
    if any(isinstance(link, dict) and link.get("rel") == "next" for link in links or ()):
        raise InputError(PAGE.format("a link to the next"), file=name)
    extras = document.get("properties")
    # ArcGIS writes the flag at the top level or among the properties.
    limits = [document, extras] if isinstance(extras, dict) else [document]
    if any(holder.get("exceededTransferLimit") is True for holder in limits):
        raise InputError(PAGE.format("exceededTransferLimit"), file=name)


def _feature_count(value: Any) -> int | None:
    """Return a number of features; None for other values, such as "unknown"."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None
