"""Projective geometry response with vectors, word for word: Feldman et al. (2022), section 3."""

from functools import cache
from itertools import product
from math import exp

from tests.reference.coins import Chance


@cache
def points(q, t):
    """All vectors whose first digit that is not 0 is a 1, by how many digits follow it."""
    found = []
    for free in range(t):
        for digits in product(range(q), repeat=free):
            found.append((0,) * (t - 1 - free) + (1, *digits))
    return found


def inner(a, b, q):
    return sum(x * y for x, y in zip(a, b, strict=True)) % q


def scaled(vector, q):
    """The point that a vector is a multiple of."""
    lead = next(x for x in vector if x)
    inverse = next(y for y in range(q) if lead * y % q == 1)
    return tuple(x * inverse % q for x in vector)


def dimension(cells, q):
    t = 2
    while len(points(q, t)) < cells:
        t += 1
    return t


def report(value, coins, cells, epsilon, q):
    t = dimension(cells, q)
    space, below = points(q, t), points(q, t - 1)
    own = space[value]
    lies = coins.flip(Chance(len(space) - len(below), len(below), epsilon))
    if lies:
        number = coins.below(q ** (t - 1))
        rest = tuple(number // q**i % q for i in reversed(range(t - 1)))
    else:
        rest = below[coins.below(len(below))]
    lead = own.index(1)
    product = int(lies)
    (vector,) = [
        vector
        for x in range(q)
        if inner(vector := (*rest[:lead], x, *rest[lead:]), own, q) == product
    ]
    return (space.index(scaled(vector, q)),)


def estimate(reports, value, cells, epsilon, q):
    t = dimension(cells, q)
    space = points(q, t)
    e, own, both = exp(epsilon), len(points(q, t - 1)), len(points(q, t - 2)) if t > 2 else 0
    whole = e * own + len(space) - own
    p, r = e * own / whole, (e * both + own - both) / whole
    told = sum(inner(space[point], space[value], q) == 0 for (point,) in reports)
    return (told - len(reports) * r) / (p - r)
