"""Released sums that hold a region's true sum from above and from below.

Where a method clamps at 0, people move between cells of a node: empty cells take what occupied
ones lose. What a region lost lies in parts of its nodes that were released as little or nothing,
and counts are not negative. So the region together with all such parts around it, its outer
approximation, truly holds at least as many people, and lost nothing to a clamp; the region without
its own such parts, its inner approximation, truly holds at most as many, and got nothing from one.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.cell_paths import INNER, OUTER, PLAIN, Layer
from geodp.kernels.searching import find
from geodp.table.released import ReleasedTable
from geodp.typing import CountArray, FloatArray, IntArray

Tops = tuple[int, NDArray[np.uint64], IntArray]
"""Keys that a node of a level covers, and all its nodes that hold somebody, with their counts."""


Z = 1.96
"""Half of a 95 % interval, in standard errors."""

LAPLACE_Z = 2.118
"""The same of Laplace noise."""

SKEWED_Z = 2.33
"""The same to the side to which the error of an isolated cell is skewed."""


@dataclass(frozen=True)
class Estimate:
    """A released sum over a region and its expected error.

    Attributes
    ----------
    count : int or float
        Sum of the released counts.
    standard_error : float
        Closed form, where nothing is clamped.
    low, high : float
        A 95 % interval, see :meth:`geodp.Release.estimate`. Not below 0 where counts cannot be.
    clamped : bool
        Whether a clamp may have moved people into or out of the region.
    """

    count: int | float
    standard_error: float
    low: float
    high: float
    clamped: bool


NOBODY = Estimate(0, 0.0, 0.0, 0.0, clamped=False)
"""Of a region without cells."""


@dataclass(frozen=True)
class Reach:
    """Released sums and their variances, where nothing is clamped.

    Attributes
    ----------
    count, variance, fourth : float64[3] or float64[3, n]
        Of the region, its outer and its inner approximation: released sum, variance and fourth
        cumulant. Or of many regions, see :mod:`geodp.accuracy.cell_interval`.
    losing, gaining : int64[levels] or int64[levels, n]
        Nodes that hold people, that the region cuts, and that have a child outside (losing) or
        inside (gaining) which was released as 0; by level, the root's first.
    is_path : bool or bool[n]
        Whether every node that the region cuts has one child that the region touches.
    total_clamped : bool or bool[n]
        Whether nobody at all was released, so that the region's true sum may have been lost above.
    moved : float64[2] or float64[2, n]
        People whom a threshold can have moved out of the region, and into it.
    """

    count: FloatArray
    variance: FloatArray
    fourth: FloatArray
    losing: IntArray
    gaining: IntArray
    is_path: Any = True
    total_clamped: Any = False
    moved: Any = (0.0, 0.0)

    @property
    def clamped(self) -> Any:
        """Whether a clamp may have moved people into or out of the region: bool or bool[n]."""
        return self.total_clamped | (self.losing.any(axis=0) | self.gaining.any(axis=0))

    def interval(
        self,
        alone: dict[str, float] | None = None,
        losses: list[tuple[float, float]] | None = None,
    ) -> tuple[Any, Any]:
        """Low and high ends of a 95 % interval: float64, of many regions float64[n].

        Parameters
        ----------
        alone : dict, optional
            ``bias`` and ``rmse`` of an isolated cell: no cell or node alone loses more.
        losses : list of (mean, standard deviation), optional
            Of what the clamp takes in one node of each level, the root's first, for each that shows
            it, see :func:`~geodp.accuracy.cell_interval.count_unseen`.
        """
        margin = self._margins()
        (low, _, inner), (high, outer, _) = self.count - margin, self.count + margin
        down = self.count[PLAIN] - self._move(self.gaining, margin[PLAIN], None, losses)
        low = np.where(self.gaining.any(axis=0), np.maximum(inner, down), low)
        up = self.count[PLAIN] + self._move(self.losing, margin[PLAIN], alone, losses)
        high = np.where(self.losing.any(axis=0) | self.total_clamped, np.minimum(outer, up), high)
        return np.maximum(low - self.moved[1], 0.0), high + self.moved[0]

    def _margins(self) -> Any:
        """Return half the intervals of the three sums, where nothing is clamped: float64[3...]."""
        variance = np.maximum(self.variance, 1e-12)
        excess = np.clip(self.fourth / variance**2 / 3, 0, 1)
        return round_out((Z + (LAPLACE_Z - Z) * excess) * np.sqrt(variance), self.count)

    def approximations(self) -> tuple[Any, Any]:
        """Return the low end of the inner approximation's interval and the high of the outer's."""
        margin, (out, into) = self._margins(), self.moved
        return (self.count - margin)[INNER] - into, (self.count + margin)[OUTER] + out

    def reach_up(
        self, alone: dict[str, float] | None, losses: list[tuple[float, float]] | None
    ) -> Any:
        """Return how far a sum may be above the released one where no approximation says more."""
        return self._move(self.losing, LAPLACE_Z * np.sqrt(self.variance[PLAIN]), alone, losses)

    def _move(
        self,
        nodes: IntArray,
        margin: Any,
        alone: dict[str, float] | None,
        losses: list[tuple[float, float]] | None,
    ) -> Any:
        """How far the clamp at some nodes and the noise together move a region's sum."""
        found: Any = np.full(np.shape(margin), inf)
        if alone is not None:
            moved = np.maximum(margin, SKEWED_Z * spread_of(alone)) - alone["bias"]
            found = np.where(self.is_path, moved, found)
        if losses is not None:
            mean, spread = np.array(losses).reshape(-1, 2).T
            lost = np.sqrt(np.tensordot(spread**2, nodes, 1)) * SKEWED_Z
            moved = np.tensordot(mean, nodes, 1) + np.hypot(margin, lost)
            found = np.where(self.total_clamped, found, np.minimum(found, moved))
        return found


def freeze(key: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return keys that are read only, as kernels are compiled for one kind of them."""
    found = np.ascontiguousarray(key).view()
    found.flags.writeable = False
    return found


def spread_of(isolated: dict[str, float]) -> float:
    """Return the standard deviation of an isolated cell, of its bias and its error."""
    return sqrt(max(isolated["rmse"] ** 2 - isolated["bias"] ** 2, 0.0))


def round_out(margin: Any, count: Any) -> Any:
    """Return a margin that holds a whole count above 2^53, which the float ``count`` may miss."""
    return margin + np.spacing(np.abs(count))


class NodeSums:
    """Released sums of nodes by prefix sums.

    Whole counts are summed as whole numbers: beside one of 2^59, floats would lose its neighbours.

    Parameters
    ----------
    table : ReleasedTable
    tops : Tops, optional
        Of a table that holds a part of a release only: nodes of some level of the whole release.
        Sums of nodes of this level and of those above are taken from them.
    """

    def __init__(self, table: ReleasedTable, tops: Tops | None = None) -> None:
        self._from = 0 if tops is None else tops[0]
        self._layers = [self._layer(table.key, table.count)]
        if tops is not None:
            self._layers.append(self._layer(*tops[1:]))

    @staticmethod
    def _layer(key: NDArray[np.uint64], count: Any) -> tuple[NDArray[np.uint64], CountArray]:
        return key, np.concatenate([np.zeros(1, count.dtype), np.cumsum(count)])

    def _at(self, stride: int) -> tuple[NDArray[np.uint64], CountArray, int]:
        """Keys, prefix sums, and how many of these keys a node covers."""
        above = bool(self._from) and stride >= self._from
        return *self._layers[above], stride // self._from if above else stride

    def layers(self) -> tuple[Layer, Layer]:
        """Return the listed cells, and the tops, as kernels take them; of stride 0: none."""
        key, sums = self._layers[0]
        tops = self._layers[1:]
        near = Layer(freeze(key), sums, 1)
        if not tops:
            return near, Layer(near.key[:0], sums[:1], 0)
        above: Any = tops[0][1].astype(sums.dtype)
        far = Layer(freeze(tops[0][0]), above, self._from)
        return (far, far) if self._from == 1 else (near, far)

    @property
    def is_empty(self) -> bool:
        """Whether nobody at all was released."""
        return not self._layers[-1][0].size

    def of(self, prefix: NDArray[np.uint64], stride: int) -> FloatArray:
        """Of nodes that cover ``stride`` keys each."""
        key, sums, stride = self._at(stride)
        first = prefix * np.uint64(stride)
        begin, end = np.split(find(key, np.concatenate([first, first + np.uint64(stride)])), 2)
        found: FloatArray = (sums[end] - sums[begin]).astype(np.float64)
        return found

    def listed(self, prefix: NDArray[np.uint64], stride: int, least: float = 0.0) -> IntArray:
        """Return how many listed cells of ``least`` people nodes of ``stride`` keys have.

        Of a part of a release: nodes that lie in it, or any, if the tops are cells.
        """
        key, before = self._layers[self._from == 1]
        key = key[np.diff(before) >= least] if least else key
        first = prefix * np.uint64(stride)
        last = first + np.uint64(stride - 1)
        ends = np.searchsorted(key, last, "right") - np.searchsorted(key, first, "left")
        return np.asarray(ends, np.int64)

    def occupied(self, stride: int, start: int, stop: int) -> tuple[NDArray[np.uint64], FloatArray]:
        """Nodes from ``start`` to before ``stop`` that hold somebody, and their sums.

        They cover ``stride`` keys each.
        """
        key, sums, stride = self._at(stride)
        ends = np.array([start * stride, stop * stride - 1], np.uint64)
        begin = int(np.searchsorted(key, ends[0], "left"))
        end = int(np.searchsorted(key, ends[1], "right"))
        node = key[begin:end] // np.uint64(stride)
        first = np.flatnonzero(np.append(True, node[1:] != node[:-1])[: node.size])
        held = np.diff(sums[begin + np.append(first, node.size)])
        return node[first], held.astype(np.float64)
