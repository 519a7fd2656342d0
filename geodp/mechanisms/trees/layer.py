"""The children of a level's open nodes, as the pyramid with a prior holds them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.learned import passes
from geodp.mechanisms.trees import parallel

CHILDREN = 1 << 16
"""Most nodes that are measured together: they stay in the cache."""

RUNS = 4
"""Of a level's nodes, for every thread."""

MOST = 1 << 20
"""Nodes of such a run at most, about."""

Reals = NDArray[np.float64]


@dataclass(eq=False)
class Layer:
    """The children of a level's open nodes, each node's side by side.

    Attributes
    ----------
    above, total : uint64[n], int64[n]
        The nodes, and what is shared out below them.
    fanout, stride : int
        Children of a node, and keys of a child.
    z : float64[n * fanout]
        Counts with noise; once there are open children, of these alone.
    inside : bool[n * fanout] or bool[0]
        Which hold a cell of the domain; none: all.
    uniform : float64[n]
        The nodes' random numbers.
    share, whole : float64[n * fanout], float64[n]
        The prior's people in the children, later in the open ones alone, and in the nodes; both
        are empty where it says nothing, or nothing that counts.
    members : int64[n]
        How many children of each node are open.
    prefix : uint64[k]
        Numbers of the open children.
    closed : float64[2, n]
        Sums of the other children's counts and of their variances.
    """

    above: NDArray[np.uint64]
    total: NDArray[np.int64]
    fanout: int
    stride: int
    z: Reals
    inside: NDArray[np.bool_]
    uniform: Reals
    share: Reals = field(default_factory=lambda: np.empty(0))
    whole: Reals = field(default_factory=lambda: np.empty(0))
    members: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    prefix: NDArray[np.uint64] = field(default_factory=lambda: np.empty(0, np.uint64))
    closed: Reals = field(default_factory=lambda: np.empty((2, 0)))

    @classmethod
    def of(
        cls, above: NDArray[np.uint64], total: NDArray[np.int64], shape: tuple[int, int]
    ) -> Layer:
        """Return room for the children of some nodes; ``shape``: children, and keys of one."""
        size = above.size * shape[0]
        none = np.empty(0, np.bool_)
        return cls(above, total, *shape, np.empty(size), none, np.empty(above.size))

    def forget_prior(self) -> None:
        """Let go what the prior says."""
        self.share = self.whole = np.empty(0)

    def room(self) -> passes.Room:
        """Return room for the children of a node."""
        f = self.fanout
        return np.empty((3, f)), np.empty(f, np.uint64), np.empty(f, np.int64)

    def runs(self, threads: int) -> list[slice]:
        """Return runs of nodes that are worked on side by side."""
        n = self.above.size
        each = -(-n // (RUNS * parallel.processors(threads)))
        each = min(max(each, CHILDREN // self.fanout), MOST // self.fanout)
        return _cut(0, n, max(each, 1))

    def blocks(self, run: slice) -> list[tuple[slice, slice]]:
        """Return a run's nodes in blocks that stay in the cache, and their children."""
        f = self.fanout
        nodes = _cut(run.start, run.stop, max(CHILDREN // f, 1))
        return [(one, slice(one.start * f, one.stop * f)) for one in nodes]

    def opened(self, runs: list[slice]) -> list[slice]:
        """Return the places of the open children of runs of nodes."""
        ends = np.concatenate([[0], np.cumsum(self.members)])
        return [slice(int(ends[run.start]), int(ends[run.stop])) for run in runs]

    def prior(self, nodes: slice, children: slice) -> passes.Prior:
        """Return what the prior says of some nodes and children."""
        return self.share[children], self.whole[nodes]


def _cut(start: int, stop: int, each: int) -> list[slice]:
    """Return neighbouring runs of so many, one at least."""
    return [slice(*ends) for ends in pairwise([*range(start, max(stop, start + 1), each), stop])]
