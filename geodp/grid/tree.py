"""The binary tree over a grid's keys, restricted to its public domain.

A node with two children that overlap the domain *branches*. If only one child does, that child is
the node: nothing is measured there and all of its people pass down. All of this is public, because
the domain is.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from numpy.typing import NDArray

from geodp.grid.grid import Grid
from geodp.kernels import tree as kernels
from geodp.kernels.pyramid.edges import Edges

Step = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def worst_paths(grid: Grid, start: float, branching: Step, single: Step) -> NDArray[np.float64]:
    """Return the largest value that a quantity can have on each level of the tree.

    The quantity starts at the root and is passed from a node to its children that overlap the
    domain. Equivalent nodes (the same axes lie on the extent's upper edge, and the mask covers
    them) share their largest value, so a grid without a mask takes O(levels * 2**axes) steps, and
    a mask of r ranges O(levels * r) more.

    Parameters
    ----------
    grid : Grid
        Grid with a binary order.
    start : float
        Value at the root.
    branching, single : callable
        Non-decreasing functions from the values of nodes to those of their children, at nodes with
        two children and with one child in the domain.

    Returns
    -------
    float64[bits + 1]
        Values from the root's level to the cells'.
    """
    masks, limits, domain = grid.domain_tests()
    worst = [start]
    edge = frozenset(range(len(grid.shape)))
    inside_mask = np.ones(1, np.bool_)
    if domain.size:
        kernels.cover(np.zeros(1, np.int64), grid.bits, domain, inside_mask)
    alike: dict[frozenset[int], float] = {edge: start} if inside_mask[0] else {}
    prefix = np.zeros(0 if inside_mask[0] else 1, np.int64)
    value = np.full(prefix.size, start)
    seen = [0] * len(grid.shape)
    for level, axis in enumerate(grid.order.axes):
        seen[axis] += 1
        left = sum(1 for a in grid.order.axes if a == axis) - seen[axis]
        can_go_right = (grid.shape[axis] - 1) >> left & 1 == 1
        alike = _children(alike, axis, can_go_right, branching, single)
        if prefix.size:
            height = grid.bits - level
            branch = np.empty(prefix.size, np.int64)
            kernels.branches(prefix, height, masks[level], limits[level], domain, branch)
            carried = np.where(branch == kernels.BOTH, branching(value), single(value))
            goes = [(branch & side) > 0 for side in (kernels.LEFT, kernels.RIGHT)]
            prefix = np.concatenate([2 * prefix[goes[0]], 2 * prefix[goes[1]] + 1])
            value = np.concatenate([carried[goes[0]], carried[goes[1]]])
            inside = np.empty(prefix.size, np.bool_)
            kernels.cover(prefix, height - 1, domain, inside)
            # Inside the mask nodes are equivalent again: only the attributes still have an edge.
            if inside.any():
                below = edge - frozenset(range(grid.plain_axes.start))
                alike[below] = max(alike.get(below, -np.inf), float(value[inside].max()))
                prefix, value = prefix[~inside], value[~inside]
        worst.append(max([*alike.values(), *value.tolist()]))
    return np.array(worst)


def _children(
    alike: dict[frozenset[int], float], axis: int, can_go_right: bool, branching: Step, single: Step
) -> dict[frozenset[int], float]:
    """Return the values one level down for equivalent nodes: the axes of a key lie
    on the upper edge.
    """
    children_values: dict[frozenset[int], float] = {}
    for edge, value in alike.items():
        if axis in edge and not can_go_right:
            children, step = [edge], single
        else:
            children, step = [edge - {axis}, edge], branching
        carried = float(step(np.array(value)))
        for child in children:
            children_values[child] = max(children_values.get(child, -np.inf), carried)
    return children_values


def overlaps(grid: Grid, prefix: NDArray[np.uint64], stride: int) -> NDArray[np.bool_]:
    """Whether nodes that cover ``stride`` keys each contain a cell of the domain: bool[n].

    Parameters
    ----------
    grid : Grid
        Grid in any order.
    prefix : uint64[n]
        The node covers ``stride`` keys from ``prefix * stride`` on.
    stride : int
        Product of the last radices of the grid's order.
    """
    radices = grid.order.radices
    if grid.size == prod(radices):
        return np.ones(prefix.size, np.bool_)
    first = prefix * np.uint64(stride)
    return grid.domain.overlaps(first, grid.order.digits_above(stride))


def edges_of(grid: Grid, strides: tuple[int, ...]) -> Edges:
    """Return the arrays with which a kernel tests the children of nodes; see :func:`overlaps`.

    Parameters
    ----------
    grid : Grid
        Grid in any order.
    strides : tuple of int
        Number of keys of a node of every level, the roots' first: products of the last radices.
    """
    radices = grid.order.radices
    if grid.size == prod(radices):
        no = np.empty((0, 0), np.int64)
        return Edges(no, no, no, no, np.empty((0, 2), np.uint64), no)
    axes, low, high, number = grid.order.limits(grid.shape)
    digits = [next(i for i in range(len(radices) + 1) if prod(radices[i:]) == s) for s in strides]
    weight = [
        prod(r for a, r in zip(axes[d + 1 :], radices[d + 1 :], strict=True) if a == axis)
        for d, axis in enumerate(axes)
    ]
    level, delta = [], [np.empty((0, low.size), np.int64)]
    for i, end in enumerate(digits):
        side = [1] * low.size
        for axis, radix in zip(axes[end:], radices[end:], strict=True):
            side[axis] *= radix
        level.append([end, sum(map(len, delta)), *side])
        one = np.zeros((1, low.size), np.int64)
        for d in range(digits[i - 1] if i else end, end):
            step = np.zeros((radices[d], low.size), np.int64)
            step[:, axes[d]] = np.arange(radices[d]) * weight[d]
            # All combinations of the level's digits: offsets of a node's children on every axis.
            one = (one[:, None] + step).reshape(-1, low.size)
        delta.append(one)
    return Edges(
        np.array([radices, axes, weight], np.int64),
        np.array(level, np.int64),
        np.array([low, high]),
        np.concatenate(delta),
        grid.domain.ranges,
        number.copy(),
    )


def cells_of_box(grid: Grid, prefix: NDArray[np.uint64], stride: int) -> NDArray[np.int64]:
    """Count the cells of the grid's box, or of its regions, in nodes, ignoring masks: int64[n].

    Parameters are those of :func:`overlaps`.
    """
    digits = grid.order.digits_above(stride)
    return grid.order.count_cells(prefix * np.uint64(stride), digits, grid.shape)
