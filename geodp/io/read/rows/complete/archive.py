"""Zip archives and gzip files: the directory against its own count, and the mark of the end.

That each member has its length and its checksum is asked by zipfile and gzip, which raise at the
member's end: whoever reads a member reads it to there.
"""

from __future__ import annotations

import os
import struct
import zlib
from zipfile import BadZipFile, ZipFile

from geodp.errors import Rule
from geodp.io.read.rows.complete.error import incomplete

DAMAGES = (OSError, EOFError, zlib.error, BadZipFile)
"""Errors that reading a truncated or damaged file raises."""

MOST_COMMENT = 1 << 16
"""Bytes behind the end of an archive, of a comment on it."""

BLOCKED = b"BC\x02\x00"
"""Of an extra field of gzip: the file is cut into blocks, as bgzip and tabix have it."""

BLOCKS_END = bytes.fromhex("1f8b08040000000000ff0600424302001b0003000000000000000000")
"""The empty block that ends such a file."""


def check_archive(path: str | os.PathLike[str], archive: ZipFile) -> None:
    """Refuse a zip archive of several volumes, or whose directory lacks entries.

    Raises
    ------
    InputError
        The archive has other volumes, its directory has another number of entries than it says,
        or something stands before its first member, as where two archives were joined.
    """
    name = os.fspath(path)
    found = len(archive.filelist)
    with open(path, "rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(0, size - MOST_COMMENT - 22))
        tail = stream.read()
        end = tail.rfind(b"PK\x05\x06")
        disk, first, _, many = struct.unpack("<4H", tail[end + 4 : end + 12])
        if many == 0xFFFF and tail[end - 20 : end - 16] == b"PK\x06\x07":
            (at,) = struct.unpack("<Q", tail[end - 12 : end - 4])
            stream.seek(at)
            record = stream.read(56)
            if len(record) == 56 and record.startswith(b"PK\x06\x06"):
                disk, first, _, many = struct.unpack("<LLQQ", record[16:40])
    if {disk, first} - {0, 0xFFFF}:
        raise incomplete(
            name,
            Rule(
                "archive-volume-missing",
                "This is one of several volumes of an archive, of which all are needed",
            ),
        )
    if many != found:
        raise incomplete(
            name,
            Rule(
                "archive-entries-differ",
                "The archive's directory has another number of entries than it says",
            ),
        )
    if found and min(member.header_offset for member in archive.filelist):
        raise incomplete(
            name,
            Rule(
                "archive-members-before", "The archive holds members before those of its directory"
            ),
        )


def check_blocks(path: str | os.PathLike[str]) -> None:
    """Refuse a gzip file of blocks, as bgzip writes it, that does not end with the empty one.

    Raises
    ------
    InputError
        The file was cut between two blocks, each of which is whole.
    """
    with open(path, "rb") as stream:
        head = stream.read(18)
        if len(head) < 18 or not head[3] & 4 or head[12:16] != BLOCKED:
            return
        stream.seek(0, os.SEEK_END)
        stream.seek(max(0, stream.tell() - len(BLOCKS_END)))
        if stream.read() != BLOCKS_END:
            raise incomplete(
                os.fspath(path),
                Rule("bgzip-without-end", "The block that ends a file of bgzip is not there"),
            )
