"""The ledger's file while others use it, and what each of SQLite's errors means."""

import re
import sqlite3

import pytest

from geodp.errors import OutputError, UsageError, VerificationError
from geodp.privacy import hash_chain
from geodp.privacy.ledger import Ledger
from tests.ledgers import charge, small_ledger


@pytest.fixture
def ledger(tmp_path):
    return small_ledger(tmp_path)


def failing(monkeypatch, code, times):
    """Connections that fail so often, as SQLite does while the last user closes the file."""
    whole, tries = hash_chain._connection, []

    def connection(*arguments):
        tries.append(arguments)
        if len(tries) <= times:
            error = sqlite3.OperationalError("no")
            if code is not None:
                error.sqlite_errorcode = code
            raise error
        return whole(*arguments)

    monkeypatch.setattr(hash_chain, "_connection", connection)
    return tries


@pytest.mark.parametrize("code", [sqlite3.SQLITE_BUSY, sqlite3.SQLITE_PROTOCOL])
def test_a_file_that_is_being_closed_is_tried_again_for_a_while(ledger, monkeypatch, code):
    tries = failing(monkeypatch, code, 3)
    assert not charge(ledger).replay
    assert [mode for _, mode, _, _ in tries] == ["rw"] * 4
    monkeypatch.setattr(hash_chain, "PATIENCE", 0.05)
    tries = failing(monkeypatch, code, 10**9)
    with pytest.raises(OutputError, match="in use by others"):
        charge(ledger, number=1)
    assert len(tries) >= 2


CODES = [sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY]


@pytest.mark.parametrize("code", [*CODES, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY])
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("write", [False, True])
def test_a_file_is_read_as_it_is_only_where_nobody_may_write(ledger, monkeypatch, code, log, write):
    """Without a log beside it and for reading: then it is complete."""
    monkeypatch.setattr(hash_chain, "PATIENCE", 0.05)
    if log:
        ledger.path.with_name(f"{ledger.path.name}-wal").touch()
    tries = failing(monkeypatch, code, 1 if code in CODES else 10**9)
    use = charge if write else Ledger.accounts
    if code in CODES and not (log or write):
        assert [account.name for account in use(ledger)] == ["census"]
        assert [mode for _, mode, _, _ in tries] == ["rw", "ro&immutable=1"]
    else:
        with pytest.raises(OutputError):
            use(ledger)
        assert {mode for _, mode, _, _ in tries} == {"rw"}
        assert len(tries) == 1 or code == sqlite3.SQLITE_BUSY


@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        (sqlite3.SQLITE_FULL, OutputError, "disk is full; nothing was charged"),
        (sqlite3.SQLITE_IOERR, OutputError, "disk is full; nothing was charged"),
        (sqlite3.SQLITE_READONLY, OutputError, "may only be read; nothing was charged"),
        (sqlite3.SQLITE_PERM, OutputError, "may only be read; nothing was charged"),
        (sqlite3.SQLITE_BUSY, OutputError, "in use by others for 0 seconds; nothing was charged"),
        (sqlite3.SQLITE_PROTOCOL, OutputError, "in use by others for 0 seconds"),
        (sqlite3.SQLITE_LOCKED, OutputError, "in use by others for 0 seconds"),
        (sqlite3.SQLITE_CANTOPEN, OutputError, "check who may read it"),
        (sqlite3.SQLITE_NOTADB, UsageError, "is not a ledger"),
        (sqlite3.SQLITE_CORRUPT, VerificationError, "is damaged; publish nothing"),
        (sqlite3.SQLITE_FULL | 3 << 8, OutputError, "disk is full"),
        (None, VerificationError, "is damaged"),
    ],
)
def test_every_error_of_the_file_is_a_sentence(ledger, monkeypatch, code, error, words):
    monkeypatch.setattr(hash_chain, "PATIENCE", 0.01)
    failing(monkeypatch, code, 10**9)
    with pytest.raises(error, match=words) as caught:
        charge(ledger)
    assert str(caught.value).startswith(str(ledger.path))
    assert str(caught.value).endswith(".")
    if "nothing was charged" in str(caught.value):
        assert re.search(r"nothing was charged, so publish nothing\b", str(caught.value))


def test_the_file_says_what_it_is(ledger):
    assert ledger.path.read_bytes()[68:72] == b"geod"
