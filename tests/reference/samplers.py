"""Rejection sampling on exact rationals: the references of the inverse distributions.

Canonne, Kamath, Steinke: The Discrete Gaussian for Differential Privacy (NeurIPS 2020),
algorithms 1, 2 and 3. ``coins`` gives exactly uniform integers and nothing else.
"""

from fractions import Fraction
from math import isqrt
from random import Random


def bernoulli(p: Fraction, coins: Random) -> bool:
    """True with probability p."""
    return coins.randrange(p.denominator) < p.numerator


def bernoulli_exp(gamma: Fraction, coins: Random) -> bool:
    """True with probability exp(-gamma), gamma >= 0: algorithm 1."""
    while gamma > 1:
        if not bernoulli_exp(Fraction(1), coins):
            return False
        gamma -= 1
    k = 1
    while bernoulli(gamma / k, coins):
        k += 1
    return k % 2 == 1


def discrete_laplace(scale: Fraction, coins: Random) -> int:
    """P(z) proportional to exp(-|z| / scale): algorithm 2."""
    t, s = scale.numerator, scale.denominator
    while True:
        u = coins.randrange(t)
        if not bernoulli_exp(Fraction(u, t), coins):
            continue
        v = 0
        while bernoulli_exp(Fraction(1), coins):
            v += 1
        magnitude = (u + t * v) // s
        negative = bernoulli(Fraction(1, 2), coins)
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


def discrete_gaussian(sigma2: Fraction, coins: Random) -> int:
    """P(z) proportional to exp(-z**2 / (2 sigma2)): algorithm 3."""
    t = isqrt(sigma2.numerator // sigma2.denominator) + 1  # floor(sigma) + 1
    while True:
        y = discrete_laplace(Fraction(t), coins)
        if bernoulli_exp((abs(y) - sigma2 / t) ** 2 / (2 * sigma2), coins):
            return y
