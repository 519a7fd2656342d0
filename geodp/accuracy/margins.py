"""How far the count of a single cell is off, in standard errors, by what was released around it.

Where a node's children are shared out without negative ones, an occupied child loses about as much
as its siblings that nobody lives in take. How many cells around were released as 0 tells how much
that is, in standard errors, much alike on all maps, budgets and methods: ``python -m bench
margins`` measures it on public maps. Where none of them has people beyond doubt the cell stands
alone: what it can have lost depends on levels above, and is left to :mod:`geodp.accuracy.interval`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

VERSION = 2
"""Of the margins, which cards state: counts up with every change of intervals in files."""

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

    down: Floats = field(repr=False)
    up: Floats = field(repr=False)
    alone: tuple[float, ...] = ()
    releases: int = 0

    def of(self, place: NDArray[np.int64]) -> tuple[Floats, Floats]:
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


def find_classes(children: Any, others: Any, zeros: Any, company: Any) -> NDArray[np.int64]:
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

UNKNOWN = read_margins("\n".join(["- " * len(SHARES)] * (len(CHILDREN) + 1)))
"""Of methods whose margins nobody has measured: the closed form stands."""
