"""UG of Qardaji, Yang, Li (2013), block by block in loops."""

from fractions import Fraction
from math import floor


def edges(size, parts):
    """First index of every part, and the end."""
    return [floor(Fraction(k * size, parts)) for k in range(parts + 1)]


def rectangles(top, bottom, left, right, tall, wide):
    """Rectangles of a block cut into tall x wide parts, row by row."""
    rows = [top + e for e in edges(bottom - top, tall)]
    cols = [left + e for e in edges(right - left, wide)]
    return [(rows[a], rows[a + 1], cols[b], cols[b + 1]) for a in range(tall) for b in range(wide)]


def inside_of(rectangle, inside):
    """Cells of the domain in a rectangle."""
    top, bottom, left, right = rectangle
    return [(i, j) for i in range(top, bottom) for j in range(left, right) if inside[i][j]]


def whole_root(square, up):
    """The square root of a Fraction, rounded down or up, by counting."""
    root = 0
    while (root + 1) ** 2 <= square:
        root += 1
    return root + (1 if up and root**2 < square else 0)


def estimate(people, inside, total_noise, noise, epsilon, c):
    """Values of all cells; ``epsilon`` is the blocks' budget, ``noise`` a list long enough."""
    rows, cols = len(people), len(people[0])
    total = max(sum(map(sum, people)) + total_noise, 0)
    g = max(10, whole_root(total * epsilon / c, up=False))
    values = [[0.0] * cols for _ in range(rows)]
    blocks = rectangles(0, rows, 0, cols, min(g, rows), min(g, cols))
    for number, block in enumerate(blocks):
        cells = inside_of(block, inside)
        for i, j in cells:
            values[i][j] = (sum(people[a][b] for a, b in cells) + noise[number]) / len(cells)
    return values
