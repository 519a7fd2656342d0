"""Released sums of official areas and regions that are nodes of the order, each with its error."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import accumulate
from math import isfinite, prod

import numpy as np
from numpy.typing import NDArray

from geodp.accounting import Event
from geodp.coarser import coarser_lattice
from geodp.errors import UsageError
from geodp.grid import Grid
from geodp.order import Order
from geodp.regions import CELL, RegionOrder
from geodp.table import Counts, ReleasedTable
from geodp.uneven import UnevenTree
from geodp.variance import TreeVariance, possible_children


@dataclass(frozen=True, eq=False)
class Areas:
    """The areas of one level that are not 0, in key order.

    Attributes
    ----------
    level : str
        Name of the published areas or of the regions.
    event : Event
        What was spent, on all levels together.
    count : int64[n] or float64[n]
        Exactly the sums of their cells.
    standard_error : float64[n] or None
        Closed form, of each area as far as the domain holds it; None where there is none.
    table : ReleasedTable or None
        Of published areas: the counts on the areas' own grid.
    texts : dict of str to list of str
        Of regions: the codes of each, and of the regions that hold it, by level; then the labels
        of attributes that come above them.
    """

    level: str
    event: Event
    count: Counts = field(repr=False)
    standard_error: NDArray[np.float64] | None = field(repr=False)
    table: ReleasedTable | None = None
    texts: dict[str, list[str]] = field(default_factory=dict, repr=False)


def levels_above(grid: Grid) -> tuple[tuple[str, int], ...]:
    """Names of areas that are runs of more than one key, and digits of a key that name one.

    Empty for a grid in another order than one of official areas or regions.
    """
    attributes = {attribute.name for attribute in grid.attributes}
    if grid.regions is not None:
        attributes.add(CELL)  # above attributes a cell is a run of keys too, but no region
    found, digits = [], 0
    for name, step in grid.official_steps() or ():
        digits += step
        if name and name not in attributes and digits < len(grid.order.radices):
            found.append((name, digits))
    return tuple(found)


def areas_of(table: ReleasedTable, tree: TreeVariance | None) -> Iterator[Areas]:
    """Sums of the areas of every level, the coarsest first.

    Parameters
    ----------
    table : ReleasedTable
    tree : TreeVariance, optional
        Of a method that leaves out what lies outside the domain (``Mechanism.skips_outside``).
    """
    grid = table.grid
    for level, digits in levels_above(grid):
        stride = prod(grid.order.radices[digits:])
        node = table.key // np.uint64(stride)
        first = np.flatnonzero(np.append(True, node[1:] != node[:-1])[: node.size])
        count = np.add.reduceat(table.count, first) if first.size else table.count
        first, count = first[count != 0], count[count != 0]
        node = node[first]
        error = None
        if tree is not None and _fits(tree, stride, grid):
            error = np.sqrt(np.maximum(block_variances(tree, node, stride, grid), 0.0))
        if grid.regions is None or level == CELL:
            own = ReleasedTable(_grid_of(grid, level, digits), node, count, table.event)
            yield Areas(level, table.event, count, error, own)
        else:
            index = grid.decode(node * np.uint64(stride))
            names = _names_of(grid, level, digits, index)
            yield Areas(level, table.event, count, error, None, names)


def _fits(tree: TreeVariance, stride: int, grid: Grid) -> bool:
    """Whether areas are nodes of a tree, or, where siblings are alike, some children of one."""
    below = list(accumulate(reversed(tree.fanouts), lambda a, b: a * b, initial=1))
    return stride in below or grid.regions is None


def block_variances(
    tree: TreeVariance, block: NDArray[np.uint64], stride: int, grid: Grid
) -> NDArray[np.float64]:
    """Variances of sums over aligned blocks of ``stride`` keys each: float64[n].

    A child of a node whose children have together the variance C deviates from its part ``V / C``
    of the node by ``V (1 - V / C)``; m of k children that are alike have the variance
    ``m V (1 - m/k) + (m/k)**2 Var(node)``.

    Parameters
    ----------
    tree : TreeVariance
        Whose nodes share out among children that overlap the grid's domain.
    block : uint64[n]
        Number b covers the keys from ``b * stride`` on.
    stride : int
    grid : Grid
    """
    uneven = None
    if isinstance(tree, UnevenTree) and isinstance(grid.order, RegionOrder):
        uneven = tree.nodes_of(grid.order)
    size = prod(tree.fanouts)
    root = tree.variances[0] if uneven is None else float(uneven[0].variance[0])
    found = np.full(block.size, root)
    for level, (fanout, own) in enumerate(zip(tree.fanouts, tree.variances[1:], strict=True)):
        if size <= stride:
            break
        below = size // fanout
        node = block * np.uint64(stride) // np.uint64(size)
        if uneven is not None:
            child = block * np.uint64(stride) // np.uint64(below)
            variance = uneven[level + 1].variance_of(grid, child, below)
            part = variance / uneven[level].below_of(grid, node, size)
            found = variance * (1 - part) + part**2 * found
        else:
            k = _children(node, fanout, below, grid)
            inside = np.ones(block.size)
            if below < stride:
                inside = _children(block, stride // below, below, grid)
            found = inside * own * (1 - inside / k) + (inside / k) ** 2 * found
        size = below
    return found


def public_guess(people: float | None) -> float | None:
    """A guess of the sum of all counts as a number above 0; UsageError for anything else."""
    if people is None:
        return None
    if isinstance(people, bool | str) or not (isfinite(people) and people > 0):
        raise UsageError("people is a public guess of the sum of all counts: a number above 0.")
    return float(people)


def resolution_floor(errors: Mapping[int, float], people: float, cells: int) -> int | None:
    """Cells of the smallest block whose standard error is at most the people expected in it.

    Below that size a release carries no more signal than publishing zeros would. Expected is the
    mean: where people live f times as densely, the floor is f times smaller.

    Parameters
    ----------
    errors : mapping of int to float
        Standard errors by cells of a block.
    people : float
        A public guess of the sum of all counts; never taken from the data.
    cells : int
        Of the domain.

    Returns
    -------
    int or None
        None where not even the total is large enough.

    Examples
    --------
    >>> resolution_floor({1: 70.0, 4: 120.0, 16: 66.0}, people=160, cells=16)
    16
    """
    each = people / cells
    fine = (size for size in sorted(errors) if errors[size] <= each * min(size, cells))
    return next(fine, None)


def _children(
    node: NDArray[np.uint64], fanout: int, stride: int, grid: Grid
) -> NDArray[np.float64]:
    """Children of nodes that overlap the domain, of ``stride`` keys each: float64[n]."""
    once, back = np.unique(node, return_inverse=True)
    return possible_children(grid, once, fanout, stride)[back]


def _grid_of(grid: Grid, level: str, digits: int) -> Grid:
    """The areas of a level as cells, with the attributes that come above them; same order."""
    place = grid.places[0]
    if grid.regions is not None:  # cells, all attributes under them together
        return Grid((place,)).with_regions(grid.regions)
    assert place.system is not None
    side = dict(place.system.areas)[level]
    axes, radices = grid.order.axes[:digits], grid.order.radices[:digits]
    spatial = len(grid.shape) - len(grid.attributes)
    above = [i for i in range(len(grid.attributes)) if spatial + i in axes]
    number = {0: 0, 1: 1, **{spatial + old: spatial + new for new, old in enumerate(above)}}
    offset = [first // side for first in grid.order.offset[:2]] + [0] * len(above)
    order = Order(tuple(number[axis] for axis in axes), radices, tuple(offset))
    attributes = tuple(grid.attributes[i] for i in above)
    return Grid((coarser_lattice(place, side),), attributes, order=order)


def _names_of(
    grid: Grid, level: str, digits: int, index: NDArray[np.int64]
) -> dict[str, list[str]]:
    """Codes and labels of regions, from the indices of a cell in each."""
    regions = grid.regions
    assert regions is not None
    at = np.searchsorted(regions.number, regions.number_of(index[:2]))
    found: dict[str, list[str]] = {}
    for number in range(regions.levels.index(level) + 1):
        texts = np.array(regions.codes[number])
        found[regions.levels[number]] = texts[regions.region[number, at]].tolist()
    spatial = len(grid.shape) - len(grid.attributes)
    for i, attribute in enumerate(grid.attributes):
        if spatial + i in grid.order.axes[:digits]:
            found[attribute.name] = np.array(attribute.labels)[index[spatial + i]].tolist()
    return found
