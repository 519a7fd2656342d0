"""What each error of the system means for the person who meets it."""

import errno
import os
import re

import pytest

from geodp.errors import OutputError, UsageError
from geodp.privacy import hash_chain
from geodp.privacy.chain import locked_file
from geodp.privacy.ledger import Ledger
from tests.ledgers import charge


@pytest.mark.parametrize(
    ("code", "error", "words"),
    [
        (errno.ENOSPC, OutputError, "disk is full; nothing was charged"),
        (errno.EFBIG, OutputError, "disk is full; nothing was charged"),
        (errno.EDQUOT, OutputError, "disk is full; nothing was charged"),
        (errno.EIO, OutputError, "disk is full; nothing was charged"),
        (errno.EACCES, OutputError, "may only be read; nothing was charged"),
        (errno.EPERM, OutputError, "may only be read; nothing was charged"),
        (errno.EROFS, OutputError, "may only be read; nothing was charged"),
        (errno.ENOENT, UsageError, "does not exist; geodp budget init makes a ledger"),
        (errno.ENOTDIR, UsageError, "does not exist; geodp budget init makes a ledger"),
        (
            errno.EMFILE,
            OutputError,
            rf"cannot be used \({os.strerror(errno.EMFILE)}\); nothing was charged",
        ),
    ],
)
def test_every_error_of_the_file_is_a_sentence(ledger, monkeypatch, code, error, words):
    def opened(*arguments, **options):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(hash_chain, "open_locked", opened)
    with pytest.raises(error, match=words) as caught:
        charge(ledger)
    assert str(caught.value).startswith(str(ledger.path))
    assert str(caught.value).endswith(".")
    if "nothing was charged" in str(caught.value):
        assert re.search(r"nothing was charged, so publish nothing\b", str(caught.value))


@pytest.mark.skipif(locked_file.fcntl is None, reason="locks on files themselves are of POSIX")
def test_a_name_that_no_file_can_have_is_refused_in_a_sentence(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("loop", "x" * 300):
        for use in (Ledger.open, Ledger.create):
            with pytest.raises(OutputError, match="cannot be used"):
                use(tmp_path / name)


def test_who_may_not_read_is_told_so(ledger, monkeypatch):
    def opened(*arguments, **options):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(hash_chain, "open_locked", opened)
    with pytest.raises(OutputError, match="check who may read it"):
        Ledger.accounts(ledger)


def test_the_file_says_what_it_is(ledger):
    assert ledger.path.read_bytes().startswith(b"geodp ledger 3\n")


def test_details_that_json_cannot_hold_are_refused(ledger):
    nested: list = []
    for _ in range(100_000):
        nested = [nested]
    for value in (nested, object(), float("nan"), "\udc80"):
        with pytest.raises(UsageError, match="details must be plain values"):
            charge(ledger, details={"x": value})
    assert ledger.check().sequence == 1
