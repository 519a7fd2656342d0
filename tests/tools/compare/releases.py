"""Releases with known keys, of equal people in every cell or of other counts."""

import numpy as np

import geodp
from geodp.mechanisms import mechanism
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import Terms
from geodp.release.release import Release

GRID = geodp.Grid.regular((8, 8))


def released(spec, seed, people=100_000, epsilon=1, grid=GRID, rho=None):
    """A release of so many people in each cell, or of these counts."""
    method = mechanism(spec)
    counts = np.broadcast_to(people, grid.shape)
    table = geodp.CountTable.from_dense(np.array(counts, np.int64), grid)
    terms = Terms.of(epsilon=epsilon, rho=rho, contribution=1)
    event = Measurement.of(method.spec, terms, method.sensitivity(grid), "fixed")
    return Release(method.release(table, event, NoiseKey((1 + seed).to_bytes(32, "little"))))


def keys(*numbers):
    """A region of these keys."""
    return np.array(numbers, np.uint64)


def run(first, last):
    """A region of all keys from the first to the last but one."""
    return np.arange(first, last, dtype=np.uint64)
