"""Levels and shares for settlements that stand alone.

What is measured of a settlement vies with empty siblings, on every level anew. Of what was tried on
made-up maps (``python -m bench settlements``) least is lost with narrow lowest nodes, which a
settlement fills, few levels above them, and most of the budget for nodes and cells.
"""

from __future__ import annotations

from fractions import Fraction

NODE, STEP, TOP = 5, 12, 4
"""Bits of a lowest node; of every level above, and of the first at least, where that can be."""

ROOT_WEIGHT, UPPER_WEIGHT, NODE_WEIGHT, CELL_WEIGHT = 1, 12, 35, 52
"""Weights of the root, of every level above lowest nodes, of these and of the cells."""


def islands_levels_of(bits: int) -> tuple[list[int], list[Fraction]]:
    """Return the bits of each level, and weights, the root's first.

    Examples
    --------
    >>> islands_levels_of(26)[0], islands_levels_of(18)[0], islands_levels_of(12)[0]
    ([9, 12, 5], [4, 9, 5], [7, 5])
    >>> [int(weight) for weight in islands_levels_of(26)[1]]
    [1, 12, 35, 52]
    """
    lowest = min(NODE, bits)
    above = bits - lowest
    steps = [above % STEP] * bool(above % STEP) + [STEP] * (above // STEP)
    if len(steps) > 1 and steps[0] < TOP:
        steps[:2] = [TOP, steps[0] + STEP - TOP]
    steps += [lowest] * bool(lowest)
    upper = [ROOT_WEIGHT, *[UPPER_WEIGHT] * (len(steps) - 2)] if len(steps) > 1 else []
    weights = [*upper, NODE_WEIGHT, CELL_WEIGHT] if steps else [CELL_WEIGHT]
    return steps, [Fraction(weight) for weight in weights]
