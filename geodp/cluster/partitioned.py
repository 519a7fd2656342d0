"""A release in two parts: the top of the tree, and the subtrees below a cut.

The result for a node depends on the noise of nodes, which is a function of the key and the node,
and on true counts of the measured nodes. The top therefore needs the totals of the cut's nodes
only, and each subtree its own cells; together they are the release of one machine, bit for bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from geodp.accuracy.margins import AROUND, UNKNOWN, Margins
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.tree import overlaps
from geodp.kernels.noise import LEVELS
from geodp.mechanisms.base import Mechanism
from geodp.mechanisms.central.pyramid import Pyramid
from geodp.mechanisms.central.topdown import RefinementNoise, RefinementRun, TopDown
from geodp.mechanisms.learned.mixture import Reliability
from geodp.mechanisms.learned.residuals import Residuals
from geodp.mechanisms.trees.descent import Descent
from geodp.mechanisms.trees.informed import Informed, Learned, informed_of, learn_level
from geodp.mechanisms.trees.layer import Held, Layer, Roots, Seen, Stage, Subtrees
from geodp.mechanisms.trees.traversal import OpenNodes, PassRecords, Traversal
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.draws import Draws
from geodp.table.counts import Cells
from geodp.table.prior import Prior
from geodp.typing import FloatArray, IntArray, KeyArray, KeyedCounts

MAX_ROOTS = 1 << 17
"""Maximal number of nodes of a cut: so many that on clustered maps no node alone keeps one of a
hundred workers longer than the others; ``python -m bench cluster_cut``."""


@dataclass(frozen=True)
class TreePartition(ABC):
    """The cut of a method's tree on a grid, and the refinement of its two parts.

    Attributes
    ----------
    grid : Grid
    event : Measurement
    method : Mechanism
    """

    grid: Grid
    event: Measurement
    method: Mechanism

    def declare(self) -> Draws:
        """Declare all draws of the release, in any part of the tree."""
        return self.method.declare(self.grid, self.event)

    @property
    @abstractmethod
    def stride(self) -> int:
        """Number of keys that each root of a subtree covers."""

    @property
    def two_passes(self) -> bool:
        """Whether the top waits for estimates of the roots from the subtrees."""
        return False

    @property
    def learns(self) -> range:
        """Levels for which all subtrees contribute statistics before any of them proceeds."""
        return range(0)

    @property
    def margins(self) -> Margins | None:
        """Margins of the cells of the release; None for those of its method."""
        return None

    @abstractmethod
    def above(self, totals: Cells, key: NoiseKey) -> Roots:
        """Return the roots, from totals of the cut's nodes, keyed by the first key of each."""

    @abstractmethod
    def below(self, cells: Cells, roots: Roots, key: NoiseKey) -> Subtrees:
        """Return some subtrees, from their cells; other cells are ignored."""

    def improve(
        self,
        totals: Cells,
        key: NoiseKey,
        z: FloatArray,
        variance: FloatArray,
    ) -> KeyedCounts:
        """Return the roots above 0 after the second pass, from the estimates of the subtrees."""
        raise NotImplementedError

    def finish(self, subtrees: Subtrees, count: IntArray) -> KeyedCounts:
        """Return the released cells of some subtrees, from the final counts of their roots."""
        return subtrees.cells

    def nodes(self) -> KeyArray:
        """Return the cut's nodes that contain a cell of the public domain: uint64[n]."""
        # Public: the nodes depend on the domain only.
        every = np.arange(prod(self.grid.order.radices) // self.stride, dtype=np.uint64)
        return every[overlaps(self.grid, every, self.stride)]


@dataclass(frozen=True)
class PyramidPartition(TreePartition):
    """Cut of the pyramid, at its finest level with at most ``MAX_ROOTS`` nodes."""

    method: Pyramid

    @property
    def level(self) -> int:
        """Level of the cut in the chain: the cells around a cell lie in its subtree, or
        roots are cells.
        """
        strides = self.descent.strides
        few = [i for i, s in enumerate(strides) if strides[0] // s <= MAX_ROOTS]
        # Margins look at the cells around a cell: a subtree must contain them all, so that each
        # part computes its intervals alone.
        return max(i for i in few if strides[i] == 1 or strides[i] >= AROUND)

    @property
    def stride(self) -> int:
        """Number of keys that each root of a subtree covers."""
        return self.descent.strides[self.level]

    @property
    def descent(self) -> Descent:
        """Levels and noise of the method."""
        return self.method.descent(self.grid, self.event)

    @property
    def two_passes(self) -> bool:
        """Whether the method has two passes."""
        return self.method.passes == 2

    def above(self, totals: Cells, key: NoiseKey) -> Roots:
        """Run the first pass down to the cut."""
        traversal = Traversal.of(totals, self.descent, key)
        front, _ = traversal.roots(np.zeros(1, np.uint64))
        cut, _ = traversal.open(front, self.level)
        return Roots(cut.prefix, cut.count, cut.z, cut.variance)

    def below(self, cells: Cells, roots: Roots, key: NoiseKey) -> Subtrees:
        """Run the first pass below the cut, and improve the estimates up to the roots."""
        traversal, none = Traversal.of(cells, self.descent, key), PassRecords([], 0)
        # Copies, as Dask may run a task again with the same arguments.
        z, variance = roots.z.copy(), roots.variance.copy()
        front = OpenNodes(self.level, roots.prefix, roots.count, z, variance)
        if not self.two_passes:
            cells_below, _ = traversal.cells(front, self.descent.last)
            return Subtrees(roots, cells_below, none)
        records, _ = traversal.measure(front, self.descent.last)
        better = replace(roots, z=front.z, variance=front.variance)
        return Subtrees(better, (np.empty(0, np.uint64), np.empty(0, np.int64)), records)

    def improve(
        self,
        totals: Cells,
        key: NoiseKey,
        z: FloatArray,
        variance: FloatArray,
    ) -> KeyedCounts:
        """Repeat the first pass, with improved estimates of the roots, and run the second."""
        traversal = Traversal.of(totals, self.descent, key)
        front, uniform = traversal.roots(np.zeros(1, np.uint64))
        cut, _ = traversal.open(front, self.level)
        count = traversal.final_counts(front, uniform, replace(cut, z=z, variance=variance))
        return cut.prefix[count > 0], count[count > 0]

    def finish(self, subtrees: Subtrees, count: IntArray) -> KeyedCounts:
        """Run the second pass below the cut."""
        if not self.two_passes:
            return subtrees.cells
        roots = subtrees.roots
        empty = Cells(self.grid, np.empty(0, np.uint64), np.empty(0, np.int64))
        front = OpenNodes(self.level, roots.prefix, roots.count, roots.z, roots.variance)
        traversal = Traversal.of(empty, self.descent, NoiseKey(bytes(32)))
        assert isinstance(subtrees.records, PassRecords)
        # A copy, as the task may run again.
        records = PassRecords([*subtrees.records.pieces], subtrees.records.opened)
        return traversal.share(front, self.descent.last, count, records)


@dataclass(frozen=True)
class InformedPartition(PyramidPartition):
    """Cut of the pyramid with a prior, whose reliability is learned from all subtrees together.

    Attributes
    ----------
    prior : Prior
    """

    prior: Prior

    @property
    def learns(self) -> range:
        """All levels below the cut."""
        return range(self.level + 1, self.descent.last + 1)

    @property
    def margins(self) -> Margins | None:
        """Unknown margins, as they were not measured with a prior."""
        return UNKNOWN

    def above(self, totals: Cells, key: NoiseKey) -> Roots:
        """Run the first pass down to the cut."""
        stage, _ = self._passes(totals, key).descend(self.level)
        z = stage.layers[-1].z
        variances = np.full(z.size, self.descent.variances[self.level])
        return Roots(stage.layers[-1].prefix, stage.count, z, variances)

    def below(self, cells: Cells, roots: Roots, key: NoiseKey) -> Subtrees:
        """Return the roots only, to which :meth:`open` adds one level after another."""
        stage = Stage(self.level, (Layer.of_open(roots.prefix, roots.z),), roots.count, ())
        return self._subtrees(self._passes(cells, key), roots, stage)

    def look(self, cells: Cells, subtrees: Subtrees, key: NoiseKey) -> Seen:
        """Return statistics of the predictions of the level below subtrees."""
        stage = _stage_of(subtrees)
        layer = stage.below(self.descent)
        residuals = self._passes(cells, key).gather(stage.level + 1, layer)
        return Seen(layer.above.size * layer.fanout, residuals)

    def learn(self, level: int, seen: Sequence[Seen]) -> Learned:
        """Learn the reliability of the prior on a level, from all subtrees."""
        residuals = sum((one.residuals for one in seen), start=Residuals.none())
        reliability = learn_level(self.descent, level, residuals)
        nodes = sum(one.nodes for one in seen)
        return Learned(self.descent.strides[level], nodes, reliability, residuals)

    def learn_above(self, totals: Cells, key: NoiseKey) -> tuple[Learned, ...]:
        """Return the reliabilities learned down to the cut."""
        return self._passes(totals, key).descend(self.level)[1]

    def open(
        self, cells: Cells, subtrees: Subtrees, reliability: Reliability | None, key: NoiseKey
    ) -> Subtrees:
        """Return the subtrees with one more level."""
        stage, passes = _stage_of(subtrees), self._passes(cells, key)
        stage = passes.open(stage, stage.below(self.descent), reliability)
        return self._subtrees(passes, subtrees.roots, stage)

    def improve(
        self,
        totals: Cells,
        key: NoiseKey,
        z: FloatArray,
        variance: FloatArray,
    ) -> KeyedCounts:
        """Repeat the first pass, with improved estimates of the roots, and run the second."""
        passes = self._passes(totals, key)
        stage, _ = passes.descend(self.level)
        # Estimates improved by the subtrees replace those of the first pass.
        stage.layers[-1].z = z
        below = variance if self.level < self.descent.last else None
        count = passes.share(stage, passes.improve(stage, below), passes.final_counts(stage))
        return stage.layers[-1].prefix[count > 0], count[count > 0]

    def finish(self, subtrees: Subtrees, count: IntArray) -> KeyedCounts:
        """Run the second pass below the cut."""
        if not self.two_passes:
            return subtrees.cells
        empty = Cells(self.grid, np.empty(0, np.uint64), np.empty(0, np.int64))
        passes, stage = self._passes(empty, NoiseKey(bytes(32))), _stage_of(subtrees)
        assert isinstance(subtrees.records, Held)
        count = passes.share(stage, [*subtrees.records.variances], count)
        return stage.layers[-1].prefix[count > 0], count[count > 0]

    def _passes(self, cells: Cells, key: NoiseKey) -> Informed:
        return informed_of(cells, self.descent, key, self.prior, 1)

    def _subtrees(self, passes: Informed, roots: Roots, stage: Stage) -> Subtrees:
        """Return the subtrees.

        Once all levels are open, their roots' estimates are improved from below.
        """
        none = np.empty(0, np.uint64), np.empty(0, np.int64)
        if stage.level < self.descent.last:
            return Subtrees(roots, none, Held(stage))
        if not self.two_passes:
            some = stage.count > 0
            return Subtrees(roots, (stage.layers[-1].prefix[some], stage.count[some]), Held(stage))
        stage = stage.copy()  # a task may run again
        variances = passes.improve(stage)
        root_variance = np.broadcast_to(variances[0], roots.z.shape)
        better = replace(roots, z=stage.layers[0].z, variance=root_variance)
        return Subtrees(better, none, Held(stage, tuple(variances)))


def _stage_of(subtrees: Subtrees) -> Stage:
    assert isinstance(subtrees.records, Held)
    return subtrees.records.stage


@dataclass(frozen=True)
class TopDownPartition(TreePartition):
    """Cut of the paper's method, at its lowest level with at most ``MAX_ROOTS`` nodes."""

    @property
    def level(self) -> int:
        """Level of the cut: a multiple of four above the cells, where blocks of noise
        start, or the root.
        """
        too_many = max(self.grid.bits - MAX_ROOTS.bit_length() + 1, 0)
        return max(self.grid.bits + -too_many // LEVELS * LEVELS, 0)

    @property
    def stride(self) -> int:
        """Number of keys that each root of a subtree covers."""
        return 1 << (self.grid.bits - self.level)

    def above(self, totals: Cells, key: NoiseKey) -> Roots:
        """Return the refined nodes of the cut."""
        noise = RefinementNoise.of(self.event, key)
        tree = RefinementRun(totals, noise.detail)
        (prefix, total), _ = tree.below(tree.root(noise), 0, self.level)
        return Roots.of_counts(prefix.view(np.uint64), total)

    def below(self, cells: Cells, roots: Roots, key: NoiseKey) -> Subtrees:
        """Return the refined cells."""
        tree = RefinementRun(cells, RefinementNoise.of(self.event, key).detail)
        nodes = roots.prefix.astype(np.int64), roots.count
        (prefix, count), _ = tree.below(nodes, self.level, self.grid.bits)
        return Subtrees(roots, (prefix.view(np.uint64), count), PassRecords([], 0))


def partition_of(
    method: Mechanism, grid: Grid, event: Measurement, prior: Prior | None = None
) -> TreePartition:
    """Return the cut of a method, with a prior if there is one; UsageError if it has none."""
    if prior is not None:
        if not isinstance(method, Pyramid):
            raise UsageError(
                f"{method.name} takes no prior; pyramid does.", code="prior-needs-pyramid"
            )
        return InformedPartition(grid, event, method, prior)
    if isinstance(method, Pyramid):
        return PyramidPartition(grid, event, method)
    if isinstance(method, TopDown):
        return TopDownPartition(grid, event, method)
    raise UsageError(
        f"Partitions are released with pyramid or topdown, not with {method.name}.",
        code="partitions-need-tree",
    )
