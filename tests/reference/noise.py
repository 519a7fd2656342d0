"""Noise of one node, by its definition: the inverse distribution function."""

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import count

from tests.reference import chacha


@cache
def tail(exponent: Fraction, g: int) -> Decimal:
    """Discrete Laplace: P(|Z| >= g) = 2 q**g / (1 + q) to 80 digits, g >= 1."""
    with localcontext(prec=80):
        e = Decimal(exponent.numerator) / Decimal(exponent.denominator)
        return 2 * (-e * g).exp() / (1 + (-e).exp())


@cache
def gaussian_tails(sigma2: Fraction) -> list[Decimal]:
    """Discrete Gaussian: P(|Z| >= g) to 80 digits for every g from 0 until it is below 1e-80."""
    with localcontext(prec=100):
        e = Decimal(sigma2.denominator) / Decimal(2 * sigma2.numerator)
        weights = []
        for z in count():
            weights.append((-e * z * z).exp() * (1 if z == 0 else 2))
            if weights[-1] < Decimal("1e-90"):
                break
        tails = [Decimal(0)]
        for weight in reversed(weights):
            tails.append(tails[-1] + weight)
        return [part / tails[-1] for part in reversed(tails)]


def gaussian_tail(sigma2: Fraction, g: int) -> Decimal:
    """Discrete Gaussian: P(|Z| >= g)."""
    tails = gaussian_tails(sigma2)
    return tails[g] if g < len(tails) else Decimal(0)


def draw_from(
    secret: bytes, stream: int, node: int, leaves: int, tail_of: Callable[[int], Decimal]
) -> tuple[int, int]:
    """Noise and rounding bit of a node, for any law; ``leaves`` is the level of the leaves."""
    level = node.bit_length() - 1
    up = min(u for u in range(level + 1) if u == level or (leaves - (level - u)) % 4 == 0)
    slot = (1 << up) - 1 + (node & ((1 << up) - 1))
    word = chacha.small_words(secret, stream, 0, node >> up)[slot]
    return of_word(secret, stream, node, word, tail_of), word & 1


def draw(secret: bytes, stream: int, node: int, leaves: int, exponent: Fraction) -> tuple[int, int]:
    """Discrete Laplace noise and rounding bit of a node."""
    return draw_from(secret, stream, node, leaves, lambda g: tail(exponent, g))


def of_digits(word: int, more: int, tail_of: Callable[[int], Decimal]) -> int:
    """Draw of a word of 32 bits: its sign, and 27 + 64 digits of a uniform number."""
    uniform = (word >> 4 & (2**27 - 1)) << 64 | more
    low, high = 0, 1
    with localcontext(prec=80):

        def reaches(g: int) -> bool:
            threshold = tail_of(g) * 2**91
            assert not threshold - 1 <= uniform <= threshold  # 91 digits decide
            return uniform < threshold

        while reaches(high):
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if reaches(middle) else (low, middle)
    return -low if word >> 31 else low


def of_word(
    secret: bytes, stream: int, node: int, word: int, tail_of: Callable[[int], Decimal]
) -> int:
    """Draw of a word, with the node's own 64 further digits."""
    more = chacha.words(secret, stream | 1 << 31, 0, node)[0]
    return of_digits(word, more, tail_of)


def family(
    secret: bytes, stream: int, above: int, fanout: int, tail_of: Callable[[int], Decimal]
) -> tuple[list[int], float]:
    """Noise of a node's children, and the node's own number in [0, 1)."""
    parts = -(-fanout // 16)
    blocks = [chacha.small_words(secret, stream, 0, above * parts + p) for p in range(parts)]
    nibbles = sum((word & 15) << 4 * (15 - j) for j, word in enumerate(blocks[0]))
    words = [word for block in blocks for word in block][:fanout]
    drawn = [
        of_word(secret, stream, above * fanout + j, word, tail_of) for j, word in enumerate(words)
    ]
    return drawn, (nibbles >> 11) / 2**53
