"""The ledger's file: a chain of entries, each bound to all before it, in one SQLite database.

An entry is one JSON text that holds the hash of the entry before it; its own hash is the SHA-256 of
that text, so that the latest hash, the *head*, stands for the whole history. Entries are only ever
added. Beside the chain the file keeps two tables that can be made anew from it: the present state
of every account, bound by a digest that each entry holds, and where each release's charge is.

Every transaction opens and closes the file. The last to close it folds the write-ahead log back
in, so a ledger that nobody uses is one complete file; and because that is the only moment at which
the log is folded in, SQLite's rare WAL-reset fault (before 3.51.3), which needs a second user at
that moment, cannot occur.
"""

from __future__ import annotations

import hashlib
import json
import random
import secrets
import sqlite3
import time
from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from geodp.errors import GeodpError, OutputError, UsageError, VerificationError

VERSION = 2
PATIENCE = 60.0
"""Seconds to wait for other processes that write to the ledger."""

_APPLICATION = 0x67656F64  # "geod", in the header of the file
RESTORE = "publish nothing before a copy is restored that has the latest release card's head"
_SCHEMA = [
    """CREATE TABLE entry (
    sequence INTEGER PRIMARY KEY,
    content TEXT NOT NULL,
    hash TEXT NOT NULL
)""",
    """CREATE TABLE account (
    number INTEGER PRIMARY KEY,
    state TEXT NOT NULL
)""",
    """CREATE TABLE release (
    dataset TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    PRIMARY KEY (dataset, fingerprint)
) WITHOUT ROWID""",
    *(
        f"CREATE TRIGGER {table}_{verb.lower()} BEFORE {verb} ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'entries of a ledger are never changed'); END"
        for table in ("entry", "release")
        for verb in ("UPDATE", "DELETE")
    ),
]


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
        Of the last entry: 64 hexadecimal digits.
    """

    ledger: str
    sequence: int
    hash: str


def canonical(value: Any) -> str:
    """Return the one JSON text of a plain value: keys sorted, no spaces."""
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    )


ROOT = Head("", -1, "0" * 64)
"""Where a chain begins, before its first entry."""


class Chain:
    """The file of a ledger. It holds no connection, so threads and forks may share it.

    Attributes
    ----------
    path : Path
        Absolute, without symbolic links: locks and logs of all users go by the same name.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).resolve()

    @contextmanager
    def transaction(self, begin: str, *, new: bool = False) -> Iterator[sqlite3.Connection]:
        """All or nothing, on disk when the block has ended.

        Parameters
        ----------
        begin : {"BEGIN", "BEGIN IMMEDIATE"}
            One state of the file to read from; or the only right to write.
        new : bool
            The file is to be absent or empty, and gets its tables.
        """
        try:
            with closing(self._begin(begin, new)) as db:
                if new:
                    for statement in _SCHEMA:
                        db.execute(statement)
                    db.execute(f"PRAGMA application_id = {_APPLICATION}")
                    db.execute(f"PRAGMA user_version = {VERSION}")
                yield db
                db.execute("COMMIT")
        except sqlite3.Error as error:
            raise _sentence(self.path, error) from None
        except UnicodeDecodeError:  # of a statement or a text inside the file
            raise VerificationError(f"The ledger's file is damaged; {RESTORE}.") from None

    def _begin(self, begin: str, new: bool) -> sqlite3.Connection:
        """Open a connection inside a transaction, after waiting for others if need be."""
        deadline = time.monotonic() + PATIENCE
        mode = "rwc" if new else "rw"
        while True:
            try:
                return _connection(self.path, mode, begin, new)
            except sqlite3.OperationalError as error:
                # A reader who may not write beside the file cannot join the write-ahead log; where
                # there is none, the file alone is complete.
                barred = _code(error) in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
                alone = self.path.exists() and not Path(f"{self.path}-wal").exists()
                if barred and alone and mode == "rw" and begin == "BEGIN":
                    mode = "ro&immutable=1"
                    continue
                # While the last user closes the file, SQLite may not wait but say so at once.
                busy = _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_PROTOCOL)
                if not busy or time.monotonic() > deadline:
                    raise
                time.sleep(random.uniform(0.001, 0.02))


def _connection(path: Path, mode: str, begin: str, new: bool) -> sqlite3.Connection:
    _require_one_name(path)
    db = sqlite3.connect(
        f"{path.as_uri()}?mode={mode}", uri=True, timeout=PATIENCE, isolation_level=None
    )
    try:
        _recognise(db, path, new)
        for pragma in ("synchronous = FULL", "fullfsync = ON", "trusted_schema = OFF"):
            db.execute(f"PRAGMA {pragma}")
        db.execute("PRAGMA wal_autocheckpoint = 0")
        if begin == "BEGIN IMMEDIATE":
            db.execute("PRAGMA journal_mode = WAL")
        db.execute(begin)
        _require_one_name(path)
        _recognise(db, path, new)
    except BaseException:
        db.close()
        raise
    return db


def _require_one_name(path: Path) -> None:
    """Refuse a file with hard links: SQLite's locks and logs go by name, and would be two."""
    with suppress(OSError):  # absent, or SQLite will say what is wrong
        if not path.is_dir() and path.stat().st_nlink > 1:
            raise UsageError(
                f"{path} has another name (a hard link), under which it could be charged at the "
                "same time unseen; remove that name, or make a copy and keep that one alone."
            )


def _recognise(db: sqlite3.Connection, path: Path, new: bool) -> None:
    """Refuse a file that is not what is expected, before anything in it is touched."""
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if new:
        if application or db.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise UsageError(f"{path} exists; a ledger is never overwritten.")
    elif application != _APPLICATION:
        raise UsageError(f"{path} is not a ledger; geodp budget init makes one.")
    elif version > VERSION:
        raise UsageError(
            f"{path} is a ledger of version {version}, and this geodp reads version {VERSION}; "
            "use the geodp that wrote it, or a newer one."
        )
    elif version < VERSION:
        raise UsageError(
            f"{path} is a ledger of version {version}, and this geodp keeps version {VERSION}; "
            "begin a new one whose caps are what remains by the geodp that wrote it."
        )


def verify_file(db: sqlite3.Connection) -> None:
    """Verify tables, triggers, pages and indices."""
    with closing(sqlite3.connect(":memory:")) as fresh:
        for statement in _SCHEMA:
            fresh.execute(statement)
        if _statements(fresh) != _statements(db):
            raise VerificationError("The tables of the ledger are not those geodp made.")
    if db.execute("PRAGMA integrity_check").fetchone() != ("ok",):
        raise VerificationError(f"The ledger's file is damaged; {RESTORE}.")


def _statements(db: sqlite3.Connection) -> list[tuple[str, str]]:
    return db.execute(
        "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
    ).fetchall()


@dataclass(frozen=True, slots=True)
class Entry:
    """A verified entry: the head right after it, and what it says."""

    head: Head
    content: dict[str, Any]


def texts(db: sqlite3.Connection, after: int) -> Iterator[tuple[int, str, str]]:
    """Return number, text and stated hash of all entries after a number, as the file has them."""
    yield from db.execute(
        "SELECT sequence, content, hash FROM entry WHERE sequence > ? ORDER BY sequence", [after]
    )


def follow(db: sqlite3.Connection, after: Head = ROOT) -> Iterator[Entry]:
    """Verify the entries after a place in the chain, one by one: number, link, hash, ledger."""
    ledger, sequence, previous = after.ledger, after.sequence, after.hash
    for number, text, stated in texts(db, after.sequence):
        sequence += 1
        content = _intact(text, stated)
        ledger = ledger or str(content.get("ledger"))
        place = (content.get("ledger"), content.get("sequence"), content.get("previous"))
        if number != sequence or place != (ledger, sequence, previous):
            raise VerificationError(
                f"The ledger's chain is broken at entry {sequence}: something else than geodp "
                f"changed it; {RESTORE}."
            )
        previous = stated
        yield Entry(Head(ledger, sequence, stated), content)


def recent(db: sqlite3.Connection, seen: Head | None) -> Entry:
    """Return the last entry, verified with the one before, or with all since one seen before."""
    (last,) = db.execute("SELECT max(sequence) FROM entry").fetchone()
    if not isinstance(last, int):
        raise VerificationError(f"The ledger has lost its entries; {RESTORE}.")
    if seen is not None and _state(db, seen.sequence) != seen.hash:
        raise VerificationError(
            "The ledger's file was replaced by another one, or cut back, while it was in use."
        )
    first = last if seen is None else min(seen.sequence, last)
    for entry in deque(follow(db, _before(db, first)), maxlen=1):
        return entry
    raise VerificationError(f"The ledger's file is damaged; {RESTORE}.")


def find(db: sqlite3.Connection, sequence: int) -> Entry | None:
    """Return an entry, if it is there, verified with its links to those before and after."""
    following = follow(db, _before(db, sequence))
    found = next(following, None)
    next(following, None)
    return found


def _before(db: sqlite3.Connection, sequence: int) -> Head:
    """Return the place before an entry, as the file states it."""
    return ROOT if sequence <= 0 else Head("", sequence - 1, str(_state(db, sequence - 1)))


def _state(db: sqlite3.Connection, sequence: int) -> str | None:
    where = "WHERE sequence = ?"
    (stated,) = db.execute(f"SELECT max(hash) FROM entry {where}", [sequence]).fetchone()
    return stated if isinstance(stated, str) else None


def append(db: sqlite3.Connection, after: Head, columns: dict[str, Any]) -> Entry:
    """Add an entry at the end of the chain, which ``after`` is."""
    content = {
        **columns,
        "ledger": after.ledger or secrets.token_hex(16),
        "sequence": after.sequence + 1,
        "previous": after.hash,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    text = canonical(content)
    entry = Entry(Head(content["ledger"], content["sequence"], _hash(text)), content)
    row = [entry.head.sequence, text, entry.head.hash]
    db.execute("INSERT INTO entry VALUES (?, ?, ?)", row)
    return entry


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _intact(text: object, stated: object) -> dict[str, Any]:
    """Return what an entry's text says if it has its hash; nothing otherwise."""
    if isinstance(text, str) and _hash(text) == stated:
        with suppress(ValueError, RecursionError):
            content = json.loads(text)
            return content if isinstance(content, dict) else {}
    return {}


def _code(error: sqlite3.Error) -> int | None:
    """SQLite's primary result code, if the error came from there."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _sentence(path: Path, error: sqlite3.Error) -> GeodpError:
    """Return what a database error means for the person who meets it."""
    nothing = "nothing was charged, so publish nothing"
    code = sqlite3.SQLITE_NOTADB if path.is_dir() else _code(error)
    match code:
        case sqlite3.SQLITE_FULL | sqlite3.SQLITE_IOERR:
            return OutputError(f"{path} cannot be written, perhaps as the disk is full; {nothing}.")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM:
            return OutputError(f"{path} may only be read; {nothing}.")
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_PROTOCOL | sqlite3.SQLITE_LOCKED:
            return OutputError(
                f"{path} has been in use by others for {PATIENCE:.0f} seconds; {nothing}, and try "
                "again."
            )
        case sqlite3.SQLITE_CANTOPEN:
            if path.exists():
                return OutputError(
                    f"{path} cannot be opened; check who may read it and its folder."
                )
            return UsageError(f"{path} does not exist; geodp budget init makes a ledger.")
        case sqlite3.SQLITE_NOTADB:
            return UsageError(f"{path} is not a ledger; geodp budget init makes one.")
        case _:
            return VerificationError(f"{path} is damaged; {RESTORE}.")
