"""T1 of Terada et al. (2015) as printed: real numbers, with noise in floating point.

For the paper's own figures: such noise leaks (Mironov 2012), and no result of it may be published.
"""

import numpy as np


def refine_continuous(counts, scale, rng):
    """Refined counts of ``2**bits`` cells in key order, not negative."""
    levels = [np.asarray(counts, float)]
    while levels[-1].size > 1:
        levels.append(levels[-1].reshape(-1, 2).sum(axis=1))
    refined = np.maximum(levels.pop() + rng.laplace(0, scale, 1), 0)
    for sums in reversed(levels):
        halves = sums.reshape(-1, 2)
        detail = halves[:, 0] - halves[:, 1] + rng.laplace(0, scale, refined.size)
        detail = np.clip(detail, -refined, refined)
        refined = np.stack([refined + detail, refined - detail], axis=1).reshape(-1) / 2
    return refined
