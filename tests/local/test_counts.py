"""Counts on levels of any fan-outs: equal to the naive twin, private as claimed, exact."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from geodp.errors import UsageError
from geodp.grid.coarsen import Coarsening
from geodp.grid.grid import Grid
from geodp.local import counts as module
from geodp.local.coins import FixedCoins
from geodp.local.counts import Counts
from geodp.local.protocols import protocol
from geodp.local.tree import draw_uniforms
from tests.reference import local_tree as reference
from tests.refusals import refuses

ONE = Fraction(1)
ALWAYS, NEVER = 0, 0xFFFFFFFF
EUROPE = Grid.mesh("inspire:10km", bounds=(4000000, 3000000, 4300000, 3200000))


def units_of(seed, n):
    return np.random.default_rng(seed).integers(0, 1 << 32, n, dtype=np.uint32)


def collect(method, grid, n=4000, seed=1, epsilon=ONE):
    """Oracles, reports and state of devices in random cells."""
    rng = np.random.default_rng(seed)
    index = np.stack([rng.integers(0, size, n) for size in grid.shape])
    oracles = method.oracles(grid, epsilon)
    reports = method.randomize(oracles, grid.encode(index), FixedCoins(units_of(seed, 12 * n)))
    return oracles, reports, method.aggregate(oracles, reports)


@pytest.mark.parametrize(
    "spec",
    [
        "counts:chain=2-4",
        "counts:chain=2-2-2,weights=1-2-3",
        "counts:chain=6",
        "counts:chain=3-3,oracle=hadamard",
        "counts:chain=2-4,oracle=grr",
        "counts:chain=2-4,oracle=pgr",
        "counts:chain=2-4,passes=1",
    ],
)
@pytest.mark.parametrize("epsilon", [ONE, Fraction(3)])
def test_the_server_is_the_naive_one(spec, epsilon):
    method, grid = protocol(spec), Grid.regular((8, 8))
    oracles, _, state = collect(method, grid, epsilon=epsilon)
    event = method.event(epsilon, reports=4000)
    fanouts, chances = method.levels(grid)
    z = [
        (oracle.estimate(one) / float(w)).tolist()
        for oracle, one, w in zip(oracles, state.states, chances, strict=True)
    ]
    own = method.report_variances(grid, event)
    sizes = [oracle.cells for oracle in oracles]
    parents = [1, *sizes[:-1]]
    uniform = [
        draw_uniforms(i, np.arange(n, dtype=np.uint64)).tolist() for i, n in enumerate(parents)
    ]
    if method.passes == 1:
        nodes = [4000]
        for level, fanout, random in zip(z, fanouts, uniform, strict=True):
            found = []
            for i, (node, u) in enumerate(zip(nodes, random, strict=True)):
                part = level[i * fanout : (i + 1) * fanout]
                shares = reference.project(part, node) if node else [0.0] * fanout
                found += reference.round_shares(shares, node, u)
            nodes = found
    else:
        nodes = reference.counts_cells(4000, fanouts, z, own, uniform)
    table = method.refine(grid, event, state)
    dense = np.zeros(64, np.int64)
    dense[table.key.astype(np.int64)] = table.count
    assert np.abs(dense - nodes).max() <= 1  # sums in another order, rounded
    assert dense.sum() == sum(nodes) == 4000


def test_some_nodes_at_a_time_and_all_at_once(monkeypatch):
    method, grid = protocol("counts:chain=4-4,oracle=hadamard"), Grid.regular((16, 16))
    _, _, state = collect(method, grid)
    event = method.event(ONE, reports=4000)
    every = method.refine(grid, event, state)
    monkeypatch.setattr(module, "DENSE_BITS", 0)
    some = method.refine(grid, event, state)
    assert some.total == every.total == 4000
    opened = {int(k) >> 4 for k in some.key}
    assert len(opened) < 16
    one = protocol("counts:chain=4-4,oracle=hadamard,passes=1")
    kept = one.refine(grid, event, state)
    monkeypatch.undo()
    both = one.refine(grid, event, state)
    assert np.array_equal(kept.key, both.key)
    assert np.array_equal(kept.count, both.count)


def test_official_areas_of_any_fan_out():
    grid, method = EUROPE.with_official_order(), Counts()
    fanouts, chances = method.levels(grid)
    assert math.prod(fanouts) == math.prod(grid.order.radices)
    assert sum(chances) == 1
    _, _, state = collect(method, grid)
    table = method.refine(grid, method.event(ONE, reports=4000), state)
    assert table.total == 4000
    assert grid.contains_keys(table.key).all()


@pytest.mark.parametrize("level", ["inspire:100km", "inspire:10km"])
def test_keys_of_areas_are_the_first_digits_of_the_cells(level):
    fine = Grid.mesh("inspire:1km", bounds=(4050000, 3020000, 4300000, 3210000))
    fine = fine.with_official_order()
    digits = next(
        sum(step for _, step in fine.areas.steps[: i + 1])
        for i, (name, _) in enumerate(fine.areas.steps)
        if name == level
    )
    coarse = Coarsening.by_digits(fine, digits)
    rng = np.random.default_rng(0)
    index = np.stack([rng.integers(0, size, 500) for size in fine.shape])
    stride = math.prod(fine.order.radices[digits:])
    found = coarse.grid.encode(coarse.index(index))
    assert np.array_equal(found, fine.encode(index) // np.uint64(stride))


@pytest.mark.parametrize("shape", [(64, 64), (100, 60), (33, 64)])
def test_keys_of_blocks_are_the_first_bits_of_the_cells(shape):
    fine = Grid.regular(shape)
    rng = np.random.default_rng(0)
    index = np.stack([rng.integers(0, size, 500) for size in shape])
    for bits in range(fine.bits % 2, fine.bits + 1):
        if len(set(fine.order.sides(bits, 2).tolist())) > 1:
            with refuses(UsageError, "blocks-not-square"):
                Coarsening.by_digits(fine, bits)
            continue
        coarse = Coarsening.by_digits(fine, bits)
        assert coarse.grid.bits == bits
        found = coarse.grid.encode(coarse.index(index))
        assert np.array_equal(found, fine.encode(index) >> np.uint64(fine.bits - bits))


def test_levels_are_drawn_by_their_weights():
    method, grid = Counts(chain="1-1-2", weights="1-2-5"), Grid.regular((4, 4))
    _, reports, _ = collect(method, grid, 40_000)
    share = np.bincount(reports["level"]) / 40_000
    np.testing.assert_allclose(share, [1 / 8, 2 / 8, 5 / 8], atol=0.01)


def test_the_closed_form_is_from_below_and_the_total_is_known():
    method, grid = Counts(chain="2-4", oracle="hadamard"), Grid.regular((8, 8))
    event = method.event(ONE, reports=10**6)
    tree, (top, low) = method.tree_variance(grid, event), method.report_variances(grid, event)
    c2 = ((math.e + 1) / (math.e - 1)) ** 2
    # Half of all devices are asked; of those in a node a half, more or less, and their bit is kept.
    assert top == pytest.approx((5e5 * c2 - 5e5 / 4 + 5e5 / 4 / 2) * 4)
    assert low == pytest.approx((5e5 * c2 - 5e5 / 64 + 5e5 / 64 / 2) * 4)
    assert tree.variances[0] == 0
    assert tree.variances[1] == pytest.approx(1 / (1 / top + 1 / (16 * low)))
    assert tree.variances[2] == pytest.approx(low)
    once = Counts(chain="2-4", oracle="hadamard", passes=1)
    assert once.tree_variance(grid, event).variances[1:] == pytest.approx((top, low))


def test_a_chain_finer_than_the_grid_is_refused():
    assert "8 digits" in (Counts(chain="4-6").unsupported(Grid.regular((16, 16))) or "")
    assert Counts(chain="4-4").unsupported(Grid.regular((16, 16))) is None


def test_fanouts_multiply_to_the_domain_of_each_oracle():
    method, grid = Counts(), Grid.regular((32, 32))
    oracles = method.oracles(grid, ONE)
    assert [b.cells // a.cells for a, b in pairwise(oracles)] == list(method.levels(grid)[0][1:])
    assert oracles[-1].cells == 1 << grid.bits
