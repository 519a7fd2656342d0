"""The reference of the pyramid: its definition in plain Python, on lists of all counts of a level.

It imports nothing of geodp, so a fault of geodp's cannot be repeated here; it is for small trees.
"""

from fractions import Fraction
from functools import partial

import numpy as np

from tests.reference.noise import family, tail

STREAM = 1 << 12


def project(z, v, total):
    """``max(z - tau v, 0)`` with the sum ``total``, by sorting."""
    order = sorted((i for i in range(len(z)) if v[i] > 0), key=lambda i: -z[i] / v[i])
    for k in range(len(order), 0, -1):
        tau = (sum(z[i] for i in order[:k]) - total) / sum(v[i] for i in order[:k])
        if z[order[k - 1]] > tau * v[order[k - 1]]:
            break
    return [max(z[i] - tau * v[i], 0) if i in order[:k] else 0.0 for i in range(len(z))]


def spared(z, v, total, firm):
    """Variances by which children pay where one is clamped, and 0 of those that are closed."""
    b, open_ = len(z), [i for i in range(len(z)) if v[i] > 0]
    excess = sum(max(z[i], 0) for i in open_) > total
    if total == 0 or len(open_) < 2 or not (excess or firm):
        return v
    tau = (sum(z[i] for i in open_) - total) / sum(v[i] for i in open_)
    if len(open_) == b and all(z[i] > tau * v[i] for i in open_):
        return v
    by = v
    if excess:
        part = [max(min(8 * w / a**2, 1), 0.1) if a > 0 else 1.0 for a, w in zip(z, v, strict=True)]
        by = [p * w for p, w in zip(part, v, strict=True)]
    if not firm or all(z[i] <= 0 for i in open_):
        return by
    x = project(z, [w if a > 0 else 0.0 for a, w in zip(z, by, strict=True)], total)
    k = sum(w > 0 and a * a >= 8 * w for a, w in zip(x, v, strict=True))
    if not 0 < 2 * k < b:
        return by
    bar = 3 * b * (b - 2 * k) / (b * b + 2 * k * (b - k))
    kept = [i for i in open_ if 2 * x[i] ** 2 >= bar * bar * v[i]]
    if sum(x[i] for i in open_ if i not in kept) ** 2 >= 8 * max(v):
        return by
    if len(kept) < len(open_) and sum(z[i] for i in kept) <= total:
        by = v
    return [by[i] if i in kept else 0.0 for i in range(b)]


def shared(z, v, total, u, least):
    """Whole counts: projected, small ones dropped but for the largest, systematically rounded."""
    if total == 0:
        return [0] * len(z)
    x = project(z, v, total)
    if least > 0:
        kept = [vi if xi >= least or xi == max(x) else 0 for xi, vi in zip(x, v, strict=True)]
        x = project(z, kept, total)
    edges = np.floor(np.cumsum(x) + u)
    edges[max(i for i, xi in enumerate(x) if xi > 0) :] = total
    return np.diff(edges, prepend=0).astype(int).tolist()


def refine(
    counts, fanouts, shares, scale: Fraction, secret, passes=2, prune=0, possible=lambda a, b: True
):
    """Counts of all cells; ``possible(first, stop)`` says whether keys hold a domain's cell."""
    strides = [int(np.prod(fanouts[i:], dtype=int)) for i in range(len(fanouts) + 1)]
    scales = [scale / share for share in shares]
    tall = len(fanouts)
    own = [2 * np.exp(-1 / float(s)) / (1 - np.exp(-1 / float(s))) ** 2 for s in scales]
    y = [{} for _ in strides]
    x = [{} for _ in strides]
    v = [{} for _ in strides]
    drawn = {}

    def measure(level, parent, fanout):
        law = partial(tail, 1 / scales[level])
        drawn[level, parent] = family(secret, STREAM + level, parent, fanout, law)
        for j in range(fanout):
            c = parent * fanout + j
            first, stop = c * strides[level], (c + 1) * strides[level]
            y[level][c] = float(sum(counts[first:stop]) + drawn[level, parent][0][j])
            v[level][c] = own[level] if possible(first, stop) else 0.0

    def split(level, parent, total, open_=None):
        b = fanouts[level]
        children = range(parent * b, (parent + 1) * b)
        spread = [v[level + 1][c] if open_ is None or c in open_ else 0.0 for c in children]
        u = drawn[level + 1, parent][1]
        least = float(prune * scales[level + 1])
        z = [y[level + 1][c] for c in children]
        if open_ is not None:
            spread = spared(z, spread, total, level + 1 < tall)
        out = shared(z, spread, total, u, least)
        return {c: n for c, n in zip(children, out, strict=True) if n > 0}

    measure(0, 0, 1)
    x[0] = {0: int(y[0][0])} if y[0][0] > 0 else {}
    for level in range(tall):
        for parent, total in x[level].items():
            measure(level + 1, parent, fanouts[level])
            x[level + 1] |= split(level, parent, total)
    if passes == 2:
        for level in range(tall - 1, -1, -1):
            b = fanouts[level]
            for parent in x[level]:
                inside = [c for c in range(parent * b, (parent + 1) * b) if v[level + 1][c] > 0]
                inside.sort(key=lambda c, held=x[level + 1]: c in held)  # the open ones last
                below, spread = sum(y[level + 1][c] for c in inside), 0.0
                for c in inside:
                    spread += v[level + 1][c]
                w = spread / (spread + own[level])
                y[level][parent] = w * y[level][parent] + (1 - w) * below
                v[level][parent] = w * own[level]
        root = int(np.floor(y[0][0] + drawn[0, 0][1]))
        final = {0: max(root, 0)} if x[0] else {}
        for level in range(tall):
            below = {}
            for parent in x[level]:
                below |= split(level, parent, final.get(parent, 0), x[level + 1])
            final = below
        x[tall] = final
    out = [0] * len(counts)
    for c, n in x[tall].items():
        out[c] = n
    return out
