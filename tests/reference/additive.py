"""Noise of a list by its definition, and the additive mechanisms cell by cell."""

from fractions import Fraction

from tests.reference import chacha
from tests.reference.noise import of_word, tail

STAGE = 1 << 16
PER_BLOCK = 16


def item(secret: bytes, stream: int, number: int, exponent: Fraction) -> int:
    """Discrete Laplace noise of one item of a list: by the inverse distribution function."""
    word = chacha.small_words(secret, stream, 0, number // PER_BLOCK)[number % PER_BLOCK]
    return of_word(secret, stream, number, word, lambda g: tail(exponent, g))


def finest_step(scale: Fraction) -> Fraction:
    """Halve the step of the lattice as long as the scale has at most 4096 of them."""
    step = Fraction(1)
    while max(1, round(scale)) / (step / 2) <= 4096:
        step /= 2
    return step


def released(counts, keys, secret: bytes, scale: Fraction, step: Fraction) -> dict[int, Fraction]:
    """Every key of the domain with its count and noise on a lattice, exactly."""
    return {key: counts.get(key, 0) + step * item(secret, STAGE, key, step / scale) for key in keys}
