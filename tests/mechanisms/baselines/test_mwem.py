from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import geodp
from geodp.errors import UsageError
from geodp.grid.order import Order
from geodp.mechanisms.baselines import mwem as module
from geodp.mechanisms.baselines.mwem import BlockDensity, Mwem, sums
from geodp.mechanisms.measure import add_noise, laplace_noise
from geodp.privacy.key import NoiseKey
from tests.mechanisms.baselines.test_ugrid import maps, spent
from tests.reference import mwem as reference
from tests.refusals import refuses
from tests.strategies import secrets, shaped_tables


def vector(released):
    values = np.zeros(1 << released.grid.bits)
    values[released.key.astype(int)] = released.count
    return values


def compare(table, secret, epsilon, method):
    grid = table.grid
    inside = grid.contains_keys(np.arange(1 << grid.bits, dtype=np.uint64)).tolist()
    rounds = min(method.rounds, len(reference.queries(inside)))
    key = NoiseKey(secret)
    per_round = epsilon * (1 - method.share) / max(rounds, 1)
    total = 1 / (epsilon * (method.share if rounds else 1))
    expected = reference.estimate(
        table.to_vector().tolist(),
        inside,
        method.rounds,
        method.passes,
        int(laplace_noise(key, 0, total, 1)[0]),
        lambda turn: laplace_noise(key, 1 + 2 * turn, 4 / per_round, 2 << grid.bits),
        lambda turn: int(laplace_noise(key, 2 + 2 * turn, 2 / per_round, 1)[0]),
        method.average,
    )
    released = method.release(table, spent(epsilon), key)
    assert np.allclose(vector(released), expected, rtol=1e-9, atol=1e-9 * max(expected))


@given(maps(longest=8), secrets, st.booleans())
@settings(max_examples=20)
def test_release_is_the_reference_on_maps(drawn, secret, average):
    method = Mwem(rounds=4, passes=3, share=Fraction(1, 5), average=average)
    compare(drawn[0], secret, Fraction(5), method)


@given(shaped_tables(), secrets)
@settings(max_examples=15)
def test_release_is_the_reference_on_any_axes(table, secret):
    if table.grid.bits <= 7:
        compare(table, secret, Fraction(5), Mwem(rounds=3, passes=5))


@pytest.mark.parametrize("order", [Order((0, 1, 1), (3, 2, 2)), Order((1, 0), (3, 5), (0, 2))])
def test_any_order_of_keys_will_do(order):
    grid = geodp.Grid.regular((3, 4) if not order.offset else (5, 1)).with_order(order)
    people = np.arange(grid.size).reshape(grid.shape) % 5 * 20
    compare(geodp.CountTable.from_dense(people, grid), bytes(32), Fraction(20), Mwem(rounds=5))


def test_a_measured_block_gets_what_was_measured():
    estimate = BlockDensity(np.ones(8, np.int64), 80.0)
    estimate.learn(2, 60.0, 200)  # the left half
    estimate.learn(5, 15.0, 400)  # the second quarter
    found = estimate.density()
    assert found.sum() == pytest.approx(80)
    assert found[:4].sum() == pytest.approx(60, abs=0.01)
    assert found[2:4].sum() == pytest.approx(15, abs=0.01)
    assert np.ptp(found[4:]) == 0


@pytest.mark.parametrize("measured", [-1e9, 0.0, 1e9])
def test_absurd_measurements_leave_numbers(measured):
    estimate = BlockDensity(np.array([1, 1, 0, 1, 1, 1, 0, 0]), 1.0)
    estimate.learn(4, measured, 100)
    estimate.learn(3, measured, 100)
    found = estimate.density()
    assert np.isfinite(found).all()
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1)
    assert (found[[2, 6, 7]] == 0).all()


@given(maps(longest=8))
@settings(max_examples=30)
def test_nodes_are_the_definition(drawn):
    grid = drawn[0].grid
    n = 1 << grid.bits
    inside = grid.contains_keys(np.arange(n, dtype=np.uint64))
    cells, candidate = module.nodes(grid)
    sets = [()]
    for node in range(1, 2 * n):
        width = n >> (node.bit_length() - 1)
        low = node * width - n
        sets.append(tuple((np.flatnonzero(inside[low : low + width]) + low).tolist()))
    assert cells.tolist() == [len(held) for held in sets]
    taken = [held for held, is_taken in zip(sets, candidate, strict=True) if is_taken]
    assert len(taken) == len(set(taken))
    assert set(taken) == {held for held in sets if held}


def test_nobody_and_a_single_cell():
    single = geodp.CountTable.from_dense(np.array([[900]]), geodp.Grid.regular((1, 1)))
    assert Mwem().release(single, spent(10**4), NoiseKey(bytes(32))).total == 900
    empty = geodp.CountTable.from_dense(np.zeros((4, 4), int), geodp.Grid.regular((4, 4)))
    assert Mwem().release(empty, spent(10**4), NoiseKey(bytes(32))).total == pytest.approx(1)


@given(st.integers(0, 6), st.integers(0, 2**32 - 1), st.data())
def test_one_person_changes_every_score_by_at_most_one(bits, seed, data):
    rng = np.random.default_rng(seed)
    people = rng.integers(0, 30, 1 << bits)
    more = people.copy()
    more[data.draw(st.integers(0, people.size - 1))] += 1
    guess = np.rint(sums(rng.random(people.size) * 20)).astype(np.int64)
    change = np.abs(sums(more) - guess) - np.abs(sums(people) - guess)
    assert np.abs(change).max() <= 1


@pytest.mark.parametrize("neighbours", ["add-remove-one", "replace-one"])
@pytest.mark.parametrize("side", [1, 2, 12])
def test_the_budget_is_spent_once(monkeypatch, neighbours, side):
    table = geodp.CountTable.from_dense(np.full((side, side), 9), geodp.Grid.regular((side, side)))
    drawn = []

    def spy(counts, key, stage, scale):
        drawn.append((stage, scale))
        return add_noise(counts, key, stage, scale)

    monkeypatch.setattr(module, "add_noise", spy)
    Mwem().release(table, spent(Fraction(1, 7), neighbours, 3), NoiseKey(bytes(32)))
    rounds = min(10, 2 * side * side - 2)
    assert [stage for stage, _ in drawn] == list(range(1 + 2 * rounds))
    factor = 3 * (2 if neighbours == "replace-one" else 1)
    # Selections are report-noisy-max: their noise is doubled.
    costs = [factor * (2 if stage % 2 else 1) / scale for stage, scale in drawn]
    assert sum(costs) == Fraction(1, 7)


def test_refusals():
    assert "at most" in Mwem().unsupported(geodp.Grid.regular((1 << 11, 1 << 10)))
    assert Mwem().unsupported(geodp.Grid.regular((1 << 10, 1 << 10))) is None
    for text in ("rounds=0", "passes=0", "share=1"):
        with refuses(UsageError, "method-setting-out-of-range"):
            Mwem().with_settings(text)
