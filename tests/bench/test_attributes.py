"""The benchmark of parts keeps what it measured, and the document shows it."""

import json
from fractions import Fraction

import numpy as np
import pytest

import geodp

pytest.importorskip("bench", reason="the benchmarks are no part of the wheel")
from bench.suites import attributes as bench


def test_the_committed_figures_are_as_good_as_is_claimed():
    kept = json.loads(bench.SAVED.read_text(encoding="utf-8"))
    first = kept["rows"][0]
    assert (first["epsilon"], first["method"], first["trials"]) == ("1/10", "parts", 100)
    most = [2.2, 5.7, 10.3, 23, 48]
    assert [a <= b for a, b in zip(first["each"], most, strict=False)] == [True] * 5
    assert first["standard errors"] < 4
    assert kept["time / map"] < 25


def test_errors_are_those_of_blocks_of_all_people_and_of_each_part():
    grid = geodp.Grid.regular((64, 64)).with_attribute("sex", ["f", "m"])
    counts = np.random.default_rng(0).poisson(50, grid.shape)
    source = geodp.CountTable.from_dense(counts, grid)
    row = bench._row(source, "parts", Fraction(1), 2)
    released = [bench._release(source, "parts", Fraction(1), trial) for trial in (0, 1)]
    off = np.array([one.to_dense() for one in released]) - counts
    assert row["each"][0] == pytest.approx(abs(off).mean())
    assert row["all"][0] == pytest.approx(abs(off.sum(axis=3)).mean())
    squares = off.reshape(2, 32, 2, 32, 2, 2).sum(axis=(2, 4))
    assert row["each"][1] == pytest.approx(abs(squares).mean())
    assert row["sum"] == pytest.approx(abs(off.sum(axis=(1, 2)).mean(axis=0)).max())
