"""An office's own regions: keys, levels, releases and their errors."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import geodp
from geodp.errors import CodeError, UsageError
from geodp.grid.hierarchy import Hierarchy, HierarchyOrder
from geodp.grid.region import Region
from geodp.grid.tree import overlaps
from geodp.mechanisms import mechanism
from geodp.privacy.event import Measurement
from geodp.privacy.terms import Terms
from tests.grids import cells_of
from tests.mechanisms.central.test_pyramid import compare, spent
from tests.reference import regions as reference
from tests.refusals import refuses

CODES = {  # three prefectures of one, two and three cities
    "prefecture": list("AAABBBBBBBCCCCCCCCC"),
    "city": list("1111222222123333333"),
}
CELLS = np.stack([np.arange(19) // 5, np.arange(19) % 5])
TABLE = Hierarchy.of_cells(CELLS, CODES, "an example")


def grid_of(attributes="below", labels=(), table=TABLE, shape=(4, 6)):
    grid = geodp.Grid.regular(shape)
    for name, texts in labels:
        grid = grid.with_attribute(name, texts)
    return grid.with_hierarchy(table, attributes)


def keys_of(grid):
    return np.sort(grid.domain.keys_of_ranks(np.arange(grid.size)))


def table_of(grid, counts):
    index = grid.decode(keys_of(grid))
    return geodp.CountTable.from_index(grid, index, counts[tuple(index)])


SEX_AGE = (("sex", ["f", "m"]), ("age", ["young", "middle", "old"]))


def test_a_small_table_is_numbered_by_hand():
    assert TABLE.codes == (("A", "B", "C"), ("1", "1", "2", "1", "2", "3"))
    assert TABLE.digits == ((3,), (3,), (2, 2, 2))
    assert TABLE.steps == (("prefecture", 1), ("city", 1), ("cell", 3))
    assert TABLE.number[:4].tolist() == [0, 1, 2, 24]
    grid = grid_of()
    assert (grid.size, grid.order.radices) == (19, (3, 3, 2, 2, 2))
    assert grid.areas.steps == (("prefecture", 1), ("city", 1), ("cell", 3))
    assert TABLE.cells_in("B", "1").tolist() == [[0], [3]]
    assert TABLE.cells_in("C").shape == (2, 9)
    with refuses(UsageError, "region-unknown"):
        TABLE.cells_in("A", "2")


@st.composite
def tables(draw):
    """Regions of random sizes on three levels, over cells in random order."""
    cells = draw(st.sets(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30))
    code = st.sampled_from(["", "1", "2", "03", "x y"]).map(lambda text: f"c{text}")
    codes = [draw(st.tuples(code, code, code)) for _ in cells]
    order = draw(st.permutations(range(len(codes))))
    at = np.array(sorted(cells), int).T[:, order]
    return at, [codes[i] for i in order]


@given(tables())
def test_numbers_are_those_of_the_definition(drawn):
    cell, codes = drawn
    levels = dict(zip(("a", "b", "c"), zip(*codes, strict=True), strict=True))
    table = Hierarchy.of_cells(cell, levels, "a test")
    places = reference.parts(cell.tolist(), codes)
    expected = [reference.number(place, table.digits) for place in places]
    assert table.number_of(cell).tolist() == expected
    assert (np.diff(table.number) > 0).all()
    grid = geodp.Grid.regular((10, 10)).with_attribute("sex", ["f", "m"]).with_hierarchy(table)
    keys = np.arange(np.prod(grid.order.radices, dtype=int), dtype=np.uint64)
    assert np.flatnonzero(grid.contains_keys(keys)).tolist() == sorted(cells_of(grid))
    assert grid.size == 2 * len(codes)


@pytest.mark.parametrize("attributes", ["below", "above", "prefecture", "city"])
def test_every_region_is_a_run_of_keys_below_its_attributes(attributes):
    grid = grid_of(attributes, SEX_AGE)
    names = [name for name, _ in grid.areas.steps]
    at = {"below": 3, "above": 0, "prefecture": 1, "city": 2}[attributes]
    expected = ["prefecture", "city", "cell"]
    assert names == [*expected[:at], "sex", "age", *expected[at:]]
    stride = int(np.prod(grid.order.radices))
    key = keys_of(grid)
    digits = 0
    for name, count in grid.areas.steps:
        stride //= int(np.prod(grid.order.radices[digits : digits + count]))
        digits += count
        node = np.unique(key // np.uint64(stride))
        every = np.arange(np.prod(grid.order.radices) // stride, dtype=np.uint64)
        assert np.flatnonzero(overlaps(grid, every, stride)).tolist() == node.tolist()
        seen = names[: names.index(name) + 1]
        places = [{"prefecture": 3, "city": 6, "cell": 19}.get(n, 1) for n in seen]
        assert node.size == max(places) * (2 if "sex" in seen else 1) * (3 if "age" in seen else 1)


def test_cells_in_no_region_and_regions_beyond_the_extent():
    grid = grid_of(shape=(4, 6))
    with refuses(CodeError, "cell-outside-domain"):
        grid.encode([[3], [5]])
    assert not grid.contains(np.array([[3], [5]]))[0]
    shifted = Hierarchy.of_cells(CELLS - [[1], [2]], CODES, "an example")
    cut = geodp.Grid.regular((2, 2)).with_hierarchy(shifted)
    assert cut.size == 4
    assert cut.hierarchy.codes == (("B", "C"), ("2", "3"))
    with refuses(UsageError, "regions-hold-no-cell"):
        geodp.Grid.regular((2, 2)).with_hierarchy(Hierarchy.of_cells(CELLS + 9, CODES, "far"))
    with refuses(UsageError, "regions-beyond-grid"):
        geodp.Grid.regular((4, 4)).with_order(HierarchyOrder.of(TABLE))
    with refuses(UsageError, "regions-beyond-grid"):
        geodp.Grid.regular((9, 9)).with_order(HierarchyOrder.of(shifted))


def test_the_table_does_not_depend_on_the_order_of_its_rows():
    back = Hierarchy.of_cells(CELLS[:, ::-1], {n: c[::-1] for n, c in CODES.items()}, "an example")
    assert back == TABLE
    assert hash(back) == hash(TABLE)
    assert back.sha256 != Hierarchy.of_cells(CELLS[::-1], CODES, "an example").sha256
    assert grid_of(table=back) == grid_of()


@pytest.mark.parametrize(
    ("cell", "codes", "position", "says"),
    [
        ([[0, 0, 0], [0, 1, 0]], {"city": ["a", "b", "a"]}, 2, "cell-repeated"),
        ([[0, 0, 0], [0, 1, 2]], {"city": ["a", " ", "a"]}, 1, "cell-without-region"),
        (
            [[0, 0, 0], [0, 1, 2]],
            {"state": ["a"] * 3, "city": ["a", None, "b"]},
            1,
            "cell-without-region",
        ),
        ([[0, 0, 0], [0, 1, 2]], {"city": ["a", "b", float("nan")]}, 2, "cell-without-region"),
    ],
)
def test_what_is_refused_with_its_position(cell, codes, position, says):
    with refuses(CodeError, says) as caught:
        Hierarchy.of_cells(cell, codes, "a test")
    assert caught.value.position == position


@pytest.mark.parametrize(
    ("cell", "codes", "source", "says"),
    [
        ([[0], [0]], {"city": ["a"]}, " ", "regions-source-missing"),
        ([[0], [0]], {}, "a test", "regions-without-levels"),
        ([[0], [0]], {"cell": ["a"]}, "a test", "regions-without-levels"),
        ([[0], [0]], {"city": ["a", "b"]}, "a test", "regions-columns-missing"),
        ([[], []], {"city": []}, "a test", "regions-hold-no-cell"),
    ],
)
def test_calls_that_are_refused(cell, codes, source, says):
    with refuses(UsageError, says):
        Hierarchy.of_cells(np.array(cell, int).reshape(2, -1), codes, source)


def test_grids_that_take_no_regions():
    with refuses(UsageError, "regions-need-map"):
        geodp.Grid.regular((4, 6)).pairs().with_hierarchy(TABLE)
    for name in ("above", "sex", "row"):
        named = Hierarchy.of_cells(CELLS, {name: CODES["city"]}, "an example")
        with refuses(UsageError, f"region-level-name-taken: '{name}'"):
            grid_of("below", SEX_AGE, named)
    with refuses(UsageError, "attribute-order-unknown: prefecture, city"):
        grid_of("interleaved", SEX_AGE)
    grid = geodp.Grid.regular((4, 6))
    for name in "abcd":
        grid = grid.with_attribute(name, [str(i) for i in range(1 << 14)])
    grid = grid.with_attribute("sex", ["f", "m"])
    with refuses(UsageError, "grid-too-large"):
        grid.with_hierarchy(TABLE)


def test_a_level_of_one_region_is_no_level_and_one_cell_a_region_has_no_bits():
    codes = {"country": ["x"] * 4, "city": list("abcd")}
    table = Hierarchy.of_cells([[0, 0, 1, 1], [0, 1, 0, 1]], codes, "a test")
    assert table.digits == ((), (4,), ())
    assert table.steps == (("city", 1),)
    grid = geodp.Grid.regular((2, 2)).with_attribute("sex", ["f", "m"])
    assert grid.with_hierarchy(table, "country").order == grid.with_hierarchy(table, "above").order
    alone = Hierarchy.of_cells([[3], [2]], {"country": ["x"]}, "a test")
    one = geodp.Grid.regular((4, 6)).with_hierarchy(alone)
    assert (one.size, one.bits, one.order.radices) == (1, 0, ())
    release = publish_dense(one, np.full((4, 6), 500))
    assert release.table.key.tolist() == [0]


def publish_dense(grid, counts, method="pyramid", epsilon=1, trial=0):
    table = table_of(grid, counts)
    key = geodp.NoiseKey(trial.to_bytes(32, "little"))
    return geodp.publish(table, method=method, epsilon=epsilon, key=key, contribution=1)


def test_more_than_4096_parts_are_split_into_levels_that_are_no_regions():
    n = 5000
    table = Hierarchy.of_cells(
        [np.arange(2 * n) // 100, np.arange(2 * n) % 100],
        {"city": [f"{i // 2:05}" for i in range(2 * n)]},
        "a test",
    )
    assert table.digits == ((71, 71), (2,))
    assert table.steps == (("", 1), ("city", 1), ("cell", 1))
    grid = geodp.Grid.regular((100, 100)).with_hierarchy(table)
    assert mechanism("pyramid").levels(grid).fanouts == (71, 71, 2)
    assert table.number_of(np.array([[99], [99]])).tolist() == [2 * (n - 1) + 1]
    release = publish_dense(grid, np.full(grid.shape, 40), epsilon=5)
    assert (release.table.key % 2 == 0).any()
    assert grid.decode(release.table.key).max() == 99


@pytest.mark.parametrize("attributes", ["below", "above", "prefecture", "city"])
def test_releases_equal_the_definition_and_regions_are_the_sums_of_their_cells(attributes):
    grid = grid_of(attributes, SEX_AGE[:1])
    counts = np.random.default_rng(3).poisson(6, grid.shape) + 1
    table = table_of(grid, counts)
    keys = int(np.prod(grid.order.radices))
    every = grid.contains_keys(np.arange(keys, dtype=np.uint64))
    compare(mechanism("pyramid"), table, "1", lambda a, b: every[a:b].any())
    given = {"epsilon": 1, "key": geodp.NoiseKey(bytes(32)), "contribution": 1}
    release = geodp.publish(table, method="pyramid", **given)
    dense = release.table.to_dense()
    for prefecture in "ABC":
        row, col = grid.hierarchy.cells_in(prefecture)
        whole = release.estimate(Region.of_map(grid, row, col))
        assert whole.count == dense[row, col].sum()
        cities = sorted(
            set(grid.hierarchy.labels("city")[grid.hierarchy.labels("prefecture") == prefecture])
        )
        parts = [
            release.estimate(Region.of_map(grid, *grid.hierarchy.cells_in(prefecture, city))).count
            for city in cities
        ]
        assert sum(parts) == whole.count
    outside = dense.sum(axis=2)[~np.isin(np.arange(24).reshape(4, 6), CELLS[0] * 6 + CELLS[1])]
    assert not outside.any()


@pytest.mark.parametrize("attributes", ["below", "above", "prefecture", "city"])
@pytest.mark.parametrize("labels", [(), SEX_AGE])
def test_the_error_of_any_cells_is_that_of_least_squares(attributes, labels):
    grid = grid_of(attributes, labels)
    method = mechanism("pyramid")
    use = spent(method, grid, "1")
    chain = method.levels(grid)
    key = keys_of(grid)
    own = [use.law(share).variance for share in chain.shares]
    strides = [np.uint64(stride) for stride in chain.strides]
    exact = reference.covariance(key, strides, own)
    tree = method.tree_variance(grid, use)
    rng = np.random.default_rng(4)
    for chosen in [np.ones(key.size, bool), *(rng.random((9, key.size)) < 0.4)]:
        assert tree.region(key[chosen], grid) == pytest.approx(chosen @ exact @ chosen)
    assert tree.region(key[:0], grid) == 0


@pytest.mark.parametrize("attributes", ["below", "above", "prefecture", "city"])
@pytest.mark.parametrize("method", ["pyramid", "pyramid:setting=flat"])
def test_the_largest_error_of_a_block_of_keys(attributes, method):
    grid = grid_of(attributes, SEX_AGE)
    chosen = mechanism(method)
    tree = chosen.tree_variance(grid, spent(chosen, grid, "1"))
    key = keys_of(grid)
    found = tree.largest(grid)
    assert found.size == len(grid.order.radices) + 1
    for digits, largest in enumerate(found):
        block = key // np.uint64(np.prod(grid.order.radices[digits:], dtype=int))
        errors = [tree.region(key[block == one], grid) for one in np.unique(block)]
        assert largest == pytest.approx(max(errors))


@pytest.mark.parametrize("method", ["pyramid:setting=flat", "pyramid:chain=1-3-1,shares=3-1-1-2"])
def test_the_same_on_levels_that_are_no_regions(method):
    grid = grid_of()
    chosen = mechanism(method)
    tree = chosen.tree_variance(grid, spent(chosen, grid, "1/2"))
    chain = chosen.levels(grid)
    strides = [np.uint64(stride) for stride in chain.strides]
    exact = reference.covariance(TABLE.number.astype(np.uint64), strides, tree.measured)
    for cell in range(19):
        key = TABLE.number[[cell]].astype(np.uint64)
        assert tree.region(key, grid) == pytest.approx(exact[cell, cell])
    whole = np.ones(19)
    assert tree.region(TABLE.number.astype(np.uint64), grid) == pytest.approx(whole @ exact @ whole)


@pytest.mark.law
@pytest.mark.parametrize("method", ["pyramid", "pyramid:passes=1"])
def test_simulated_errors_of_uneven_regions_are_the_stated_ones(method):
    grid = grid_of("prefecture", SEX_AGE[:1])
    counts = np.full(grid.shape, 10_000)
    trials = 700
    errors = np.array(
        [
            publish_dense(grid, counts, method, trial=trial).table.to_dense() - 10_000
            for trial in range(trials)
        ]
    )
    release = publish_dense(grid, counts, method)
    cells = {codes: TABLE.cells_in(*codes) for codes in [("A",), ("B", "1"), ("B",), ("C", "3")]}
    cells["mixed"] = CELLS[:, [0, 3, 5, 11, 12]]
    for row, col in cells.values():
        for labels, axis in ((None, slice(None)), ({"sex": "m"}, slice(1, 2))):
            stated = release.standard_error(Region.of_map(grid, row, col, labels))
            measured = errors[:, row, col, axis].sum(axis=(1, 2)).std()
            assert measured == pytest.approx(stated, rel=0.135)  # 5 deviations


def test_other_methods_on_regions():
    grid = grid_of()
    counts = np.full(grid.shape, 300)
    release = publish_dense(grid, counts, "laplace")
    assert release.table.key.size == 19
    one = release.standard_error(Region.of_map(grid, [0], [0]))
    assert release.standard_error(Region.of_map(grid, *TABLE.cells_in("A"))) == pytest.approx(
        one * 3**0.5
    )
    with refuses(UsageError, "order-without-halves"):
        publish_dense(grid, counts, "topdown")


def test_one_person_changes_one_count_of_every_level():
    grid = grid_of("city", SEX_AGE)
    chain = mechanism("pyramid").levels(grid)
    assert sum(chain.shares) == 1
    use = Measurement.of("pyramid", Terms.of(epsilon=Fraction(1), contribution=1), 1, "fixed")
    assert sum(1 / use.law(share).scale for share in chain.shares) == 1
