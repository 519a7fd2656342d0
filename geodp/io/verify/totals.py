"""Read the public totals that a release lists."""

from __future__ import annotations

from pathlib import Path

from geodp.grid.grid import Grid
from geodp.io.write.totals import totals_file
from geodp.table.card import Card
from geodp.table.public_totals import PublicTotals


def has_totals(card: Card) -> bool:
    """Return whether the card lists public totals."""
    return totals_file(card.name) in card.listed


def read_release_totals(folder: Path, card: Card, grid: Grid) -> PublicTotals | None:
    """Read the public totals of a written release; None where the card lists none.

    None, too, without the table of regions, which may be the areas of totals.
    """
    if not has_totals(card) or card.domain.lacks_table(grid):
        return None
    # All readers of tables come with it, which few releases need.
    from geodp.io.read.public.totals import read_totals

    return read_totals(folder / totals_file(card.name), grid, source="the release")
