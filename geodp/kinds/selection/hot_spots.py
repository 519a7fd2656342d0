"""Hot spots: the cells or areas that hold the most people."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from geodp.advice import takes
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.kinds.selection.mechanisms import Selector
from geodp.kinds.selection.mechanisms.questions import Counted, draw_top
from geodp.kinds.selection.question import Answer, Question, find_places, request_selection
from geodp.kinds.selection.selected import DEFAULT, Selected, prepare
from geodp.mechanisms.base import Plain
from geodp.privacy.key import NoiseKey
from geodp.privacy.selected import Change, Selection
from geodp.table.counts import CountTable

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


@takes(request_selection)
def top_cells(
    table: CountTable,
    k: int,
    *,
    level: str | int | None = None,
    mechanism: str | Selector = DEFAULT,
    **options: Any,
) -> Selected:
    """Name the k cells, or areas, that hold the most people, with pure differential privacy.

    Nothing but their codes is released, in the order in which they were drawn. The cost of a draw
    grows with the occupied cells, on domains of up to ``2**62`` cells.

    Parameters
    ----------
    table : CountTable
        Confidential counts on a public domain.
    k : int
    level : str or int, optional
        Name areas and not cells: a published area of the code system (``"jis:basic"``), cells on a
        side, or a level of the grid's regions.
    mechanism : str or Selector, optional
        ``"permute-and-flip"``, the default, or ``"exponential"``.
    contribution
        The most that one person adds to the sum of all counts, required wherever geodp has not
        bounded it itself.

    Returns
    -------
    Selected

    Raises
    ------
    UsageError
        A call that cannot be carried out.
    BudgetError
        The ledger's cap would be exceeded; nothing was drawn.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> grid = geodp.Grid.regular((64, 64))
    >>> counts = np.zeros((64, 64), int)
    >>> counts[7, 9] = 1000
    >>> table = geodp.CountTable.from_dense(counts, grid)
    >>> geodp.select.top_cells(table, 1, epsilon=1, contribution=1).chosen
    ({'code': '7_9'},)
    """
    question = Top(k, None if level is None else str(level))
    return prepare(table, question, request_selection(**options), mechanism).release()
