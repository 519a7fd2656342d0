"""Measurements of a method before clamping: noisy values of nodes by level, all public."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from math import prod
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.tree import overlaps
from geodp.privacy.noise.node import number_children
from geodp.table.counts import Cells
from geodp.typing import IntArray, KeyArray

COUNT: Final = "count"
DIFFERENCE: Final = "difference"

MAX_NODES = 1 << 26
"""Largest number of nodes of all complete levels together."""


class NodeLevel(NamedTuple):
    """A list of measurements of a method: one level of nodes, which are prefixes of keys.

    Attributes
    ----------
    digits : int
        Number of a key's digits that name a node: 0 for the root.
    under : int
        Digits of the node whose released count decides whether a node is visited; 0 for the root.
    measures : {"count", "difference"}
        What is measured: the node's people; those of its first half less those of its second one.
    noise : (str, Fraction)
        Name and exact parameter of the law: its scale, or sigma squared of a Gaussian one.
    variance : float
        Variance of the noise, in counts squared.
    """

    digits: int
    under: int
    measures: Literal["count", "difference"]
    noise: tuple[str, Fraction]
    variance: float


class Bias(NamedTuple):
    """Bias of the values of visited nodes, simulated on a synthetic map.

    Attributes
    ----------
    people : int
        Number of people of each settlement of that map, all of which are isolated.
    missing : float
        Share of the settlements' nodes that were not visited.
    bias : float
        Mean error, in counts, of their noisy values where 0 is taken for nodes not visited.
    """

    people: int
    missing: float
    bias: float


@dataclass(frozen=True, eq=False)
class MeasuredLevel:
    """The noisy values of a level.

    Attributes
    ----------
    level : NodeLevel
    complete : bool
        Whether all nodes of the public domain are there, whatever was released.
    node : uint64[n]
        Keys share these first digits; strictly increasing.
    value : int64[n]
        Count or difference with its noise: unbiased, and perhaps negative.
    bias : Bias or None
        Bias of a level that is not complete.
    """

    level: NodeLevel
    complete: bool
    node: KeyArray = field(repr=False)
    value: IntArray = field(repr=False)
    bias: Bias | None = None


@dataclass(frozen=True, eq=False)
class MeasuredLevels:
    """All measurements of a release that are written, from the root's level on."""

    levels: tuple[MeasuredLevel, ...]


def sums_of(key: KeyArray, count: IntArray, node: KeyArray, stride: int) -> IntArray:
    """Compute the exact sums of nodes: int64[n]; node v holds the keys from ``v * stride`` on.

    Parameters
    ----------
    key : uint64[m], count : int64[m]
        The occupied cells, in key order.
    node : uint64[n]
    stride : int
        Keys that a node covers.

    Examples
    --------
    >>> key = np.array([1, 2, 7], np.uint64)
    >>> sums_of(key, np.array([5, 6, 7]), np.array([0, 1], np.uint64), 4).tolist()
    [11, 7]
    """
    # Prefix sums answer every node by two searches, whatever its size.
    until = np.concatenate([np.zeros(1, np.int64), np.cumsum(count)])
    first = node * np.uint64(stride)
    position = partial(np.searchsorted, key)
    return np.asarray(
        until[position(first + np.uint64(stride - 1), "right")] - until[position(first)], np.int64
    )


def public_nodes(grid: Grid, levels: tuple[NodeLevel, ...]) -> Iterator[KeyArray]:
    """Yield the measured nodes of the entire domain, level by level.

    Raises UsageError once there are too many.
    """
    node, digits, total = np.zeros(1, np.uint64), 0, 0
    for level in levels:
        fanout = prod(grid.order.radices[digits : level.digits])
        total += node.size * fanout
        if total > MAX_NODES:
            raise UsageError(
                "Complete levels would have more than 2**26 nodes; let --measurements-complete-to "
                "(complete_to) be larger areas.",
                code="measurements-too-many",
            )
        node, digits = number_children(node, fanout), level.digits
        # Nodes outside the domain are dropped level by level, before their children are
        # made.
        node = node[overlaps(grid, node, stride_of(grid, digits))]
        yield node[is_measured(grid, level, node)]


def visited_nodes(grid: Grid, level: NodeLevel, released: Cells) -> KeyArray:
    """Return the nodes of a level that are measured because the node above is occupied."""
    # Only the released counts decide what is visited, so the choice reveals nothing more.
    above = released.key // np.uint64(stride_of(grid, level.under))
    above = above[np.flatnonzero(np.append(True, above[1:] != above[:-1])[: above.size])]
    fanout = prod(grid.order.radices[level.under : level.digits])
    node = number_children(above, fanout)
    node = node[overlaps(grid, node, stride_of(grid, level.digits))]
    return node[is_measured(grid, level, node)]


def truth_of(grid: Grid, level: NodeLevel, node: KeyArray, table: Cells) -> IntArray:
    """Compute a level's values of nodes without noise: confidential if the table is."""
    stride = stride_of(grid, level.digits)
    if level.measures == COUNT:
        return sums_of(table.key, table.count, node, stride)
    halves = number_children(node, 2)
    left, right = sums_of(table.key, table.count, halves, stride // 2).reshape(-1, 2).T
    return np.asarray(left - right, np.int64)


def is_measured(grid: Grid, level: NodeLevel, node: KeyArray) -> NDArray[np.bool_]:
    """Return which nodes are measured: a difference needs both halves in the domain."""
    if level.measures == COUNT:
        return np.ones(node.size, np.bool_)
    # With one half outside the domain, the difference equals the count and would be measured twice.
    half = stride_of(grid, level.digits) // 2
    halves = overlaps(grid, number_children(node, 2), half).reshape(-1, 2)
    return np.asarray(halves.all(axis=1), np.bool_)


def stride_of(grid: Grid, digits: int) -> int:
    """Return the number of keys of a node that is named by this many digits."""
    return prod(grid.order.radices[digits:])
