"""Simulate the biases of settlements, by their size and their surroundings.

Settlements of all sizes are placed on a synthetic map of towns on the release's own domain
(:mod:`geodp.release.settlement_map`), and the method runs on that map under public keys. Of the
release, only its domain, its method and its number of people are used.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from geodp.release.settlement_map import (
    AROUND,
    COASTAL,
    EMPTY,
    INLAND,
    ISOLATED,
    KINDS,
    SIZES,
    make_maps,
)
from geodp.release.simulation import Simulation
from geodp.table.stated.error import StatedSettlement, StatedSettlements

MIN_RELEASES = 4
"""Minimum number of releases with settlements of a kind for its bias to be stated."""


def simulate_settlements(simulation: Simulation) -> StatedSettlements | None:
    """Simulate biases of settlements; None unless the grid is one map without labels.

    Parameters
    ----------
    simulation : Simulation
        Simulation of a release, whose domain, method and sum of all counts are used.
    """
    grid = simulation.table.grid
    if grid.plain_map is None:
        return None
    people = max(1.0, float(simulation.table.count.sum()))
    maps, by_coast = make_maps(grid, people, simulation.releases // MIN_RELEASES)
    # For every kind, pairs of biases in per cent (own cells, surroundings), one for each release.
    biases: list[list[tuple[float, float]]] = [[] for _ in KINDS]
    for trial in range(simulation.releases):
        one = maps[trial % len(maps)]
        released = simulation.release(one.table, trial)
        sums = np.zeros((len(KINDS), 3))
        for kind, cells, around in zip(one.kinds, one.cells, one.around, strict=True):
            true = one.table.counts_at(cells).sum()
            off = released.counts_at(cells).sum() - true
            near = released.counts_at(around).sum() - one.table.counts_at(around).sum()
            sums[kind] += true, off, near
        for kind in set(one.kinds):
            true, *off = sums[kind]
            biases[kind].append((100 * off[0] / true, 100 * off[1] / true))
    rows = []
    for (size, place), some in zip(KINDS, biases, strict=True):
        if len(some) < MIN_RELEASES:  # the domain is too small for this kind
            continue
        (inside, near), spread = (
            np.mean(some, axis=0),
            np.std(some, axis=0, ddof=1) / sqrt(len(some)),
        )
        row = StatedSettlement(
            people=SIZES[size],
            below=None if size == len(SIZES) - 2 else SIZES[size + 1],
            surroundings=place,
            own=round(float(inside), 2),
            own_simulation_error=round(float(spread[0]), 2),
            near=round(float(near), 2),
            near_simulation_error=round(float(spread[1]), 2),
        )
        rows.append(row)
    return StatedSettlements(_describe(people, by_coast, simulation.releases), tuple(rows))


def _describe(people: float, by_coast: bool, releases: int) -> str:
    """Describe what the figures mean, for the card."""
    coast = "cells outside the domain" if by_coast else "cells where nobody lives, all on one side,"
    return (
        "bias of settlements as released, in per cent of their people, with its simulation error: "
        f"of their own cells, and of all cells within {AROUND} each way. They are placed on a map "
        f"of synthetic towns on the domain, {people:,.10g} people, of whom {releases} releases are "
        f"simulated under public keys. {ISOLATED}: nobody else lives within {EMPTY} cells; "
        f"{COASTAL}: next to {coast} and to synthetic towns; {INLAND}: among inhabited cells. Each "
        f"has about (people / 30) ** 0.8 cells, and at most {SIZES[-1]:,} people"
    )
