import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import geodp
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.mechanisms import mechanism
from geodp.mechanisms.baselines.barak import (
    Barak,
    find_measured,
    fit,
    linear_estimate,
    linear_variances,
    transform,
)
from geodp.mechanisms.measure import laplace_noise
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.law import DiscreteLaplace
from geodp.table.counts import CountTable
from tests.mechanisms.baselines.cases import spent
from tests.reference import fourier as reference
from tests.refusals import refuses
from tests.strategies import secrets, shaped_tables


@pytest.mark.parametrize("bits", range(7))
def test_the_transform_is_hadamards_matrix(bits):
    values = np.random.default_rng(bits).integers(-(2**50), 2**50, 1 << bits)
    expected = reference.hadamard(bits) @ values
    assert transform(values).tolist() == expected.tolist()
    assert (transform(transform(values)) >> bits).tolist() == values.tolist()


@pytest.mark.parametrize(("bits", "order"), [(0, 2), (1, 2), (5, 1), (5, 2), (6, 3), (4, 0)])
def test_coefficients_of_low_marginals(bits, order):
    assert find_measured(bits, order).tolist() == reference.rows(bits, order)
    grid = Grid.regular((1 << bits,))
    assert Barak(order=order).sensitivity(grid) == len(reference.rows(bits, order))


@given(shaped_tables(), st.integers(0, 4), st.data())
@settings(max_examples=25)
def test_one_person_changes_every_coefficient_by_one(table, order, data):
    bits = table.grid.bits
    index = find_measured(bits, order)
    before = table.to_vector()
    after = before.copy()
    after[data.draw(st.integers(0, (1 << bits) - 1))] += 1
    change = np.abs(transform(after)[index] - transform(before)[index])
    assert (change == 1).all()
    assert change.sum() == Barak(order=order).sensitivity(table.grid)


@pytest.mark.parametrize(("bits", "order"), [(4, 0), (4, 2), (5, 1), (6, 3)])
def test_the_linear_estimate_is_the_pseudo_inverse(bits, order):
    index = find_measured(bits, order)
    noisy = np.random.default_rng(1).integers(-99, 99, index.size)
    expected = np.linalg.pinv(reference.hadamard(bits)[index].astype(float)) @ noisy
    assert np.allclose(linear_estimate(noisy, index, bits), expected)


@pytest.mark.parametrize(("bits", "order"), [(6, 0), (6, 2), (5, 1), (4, 9)])
def test_linear_variances_are_those_of_unit_noise(bits, order):
    index = find_measured(bits, order)
    estimator = np.array(
        [linear_estimate(unit, index, bits) for unit in np.eye(index.size, dtype=int)]
    )
    for level in range(bits + 1):
        sums = estimator.reshape(index.size, 1 << level, -1).sum(axis=2)
        variance = 3 * (sums**2).sum(axis=0)
        assert np.allclose(variance, linear_variances(bits, order, 3)[level])


@pytest.mark.parametrize("shape", [(8, 8), (5, 6), (3, 4, 5)])
def test_variances_of_a_release_are_those_of_unit_noise(shape):
    grid = Grid.regular(shape)
    method = Barak(order=0, nonnegative=False)
    index = find_measured(grid.bits, 0)
    inside = grid.contains_keys(np.arange(1 << grid.bits, dtype=np.uint64))
    estimator = np.array(
        [linear_estimate(u, index, grid.bits) * inside for u in np.eye(index.size, dtype=int)]
    )
    once = spent(method, grid)
    sigma2 = DiscreteLaplace.of_scale(once.scale).variance
    claimed = method.variances(grid, once)
    for level in range(grid.bits + 1):
        sums = estimator.reshape(index.size, 1 << level, -1).sum(axis=2)
        worst = sigma2 * (sums**2).sum(axis=0).max()
        assert worst <= claimed[level] * (1 + 1e-9)
    assert worst == pytest.approx(claimed[-1])


@given(shaped_tables(), secrets, st.sampled_from([0, 1, 2, 3]))
@settings(max_examples=15, deadline=None)
def test_the_program_is_the_papers(table, secret, order):
    """Its value is the reference's, and the released table has it."""
    grid = table.grid
    method = Barak(order=order)
    if grid.bits > 7 or method.unsupported(grid):
        return
    once = spent(method, grid)
    index = find_measured(grid.bits, order)
    noisy = transform(table.to_vector())[index]
    noisy = noisy + laplace_noise(NoiseKey(secret), 0, once.scale, index.size)
    cells = np.flatnonzero(grid.contains_keys(np.arange(1 << grid.bits, dtype=np.uint64)))
    matrix = reference.hadamard(grid.bits)[np.ix_(index, cells)]
    value, b = fit(noisy, index, cells, float(once.scale))
    tolerance = 1e-5 * float(once.scale)
    assert b == pytest.approx(reference.largest_difference(matrix, noisy), abs=tolerance)
    assert np.abs(matrix @ value - noisy).max() <= b + tolerance
    released = method.release(table, once, NoiseKey(secret))
    assert np.array_equal(released.to_vector()[cells], value)
    assert (released.count > 0).all()


def test_without_noise_the_program_finds_the_table_and_its_marginals():
    counts = np.random.default_rng(8).poisson(3, 32)
    cells = np.arange(32)
    value, b = fit(transform(counts), cells, cells, 1.0)
    assert np.allclose(value, counts, atol=1e-6)
    assert b == pytest.approx(0, abs=1e-6)
    index = find_measured(5, 2)
    value, b = fit(transform(counts)[index], index, cells, 1.0)
    assert b == pytest.approx(0, abs=1e-6)
    assert reference.marginal(value, [1, 4]) == pytest.approx(reference.marginal(counts, [1, 4]))
    assert (value > 1e-9).sum() <= index.size + 1


def test_nobody_outside_a_mask():
    grid = Grid.regular((6, 5))
    inside = np.zeros((6, 5), bool)
    inside[1:4, 1:] = inside[5, 0] = True
    grid = grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside), "drawn for a test"))
    people = np.where(inside, 6, 0)
    people[5, 0] = 0
    table = CountTable.from_dense(people, grid)
    for spec in ("barak", "barak:order=0", "barak:nonnegative=no"):
        release = geodp.publish(table, method=spec, epsilon=1, contribution=1)
        assert (release.table.to_dense()[~inside] == 0).all()


def test_settings():
    assert mechanism("barak:order=0,nonnegative=no") == Barak(order=0, nonnegative=False)
    assert mechanism("barak:nonnegative=no").spec == "barak:nonnegative=no"
    assert Barak().nonnegative
    assert not Barak(nonnegative=False).nonnegative
    assert Barak().postprocessing != Barak(nonnegative=False).postprocessing
    with refuses(UsageError, "method-setting-out-of-range"):
        mechanism("barak:order=-1")


def test_what_is_too_large_is_refused():
    assert Barak(order=0).unsupported(Grid.regular((32, 32))) is None
    assert "linear program" in Barak(order=0).unsupported(Grid.regular((64, 64)))
    assert Barak(order=2).unsupported(Grid.regular((128, 256))) is None
    assert "linear program" in Barak(order=2).unsupported(Grid.regular((256, 256)))
    assert "linear program" in Barak(order=1).unsupported(Grid.regular((1 << 19,)))
    assert Barak(order=2, nonnegative=False).unsupported(Grid.regular((1 << 13, 1 << 13))) is None
    assert Barak(order=0, nonnegative=False).unsupported(Grid.regular((256, 256))) is None
    assert "coefficients" in Barak(order=0, nonnegative=False).unsupported(Grid.regular((512, 256)))
    assert "67,108,864" in Barak(order=1, nonnegative=False).unsupported(
        Grid.regular((1 << 20, 1 << 20))
    )


def test_no_closed_form_where_the_error_depends_on_the_data():
    grid = Grid.regular((8, 8))
    for method in (Barak(), Barak(order=0), Barak(order=2, nonnegative=False)):
        assert method.variances(grid, spent(method, grid)) is None
    method = Barak(order=6, nonnegative=False)  # all six bits: every coefficient
    assert method.variances(grid, spent(method, grid)) is not None
