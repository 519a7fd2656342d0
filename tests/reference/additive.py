"""Noise of a list by its definition, and the additive mechanisms cell by cell."""

from decimal import Decimal, localcontext
from fractions import Fraction

from tests.reference import chacha
from tests.reference.noise import tail

STAGE = 1 << 16
PER_BLOCK = 7


def item(secret: bytes, stream: int, number: int, exponent: Fraction) -> int:
    """Discrete Laplace noise of one item of a list: by the inverse distribution function."""
    words = chacha.words(secret, stream, 0, number // PER_BLOCK)
    word = words[number % PER_BLOCK]
    uniform = Decimal(word & (2**63 - 1))

    def reaches(g):
        """U < P(|Z| >= g); 63 digits decide but within one unit of a threshold."""
        with localcontext(prec=80):
            threshold = tail(exponent, g) * 2**63
            assert not threshold - 1 <= uniform <= threshold
            return uniform < threshold

    low, high = 0, 1
    while reaches(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if reaches(middle) else (low, middle)
    return -low if word >> 63 else low


def finest_step(scale: Fraction) -> Fraction:
    """Halve the step of the lattice as long as the scale has at most 4096 of them."""
    step = Fraction(1)
    while max(1, round(scale)) / (step / 2) <= 4096:
        step /= 2
    return step


def released(counts, keys, secret: bytes, scale: Fraction, step: Fraction) -> dict[int, Fraction]:
    """Every key of the domain with its count and noise on a lattice, exactly."""
    return {key: counts.get(key, 0) + step * item(secret, STAGE, key, step / scale) for key in keys}
