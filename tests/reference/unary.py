"""Unary encodings, word for word: Wang et al. (2017), sections 3.2 and 4.1."""

from math import exp

from tests.reference.coins import Chance


def turned(bits, coins, zero, one):
    """Each bit turned round with the chance of its kind."""
    return [bit ^ coins.flip(one if bit else zero) for bit in bits]


def packed(bits):
    """Eight bits to a byte, the first the lowest."""
    return tuple(
        sum(bit << j for j, bit in enumerate(bits[at : at + 8])) for at in range(0, len(bits), 8)
    )


def unpacked(data):
    return [byte >> j & 1 for byte in data for j in range(8)]


class Unary:
    def __init__(self, chances, p, q):
        self.chances, self.p, self.q = chances, p, q

    def report(self, value, coins, cells, epsilon):
        bits = [int(cell == value) for cell in range(cells)]
        return (packed(turned(bits, coins, *self.chances(epsilon))),)

    def estimate(self, reports, value, cells, epsilon):
        p, q = self.p(exp(epsilon)), self.q(exp(epsilon))
        told = sum(unpacked(data)[value] for (data,) in reports)
        return (told - len(reports) * q) / (p - q)


sue = Unary(
    lambda epsilon: (Chance(1, 1, epsilon / 2), Chance(1, 1, epsilon / 2)),
    lambda e: e**0.5 / (1 + e**0.5),
    lambda e: 1 / (1 + e**0.5),
)
sue.variance = lambda cells, epsilon: exp(epsilon / 2) / (exp(epsilon / 2) - 1) ** 2
oue = Unary(
    lambda epsilon: (Chance(1, 1, epsilon), Chance(1, 1, 0)),
    lambda e: 1 / 2,
    lambda e: 1 / (e + 1),
)
oue.variance = lambda cells, epsilon: 4 * exp(epsilon) / (exp(epsilon) - 1) ** 2
