"""An office's regions by their definition: nested dictionaries, and least squares by matrices."""

import numpy as np


def morton(row, col):
    """Rank of a cell among others: row and column bits in turn."""
    return int("".join(a + b for a, b in zip(f"{row:032b}", f"{col:032b}", strict=True)), 2)


def parts(cells, codes):
    """For every cell: its region's place among those of the region above, then its own rank.

    ``codes``: tuples of the codes of each cell, the coarsest first.
    """
    ranks = [morton(row, col) for row, col in zip(*cells, strict=True)]
    paths = [(*path, rank) for path, rank in zip(codes, ranks, strict=True)]
    found = []
    for path in paths:
        place = []
        for level in range(len(path)):
            siblings = {other[level] for other in paths if other[:level] == path[:level]}
            place.append(sorted(siblings).index(path[level]))
        found.append(tuple(place))
    return found


def number(place, radices):
    """The number whose digits, level by level, are a cell's places; radices by level."""
    found = 0
    for part, digits in zip(place, radices, strict=True):
        found = found * int(np.prod(digits, dtype=int)) + part
    return found


def covariance(keys, strides, variances):
    """Covariance of cells estimated by least squares from all nodes that hold one of them.

    ``strides`` and ``variances``: keys that a node of each level covers, and its noise.
    """
    rows, weights = [], []
    for stride, variance in zip(strides, variances, strict=True):
        for node in np.unique(keys // stride):
            rows.append((keys // stride == node).astype(float))
            weights.append(1 / variance)
    design = np.array(rows)
    return np.linalg.inv(design.T @ (np.array(weights)[:, None] * design))
