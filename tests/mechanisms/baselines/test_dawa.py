from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import geodp
from geodp.errors import UsageError
from geodp.grid.order import Order
from geodp.kernels import baselines
from geodp.mechanisms.baselines import dawa as module
from geodp.mechanisms.baselines.dawa import Dawa, consistent, deviations, hierarchy
from geodp.mechanisms.measure import add_noise, laplace_noise
from geodp.privacy.key import NoiseKey
from tests.mechanisms.baselines.test_ugrid import maps, spent
from tests.reference import dawa as reference
from tests.refusals import refuses
from tests.strategies import secrets

lines = st.lists(st.integers(0, 40), min_size=1, max_size=9)


def all_of(people):
    """Deviations by (start, width)."""
    found = enumerate(deviations(np.array(people, np.int64)))
    return {(k, 1 << level): own.item() for level, many in found for k, own in enumerate(many)}


def cheapest(cost, n):
    """The partition of the costs by (start, width)."""
    array = np.full((n.bit_length(), n), -(2**40))  # what does not fit is not read
    for (start, width), own in cost.items():
        array[width.bit_length() - 1, start] = own
    starts = np.ones(n, bool)
    baselines.cheapest(array, starts)
    ends = [*np.flatnonzero(starts)[1:].tolist(), n]
    return [(a, b - a) for a, b in zip(np.flatnonzero(starts).tolist(), ends, strict=True)]


@given(st.lists(st.integers(0, 40), min_size=1, max_size=40))
def test_deviations_are_the_definition_at_every_start(people):
    found = all_of(people)
    every = [
        (start, width)
        for width in reference.lengths(len(people))
        for start in range(len(people) - width + 1)
    ]
    assert sorted(found) == sorted(every)
    for start, width in every:
        assert found[start, width] == reference.deviation(people[start : start + width])


def test_deviations_of_the_largest_tables_are_exact():
    people = np.zeros(1 << 10, np.int64)
    people[[5, 700]] = 1 << 59, (1 << 59) - 1
    found = all_of(people)
    assert found[0, 1024] == 2**60 - 1
    assert found[0, 512] == found[5, 1] + 2**59
    assert all_of([2**59, 2**59 - 1])[0, 2] == 1


@given(lines, st.data())
def test_one_person_changes_a_cost_by_at_most_one_and_only_around_them(people, data):
    cell = data.draw(st.integers(0, len(people) - 1))
    more = [count + (k == cell) for k, count in enumerate(people)]
    before, after = all_of(people), all_of(more)
    for start, width in before:
        change = abs(after[start, width] - before[start, width])
        assert change <= (module.COST_SENSITIVITY if start <= cell < start + width else 0)


def test_the_sensitivity_of_a_cost_is_reached():
    assert all_of([6, 0, 0, 0])[0, 4] - all_of([5, 0, 0, 0])[0, 4] == 1


@given(st.integers(1, 7), st.data())
@settings(max_examples=40)
def test_partition_is_the_first_of_the_cheapest(n, data):
    cost = {key: data.draw(st.integers(-4, 6)) for key in all_of([0] * n)}
    assert cheapest(cost, n) == reference.best_partition(cost, n)


@given(st.integers(1, 40), st.integers(2, 7), st.integers(0, 2**32 - 1))
def test_hierarchy_is_solved_by_least_squares(count, fanout, seed):
    rng = np.random.default_rng(seed)
    levels = hierarchy(np.arange(count), fanout)
    matrix, level = reference.tree(count, fanout)
    assert np.concatenate(levels).tolist() == (matrix @ np.arange(count)).tolist()
    # One bucket's count stands once on every level.
    assert (matrix.sum(axis=0) == len(levels)).all()
    assert len(levels) == Dawa(fanout=fanout).height(count)
    noisy = [rng.integers(-50, 50, own.size) for own in levels]
    variance = rng.uniform(0.1, 5, len(levels))
    exact = variance[level] ** -0.5
    rows, right = matrix * exact[:, None], np.concatenate(noisy) * exact
    solved = np.linalg.lstsq(rows, right, rcond=None)[0]
    assert np.allclose(consistent(noisy, variance.tolist(), fanout), solved)


def test_shares_of_levels():
    method = Dawa(rho=Fraction(1, 4), leaves=Fraction(2, 3))
    assert method.level_shares(1) == (Fraction(3, 4), 0)
    assert method.level_shares(2) == (Fraction(1, 2), Fraction(1, 4))
    assert method.level_shares(3) == (Fraction(1, 2), Fraction(1, 8))
    grid = geodp.Grid.regular((64, 65))  # the tree over all cells has four levels
    assert method.min_share(grid, spent(1)) == Fraction(1, 12)
    assert Dawa(rho=Fraction(1, 20)).min_share(grid, spent(1)) == Fraction(1, 40)
    assert Dawa(leaves=Fraction(1, 100)).min_share(grid, spent(1)) == Fraction(3, 400)
    one = geodp.Grid.regular((1, 1))
    assert Dawa(rho=Fraction(8, 9)).min_share(one, spent(1)) == Fraction(1, 9)


def test_costs_are_whole_deviations_and_a_constant(monkeypatch):
    method, shared = Dawa(rho=Fraction(1, 4), penalty=Fraction(3)), spent(Fraction(1, 2))
    assert method.costs(shared) == (16, 51)  # 2 / (3/4) + 3 * 16 = 50.7
    with monkeypatch.context() as patch:
        patch.setattr(module, "COST_SENSITIVITY", 3)
        assert method.costs(shared) == (48, 147)
    seen = []
    monkeypatch.setattr(baselines, "cheapest", lambda cost, start: seen.append(cost.copy()))
    monkeypatch.setattr(module, "add_noise", lambda counts, *_: counts)
    method.partition(np.array([2**59 + 1, 0, 7]), shared, NoiseKey(bytes(32)))
    assert seen[0][0].tolist() == [51, 51, 51]
    assert seen[0][1, :2].tolist() == [2**59 + 52, 58]


@given(maps(most_people=300, longest=3), secrets, st.sampled_from([Fraction(1), Fraction(50)]))
@settings(max_examples=40)
def test_release_is_the_reference(drawn, secret, epsilon):
    compare(drawn[0], secret, epsilon)


@pytest.mark.parametrize("order", [Order((0, 1, 1), (3, 2, 2)), Order((1, 0), (3, 5), (0, 2))])
def test_any_order_of_keys_will_do(order):
    grid = geodp.Grid.regular((3, 4) if not order.offset else (5, 1)).with_order(order)
    people = np.arange(grid.size).reshape(grid.shape) % 5 * 20
    compare(geodp.CountTable.from_dense(people, grid), bytes(32), Fraction(20))


def compare(table, secret, epsilon):
    grid = table.grid
    method = Dawa(penalty=Fraction(1, 10), fanout=3, leaves=Fraction(1, 2))
    released = method.release(table, spent(epsilon), NoiseKey(secret))
    inside = grid.contains_keys(np.arange(1 << grid.bits, dtype=np.uint64))
    scale, n = 8 / epsilon, grid.size

    def level_scale(level, height):
        share = Fraction(1, 2) if height > 1 else Fraction(1)
        return Fraction(4, 3) / epsilon / (share / (height - 1) if level else share)

    def noise(upper, height):
        return laplace_noise(
            NoiseKey(secret), n.bit_length() + upper, level_scale(upper, height), n
        )

    expected = reference.estimate(
        table.to_vector()[inside].tolist(),
        round(Fraction(4, 3) / epsilon + scale / 10),
        lambda level: laplace_noise(NoiseKey(secret), level, scale, n),
        noise,
        level_scale,
        3,
    )
    values = np.zeros(1 << grid.bits)
    values[released.key.astype(int)] = released.count
    assert np.allclose(values[inside], expected)
    assert (values[~inside] == 0).all()


def test_even_stretches_become_buckets_wherever_they_start():
    """At a large budget the partition is that of the list, and counts are nearly exact."""
    people = np.array([5] * 3 + [70] * 16 + [30] * 8 + [1000])
    start = Dawa().partition(people, spent(10**4), NoiseKey(bytes(32)))
    found = np.flatnonzero(start).tolist()
    assert {3, 19, 27} <= set(found)
    assert len(found) == 2 + 1 + 1 + 1
    table = geodp.CountTable.from_dense(people, geodp.Grid.regular(people.shape))
    released = Dawa().release(table, spent(100), NoiseKey(bytes(32))).to_dense()
    assert np.abs(released - people).max() < 5


@given(lines.filter(lambda people: len(people) < 8), st.data())
@settings(max_examples=40)
def test_the_privacy_argument_holds_for_every_noise(people, data):
    """On a neighbour, with less noise on the person's bucket alone, the same buckets come out.

    The shift maps noises one to one, and costs a factor of exp(2 D / scale) = exp(epsilon1).
    """
    cell = data.draw(st.integers(0, len(people) - 1))
    more = [count + (k == cell) for k, count in enumerate(people)]
    pair = [all_of(people), all_of(more)]
    if data.draw(st.booleans()):
        pair.reverse()
    noise = {key: data.draw(st.integers(-9, 9)) for key in pair[0]}
    first, second = ({key: even[key] + noise[key] for key in even} for even in pair)
    chosen = cheapest(first, len(people))
    (bucket,) = (own for own in chosen if own[0] <= cell < sum(own))
    second[bucket] -= 2 * module.COST_SENSITIVITY
    assert cheapest(second, len(people)) == chosen


def test_the_noise_of_the_authors_code_is_too_little():
    """Three cells, nobody or one person in the middle: how likely the cells stay single."""
    scale, constant = reference.published_scale(2, 3), Fraction(4, 3)

    def likely(even):  # both pairs cost more than their cells
        return (np.exp(-(constant - even) / scale) / 2) ** 2

    assert np.log(likely(1) / likely(0)) > 1.7  # where 1 is claimed
    assert reference.published_scale(1, 3) == 0


@pytest.mark.parametrize("neighbours", ["add-remove-one", "replace-one"])
def test_the_budget_is_spent_once(monkeypatch, neighbours):
    table = geodp.CountTable.from_dense(np.full((12, 12), 9), geodp.Grid.regular((12, 12)))
    drawn = []

    def spy(counts, key, stage, scale):
        drawn.append((stage, scale, counts.size))
        return add_noise(counts, key, stage, scale)

    monkeypatch.setattr(module, "add_noise", spy)
    method = Dawa(penalty=Fraction(0), fanout=2)
    method.release(table, spent(Fraction(1, 7), neighbours, 3), NoiseKey(bytes(32)))
    assert [stage for stage, *_ in drawn] == list(range(len(drawn)))
    *costs, own, above = drawn
    assert [size for *_, size in costs] == [145 - (1 << level) for level in range(8)]
    factor = 3 * (2 if neighbours == "replace-one" else 1)
    # Report-noisy-min: twice the change of 1. The tree: one count on every level.
    (scale,) = {scale for _, scale, _ in costs}
    assert 2 * factor / scale == Fraction(1, 28)
    levels = hierarchy(np.zeros(own[2], int), 2)
    assert above[2] == sum(level.size for level in levels[1:])
    assert factor * (1 / own[1] + (len(levels) - 1) / above[1]) == Fraction(3, 28)


def test_refusals():
    assert "at most" in Dawa().unsupported(geodp.Grid.regular((1 << 11, 1 << 10)))
    assert Dawa().unsupported(geodp.Grid.regular((1 << 10, 1 << 10))) is None
    for text in ("rho=0", "rho=1", "penalty=-1", "fanout=1", "leaves=0", "leaves=1"):
        with refuses(UsageError, "method-setting-out-of-range"):
            Dawa().with_settings(text)


def released(people, epsilon):
    """Releases of one table, by trial."""
    table = geodp.CountTable.from_dense(people, geodp.Grid.regular(people.shape))

    def release(trial):
        key = NoiseKey(trial.to_bytes(32, "little"))
        return Dawa().release(table, spent(epsilon), key).to_dense()

    return release
