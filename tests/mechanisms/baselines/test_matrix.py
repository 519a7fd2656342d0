import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import geodp
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.mechanisms import mechanism
from geodp.mechanisms.baselines.matrix import (
    QUANTUM,
    STRATEGIES,
    WORKLOADS,
    Matrix,
    estimate,
    gram_of,
    haar_levels,
    integer_columns,
    mixed_error,
    optimise,
    tree_rows,
    tree_weights,
)
from geodp.mechanisms.measure import laplace_noise
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.law import DiscreteLaplace
from geodp.table.counts import CountTable
from tests.mechanisms.baselines.cases import spent
from tests.reference import matrix as reference
from tests.refusals import refuses
from tests.strategies import secrets

every_workload = pytest.mark.parametrize("workload", WORKLOADS)
every_strategy = pytest.mark.parametrize("strategy", STRATEGIES)


def norm_of_columns(strategy, norm):
    """Sensitivity of a strategy: its columns' largest L1 or L2 norm."""
    return float((np.abs(strategy.astype(float)) ** norm).sum(axis=0).max() ** (1 / norm))


def expected_error(gram, strategy, variance, norm=1):
    """Sum of squared errors of a workload: Li et al. (2010), section 4."""
    matrix = strategy.astype(float)
    inverse = np.linalg.pinv(matrix.T @ matrix, hermitian=True)
    trace = float(np.sum(inverse * gram))
    return variance * norm_of_columns(strategy, norm) ** 2 * trace


@every_workload
@pytest.mark.parametrize("n", [1, 2, 8, 16])
def test_gram_matrices_are_those_of_the_queries(workload, n):
    rows = reference.queries(workload, n)
    assert np.array_equal(gram_of(workload, n), rows.T @ rows)


@pytest.mark.parametrize("bits", [0, 1, 4])
def test_trees_and_wavelets(bits):
    ones = np.ones(bits + 1, np.int64)
    assert np.array_equal(tree_rows(ones, wavelet=True), reference.haar(1 << bits))
    blocks = reference.queries("blocks", 1 << bits)
    assert sorted(tree_rows(ones).tolist()) == sorted(blocks.tolist())
    weighted = tree_rows(np.arange(bits + 1) + 3)
    assert (weighted.sum(axis=0) == (np.arange(bits + 1) + 3).sum()).all()
    assert tree_rows(np.array([0, 5])).tolist() == [[5, 0], [0, 5]]


@every_workload
@pytest.mark.parametrize("norm", [1, 2])
def test_the_expected_error_is_the_sum_over_all_queries(workload, norm):
    rows = reference.queries(workload, 8)
    random = np.random.default_rng(3)
    for strategy in (reference.haar(8), random.normal(size=(11, 8)), random.normal(size=(8, 8))):
        sensitivity = max(np.linalg.norm(column, norm) for column in strategy.T)
        assert norm_of_columns(strategy, norm) == pytest.approx(sensitivity)
        expected = reference.errors(rows, strategy, 5.0 * sensitivity**2).sum()
        assert expected_error(gram_of(workload, 8), strategy, 5.0, norm) == pytest.approx(expected)
        noisy = random.normal(size=strategy.shape[0])
        least = np.linalg.lstsq(strategy, noisy, rcond=None)[0]
        assert np.allclose(estimate(strategy, noisy), least)


def test_an_unknown_workload_is_refused():
    with pytest.raises(UsageError, match="one of"):
        gram_of("squares", 4)


# Choosing a strategy.


@every_workload
@pytest.mark.parametrize("n", [1, 2, 16, 64])
def test_the_optimised_strategy_is_at_least_as_good_as_the_fixed_ones(workload, n):
    gram = gram_of(workload, n)
    best = optimise(gram)
    assert (best.sum(axis=0) == QUANTUM).all()
    assert (best >= 0).all()
    error = expected_error(gram, best, 1.0)
    ones = np.ones(n.bit_length(), np.int64)
    for other in (np.eye(n), reference.haar(n), tree_rows(ones)):
        assert error <= expected_error(gram, other, 1.0) * (1 + 1e-9)


@given(st.integers(1, 9), st.integers(1, 5), st.integers(0, 10**6))
def test_integer_columns_are_near_and_add_up_exactly(rows, columns, seed):
    matrix = np.random.default_rng(seed).random((rows, columns)) + 1e-9
    whole = integer_columns(matrix)
    assert (whole.sum(axis=0) == QUANTUM).all()
    assert (np.abs(whole - matrix * QUANTUM / matrix.sum(axis=0)) < 1).all()


@every_workload
def test_the_level_sums_are_those_of_orthonormal_haar_rows(workload):
    gram = gram_of(workload, 16)
    rows = reference.haar(16).astype(float)
    rows /= np.linalg.norm(rows, axis=1)[:, None]
    each = np.einsum("ri,ij,rj->r", rows, gram, rows)
    level = np.array([0, *(i.bit_length() for i in range(1, 16))])
    assert haar_levels(gram) == pytest.approx(np.bincount(level, each))


@pytest.mark.parametrize("n", [2, 16])
def test_tree_weights_are_a_minimum(n):
    gram = gram_of("ranges", n)
    weights = tree_weights(haar_levels(gram))
    one = np.eye(n)

    def error(weights):
        width = [n >> level for level in range(weights.size)]
        rows = [w * np.kron(one[: n // b, : n // b], np.ones(b)) for w, b in zip(weights, width)]  # noqa: B905
        return expected_error(gram, np.concatenate(rows), 1.0)

    best = error(weights)
    random = np.random.default_rng(2)
    for _ in range(40):
        other = np.abs(weights + 0.05 * random.normal(size=weights.size)) + 1e-3
        assert error(other) >= best * (1 - 1e-4)


def test_the_descents_error_and_gradient():
    random = np.random.default_rng(5)
    gram, mixed = gram_of("ranges", 8), random.random((3, 8))
    strategy = np.concatenate([np.eye(8), mixed]) / (1 + mixed.sum(axis=0))
    value, gradient = mixed_error(mixed, gram)
    assert value == pytest.approx(expected_error(gram, strategy, 1.0))
    for i in range(mixed.size):
        step = np.zeros(mixed.size)
        step[i] = 1e-5
        ahead, behind = (mixed_error(mixed + s.reshape(3, 8), gram)[0] for s in (step, -step))
        assert gradient[i] == pytest.approx((ahead - behind) / 2e-5, rel=1e-4, abs=1e-4)


# The method.


@every_strategy
@pytest.mark.parametrize("bits", [0, 1, 5])
def test_one_person_changes_the_measurements_by_the_sensitivity(strategy, bits):
    grid = Grid.regular((1 << bits,))
    method = Matrix(strategy=strategy)
    strategy = method.measurements(grid)
    assert strategy.dtype == np.int64
    assert (np.abs(strategy).sum(axis=0) == method.sensitivity(grid)).all()
    assert np.linalg.matrix_rank(strategy) == 1 << bits
    before = np.random.default_rng(1).integers(0, 9, 1 << bits)
    for cell in range(1 << bits):
        after = before + (np.arange(1 << bits) == cell)
        change = np.abs(strategy @ after - strategy @ before).sum()
        assert change == method.sensitivity(grid)


@every_strategy
@given(secrets)
@settings(max_examples=5, deadline=None)
def test_a_release_is_least_squares_on_exact_noise(strategy, secret):
    grid = Grid.regular((3, 5))
    table = CountTable.from_dense(np.arange(15).reshape(3, 5) * 7, grid)
    method = Matrix(strategy=strategy)
    once = spent(method, grid)
    matrix = method.measurements(grid)
    noise = laplace_noise(NoiseKey(secret), 0, once.scale, matrix.shape[0])
    expected = np.linalg.pinv(matrix.astype(float)) @ (matrix @ table.to_vector() + noise)
    inside = grid.contains_keys(np.arange(1 << grid.bits, dtype=np.uint64))
    released = method.release(table, once, NoiseKey(secret))
    assert np.allclose(released.to_vector(), expected * inside)
    assert method.visited(released) == matrix.shape[0]


@every_strategy
@pytest.mark.parametrize("shape", [(4, 8), (5, 6), (11,)])
def test_variances_are_those_of_unit_noise(strategy, shape):
    grid = Grid.regular(shape)
    method = Matrix(strategy=strategy)
    once = spent(method, grid)
    matrix = method.measurements(grid)
    inside = grid.contains_keys(np.arange(1 << grid.bits, dtype=np.uint64))
    estimator = np.array([estimate(matrix, unit) for unit in np.eye(matrix.shape[0])]) * inside
    sigma2 = DiscreteLaplace.of_scale(once.scale).variance
    for level, variance in enumerate(method.variances(grid, once)):
        sums = estimator.reshape(matrix.shape[0], 1 << level, -1).sum(axis=2)
        assert variance == pytest.approx(sigma2 * (sums**2).sum(axis=0).max())


def test_a_mask_and_padding():
    grid = Grid.regular((6, 5))
    inside = np.zeros((6, 5), bool)
    inside[1:4, 1:] = inside[5, 0] = True
    grid = grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside), "drawn for a test"))
    people = np.where(inside, 600, 0)
    people[5, 0] = 0
    release = geodp.publish(
        CountTable.from_dense(people, grid), method="matrix", epsilon=1, contribution=1
    )
    dense = release.table.to_dense()
    assert (dense[~inside] == 0).all()
    assert np.abs(dense - people).max() < 40 * release.standard_error()


def test_settings_and_refusals():
    assert mechanism("matrix:workload=blocks,strategy=tree").spec == (
        "matrix:workload=blocks,strategy=tree"
    )
    for wrong in ("workload=squares", "strategy=best"):
        with refuses(UsageError, "method-setting-out-of-range"):
            mechanism(f"matrix:{wrong}")
    assert Matrix().unsupported(Grid.regular((32, 32))) is None
    assert "1,024 cells" in Matrix().unsupported(Grid.regular((33, 32)))


def test_a_strategy_is_chosen_once_and_cannot_be_changed():
    grid = Grid.regular((8,))
    assert Matrix().measurements(grid) is Matrix().measurements(Grid.regular((2, 4)))
    with pytest.raises(ValueError, match="read-only"):
        Matrix().measurements(grid)[0, 0] = 1
