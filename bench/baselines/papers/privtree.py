"""PrivTree: Zhang, Xiao, Xie, "PrivTree: a differentially private algorithm for hierarchical
decompositions", SIGMOD 2016.

A quadtree whose node is split if its count, less a decay for every level above it, plus noise that
does not grow with the height, is above a threshold; then noisy counts of the leaves.
"""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float64]

CHILDREN = 4
"""Number of children of a node: beta in the paper."""

THRESHOLD = 0.0
"""Theta: section 3.4 takes 0."""

TREE = 0.5
"""Share of the budget for the tree; the rest is for the leaves' counts (section 3.4)."""


def scale_of(epsilon: float) -> float:
    """Compute lambda, the scale of the noise of a tree with this budget: corollary 1."""
    return (2 * CHILDREN - 1) / (CHILDREN - 1) / epsilon


def decay_of(scale: float) -> float:
    """Compute delta, the decay for every level: ``lambda ln(beta)``."""
    return scale * log(CHILDREN)


def score(count: Real, depth: int, scale: float) -> Real:
    """Compute the biased counts that noise is added to: equation 8.

    Parameters
    ----------
    count : float64[n]
    depth : int
        Depth of these nodes; 0 for the root.
    scale : float
        Lambda.
    """
    decay = decay_of(scale)
    return np.maximum(count - depth * decay, THRESHOLD - decay)


def release(counts: NDArray[np.int64], epsilon: float, random: np.random.Generator) -> Real:
    """Release a map: every leaf's noisy count, spread evenly over its cells: float64[rows, cols].

    Parameters
    ----------
    counts : int64[rows, cols]
    epsilon : float
    random : Generator
        Source of the noise.
    """
    rows, cols = counts.shape
    height = max(rows - 1, cols - 1).bit_length()
    side = 1 << height
    wide = np.zeros((side, side))
    wide[:rows, :cols] = counts
    inside = np.zeros((side, side))
    # The map is padded to a square; only cells inside share a leaf's count.
    inside[:rows, :cols] = 1
    scale, released = scale_of(epsilon * TREE), np.zeros((side, side))
    row = col = np.zeros(1, np.int64)
    for depth in range(height + 1):
        block = side >> depth
        people, cells = (
            values.reshape(side // block, block, side // block, block).sum(axis=(1, 3))[row, col]
            for values in (wide, inside)
        )
        noisy = score(people, depth, scale) + random.laplace(0, scale, people.size)
        leaf = (noisy <= THRESHOLD) | (block == 1)
        noisy_people = people + random.laplace(0, 1 / (epsilon * (1 - TREE)), people.size)
        for i, j, each in zip(
            row[leaf], col[leaf], (noisy_people / np.maximum(cells, 1))[leaf], strict=True
        ):
            released[i * block : (i + 1) * block, j * block : (j + 1) * block] = each
        if leaf.all():
            break
        row, col = (np.repeat(values[~leaf] * 2, CHILDREN) for values in (row, col))
        row, col = (
            row + np.tile([0, 0, 1, 1], row.size // 4),
            col + np.tile([0, 1] * 2, col.size // 4),
        )
        inside_map = (row * (block // 2) < rows) & (col * (block // 2) < cols)
        row, col = row[inside_map], col[inside_map]
    return released[:rows, :cols]
