"""Maps of isolated settlements, which lose most to a clamp."""

from __future__ import annotations

import numpy as np

from geodp.release.settlements import (
    ISOLATED,
    SETTLEMENT_KINDS,
    SIZES,
    SettlementMap,
    draw_places,
    place_settlements,
)
from geodp.table.counts import CountTable

ISOLATION, MIN_ISOLATED, MAX_ISOLATED, CELLS_EACH = 16, 4, 256, 2800
"""Parameters of the maps: empty cells in each direction, so that no lowest node has other people;
minimum and maximum number of settlements; and cells of the domain for each of them, about half of
which it clears."""


def place_isolated(
    towns: CountTable, min_people: int, random: np.random.Generator
) -> SettlementMap:
    """Make a map of isolated settlements of all size classes; everybody near them is removed.

    Parameters
    ----------
    towns : CountTable
        Public table on one map without labels.
    min_people : int
        Lower bound of the smallest size class: one of ``SIZES``.
    random : Generator
    """
    grid = towns.grid
    kinds = [
        SETTLEMENT_KINDS.index((size, ISOLATED))
        for size in range(SIZES.index(min_people), len(SIZES) - 1)
    ]
    number = int(np.clip(grid.domain.cells // CELLS_EACH, MIN_ISOLATED, MAX_ISOLATED))
    sites = {ISOLATED: draw_places(grid, random)}
    sequence = [kinds[i % len(kinds)] for i in range(number)]
    return place_settlements(towns, sequence, sites, False, random, ISOLATION)
