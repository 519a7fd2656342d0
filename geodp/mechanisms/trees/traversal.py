"""The pyramid's two passes over the nodes that it visits; what they compute is in a kernel."""

from __future__ import annotations

import mmap
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.grid.tree import edges_of
from geodp.kernels.pyramid import edges, layout, passes
from geodp.kernels.pyramid.edges import ROWS, Edges
from geodp.kernels.pyramid.layout import Desk, Levels
from geodp.mechanisms.trees import parallel
from geodp.mechanisms.trees.descent import Descent, below_of, desk_of
from geodp.privacy.key import NoiseKey, Stream, expose
from geodp.privacy.noise.draws import Draw
from geodp.privacy.noise.law import Law
from geodp.privacy.noise.node import NodeNoise
from geodp.table.counts import Cells, CountTable
from geodp.typing import FloatArray, IntArray, KeyArray, KeyedCounts

RECORDS = 1 << 13, 1 << 18
"""Words of 64 bits of the first piece of the first pass's records, and of the largest: each is as
long as all before it. The second pass lets them go."""

PUT = 1 << 16
"""Open nodes that are put out in one piece."""


NO_ESTIMATES = np.empty(0), np.empty(0)


@dataclass(frozen=True, eq=False)
class Front:
    """Open nodes of a level, in key order, with their estimates.

    Attributes
    ----------
    level : int
    prefix, count : uint64[n], int64[n]
        Numbers of the nodes; what is shared out below them, above 0.
    z, variance : float64[n]
        Their own noisy counts; :meth:`Walk.measure` improves them.
    """

    level: int
    prefix: KeyArray
    count: IntArray
    z: FloatArray
    variance: FloatArray

    def piece(self, nodes: slice) -> Front:
        """Return some neighbouring nodes; their estimates are these, not a copy."""
        prefix, count = self.prefix[nodes], self.count[nodes]
        return Front(self.level, prefix, count, self.z[nodes], self.variance[nodes])


@dataclass(eq=False)
class PassRecords:
    """What the second pass needs of the open nodes below a front.

    Attributes
    ----------
    pieces : list of uint64[.]
        As :mod:`geodp.kernels.pyramid.passes` writes and reads them; the last one is read first.
    opened : int
        Open nodes of the last level.
    """

    pieces: list[KeyArray]
    opened: int

    def __sizeof__(self) -> int:
        """Bytes of the records."""
        return sum(piece.nbytes for piece in self.pieces)


@dataclass(frozen=True, eq=False)
class Walk:
    """Two passes over the nodes below some roots, block by block depth first.

    A block's noise and measurements stay in the cache and are forgotten when it is done: kept are
    the records of the open nodes only. A node's result depends on the node alone, so neither
    blocks nor runs of subtrees nor threads show.
    """

    table: Cells
    edges: Edges
    cumulative: IntArray
    descent: Descent
    noise: tuple[NodeNoise, ...]
    levels: Levels
    desks: list[Desk] = field(default_factory=list)

    @classmethod
    def of(cls, table: Cells, descent: Descent, key: NoiseKey) -> Walk:
        """Over counts of cells, or of nodes at the first key of each."""
        edges = edges_of(table.grid, descent.strides)
        noise = [NodeNoise(key, Stream.PYRAMID + i, law) for i, law in enumerate(descent.laws)]
        levels = descent.levels([one.stream for one in noise])
        return cls(table, edges, prefix_sums(table), descent, tuple(noise), levels)

    @cached_property
    def draws(self) -> tuple[Draw, ...]:
        """What is drawn on all levels."""
        return tuple(one.source for one in self.noise)

    def roots(self, roots: KeyArray) -> tuple[Front, FloatArray]:
        """Measure roots; those above 0, and their numbers in [0, 1)."""
        noisy, uniform = self.noise[0].families(roots, 1)
        first, stop = self.spans(0, roots)
        noisy += self.cumulative[stop] - self.cumulative[first]
        z = noisy.astype(np.float64)
        count = np.maximum(z, 0).astype(np.int64)
        some = count > 0
        own = np.full(int(some.sum()), self.descent.variances[0])
        return Front(0, roots[some], count[some], z[some], own), uniform[some]

    def spans(self, level: int, prefix: KeyArray) -> tuple[IntArray, ...]:
        """First and one past the last of the data of nodes."""
        stride, key = np.uint64(self.descent.strides[level]), self.table.key
        first = prefix * stride
        last = first + (stride - np.uint64(1))
        return np.searchsorted(key, first), np.searchsorted(key, last, "right")

    def open(self, front: Front, last: int) -> tuple[Front, int]:
        """Return the open nodes of a lower level by the first pass, and how many were measured."""
        run = PassRun(self, front, last, columns=4)
        run.measure()
        return Front(last, *parallel.concat(run.parts)), run.visited

    def cells(self, front: Front, last: int) -> tuple[KeyedCounts, int]:
        """Return the same as prefixes and counts only."""
        run = PassRun(self, front, last, columns=2)
        run.measure()
        prefix, count = parallel.concat(run.parts)
        return (prefix, count), run.visited

    def measure(
        self, front: Front, last: int, below: tuple[FloatArray, FloatArray] = NO_ESTIMATES
    ) -> tuple[PassRecords, int]:
        """Run the first pass down to a level, and improve the front's estimates from below.

        ``below``: estimates and variances of the last level's open nodes, instead of their own.
        """
        run = PassRun(self, front, last, columns=0)
        run.measure(below)
        return PassRecords(run.pieces, run.opened), run.visited

    def share(self, front: Front, last: int, count: IntArray, records: PassRecords) -> KeyedCounts:
        """Run the second pass: what the front's nodes have now, shared out; records are let go."""
        if front.level == last:
            return front.prefix[count > 0], count[count > 0]
        out = np.empty(records.opened, np.uint64), np.empty(records.opened, np.int64)
        if not front.prefix.size:
            return out
        first, size = front.level + 1, front.prefix.size
        progress = start_pass(self.levels, front, last)
        turn = -(-size // int(self.levels.table[layout.WIDTH, first])) - 1
        passes.begin(self.levels.table, progress[1], first, size, turn)
        state, below = progress[0], below_of(self.levels)
        state[layout.PUT] = records.opened
        top, why = np.array([front.prefix.view(np.int64), count]), layout.ROOM
        while why != layout.DONE:
            piece = writable(records.pieces.pop())
            state[layout.AT] = piece.size
            why = passes.second_pass(self.levels, top, below, progress, piece, out)
        return out[0][state[layout.PUT] :], out[1][state[layout.PUT] :]

    def settle(self, front: Front, uniform: FloatArray, middle: Front) -> IntArray:
        """Run both passes from the roots to a level whose nodes have estimates from below.

        Parameters
        ----------
        front, uniform : Front, float64[n]
            From :meth:`roots`.
        middle : Front
            All open nodes of a level, as :meth:`open` finds them, with better estimates; of the
            roots' level the roots.

        Returns
        -------
        int64[.]
            What each of them has in the end.
        """
        records = PassRecords([], 0)
        if middle.level:
            records, _ = self.measure(front, middle.level, (middle.z, middle.variance))
        z = front.z if middle.level else middle.z
        total = np.maximum(np.floor(z + uniform), 0).astype(np.int64)
        prefix, found = self.share(front, middle.level, total, records)
        count = np.zeros(middle.prefix.size, np.int64)
        count[np.searchsorted(middle.prefix, prefix)] = found
        return count


def refine(
    table: CountTable, descent: Descent, key: NoiseKey, parts: int = 0, threads: int = 0
) -> tuple[KeyArray, IntArray, int]:
    """Cells above 0 and their counts in key order, and the number of nodes measured.

    Parameters
    ----------
    parts : int
        Runs of subtrees that are worked on side by side, where there are many nodes; 0: some for
        every thread.
    threads : int
        0: one for every processor.
    """
    return descend(table, descent, key, np.zeros(1, np.uint64), parts, threads)


def descend(
    table: Cells,
    descent: Descent,
    key: NoiseKey,
    roots: KeyArray,
    parts: int = 0,
    threads: int = 0,
) -> tuple[KeyArray, IntArray, int]:
    """Run both passes under several roots side by side: each has ``strides[0]`` keys."""
    walk, last = Walk.of(table, descent, key), len(descent.strides) - 1
    front, uniform = walk.roots(roots)
    middle, visited = front, roots.size
    short = descent.is_short(table.key.size, roots.size)
    split = parts > 1 or (parallel.processors(threads) > 1 and not short)
    while split and middle.level < last and 0 < middle.prefix.size < parallel.MANY:
        middle, seen = walk.open(middle, middle.level + 1)
        visited += seen
    if middle.level == last:  # nowhere above the cells are many nodes
        middle, visited = front, roots.size
    runs = [slice(0, middle.prefix.size)]
    if split and middle.prefix.size:
        cuts = parts or parallel.count_runs(middle.prefix.size, threads)
        runs = parallel.partition(middle.count, cuts)
    if descent.passes > 1 and len(runs) == 1:  # nothing to be side by side with
        records, seen = walk.measure(middle, last)
        count = walk.settle(front, uniform, middle)
        return *walk.share(middle, last, count, records), visited + seen
    if descent.passes == 1:
        done = parallel.map_items(lambda run: walk.cells(middle.piece(run), last), runs, threads)
        visited += sum(seen for _, seen in done)
        prefix, found = parallel.concat([cells for cells, _ in done])
        return prefix, found, visited
    kept = parallel.map_items(lambda run: walk.measure(middle.piece(run), last), runs, threads)
    count, visited = walk.settle(front, uniform, middle), visited + sum(seen for _, seen in kept)

    def finish(number: int) -> KeyedCounts:
        run = runs[number]
        return walk.share(middle.piece(run), last, count[run], kept[number][0])

    prefix, found = parallel.concat(parallel.map_items(finish, range(len(runs)), threads))
    return prefix, found, visited


@dataclass(eq=False)
class PassRun:
    """A first pass below a front, which goes on until it is done.

    Attributes
    ----------
    walk : Walk
    front : Front
    last : int
        Level at which it ends.
    columns : int
        Of what is put out: 2, 4 with estimates; 0: records are kept instead.
    parts : list of tuples of arrays
        Nodes that were put out.
    pieces : list of uint64[.]
        Of the records.
    opened, visited : int
        Open nodes of the last level, and nodes measured.
    """

    walk: Walk
    front: Front
    last: int
    columns: int
    parts: list[tuple[NDArray[Any], ...]] = field(default_factory=list)
    pieces: list[KeyArray] = field(default_factory=list)
    opened: int = 0
    visited: int = 0

    def measure(self, below: tuple[FloatArray, FloatArray] = NO_ESTIMATES) -> None:
        """Run it; ``below`` as of :meth:`Walk.measure`."""
        front, walk = self.front, self.walk
        if front.level == self.last or not front.prefix.size:
            columns = front.prefix, front.count, front.z, front.variance
            self.parts, self.opened = [columns[: self.columns]], front.prefix.size
            return
        progress, desk, top = start_pass(walk.levels, front, self.last), self._desk(), self._top()
        state, goal = progress[0], layout.Goal(self.columns == 0, np.array(below))
        tree = layout.PyramidTree(walk.levels, walk.edges, walk.table.key, walk.cumulative)
        record = np.empty(0 if self.columns else RECORDS[0], np.uint64)
        out = self._out(PUT if self.columns else 0)
        with expose(walk.noise[0].key, *walk.draws) as words:
            while True:
                why = passes.first_pass(words, tree, goal, top, desk, progress, record, out)
                if why == layout.DECIDE:
                    self._decide(state, progress[1], top, desk)
                if why in (layout.ROOM, layout.DONE) and state[layout.AT]:
                    self.pieces.append(record[: state[layout.AT]])
                if why in (layout.SPACE, layout.DONE) and state[layout.PUT]:
                    put = slice(0, state[layout.PUT])
                    columns = out.prefix, out.held, *out.estimates
                    self.parts.append(tuple(column[put] for column in columns[: self.columns]))
                if why == layout.DONE:
                    break
                if why == layout.ROOM:
                    kept = sum(piece.size for piece in self.pieces[-RECORDS[1].bit_length() :])
                    size = min(max(RECORDS[0], kept), RECORDS[1])
                    record = piece_of(max(size, int(state[layout.NEEDED])))
                    state[layout.AT] = 0
                if why == layout.SPACE:
                    out = self._out(max(PUT, state[layout.NEEDED]))
                    state[layout.PUT] = 0
        walk.desks.append(desk)
        front.z[:], front.variance[:] = top.estimates
        self.opened, self.visited = int(state[layout.OPENED]), int(state[layout.VISITED])

    def _top(self) -> layout.TopNodes:
        front, size = self.front, self.front.prefix.size
        spans = self.walk.spans(front.level, front.prefix)
        whole = np.full(size, self.walk.edges.limit.size == 0)
        nodes = [front.prefix.view(np.int64), front.count, *spans, whole]
        return layout.TopNodes(np.array(nodes, np.int64), np.array([front.z, front.variance]))

    def _out(self, size: int) -> layout.Out:
        estimates = np.empty((2, size if self.columns == 4 else 0))
        return layout.Out(np.empty(size, np.uint64), np.empty(size, np.int64), estimates)

    def _desk(self) -> Desk:
        try:
            return self.walk.desks.pop()
        except IndexError:
            return desk_of(self.walk.levels)

    def _decide(
        self,
        state: IntArray,
        fill: IntArray,
        top: layout.TopNodes,
        desk: Desk,
    ) -> None:
        """Decide exactly what the table of a block's level leaves open."""
        level, table = int(state[layout.LEVEL]), self.walk.levels.table
        nodes, base = top.nodes, 0
        if level > state[layout.TOP]:
            nodes, base = desk.nodes, int(table[layout.START, level - 1])
        first, stop = fill[level, [layout.FROM, layout.UPTO]]
        above = nodes[layout.PREFIX, base + first : base + stop].view(np.uint64)
        fanout, source = int(table[layout.FANOUT, level]), self.walk.noise[level]
        drawn = np.zeros((above.size, -(-fanout // ROWS) * ROWS), np.int64)
        drawn[:, :fanout] = source.families(above, fanout)[0].reshape(-1, fanout)
        rows = drawn.reshape(above.size, -1, ROWS).transpose(2, 1, 0).reshape(ROWS, -1)
        pitch = -(-rows.shape[1] // edges.STEP) * edges.STEP
        desk.far[: ROWS * pitch].reshape(ROWS, pitch)[:, : rows.shape[1]] = rows


@dataclass(frozen=True)
class SyntheticLevels:
    """Some levels of a pyramid, for made-up people; parameters are those of :class:`Descent`."""

    fanouts: tuple[int, ...]
    laws: tuple[Law, ...]
    least: tuple[float, ...]
    passes: int

    def __call__(self, table: CountTable, trees: int, key: NoiseKey) -> KeyedCounts:
        """Release a table of so many trees."""
        above = tuple(accumulate(reversed(self.fanouts), lambda a, b: a * b, initial=1))
        descent = Descent(self.fanouts, above[::-1], self.laws, self.least, self.passes)
        roots = np.arange(trees, dtype=np.uint64)
        cells, counts, _ = descend(table, descent, key, roots, threads=1)
        return cells, counts


def prefix_sums(table: Cells) -> IntArray:
    """Return counts of the cells before every cell, and of all: int64[m + 1]."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(table.count)])


def piece_of(words: int) -> KeyArray:
    """Return words of 64 bits, and of many the memory goes back as soon as nobody has them.

    It comes in large pages where the system has them: small ones, asked for one by one as they are
    first written, cost more than what is written.
    """
    if words < RECORDS[1]:
        return np.empty(words, np.uint64)
    if not hasattr(mmap, "MAP_PRIVATE"):
        return np.frombuffer(mmap.mmap(-1, 8 * words), np.uint64)
    piece = mmap.mmap(-1, 8 * words, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):  # a system that was built without them
            piece.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(piece, np.uint64)


def writable(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array as kernels are compiled for: what came from elsewhere may be read-only."""
    return np.require(array, requirements=["C", "W"])


def start_pass(levels: Levels, front: Front, last: int) -> tuple[IntArray, IntArray]:
    """State and fill of a first pass below a front."""
    state = np.zeros(layout.STATE, np.int64)
    fill = np.zeros((levels.table.shape[1], 5), np.int64)
    state[[layout.LEVEL, layout.TOP]], state[layout.LAST] = front.level + 1, last
    passes.begin(levels.table, fill, front.level + 1, front.prefix.size, 0)
    return state, fill
