"""What every question asked of a table has, and where its candidates are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.features.select.card import Code
from geodp.features.select.mechanisms import Selector
from geodp.features.select.mechanisms.base import STREAMS
from geodp.features.select.mechanisms.questions import Counted
from geodp.grid.coarsen import Coarsening
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import CELL
from geodp.mechanisms.base import Plain
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.noise.draws import Draw
from geodp.privacy.noise.geometric import LIMIT
from geodp.privacy.selected import Change, Selection
from geodp.table.counts import CountTable, coalesce

Answer = Mapping[str, Code]


@dataclass(frozen=True)
class Question(ABC):
    """A question with its settings: a frozen value.

    Attributes
    ----------
    name : str
        As in a card.
    version : int
        Higher whenever what is measured changes.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1

    @property
    def rounds(self) -> int:
        """Draws that the budget is shared among."""
        return 1

    @property
    @abstractmethod
    def change(self) -> Change:
        """By how much a person changes a utility."""

    @property
    @abstractmethod
    def settings(self) -> tuple[tuple[str, Plain], ...]:
        """Names and values of all settings, exact, as a card has them where they are texts."""

    @property
    @abstractmethod
    def words(self) -> tuple[str, str]:
        """The question as a sentence, and what makes a candidate better."""

    @abstractmethod
    def candidates(self, grid: Grid) -> int:
        """Return how many candidates there are; UsageError where the question makes no sense."""

    @abstractmethod
    def measure(self, table: CountTable, event: Selection) -> Any:
        """Return what the draws go by: whole numbers, confidential."""

    @abstractmethod
    def draw(
        self, selector: Selector, grid: Grid, measured: Any, rate: Fraction, key: NoiseKey
    ) -> tuple[Answer, ...]:
        """Return what is chosen, in words and numbers that may be published."""

    def declare(self, selector: Selector, rate: Fraction) -> tuple[Draw, ...]:
        """Return all that :meth:`draw` can draw: a draw of the selector in each round."""
        return tuple(
            draw
            for turn in range(self.rounds)
            for draw in selector.declare(rate, Stream.SELECT + STREAMS * turn)
        )

    @abstractmethod
    def longest(self, grid: Grid) -> tuple[Answer, ...]:
        """Return an answer of the same kind that depends on no data, to try a card with."""

    def false_below(self, grid: Grid, rate: Fraction) -> float | None:
        """Return the count below which empty candidates are expected among the chosen."""
        return None


class Places(ABC):
    """Public candidates that lie on a map, by number."""

    size: int

    @abstractmethod
    def count(self, table: CountTable) -> Counted:
        """Return the numbers of those that have a count, and the counts."""

    @abstractmethod
    def describe(self, rank: NDArray[np.int64]) -> tuple[Answer, ...]:
        """Return codes and labels of some of them."""

    @abstractmethod
    def split(self, table: CountTable) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
        """Return how many there are with labels, that of every occupied cell, and cells of each.

        Cells are those of occupied ones, in their order; attributes are not split.
        """


@lru_cache(maxsize=4)
def find_places(grid: Grid, level: str | None) -> Places:
    """Return the cells of a grid, or the areas of one of its levels.

    Parameters
    ----------
    grid : Grid
    level : str, optional
        A level of the grid's regions, or what :meth:`Coarsening.of` takes. Default: its cells.

    Raises
    ------
    UsageError
        No such level.
    """
    if level is None or level == CELL:
        return CellPlaces(grid, None)
    if grid.areas.tables:
        return RegionPlaces(grid, level)
    return CellPlaces(grid, Coarsening.of(grid, level))


class CellPlaces(Places):
    """Cells of a grid, or the coarser ones of another."""

    def __init__(self, grid: Grid, onto: Coarsening | None) -> None:
        self._onto = onto
        self.grid = grid if onto is None else onto.grid
        self.size = self.grid.size

    def count(self, table: CountTable) -> Counted:
        """Return the cells that have a count, by their number in the domain, and the counts."""
        key, count = table.key, table.count
        if self._onto is not None:
            coarse = self.grid.encode(self._onto.index(table.grid.decode(key)))
            key, count = coalesce(coarse, count)
        rank = self.grid.domain.ranks_of_keys(key)
        order = np.argsort(rank)
        return Counted(rank[order], count[order], self.size)

    def split(self, table: CountTable) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
        """Return the coarser cell of each cell, and how many places that holds; see Places."""
        if self._onto is None:
            return self.size, np.arange(table.key.size), np.ones(table.key.size, np.int64)
        key = self.grid.encode(self._onto.index(table.grid.decode(table.key)))
        cells = self._onto.count_places(self.grid.decode(np.unique(key)))
        return self.size, key.astype(np.int64), cells

    def describe(self, rank: NDArray[np.int64]) -> tuple[Answer, ...]:
        """Return the codes of cells, and the labels of their attributes."""
        grid = self.grid
        index = grid.decode(grid.domain.keys_of_ranks(rank))
        columns: dict[str, list[Code]] = {}
        for number, name in enumerate(grid.maps.codes):
            columns[name] = grid.names.format(number, index).tolist()
        for axis in grid.plain_axes:
            columns[grid.axis_names[axis]] = index[axis].tolist()
        for at, attribute in zip(grid.attribute_axes, grid.attributes, strict=True):
            columns[attribute.name] = [attribute.labels[label] for label in index[at]]
        return tuple(
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        )


class RegionPlaces(Places):
    """Regions of one level of an office's hierarchy, or pairs of them; attributes are summed."""

    def __init__(self, grid: Grid, level: str) -> None:
        (hierarchy,) = grid.areas.tables
        if level not in hierarchy.levels:
            names = ", ".join([*hierarchy.levels, CELL])
            raise UsageError(
                f"The levels of these regions are: {names}.", code="region-level-unknown"
            )
        self._hierarchy, self._number = hierarchy, hierarchy.levels.index(level)
        self._prefixes = grid.maps.prefixes
        self._regions = len(hierarchy.codes[self._number])
        self.size = self._regions ** len(self._prefixes)
        if self.size > LIMIT:
            raise UsageError(
                f"A selection takes at most 2**62 pairs; here are {self.size:,}.",
                code="candidates-too-many",
            )

    def count(self, table: CountTable) -> Counted:
        """Return the regions that have a count, by their place in the table, and the counts."""
        region = self.region_of(table.grid, table.key)
        rank, count = coalesce(region.astype(np.uint64), table.count)
        return Counted(rank.astype(np.int64), count, self.size)

    def region_of(self, grid: Grid, key: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the region of each key; of a pair the origin's, then the destination's."""
        index, found = grid.decode(key), np.zeros(key.size, np.int64)
        for end in range(len(self._prefixes)):
            cell = self._hierarchy.number_of(index[2 * end : 2 * end + 2])
            at = np.searchsorted(self._hierarchy.number, cell)
            found = found * self._regions + self._hierarchy.region[self._number, at]
        return found

    def split(self, table: CountTable) -> tuple[int, NDArray[np.int64], NDArray[np.int64]]:
        """Return the region and labels of each cell, and the cells of those; see Places."""
        grid, index = table.grid, table.grid.decode(table.key)
        cell, below = self.region_of(grid, table.key), 1
        for axis, attribute in zip(grid.attribute_axes, grid.attributes, strict=True):
            cell = cell * len(attribute.labels) + index[axis]
            below *= len(attribute.labels)
        return self.size * below, cell, self.cells_of(np.unique(cell) // below)

    def cells_of(self, rank: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cells of the map in some regions, or the pairs of cells in pairs of them."""
        cells = np.bincount(self._hierarchy.region[self._number], minlength=self._regions)
        return np.asarray(np.prod([cells[own] for own in self._ends_of(rank)], axis=0), np.int64)

    def _ends_of(self, rank: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """Return the regions of both ends of pairs, or of their only one."""
        return np.unravel_index(rank, (self._regions,) * len(self._prefixes))

    def describe(self, rank: NDArray[np.int64]) -> tuple[Answer, ...]:
        """Return the codes of regions, and of those that hold them."""
        table, n = self._hierarchy, self._number + 1
        found: dict[str, list[Code]] = {}
        for prefix, own in zip(self._prefixes, self._ends_of(rank), strict=True):
            at = np.searchsorted(table.region[self._number], own)  # cells are in the regions' order
            for number in range(n):
                codes = np.array(table.codes[number])[table.region[number, at]]
                found[prefix + table.levels[number]] = codes.tolist()
        return tuple(
            dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)
        )
