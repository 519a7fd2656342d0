"""The pyramid with a prior by its definition: lists over all nodes of all levels.

Noise and the learning of reliabilities are the package's own, which have twins of their own;
everything that is done with them is written out here, node by node.
"""

import math

import numpy as np

from geodp.mechanisms.learned import Reliability, Residuals
from geodp.privacy.key import Stream
from geodp.privacy.noise.law import LAPLACE
from geodp.privacy.noise.node import NodeNoise
from tests.reference.pyramid import shared, spared


def predict(people, prior, first, stride, fanout, total):
    """What a node from key ``first`` on has, shared out as the prior is; None: it says nothing.

    ``people`` by key, each at the first key of a prior's cell.
    """
    least = max(stride, prior.finest)
    if least >= stride * fanout:
        return None
    starts = range(first, first + stride * fanout, least)
    held = [float(sum(people[a : a + least])) + prior.floor * least for a in starts]
    whole = 0.0
    for one in held:
        whole += one
    each = least // stride
    return [total / whole * (one / each) for one in held for _ in range(each)]


class Tree:
    """All nodes of all levels, and what is found of them."""

    def __init__(self, counts, prior, descent, key, possible):
        self.descent, self.prior = descent, prior
        self.people = np.zeros(len(counts), np.int64)
        self.people[prior.key.astype(np.int64)] = prior.count
        self.fanouts = (1, *descent.fanouts)
        self.y, self.v, self.u = [], [], []
        for i, law in enumerate(descent.laws):
            stride, f = descent.strides[i], self.fanouts[i]
            nodes = len(counts) // stride
            above = np.arange(max(nodes // f, 1), dtype=np.uint64)
            noise, uniform = NodeNoise(key, Stream.PYRAMID + i, law).families(above, f)
            spans = [(n * stride, (n + 1) * stride) for n in range(nodes)]
            self.y.append(
                [float(sum(counts[a:b]) + int(noise[n])) for n, (a, b) in enumerate(spans)]
            )
            self.v.append([descent.variances[i] if possible(a, b) else 0.0 for a, b in spans])
            self.u.append(uniform)

    def children(self, i, n):
        return range(n * self.fanouts[i], (n + 1) * self.fanouts[i])

    def predict(self, i, n, total):
        """The children of node n of level i - 1, or None where the prior says nothing."""
        stride, f = self.descent.strides[i], self.fanouts[i]
        return predict(self.people, self.prior, n * f * stride, stride, f, total)

    def learn(self, i, x):
        """Reliability of level i, where the nodes above have x."""
        seen = []
        for n, total in sorted(x.items()):
            predicted = self.predict(i, n, total)
            if predicted is None:
                return None
            inside = [c for c in self.children(i, n) if self.v[i][c] > 0]
            for c, mu in zip(self.children(i, n), predicted, strict=True):
                if self.v[i][c] > 0:
                    seen.append((self.y[i][c], mu, total / len(inside)))
        law, sd = self.descent.laws[i], math.sqrt(self.descent.variances[i])
        columns = np.array(seen).reshape(-1, 3).T.copy()
        residuals = Residuals.of(*columns, sd)
        laplace, cells = law.identity[0] == LAPLACE, i == len(self.fanouts) - 1
        # What remains beside the noise must be a small part of what equal shares leave.
        noise = (181 if laplace else 204) * len(seen)
        ours, even = (size - noise for size in residuals.sizes)
        if not cells and (even <= 0 or ours > even / 4):
            return None
        found = Reliability.learn(residuals, sd=sd, laplace=laplace, cells=cells)
        return found if found is not None and found.gain(residuals) >= 1 / 6 else None

    def split(self, i, n, total, z, v, tables, final=False):
        """Counts of the children of a node; ``final``: in the second pass."""
        z, v = list(z), list(v)
        if tables is not None:
            better, factor = tables.apply(np.array(z), np.array(self.predict(i, n, total)))
            z = better.tolist()
            v = [a * max(b, 1e-4) for a, b in zip(v, factor.tolist(), strict=True)]
        if final:
            v = spared(z, v, total, i < len(self.descent.fanouts))
        least = self.descent.min_counts[i]
        out = shared(z, v, total, self.u[i][n], least)
        return {c: k for c, k in zip(self.children(i, n), out, strict=True) if k > 0}


def refine(counts, prior, descent, key, possible=lambda a, b: True):
    """Counts of all cells; ``possible(first, stop)`` says whether keys hold a domain's cell."""
    tree, tall = Tree(counts, prior, descent, key, possible), len(descent.fanouts)
    root = int(max(tree.y[0][0], 0))
    x, trust = [{0: root} if root else {}], [None]
    for i in range(1, tall + 1):
        trust.append(tree.learn(i, x[-1]))
        tables = None if trust[i] is None else trust[i].tables
        found = {}
        for n, total in x[-1].items():
            c = list(tree.children(i, n))
            z, v = ([column[i][k] for k in c] for column in (tree.y, tree.v))
            found |= tree.split(i, n, total, z, v, tables)
        x.append(found)
    if descent.passes == 2:
        z, v = [list(one) for one in tree.y], [list(one) for one in tree.v]
        best = [descent.variances[-1]]
        for i in range(tall - 1, -1, -1):
            own = descent.variances[i]
            below = descent.fanouts[i] * best[0]
            best.insert(0, below / (1 + below / own))
            for n in x[i]:
                some = [c for c in tree.children(i + 1, n) if v[i + 1][c] > 0]
                some.sort(key=lambda c, held=x[i + 1]: c in held)  # the open ones last
                total, spread = 0.0, 0.0
                for c in some:
                    total, spread = total + z[i + 1][c], spread + v[i + 1][c]
                weight = spread / (spread + own)
                z[i][n] = weight * z[i][n] + (1 - weight) * total
                v[i][n] = weight * own
        final = {0: max(math.floor(z[0][0] + tree.u[0][0]), 0)} if x[0] else {}
        for i in range(1, tall + 1):
            tables = None
            if trust[i] is not None:
                tables = trust[i].tables if i == tall else trust[i].tabulate(best[i])
            found = {}
            for n, total in final.items():
                c = list(tree.children(i, n))
                if total:
                    own = [z[i][k] for k in c]
                    some = [v[i][k] if k in x[i] else 0.0 for k in c]
                    found |= tree.split(i, n, total, own, some, tables, final=True)
            final = found
        x[-1] = final
    return [x[-1].get(n, 0) for n in range(len(counts))]
