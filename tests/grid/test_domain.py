"""What a grid's domain says, held against its definition cell by cell; and what has no key."""

from itertools import product
from math import prod

import numba
import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from geodp.errors import CodeError, UsageError
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.mask import mask_of_blocks
from geodp.grid.order import Order
from geodp.grid.region import Region
from geodp.grid.units import grid_of_units, pairs_of_units
from tests.grids import FORMS, cells_of, in_regions, masked
from tests.refusals import refuses
from tests.strategies import shaped_tables

UNITS = grid_of_units(
    {
        "block": ["0012", "0111", "0011", "0021", "0112", "0121", "0013"],
        "tract": ["001", "011", "001", "002", "011", "012", "001"],
        "county": ["00", "01", "00", "00", "01", "01", "00"],
    },
    "an example",
)
EVERY = FORMS | {
    "units": UNITS,
    "pairs of units": pairs_of_units(UNITS),
    "pairs of units, labels": pairs_of_units(UNITS)
    .with_attribute("mode", ["walk", "car", "bus"])
    .with_attribute("day", ["work", "rest"]),
}
every_form = pytest.mark.parametrize("grid", EVERY.values(), ids=list(EVERY))


@every_form
def test_indices_keys_and_arrays_agree_on_what_is_a_cell(grid):
    cells, domain = cells_of(grid), grid.domain
    assert domain.cells == grid.size == len(cells)
    every = np.indices(grid.shape).reshape(len(grid.shape), -1)
    held = set(map(tuple, cells.values()))
    inside = np.array([tuple(index) in held for index in every.T.tolist()])
    assert domain.contains(every).tolist() == inside.tolist()
    assert domain.to_dense().reshape(-1).tolist() == inside.tolist()
    keys = np.arange((1 << grid.bits) + 5, dtype=np.uint64)
    assert keys[domain.contains_keys(keys)].tolist() == sorted(cells)
    values = np.arange(1, every.shape[1] + 1).reshape(grid.shape)
    vector = domain.to_vector(values)
    assert {key: values[tuple(index)] for key, index in cells.items()} == {
        key: vector[key] for key in np.flatnonzero(vector).tolist()
    }


@pytest.mark.parametrize("form", [name for name, one in FORMS.items() if len(one.shape) > 1])
def test_a_lattice_of_places_is_tested_as_its_places_are(form):
    domain = FORMS[form].domain
    rows, cols = domain.shape[:2]
    every = domain.to_dense().reshape(rows, cols, -1)[:, :, 0]
    down, right = np.arange(rows), np.arange(cols)
    for row, col in ((down, right), (down[::-1], right), (down[1::3], right[2::2])):
        assert np.array_equal(domain.contains_lattice(row, col), every[np.ix_(row, col)])


def test_a_lattice_is_tested_in_blocks_on_a_map_of_many():
    shape = (75, 140)
    draw = np.random.default_rng(1)
    inside = np.zeros(shape, np.bool_)
    # Blobs, single places at corners, and whole blocks without any.
    inside[3:9, 100:131] = inside[40:64, 10:37] = True
    inside[0, 0] = inside[74, 139] = inside[16, 16] = True
    inside &= draw.random(shape) < 0.8
    for labels in ((), ("a", "b", "c")):
        grid = Grid.regular(shape)
        grid = masked(grid.with_attribute("sex", labels) if labels else grid, inside)
        got = grid.domain.contains_lattice(np.arange(75)[::-1], np.arange(5, 140))
        assert np.array_equal(got, inside[::-1, 5:])
        assert 0 < got.sum() < got.size


def test_a_kernel_is_compiled_once_for_masks_and_whole_maps():
    types = {numba.typeof(FORMS[name].domain_tests()) for name in ("padded", "mask")}
    assert len(types) == 1


@every_form
def test_what_limits_a_domain_has_its_source_and_digest(grid):
    said, domain = grid.describe(), grid.domain
    limits = said["mask"] or ("regions" in said["order"] and said["order"]["regions"])
    if not limits:
        assert domain.is_box
        assert (domain.source, domain.digest, domain.kind) == ("",) * 3
        return
    assert not domain.is_box
    assert (domain.source, domain.digest) == (limits["source"], limits["sha256"])
    assert domain.kind == ("mask" if said["mask"] else "table of regions")


@every_form
def test_an_order_that_follows_the_map_has_boxes_of_cells_as_blocks(grid):
    order, every = grid.order, np.indices(grid.shape).reshape(len(grid.shape), -1)
    boxes = True
    for digits in range(len(order.radices) + 1):
        blocks = {}
        for index in every.T[grid.contains(every)].tolist():
            key = int(order.encode(np.array(index)[:, None])[0])
            blocks.setdefault(key // prod(order.radices[digits:]), []).append(index)
        for cells in blocks.values():
            low, high = np.min(cells, axis=0), np.max(cells, axis=0)
            full = [
                one
                for one in product(*map(range, low, high + 1))
                if grid.contains(np.array(one)[:, None])[0]
            ]
            boxes &= len(full) == len(cells)
    assert boxes or not order.follows_map


@every_form
def test_blocks_of_any_digits_hold_a_cell_or_none(grid):
    radices = grid.order.radices
    for digits in range(len(radices) + 1):
        stride = prod(radices[digits:])
        first = np.arange(0, prod(radices), stride, dtype=np.uint64)
        held = {key // stride for key in cells_of(grid)}
        assert np.flatnonzero(grid.domain.overlaps(first, digits)).tolist() == sorted(held)


@every_form
def test_blocks_of_digits_are_counted_exactly_and_those_with_the_first_label(grid):
    radices, cells = grid.order.radices, cells_of(grid)
    for digits in range(len(radices) + 1):
        stride = prod(radices[digits:])
        assert grid.domain.count_nodes(digits) == len({key // stride for key in cells})
        for axis in grid.attribute_axes:
            first = {key // stride for key, index in cells.items() if index[axis] == 0}
            assert grid.domain.count_label_blocks(digits, axis) == len(first)


@every_form
def test_ranges_of_keys_are_those_of_the_mask_and_may_be_written(grid):
    domain = grid.domain
    assert domain.describe_mask() == grid.describe()["mask"]
    assert domain.ranges.flags.writeable
    if grid.mask is None:
        assert domain.ranges.shape == (0, 2)
    else:
        assert np.array_equal(domain.ranges, grid.mask.ranges)


def test_a_cell_outside_a_mask_of_land_is_told_of_larger_distances():
    grid = Grid.regular((2, 2))
    land = grid.with_mask(mask_of_blocks(grid, np.array([[0], [0], [1], [1]]), "land:world:10km"))
    assert "land:world:30km" in land.domain.outside_rule
    for other in (grid, FORMS["mask"], FORMS["regions"]):
        assert "land:" not in other.domain.outside_rule


@every_form
def test_blocks_are_counted_exactly(grid):
    shifts = range(grid.bits + 1)
    expected = [len({key >> shift for key in cells_of(grid)}) for shift in shifts]
    assert grid.domain.count_blocks(shifts) == expected


def test_blocks_of_huge_domains():
    def blocks(grid, shift):
        return grid.domain.count_blocks([shift])[0]

    assert blocks(Grid.regular((2**19, 2**18)), 0) == 2**37
    assert blocks(Grid.regular((2**19 - 1, 2**18 - 1)), 2) == 2**35
    order = Order((0, 1), (10**4, 10**4))
    assert blocks(Grid.regular((10**4, 10**4)).with_order(order), 2) == 10**8 // 4
    with refuses(UsageError, "order-too-large"):
        blocks(Grid.regular((10**4, 10**4 - 1)).with_order(order), 2)


@every_form
def test_every_cell_has_one_number(grid):
    keys = grid.domain.keys_of_ranks(np.arange(grid.size))
    assert sorted(keys.tolist()) == sorted(cells_of(grid))
    assert grid.domain.ranks_of_keys(keys).tolist() == list(range(grid.size))
    nobody = np.empty(0, np.int64)
    assert grid.domain.ranks_of_keys(grid.domain.keys_of_ranks(nobody)).size == 0


@given(shaped_tables(), st.data())
@settings(max_examples=40)
def test_numbers_enumerate_any_box_and_any_mask(table, data):
    grid = table.grid
    if len(grid.shape) == 2:
        if data.draw(st.booleans()):
            grid = grid.with_attribute("age", ["child", "adult", "old"])
            grid = grid.with_attribute("hour", ["day", "night"])
        if data.draw(st.booleans()):
            size = grid.shape[0] * grid.shape[1]
            inside = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))
            inside[data.draw(st.integers(0, size - 1))] = True
            grid = masked(grid, inside.reshape(grid.shape[:2]))
    keys = grid.domain.keys_of_ranks(np.arange(grid.size))
    assert sorted(keys.tolist()) == sorted(cells_of(grid))
    assert (grid.domain.ranks_of_keys(keys) == np.arange(grid.size)).all()


def test_numbers_of_huge_domains():
    large = Grid.regular((1 << 31, 1 << 31)).domain
    rank = np.array([0, 5, (1 << 62) - 1, 3 << 40])
    assert (large.ranks_of_keys(large.keys_of_ranks(rank)) == rank).all()


@pytest.mark.law
@every_form
def test_no_index_beyond_its_digits_has_the_key_of_another(grid):
    """Whatever the order can write down has a key of its own, and the rest is refused."""
    order, shape = grid.order, grid.shape
    seen = {}
    corners = product(*(range(-2, size + 3) for size in shape)) if grid.size < 100 else [shape]
    for index in corners:
        try:
            key = int(order.encode(np.array(index)[:, None])[0])
        except CodeError as refused:
            assert refused.position == 0  # noqa: PT017
            assert list(index) not in list(cells_of(grid).values())
            continue
        assert seen.setdefault(key, index) == index
        assert order.decode(np.array([key], np.uint64), len(shape))[:, 0].tolist() == list(index)


@every_form
def test_a_cell_outside_is_refused_by_its_position(grid):
    first = np.array(next(iter(cells_of(grid).values())))
    for axis, step in product(range(len(grid.shape)), (-10_000, 10_000)):
        wrong = first.copy()
        wrong[axis] += step
        for encode in (grid.encode, grid.order.encode):
            with pytest.raises(CodeError) as refused:
                encode(np.stack([first, first, wrong, wrong], axis=1))
            assert refused.value.position == 2


def test_a_cell_between_regions_is_refused_by_grid_and_order():
    grid = in_regions()
    outside = np.argwhere(~grid.domain.to_dense()).T
    for encode in (grid.encode, grid.order.encode):
        with pytest.raises(CodeError) as refused:
            encode(np.concatenate([grid.hierarchy.cell[:, :3], outside], axis=1))
        assert refused.value.position == 3
    with pytest.raises(CodeError):
        Region.of(grid, outside)


def test_a_region_is_its_cells_of_the_domain():
    whole = shapely.box(0, 0, 11, 24)
    for part in (None, "mask", "regions"):
        grid = Grid.regular((24, 11), crs="EPSG:3035", transform=(1, 0, 0, 0, 1, 0))
        if part == "mask":
            grid = masked(grid, FORMS["mask"].domain.to_dense())
        if part == "regions":
            grid = grid.with_hierarchy(FORMS["regions"].hierarchy)
        assert sorted(Region.of(grid, whole).key.tolist()) == sorted(cells_of(grid))


def test_a_table_of_regions_may_reach_beyond_the_map_on_all_sides():
    cell = np.array([[-3, -1, 0, 0, 2, 5], [4, -2, 0, 3, 1, 9]])
    codes = {"city": list("aababb")}
    turned = Hierarchy.of_cells(cell[:, ::-1], {"city": codes["city"][::-1]}, "an example")
    table = Hierarchy.of_cells(cell, codes, "an example")
    assert table.sha256 == turned.sha256
    inside = (cell >= 0).all(axis=0) & (cell < [[4], [4]]).all(axis=0)
    few = Hierarchy.of_cells(cell[:, inside], {"city": np.array(list("aababb"))[inside]}, "x")
    grid = Grid.regular((4, 4)).with_hierarchy(table)
    assert grid.hierarchy.sha256 == few.sha256
    assert grid.size == 3


def pairs_of_mask(shape, labels=()):
    """Pairs of the cells of a mask with gaps, and of labels."""
    inside = np.indices(shape).sum(axis=0) % 3 != 1
    row, col = np.nonzero(inside)
    one = Grid.regular(shape)
    ones = np.ones_like(row)
    mask = mask_of_blocks(one, np.stack([row, col, ones, ones]), "every third diagonal")
    pairs = Grid(one.places * 2, mask=mask)
    return (pairs.with_attribute("mode", labels) if labels else pairs), inside


@pytest.mark.parametrize("shape", [(3, 2), (1, 5), (4, 4)])
@pytest.mark.parametrize("labels", [(), ("walk", "car", "bus")])
def test_pairs_of_a_mask_are_those_of_its_cells(shape, labels):
    grid, inside = pairs_of_mask(shape, labels)
    domain, every = grid.domain, np.indices(grid.shape).reshape(len(grid.shape), -1)
    held = inside[tuple(every[:2])] & inside[tuple(every[2:4])]
    assert np.array_equal(domain.contains(every), held)
    assert domain.cells == grid.size == held.sum()
    keys = np.arange((1 << grid.bits) + 5, dtype=np.uint64)
    known = grid.order.encode(every[:, held])
    assert keys[domain.contains_keys(keys)].tolist() == sorted(known.tolist())
    rank = np.arange(grid.size)
    assert sorted(domain.keys_of_ranks(rank).tolist()) == sorted(known.tolist())
    assert np.array_equal(domain.ranks_of_keys(domain.keys_of_ranks(rank)), rank)
    assert domain.describe_mask() == Grid(grid.places[:1], mask=grid.mask).domain.describe_mask()
    with refuses(CodeError, "cell-outside-domain"):
        grid.encode(every[:, ~held][:, :1])


def test_no_tree_divides_pairs_of_a_mask():
    domain = pairs_of_mask((4, 4))[0].domain
    for ask in (
        lambda: domain.ranges,
        lambda: domain.overlaps(np.zeros(1, np.uint64), 1),
        lambda: domain.count_label_blocks(1, 0),
    ):
        with refuses(UsageError, "pairs-of-mask"):
            ask()


def test_a_mask_is_of_one_map_or_of_its_pairs():
    mask = pairs_of_mask((4, 4))[0].mask
    with refuses(UsageError, "mask-needs-morton-map"):
        Grid((*Grid.regular((4, 4)).places, *Grid.regular((4, 5)).places), mask=mask)
    with refuses(UsageError, "mask-needs-morton-map"):
        Grid((), extents=(4, 4), mask=mask)
