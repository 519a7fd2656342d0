"""Public proxies of a table, on which plans and statistics of releases are simulated."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Self

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.table.counts import CountTable, ReleasedTable

EACH = 50.0
"""People per cell of a synthetic map without a public total: about Germany's per square km."""

INHABITED = 0.35
"""Inhabited places per cell of a synthetic map: about a third, as on a census mesh."""

MAX_PLACES = 1 << 20
"""Largest number of drawn places, times the labels of each."""

CELLS_OF_TOWN = 400
"""Cells of the map per town."""

SEED = 20150901


@dataclass(frozen=True, eq=False)
class Proxy:
    """A public table, with its description.

    Attributes
    ----------
    table : CountTable
    description : str
        For people; the plan quotes it.
    """

    table: CountTable = field(repr=False)
    description: str

    @classmethod
    def of(cls, grid: Grid, prior: CountTable | ReleasedTable | None, people: float | None) -> Self:
        """Take a public map, or make a synthetic one for the domain.

        Parameters
        ----------
        grid : Grid
        prior : CountTable or ReleasedTable, optional
            Public: an older census, or an older release. On the same grid; values below 0 count
            as 0. It is scaled to ``people``, if they are given.
        people : float, optional
            A public guess of the sum of all counts.

        Raises
        ------
        UsageError
            A prior map on another grid or without people, or a grid without synthetic maps.
        """
        if prior is None:
            return cls.make_up(grid, people)
        if prior.grid != grid:
            raise UsageError(
                "The prior map is on another grid; give one on the grid of the plan.",
                code="prior-map-grid-differs",
            )
        # Released counts may be negative; a Poisson-like map of people may not.
        count = np.maximum(np.asarray(prior.count, np.float64), 0)
        total = float(count.sum())
        if not total:
            raise UsageError("The prior map has no people.", code="prior-map-empty")
        scale = 1.0 if people is None else people / total
        description = "the prior map" + (f", scaled to {people:,.10g} people" if people else "")
        rounded = np.rint(count * scale).astype(np.int64)
        return cls(CountTable.from_keys(grid, prior.key, rounded), description)

    @classmethod
    def make_up(cls, grid: Grid, people: float | None) -> Self:
        """Make a synthetic map of towns on the cells of the domain; a third of them has people.

        Places of towns are uniform among the cells, their people Pareto with exponent 1.3, and
        around each its people lie in a cloud that is the wider the more they are; labels of
        attributes have shares in proportion to 1, 1/2, 1/3 ...
        """
        grid.require_map(
            Rule(
                "made-up-map-needs-one-map",
                "A synthetic map needs a grid of one map; give a prior map instead.",
            )
        )
        # A fixed seed: the same plan must give the same prediction every time, and nothing here is
        # noise.
        random = np.random.default_rng(SEED)
        rows, cols = grid.shape[:2]
        labels = prod(grid.shape[2:])
        cells = max(1, grid.size // labels)
        places = int(min(INHABITED * cells, MAX_PLACES / labels)) + 1
        towns = max(4, cells // CELLS_OF_TOWN)
        centre = _some_places(grid, random, towns)
        size = np.minimum(random.pareto(1.3, towns) + 0.2, towns / 8 + 1)
        # Places grow with the square root of a town's people, so that larger towns are denser.
        town = random.choice(towns, places, p=np.sqrt(size) / np.sqrt(size).sum())
        width = 0.7 + 1.2 * np.sqrt(size * INHABITED * CELLS_OF_TOWN / 8)
        away = random.standard_normal((2, places)) * width[town]
        # Within a town people are denser in the middle, and unlike from cell to cell.
        weight = np.sqrt(size[town]) * np.exp(random.normal(0, 1, places))
        weight *= np.exp(-(away**2).sum(axis=0) / (2 * width[town] ** 2))
        index = np.rint(centre[:, town] + away).astype(np.int64)
        inside = (index >= 0).all(axis=0) & (index[0] < rows) & (index[1] < cols)
        index, weight = index[:, inside], weight[inside]
        share = np.ones(1)
        # Labels of falling size: plans for attributes must not assume that all labels are equally
        # common.
        for size_of_axis in grid.shape[2:]:
            part = 1 / np.arange(1, size_of_axis + 1)
            share = np.multiply.outer(share, part / part.sum()).reshape(-1)
        which = np.indices(grid.shape[2:], np.int64).reshape(len(grid.shape) - 2, labels)
        index = np.vstack([index.repeat(labels, axis=1), np.tile(which, index.shape[1])])
        weight = np.multiply.outer(weight, share).reshape(-1)
        inside = grid.contains(index)
        index, weight = index[:, inside], weight[inside]
        total = EACH * cells if people is None else people
        mean = weight * (total / max(float(weight.sum()), 1e-300))
        # Counts vary around their mean as real cells do; the limit keeps int64 safe for absurd
        # guesses.
        count = random.poisson(np.minimum(mean, 2.0**40))
        table = CountTable.from_index(grid, index[:, count > 0], count[count > 0])
        guess = "assumed" if people is None else "as specified"
        return cls(table, f"a synthetic map of towns on the domain, {total:,.10g} people ({guess})")


def _some_places(grid: Grid, random: np.random.Generator, n: int) -> NDArray[np.int64]:
    """Draw rows and columns of cells of the domain at random: int64[2, n]."""
    rank = random.integers(grid.domain.cells, size=n)
    return grid.decode(grid.domain.keys_of_ranks(rank))[:2]
