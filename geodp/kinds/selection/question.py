"""Questions that a selection answers: the most populated cells or areas, and quantiles."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
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
from geodp.kinds.selection.mechanisms.base import STREAMS, Counted, draw_top, quantile_candidates
from geodp.mechanisms.base import Plain
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.noise.draws import Draw
from geodp.privacy.noise.exact_draws import LIMIT
from geodp.privacy.selected import Change, Selection
from geodp.release.request import OF_TABLES, Request, make_request
from geodp.table.counts import CountTable, coalesce
from geodp.typing import IntArray

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


class CandidatePlaces(ABC):
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
def find_places(grid: Grid, level: str | None) -> CandidatePlaces:
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


class CellPlaces(CandidatePlaces):
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
        return _list_rows(columns)


def _list_rows(columns: Mapping[str, Sequence[Code]]) -> tuple[Answer, ...]:
    """Return the rows of columns."""
    rows = zip(*columns.values(), strict=True)
    return tuple(dict(zip(columns, row, strict=True)) for row in rows)


class RegionPlaces(CandidatePlaces):
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
        return _list_rows(columns)


@takes(make_request, without=(*OF_TABLES, "method", "rho", "delta", "people"))
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


MAX_CHOSEN = 1 << 16
"""Largest number of candidates that are named."""


@dataclass(frozen=True)
class Top(Question):
    """Question which k cells, or areas of a level, have the most people.

    Each of k rounds names one and has the same part of the budget; named ones are left out. One
    more person, counted c times, raises no count by more than c and lowers none.

    Attributes
    ----------
    k : int
        At least 1.
    level : str, optional
        A published area of the code system, cells on a side, or a level of the grid's regions; both
        ends of pairs are such areas.
    """

    name: ClassVar[str] = "top"
    version: ClassVar[int] = 2
    k: int
    level: str | None = None

    @property
    def rounds(self) -> int:
        """The number of rounds: one for each candidate that is named."""
        return self.k

    @property
    def change(self) -> Change:
        """The change of a utility: a count changes by 1."""
        return Change(Fraction(1), Fraction(1), monotone=True)

    @property
    def settings(self) -> tuple[tuple[str, Plain], ...]:
        """The number of named candidates, and their level."""
        return ("k", self.k), ("level", self.level)

    @property
    def description(self) -> tuple[str, str]:
        """The question, and the utility."""
        what = "cells" if self.level is None else f"areas of the level {self.level}"
        return f"Which {self.k} {what} hold the most people?", "the count"

    def candidates(self, grid: Grid) -> int:
        """Count the cells of the domain, or the areas that hold one."""
        size = find_places(grid, self.level).size
        # bool is a subclass of int: k=True must not name one cell.
        is_integer = isinstance(self.k, int) and not isinstance(self.k, bool)
        # A round for each candidate: the budget is divided among them.
        if not is_integer or not 1 <= self.k <= min(size, MAX_CHOSEN):
            raise UsageError(
                f"k must be a whole number from 1 to {min(size, MAX_CHOSEN):,}: there are {size:,} "
                f"candidates, and at most {MAX_CHOSEN:,} can be named.",
                code="k-out-of-range",
            )
        return size

    def measure(self, table: CountTable, event: Selection) -> Counted:
        """Count the people of the candidates."""
        return find_places(table.grid, self.level).count(table)

    def draw(
        self, selector: Selector, grid: Grid, measured: Any, rate: Fraction, key: NoiseKey
    ) -> tuple[Answer, ...]:
        """Draw k candidates; return their codes, the first drawn first."""
        chosen = draw_top(selector, measured, self.k, rate, key)
        return find_places(grid, self.level).describe(np.array(chosen, np.int64))

    def longest_answer(self, grid: Grid) -> tuple[Answer, ...]:
        """Return the last candidates by number."""
        places = find_places(grid, self.level)
        # Large numbers have long codes, so the card that is tried is not shorter than the real one.
        return places.describe(places.size - 1 - np.arange(self.k, dtype=np.int64))

    def false_below(self, candidates: int, rate: Fraction) -> float | None:
        """Compute ``ln(N) / rate``, at which one candidate weighs as much as N empty ones."""
        return math.log(candidates) / float(rate)


ROUND = ("1", "1.2", "1.5", "2", "2.5", "3", "4", "5", "6", "8")
"""First digits of the candidates of every power of ten: a logarithmic scale of round numbers."""

MISSING = "minus how many {} are missing for the quantile to lie there"

ASKED = {
    "amount": ("Below which amount does a part of {} of all records lie?", "records"),
    "trips": (
        "Which number of trips does a part of {} of all with trips not exceed?",
        "with trips",
    ),
}
"""The question of axes that are no place or label, by the name of the axis, and who is counted."""


@dataclass(frozen=True)
class Quantile(Question):
    """The position along an axis before which a part q of all people lies.

    It is asked of tables whose labels geodp made itself, so that none is a total of others.

    Attributes
    ----------
    q : Fraction
        Above 0, below 1.
    axis : str
        A name of the grid's axes.
    """

    name: ClassVar[str] = "quantile"
    disjoint: ClassVar[bool] = True
    q: Fraction
    axis: str

    @property
    def change(self) -> Change:
        """The change of a utility.

        See :func:`geodp.kinds.selection.mechanisms.base.quantile_candidates`.
        """
        # One more person adds q to the target, and 0 or 1 to what lies before the position.
        return Change(max(self.q, 1 - self.q), Fraction(1), monotone=False)

    @property
    def settings(self) -> tuple[tuple[str, Plain], ...]:
        """The quantile, and the axis."""
        return ("q", self.q), ("axis", self.axis)

    @property
    def description(self) -> tuple[str, str]:
        """The question, and the utility."""
        along = f"Where along {self.axis} does a part of {{}} of all people end?"
        sentence, counted = ASKED.get(self.axis, (along, "people"))
        return sentence.format(self.q), MISSING.format(counted)

    def candidates(self, grid: Grid) -> int:
        """Count the positions along the axis."""
        if not 0 < self.q < 1:
            raise UsageError(
                "A quantile must be above 0 and below 1.", code="quantile-out-of-range"
            )
        return grid.shape[grid.axis_names.index(self.axis)]

    def measure(self, table: CountTable, event: Selection) -> NDArray[np.int64]:
        """Count the people of every position."""
        return count_along(table, table.grid.axis_names.index(self.axis))

    def draw(
        self, selector: Selector, grid: Grid, measured: Any, rate: Fraction, key: NoiseKey
    ) -> tuple[Answer, ...]:
        """Draw the position."""
        candidates = quantile_candidates(measured, self.q, rate)
        return (self._describe(grid, selector.draw(candidates, key, Stream.SELECT)),)

    def longest_answer(self, grid: Grid) -> tuple[Answer, ...]:
        """Return the last position."""
        return (self._describe(grid, grid.shape[grid.axis_names.index(self.axis)] - 1),)

    def _describe(self, grid: Grid, position: int) -> Answer:
        return describe_position(grid, grid.axis_names.index(self.axis), position)


def describe_position(grid: Grid, axis: int, position: int) -> Answer:
    """Return the number of a position along an axis, with its label if it has one."""
    name = grid.axis_names[axis]
    answer: dict[str, Code] = {"axis": name, "index": position}
    if axis in grid.attribute_axes:
        answer["label"] = grid.attributes[axis - len(grid.shape)].labels[position]
    return answer


def count_at(axis: str, labels: Sequence[str], numbers: IntArray) -> CountTable:
    """Make a table of numbers at the candidates of a quantile, which are an axis of their own.

    Parameters
    ----------
    axis : str
    labels : sequence of str
        Candidates, in order.
    numbers : int64[n]
        Of what lies at each of them.

    Examples
    --------
    >>> count_at("trips", ["1", "2"], np.array([5, 7])).grid.axis_names
    ('row', 'col', 'trips')
    """
    grid = line_up(axis, labels)
    return CountTable.from_keys(grid, np.arange(numbers.size, dtype=np.uint64), numbers)


def line_up(axis: str, labels: Sequence[str]) -> Grid:
    """Make the grid of candidates of a quantile, in order, which are an axis of their own."""
    return Grid.regular((1, 1)).with_attribute(axis, labels)


def count_along(table: CountTable, axis: int) -> NDArray[np.int64]:
    """Count the people of every position along an axis: int64[positions]."""
    at = table.grid.decode(table.key)[axis].astype(np.uint64)
    position, count = coalesce(at, table.count)
    people = np.zeros(table.grid.shape[axis], np.int64)
    people[position.astype(np.int64)] = count
    return people
