"""The ledger's file: a chain of entries, each bound to all before it.

An entry is one JSON text that holds the hash of the entry before it; its own hash is the SHA-256 of
that text, so that the latest hash, the *head*, stands for the whole history. Entries are only ever
added, each as a line ``HASH JSON`` of a text file.

One file and no other
    There is no journal or log under a name of its own, so whoever has the file under any name
    (a hard link, a bind mount, a new name after a kill) has all of it. A lock on the file itself
    lets one at a time write (see `geodp.privacy.locked_file`).

How an entry is added
    It is written behind the last one and flushed to the disk; then its place and hash are written
    into one of the two *slots* in the file's opening, and flushed again. The slots are written
    alternately and lie in separate sectors, so that a write which a power cut interrupts leaves
    one of them intact.

What a reader takes for the last entry
    That of the newest intact slot, and those whole entries behind it that continue the chain: their
    writer was killed before it wrote the slot, or the slot is damaged. So an entry counts as soon
    as it is whole, and no damage to one place of the file lets one be overlooked. It may not be on
    the disk yet, so the next one who may write flushes it, before a replay is answered from it.
    What is no whole entry behind the last one was never flushed, and is overwritten.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from geodp.errors import GeodpError, OutputError, UsageError, VerificationError
from geodp.privacy.locked_file import (
    NOTHING,
    is_at,
    open_locked,
    real_path,
    sync,
    sync_folder,
    write_at,
)
from geodp.reprs import one_line

VERSION = 3

SECTOR = 4096
START = 3 * SECTOR
"""Position of the first entry, behind the version and two slots."""

_MAGIC = b"geodp ledger "
_SQLITE = b"SQLite format 3\0"  # versions 1 and 2
_HASH = 64


class EntryPlace(NamedTuple):
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


def format_slot(place: EntryPlace) -> bytes:
    """Return the line of a slot: place, hash, and a check of both."""
    text = f"{place.start:020d} {place.hash}"
    return f"{text} {hashlib.sha256(text.encode()).hexdigest()[:16]}\n".encode()


def parse_slot(opening: bytes, number: int) -> EntryPlace | None:
    """Return the place of an intact slot; None for another one."""
    content = opening[(number + 1) * SECTOR :]
    with suppress(ValueError):
        start, digest = int(content[:20]), content[21 : 21 + _HASH].decode()
        place = EntryPlace(start, digest)
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


RESTORE = "publish nothing before a copy is restored that has the latest release card's head"

# Bytes read at a time: most entries are shorter, so one read finds the end of a line.
_CHUNK = 8192


@dataclass(frozen=True, slots=True)
class Head:
    """A place in the chain.

    Attributes
    ----------
    ledger : str
        Random id of the ledger, which every entry holds.
    sequence : int
        Number of the last entry; the genesis is 0.
    hash : str
        Hash of the last entry: 64 hexadecimal digits.
    start, end : int
        Where that entry lies in the file.
    """

    __repr__ = one_line

    ledger: str
    sequence: int
    hash: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A verified entry: the head right after it, and what it holds."""

    head: Head
    content: dict[str, Any]

    @property
    def place(self) -> EntryPlace:
        """Position of the last entry, and its hash."""
        return EntryPlace(self.head.start, self.head.hash)


ROOT = Head("", -1, "0" * _HASH, START, START)
"""Head of an empty chain, before its first entry."""


def canonical(value: Any) -> str:
    """Return the one JSON text of a plain value: keys sorted, no spaces."""
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    )


class HashChain:
    """The file of a ledger. It holds no open file, so threads and forks may share it.

    Attributes
    ----------
    path : Path
        Absolute, without symbolic links.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = real_path(path)

    @contextmanager
    def transaction(self, *, write: bool = False, new: bool = False) -> Iterator[Log]:
        """Open the file for one reader or writer; entries without a commit are dropped.

        Parameters
        ----------
        write : bool
            Exclude all others; readers share the file.
        new : bool
            The file is to be absent, empty or left unfinished by one who was killed.
        """
        try:
            with open_locked(self.path, write=write or new, create=new) as file:
                yield Log.begin(file, self.path) if new else Log.read(file, self.path)
        except OSError as error:
            raise _explain_os_error(self.path, error, write or new) from None


class Log:
    """The entries of an open ledger file.

    Attributes
    ----------
    path : Path
    last : Entry or None
        The latest one, with those that were appended and are not committed yet.
    """

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.last: LedgerEntry | None = None
        self.path = path
        self._file = file
        self._pending: dict[int, tuple[LedgerEntry, bytes]] = {}
        self._in_slot = False

    @property
    def head(self) -> Head:
        """The end of the chain."""
        return ROOT if self.last is None else self.last.head

    @classmethod
    def begin(cls, file: BinaryIO, path: Path) -> Log:
        """Take an empty or unfinished file for a new ledger; UsageError for any other file."""
        log = cls(file, path)
        unfinished = empty_ledger().startswith(read_opening(file))
        if not unfinished or log._entry_at(START) is not None:
            raise UsageError(f"{path} exists; a ledger is never overwritten.", code="ledger-exists")
        return log

    @classmethod
    def read(cls, file: BinaryIO, path: Path) -> Log:
        """Find the last entry; VerificationError where it is not what geodp wrote."""
        log, opening = cls(file, path), read_opening(file)
        recognise(opening, path)
        places = [place for n in (0, 1) if (place := parse_slot(opening, n)) is not None]
        if places:
            log.last = log.fetch(max(places))
            log._in_slot = True
        elif opening != empty_ledger():
            raise _damaged(path)
        # Complete entries behind the slot count: their writer was killed between the two flushes,
        # and ignoring them could charge the same budget twice.
        while (more := log._entry_at(log.head.end)) is not None and _continues(more, log.head):
            log.last, log._in_slot = more, False
        if log.last is None:  # who made it was killed
            raise no_ledger(path)
        return log

    def fetch(self, place: EntryPlace) -> LedgerEntry:
        """Return the verified entry of a place; VerificationError if there is another."""
        if place.start in self._pending:
            entry: LedgerEntry | None = self._pending[place.start][0]
        else:
            entry = self._entry_at(place.start)
        # A branch or slot names its entry by hash, so an entry put in its place is never used.
        if entry is None or entry.head.hash != place.hash:
            raise _damaged(self.path)
        return entry

    def follow(self, after: Head = ROOT) -> Iterator[LedgerEntry]:
        """Verify the entries after a place in the chain, one by one: number, link, hash, ledger."""
        ledger, sequence, previous, end = after.ledger, after.sequence, after.hash, after.end
        while end < self.head.end:
            sequence += 1
            entry = self._entry_at(end)
            content = {} if entry is None else entry.content
            ledger = ledger or str(content.get("ledger"))
            place = (content.get("ledger"), content.get("sequence"), content.get("previous"))
            if entry is None or place != (ledger, sequence, previous):
                raise VerificationError(
                    f"The ledger's chain is broken at entry {sequence}: another program "
                    f"changed it; {RESTORE}.",
                    code="ledger-chain-broken",
                )
            previous, end = entry.head.hash, entry.head.end
            yield entry

    def require(self, seen: Head) -> None:
        """Raise VerificationError for a chain that does not continue a head seen before."""
        entry = self._entry_at(seen.start)
        if entry is None or entry.head != seen or self.head.end < seen.end:
            raise VerificationError(
                "The ledger's file was replaced by another one, or cut back, while it was in use.",
                code="ledger-replaced",
            )
        for _ in self.follow(seen):
            pass

    def lines(self) -> Iterator[tuple[str, str]]:
        """Return text and recorded hash of all entries, as the file has them."""
        end = START
        while end < self.head.end:
            line = self._line(end)
            end += len(line) + 1
            yield line[_HASH + 1 :].decode(errors="replace"), line[:_HASH].decode(errors="replace")

    def append(self, columns: dict[str, Any]) -> LedgerEntry:
        """Add an entry at the end of the chain, for :meth:`commit` to write."""
        before = self.head
        content = {
            **columns,
            "ledger": before.ledger or secrets.token_hex(16),
            "sequence": before.sequence + 1,
            "previous": before.hash,
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        text = canonical(content).encode()
        digest = _hash(text)
        line = digest.encode() + b" " + text + b"\n"
        head = Head(
            ledger=content["ledger"],
            sequence=content["sequence"],
            hash=digest,
            start=before.end,
            end=before.end + len(line),
        )
        self.last = LedgerEntry(head, content)
        # Readers of this transaction see pending entries, although they are not in the file yet.
        self._pending[before.end] = (self.last, line)
        return self.last

    def commit(self) -> None:
        """Write the appended entries; all entries are on the disk when this returns."""
        # Nothing to flush: the last entry is on disk, and a slot points to it.
        if not self._pending and self._in_slot:
            return
        # A charge in a file that no longer has its name would be invisible to everybody else.
        if not is_at(self._file, self.path):
            raise OutputError(
                f"{self.path} was removed, renamed or replaced while it was charged; {NOTHING}.",
                code="ledger-moved-while-charged",
            )
        start = min(self._pending, default=self.head.end)
        try:
            # Entries first, then the slot: a slot never points to an entry that is not on the disk
            # yet.
            if start == START:
                write_at(self._file, 0, empty_ledger())
            self._file.truncate(start)  # what one who was killed left of an entry
            write_at(self._file, start, b"".join(line for _, line in self._pending.values()))
            sync(self._file)
            if not self._in_slot:  # a new file, or one whose maker may have been killed
                sync_folder(self.path)
        except OSError:
            self._withdraw(start)
            raise
        self._pending.clear()
        self._write_slot()

    def _write_slot(self) -> None:
        head = self.head
        # Alternating slots: the one that is not written stays valid if this write is cut short.
        place = (head.sequence % 2 + 1) * SECTOR
        try:
            write_at(self._file, place, format_slot(EntryPlace(head.start, head.hash)))
            sync(self._file)
        except OSError as error:
            raise OutputError(
                f"{self.path} cannot be written any more ({error.strerror}); the charge is in it, "
                "but publish nothing before geodp budget check passes.",
                code="ledger-unsure-charged",
            ) from None

    def _withdraw(self, start: int) -> None:
        """Cut off entries that could not be written, of which no caller will hear."""
        try:
            self._file.truncate(0 if start == START else start)
        except OSError as error:
            raise OutputError(
                f"{self.path} cannot be written ({error.strerror}), and it is not known whether "
                "the charge is in it: publish nothing; run geodp budget show once the file can be "
                "used again.",
                code="ledger-unsure",
            ) from None

    def _entry_at(self, start: int) -> LedgerEntry | None:
        """Return the entry that begins at a place, if a whole and intact one does."""
        line = self._line(start)
        recorded, text = line[:_HASH], line[_HASH + 1 :]
        if line[_HASH : _HASH + 1] != b" " or _hash(text).encode() != recorded:
            return None
        with suppress(ValueError, RecursionError):
            content = json.loads(text)
            if isinstance(content, dict) and type(content.get("sequence")) is int:
                end = start + len(line) + 1
                ledger = str(content.get("ledger"))
                head = Head(ledger, content["sequence"], recorded.decode(), start, end)
                return LedgerEntry(head, content)
        return None

    def _line(self, start: int) -> bytes:
        """Return a line without its end; what is behind the last end of a line is none."""
        self._file.seek(start)
        chunks = list[bytes]()
        while chunk := self._file.read(_CHUNK):
            chunks.append(chunk)
            if b"\n" in chunk:
                return b"".join(chunks).partition(b"\n")[0]
        return b""


# A reused file can hold old entries behind the last one; only the next number with the right link
# belongs to this chain.
def _continues(entry: LedgerEntry, before: Head) -> bool:
    same = before == ROOT or entry.head.ledger == before.ledger
    place = (entry.head.sequence, entry.content.get("previous"))
    return same and place == (before.sequence + 1, before.hash)


def _hash(text: bytes) -> str:
    return hashlib.sha256(text).hexdigest()


def _damaged(path: Path) -> VerificationError:
    return VerificationError(f"{path} is damaged; {RESTORE}.", code="ledger-unreadable")


def _explain_os_error(path: Path, error: OSError, write: bool) -> GeodpError:
    """Convert a system error to an error that says what to do."""
    if os.path.isdir(path):
        return no_ledger(path)
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return UsageError(
                f"{path} does not exist; geodp budget init makes a ledger.", code="ledger-missing"
            )
        case errno.EACCES | errno.EPERM | errno.EROFS:
            if write and os.access(path, os.R_OK):
                return OutputError(f"{path} may only be read; {NOTHING}.", code="ledger-read-only")
            return OutputError(
                f"{path} cannot be opened; check who may read it and its folder.",
                code="ledger-not-opened",
            )
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG | errno.EIO:
            return OutputError(
                f"{path} cannot be written, perhaps as the disk is full; {NOTHING}.",
                code="ledger-unwritable",
            )
        case _:
            return OutputError(
                f"{path} cannot be used ({error.strerror}); {NOTHING}.", code="ledger-unusable"
            )
