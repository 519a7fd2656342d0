"""Check that a release adds up to the public totals that it lists."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from geodp.errors import Rule
from geodp.grid.grid import Grid
from geodp.io.verify.card import require
from geodp.io.verify.sweep import ReleaseFiles
from geodp.io.write.totals import totals_file
from geodp.table.card import Card
from geodp.table.public_totals import PublicTotals


def has_totals(card: Card) -> bool:
    """Return whether the card lists public totals."""
    return totals_file(card.name) in card.listed


def read_release_totals(folder: Path, card: Card, grid: Grid) -> PublicTotals | None:
    """Read the public totals of a written release; None where the card lists none."""
    return _read_totals(folder, card, grid) if has_totals(card) else None


def _read_totals(folder: Path, card: Card, grid: Grid) -> PublicTotals:
    # All readers of tables come with it, which few releases need.
    from geodp.io.read.public.totals import read_totals

    return read_totals(folder / totals_file(card.name), grid, source="the release")


def check_totals(written: ReleaseFiles) -> str:
    """Require the cells of each area to add up to its total."""
    folder, card, table = written.folder, written.card, written.table(masked=False)
    # The areas of totals may be regions, which the card alone does not list.
    if card.domain.lacks_table(table.grid):
        return "not checked: there is no table of the regions"
    totals = _read_totals(folder, card, table.grid)
    require(
        np.array_equal(totals.sums(table), totals.total),
        Rule("area-total-differs", "The cells of an area do not add up to its public total."),
    )
    return f"{totals.total.size:,} areas have exactly their public totals"
