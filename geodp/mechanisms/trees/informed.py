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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import prod
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.variance import from_below
from geodp.grid.grid import Grid
from geodp.grid.tree import overlaps
from geodp.kernels.learned import families, passes
from geodp.kernels.learned.lanes import LaneWorkspace
from geodp.mechanisms.learned.mixture import Reliability, Tables
from geodp.mechanisms.learned.residuals import Residuals
from geodp.mechanisms.trees import parallel
from geodp.mechanisms.trees.descent import Descent
from geodp.mechanisms.trees.layer import Known, Layer, Measured, Stage
from geodp.mechanisms.trees.walk import prefix_sums
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.noise.laplace import LAPLACE
from geodp.privacy.noise.node import NodeNoise, number_children
from geodp.table.counts import Cells
from geodp.table.prior import Prior
from geodp.table.stated.prior import StatedPrior, StatedPriorLevel, StatedSlope
from geodp.typing import FloatArray, IntArray

Item = TypeVar("Item")
Result = TypeVar("Result")
Put = tuple[NDArray[np.uint64], IntArray, FloatArray]
Opened = tuple[NDArray[np.uint64], IntArray, FloatArray, FloatArray]
"""Numbers of open children, what they have, their counts with noise, and the prior's people."""


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
    threads: int = 0
    known: Known | None = None  # learned elsewhere, from tables that the like of it predicts
    gathers: bool = True  # residuals are asked for: always where nothing is known

    @cached_property
    def cumulative(self) -> IntArray:
        """Prefix sums of the confidential counts: int64[m + 1]."""
        return prefix_sums(self.table)

    @cached_property
    def edges(self) -> Grid | None:
        """Return the grid if some of its keys are no cells."""
        grid = self.table.grid
        return grid if grid.size < prod(grid.order.radices) else None

    def run(self) -> tuple[NDArray[np.uint64], IntArray, tuple[Learned, ...]]:
        """Return cells above 0 and their counts in key order, and what was learned by level."""
        stage, learned = self.descend(self.descent.last)
        prefix, count = stage.layers[-1].prefix, stage.count
        if self.descent.passes == 2:
            count = self.share(stage, self.improve(stage), self.settle(stage))
        some = count > 0
        return prefix[some], count[some], learned

    def descend(self, last: int) -> tuple[Stage, tuple[Learned, ...]]:
        """Run the first pass from the root to a level, and tell what was learned on the way."""
        stage, learned = self.begin(), []
        while stage.level < last:
            layer = stage.below(self.descent)
            residuals = self.gather(stage.level + 1, layer) if self.gathers else Residuals.none()
            found = self._learn(stage, layer, residuals)
            stage = self.open(stage, layer, found.reliability)
            learned.append(found)
        return stage, tuple(learned)

    def begin(self) -> Stage:
        """Measure the root."""
        layer = Layer.of(
            np.zeros(1, np.uint64), np.zeros(1, np.int64), (1, self.descent.strides[0])
        )
        z = self._measure(0, layer, slice(0, 1))[0].astype(np.float64)
        count = np.maximum(z, 0).astype(np.int64)
        layer.members, layer.prefix = count.clip(max=1), np.zeros(int(count[0] > 0), np.uint64)
        layer.z = z[count > 0]
        return Stage(0, (layer,), count[count > 0], ())

    def _each(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Do some work on all of a layer's runs."""
        return parallel.map_items(work, items, self.threads)

    def _measure(self, i: int, layer: Layer, nodes: slice) -> Measured:
        """Measure all children of some nodes: whole numbers until the noise is in."""
        above, fanout = layer.above[nodes], layer.fanout
        noisy, layer.uniform[nodes] = self.noise[i].families(above, fanout)
        families.count_children(
            above, np.uint64(layer.stride), fanout, self.table.key, self.cumulative, noisy
        )
        inside = np.empty(0, np.bool_)
        if self.edges is not None:
            inside = overlaps(self.edges, number_children(above, fanout), layer.stride)
        return noisy, inside

    def gather(self, i: int, layer: Layer) -> Residuals:
        """Return the residuals of what the prior predicts of all children of a level's nodes."""
        sd, shape = self.descent.variances[i] ** 0.5, (layer.stride, layer.fanout)

        def work(run: slice) -> Residuals:
            found, room = Residuals.none(), layer.room()
            for nodes in layer.blocks(run):
                own = self.prior.share_children(layer.above[nodes], *shape)
                if own is None:
                    break
                noisy, inside = self._measure(i, layer, nodes)
                total = layer.total[nodes]
                passes.gather_children(noisy, inside, total, own, sd, room, found.bins, found.sums)
                layer.keep(nodes, (noisy, inside), own)
            return found

        return sum(self._each(work, layer.runs(self.threads)), start=Residuals.none())

    def _learn(self, stage: Stage, layer: Layer, residuals: Residuals) -> Learned:
        """Learn how far the prior can be trusted on the level below."""
        if self.known is not None:
            reliability = self.known[stage.level]
        else:
            reliability = learn_level(self.descent, stage.level + 1, residuals)
        return Learned(layer.stride, layer.above.size * layer.fanout, reliability, residuals)

    def open(self, stage: Stage, layer: Layer, reliability: Reliability | None) -> Stage:
        """Share out what nodes have among the children of a layer; those above 0 are open."""
        count = self._open(stage.level + 1, layer, reliability)
        learned = *stage.learned, reliability
        return Stage(stage.first, (*stage.layers, layer), count, learned)

    def _open(self, i: int, layer: Layer, reliability: Reliability | None) -> IntArray:
        """Write to the layer which children are open; what they have: int64[k]."""
        known = self.descent.variances[i], self.descent.least[i]
        tables = None if reliability is None else reliability.tables
        learned = _of_kernel(tables)
        size, fanout = layer.above.size, layer.fanout
        layer.members, layer.closed = np.empty(size, np.int64), np.empty((2, size))
        if tables is not None:
            layer.whole = np.empty(size)

        def predict(nodes: slice, kept: passes.Prior | None) -> passes.Prior:
            if tables is None:
                return layer.share, layer.whole
            own = kept or self.prior.share_children(layer.above[nodes], layer.stride, fanout)
            share, layer.whole[nodes] = cast(passes.Prior, own)  # it says what was learned of it
            return share, layer.whole[nodes]

        def work(run: slice) -> list[Opened]:
            size = min(run.stop - run.start, layer.together) * fanout
            put = np.empty(size, np.uint64), np.empty(size, np.int64), np.empty(size)
            room = layer.room()
            return [open_block(nodes, room, put) for nodes in layer.blocks(run)]

        def open_block(nodes: slice, room: LaneWorkspace, put: Put) -> Opened:
            measured, kept = layer.recall(nodes)
            noisy, inside = measured or self._measure(i, layer, nodes)
            above, prior = layer.above[nodes], predict(nodes, kept)
            found = passes.OpenChildren(layer.members[nodes], layer.closed[:, nodes], *put)
            own = above, layer.total[nodes], layer.uniform[nodes]
            k = passes.open_children(own, noisy, inside, prior, learned, known, room, found)
            return put[0][:k].copy(), put[1][:k].copy(), put[2][:k].copy(), prior[0][:k].copy()

        found = [one for some in self._each(work, layer.runs(self.threads)) for one in some]
        layer.prefix, count, layer.z, layer.share = parallel.concat(found)
        if tables is None:
            layer.forget_prior()
        return count

    def improve(self, stage: Stage, below: FloatArray | None = None) -> list[FloatArray]:
        """Improve the estimates of open nodes from below; their variances, by layer.

        ``below``: of the last layer's estimates, where these were improved already.
        """
        own = self.descent.variances
        found = [np.full(1, own[stage.level]) if below is None else below]
        for i in range(len(stage.layers) - 1, 0, -1):
            z, variance = stage.layers[i - 1].z, own[stage.first + i - 1]
            found.insert(0, self._combine(stage.layers[i], z, variance, found[0]))
        return found

    def _combine(self, layer: Layer, z: FloatArray, own: float, below: FloatArray) -> FloatArray:
        """Improve the estimates ``z`` of a layer's nodes; their variances."""
        variance, runs = np.empty(z.size), layer.runs(self.threads)

        def work(part: tuple[slice, slice]) -> None:
            some, children = part
            families.combine(
                layer.members[some],
                layer.z[children],
                _some(below, children),
                layer.closed[:, some],
                own,
                (z[some], variance[some]),
            )

        self._each(work, list(zip(runs, layer.opened(runs), strict=True)))
        return variance

    def settle(self, stage: Stage) -> IntArray:
        """Return what the root has in the end: int64[1], or int64[0] where it is closed."""
        root = stage.layers[0]
        return np.maximum(np.floor(root.z + root.uniform[: root.z.size]), 0).astype(np.int64)

    def share(self, stage: Stage, variances: list[FloatArray], count: IntArray) -> IntArray:
        """Share out the final counts of the first layer's open nodes; of the last one's: int64[k].

        ``variances``: from :meth:`improve`.
        """
        best = from_below(self.descent.fanouts, self.descent.variances)
        for j in range(1, len(stage.layers)):
            i, reliability, tables = stage.first + j, stage.learned[j - 1], None
            if reliability is not None:
                last = i == self.descent.last
                tables = reliability.tables if last else _tabulate(reliability, best[i])
            count = self._share_layer(i, stage.layers[j], count, variances[j], tables)
        return count

    def _share_layer(
        self,
        i: int,
        layer: Layer,
        total: IntArray,
        variance: FloatArray,
        tables: Tables | None,
    ) -> IntArray:
        """Share out what a layer's nodes have in the end among their open children: int64[k]."""
        count, runs = np.empty(layer.z.size, np.int64), layer.runs(self.threads)
        learned, known = _of_kernel(tables), (self.descent.least[i], i < self.descent.last)

        def work(part: tuple[slice, slice]) -> None:
            some, children = part
            nodes = layer.members[some], total[some], layer.uniform[some]
            passes.share_again(
                nodes,
                layer.z[children],
                _some(variance, children),
                layer.prior(some, children),
                learned,
                known,
                layer.room(),
                count[children],
            )

        self._each(work, list(zip(runs, layer.opened(runs), strict=True)))
        return count


def _some(variance: FloatArray, children: slice) -> FloatArray:
    """Return the variances of some children, or the one of all."""
    return variance[children] if variance.size > 1 else variance


def _of_kernel(tables: Tables | None) -> passes.Tables:
    """Return tables as kernels take them; None: those of which nothing was learned."""
    if tables is None:
        return 1.0, np.empty(0, np.int64), np.empty((0, 0, 0))
    return tables.sd, tables.row, tables.both


LEAST_GAIN = 1, 6
"""Of the noise's variance: predictions that take away less are left alone. Where they are off by
much more than the noise, little can be gained, and of few nodes not even that is learned well."""


def learn_level(descent: Descent, i: int, residuals: Residuals) -> Reliability | None:
    """Learn from residuals how far a level's predictions can be trusted; None: not at all."""
    law, cells = descent.laws[i], i == len(descent.laws) - 1
    sd, laplace = descent.variances[i] ** 0.5, law.identity[0] == LAPLACE
    found = Reliability.learn(residuals, sd=sd, laplace=laplace, cells=cells)
    return found if found is not None and found.gains(LEAST_GAIN, residuals) else None


@lru_cache(maxsize=32)
def _tabulate(reliability: Reliability, variance: float) -> Tables:
    """Return tables for better estimates, once for all tables that go by them."""
    return reliability.tabulate(variance)


def refine(
    table: Cells,
    descent: Descent,
    key: NoiseKey,
    prior: Prior,
    threads: int = 0,
    known: Known | None = None,
    gather: bool = True,
) -> tuple[NDArray[np.uint64], IntArray, tuple[Learned, ...]]:
    """Cells above 0 and their counts in key order, and what was learned on every level.

    Parameters
    ----------
    threads : int
        0: one for every processor, where there is much to do.
    known : tuple of (Reliability or None), optional
        Of every level below the root, learned from other tables with the same noise that priors of
        the same kind predict. Default: learned from this table.
    gather : bool
        Whether residuals are asked for. False: none are in the result, which is the same otherwise;
        with ``known`` only.
    """
    if descent.is_short(table.key.size):
        threads = threads or 1
    return informed_of(table, descent, key, prior, threads, known, gather or known is None).run()


def informed_of(
    table: Cells, descent: Descent, key: NoiseKey, prior: Prior, *more: Any
) -> Informed:
    """Return both passes with the noise of a key; ``more``: further fields in their order."""
    noise = (NodeNoise(key, Stream.PYRAMID + i, law) for i, law in enumerate(descent.laws))
    return Informed(table, prior, descent, tuple(noise), *more)


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
