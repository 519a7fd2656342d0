"""The benchmark of pings makes persons who move, and the document shows what was kept."""

import json

import numpy as np
import pyarrow as pa
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


def test_every_person_is_at_four_places_on_every_day(small):
    rows = pings.make(40_000).read_all()
    assert rows.num_rows == 40_000
    person = rows["id"].to_numpy(zero_copy_only=False)
    names, number = np.unique(person, return_counts=True)
    # Two groups of persons, each in ten blocks.
    assert len(names) == 100
    assert {*map(len, names)} == {10}
    assert (number == 400).all()
    day = rows["t"].cast(pa.int64()).to_numpy() // 86_400
    for name in names[:5]:
        mine = person == name
        assert len(np.unique(day[mine])) >= pings.VISITS
        places = np.round(np.stack([rows["lat"].to_numpy(), rows["lon"].to_numpy()])[:, mine], 2)
        # A rounded place may fall to either side of an edge.
        assert 2 <= len(np.unique(places, axis=1).T) <= 16


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
