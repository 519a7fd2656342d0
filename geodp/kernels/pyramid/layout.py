"""Memory layout of the pyramid's passes; all arrays are allocated outside, in Python.

A *family* is a node and its children. The children of a block of n families lie in 16 rows: child j
of family f is in row ``j % 16`` at ``j // 16 * n + f``. So a loop along a row does the same to one
child of every family, without branches, and rows correspond to the 16 words of cipher blocks.
:mod:`geodp.kernels.pyramid.passes` runs the passes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.pyramid.edges import Edges

# Rows of 32 bits hold twice as many children in a vector register; the few blocks with larger
# counts take a slower path in 64 bits.
WIDE = 1 << 30
"""Counts below this fit rows of 32 bits together with noise that a table gives."""

LAST_CHILD = 1 << 15
"""Bit that is set in the number of the last of a family's open children."""

LINE = 64
"""Bytes of a cache line, and of the widest vectors."""

# One integer table for all levels: a kernel compiled for a tuple of arrays per level would be
# compiled again for every number of levels.
FANOUT, STRIDE, WIDTH, START, SPREADS, LAW, GUIDE, STREAM, LONG = range(9)
"""Rows of ``Levels.table``: children of a node of the level above (1 for the roots); keys of a
node; most families of a block whose children are on the level, at most ``LANES``; where a level's
open children, variances of sums, thresholds and guides start, in arrays for all levels; stream of
the noise; 1 if sums of draws alone could reach ``WIDE``."""

NOISE_VARIANCE, MIN_COUNT = range(2)
"""Rows of ``Levels.real``: variance of a node's measurement; the count below which children are
dropped."""


class Levels(NamedTuple):
    """The levels 0 (the roots) to h of a tree.

    Attributes
    ----------
    table : int64[9, h + 2]
        Rows of starts end with the end of the last level.
    real : float64[2, h + 1]
    spread : float64[.]
        For every level, the variances of sums of 0, 1, 2 ... to all children's measurements.
    value, first, rest, guide : int16[.], uint32[.], uint64[.], uint32[.]
        Tables of the laws of all levels, see :class:`geodp.kernels.noise.NoiseTable`.
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


PREFIX, COUNT, FIRST, STOP, FULL = range(5)
"""Rows of nodes, int64[5, n], in key order: prefix of the node; its count, which is apportioned to
its children; first and one past the last of its data; 1 if all of its keys are certainly cells,
otherwise 0."""

Z, VARIANCE = range(2)
"""Rows of estimates, float64[2, n]."""

DATUM, BEGIN, END = range(3)
"""Rows of the workspace's scratch: each family's number among the block's families with data (-1:
no data); for all children of these families, the first datum and one past the last (0: no data)."""

THRESHOLDS, SUMS, LOST, CANDIDATES, ABOVE, ACTIVE = range(6)
"""Rows of ``PassWorkspace.row``, by family: the threshold that candidates exceed, later the number
of open children; the sum of the children; the number of children without a cell; the number of
candidates times ``SEVERAL`` / 2 plus the sum of their numbers; sum and number of the children above
the threshold."""

SEVERAL = 1 << 17
"""Smallest value of ``CANDIDATES`` if there are several; below it, the remainder modulo
``SEVERAL`` / 2 is the number of the only one."""

NUMBER, CLOSED, SPREAD = range(3)
"""Rows of each level in ``PassWorkspace.lane``: the families' uniform numbers; sums of the
estimates and of the variances of children that are not open."""


class PassWorkspace(NamedTuple):
    """Arrays of one thread: a block of each level, and scratch arrays for a block's steps.

    Attributes
    ----------
    nodes : int64[5, .]
        Open children of every level's block, from the level's start on, like the next two.
    estimates : float64[2, .]
    child : uint16[.]
        Their numbers in their families, with ``LAST_CHILD``.
    lane : float64[h + 1, 3, LANES]
    cipher : uint32[16 * LANES], uint64[.]
        Blocks of the cipher, and their addresses.
    digits : uint32[2, LANES]
    noisy : int32[.]
        Noise of a block's children, then their noisy counts.
    row : int32[6, .]
    mask : uint32[.]
    scratch : int64[3, .]
    part : uint8[.]
        For children of families that the domain cuts: see :func:`geodp.kernels.pyramid.edges.cut`.
    far : int64[.]
        Noisy counts that do not fit rows of 32 bits.
    family : float64[4, .], uint64[2, .], int64[.]
        Estimates, numbers, positions and counts of the children of one family.
    measured : int32[.]
        Measurements of the children of one family.
    """

    # Allocated once for each thread and reused for all blocks: a kernel without reference counting
    # cannot make arrays, and pages that were touched once stay mapped.
    nodes: NDArray[np.int64]
    estimates: NDArray[np.float64]
    child: NDArray[np.uint16]
    lane: NDArray[np.float64]
    cipher: tuple[NDArray[np.uint32], NDArray[np.uint64]]
    digits: NDArray[np.uint32]
    noisy: NDArray[np.int32]
    row: NDArray[np.int32]
    mask: NDArray[np.uint32]
    scratch: NDArray[np.int64]
    part: NDArray[np.uint8]
    far: NDArray[np.int64]
    family: tuple[NDArray[np.float64], NDArray[np.uint64], NDArray[np.int64]]
    measured: NDArray[np.int32]


DONE, DECIDE, NEED_RECORD, NEED_OUTPUT = range(4)
"""Reasons why a pass returns: it is done; draws are undecided; there is no space for a record, or
no record is left; there is no space for open nodes."""

STATE = 11
LEVEL, PHASE, TOP, LAST, AT, EMITTED, REPLACED, OPENED, VISITED, BLOCKS, NEEDED = range(STATE)
"""Entries of a pass's state: the level of the block, and its phase; first and last level; where the
next record starts, or the last one ended; nodes emitted; replacement estimates used; open nodes of
the last level; nodes measured, and cipher blocks for them; the space that a record or the open
nodes need."""

LOAD, SHARE, CLOSE = range(3)
"""Phases of a block."""

FROM, UPTO, OPEN, INDEX, BEYOND = range(5)
"""Columns of a fill: first and one past the last of the block's nodes among the open ones of the
level above; its open children; its number among the blocks below the same block; 1 if its counts do
not fit rows of 32 bits."""


class PyramidTree(NamedTuple):
    """The tree, its domain and the confidential counts.

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


class PassOptions(NamedTuple):
    """Options of the first pass: it writes records, or emits the open nodes of its last level.

    Attributes
    ----------
    keep_records : bool
        Write records, and improve estimates from below.
    replacements : float64[2, g]
        Estimates of the last level's open nodes, in order, that replace their own; g = 0: none.
    """

    keep_records: bool
    replacements: NDArray[np.float64]


class TopNodes(NamedTuple):
    """The nodes at which a pass starts: at least one, all with counts above 0.

    Attributes
    ----------
    nodes : int64[5, n]
    estimates : float64[2, n]
        Improved by the pass.
    """

    nodes: NDArray[np.int64]
    estimates: NDArray[np.float64]


class EmittedNodes(NamedTuple):
    """Open nodes that a pass emits.

    Attributes
    ----------
    prefix, held : uint64[n], int64[n]
        Prefixes of the nodes, and their counts.
    estimates : float64[2, n]
        Not written if n = 0.
    """

    prefix: NDArray[np.uint64]
    held: NDArray[np.int64]
    estimates: NDArray[np.float64]


class SharingWorkspace(NamedTuple):
    """Arrays of the second pass: open children of every level's block, and one family.

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
