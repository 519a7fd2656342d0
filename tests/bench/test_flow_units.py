"""Flows between units of taxis: the document, and what the kept figures show."""

import json

import numpy as np
import pytest

pytest.importorskip("bench", reason="the benchmarks are no part of the wheel")
import geodp
from bench.suites import flow_units
from geodp.kinds.flows.zones import zones_of

KEPT = json.loads(flow_units.SAVED.read_text(encoding="utf-8"))


def test_the_default_is_nearly_the_better_choice():
    for row in KEPT["rows"]:
        assert row["right"] > max(row["right, blocks of 16"], row["right, single units"]) - 1.5
        assert row["held"] >= 94


def test_units_hold_all_trips_of_their_cells():
    draw = np.random.default_rng(0)
    index = draw.integers(0, 12, (4, 500))
    trips = geodp.CountTable.from_index(
        geodp.Grid.regular((12, 12)).pairs(), index, np.ones(500, np.int64)
    )
    made = flow_units.between_units(trips, 20)
    assert made.count.sum() == 500
    outlines = zones_of(made.grid).outlines
    assert outlines.areas.sum() == pytest.approx(144 * 1.03 * 1.11, rel=0.05)
    assert flow_units.share_right(made, made) == 100
    regions, counts = flow_units.draw_regions(made, draw)
    assert len(regions) == len(counts) == flow_units.REGIONS
