"""How far the count of a single cell is off, in standard errors, by what was released around it.

Where a node's children are shared out without negative ones, an occupied child loses about as much
as its siblings that nobody lives in take. How many cells around were released as 0 tells how much
that is, in standard errors, much alike on all maps, budgets and methods: ``python -m bench
margins`` measures it on public maps. Where none of them has people beyond doubt the cell stands
alone: what it can have lost depends on levels above, and is left to :mod:`geodp.accuracy.interval`.
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
"""Of the margins, which cards state: counts up with every change of intervals in files."""

DROPPED_VERSION = 3
"""The same of methods that drop children: before it, intervals did not count what is dropped."""

CHILDREN = (2, 4, 16)
"""Most children of a node, by group; the last group has more."""

AROUND = 16
"""Cells around which are looked at: the smallest node that has as many keys or more."""

SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Of the cells around that were released as 0: at most, by group; of the last group below."""

LEAST = 2.12
"""Standard errors of a margin at least: Laplace noise alone takes as much."""


@dataclass(frozen=True, eq=False)
class Margins:
    """Standard errors below and above a count, by children of its node and share of zeros.

    Attributes
    ----------
    down, up : float64[groups of children, groups of shares]
        Infinite where nothing is known.
    alone : tuple of float
        People that a cell may have lost that stands alone over 0, 1, 2 ... levels; empty: no more
        is known than the closed form.
    releases : int
        Simulated ones that they are of; 0: those of public maps.
    """

    __repr__ = one_line

    down: FloatArray = field(repr=False)
    up: FloatArray = field(repr=False)
    alone: tuple[float, ...] = ()
    releases: int = 0

    def of(self, place: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return those of cells: float64[n] each; ``place``: of :func:`find_classes`."""
        down, up = (np.append(side.reshape(-1), inf)[place] for side in (self.down, self.up))
        return down, up


def span_of(fanouts: tuple[int, ...]) -> int:
    """Return the keys of the node whose cells are looked at, of a tree with such fan-outs."""
    span = 1
    for fanout in reversed(fanouts):
        span *= fanout
        if span >= AROUND:
            break
    return span


def find_classes(children: Any, others: Any, zeros: Any, company: Any) -> IntArray:
    """Return the class of cells, a number in a flat table of margins: int64[n]; -1 alone.

    Parameters
    ----------
    children : float64[n]
        Of the cell's node, that overlap the domain.
    others : float64[n]
        Other cells of the domain in the node that is looked at.
    zeros : float64[n]
        How many of these were released as 0.
    company : bool[n]
        Whether somebody lives beyond doubt in one of these.
    """
    share = np.searchsorted(SHARES, zeros / np.maximum(others, 1))
    group = np.searchsorted(CHILDREN, children) * len(SHARES) + share
    return np.where(company & (zeros < others), group, -1).astype(np.int64)


def read_margins(text: str) -> Margins:
    """Read a line for every group of children: a pair ``down/up`` for every share; ``-``: none."""
    rows = [[part.split("/") for part in line.split()] for line in text.strip().splitlines()]
    pairs = [
        [pair if len(pair) == 2 and pair[0] else ("inf", "inf") for pair in row] for row in rows
    ]
    found = np.array(pairs, np.float64)
    return Margins(found[:, :, 0], found[:, :, 1])


PUBLIC = """
2.19/2.19 2.20/2.40 2.24/2.69 2.12/2.58 2.12/2.56
2.15/2.55 2.17/2.32 2.16/2.44 2.47/2.52 2.12/2.54
2.34/2.54 2.26/2.47 2.33/2.73 2.51/2.77 3.37/3.70
2.82/2.29 2.29/2.64 2.30/2.59 2.32/2.59 3.09/2.99
"""
"""Of the largest on any of the public maps, budgets and methods of ``python -m bench margins``."""

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
"""The same of pyramids that drop children with fewer than so many noise scales, or fewer."""

UNKNOWN = read_margins("\n".join(["- " * len(SHARES)] * (len(CHILDREN) + 1)))
"""Of methods whose margins nobody has measured: the closed form stands."""


def margins_of(drops: Sequence[Drop]) -> Margins:
    """Return those of public maps, of a method that drops such children on its levels.

    ``UNKNOWN`` where it drops more than any that was measured, or noise of another law.
    """
    if not drops:
        return MARGINS
    scales = max(one.least / one.scale if one.scale else inf for one in drops)
    return next(
        (read_margins(text) for most, text in DROPPED.items() if scales <= most * (1 + 1e-9)),
        UNKNOWN,
    )
