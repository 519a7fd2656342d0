"""Pairs of units on every level: what docs/units.md says of their errors, on a smaller table."""

import numpy as np

from bench.suites import pairs


def test_pairs_of_units_are_nearer_than_topdown_on_every_level_of_areas() -> None:
    found = pairs.measure(releases=1, blocks=1000, jobs=20_000)
    assert found["jobs"] == 20_000
    rows = {(row["way"], row["epsilon"], row["level"]): row["occupied"] for row in found["rows"]}
    for epsilon in pairs.EPSILONS:
        # At the smaller budget nearly all pairs of tracts are released as 0 by both.
        for level in ("tract", "county") if epsilon == "1" else ("county",):
            assert rows["units", epsilon, level] < rows["topdown", epsilon, level]
        assert rows["units", epsilon, "tract"] < rows["laplace", epsilon, "tract"]
        assert rows["units", epsilon, "county"] < 3 * rows["laplace", epsilon, "county"]
    assert "pairs with jobs" in pairs.show(found)


def test_sums_are_those_of_pairs_of_labels() -> None:
    label = np.array([0, 0, 1])
    index = np.array([[0, 0, 0], [0, 1, 2], [0, 0, 0], [2, 2, 0]])
    assert pairs.sums(label, index, np.array([5, 7, 2])).tolist() == [0, 12, 2, 0]
