"""Largest variance of aligned blocks, from all blocks of a domain."""

import numpy as np

from geodp.accuracy.blocks import block_variances


def largest_variances(tree, grid):
    index = np.array(np.nonzero(np.ones(grid.shape, np.bool_)))
    cells = grid.encode(index[:, grid.contains(index)])
    found = []
    for digits in range(len(grid.order.radices) + 1):
        stride = int(np.prod(grid.order.radices[digits:], dtype=np.int64))
        block = np.unique(cells // np.uint64(stride))
        variance = block_variances(tree, block, stride, grid)
        found.append(np.nan if variance is None else variance.max())
    return np.array(found)
