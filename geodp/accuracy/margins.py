"""Margins of single cells in standard errors, by the counts released around them.

If a node is apportioned to its children without negative counts, an occupied child loses about as
much as its empty siblings receive. The number of cells around it that were released as 0 determines
this loss in standard errors, similarly on all maps, budgets and methods: ``python -m bench
margins`` measures it on public maps. If no other cell of the method's smallest node of 16 or more
cells was released with three standard errors or more, and so with people beyond doubt, the cell is
isolated: its loss depends on levels above, and is left to :mod:`geodp.accuracy.interval`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from geodp.accuracy.variance import Drop
from geodp.reprs import one_line
from geodp.typing import FloatArray

VERSION = 4
"""Version of the margins, in cards: increases with every change of intervals in files."""

DROPPED_VERSION = 5
"""Version for methods that drop children; intervals of earlier versions ignore dropped people."""

CHILDREN = (2, 4, 16)
"""Maximal children of a node, by group; the last group has more."""

AROUND = 16
"""Number of cells around a cell: the smallest node with at least as many keys is used."""

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Maximal share of the cells around that were released as 0, by group; less than the last one."""

MIN_MARGIN = 2.12
"""Minimal margin in standard errors: Laplace noise alone needs as much."""


@dataclass(frozen=True, eq=False)
class Margins:
    """Standard errors below and above a count, by children of its node and share of zeros.

    Attributes
    ----------
    down, up : float64[groups of children, groups of shares]
        Infinite if not measured.
    isolated_losses : tuple of float
        Maximal loss in people of a cell that is isolated over 0, 1, 2 ... levels; empty: only the
        closed form applies.
    releases : int
        Number of simulated releases behind the margins; 0: those of public maps.
    """

    __repr__ = one_line

    down: FloatArray = field(repr=False)
    up: FloatArray = field(repr=False)
    isolated_losses: tuple[float, ...] = ()
    releases: int = 0


def span_of(fanouts: tuple[int, ...]) -> int:
    """Return the number of keys of the node in which the cells around a cell are counted."""
    span = 1
    for fanout in reversed(fanouts):
        span *= fanout
        if span >= AROUND:
            break
    return span


def read_margins(text: str) -> Margins:
    """Read a line for every group of children: a pair ``down/up`` for every share, or ``-``."""
    rows = [[part.split("/") for part in line.split()] for line in text.strip().splitlines()]
    pairs = [
        [pair if len(pair) == 2 and pair[0] else ("inf", "inf") for pair in row] for row in rows
    ]
    table = np.array(pairs, np.float64)
    return Margins(table[:, :, 0], table[:, :, 1])


PUBLIC = """
2.19/2.19 2.20/2.40 2.24/2.69 2.12/2.58 2.12/2.56
2.23/2.47 2.16/2.32 2.24/2.52 2.31/2.79 2.52/2.71
2.83/2.67 2.22/2.79 2.51/2.51 2.67/2.77 3.39/3.70
2.69/2.43 2.26/2.65 2.36/2.65 2.30/2.65 2.50/3.09
"""
"""Largest margins on all public maps, budgets and methods of ``python -m bench margins``."""

MARGINS = read_margins(PUBLIC)

DROPPED: dict[int, str] = {
    1: """
- - - - -
- - - - -
2.65/2.66 2.43/2.83 2.34/2.52 3.40/2.77 4.16/3.39
2.48/2.65 2.84/2.70 2.40/2.65 2.36/2.65 2.48/3.09
""",
    2: """
- - - - -
- - - - -
2.65/2.66 3.70/2.83 4.65/2.83 4.93/3.08 5.84/3.39
2.48/2.65 2.84/3.34 2.48/3.00 3.17/2.70 4.77/3.09
""",
    3: """
- - - - -
- - - - -
2.78/3.08 4.62/3.68 5.69/3.27 7.41/3.39 8.75/3.70
2.48/3.06 2.84/3.34 2.70/3.17 3.51/3.30 11.68/3.53
""",
    4: """
- - - - -
- - - - -
2.78/3.72 6.70/4.32 6.79/4.06 9.33/4.01 11.10/4.32
2.63/3.06 2.84/3.97 3.04/3.87 4.05/3.97 15.70/3.97
""",
    5: """
- - - - -
- - - - -
7.40/4.53 7.34/5.29 9.24/4.59 11.75/4.62 14.49/4.62
2.65/4.38 2.84/4.41 3.09/4.41 5.07/4.41 22.42/4.85
""",
}
"""Margins of pyramids, by the threshold in noise scales below which they drop children."""

UNKNOWN = read_margins("\n".join(["- " * len(SHARES)] * (len(CHILDREN) + 1)))
"""Margins of methods that were not measured: only the closed form applies."""


def margins_of(drops: Sequence[Drop]) -> Margins:
    """Return margins of public maps for a method that drops children on its levels.

    ``UNKNOWN`` for thresholds above all measured ones, or noise that is not Laplace.
    """
    if not drops:
        return MARGINS
    # The level with the highest threshold in noise scales decides, as it drops most people.
    scales = max(one.threshold / one.scale if one.scale else inf for one in drops)
    return next(
        (read_margins(text) for limit, text in DROPPED.items() if scales <= limit * (1 + 1e-9)),
        UNKNOWN,
    )
