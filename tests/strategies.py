"""Hypothesis strategies of the whole suite."""

import numpy as np
from hypothesis import strategies as st

from geodp.grid.grid import Grid
from geodp.table.counts import CountTable

secrets = st.binary(min_size=32, max_size=32)


@st.composite
def binary_tables(draw, most_bits=62, most_cells=12, most_people=60):
    """A sparse table on a line of 2**bits cells."""
    bits = draw(st.integers(1, most_bits))
    grid = Grid.regular((1 << bits,))
    keys = draw(st.sets(st.integers(0, (1 << bits) - 1), max_size=most_cells))
    counts = draw(st.lists(st.integers(1, most_people), min_size=len(keys), max_size=len(keys)))
    return CountTable.from_keys(grid, np.array(sorted(keys), np.uint64), np.array(counts, int))


shapes = st.lists(st.integers(1, 7), min_size=1, max_size=4).map(tuple)


@st.composite
def shaped_tables(draw):
    """A table on a small grid of any shape, padded inside to powers of two."""
    shape = draw(shapes)
    size = int(np.prod(shape))
    counts = draw(st.lists(st.integers(0, 9), min_size=size, max_size=size))
    return CountTable.from_dense(np.array(counts, int).reshape(shape), Grid.regular(shape))
