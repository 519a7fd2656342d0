"""Intervals of single cells by their definition: one cell, one level, one sibling after another."""

from math import hypot, inf, sqrt

import numpy as np

PLAIN, OUTER, INNER = range(3)


def square(x):
    return x * x


def nodes_of(counts, stride):
    """People by node of so many keys, of a dictionary of counts by key."""
    found = {}
    for key, count in counts.items():
        found[key // stride] = found.get(key // stride, 0) + count
    return found


def walk(key, counts, domain, tree, strong):
    """What a cell's path adds up: sums, variances, fourth cumulants, losing and gaining levels.

    ``counts``: by key, above 0; ``domain``: all keys that are cells. ``tree``: fan-outs, variances
    and fourth cumulants, the root's first; a node with fewer people than ``strong`` standard
    deviations of what was measured of it may hold nobody.
    """
    fanouts, variances, fourths = tree
    own = float(counts.get(key, 0))
    part, count = [1.0] * 3, [own] * 3
    variance, fourth = [0.0] * 3, [0.0] * 3
    losing, gaining = [], []
    node, stride, whole = key, 1, True
    for level in range(len(fanouts) - 1, -1, -1):
        fanout, v, tail = fanouts[level], variances[level + 1], fourths[level + 1]
        least = strong * sqrt(v)
        held = nodes_of(counts, stride)
        children = {cell // stride for cell in domain if cell // stride // fanout == node // fanout}
        people = {child: float(held.get(child, 0)) for child in children}
        here, others = people[node], sorted(children - {node})
        weak = [child for child in others if people[child] < least]
        zeros = [child for child in others if people[child] == 0]
        if here < least:
            part[OUTER], count[OUTER] = 1.0, here
            part[INNER], count[INNER] = 0.0, 0.0
        total = sum(people.values())
        count[OUTER] += sum(people[child] for child in weak)
        cut = not whole or len(children) > 1
        if cut and total > 0:
            if zeros:
                losing.append(level)
            if here == 0:
                gaining.append(level)
        for i in range(3):
            added = float(len(weak)) if i == OUTER else 0.0
            if not cut:
                part[i], count[i] = 1.0, total
                continue
            mean = (part[i] + added) / len(children)
            squares = square(part[i]) + added - square(mean) * len(children)
            powers = square(square(part[i] - mean)) + added * square(square(1 - mean))
            powers += (len(children) - 1 - added) * square(square(mean))
            variance[i] += v * squares
            fourth[i] += tail * powers
            part[i] = mean
        node, stride, whole = node // fanout, stride * fanout, not cut
    nobody = not counts and not whole
    if nobody:
        part[OUTER] = 1.0
    for i in range(3):
        variance[i] += variances[0] * square(part[i])
        fourth[i] += fourths[0] * square(square(part[i]))
    return count, variance, fourth, sorted(losing), sorted(gaining), nobody


def class_of(key, counts, domain, tree, bounds):
    """What was released around a cell, as a number; -1: it stands alone.

    ``bounds``: of shares, of numbers of children; keys that are looked at around a cell; standard
    deviations of a cell with somebody beyond doubt.
    """
    shares, children, around, few = bounds
    fanouts, variances, _ = tree
    span = 1
    for fanout in reversed(fanouts):
        span *= fanout
        if span >= around:
            break
    cells = [cell for cell in domain if cell // span == key // span and cell != key]
    sure = [cell for cell in cells if counts.get(cell, 0) >= few * sqrt(variances[-1])]
    zeros = [cell for cell in cells if counts.get(cell, 0) == 0]
    if not sure or len(zeros) == len(cells):
        return -1
    share = sum(bound < len(zeros) / len(cells) for bound in shares)
    last = fanouts[-1]
    siblings = sum(cell // last == key // last for cell in domain)
    return sum(bound < siblings for bound in children) * len(shares) + share


def interval(path, kind, known, margins, z):
    """Low and high end for a cell.

    ``path``, ``kind``: of `walk` and `class_of`. ``known``: bias and root-mean-square error of an
    isolated cell, or None; mean and spread of what a clamp takes by level, or None. ``margins``:
    below and above by class. ``z``: half an interval of Gaussian, Laplace and skewed noise.
    """
    count, variance, fourth, losing, gaining, nobody = path
    isolated, losses = known
    gauss, laplace, skewed = z
    margin = []
    for i in range(3):
        v = max(variance[i], 1e-12)
        excess = min(max(fourth[i] / square(v) / 3, 0.0), 1.0)
        margin.append((gauss + (laplace - gauss) * excess) * sqrt(v) + np.spacing(count[i]))

    def moved(levels, alone):
        found = inf
        if alone is not None:
            bias, error = alone
            found = max(margin[PLAIN], skewed * sqrt(max(error**2 - bias**2, 0.0))) - bias
        if losses is not None and not nobody:
            mean, spread = 0.0, 0.0
            for level in levels:
                mean += losses[level][0]
                spread += square(losses[level][1])
            found = min(found, mean + hypot(margin[PLAIN], sqrt(spread) * skewed))
        return found

    low, high = count[PLAIN] - margin[PLAIN], count[PLAIN] + margin[PLAIN]
    if gaining:
        low = max(count[INNER] - margin[INNER], count[PLAIN] - moved(gaining, None))
    if losing or nobody:
        high = min(count[OUTER] + margin[OUTER], count[PLAIN] + moved(losing, isolated))
    low, error, own = max(low, 0.0), sqrt(max(variance[PLAIN], 0.0)), np.spacing(count[PLAIN])
    down, up = margins[0][kind] * error + own, margins[1][kind] * error + own
    return max(low, count[PLAIN] - down), min(high, count[PLAIN] + up)


def low_if_isolated(key, counts, tree, few, z):
    """The low end of a cell that was given all that is estimated of the nodes around it."""
    fanouts, variances, fourths = tree
    depth, stride, here = 0, 1, counts.get(key, 0)
    for level in range(len(fanouts), 0, -1):
        stride *= fanouts[level - 1]
        held = sum(n for other, n in counts.items() if other // stride == key // stride)
        if held - here >= few * sqrt(variances[level]):
            break
        depth, here = depth + 1, held
    # One node of that level, whose error is part of its ancestors' in equal shares.
    part, variance, fourth = 1.0, 0.0, 0.0
    for level in range(len(fanouts) - depth, 0, -1):
        siblings = fanouts[level - 1]
        shares = [part, *[0.0] * (siblings - 1)]
        mean = sum(shares) / siblings
        variance += variances[level] * sum((share - mean) ** 2 for share in shares)
        fourth += fourths[level] * sum((share - mean) ** 4 for share in shares)
        part = mean
    variance += variances[0] * part**2
    fourth += fourths[0] * part**4
    excess = min(max(fourth / variance**2 / 3, 0.0), 1.0)
    return max(counts.get(key, 0) - (z[0] + (z[1] - z[0]) * excess) * sqrt(variance), 0.0)
