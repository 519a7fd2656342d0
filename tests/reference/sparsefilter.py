"""The dense filter, cell by cell, and geometric draws by their definition."""

from decimal import Decimal, localcontext
from fractions import Fraction

from tests.reference import chacha


def dense(counts, noise, theta):
    """Values of all cells: a count plus its noise, or 0 below theta."""
    noisy = [count + drawn for count, drawn in zip(counts, noise, strict=True)]
    return [value if value >= theta else 0 for value in noisy]


def value_probabilities(count: int, scale: Fraction, theta: int, most: int) -> dict[int, float]:
    """Law of a cell of the dense filter; ``most`` stands for all values from there on."""
    with localcontext(prec=60):
        e = Decimal(scale.denominator) / Decimal(scale.numerator)
        q = (-e).exp()

        def tail(z):  # P(Z >= z)
            return q**z / (1 + q) if z > 0 else 1 - q ** (1 - z) / (1 + q)

        law = {v: tail(v - count) - tail(v + 1 - count) for v in range(theta, most)}
        law[most] = tail(most - count)
        law[0] = 1 - tail(theta - count)
    return {value: float(p) for value, p in law.items()}


def geometric(secret: bytes, stream: int, ratio: Decimal, digits: int, draw: int) -> int:
    """The draw of a number, where 63 binary digits decide every comparison."""
    each = -(-(digits + 1) // 8)
    words = [word for b in range(each) for word in chacha.words(secret, stream, 0, draw * each + b)]
    value = 0
    with localcontext(prec=120):
        power = ratio
        for j in range(digits):
            p = power / (1 + power) * 2**63
            uniform = Decimal(words[j] & (2**63 - 1))
            assert not uniform < p < uniform + 1
            value += (uniform < p) << j
            power *= power
        assert Decimal(words[digits] & (2**63 - 1)) > power * 2**63  # the upper digits are 0
    return value
