"""AG of Qardaji, Yang, Li (2013): the release, and the authors' own design beside it."""

from functools import cache
from math import ceil, exp, floor, isqrt

import numpy as np

from tests.reference.ugrid import inside_of, whole_root


def squares(top, bottom, left, right, cells, m):
    """A rectangle in squares of whole cells, row by row; ``cells / m**2`` of them in each."""
    side = max(1, isqrt(cells // m**2))
    return [
        (i, min(i + side, bottom), j, min(j + side, right))
        for i in range(top, bottom, side)
        for j in range(left, right, side)
    ]


def asked(noisy, budget, c2):
    """Parts per axis for a noisy count."""
    return max(1, whole_root(max(noisy, 0) * budget / c2, up=True))


def weight_of(cells, upper, lower, c2):
    """The weight of a block's own count, as a function of that noisy count."""

    @cache
    def weight(noisy):
        parts = min(asked(noisy, lower, c2) ** 2, cells)
        return float(upper**2 * parts / (lower**2 + upper**2 * parts))

    return weight


def excess(noisy, scale, weight, reach):
    """A function of the noisy count whose mean is that of ``z weight(count + z)``."""
    a = exp(-1 / scale)

    def mass(z):
        return (1 - a) / (1 + a) * a ** abs(z)

    total = 0.0
    for y in range(-reach, reach + 1):
        total += a / (1 - a) ** 2 * (mass(y - 1) - mass(y + 1)) * weight(noisy + y)
    return total


def estimate(people, inside, total_noise, coarse_noise, fine_noise, budgets, constants, least=10):
    """Values of all cells; ``budgets`` are those of the two levels, as Fractions."""
    rows, cols = len(people), len(people[0])
    upper, lower = budgets
    c1, c2 = constants
    total = max(sum(map(sum, people)) + total_noise, 0)
    m1 = max(least, whole_root(total * (upper + lower) / c1 / 16, up=True))
    values = np.zeros((rows, cols))
    drawn = 0
    for number, block in enumerate(squares(0, rows, 0, cols, rows * cols, m1)):
        top, bottom, left, right = block
        held = inside_of(block, inside)
        coarse = sum(people[i][j] for i, j in held) + int(coarse_noise[number])
        m2 = asked(coarse, lower, c2)
        parts = squares(*block, (bottom - top) * (right - left), m2)
        noise = fine_noise[drawn : drawn + len(parts)]
        drawn += len(parts)
        cells = [inside_of(part, inside) for part in parts]
        kept = [k for k in range(len(parts)) if cells[k]]
        if not kept:
            continue

        weight = weight_of(len(held), upper, lower, c2)
        fine = [sum(people[i][j] for i, j in cells[k]) + int(noise[k]) for k in kept]
        change = weight(coarse) * (coarse - sum(fine))
        change -= excess(coarse, float(1 / upper), weight, 25 + floor(25 / upper))
        for k, value in zip(kept, fine, strict=True):
            for i, j in cells[k]:
                values[i, j] = (value + change / len(kept)) / len(cells[k])
    return values, drawn


def design(people, epsilon, rng, rounded=ceil):
    """The authors' own, which takes N as public: one release with noise of a NumPy generator.

    The paper rounds the numbers of blocks up, and DPBench (Hay et al. 2016) down. The weights are
    those of the noisy counts that they weigh.
    """
    rows, cols = people.shape
    half = epsilon / 2
    m1 = max(10, rounded((people.sum() * epsilon / 10) ** 0.5 / 4))
    values = np.zeros(people.shape)
    for top, bottom, left, right in squares(0, rows, 0, cols, rows * cols, m1):
        block = people[top:bottom, left:right]
        coarse = block.sum() + rng.laplace(0, 1 / half)
        m2 = max(1, rounded((max(coarse, 0) * half / 5) ** 0.5))
        parts = squares(top, bottom, left, right, block.size, m2)
        fine = [people[a:b, c:d].sum() + rng.laplace(0, 1 / half) for a, b, c, d in parts]
        change = m2**2 / (m2**2 + 1) * (coarse - sum(fine)) / len(parts)
        for (a, b, c, d), value in zip(parts, fine, strict=True):
            values[a:b, c:d] = (value + change) / ((b - a) * (d - c))
    return values
