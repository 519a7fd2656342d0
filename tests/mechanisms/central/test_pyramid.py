"""The pyramid: against its definition, its closed form, and its promises."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import geodp
from bench.measure.dense_pyramid import refine_dense
from geodp.errors import UsageError
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.grid.order import Order
from geodp.mechanisms import mechanism
from geodp.mechanisms.central.pyramid import Pyramid, refine
from geodp.mechanisms.trees import parallel
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.law import DiscreteLaplace, Law
from geodp.privacy.terms import Terms
from tests.reference import pyramid as reference
from tests.refusals import refuses

SECRET = bytes(range(32))
SETTINGS = [
    "pyramid",
    "pyramid:passes=1",
    "pyramid:setting=fine",
    "pyramid:setting=flat,prune=1/2",
    "pyramid:chain=1-2-3,shares=1-1-2-4",
    "pyramid:setting=islands",
]


def spent(method, grid, epsilon, rho=None):
    method = mechanism(method) if isinstance(method, str) else method
    most = method.sensitivity(grid)
    given = None if rho else Fraction(epsilon)
    return Measurement.of(
        method.spec, Terms.of(epsilon=given, rho=rho, contribution=1), most, "fixed"
    )


def compare(method, table, epsilon, possible=lambda a, b: True):
    chain = method.levels(table.grid)
    use = spent(method, table.grid, epsilon)
    keys = int(np.prod(table.grid.order.radices))
    expected = reference.refine(
        table.to_vector()[:keys].tolist(),
        chain.fanouts,
        chain.shares,
        use.scale,
        SECRET,
        method.passes,
        method.prune,
        possible,
    )
    released = method.release(table, use, NoiseKey(SECRET))
    assert released.to_vector()[:keys].tolist() == expected


@pytest.mark.parametrize("method", SETTINGS)
@pytest.mark.parametrize("epsilon", ["1/2", "3"])
def test_equals_its_definition(method, epsilon):
    people = np.random.default_rng(5).poisson(9, (8, 8)) * (np.arange(8) < 4)
    compare(
        mechanism(method), geodp.CountTable.from_dense(people, geodp.Grid.regular((8, 8))), epsilon
    )


@pytest.mark.parametrize("method", SETTINGS[:4])
def test_equals_its_definition_on_a_padded_and_masked_domain(method):
    grid = geodp.Grid.regular((5, 7))
    inside = np.add.outer(np.arange(5), np.arange(7)) < 9
    grid = grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside), "a corner is sea"))
    table = geodp.CountTable.from_dense(np.where(inside, 7, 0), grid)
    every = grid.contains_keys(np.arange(64, dtype=np.uint64))
    compare(mechanism(method), table, "1", lambda a, b: every[a:b].any())


def test_equals_its_definition_on_digits_of_ten():
    grid = geodp.Grid.regular((20, 20))
    grid = grid.with_order(Order((0, 1, 0, 1), (2, 2, 10, 10)))
    people = np.random.default_rng(6).poisson(2, (20, 20))
    table = geodp.CountTable.from_dense(people, grid)
    compare(Pyramid(chain="2-2", shares="1-1-2"), table, "1")


def test_children_add_up_and_nothing_is_negative():
    grid = geodp.Grid.regular((64, 64))
    table = geodp.CountTable.from_dense(np.full((64, 64), 3), grid)
    cells, count, nodes = refine(table, Pyramid(), spent("pyramid", grid, "1/2"), NoiseKey(SECRET))
    assert (count > 0).all()
    assert (np.diff(cells.astype(np.int64)) > 0).all()
    assert nodes <= 1 + 4 + 4 * 16 * (1 + 16 + 256)


@pytest.mark.parametrize("bits", [1, 2, 3, 5, 18, 37, 62])
@pytest.mark.parametrize("setting", ["auto", "R", "fine", "flat", "informed", "islands"])
def test_settings_split_every_key_and_spend_all(bits, setting):
    grid = geodp.Grid.regular((1 << bits,))
    chain = Pyramid(setting=setting).levels(grid)
    assert np.prod([float(b) for b in chain.fanouts]) == 2.0**bits
    assert sum(chain.shares) == 1
    assert min(chain.shares) > 0


def test_shares_of_r_and_of_fine():
    grid = geodp.Grid.regular((512, 512))
    chain = Pyramid(setting="R").levels(grid)
    assert chain.fanouts == (4, 16, 16, 16, 16)
    assert [s * 20 for s in chain.shares] == [2, 2, 4, 4, 4, 4]
    fine = Pyramid(setting="fine").levels(grid)
    assert fine.fanouts == (4, 4, 4, 4, 8, 8, 16)
    assert [float(s) for s in fine.shares[-3:]] == [0.115, 0.11, 0.425]


def test_closed_form_is_that_of_the_tables():
    """R with two passes and flat with two passes on 2**18 cells, epsilon 0.1."""
    grid = geodp.Grid.regular((512, 512))
    printed = {
        "pyramid:setting=R": [68.6, 123.6, 66.6, 120, 66.4, 119.8, 66.7, 121.9, 113.1, 123.2],
        "pyramid:setting=flat": [125.7, 113, 110.4, 109.7, *[None] * 4, 110.4, 122.5],
    }
    for method, row in printed.items():
        found = np.sqrt(mechanism(method).variances(grid, spent(method, grid, "1/10")))[::-1][::2]
        for value, expected in zip(found, row, strict=True):
            assert expected is None or value == pytest.approx(expected, rel=2e-3)


@pytest.mark.law
@pytest.mark.parametrize("passes", [1, 2])
def test_error_where_nothing_is_clamped_is_the_closed_form(passes):
    grid = geodp.Grid.regular((16, 16))
    table = geodp.CountTable.from_dense(np.full((16, 16), 10_000), grid)
    method = Pyramid(passes=passes)
    use = spent(method, grid, "1/5")
    errors = []
    for trial in range(300):
        key = NoiseKey(trial.to_bytes(32, "little"))
        errors.append(method.release(table, use, key).to_vector() - 10_000.0)
    for i, variance in enumerate(method.variances(grid, use)):
        blocks = np.array(errors).reshape(300, 1 << i, -1).sum(axis=2)
        assert np.mean(blocks**2) == pytest.approx(variance, rel=0.5 if i == 0 else 0.3)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ("setting=coarse", "method-setting-out-of-range"),
        ("passes=3", "method-setting-out-of-range"),
        ("chain=2-2", "pyramid-chain-and-shares"),
        ("chain=2-x,shares=1-1-1", "chain-form"),
        ("chain=2-2,shares=1-1", "pyramid-shares-count"),
        ("chain=2-2,shares=1-1-0", "pyramid-shares-form"),
        ("prune=-1", "method-setting-out-of-range"),
    ],
)
def test_wrong_settings_are_refused(settings, says):
    with refuses(UsageError, says):
        mechanism(f"pyramid:{settings}")


def test_a_chain_that_does_not_split_all_digits_is_refused():
    table = geodp.CountTable.from_dense(np.ones((8, 8), int), geodp.Grid.regular((8, 8)))
    with refuses(UsageError, r"pyramid-chain: \b6\b"):
        geodp.publish(table, method="pyramid:chain=2-2,shares=1-1-1", epsilon=1, contribution=1)


def test_official_areas_equal_the_definition_on_a_window_with_an_offset():
    grid = geodp.Grid.mesh("inspire:10km", bounds=(4_050_000, 2_980_000, 4_170_000, 3_120_000))
    grid = grid.with_official_order()
    people = np.random.default_rng(8).poisson(5, grid.shape)
    table = geodp.CountTable.from_dense(people, grid)
    keys = int(np.prod(grid.order.radices))
    every = grid.contains_keys(np.arange(keys, dtype=np.uint64))
    compare(mechanism("pyramid:setting=official"), table, "1", lambda a, b: every[a:b].any())


def test_official_needs_the_official_order():
    grid = geodp.Grid.mesh("inspire:100km")
    assert "official" in mechanism("pyramid:setting=official").unsupported(grid)


def worlds():
    """Tables whose grids have bits or other digits, edges, a mask and an attribute."""
    generator = np.random.default_rng(9)
    plain = geodp.Grid.regular((32, 32))
    people = generator.poisson(20, (32, 32)) * (generator.random((32, 32)) < 0.3)
    yield "bits", geodp.CountTable.from_dense(people, plain)
    edges = geodp.Grid.regular((21, 27))
    inside = np.add.outer(np.arange(21), np.arange(27)) < 30
    masked = edges.with_mask(mask_of_blocks(edges, blocks_of_array(inside), "a corner is sea"))
    yield "mask", geodp.CountTable.from_dense(np.where(inside, 9, 0), masked)
    sexes = geodp.Grid.regular((21, 13)).with_attribute("sex", ["female", "male"])
    yield "attribute", geodp.CountTable.from_dense(generator.poisson(3, (21, 13, 2)), sexes)
    tens = geodp.Grid.regular((20, 20)).with_order(Order((0, 1, 0, 1), (2, 2, 10, 10)))
    yield "tens", geodp.CountTable.from_dense(generator.poisson(2, (20, 20)), tens)


WORLDS = dict(worlds())


@pytest.mark.parametrize("rho", [None, Fraction(1, 8)], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("settings", ["", "passes=1", "prune=1", "setting=fine,prune=1/2"])
@pytest.mark.parametrize("name", WORLDS)
def test_parts_threads_and_the_dense_twin_agree_bit_for_bit(name, settings, rho, monkeypatch):
    table, method = WORLDS[name], Pyramid().with_settings(settings)
    use, key = spent(method, table.grid, "1/2", rho), NoiseKey(SECRET)
    cells, counts, nodes = refine(table, method, use, key, parts=1)
    monkeypatch.setattr("geodp.mechanisms.trees.parallel.MANY", 8)
    monkeypatch.setattr("geodp.mechanisms.trees.descent.FEW_NODES", 0)
    ways = ((1, 1, 1), (100, 2, 1), (100, 7, 2), (1 << 15, 0, 3))
    for (children, parts, threads), piece in product(ways, (1 << 16, 0)):
        monkeypatch.setattr("geodp.mechanisms.trees.descent.CHILDREN", children)
        monkeypatch.setattr("geodp.mechanisms.trees.descent.NARROWEST", min(children, 8))
        monkeypatch.setattr("geodp.mechanisms.trees.traversal.RECORDS", (piece, piece))
        monkeypatch.setattr("geodp.mechanisms.trees.traversal.EMIT_SIZE", piece)
        again = refine(table, method, use, key, parts, threads)
        assert (again[0] == cells).all()
        assert (again[1] == counts).all()
        assert again[2] == nodes
    every = refine_dense(table, method, use, key)
    assert (np.flatnonzero(every) == cells.astype(np.int64)).all()
    assert (every[every > 0] == counts).all()


@pytest.mark.parametrize(
    ("bits", "chain"),
    [
        (12, "1-1-1-1-1-1-1-1-1-1-1-1"),
        (13, "12-1"),
        (14, "2-12"),
        (15, "5-5-5"),
        (14, "8-6"),
    ],
)
@pytest.mark.parametrize("settings", ["", ",passes=1", ",prune=1"])
def test_every_fanout_is_that_of_the_dense_twin(bits, chain, settings):
    """Trees of 2 to 4096 children: one word of a mask or many, one block of noise or many."""
    shares = "-".join(["1"] * (chain.count("-") + 2))
    method = mechanism(f"pyramid:chain={chain},shares={shares}{settings}")
    grid = geodp.Grid.regular((1 << bits,))
    draw = np.random.default_rng(bits)
    key = np.unique(draw.integers(0, 1 << bits, 300, dtype=np.uint64))
    table = geodp.CountTable.from_keys(grid, key, draw.integers(1, 4000, key.size))
    use, secret = spent(method, grid, "1"), NoiseKey(SECRET)
    cells, counts, _ = refine(table, method, use, secret)
    every = refine_dense(table, method, use, secret)
    assert (np.flatnonzero(every) == cells.astype(np.int64)).all()
    assert (every[every > 0] == counts).all()


@pytest.mark.parametrize("parts", [1, 3])
def test_a_total_of_nobody_ends_it(parts):
    grid = geodp.Grid.regular((16, 16))
    table = geodp.CountTable.from_dense(np.zeros((16, 16), int), grid)
    method = Pyramid()
    use = spent(method, grid, "1/100")
    found = [refine(table, method, use, NoiseKey(bytes([i] * 32)), parts)[2] for i in range(20)]
    assert min(found) == 1
    assert max(found) > 1


@pytest.mark.law
@pytest.mark.parametrize("rho", [None, Fraction(1, 2000)], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("settings", ["setting=R", "setting=fine", "setting=flat,passes=1"])
def test_isolated_cell_is_that_of_releases(settings, rho):
    """Bias and error of releases of one occupied cell, other keys and another place."""
    grid, method, trials = geodp.Grid.regular((64, 64)), Pyramid().with_settings(settings), 150
    use = spent(method, grid, "1/50", rho)
    truth, place = 10_000_000, 777
    table = geodp.CountTable.from_keys(grid, np.array([place], np.uint64), np.array([truth]))
    errors = np.empty(trials)
    for trial in range(trials):
        key = NoiseKey((10_000 + trial).to_bytes(32, "little"))
        cells, counts, _ = refine(table, method, use, key)
        errors[trial] = counts[cells == place].sum() - truth
    stated = method.isolated_cell(grid, use)
    spread = errors.std()
    assert stated["bias"] == pytest.approx(errors.mean(), abs=4 * spread / np.sqrt(trials))
    assert stated["rmse"] == pytest.approx(np.sqrt(np.mean(errors**2)), rel=0.15)
    assert stated["bias"] < 0


@pytest.mark.parametrize("bits", [1, 40, 62])
def test_isolated_cell_of_any_tree(bits):
    grid = geodp.Grid.regular((1 << bits,))
    stated = Pyramid().isolated_cell(grid, spent("pyramid", grid, "1"))
    assert stated["bias"] < 0 < stated["rmse"]


def test_the_card_names_the_shares_of_the_noise_that_was_used():
    grid = geodp.Grid.regular((64, 64))
    method = Pyramid()
    laplace, gaussian = spent(method, grid, "1"), spent(method, grid, None, Fraction(1))
    for use in (laplace, gaussian):
        shares = method.levels(grid, gaussian=use.rho is not None).shares
        words = method.describe_sensitivity(grid, use)
        assert ": " + ", ".join(str(share) for share in shares) in words
    assert method.describe_sensitivity(grid, laplace) != method.describe_sensitivity(grid, gaussian)


@pytest.mark.law
@pytest.mark.parametrize("settings", ["", "passes=1", "setting=flat"])
@pytest.mark.parametrize("name", ["mask", "attribute", "edges"])
def test_variances_bound_every_block_of_a_domain_with_edges(name, settings):
    """Exact weighted least squares (two passes) or the closed form of a region (one)."""
    grid = geodp.Grid.regular((11, 6)) if name == "edges" else WORLDS[name].grid
    method = Pyramid().with_settings(settings)
    use = spent(method, grid, "1")
    tree, stated = method.tree_variance(grid, use), method.variances(grid, use)
    key = np.arange(1 << grid.bits, dtype=np.uint64)
    key = key[grid.contains_keys(key)]
    for i, most in enumerate(stated):
        block = key >> np.uint64(grid.bits - i)
        found = [tree.region(key[block == b], grid) for b in np.unique(block)[:40]]
        found += [tree.region(key[block == b], grid) for b in np.unique(block)[-40:]]
        assert max(found) <= most * (1 + 1e-9)
        if name == "edges":
            assert max(found) == pytest.approx(most)


@pytest.mark.parametrize("rho", [None, Fraction(1, 2000)], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("passes", [1, 2])
def test_a_tree_of_one_split_loses_what_one_split_takes(passes, rho):
    """Occupied are 4 of 16 cells; more or fewer lose less, so what is stated is no less."""
    grid, method = geodp.Grid.regular((16,)), Pyramid(chain="4", shares="1-2", passes=passes)
    use = spent(method, grid, "1/50", rho)
    people = np.where(np.arange(16) < 4, 1_000_000, 0)
    table = geodp.CountTable.from_dense(people, grid)
    lost = []
    for trial in range(400):
        key = NoiseKey((5000 + trial).to_bytes(32, "little"))
        lost.append(people.sum() - refine_dense(table, method, use, key)[:4].sum())
    ((mean, spread),) = method.clamp_losses(grid, use)
    assert np.mean(lost) - 4 * spread / 20 < mean < 1.5 * np.mean(lost)
    assert spread == pytest.approx(np.std(lost), rel=0.25)
    assert mean > -method.isolated_cell(grid, use)["bias"]


@pytest.mark.parametrize("rho", [None, Fraction(10**9)], ids=["laplace", "gaussian"])
def test_a_huge_budget_leaves_the_counts_as_they_are(rho):
    """Noise whose variance is 0 to the precision of a float."""
    table, method = WORLDS["mask"], Pyramid()
    use = spent(method, table.grid, 10**9, rho)
    cells, counts, _ = refine(table, method, use, NoiseKey(SECRET))
    assert (cells == table.key).all()
    assert (counts == table.count).all()
    assert method.variances(table.grid, use)[-1] < 1e-6
    assert method.isolated_cell(table.grid, use) == {"bias": 0, "rmse": 0}
    assert max(mean for mean, _ in method.clamp_losses(table.grid, use)) == 0


@pytest.mark.parametrize("cells", [160, 1600])
@pytest.mark.parametrize("bits", [18, 38, 62])
def test_measured_nodes_grow_as_output_cells_times_levels(bits, cells):
    """Sixteen nodes for every level above a cell, and some more that the second pass empties."""
    draw = np.random.default_rng(bits)
    first = draw.integers(0, 1 << bits, cells // 16, dtype=np.uint64) & np.uint64(2**63 - 16)
    keys = np.unique(first[:, None] + np.arange(16, dtype=np.uint64))
    grid = geodp.Grid.regular((1 << bits,))
    table = geodp.CountTable.from_keys(grid, keys, draw.integers(1, 300, keys.size))
    method = Pyramid()
    out, _, nodes = refine(table, method, spent(method, grid, "1"), NoiseKey(SECRET))
    levels = len(method.levels(grid).fanouts)
    assert 1 < nodes / (out.size * levels) < 24


def test_draws_that_the_table_leaves_open_are_decided_exactly(monkeypatch):
    table, method = WORLDS["mask"], Pyramid()
    use, key = spent(method, table.grid, "1/9"), NoiseKey(SECRET)
    expected = refine(table, method, use, key)
    complete = Law._digits

    def short(law):
        first, rest = complete(law)
        kept = int((first >= 1 << 18).sum()) + 1
        return first[:kept], rest[:kept]

    monkeypatch.setattr(Law, "_digits", short)
    DiscreteLaplace.of_scale.cache_clear()
    try:
        found = refine(table, method, use, key)
    finally:
        DiscreteLaplace.of_scale.cache_clear()
    for one, same in zip(found, expected, strict=True):
        assert np.array_equal(one, same)


@pytest.mark.parametrize(("cells", "threads"), [(9, []), (9000, [2])])
def test_several_threads_begin_only_where_there_is_work_for_them(cells, threads, monkeypatch):
    """The time of small maps is that of one thread; the result is the same."""
    seen, mapped = [], parallel.map_items
    key = np.arange(cells, dtype=np.uint64) * np.uint64(1 << 23)
    table = geodp.CountTable.from_keys(geodp.Grid.regular((1 << 37,)), key, np.full(cells, 500))
    method = Pyramid(passes=1)
    given = table, method, spent(method, table.grid, "1"), NoiseKey(SECRET)

    def watched(work, items, asked):
        if len(items) > 1:
            seen.append(asked)
        return mapped(work, items, asked)

    monkeypatch.setattr(parallel, "map_items", watched)
    one, two = refine(*given, threads=1), refine(*given, threads=2)
    assert seen == threads
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
