"""What a descent works on: true counts, levels of nodes, and frontiers between them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from geodp.grid import Grid
from geodp.kernels import pyramid as kernels
from geodp.table import CountTable


@dataclass(eq=False)
class Level:
    """The children of the open nodes above, each node's side by side.

    Attributes
    ----------
    fanout : int
    prefix : uint64[n * fanout]
    z : float64[n * fanout]
        Noisy counts; with two passes later the estimates from below.
    variance : float64[n * fanout]
        Of z; 0 where the domain ends and, later, where a child is closed.
    uniform : float64[n]
        The parents' random numbers.
    open : int64[.]
        Children with a count above 0, which are looked into.
    count : int64[.]
        Their counts.
    """

    fanout: int
    prefix: NDArray[np.uint64]
    z: NDArray[np.float64]
    variance: NDArray[np.float64]
    uniform: NDArray[np.float64]
    open: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    count: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))

    def shared(
        self, total: NDArray[np.int64], least: float, nodes: slice = slice(None)
    ) -> NDArray[np.int64]:
        """Counts of the children of some nodes, which add up to their parents' totals."""
        first, stop, _ = nodes.indices(self.uniform.size)
        children = slice(first * self.fanout, stop * self.fanout)
        z, variance = self.z[children], self.variance[children]
        out = np.empty(z.size, np.int64)
        kernels.share(z, variance, self.fanout, total[nodes], self.uniform[nodes], least, out)
        return out

    @classmethod
    def joined(cls, pieces: list[Level]) -> Level:
        """One level of the pieces of its nodes."""
        if len(pieces) == 1:
            return pieces[0]
        before = np.cumsum([0, *(piece.z.size for piece in pieces)])
        opened = [piece.open + first for piece, first in zip(pieces, before, strict=False)]
        return cls(
            pieces[0].fanout,
            np.concatenate([piece.prefix for piece in pieces]),
            np.concatenate([piece.z for piece in pieces]),
            np.concatenate([piece.variance for piece in pieces]),
            np.concatenate([piece.uniform for piece in pieces]),
            np.concatenate(opened),
            np.concatenate([piece.count for piece in pieces]),
        )


@dataclass(frozen=True, eq=False)
class Frontier:
    """Open nodes of a level, in key order.

    Attributes
    ----------
    prefix : uint64[n]
    span : int64[2, n]
        First and one past the last of each node's data.
    count : int64[n]
        What is shared out below; empty above the root.
    """

    prefix: NDArray[np.uint64]
    span: NDArray[np.int64]
    count: NDArray[np.int64]

    def piece(self, nodes: slice) -> Frontier:
        """Some neighbouring nodes."""
        return Frontier(self.prefix[nodes], self.span[:, nodes], self.count[nodes])

    @classmethod
    def joined(cls, pieces: list[Frontier]) -> Frontier:
        """One frontier of its pieces."""
        if len(pieces) == 1:
            return pieces[0]
        return cls(
            np.concatenate([piece.prefix for piece in pieces]),
            np.concatenate([piece.span for piece in pieces], axis=1),
            np.concatenate([piece.count for piece in pieces]),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Data:
    """True counts: of cells, or of nodes at the first key of each.

    Attributes
    ----------
    grid : Grid
    key : uint64[m]
        Strictly increasing.
    cumulative : int64[m + 1]
        Prefix sums of the counts.
    """

    grid: Grid
    key: NDArray[np.uint64]
    cumulative: NDArray[np.int64]

    @classmethod
    def of(cls, table: CountTable) -> Data:
        """Those of a table."""
        return cls.counted(table.grid, table.key, table.count)

    @classmethod
    def counted(cls, grid: Grid, key: NDArray[np.uint64], count: NDArray[np.int64]) -> Data:
        """Those of keys."""
        return cls(grid, key, np.concatenate([np.zeros(1, np.int64), np.cumsum(count)]))

    def frontier(
        self, prefix: NDArray[np.uint64], stride: int, count: NDArray[np.int64] | None = None
    ) -> Frontier:
        """Nodes of ``stride`` keys each, which share out ``count``."""
        first = prefix * np.uint64(stride)
        start = np.searchsorted(self.key, first, "left")
        stop = np.searchsorted(self.key, first + np.uint64(stride - 1), "right")
        held = np.zeros(prefix.size, np.int64) if count is None else count
        return Frontier(prefix, np.stack([start, stop]), held)
