"""How far up the tree a place stands alone, as a release tells.

A clamp takes most from a settlement that has nobody around it, and a release shows little of such a
settlement or nothing. What it can have lost depends on how many levels of nodes around its place
were released as all but empty.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.interval import NodeSums
from geodp.accuracy.variance import TreeVariance
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
    return np.asarray(key[~np.isin(key, table.key)], np.uint64)


def thin(
    tree: TreeVariance, key: NDArray[np.uint64], count: NDArray[np.float64], least: float
) -> NDArray[np.float64]:
    """Move people of cells with few to those with more under the same node: float64[n].

    Parameters
    ----------
    tree : TreeVariance
    key : uint64[n]
        Of cells, strictly increasing.
    count : float64[n]
        Above 0.
    least : float
        Fewer are few; but the largest cell of a node keeps its own.
    """
    if not (key.size and tree.fanouts):
        return count
    node = key // np.uint64(tree.fanouts[-1])
    first = np.flatnonzero(np.append(True, node[1:] != node[:-1]))
    own = np.repeat(np.arange(first.size), np.diff(np.append(first, key.size)))
    stays = np.maximum.reduceat(count, first)[own] == count
    kept = np.where((count >= least) | stays, count, 0)
    more = np.add.reduceat(count, first) / np.add.reduceat(kept, first)
    return np.asarray(kept * more[own], np.float64)


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
    return np.asarray(key[~np.isin(key, table.key)], np.uint64)
