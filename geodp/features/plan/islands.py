"""Settlements that stand alone in a domain, placed on public maps: what plans lose of them.

Close to towns a settlement also gains what the towns lose to its surroundings, and a plan that is
poor at both could seem good. So as many are placed on maps with nobody else.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from geodp.errors import Rule
from geodp.features.plan.regions import CellSets, Settlements
from geodp.release.settlement_map import AROUND, ISOLATION, KINDS, SIZES, place_isolated
from geodp.table.counts import CountTable

FEW = 500
"""People of the smallest settlements that plans are made for: less is lost by whatever plan."""

ENOUGH, MOST_MAPS = 160, 8
"""Settlements from which on one map is enough, and most maps of a domain with room for fewer."""

Parts = list[tuple[CountTable, CellSets]]


def draw_islands(
    towns: CountTable, random: np.random.Generator
) -> tuple[tuple[Settlements, ...], str]:
    """Return settlements of all size classes, and what they are, for people.

    Parameters
    ----------
    towns : CountTable
        Public: who else lives there, but near the settlements.
    random : Generator

    Raises
    ------
    UsageError
        A grid with attributes or of several maps.
    """
    grid = towns.grid
    grid.require_plain_map(
        Rule("islands-need-plain-map", "islands need a grid of one map without attributes.")
    )
    nobody = CountTable.from_keys(grid, np.empty(0, np.uint64), np.empty(0, np.int64))
    groups: list[Settlements] = []
    for others, where in ((towns, ""), (nobody, " and nobody else")):
        every, number = _settle(others, random)
        groups += [
            Settlements(f"settlements of {SIZES[size]:,} to {SIZES[size + 1]:,}{where}", tuple(own))
            for size, own in sorted(every.items())
        ]
    words = (
        f"{number} settlements of {FEW} people and more, placed there with nobody else within "
        f"{ISOLATION} cells, and as many on empty maps; what they lose, with all within {AROUND} "
        "cells"
    )
    return tuple(groups), words


def _settle(others: CountTable, random: np.random.Generator) -> tuple[dict[int, Parts], int]:
    """Return maps and surroundings of settlements by size class, and how many settlements."""
    every: dict[int, Parts] = {}
    number = maps = 0
    while number < ENOUGH and maps < MOST_MAPS:
        settled = place_isolated(others, FEW, random)
        number, maps = number + len(settled.kinds), maps + 1
        sizes: NDArray[np.int64] = np.array([KINDS[kind][0] for kind in settled.kinds])
        for size in np.unique(sizes).tolist():
            regions = [np.sort(settled.around[i]) for i in np.flatnonzero(sizes == size)]
            every.setdefault(size, []).append((settled.table, CellSets.of("", regions)))
    return every, number
