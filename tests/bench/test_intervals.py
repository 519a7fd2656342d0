"""Coverage and width of intervals: how they are measured, and what was."""

import json
from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("bench", reason="the benchmarks are no part of the wheel")
from bench.inputs import regions
from bench.inputs.synthetic import draw_lattice
from bench.suites import intervals

ROWS = json.loads(intervals.SAVED.read_text(encoding="utf-8"))["rows"]


def test_the_committed_intervals_hold_every_class():
    assert {row["map"] for row in ROWS} == {*intervals.MAPS}
    usual = [row for row in ROWS if row["method"] == "pyramid" and row["intervals"] >= 500]
    assert np.mean([row["usual_held"] for row in usual]) > 0.94
    areas = [row for row in usual if row["kind"].startswith(("polygons", "municipalities"))]
    assert max(row["usual_wide"] or 0 for row in areas) < 1.7
    assert np.mean([row["worst_wide"] or 0 for row in areas]) > 2.5


def test_the_width_is_that_over_the_narrowest_of_the_same_form():
    random = np.random.default_rng(1)
    truth = 1000 + random.standard_normal(20_000)
    count = np.full(truth.size, 1000.0)
    assert intervals.over_narrowest(truth, count, count - 1.96, count + 1.96) == pytest.approx(
        1, abs=0.02
    )
    assert intervals.over_narrowest(truth, count, count - 3.92, count + 3.92) == pytest.approx(
        2, abs=0.04
    )


@pytest.mark.law
def test_half_the_width_would_be_caught(monkeypatch):
    source = draw_lattice()
    kinds = regions.draw(source, 20, np.random.default_rng(1))
    found = intervals.cover(source, kinds, ("pyramid", Fraction(1)), 10)
    assert not intervals.is_outside(found["polygons of 1 to 64 cells"])
    whole = intervals.ends_of
    monkeypatch.setattr(
        intervals,
        "ends_of",
        lambda some: (a := whole(some)) + np.ptp(a, axis=0) * [[0.25], [-0.25]],
    )
    found = intervals.cover(source, kinds, ("pyramid", Fraction(1)), 10)
    assert intervals.is_outside(found["polygons of 1 to 64 cells"])
