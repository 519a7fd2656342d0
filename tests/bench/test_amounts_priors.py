"""Amounts with priors: the document, and what the kept figures show."""

import json

import numpy as np
import pytest

pytest.importorskip("bench", reason="the benchmarks are no part of the wheel")
import geodp
from bench.suites import amounts, amounts_priors

KEPT = json.loads(amounts_priors.SAVED.read_text(encoding="utf-8"))


def by_prior():
    """The figures of every prior, by data and epsilon."""
    found = {}
    for row in KEPT["errors"]:
        figures = {name: value for name, value in row.items() if isinstance(value, float)}
        found.setdefault((row["data"], row["epsilon"]), {})[row["prior"]] = figures
    return found


def test_a_census_helps_and_a_useless_prior_costs_nothing():
    for figures in by_prior().values():
        assert figures["flat"] == figures["mirrored"] == figures["none"]
        for name in ("count of a cell", "sum of a cell"):
            assert figures["earlier census"][name] < 0.75 * figures["none"][name]
            assert figures["earlier release"][name] < figures["none"][name]


def test_intervals_hold():
    for row in KEPT["coverage"]:
        assert all(row[name] is None or row[name] >= 0.94 for name in amounts_priors.HELD)


def test_intervals_of_changes_hold():
    assert KEPT["changes"]
    for row in KEPT["changes"]:
        assert all(row[name] is None or row[name] >= 0.94 for name in amounts_priors.HELD)


def test_every_prior_is_measured_on_a_small_map(monkeypatch):
    monkeypatch.setattr(amounts, "SIDES", {"cell": 1, "1 km": 2, "4 km": 4, "8 km": 8})
    monkeypatch.setattr(amounts, "AREAS", 3)
    monkeypatch.setattr(amounts, "REGION_SIDES", (1, 2))
    monkeypatch.setattr(amounts, "REGIONS", 3)
    monkeypatch.setattr(amounts_priors, "PAIRS", {"made up": ("before", "now")})
    monkeypatch.setattr(amounts_priors, "PERIODS", {"made up": ("long before", "before", "now")})

    def people(name, folder):
        number = np.random.default_rng(len(name)).poisson(600, (16, 16))
        return geodp.CountTable.from_dense(number, geodp.Grid.regular((16, 16)))

    monkeypatch.setattr(amounts_priors, "load", people)
    result = amounts_priors.measure(epsilon=("1",), trials=1)
    assert [row["prior"] for row in result["errors"]] == [
        "none", "earlier census", "earlier release", "flat", "mirrored",
    ]  # fmt: skip
    assert [row["epsilon"] for row in result["changes"]] == ["1"] * len(amounts.RELEASED)
    assert "earlier census" in amounts_priors.show(result)
