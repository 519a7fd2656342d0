"""Which true counts a released map can have been made of, cell by cell: an inversion by simulation.

A released count tells less of its cell than of the law from which it came: what people the method
releases of a cell with so many, among so many others, is found by releasing stand-ins for the
table under public keys. Surroundings by surroundings, the shares of cells with so many people are
then those that explain the released counts best (maximum likelihood by expectation and
maximisation; Shepp, Vardi 1982), held to those of a first map as far as the released ones do not
tell. Counts drawn from them make the next stand-in, since what a method does to a cell depends on
the others.
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
"""Cells around a cell, in key order, whose sum is part of its surroundings."""

SUMS, BESIDE = 10, 8
"""Classes of the block's other cells' sum, and of that of the eight cells around."""

CERTAIN = 12.0
"""Scales of the noise: a cell with more people has those that were released."""

FIRST, AGAIN = 6, 3
"""Releases of the first stand-in, and of every later one."""

ROUNDS, TAKEN = 6, 3
"""Stand-ins that are fitted, and how many of the last are taken for the table."""

STEPS, NEAR = 1500, 1e-6
"""Most steps of the fit, and the change of a share that ends it."""

HELD, MOST_HELD = 1 / 250, 0.1
"""Weight of the first map's shares beside the released counts': by the scale of the noise, as
counts tell the less of small cells the larger it is; and at most."""

FEW, SPREAD = 20.0, 5.0
"""Cells of all surroundings together that are added to those of each: to its shares of people, and
to what is released of a cell."""

DRAWN = 1 << 17
"""Cells that are drawn together."""

SEED = 20150901


@dataclass(frozen=True, eq=False)
class Board:
    """The cells of a map's domain as vectors, and the method that released it.

    Attributes
    ----------
    table : ReleasedTable
    method : Mechanism
    event : Measurement
    inside : bool[rows, cols]
    block : int64[n]
        Of every cell of the domain, row by row.
    scale : float
        Of a Laplace noise with a cell's standard error.
    edges : int64[bins]
        Least people of each bin, from 0 on.
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
        """Take a release; bins end where size classes do."""
        grid = table.grid
        inside = grid.domain.to_dense()
        digits = len(grid.order.radices)
        while digits and prod(grid.order.radices[digits:]) < BLOCK:
            digits -= 1
        stride = np.uint64(prod(grid.order.radices[digits:]))
        key = grid.encode(np.array(np.nonzero(inside)))
        block = np.unique(key // stride, return_inverse=True)[1].reshape(-1)
        scale = cell_error / sqrt(2)
        return cls(table, method, event, inside, block, scale, list_edges(scale, classes))

    def take(self, table: CountTable | ReleasedTable) -> FloatArray:
        """Return the counts of all cells, none below 0: float64[n]."""
        return np.maximum(np.asarray(table.to_dense(), np.float64), 0)[self.inside]

    def spread(self, count: NDArray[np.generic]) -> NDArray[np.generic]:
        """Return counts of all cells as a map, 0 outside the domain: [rows, cols]."""
        dense = np.zeros(self.inside.shape, count.dtype)
        dense[self.inside] = count
        return dense

    def release(self, count: IntArray, trial: int) -> FloatArray:
        """Release a stand-in under a key that everybody may know."""
        digest = hashlib.sha256(f"geodp statistics, public, {trial}".encode()).digest()
        table = CountTable.from_dense(self.spread(count), self.table.grid)
        with progress.silence():
            released = self.take(self.method.release(table, self.event, NoiseKey(digest)))
        progress.advance()
        return released

    def surroundings(self, count: FloatArray) -> IntArray:
        """Return the class of the other cells around each: int64[n]."""
        others = np.bincount(self.block, count)[self.block] - count
        wide = np.pad(self.spread(count), 1)
        rows, cols = self.inside.shape
        steps = [(i, j) for i in range(3) for j in range(3) if (i, j) != (1, 1)]
        around = np.sum([wide[i : i + rows, j : j + cols] for i, j in steps], axis=0)
        beside = around[self.inside]
        return self._class_of(others, SUMS) * BESIDE + self._class_of(beside, BESIDE)

    def _class_of(self, people: FloatArray, classes: int) -> IntArray:
        """Return 0 for nobody, then one class for every doubling."""
        doublings = np.floor(np.log2(1 + np.maximum(people, 0) / self.scale))
        return np.where(people > 1e-9, 1 + np.minimum(doublings, classes - 2), 0).astype(np.int64)

    def bin_of(self, count: NDArray[np.generic]) -> IntArray:
        """Return the bins of counts: int64[n]."""
        return np.searchsorted(self.edges, count, "right") - 1

    def count_pairs(self, truth: IntArray, releases: Sequence[FloatArray]) -> FloatArray:
        """Count cells by surroundings, bin of the truth, bin released: float64[s, bins, bins]."""
        bins = self.edges.size
        found = np.zeros(SUMS * BESIDE * bins * bins)
        true = self.bin_of(truth)
        for one in releases:
            place = (self.surroundings(one) * bins + true) * bins + self.bin_of(one)
            found += np.bincount(place, minlength=found.size)
        return found.reshape(-1, bins, bins)


def list_edges(scale: float, classes: Sequence[int], certain: float = CERTAIN) -> IntArray:
    """Return least people of bins: narrow against noise and people, and ended by size classes.

    The last one begins beyond so many scales of the noise as are ``certain``.

    Examples
    --------
    >>> list_edges(2.0, (1, 20)).tolist()
    [0, 1, 2, 3, 4, 5, 7, 9, 12, 16, 20, 22, 25]
    """
    found, at, last = {0}, 1.0, certain * scale
    while at < last:
        found.add(int(at))
        at += max(1.0, scale / 4, at / 3)
    found |= {one for one in classes if one <= last} | {int(last) + 1}
    return np.array(sorted(found), np.int64)


def invert(board: Board, first: IntArray) -> tuple[IntArray, list[IntArray]]:
    """Return tables that the release can have been made of: each int64[n].

    The first is what a release of the first map tells alone: of a cell released like this, in
    surroundings like these, as many people as there were. The others are fitted to the release.

    Parameters
    ----------
    board : Board
    first : int64[n]
        A public map on the same cells: of another date, of another place, or made up.
    """
    random = np.random.default_rng(SEED)
    shown = board.take(board.table)
    released = np.zeros((SUMS * BESIDE, board.edges.size))
    np.add.at(released, (board.surroundings(shown), board.bin_of(shown)), 1.0)
    bins = board.bin_of(first)
    stock = [first[bins == one] for one in range(board.edges.size)]
    known = board.count_pairs(first, [board.release(first, i) for i in range(FIRST)])
    start, pairs, found = expect(known), known, []
    held = min(MOST_HELD, board.scale * HELD)
    simple = draw(board, respond(known) * start[:, :, None], shown, stock, random)
    for turn in range(ROUNDS):
        law = respond(pairs)
        share = fit(law, start, released, held)
        table = draw(board, law * share[:, :, None], shown, stock, random)
        found.append(table)
        if turn < ROUNDS - 1:
            trials = range(FIRST + turn * AGAIN, FIRST + (turn + 1) * AGAIN)
            pairs = board.count_pairs(table, [board.release(table, i) for i in trials])
            pairs += known * (AGAIN / FIRST / 10)  # bins that the table has none of
    return simple, found[-TAKEN:]


def expect(pairs: FloatArray) -> FloatArray:
    """Return the shares of cells with so many people, by surroundings: float64[s, bins]."""
    every = pairs.sum(axis=(0, 2)) + 1e-3
    some = pairs.sum(axis=2) + FEW * every / every.sum()
    return np.asarray(some / some.sum(axis=1, keepdims=True), np.float64)


def respond(pairs: FloatArray) -> FloatArray:
    """Return the law of what is released of a cell, by surroundings: float64[s, bins, bins]."""
    every = pairs.sum(axis=0) + np.eye(pairs.shape[1]) / 2 + 1e-3
    some = pairs + SPREAD * every / every.sum(axis=1, keepdims=True)
    return np.asarray(some / some.sum(axis=2, keepdims=True), np.float64)


def fit(law: FloatArray, start: FloatArray, released: FloatArray, held: float) -> FloatArray:
    """Return the shares that explain what was released best: float64[s, bins].

    Parameters
    ----------
    law : float64[s, bins, bins]
        As of :func:`respond`.
    start : float64[s, bins]
        Shares that they are held to.
    released : float64[s, bins]
        Cells.
    held : float
        Weight of ``start``, of that of the released cells.
    """
    cells = np.maximum(released.sum(axis=1, keepdims=True), 1.0)
    share: FloatArray = start
    for _ in range(STEPS):
        seen = np.maximum(np.matmul(share[:, None], law)[:, 0], 1e-300)
        taken = share * np.matmul(law, (released / seen)[:, :, None])[:, :, 0]
        better = (taken / cells + held * start) / (1 + held)
        better /= better.sum(axis=1, keepdims=True)
        change, share = float(np.abs(better - share).max()), better
        if change < NEAR:
            break
    return np.asarray(share, np.float64)


def draw(
    board: Board,
    chance: FloatArray,
    shown: FloatArray,
    stock: Sequence[IntArray],
    random: np.random.Generator,
) -> IntArray:
    """Draw the true count of every cell given what was released of it: int64[n].

    Parameters
    ----------
    chance : float64[s, bins, bins]
        Of a true and a released bin together, by surroundings.
    shown : float64[n]
        The released counts.
    stock : sequence of int64[k]
        Counts of each bin, that those of a bin are drawn from.
    """
    until = np.cumsum(chance, axis=1).transpose(0, 2, 1)
    until = until / np.maximum(until[:, :, -1:], 1e-300)
    around, here = board.surroundings(shown), board.bin_of(shown)
    bins = np.empty(shown.size, np.int64)
    for start in range(0, shown.size, DRAWN):
        part = slice(start, start + DRAWN)
        which = random.random(bins[part].size)[:, None]
        bins[part] = (which > until[around[part], here[part]]).sum(axis=1)
    bins = np.minimum(bins, board.edges.size - 1)
    found = board.edges[bins]
    for number, some in enumerate(stock[:-1]):
        place = np.flatnonzero(bins == number)
        if some.size:
            found[place] = random.choice(some, place.size)
    certain = (shown >= board.edges[-1]) | (bins == board.edges.size - 1)
    found[certain] = np.maximum(np.rint(shown[certain]), board.edges[-1]).astype(np.int64)
    return found
