"""Choose and compute the noisy measurements that are published with a release.

A method's guarantee covers its noisy values on every node of every level; it is fast because it
visits only some of them. So publishing any of them costs no further budget. Noise is a function of
key and node, so the values written are those that the release was made from. Which nodes are
written is decided before the charge, from public things.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import count
from math import ceil

import numpy as np

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.mechanisms import METHODS
from geodp.mechanisms.base import Mechanism
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.table.counts import Cells, CountTable
from geodp.table.measured import (
    Bias,
    MeasuredLevel,
    MeasuredLevels,
    NodeLevel,
    is_measured,
    public_nodes,
    stride_of,
    truth_of,
    visited_nodes,
)
from geodp.typing import IntArray, KeyArray

COMPLETE_NODES = 1 << 16
"""Default size up to which a level is published completely, in nodes."""

CHUNK_NODES = 1 << 18
"""Nodes whose noise is drawn together: bounds the memory."""

ROW_BYTES = 8
"""Approximate size of a node in the file."""

SETTLEMENTS, REPEATS = 64, 16
"""Isolated cells on the simulated map, and releases of it, from which :class:`Bias` is computed."""


@dataclass(frozen=True, eq=False)
class MeasurementsRequest:
    """The measurements of a release that are to be written; all of it is public.

    Attributes
    ----------
    method : Mechanism
    grid : Grid
    event : Measurement
    levels : tuple of NodeLevel
    sizes : tuple of int
        Number of nodes of the complete levels, the root's first.
    biases : tuple of Bias
        Biases of the other levels, of which only visited nodes are written.
    """

    method: Mechanism
    grid: Grid
    event: Measurement
    levels: tuple[NodeLevel, ...]
    sizes: tuple[int, ...]
    biases: tuple[Bias, ...] = ()

    @property
    def summary(self) -> str:
        """A sentence on how much will be written."""
        nodes, rest = sum(self.sizes), len(self.levels) - len(self.sizes)
        size = max(0.1, nodes * ROW_BYTES / 1e6)
        more = "; below them the nodes that the release visits" if rest else ""
        return (
            f"Measurements: {len(self.sizes)} of {len(self.levels)} levels complete, {nodes:,} "
            f"nodes, about {size:,.1f} MB{more}."
        )

    def measure(
        self, table: CountTable, released: Cells, key: NoiseKey
    ) -> tuple[tuple[KeyArray, IntArray], ...]:
        """Compute the nodes and noisy values of all levels from which ``released`` was made."""
        public = public_nodes(self.grid, self.levels)
        measured = []
        for i, level in enumerate(self.levels):
            # Visited nodes follow from the released table, so their list reveals nothing more.
            visited = i >= len(self.sizes)
            node = visited_nodes(self.grid, level, released) if visited else next(public)
            measured.append((node, self._values(i, node, table, key)))
        return tuple(measured)

    def complete(self, measured: Iterable[tuple[KeyArray, IntArray]]) -> MeasuredLevels:
        """Return the measurements with the nodes and values of :meth:`measure`."""
        complete = len(self.sizes)
        biases = (*[None] * complete, *self.biases)
        return MeasuredLevels(
            tuple(
                MeasuredLevel(level, i < complete, *one, bias)
                for i, one, level, bias in zip(count(), measured, self.levels, biases, strict=False)
            )
        )

    def _values(self, i: int, node: KeyArray, table: Cells, key: NoiseKey) -> IntArray:
        """Compute the noisy values of nodes of level ``i``: int64[n]."""
        value = np.empty(node.size, np.int64)
        for start in range(0, node.size, CHUNK_NODES):
            part = slice(start, start + CHUNK_NODES)
            drawn = self.method.draw_nodes(self.grid, self.event, key, i, node[part])
            value[part] = truth_of(self.grid, self.levels[i], node[part], table) + drawn
        return value

    def simulate(self) -> MeasurementsRequest:
        """Add the biases of visited nodes, by simulated releases of a synthetic map.

        A node is visited if the nodes above it look populated, so the values that are written are
        a selected sample, which readers must not average as if it were all nodes.
        """
        todo = range(len(self.sizes), len(self.levels))
        if not todo:
            return self
        grid = self.grid
        # Isolated cells with about as many people as one noise: there the selection is strongest.
        people = max(1, ceil((self.levels[-1].variance / 2) ** 0.5))
        many = max(1, min(SETTLEMENTS, grid.size // 256))
        rank = (2 * np.arange(many) + 1) * grid.size // (2 * many)
        cell = np.sort(grid.domain.keys_of_ranks(rank))
        table = CountTable.of_cells(grid, cell, np.full(many, people, np.int64))
        node, truth = [], []
        for i in todo:
            occupied = np.unique(cell // np.uint64(stride_of(grid, self.levels[i].digits)))
            occupied = occupied[is_measured(grid, self.levels[i], occupied)]
            held = truth_of(grid, self.levels[i], occupied, table)
            node.append(occupied[held != 0])
            truth.append(held[held != 0])
        missing, error = np.zeros(len(todo)), np.zeros(len(todo))
        for repeat in range(REPEATS):
            # Fixed public keys: the biases on the card are the same on every run.
            key = NoiseKey(bytes([repeat + 1]) * 32)
            released = self.method.release(table, self.event, key)
            for at, i in enumerate(todo):
                if not node[at].size:
                    continue
                seen = np.isin(node[at], visited_nodes(grid, self.levels[i], released))
                value = self._values(i, node[at], table, key)
                off = np.where(seen, value, 0) - truth[at]
                missing[at] += 1 - seen.mean()
                error[at] += (off * np.sign(truth[at])).mean()
        averages = zip((missing / REPEATS).tolist(), (error / REPEATS).tolist(), strict=True)
        biases = tuple(Bias(people, round(a, 3), float(f"{b:.3g}")) for a, b in averages)
        return replace(self, biases=biases)


def choose_measurements(
    method: Mechanism, grid: Grid, event: Measurement, complete_to: str | int | None = None
) -> MeasurementsRequest:
    """Choose which measurements of a release are written, from public things only.

    Parameters
    ----------
    method : Mechanism
    grid : Grid
    event : Measurement
    complete_to : str or int, optional
        The smallest areas that are published completely: a level of official areas or regions,
        ``"cell"``, or the number of cells of a block. Default: levels of up to 65,536 nodes.

    Raises
    ------
    UsageError
        For a method without a tree, an unknown level, or more nodes than fit into a file.
    """
    levels = method.list_levels(grid, event)
    if not levels:
        # The error names the methods that could be used instead.
        having = [one.name for one in METHODS.values() if type(one).list_levels is not NO_LEVELS]
        raise UsageError(
            f"{method.name} has no tree of noisy counts to write; measurements are those of "
            f"{' and '.join(sorted(having))}.",
            code="method-has-no-measurements",
        )
    min_stride = None if complete_to is None else _stride_of_name(grid, complete_to)
    sizes: list[int] = []
    for level, node in zip(levels, public_nodes(grid, levels), strict=False):
        if min_stride is None:
            if node.size > COMPLETE_NODES:
                break
        elif sizes and stride_of(grid, level.digits) < min_stride:
            break
        sizes.append(node.size)
    return MeasurementsRequest(method, grid, event, levels, tuple(sizes)).simulate()


NO_LEVELS = Mechanism.list_levels


def _stride_of_name(grid: Grid, named: str | int) -> int:
    """Return how many keys an area of a level, a cell, or a block of some cells has."""
    named_levels = {name: stride_of(grid, digits) for name, digits in grid.areas.above_cells}
    short = {name.partition(":")[2]: size for name, size in named_levels.items() if ":" in name}
    strides = {"cell": 1, **short, **named_levels}
    text = str(named).strip()
    if text in strides:
        return strides[text]
    if text.isascii() and text.isdigit() and int(text):
        return int(text)
    names = ", ".join([*named_levels, "cell"])
    raise UsageError(
        f"Measurements are complete down to one of: {names}; or to a number of cells of a block.",
        code="measurements-levels",
    )
