"""Privelet on hierarchies: noise on the nominal wavelet (Xiao, Wang, Gehrke 2011, section 5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.accuracy.closed_form import keys_of_domain
from geodp.grid.grid import Grid
from geodp.mechanisms.base import Mechanism, Query
from geodp.mechanisms.baselines.privelet import LINEAR, Privelet
from geodp.mechanisms.measure import (
    add_noise,
    measure_deviations,
    release_vector,
    stage_query,
)
from geodp.mechanisms.trees.least_squares import MAX_UNALIGNED, sums_of_runs
from geodp.privacy.event import Guarantee, Measurement
from geodp.privacy.key import NoiseKey
from geodp.privacy.noise.law import DiscreteLaplace
from geodp.table.counts import CountTable, ReleasedTable
from geodp.typing import FloatArray, IntArray


@dataclass(frozen=True)
class PriveletNominal(Mechanism):
    """Xiao, Wang, Gehrke (2011): the nominal wavelet of a hierarchy of areas.

    The hierarchy is that of the grid's order: the levels of official areas or of an office's
    regions, otherwise the digits of a key. Measured are the total and, for every area, its
    difference from the mean of its f siblings, the areas in the same larger area, itself included.
    On integers that is f times the area minus the larger area, with noise of scale
    ``(2 f - 2) / f`` times f: the weights of the paper. Areas without a cell of the domain are
    ignored, and an area without siblings is not measured. The paper's sensitivity ``2 h`` is for
    neighbours that differ in one replaced person; adding or removing one has h.

    It is not a setting of `privelet`: that would change the identity of all releases of
    `privelet`, and so their noise under a kept key.
    """

    name: ClassVar[str] = "privelet-nominal"
    version: ClassVar[int] = 1
    title: ClassVar[str] = "nominal wavelet of a hierarchy of areas (Xiao et al. 2011)"
    citation: ClassVar[str] = Privelet.citation
    guarantee: ClassVar[Guarantee] = Guarantee(
        "Xiao et al. (2011), section 5 (generalised sensitivity of the nominal transform): "
        "one person changes the total by 1 and, on each level of f areas in a larger one, one "
        "deviation by 1 - 1/f and f - 1 others by 1/f, which weighted by f / (2 f - 2) is 1; so "
        "the weighted L1 sensitivity is the number of levels",
    )
    postprocessing: ClassVar[tuple[str, ...]] = (
        "The deviations of the areas in a larger one are shifted to a mean of 0.",
        *LINEAR,
    )

    def min_share(self, grid: Grid, event: Measurement) -> Fraction:
        """Return the smallest share, of the areas with the most siblings."""
        largest = max((group.parts for group in _Tree.of(grid).groups()), default=2)
        return Fraction(1, 2 * largest - 2)

    def sensitivity(self, grid: Grid) -> int:
        """Return the largest number of measurements of which one cell is a part."""
        return _Tree.of(grid).depth

    def describe_sensitivity(self, grid: Grid, event: Measurement | None = None) -> str:
        """Explain the sensitivity in one sentence for the release card."""
        return (
            "a person counted once changes the total by 1, and the deviations of the areas of a "
            "level by 2 - 2 / f, where f are in one larger area and have noise of 2 - 2 / f times "
            f"the total's scale, on each of {self.sensitivity(grid) - 1} levels"
        )

    def queries(self, grid: Grid, event: Measurement) -> tuple[Query, ...]:
        """List the total, and the deviations of every level by number of siblings."""
        total = stage_query(0, event.scale, "total")
        return (
            total,
            *(
                stage_query(
                    group.stage,
                    group.scale(event),
                    "areas of keys less the mean of their siblings, times their number",
                    group.level,
                    group.parts,
                    group.parts * group.nodes.size,
                )
                for group in _Tree.of(grid).groups()
            ),
        )

    def variances(self, grid: Grid, event: Measurement) -> FloatArray | None:
        """Compute the largest variance of any block of a size; None on more than 2**20 keys."""
        if 1 << grid.bits > MAX_UNALIGNED:
            return None
        key, largest = keys_of_domain(grid), []
        for level in range(grid.bits + 1):
            stride = 1 << (grid.bits - level)
            variance = self.variances_of(grid, event, stride, np.unique(key // np.uint64(stride)))
            assert variance is not None
            largest.append(float(variance.max()))
        return np.array(largest)

    def variances_of(
        self, grid: Grid, event: Measurement, stride: int, block: NDArray[np.uint64]
    ) -> FloatArray | None:
        """Compute exact variances; None on more than 2**20 keys."""
        # A part of a larger area with f parts deviates from 1/f of it with the variance
        # V (1 - 1/f) and the covariance -V/f, where V is that of a noisy deviation. So a sum with
        # the fraction a(c) of every part c adds V (sum of a(c)**2 - (sum of a(c))**2 / f) there,
        # and contains the fraction (sum of a(c)) / f of the larger area itself.
        if 1 << grid.bits > MAX_UNALIGNED:
            return None
        node = np.sort(keys_of_domain(grid))
        which = np.searchsorted(block, node // np.uint64(stride))
        selected = which < block.size
        selected[selected] = block[which[selected]] == node[selected] // np.uint64(stride)
        node, which = node[selected].astype(np.int64), which[selected]
        part, result = np.ones(node.size), np.zeros(block.size)
        tree, last = _Tree.of(grid), len(_Tree.of(grid).fanouts)
        for level in range(last - 1, -1, -1):
            node = node // tree.fanouts[level]
            first = np.flatnonzero(_starts(node) | _starts(which))
            parts = tree.parts[level][node[first]]
            deviation_variance = np.zeros(parts.size)
            for group in tree.groups_of(level):
                deviation_variance[parts == group.parts] = group.variance(event)
            shared = np.add.reduceat(part, first) if node.size else part
            squares = np.add.reduceat(part**2, first) if node.size else part
            node, which = node[first], which[first]
            np.add.at(result, which, deviation_variance * (squares - shared**2 / parts))
            part = shared / parts
        np.add.at(result, which, part**2 * DiscreteLaplace.of_scale(event.scale).variance)
        return result

    def release(self, table: CountTable, event: Measurement, key: NoiseKey) -> ReleasedTable:
        """Release every cell of the domain, as a real number."""
        grid = table.grid
        tree = _Tree.of(grid)
        counts = [table.to_vector()[: prod(tree.fanouts)]]
        for fanout in reversed(tree.fanouts):
            counts.insert(0, sums_of_runs(counts[0], fanout))
        values = add_noise(counts[0], key, 0, event.scale).astype(np.float64)
        for level, fanout in enumerate(tree.fanouts):
            below = np.zeros(values.size * fanout)
            inside = tree.inside[level + 1].reshape(-1, fanout)
            only_children = np.flatnonzero(tree.parts[level] == 1)
            below.reshape(-1, fanout)[only_children] = (
                values[only_children, None] * inside[only_children]
            )
            for group in tree.groups_of(level):
                row, column = np.nonzero(inside[group.nodes])
                child = (group.nodes[row] * fanout + column).reshape(-1, group.parts)
                deviations = measure_deviations(
                    counts[level + 1][child],
                    counts[level][group.nodes],
                    (key, group.stage, group.scale(event)),
                )
                deviations -= deviations.mean(axis=1, keepdims=True)
                below[child] = deviations + values[group.nodes, None] / group.parts
            values = below
        vector = np.zeros(1 << grid.bits)
        vector[: values.size] = values
        return release_vector(vector, grid, event)


@dataclass(frozen=True, eq=False)
class _Group:
    """The larger areas of a level that have the same number of parts.

    Attributes
    ----------
    stage : int
        Stage of the noise of the parts' deviations.
    level : int
        Level of the larger areas; 0 is the root.
    parts : int
        At least 2.
    nodes : int64[n]
    """

    stage: int
    level: int
    parts: int
    nodes: IntArray

    def scale(self, event: Measurement) -> Fraction:
        """Return the noise scale of f times a deviation."""
        return (2 * self.parts - 2) * event.scale

    def variance(self, event: Measurement) -> float:
        """Return the variance of a noisy deviation."""
        return DiscreteLaplace.of_scale(self.scale(event)).variance / self.parts**2


@dataclass(frozen=True, eq=False)
class _Tree:
    """The areas of a grid's order as a tree.

    Attributes
    ----------
    fanouts : tuple of int
        Children of a node of each level except the last, including those outside the domain.
    inside : tuple of bool[n]
        Which nodes of each level contain a cell of the domain.
    parts : tuple of int64[n]
        Number of children of every node that do.
    """

    fanouts: tuple[int, ...]
    inside: tuple[NDArray[np.bool_], ...]
    parts: tuple[IntArray, ...]

    @classmethod
    def of(cls, grid: Grid) -> _Tree:
        """Make the tree of the levels of areas; if there are none, of a key's digits."""
        radices = grid.order.radices
        fanouts = [1]
        digit = 0
        for name, digits in grid.areas.steps or [("digit", 1)] * len(radices):
            fanouts[-1] *= prod(radices[digit : digit + digits])
            digit += digits
            if name:  # steps without a name lie between levels of areas
                fanouts.append(1)
        below = tuple(fanout for fanout in fanouts if fanout > 1)
        held = grid.contains_keys(np.arange(prod(radices), dtype=np.uint64))
        inside, parts = [held], list[IntArray]()
        for fanout in reversed(below):
            parts.insert(0, sums_of_runs(inside[0].astype(np.int64), fanout))
            inside.insert(0, parts[0] > 0)
        return cls(below, tuple(inside), tuple(parts))

    @property
    def depth(self) -> int:
        """Largest number of measurements on the path to a cell, including the total."""
        measured = np.ones(1, np.int64)
        for fanout, parts in zip(self.fanouts, self.parts, strict=True):
            # Children outside the domain count too: their number is that of their siblings.
            measured = np.repeat(measured + (parts > 1), fanout)
        return int(measured.max())

    def groups(self) -> Iterator[_Group]:
        """Iterate over the groups of all levels."""
        stage = 1
        for level, parts in enumerate(self.parts):
            for number in np.unique(parts[parts > 1]).tolist():
                yield _Group(stage, level, number, np.flatnonzero(parts == number))
                stage += 1

    def groups_of(self, level: int) -> list[_Group]:
        """List the groups of one level."""
        return [group for group in self.groups() if group.level == level]


def _starts(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Return where a value differs from the one before: bool[n]."""
    return np.append(True, values[1:] != values[:-1])[: values.size]


METHODS = (PriveletNominal(),)
