"""Sums, products and classes of matrices, beside numpy."""

import numpy as np
import pytest

from geodp.kinds.flows.kernels import balancing

DRAW = np.random.default_rng(1)
MATRIX = DRAW.gamma(1, 3, (6, 6))
WEIGHT = DRAW.random(6)
PARENT = np.array([0, 0, 1, 1, 1, 2])


def test_products_are_those_of_numpy():
    out = np.empty(6)
    balancing.multiply(MATRIX, WEIGHT, out)
    assert out == pytest.approx(MATRIX @ WEIGHT)
    balancing.multiply_left(MATRIX, WEIGHT, out)
    assert out == pytest.approx(WEIGHT @ MATRIX)
    scaled = MATRIX.copy()
    balancing.scale(scaled, WEIGHT, out)
    assert scaled == pytest.approx(MATRIX * np.outer(WEIGHT, out))
    noisy = MATRIX + 1
    assert balancing.misfit(scaled, noisy, 5.0) == pytest.approx(5 + ((noisy - scaled) ** 2).sum())


def test_blocks_are_added_up_and_spread():
    summed = np.zeros((3, 3))
    balancing.add_up(MATRIX, PARENT, PARENT, summed)
    expected = np.zeros((3, 3))
    np.add.at(expected, (PARENT[:, None], PARENT[None]), MATRIX)
    assert summed == pytest.approx(expected)
    spread = MATRIX.copy()
    balancing.spread(spread, PARENT, PARENT, summed)
    assert spread == pytest.approx(MATRIX * summed[PARENT][:, PARENT])


@pytest.mark.parametrize("rows", range(1, 10))
def test_sums_are_added_one_after_the_other_to_the_last_bit(rows):
    """Rows four at a time, and runs of a parent in a register, change no order of additions."""
    matrix, weight = DRAW.gamma(0.1, 1e3, (rows, 9)), DRAW.gamma(0.1, 1e3, 9)
    out = np.empty(rows)
    balancing.multiply(matrix, weight, out)
    expected = [sum((a * b for a, b in zip(row, weight, strict=True)), 0.0) for row in matrix]
    assert out.tolist() == [float(one) for one in expected]
    # Rows with nothing to scale have the factor 0, and no column anything of them.
    matrix[rows // 2] = 0
    wanted, left, sums = np.arange(3, 3 + rows), np.empty(rows), np.empty((2, 9))
    balancing.multiply(matrix, weight, out)
    balancing.fit_rows(matrix, weight, wanted, left, sums[0])
    assert left.tolist() == np.divide(wanted, out, out=np.zeros(rows), where=out > 0).tolist()
    balancing.multiply_left(matrix, left, sums[1])
    assert np.array_equal(sums[0], sums[1])
    # Runs of one parent, and a parent that comes back.
    for parent in (np.arange(rows) // 3, np.arange(rows) % 2):
        square = DRAW.gamma(0.1, 1e3, (rows, rows))
        summed, expected = np.zeros((rows, rows)), np.zeros((rows, rows))
        # In two calls as in one.
        for some in (slice(0, 3), slice(3, rows)):
            balancing.add_up(square[some], parent[some], parent, summed)
        for i in range(rows):
            for j in range(rows):
                expected[parent[i], parent[j]] += square[i, j]
        assert np.array_equal(summed, expected)


def test_classes_are_halves_of_doublings():
    classes = [
        balancing.class_of.py_func(x) for x in (0.0, 2.0**-14, 2.0**-13.4, 1.0, 1.5, 2.0**60)
    ]
    assert classes == [0, 0, 1, 28, 29, balancing.CLASSES - 1]


def test_attraction_sums_the_law_over_blocks():
    zones = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    table = np.array([[1.0, 0.5], [0.25, 0.125]])
    out = np.empty((2, 2))
    balancing.attract(
        zones,
        np.array([0, 3]),
        np.array([0, 1]),
        np.array([0, 2, 4]),
        np.arange(1.0, 5),
        table,
        out,
    )
    assert out == pytest.approx(
        np.array([[1 + 2 * 0.5, 3 * 0.25 + 4 * 0.125], [0.125 + 2 * 0.25, 3 * 0.5 + 4]])
    )


def test_balanced_tables_have_both_margins():
    value = MATRIX.copy()
    margins = np.arange(1, 7), np.full(6, 3) + np.array([0, 0, 0, 1, 1, 1])
    balancing.balance(value, margins, 300, np.empty(18))
    assert value.sum(axis=1) == pytest.approx(margins[0], rel=1e-6)
    assert value.sum(axis=0) == pytest.approx(margins[1], rel=1e-6)


def test_laws_are_looked_up_by_distance():
    law = np.empty((2, 2))
    table = np.arange(6.0).reshape(2, 3)
    balancing.fill_law(np.arange(2), np.array([0, 1]), np.array([2, 0]), table, law)
    assert law.tolist() == [[0, 5], [5, 0]]
