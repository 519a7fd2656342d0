"""Makespans of a cluster's ranges, and what the documents say of them."""

import json

import numpy as np
import pytest

from bench.inputs import synthetic
from bench.suites import cluster_cut as suite
from geodp.cluster import partitions

KEPT = json.loads(suite.SAVED.read_text(encoding="utf-8"))


def test_a_hundred_workers_are_busy_to_the_end():
    assert KEPT["workers"] == 100
    for row in KEPT["rows"]:
        if row["ranges"] >= 200:
            assert row[suite.NAMES[-1]] <= 1.15 < row["even"]
    assert all(row["CPU, s"] <= 4 for row in KEPT["driver"])


def test_a_range_goes_to_the_worker_that_is_idle_first():
    assert suite.compute_ratio(np.array([3, 1, 1, 1]), 2) == 1
    assert suite.compute_ratio(np.array([1, 1, 1, 3]), 2) == pytest.approx(4 / 3)
    assert suite.compute_ratio(np.array([0, 5]), 2) == 2


def test_ranges_by_weight_are_more_even(monkeypatch):
    monkeypatch.setattr(suite, "COARSE", 1 << 8)
    usual = partitions.MAX_ROOTS
    rows = suite.simulate(synthetic.clustered(24, 30_000), "topdown", 10, [40])
    assert usual == partitions.MAX_ROOTS
    [row] = rows
    assert max(row[name] for name in suite.NAMES) < 1.1 < 1.4 < row["even"]
    assert row["files"] <= 40


def test_all_released_cells_are_in_a_range():
    starts, released = np.array([4, 9], np.uint64), np.array([1, 4, 5, 12], np.uint64)
    assert suite.count_between(starts, released).tolist() == [3, 1]
