"""Numbers with their intervals, and released sums that bound a true sum from both sides.

If a method clamps at 0, people move between the cells of a node: empty cells receive what occupied
ones lose. Losses of a region lie in parts of its nodes that were released as little or nothing, as
counts are not negative. So the region together with all such parts around it, its outer
approximation, truly has at least as many people, and lost nothing to a clamp; the region without
its own such parts, its inner approximation, truly has at most as many, and gained nothing from one.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from math import inf, isnan, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.kernels.key_lists import find
from geodp.table.counts import Cells
from geodp.table.prior import Prior
from geodp.typing import CountArray, FloatArray, IntArray, KeyArray

Tops = tuple[int, NDArray[np.uint64], IntArray]
"""Number of keys of a node of some level, all non-empty nodes of this level, and their counts."""


USUAL, WORST_CASE = "usual", "worst-case"
"""Intervals of regions: of :mod:`geodp.accuracy.region_interval`, and bounds that assume nothing of
the map, which are those of this module."""

PLAIN, OUTER, INNER = range(3)
"""Rows: a region itself, its outer approximation and its inner approximation."""

Z = 1.96
"""Half of a 95 % interval, in standard errors."""

LAPLACE_Z = 2.118
"""Half of a 95 % interval for Laplace noise."""

SKEWED_Z = 2.33
"""Half of a 95 % interval on the side to which an isolated cell's error is skewed."""


@dataclass(frozen=True)
class Interval:
    """A number that follows from a release, and a 95 % interval; or those of many places.

    Attributes
    ----------
    value, low, high : float, or float64[n]
        NaN of places where the number is not estimable.
    cutting_error : float or None
        Standard error of the people whom a polygon cuts off with parts of cells; None: no cell is
        cut. See :mod:`geodp.release.cutting`.
    """

    value: Any
    low: Any
    high: Any
    cutting_error: float | None = field(default=None, kw_only=True, repr=False)

    def at(self, place: int) -> Interval | None:
        """Return the number of one of many places; None where it is not estimable."""
        value, low, high = (float(each[place]) for each in (self.value, self.low, self.high))
        return None if isnan(value) else Interval(value, low, high)

    def columns(self, decimals: int) -> list[NDArray[Any]]:
        """Return masked float64[n] of the numbers and of their ends, which are rounded outwards."""
        unit = 10**decimals
        rounded = ((np.round, self.value), (np.floor, self.low), (np.ceil, self.high))
        return [
            np.ma.masked_array(each(one * unit) / unit, np.isnan(self.value))
            for each, one in rounded
        ]

    @property
    def is_certain(self) -> bool:
        """Whether the interval holds numbers of one sign only."""
        return bool(self.low > 0 or self.high < 0)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        plain = asdict(self)
        if self.cutting_error is None:
            del plain["cutting_error"]
        return plain


@dataclass(frozen=True)
class Estimate(Interval):
    """A released sum over a region and its expected error.

    Its interval, see :meth:`geodp.Release.estimate`, is not below 0 if counts cannot be.

    Attributes
    ----------
    standard_error : float
        Closed form, without the effect of a clamp.
    clamped : bool
        Whether a clamp may have moved people into or out of the region.
    """

    standard_error: float
    clamped: bool

    @property
    def count(self) -> int | float:
        """The value: the sum of the released counts."""
        value: int | float = self.value
        return value


EMPTY_ESTIMATE = Estimate(0, 0.0, 0.0, 0.0, clamped=False)
"""Estimate of a region without cells."""


@dataclass(frozen=True)
class Reach:
    """Released sums around a region, and their variances without the effect of a clamp.

    Attributes
    ----------
    count, variance, fourth : float64[3] or float64[3, n]
        Released sum, variance and fourth cumulant of the region, its outer and its inner
        approximation; or of many regions, see :mod:`geodp.accuracy.cell_interval`.
    losing, gaining : int64[levels] or int64[levels, n]
        Numbers of non-empty nodes that the region cuts and that have a child outside (losing) or
        inside (gaining) which was released as 0; by level, the root's first.
    is_path : bool or bool[n]
        Whether every node that the region cuts has one child that the region touches.
    total_clamped : bool or bool[n]
        Whether all counts were released as 0, so that the true sum may have been lost at the root.
    moved : float64[2] or float64[2, n]
        People whom a threshold can have moved out of the region, and into it.
    isolated : (int64, int64) or (int64[n], int64[n])
        Number of levels, from the cells up, on which hardly anybody else was released in the nodes
        that the region touches; and the number of these nodes on the highest such level.
    """

    count: FloatArray
    variance: FloatArray
    fourth: FloatArray
    losing: IntArray
    gaining: IntArray
    is_path: Any = True
    total_clamped: Any = False
    moved: Any = (0.0, 0.0)
    isolated: Any = (0, 1)

    @property
    def clamped(self) -> Any:
        """Whether a clamp may have moved people into or out of the region: bool or bool[n]."""
        return self.total_clamped | (self.losing.any(axis=0) | self.gaining.any(axis=0))

    def interval(
        self,
        isolated: dict[str, float] | None = None,
        losses: list[tuple[float, float]] | None = None,
        of_nodes: FloatArray | None = None,
    ) -> tuple[Any, Any]:
        """Return low and high ends of a 95 % interval: float64, or float64[n] for many regions.

        Parameters
        ----------
        isolated : dict, optional
            ``bias`` and ``rmse`` of an isolated cell: no single cell or node loses more.
        losses : list of (mean, standard deviation), optional
            Loss to the clamp in one node of each level, the root's first, for each node that shows
            one; see :func:`~geodp.accuracy.reach.count_unseen`.
        of_nodes : float64[levels], optional
            Half the intervals of nodes, see :func:`~geodp.accuracy.reach.node_margins`.
        """
        margin = self._margins()
        (low, _, inner), (high, outer, _) = self.count - margin, self.count + margin
        down = self.count[PLAIN] - self._move(self.gaining, margin[PLAIN], None, losses)
        # Both bounds hold, so the tighter one is taken. Without a cut node that gained or lost,
        # the sum has noise only.
        low = np.where(self.gaining.any(axis=0), np.maximum(inner, down), low)
        if of_nodes is not None:
            # A region that is alone in its nodes was given all that is estimated of these.
            depth, nodes = self.isolated
            half = round_out(of_nodes[depth] * np.sqrt(nodes), self.count[PLAIN])
            whole = np.minimum(low, self.count[PLAIN] - half)
            low = np.where(self.clamped & (np.asarray(depth) > 0), whole, low)
        up = self.count[PLAIN] + self._move(self.losing, margin[PLAIN], isolated, losses)
        high = np.where(self.losing.any(axis=0) | self.total_clamped, np.minimum(outer, up), high)
        return np.maximum(low - self.moved[1], 0.0), high + self.moved[0]

    def _margins(self) -> Any:
        """Return half the intervals of the three sums, without a clamp: float64[3]
        or float64[3, n].
        """
        return round_out(half_interval(self.variance, self.fourth), self.count)

    def _move(
        self,
        nodes: IntArray,
        margin: Any,
        isolated: dict[str, float] | None,
        losses: list[tuple[float, float]] | None,
    ) -> Any:
        """Return how far the clamp at some nodes and the noise together move a region's sum."""
        moved_by: Any = np.full(np.shape(margin), inf)
        if isolated is not None:
            distance = np.maximum(margin, SKEWED_Z * spread_of(isolated)) - isolated["bias"]
            moved_by = np.where(self.is_path, distance, moved_by)
        if losses is not None:
            mean, spread = np.array(losses).reshape(-1, 2).T
            lost = np.sqrt(np.tensordot(spread**2, nodes, 1)) * SKEWED_Z
            distance = np.tensordot(mean, nodes, 1) + np.hypot(margin, lost)
            moved_by = np.where(self.total_clamped, moved_by, np.minimum(moved_by, distance))
        return moved_by


def half_interval(variance: Any, fourth: Any) -> Any:
    """Compute half a 95 % interval of noise with a variance and a fourth cumulant."""
    variance = np.maximum(variance, 1e-12)
    # The excess kurtosis, 3 for Laplace and 0 for normal errors, interpolates between the two
    # factors.
    excess = np.clip(fourth / variance**2 / 3, 0, 1)
    return (Z + (LAPLACE_Z - Z) * excess) * np.sqrt(variance)


def spread_of(isolated: dict[str, float]) -> float:
    """Return the standard deviation of an isolated cell, from its bias and its error."""
    return sqrt(max(isolated["rmse"] ** 2 - isolated["bias"] ** 2, 0.0))


def round_out(margin: Any, count: Any) -> Any:
    """Widen a margin to include an integer count above 2^53, which the float ``count`` may miss."""
    return margin + np.spacing(np.abs(count))


class NodeSums:
    """Released sums of nodes, from prefix sums.

    Integer counts are summed as integers: next to one of 2^59, floats would lose the others.

    Parameters
    ----------
    table : Cells or Prior
    tops : Tops, optional
        Nodes of some level of the entire release, if the table contains only a part of it. They
        give the sums of nodes of this level and above.
    """

    def __init__(self, table: Cells | Prior, tops: Tops | None = None) -> None:
        self._from = 0 if tops is None else tops[0]
        # A table of a part of a release knows its own cells only; sums above the cut come from the
        # tops.
        self._layers = [self._layer(table.key, table.count)]
        if tops is not None:
            self._layers.append(self._layer(*tops[1:]))

    @staticmethod
    def _layer(key: NDArray[np.uint64], count: Any) -> tuple[NDArray[np.uint64], CountArray]:
        return key, np.concatenate([np.zeros(1, count.dtype), np.cumsum(count)])

    def _at(self, stride: int) -> tuple[NDArray[np.uint64], CountArray, int]:
        """Return keys, prefix sums, and how many of these keys a node covers."""
        above = bool(self._from) and stride >= self._from
        return *self._layers[above], stride // self._from if above else stride

    def list_nodes(self, stride: int) -> KeyArray:
        """List the nodes of ``stride`` keys with people: uint64[n], strictly increasing."""
        key, _, covered = self._at(stride)
        node = key // np.uint64(covered)
        listed: KeyArray = node[np.append(True, node[1:] != node[:-1])[: node.size]]
        return listed

    @property
    def is_empty(self) -> bool:
        """Whether all counts were released as 0."""
        return not self._layers[-1][0].size

    def of(self, prefix: NDArray[np.uint64], stride: int) -> FloatArray:
        """Return the sums of nodes that cover ``stride`` keys each: float64[n]."""
        key, sums, stride = self._at(stride)
        first = prefix * np.uint64(stride)
        begin, end = np.split(find(key, np.concatenate([first, first + np.uint64(stride)])), 2)
        held: FloatArray = (sums[end] - sums[begin]).astype(np.float64)
        return held
