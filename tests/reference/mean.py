"""One bit of a mean, word for word: Ding, Kulkarni, Yekhanin (2017), section 3."""

from math import exp

from tests.reference.coins import Chance


def report(value, coins, maximum, epsilon):
    bit = coins.below(maximum) < value
    return bit ^ coins.flip(Chance(1, 1, epsilon))


def chance(value, maximum, epsilon):
    e = exp(epsilon)
    return 1 / (e + 1) + value / maximum * (e - 1) / (e + 1)
