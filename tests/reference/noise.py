"""Discrete Laplace noise of one node, by its definition: the inverse distribution function."""

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache

from tests.reference import chacha


@cache
def tail(exponent: Fraction, g: int) -> Decimal:
    """P(|Z| >= g) = 2 q**g / (1 + q) to 80 digits."""
    with localcontext(prec=80):
        e = Decimal(exponent.numerator) / Decimal(exponent.denominator)
        return 2 * (-e * g).exp() / (1 + (-e).exp())


def draw(secret: bytes, stream: int, node: int, exponent: Fraction) -> tuple[int, int]:
    """Noise and rounding bit of a node."""
    level = node.bit_length() - 1
    up = level % 3
    slot = (1 << up) - 1 + (node & ((1 << up) - 1))
    words = chacha.words(secret, stream, 0, node >> up)
    sign, uniform = words[slot] >> 63, words[slot] & (2**63 - 1)
    magnitude = 0
    with localcontext(prec=80):
        while Decimal(uniform) < tail(exponent, magnitude + 1) * 2**63 - 1:
            magnitude += 1
        # 63 digits decide, except within one unit of a threshold (never in these tests).
        assert Decimal(uniform) > tail(exponent, magnitude + 1) * 2**63
    return (-magnitude if sign else magnitude), (words[7] >> slot) & 1
