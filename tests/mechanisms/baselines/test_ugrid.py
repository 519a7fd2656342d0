from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import geodp
from geodp.errors import UsageError
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.mechanisms.baselines import ugrid as module
from geodp.mechanisms.baselines.ugrid import UGrid, split_evenly
from geodp.mechanisms.measure import add_noise, laplace_noise
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import Terms
from tests.reference import ugrid as reference
from tests.refusals import refuses
from tests.strategies import secrets


def spent(epsilon, neighbours="add-remove-one", contribution=1):
    return Measurement.of(
        "test",
        Terms.of(epsilon=Fraction(epsilon), neighbours=neighbours, contribution=contribution),
        1,
        "fixed",
    )


@st.composite
def maps(draw, most_people=60, longest=14):
    """A table on a small map, often masked, and which of its cells are inside."""
    shape = draw(st.tuples(st.integers(1, longest), st.integers(1, longest)))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    inside = np.ones(shape, bool)
    grid = geodp.Grid.regular(shape)
    if draw(st.booleans()):
        inside = rng.random(shape) < 0.5
        inside[rng.integers(shape[0]), rng.integers(shape[1])] = True
        grid = grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside), "drawn for a test"))
    people = rng.integers(0, most_people + 1, shape) * inside
    return geodp.CountTable.from_dense(people, grid), inside


@given(st.integers(1, 50), st.integers(1, 50))
def test_parts_of_an_axis_are_the_references(size, parts):
    parts = min(size, parts)
    edges = reference.edges(size, parts)
    assert np.bincount(split_evenly(size, parts)).tolist() == np.diff(edges).tolist()


@given(maps(), secrets, st.sampled_from([Fraction(1, 2), Fraction(20)]), st.booleans())
@settings(max_examples=40)
def test_release_is_the_reference(drawn, secret, epsilon, fine):
    table, inside = drawn
    method = UGrid(share=Fraction(1, 4), c=Fraction(1, 8) if fine else Fraction(10))
    released = method.release(table, spent(epsilon), NoiseKey(secret)).to_dense()
    expected = reference.estimate(
        table.to_dense().tolist(),
        inside,
        int(laplace_noise(NoiseKey(secret), 0, 4 / epsilon, 1)[0]),
        laplace_noise(NoiseKey(secret), 1, Fraction(4, 3) / epsilon, 200),
        epsilon * Fraction(3, 4),
        method.c,
    )
    assert np.allclose(released, expected)
    assert (released[~inside] == 0).all()


def test_blocks_follow_the_formula():
    # N = 20,000, epsilon = 1 after the share: sqrt(20,000 / 10) = 44.7
    shared = spent(Fraction(20, 19))
    assert UGrid().blocks_per_axis(20_000, shared) == 44
    assert UGrid().blocks_per_axis(100, shared) == 10
    assert UGrid(c=Fraction(1000)).blocks_per_axis(10**6, shared) == 31
    # The noise of replaced people counted 3 times is six times larger.
    six = spent(Fraction(20, 19), "replace-one", 3)
    assert UGrid().blocks_per_axis(20_000, six) == 18


def recorded(monkeypatch, method, table, shared):
    """Stages, scales and lengths of all noise of a release."""
    drawn = []

    def spy(counts, key, stage, scale):
        drawn.append((stage, scale, counts.size))
        return add_noise(counts, key, stage, scale)

    monkeypatch.setattr(module, "add_noise", spy)
    method.release(table, shared, NoiseKey(bytes(32)))
    return drawn


@pytest.mark.parametrize("neighbours", ["add-remove-one", "replace-one"])
def test_the_budget_is_spent_once(monkeypatch, neighbours):
    table = geodp.CountTable.from_dense(np.full((12, 12), 9), geodp.Grid.regular((12, 12)))
    shared = spent(Fraction(1, 7), neighbours, 3)
    drawn = recorded(monkeypatch, UGrid(), table, shared)
    assert [stage for stage, _, _ in drawn] == [0, 1]
    factor = 3 * (2 if neighbours == "replace-one" else 1)
    assert sum(factor / scale for _, scale, _ in drawn) == Fraction(1, 7)
    assert sum(UGrid().shares) == 1


@pytest.mark.parametrize("share", [Fraction(1, 20), Fraction(1, 3)])
def test_the_total_that_decides_has_the_noise_of_its_share(share):
    table = geodp.CountTable.from_dense(np.full((4, 5), 9), geodp.Grid.regular((4, 5)))
    found = []
    for number in range(40):
        key = NoiseKey(number.to_bytes(32, "little"))
        noise = int(laplace_noise(key, 0, 7 / share, 1)[0])
        found.append(module.noisy_total(table, spent(Fraction(1, 7)), key, share))
        assert found[-1] == max(0, 180 + noise)
    assert min(found) < 180 < max(found)
    assert len(set(found)) > 20


def test_a_total_below_nobody_is_nobody():
    nobody = geodp.CountTable.from_dense(np.zeros((4, 5), int), geodp.Grid.regular((4, 5)))
    keys = [NoiseKey(number.to_bytes(32, "little")) for number in range(20)]
    found = [module.noisy_total(nobody, spent(1), key, Fraction(1)) for key in keys]
    assert min(found) == 0 < max(found)


def test_one_person_changes_one_block_by_one():
    table = geodp.CountTable.from_dense(np.full((12, 9), 2), geodp.Grid.regular((12, 9)))
    more = np.full((12, 9), 2)
    more[7, 3] += 1
    more = geodp.CountTable.from_dense(more, table.grid)
    block = split_evenly(12, 5)[:, None] * 4 + split_evenly(9, 4)
    change = module.count_blocks(more, block, 20) - module.count_blocks(table, block, 20)
    assert np.abs(change).sum() == 1


def test_refusals():
    assert "takes two axes" in UGrid().unsupported(geodp.Grid.regular((10,)))
    assert "takes two axes" in UGrid().unsupported(geodp.Grid.regular((10, 10)).pairs())
    assert "at most" in UGrid().unsupported(geodp.Grid.regular((1 << 14, 1 << 14)))
    assert UGrid().unsupported(geodp.Grid.regular((100, 7))) is None
    for text in ("share=0", "share=1", "c=0"):
        with refuses(UsageError, "method-setting-out-of-range"):
            UGrid().with_settings(text)
    assert UGrid().with_settings("share=1/10,c=5").spec == "ugrid:share=1/10,c=5"
