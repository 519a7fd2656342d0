"""The benchmark of series: errors of every accounting, beside those of independent releases."""

import json
from pathlib import Path

import numpy as np
import pytest

import geodp
from bench.measure import squares
from bench.suites import series

pytestmark = pytest.mark.law

FOUND = json.loads(series.SAVED.read_text(encoding="utf-8"))


def test_errors_of_every_accounting_are_measured(monkeypatch):
    grid = geodp.Grid.regular((8, 8))
    maps = [geodp.CountTable.from_dense(np.full((8, 8), 50), grid)] * 2
    monkeypatch.setattr(squares, "SIDES", (1, 2))
    monkeypatch.setattr(squares, "SQUARES", 3)
    monkeypatch.setattr(series, "SIDES", (1, 2))
    monkeypatch.setattr(series, "load_months", lambda folder: (["2024", "2025"], maps))
    found = series.measure(Path(), epsilon="0.01", trials=3)  # never all errors 0
    assert [row["accounting"] for row in found["rows"]] == [*series.ACCOUNTS] * 2
    assert all(len(row["mae"]) == 4 and row["mae"][0] > 0 for row in found["rows"])
    assert found["rows"][0]["gain"] == [1] * 4
    assert "zCDP, smoothed" in series.show(found)
    assert {row["place"] for row in found["coverage"]} == {"anywhere", "occupied"}


def test_the_committed_figures_show_what_is_claimed():
    """At least 2.4 times better than 36 pure releases, at every size to 2**12, unasked."""
    least = {(row["method"], row["accounting"]): row["least"] for row in FOUND["rows"]}
    assert least["pyramid:setting=R", "zCDP, smoothed"] > 2.9
    assert least["pyramid", "zCDP, smoothed"] > 2.4
    assert min(min(row["held"]) for row in FOUND["coverage"]) > 0.93
