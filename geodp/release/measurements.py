"""What a release measured before any clamp: which nodes are written, settled before the charge.

A method's guarantee is that of all its noisy values together, on every node of every level:
looking at some of them only is what makes it quick. So writing any of them costs nothing more.
Noise is a function of key and node, so that the values written are those that the release went by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    Measurements,
    NodeLevel,
    is_measured,
    public_nodes,
    stride_of,
    truth_of,
    visited_nodes,
)
from geodp.typing import IntArray, KeyArray

FEW = 1 << 16
"""Nodes of a level that is complete unless somebody says how far levels are."""

DRAWN = 1 << 18
"""Nodes whose noise is drawn together."""

ROW_BYTES = 8
"""About, of a node in the file."""

SETTLEMENTS, REPEATS = 64, 16
"""Of the simulation of :class:`Bias`."""


@dataclass(frozen=True, eq=False)
class MeasurementsRequest:
    """Which measurements of a release are written, and what is said of them; all of it public.

    Attributes
    ----------
    method : Mechanism
    grid : Grid
    event : Measurement
    levels : tuple of NodeLevel
    sizes : tuple of int
        Nodes of the levels that are complete, the root's first.
    biases : tuple of Bias
        Of the levels that are not.
    """

    method: Mechanism
    grid: Grid
    event: Measurement
    levels: tuple[NodeLevel, ...]
    sizes: tuple[int, ...]
    biases: tuple[Bias, ...] = ()

    @property
    def words(self) -> str:
        """How much will be written, in a sentence."""
        nodes, rest = sum(self.sizes), len(self.levels) - len(self.sizes)
        size = max(0.1, nodes * ROW_BYTES / 1e6)
        more = "; below them the nodes that the release visits" if rest else ""
        return (
            f"Measurements: {len(self.sizes)} of {len(self.levels)} levels complete, {nodes:,} "
            f"nodes, about {size:,.1f} MB{more}."
        )

    def measure(self, table: CountTable, released: Cells, key: NoiseKey) -> Measurements:
        """Return the noisy values: those that ``released`` was made from under the key."""
        complete = public_nodes(self.grid, self.levels)
        found = []
        for i, level in enumerate(self.levels):
            whole = i < len(self.sizes)
            node = next(complete) if whole else visited_nodes(self.grid, level, released)
            value = self._values(i, node, table, key)
            bias = None if whole else self.biases[i - len(self.sizes)]
            found.append(MeasuredLevel(level, whole, node, value, bias))
        return Measurements(tuple(found))

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> Measurements:
        """Return what was drawn and kept as :meth:`Measurements.to_arrays` gives it."""
        whole = len(self.sizes)
        biases = (*[None] * whole, *self.biases)
        return Measurements(
            tuple(
                MeasuredLevel(level, i < whole, arrays[f"node{i}"], arrays[f"value{i}"], bias)
                for i, level, bias in zip(count(), self.levels, biases, strict=False)
            )
        )

    def _values(self, i: int, node: KeyArray, table: Cells, key: NoiseKey) -> IntArray:
        value = np.empty(node.size, np.int64)
        for start in range(0, node.size, DRAWN):
            part = slice(start, start + DRAWN)
            drawn = self.method.draw_nodes(self.grid, self.event, key, i, node[part])
            value[part] = truth_of(self.grid, self.levels[i], node[part], table) + drawn
        return value

    def simulate(self) -> MeasurementsRequest:
        """Return the same with the biases of visited nodes, by the method on a made-up map."""
        todo = range(len(self.sizes), len(self.levels))
        if not todo:
            return self
        grid = self.grid
        people = max(1, ceil((self.levels[-1].variance / 2) ** 0.5))
        many = max(1, min(SETTLEMENTS, grid.size // 256))
        rank = (2 * np.arange(many) + 1) * grid.size // (2 * many)
        cell = np.sort(grid.domain.keys_of_ranks(rank))
        table = CountTable.of_cells(grid, cell, np.full(many, people, np.int64))
        node, truth = [], []
        for i in todo:
            own = np.unique(cell // np.uint64(stride_of(grid, self.levels[i].digits)))
            own = own[is_measured(grid, self.levels[i], own)]
            held = truth_of(grid, self.levels[i], own, table)
            node.append(own[held != 0])
            truth.append(held[held != 0])
        missing, error = np.zeros(len(todo)), np.zeros(len(todo))
        for repeat in range(REPEATS):
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
        found = zip((missing / REPEATS).tolist(), (error / REPEATS).tolist(), strict=True)
        biases = tuple(Bias(people, round(a, 3), float(f"{b:.3g}")) for a, b in found)
        return replace(self, biases=biases)


def choose_measurements(
    method: Mechanism, grid: Grid, event: Measurement, complete_to: str | int | None = None
) -> MeasurementsRequest:
    """Settle which measurements of a release are written; nothing is looked at but public things.

    Parameters
    ----------
    method : Mechanism
    grid : Grid
    event : Measurement
    complete_to : str or int, optional
        The smallest areas of which all are measured: a level of official areas or regions,
        ``"cell"``, or the cells of a block. Default: levels of up to 65,536 nodes.

    Raises
    ------
    UsageError
        A method without such a list, no such level, or more nodes than fit a file.
    """
    levels = method.list_levels(grid, event)
    if not levels:
        having = [one.name for one in METHODS.values() if type(one).list_levels is not NO_LEVELS]
        raise UsageError(
            f"{method.name} has no tree of noisy counts to write; measurements are those of "
            f"{' and '.join(sorted(having))}.",
            code="method-has-no-measurements",
        )
    least = None if complete_to is None else _cells_of(grid, complete_to)
    sizes: list[int] = []
    for level, node in zip(levels, public_nodes(grid, levels), strict=False):
        if least is None:
            if node.size > FEW:
                break
        elif sizes and stride_of(grid, level.digits) < least:
            break
        sizes.append(node.size)
    return MeasurementsRequest(method, grid, event, levels, tuple(sizes)).simulate()


NO_LEVELS = Mechanism.list_levels


def _cells_of(grid: Grid, named: str | int) -> int:
    """Return the keys of an area of a level, of a cell, or of a block that is given in cells."""
    named_levels = {name: stride_of(grid, digits) for name, digits in grid.areas.above_cells}
    short = {name.partition(":")[2]: size for name, size in named_levels.items() if ":" in name}
    known = {"cell": 1, **short, **named_levels}
    text = str(named).strip()
    if text in known:
        return known[text]
    if text.isascii() and text.isdigit() and int(text):
        return int(text)
    names = ", ".join([*named_levels, "cell"])
    raise UsageError(
        f"Measurements are complete down to one of: {names}; or to a number of cells of a block.",
        code="measurements-levels",
    )
