"""The children of a level's open nodes, as the pyramid with a prior stores them.

Of a partitioned release, values are exchanged between the top and its subtrees:
:mod:`geodp.cluster` sends them between workers. All are noisy but not released: their
``repr`` shows no numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from itertools import accumulate, pairwise
from sys import getsizeof

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.learned import passes
from geodp.kernels.learned.lanes import LaneWorkspace, make_workspace
from geodp.mechanisms.learned import Reliability, Residuals
from geodp.mechanisms.trees import parallel
from geodp.mechanisms.trees.descent import Descent
from geodp.mechanisms.trees.parallel import partition
from geodp.mechanisms.trees.traversal import PassRecords
from geodp.typing import FloatArray, IntArray, KeyArray, KeyedCounts

CHILDREN = 1 << 16
"""Most children that are measured together: they stay in the cache."""

RUNS = 4
"""Chunks of a level's nodes for every thread."""

MAX_NODES = 1 << 20
"""Approximate number of children of the largest chunk."""

FEW = 1 << 27
"""Number of nodes of a level up to which measurements are stored until the nodes are opened. More
are measured again: noise is a function of the node, and drawing it is cheaper than the memory."""

FEWER = 1 << 21
"""Maximum for the prior's counts, which take more memory and less time."""

Measured = tuple[IntArray, NDArray[np.bool_]]
"""Noisy counts of children, and which contain a cell of the domain; size 0: all."""

Reliabilities = tuple[Reliability | None, ...]
"""Reliability of a prior by level; None: it is not used."""

Stored = tuple[NDArray[np.int32 | np.int64], NDArray[np.bool_], passes.Prior | None]


@dataclass(eq=False)
class Layer:
    """The children of a level's open nodes, those of one node next to each other.

    Attributes
    ----------
    above, total : uint64[n], int64[n]
        The nodes, and their counts.
    fanout, stride : int
        Children of a node, and keys of a child.
    uniform : float64[n]
        The nodes' uniform numbers.
    z : float64[k]
        Noisy counts of the open children.
    share, totals : float64[k], float64[n]
        The prior's counts of the open children, and of the nodes; both are empty if the prior is
        not used.
    members : int64[n]
        Number of open children of each node.
    prefix : uint64[k]
        Prefixes of the open children.
    closed : float64[2, n]
        Sums of the other children's noisy counts and of their variances.
    stored : dict
        Measurements of the children of a block of nodes, by its first node, in 32 bits if they
        fit; and the prior's counts.
    """

    above: NDArray[np.uint64]
    total: IntArray
    fanout: int
    stride: int
    uniform: FloatArray
    z: FloatArray = field(default_factory=lambda: np.empty(0))
    share: FloatArray = field(default_factory=lambda: np.empty(0))
    totals: FloatArray = field(default_factory=lambda: np.empty(0))
    members: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    prefix: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    closed: FloatArray = field(default_factory=lambda: np.empty((2, 0)))
    stored: dict[int, Stored] = field(default_factory=dict)

    @classmethod
    def of(cls, above: NDArray[np.uint64], total: IntArray, shape: tuple[int, int]) -> Layer:
        """Make a layer without measurements; ``shape``: children of a node, and keys of a child."""
        return cls(above, total, *shape, np.empty(above.size))

    @classmethod
    def of_open(cls, prefix: NDArray[np.uint64], z: FloatArray) -> Layer:
        """Make a layer of open nodes that were measured elsewhere, without their parents."""
        return cls(
            above=np.empty(0, np.uint64),
            total=np.empty(0, np.int64),
            fanout=1,
            stride=1,
            uniform=np.empty(0),
            z=z,
            prefix=prefix,
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        arrays = (getattr(self, one.name) for one in fields(self))
        return sum(one.nbytes for one in arrays if isinstance(one, np.ndarray))

    def keep(self, nodes: slice, measured: Measured, prior: passes.Prior) -> None:
        """Store a block's measurements and the prior's counts, unless the level is too large."""
        children = self.above.size * self.fanout
        if children > FEW:
            return
        noisy, inside = measured
        # Half of the memory in the usual case: counts with noise of 2**31 and more are rare.
        small = noisy.astype(np.int32)
        held = small if bool((small == noisy).all()) else noisy
        self.stored[nodes.start] = held, inside, prior if children <= FEWER else None

    def recall(self, nodes: slice) -> tuple[Measured | None, passes.Prior | None]:
        """Remove and return the stored measurements of a block; None: there are none."""
        if nodes.start not in self.stored:
            return None, None
        noisy, inside, prior = self.stored.pop(nodes.start)
        return (noisy.astype(np.int64, copy=False), inside), prior

    def workspace(self) -> LaneWorkspace:
        """Allocate the arrays of one thread."""
        return make_workspace(self.fanout)

    def runs(self, threads: int) -> list[slice]:
        """Divide the nodes into chunks that are processed in parallel."""
        n = self.above.size
        each = -(-n // (RUNS * parallel.processors(threads)))
        # Chunks are neither so small that starting them dominates, nor so large that threads wait
        # for the last one.
        each = min(max(each, CHILDREN // self.fanout), MAX_NODES // self.fanout)
        return _cut(0, n, max(each, 1))

    @property
    def together(self) -> int:
        """Largest number of nodes of a block."""
        return max(CHILDREN // self.fanout, 1)

    def blocks(self, run: slice) -> list[slice]:
        """Divide a chunk's nodes into blocks that stay in the cache."""
        # Blocks are aligned to the start of a chunk, and measurements are stored by a block's first
        # node, so that both passes over a chunk find them.
        return _cut(run.start, run.stop, self.together)

    def opened(self, runs: list[slice]) -> list[slice]:
        """Return the positions of the open children of each chunk of nodes."""
        ends = accumulate((int(self.members[run].sum()) for run in runs), initial=0)
        return [slice(*ends_here) for ends_here in pairwise(ends)]

    def prior(self, nodes: slice, children: slice) -> passes.Prior:
        """Return the prior's counts of some children and nodes."""
        return self.share[children], self.totals[nodes]


@dataclass(frozen=True, eq=False, repr=False)
class Stage:
    """Open nodes of consecutive levels during the first pass: noisy, and not released.

    Attributes
    ----------
    first : int
        Level of the first layer.
    layers : tuple of Layer
        Layers from the top down; only the open nodes of the first one are used.
    count : int64[k]
        Counts of the last layer's open nodes.
    learned : tuple of (Reliability or None)
        Reliability of the prior on every layer except the first.
    """

    first: int
    layers: tuple[Layer, ...]
    count: IntArray
    learned: Reliabilities

    def __repr__(self) -> str:
        return "Stage(noisy)"

    def __sizeof__(self) -> int:
        """Bytes of the arrays: what a scheduler plans spilling and transfers by."""
        return self.count.nbytes + sum(layer.nbytes for layer in self.layers)

    @property
    def level(self) -> int:
        """Level of the last layer."""
        return self.first + len(self.layers) - 1

    def below(self, descent: Descent) -> Layer:
        """Make the next layer, of the children of the last layer's open nodes."""
        shape = descent.fanouts[self.level], descent.strides[self.level + 1]
        return Layer.of(self.layers[-1].prefix, self.count, shape)

    def copy(self) -> Stage:
        """Copy the stage, so that its estimates can be improved in place."""
        # Estimates are improved in place, and a task of a cluster may run twice on the same stage.
        return replace(self, layers=tuple(replace(one, z=one.z.copy()) for one in self.layers))


def _cut(start: int, stop: int, each: int) -> list[slice]:
    """Divide a range into consecutive slices of a size; return at least one."""
    return [slice(*ends) for ends in pairwise([*range(start, max(stop, start + 1), each), stop])]


@dataclass(frozen=True, eq=False, repr=False)
class Roots:
    """Occupied nodes of a cut, in key order: the roots of subtrees.

    Attributes
    ----------
    prefix : uint64[n]
    count : int64[n]
        Counts apportioned by the top.
    z, variance : float64[n]
        Estimates of their counts, if estimates from below are to improve them; otherwise empty.
    """

    prefix: KeyArray
    count: IntArray
    z: FloatArray
    variance: FloatArray

    def __repr__(self) -> str:
        return "Roots(noisy)"

    def __sizeof__(self) -> int:
        """Bytes of the arrays: what a scheduler plans spilling and transfers by."""
        return sum(part.nbytes for part in (self.prefix, self.count, self.z, self.variance))

    @classmethod
    def of_counts(cls, prefix: KeyArray, count: IntArray) -> Roots:
        """Make roots without estimates."""
        return cls(prefix, count, np.empty(0), np.empty(0))

    def counts_of(self, some: Roots) -> IntArray:
        """Return the counts of roots that are among these: int64[n]."""
        return self.count[np.searchsorted(self.prefix, some.prefix)]

    def divide(self, parts: int) -> list[Roots]:
        """Divide the roots into at most ``parts`` ranges of about the same count, in key order.

        A function of noisy counts and nothing else: where a range ends reveals no more than they
        do.
        """
        return [
            Roots(self.prefix[here], self.count[here], self.z[here], self.variance[here])
            for here in partition(self.count, parts)
        ]


@dataclass(frozen=True, eq=False, repr=False)
class Held:
    """Open nodes of subtrees of a release with a prior, and their variances, by layer."""

    stage: Stage
    variances: tuple[FloatArray, ...] = ()

    def __repr__(self) -> str:
        return "Held(noisy)"

    def __sizeof__(self) -> int:
        """Bytes of all arrays, see :class:`Roots`."""
        return getsizeof(self.stage) + sum(part.nbytes for part in self.variances)


@dataclass(frozen=True, eq=False, repr=False)
class Seen:
    """Statistics of the predictions of a level in subtrees: nodes measured, and residuals."""

    nodes: int
    residuals: Residuals

    def __repr__(self) -> str:
        return "Seen(noisy)"


@dataclass(frozen=True, eq=False, repr=False)
class Subtrees:
    """Subtrees below some roots, with all noise drawn.

    Attributes
    ----------
    roots : Roots
        With estimates improved from below.
    cells : pair of arrays
        Released cells and their counts, if there is no second pass; otherwise empty.
    records : PassRecords or Held
        Input of the second pass; empty without one.
    """

    roots: Roots
    cells: KeyedCounts
    records: PassRecords | Held

    def __repr__(self) -> str:
        return "Subtrees(noisy)"

    def __sizeof__(self) -> int:
        """Bytes of all arrays, see :class:`Roots`."""
        cells = sum(part.nbytes for part in self.cells)
        return getsizeof(self.roots) + cells + getsizeof(self.records)


def fill_counts(roots: Roots, counted: KeyedCounts) -> IntArray:
    """Return counts of all roots, with 0 for those that are not among ``counted``."""
    count = np.zeros(roots.prefix.size, np.int64)
    count[np.searchsorted(roots.prefix, counted[0])] = counted[1]
    return count
