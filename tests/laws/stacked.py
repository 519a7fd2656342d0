"""The methods' own steps on very many copies of a tiny table at once, each with noise of its own.

Every function here is a method's release of so many copies: the parts of which ``release`` is made
get all copies in one array, or ``release`` itself a map on which the copies stand below each other.
What is drawn for a copy has the law, the scale and the number that one release draws, and
``test_stacked`` ties each to ``release``: the same noise gives the same table.

Where a noisy number decides what is measured next, copies that go on alike are taken together, see
:func:`alike`.
"""

from copy import copy
from dataclasses import dataclass, replace
from math import inf, isqrt, prod
from unittest import mock

import numpy as np

import geodp
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.kernels import baselines
from geodp.mechanisms import measure as measuring
from geodp.mechanisms.baselines import barak, dawa, matrix, mwem, privelet, quadtree
from geodp.mechanisms.baselines.agrid import AGrid, squares
from geodp.mechanisms.baselines.hb import Branching
from geodp.mechanisms.baselines.ugrid import UGrid
from geodp.mechanisms.measure import add_noise
from geodp.mechanisms.trees.least_squares import axis_bits, inside, sums_of_runs, without_negatives
from geodp.privacy.noise.law import DiscreteLaplace

MOST_KEYS = 1024
"""Largest domain on which methods that work on every key are released together."""

PIECE = 1 << 21
"""Cells of maps that are released at once."""


def domain_keys(grid):
    """Keys of the cells of the domain: uint64[cells]."""
    every = np.arange(prod(grid.order.radices), dtype=np.uint64)
    return every[grid.contains_keys(every)]


def table_of(grid, counts):
    """A table from the counts of the domain's cells, in key order."""
    return geodp.CountTable.from_keys(grid, domain_keys(grid), counts)


def of_domain(values, grid):
    """The domain's cells among values of all keys: [trials, keys] to [trials, cells]."""
    return np.asarray(values, np.float64)[:, domain_keys(grid).astype(np.int64)]


def noisy(counts, trials, key, stage, scale):
    """One list of measurements, with noise of its own for every trial: int64[trials, n]."""
    return add_noise(np.tile(counts, (trials, 1)), key, stage, scale)


def alike(label, key):
    """Every label with the trials that have it, and a key for them."""
    for number, one in enumerate(np.unique(label)):
        yield one, np.flatnonzero(label == one), key.derive(number.to_bytes(32, "little"))


def of_privelet(method, grid, event, counts, trials, key):
    """The transforms go along the first axis."""
    coefficients = privelet.forward(table_of(grid, counts).to_vector())
    found = noisy(coefficients, trials, key, 0, event.scale)
    return of_domain(privelet.inverse(found.T).T, grid)


def of_privelet_axes(method, grid, event, counts, trials, key):
    """The same along every axis of the grid, and not along that of the trials."""
    order, bits = grid.order, axis_bits(grid)
    box = privelet.order_to_box(table_of(grid, counts).to_vector(), order, bits)
    coefficients = privelet.along_every_axis(privelet.forward, box)
    values = noisy(coefficients.reshape(-1), trials, key, 0, event.scale).T
    values = values.reshape(*box.shape, trials)
    for _ in bits:
        values = np.moveaxis(privelet.inverse(values), 0, len(bits) - 1)
    place = privelet.box_to_order(np.arange(box.size).reshape(box.shape), order)
    return of_domain(values.reshape(-1, trials)[place].T, grid)


def of_barak(method, grid, event, counts, trials, key):
    """The estimate's matrix, whose sums are exact: its entries are 1 and -1 over a power of 2."""
    assert not method.nonnegative
    index = barak.find_measured(grid.bits, method.order)
    coefficients = barak.transform(table_of(grid, counts).to_vector())[index]
    found = noisy(coefficients, trials, key, 0, event.scale)
    rows = np.eye(index.size, dtype=np.int64)
    each = np.array([barak.linear_estimate(row, index, grid.bits) for row in rows])
    return of_domain(found.astype(np.float64) @ each, grid)


def of_matrix(method, grid, event, counts, trials, key):
    """Least squares of many right-hand sides."""
    strategy, vector = method.measurements(grid), table_of(grid, counts).to_vector()
    lower = noisy(strategy @ (vector % 2**32), trials, key, 0, event.scale).T
    upper = (strategy @ (vector >> 32))[:, None] + (lower >> 32)
    return of_domain(matrix.estimate(strategy, upper * 2.0**32 + lower % 2**32).T, grid)


def of_hay(method, grid, event, counts, trials, key):
    """A tree has as many roots as its list of leaves is long."""
    tree = method.tree(grid, DiscreteLaplace.of_scale(event.scale).variance)
    leaves = np.zeros(prod(tree.fanouts), np.int64)
    leaves[: 1 << grid.bits] = table_of(grid, counts).to_vector()
    scales = [event.scale] * (1 + len(tree.fanouts))
    levels = tree.estimate(tree.noisy(np.tile(leaves, trials), scales, key))
    values = without_negatives(levels, tree.fanouts) if method.nonnegative else levels[-1]
    return of_domain(values.reshape(trials, -1), grid)


def of_quadtree(method, grid, event, counts, trials, key):
    """The same."""
    tree, scales = method.plan(grid, event.scale)
    size = (1 << grid.bits) // prod(tree.fanouts)
    leaves = sums_of_runs(table_of(grid, counts).to_vector(), size)
    values = tree.estimate(tree.noisy(np.tile(leaves, trials), scales, key))[-1]
    if size > 1:
        held = inside(grid)
        values = quadtree.spread(values, None if held is None else np.tile(held, trials), size)
    return of_domain(values.reshape(trials, -1), grid)


@dataclass(frozen=True)
class _Branching(Branching):
    """The tree of one copy under each child of a root; roots of copies are not measured either."""

    below: tuple = ()

    def splits(self, grid):
        top = (grid.shape[0], *[1] * (len(grid.shape) - 1))
        return [top, *[(1, *level) for level in self.below]]

    def tree(self, grid, sigma2):
        tree = super().tree(grid, sigma2)
        return replace(tree, variances=(inf, inf, *tree.variances[2:]))


def of_hb(method, grid, event, counts, trials, key):
    """One more axis: that of the trials."""
    rows = geodp.Grid.regular((trials, *grid.shape))
    dense = np.broadcast_to(table_of(grid, counts).to_dense(), rows.shape)
    table = geodp.CountTable.from_dense(dense, rows)
    copies = _Branching(below=tuple(method.splits(grid)))
    return of_boxes(copies.release(table, event, key).to_dense(), grid)


def of_boxes(values, grid):
    """The domain's cells among those of all boxes: [trials, *shape] to [trials, cells]."""
    return np.asarray(values[:, *grid.decode(domain_keys(grid))], np.float64)


def of_maps(copies, grid, event, counts, trials, key):
    """Maps below each other as one, in pieces: float64[trials, cells]."""
    table, held = table_of(grid, counts), grid.domain.to_dense()
    dense, number = table.to_dense(), max(1, PIECE // held.size)
    found = []
    for start in range(0, trials, number):
        n = min(number, trials - start)
        rows = geodp.Grid.regular((n * grid.shape[0], grid.shape[1]))
        if not held.all():
            each = blocks_of_array(np.tile(held, (n, 1)))
            rows = rows.with_mask(mask_of_blocks(rows, each, "the same cells of every copy"))
        below = geodp.CountTable.from_dense(np.tile(dense, (n, 1)), rows)
        released = copies(n).release(below, event, key.derive(start.to_bytes(32, "big")))
        found.append(of_boxes(released.to_dense().reshape(n, *grid.shape), grid))
    return np.concatenate(found)


@dataclass(frozen=True)
class _UGrid(UGrid):
    """Copies below each other, each with so many blocks per axis."""

    each: int = 0

    def blocks_per_axis(self, total, event):
        return self.each


def of_ugrid(method, grid, event, counts, trials, key):
    """Totals first; then all copies that are cut alike as one map."""
    total = np.maximum(noisy(counts.sum(), trials, key, 0, event.scale / method.share)[:, 0], 0)
    assert grid.shape[1] <= method.blocks_per_axis(0, event)  # columns are never cut
    values = np.empty((trials, counts.size))
    people, at = np.unique(total, return_inverse=True)
    g = np.array([min(method.blocks_per_axis(int(n), event), max(grid.shape)) for n in people])
    for one, chosen, own in alike(g[at], key):

        def copies(n, one=int(one)):
            return _UGrid(share=method.share, c=method.c, each=n * one)

        values[chosen] = of_maps(copies, grid, event, counts, chosen.size, own)
    return values


@dataclass(frozen=True)
class _AGrid(AGrid):
    """Copies below each other, whose blocks have sides of so many cells."""

    side: int = 1
    cells: int = 1

    def blocks_per_axis(self, total, event):
        return isqrt(self.cells // self.side**2)


def of_agrid(method, grid, event, counts, trials, key):
    """The same; the sizes of the blocks are what totals decide."""
    total = np.maximum(noisy(counts.sum(), trials, key, 0, event.scale / method.share)[:, 0], 0)
    people, at = np.unique(total, return_inverse=True)
    m1 = [method.blocks_per_axis(int(n), event) for n in people]
    side = np.array([max(1, isqrt(prod(grid.shape) // m**2)) for m in m1])
    values = np.empty((trials, counts.size))
    for one, chosen, own in alike(side[at], key):

        def copies(n, one=int(one)):
            cells = n * prod(grid.shape)
            made = _AGrid(**dict(method.settings), side=one, cells=cells)
            row, _ = squares((n * grid.shape[0], grid.shape[1]), made.blocks_per_axis(0, event))
            assert grid.shape[0] % one == 0
            assert (np.bincount(row) == one).all()
            return made

        values[chosen] = of_maps(copies, grid, event, counts, chosen.size, own)
    return values


def of_uniform(method, grid, event, counts, trials, key):
    """One release for every noise of the total that is drawn."""
    drawn = noisy(np.zeros(1, np.int64), trials, key, 0, event.scale)[:, 0]
    table, values = table_of(grid, counts), np.empty((trials, counts.size))
    for one, chosen, own in alike(drawn, key):
        with mock.patch.object(
            measuring, "laplace_noise", lambda *_, z=one: np.array([z], np.int64)
        ):
            vector = method.release(table, event, own).to_vector()
        values[chosen] = of_domain(vector[None], grid)
    return values


def of_dawa(method, grid, event, counts, trials, key):
    """A partition for every copy; then all that have as many buckets."""
    scale, more = method.costs(event)
    n = counts.size
    cost, start = np.zeros((trials, n.bit_length(), n), np.int64), np.empty((trials, n), np.bool_)
    for level, even in enumerate(dawa.deviations(counts)):
        cost[:, level, : even.size] = noisy(even + more, trials, key, level, scale)
    for costs, starts in zip(cost, start, strict=True):
        baselines.cheapest(costs, starts)
    values = np.empty((trials, n))
    for buckets, chosen, own in alike(start.sum(axis=1), key):
        assert buckets <= method.fanout  # so that a tree has two levels at most
        at = np.flatnonzero(start[chosen])
        people = np.add.reduceat(np.tile(counts, chosen.size), at)
        leaves, above = method.level_shares(method.height(int(buckets)))
        levels = [add_noise(people, own, n.bit_length(), event.scale / leaves)]
        if above:
            totals = np.full(chosen.size, counts.sum())
            levels.append(add_noise(totals, own, n.bit_length() + 1, event.scale / above))
        variance = [float(above**2), float(leaves**2)][: len(levels)]
        size = np.diff(np.append(at, chosen.size * n))
        each = dawa.consistent(levels, variance, int(buckets)) / size
        values[chosen] = np.repeat(each, size).reshape(-1, n)
    return values


def of_mwem(method, grid, event, counts, trials, key):
    """Scores of all copies at once; an estimate for every history of measurements that is seen."""
    assert not method.average
    vector = table_of(grid, counts).to_vector()
    cells, query = mwem.intervals(grid)
    of_total, of_rounds = method.scales(int(query.sum()), event)
    total = np.maximum(noisy(counts.sum(), trials, key, 0, of_total)[:, 0], 1)
    people, at = np.unique(total, return_inverse=True)
    estimates = [mwem.BlockDensity(cells[vector.size :], float(n)) for n in people]
    truth, left = mwem.sums(vector), np.tile(query, (trials, 1))
    for turn, (select, measure) in enumerate(of_rounds):
        density = (estimate.density() for estimate in estimates)
        guess = np.array([np.rint(mwem.sums(each) - 2.0**-20) for each in density], np.int64)
        score = add_noise(np.abs(truth - guess[at]), key, 1 + 2 * turn, select)
        node = np.where(left, score, np.iinfo(np.int64).min).argmax(axis=1)
        left[np.arange(trials), node] = False
        answer = add_noise(truth[node], key, 2 + 2 * turn, measure)
        histories, at = np.unique(np.stack([at, node, answer]), axis=1, return_inverse=True)
        estimates = [
            _learned(estimates[before], query, float(answer), method.passes)
            for before, query, answer in histories.T.tolist()
        ]
    return of_domain(np.array([estimate.density() for estimate in estimates])[at], grid)


def _learned(estimate, node, answer, passes):
    """An estimate with one more measurement; the one before stays."""
    after = copy(estimate)
    for name in ("first", "last", "target"):
        setattr(after, name, list(getattr(estimate, name)))
    after.learn(node, answer, passes)
    return after


ON_KEYS = {
    "barak": of_barak,
    "hay": of_hay,
    "matrix": of_matrix,
    "mwem": of_mwem,
    "privelet": of_privelet,
    "privelet-2d": of_privelet_axes,
    "quadtree": of_quadtree,
}
"""Methods whose work grows with the keys of a domain."""

ON_CELLS = {
    "agrid": of_agrid,
    "dawa": of_dawa,
    "hb": of_hb,
    "ugrid": of_ugrid,
    "uniform": of_uniform,
}


def stacked(method, grid):
    """A method's release of many copies on a grid; None where the domain has too many keys."""
    if 1 << grid.bits > MOST_KEYS:
        return ON_CELLS.get(method.name)
    return ON_CELLS.get(method.name) or ON_KEYS.get(method.name)
