"""The children of a level's open nodes, as the pyramid with a prior holds them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.learned import passes
from geodp.kernels.learned.lanes import LaneWorkspace, make_room
from geodp.mechanisms.learned.mixture import Reliability
from geodp.mechanisms.trees import parallel
from geodp.mechanisms.trees.descent import Descent
from geodp.typing import FloatArray, IntArray

CHILDREN = 1 << 16
"""Most nodes that are measured together: they stay in the cache."""

RUNS = 4
"""Of a level's nodes, for every thread."""

MOST = 1 << 20
"""Nodes of such a run at most, about."""

FEW = 1 << 27
"""Nodes of a level up to which what is measured is kept until they are opened; more are measured
again, which takes less time than so much memory, and none of it."""

FEWER = 1 << 21
"""The same of what the prior says, which takes more memory and less time."""

Measured = tuple[IntArray, NDArray[np.bool_]]
"""Counts with noise of children, and which hold a cell of the domain; none: all."""

Known = tuple[Reliability | None, ...]
"""How far a prior can be trusted, by level; None: not at all."""

Kept = tuple[NDArray[np.int32 | np.int64], NDArray[np.bool_], passes.Prior | None]


@dataclass(eq=False)
class Layer:
    """The children of a level's open nodes, each node's side by side.

    Attributes
    ----------
    above, total : uint64[n], int64[n]
        The nodes, and what is shared out below them.
    fanout, stride : int
        Children of a node, and keys of a child.
    uniform : float64[n]
        The nodes' random numbers.
    z : float64[k]
        Counts with noise of the open children.
    share, whole : float64[k], float64[n]
        The prior's people in the open children, and in the nodes; both are empty where it says
        nothing, or nothing that counts.
    members : int64[n]
        How many children of each node are open.
    prefix : uint64[k]
        Numbers of the open children.
    closed : float64[2, n]
        Sums of the other children's counts and of their variances.
    kept : dict
        What was measured of the children of a block of nodes, by its first, in 32 bits where that
        holds it; and what the prior says.
    """

    above: NDArray[np.uint64]
    total: IntArray
    fanout: int
    stride: int
    uniform: FloatArray
    z: FloatArray = field(default_factory=lambda: np.empty(0))
    share: FloatArray = field(default_factory=lambda: np.empty(0))
    whole: FloatArray = field(default_factory=lambda: np.empty(0))
    members: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    prefix: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    closed: FloatArray = field(default_factory=lambda: np.empty((2, 0)))
    kept: dict[int, Kept] = field(default_factory=dict)

    @classmethod
    def of(cls, above: NDArray[np.uint64], total: IntArray, shape: tuple[int, int]) -> Layer:
        """Return nothing yet of the children of some nodes; ``shape``: children, keys of one."""
        return cls(above, total, *shape, np.empty(above.size))

    @classmethod
    def found(cls, prefix: NDArray[np.uint64], z: FloatArray) -> Layer:
        """Return open nodes with their counts, found elsewhere, and nothing of those above them."""
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
        found = (getattr(self, one.name) for one in fields(self))
        return sum(one.nbytes for one in found if isinstance(one, np.ndarray))

    def keep(self, nodes: slice, measured: Measured, prior: passes.Prior) -> None:
        """Keep what was measured of a block, in few bytes, unless the level has many nodes.

        With what the prior says, unless it has more than some.
        """
        children = self.above.size * self.fanout
        if children > FEW:
            return
        noisy, inside = measured
        small = noisy.astype(np.int32)
        held = small if bool((small == noisy).all()) else noisy
        self.kept[nodes.start] = held, inside, prior if children <= FEWER else None

    def recall(self, nodes: slice) -> tuple[Measured | None, passes.Prior | None]:
        """Return what was kept of a block, and let it go; None: nothing was."""
        if nodes.start not in self.kept:
            return None, None
        noisy, inside, prior = self.kept.pop(nodes.start)
        return (noisy.astype(np.int64, copy=False), inside), prior

    def forget_prior(self) -> None:
        """Let go what the prior says."""
        self.share = self.whole = np.empty(0)

    def room(self) -> LaneWorkspace:
        """Return room for the children of some nodes."""
        return make_room(self.fanout)

    def runs(self, threads: int) -> list[slice]:
        """Return runs of nodes that are worked on side by side."""
        n = self.above.size
        each = -(-n // (RUNS * parallel.processors(threads)))
        each = min(max(each, CHILDREN // self.fanout), MOST // self.fanout)
        return _cut(0, n, max(each, 1))

    @property
    def together(self) -> int:
        """Return how many nodes a block has at most."""
        return max(CHILDREN // self.fanout, 1)

    def blocks(self, run: slice) -> list[slice]:
        """Return a run's nodes in blocks that stay in the cache."""
        return _cut(run.start, run.stop, self.together)

    def opened(self, runs: list[slice]) -> list[slice]:
        """Return the places of the open children of all nodes, by neighbouring runs of them."""
        ends = accumulate((int(self.members[run].sum()) for run in runs), initial=0)
        return [slice(*own) for own in pairwise(ends)]

    def prior(self, nodes: slice, children: slice) -> passes.Prior:
        """Return what the prior says of some nodes and children."""
        return self.share[children], self.whole[nodes]


@dataclass(frozen=True, eq=False, repr=False)
class Stage:
    """Open nodes of some neighbouring levels, noisy and not released: the first pass went so far.

    Attributes
    ----------
    first : int
        Level of the first layer.
    layers : tuple of Layer
        Of the first only the open nodes count.
    count : int64[k]
        What the last layer's open nodes have.
    learned : tuple of (Reliability or None)
        Of every layer but the first.
    """

    first: int
    layers: tuple[Layer, ...]
    count: IntArray
    learned: Known

    def __repr__(self) -> str:
        return "Stage(noisy)"

    def __sizeof__(self) -> int:
        """Bytes of the arrays: what a scheduler plans spilling and transfers by."""
        return self.count.nbytes + sum(layer.nbytes for layer in self.layers)

    @property
    def level(self) -> int:
        """Of the last layer."""
        return self.first + len(self.layers) - 1

    def below(self, descent: Descent) -> Layer:
        """Return nothing yet of the children of the last layer's open nodes."""
        shape = descent.fanouts[self.level], descent.strides[self.level + 1]
        return Layer.of(self.layers[-1].prefix, self.count, shape)

    def copy(self) -> Stage:
        """Return the same, with estimates that may be improved."""
        return replace(self, layers=tuple(replace(one, z=one.z.copy()) for one in self.layers))


def _cut(start: int, stop: int, each: int) -> list[slice]:
    """Return neighbouring runs of so many, one at least."""
    return [slice(*ends) for ends in pairwise([*range(start, max(stop, start + 1), each), stop])]
