"""The benchmark of amounts: every method, on a small map, and the kept figures."""

import json

import numpy as np
import pytest

import geodp
from bench.suites import amounts
from tests.bench.coverage import holds
from tests.kinds.households.test_publish import two_tables

pytestmark = pytest.mark.law

FOUND = json.loads(amounts.SAVED.read_text(encoding="utf-8"))


def people(_name, _folder):
    """Some hundred people in a third of the cells of a small map."""
    persons = two_tables()[0]
    return geodp.CountTable.from_keys(persons.grid, persons.key, 9 * persons.count)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(amounts, "load", people)
    monkeypatch.setattr(amounts, "SIDES", {"cell": 1, "1 km": 2, "4 km": 4, "8 km": 8})
    monkeypatch.setattr(amounts, "AREAS", 3)
    monkeypatch.setattr(amounts, "POLYGONS", {"discs of 50": 3})
    monkeypatch.setattr(amounts, "REGION_SIDES", (1, 2, 4))
    monkeypatch.setattr(amounts, "REGIONS", 5)
    monkeypatch.setattr(amounts, "RELEASES", 5)
    monkeypatch.setattr(amounts, "WINDOW", (slice(0, 128), slice(0, 128)))


def test_every_method_is_measured(small):
    found = amounts.measure(None, epsilon=(1,), trials=2)
    assert [row["areas"] for row in found["means"]] == [*amounts.MEANS]
    assert {*amounts.METHODS} <= {*found["means"][0]}
    assert [row["areas"] for row in found["medians"]] == [*amounts.MEDIANS]
    assert [row["release"] for row in found["cost"]] == 2 * [
        "a map of counts", "sums and means", "12 classes",
    ]  # fmt: skip
    assert "below 50" in amounts.show(found)
    maps = [name for name, *_ in amounts.list_alone()]
    assert [row["map"] for row in found["alone"]] == maps
    assert {row["squares"] for row in found["differences"]} == {"neighbours", "apart"}
    assert [row["share of sums"] for row in found["shares"]] == [*amounts.SHARES]


def test_usual_intervals_hold_in_classes_that_follow_from_the_release():
    budgets = {row["epsilon"] for row in FOUND["coverage"]}
    assert budgets == {*map(str, (*amounts.EPSILONS, *amounts.LARGE))}
    for row in (*FOUND["coverage"], *FOUND["differences"]):
        # Of differences, squares say where they lie.
        number = row.get("pairs") or row["squares"]
        for name in amounts.NAMES:
            known = row.get(f"{name}s known", 1.0)
            assert not known or holds(row[name], number * known), (name, row)


def test_worst_case_intervals_hold_records_that_live_alone():
    """An interval that is not known is all of the clip, and holds."""
    for row in FOUND["alone"]:
        for name in amounts.NAMES:
            known = row.get(f"{name}s known, worst case", 1.0)
            share = 1 - known * (1 - (row[f"{name}, worst case"] or 0.0))
            assert holds(share, row["intervals"]), (name, row)


def test_methods_without_noise_give_the_truth():
    truth = amounts.make_incomes(people("", None))
    for name, method in amounts.METHODS.items():
        number, total = method(truth, 10**6, 0)
        assert np.abs(number - truth.number).max() <= 1, name
        assert np.abs(total - truth.total).max() <= 1000, name


def test_the_goals_are_met():
    for row in FOUND["means"]:
        assert row["goal"] is None or row["geodp.amounts"] <= row["goal"], row
        assert row["geodp.amounts"] < row["sum and count, half each"]
    for row in FOUND["sums"]:
        assert row["goal"] is None or row["ratio"] <= row["goal"], row
    for row in FOUND["medians"]:
        if row["goal of class"] is not None:
            assert row["class, alone"] >= row["goal of class"]
            assert row["median, alone"] <= row["goal of median"]
