"""What a release loses of settlements, by how many people they have and what lies around them.

Settlements of all sizes are placed on a map of towns that is made up on the release's own domain
(:mod:`geodp.release.settled_map`), and the method runs on that, under keys that everybody may know.
Of the release nothing is used but its domain, its method and how many people it has.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from geodp.release.settled_map import (
    ALONE,
    AROUND,
    COASTAL,
    EMPTY,
    INLAND,
    KINDS,
    SIZES,
    make_maps,
)
from geodp.release.simulation import Simulation
from geodp.table.stated.error import StatedSettlement, StatedSettlements

LEAST = 4
"""Releases that have settlements of a kind, for it to be stated."""


def simulate_settlements(simulation: Simulation) -> StatedSettlements | None:
    """Return biases of settlements by size and surroundings; None but on one map without labels.

    Parameters
    ----------
    simulation : Simulation
        Of whose release the domain, the method and the sum of all counts are taken.
    """
    grid = simulation.table.grid
    if grid.plain_map is None:
        return None
    people = max(1.0, float(simulation.table.count.sum()))
    maps, by_coast = make_maps(grid, people, simulation.releases // LEAST)
    found: list[list[tuple[float, float]]] = [[] for _ in KINDS]
    for trial in range(simulation.releases):
        one = maps[trial % len(maps)]
        released = simulation.release(one.table, trial)
        sums = np.zeros((len(KINDS), 3))
        for kind, own, around in zip(one.kinds, one.own, one.around, strict=True):
            true = one.table.counts_at(own).sum()
            off = released.counts_at(own).sum() - true
            near = released.counts_at(around).sum() - one.table.counts_at(around).sum()
            sums[kind] += true, off, near
        for kind in set(one.kinds):
            true, *off = sums[kind]
            found[kind].append((100 * off[0] / true, 100 * off[1] / true))
    rows = []
    for (size, place), some in zip(KINDS, found, strict=True):
        if len(some) < LEAST:  # too small a domain for it
            continue
        (own, near), spread = np.mean(some, axis=0), np.std(some, axis=0, ddof=1) / sqrt(len(some))
        stated = StatedSettlement(
            people=SIZES[size],
            below=None if size == len(SIZES) - 2 else SIZES[size + 1],
            surroundings=place,
            own=round(float(own), 2),
            own_simulation_error=round(float(spread[0]), 2),
            near=round(float(near), 2),
            near_simulation_error=round(float(spread[1]), 2),
        )
        rows.append(stated)
    return StatedSettlements(_say(people, by_coast, simulation.releases), tuple(rows))


def _say(people: float, by_coast: bool, releases: int) -> str:
    """Return what the figures mean."""
    coast = "cells outside the domain" if by_coast else "cells where nobody lives, all on one side,"
    return (
        "bias of settlements as released, in per cent of their people, with its simulation error: "
        f"of their own cells, and of all cells within {AROUND} each way. They are placed on a map "
        f"of towns made up on the domain, {people:,.10g} people, of whom {releases} releases are "
        f"simulated under public keys. {ALONE}: nobody else lives within {EMPTY} cells; {COASTAL}: "
        f"beside {coast} and towns as made up; {INLAND}: among inhabited cells. Each has about "
        f"(people / 30) ** 0.8 cells, and at most {SIZES[-1]:,} people"
    )
