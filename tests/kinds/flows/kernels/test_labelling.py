"""Kernels of labels: products of factors add up to flows, and tables are rounded with margins."""

import numpy as np

from geodp.kinds.flows.kernels.labelling import add_up_labels, divide_groups, expect_labels


def world(flows=40, cells=(3, 5), labels=4):
    draw = np.random.default_rng(1)
    trips = draw.integers(1, 50, flows).astype(float)
    starts = np.cumsum([0, *cells])
    rows = np.stack(
        [draw.integers(0, n, flows) + at for n, at in zip(cells, starts[:-1], strict=True)]
    )
    return trips, rows, draw.random((starts[-1], labels)) + 0.1


def test_labels_of_a_flow_add_up_to_it():
    trips, rows, factors = world()
    made = np.empty((trips.size, 4))
    expect_labels(trips, rows, factors, 0, made)
    product = factors[rows[0]] * factors[rows[1]]
    assert np.allclose(made, trips[:, None] * product / product.sum(axis=1, keepdims=True))
    part = np.empty((5, 4))
    expect_labels(trips, rows, factors, 7, part)
    assert np.array_equal(part, made[7:12])


def test_sums_of_a_stream_are_those_of_its_cells():
    trips, rows, factors = world()
    made, sums = np.empty((trips.size, 4)), np.empty(factors.shape)
    expect_labels(trips, rows, factors, 0, made)
    for stream in (0, 1):
        add_up_labels(trips, rows, factors, stream, np.empty((1, 4)), sums)
        expected = np.zeros(factors.shape)
        np.add.at(expected, rows[stream], made)
        assert np.allclose(sums, expected)


def test_tables_are_rounded_with_their_margins():
    draw = np.random.default_rng(2)
    first = np.array([0, 3, 4, 10])
    count = draw.integers(0, 5, (10, 4))
    columns = np.add.reduceat(count, first[:-1])
    value = count + draw.normal(0, 0.2, count.shape).clip(-0.5, 0.5)
    made = np.empty(count.shape, np.int64)
    work = np.empty(4, np.int64), np.empty(4), np.empty(4)
    value = np.maximum(value, 0)
    divide_groups(first, value, count.sum(axis=1), columns, work, np.array([3]), made)
    assert np.array_equal(np.add.reduceat(made, first[:-1]), columns)
    assert np.array_equal(made.sum(axis=1), count.sum(axis=1))
    assert (made >= 0).all()
