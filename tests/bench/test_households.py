"""The benchmark of persons and households: every method, on a small map, and the kept figures."""

import json

import numpy as np
import pytest

from bench.suites import households
from tests.bench.coverage import holds
from tests.kinds.households.test_publish import sizes_on

pytestmark = pytest.mark.law

FOUND = json.loads(households.SAVED.read_text(encoding="utf-8"))


def test_every_method_is_measured(monkeypatch):
    monkeypatch.setattr(households, "SIDES", (1, 4))
    monkeypatch.setattr(households, "MEAN_HOUSEHOLDS", 20)
    monkeypatch.setattr(households, "REGION_SIDES", (1, 2))
    monkeypatch.setattr(households, "REGIONS", 5)
    monkeypatch.setattr(households, "FULL", ((7, 0.95),))
    monkeypatch.setattr(households, "load_households", lambda folder: sizes_on(scale=30))
    found = households.measure(None, epsilon=(1,), trials=2)
    assert [(row["protected"], row["method"]) for row in found["rows"]] == [*households.METHODS]
    assert all(row["persons"][0] > 0 for row in found["rows"])
    possible = [row["impossible"] == [0] for row in found["rows"]]
    assert possible == ["two" not in n and "truncated" not in n for _, n in households.METHODS]
    assert len(found["coverage"]) == 2 * len(households.RELEASED)
    assert [row["map"] for row in found["full"]] == [*households.FULL_MAPS]
    assert "below 50" in households.show(found)


def rows(protected, method):
    return [
        row for row in FOUND["rows"] if (row["protected"], row["method"]) == (protected, method)
    ]


def test_the_committed_figures_show_what_is_claimed():
    """Errors beside two releases, and no impossible cell."""
    two = rows("person", "two releases, half of the budget each")
    for ours, theirs in zip(rows("person", "geodp.households"), two, strict=True):
        assert ours["impossible"] == [0] < theirs["impossible"]
        assert max(np.divide(ours["persons"], theirs["persons"])) < 0.87
        assert max(np.divide(ours["households"], theirs["households"])) < 0.62
        assert ours["mean size"][0] < 0.4 * theirs["mean size"][0]


def test_usual_intervals_hold_in_classes_that_follow_from_the_release():
    for row in FOUND["coverage"]:
        for name, known in (("persons", 1), ("households", 1), ("mean size", row["estimable"])):
            assert not known or holds(row[name], row["squares"] * known), (name, row)


def test_worst_case_intervals_hold_lone_households_and_usual_ones_dense_ones():
    """Where a cell has as many persons as its households can have, nearly."""
    for row in FOUND["full"]:
        assert holds(row["estimate, worst case"], row["intervals"]), row
        assert row["map"] == "lone" or holds(row["estimate"], row["intervals"]), row
