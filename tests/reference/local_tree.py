"""Tree protocols of local collection, slow and obvious: a device, and the server from all reports.

A device's coins are ``tests.reference.coins.Units``; ``turn`` is the chance that a bit is turned
round.
"""

import math
from itertools import accumulate


def odd(x):
    return bin(x).count("1") % 2


def haar_report(units, key, weights, turn):
    """Level, row and bit of one device; keys have as many bits as there are weights."""
    chosen = units.below(sum(weights))
    level = next(i for i, end in enumerate(accumulate(weights)) if chosen < end)
    row = units.below(1 << level)
    turned = units.flip(turn)
    half = key >> (len(weights) - 1 - level)
    return level, row, odd(row & (half >> 1)) ^ (half & 1) ^ turned


def haar_details(reports, weights, epsilon):
    """Left minus right halves of every node of every level: a list of lists."""
    e = math.exp(epsilon)
    found = []
    for level, weight in enumerate(weights):
        up = (e + 1) / (e - 1) * sum(weights) / weight
        sums = [0] * (1 << level)
        for own, row, bit in reports:
            if own == level:
                for node in range(1 << level):
                    sums[node] += -1 if bit ^ odd(row & node) else 1
        found.append([s * up for s in sums])
    return found


def haar_cells(total, details):
    """Cells from all details where nothing is clamped."""
    nodes = [total]
    for level in details:
        nodes = [
            part
            for node, d in zip(nodes, level, strict=True)
            for part in ((node + d) / 2, (node - d) / 2)
        ]
    return nodes


def clamp_cells(total, details, uniform):
    """The same in whole numbers, none negative: every detail is clamped to what its node holds.

    ``uniform[level][node]`` rounds a share down or up.
    """
    nodes = [total]
    for level, random in zip(details, uniform, strict=True):
        below_ = []
        for node, d, u in zip(nodes, level, random, strict=True):
            left = node if d > 0 else 0
            if abs(d) < node:
                left = math.floor(u + d / 2 + node / 2)
            below_ += [left, node - left]
        nodes = below_
    return nodes


def project(z, total):
    """The point of the simplex of sum ``total`` that is nearest to z (all variances equal)."""
    active = list(range(len(z)))
    while True:
        tau = (sum(z[j] for j in active) - total) / len(active)
        kept = [j for j in active if z[j] - tau > 0]
        if kept == active:
            return [max(z[j] - tau, 0.0) if j in active else 0.0 for j in range(len(z))]
        active = kept


def round_shares(shares, total, u):
    """Cumulative sums plus one uniform number, rounded down; the last one above 0 gets the rest."""
    positive = [j for j, x in enumerate(shares) if x > 0]
    out, reached, given = [0] * len(shares), u, 0
    for j in positive[:-1]:
        reached += shares[j]
        upto = min(math.floor(reached), total)
        out[j], given = upto - given, upto
    if positive:
        out[positive[-1]] = total - given
    return out


def counts_cells(total, fanouts, z, variances, uniform):
    """Cells of a tree of counts: best estimates from below, then shares from above.

    ``z[level][node]`` estimates counts with ``variances[level]``.
    """
    best, spread = [list(level) for level in z], list(variances)
    for i in range(len(fanouts) - 2, -1, -1):
        fanout, below_ = fanouts[i + 1], fanouts[i + 1] * spread[i + 1]
        weight = below_ / (below_ + variances[i])
        for node in range(len(best[i])):
            children = sum(best[i + 1][node * fanout : (node + 1) * fanout])
            best[i][node] = weight * best[i][node] + (1 - weight) * children
        spread[i] = weight * variances[i]
    nodes = [total]
    for level, fanout, random in zip(best, fanouts, uniform, strict=True):
        found = []
        for n, (node, u) in enumerate(zip(nodes, random, strict=True)):
            own = level[n * fanout : (n + 1) * fanout]
            shares = project(own, node) if node else [0.0] * fanout
            found += round_shares(shares, node, u)
        nodes = found
    return nodes
