"""The benchmark of pings makes persons who move, and the document shows what was kept."""

import json

import pytest

pytest.importorskip("bench", reason="the benchmarks are no part of the wheel")
from bench.suites import pings

pytestmark = pytest.mark.law


@pytest.fixture
def small(monkeypatch):
    """Blocks of 2,000 pings, of 50 persons each."""
    monkeypatch.setattr(pings, "BLOCK", 2000)
    monkeypatch.setattr(pings, "PERSONS", 50)


def test_all_sizes_were_measured():
    kept = json.loads(pings.SAVED.read_text(encoding="utf-8"))
    assert {row["pings"] for row in kept["rows"]} == {*pings.SIZES}
    assert all("problem" not in row for row in kept["rows"])


def test_both_readers_read_the_pings(small, tmp_path):
    task = {"pings": 20_000, "memory": "1GiB", "scratch": str(tmp_path)}
    trips, points = (pings._child({**task, "reader": reader}) for reader in pings.READERS)
    assert trips["trips"] > 50
    assert trips["spilled_bytes"] == 0
    assert "trips" not in points
    assert all(row["read_seconds"] > 0 for row in (trips, points))


def test_pings_that_do_not_fit_into_memory_are_counted_as_spilled(small, tmp_path):
    task = {"pings": 40_000, "memory": "1MiB", "scratch": str(tmp_path), "reader": "read_pings"}
    # Five columns of 4 to 8 bytes and an id of ten characters.
    assert pings._child(task)["spilled_bytes"] > 30 * 40_000
