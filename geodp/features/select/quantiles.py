"""Quantiles along an axis, and the centre of a map: where as many people live on either side."""

from __future__ import annotations

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
from geodp.grid.grid import Grid
from geodp.mechanisms.base import Plain
from geodp.privacy.budget import Budget, rational
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.ledger import Ledger
from geodp.privacy.neighbours import ADD_REMOVE
from geodp.privacy.selected import Change, Selection
from geodp.privacy.terms import Terms
from geodp.table.counts import CountTable, coalesce

MOST_POSITIONS = 1 << 24
"""Most positions along an axis, which are drawn one by one."""

HALF = Fraction(1, 2)
MISSING = "minus how many people are missing for the quantile to lie there"


@dataclass(frozen=True)
class Quantile(Question):
    """Where along an axis a part q of all people lies before, and the rest after.

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
        """See :func:`geodp.features.select.mechanisms.questions.quantile_candidates`."""
        return Change(max(self.q, 1 - self.q), Fraction(1), monotone=False)

    @property
    def settings(self) -> tuple[tuple[str, Plain], ...]:
        """The quantile, and the axis."""
        return ("q", self.q), ("axis", self.axis)

    @property
    def words(self) -> tuple[str, str]:
        """The question, and the utility."""
        return f"Where along {self.axis} does a part of {self.q} of all people end?", MISSING

    def candidates(self, grid: Grid) -> int:
        """All positions along the axis."""
        if not 0 < self.q < 1:
            raise UsageError("A quantile is above 0 and below 1.", code="quantile-out-of-range")
        if self.axis not in grid.axis_names:
            raise UsageError(f"axis is one of: {', '.join(grid.axis_names)}.", code="axis-unknown")
        if self.axis in grid.maps.axes:
            grid.names.require_map(
                Rule("units-lie-along-no-axis", "Units lie along no axis: name an attribute.")
            )
        return _require_few(grid.shape[grid.axis_names.index(self.axis)])

    def measure(self, table: CountTable, event: Selection) -> NDArray[np.int64]:
        """Return the people of every position."""
        return count_along(table, table.grid.axis_names.index(self.axis))

    def draw(
        self, selector: Selector, grid: Grid, measured: Any, rate: Fraction, key: NoiseKey
    ) -> tuple[Answer, ...]:
        """Return the position."""
        candidates = quantile_candidates(measured, self.q, rate)
        return (self._describe(grid, selector.draw(candidates, key, Stream.SELECT)),)

    def longest(self, grid: Grid) -> tuple[Answer, ...]:
        """Return the last position."""
        return (self._describe(grid, grid.shape[grid.axis_names.index(self.axis)] - 1),)

    def _describe(self, grid: Grid, position: int) -> Answer:
        axis = grid.axis_names.index(self.axis)
        found: dict[str, Code] = {"axis": self.axis, "index": position}
        if axis in grid.attribute_axes:
            found["label"] = grid.attributes[axis - len(grid.shape)].labels[position]
        elif self.axis in grid.maps.axes and grid.places[axis // 2].crs is not None:
            at = np.array([position], np.int64)
            west, south, east, north = grid.places[axis // 2].edges_at(at, at)
            low, high = (west, east) if axis % 2 else (south, north)
            found |= {"from": float(low[0]), "to": float(high[0])}
        return found


@dataclass(frozen=True)
class MedianCentre(Question):
    """The cell where the medians of rows and columns meet, each with half of the budget."""

    name: ClassVar[str] = "median-centre"

    @property
    def rounds(self) -> int:
        """One for rows and one for columns."""
        return 2

    @property
    def change(self) -> Change:
        """That of medians."""
        return Quantile(HALF, "row").change

    @property
    def settings(self) -> tuple[tuple[str, Plain], ...]:
        """There are none."""
        return ()

    @property
    def words(self) -> tuple[str, str]:
        """The question, and the utility."""
        return "In which row and in which column do as many people live on either side?", MISSING

    def candidates(self, grid: Grid) -> int:
        """All cells of the map's rectangle."""
        place = grid.require_map(
            Rule("median-needs-one-map", "A median centre is that of one map.")
        )
        grid.names.require_map(
            Rule(
                "median-needs-places",
                "A median centre is that of a map, and areal units have none.",
            )
        )
        return _require_few(place.rows) * _require_few(place.cols)

    def measure(self, table: CountTable, event: Selection) -> list[NDArray[np.int64]]:
        """Return the people of every row and of every column."""
        return [count_along(table, axis) for axis in (0, 1)]

    def draw(
        self, selector: Selector, grid: Grid, measured: Any, rate: Fraction, key: NoiseKey
    ) -> tuple[Answer, ...]:
        """Return the cell; a mask may leave it out, and then it is all the same the answer."""
        row, col = (
            selector.draw(
                quantile_candidates(count, HALF, rate), key, Stream.SELECT + STREAMS * turn
            )
            for turn, count in enumerate(measured)
        )
        return (self._describe(grid, row, col),)

    def longest(self, grid: Grid) -> tuple[Answer, ...]:
        """Return the last cell."""
        return (self._describe(grid, grid.shape[0] - 1, grid.shape[1] - 1),)

    def _describe(self, grid: Grid, row: int, col: int) -> Answer:
        (code,) = grid.places[0].format(np.array([row]), np.array([col])).tolist()
        return {"code": code, "row": row, "col": col}


def count_along(table: CountTable, axis: int) -> NDArray[np.int64]:
    """Return the people of every position along an axis: int64[positions]."""
    at = table.grid.decode(table.key)[axis].astype(np.uint64)
    position, count = coalesce(at, table.count)
    found = np.zeros(table.grid.shape[axis], np.int64)
    found[position.astype(np.int64)] = count
    return found


def _require_few(positions: int) -> int:
    if positions > MOST_POSITIONS:
        raise UsageError(
            f"An axis of {positions:,} positions is too long: at most {MOST_POSITIONS:,} are drawn "
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
        The part, above 0 and below 1.
    axis : str
        A name of the grid's axes: ``"row"``, ``"col"``, that of an attribute.
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
    terms = Terms.of(epsilon, None, None, neighbours, contribution, unit)
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
    terms = Terms.of(epsilon, None, None, neighbours, contribution, unit)
    question = MedianCentre()
    return choose(table, question, mechanism, terms, allow_empty, key, ledger, dataset, records)
