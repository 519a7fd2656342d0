"""Margins of single cells in standard errors, by the counts released around them.

If a node is apportioned to its children without negative counts, an occupied child loses about as
much as its empty siblings receive. The number of cells around it that were released as 0 determines
this loss in standard errors, similarly on all maps, budgets and methods: ``python -m bench
margins`` measures it on public maps. If none of these cells has people beyond doubt, the cell is
isolated: its loss depends on levels above, and is left to :mod:`geodp.accuracy.interval`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np

from geodp.accuracy.dropped import Drop
from geodp.reprs import one_line
from geodp.typing import FloatArray, IntArray

VERSION = 2
"""Version of the margins, in cards: increases with every change of intervals in files."""

DROPPED_VERSION = 3
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

    def of(self, place: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the margins of cells: float64[n] each; ``place``: from :func:`find_classes`."""
        down, up = (np.append(side.reshape(-1), inf)[place] for side in (self.down, self.up))
        return down, up


def span_of(fanouts: tuple[int, ...]) -> int:
    """Return the number of keys of the node in which the cells around a cell are counted."""
    span = 1
    for fanout in reversed(fanouts):
        span *= fanout
        if span >= AROUND:
            break
    return span


def find_classes(children: Any, others: Any, zeros: Any, company: Any) -> IntArray:
    """Return the class of cells, an index into a flat table of margins: int64[n].

    -1 if isolated.

    Parameters
    ----------
    children : float64[n]
        Number of children of the cell's node that overlap the domain.
    others : float64[n]
        Number of other cells of the domain in the node around it.
    zeros : float64[n]
        Number of these that were released as 0.
    company : bool[n]
        Whether one of these has people beyond doubt.
    """
    # If all cells around are 0, the cell is isolated, whatever its share.
    share = np.searchsorted(SHARES, zeros / np.maximum(others, 1))
    group = np.searchsorted(CHILDREN, children) * len(SHARES) + share
    return np.where(company & (zeros < others), group, -1).astype(np.int64)


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
2.15/2.55 2.17/2.32 2.16/2.44 2.47/2.52 2.12/2.54
2.34/2.54 2.26/2.47 2.33/2.73 2.51/2.77 3.37/3.70
2.82/2.29 2.29/2.64 2.30/2.59 2.32/2.59 3.09/2.99
"""
"""Largest margins on all public maps, budgets and methods of ``python -m bench margins``."""

MARGINS = read_margins(PUBLIC)

DROPPED: dict[int, str] = {
    1: """
- - - - -
- - - - -
2.77/2.47 2.47/2.63 2.47/2.94 3.37/2.77 4.07/3.39
2.44/2.29 2.72/2.45 2.27/2.59 2.27/2.59 2.51/2.92
""",
    2: """
- - - - -
- - - - -
2.77/2.77 3.39/2.92 4.41/2.94 4.87/3.08 6.12/3.39
2.86/2.92 2.76/2.92 2.72/2.60 3.04/2.92 4.90/3.24
""",
    3: """
- - - - -
- - - - -
3.08/3.55 5.24/3.68 6.12/3.21 7.07/3.39 8.78/3.70
2.86/2.92 2.76/3.24 2.99/3.24 3.53/3.24 10.78/3.68
""",
    4: """
- - - - -
- - - - -
3.08/3.83 6.17/3.89 6.78/4.01 8.72/4.01 11.29/4.32
2.86/3.51 2.99/4.54 3.07/3.80 4.35/3.99 15.59/4.22
""",
    5: """
- - - - -
- - - - -
7.09/4.62 7.96/4.62 8.02/4.44 11.14/4.62 14.80/4.62
2.86/3.51 2.99/4.86 3.07/4.54 5.43/4.54 19.56/4.60
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
