"""Released sums of official areas and regions that are nodes of the order, each with its error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import isfinite, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.hierarchy import UnevenTree
from geodp.accuracy.interval import Z
from geodp.accuracy.variance import TreeVariance, possible_children
from geodp.errors import UsageError
from geodp.grid.coarsen import coarser_lattice
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import CELL, RegionOrder
from geodp.grid.order import Order
from geodp.grid.tree import cells_of_box
from geodp.privacy.event import Event
from geodp.table.counts import Counts, ReleasedTable

CHUNK = 1 << 18
"""Cells whose errors are worked out together."""

Variances = Callable[[int, NDArray[np.uint64]], NDArray[np.float64] | None]
"""Variances of sums over the cells of blocks of keys: ``Mechanism.variances_of`` of a release.

Takes the keys that a block covers and numbers of blocks, and tells None where there is no closed
form for them.
"""


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


def areas_of(table: ReleasedTable, variances: Variances | None) -> Iterator[Areas]:
    """Sums of the areas of every level, the coarsest first.

    Parameters
    ----------
    table : ReleasedTable
    variances : callable, optional
        Without it no area has a standard error.
    """
    grid = table.grid
    for level, digits in levels_above(grid):
        stride = prod(grid.order.radices[digits:])
        node = table.key // np.uint64(stride)
        first = np.flatnonzero(np.append(True, node[1:] != node[:-1])[: node.size])
        count = np.add.reduceat(table.count, first) if first.size else table.count
        first, count = first[count != 0], count[count != 0]
        node = node[first]
        found = None if variances is None else variances(stride, node)
        error = None if found is None else np.sqrt(np.maximum(found, 0.0))
        if grid.regions is None or level == CELL:
            own = ReleasedTable(_grid_of(grid, level, digits), node, count, table.event)
            yield Areas(level, table.event, count, error, own)
        else:
            index = grid.decode(node * np.uint64(stride))
            names = _names_of(grid, level, digits, index)
            yield Areas(level, table.event, count, error, None, names)


def block_variances(
    tree: TreeVariance, block: NDArray[np.uint64], stride: int, grid: Grid
) -> NDArray[np.float64] | None:
    """Variances of sums over aligned blocks of ``stride`` keys each: float64[n].

    None for some children of a node of regions: these are not alike.

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
    nodes = accumulate(reversed(tree.fanouts), lambda a, b: a * b, initial=1)
    if grid.regions is not None and stride not in nodes:
        return None
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


@dataclass(frozen=True)
class BlockError:
    """Error of the aligned blocks of one size, or of the areas of one level.

    Attributes
    ----------
    cells : int
        Of a block; of regions, which differ, the median's.
    standard_error : float
        Of a block that lies inside the domain with all of its surroundings; of regions the median.
    largest : float
        Of any block, at the edges of the domain too; with a mask a bound.
    """

    cells: int
    standard_error: float
    largest: float

    def describe(self) -> dict[str, Any]:
        """Plain values with six digits, for cards and plans."""
        return {
            "cells": self.cells,
            "standard_error": float(f"{self.standard_error:.6g}"),
            "margin_95": float(f"{Z * self.standard_error:.6g}"),
            "largest": float(f"{self.largest:.6g}"),
        }


def errors_of_blocks(
    largest: NDArray[np.float64], tree: TreeVariance | None, grid: Grid
) -> tuple[BlockError, ...]:
    """Errors of blocks whose keys share their first i digits, at index i.

    Parameters
    ----------
    largest : float64[digits + 1]
        Variances.
    tree : TreeVariance, optional
        Of a method that leaves out what lies outside the domain (``Mechanism.skips_outside``).
    grid : Grid
    """
    radices = grid.order.radices
    cells, inside = [min(stride, grid.size) for stride in _strides(grid)], largest.copy()
    if tree is not None and grid.regions is not None:
        key = _keys_of_regions(grid)  # labels of attributes are alike
        for digits, stride in enumerate(_strides(grid)):
            block = np.unique(key // np.uint64(stride))
            cells[digits] = int(np.median(cells_of_box(grid, block, stride)))
            variance = block_variances(tree, block, stride, grid)
            inside[digits] = largest[digits] if variance is None else np.median(variance)
    elif tree is not None:
        inside = np.minimum(tree.prefixes(radices), largest)
    rows = zip(cells, np.sqrt(inside).tolist(), np.sqrt(largest).tolist(), strict=True)
    return tuple(BlockError(*row) for row in rows)


def errors_of_every_block(variances: Variances, grid: Grid) -> tuple[BlockError, ...] | None:
    """The same of methods whose blocks are looked at one by one; None where they have no figures.

    Of regions it is the median, as these differ; elsewhere the largest.
    """
    if variances(1, np.empty(0, np.uint64)) is None:
        return None
    key, found = keys_of_domain(grid), []
    for stride in _strides(grid):
        block = np.unique(key // np.uint64(stride))
        variance = variances(stride, block)
        assert variance is not None  # as of single cells
        middle = largest = float(np.sqrt(variance.max()))
        cells = min(stride, grid.size)
        if grid.regions is not None:
            cells = int(np.median(cells_of_box(grid, block, stride)))
            middle = float(np.sqrt(np.median(variance)))
        found.append(BlockError(cells, middle, largest))
    return tuple(found)


def _strides(grid: Grid) -> list[int]:
    """Keys that share their first i digits, at index i."""
    radices = grid.order.radices
    return [prod(radices[digits:]) for digits in range(len(radices) + 1)]


def _keys_of_regions(grid: Grid) -> NDArray[np.uint64]:
    """Keys of all cells of the regions, with the first label of every attribute."""
    assert grid.regions is not None
    index = np.zeros((len(grid.shape), grid.regions.cells), np.int64)
    index[:2] = grid.regions.cell
    return grid.order.encode(index)


def keys_of_domain(grid: Grid) -> NDArray[np.uint64]:
    """Keys of all cells of the domain: uint64[size]."""
    index = np.indices(grid.shape, dtype=np.int64).reshape(len(grid.shape), -1)
    return grid.order.encode(index[:, grid.contains(index)])


def cell_errors(variances: Variances, key: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Standard error of cells, wherever they lie in the domain: float64[n]; ``key``: uint64[n]."""
    found = np.empty(key.size)
    for start in range(0, key.size, CHUNK):
        part = slice(start, start + CHUNK)
        own = variances(1, key[part])
        assert own is not None  # whoever has errors of blocks has them of cells
        found[part] = np.sqrt(own)
    return found


def public_guess(people: float | None) -> float | None:
    """A guess of the sum of all counts as a number above 0; UsageError for anything else."""
    if people is None:
        return None
    if isinstance(people, bool | str) or not (isfinite(people) and people > 0):
        raise UsageError("people is a public guess of the sum of all counts: a number above 0.")
    return float(people)


def resolution_floor(errors: Sequence[BlockError], people: float, cells: int) -> int | None:
    """Cells of the smallest block whose standard error is at most the people expected in it.

    Below that size a release carries no more signal than publishing zeros would. Expected is the
    mean: where people live f times as densely, the floor is f times smaller.

    Parameters
    ----------
    errors : sequence of BlockError
        From all cells down to one.
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
    >>> blocks = [BlockError(n, e, e) for n, e in [(16, 66.0), (4, 120.0), (1, 70.0)]]
    >>> resolution_floor(blocks, people=160, cells=16)
    16
    """
    each = people / cells
    fine = (e.cells for e in reversed(errors) if e.standard_error <= each * e.cells)
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
