from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import geodp
from geodp.errors import UsageError
from geodp.mechanisms.baselines import agrid as module
from geodp.mechanisms.baselines import ugrid
from geodp.mechanisms.baselines.agrid import (
    AGrid,
    consistent,
    cut,
    excess,
    root_up,
    squares,
    weights,
)
from geodp.mechanisms.measure import add_noise, laplace_noise
from geodp.privacy.key import NoiseKey
from tests.mechanisms.baselines.test_ugrid import maps, spent
from tests.reference import agrid as reference
from tests.refusals import refuses
from tests.strategies import secrets


@given(maps(), secrets, st.sampled_from([Fraction(1, 2), Fraction(20)]), st.booleans())
@settings(max_examples=10)
def test_release_is_the_reference(drawn, secret, epsilon, coarse):
    table, inside = drawn
    method = AGrid(share=Fraction(1, 4), alpha=Fraction(1, 3), c2=Fraction(1, 4))
    least = 2 if coarse else 10  # few blocks, so that small maps have parts
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MIN_BLOCKS", least)
        released = method.release(table, spent(epsilon), NoiseKey(secret)).to_dense()
    expected, _ = reference.estimate(
        table.to_dense().tolist(),
        inside,
        int(laplace_noise(NoiseKey(secret), 0, 4 / epsilon, 1)[0]),
        laplace_noise(NoiseKey(secret), 1, 4 / epsilon, 200),
        laplace_noise(NoiseKey(secret), 2, 2 / epsilon, 200),
        (epsilon / 4, epsilon / 2),
        (method.c1, method.c2),
        least,
    )
    assert np.allclose(released, expected)
    assert (released[~inside] == 0).all()


def test_blocks_follow_the_formulas():
    # The paper's first level: a quarter of sqrt(N epsilon / 10), at least 10.
    shared = spent(Fraction(20, 19))
    assert AGrid().blocks_per_axis(40_000, shared) == 16  # 63.2 / 4 = 15.8
    assert AGrid().blocks_per_axis(10_000, shared) == 10
    # The second: sqrt(N' epsilon / 2 / 5), rounded up.
    noisy = np.array([-5, 0, 1, 10, 11, 1000])
    assert AGrid().parts_per_axis(noisy, shared).tolist() == [1, 1, 1, 1, 2, 10]


@given(st.integers(0, 10**12), st.integers(1, 10**6))
def test_roots_are_exact(numerator, denominator):
    square = Fraction(numerator, denominator)
    root = root_up(square)
    assert root**2 >= square
    assert root == 0 or (root - 1) ** 2 < square


def test_consistency_is_the_papers_weighted_average():
    # alpha = 1/2, m2 = 2: the block's weight is 4 / (1 + 4) by the paper's formula.
    coarse, fine = np.array([100]), np.array([10, 20, 30, 20])
    weight = weights(np.array([2]), np.array([9]), 1.0)
    found = consistent(coarse, fine, np.zeros(4, int), np.ones(4, bool), weight, np.zeros(1))
    assert found.sum() == pytest.approx(0.8 * 100 + 0.2 * 80)
    assert np.allclose(found - fine, (96 - 80) / 4)
    # alpha = 1/3, m2 = 3: (1/3)**2 9 / ((2/3)**2 + (1/3)**2 9).
    assert weights(np.array([3]), np.array([9]), 1 / 4)[0] == pytest.approx(9 / 13)


def test_a_block_has_no_more_parts_than_cells():
    found = weights(np.array([1, 5, 5, 2**40]), np.array([4, 25, 24, 3]), 1.0)
    assert np.allclose(found, [1 / 2, 25 / 26, 24 / 25, 3 / 4])
    assert weights(np.array([7]), np.array([0]), 1.0)[0] == 0


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(7, 2)])
@pytest.mark.parametrize("step", [Fraction(1, 5), Fraction(7, 2), Fraction(20)])
@pytest.mark.parametrize("count", [-3, 0, 4, 20, 33])
def test_what_is_taken_off_has_the_mean_of_the_excess(count, step, scale):
    """Exactly, by summing over all noise that can matter: the averages are unbiased."""
    z = np.arange(-200, 201)
    mass = np.tanh(1 / (2 * float(scale))) * np.exp(-np.abs(z) / float(scale))
    cells = np.full(z.size, 30)
    parts = np.array([max(1, root_up(max(n, 0) / step)) for n in (count + z).tolist()])
    excesses = z * weights(parts, cells, 0.7)
    taken_off = excess(count + z, cells, scale, step, 0.7)
    assert (mass * excesses).sum() == pytest.approx((mass * taken_off).sum(), abs=1e-9)
    if count in (4, 20) and scale > 1:
        assert (mass * excesses).sum() > 1e-3


def test_nothing_is_taken_off_where_the_weight_cannot_change():
    noisy, scale = np.array([10, 5, 2**60]), Fraction(10)
    assert excess(noisy, np.array([0, 1, 9]), scale, Fraction(5), 1.0).tolist() == [0, 0, 0]


def test_blocks_and_parts_are_squares_of_whole_cells():
    row, col = squares((13, 11), 3)  # root of 143 / 9: 3.98
    assert np.bincount(row).tolist() == [3, 3, 3, 3, 1]
    assert np.bincount(col).tolist() == [3, 3, 3, 2]
    assert [axis.max() for axis in squares((13, 11), 10**9)] == [12, 10]
    row, col = squares((13, 11), 2)
    part, first = cut(row, col, np.array([1, 9, 2, 3, 1, 2, 1, 2, 2**34]))
    # Blocks of 5 x 5, 5 x 1, 3 x 5 and 3 x 1 cells.
    assert np.diff(first).tolist() == [1, 25, 5, 25, 1, 5, 2, 15, 3]
    sizes = np.bincount(part.reshape(-1))
    assert sizes.size == first[-1]
    assert sizes.min() > 0
    block = row[:, None] * (col[-1] + 1) + col
    for number in range(block.max() + 1):
        own = (part >= first[number]) & (part < first[number + 1])
        assert np.unique(block[own]) == [number]


def test_empty_blocks_stay_whole_and_full_ones_are_cut():
    people = np.zeros((40, 40), int)
    people[:4, :4] = np.arange(16).reshape(4, 4) * 100
    table = geodp.CountTable.from_dense(people, geodp.Grid.regular((40, 40)))
    released = AGrid().release(table, spent(20), NoiseKey(bytes(32))).to_dense()
    assert np.abs(released[:4, :4] - people[:4, :4]).max() < 10
    blocks = released.reshape(10, 4, 10, 4).transpose(0, 2, 1, 3).reshape(100, 16)
    assert (blocks[1:] == blocks[1:, :1]).all()


@pytest.mark.parametrize("neighbours", ["add-remove-one", "replace-one"])
def test_the_budget_is_spent_once(monkeypatch, neighbours):
    table = geodp.CountTable.from_dense(np.full((12, 12), 9), geodp.Grid.regular((12, 12)))
    drawn = []

    def spy(counts, key, stage, scale):
        drawn.append((stage, scale))
        return add_noise(counts, key, stage, scale)

    for one in (module, ugrid):
        monkeypatch.setattr(one, "add_noise", spy)
    AGrid().release(table, spent(Fraction(1, 7), neighbours, 3), NoiseKey(bytes(32)))
    assert [stage for stage, _ in drawn] == [0, 1, 2]
    factor = 3 * (2 if neighbours == "replace-one" else 1)
    assert sum(factor / scale for _, scale in drawn) == Fraction(1, 7)
    assert sum(AGrid().shares) == 1


def test_refusals():
    assert "takes two axes" in AGrid().unsupported(geodp.Grid.regular((10, 2, 2)))
    assert "at most" in AGrid().unsupported(geodp.Grid.regular((1 << 14, 1 << 14)))
    assert AGrid().unsupported(geodp.Grid.regular((100, 7))) is None
    for text in ("share=0", "alpha=1", "c1=0", "c2=-1"):
        with refuses(UsageError, "method-setting-out-of-range"):
            AGrid().with_settings(text)


def released(people, epsilon):
    """Releases of one table, by trial."""
    table = geodp.CountTable.from_dense(people, geodp.Grid.regular(people.shape))

    def release(trial):
        key = NoiseKey(trial.to_bytes(32, "little"))
        return AGrid().release(table, spent(epsilon), key).to_dense()

    return release
