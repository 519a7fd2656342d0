"""Privelet along the keys and along the axes, against its matrices."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings

from geodp.grid.grid import Grid
from geodp.grid.order import Order
from geodp.mechanisms.baselines.privelet import (
    Privelet,
    PriveletAxes,
    along_every_axis,
    box_to_order,
    forward,
    inverse,
    order_to_box,
)
from geodp.mechanisms.measure import laplace_noise
from geodp.mechanisms.trees.least_squares import axis_bits
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.law import DiscreteLaplace
from geodp.privacy.terms import NEIGHBOURS, Terms
from geodp.table.counts import CountTable
from tests.mechanisms.baselines.cases import domain_of, masked
from tests.reference import privelet as reference
from tests.strategies import secrets, shaped_tables

BOTH = pytest.mark.parametrize("method", [Privelet(), PriveletAxes()], ids=lambda m: m.name)


def spent(method, grid, epsilon=Fraction(1, 10), neighbours=NEIGHBOURS[0]):
    sensitivity = method.sensitivity(grid)
    return Measurement.of(
        method.spec,
        Terms.of(epsilon=epsilon, neighbours=neighbours, contribution=1),
        sensitivity,
        "fixed",
    )


def matrix_of(method, grid):
    """The measurements, and the key of every column."""
    if isinstance(method, Privelet):
        return reference.haar(grid.bits), np.arange(1 << grid.bits)
    shape = [1 << bits for bits in axis_bits(grid)]
    index = np.indices(shape).reshape(len(shape), -1)
    return reference.standard(axis_bits(grid)), grid.order.encode(index).astype(int)


def dense(released):
    return released.to_vector()


GRIDS = [
    Grid.regular((1,)),
    Grid.regular((16,)),
    Grid.regular((13,)),
    Grid.regular((8, 4)),
    Grid.regular((5, 7)),
    Grid.regular((3, 2, 5)),
    Grid.regular((2, 3)).with_attribute("age", ["child", "adult", "old"]),
    Grid.regular((6,)).with_order(Order((0, 0, 0, 0), (2, 2, 2, 2))),
    masked((5, 6), np.add.outer(np.arange(5), np.arange(6)) % 3 > 0),
    masked((8, 8), np.add.outer(np.arange(8) ** 2, np.arange(8) ** 2) < 40),
]


@pytest.mark.parametrize("bits", range(8))
def test_the_transform_is_the_integer_haar_transform(bits):
    counts = np.random.default_rng(bits).integers(0, 1000, 1 << bits)
    found = forward(counts)
    assert found.dtype == np.int64
    assert (found == reference.haar(bits) @ counts).all()
    back = inverse(found)
    assert back.dtype == np.float64
    assert (back == counts).all()


def test_the_standard_decomposition_is_the_product_of_the_axes():
    counts = np.random.default_rng(1).integers(0, 1000, (4, 2, 8))
    found = along_every_axis(forward, counts)
    assert found.shape == counts.shape
    assert (found.reshape(-1) == reference.standard((2, 1, 3)) @ counts.reshape(-1)).all()
    assert (along_every_axis(inverse, found) == counts).all()


@given(shaped_tables())
@settings(max_examples=50)
def test_a_box_holds_every_key_at_its_index(table):
    grid = table.grid
    vector = np.arange(1 << grid.bits)
    box = order_to_box(vector, grid.order, axis_bits(grid))
    index = grid.decode(vector.astype(np.uint64))
    assert (box[tuple(index)] == vector).all()
    assert (box_to_order(box, grid.order) == vector).all()


@BOTH
@given(table=shaped_tables(), secret=secrets)
@settings(max_examples=40, deadline=None)
def test_release_is_the_solution_of_the_noisy_coefficients(method, table, secret):
    assume(table.grid.bits <= 7)  # the reference solves for all keys at once
    grid, used = table.grid, spent(method, table.grid)
    matrix, keys = matrix_of(method, grid)
    noise = laplace_noise(NoiseKey(secret), 0, used.scale, 1 << grid.bits)
    expected = np.zeros(1 << grid.bits)
    expected[keys] = reference.estimate(matrix, table.to_vector()[keys], noise)
    expected[~domain_of(grid)] = 0
    found = dense(method.release(table, used, NoiseKey(secret)))
    assert found == pytest.approx(expected, abs=1e-8)


@BOTH
@pytest.mark.parametrize("grid", GRIDS, ids=lambda g: "x".join(map(str, g.shape)))
def test_variances_by_propagating_unit_noise(method, grid):
    matrix, keys = matrix_of(method, grid)
    expected = reference.block_variances(matrix, keys, domain_of(grid), grid.bits)
    used = spent(method, grid)
    sigma2 = DiscreteLaplace.of_scale(used.scale).variance
    assert method.variances(grid, used) / sigma2 == pytest.approx(expected, rel=1e-9)
    tree = method.tree_variance(grid, used)
    if tree is not None:
        every = np.arange(1 << grid.bits, dtype=np.uint64)[domain_of(grid)]
        assert tree.region(every) / sigma2 == pytest.approx(expected[0], rel=1e-9)


@BOTH
@pytest.mark.parametrize("grid", GRIDS, ids=lambda g: "x".join(map(str, g.shape)))
def test_one_person_changes_as_many_coefficients_as_the_sensitivity(method, grid):
    matrix, keys = matrix_of(method, grid)
    changed = np.abs(matrix[:, domain_of(grid)[keys]]).sum(axis=0)
    assert (changed == method.sensitivity(grid)).all()
    assert method.describe_sensitivity(grid)


def continuous(method, grid, epsilon):
    """Standard errors as published: of continuous noise, every second level, cells first."""
    used = spent(method, grid, epsilon)
    unit = method.variances(grid, used) / DiscreteLaplace.of_scale(used.scale).variance
    return np.sqrt(unit * 2 * float(used.scale) ** 2)[::-2].round(2).tolist()


def test_published_standard_errors_on_512_by_512():
    grid, epsilon = Grid.regular((512, 512)), Fraction(1, 10)
    assert Privelet().sensitivity(grid) == 19
    assert PriveletAxes().sensitivity(grid) == 100
    assert continuous(Privelet(), grid, epsilon) == [155.13] * 5 + [
        155.14, 155.17, 155.74, 164.54, 268.7,
    ]  # fmt: skip
    assert continuous(PriveletAxes(), grid, epsilon) == [
        471.41, 471.42, 471.46, 471.63, 472.33, 475.09, 486.14, 530.33, 707.11, 1414.21,
    ]  # fmt: skip


@pytest.mark.parametrize("bits", [0, 1, 10, 24])
def test_variance_is_the_papers_formula(bits):
    grid = Grid.regular((1 << bits,))
    used = spent(Privelet(), grid)
    sigma2 = DiscreteLaplace.of_scale(used.scale).variance
    q = 2.0 ** np.arange(bits + 1)
    assert Privelet().variances(grid, used) == pytest.approx(sigma2 / 3 * (1 + 2 / q**2))


def test_orders_of_other_digits():
    tens = Grid.regular((10, 10)).with_order(Order((0, 1, 0, 1), (2, 2, 5, 5)))
    assert Privelet().unsupported(tens) is None
    assert PriveletAxes().unsupported(tens).endswith("splits every node in two.")
    used = spent(Privelet(), tens)
    matrix, keys = reference.haar(tens.bits), np.arange(1 << tens.bits)
    expected = reference.block_variances(matrix, keys, domain_of(tens), tens.bits)
    table = CountTable.from_dense(np.ones((10, 10), int), tens)
    released = Privelet().release(table, used, NoiseKey(bytes(32)))
    assert released.key.max() < 100  # of 128 keys, which have digits beyond the axes
    sigma2 = DiscreteLaplace.of_scale(used.scale).variance
    assert Privelet().variances(tens, used) / sigma2 == pytest.approx(expected)


@BOTH
def test_large_grids_are_refused(method):
    assert method.unsupported(Grid.regular((1 << 13, 1 << 13))) is None
    assert "at most" in method.unsupported(Grid.regular((1 << 13, 1 << 14)))
