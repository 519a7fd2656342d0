"""Links in a series' folder, and the command that verifies one."""

import pytest

from geodp.io.verify import index as of_index
from geodp.kinds.series.series import verify_series
from geodp.kinds.series.smoothing import Smoothing
from tests.command import geodp
from tests.kinds.changing import set_value
from tests.kinds.series.test_publish import publish


def test_a_link_is_no_part_of_a_series(public):
    (public / "2024-02" / "away.txt").symlink_to("/etc/hostname")
    (check,) = verify_series(public)
    assert not check.ok
    assert "link" in check.detail
    assert geodp("verify", public).returncode == 3


@pytest.mark.parametrize("person", ["all", "one"])
def test_an_index_without_snapshots_is_told_in_a_sentence(public, person):
    set_value(public, ("snapshots",), [])
    set_value(public, ("guarantee", "sharing", "person"), person)
    (check,) = verify_series(public)
    assert (check.ok, check.detail) == (False, "The index lists no tables and no periods.")


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """The public folder of a smoothed series whose snapshots state their own share alone."""
    folder = tmp_path_factory.mktemp("earlier") / "out"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Smoothing, "count_seen", lambda *_: 1)
        publish().write(folder)
    return folder / "public"


def details(public):
    return {one.name: one.detail for one in verify_series(public)}


def test_a_series_that_was_made_before_holds_and_what_to_count_is_told(earlier, written):
    assert all(one.ok for one in verify_series(earlier))
    assert "count epsilon = 3 for 2024-01, epsilon = 3 for 2024-02" in details(earlier)["smoothing"]
    assert details(written / "public")["smoothing"] == "both"


def test_a_later_version_states_all_that_its_snapshots_depend_on(earlier, monkeypatch):
    monkeypatch.setattr(of_index, "EARLIER", "0.0.9")
    (failed,) = (one for one in verify_series(earlier) if not one.ok)
    assert (failed.name, failed.detail) == (
        "smoothing",
        "A snapshot depends on another loss than it states.",
    )
