"""Flows between units of taxis by hour: the document, and what the kept figures show."""

import json

import numpy as np
import pytest

pytest.importorskip("bench", reason="the benchmarks are no part of the wheel")
import geodp
from bench.suites import flow_unit_hours
from bench.suites.flow_units import between_units
from geodp.privacy.key import NoiseKey
from tests.kinds.flows.forms import sample_few_pairs

KEPT = json.loads(flow_unit_hours.SAVED.read_text(encoding="utf-8"))


def test_dividing_whole_flows_is_better_but_where_noise_is_small():
    ways = {}
    for row in KEPT["rows"]:
        ways.setdefault((row["units"], row["most trips"]), []).append(row)
    assert len(ways) == len(flow_unit_hours.UNITS) * len(flow_unit_hours.MOST)
    for where, (one, other) in ways.items():
        assert one["all hours"] > other["all hours"]
        assert one["origins"] > other["origins"]
        assert (one["right"] > other["right"]) is (where != (100, 1))
        assert one["held"] >= 94


@pytest.fixture(scope="module")
def units():
    draw = np.random.default_rng(0)
    pairs = geodp.Grid.regular((12, 12)).pairs().with_attribute("hour", [*map(str, range(24))])
    index = np.concatenate([draw.integers(0, 12, (4, 5000)), draw.integers(0, 24, (1, 5000))])
    trips = geodp.CountTable.from_index(pairs, index, np.ones(5000, np.int64))
    return between_units(trips, 10)


def test_units_hold_all_trips_of_every_hour(units):
    assert units.count.sum() == 5000
    parts = [flow_unit_hours.select_hour(units, hour) for hour in range(24)]
    assert sum(one.count.sum() for one in parts) == 5000
    assert set(flow_unit_hours.compare(units, units).values()) == {0, 100}


def test_hours_that_are_released_apart_are_put_together(units):
    key = NoiseKey(bytes([1]) * 32)
    with sample_few_pairs():
        made = flow_unit_hours.apart(units, 1, key)
        held = flow_unit_hours.cover(units, 1, [key])["held"]
    assert made.grid == units.grid
    assert flow_unit_hours.compare(units, made)["all hours"] > 30
    assert held > 90
