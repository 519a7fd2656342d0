"""Isolated settlements on public maps, of which plans are to lose little.

Close to towns a settlement also gains what the towns lose to its surroundings, and a plan that is
poor at both could seem good. So the same number is placed on otherwise empty maps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule
from geodp.features.plan.regions import CellSets, Settlements
from geodp.release.settlement_map import AROUND, ISOLATION, KINDS, SIZES, place_isolated
from geodp.table.counts import CountTable

FEW = 500
"""People of the smallest settlements that are simulated: smaller ones are lost by any plan."""

ENOUGH, MAX_MAPS = 160, 8
"""Enough settlements for one map, and the maximal number of maps of a domain with fewer."""

Parts = list[tuple[CountTable, CellSets]]


def draw_islands(
    towns: CountTable, random: np.random.Generator
) -> tuple[tuple[Settlements, ...], str]:
    """Draw settlements of all size classes, and describe them for people.

    Parameters
    ----------
    towns : CountTable
        Public map of the people who live elsewhere, not near the settlements.
    random : Generator

    Raises
    ------
    UsageError
        The grid has attributes or several maps.
    """
    grid = towns.grid
    grid.require_plain_map(
        Rule("islands-need-plain-map", "islands need a grid of one map without attributes.")
    )
    empty = CountTable.from_keys(grid, np.empty(0, np.uint64), np.empty(0, np.int64))
    groups: list[Settlements] = []
    for others, where in ((towns, ""), (empty, " on empty maps")):
        every, number = _place_settlements(others, random)
        groups += [
            Settlements(
                f"settlements of {SIZES[size]:,} to {SIZES[size + 1]:,}{where}", tuple(parts)
            )
            for size, parts in sorted(every.items())
        ]
    description = (
        f"{number} settlements of at least {FEW} people, placed there with no other people within "
        f"{ISOLATION} cells, and as many on empty maps; losses include everybody within {AROUND} "
        "cells"
    )
    return tuple(groups), description


def _place_settlements(
    others: CountTable, random: np.random.Generator
) -> tuple[dict[int, Parts], int]:
    """Return maps and surroundings of settlements by size class, and the number of settlements."""
    every: dict[int, Parts] = {}
    number = maps = 0
    # A small domain has space for few isolated settlements: several maps give enough of them.
    while number < ENOUGH and maps < MAX_MAPS:
        placed = place_isolated(others, FEW, random)
        number, maps = number + len(placed.kinds), maps + 1
        sizes: NDArray[np.int64] = np.array([KINDS[kind][0] for kind in placed.kinds])
        for size in np.unique(sizes).tolist():
            regions = [np.sort(placed.around[i]) for i in np.flatnonzero(sizes == size)]
            every.setdefault(size, []).append((placed.table, CellSets.of("", regions)))
    return every, number
