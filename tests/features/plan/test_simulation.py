"""Simulations of plans: public noise, and other noise in every trial."""

import numpy as np

import geodp
from geodp.features.plan.simulation import public_key


def test_every_trial_has_noise_of_its_own_and_always_the_same():
    grid = geodp.Grid.regular((8, 8))
    table = geodp.CountTable.from_keys(grid, np.arange(64), np.full(64, 50))
    found = [
        geodp.publish(table, epsilon=1, contribution=1, key=public_key(trial)).table.to_dense()
        for trial in (0, 1, 0)
    ]
    assert np.array_equal(found[0], found[2])
    assert not np.array_equal(found[0], found[1])
