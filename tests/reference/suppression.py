"""Sampled tables with suppressed small counts: both laws written out, and the slow searches."""

import math
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product


def exp(x):
    """exp(x) as a fraction, to 90 digits."""
    with localcontext(prec=100):
        return Fraction((Decimal(x.numerator) / Decimal(x.denominator)).exp())


def binomial(n, rate):
    """Chances of 0 to n people drawn of n."""
    return [math.comb(n, s) * rate**s * (1 - rate) ** (n - s) for s in range(n + 1)]


def outcomes(n, k, rate):
    """Law of what is published of a cell of n people: counts from k on, and None for fewer."""
    law = binomial(n, rate)
    return {None: sum(law[:k]), **{s: law[s] for s in range(k, n + 1)}}


def divergence(one, two, growth):
    """The least delta such that one is at most ``growth`` times the other, plus delta."""
    return sum(max(chance - growth * two.get(outcome, 0), 0) for outcome, chance in one.items())


def delta(k, rate, epsilon, most):
    """Largest divergence, both ways round, of cells of up to ``most`` people from one fewer."""
    growth, found = exp(epsilon), Fraction(0)
    for n in range(1, most + 1):
        more, fewer = outcomes(n, k, rate), outcomes(n - 1, k, rate)
        both = divergence(more, fewer, growth), divergence(fewer, more, growth)
        found = max(found, *both)
    return found


def ratio(rate, epsilon):
    """The share of people drawn above which one more is told."""
    return 1 - (1 - rate) / exp(epsilon)


def li(k, rate, epsilon, most):
    """The bound of Li, Qardaji and Su 2012 as they write it, for cells of up to ``most`` people."""
    g = ratio(rate, epsilon)
    found = Fraction(0)
    for n in range(math.ceil(k / g - 1), most + 1):
        found = max(found, sum(binomial(n, rate)[math.floor(g * n) + 1 :]))
    return found


def smallest_k(rate, epsilon, delta, bound):
    """The plain search: all sums of fractions anew for every k, until they cannot matter."""
    g = ratio(rate, epsilon)
    decline = float(g) * math.log(g / rate) - float(epsilon) * float(1 - g)
    last = math.ceil(-math.log(delta) / decline) + 1
    growth = exp(epsilon)
    k = 1
    while True:
        found = Fraction(0)
        for n in range(k if bound == "exact" else math.ceil(k / g - 1), last + 1):
            first = math.floor(g * n) + 1
            if bound == "exact":
                first = max(k, first)
            chance = sum(binomial(n, rate)[first:])
            if bound == "exact":
                chance -= growth * sum(binomial(n - 1, rate)[first:])
            found = max(found, chance)
        if found <= delta:
            return k
        k += 1


def generalised(records, trees, k):
    """Top-down generalisation, trying every step anew: nodes of every column's cut.

    ``trees``: for every column, the children of every inner node; the root is "*".
    """
    cuts = [{"*"} for _ in trees]
    while True:
        best = None
        for column, node in sorted(product(range(len(trees)), set().union(*cuts))):
            below = trees[column].get(node, ())
            if node not in cuts[column] or not below:
                continue
            tried = [set(cut) for cut in cuts]
            tried[column] = (tried[column] - {node}) | {*below}
            count, lost = classes(records, trees, tried)
            if min(count.values()) >= k and (best is None or lost < best[0]):
                best = lost, tried
        if best is None:
            return cuts
        cuts = best[1]


def classes(records, trees, cuts):
    """Records of every class that is left, and the sum of their penalties."""
    stands = [
        {leaf: node for node in cut for leaf in leaves(tree, node)}
        for tree, cut in zip(trees, cuts, strict=True)
    ]
    count, lost = Counter(), Fraction(0)
    for record in records:
        nodes = tuple(stand[value] for stand, value in zip(stands, record, strict=True))
        count[nodes] += 1
        lost += sum(map(penalty, trees, nodes))
    return count, lost


def leaves(tree, node):
    """Leaves under a node."""
    below = tree.get(node, ())
    return [leaf for child in below for leaf in leaves(tree, child)] if below else [node]


def penalty(tree, node):
    """0 for a leaf, else the share of all leaves that are under it."""
    if not tree.get(node):
        return Fraction(0)
    return Fraction(len(leaves(tree, node)), len(leaves(tree, "*")))


def together(law, one, two, epsilon):
    """The least delta at an epsilon of two releases side by side, of a person and n - 1 others.

    ``law(n)``: chances of (published, centre of the noise) with the person; ``one`` without.
    ``two``: epsilon of the second release, a whole number with two-sided geometric noise.
    """
    r = math.exp(-two)
    found = Counter()
    for sign, side in ((1, law), (-math.exp(epsilon), one)):
        for (published, centre), chance in side.items():
            for noise in range(-NOISE, NOISE + 1):
                weight = chance * (1 - r) / (1 + r) * r ** abs(noise)
                found[published, centre + noise] += sign * weight
    return sum(max(weight, 0) for weight in found.values())


NOISE = 40
"""Beyond it noise is left out, which makes a divergence smaller."""


def beside(k, rate, n, same):
    """Laws of a sampled table's count and of what a second release counts, with and without one.

    The second release counts a person's records less everybody else's: of the same sample, or of
    all n records. One record more or less changes it by 1.
    """
    others = [float(chance) for chance in binomial(n - 1, rate)]
    rate = float(rate)
    more, fewer = Counter(), Counter()
    for count, chance in enumerate(others):
        for drawn, share in ((1, rate), (0, 1 - rate)):
            shown = count + drawn if count + drawn >= k else None
            more[shown, drawn - count if same else 1 - (n - 1)] += share * chance
        fewer[count if count >= k else None, -count if same else -(n - 1)] += chance
    return more, fewer
