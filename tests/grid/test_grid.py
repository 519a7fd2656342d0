import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodp.errors import CodeError, UsageError
from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice
from geodp.grid.mask import (
    blocks_of_array,
    blocks_of_codes,
    grid_of_primaries,
    mask_of_blocks,
)
from geodp.grid.order import Order
from tests.refusals import refuses

KANTO = (138.0, 35.0, 141.2, 37.1333333333)


def test_the_kanto_window():
    grid = Grid.mesh("jis:half", bounds=KANTO)
    place = grid.places[0]
    assert grid.shape == (512, 512)
    assert grid.bits == 18
    assert (place.row0, place.col0) == (35 * 240, 38 * 160)
    assert place.bounds == (138.0, 35.0, 141.2, 37 + 2 / 15)
    assert place.crs == "EPSG:6668"
    assert place.northwards


def test_the_default_domain_is_the_public_extent():
    grid = Grid.mesh("jis:half")
    assert grid.shape == (6240, 5120)
    assert grid.bits == 26
    assert grid.places[0].bounds == (122.0, 20.0, 154.0, 46.0)
    assert Grid.mesh("inspire:1km").places[0].bounds == (900e3, 900e3, 7400e3, 5500e3)


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ((138.003, 35, 141.2, 37.1333333333), "bounds-off-edges: west"),
        ((138, 35, 141.2, 37.135), "bounds-off-edges: north"),
        ((138, 35, 138, 36), "bounds-not-in-extent"),
        ((141, 35, 138, 36), "bounds-not-in-extent"),
        ((120, 35, 141, 37), "bounds-not-in-extent"),
        ((138, 35, float("nan"), 37), "bounds-not-finite"),
        ((138, 35, 141), "bounds-not-finite"),
    ],
)
def test_bounds_that_are_refused(bounds, message):
    with refuses(UsageError, message):
        Grid.mesh("jis:half", bounds=bounds)


def test_attributes_come_under_the_places():
    grid = Grid.regular((4, 4)).with_attribute("sex", ["female", "male"])
    assert grid.axis_names == ("row", "col", "sex")
    assert grid.order.axes == (0, 1, 0, 1, 2)
    with refuses(UsageError, "attribute-form"):
        grid.with_attribute("sex", ["a", "a"])


def test_pairs_interleave_four_axes():
    grid = Grid.regular((94, 168)).pairs()
    assert grid.shape == (94, 168, 94, 168)
    assert grid.bits == 30
    assert grid.order.axes[-4:] == (0, 1, 2, 3)
    assert grid.axis_names[0] == "origin_row"


def test_the_order_of_cells_is_a_value_of_the_grid():
    rows_first = Order((0, 0, 1, 1), (2, 2, 2, 2))
    grid = Grid.regular((4, 4)).with_order(rows_first)
    assert grid.encode([[1], [2]]).tolist() == [6]
    assert grid != Grid.regular((4, 4))
    assert Grid.regular((10, 10)).with_order(Order((0, 1), (10, 10))).bits == 7
    with refuses(UsageError, "order-digits-too-few"):
        Grid.regular((5, 4)).with_order(rows_first)
    with refuses(UsageError, r"order-axis-unknown: \b1\b"):
        Grid.regular((4,)).with_order(rows_first)


def test_equal_grids_are_equal_and_hash_alike():
    assert Grid.mesh("jis:half", bounds=KANTO) == Grid.mesh("jis:half", bounds=KANTO)
    assert len({Grid.regular((2, 2)), Grid.regular((2, 2)), Grid.regular((2, 3))}) == 2


@pytest.mark.parametrize(
    ("shape", "options", "message"),
    [
        ((), {}, "shape-empty"),
        ((0, 3), {}, "shape-empty"),
        ((2, 2, 2), {"crs": "EPSG:3035"}, "crs-needs-two-axes"),
        ((2, 2), {"crs": "EPSG:3035", "transform": (1, 0.1, 0, 0, 1, 0)}, "transform-not-plain"),
        ((2**40, 2**40), {}, "grid-too-large"),
        ((2**32, 2**31), {}, "grid-too-large"),
        (((1 << 62) + 1,), {}, "grid-too-large"),
    ],
)
def test_grids_that_are_refused(shape, options, message):
    with refuses(UsageError, message):
        Grid.regular(shape, **options)


@given(st.integers(0, 3), st.data())
def test_a_mask_holds_exactly_its_cells(shift, data):
    rows, cols = (
        size << shift for size in data.draw(st.tuples(st.integers(1, 6), st.integers(1, 6)))
    )
    grid = Grid.regular((rows, cols)).with_attribute("age", ["young", "middle", "old"])
    inside = np.zeros((rows, cols), bool)
    blocks = []
    for _ in range(data.draw(st.integers(1, 4))):
        row, col = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, cols - 1))
        tall, wide = data.draw(st.integers(1, rows + 2)), data.draw(st.integers(1, cols + 2))
        inside[row : row + tall, col : col + wide] = True
        blocks.append((row, col, tall, wide))
    mask = mask_of_blocks(grid, np.array(blocks).T, "a test")
    masked = grid.with_mask(mask)
    plain = Grid.regular((rows, cols))
    first = plain.with_mask(mask_of_blocks(plain, np.array(blocks).T, "a test"))
    assert first.with_attribute("age", ["young", "middle", "old"]) == masked
    assert mask.cells == inside.sum()
    assert masked.size == 3 * inside.sum()
    every = np.indices(grid.shape).reshape(3, -1)
    assert (masked.contains(every) == inside[every[0], every[1]]).all()
    assert (np.diff(mask.ranges.reshape(-1).astype(np.int64)) > 0).all()
    same = mask_of_blocks(grid, blocks_of_array(inside), "a test")
    assert (same.ranges == mask.ranges).all()


def test_masks_of_codes():
    grid = Grid.mesh("jis:basic", bounds=(139, 35 + 1 / 3, 140, 36))
    place = grid.places[0]
    blocks = blocks_of_codes(place, ["533946", "53394500"])
    masked = grid.with_mask(mask_of_blocks(grid, blocks, "two codes"))
    assert masked.size == 101
    row, col = place.parse(["53394611", "53394500", "53394501"])
    assert masked.contains(np.stack([row, col])).tolist() == [True, True, False]
    with refuses(CodeError, "mask-code-too-fine") as caught:
        blocks_of_codes(place, ["533946", "533945001"])
    assert caught.value.position == 1
    with refuses(UsageError, "mask-leaves-no-cell"):
        mask_of_blocks(grid, blocks_of_codes(place, ["6441"]), "elsewhere")
    with refuses(UsageError, "mask-source-missing"):
        mask_of_blocks(grid, blocks, " ")


def test_primary_meshes_choose_the_domain():
    whole = grid_of_primaries("jis:half", ["5339", 5340, 5439, 5440])
    assert whole.mask is None
    assert whole.shape == (320, 320)
    part = grid_of_primaries("jis:half", ["5339", "5440"])
    assert part.shape == (320, 320)
    assert part.size == 2 * 160 * 160
    assert part.mask is not None
    assert part.with_attribute("sex", ["f", "m", "x"]).size == 3 * part.size
    assert part.mask.source == "primary meshes 5339 5440 (JIS X 0410)"
    for codes in ([], ["53394"], ["abcd"]):
        with pytest.raises(UsageError):
            grid_of_primaries("jis:half", codes)
    with refuses(UsageError, "primary-needs-jis"):
        grid_of_primaries("inspire:1km", ["5339"])


def test_lattices_locate_and_name_cells():
    north_up = Lattice(3, 4, crs="EPSG:3035", transform=(1000, 0, 5000, 0, -1000, 9000))
    row, col = north_up.locate([5500.0, 8999.0], [8500.0, 6001.0])
    assert (row.tolist(), col.tolist()) == ([0, 2], [0, 3])
    assert north_up.bounds == (5000, 6000, 9000, 9000)
    assert not north_up.northwards
    assert north_up.format(np.array([2]), np.array([3])).tolist() == ["2_3"]
    with refuses(CodeError, "coordinate-not-finite"):
        north_up.locate([np.nan], [0.0])
    x, y = Grid.mesh("jis:half", bounds=KANTO).places[0].edges()
    assert x[[0, -1]].tolist() == [138.0, 141.2]
    assert y[-1] == 37 + 2 / 15


def test_official_order_makes_every_published_area_a_run_of_keys():
    grid = Grid.mesh("jis:half", bounds=(138.0, 35.0, 141.2, 37.1333333333)).with_official_order()
    index = np.indices(grid.shape).reshape(2, -1)
    key = grid.encode(index)
    assert (grid.decode(key) == index).all()
    assert np.unique(key).size == key.size
    codes = grid.places[0].format(*index)
    stride = np.prod([float(r) for r in grid.order.radices])
    ends = [4, 6, None, 8, 9]  # digits of a code; the 5 km mesh has none of its own here
    for (name, digits), length in zip(grid.areas.steps, ends, strict=True):
        first = ends.index(length) * 2
        stride /= np.prod(grid.order.radices[first : first + digits])
        if length is not None:
            node = (key // np.uint64(stride)).tolist()
            pairs = set(zip(node, codes.astype(f"U{length}"), strict=True))
            assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}), name


def test_official_order_of_europe_and_with_attributes():
    grid = Grid.mesh("inspire:1km").with_attribute("sex", ["f", "m"]).with_official_order()
    assert grid.order.radices == (46, 65, 10, 10, 10, 10, 2)
    assert [name for name, _ in grid.areas.steps][-2:] == ["inspire:1km", "sex"]


def test_official_order_is_refused_where_there_are_no_areas():
    for grid in (Grid.regular((8, 8)), Grid.mesh("inspire:100km").pairs()):
        with refuses(UsageError, "official-areas-need-codes"):
            grid.with_official_order()
    assert Grid.regular((8, 8)).areas.nested is False
    assert Grid.mesh("jis:basic").areas.nested is False
