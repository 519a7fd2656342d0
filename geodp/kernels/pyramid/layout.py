"""How the pyramid's passes lay out what they work on; all of it is made outside, in Python.

A *family* is a node and its children. Child j of family f of a block stands at ``j * width + f``:
all that is done to every child runs along rows, over families, without a branch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.pyramid.edges import Edges

WORD = 16
"""Children of a word of a mask."""

SEVERAL = 1 << 16
"""The bit of a family's first word that says that several children are open."""

FANOUT, STRIDE, WIDTH, START, MASK, LAW, GUIDE, STREAM = range(8)
"""Rows of ``Levels.table``: children of a node of the level above (1 for the roots); keys of a
node; most families of a block whose children are on the level, at most ``LANES``; where the rows,
the masks, the thresholds and the guides of a level start, in arrays for all levels; stream of the
noise."""

OWN, LEAST = range(2)
"""Rows of ``Levels.real``: variance of a node's measurement; children below are dropped."""


class Levels(NamedTuple):
    """The levels 0 (the roots) to h of a tree.

    Attributes
    ----------
    table : int64[8, h + 2]
        What starts at the last column is an end.
    real : float64[2, h + 1]
    value, first, rest, guide : int16[.], uint32[.], uint64[.], uint32[.]
        Of the laws of all levels, see :class:`geodp.kernels.noise.Table`.
    """

    table: NDArray[np.int64]
    real: NDArray[np.float64]
    value: NDArray[np.int16]
    first: NDArray[np.uint32]
    rest: NDArray[np.uint64]
    guide: NDArray[np.uint32]


PREFIX, COUNT, FIRST, STOP, PLACE, WHOLE = range(6)
"""Rows of nodes, int64[6, n], in key order: number of the node; what is shared out below it; first
and one past the last of its data; where its estimate stands; 1 where every key of it is known to be
a cell, otherwise 0."""

Z, VARIANCE = range(2)
"""Rows of estimates, float64[2, n]."""

NOISY, DATUM, BEGIN = range(3)
"""Rows of a desk's scratch: noise of a block's children, then their counts with noise; which of the
block's families with data each is (-1: it has none); first of the data of all children of these
families, and one past the last."""


class Desk(NamedTuple):
    """Where one thread works: a block of each level, and room for a block's steps.

    Attributes
    ----------
    nodes : int64[6, .]
        Open children of every level's block, from the level's start on.
    estimates : float64[.]
        Of all children of every level's block, all z before all variances; variance 0: the child
        is no part of the domain.
    mask : uint64[.]
        Which children are open, ``WORD`` a word: word w of family f at ``w * width + f``.
    lane : float64[h + 3, LANES]
        Two rows for a block's steps, and the random numbers of every level's families.
    state : uint32[16 * LANES]
    scratch : int64[3, .]
    reals : float64[.]
        As many as a block has children.
    part : uint8[.]
        Of children of families that are not whole: see :func:`geodp.kernels.pyramid.edges.cut`.
    family : float64[2, .], uint64[.], int64[2, .]
        Estimates, places, counts and numbers of the children of one family.
    """

    nodes: NDArray[np.int64]
    estimates: NDArray[np.float64]
    mask: NDArray[np.uint64]
    lane: NDArray[np.float64]
    state: NDArray[np.uint32]
    scratch: NDArray[np.int64]
    reals: NDArray[np.float64]
    part: NDArray[np.uint8]
    family: tuple[NDArray[np.float64], NDArray[np.uint64], NDArray[np.int64]]


DONE, DECIDE, ROOM, SPACE = range(4)
"""Why a pass comes back: it is done; draws are ``UNDECIDED``; a record has no room, or no record is
left; the open nodes have no space."""

STATE = 10
LEVEL, PHASE, TOP, LAST, AT, PUT, GIVEN, OPENED, VISITED, NEEDED = range(STATE)
"""Of a pass's state: the level of the block, and what is to be done with it; first and last level;
where the next record starts, or the last one ended; nodes put out; estimates that were taken; open
nodes of the last level; nodes measured; what a record or the open nodes need."""

LOAD, SHARE, CLOSE = range(3)
"""Phases of a block."""

FROM, UPTO, OPEN, TURN = range(4)
"""Columns of a fill: first and one past the last of the block's nodes among the open ones of the
level above; its open children; which of the blocks below the same block it is."""


class Tree(NamedTuple):
    """What is measured.

    Attributes
    ----------
    levels : Levels
    edges : Edges
    key, cumulative : uint64[m], int64[m + 1]
        Occupied keys, strictly increasing, and prefix sums of their counts.
    """

    levels: Levels
    edges: Edges
    key: NDArray[np.uint64]
    cumulative: NDArray[np.int64]


class Goal(NamedTuple):
    """What the first pass is for: it keeps records, or puts out the open nodes of its last level.

    Attributes
    ----------
    keep : bool
        Write records, and improve estimates from below.
    given : float64[2, g]
        Estimates of the last level's open nodes, in order, instead of their own; g = 0: none.
    """

    keep: bool
    given: NDArray[np.float64]


class Top(NamedTuple):
    """The nodes below which is measured, at least one, all with counts above 0.

    Attributes
    ----------
    nodes : int64[6, n]
        See :mod:`geodp.kernels.pyramid.rows`.
    z, variance : float64[n]
        Their estimates, which are improved.
    """

    nodes: NDArray[np.int64]
    z: NDArray[np.float64]
    variance: NDArray[np.float64]


class Out(NamedTuple):
    """Open nodes that are put out.

    Attributes
    ----------
    prefix, held : uint64[n], int64[n]
        Numbers of the nodes, and what is shared out below them.
    estimates : float64[2, n]
        Not written where n = 0.
    """

    prefix: NDArray[np.uint64]
    held: NDArray[np.int64]
    estimates: NDArray[np.float64]


class Below(NamedTuple):
    """Where the second pass works: open children of every level's block, and one family.

    Attributes
    ----------
    nodes : int64[2, .]
        Prefixes and counts, from the level's start on.
    family : float64[3, .], uint64[.], int64[2, .]
        Estimates and variances, two that :func:`geodp.kernels.pyramid.shares.share_family`
        overwrites, counts and numbers of the children of one family.
    """

    nodes: NDArray[np.int64]
    family: tuple[NDArray[np.float64], NDArray[np.uint64], NDArray[np.int64]]
