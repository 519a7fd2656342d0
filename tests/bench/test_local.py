"""The benchmark of local collection runs, and its document shows the figures that were kept."""

import numpy as np
import pytest

pytest.importorskip("bench", reason="the benchmarks are no part of the wheel")
from bench.suites import local


def run_once(calls, *limits):
    """Run every call once; its seconds are the number that it is named by, or one."""
    found = {name: call() for name, call in calls.items()}
    return {name: float(name) if name.isdigit() else 1.0 for name in calls}, found


def test_it_measures_what_is_there(monkeypatch):
    monkeypatch.setattr(local, "child", lambda *task: {"peak": 5e8, "seconds": 1.0})
    monkeypatch.setattr(local.cost, "best", run_once)
    monkeypatch.setattr(local, "BASELINES", dict.fromkeys(local.BASELINES, ("no-such", None)))
    found = local.measure(reports=3000, rounds=1, stream=5000)
    figure = {row["what"]: row["figure"] for row in found["rows"]}
    assert min(figure.values()) > 0
    assert figure["grr: exponent of time"] == pytest.approx(1)
    whats = list(figure)
    assert [what for what in whats if what.startswith("haar, all of it")]
    assert "5,000 reports from Parquet" in local.show(found)


def test_errors_are_those_of_a_list_of_counts():
    value = np.array([0, 0, 1, 2])
    assert local.rmse(np.array([2.0, 1.0, 1.0, 0.0]), value) == 0
    assert local.rmse(np.array([4.0, 1.0, 1.0, 0.0]), value) == pytest.approx(0.5)
