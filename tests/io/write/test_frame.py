"""The frame of a map, for domains of round and odd sizes."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

import geodp
from geodp.io.write.frame import LONG_SIDE, MAX_BLOCKS, MAX_PIXELS, Frame, round_length

NICE = {1, 2, 5}


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
