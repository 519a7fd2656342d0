"""The pyramid with a prior: its children are predicted, and how well is learned on every level.

The measurements are those of the pyramid without one, so that all of this is post-processing of
them and of a public table. Level by level from the root: what a node has, shared out as the prior
is, predicts its children; residuals of all nodes of the level together say how far such predictions
can be trusted (:mod:`geodp.mechanisms.learned`); estimates between the two decide what is opened.
Estimates from below are the pyramid's own; on the way down they are brought nearer to predictions
once more, and the populous are spared as without a prior. A level whose predictions are hardly
better than even ones is treated as without a prior.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.variance import from_below
from geodp.grid.grid import Grid
from geodp.grid.tree import overlaps
from geodp.kernels.learned import families
from geodp.kernels.pyramid import shares as kernels
from geodp.kernels.pyramid.spare import spare_all
from geodp.mechanisms.learned.mixture import Reliability, Tables
from geodp.mechanisms.learned.residuals import Residuals
from geodp.mechanisms.trees import parallel
from geodp.mechanisms.trees.descent import Descent
from geodp.mechanisms.trees.walk import prefix_sums
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.noise.laplace import LAPLACE
from geodp.privacy.noise.node import NodeNoise, number_children
from geodp.table.counts import Cells
from geodp.table.prior import Prior
from geodp.table.stated_prior import StatedPrior, StatedPriorLevel, StatedSlope

CHILDREN = 1 << 16
"""Most nodes that are measured together: they stay in the cache."""

LEAST_FACTOR = 1e-4
"""Of a variance that is left: a child that is predicted exactly still gives way to its siblings."""

Reals = NDArray[np.float64]
Result = TypeVar("Result")
Known = tuple[Reliability | None, ...]


@dataclass(frozen=True, eq=False)
class Learned:
    """What a level's predictions turned out to be.

    Attributes
    ----------
    stride : int
        Keys of a node.
    nodes : int
        That were measured.
    reliability : Reliability or None
        None: the prior is not in use.
    residuals : Residuals
    """

    stride: int
    nodes: int
    reliability: Reliability | None
    residuals: Residuals


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
    inside : bool[n * fanout] or None
        Which hold a cell of the domain; None: all.
    uniform : float64[n]
        The nodes' random numbers.
    opened : int64[k]
        Places of the children that are open.
    closed : float64[2, n]
        Sums of the other children's counts and of their variances.
    predicted : float64[n * fanout]
        What the prior makes of the totals, until children are open.
    """

    above: NDArray[np.uint64]
    total: NDArray[np.int64]
    fanout: int
    stride: int
    z: Reals
    inside: NDArray[np.bool_] | None
    uniform: Reals
    opened: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    closed: Reals = field(default_factory=lambda: np.empty((2, 0)))
    predicted: Reals = field(default_factory=lambda: np.empty(0))

    @property
    def members(self) -> NDArray[np.int64]:
        """How many children of each node are open."""
        return np.bincount(self.opened // self.fanout, minlength=self.above.size)

    @property
    def prefix(self) -> NDArray[np.uint64]:
        """Numbers of the open children."""
        fanout = np.uint64(self.fanout)
        node, child = np.divmod(self.opened.astype(np.uint64), fanout)
        return np.asarray(self.above[node] * fanout + child, np.uint64)

    def variances(self, own: float, children: slice = slice(None)) -> Reals:
        """Return the variances of the measurements: 0 outside of the domain."""
        size = self.z[children].size
        if self.inside is None:
            return np.full(size, own)
        return np.asarray(own * self.inside[children], np.float64)

    def blocks(self) -> list[tuple[slice, slice]]:
        """Return nodes in blocks that stay in the cache, and their children."""
        n, f = self.above.size, self.fanout
        cuts = range(0, max(n, 1), max(CHILDREN // f, 1))
        return [(slice(a, b), slice(a * f, b * f)) for a, b in pairwise([*cuts, n])]


@dataclass(frozen=True, eq=False)
class Informed:
    """Both passes over the nodes that are visited, level by level.

    A node's result depends on the node and on its level's histogram, which is a sum of whole
    numbers: blocks and threads do not show.
    """

    table: Cells
    prior: Prior
    descent: Descent
    noise: tuple[NodeNoise, ...]
    threads: int
    known: Known | None = None  # learned elsewhere, from tables that the like of it predicts

    @cached_property
    def cumulative(self) -> NDArray[np.int64]:
        """Prefix sums of the confidential counts: int64[m + 1]."""
        return prefix_sums(self.table)

    @cached_property
    def edges(self) -> Grid | None:
        """Return the grid if some of its keys are no cells."""
        grid = self.table.grid
        return grid if grid.size < prod(grid.order.radices) else None

    def run(self) -> tuple[NDArray[np.uint64], NDArray[np.int64], tuple[Learned, ...]]:
        """Return cells above 0 and their counts in key order, and what was learned by level."""
        descent, root = self.descent, np.zeros(1, np.uint64)
        layer = self._measure(0, root, np.zeros(1, np.int64))
        count = np.maximum(layer.z, 0).astype(np.int64)
        layer.opened = np.flatnonzero(count)
        layer.z, count = layer.z[layer.opened], count[layer.opened]
        layers: list[Layer] = [layer]
        learned: list[Learned] = []
        for i in range(1, len(descent.laws)):
            layer = self._measure(i, layer.prefix, count)
            found = self._learn(i, layer)
            count = self._open(i, layer, found.reliability)
            layers.append(layer)
            learned.append(found)
        if descent.passes == 2:
            variances = self._improve(layers)
            count = self._share(layers, variances, [one.reliability for one in learned])
        some = count > 0
        return layers[-1].prefix[some], count[some], tuple(learned)

    def _each(self, layer: Layer, work: Callable[[tuple[slice, slice]], Result]) -> list[Result]:
        """Do some work on every block of a layer's nodes."""
        return parallel.map_items(work, layer.blocks(), self.threads)

    def _measure(self, i: int, above: NDArray[np.uint64], total: NDArray[np.int64]) -> Layer:
        """Measure all children of some nodes: whole numbers until the noise is in."""
        fanout, stride = (1, *self.descent.fanouts)[i], self.descent.strides[i]
        size = above.size * fanout
        inside = None if self.edges is None else np.empty(size, np.bool_)
        layer = Layer(above, total, fanout, stride, np.empty(size), inside, np.empty(above.size))

        def work(block: tuple[slice, slice]) -> None:
            nodes, children = block
            noisy, layer.uniform[nodes] = self.noise[i].families(above[nodes], fanout)
            known = self.table.key, self.cumulative
            families.count_children(above[nodes], np.uint64(stride), fanout, *known, noisy)
            layer.z[children] = noisy
            if inside is not None and self.edges is not None:
                number = number_children(above[nodes], fanout)
                inside[children] = overlaps(self.edges, number, stride)

        self._each(layer, work)
        return layer

    def _predict(self, layer: Layer, nodes: slice, total: NDArray[np.int64]) -> Reals | None:
        """Return what nodes have, shared out as the prior is: float64[n * fanout]."""
        prefix, shape = layer.above[nodes], (layer.stride, layer.fanout)
        return self.prior.predict_children(prefix, total[nodes], *shape)

    def _learn(self, i: int, layer: Layer) -> Learned:
        """Learn how far the prior can be trusted on a level."""
        sd = self.descent.variances[i] ** 0.5

        def work(block: tuple[slice, slice]) -> Residuals | None:
            nodes, children = block
            predicted = self._predict(layer, nodes, layer.total)
            if predicted is None:
                return None
            layer.predicted[children] = predicted
            measured, f = layer.z[children], layer.fanout
            if layer.inside is None:
                even = np.repeat(layer.total[nodes] / f, f)
                return Residuals.of(measured, predicted, even, sd)
            inside = layer.inside[children]
            cells = np.maximum(inside.reshape(-1, f).sum(axis=1), 1)
            even = np.repeat(layer.total[nodes] / cells, f)
            return Residuals.of(measured[inside], predicted[inside], even[inside], sd)

        layer.predicted = np.empty(layer.z.size)
        residuals = Residuals.none()
        for found in self._each(layer, work):
            if found is not None:
                residuals = residuals + found
        if self.known is not None:
            return Learned(layer.stride, layer.z.size, self.known[i - 1], residuals)
        reliability = learn_level(self.descent, i, residuals)
        return Learned(layer.stride, layer.z.size, reliability, residuals)

    def _open(self, i: int, layer: Layer, reliability: Reliability | None) -> NDArray[np.int64]:
        """Share out what nodes have; children above 0 are open. Their counts: int64[k]."""
        own, least = self.descent.variances[i], self.descent.least[i]
        tables = None if reliability is None else reliability.tables
        layer.closed = np.empty((2, layer.above.size))

        def work(block: tuple[slice, slice]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
            nodes, children = block
            z = measured = layer.z[children]
            variance = measurement = layer.variances(own, children)
            if tables is not None:
                predicted = layer.predicted[children]
                z, variance = _bring_nearer(tables, z, predicted, variance)
            members = np.full(layer.above[nodes].size, layer.fanout)
            known = members, layer.total[nodes], layer.uniform[nodes], least
            out, sums = np.empty(z.size, np.int64), layer.closed[:, nodes]
            kernels.share(z, variance, *known, out)
            families.add_closed(measured, measurement, out, layer.fanout, sums)
            some = np.flatnonzero(out)
            return some + children.start, out[some]

        layer.opened, count = parallel.concat(self._each(layer, work))
        layer.z, layer.inside = layer.z[layer.opened], None
        layer.predicted = np.empty(0)
        return count

    def _improve(self, layers: list[Layer]) -> list[Reals]:
        """Improve the estimates of open nodes from below; their variances, by layer."""
        own = self.descent.variances
        found = [np.full(layers[-1].z.size, own[-1])]
        for i in range(len(layers) - 1, 0, -1):
            layer, nodes = layers[i], layers[i - 1]
            better = np.array([nodes.z, nodes.z])
            known = layer.members, layer.z, found[0], layer.closed
            families.combine(*known, own[i - 1], better)
            nodes.z, variance = better
            found.insert(0, variance)
        return found

    def _share(
        self,
        layers: list[Layer],
        variances: list[Reals],
        learned: list[Reliability | None],
    ) -> NDArray[np.int64]:
        """Share out the final counts; those of the open cells: int64[k]."""
        root, last = layers[0], len(layers) - 1
        count = np.maximum(np.floor(root.z + root.uniform[root.opened]), 0).astype(np.int64)
        best = from_below(self.descent.fanouts, self.descent.variances)
        for i in range(1, len(layers)):
            layer, variance, reliability = layers[i], variances[i], learned[i - 1]
            z, out = layer.z, np.empty(layer.z.size, np.int64)
            if reliability is not None:
                tables = reliability.tables if i == last else _tabulate(reliability, best[i])
                predicted = self._predict_opened(layer, count)
                z, variance = _bring_nearer(tables, z, predicted, variance)
            members = layer.members
            spare_all(z, variance, members, count, (layer.fanout, i < last))
            known = members, count, layer.uniform, self.descent.least[i]
            kernels.share(z, variance, *known, out)
            count = out
        return count

    def _predict_opened(self, layer: Layer, total: NDArray[np.int64]) -> Reals:
        """Return the predictions of open children."""
        found = np.empty(layer.opened.size)

        def work(block: tuple[slice, slice]) -> None:
            nodes, children = block
            predicted = self._predict(layer, nodes, total)
            assert predicted is not None  # of what says nothing nothing is learned
            some = slice(*np.searchsorted(layer.opened, [children.start, children.stop]))
            found[some] = predicted[layer.opened[some] - children.start]

        self._each(layer, work)
        return found


def learn_level(descent: Descent, i: int, residuals: Residuals) -> Reliability | None:
    """Learn from residuals how far a level's predictions can be trusted; None: not at all."""
    law, cells = descent.laws[i], i == len(descent.laws) - 1
    sd, laplace = descent.variances[i] ** 0.5, law.identity[0] == LAPLACE
    return Reliability.learn(residuals, sd=sd, laplace=laplace, cells=cells)


@lru_cache(maxsize=32)
def _tabulate(reliability: Reliability, variance: float) -> Tables:
    """Return tables for better estimates, once for all tables that go by them."""
    return reliability.tabulate(variance)


def _bring_nearer(
    tables: Tables, z: Reals, predicted: Reals, variance: Reals
) -> tuple[Reals, Reals]:
    """Return estimates nearer to predictions, and their variances."""
    better, factor = tables.apply(z, predicted)
    return better, variance * np.maximum(factor, LEAST_FACTOR)


def refine(
    table: Cells,
    descent: Descent,
    key: NoiseKey,
    prior: Prior,
    threads: int = 0,
    known: Known | None = None,
) -> tuple[NDArray[np.uint64], NDArray[np.int64], tuple[Learned, ...]]:
    """Cells above 0 and their counts in key order, and what was learned on every level.

    Parameters
    ----------
    threads : int
        0: one for every processor.
    known : tuple of (Reliability or None), optional
        Of every level below the root, learned from other tables with the same noise that priors of
        the same kind predict. Default: learned from this table.
    """
    noise = (NodeNoise(key, Stream.PYRAMID + i, law) for i, law in enumerate(descent.laws))
    return Informed(table, prior, descent, tuple(noise), threads, known).run()


CHANGES = 1, 2, 4, 8, 16
"""Of cells, in standard deviations of their noise, for which the attenuation is stated."""


def state(prior: Prior, learned: tuple[Learned, ...]) -> StatedPrior:
    """Return what a card says of a prior and of what was learned about it."""
    levels = tuple(
        StatedPriorLevel(
            keys=one.stride,
            nodes=one.nodes,
            in_use=0.0
            if one.reliability is None
            else _brief(one.residuals.members / max(one.nodes, 1)),
            reliability=0.0
            if one.reliability is None
            else _brief(one.reliability.gain(one.residuals)),
        )
        for one in learned
    )
    cells = learned[-1].reliability if learned else None
    slopes: tuple[StatedSlope, ...] = ()
    if cells is not None:
        slopes = tuple(
            StatedSlope(_brief(size * cells.sd), _brief(cells.slope(size, learned[-1].residuals)))
            for size in CHANGES
        )
    return replace(prior.describe(), levels=levels, attenuation=slopes)


def _brief(value: float) -> float:
    """Return a number to three digits."""
    return float(f"{value:.3g}")
