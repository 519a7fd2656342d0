import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import geodp
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.mechanisms import mechanism
from geodp.mechanisms.baselines import filter as sparsefilter
from geodp.mechanisms.baselines.filter import (
    Filter,
    automatic_threshold,
    passing_probability,
    passing_ranks,
)
from geodp.mechanisms.measure import laplace_noise
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise import exact_draws as module
from geodp.privacy.noise.exact_draws import LIMIT, GeometricDraws
from geodp.privacy.noise.law import decide, exp_interval
from geodp.privacy.terms import Terms
from geodp.release.publish import publish
from geodp.table.counts import CountTable
from tests.grids import FORMS, cells_of
from tests.reference import sparsefilter as reference
from tests.refusals import refuses
from tests.strategies import secrets, shaped_tables

SIGNIFICANCE = 1e-6


def secret_of(trial: int) -> bytes:
    return trial.to_bytes(32, "little")


def spent(scale) -> object:
    return Measurement.of(
        "filter", Terms.of(epsilon=1 / Fraction(scale), contribution=1), 1, "fixed"
    )


def exponential(x: Fraction):
    return lambda bits: exp_interval(x, bits)


def of_ratio(numerator: int, denominator: int):
    """Interval of a rational ratio."""
    return lambda bits: (
        (numerator << bits) // denominator,
        -(-(numerator << bits) // denominator),
    )


def chi_square(observed: Counter, law: dict) -> float:
    """p-value; outcomes expected fewer than ten times are put together."""
    n = sum(observed.values())
    rows = [(observed[outcome], n * p) for outcome, p in law.items()]
    assert sum(got for got, _ in rows) == n
    often = [row for row in rows if row[1] >= 10]
    rare = [row for row in rows if row[1] < 10]
    if rare:
        often.append((sum(r[0] for r in rare), max(sum(r[1] for r in rare), 1e-9)))
    statistic = sum((got - due) ** 2 / due for got, due in often)
    return stats.chi2.sf(statistic, len(often) - 1)


# Geometric draws.


@given(secrets, st.sampled_from([Fraction(1, 10), Fraction(2), Fraction(1, 10**6)]))
@settings(max_examples=15)
def test_a_draw_is_the_definitions(secret, x):
    law = GeometricDraws(NoiseKey(secret), 5, exponential(x))
    with localcontext(prec=120):
        ratio = (-Decimal(x.numerator) / Decimal(x.denominator)).exp()
    expected = [reference.geometric(secret, 5, ratio, law.digits, i) for i in range(3, 9)]
    assert law.draws(3, 6).tolist() == expected
    assert law.draws(0, 9)[3:].tolist() == expected


def test_parts_of_a_list_do_not_show(monkeypatch):
    law = GeometricDraws(NoiseKey(bytes(32)), 5, exponential(Fraction(1, 7)))
    whole = law.draws(0, 100)
    monkeypatch.setattr(module, "_CHUNK", 9)
    assert (law.draws(0, 100) == whole).all()
    assert law.draws(5, 0).size == 0


@pytest.mark.law
@pytest.mark.parametrize("x", [Fraction(1, 19), Fraction(3), Fraction(1, 7)], ids=str)
def test_draws_are_geometric(x):
    drawn = GeometricDraws(NoiseKey(bytes(32)), 5, exponential(x)).draws(0, 1 << 17)
    law = {g: math.exp(-g * x) * -math.expm1(-x) for g in range(800)}
    law[800] = math.exp(-800 * x)
    assert chi_square(Counter(np.minimum(drawn, 800).tolist()), law) > SIGNIFICANCE
    pairs = np.corrcoef(drawn[:-1], drawn[1:])[0, 1]
    assert abs(pairs) < 5 / math.sqrt(drawn.size)


@pytest.mark.law
def test_digits_beyond_those_drawn_together_follow_the_law_too(monkeypatch):
    monkeypatch.setattr(module, "_RARE", 1)
    law = GeometricDraws(NoiseKey(bytes(32)), 5, exponential(Fraction(1, 5)))
    assert law.digits == 2
    drawn = law.draws(0, 1 << 12)
    expected = {g: math.exp(-g / 5) * -math.expm1(-1 / 5) for g in range(100)}
    expected[100] = math.exp(-20)
    assert chi_square(Counter(np.minimum(drawn, 100).tolist()), expected) > SIGNIFICANCE


def test_thresholds_are_the_floors_of_exact_probabilities():
    law = GeometricDraws(NoiseKey(bytes(32)), 5, of_ratio(999, 1000))
    power = Fraction(999, 1000)
    for slot in range(9):
        assert int(law.threshold[slot]) == int(power / (1 + power) * 2**63)
        low, high = law.probability(slot, 100)
        assert low <= power / (1 + power) * 2**100 <= high
        assert high - low < 16
        power *= power
    half = GeometricDraws(NoiseKey(bytes(32)), 5, of_ratio(1, 2))
    assert int(half.threshold[0]) == 2**63 // 3
    assert int(half.threshold[-1]) == 2**63 >> (1 << half.digits)


def test_a_tie_takes_further_digits():
    law = GeometricDraws(NoiseKey(bytes(32)), 5, of_ratio(1, 2))
    tie = 2**63 // 3  # P = 1/3 = 0.010101...
    ones = (2**64 * 2**63 // 3) & (2**64 - 1)
    assert decide(partial(law.probability, 0), tie, 63, iter([ones - 1]))
    assert not decide(partial(law.probability, 0), tie, 63, iter([ones + 1]))
    assert decide(partial(law.probability, 0), tie, 63, iter([ones, 0]))
    assert not decide(partial(law.probability, 0), tie, 63, iter([ones, 2**64 - 1]))
    assert decide(partial(law.probability, 0), tie - 1, 63, iter([]))
    assert not decide(partial(law.probability, 0), tie + 1, 63, iter([]))


def test_a_ratio_next_to_one_never_stops_within_the_limit():
    law = GeometricDraws(NoiseKey(bytes(32)), 5, lambda bits: ((1 << bits) - 1, 1 << bits))
    assert law.digits == 62
    assert (law.threshold[:-1] == 2**62 - 1).all()
    assert int(law.threshold[-1]) == 2**63 - 1
    assert (law.draws(0, 5) == LIMIT).all()


# The filter.


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(10), Fraction(900, 7)])
@pytest.mark.parametrize("size", [1, 600, 1 << 18, 1 << 40, 1 << 62])
def test_the_automatic_threshold_is_the_smallest_that_lets_few_pass(scale, size):
    theta = automatic_threshold(scale, size)
    few = min(max(1, size / 256), 65536)
    assert size * passing_probability(scale, theta) <= few * (1 + 1e-12)
    assert theta == 1 or size * passing_probability(scale, theta - 1) > few


@pytest.mark.law
@pytest.mark.parametrize("theta", [1, 3])
def test_the_joint_law_is_that_of_the_dense_filter(theta):
    """All four cells together: two occupied, two empty; and the dense filter beside it."""
    counts, most = [3, 0, 0, 1], theta + 2
    table = CountTable.from_dense(np.array(counts), Grid.regular((4,)))
    method, once = Filter(theta), spent(1)
    sparse, dense = Counter(), Counter()
    for trial in range(1200):
        key = NoiseKey(secret_of(trial))
        released = method.release(table, once, key).to_dense()
        sparse[tuple(np.minimum(released, most).tolist())] += 1
        noise = laplace_noise(key, 9, Fraction(1), 4)
        dense[tuple(min(v, most) for v in reference.dense(counts, noise.tolist(), theta))] += 1
    cells = [reference.value_probabilities(c, Fraction(1), theta, most) for c in counts]
    law = {
        outcome: math.prod(cell[v] for cell, v in zip(cells, outcome, strict=True))
        for outcome in product(*cells)
    }
    assert chi_square(sparse, law) > SIGNIFICANCE
    assert chi_square(dense, law) > SIGNIFICANCE


@pytest.mark.law
@pytest.mark.parametrize("occupied", [0, 5], ids=["empty", "occupied"])
@pytest.mark.parametrize("name", ["mask, attributes", "regions", "regions, attributes under"])
def test_every_cell_of_a_part_of_a_map_passes_as_often_as_in_the_dense_filter(name, occupied):
    """And none outside. Cells are independent, so each has a 2 x 2 table of its own."""
    grid, trials, scale, theta = FORMS[name], 1500, Fraction(2), 3
    domain = np.array(sorted(cells_of(grid)), np.uint64)
    true = np.zeros(domain.size, np.int64)
    true[np.random.default_rng(8).permutation(domain.size)[:occupied]] = np.arange(1, occupied + 1)
    table = CountTable.from_keys(grid, domain, true)
    sparse, dense, number = np.zeros(domain.size), np.zeros(domain.size), []
    for trial in range(trials):
        key = NoiseKey(secret_of(trial))
        released = Filter(theta).release(table, spent(scale), key)
        at = np.searchsorted(domain, released.key)
        assert (domain[np.minimum(at, domain.size - 1)] == released.key).all()
        noisy = np.array(
            reference.dense(true, laplace_noise(key, 9, scale, domain.size), theta), np.int64
        )
        sparse[at] += 1
        dense += noisy > 0
        number.append((released.key.size, int((noisy > 0).sum())))
    mean = (sparse + dense) / (2 * trials)
    assert mean.min() > 0
    statistic = (np.square(sparse - dense) / (2 * trials * mean * (1 - mean))).sum()
    assert stats.chi2.sf(statistic, domain.size) > SIGNIFICANCE
    together = np.apply_along_axis(np.bincount, 0, np.array(number), minlength=domain.size + 1)
    often = together.sum(axis=1) >= 20
    rows = np.vstack([together[often], together[~often].sum(axis=0)])
    rows = rows[rows.sum(axis=1) > 0]
    assert stats.chi2_contingency(rows).pvalue > SIGNIFICANCE


@pytest.mark.law
@pytest.mark.parametrize("bits", [20, 60])
def test_number_places_and_values_of_the_empty_cells_that_pass(bits):
    n, scale = 1 << bits, Fraction(3)
    theta = automatic_threshold(scale, n // 16 if bits == 20 else n)
    p = passing_probability(scale, theta)
    grid = Grid.regular((1 << bits // 2, 1 << bits // 2))
    table = CountTable.from_keys(grid, np.array([77], np.uint64), np.array([100]))
    number, rows, above = [], [], []
    for trial in range(4):
        released = Filter(theta).release(table, spent(scale), NoiseKey(secret_of(trial)))
        assert int(released.count[released.key == 77][0]) > 0
        empty = released.key != 77
        number.append(int(empty.sum()))
        rows.append(grid.decode(released.key[empty])[0])
        above.append(released.count[empty] - theta)
    deviation = (np.array(number) - n * p) / math.sqrt(n * p * (1 - p))
    assert stats.chi2.sf((deviation**2).sum(), 4) > SIGNIFICANCE
    row = np.concatenate(rows) >> (bits // 2 - 6)
    assert stats.chisquare(np.bincount(row, minlength=64)).pvalue > SIGNIFICANCE
    law = {g: math.exp(-g / 3) * -math.expm1(-1 / 3) for g in range(60)} | {60: math.exp(-20)}
    drawn = Counter(np.minimum(np.concatenate(above), 60).tolist())
    assert chi_square(drawn, law) > SIGNIFICANCE


@pytest.mark.law
def test_every_gap_is_as_likely_as_any_set_of_passing_cells():
    """Two empty cells of the domain's four pass independently of each other."""
    p = passing_probability(Fraction(1), 1)
    found = Counter(
        tuple(passing_ranks(NoiseKey(secret_of(t)), Fraction(1), 1, 3).tolist())
        for t in range(1200)
    )
    law = {
        tuple(i for i in range(3) if inside[i]): p ** sum(inside) * (1 - p) ** (3 - sum(inside))
        for inside in product([0, 1], repeat=3)
    }
    assert chi_square(found, law) > SIGNIFICANCE


def test_batches_do_not_show(monkeypatch):
    whole = passing_ranks(NoiseKey(bytes(32)), Fraction(3), 10, 1 << 20)
    monkeypatch.setattr(sparsefilter, "BATCH", 7)
    assert (passing_ranks(NoiseKey(bytes(32)), Fraction(3), 10, 1 << 14) < 1 << 14).all()
    parts = passing_ranks(NoiseKey(bytes(32)), Fraction(3), 10, 1 << 14)
    assert parts.tolist() == whole[whole < 1 << 14].tolist()


def test_work_does_not_grow_with_the_domain(monkeypatch):
    """The same number of passing cells is expected on 2**20 and on 2**60 cells."""
    draws = []
    original = GeometricDraws.draws

    def counted(self, first, n):
        draws.append(n)
        return original(self, first, n)

    monkeypatch.setattr(GeometricDraws, "draws", counted)
    made = {}
    for bits in (20, 60):
        draws.clear()
        grid = Grid.regular((1 << bits,))
        table = CountTable.from_keys(grid, np.arange(50, dtype=np.uint64), np.full(50, 1000))
        theta = 10 + round((bits - 20) * 2 * math.log(2))
        released = Filter(theta).release(table, spent(2), NoiseKey(bytes(32)))
        made[bits] = sum(draws)
        assert Filter().visited(released) == released.key.size < 6000
        assert sum(draws) < 3 * 2**20 * passing_probability(Fraction(2), 10) + 100
    assert made[60] == pytest.approx(made[20], rel=0.4)


@given(shaped_tables(), secrets, st.sampled_from([Fraction(1, 3), Fraction(2), Fraction(20)]))
@settings(max_examples=40)
def test_occupied_cells_are_those_of_the_dense_filter(table, secret, scale):
    """Their noise is a function of the cell; empty cells have theta at least."""
    released = Filter(2).release(table, spent(scale), NoiseKey(secret))
    everyone = CountTable.from_keys(table.grid, table.key, table.count + 1000)
    louder = Filter(2).release(everyone, spent(scale), NoiseKey(secret))
    noisy = dict(zip(louder.key.tolist(), (louder.count - 1000).tolist(), strict=True))
    found = dict(zip(released.key.tolist(), released.count.tolist(), strict=True))
    for key in table.key.tolist():
        assert found.get(key, 0) == (noisy[key] if noisy[key] >= 2 else 0)
    assert (released.count >= 2).all()
    assert table.grid.contains_keys(released.key).all()


def test_nobody_outside_a_mask_and_every_cell_inside_may_pass():
    grid = Grid.regular((6, 5)).with_attribute("age", ["child", "adult", "old"])
    inside = np.zeros((6, 5), bool)
    inside[1:4, 1:] = inside[5, 0] = True
    grid = grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside), "drawn for a test"))
    people = np.zeros(grid.shape, int)
    people[2, 2:4] = 7
    table = CountTable.from_dense(people, grid)
    seen = set()
    for trial in range(60):
        released = Filter(1).release(table, spent(4), NoiseKey(secret_of(trial)))
        assert grid.contains_keys(released.key).all()
        seen |= set(released.key.tolist())
    assert seen == cells_of(grid).keys()


def test_too_low_a_threshold_is_refused_before_anything_is_drawn(monkeypatch):
    monkeypatch.setattr(GeometricDraws, "draws", None)
    grid = Grid.regular((1 << 40,))
    table = CountTable.from_keys(grid, np.array([5], np.uint64), np.array([9]))
    with refuses(UsageError, r"filter-passes-too-many: \b3\b"):
        publish(table, method="filter:theta=3", epsilon="1/10", contribution=1)


def test_settings_and_refusals():
    assert mechanism("filter:theta=5") == Filter(5)
    assert mechanism("filter:theta=5").spec == "filter:theta=5"
    for wrong in ("theta=-1", "theta=2000000000000", "theta=x"):
        with pytest.raises(UsageError):
            mechanism(f"filter:{wrong}")
    assert Filter().unsupported(Grid.regular((1 << 62,))) is None


@pytest.mark.parametrize("bits", [62, 0])
def test_the_largest_and_the_smallest_domain(bits):
    grid = Grid.regular((1 << bits,))
    key = np.array([(1 << bits) - 1], np.uint64)
    table = CountTable.from_keys(grid, key, np.array([10**6]))
    release = geodp.publish(table, method="filter", epsilon=1, contribution=1)
    assert key[0] in release.table.key
    assert release.table.key.size < 70_000
