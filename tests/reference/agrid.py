"""AG of Qardaji, Yang, Li (2013), with least squares solved as a system of equations."""

import numpy as np

from tests.reference.ugrid import inside_of, rectangles, whole_root


def estimate(people, inside, total_noise, coarse_noise, fine_noise, budgets, constants, least=10):
    """Values of all cells; ``budgets`` are those of the two levels, as Fractions."""
    rows, cols = len(people), len(people[0])
    upper, lower = budgets
    c1, c2 = constants
    total = max(sum(map(sum, people)) + total_noise, 0)
    m1 = max(least, whole_root(total * (upper + lower) / c1 / 16, up=True))
    values = np.zeros((rows, cols))
    drawn = 0
    blocks = rectangles(0, rows, 0, cols, min(m1, rows), min(m1, cols))
    for number, block in enumerate(blocks):
        top, bottom, left, right = block
        coarse = sum(people[i][j] for i, j in inside_of(block, inside)) + coarse_noise[number]
        m2 = max(1, whole_root(max(coarse, 0) * lower / c2, up=True))
        parts = rectangles(*block, min(m2, bottom - top), min(m2, right - left))
        noise = fine_noise[drawn : drawn + len(parts)]
        drawn += len(parts)
        cells = [inside_of(part, inside) for part in parts]
        kept = [k for k in range(len(parts)) if cells[k]]
        if not kept:
            continue
        fine = [sum(people[i][j] for i, j in cells[k]) + noise[k] for k in kept]
        # Rows: every part, then their sum, each in units of its own noise.
        system = np.vstack([np.eye(len(kept)) * float(lower), np.full(len(kept), float(upper))])
        right_side = np.append(np.array(fine) * float(lower), coarse * float(upper))
        solved = np.linalg.lstsq(system, right_side, rcond=None)[0]
        for k, value in zip(kept, solved, strict=True):
            for i, j in cells[k]:
                values[i, j] = value / len(cells[k])
    return values, drawn
