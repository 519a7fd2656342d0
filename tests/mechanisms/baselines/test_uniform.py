from fractions import Fraction

import numpy as np
from hypothesis import given

import geodp
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.mechanisms.baselines.uniform import Uniform
from geodp.mechanisms.measure import laplace_noise
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import Terms
from tests.refusals import refuses
from tests.strategies import secrets, shaped_tables


def spent(epsilon):
    return Measurement.of(
        "uniform", Terms.of(epsilon=Fraction(epsilon), contribution=1), 1, "fixed"
    )


@given(shaped_tables(), secrets)
def test_the_noisy_total_over_the_cells_of_the_domain(table, secret):
    noise = laplace_noise(NoiseKey(secret), 0, Fraction(3), 1)[0]
    released = Uniform().release(table, spent(Fraction(1, 3)), NoiseKey(secret)).to_dense()
    total = max(table.count.sum() + noise, 0)
    assert (released == total / table.grid.size).all()


def test_a_mask_is_filled_and_nothing_else():
    inside = np.arange(35).reshape(5, 7) % 3 == 0
    grid = geodp.Grid.regular((5, 7))
    grid = grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside), "drawn for a test"))
    table = geodp.CountTable.from_dense(np.where(inside, 10, 0), grid)
    released = Uniform().release(table, spent(10**6), NoiseKey(bytes(32))).to_dense()
    assert np.allclose(released, np.where(inside, 10, 0))


def test_nobody_is_never_less_than_nobody():
    table = geodp.CountTable.from_dense(np.zeros((3, 3), int), geodp.Grid.regular((3, 3)))
    totals = [
        Uniform().release(table, spent(1), NoiseKey(bytes([k]) * 32)).total for k in range(50)
    ]
    assert min(totals) == 0
    assert max(totals) > 0


def test_too_many_cells_are_refused():
    assert "at most" in Uniform().unsupported(geodp.Grid.regular((1 << 14, 1 << 14)))
    with refuses(geodp.errors.UsageError, "method-settings-unknown"):
        Uniform().with_settings("fanout=2")
