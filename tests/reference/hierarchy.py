"""Trees of noisy counts by their matrices: one row per measured node, one column per leaf."""

from itertools import product

import numpy as np


def nodes(fanouts):
    """Rows of all nodes, level by level: a list of 0/1 matrices, the root's first."""
    leaves = int(np.prod(fanouts, dtype=int))
    levels, count = [], 1
    for fanout in [*fanouts, 1]:
        width = leaves // count
        levels.append(np.kron(np.eye(count), np.ones(width)))
        count *= fanout
    return levels


def least_squares(levels, noisy, variances):
    """Leaves that fit the noisy counts best; levels without a noisy count are None."""
    used = [i for i, values in enumerate(noisy) if values is not None]
    weight = np.concatenate([np.full(len(levels[i]), variances[i] ** -0.5) for i in used])
    rows = np.concatenate([levels[i] for i in used]) * weight[:, None]
    values = np.concatenate([noisy[i] for i in used]) * weight
    return np.linalg.lstsq(rows, values, rcond=None)[0]


def covariance(levels, variances):
    """Covariance of the leaves' estimates; an infinite variance is a level not measured."""
    precision = sum(rows.T @ rows / v for rows, v in zip(levels, variances, strict=True))
    return np.linalg.inv(precision)


def block_variances(cov, keys, domain, bits):
    """Largest variance of the blocks of each level; ``keys[i]`` is the key of leaf i.

    Leaves that are padding have the key -1.
    """
    held = np.where(keys >= 0, domain[np.maximum(keys, 0)], False)
    found = []
    for level in range(bits + 1):
        size = 1 << (bits - level)
        chosen = [held & (keys // size == block) for block in range(1 << level)]
        found.append(max(c @ cov @ c for c in chosen))
    return np.array(found)


def without_negatives(levels, leaves):
    """Every subtree whose root's estimate is 0 or below becomes 0."""
    out = leaves.copy()
    for rows in levels:
        for row in rows:
            if row @ leaves <= 0:
                out[row > 0] = 0
    return out


def boxes(splits):
    """Nodes of a tree over a box, level by level: lists of ((start, stop) per axis)."""
    padded = [int(np.prod([level[a] for level in splits])) for a in range(len(splits[0]))]
    levels = [[tuple((0, n) for n in padded)]]
    for split in splits:
        below = []
        for node in levels[-1]:
            sides = []
            for (start, stop), parts in zip(node, split, strict=True):
                step = (stop - start) // parts
                sides.append([(start + i * step, start + (i + 1) * step) for i in range(parts)])
            below += product(*sides)
        levels.append(below)
    return padded, levels


def box_rows(splits):
    """As :func:`nodes`, for a tree over a box, with the columns in index order."""
    padded, levels = boxes(splits)
    found = []
    for level in levels:
        rows = np.zeros((len(level), *padded))
        for row, node in zip(rows, level, strict=True):
            row[tuple(slice(*side) for side in node)] = 1
        found.append(rows.reshape(len(level), -1))
    return padded, found


def average_nodes(splits):
    """Nodes below the root that make up a box, on average over all boxes, one by one."""
    padded, levels = boxes(splits)

    def needed(query, node, level):
        if any(a >= d or c >= b for (a, b), (c, d) in zip(query, node, strict=True)):
            return 0
        inside = all(a <= c and d <= b for (a, b), (c, d) in zip(query, node, strict=True))
        if inside and level > 0:
            return 1
        children = [
            child
            for child in levels[level + 1]
            if all(a <= c and d <= b for (a, b), (c, d) in zip(node, child, strict=True))
        ]
        return sum(needed(query, child, level + 1) for child in children)

    runs = [[(a, b) for a in range(n) for b in range(a + 1, n + 1)] for n in padded]
    queries = list(product(*runs))
    return sum(needed(query, levels[0][0], 0) for query in queries) / len(queries)
