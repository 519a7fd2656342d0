"""The interface of questions about a table, and the public candidates of a map."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.advice import takes
from geodp.errors import UsageError
from geodp.grid.coarsen import Coarsening
from geodp.grid.grid import Grid
from geodp.grid.hierarchy import CELL
from geodp.kinds.selection.card import Code
from geodp.kinds.selection.mechanisms import Selector
from geodp.kinds.selection.mechanisms.base import STREAMS
from geodp.kinds.selection.mechanisms.questions import Counted
from geodp.mechanisms.base import Plain
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.noise.draws import Draw
from geodp.privacy.noise.exact_draws import LIMIT
from geodp.privacy.selected import Change, Selection
from geodp.release.request import OF_TABLES, Request, make_request
from geodp.table.counts import CountTable, coalesce

Answer = Mapping[str, Code]


@dataclass(frozen=True)
class Question(ABC):
    """A question with its settings: a frozen value.

    Attributes
    ----------
    name : str
        Name in a card.
    version : int
        Increased whenever the measured utilities change.
    disjoint : bool
        Whether geodp made the labels of the table from one number of each record, which is under
        one of them: no label is then a total, and none is looked for in the counts.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    disjoint: ClassVar[bool] = False

    @property
    def rounds(self) -> int:
        """The number of draws that share the budget."""
        return 1

    @property
    @abstractmethod
    def change(self) -> Change:
        """The largest change of a utility by one person."""

    @property
    @abstractmethod
    def settings(self) -> tuple[tuple[str, Plain], ...]:
        """The names and values of all settings, exact; texts are as in a card."""

    @property
    @abstractmethod
    def description(self) -> tuple[str, str]:
        """The question as a sentence, and what makes a candidate better."""

    @abstractmethod
    def candidates(self, grid: Grid) -> int:
        """Count the candidates; UsageError where the question does not suit the grid."""

    @abstractmethod
    def measure(self, table: CountTable, event: Selection) -> Any:
        """Compute the utilities or counts that decide the draws: exact, confidential."""

    @abstractmethod
    def draw(
        self, selector: Selector, grid: Grid, measured: Any, rate: Fraction, key: NoiseKey
    ) -> tuple[Answer, ...]:
        """Draw the answer, as codes and labels that may be published."""

    def declare(self, selector: Selector, rate: Fraction) -> tuple[Draw, ...]:
        """List everything that :meth:`draw` can draw: a draw of the selector in each round."""
        return tuple(
            draw
            for round_ in range(self.rounds)
            for draw in selector.declare(rate, Stream.SELECT + STREAMS * round_)
        )

    @abstractmethod
    def longest_answer(self, grid: Grid) -> tuple[Answer, ...]:
        """Return a longest possible answer that depends on no data, to size a card with."""

    def false_below(self, candidates: int, rate: Fraction) -> float | None:
        """Compute the count below which empty candidates are expected among the chosen."""
        return None


class Places(ABC):
    """Public candidates on a map, by number."""

    size: int

    @abstractmethod
    def count(self, table: CountTable) -> Counted:
        """Count the people of the candidates that have any."""

    @abstractmethod
    def describe(self, rank: NDArray[np.int64]) -> tuple[Answer, ...]:
        """Return the codes and labels of some candidates."""


# One selection asks for the same places in each of its steps.
@lru_cache(maxsize=4)
def find_places(grid: Grid, level: str | None) -> Places:
    """Build the cells of a grid, or the areas of one of its levels, as candidates.

    Parameters
    ----------
    grid : Grid
    level : str, optional
        A level of the grid's regions, or a level of :meth:`Coarsening.of`. Default: its cells.

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
    """Cells of a grid, or coarser cells of another grid."""

    def __init__(self, grid: Grid, coarsening: Coarsening | None) -> None:
        self._coarsening = coarsening
        self.grid = grid if coarsening is None else coarsening.grid
        self.size = self.grid.size

    def count(self, table: CountTable) -> Counted:
        """Count the people of cells that have any, by their number in the domain."""
        key, count = table.key, table.count
        if self._coarsening is not None:
            coarse = self.grid.encode(self._coarsening.index(table.grid.decode(key)))
            key, count = coalesce(coarse, count)
        # Numbers count cells of the domain only: cells outside a mask are no candidates.
        rank = self.grid.domain.ranks_of_keys(key)
        order = np.argsort(rank)
        return Counted(rank[order], count[order], self.size)

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
        # Numbers of candidates are drawn as uniform integers below this limit.
        if self.size > LIMIT:
            raise UsageError(
                f"A selection supports at most 2**62 pairs; there are {self.size:,}.",
                code="candidates-too-many",
            )

    def count(self, table: CountTable) -> Counted:
        """Count the people of regions that have any, by their position in the table."""
        region = self.region_of(table.grid, table.key)
        rank, count = coalesce(region.astype(np.uint64), table.count)
        return Counted(rank.astype(np.int64), count, self.size)

    def region_of(self, grid: Grid, key: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Look up the region of each key; for a pair the origin's, then the destination's."""
        index, region = grid.decode(key), np.zeros(key.size, np.int64)
        for end in range(len(self._prefixes)):
            cell = self._hierarchy.number_of(index[2 * end : 2 * end + 2])
            at = np.searchsorted(self._hierarchy.number, cell)
            region = region * self._regions + self._hierarchy.region[self._number, at]
        return region

    def _ends_of(self, rank: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """Split the numbers of pairs into the regions of both ends."""
        return np.unravel_index(rank, (self._regions,) * len(self._prefixes))

    def describe(self, rank: NDArray[np.int64]) -> tuple[Answer, ...]:
        """Return the codes of regions, and of those that hold them."""
        table, n = self._hierarchy, self._number + 1
        columns: dict[str, list[Code]] = {}
        for prefix, ends in zip(self._prefixes, self._ends_of(rank), strict=True):
            # Cells are sorted by region, so that any cell of a region determines the larger ones.
            at = np.searchsorted(table.region[self._number], ends)
            for number in range(n):
                codes = np.array(table.codes[number])[table.region[number, at]]
                columns[prefix + table.levels[number]] = codes.tolist()
        return tuple(
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        )


@takes(make_request, without=(*OF_TABLES, "method", "rho", "delta", "people", "metadata"))
def request_selection(**options: Any) -> Request:
    """Make the request of a selection; UsageError without epsilon, as it takes no rho instead.

    Examples
    --------
    >>> request_selection(epsilon="1/2", contribution=1).terms.loss
    PureDP(epsilon=Fraction(1, 2))
    """
    if options.get("epsilon") is None:
        raise UsageError(
            "A selection needs epsilon, its budget, such as epsilon='0.1' (--epsilon 0.1).",
            code="selection-without-epsilon",
        )
    return make_request(**options)
