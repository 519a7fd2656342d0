"""A release in two parts: the top of the tree, and the subtrees below a cut.

What becomes of a node depends on the noise of nodes, which the key and the node decide, and on
true counts of the nodes that are measured. The top therefore needs the totals of the cut's nodes
only, and each subtree its own cells; put together they are the release of one machine, bit for bit.
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
from geodp.mechanisms.central.topdown import TopDown
from geodp.mechanisms.learned.mixture import Reliability
from geodp.mechanisms.learned.residuals import Residuals
from geodp.mechanisms.trees.cut import Held, Roots, Seen, Subtrees
from geodp.mechanisms.trees.descent import Descent
from geodp.mechanisms.trees.informed import Informed, Learned, informed_of, learn_level
from geodp.mechanisms.trees.layer import Layer, Stage
from geodp.mechanisms.trees.refinement import RefinementNoise, RefinementRun
from geodp.mechanisms.trees.traversal import OpenNodes, PassRecords, Traversal
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.draws import Draws
from geodp.table.counts import Cells
from geodp.table.prior import Prior
from geodp.typing import FloatArray, IntArray, KeyArray, KeyedCounts

MOST_ROOTS = 1 << 14
"""Most nodes of a cut."""


@dataclass(frozen=True)
class TreePartition(ABC):
    """Where a method's tree on a grid is cut, and how its two parts are refined.

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
        """Return all that the release draws, in whatever part of the tree."""
        return self.method.declare(self.grid, self.event)

    @property
    @abstractmethod
    def stride(self) -> int:
        """Keys that each root of a subtree covers."""

    @property
    def two_passes(self) -> bool:
        """Whether the top waits for what subtrees tell of their roots."""
        return False

    @property
    def learns(self) -> range:
        """Levels of which all subtrees tell something before any of them goes on."""
        return range(0)

    @property
    def margins(self) -> Margins | None:
        """Of the cells of the release; None: those of its method."""
        return None

    @abstractmethod
    def above(self, totals: Cells, key: NoiseKey) -> Roots:
        """Return the roots, from totals of the cut's nodes at the first key of each."""

    @abstractmethod
    def below(self, cells: Cells, roots: Roots, key: NoiseKey) -> Subtrees:
        """Return some subtrees, from the cells that they hold and perhaps others."""

    def improve(
        self,
        totals: Cells,
        key: NoiseKey,
        z: FloatArray,
        variance: FloatArray,
    ) -> KeyedCounts:
        """Roots above 0 by the second pass, from the estimates that subtrees made."""
        raise NotImplementedError

    def finish(self, found: Subtrees, count: IntArray) -> KeyedCounts:
        """Released cells of some subtrees, from the final counts of their roots."""
        return found.cells

    def nodes(self) -> KeyArray:
        """Return the cut's nodes that hold a cell of the public domain: uint64[n]."""
        every = np.arange(prod(self.grid.order.radices) // self.stride, dtype=np.uint64)
        return every[overlaps(self.grid, every, self.stride)]


@dataclass(frozen=True)
class PyramidPartition(TreePartition):
    """Of the pyramid: at its finest level with at most ``MOST_ROOTS`` nodes."""

    method: Pyramid

    @property
    def level(self) -> int:
        """The cut's level in the chain: what is around a cell lies with it, or roots are cells."""
        strides = self.descent.strides
        few = [i for i, s in enumerate(strides) if strides[0] // s <= MOST_ROOTS]
        return max(i for i in few if strides[i] == 1 or strides[i] >= AROUND)

    @property
    def stride(self) -> int:
        """Keys that each root of a subtree covers."""
        return self.descent.strides[self.level]

    @property
    def descent(self) -> Descent:
        """The method's levels and noise."""
        return self.method.descent(self.grid, self.event)

    @property
    def two_passes(self) -> bool:
        """As the method's setting says."""
        return self.method.passes == 2

    def above(self, totals: Cells, key: NoiseKey) -> Roots:
        """Return the first pass down to the cut."""
        traversal = Traversal.of(totals, self.descent, key)
        front, _ = traversal.roots(np.zeros(1, np.uint64))
        cut, _ = traversal.open(front, self.level)
        return Roots(cut.prefix, cut.count, cut.z, cut.variance)

    def below(self, cells: Cells, roots: Roots, key: NoiseKey) -> Subtrees:
        """Return the first pass below the cut, and estimates from below up to the roots."""
        traversal, none = Traversal.of(cells, self.descent, key), PassRecords([], 0)
        # Copies, as a task may run again.
        z, variance = roots.z.copy(), roots.variance.copy()
        front = OpenNodes(self.level, roots.prefix, roots.count, z, variance)
        if not self.two_passes:
            found, _ = traversal.cells(front, self.descent.last)
            return Subtrees(roots, found, none)
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
        """Run the first pass once more, with better estimates of the roots, and the second."""
        traversal = Traversal.of(totals, self.descent, key)
        front, uniform = traversal.roots(np.zeros(1, np.uint64))
        cut, _ = traversal.open(front, self.level)
        count = traversal.final_counts(front, uniform, replace(cut, z=z, variance=variance))
        return cut.prefix[count > 0], count[count > 0]

    def finish(self, found: Subtrees, count: IntArray) -> KeyedCounts:
        """Run the second pass below the cut."""
        if not self.two_passes:
            return found.cells
        roots, empty = found.roots, Cells(self.grid, np.empty(0, np.uint64), np.empty(0, np.int64))
        front = OpenNodes(self.level, roots.prefix, roots.count, roots.z, roots.variance)
        traversal = Traversal.of(empty, self.descent, NoiseKey(bytes(32)))
        assert isinstance(found.records, PassRecords)
        records = PassRecords([*found.records.pieces], found.records.opened)  # it may run again
        return traversal.share(front, self.descent.last, count, records)


@dataclass(frozen=True)
class InformedPartition(PyramidPartition):
    """Of the pyramid with a prior: what is learned of a level, all subtrees tell together.

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
        """Nothing is known of them."""
        return UNKNOWN

    def above(self, totals: Cells, key: NoiseKey) -> Roots:
        """Return the first pass down to the cut."""
        stage, _ = self._passes(totals, key).descend(self.level)
        z = stage.layers[-1].z
        own = np.full(z.size, self.descent.variances[self.level])
        return Roots(stage.layers[-1].prefix, stage.count, z, own)

    def below(self, cells: Cells, roots: Roots, key: NoiseKey) -> Subtrees:
        """Return the roots alone, to which :meth:`open` adds level by level."""
        stage = Stage(self.level, (Layer.of_open(roots.prefix, roots.z),), roots.count, ())
        return self._subtrees(self._passes(cells, key), roots, stage)

    def look(self, cells: Cells, found: Subtrees, key: NoiseKey) -> Seen:
        """Return what the level below subtrees tells of its predictions."""
        stage = _stage_of(found)
        layer = stage.below(self.descent)
        residuals = self._passes(cells, key).gather(stage.level + 1, layer)
        return Seen(layer.above.size * layer.fanout, residuals)

    def learn(self, level: int, seen: Sequence[Seen]) -> Learned:
        """Learn how far the prior can be trusted on a level, from all subtrees."""
        residuals = sum((one.residuals for one in seen), start=Residuals.none())
        reliability = learn_level(self.descent, level, residuals)
        nodes = sum(one.nodes for one in seen)
        return Learned(self.descent.strides[level], nodes, reliability, residuals)

    def learn_above(self, totals: Cells, key: NoiseKey) -> tuple[Learned, ...]:
        """Return what was learned down to the cut."""
        return self._passes(totals, key).descend(self.level)[1]

    def open(
        self, cells: Cells, found: Subtrees, reliability: Reliability | None, key: NoiseKey
    ) -> Subtrees:
        """Return subtrees with one level more."""
        stage, passes = _stage_of(found), self._passes(cells, key)
        stage = passes.open(stage, stage.below(self.descent), reliability)
        return self._subtrees(passes, found.roots, stage)

    def improve(
        self,
        totals: Cells,
        key: NoiseKey,
        z: FloatArray,
        variance: FloatArray,
    ) -> KeyedCounts:
        """Run the first pass once more, with better estimates of the roots, and the second."""
        passes = self._passes(totals, key)
        stage, _ = passes.descend(self.level)
        stage.layers[-1].z = z
        below = variance if self.level < self.descent.last else None
        count = passes.share(stage, passes.improve(stage, below), passes.final_counts(stage))
        return stage.layers[-1].prefix[count > 0], count[count > 0]

    def finish(self, found: Subtrees, count: IntArray) -> KeyedCounts:
        """Run the second pass below the cut."""
        if not self.two_passes:
            return found.cells
        empty = Cells(self.grid, np.empty(0, np.uint64), np.empty(0, np.int64))
        passes, stage = self._passes(empty, NoiseKey(bytes(32))), _stage_of(found)
        assert isinstance(found.records, Held)
        count = passes.share(stage, [*found.records.variances], count)
        return stage.layers[-1].prefix[count > 0], count[count > 0]

    def _passes(self, cells: Cells, key: NoiseKey) -> Informed:
        return informed_of(cells, self.descent, key, self.prior, 1)

    def _subtrees(self, passes: Informed, roots: Roots, stage: Stage) -> Subtrees:
        """Return subtrees; with all levels, their roots' estimates are improved from below."""
        none = np.empty(0, np.uint64), np.empty(0, np.int64)
        if stage.level < self.descent.last:
            return Subtrees(roots, none, Held(stage))
        if not self.two_passes:
            some = stage.count > 0
            return Subtrees(roots, (stage.layers[-1].prefix[some], stage.count[some]), Held(stage))
        stage = stage.copy()  # a task may run again
        variances = passes.improve(stage)
        own = np.broadcast_to(variances[0], roots.z.shape)
        better = replace(roots, z=stage.layers[0].z, variance=own)
        return Subtrees(better, none, Held(stage, tuple(variances)))


def _stage_of(found: Subtrees) -> Stage:
    assert isinstance(found.records, Held)
    return found.records.stage


@dataclass(frozen=True)
class TopDownPartition(TreePartition):
    """Of the paper's method: at its lowest level with at most ``MOST_ROOTS`` nodes."""

    @property
    def level(self) -> int:
        """A multiple of four above the cells, or the root: there blocks of noise start."""
        too_many = max(self.grid.bits - MOST_ROOTS.bit_length() + 1, 0)
        return max(self.grid.bits + -too_many // LEVELS * LEVELS, 0)

    @property
    def stride(self) -> int:
        """Keys that each root of a subtree covers."""
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
    """Return the cut of a method, with a prior if there is one; UsageError where it has none."""
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
