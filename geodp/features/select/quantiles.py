"""Quantiles along an axis, and the median centre of a map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule, UsageError
from geodp.features.select.card import Code
from geodp.features.select.mechanisms import Selector
from geodp.features.select.mechanisms.base import STREAMS
from geodp.features.select.mechanisms.questions import quantile_candidates
from geodp.features.select.question import Answer, Question
from geodp.features.select.selected import DEFAULT, Selected, choose
from geodp.features.select.terms import read_terms
from geodp.grid.grid import Grid
from geodp.mechanisms.base import Plain
from geodp.privacy.budget import Budget, rational
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.ledger import Ledger
from geodp.privacy.neighbours import ADD_REMOVE
from geodp.privacy.selected import Change, Selection
from geodp.table.counts import CountTable, coalesce
from geodp.typing import IntArray

MAX_POSITIONS = 1 << 24
"""Largest number of positions along an axis, which are candidates one by one."""

ROUND = ("1", "1.2", "1.5", "2", "2.5", "3", "4", "5", "6", "8")
"""First digits of the candidates of every power of ten: a logarithmic scale of round numbers."""

HALF = Fraction(1, 2)
MISSING = "minus how many people are missing for the quantile to lie there"


@dataclass(frozen=True)
class Quantile(Question):
    """The position along an axis before which a part q of all people lies.

    Attributes
    ----------
    q : Fraction
        Above 0, below 1.
    axis : str
        A name of the grid's axes.
    """

    name: ClassVar[str] = "quantile"
    q: Fraction
    axis: str

    @property
    def change(self) -> Change:
        """The change of a utility.

        See :func:`geodp.features.select.mechanisms.questions.quantile_candidates`.
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
        return f"Where along {self.axis} does a part of {self.q} of all people end?", MISSING

    def candidates(self, grid: Grid) -> int:
        """Count the positions along the axis."""
        if not 0 < self.q < 1:
            raise UsageError(
                "A quantile must be above 0 and below 1.", code="quantile-out-of-range"
            )
        return _require_few(grid.shape[find_axis(grid, self.axis)])

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


@dataclass(frozen=True)
class MedianCentre(Question):
    """The cell where the medians of rows and columns meet, each with half of the budget."""

    name: ClassVar[str] = "median-centre"

    @property
    def rounds(self) -> int:
        """The number of rounds: one for rows and one for columns."""
        return 2

    @property
    def change(self) -> Change:
        """The change of a utility, which is that of medians."""
        return Quantile(HALF, "row").change

    @property
    def settings(self) -> tuple[tuple[str, Plain], ...]:
        """The settings, of which there are none."""
        return ()

    @property
    def description(self) -> tuple[str, str]:
        """The question, and the utility."""
        return "In which row and in which column do as many people live on either side?", MISSING

    def candidates(self, grid: Grid) -> int:
        """Count the cells of the map's rectangle."""
        place = grid.require_map(
            Rule("median-needs-one-map", "A median centre needs a grid with one map.")
        )
        grid.names.require_map(
            Rule(
                "median-needs-places",
                "A median centre needs a map, and areal units have none.",
            )
        )
        return _require_few(place.rows) * _require_few(place.cols)

    def measure(self, table: CountTable, event: Selection) -> list[NDArray[np.int64]]:
        """Count the people of every row and of every column."""
        return [count_along(table, axis) for axis in (0, 1)]

    def draw(
        self, selector: Selector, grid: Grid, measured: Any, rate: Fraction, key: NoiseKey
    ) -> tuple[Answer, ...]:
        """Draw the cell; it is the answer even if a mask leaves it out."""
        row, col = (
            selector.draw(
                quantile_candidates(count, HALF, rate), key, Stream.SELECT + STREAMS * axis
            )
            for axis, count in enumerate(measured)
        )
        return (self._describe(grid, row, col),)

    def longest_answer(self, grid: Grid) -> tuple[Answer, ...]:
        """Return the last cell."""
        return (self._describe(grid, grid.shape[0] - 1, grid.shape[1] - 1),)

    def _describe(self, grid: Grid, row: int, col: int) -> Answer:
        (code,) = grid.places[0].format(np.array([row]), np.array([col])).tolist()
        return {"code": code, "row": row, "col": col}


def find_axis(grid: Grid, name: str) -> int:
    """Return the number of an axis; UsageError for no axis, and for units, which lie along none."""
    if name not in grid.axis_names:
        raise UsageError(f"axis must be one of: {', '.join(grid.axis_names)}.", code="axis-unknown")
    # Areal units have numbers, but no position along which people could lie before or after.
    if name in grid.maps.axes:
        grid.names.require_map(
            Rule("units-lie-along-no-axis", "Units lie along no axis: name an attribute.")
        )
    return grid.axis_names.index(name)


def describe_position(grid: Grid, axis: int, position: int) -> Answer:
    """Return the number of a position along an axis, with its label or its coordinates."""
    name = grid.axis_names[axis]
    answer: dict[str, Code] = {"axis": name, "index": position}
    if axis in grid.attribute_axes:
        answer["label"] = grid.attributes[axis - len(grid.shape)].labels[position]
    elif name in grid.maps.axes and grid.places[axis // 2].crs is not None:
        at = np.array([position], np.int64)
        west, south, east, north = grid.places[axis // 2].edges_at(at, at)
        # Odd axes are columns, along which coordinates run from west to east.
        low, high = (west, east) if axis % 2 else (south, north)
        answer |= {"from": float(low[0]), "to": float(high[0])}
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
    grid = Grid.regular((1, 1)).with_attribute(axis, labels)
    return CountTable.from_keys(grid, np.arange(numbers.size, dtype=np.uint64), numbers)


def count_along(table: CountTable, axis: int) -> NDArray[np.int64]:
    """Count the people of every position along an axis: int64[positions]."""
    at = table.grid.decode(table.key)[axis].astype(np.uint64)
    position, count = coalesce(at, table.count)
    people = np.zeros(table.grid.shape[axis], np.int64)
    people[position.astype(np.int64)] = count
    return people


def _require_few(positions: int) -> int:
    if positions > MAX_POSITIONS:
        raise UsageError(
            f"An axis of {positions:,} positions is too long: at most {MAX_POSITIONS:,} are drawn "
            "one by one; choose coarser cells.",
            code="axis-too-long",
        )
    return positions


def quantile(
    table: CountTable,
    q: Budget,
    *,
    axis: str,
    epsilon: Budget,
    neighbours: str = ADD_REMOVE,
    contribution: int | None = None,
    unit: str = "person",
    mechanism: str | Selector = DEFAULT,
    allow_empty: bool = False,
    key: NoiseKey | None = None,
    ledger: Ledger | None = None,
    dataset: str | None = None,
    records: str | None = None,
) -> Selected:
    """Name the position along an axis before which a part of all people lies.

    Parameters
    ----------
    table : CountTable
    q : str, int, float, Decimal or Fraction
        The part of all people, above 0 and below 1.
    axis : str
        A name of the grid's axes: ``"row"``, ``"col"``, or that of an attribute.
    mechanism, allow_empty, key, ledger, dataset, records, epsilon, neighbours, contribution, unit
        As for :func:`geodp.select.top_cells`.

    Returns
    -------
    Selected

    Examples
    --------
    >>> import numpy as np, geodp
    >>> table = geodp.CountTable.from_dense(np.full((65, 65), 100), geodp.Grid.regular((65, 65)))
    >>> geodp.select.quantile(table, "0.5", axis="row", epsilon=9, contribution=1).chosen
    ({'axis': 'row', 'index': 32},)
    """
    terms = read_terms(epsilon, neighbours, contribution, unit)
    question = Quantile(rational(q, "q"), axis)
    return choose(table, question, mechanism, terms, allow_empty, key, ledger, dataset, records)


def median_centre(
    table: CountTable,
    *,
    epsilon: Budget,
    neighbours: str = ADD_REMOVE,
    contribution: int | None = None,
    unit: str = "person",
    mechanism: str | Selector = DEFAULT,
    allow_empty: bool = False,
    key: NoiseKey | None = None,
    ledger: Ledger | None = None,
    dataset: str | None = None,
    records: str | None = None,
) -> Selected:
    """Name the cell where the medians of rows and of columns meet.

    Parameters
    ----------
    table : CountTable
    mechanism, allow_empty, key, ledger, dataset, records, epsilon, neighbours, contribution, unit
        As for :func:`geodp.select.top_cells`.

    Returns
    -------
    Selected

    Examples
    --------
    >>> import numpy as np, geodp
    >>> table = geodp.CountTable.from_dense(np.full((65, 65), 100), geodp.Grid.regular((65, 65)))
    >>> geodp.select.median_centre(table, epsilon=9, contribution=1).chosen
    ({'code': '32_32', 'row': 32, 'col': 32},)
    """
    terms = read_terms(epsilon, neighbours, contribution, unit)
    question = MedianCentre()
    return choose(table, question, mechanism, terms, allow_empty, key, ledger, dataset, records)
