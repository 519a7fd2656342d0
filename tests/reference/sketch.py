"""Apple's sketches, word for word: count mean sketch and its Hadamard form (2017)."""

from math import exp

from tests.reference.coins import Chance
from tests.reference.hadamard import entry
from tests.reference.olh import hashed
from tests.reference.unary import packed, turned, unpacked


def places(value, row, h, width, seed):
    """Different places: the free one of the number that each hash function says."""
    found = []
    for i in range(h):
        free = [place for place in range(width) if place not in found]
        found.append(free[hashed(seed * 2**32 + 8 * row + i, value, width - i)])
    return found


class Cms:
    @staticmethod
    def report(value, coins, cells, epsilon, k, m, seed=0):
        row = coins.below(k) if k > 1 else 0
        (place,) = places(value, row, 1, m, seed)
        chance = Chance(1, 1, epsilon / 2)
        bits = turned([int(column == place) for column in range(m)], coins, chance, chance)
        return (row, packed(bits)) if k > 1 else (packed(bits),)

    @staticmethod
    def estimate(reports, value, cells, epsilon, k, m, seed=0):
        c = (exp(epsilon / 2) + 1) / (exp(epsilon / 2) - 1)
        matrix = [[0.0] * m for _ in range(k)]
        for *row, data in reports:
            for column, bit in enumerate(unpacked(data)[:m]):
                matrix[row[0] if row else 0][column] += k * (c / 2 * (2 * bit - 1) + 1 / 2)
        said = sum(matrix[row][places(value, row, 1, m, seed)[0]] for row in range(k))
        return m / (m - 1) * (said / k - len(reports) / m)


class Hcms:
    @staticmethod
    def report(value, coins, cells, epsilon, k, m, seed=0):
        row, column = coins.below(k), coins.below(m)
        sign = entry(column, places(value, row, 1, m, seed)[0])
        if coins.flip(Chance(1, 1, epsilon)):
            sign = -sign
        return row, column, int(sign < 0)

    @staticmethod
    def estimate(reports, value, cells, epsilon, k, m, seed=0):
        c = (exp(epsilon) + 1) / (exp(epsilon) - 1)
        said = 0.0
        for row, column, bit in reports:
            said += c * (-1) ** bit * entry(column, places(value, row, 1, m, seed)[0])
        return m / (m - 1) * (said - len(reports) / m)
