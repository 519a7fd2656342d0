import os
import warnings

import pytest

from geodp.errors import AccessWarning
from geodp.privacy.key import has_owners, read_key, warn_access_unchecked, write_key

KEY = bytes(37 * n * n % 256 for n in range(32))


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="owners and permission bits of POSIX")
def test_where_bits_are_looked_at_nothing_is_said(tmp_path):
    assert has_owners()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_access_unchecked(tmp_path)


def test_a_system_without_owners_is_said_and_reads_a_key_that_is_open_to_others(
    tmp_path, monkeypatch
):
    monkeypatch.delattr(os, "geteuid", raising=False)
    write_key(tmp_path / "key", KEY)
    (tmp_path / "key").chmod(0o644)
    with pytest.warns(AccessWarning, match="Access to .*key is not checked"):
        assert read_key(tmp_path / "key") == KEY
