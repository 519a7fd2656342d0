"""How often measured intervals must hold the truth."""

from scipy.stats import binom

PROMISED, CHANCE = 0.93, 1e-3
"""The least share of intervals that hold, and the probability of fewer of them by chance."""


def holds(share, number):
    """Return whether so many intervals, of which a share held, may be of those that hold."""
    number = round(number)
    return bool(binom.cdf(round(share * number), number, PROMISED) > CHANCE)
