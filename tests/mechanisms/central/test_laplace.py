import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import geodp
from geodp.grid.grid import Grid
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.mechanisms.central.laplace import Geometric, Laplace, LaplaceNonnegative
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import Terms
from geodp.table.counts import CountTable
from tests.reference import additive as reference
from tests.strategies import secrets, shaped_tables

METHODS = [Laplace(), LaplaceNonnegative(), Geometric()]
any_method = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
scales = st.sampled_from([Fraction(1, 3), Fraction(1), Fraction(19, 7), Fraction(130)])


def spent_at(scale):
    return Measurement.of("additive", Terms.of(epsilon=1 / scale, contribution=1), 1, "fixed")


def expected(method, table, secret, scale):
    """The release by its definition: only values that are not 0."""
    step = Fraction(1) if method.whole else reference.finest_step(scale)
    every = np.arange(1 << table.grid.bits, dtype=np.uint64)
    keys = every[table.grid.contains_keys(every)].tolist()
    counts = dict(zip(table.key.tolist(), table.count.tolist(), strict=True))
    values = reference.released(counts, keys, secret, scale, step)
    if method.nonnegative:
        values = {key: max(value, 0) for key, value in values.items()}
    return {key: value for key, value in values.items() if value}


def found(method, table, secret, scale):
    released = method.release(table, spent_at(scale), NoiseKey(secret))
    return dict(zip(released.key.tolist(), released.count.tolist(), strict=True))


@any_method
@given(shaped_tables(), secrets, scales)
@settings(max_examples=15)
def test_a_release_equals_its_definition_exactly(method, table, secret, scale):
    assert found(method, table, secret, scale) == expected(method, table, secret, scale)


@any_method
def test_a_masked_release_equals_its_definition(method):
    grid = Grid.regular((3, 5))
    inside = np.array([[1, 1, 0, 0, 1], [0, 1, 1, 1, 1], [0, 0, 0, 1, 0]], bool)
    grid = grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside), "drawn for a test"))
    table = CountTable.from_dense(inside * 7, grid)
    secret = bytes(range(32))
    values = found(method, table, secret, Fraction(10))
    assert values == expected(method, table, secret, Fraction(10))
    assert len(values) <= inside.sum()


def test_noise_is_the_same_in_a_cell_whatever_the_others_hold():
    grid = Grid.regular((4, 4))
    one = CountTable.from_dense(np.arange(16).reshape(4, 4), grid)
    two = CountTable.from_dense(np.full((4, 4), 1000), grid)
    for method in (Laplace(), Geometric()):
        noise = [
            method.noisy(table, spent_at(Fraction(10)), NoiseKey(bytes(32))) - table.to_vector()
            for table in (one, two)
        ]
        assert (noise[0] == noise[1]).all()


@given(st.fractions(Fraction(1, 1000), 90_000, max_denominator=1000))
def test_the_lattice_is_a_power_of_two_and_as_fine_as_allowed(scale):
    step = Laplace().step(scale)
    assert step == reference.finest_step(scale)
    assert step.numerator == 1
    assert step.denominator & (step.denominator - 1) == 0
    assert Geometric().step(scale) == 1


def test_every_released_value_lies_on_the_lattice():
    grid = Grid.regular((64, 64))
    table = CountTable.from_dense(np.full((64, 64), 1_000_000), grid)
    released = Laplace().release(table, spent_at(Fraction(10)), NoiseKey(bytes(32)))
    steps = released.count / float(Laplace().step(Fraction(10)))
    assert (steps == np.round(steps)).all()
    assert np.gcd.reduce((steps - 256_000_000).astype(np.int64)) == 1


@any_method
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(10), Fraction(1000)])
def test_variances_are_those_of_the_discrete_law(method, scale):
    grid = Grid.regular((12, 20))
    variances = method.variances(grid, spent_at(scale))
    if method.nonnegative:
        assert variances is None
        return
    step = float(method.step(scale))
    q = math.exp(-step / float(scale))
    one = step**2 * 2 * q / (1 - q) ** 2
    cells = np.minimum([512, 256, 128, 64, 32, 16, 8, 4, 2, 1], 240)
    assert variances == pytest.approx(one * cells)
    # Terada et al. (2015), table 2: the continuous law's 2 scale**2, of which a whole number's
    # noise falls short by 1/6.
    shortfall = 1 / 6 if method.whole else 0
    assert one == pytest.approx(2 * float(scale) ** 2 - shortfall, rel=0.005)


EMPTY = Grid.regular((256, 256))


@pytest.mark.law
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(10)])
def test_an_empty_cell_is_lifted_by_half_a_scale(scale):
    """E max(Z, 0) is the sum of P(Z >= g), which is ``q / (1 - q**2)`` steps."""
    method = LaplaceNonnegative()
    table = CountTable.from_dense(np.zeros(EMPTY.shape, int), EMPTY)
    released = method.release(table, spent_at(scale), NoiseKey(bytes(32)))
    step = float(method.step(scale))
    q = math.exp(-step / float(scale))
    lift = step * q / (1 - q**2)
    assert lift == pytest.approx(float(scale) / 2, rel=1e-4)
    values = released.to_dense()
    assert (values >= 0).all()
    assert (values == 0).mean() == pytest.approx(1 / 2, abs=0.01)
    # E max(Z, 0)**2 is half the variance, about scale**2.
    error = math.sqrt(1 - 1 / 4) * float(scale) / math.sqrt(EMPTY.size)
    assert values.mean() == pytest.approx(lift, abs=5 * error)


@pytest.mark.law
@pytest.mark.parametrize("scale", [Fraction(1, 4), Fraction(1), Fraction(10), Fraction(300)])
def test_laplace_follows_the_continuous_law_to_within_its_lattice(scale):
    table = CountTable.from_dense(np.zeros(EMPTY.shape, int), EMPTY)
    noise = Laplace().noisy(table, spent_at(scale), NoiseKey(bytes(range(32))))
    law = stats.laplace(scale=float(scale))
    step = float(Laplace().step(scale))
    # The exact distribution functions, on both sides of every lattice point.
    points = np.arange(-2000, 2000) * step
    q = math.exp(-step / float(scale))
    upper = np.exp(-np.abs(points) / float(scale)) / (1 + q)  # P(|Z| >= |point|), one side
    at_most = np.where(points < 0, upper, 1 - q * upper)
    below = np.where(points <= 0, q * upper, 1 - upper)
    gap = max(np.abs(at_most - law.cdf(points)).max(), np.abs(below - law.cdf(points)).max())
    assert gap <= step / float(scale) / 2
    distance = stats.kstest(noise, law.cdf).statistic
    critical = math.sqrt(math.log(2 / 1e-6) / 2 / noise.size)
    assert distance <= critical + gap
    assert stats.kstest(noise * 1.1, law.cdf).statistic > critical + gap


@any_method
def test_whom_the_noise_serves_is_said_in_the_card(method):
    grid = Grid.regular((4, 4))
    table = CountTable.from_dense(np.full((4, 4), 5), grid)
    release = geodp.publish(
        table, method=method.name, epsilon="1/2", key=NoiseKey(bytes(32)), contribution=1
    )
    assert release.event.sensitivity == 1
    assert release.event.scale == 2
    assert release.card().mechanism.noise == method.noise
