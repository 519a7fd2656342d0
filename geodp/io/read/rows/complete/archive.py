"""Completeness of zip archives (number of entries in the directory) and gzip files (final block).

Lengths and checksums of members are verified by zipfile and gzip, which raise at the end of a
member: every reader therefore reads members to their ends.
"""

from __future__ import annotations

import os
import struct
import zlib
from zipfile import BadZipFile, ZipFile

from geodp.errors import Rule
from geodp.io.read.rows.complete.error import incomplete

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
    if {disk, first} - {0, 0xFFFF}:
        raise incomplete(
            name,
            Rule(
                "archive-volume-missing",
                "This is one of several volumes of an archive, of which all are needed",
            ),
        )
    if declared != entries:
        raise incomplete(
            name,
            Rule(
                "archive-entries-differ",
                "The archive's directory has another number of entries than it declares",
            ),
        )
    # Of two concatenated archives, zipfile reads the second one only, without an error.
    if entries and min(member.header_offset for member in archive.filelist):
        raise incomplete(
            name,
            Rule(
                "archive-members-before", "The archive holds members before those of its directory"
            ),
        )


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
            raise incomplete(
                os.fspath(path),
                Rule("bgzip-without-end", "The final block of the bgzip file is missing"),
            )
