import math
import os
import platform
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.grid.order import Order
from geodp.mechanisms.central import topdown
from geodp.mechanisms.central.topdown import (
    RefinementNoise,
    TopDown,
    refine,
    refine_dense,
)
from geodp.mechanisms.trees import parallel
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.law import DiscreteLaplace
from geodp.privacy.noise.node import NodeNoise
from geodp.privacy.terms import Terms
from geodp.table.counts import CountTable, ReleasedTable
from tests.reference import topdown as reference
from tests.reference.continuous import refine_continuous
from tests.refusals import refuses
from tests.strategies import binary_tables, secrets, shaped_tables

scales = st.sampled_from([Fraction(1, 3), Fraction(1), Fraction(7, 2), Fraction(20)])


def noise_of(secret: bytes, scale: Fraction) -> RefinementNoise:
    spent = Measurement.of("topdown", Terms.of(epsilon=1 / scale, contribution=1), 1, "fixed")
    return RefinementNoise.of(spent, NoiseKey(secret))


def ranges_of(grid: Grid):
    """Naive domain test of a key range, from the list of all the domain's keys."""
    every = np.arange(1 << grid.bits, dtype=np.uint64)
    keys = every[grid.contains_keys(every)].tolist()
    return lambda low, high: any(low <= key < high for key in keys)


@given(binary_tables(most_bits=62), secrets, st.sampled_from([Fraction(1, 3), Fraction(2)]))
@settings(max_examples=25)
def test_t2_equals_the_definition_on_1_to_62_bits(table, secret, scale):
    key, count, visited = refine(table, noise_of(secret, scale))
    counts = dict(zip(table.key.tolist(), table.count.tolist(), strict=True))
    expected, split = reference.refine(counts, table.grid.bits, secret, 1 / scale)
    assert dict(zip(key.tolist(), count.tolist(), strict=True)) == expected
    assert key.tolist() == sorted(expected)
    assert visited == split


@given(shaped_tables(), secrets, scales)
def test_t1_equals_t2_and_the_definition_on_padded_grids(table, secret, scale):
    noise = noise_of(secret, scale)
    key, count, _ = refine(table, noise)
    dense = np.zeros(1 << table.grid.bits, np.int64)
    dense[key.astype(int)] = count
    assert (refine_dense(table, noise) == dense).all()
    counts = dict(zip(table.key.tolist(), table.count.tolist(), strict=True))
    possible = ranges_of(table.grid)
    expected, _ = reference.refine(counts, table.grid.bits, secret, 1 / scale, possible)
    assert dict(zip(key.tolist(), count.tolist(), strict=True)) == expected


@given(binary_tables(most_bits=14, most_people=2000), secrets, scales)
def test_t1_equals_t2_on_lines(table, secret, scale):
    noise = noise_of(secret, scale)
    key, count, _ = refine(table, noise)
    dense = refine_dense(table, noise)
    assert (np.flatnonzero(dense) == key.astype(int)).all()
    assert (dense[dense > 0] == count).all()


def scattered(bits: int, cells: int, most: int) -> CountTable:
    """Cells in runs of sixteen at random places, with up to ``most`` people each."""
    draw = np.random.default_rng(bits)
    first = draw.integers(0, 1 << bits, cells // 16, dtype=np.uint64) & np.uint64(2**63 - 16)
    keys = np.unique(first[:, None] + np.arange(16, dtype=np.uint64))
    return CountTable.from_keys(Grid.regular((1 << bits,)), keys, draw.integers(1, most, keys.size))


@pytest.mark.parametrize("bits", [11, 25, 62])
def test_blocks_parts_and_threads_do_not_show(bits, monkeypatch):
    table, noise = scattered(bits, 320, 300), noise_of(bytes(range(32)), Fraction(20))
    key, count, visited = refine(table, noise)
    monkeypatch.setattr(parallel, "MANY", 8)
    monkeypatch.setattr(topdown, "FEW_SPLIT", 0)
    for block, parts, threads in ((1, 1, 1), (7, 3, 2), (64, 64, 4), (200, 0, 3), (200, 0, 1)):
        monkeypatch.setattr(topdown, "BLOCK", block)
        again = refine(table, noise, parts, threads)
        assert (again[0] == key).all()
        assert (again[1] == count).all()
        assert again[2] == visited


class Short(DiscreteLaplace):
    """The same law with most of its table missing, so that many draws are left undecided."""

    def _digits(self):
        first, rest = super()._digits()
        short = int((first >= 1 << 18).sum()) + 1
        return first[:short], rest[:short]


def test_draws_that_the_table_leaves_open_are_decided_exactly():
    table, noise = scattered(30, 320, 300), noise_of(bytes(range(32)), Fraction(20))
    detail = noise.detail
    short = RefinementNoise(noise.total, NodeNoise(detail.key, detail.stream, Short(Fraction(20))))
    for found, expected in zip(refine(table, short), refine(table, noise), strict=True):
        assert np.array_equal(found, expected)


RELEASED = """
import hashlib
import numpy as np
import geodp
from geodp.mechanisms.central.topdown import refine
from tests.mechanisms.central.test_topdown import Fraction, Grid, CountTable, noise_of
for shape, places in (((60, 37), 40), ((1 << 20, 1 << 21), 3)):
    grid = Grid.regular(shape)
    index = np.arange(places) * 7919 % shape[0], np.arange(places) * 104729 % shape[1]
    table = CountTable.from_index(grid, index, np.arange(places) * 50 + 1)
    found = refine(table, noise_of(bytes(range(32)), Fraction(9)))
    print(hashlib.sha256(found[0].tobytes() + found[1].tobytes()).hexdigest(), found[2])
"""


def released(options=(), **settings):
    root = Path(__file__).parents[3]
    command = [sys.executable, *options, "-c", RELEASED]
    env = {**os.environ, "PYTHONPATH": str(root), **settings}
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout


@pytest.mark.law
def test_interpreted_code_releases_the_same():
    told = released(NUMBA_DISABLE_JIT="1")
    assert len(told.split()) == 4
    assert told == released()


@pytest.mark.law
@pytest.mark.skipif(platform.machine() != "x86_64", reason="a setting of one processor")
def test_a_generic_processor_releases_the_same(tmp_path):
    """Without AVX, so that lanes and rows are computed in other pieces."""
    plain = {"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": ""}
    assert released(**plain, NUMBA_CACHE_DIR=str(tmp_path)) == released()


@pytest.mark.parametrize("cells", [160, 1600])
@pytest.mark.parametrize("bits", [18, 37, 62])
def test_visited_nodes_grow_as_output_cells_times_levels(bits, cells):
    key, _, visited = refine(scattered(bits, cells, 300), noise_of(bytes(32), Fraction(1 + bits)))
    assert 0.1 < visited / (key.size * bits) < 1


@given(st.integers(1, 9), st.integers(1, 9), secrets, scales, st.data())
def test_nobody_outside_a_mask_or_the_extent(rows, cols, secret, scale, data):
    inside = np.array(
        data.draw(st.lists(st.booleans(), min_size=rows * cols, max_size=rows * cols))
    )
    inside[data.draw(st.integers(0, rows * cols - 1))] = True
    inside = inside.reshape(rows, cols)
    grid = Grid.regular((rows, cols))
    if data.draw(st.booleans()):
        grid = grid.with_attribute("age", ["child", "adult", "old"])
    grid = grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside), "drawn for a test"))
    people = np.zeros(grid.shape, int)
    people[inside] = 3
    table = CountTable.from_dense(people, grid)
    noise = noise_of(secret, scale)
    key, count, _ = refine(table, noise)
    assert grid.contains_keys(key).all()
    index = grid.decode(key)
    assert inside[index[0], index[1]].all()
    assert count.sum() == noise.refined_total(int(people.sum()))
    dense = np.zeros(1 << grid.bits, np.int64)
    dense[key.astype(int)] = count
    assert (refine_dense(table, noise) == dense).all()
    possible = ranges_of(grid)
    counts = dict(zip(table.key.tolist(), table.count.tolist(), strict=True))
    expected, _ = reference.refine(counts, grid.bits, secret, 1 / scale, possible)
    assert dict(zip(key.tolist(), count.tolist(), strict=True)) == expected


def test_output_is_positive_sorted_and_every_area_is_the_sum_of_its_cells():
    grid = Grid.regular((64, 64))
    people = np.random.default_rng(5).poisson(20, (64, 64))
    table = CountTable.from_dense(people, grid)
    noise = noise_of(bytes(32), Fraction(13))
    key, count, _ = refine(table, noise)
    assert count.min() > 0
    assert (np.diff(key.astype(np.int64)) > 0).all()
    assert count.sum() == noise.refined_total(int(people.sum()))


@pytest.mark.parametrize("bits", [20, 40, 60])
def test_visited_nodes_are_at_most_output_cells_times_levels(bits):
    grid = Grid.regular((1 << bits,))
    keys = np.arange(50, dtype=np.uint64) << np.uint64(bits - 6)
    table = CountTable.from_keys(grid, keys, np.full(50, 10_000))
    key, _, visited = refine(table, noise_of(bytes(32), Fraction(1 + bits)))
    # Every visited node is an ancestor of an output cell.
    assert key.size <= visited <= key.size * bits


@given(binary_tables(most_bits=62), secrets, st.sampled_from([Fraction(1, 3), Fraction(20)]))
@settings(max_examples=30)
def test_an_output_tells_how_many_nodes_were_visited(table, secret, scale):
    key, count, visited = refine(table, noise_of(secret, scale))
    spent = Measurement.of("topdown", Terms.of(epsilon=1 / scale, contribution=1), 1, "fixed")
    assert TopDown().visited(ReleasedTable(table.grid, key, count, spent)) == visited


@pytest.mark.parametrize("bits", [0, 1, 31, 32, 33, 34, 62])
def test_visited_nodes_of_cells_that_meet_at_any_height(bits):
    grid = Grid.regular((1 << bits,))
    spent = Measurement.of("topdown", Terms.of(epsilon=Fraction(1), contribution=1), 1, "fixed")
    for height in range(1, bits + 1):
        key = np.array([0, 1 << (height - 1)], np.uint64)
        released = ReleasedTable(grid, key, np.array([1, 1]), spent)
        assert TopDown().visited(released) == bits + height - 1
    nobody = ReleasedTable(grid, np.empty(0, np.uint64), np.empty(0, np.int64), spent)
    assert TopDown().visited(nobody) == 0


@pytest.mark.law
@pytest.mark.parametrize("shift", [0, 2, 4, 6])
def test_block_variance_is_the_closed_form_where_nothing_is_clamped(shift):
    grid = Grid.regular((8, 8))
    table = CountTable.from_dense(np.full((8, 8), 1_000_000), grid)
    scale = Fraction(7)
    spent = Measurement.of("topdown", Terms.of(epsilon=1 / scale, contribution=1), 1, "fixed")
    errors = []
    for trial in range(1500):
        key, count, _ = refine(table, noise_of(trial.to_bytes(32, "little"), scale))
        released = np.zeros(64, np.int64)
        released[key.astype(int)] = count
        errors.append((released - 1_000_000).reshape(-1, 1 << shift).sum(axis=1)[0])
    q = 64 >> shift
    closed = 2 / 3 * float(scale) ** 2 * (1 + 2 / q**2)
    assert TopDown().variances(grid, spent)[6 - shift] == pytest.approx(closed, rel=0.01)
    # Kurtosis of a Laplace mixture is at most 6: the variance's relative error is 5 / trials.
    assert np.var(errors) == pytest.approx(closed, rel=5 * math.sqrt(5 / len(errors)))
    assert np.mean(errors) == pytest.approx(0, abs=5 * math.sqrt(closed / len(errors)))


def naive_paths(grid: Grid) -> dict[int, tuple[int, float]]:
    """For every cell of the domain: branching nodes above it, and its variance / sigma**2."""
    possible = ranges_of(grid)
    found = {}

    def visit(low, width, count, variance):
        if width == 1:
            found[low] = (count, variance)
            return
        half = width // 2
        children = [at for at in (low, low + half) if possible(at, at + half)]
        if len(children) == 2:
            count, variance = count + 1, (variance + 1) / 4
        for at in children:
            visit(at, half, count, variance)

    visit(0, 1 << grid.bits, 0, 1.0)
    return found


def test_a_mask_of_one_cell_with_attributes_counts_their_levels():
    grid = Grid.regular((1, 1)).with_attribute("age", ["child", "adult", "old"])
    grid = grid.with_mask(mask_of_blocks(grid, blocks_of_array(np.ones((1, 1), bool)), "all"))
    assert TopDown().sensitivity(grid) == 3


@given(shaped_tables(), st.data())
def test_sensitivity_and_variance_are_the_worst_over_all_cells(table, data):
    grid = table.grid
    if len(grid.shape) == 2:
        if data.draw(st.booleans()):
            grid = grid.with_attribute("age", ["child", "adult", "old"])
        if data.draw(st.booleans()):
            size = grid.shape[0] * grid.shape[1]
            inside = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
            inside[data.draw(st.integers(0, size - 1))] = True
            blocks = blocks_of_array(inside.reshape(grid.shape[:2]))
            grid = grid.with_mask(mask_of_blocks(grid, blocks, "drawn for a test"))
    paths = naive_paths(grid)
    assert TopDown().sensitivity(grid) == 1 + max(count for count, _ in paths.values())
    spent = Measurement.of("topdown", Terms.of(epsilon=Fraction(1, 7), contribution=1), 1, "fixed")
    sigma2 = DiscreteLaplace.of_scale(Fraction(7)).variance
    worst = max(variance for _, variance in paths.values())
    assert TopDown().variances(grid, spent)[-1] == pytest.approx(sigma2 * worst)


@pytest.mark.parametrize("bits", [1, 6, 18, 62])
def test_variance_is_the_papers_on_a_full_domain(bits):
    spent = Measurement.of("topdown", Terms.of(epsilon=Fraction(1, 7), contribution=1), 1, "fixed")
    sigma2 = DiscreteLaplace.of_scale(Fraction(7)).variance
    variances = TopDown().variances(Grid.regular((1 << bits,)), spent)
    for level, variance in enumerate(variances):
        assert variance == pytest.approx(sigma2 / 3 * (1 + 2 / 4.0**level))


@pytest.mark.law
def test_isolated_cell_follows_its_recursion():
    """method.md: E_k ~ Lap(1), E_(l-1) = min(E_l, (E_l + N_l) / 2): bias -2.026 at k = 18."""
    bits, scale, trials = 18, Fraction(200), 4000
    grid = Grid.regular((1 << bits,))
    table = CountTable.from_keys(grid, np.array([123_456], np.uint64), np.array([1_000_000]))
    errors = []
    for trial in range(trials):
        key, count, _ = refine(table, noise_of(trial.to_bytes(32, "little"), scale))
        found = count[key == 123_456]
        errors.append((int(found[0]) if found.size else 0) - 1_000_000)
    errors = np.array(errors) / float(scale)
    spent = Measurement.of("topdown", Terms.of(epsilon=1 / scale, contribution=1), 1, "fixed")
    stated = TopDown().isolated_cell(grid, spent)
    assert stated["bias"] / float(scale) == pytest.approx(-2.026, abs=0.01)
    assert stated["rmse"] / float(scale) == pytest.approx(2.20, abs=0.01)
    assert errors.mean() == pytest.approx(-2.026, abs=5 * 0.857 / math.sqrt(trials))
    assert errors.std() == pytest.approx(0.857, rel=0.08)


@pytest.mark.parametrize("rho", [None, Fraction(1, 2000)], ids=["laplace", "gaussian"])
def test_a_tree_of_one_split_loses_what_one_split_takes(rho):
    grid = Grid.regular((2,))
    epsilon = Fraction(1, 50) if rho is None else None
    spent = Measurement.of(
        "topdown", Terms.of(epsilon=epsilon, rho=rho, contribution=1), 2, "fixed"
    )
    alone, losses = TopDown().isolated_cell(grid, spent), TopDown().clamp_losses(grid, spent)
    assert len(losses) == 1
    assert losses[0][0] == pytest.approx(-alone["bias"], rel=0.02)
    spread = math.sqrt(alone["rmse"] ** 2 - alone["bias"] ** 2)
    assert losses[0][1] == pytest.approx(spread, rel=0.02)


def test_continuous_form_has_the_papers_error():
    rng = np.random.default_rng(1)
    runs = [refine_continuous(np.full(256, 10_000_000), 90.0, rng) for _ in range(400)]
    assert all((run >= 0).all() for run in runs)
    errors = np.array(runs)[:, 17] - 10_000_000
    closed = 2 / 3 * 90**2 * (1 + 2 / 256**2)
    assert np.var(errors) == pytest.approx(closed, rel=5 * math.sqrt(5 / 400))


def test_an_order_that_is_not_binary_is_refused():
    grid = Grid.regular((10,)).with_order(Order((0, 0), (2, 5)))
    table = CountTable.from_dense(np.arange(10), grid)
    with refuses(UsageError, "order-without-halves"):
        refine(table, noise_of(bytes(32), Fraction(1)))
