"""The bound on common queries: by another way on a small map, and what the kept figures show."""

import json

import numpy as np
import pytest

pytest.importorskip("bench", reason="the benchmarks are no part of the wheel")
from bench.suites import bound
from geodp.grid.grid import Grid

KEPT = json.loads(bound.SAVED.read_text(encoding="utf-8"))


def test_no_method_is_below_the_bound_of_a_family_alone():
    rows = {row[""]: row for row in KEPT["rows"]}
    alone, together = rows["bound, each family alone"], rows["bound, all families at once"]
    families = [name for name in alone if name]
    for name, row in rows.items():
        assert all(row[family] >= alone[family] * (1 - 1e-9) for family in families), name
    gains = [np.log(rows[n][f] / together[f]) for n in bound.METHODS for f in families]
    assert np.reshape(gains, (-1, len(families))).sum(axis=1).min() > 0


def test_the_bound_is_that_of_the_strategy_as_a_matrix():
    grid = Grid.regular((8, 8))
    square = np.sort(grid.encode(np.indices((3, 2)).reshape(2, -1)))
    power = bound.power_of(grid, [square])
    error = bound.best_alone(power)
    # All translations as rows, and the circulant strategy with the eigenvalues sqrt(power).
    ones = np.zeros(grid.shape)
    ones[tuple(grid.decode(square))] = 1
    rows = [np.roll(ones, (i, j), (0, 1)).ravel() for i in range(8) for j in range(8)]
    first = np.fft.ifft2(np.sqrt(np.sqrt(power))).real
    strategy = np.array(
        [np.roll(first, (i, j), (0, 1)).ravel() for i in range(8) for j in range(8)]
    )
    answers = np.array(rows) @ np.linalg.pinv(strategy)
    variance = np.square(answers).sum(axis=1) * np.square(strategy).sum(axis=0).max()
    assert np.sqrt(variance) == pytest.approx(error)
