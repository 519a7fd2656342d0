"""How far up the tree a place stands alone, as a release tells.

A clamp takes most from a settlement that has nobody around it, and a release shows little of such a
settlement or nothing. What it can have lost depends on how many levels of nodes around its place
were released as all but empty.
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import NodeSums
from geodp.accuracy.variance import TreeVariance, possible_children
from geodp.grid.grid import Grid
from geodp.table.released import ReleasedTable

FEW = 3.0
"""Standard deviations of one child: fewer people in all the others may be nobody."""

DRAWN = 1 << 13
"""Places that are drawn in the domain, and as many around listed cells."""


def find_depths(tree: TreeVariance, sums: NodeSums, key: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return over how many levels from the cells up a place stands alone: int64[n].

    On such a level fewer people than ``FEW`` standard deviations of what was measured of a child
    were released in all siblings of the place's node.

    Parameters
    ----------
    tree : TreeVariance
    sums : NodeSums
        Of the release.
    key : uint64[n]
        Of cells, in any order.
    """
    depth, alone = np.zeros(key.size, np.int64), np.ones(key.size, np.bool_)
    node, stride = key, 1
    here = sums.of(node, stride)
    for fanout, own in zip(tree.fanouts[::-1], tree.variances[:0:-1], strict=True):
        node, stride = node // np.uint64(fanout), stride * fanout
        held = sums.of(node, stride)
        alone &= held - here < FEW * np.sqrt(own)
        if not alone.any():
            break
        depth += alone
        here = held
    return depth


def draw_empty(
    table: ReleasedTable, tree: TreeVariance, random: np.random.Generator
) -> NDArray[np.uint64]:
    """Return cells of the domain that were released as 0, near others and far: uint64[n].

    Parameters
    ----------
    table : ReleasedTable
    tree : TreeVariance
        Within whose nodes places around listed cells are drawn, on all levels alike.
    random : Generator
        Under a seed that everybody may know.
    """
    grid = table.grid
    key = grid.domain.keys_of_ranks(random.integers(grid.domain.cells, size=DRAWN))
    if table.key.size:
        strides = np.cumprod(tree.fanouts[::-1], dtype=np.uint64)
        stride = random.choice(strides, DRAWN)
        first = random.choice(table.key, DRAWN) // stride * stride
        around = first + (random.random(DRAWN) * stride).astype(np.uint64)
        key = np.concatenate([key, around[grid.contains_keys(around)]])
    key = np.unique(key)
    return np.asarray(key[table.counts_at(key) == 0], np.uint64)


def list_nodes(tree: TreeVariance, table: ReleasedTable) -> list[NDArray[np.uint64]]:
    """Return the nodes that hold somebody, of every level from the cells up: uint64[n] each."""
    found = [table.key]
    for fanout in tree.fanouts[::-1]:
        node = found[-1] // np.uint64(fanout)
        found.append(node[np.append(True, node[1:] != node[:-1])[: node.size]])
    return found


def tilt(
    tree: TreeVariance,
    grid: Grid,
    held: list[NDArray[np.uint64]],
    key: NDArray[np.uint64],
    losses: list[tuple[float, float]],
) -> float:
    """Return how many people the clamp may have moved out of a region, or, below 0, into it.

    Empty children of a node take what it loses to a clamp. Of the nodes that a region cuts, more
    such children may lie on one side, as at a coast that the region follows: then the people whom
    they take are missing on the other side.

    Parameters
    ----------
    tree : TreeVariance
    grid : Grid
    held : list of uint64[n]
        Of :func:`list_nodes`.
    key : uint64[n]
        Of the region's cells, strictly increasing.
    losses : list of (mean, standard deviation)
        Of what the clamp takes in one node of each level, the root's first.
    """
    found, stride = 0.0, 1
    if not key.size:
        return found
    node, part = key, np.ones(key.size)
    whole = grid.size == prod(tree.fanouts)
    for fanout, listed, (mean, _) in zip(tree.fanouts[::-1], held[:-1], losses[::-1], strict=True):
        above = node // np.uint64(fanout)
        first = np.flatnonzero(np.append(True, above[1:] != above[:-1]))
        ends = np.searchsorted(listed, node), np.searchsorted(listed, node, "right")
        people = np.add.reduceat(part * (ends[0] < ends[1]), first)
        total, above = np.add.reduceat(part, first), above[first]
        some = np.searchsorted(listed, (above + np.uint64(1)) * np.uint64(fanout))
        some = some - np.searchsorted(listed, above * np.uint64(fanout))
        possible = np.full(above.size, float(fanout))
        if not whole:
            possible = possible_children(grid, above, fanout, stride)
        cut = (total < possible) & (some > 0)
        share, empty = people / np.maximum(some, 1), total - people
        out = share * (possible - some) - empty  # what it gives, less what it takes
        found += mean / max(fanout - 1, 1) * float((out * cut).sum())
        node, part, stride = above, total / possible, stride * fanout
    return found


def settle(table: ReleasedTable, first: NDArray[np.uint64], side: int) -> NDArray[np.uint64]:
    """Return the cells of a settlement that were released as 0: uint64[n].

    Parameters
    ----------
    table : ReleasedTable
    first : uint64[1]
        The cell at its lower corner.
    side : int
        Cells each way on the map; on a grid of one axis along it.
    """
    grid = table.grid
    axes = min(2, len(grid.shape))
    away = np.indices((side,) * axes).reshape(axes, -1)
    index = np.repeat(grid.decode(first), away.shape[1], axis=1)
    index[:axes] += away
    key = grid.encode(index[:, grid.contains(index)])
    return np.asarray(key[table.counts_at(key) == 0], np.uint64)
