from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import geodp
from geodp.errors import UsageError
from geodp.io.mesh import read_mesh
from geodp.mechanisms import dawa as module
from geodp.mechanisms.base import add_noise, laplace_noise
from geodp.mechanisms.dawa import Dawa, consistent, deviations, hierarchy, nodes, partition
from geodp.order import Order
from geodp.randomness import NoiseKey
from tests.mechanisms.test_ugrid import maps, spent
from tests.reference import dawa as reference
from tests.strategies import secrets


@st.composite
def lines(draw, most_bits=4):
    """Counts of 2**bits keys and which are inside."""
    n = 1 << draw(st.integers(0, most_bits))
    inside = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    inside[draw(st.integers(0, n - 1))] = True
    people = np.array(draw(st.lists(st.integers(0, 40), min_size=n, max_size=n))) * inside
    return people, inside


def heap(inside):
    """Cells of the domain under every node, by slices."""
    n = inside.size
    cells = [0] + [int(inside[slice(*reference.intervals(i, n))].sum()) for i in range(1, 2 * n)]
    return np.array(cells)


@given(lines(most_bits=5))
def test_deviations_are_the_definition(drawn):
    people, inside = drawn
    found = deviations(people, heap(inside))
    for node in range(1, 2 * people.size):
        at = slice(*reference.intervals(node, people.size))
        assert found[node] == reference.deviation(people[at][inside[at]].tolist())


def test_deviations_of_the_largest_tables_are_exact():
    people = np.zeros(1 << 10, np.int64)
    people[[5, 700]] = 1 << 59, (1 << 59) - 1
    found = deviations(people, heap(np.ones(people.size, bool)))
    assert found[1] == reference.deviation(people.tolist())
    assert found[2] == reference.deviation(people[:512].tolist())


@given(lines(most_bits=5), st.data())
def test_one_person_changes_a_cost_by_at_most_two_and_only_around_them(drawn, data):
    people, inside = drawn
    cell = data.draw(st.sampled_from(np.flatnonzero(inside).tolist()))
    more = people.copy()
    more[cell] += 1
    cells = heap(inside)
    change = deviations(more, cells) - deviations(people, cells)
    assert np.abs(change).max() <= module.COST_SENSITIVITY
    above = {(cell + people.size) >> up for up in range(people.size.bit_length())}
    assert set(np.flatnonzero(change).tolist()) <= above


def test_the_sensitivity_of_a_cost_is_reached():
    people = np.zeros(8, np.int64)
    cells = heap(np.ones(8, bool))
    people[0] = 5
    before = deviations(people, cells)[1]
    people[0] = 6
    assert deviations(people, cells)[1] - before == 2


@given(maps(longest=8))
@settings(max_examples=30)
def test_nodes_are_the_references(drawn):
    grid = drawn[0].grid
    inside = grid.contains_keys(np.arange(1 << grid.bits, dtype=np.uint64))
    cells, candidate = nodes(grid)
    assert (cells[1:] == heap(inside)[1:]).all()
    assert cells[1] == grid.size
    sets = []
    for node in range(1, 2 * inside.size):
        low, high = reference.intervals(node, inside.size)
        sets.append(tuple((np.flatnonzero(inside[low:high]) + low).tolist()))
    taken = [s for s, is_taken in zip(sets, candidate[1:], strict=True) if is_taken]
    assert len(taken) == len(set(taken))
    assert set(taken) == {s for s in sets if s}


@given(lines(most_bits=3), st.data())
@settings(max_examples=100)
def test_partition_is_the_first_of_the_cheapest(drawn, data):
    people, inside = drawn
    n = people.size
    cost = np.array(data.draw(st.lists(st.integers(-4, 6), min_size=2 * n, max_size=2 * n)))
    cells = heap(inside)
    candidate = cells > 0
    for i in range(1, n):
        candidate[i] = cells[2 * i] > 0 and cells[2 * i + 1] > 0
    best = reference.best_partition(cost.tolist(), inside.tolist())
    starts = partition(cost, candidate)
    # A bucket starts at the first key of its node.
    assert starts.tolist() == [reference.intervals(node, n)[0] for node in best]


@given(st.integers(1, 40), st.integers(2, 7), st.integers(0, 2**32 - 1))
def test_hierarchy_is_solved_by_least_squares(count, fanout, seed):
    rng = np.random.default_rng(seed)
    levels = hierarchy(np.arange(count), fanout)
    matrix = reference.tree(count, fanout)
    assert np.concatenate(levels).tolist() == (matrix @ np.arange(count)).tolist()
    # One bucket's count stands once on every level.
    assert (matrix.sum(axis=0) == len(levels)).all()
    noisy = [rng.integers(-50, 50, level.size) for level in levels]
    solved = np.linalg.lstsq(matrix, np.concatenate(noisy), rcond=None)[0]
    assert np.allclose(consistent(noisy, fanout), solved)


@given(maps(most_people=300, longest=4), secrets, st.sampled_from([Fraction(1), Fraction(50)]))
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
    method = Dawa(penalty=Fraction(1, 10), fanout=3)
    released = method.release(table, spent(epsilon), NoiseKey(secret))
    scale = 16 / epsilon
    inside = grid.contains_keys(np.arange(1 << grid.bits, dtype=np.uint64))

    sizes = {}
    for count in range(1, 17):
        levels = [count]
        while levels[-1] > 1:
            levels.append(-(-levels[-1] // 3))
        sizes[sum(levels)] = len(levels)
    expected = reference.estimate(
        table.to_vector().tolist(),
        inside.tolist(),
        round(Fraction(4, 3) / epsilon + scale / 10),
        laplace_noise(NoiseKey(secret), 0, scale, 2 << grid.bits),
        lambda rows: laplace_noise(
            NoiseKey(secret), 1, sizes[rows] * Fraction(4, 3) / epsilon, rows
        ),
        3,
    )
    values = np.zeros(1 << grid.bits)
    values[released.key.astype(int)] = released.count
    assert np.allclose(values, expected)


def test_even_stretches_become_buckets():
    """At a large budget the partition is that of the picture, and counts are nearly exact."""
    people = np.zeros((16, 16), int)
    people[:8, :8] = 70
    people[8:12, 8:12] = 30
    people[15, 15] = 1000
    table = geodp.CountTable.from_dense(people, geodp.Grid.regular((16, 16)))
    cells, candidate = nodes(table.grid)
    starts = partition(deviations(table.to_vector(), cells) + 1, candidate)
    # 70s; the two quarters beside them; 30s and the rest of that quarter, halved down to 1000.
    assert starts.size == 1 + 2 + 1 + 2 + 1 + 1 + 1 + 1 + 1
    released = Dawa().release(table, spent(100), NoiseKey(bytes(32))).to_dense()
    assert np.abs(released - people).max() < 5


@given(lines(most_bits=3), st.data())
@settings(max_examples=100)
def test_the_privacy_argument_holds_for_every_noise(drawn, data):
    """On a neighbour, with less noise on the person's bucket alone, the same buckets come out.

    The shift maps noises one to one, and costs a factor of exp(2 D / scale) = exp(epsilon1).
    """
    people, inside = drawn
    n = people.size
    cell = data.draw(st.sampled_from(np.flatnonzero(inside).tolist()))
    more = people.copy()
    more[cell] += 1
    pair = [people, more] if data.draw(st.booleans()) else [more, people]
    noise = data.draw(st.lists(st.integers(-9, 9), min_size=2 * n, max_size=2 * n))
    cells = heap(inside)
    costs = [deviations(x, cells) + np.array(noise) for x in pair]
    chosen = reference.best_partition(costs[0].tolist(), inside.tolist())
    own = {(cell + n) >> up for up in range(n.bit_length())}
    (bucket,) = own & set(chosen)
    costs[1][bucket] -= 2 * module.COST_SENSITIVITY
    assert reference.best_partition(costs[1].tolist(), inside.tolist()) == chosen


@pytest.mark.parametrize("neighbours", ["add-remove-one", "replace-one"])
def test_the_budget_is_spent_once(monkeypatch, neighbours):
    table = geodp.CountTable.from_dense(np.full((12, 12), 9), geodp.Grid.regular((12, 12)))
    drawn, levels = [], []

    def spy(counts, key, stage, scale):
        drawn.append((stage, scale))
        return add_noise(counts, key, stage, scale)

    def counted(counts, fanout):
        levels.append(len(hierarchy(counts, fanout)))
        return hierarchy(counts, fanout)

    monkeypatch.setattr(module, "add_noise", spy)
    monkeypatch.setattr(module, "hierarchy", counted)
    Dawa().release(table, spent(Fraction(1, 7), neighbours, 3), NoiseKey(bytes(32)))
    assert [stage for stage, _ in drawn] == [0, 1]
    factor = 3 * (2 if neighbours == "replace-one" else 1)
    # Report-noisy-min: twice the change of 2. The tree: one count on every level.
    assert factor * (4 / drawn[0][1] + levels[0] / drawn[1][1]) == Fraction(1, 7)
    assert sum(Dawa().shares) == 1


def test_refusals():
    assert "at most" in Dawa().refusal(geodp.Grid.regular((1 << 11, 1 << 10)))
    assert Dawa().refusal(geodp.Grid.regular((1 << 10, 1 << 10))) is None
    for text in ("rho=0", "rho=1", "penalty=-1", "fanout=1"):
        with pytest.raises(UsageError, match="fanout at least 2"):
            Dawa().with_settings(text)


DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "estat-2020-500m"


@pytest.mark.real
@pytest.mark.skipif(not DATA.is_dir(), reason="the real data sets are not beside the project")
def test_the_default_penalty_beats_the_papers_cost_on_a_census():
    table = read_mesh(
        sorted(DATA.glob("*.zip")),
        grid="jis:half",
        value="人口（総数）",
        bounds=(138.0, 35.0, 141.2, 37.1333333333),
    )
    people = table.to_dense()

    def error(method):
        released = method.release(table, spent(Fraction(1, 10)), NoiseKey(bytes(32)))
        return np.abs(released.to_dense() - people).mean()

    assert error(Dawa()) < 0.65 * error(Dawa(penalty=Fraction(0)))
    assert error(Dawa()) < 40
