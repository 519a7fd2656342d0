"""The bias that the clamp adds to the total of a small label of an attribute.

If a cell has fewer people than the noise of its labels, the projection that keeps counts from
falling below 0 pulls the labels towards equal parts, with the same sign in every cell. So the bias
of a label's total grows with the number of cells, while its stated error grows with their square
root. The mechanism itself runs here, on the last levels of its tree, for synthetic people and with
a public key: the results are public, and the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import log2, prod, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.variance import TreeVariance
from geodp.grid.grid import Grid
from geodp.grid.order import Order
from geodp.mechanisms.base import Method
from geodp.mechanisms.trees.shrinkage import Trial
from geodp.privacy.event import TableEvent
from geodp.privacy.key import NoiseKey
from geodp.table.counts import CountTable

SMALL = 0.1
"""People of a small label, relative to every other label."""

APART = 16
"""Distance of the small labels that are simulated together."""

KEYS = 1 << 14
"""A simulated tree contains levels beyond those that split labels, up to this number of leaves."""

MAX_KEYS = 1 << 16
"""It contains fewer levels if those that split labels have more leaves than this."""

LEAVES = 1 << 17
"""Leaves of all trees that are simulated together."""

FEWEST_TREES = 1 << 4

TRIED = (-2, 5)
"""Powers of 2 times the noise at which a label's people are tried if there is no guess.

Fewer people are tried too if a label is above others in the tree.
"""

MAX_PEOPLE = 2.0**36
"""Most people of a leaf: larger counts are all far above the noise, and sums could overflow."""

SURE = 3
"""Number of standard errors of the simulation by which a bias must exceed the stated error."""

GOLDEN = (sqrt(5) - 1) / 2

MEANING = (
    "what keeping counts from falling below 0 adds to the total of a label that has a tenth of the "
    "people of every other label, if as many people live in every cell; from a simulation of the "
    "mechanism with made-up people; standard_error is the closed form of that total, and does not "
    "hold where the bias is larger"
)

CURE = (
    "Use the method parts, the default for attributes below the cells, which has no such bias; or "
    "choose larger cells, a larger epsilon or fewer labels."
)

Rows = list[dict[str, Any]]


Levels = Callable[[int, int], Trial]
"""The mechanism from one level of its tree to another."""


@dataclass(frozen=True)
class Window:
    """The levels of a tree that split an attribute's labels, and some neighbouring ones.

    Attributes
    ----------
    levels : (int, int)
        Levels of the roots and of the leaves.
    axis : int
        The attribute's axis, from 1.
    axes, radices : tuple of int
        Axis and radix of each digit between a root and a leaf; axes are numbered from 1.
    sizes : tuple of int
        Sizes of axes 1, 2 ...
    cells : int, int
        Cells of the map below a root, and below a leaf.
    labels : int
        Number of combinations of labels among the leaves of all trees.
    apart : int
        Number of combinations of other labels that are separated above the roots.
    """

    levels: tuple[int, int]
    axis: int
    axes: tuple[int, ...]
    radices: tuple[int, ...]
    sizes: tuple[int, ...]
    cells: tuple[int, int]
    labels: int
    apart: int

    @classmethod
    def of(cls, grid: Grid, ends: list[int], axis: int) -> Window:
        """Make the window of an attribute's axis; ``ends``: digits above the nodes by level."""
        order, radices = grid.order, grid.order.radices
        digits = [i for i, owner in enumerate(order.axes) if owner == axis]
        top = max(i for i, end in enumerate(ends) if end <= digits[0])
        last = min(i for i, end in enumerate(ends) if end > digits[-1])

        def keys(first: int, stop: int) -> int:
            return prod(radices[ends[first] : ends[stop]])

        while top < last - 1 and keys(top, last) > MAX_KEYS:
            top += 1
        while last < len(ends) - 1 and keys(top, last + 1) <= KEYS:
            last += 1
        while top > 0 and keys(top - 1, last) <= KEYS:
            top -= 1
        start, stop = ends[top], ends[last]
        inside = sorted(set(order.axes[start:stop]))
        labelled = grid.attribute_axes
        sizes = [order.width(start, owner) // order.width(stop, owner) for owner in inside]
        for i, owner in enumerate(inside):
            if owner in labelled:
                sizes[i] = min(sizes[i], order.count_prefixes(stop, owner, grid.shape[owner]))
        places = [owner for owner in range(len(grid.shape)) if owner not in labelled]
        return cls(
            (top, last),
            inside.index(axis) + 1,
            tuple(inside.index(owner) + 1 for owner in order.axes[start:stop]),
            radices[start:stop],
            tuple(sizes),
            (
                prod(order.width(start, owner) for owner in places),
                prod(order.width(stop, owner) for owner in places),
            ),
            prod(order.count_prefixes(stop, owner, grid.shape[owner]) for owner in labelled),
            prod(
                order.count_prefixes(start, owner, grid.shape[owner])
                for owner in labelled
                if owner != axis
            ),
        )

    @property
    def trees(self) -> int:
        """Number of trees that are simulated together; a power of 2."""
        return 1 << max(FEWEST_TREES, LEAVES // prod(self.radices)).bit_length() - 1

    def grid(self) -> Grid:
        """Return the grid of all trees, which axis 0 numbers."""
        bits = self.trees.bit_length() - 1
        order = Order((*(0,) * bits, *self.axes), (*(2,) * bits, *self.radices))
        return Grid.regular((self.trees, *self.sizes)).with_order(order)

    def others(self, people: float) -> float:
        """Return the people of a leaf of every other label, by the people of a map cell."""
        count = self.sizes[self.axis - 1]
        return people * self.cells[1] / self.labels * count / (count - (1 - SMALL) * self.small)

    @property
    def small(self) -> int:
        """Number of small labels: those that ``APART`` divides."""
        return -(-self.sizes[self.axis - 1] // APART)


def totals(grid: Grid, tree: TreeVariance, mechanism: Levels, people: float | None) -> Rows | None:
    """Compute bias and stated error of the total of a small label, for every attribute.

    Parameters
    ----------
    grid : Grid
    tree : TreeVariance
        The closed form, of levels that split whole digits.
    mechanism : function
    people : float, optional
        A public guess of their total number. Default: the worst case among powers of 2 around the
        noise, after allowing for the simulation's error.

    Returns
    -------
    list of dict, or None
        None on a grid whose attributes have no two labels.
    """
    rows: Rows = []
    strides = (prod(tree.fanouts[level:]) for level in range(len(tree.fanouts) + 1))
    # Digits above the nodes of every level, from the root's 0 on.
    ends = [grid.order.digits_above(stride) for stride in strides]
    cells = grid.size // prod(len(attribute.labels) for attribute in grid.attributes)
    first = len(grid.shape) - len(grid.attributes)
    for axis, attribute in enumerate(grid.attributes, first):
        if len(attribute.labels) < 2:
            continue
        window = Window.of(grid, ends, axis)
        run = mechanism(*window.levels)
        if people is None:
            noise = log2(max(tree.variances[window.levels[1]], 1.0)) / 2
            middle = round(noise - log2(window.others(1.0)))
            # A label above others in the tree is worst off if all of its combinations together, and
            # not each of them, have as many people as the noise.
            below = (window.labels // window.sizes[window.axis - 1]).bit_length()
            tried = [2.0 ** (middle + power) for power in range(TRIED[0] - below, TRIED[1])]
        else:
            tried = [people / cells]
        biases = {each: _bias(window, run, window.others(each)) for each in tried}
        each = max(biases, key=lambda each: abs(biases[each][0]) - SURE * biases[each][1])
        bias, doubt = (figure * cells for figure in biases[each])
        error = sqrt(_variance(grid, tree, ends, axis))
        row = {"bias": bias, "simulation_error": doubt, "standard_error": error}
        rows.append(
            {
                "attribute": attribute.name,
                "people_per_cell": float(f"{each:.4g}"),
                "people_from": "the worst case" if people is None else "a public guess",
                "bias_per_cell": float(f"{bias / cells:.4g}"),
                **{name: float(f"{figure:.4g}") for name, figure in row.items()},
                "holds": abs(bias) - SURE * doubt <= error,
            }
        )
    return rows or None


def describe(
    method: Method[Any], grid: Grid, event: TableEvent, people: float | None
) -> dict[str, Any] | None:
    """Make the card's section; None without attributes, or if the method clamps nothing."""
    rows = method.label_totals(grid, event, people)
    return None if rows is None else {"meaning": MEANING, "labels": rows}


def warnings_of(
    method: Method[Any], grid: Grid, event: TableEvent, people: float | None
) -> tuple[str, ...]:
    """Warn of totals whose bias exceeds their stated error, if there are any, in one sentence."""
    sentences = [
        f"a label of {row['attribute']} with a tenth of the people of every other one is too "
        f"{'large' if row['bias'] > 0 else 'small'} by about {abs(row['bias']):,.0f}, where its "
        f"stated standard error is {row['standard_error']:,.0f}, if {row['people_per_cell']:,.10g} "
        f"people live in every cell ({row['people_from']})"
        for row in method.label_totals(grid, event, people) or ()
        if not row["holds"]
    ]
    return (
        (f"Totals of small labels are biased: {'; '.join(sentences)}. {CURE}",) if sentences else ()
    )


@lru_cache(maxsize=256)
def _bias(window: Window, run: Trial, others: float) -> tuple[float, float]:
    """Simulate the bias of a small label per map cell, and its standard error.

    ``others``: people of a leaf of every other label.
    """
    grid, label, rank = _leaves(window)
    small = (label % APART == 0) & (label >= 0)
    each = min(others, MAX_PEOPLE) * np.where(small, SMALL, 1.0)
    # A fractional number of people per leaf is spread by rounding cumulative sums, with another
    # phase for every label, so that labels do not gain a person in the same cells.
    phase = label * GOLDEN % 1
    count = (np.floor(each * (rank + 1) + phase) - np.floor(each * rank + phase)).astype(np.int64)
    count[label < 0] = 0
    key = np.flatnonzero(count)
    cells, counts = run(
        CountTable.of_cells(grid, key.astype(np.uint64), count[key]),
        window.trees,
        NoiseKey(bytes(32)),
    )
    count *= -1
    count[cells.astype(np.int64)] += counts
    error = count[small].reshape(window.trees, -1).sum(axis=1) * window.apart
    error = error / (window.cells[0] * window.small)
    return float(error.mean()), float(error.std(ddof=1) / sqrt(error.size))


@lru_cache(maxsize=4)
def _leaves(window: Window) -> tuple[Grid, NDArray[np.int64], NDArray[np.int64]]:
    """Return the grid, every key's label (-1: outside the domain), and its number among those."""
    grid = window.grid()
    key = np.arange(prod(grid.order.radices), dtype=np.uint64)
    label = np.where(grid.contains_keys(key), grid.decode(key)[window.axis], -1)
    order = np.argsort(label, kind="stable")
    first = np.searchsorted(label[order], np.arange(-1, window.sizes[window.axis - 1]))
    rank = np.empty(label.size, np.int64)
    rank[order] = np.arange(label.size) - first[label[order] + 1]
    return grid, label, rank


def _variance(grid: Grid, tree: TreeVariance, ends: list[int], axis: int) -> float:
    """Compute the closed-form variance of the total of label 0 of an attribute."""
    # As in geodp.accuracy.variance: every node with the label contains the same part a of it, so
    # level i adds V a**2 (1 - 1 / k) for each of its nodes, if a parent separates k labels.
    size, variance, part = grid.shape[axis], 0.0, 1.0
    for i in range(len(ends) - 1, 0, -1):
        above = min(grid.order.width(ends[i - 1], axis), size)
        apart = -(-above // grid.order.width(ends[i], axis))
        if apart > 1:
            nodes = grid.domain.count_label_blocks(ends[i], axis)
            variance += tree.variances[i] * nodes * part**2 * (1 - 1 / apart)
            part /= apart
    return variance + tree.variances[0] * part**2
