"""Hot spots: the cells or areas that hold the most people."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from geodp.errors import UsageError
from geodp.features.select.mechanisms import Selector
from geodp.features.select.mechanisms.questions import Counted, draw_top
from geodp.features.select.question import Answer, Question, find_places
from geodp.features.select.selected import DEFAULT, Selected, choose
from geodp.grid.grid import Grid
from geodp.mechanisms.base import Plain
from geodp.privacy.budget import Budget
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Ledger
from geodp.privacy.neighbours import ADD_REMOVE
from geodp.privacy.selected import Change, Selection
from geodp.privacy.terms import Terms
from geodp.table.counts import CountTable

MOST_CHOSEN = 1 << 16
"""Most candidates that are named."""


@dataclass(frozen=True)
class Top(Question):
    """Which k cells, or areas of a level, hold the most people.

    Each of k rounds names one and has the same part of the budget; named ones are out. One person
    more, counted c times, raises no count by more than c and lowers none.

    Attributes
    ----------
    k : int
        At least 1.
    level : str, optional
        A published area of the code system, cells on a side, or a level of the grid's regions; of
        pairs, both ends are such areas.
    """

    name: ClassVar[str] = "top"
    version: ClassVar[int] = 2
    k: int
    level: str | None = None

    @property
    def rounds(self) -> int:
        """One for each that is named."""
        return self.k

    @property
    def change(self) -> Change:
        """A count changes by 1."""
        return Change(Fraction(1), Fraction(1), monotone=True)

    @property
    def settings(self) -> tuple[tuple[str, Plain], ...]:
        """How many, and of what."""
        return ("k", self.k), ("level", self.level)

    @property
    def words(self) -> tuple[str, str]:
        """The question, and the utility."""
        what = "cells" if self.level is None else f"areas of the level {self.level}"
        return f"Which {self.k} {what} hold the most people?", "the count"

    def candidates(self, grid: Grid) -> int:
        """All cells of the domain, or all areas that hold one."""
        size = find_places(grid, self.level).size
        whole = isinstance(self.k, int) and not isinstance(self.k, bool)
        if not whole or not 1 <= self.k <= min(size, MOST_CHOSEN):
            raise UsageError(
                f"k is a whole number from 1 to {min(size, MOST_CHOSEN):,} here: there are "
                f"{size:,} candidates, and at most {MOST_CHOSEN:,} are named.",
                code="k-out-of-range",
            )
        return size

    def measure(self, table: CountTable, event: Selection) -> Counted:
        """Return the counts."""
        return find_places(table.grid, self.level).count(table)

    def draw(
        self, selector: Selector, grid: Grid, measured: Any, rate: Fraction, key: NoiseKey
    ) -> tuple[Answer, ...]:
        """Return the codes, the first drawn first."""
        chosen = draw_top(selector, measured, self.k, rate, key)
        return find_places(grid, self.level).describe(np.array(chosen, np.int64))

    def longest(self, grid: Grid) -> tuple[Answer, ...]:
        """Return the last candidates by number."""
        places = find_places(grid, self.level)
        return places.describe(places.size - 1 - np.arange(self.k, dtype=np.int64))

    def false_below(self, grid: Grid, rate: Fraction) -> float | None:
        """Return ``ln(N) / rate``: there N empty candidates weigh as much as one with so many."""
        return math.log(find_places(grid, self.level).size) / float(rate)


def top_cells(
    table: CountTable,
    k: int,
    *,
    level: str | int | None = None,
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
    """Name the k cells, or areas, that hold the most people, with pure differential privacy.

    Nothing but their codes is released, in the order in which they were drawn. A draw costs as much
    as there are occupied cells, on domains of up to ``2**62`` cells.

    Parameters
    ----------
    table : CountTable
        Confidential counts on a public domain.
    k : int
    level : str or int, optional
        Name areas instead of cells: a published area of the code system (``"jis:basic"``), cells on
        a side, or a level of the grid's regions.
    mechanism : str or Selector, optional
        ``"permute-and-flip"``, the default, or ``"exponential"``.
    allow_empty : bool, optional
        Answer for a table that counts nothing, too.
    key : NoiseKey, optional
        Default: fresh from the operating system and forgotten. A kept key gives the same answer to
        the same question about the same table again.
    ledger, dataset, records : optional
        Charged before anything drawn is returned; the charge stays if the run fails afterwards.
        Records as for :func:`geodp.publish`.
    epsilon, neighbours, contribution, unit
        As for :func:`geodp.publish`; the contribution is asked for wherever geodp has not bounded
        it itself.

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
    terms = Terms.of(epsilon, None, None, neighbours, contribution, unit)
    return choose(table, question, mechanism, terms, allow_empty, key, ledger, dataset, records)
