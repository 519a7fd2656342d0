"""Invert a released map by simulation: estimate which true counts it can have been made of.

The law of a released count, given the true count of the cell and its surroundings, is estimated by
releasing synthetic tables under public keys. For each class of surroundings, the shares of true
counts are then those that explain the released counts best (maximum likelihood by expectation and
maximisation; Shepp, Vardi 1982), with a penalty that pulls them to the shares of a first map where
the release says little. Counts drawn from them make the next synthetic table, as what a method does
to a cell depends on the other cells.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod, sqrt
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geodp import progress
from geodp.mechanisms import Mechanism
from geodp.privacy.event import Measurement
from geodp.privacy.key import NoiseKey
from geodp.table.counts import CountTable
from geodp.table.released import ReleasedTable
from geodp.typing import FloatArray, IntArray

BLOCK = 64
"""Cells of the block in key order whose sum is part of a cell's surroundings, at least."""

SUMS, NEIGHBOURS = 10, 8
"""Classes of the sum of the other cells of the block, and of the sum of the eight neighbours."""

CERTAIN = 12.0
"""Noise scales above which a released count is taken for the true one."""

FIRST, AGAIN = 6, 3
"""Releases of the first synthetic table, and of every later one."""

ROUNDS, TAKEN = 6, 3
"""Synthetic tables that are fitted, and how many of the last are results."""

STEPS, NEAR = 1500, 1e-6
"""Steps of the fit at most, and the change of a share that ends it."""

WEIGHT, MAX_WEIGHT = 1 / 250, 0.1
"""Weight of the shares of the first map against the released counts, a noise scale, and at most. It
grows with the noise, as counts then say less about small cells."""

FEW, SPREAD = 20.0, 5.0
"""Cells of all surroundings that are added to those of each class, so that rare classes have no
gaps: for the shares of true counts, and for the law of released ones."""

DRAWN = 1 << 17
"""Cells that are drawn at a time."""

SEED = 20150901


@dataclass(frozen=True, eq=False)
class MapModel:
    """The cells of a map's domain as vectors, and the method that released it.

    Attributes
    ----------
    table : ReleasedTable
    method : Mechanism
    event : Measurement
    inside : bool[rows, cols]
    block : int64[n]
        Number of the block of every cell of the domain, row by row.
    scale : float
        Scale of Laplace noise with a cell's standard error.
    edges : int64[bins]
        Smallest count of each bin, from 0 on.
    """

    table: ReleasedTable
    method: Mechanism
    event: Measurement
    inside: NDArray[np.bool_] = field(repr=False)
    block: IntArray = field(repr=False)
    scale: float
    edges: IntArray = field(repr=False)

    @classmethod
    def of(
        cls,
        table: ReleasedTable,
        method: Mechanism,
        event: Measurement,
        cell_error: float,
        classes: Sequence[int],
    ) -> Self:
        """Describe a release; bins end where size classes do."""
        grid = table.grid
        inside = grid.domain.to_dense()
        digits = len(grid.order.radices)
        # Blocks are nodes of the key's digits, like those of the methods themselves.
        while digits and prod(grid.order.radices[digits:]) < BLOCK:
            digits -= 1
        stride = np.uint64(prod(grid.order.radices[digits:]))
        key = grid.encode(np.array(np.nonzero(inside)))
        block = np.unique(key // stride, return_inverse=True)[1].reshape(-1)
        scale = cell_error / sqrt(2)
        return cls(table, method, event, inside, block, scale, list_edges(scale, classes))

    def take(self, table: CountTable | ReleasedTable) -> FloatArray:
        """Return the counts of all cells, negative ones as 0: float64[n]."""
        return np.maximum(np.asarray(table.to_dense(), np.float64), 0)[self.inside]

    def spread(self, count: NDArray[np.generic]) -> NDArray[np.generic]:
        """Lay counts of all cells on the map, 0 outside the domain: [rows, cols]."""
        dense = np.zeros(self.inside.shape, count.dtype)
        dense[self.inside] = count
        return dense

    def release(self, count: IntArray, trial: int) -> FloatArray:
        """Release a synthetic table under a public key, which differs by trial."""
        digest = hashlib.sha256(f"geodp statistics, public, {trial}".encode()).digest()
        table = CountTable.from_dense(self.spread(count), self.table.grid)
        with progress.silence():
            released = self.take(self.method.release(table, self.event, NoiseKey(digest)))
        progress.advance()
        return released

    def surroundings(self, count: FloatArray) -> IntArray:
        """Classify the cells around each cell: int64[n]."""
        others = np.bincount(self.block, count)[self.block] - count
        wide = np.pad(self.spread(count), 1)
        rows, cols = self.inside.shape
        steps = [(i, j) for i in range(3) for j in range(3) if (i, j) != (1, 1)]
        around = np.sum([wide[i : i + rows, j : j + cols] for i, j in steps], axis=0)
        neighbours = around[self.inside]
        classes = self._class_of(others, SUMS) * NEIGHBOURS
        return classes + self._class_of(neighbours, NEIGHBOURS)

    def _class_of(self, people: FloatArray, classes: int) -> IntArray:
        """Return 0 for no people, then one class for every doubling."""
        # Surroundings matter in proportion: twice as many people around are one class more.
        doublings = np.floor(np.log2(1 + np.maximum(people, 0) / self.scale))
        return np.where(people > 1e-9, 1 + np.minimum(doublings, classes - 2), 0).astype(np.int64)

    def bin_of(self, count: NDArray[np.generic]) -> IntArray:
        """Find the bins of counts: int64[n]."""
        return np.searchsorted(self.edges, count, "right") - 1

    def count_pairs(self, truth: IntArray, releases: Sequence[FloatArray]) -> FloatArray:
        """Count cells by surroundings, true bin and released bin: float64[s, bins, bins]."""
        bins = self.edges.size
        pairs = np.zeros(SUMS * NEIGHBOURS * bins * bins)
        true = self.bin_of(truth)
        for one in releases:
            place = (self.surroundings(one) * bins + true) * bins + self.bin_of(one)
            pairs += np.bincount(place, minlength=pairs.size)
        return pairs.reshape(-1, bins, bins)


def list_edges(scale: float, classes: Sequence[int], certain: float = CERTAIN) -> IntArray:
    """List the smallest counts of bins that are narrow against noise and counts.

    Bins end where size classes do. The last one begins beyond ``certain`` noise scales.

    Examples
    --------
    >>> list_edges(2.0, (1, 20)).tolist()
    [0, 1, 2, 3, 4, 5, 7, 9, 12, 16, 20, 22, 25]
    """
    edges, at, last = {0}, 1.0, certain * scale
    while at < last:
        edges.add(int(at))
        at += max(1.0, scale / 4, at / 3)
    edges |= {one for one in classes if one <= last} | {int(last) + 1}
    return np.array(sorted(edges), np.int64)


def invert(model: MapModel, first: IntArray) -> tuple[IntArray, list[IntArray]]:
    """Estimate tables that the release can have been made of: each int64[n].

    The first one follows from releases of the first map alone: cells have the true counts of cells
    with such released counts and surroundings. The others are fitted to the release.

    Parameters
    ----------
    model : MapModel
    first : int64[n]
        A public map on the same cells: of another date, of another place, or synthetic.
    """
    random = np.random.default_rng(SEED)
    shown = model.take(model.table)
    released = np.zeros((SUMS * NEIGHBOURS, model.edges.size))
    np.add.at(released, (model.surroundings(shown), model.bin_of(shown)), 1.0)
    bins = model.bin_of(first)
    # Within a bin, counts are drawn as the first map has them.
    stock = [first[bins == one] for one in range(model.edges.size)]
    of_first = model.count_pairs(first, [model.release(first, i) for i in range(FIRST)])
    start, pairs, tables = expect(of_first), of_first, []
    weight = min(MAX_WEIGHT, model.scale * WEIGHT)
    simple = draw(model, respond(of_first) * start[:, :, None], shown, stock, random)
    for number in range(ROUNDS):
        law = respond(pairs)
        share = fit(law, start, released, weight)
        table = draw(model, law * share[:, :, None], shown, stock, random)
        tables.append(table)
        if number < ROUNDS - 1:
            trials = range(FIRST + number * AGAIN, FIRST + (number + 1) * AGAIN)
            pairs = model.count_pairs(table, [model.release(table, i) for i in trials])
            # Bins that this table has no cells in keep a little of what the first map shows.
            pairs += of_first * (AGAIN / FIRST / 10)
    return simple, tables[-TAKEN:]


def expect(pairs: FloatArray) -> FloatArray:
    """Estimate the shares of true counts by surroundings: float64[s, bins]."""
    every = pairs.sum(axis=(0, 2)) + 1e-3
    some = pairs.sum(axis=2) + FEW * every / every.sum()
    return np.asarray(some / some.sum(axis=1, keepdims=True), np.float64)


def respond(pairs: FloatArray) -> FloatArray:
    """Estimate the law of released counts by surroundings: float64[s, bins, bins]."""
    every = pairs.sum(axis=0) + np.eye(pairs.shape[1]) / 2 + 1e-3
    some = pairs + SPREAD * every / every.sum(axis=1, keepdims=True)
    return np.asarray(some / some.sum(axis=2, keepdims=True), np.float64)


def fit(law: FloatArray, start: FloatArray, released: FloatArray, weight: float) -> FloatArray:
    """Fit the shares of true counts that explain the released ones best: float64[s, bins].

    Parameters
    ----------
    law : float64[s, bins, bins]
        Chances of released bins by true bin, see :func:`respond`.
    start : float64[s, bins]
        Shares to which the fit is pulled.
    released : float64[s, bins]
        Numbers of released cells.
    weight : float
        Weight of ``start`` relative to that of the released cells.
    """
    cells = np.maximum(released.sum(axis=1, keepdims=True), 1.0)
    share: FloatArray = start
    for _ in range(STEPS):
        # One step of expectation and maximisation, with the first map as a prior.
        seen = np.maximum(np.matmul(share[:, None], law)[:, 0], 1e-300)
        taken = share * np.matmul(law, (released / seen)[:, :, None])[:, :, 0]
        better = (taken / cells + weight * start) / (1 + weight)
        better /= better.sum(axis=1, keepdims=True)
        change, share = float(np.abs(better - share).max()), better
        if change < NEAR:
            break
    return np.asarray(share, np.float64)


def draw(
    model: MapModel,
    chance: FloatArray,
    shown: FloatArray,
    stock: Sequence[IntArray],
    random: np.random.Generator,
) -> IntArray:
    """Draw the true count of every cell, given its released count: int64[n].

    Parameters
    ----------
    chance : float64[s, bins, bins]
        Chances of a true and a released bin together, by surroundings.
    shown : float64[n]
        The released counts.
    stock : sequence of int64[k]
        Counts of each bin, from which the counts of a bin are drawn.
    """
    # Inverse transform: the running sum of chances of true bins, given the released bin.
    until = np.cumsum(chance, axis=1).transpose(0, 2, 1)
    until = until / np.maximum(until[:, :, -1:], 1e-300)
    around, here = model.surroundings(shown), model.bin_of(shown)
    bins = np.empty(shown.size, np.int64)
    # The table of cells by bins is drawn in pieces that fit into memory.
    for start in range(0, shown.size, DRAWN):
        part = slice(start, start + DRAWN)
        which = random.random(bins[part].size)[:, None]
        bins[part] = (which > until[around[part], here[part]]).sum(axis=1)
    bins = np.minimum(bins, model.edges.size - 1)
    counts = model.edges[bins]
    for number, some in enumerate(stock[:-1]):
        place = np.flatnonzero(bins == number)
        if some.size:
            counts[place] = random.choice(some, place.size)
    # Beyond the last bin, noise is small against the count.
    certain = (shown >= model.edges[-1]) | (bins == model.edges.size - 1)
    counts[certain] = np.maximum(np.rint(shown[certain]), model.edges[-1]).astype(np.int64)
    return counts
