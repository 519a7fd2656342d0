"""Randomised response, word for word: Wang et al. (2017), section 3.1."""

from math import exp

from tests.reference.coins import Chance


def report(value, coins, cells, epsilon):
    if not coins.flip(Chance(cells - 1, 1, epsilon)):
        return (value,)
    others = [other for other in range(cells) if other != value]
    return (others[coins.below(len(others))],)


def estimate(reports, value, cells, epsilon):
    p, q = exp(epsilon) / (exp(epsilon) + cells - 1), 1 / (exp(epsilon) + cells - 1)
    told = sum(report == (value,) for report in reports)
    return (told - len(reports) * q) / (p - q)


def variance(cells, epsilon):
    e = exp(epsilon)
    return (cells - 2 + e) / (e - 1) ** 2
