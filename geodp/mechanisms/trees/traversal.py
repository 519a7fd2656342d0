"""The pyramid's two passes over the nodes that it visits, on several threads.

The passes themselves are kernels, in :mod:`geodp.kernels.pyramid.passes`; this module allocates
their arrays, decides rare draws exactly, and divides trees into chunks.
"""

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
from geodp.kernels.pyramid.layout import Levels, PassWorkspace
from geodp.mechanisms.trees import parallel
from geodp.mechanisms.trees.descent import Descent, make_sharing_workspace, make_workspace
from geodp.privacy.key import NoiseKey, Stream, expose
from geodp.privacy.noise.draws import Draw
from geodp.privacy.noise.law import Law
from geodp.privacy.noise.node import NodeNoise
from geodp.table.counts import Cells, CountTable
from geodp.typing import FloatArray, IntArray, KeyArray, KeyedCounts

RECORDS = 1 << 13, 1 << 18
"""Words of 64 bits of the first and of the largest array of records: each is as long as all before
it. The second pass releases them one by one."""

EMIT_SIZE = 1 << 16
"""Number of open nodes that are emitted into one array."""


NO_ESTIMATES = np.empty(0), np.empty(0)


@dataclass(frozen=True, eq=False)
class OpenNodes:
    """Open nodes of a level, in key order, with their estimates.

    Attributes
    ----------
    level : int
    prefix, count : uint64[n], int64[n]
        Prefixes of the nodes, and their counts, above 0.
    z, variance : float64[n]
        Their noisy counts and variances; :meth:`Traversal.measure` improves them.
    """

    level: int
    prefix: KeyArray
    count: IntArray
    z: FloatArray
    variance: FloatArray

    def piece(self, nodes: slice) -> OpenNodes:
        """Return a slice of the nodes, whose estimates are views of these."""
        prefix, count = self.prefix[nodes], self.count[nodes]
        return OpenNodes(self.level, prefix, count, self.z[nodes], self.variance[nodes])


@dataclass(eq=False)
class PassRecords:
    """Records of the open nodes below some nodes, for the second pass.

    Attributes
    ----------
    pieces : list of uint64[.]
        Arrays of :mod:`geodp.kernels.pyramid.passes`; the last one is read first.
    opened : int
        Number of open nodes of the last level.
    """

    pieces: list[KeyArray]
    opened: int

    def __sizeof__(self) -> int:
        """Bytes of the records."""
        return sum(piece.nbytes for piece in self.pieces)


@dataclass(frozen=True, eq=False)
class Traversal:
    """Two passes over the nodes below some roots, block by block, depth first."""

    # A block's noise and measurements stay in the cache and are dropped when it is done; only the
    # records of open nodes are stored. A node's result depends on the node alone, so neither blocks
    # nor chunks of subtrees nor threads affect the release.

    table: Cells
    edges: Edges
    cumulative: IntArray
    descent: Descent
    noise: tuple[NodeNoise, ...]
    levels: Levels
    workspaces: list[PassWorkspace] = field(default_factory=list)

    @classmethod
    def of(cls, table: Cells, descent: Descent, key: NoiseKey) -> Traversal:
        """Prepare the passes over counts of cells, or of nodes at the first key of each."""
        edges = edges_of(table.grid, descent.strides)
        noise = [NodeNoise(key, Stream.PYRAMID + i, law) for i, law in enumerate(descent.laws)]
        levels = descent.levels([one.stream for one in noise])
        return cls(table, edges, prefix_sums(table), descent, tuple(noise), levels)

    @cached_property
    def draws(self) -> tuple[Draw, ...]:
        """Draws of all levels, as the key must have declared them."""
        return tuple(one.source for one in self.noise)

    def roots(self, roots: KeyArray, errors: float = 0) -> tuple[OpenNodes, FloatArray]:
        """Measure roots; return those that are open, and their uniform numbers in [0, 1).

        ``errors``: a count that is below so many standard errors of its noise is raised by them, as
        nodes below it are opened by it. Roots with a count above 0 are open.
        """
        noisy, uniform = self.noise[0].families(roots, 1)
        first, stop = self.spans(0, roots)
        noisy += self.cumulative[stop] - self.cumulative[first]
        z = noisy.astype(np.float64)
        count = open_roots(z, self.descent.variances[0], errors)
        some = count > 0
        variance = np.full(int(some.sum()), self.descent.variances[0])
        return OpenNodes(0, roots[some], count[some], z[some], variance), uniform[some]

    def spans(self, level: int, prefix: KeyArray) -> tuple[IntArray, ...]:
        """Return the first of each node's data, and one past the last."""
        stride, key = np.uint64(self.descent.strides[level]), self.table.key
        first = prefix * stride
        last = first + (stride - np.uint64(1))
        return np.searchsorted(key, first), np.searchsorted(key, last, "right")

    def open(self, front: OpenNodes, last: int) -> tuple[OpenNodes, int]:
        """Run the first pass to a lower level: its open nodes, and the number of nodes measured."""
        run = PassRun(self, front, last, columns=4)
        run.measure()
        return OpenNodes(last, *parallel.concat(run.parts)), run.visited

    def cells(self, front: OpenNodes, last: int) -> tuple[KeyedCounts, int]:
        """Run the first pass like :meth:`open`, but return prefixes and counts only."""
        run = PassRun(self, front, last, columns=2)
        run.measure()
        prefix, count = parallel.concat(run.parts)
        return (prefix, count), run.visited

    def measure(
        self, front: OpenNodes, last: int, below: tuple[FloatArray, FloatArray] = NO_ESTIMATES
    ) -> tuple[PassRecords, int]:
        """Run the first pass down to a level, and improve the nodes' estimates from below.

        ``below``: estimates and variances of the last level's open nodes that replace their own.
        """
        run = PassRun(self, front, last, columns=0)
        run.measure(below)
        return PassRecords(run.pieces, run.opened), run.visited

    def share(
        self, front: OpenNodes, last: int, count: IntArray, records: PassRecords
    ) -> KeyedCounts:
        """Run the second pass: apportion the nodes' final counts; the records are used up."""
        if front.level == last:
            return front.prefix[count > 0], count[count > 0]
        out = np.empty(records.opened, np.uint64), np.empty(records.opened, np.int64)
        if not front.prefix.size:
            return out
        first, size = front.level + 1, front.prefix.size
        progress = start_pass(self.levels, front, last)
        index = -(-size // int(self.levels.table[layout.WIDTH, first])) - 1
        passes.begin(self.levels.table, progress[1], first, size, index)
        state, below = progress[0], make_sharing_workspace(self.levels)
        state[layout.EMITTED] = records.opened
        top, why = np.array([front.prefix.view(np.int64), count]), layout.NEED_RECORD
        while why != layout.DONE:
            piece = writable(records.pieces.pop())
            state[layout.AT] = piece.size
            why = passes.second_pass(self.levels, top, below, progress, piece, out)
        return out[0][state[layout.EMITTED] :], out[1][state[layout.EMITTED] :]

    def final_counts(self, front: OpenNodes, uniform: FloatArray, middle: OpenNodes) -> IntArray:
        """Run both passes from the roots to a level whose nodes have estimates from below.

        Parameters
        ----------
        front, uniform : OpenNodes, float64[n]
            From :meth:`roots`.
        middle : OpenNodes
            All open nodes of a level, from :meth:`open`, with improved estimates; the roots
            themselves if it is their level.

        Returns
        -------
        int64[.]
            Their final counts.
        """
        records = PassRecords([], 0)
        if middle.level:
            records, _ = self.measure(front, middle.level, (middle.z, middle.variance))
        z = front.z if middle.level else middle.z
        total = np.maximum(np.floor(z + uniform), 0).astype(np.int64)
        prefix, counted = self.share(front, middle.level, total, records)
        count = np.zeros(middle.prefix.size, np.int64)
        count[np.searchsorted(middle.prefix, prefix)] = counted
        return count


def refine(
    table: CountTable, descent: Descent, key: NoiseKey, parts: int = 0, threads: int = 0
) -> tuple[KeyArray, IntArray, int]:
    """Return cells above 0 and their counts in key order, and the number of nodes measured.

    Parameters
    ----------
    parts : int
        Number of chunks of subtrees that are processed in parallel, if there are many nodes; 0:
        some for every thread.
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
    """Run both passes below several roots: each has ``strides[0]`` keys."""
    traversal, last = Traversal.of(table, descent, key), len(descent.strides) - 1
    front, uniform = traversal.roots(roots)
    middle, visited = front, roots.size
    short = descent.is_short(table.key.size, roots.size)
    split = parts > 1 or (parallel.processors(threads) > 1 and not short)
    while split and middle.level < last and 0 < middle.prefix.size < parallel.MANY:
        middle, seen = traversal.open(middle, middle.level + 1)
        visited += seen
    # If no level above the cells has many nodes, the roots themselves are the middle.
    if middle.level == last:
        middle, visited = front, roots.size
    runs = [slice(0, middle.prefix.size)]
    if split and middle.prefix.size:
        cuts = parts or parallel.count_runs(middle.prefix.size, threads)
        runs = parallel.partition(middle.count, cuts)
    if descent.passes > 1 and len(runs) == 1:  # a single chunk needs no synchronisation
        records, seen = traversal.measure(middle, last)
        count = traversal.final_counts(front, uniform, middle)
        return *traversal.share(middle, last, count, records), visited + seen
    if descent.passes == 1:
        done = parallel.map_items(
            lambda run: traversal.cells(middle.piece(run), last), runs, threads
        )
        visited += sum(seen for _, seen in done)
        prefix, counts = parallel.concat([cells for cells, _ in done])
        return prefix, counts, visited
    measured = parallel.map_items(
        lambda run: traversal.measure(middle.piece(run), last), runs, threads
    )
    count = traversal.final_counts(front, uniform, middle)
    visited += sum(seen for _, seen in measured)

    def finish(number: int) -> KeyedCounts:
        run = runs[number]
        return traversal.share(middle.piece(run), last, count[run], measured[number][0])

    prefix, counts = parallel.concat(parallel.map_items(finish, range(len(runs)), threads))
    return prefix, counts, visited


@dataclass(eq=False)
class PassRun:
    """A first pass below some nodes, which is resumed until it is done.

    Attributes
    ----------
    traversal : Traversal
    front : OpenNodes
    last : int
        Level at which it ends.
    columns : int
        Number of columns of emitted nodes: 2, or 4 with estimates; 0: records are stored instead.
    parts : list of tuples of arrays
        Emitted nodes.
    pieces : list of uint64[.]
        Arrays of records.
    opened, visited : int
        Number of open nodes of the last level, and of nodes measured.
    """

    traversal: Traversal
    front: OpenNodes
    last: int
    columns: int
    parts: list[tuple[NDArray[Any], ...]] = field(default_factory=list)
    pieces: list[KeyArray] = field(default_factory=list)
    opened: int = 0
    visited: int = 0

    def measure(self, below: tuple[FloatArray, FloatArray] = NO_ESTIMATES) -> None:
        """Run the pass; ``below``: see :meth:`Traversal.measure`."""
        front, traversal = self.front, self.traversal
        if front.level == self.last or not front.prefix.size:
            columns = front.prefix, front.count, front.z, front.variance
            self.parts, self.opened = [columns[: self.columns]], front.prefix.size
            return
        progress, workspace, top = (
            start_pass(traversal.levels, front, self.last),
            self._workspace(),
            self._top(),
        )
        state, options = progress[0], layout.PassOptions(self.columns == 0, np.array(below))
        tree = layout.PyramidTree(
            traversal.levels, traversal.edges, traversal.table.key, traversal.cumulative
        )
        record = np.empty(0 if self.columns else RECORDS[0], np.uint64)
        out = self._out(EMIT_SIZE if self.columns else 0)
        with expose(traversal.noise[0].key, *traversal.draws) as words:
            while True:
                why = passes.first_pass(words, tree, options, top, workspace, progress, record, out)
                if why == layout.DECIDE:
                    self._decide(state, progress[1], top, workspace)
                if why in (layout.NEED_RECORD, layout.DONE) and state[layout.AT]:
                    self.pieces.append(record[: state[layout.AT]])
                if why in (layout.NEED_OUTPUT, layout.DONE) and state[layout.EMITTED]:
                    put = slice(0, state[layout.EMITTED])
                    columns = out.prefix, out.held, *out.estimates
                    self.parts.append(tuple(column[put] for column in columns[: self.columns]))
                if why == layout.DONE:
                    break
                if why == layout.NEED_RECORD:
                    measured = sum(piece.size for piece in self.pieces[-RECORDS[1].bit_length() :])
                    size = min(max(RECORDS[0], measured), RECORDS[1])
                    record = piece_of(max(size, int(state[layout.NEEDED])))
                    state[layout.AT] = 0
                if why == layout.NEED_OUTPUT:
                    out = self._out(max(EMIT_SIZE, state[layout.NEEDED]))
                    state[layout.EMITTED] = 0
        traversal.workspaces.append(workspace)
        front.z[:], front.variance[:] = top.estimates
        self.opened, self.visited = int(state[layout.OPENED]), int(state[layout.VISITED])

    def _top(self) -> layout.TopNodes:
        front, size = self.front, self.front.prefix.size
        spans = self.traversal.spans(front.level, front.prefix)
        full = np.full(size, self.traversal.edges.limit.size == 0)
        nodes = [front.prefix.view(np.int64), front.count, *spans, full]
        return layout.TopNodes(np.array(nodes, np.int64), np.array([front.z, front.variance]))

    def _out(self, size: int) -> layout.EmittedNodes:
        estimates = np.empty((2, size if self.columns == 4 else 0))
        return layout.EmittedNodes(np.empty(size, np.uint64), np.empty(size, np.int64), estimates)

    def _workspace(self) -> PassWorkspace:
        try:
            return self.traversal.workspaces.pop()
        except IndexError:
            return make_workspace(self.traversal.levels)

    def _decide(
        self,
        state: IntArray,
        fill: IntArray,
        top: layout.TopNodes,
        workspace: PassWorkspace,
    ) -> None:
        """Decide exactly the draws of a block that the table of its law leaves open."""
        # All of the block's draws are computed again, exactly, into the 64-bit rows: that is rare,
        # and simpler than finding the undecided ones.
        level, table = int(state[layout.LEVEL]), self.traversal.levels.table
        nodes, base = top.nodes, 0
        if level > state[layout.TOP]:
            nodes, base = workspace.nodes, int(table[layout.START, level - 1])
        first, stop = fill[level, [layout.FROM, layout.UPTO]]
        above = nodes[layout.PREFIX, base + first : base + stop].view(np.uint64)
        fanout, source = int(table[layout.FANOUT, level]), self.traversal.noise[level]
        drawn = np.zeros((above.size, -(-fanout // ROWS) * ROWS), np.int64)
        drawn[:, :fanout] = source.families(above, fanout)[0].reshape(-1, fanout)
        rows = drawn.reshape(above.size, -1, ROWS).transpose(2, 1, 0).reshape(ROWS, -1)
        pitch = -(-rows.shape[1] // edges.STEP) * edges.STEP
        workspace.far[: ROWS * pitch].reshape(ROWS, pitch)[:, : rows.shape[1]] = rows


@dataclass(frozen=True)
class SyntheticLevels:
    """Some levels of a pyramid, for simulations; the fields are those of :class:`Descent`."""

    fanouts: tuple[int, ...]
    laws: tuple[Law, ...]
    min_counts: tuple[float, ...]
    passes: int

    def __call__(self, table: CountTable, trees: int, key: NoiseKey) -> KeyedCounts:
        """Release a table of several trees."""
        above = tuple(accumulate(reversed(self.fanouts), lambda a, b: a * b, initial=1))
        descent = Descent(self.fanouts, above[::-1], self.laws, self.min_counts, self.passes)
        roots = np.arange(trees, dtype=np.uint64)
        cells, counts, _ = descend(table, descent, key, roots, threads=1)
        return cells, counts


def open_roots(z: FloatArray, variance: float, errors: float = 0) -> IntArray:
    """Compute the counts by which nodes below roots are opened: int64[n].

    Parameters
    ----------
    z : float64[n]
        Noisy counts of the roots.
    variance : float
        Of their noise.
    errors : float
        A count below so many standard errors of its noise is raised by them.
    """
    count = np.maximum(z, 0).astype(np.int64)
    margin = int(np.ceil(errors * variance**0.5))
    count[count < margin] += margin
    return count


def prefix_sums(table: Cells) -> IntArray:
    """Compute prefix sums of the cells' counts: int64[m + 1]."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(table.count)])


def piece_of(words: int) -> KeyArray:
    """Allocate words of 64 bits; large arrays return their memory to the system when released."""
    # Memory maps and not malloc, which may keep large areas. In large pages if the system has them:
    # a page fault for every small page costs more than writing the records.
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
    """Return a writable array: kernels are compiled for these; received ones may be read-only."""
    return np.require(array, requirements=["C", "W"])


def start_pass(levels: Levels, front: OpenNodes, last: int) -> tuple[IntArray, IntArray]:
    """Make the state and the fill of a pass below some nodes."""
    state = np.zeros(layout.STATE, np.int64)
    fill = np.zeros((levels.table.shape[1], 5), np.int64)
    state[[layout.LEVEL, layout.TOP]], state[layout.LAST] = front.level + 1, last
    passes.begin(levels.table, fill, front.level + 1, front.prefix.size, 0)
    return state, fill
