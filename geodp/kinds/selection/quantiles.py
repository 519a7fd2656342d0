"""Quantiles along an axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.kinds.selection.card import Code
from geodp.kinds.selection.mechanisms import Selector
from geodp.kinds.selection.mechanisms.questions import quantile_candidates
from geodp.kinds.selection.question import Answer, Question
from geodp.mechanisms.base import Plain
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.selected import Change, Selection
from geodp.table.counts import CountTable, coalesce
from geodp.typing import IntArray

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

        See :func:`geodp.kinds.selection.mechanisms.questions.quantile_candidates`.
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
