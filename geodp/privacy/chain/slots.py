"""Header of a ledger's file: its version, and two slots with the place of the last entry.

The slots are written alternately and lie in separate sectors, so that a write which a power cut
interrupts leaves one of them intact.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from geodp.errors import UsageError

VERSION = 3

SECTOR = 4096
START = 3 * SECTOR
"""Position of the first entry, behind the version and two slots."""

_MAGIC = b"geodp ledger "
_SQLITE = b"SQLite format 3\0"  # versions 1 and 2
_HASH = 64


class Place(NamedTuple):
    """Position of an entry in the file, and its hash."""

    start: int
    hash: str


def read_opening(file: BinaryIO) -> bytes:
    """Read the bytes before the first entry, or all of a shorter file."""
    file.seek(0)
    opening = b""
    while len(opening) < START and (piece := file.read(START - len(opening))):
        opening += piece
    return opening


def empty_ledger() -> bytes:
    """Return the content of a ledger without entries: its version, and two empty slots."""
    version = _MAGIC + b"%d\n" % VERSION
    return version.ljust(START - 1) + b"\n"


def format_slot(place: Place) -> bytes:
    """Return the line of a slot: place, hash, and a check of both."""
    text = f"{place.start:020d} {place.hash}"
    return f"{text} {hashlib.sha256(text.encode()).hexdigest()[:16]}\n".encode()


def parse_slot(opening: bytes, number: int) -> Place | None:
    """Return the place of an intact slot; None for another one."""
    content = opening[(number + 1) * SECTOR :]
    with suppress(ValueError):
        start, digest = int(content[:20]), content[21 : 21 + _HASH].decode()
        place = Place(start, digest)
        # Formatting the parsed values again compares every byte, with the slot's own check digest.
        if content.startswith(format_slot(place)):
            return place
    return None


def recognise(opening: bytes, path: Path) -> None:
    """Raise UsageError for a file that is not a ledger of this version."""
    version: int | None = None
    if opening.startswith(_MAGIC):
        with suppress(ValueError):
            version = int(opening[len(_MAGIC) : SECTOR])
    # Older ledgers were SQLite databases; recognised only to say which version wrote them.
    elif opening.startswith(_SQLITE) and opening[68:72] == b"geod":
        version = int.from_bytes(opening[60:64], "big")
    if version is None or len(opening) < START:
        raise no_ledger(path)
    if version > VERSION:
        raise UsageError(
            f"{path} is a ledger of version {version}, and this geodp reads version {VERSION}; "
            "use the geodp that wrote it, or a newer one.",
            code="ledger-newer",
        )
    if version < VERSION:
        raise UsageError(
            f"{path} is a ledger of version {version}, and this geodp keeps version {VERSION}; "
            "begin a new one whose caps are what remains by the geodp that wrote it.",
            code="ledger-older",
        )


def no_ledger(path: Path) -> UsageError:
    """Return the error for a file that is not a ledger."""
    return UsageError(
        f"{path} is not a ledger; geodp budget init makes one.", code="ledger-expected"
    )
