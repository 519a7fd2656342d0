"""Resolution: the level at which the counts of a map are best published."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from geodp.errors import UsageError
from geodp.features.select.mechanisms import Selector
from geodp.features.select.mechanisms.base import Candidates
from geodp.features.select.mechanisms.questions import split_error
from geodp.features.select.question import Answer, Question, find_places
from geodp.features.select.selected import DEFAULT, Selected, choose
from geodp.features.select.terms import read_terms
from geodp.grid.grid import Grid
from geodp.mechanisms.base import Plain
from geodp.privacy.budget import Budget, rational
from geodp.privacy.key import NoiseKey, Stream
from geodp.privacy.ledger import Ledger
from geodp.privacy.neighbours import ADD_REMOVE, REPLACE
from geodp.privacy.selected import Change, Selection
from geodp.table.counts import CountTable


@dataclass(frozen=True)
class Level(Question):
    """The level at which a release of evenly split blocks has the smallest error.

    The error is the L1 distance of the evenly split counts from the true ones, plus that of the
    noise: on average one noise scale for every block. One person more changes that person's cell
    by 1 and the cells of the block by 1 together.

    Attributes
    ----------
    next_epsilon : Fraction
        Budget of the release that follows.
    """

    name: ClassVar[str] = "level"
    next_epsilon: Fraction

    @property
    def change(self) -> Change:
        """The change of a utility: a person who moves leaves one cell and enters another."""
        return Change(Fraction(2), Fraction(4), monotone=False)

    @property
    def settings(self) -> tuple[tuple[str, Plain], ...]:
        """The budget of the release that follows."""
        return (("next_epsilon", self.next_epsilon),)

    @property
    def description(self) -> tuple[str, str]:
        """The question, and the utility."""
        return (
            f"At which level has a release with epsilon {self.next_epsilon} the smallest error?",
            "minus the sum over all cells of the error of an even split, and of the noise",
        )

    def candidates(self, grid: Grid) -> int:
        """Count the levels: areas or regions, or sides of squares, and the cells."""
        return len(list_levels(grid))

    def measure(self, table: CountTable, event: Selection) -> list[Fraction]:
        """Compute the utility of every level."""
        moves = 2 if event.neighbours == REPLACE else 1
        # Noise scale of the following release: a person who moves changes two cells.
        scale = event.contribution * moves / self.next_epsilon
        utilities = []
        for level in list_levels(table.grid):
            blocks, node, cells = find_places(table.grid, level).split(table)
            # split_error needs the cells of a block next to each other.
            order = np.argsort(node, kind="stable")
            error = split_error(table.count[order], node[order], cells)
            utilities.append(-(error + blocks * scale))
        return utilities

    def draw(
        self, selector: Selector, grid: Grid, measured: Any, rate: Fraction, key: NoiseKey
    ) -> tuple[Answer, ...]:
        """Draw the level, and return its name."""
        chosen = selector.draw(Candidates.of(measured, rate), key, Stream.SELECT)
        return ({"level": list_levels(grid)[chosen]},)

    def longest_answer(self, grid: Grid) -> tuple[Answer, ...]:
        """Return the longest name."""
        return ({"level": max(list_levels(grid), key=len)},)


def list_levels(grid: Grid) -> list[str]:
    """List the names of a map's levels, the coarsest first and the cells last.

    Without published areas they are sides of squares in cells: powers of two.

    Examples
    --------
    >>> list_levels(Grid.regular((5, 9)))
    ['8', '4', '2', '1']
    """
    if grid.areas.levels:
        return [*grid.areas.levels]
    if not grid.places:
        raise UsageError("A level is chosen for a map; this grid has none.", code="level-needs-map")
    place = grid.places[0]
    if place.system is not None:
        return [name for name, _ in place.system.areas]
    # A side of the longest axis or more would be a single block, whatever the data.
    longest_side = min(max(one.rows, one.cols) for one in grid.places)
    return [str(1 << i) for i in reversed(range(longest_side.bit_length()))]


def level(
    table: CountTable,
    *,
    next_epsilon: Budget,
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
    """Name the level at which a map is best published, with pure differential privacy.

    Parameters
    ----------
    table : CountTable
    next_epsilon : str, int, float, Decimal or Fraction
        Budget of the release that follows, which is charged then.
    mechanism, allow_empty, key, ledger, dataset, records, epsilon, neighbours, contribution, unit
        As for :func:`geodp.select.top_cells`.

    Returns
    -------
    Selected

    Examples
    --------
    >>> import numpy as np, geodp
    >>> table = geodp.CountTable.from_dense(np.full((64, 64), 100), geodp.Grid.regular((64, 64)))
    >>> len(geodp.select.level(table, next_epsilon=1, epsilon=1, contribution=1).chosen)
    1
    """
    terms = read_terms(epsilon, neighbours, contribution, unit)
    question = Level(rational(next_epsilon, "next_epsilon"))
    return choose(table, question, mechanism, terms, allow_empty, key, ledger, dataset, records)
