"""Open a written release of flows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

from geodp.features.flows.card import FLOWS, ORIGINS, FlowsCard
from geodp.features.flows.estimator import NoisyPairs
from geodp.features.flows.flows import Flows, make_plan_of, read_design
from geodp.features.flows.formats.noisy import (
    PRIOR,
    name_file,
    name_labels,
    read_labels,
    read_noisy,
    read_prior,
)
from geodp.features.flows.labels import NoisyLabels
from geodp.features.flows.prior import FlowsPrior
from geodp.features.flows.streams import MIN_VARIANCE, Plan
from geodp.features.flows.zones import Zones
from geodp.grid.grid import Grid
from geodp.privacy.event import Measurement
from geodp.release.opening import open_release


def open_flows(folder: Path, card: FlowsCard) -> Flows:
    """Open the tables and the noisy pairs of a public folder."""
    tables = {one.name: open_release(folder / one.name) for one in card.tables}
    whole, of_ends = (cast(Measurement, tables[name].event) for name in (FLOWS, ORIGINS))
    grid, attributes = tables[ORIGINS].grid, tables[FLOWS].grid.attributes
    plan = make_plan_of(whole, of_ends, read_design(card), grid, attributes)
    noisy = read_measured(folder, card, plan)
    ends = tables["origins"], tables["destinations"]
    labels, prior = read_label_counts(folder, plan), read_flows_prior(folder, card, plan.zones)
    return Flows(tables[FLOWS], *ends, card, noisy, labels, prior)


def read_measured(folder: Path, card: FlowsCard, plan: Plan) -> tuple[NoisyPairs, ...]:
    """Read the noisy pairs of every level, with the variances of their laws."""
    # Computed again, as the index states the nearest standard errors.
    return tuple(
        replace(one, variance=max(law.variance, MIN_VARIANCE))
        for one, law in zip(read_levels(folder, card, plan.zones.grid), plan.laws, strict=True)
    )


def read_flows_prior(folder: Path, card: FlowsCard, zones: Zones) -> FlowsPrior | None:
    """Read the prior that an index states, if a file has it; ValueError for one of no flows."""
    if card.prior is None or card.prior.left_out:
        return None
    return read_prior(folder / PRIOR, zones, card.prior.source)


def read_label_counts(folder: Path, plan: Plan) -> tuple[NoisyLabels, ...]:
    """Read the noisy trips by label of every kind; ValueError where a file lists other cells."""
    law = plan.label_law
    return tuple(
        read_labels(
            folder / name_labels(one.ends),
            replace(one, variance=max(0.0 if law is None else law.variance, MIN_VARIANCE)),
            plan.zones,
            plan.attributes,
        )
        for one in plan.empty_labels
    )


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
