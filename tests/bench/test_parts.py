"""The benchmark of intervals of parts keeps what it measured; test_attributes has its document."""

import json

import numpy as np
import pytest

import geodp

pytest.importorskip("bench", reason="the benchmarks are no part of the wheel")
from bench.suites import parts as bench
from geodp.accuracy.part_errors import spread


def test_every_kind_is_held_as_often_as_is_claimed():
    kept = json.loads(bench.SAVED.read_text(encoding="utf-8"))
    assert len(kept["rows"]) == 4
    for row in kept["rows"]:
        assert min(row[kind] for kind in bench.KINDS) >= 0.93


def test_differences_are_those_of_a_plain_loop():
    grid = geodp.Grid.regular((32, 32)).with_attribute("sex", ["f", "m"])
    people = np.random.default_rng(1).integers(0, 9, (32, 32, 2))
    found = bench.differences(geodp.CountTable.from_dense(people, grid))[0]
    squares, law = [], []
    for row in range(0, 32, 4):
        for col in range(0, 32, 4):
            around = people[row : row + 4, col : col + 4].reshape(16, 2)
            share = around.sum(axis=0) / around.sum()
            for own in around:
                mean = own.sum() * share * (1 - share)
                some = (mean >= 0.5) & (mean < 2)
                squares += ((own - own.sum() * share) ** 2)[some].tolist()
                law += spread(mean[some]).tolist()
    assert found["1"] == pytest.approx(sum(squares) / sum(law))
    assert found["4,096"] is None
