"""What tests of several baselines share: an event, a masked grid, and its domain."""

from fractions import Fraction

import numpy as np

from geodp.grid.grid import Grid
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.privacy.terms import ADD_REMOVE, Terms


def spent(method, grid, epsilon=1, neighbours=ADD_REMOVE):
    """What a method spends on a grid under a key that somebody knows."""
    terms = Terms.of(epsilon=Fraction(epsilon), neighbours=neighbours, contribution=1)
    return method.event(grid, terms, "fixed")


def masked(shape, inside):
    """The grid of a shape whose domain is where the array says so."""
    grid = Grid.regular(shape)
    return grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside), "drawn for a test"))


def domain_of(grid):
    """Which of all keys are cells: bool[2**bits]."""
    return grid.contains_keys(np.arange(1 << grid.bits, dtype=np.uint64))
