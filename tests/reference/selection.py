"""Selection by its definitions: laws by enumeration, and draws one candidate at a time."""

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np

from tests.reference import chacha

STREAM = 1 << 24


def chances(utilities, rate):
    """The chance to accept, of every candidate."""
    best = max(utilities)
    with localcontext(prec=50):
        return [(-Decimal(str(float(rate * (best - u))))).exp() for u in utilities]


def permute_and_flip(chance):
    """Law of permute-and-flip: all ways in which candidates accept or do not."""
    law = [0.0] * len(chance)
    for accepts in product((False, True), repeat=len(chance)):
        p = 1.0
        for yes, c in zip(accepts, chance, strict=True):
            p *= float(c) if yes else 1 - float(c)
        for i, yes in enumerate(accepts):
            if yes:
                law[i] += p / sum(accepts)
    return law


def exponential(chance):
    """Law of the exponential mechanism."""
    total = sum(chance)
    return [float(c / total) for c in chance]


def first_of_others(chance, others):
    """Probability that one of some others, each with the last chance, is chosen, by their places.

    ``chance``: of the listed candidates, then of every other one.
    """
    *listed, p = (Fraction(str(c)) for c in chance)
    found = Fraction(0)
    for accepts in product((False, True), repeat=len(listed)):
        weight = Fraction(1)
        for yes, c in zip(accepts, listed, strict=True):
            weight *= c if yes else 1 - c
        for before in range(others):
            none = Fraction(1)
            for i in range(1, sum(accepts) + 1):
                none *= Fraction(others - before - 1 + i, others + i)
            found += weight * p * (1 - p) ** before * none
    return float(found)


def before_first(secret, stream, p, n):
    """How many of n coins come before the first that falls: by the inverse distribution."""
    uniform = chacha.words(secret, stream | 1 << 31, 0, 0)[0]
    ends = {int((Decimal(u) / 2**64).ln() / (1 - p).ln()) for u in (uniform, uniform + 1)}
    (found,) = ends
    return min(found, n)


def draw(secret, deficit, rate, others, beyond, stream=STREAM):
    """One draw of permute-and-flip from the words of a key, where 63 digits decide every coin."""

    def word(stream, item):
        return chacha.words(secret, stream, 0, item // 8)[item % 8]

    def below(stream, item, bound):
        drawn = word(stream, item)
        assert drawn < 2**64 - 2**64 % bound
        return drawn % bound

    with localcontext(prec=120):
        g = Decimal(rate.numerator) / Decimal(rate.denominator)
        accepting = [
            i
            for i, d in enumerate(deficit)
            if (word(stream, i) & (2**63 - 1)) < (-g * d).exp() * 2**63
        ]
        if others:
            before = before_first(secret, stream + 1, (-g * beyond).exp(), others)
            places = (below(stream + 2, i, others + i + 1) for i in range(len(accepting)))
            if before < others and all(place > before for place in places):
                return len(deficit) + below(stream + 3, 0, others)
    return accepting[below(stream + 3, 0, len(accepting))]


def quantile_utilities(counts, q):
    """Minus how many people are missing for a quantile to lie in each position."""
    n = sum(counts)
    found = []
    for i in range(len(counts)):
        before, after = sum(counts[:i]), sum(counts[: i + 1])
        found.append(-max(before - q * n, q * n - after, 0))
    return found


def neighbours(table):
    """All tables of one person more or less, and of one who moved."""
    more = [table + step for step in np.eye(table.size, dtype=table.dtype)]
    less = [table - step for step in np.eye(table.size, dtype=table.dtype)]
    moved = [a + b - table for a in more for b in less]
    keep = [t for t in (*more, *less) if (t >= 0).all()]
    return keep, [t for t in moved if (t >= 0).all() and (t != table).any()]
