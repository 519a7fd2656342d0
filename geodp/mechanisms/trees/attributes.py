"""What the clamp adds to the total of a small label of an attribute.

Where a cell's people are fewer than the noise of its labels, the projection that keeps counts from
falling below 0 pulls the labels towards equal parts, with the same sign in every cell, so that what
a label gains or loses grows with the cells, and its stated error with their square root only. Here
the mechanism itself runs, on the last levels of its tree, for made-up people and under a key that
everybody knows: the figures are public, and the same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import log2, prod, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.variance import TreeVariance
from geodp.grid.grid import Grid
from geodp.grid.order import Order
from geodp.mechanisms.trees.shrinkage import Trial
from geodp.privacy.key import NoiseKey
from geodp.table.counts import CountTable

if TYPE_CHECKING:
    from geodp.mechanisms.base import Method
    from geodp.privacy.event import TableEvent

SMALL = 0.1
"""People of a label that is looked at, to those of every other one."""

APART = 16
"""Every so many labels there is one that is looked at."""

KEYS = 1 << 14
"""A tree has more levels than those that split labels up to so many leaves."""

MOST_KEYS = 1 << 16
"""And fewer, where these alone have more."""

LEAVES = 1 << 17
"""Of all trees that stand side by side."""

FEWEST_TREES = 1 << 4

TRIED = (-2, 5)
"""Powers of 2 of the noise that a label's people are tried at, where nobody guessed them.

Fewer people too, where a label has others below it.
"""

MAX_PEOPLE = 2.0**36
"""Of a leaf: more are no less above the noise."""

SURE = 3
"""Standard errors of the simulation by which a bias must exceed the stated error."""

GOLDEN = (sqrt(5) - 1) / 2

MEANING = (
    "what keeping counts from falling below 0 adds to the total of a label that has a tenth of the "
    "people of every other label, if as many people live in every cell; from a simulation of the "
    "mechanism with made-up people; standard_error is the closed form of that total, and does not "
    "hold where the bias is larger"
)

CURE = (
    "Take the method parts, the default with attributes below the cells: it has no such bias. Or "
    "choose larger cells, a larger epsilon or fewer labels."
)

Rows = list[dict[str, Any]]


Levels = Callable[[int, int], Trial]
"""The mechanism from one level of its tree to another."""


@dataclass(frozen=True)
class Window:
    """The levels of a tree that split an attribute's labels, and some more.

    Attributes
    ----------
    levels : (int, int)
        Of the roots and of the leaves.
    axis : int
        The attribute's, in ``sizes``.
    axes, radices : tuple of int
        Of the digits from a root to a leaf; axes are numbered from 1.
    sizes : tuple of int
        Of axes 1, 2 ...
    cells : int, int
        Of the map: below a root, and below a leaf.
    labels : int
        Combinations of labels that leaves have, in all trees.
    apart : int
        Combinations of other labels that are told apart above the roots.
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
        """For an attribute by its axis; ``ends``: digits above the nodes of each level."""
        order, radices = grid.order, grid.order.radices
        digits = [i for i, owner in enumerate(order.axes) if owner == axis]
        top = max(i for i, end in enumerate(ends) if end <= digits[0])
        last = min(i for i, end in enumerate(ends) if end > digits[-1])

        def keys(first: int, stop: int) -> int:
            return prod(radices[ends[first] : ends[stop]])

        while top < last - 1 and keys(top, last) > MOST_KEYS:
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
        """How many stand side by side; a power of 2."""
        return 1 << max(FEWEST_TREES, LEAVES // prod(self.radices)).bit_length() - 1

    def grid(self) -> Grid:
        """Of all trees; axis 0 numbers them."""
        bits = self.trees.bit_length() - 1
        order = Order((*(0,) * bits, *self.axes), (*(2,) * bits, *self.radices))
        return Grid.regular((self.trees, *self.sizes)).with_order(order)

    def others(self, people: float) -> float:
        """People of a leaf of every other label, with so many people in a cell of the map."""
        count = self.sizes[self.axis - 1]
        return people * self.cells[1] / self.labels * count / (count - (1 - SMALL) * self.small)

    @property
    def small(self) -> int:
        """Labels that are looked at: those that APART divides."""
        return -(-self.sizes[self.axis - 1] // APART)


def totals(grid: Grid, tree: TreeVariance, mechanism: Levels, people: float | None) -> Rows | None:
    """Bias and stated error of the total of a small label, for every attribute.

    Parameters
    ----------
    grid : Grid
    tree : TreeVariance
        The closed form, of levels that split whole digits.
    mechanism : function
    people : float, optional
        A public guess of all. Default: of the numbers that are tried, powers of 2 around the
        noise, that with the largest bias that is sure.

    Returns
    -------
    list of dict, or None
        None on a grid whose attributes have no two labels.
    """
    found: Rows = []
    ends = _ends(grid.order.radices, tree.fanouts)
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
            # A label above others is worst off where it has as many people, not each combination.
            below = (window.labels // window.sizes[window.axis - 1]).bit_length()
            tried = [2.0 ** (middle + power) for power in range(TRIED[0] - below, TRIED[1])]
        else:
            tried = [people / cells]
        biases = {each: _bias(window, run, window.others(each)) for each in tried}
        each = max(biases, key=lambda each: abs(biases[each][0]) - SURE * biases[each][1])
        bias, doubt = (figure * cells for figure in biases[each])
        error = sqrt(_variance(grid, tree, ends, axis))
        row = {"bias": bias, "simulation_error": doubt, "standard_error": error}
        found.append(
            {
                "attribute": attribute.name,
                "people_per_cell": float(f"{each:.4g}"),
                "people_from": "the worst case" if people is None else "a public guess",
                "bias_per_cell": float(f"{bias / cells:.4g}"),
                **{name: float(f"{figure:.4g}") for name, figure in row.items()},
                "holds": abs(bias) - SURE * doubt <= error,
            }
        )
    return found or None


def describe(
    method: Method[Any], grid: Grid, event: TableEvent, people: float | None
) -> dict[str, Any] | None:
    """For the card; None where there are no attributes, or the method clamps nothing."""
    rows = method.label_totals(grid, event, people)
    return None if rows is None else {"meaning": MEANING, "labels": rows}


def warnings_of(
    method: Method[Any], grid: Grid, event: TableEvent, people: float | None
) -> tuple[str, ...]:
    """Return a sentence on the totals that do not have their stated error, if there are any."""
    found = [
        f"a label of {row['attribute']} with a tenth of the people of every other one is too "
        f"{'large' if row['bias'] > 0 else 'small'} by about {abs(row['bias']):,.0f}, where its "
        f"stated standard error is {row['standard_error']:,.0f}, if {row['people_per_cell']:,.10g} "
        f"people live in every cell ({row['people_from']})"
        for row in method.label_totals(grid, event, people) or ()
        if not row["holds"]
    ]
    return (f"Totals of small labels are biased: {'; '.join(found)}. {CURE}",) if found else ()


@lru_cache(maxsize=256)
def _bias(window: Window, run: Trial, others: float) -> tuple[float, float]:
    """Bias of a small label in a cell of the map, and its standard error; others have so many."""
    grid, label, rank = _leaves(window)
    small = (label % APART == 0) & (label >= 0)
    each = min(others, MAX_PEOPLE) * np.where(small, SMALL, 1.0)
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
    """Variance of the total of label 0 of an attribute, as :mod:`geodp.accuracy.variance` has it.

    Every node that holds the label has the same part ``a`` of it, so that level i adds
    ``V a**2 (1 - 1 / k)`` for each of its nodes, where k labels are told apart in a parent.
    """
    size, found, part = grid.shape[axis], 0.0, 1.0
    for i in range(len(ends) - 1, 0, -1):
        above = min(grid.order.width(ends[i - 1], axis), size)
        apart = -(-above // grid.order.width(ends[i], axis))
        if apart > 1:
            nodes = grid.domain.count_label_blocks(ends[i], axis)
            found += tree.variances[i] * nodes * part**2 * (1 - 1 / apart)
            part /= apart
    return found + tree.variances[0] * part**2


def _ends(radices: tuple[int, ...], fanouts: tuple[int, ...]) -> list[int]:
    """Digits above the nodes of every level, from the root's 0 on."""
    found = [0]
    for fanout in fanouts:
        end = found[-1]
        while fanout > 1:
            fanout //= radices[end]
            end += 1
        found.append(end)
    return found
