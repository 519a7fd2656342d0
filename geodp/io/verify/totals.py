"""Whether a release meets the public totals that it lists."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from geodp.errors import Rule
from geodp.grid.grid import Grid
from geodp.io.read.public.totals import read_totals
from geodp.io.verify.card import require
from geodp.io.verify.sweep import Written
from geodp.io.write.totals import totals_file
from geodp.table.card import Card
from geodp.table.public_totals import PublicTotals


def has_totals(card: Card) -> bool:
    """Whether a release says that it meets public totals."""
    return totals_file(card.name) in card.listed


def read_release_totals(folder: Path, card: Card, grid: Grid) -> PublicTotals | None:
    """Return the public totals that a written release meets; None where it says of none."""
    if not has_totals(card):
        return None
    return read_totals(folder / totals_file(card.name), grid, source="the release")


def ask_totals(written: Written) -> str:
    """Ask whether the cells of each area add up to its total."""
    folder, card, table = written.folder, written.card, written.table(masked=False)
    if card.domain.lacks_table(table.grid):
        return "not asked: there is no table of the regions"
    found = read_totals(folder / totals_file(card.name), table.grid, source="the release")
    require(
        np.array_equal(found.sums(table), found.total),
        Rule("area-total-differs", "An area has another total."),
    )
    return f"{found.total.size:,} areas have exactly their public totals"
