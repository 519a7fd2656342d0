"""How the pyramid's passes lay out what they work on; all of it is made outside, in Python.

A *family* is a node and its children. What is done to every child of a block of n families runs
along 16 rows, without a branch: child j of family f stands in row ``j % 16`` at
``j // 16 * n + f``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.pyramid.edges import Edges

WIDE = 1 << 30
"""Counts below it, with noise that a table gives, fit rows of 32 bits."""

LAST_CHILD = 1 << 15
"""Marks the last of a family's open children in a list of their numbers."""

LINE = 64
"""Bytes of a line of the cache, and of the widest vectors."""

FANOUT, STRIDE, WIDTH, START, SPREADS, LAW, GUIDE, STREAM, LONG = range(9)
"""Rows of ``Levels.table``: children of a node of the level above (1 for the roots); keys of a
node; most families of a block whose children are on the level, at most ``LANES``; where the open
children, the spreads, the thresholds and the guides of a level start, in arrays for all levels;
stream of the noise; 1 where sums of draws alone could be ``WIDE``."""

OWN, LEAST = range(2)
"""Rows of ``Levels.real``: variance of a node's measurement; children below are dropped."""


class Levels(NamedTuple):
    """The levels 0 (the roots) to h of a tree.

    Attributes
    ----------
    table : int64[9, h + 2]
        What starts at the last column is an end.
    real : float64[2, h + 1]
    spread : float64[.]
        Of every level the variances of sums of 0, 1, 2 ... to all children's own measurements.
    value, first, rest, guide : int16[.], uint32[.], uint64[.], uint32[.]
        Of the laws of all levels, see :class:`geodp.kernels.noise.NoiseTable`.
    bucket : int32[.]
        See :attr:`geodp.privacy.noise.law.Law.bucket`.
    """

    table: NDArray[np.int64]
    real: NDArray[np.float64]
    spread: NDArray[np.float64]
    value: NDArray[np.int16]
    first: NDArray[np.uint32]
    rest: NDArray[np.uint64]
    guide: NDArray[np.uint32]
    bucket: NDArray[np.int32]


PREFIX, COUNT, FIRST, STOP, WHOLE = range(5)
"""Rows of nodes, int64[5, n], in key order: number of the node; what is shared out below it; first
and one past the last of its data; 1 where every key of it is known to be a cell, otherwise 0."""

Z, VARIANCE = range(2)
"""Rows of estimates, float64[2, n]."""

DATUM, BEGIN, END = range(3)
"""Rows of a desk's scratch: which of the block's families with data each is (-1: it has none); of
all children of these families the first datum, and one past the last: none where that is 0."""

THRESHOLDS, SUMS, LOST, CANDIDATES, ABOVE, ACTIVE = range(6)
"""Rows of ``Desk.row``, of families: what a candidate is above, later how many children are open;
sums of children; how many are nowhere; how many are candidates times ``SEVERAL`` / 2, and the sum
of their numbers; sum and number of the children above the threshold."""

SEVERAL = 1 << 17
"""From here on there are several candidates, below it the number of one is the rest."""

NUMBER, SHUT, SPREAD = range(3)
"""Of ``Desk.lane``, each level's: the families' own numbers; sums of the estimates, and of the
variances, of children that are not open."""


class Desk(NamedTuple):
    """Where one thread works: a block of each level, and room for a block's steps.

    Attributes
    ----------
    nodes : int64[5, .]
        Open children of every level's block, from the level's start on, as are the next two.
    estimates : float64[2, .]
    child : uint16[.]
        Their numbers in their families, with ``LAST_CHILD``.
    lane : float64[h + 1, 3, LANES]
    room : uint32[16 * LANES], uint64[.]
        Blocks of the cipher, and their addresses.
    digits : uint32[2, LANES]
    noisy : int32[.]
        Noise of a block's children, then their counts with noise.
    row : int32[6, .]
    mask : uint32[.]
    scratch : int64[3, .]
    part : uint8[.]
        Of children of families that are not whole: see :func:`geodp.kernels.pyramid.edges.cut`.
    far : int64[.]
        The same where rows of 32 bits do not hold it.
    family : float64[2, .], uint64[2, .], int64[.]
        Estimates, numbers, places and counts of the children of one family.
    whole : int32[.]
        Measurements of the children of one family.
    """

    nodes: NDArray[np.int64]
    estimates: NDArray[np.float64]
    child: NDArray[np.uint16]
    lane: NDArray[np.float64]
    room: tuple[NDArray[np.uint32], NDArray[np.uint64]]
    digits: NDArray[np.uint32]
    noisy: NDArray[np.int32]
    row: NDArray[np.int32]
    mask: NDArray[np.uint32]
    scratch: NDArray[np.int64]
    part: NDArray[np.uint8]
    far: NDArray[np.int64]
    family: tuple[NDArray[np.float64], NDArray[np.uint64], NDArray[np.int64]]
    whole: NDArray[np.int32]


DONE, DECIDE, ROOM, SPACE = range(4)
"""Why a pass comes back: it is done; draws are undecided; a record has no room, or no record is
left; the open nodes have no space."""

STATE = 11
LEVEL, PHASE, TOP, LAST, AT, PUT, GIVEN, OPENED, VISITED, BLOCKS, NEEDED = range(STATE)
"""Of a pass's state: the level of the block, and what is to be done with it; first and last level;
where the next record starts, or the last one ended; nodes put out; estimates that were taken; open
nodes of the last level; nodes measured, and blocks of the cipher for them; what a record or the
open nodes need."""

LOAD, SHARE, CLOSE = range(3)
"""Phases of a block."""

FROM, UPTO, OPEN, TURN, BEYOND = range(5)
"""Columns of a fill: first and one past the last of the block's nodes among the open ones of the
level above; its open children; which of the blocks below the same block it is; 1 where rows of 32
bits do not hold it."""


class PyramidTree(NamedTuple):
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


class TopNodes(NamedTuple):
    """The nodes below which is measured, at least one, all with counts above 0.

    Attributes
    ----------
    nodes : int64[5, n]
    estimates : float64[2, n]
        They are improved.
    """

    nodes: NDArray[np.int64]
    estimates: NDArray[np.float64]


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
    family : float64[3, .], uint64[.], int64[.]
        Estimates and variances, two that :func:`geodp.kernels.pyramid.shares.share_family`
        overwrites, and counts of the children of one family.
    """

    nodes: NDArray[np.int64]
    family: tuple[NDArray[np.float64], NDArray[np.uint64], NDArray[np.int64]]
