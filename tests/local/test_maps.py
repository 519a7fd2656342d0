"""Errors of maps from devices that are drawn from the census of 2020: what depth is worth."""

from fractions import Fraction

import numpy as np
import pytest

from geodp.grid.grid import Grid
from geodp.local.coins import FixedCoins
from geodp.local.planning import plan
from geodp.local.protocols import protocol
from tests.mechanisms.maps import census

pytestmark = pytest.mark.real

MAP = Grid.regular((512, 512))
BLOCKS = (0, 4, 8, 12)
RUNS = 5


def devices(n):
    """Keys of n devices on the map of 2**18 cells."""
    people = MAP.encode(np.indices((512, 512)).reshape(2, -1))
    count = census().reshape(-1)
    return np.random.default_rng(1000).choice(people, n, p=count / count.sum())


def errors_of(spec, depth, n, epsilon, runs=RUNS):
    """Root-mean-square errors of blocks of 2**0, 2**4 ... cells, spread evenly below the depth."""
    method, key = protocol(spec), devices(n)
    truth = np.bincount(key.astype(np.int64), minlength=1 << 18)
    grid = Grid.regular((1 << depth // 2,) * 2)
    oracles, found = method.oracles(grid, Fraction(epsilon)), np.zeros((runs, len(BLOCKS)))
    for run in range(runs):
        words = np.random.default_rng([run, n]).integers(0, 1 << 32, 5 * n, dtype=np.uint32)
        reports = method.randomize(oracles, key >> np.uint64(18 - depth), FixedCoins(words))
        event = method.event(Fraction(epsilon), reports=n)
        table = method.refine(grid, event, method.aggregate(oracles, reports))
        cells = np.zeros(1 << depth)
        cells[table.key.astype(np.int64)] = table.count
        error = np.repeat(cells / (1 << 18 - depth), 1 << 18 - depth) - truth
        for i, level in enumerate(BLOCKS):
            found[run, i] = np.sqrt((error.reshape(-1, 1 << level).sum(axis=1) ** 2).mean())
    return found.mean(axis=0)


@pytest.mark.law
@pytest.mark.parametrize(
    ("spec", "depth", "stated"),
    [
        ("haar", 18, (93, 450, 1727, 3744)),
        ("haar", 10, (10.4, 131, 1408, 3204)),
        ("haar", 8, (9.8, 118, 1087, 2784)),
        ("counts:chain=4-4,oracle=hadamard", 8, (9.8, 118, 1078, 3581)),
    ],
)
def test_a_million_devices_at_epsilon_one(spec, depth, stated):
    found = errors_of(spec, depth, 10**6, 1)
    np.testing.assert_allclose(found[:3], stated[:3], rtol=0.08)
    np.testing.assert_allclose(found[3], stated[3], rtol=0.16)  # 64 blocks, five runs


@pytest.mark.parametrize(
    ("n", "epsilon"),
    [
        (10**5, 1),
        *(
            pytest.param(n, epsilon, marks=pytest.mark.law)
            for n, epsilon in ((10**6, "1/2"), (10**6, 1), (10**6, 3), (3 * 10**6, 1))
        ),
    ],
)
def test_the_plan_is_near_the_best_of_many_depths_and_chains(n, epsilon):
    runs = 1 if n > 10**6 else 3
    chosen = plan(MAP, devices=n, epsilon=epsilon)
    mine = errors_of(chosen.protocol.spec, chosen.depth, n, epsilon, runs)[2]
    others = [("haar", depth) for depth in (18, 10, 8)]
    others += [("counts:chain=4-4", 8), ("counts:chain=6-4", 10), ("counts:chain=10", 10)]
    best = min(errors_of(*other, n, epsilon, runs)[2] for other in others)
    assert mine <= 1.15 * best
