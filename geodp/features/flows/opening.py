"""Open a written release of flows."""

from __future__ import annotations

from pathlib import Path

from geodp.features.flows.card import FLOWS, FlowsCard
from geodp.features.flows.estimator import NoisyPairs
from geodp.features.flows.flows import Flows
from geodp.features.flows.formats.noisy import name_file, read_noisy
from geodp.features.flows.streams import MIN_VARIANCE
from geodp.features.flows.zones import Zones
from geodp.grid.grid import Grid
from geodp.release.opening import open_release


def open_flows(folder: Path, card: FlowsCard) -> Flows:
    """Open the tables and the noisy pairs of a public folder."""
    tables = {one.name: open_release(folder / one.name) for one in card.tables}
    noisy = read_levels(folder, card, Grid(tables[FLOWS].grid.places[:1]))
    return Flows(tables[FLOWS], tables["origins"], tables["destinations"], card, noisy)


def read_levels(folder: Path, card: FlowsCard, grid: Grid) -> tuple[NoisyPairs, ...]:
    """Read the noisy pairs of every level; ValueError where a file lists other pairs."""
    zones = Zones.of(grid)
    return tuple(
        read_noisy(
            folder / name_file(one.side),
            zones.blocks(one.side),
            max(one.standard_error**2, MIN_VARIANCE),
        )
        for one in card.guarantee.levels
    )
