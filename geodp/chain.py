"""The ledger's file: a chain of entries, each bound to all before it, in one SQLite database.

An entry's hash is the SHA-256 of its columns and of the hash before it, so that the latest hash,
the *head*, stands for the whole history. Entries are only ever added.

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
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from geodp.errors import GeodpError, OutputError, UsageError, VerificationError

VERSION = 1
PATIENCE = 60.0
"""Seconds to wait for other processes that write to the ledger."""

KINDS = ("genesis", "dataset", "charge")
_APPLICATION = 0x67656F64  # "geod", in the header of the file
_ROOT = "0" * 64
_RESTORE = "publish nothing before a copy is restored that has the latest release card's head"
_SCHEMA = [
    """CREATE TABLE entry (
    sequence INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    at TEXT NOT NULL,
    previous TEXT NOT NULL UNIQUE,
    hash TEXT NOT NULL UNIQUE
)""",
    """CREATE TABLE genesis (
    sequence INTEGER PRIMARY KEY REFERENCES entry,
    id TEXT NOT NULL,
    version INTEGER NOT NULL
)""",
    """CREATE TABLE dataset (
    sequence INTEGER PRIMARY KEY REFERENCES entry,
    name TEXT NOT NULL UNIQUE,
    cap TEXT NOT NULL,
    unit TEXT NOT NULL,
    neighbours TEXT NOT NULL
)""",
    """CREATE TABLE charge (
    sequence INTEGER PRIMARY KEY REFERENCES entry,
    dataset TEXT NOT NULL REFERENCES dataset (name),
    loss TEXT NOT NULL,
    mechanism TEXT NOT NULL,
    neighbours TEXT NOT NULL,
    contribution INTEGER NOT NULL,
    fingerprint TEXT NOT NULL,
    details TEXT NOT NULL,
    UNIQUE (dataset, fingerprint)
)""",
    *(
        f"CREATE TRIGGER {table}_{verb.lower()} BEFORE {verb} ON {table} "
        "BEGIN SELECT RAISE(ABORT, 'entries of a ledger are never changed'); END"
        for table in ("entry", *KINDS)
        for verb in ("UPDATE", "DELETE")
    ),
]


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a verified chain.

    Attributes
    ----------
    ledger : str
        Random id of the ledger, from its genesis.
    sequence : int
        Number of the last entry; the genesis is 0.
    hash : str
        Of the last entry: 64 hexadecimal digits.
    """

    ledger: str
    sequence: int
    hash: str


def canonical(value: Any) -> str:
    """The one JSON text of a plain value: keys sorted, no spaces."""
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    )


class Chain:
    """The file of a ledger. It holds no connection, so threads and forks may share it.

    Attributes
    ----------
    path : Path
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).absolute()
        self._seen: Head | None = None

    @classmethod
    def create(cls, path: str | Path) -> Chain:
        """Write the schema and the genesis into a file that is absent or empty."""
        chain = cls(path)
        with chain.transaction("BEGIN IMMEDIATE", verified=False, new=True) as db:
            for statement in _SCHEMA:
                db.execute(statement)
            db.execute(f"PRAGMA application_id = {_APPLICATION}")
            db.execute(f"PRAGMA user_version = {VERSION}")
            append(db, "genesis", {"id": secrets.token_hex(16), "version": VERSION})
        return chain

    @contextmanager
    def transaction(
        self, begin: str, *, verified: bool = True, new: bool = False
    ) -> Iterator[sqlite3.Connection]:
        """All or nothing, on disk when the block has ended.

        Parameters
        ----------
        begin : {"BEGIN", "BEGIN IMMEDIATE"}
            One state of the file to read from; or the only right to write.
        verified : bool
            Verify the entries that this object has not verified before.
        new : bool
            The file is to be absent or empty.
        """
        try:
            with closing(self._begin(begin, new)) as db:
                if verified:
                    self._seen = walk(db, self._seen)
                yield db
                db.execute("COMMIT")
        except sqlite3.Error as error:
            raise _sentence(self.path, error) from None
        except UnicodeDecodeError:  # of a statement or a text inside the file
            raise VerificationError(f"The ledger's file is damaged; {_RESTORE}.") from None

    def check(self, head: str | None) -> Head:
        """Verify schema, pages, references and the whole chain, and that ``head`` is in it."""
        with self.transaction("BEGIN", verified=False) as db:
            with closing(sqlite3.connect(":memory:")) as fresh:
                for statement in _SCHEMA:
                    fresh.execute(statement)
                if _statements(fresh) != _statements(db):
                    raise VerificationError("The tables of the ledger are not those geodp made.")
            damaged = db.execute("PRAGMA integrity_check").fetchone()[0] != "ok"
            if damaged or db.execute("PRAGMA foreign_key_check").fetchone():
                raise VerificationError(f"The ledger's file is damaged; {_RESTORE}.")
            end = walk(db, None)
            rows = sum(db.execute(f"SELECT count(*) FROM {kind}").fetchone()[0] for kind in KINDS)
            if rows != end.sequence + 1:
                raise VerificationError("The ledger has rows outside of its chain.")
            known = db.execute("SELECT 1 FROM entry WHERE hash = ?", [head]).fetchone()
            if head is not None and not known:
                raise VerificationError(
                    "The noted head is not in this ledger: it is another ledger, an older copy, or "
                    "a copy that was charged separately."
                )
        return end

    def _begin(self, begin: str, new: bool) -> sqlite3.Connection:
        """A connection inside a transaction, after waiting for others if need be."""
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
    db = sqlite3.connect(
        f"{path.as_uri()}?mode={mode}", uri=True, timeout=PATIENCE, isolation_level=None
    )
    try:
        _recognise(db, path, new)
        for pragma in ("synchronous = FULL", "fullfsync = ON", "foreign_keys = ON"):
            db.execute(f"PRAGMA {pragma}")
        db.execute("PRAGMA trusted_schema = OFF")
        db.execute("PRAGMA wal_autocheckpoint = 0")
        if begin == "BEGIN IMMEDIATE":
            db.execute("PRAGMA journal_mode = WAL")
        db.execute(begin)
        _recognise(db, path, new)
    except BaseException:
        db.close()
        raise
    return db


def _recognise(db: sqlite3.Connection, path: Path, new: bool) -> None:
    """Refuse a file that is not what is expected, before anything in it is touched."""
    application = db.execute("PRAGMA application_id").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if new:
        if application or db.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise UsageError(f"{path} exists; a ledger is never overwritten.")
    elif application != _APPLICATION:
        raise UsageError(f"{path} is not a ledger; geodp budget init makes one.")
    elif version != VERSION:
        raise UsageError(
            f"{path} is a ledger of version {version}, and this geodp reads version {VERSION}; "
            "use the geodp that wrote it, or a newer one."
        )


def _statements(db: sqlite3.Connection) -> list[tuple[str, str]]:
    return db.execute(
        "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
    ).fetchall()


def entries(db: sqlite3.Connection, first: int = 0) -> Iterator[tuple[dict[str, Any], str]]:
    """Content and stated hash of every entry from number ``first`` on."""
    chain = db.execute("SELECT * FROM entry WHERE sequence >= ? ORDER BY sequence", [first])
    for sequence, kind, at, previous, stated in chain.fetchall():
        content = {"sequence": sequence, "kind": kind, "at": at, "previous": previous}
        if kind in KINDS:
            columns = db.execute(f"SELECT * FROM {kind} WHERE sequence = ?", [sequence])
            names = [column[0] for column in columns.description]
            for row in columns.fetchall():
                content |= zip(names, row, strict=True)
        yield content, stated


def walk(db: sqlite3.Connection, seen: Head | None) -> Head:
    """Verify the chain from its beginning, or on from a head that was verified before."""
    ledger, sequence, head = "", -1, _ROOT
    if seen is not None:
        ledger, sequence, head = seen.ledger, seen.sequence, seen.hash
        known = db.execute("SELECT hash FROM entry WHERE sequence = ?", [sequence]).fetchone()
        if known != (head,):
            raise VerificationError(
                "The ledger's file was replaced by another one, or cut back, while it was in use."
            )
    for content, stated in entries(db, sequence + 1):
        sequence += 1
        place = (content["sequence"], content["previous"])
        if place != (sequence, head) or _digest(content) != stated:
            raise VerificationError(
                f"The ledger's chain is broken at entry {sequence}: something else than geodp "
                f"changed it; {_RESTORE}."
            )
        ledger, head = content.get("id", ledger), stated
    if sequence < 0:
        raise VerificationError(f"The ledger has lost its entries; {_RESTORE}.")
    return Head(ledger, sequence, head)


def append(db: sqlite3.Connection, kind: str, columns: dict[str, Any]) -> None:
    """Add an entry of a kind with its columns at the end of the chain."""
    last = db.execute("SELECT sequence, hash FROM entry ORDER BY sequence DESC LIMIT 1").fetchone()
    sequence, previous = (0, _ROOT) if last is None else (last[0] + 1, last[1])
    at = datetime.now(UTC).isoformat(timespec="seconds")
    content = {"sequence": sequence, "kind": kind, "at": at, "previous": previous, **columns}
    row = [sequence, kind, at, previous, _digest(content)]
    db.execute("INSERT INTO entry VALUES (?, ?, ?, ?, ?)", row)
    names, marks = ", ".join(columns), ", ".join("?" * len(columns))
    db.execute(
        f"INSERT INTO {kind} (sequence, {names}) VALUES (?, {marks})",
        [sequence, *columns.values()],
    )


def _digest(content: dict[str, Any]) -> str | None:
    """The hash of an entry; None if some column holds what geodp never writes."""
    try:
        return hashlib.sha256(canonical(content).encode()).hexdigest()
    except (TypeError, ValueError):
        return None


def _code(error: sqlite3.Error) -> int | None:
    """SQLite's primary result code, if the error came from there."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _sentence(path: Path, error: sqlite3.Error) -> GeodpError:
    """What a database error means for the person who meets it."""
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
            return VerificationError(f"{path} is damaged; {_RESTORE}.")
