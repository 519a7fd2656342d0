"""One bit of a Hadamard matrix, word for word: Bassily, Smith (2015); Acharya et al. (2019)."""

from math import exp

from tests.reference.coins import Chance


def entry(row, value):
    """Sylvester's matrix, by its recursion."""
    if row == 0 or value == 0:
        return 1
    sign = -1 if row % 2 and value % 2 else 1
    return sign * entry(row // 2, value // 2)


def size(cells):
    rows = 1
    while rows < cells:
        rows *= 2
    return rows


def report(value, coins, cells, epsilon):
    row = coins.below(size(cells))
    sign = entry(row, value)
    if coins.flip(Chance(1, 1, epsilon)):
        sign = -sign
    return row, int(sign < 0)


def estimate(reports, value, cells, epsilon):
    c = (exp(epsilon) + 1) / (exp(epsilon) - 1)
    return c * sum((-1) ** bit * entry(row, value) for row, bit in reports)


def variance(cells, epsilon):
    return ((exp(epsilon) + 1) / (exp(epsilon) - 1)) ** 2
