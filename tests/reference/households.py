"""Whole members of households on a tree with caps, in plain Python: the definition.

A tree is a list of levels, the root's first; a level is a list of nodes, each the list of its
children's numbers on the level below (of the last level nothing).
"""

import math

HALVINGS = 80


def estimates(children, measured, noise, closed):
    """Best linear estimates of all nodes and their variances, from the cells up.

    ``children[i][n]``: the children of node n of level i; ``measured[i][n]``: its noisy count;
    ``noise[i]``: the variance of the noise of level i; ``closed[i][n]``: sum and number of the
    noisy counts of further children of node n.
    """
    last = len(measured) - 1
    z, variance = (
        [[*one] for one in measured],
        [[v] * len(m) for v, m in zip(noise, measured, strict=True)],
    )
    for i in range(last - 1, -1, -1):
        for n, below in enumerate(children[i]):
            total, number = closed[i][n]
            spread = number * noise[i + 1]
            for c in below:
                total += z[i + 1][c]
                spread += variance[i + 1][c]
            weight = spread / (spread + noise[i])
            z[i][n] = weight * z[i][n] + (1 - weight) * total
            variance[i][n] = weight * noise[i]
    return z, variance


def clip(value, cap):
    return min(max(value, 0.0), float(cap))


def split(total, uniform, z, variance, cap):
    """Divide a node's whole count among its children, from 0 to their caps."""
    low = min(-one / v for one, v in zip(z, variance, strict=True))
    high = max((c - one) / v for one, v, c in zip(z, variance, cap, strict=True))
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if middle <= low or middle >= high:
            break
        reached = 0.0
        for one, v, c in zip(z, variance, cap, strict=True):
            reached += clip(one + middle * v, c)
        if reached < total:
            low = middle
        else:
            high = middle
    counts, reached = [], uniform
    for n, (one, v, c) in enumerate(zip(z, variance, cap, strict=True)):
        reached += clip(one + high * v, c)
        # What is left must fit into the children behind this one, and this one takes its cap.
        least = total - sum(counts) - sum(cap[n + 1 :])
        most = min(c, total - sum(counts))
        counts.append(max(least, min(most, math.floor(reached) - sum(counts))))
    return counts


def fit(children, measured, noise, closed, cap, uniform):
    """Whole counts of the cells: ``cap[i][n]`` is the most of node n of level i.

    ``uniform[i][n]``: the uniform numbers with which the counts of level i are rounded, one for
    each node above it; of the root one alone.
    """
    z, variance = estimates(children, measured, noise, closed)
    if not z[0]:
        return []
    count = [min(max(math.floor(z[0][0] + uniform[0][0]), 0), cap[0][0])]
    for i, above in enumerate(children[:-1]):
        below = [0] * len(measured[i + 1])
        for n, some in enumerate(above):
            values = ([z[i + 1][c] for c in some], [variance[i + 1][c] for c in some])
            parts = split(count[n], uniform[i + 1][n], *values, [cap[i + 1][c] for c in some])
            for c, part in zip(some, parts, strict=True):
                below[c] = part
        count = below
    return count
