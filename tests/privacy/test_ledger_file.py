"""What each error of the system means for the person who meets it."""

import errno
import os
import re

import pytest

from geodp.errors import OutputError, UsageError
from geodp.privacy import hash_chain, locked_file
from geodp.privacy.ledger import Ledger
from tests.ledgers import charge
from tests.refusals import refuses


@pytest.mark.parametrize(
    ("code", "error", "rule"),
    [
        (errno.ENOSPC, OutputError, "ledger-unwritable"),
        (errno.EFBIG, OutputError, "ledger-unwritable"),
        (errno.EDQUOT, OutputError, "ledger-unwritable"),
        (errno.EIO, OutputError, "ledger-unwritable"),
        (errno.EACCES, OutputError, "ledger-read-only"),
        (errno.EPERM, OutputError, "ledger-read-only"),
        (errno.EROFS, OutputError, "ledger-read-only"),
        (errno.ENOENT, UsageError, "ledger-missing: geodp budget init"),
        (errno.ENOTDIR, UsageError, "ledger-missing: geodp budget init"),
        (
            errno.EMFILE,
            OutputError,
            rf"ledger-unusable: \({os.strerror(errno.EMFILE)}\)",
        ),
    ],
)
def test_every_error_of_the_file_is_a_sentence(ledger, monkeypatch, code, error, rule):
    def opened(*arguments, **options):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(hash_chain, "open_locked", opened)
    with refuses(error, rule) as caught:
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
            with refuses(OutputError, "ledger-unusable"):
                use(tmp_path / name)


def test_who_may_not_read_is_told_so(ledger, monkeypatch):
    def opened(*arguments, **options):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(hash_chain, "open_locked", opened)
    with refuses(OutputError, "ledger-not-opened"):
        Ledger.accounts(ledger)


def test_the_file_says_what_it_is(ledger):
    assert ledger.path.read_bytes().startswith(b"geodp ledger 3\n")


def test_details_that_json_cannot_hold_are_refused(ledger):
    nested: list = []
    for _ in range(100_000):
        nested = [nested]
    for value in (nested, object(), float("nan"), "\udc80"):
        with refuses(UsageError, "details-not-plain"):
            charge(ledger, details={"x": value})
    assert ledger.check().sequence == 1
