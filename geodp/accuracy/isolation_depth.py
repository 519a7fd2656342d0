"""Isolation depth: over how many levels of the tree a place has no people around it in a release.

A clamp takes most from a settlement without neighbours, and a release shows little of such a
settlement or nothing. Its maximal loss depends on the number of levels of nodes around its place
that were released as nearly empty.
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import NodeSums, half_interval
from geodp.accuracy.variance import TreeVariance, possible_children
from geodp.grid.grid import Grid
from geodp.table.counts import ReleasedTable

FEW = 3.0
"""Standard deviations of one child: fewer people in all the others may be noise alone."""

DRAWN = 1 << 13
"""Number of places drawn in the domain, and of those drawn around listed cells."""


def find_depths(
    tree: TreeVariance, sums: NodeSums, key: NDArray[np.uint64], few: float = FEW
) -> NDArray[np.int64]:
    """Count the levels, from the cells up, on which a place is isolated: int64[n].

    On such a level, fewer people than ``few`` standard deviations of a child's measurement were
    released in all siblings of the place's node.

    Parameters
    ----------
    tree : TreeVariance
    sums : NodeSums
        Sums of the release, or of its prior.
    key : uint64[n]
        Keys of cells, in any order.
    few : float
    """
    depth, isolated = np.zeros(key.size, np.int64), np.ones(key.size, np.bool_)
    node, stride = key, 1
    here = sums.of(node, stride)
    for fanout, variance in zip(tree.fanouts[::-1], tree.variances[:0:-1], strict=True):
        node, stride = node // np.uint64(fanout), stride * fanout
        held = sums.of(node, stride)
        isolated &= held - here < few * np.sqrt(variance)
        if not isolated.any():
            break
        depth += isolated
        here = held
    return depth


def node_margins(tree: TreeVariance) -> NDArray[np.float64]:
    """Compute half of a node's 95 % interval without a clamp, from the cells up: float64[levels].

    If all around a cell is released as 0 up to some node, the cell is given all that is estimated
    of this node, with its error.
    """
    fourths, margins = tree.fourths or (0.0,) * len(tree.variances), []
    for start in range(len(tree.fanouts), -1, -1):
        part, variance, fourth = 1.0, 0.0, 0.0
        for i in range(start, 0, -1):
            b = tree.fanouts[i - 1]
            mean = part / b
            variance += tree.variances[i] * (part**2 - b * mean**2)
            fourth += fourths[i] * ((part - mean) ** 4 + (b - 1) * mean**4)
            part = mean
        variance += tree.variances[0] * part**2
        margins.append(half_interval(variance, fourth + fourths[0] * part**4))
    return np.array(margins)


def draw_empty(
    table: ReleasedTable, tree: TreeVariance, random: np.random.Generator
) -> NDArray[np.uint64]:
    """Draw cells of the domain that were released as 0, near others and far: uint64[n].

    Parameters
    ----------
    table : ReleasedTable
    tree : TreeVariance
        Tree in whose nodes places around listed cells are drawn, on all levels equally often.
    random : Generator
        Generator with a public seed.
    """
    grid = table.grid
    key = grid.domain.keys_of_ranks(random.integers(grid.domain.cells, size=DRAWN))
    if table.key.size:
        strides = np.cumprod(tree.fanouts[::-1], dtype=np.uint64)
        stride = random.choice(strides, DRAWN)
        first = random.choice(table.key, DRAWN) // stride * stride
        around = first + (random.random(DRAWN) * stride).astype(np.uint64)
        # Uniform places are mostly far from people; those around listed cells lie where a
        # settlement is more likely.
        key = np.concatenate([key, around[grid.contains_keys(around)]])
    key = np.unique(key)
    return np.asarray(key[table.counts_at(key) == 0], np.uint64)


def list_nodes(tree: TreeVariance, table: ReleasedTable) -> list[NDArray[np.uint64]]:
    """Return the non-empty nodes of every level, from the cells up: uint64[n] each."""
    nodes = [table.key]
    for fanout in tree.fanouts[::-1]:
        node = nodes[-1] // np.uint64(fanout)
        nodes.append(node[np.append(True, node[1:] != node[:-1])[: node.size]])
    return nodes


def tilt(
    tree: TreeVariance,
    grid: Grid,
    held: list[NDArray[np.uint64]],
    key: NDArray[np.uint64],
    losses: list[tuple[float, float]],
) -> float:
    """Return the number of people that the clamp may have moved out of a region.

    Negative if into it.

    Empty children of a node receive what others lose to a clamp. In the nodes that a region cuts,
    more of them may lie on one side, as at a coast that the region follows: the people whom they
    receive are then missing on the other side.

    Parameters
    ----------
    tree : TreeVariance
    grid : Grid
    held : list of uint64[n]
        Nodes from :func:`list_nodes`.
    key : uint64[n]
        Keys of the region's cells, strictly increasing.
    losses : list of (mean, standard deviation)
        Loss to the clamp in one node of each level, the root's first.
    """
    moved, stride = 0.0, 1
    if not key.size:
        return moved
    node, part = key, np.ones(key.size)
    full_domain = grid.size == prod(tree.fanouts)
    for fanout, listed, (mean, _) in zip(tree.fanouts[::-1], held[:-1], losses[::-1], strict=True):
        above = node // np.uint64(fanout)
        first = np.flatnonzero(np.append(True, above[1:] != above[:-1]))
        ends = np.searchsorted(listed, node), np.searchsorted(listed, node, "right")
        people = np.add.reduceat(part * (ends[0] < ends[1]), first)
        total, above = np.add.reduceat(part, first), above[first]
        some = np.searchsorted(listed, (above + np.uint64(1)) * np.uint64(fanout))
        some = some - np.searchsorted(listed, above * np.uint64(fanout))
        possible = np.full(above.size, float(fanout))
        if not full_domain:
            possible = possible_children(grid, above, fanout, stride)
        cut = (total < possible) & (some > 0)
        share, empty = people / np.maximum(some, 1), total - people
        # People lost from the region's occupied children, less those its empty children receive.
        out = share * (possible - some) - empty
        moved += mean / max(fanout - 1, 1) * float((out * cut).sum())
        node, part, stride = above, total / possible, stride * fanout
    return moved


def settlement_cells(
    table: ReleasedTable, first: NDArray[np.uint64], side: int
) -> NDArray[np.uint64]:
    """Return the cells of a settlement that were released as 0: uint64[n].

    Parameters
    ----------
    table : ReleasedTable
    first : uint64[1]
        The cell at the lower corner.
    side : int
        Number of cells along each side; on a grid of one axis, along it.
    """
    grid = table.grid
    axes = min(2, len(grid.shape))
    away = np.indices((side,) * axes).reshape(axes, -1)
    index = np.repeat(grid.decode(first), away.shape[1], axis=1)
    index[:axes] += away
    key = grid.encode(index[:, grid.contains(index)])
    return np.asarray(key[table.counts_at(key) == 0], np.uint64)
