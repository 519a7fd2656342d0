"""The notice of a withdrawal, as a file of somebody else's."""

import warnings

import pytest

from geodp.errors import UsageError, VerificationError
from geodp.io.verify.card import (
    notice_of,
    seal_of,
    warn_if_withdrawn,
)
from geodp.table.card import NOTICE_SCHEMA, Withdrawal


def test_a_notice_says_a_day_and_a_reason_of_one_line():
    Withdrawal(NOTICE_SCHEMA, "id", "digest", "2026-01-31", "Counted twice.")
    for day, reason in (("today", "a"), ("2026-01-31", " "), ("2026-01-31", "a\x1b[2J")):
        with pytest.raises(UsageError):
            Withdrawal(NOTICE_SCHEMA, "id", "digest", day, reason)
    with pytest.raises(VerificationError):
        Withdrawal("another", "id", "digest", "2026-01-31", "a")


def test_a_folder_of_another_name_has_no_notice(tmp_path):
    assert notice_of(tmp_path / "public") == tmp_path / "WITHDRAWN.json"
    assert notice_of(tmp_path / "copy") is None
    (tmp_path / "WITHDRAWN.json").write_text("{}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_withdrawn(tmp_path / "copy")


def test_a_snapshot_has_the_notice_of_its_series(tmp_path):
    public = tmp_path / "public"
    (public / "2024").mkdir(parents=True)
    assert notice_of(public / "2024") is None
    (public / "series.json").write_text("{}")
    assert notice_of(public / "2024") == notice_of(public) == tmp_path / "WITHDRAWN.json"
    assert seal_of(public / "2024") == seal_of(public) == public / "series.json"
    (public / "release.json").write_text("{}")
    assert seal_of(public) == public / "release.json"
