"""Coins as they are meant: a uniform number, digit after digit, against a probability."""

from decimal import Decimal, localcontext
from functools import cache

UNIT = 2**32


class Chance:
    """``one / (one + other * exp(epsilon))``, to any number of digits."""

    def __init__(self, one, other, epsilon=0):
        self.one, self.other, self.epsilon = one, other, epsilon

    def floor(self, bits):
        """``floor(2**bits * p)``."""
        return floor(self.one, self.other, self.epsilon, bits)

    def __float__(self):
        return self.floor(200) / 2**200


@cache
def floor(one, other, epsilon, bits):
    """From far more decimal digits than that needs."""
    with localcontext() as context:
        context.prec = bits + 200
        e = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()
        return int(Decimal(one) / (one + other * e) * 2**bits)


class Units:
    """Given units of 32 bits, one after another."""

    def __init__(self, units):
        self.units = iter(units)
        self.used = 0

    def unit(self):
        self.used += 1
        return int(next(self.units))

    def flip(self, chance):
        """Whether U < p: the first digits that differ decide."""
        mine, bits = 0, 0
        while True:
            mine, bits = mine * UNIT + self.unit(), bits + 32
            theirs = chance.floor(bits)
            if mine != theirs:
                return mine < theirs

    def below(self, bound):
        """Uniform below a bound: numbers are thrown away that would make some more likely."""
        while True:
            number, many = self.unit(), UNIT
            if bound > UNIT:
                number, many = number + UNIT * self.unit(), UNIT * UNIT
            if number < many // bound * bound:
                return number % bound


class Walk:
    """One way through all that coins can say, with its probability, and what comes next."""

    FEW = 2**20
    """Numbers below larger bounds are not all tried: the law is that given the first and last."""

    def __init__(self, path, scale):
        self.path, self.scale = path, scale
        self.probability, self.units, self.choices = 1.0, [], []

    def _choose(self, choices, probabilities):
        at = self.path[len(self.choices)] if len(self.choices) < len(self.path) else 0
        self.choices.append((at, len(choices)))
        self.probability *= probabilities[at]
        return choices[at]

    def flip(self, chance):
        p = float(chance) * self.scale
        true = self._choose([True, False], [p, 1 - p])
        self.units.append(0 if true else UNIT - 1)
        return true

    def below(self, bound):
        numbers = range(bound) if bound <= self.FEW else [0, 1, bound // 3, bound - 1]
        number = self._choose(numbers, [1 / len(numbers)] * len(numbers))
        self.units.append(number % UNIT)
        if bound > UNIT:
            self.units.append(number // UNIT)
        return number


def walks(use, scale=1.0):
    """All that ``use(coins)`` can give: results, probabilities and the units that lead there."""
    path = []
    while path is not None:
        walk = Walk(path, scale)
        result = use(walk)
        yield result, walk.probability, walk.units
        choices = walk.choices
        while choices and choices[-1][0] == choices[-1][1] - 1:
            choices.pop()
        path = [at for at, _ in choices[:-1]] + [choices[-1][0] + 1] if choices else None
