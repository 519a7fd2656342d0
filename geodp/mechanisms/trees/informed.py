"""The pyramid with a prior, which predicts children; its reliability is learned on every level.

The measurements are those of the pyramid without a prior, so everything here is post-processing of
them and of a public table. Level by level from the root, a node's count times the prior's shares
predicts its children; the residuals of all nodes of the level determine how reliable such
predictions are (:mod:`geodp.mechanisms.learned`); estimates between prediction and measurement
decide which children are opened. Estimates from below are the pyramid's; on the way down they are
shrunk towards predictions once more. A level whose predictions are hardly better than equal shares
is treated as without a prior.
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
from geodp.mechanisms.learned import Reliability, Residuals, Tables
from geodp.mechanisms.trees import parallel
from geodp.mechanisms.trees.descent import Descent
from geodp.mechanisms.trees.layer import Layer, Measured, Reliabilities, Stage
from geodp.mechanisms.trees.traversal import open_roots, prefix_sums
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.noise.law import LAPLACE
from geodp.privacy.noise.node import NodeNoise, number_children
from geodp.table.counts import Cells
from geodp.table.prior import Prior
from geodp.table.stated.release import StatedPrior, StatedPriorLevel, StatedSlope
from geodp.typing import FloatArray, IntArray

Item = TypeVar("Item")
Result = TypeVar("Result")
Put = tuple[NDArray[np.uint64], IntArray, FloatArray]
Opened = tuple[NDArray[np.uint64], IntArray, FloatArray, FloatArray]
"""Prefixes of open children, their counts, their noisy counts, and the prior's counts."""


@dataclass(frozen=True, eq=False)
class Learned:
    """The learned reliability of a level's predictions.

    Attributes
    ----------
    stride : int
        Keys of a node.
    nodes : int
        Number of nodes measured.
    reliability : Reliability or None
        None: the prior is not used on this level.
    residuals : Residuals
    """

    stride: int
    nodes: int
    reliability: Reliability | None
    residuals: Residuals


@dataclass(frozen=True, eq=False)
class Informed:
    """Both passes over the visited nodes, level by level."""

    # A node's result depends on the node and on its level's histogram, which is a sum of integers:
    # blocks and threads do not affect the release.

    table: Cells
    prior: Prior
    descent: Descent
    noise: tuple[NodeNoise, ...]
    threads: int = 0
    reliabilities: Reliabilities | None = (
        None  # learned from other tables with predictions of the same kind
    )
    gathers: bool = True  # whether residuals are gathered: always if `known` is None
    root_errors: float = 0  # standard errors by which a root below them is raised to open nodes

    @cached_property
    def cumulative(self) -> IntArray:
        """Prefix sums of the confidential counts: int64[m + 1]."""
        return prefix_sums(self.table)

    @cached_property
    def edges(self) -> Grid | None:
        """The grid, if some of its keys are not cells."""
        grid = self.table.grid
        return grid if grid.size < prod(grid.order.radices) else None

    def run(self) -> tuple[NDArray[np.uint64], IntArray, tuple[Learned, ...]]:
        """Return cells above 0 and their counts in key order, and the reliability of each level."""
        stage, learned = self.descend(self.descent.last)
        prefix, count = stage.layers[-1].prefix, stage.count
        if self.descent.passes == 2:
            count = self.share(stage, self.improve(stage), self.final_counts(stage))
        some = count > 0
        return prefix[some], count[some], learned

    def descend(self, last: int) -> tuple[Stage, tuple[Learned, ...]]:
        """Run the first pass from the root to a level; also return each level's reliability."""
        stage, learned = self.begin(), []
        while stage.level < last:
            layer = stage.below(self.descent)
            residuals = self.gather(stage.level + 1, layer) if self.gathers else Residuals.none()
            level = self._learn(stage, layer, residuals)
            stage = self.open(stage, layer, level.reliability)
            learned.append(level)
        return stage, tuple(learned)

    def begin(self) -> Stage:
        """Measure the root."""
        layer = Layer.of(
            np.zeros(1, np.uint64), np.zeros(1, np.int64), (1, self.descent.strides[0])
        )
        z = self._measure(0, layer, slice(0, 1))[0].astype(np.float64)
        # The root is clamped to 0 as every node is; a closed root ends the release.
        count = open_roots(z, self.descent.variances[0], self.root_errors)
        layer.members, layer.prefix = count.clip(max=1), np.zeros(int(count[0] > 0), np.uint64)
        layer.z = z[count > 0]
        return Stage(0, (layer,), count[count > 0], ())

    def _each(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Apply a function to all of a layer's chunks, in parallel."""
        return parallel.map_items(work, items, self.threads)

    def _measure(self, i: int, layer: Layer, nodes: slice) -> Measured:
        """Measure all children of some nodes: integers until the noise is in."""
        above, fanout = layer.above[nodes], layer.fanout
        noisy, layer.uniform[nodes] = self.noise[i].families(above, fanout)
        families.count_children(
            above, np.uint64(layer.stride), fanout, self.table.key, self.cumulative, noisy
        )
        inside = np.empty(0, np.bool_)
        # A block of noise serves all children of a node, so noise is also drawn for those outside
        # the domain. It is ignored: `inside` excludes them.
        if self.edges is not None:
            inside = overlaps(self.edges, number_children(above, fanout), layer.stride)
        return noisy, inside

    def gather(self, i: int, layer: Layer) -> Residuals:
        """Gather the residuals of the prior's predictions of all children of a level's nodes."""
        sd, shape = self.descent.variances[i] ** 0.5, (layer.stride, layer.fanout)

        def work(run: slice) -> Residuals:
            residuals, workspace = Residuals.none(), layer.workspace()
            for nodes in layer.blocks(run):
                predicted = self.prior.share_children(layer.above[nodes], *shape)
                if predicted is None:
                    break
                noisy, inside = self._measure(i, layer, nodes)
                total = layer.total[nodes]
                passes.gather_children(
                    noisy, inside, total, predicted, sd, workspace, residuals.bins, residuals.sums
                )
                layer.keep(nodes, (noisy, inside), predicted)
            return residuals

        return sum(self._each(work, layer.runs(self.threads)), start=Residuals.none())

    def _learn(self, stage: Stage, layer: Layer, residuals: Residuals) -> Learned:
        """Learn the reliability of the prior on the level below."""
        if self.reliabilities is not None:
            reliability = self.reliabilities[stage.level]
        else:
            reliability = learn_level(self.descent, stage.level + 1, residuals)
        return Learned(layer.stride, layer.above.size * layer.fanout, reliability, residuals)

    def open(self, stage: Stage, layer: Layer, reliability: Reliability | None) -> Stage:
        """Apportion nodes' counts to the children of a layer; those above 0 are open."""
        count = self._open(stage.level + 1, layer, reliability)
        learned = *stage.learned, reliability
        return Stage(stage.first, (*stage.layers, layer), count, learned)

    def _open(self, i: int, layer: Layer, reliability: Reliability | None) -> IntArray:
        """Write the open children to the layer; return their counts: int64[k]."""
        limits = self.descent.variances[i], self.descent.min_counts[i]
        tables = None if reliability is None else reliability.tables
        learned = _of_kernel(tables)
        size, fanout = layer.above.size, layer.fanout
        layer.members, layer.closed = np.empty(size, np.int64), np.empty((2, size))
        if tables is not None:
            layer.totals = np.empty(size)

        def predict(nodes: slice, stored: passes.Prior | None) -> passes.Prior:
            if tables is None:
                return layer.share, layer.totals
            above, stride = layer.above[nodes], layer.stride
            predicted = stored or self.prior.share_children(above, stride, fanout)
            # Not None: a level without predictions has no tables.
            share, layer.totals[nodes] = cast(passes.Prior, predicted)
            return share, layer.totals[nodes]

        def work(run: slice) -> list[Opened]:
            size = min(run.stop - run.start, layer.together) * fanout
            put = np.empty(size, np.uint64), np.empty(size, np.int64), np.empty(size)
            workspace = layer.workspace()
            return [open_block(nodes, workspace, put) for nodes in layer.blocks(run)]

        def open_block(nodes: slice, workspace: LaneWorkspace, put: Put) -> Opened:
            measured, stored = layer.recall(nodes)
            noisy, inside = measured or self._measure(i, layer, nodes)
            above, prior = layer.above[nodes], predict(nodes, stored)
            opened = passes.OpenChildren(layer.members[nodes], layer.closed[:, nodes], *put)
            nodes_here = above, layer.total[nodes], layer.uniform[nodes]
            k = passes.open_children(
                nodes_here, noisy, inside, prior, learned, limits, workspace, opened
            )
            return put[0][:k].copy(), put[1][:k].copy(), put[2][:k].copy(), prior[0][:k].copy()

        opened = [one for some in self._each(work, layer.runs(self.threads)) for one in some]
        layer.prefix, count, layer.z, layer.share = parallel.concat(opened)
        if tables is None:
            layer.share = layer.totals = np.empty(0)  # nothing is predicted from them
        return count

    def improve(self, stage: Stage, below: FloatArray | None = None) -> list[FloatArray]:
        """Improve the estimates of open nodes from below; return their variances, by layer.

        ``below``: variances of the last layer's estimates, if these were improved already.
        """
        noise = self.descent.variances
        variances = [np.full(1, noise[stage.level]) if below is None else below]
        for i in range(len(stage.layers) - 1, 0, -1):
            z, variance = stage.layers[i - 1].z, noise[stage.first + i - 1]
            variances.insert(0, self._combine(stage.layers[i], z, variance, variances[0]))
        return variances

    def _combine(
        self, layer: Layer, z: FloatArray, noise_variance: float, below: FloatArray
    ) -> FloatArray:
        """Improve the estimates ``z`` of a layer's nodes; return their variances."""
        variance, runs = np.empty(z.size), layer.runs(self.threads)

        def work(part: tuple[slice, slice]) -> None:
            some, children = part
            families.combine(
                layer.members[some],
                layer.z[children],
                _some(below, children),
                layer.closed[:, some],
                noise_variance,
                (z[some], variance[some]),
            )

        self._each(work, list(zip(runs, layer.opened(runs), strict=True)))
        return variance

    def final_counts(self, stage: Stage) -> IntArray:
        """Return the root's final count: int64[1], or int64[0] if it is closed."""
        # Rounded with the root's own uniform number, like every other count.
        root = stage.layers[0]
        return np.maximum(np.floor(root.z + root.uniform[: root.z.size]), 0).astype(np.int64)

    def share(self, stage: Stage, variances: list[FloatArray], count: IntArray) -> IntArray:
        """Apportion the final counts of the first layer down to the last one: int64[k].

        ``variances``: from :meth:`improve`.
        """
        best = from_below(self.descent.fanouts, self.descent.variances)
        for j in range(1, len(stage.layers)):
            i, reliability, tables = stage.first + j, stage.learned[j - 1], None
            # Estimates from below have smaller and nearly normal errors, for which other tables
            # hold; those of cells are the measurements themselves.
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
        """Apportion the final counts of a layer's nodes to their open children: int64[k]."""
        count, runs = np.empty(layer.z.size, np.int64), layer.runs(self.threads)
        learned, limits = _of_kernel(tables), (self.descent.min_counts[i], i < self.descent.last)

        def work(part: tuple[slice, slice]) -> None:
            some, children = part
            nodes = layer.members[some], total[some], layer.uniform[some]
            passes.share_again(
                nodes,
                layer.z[children],
                _some(variance, children),
                layer.prior(some, children),
                learned,
                limits,
                layer.workspace(),
                count[children],
            )

        self._each(work, list(zip(runs, layer.opened(runs), strict=True)))
        return count


def _some(variance: FloatArray, children: slice) -> FloatArray:
    """Return the variances of some children, or the common one."""
    return variance[children] if variance.size > 1 else variance


def _of_kernel(tables: Tables | None) -> passes.Tables:
    """Convert tables to the kernels' form; None: empty tables."""
    if tables is None:
        return 1.0, np.empty(0, np.int64), np.empty((0, 0, 0))
    return tables.sd, tables.row, tables.both


MIN_GAIN = 1, 6
"""Smallest useful gain as a fraction of the noise's variance: predictions that remove less are not
used. If they are off by much more than the noise, little can be gained, and from few nodes not even
that is learned well."""


MAX_EXCESS = 1, 4
"""Largest excess of residuals over the noise above the cells, as a part of that of equal shares.

A smooth prior, such as the towns of a gazetteer, is only somewhat closer than equal shares;
estimates drawn towards it would put people into empty areas. Cells need no such limit: there, a
prior that is hardly better is told by its residuals alone."""

NOISE = {False: 204, True: 181}
"""Mean size of Gaussian and of Laplace noise, in 1/256 of its standard deviation."""


def learn_level(descent: Descent, i: int, residuals: Residuals) -> Reliability | None:
    """Learn the reliability of a level's predictions from residuals; None: they are not used."""
    law, cells = descent.laws[i], i == len(descent.laws) - 1
    sd, laplace = descent.variances[i] ** 0.5, law.identity[0] == LAPLACE
    if not cells and not residuals.improve_on_even(MAX_EXCESS, NOISE[laplace]):
        return None
    learned = Reliability.learn(residuals, sd=sd, laplace=laplace, cells=cells)
    return learned if learned is not None and learned.gains(MIN_GAIN, residuals) else None


@lru_cache(maxsize=32)
def _tabulate(reliability: Reliability, variance: float) -> Tables:
    """Make tables for improved estimates; cached, as several releases may use them."""
    return reliability.tabulate(variance)


def refine(
    table: Cells,
    descent: Descent,
    key: NoiseKey,
    prior: Prior,
    threads: int = 0,
    reliabilities: Reliabilities | None = None,
    gather: bool = True,
) -> tuple[NDArray[np.uint64], IntArray, tuple[Learned, ...]]:
    """Return cells above 0 and their counts in key order, and the reliability of every level.

    Parameters
    ----------
    threads : int
        0: one for every processor, if there is much to do.
    reliabilities : tuple of (Reliability or None), optional
        Reliability on every level below the root, learned from other tables with the same noise
        and priors of the same kind. Default: learned from this table.
    gather : bool
        Whether to gather residuals. False: the result has none, and is the same otherwise; only
        with ``reliabilities``.
    """
    if descent.is_short(table.key.size):
        threads = threads or 1
    return informed_of(
        table, descent, key, prior, threads, reliabilities, gather or reliabilities is None
    ).run()


def informed_of(
    table: Cells, descent: Descent, key: NoiseKey, prior: Prior, *more: Any
) -> Informed:
    """Make both passes with the noise of a key; ``more``: further fields in their order."""
    noise = (NodeNoise(key, Stream.PYRAMID + i, law) for i, law in enumerate(descent.laws))
    return Informed(table, prior, descent, tuple(noise), *more)


CHANGES = 1, 2, 4, 8, 16
"""Changes of cells, in standard deviations of their noise, whose attenuation the card states."""


def state(prior: Prior, learned: tuple[Learned, ...]) -> StatedPrior:
    """Describe a prior and its learned reliability for the card."""
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
    """Round a number to three significant digits."""
    return float(f"{value:.3g}")
