"""The frame of a map, for domains of round and odd sizes."""

import io
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import geodp
from geodp.io.write.frame import LONG_SIDE, MAX_BLOCKS, MAX_PIXELS, Frame, round_length
from geodp.io.write.map.page import MIN_WIDTH
from geodp.io.write.picture import draw_map

NICE = {1, 2, 5}


def grid_of(rows, cols, side=10_000, crs="EPSG:3035", origin=(4e6, 2e6)):
    return geodp.Grid.regular(
        (rows, cols), crs=crs, transform=(side, 0, origin[0], 0, side, origin[1])
    )


def drawn(grid):
    people = np.zeros(grid.shape, int)
    people[0, 0] = 50
    release = geodp.publish(
        geodp.CountTable.from_dense(people, grid),
        epsilon=1,
        key=geodp.NoiseKey(bytes(32)),
        contribution=1,
    )
    with Image.open(io.BytesIO(draw_map(release.view()))) as image:
        return image.size


@pytest.mark.parametrize("cells", [5, 10, 20, 25, 40, 50, 55, 100, 200, 250, 500, 1000])
@pytest.mark.parametrize("side", [1, 10, 100, 500, 1000, 2500, 10_000, 100_000])
def test_a_round_domain_has_a_round_scale_bar(cells, side):
    frame = Frame.of(grid_of(cells, cells, side), 0)
    length, pixels = frame.scale_bar(220)
    assert pixels <= 220
    assert length == pixels * cells * Fraction(side, 1000) / frame.size[0]
    following = round_length(2 * length) if round_length(2 * length) > length else 5 * length / 2
    assert following * pixels / length > min(220, frame.size[0])


@pytest.mark.parametrize("cells", [50, 91])
def test_a_map_of_round_cells_is_written(cells):
    """50 cells of 10 km: a bar of exactly 100 km."""
    grid = grid_of(cells, cells)
    width = max(MIN_WIDTH, Frame.of(grid, 0).size[0]) + 72
    assert drawn(grid)[0] == width


@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**12))
def test_a_round_length_is_the_largest_that_is_not_longer(most):
    found = round_length(most)
    power = Fraction(1)
    while found >= 10 * power or found < power:
        power *= 10 if found >= power else Fraction(1, 10)
    digit = found / power
    assert digit in NICE
    assert found <= most < found * (Fraction(5, 2) if digit == 2 else 2)


@given(
    st.integers(1, 5000),
    st.integers(1, 5000),
    st.sampled_from([0.001, 0.1, 1.0, 12.5, 100.0, 500.0, 10_000.0]),
    st.sampled_from([0.001, 0.1, 1.0, 12.5, 100.0, 500.0, 10_000.0]),
    st.sampled_from([None, "EPSG:3035", "EPSG:4326", "EPSG:2263"]),
    st.sampled_from([-95.0, 0.0, 35.0, 89.999]),
)
def test_every_size_has_a_frame(rows, cols, wide, high, crs, south):
    if crs == "EPSG:4326":
        wide, high = wide / 1e6, high / 1e6
    grid = geodp.Grid.regular((rows, cols), crs=crs, transform=(wide, 0, 0, 0, high, south))
    for places in (grid, grid.pairs()) if rows * cols < 1 << 30 else (grid,):
        frame = Frame.of(places, 0)
        assert all(isinstance(side, int) and 1 <= side <= MAX_PIXELS for side in frame.size)
        assert max(frame.blocks) <= MAX_BLOCKS
        bar = frame.scale_bar(220)
        assert (bar is None) == (crs is None)
        if bar is not None:
            assert 0 < bar[1] <= min(220, frame.size[0])
    square = wide == high and crs != "EPSG:4326"
    if square and max(rows, cols) <= LONG_SIDE // 2:
        assert frame.size[0] * rows == frame.size[1] * cols


def test_blocks_of_cells_keep_the_shape_of_the_map():
    frame = Frame.of(geodp.Grid.regular((1 << 13, 1 << 12)), 0)
    width, height = frame.size
    assert frame.block > 1
    assert height == 2 * width
