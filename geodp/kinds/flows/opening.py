"""Open a written release of flows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from geodp.kinds.flows.estimator import NoisyPairs
from geodp.kinds.flows.flows import Flows
from geodp.kinds.flows.kind import TABLES, FlowsCard
from geodp.kinds.flows.noisy import (
    PRIOR,
    name_file,
    name_labels,
    read_labels,
    read_noisy,
    read_prior,
)
from geodp.kinds.flows.streams import MIN_VARIANCE, StreamPlan
from geodp.release.opening import open_release


def open_flows(folder: Path, card: FlowsCard) -> Flows:
    """Open the tables, the noisy pairs and the prior of a public folder.

    Raises ValueError where a file lists other pairs or cells than were measured.
    """
    tables = {one.name: open_release(folder / one.name) for one in card.tables}
    flows, origins, destinations = (tables[name] for name in TABLES)
    opened = Flows(flows, origins, destinations, card, ())
    plan, prior = opened.plan, None
    if card.prior is not None and not card.prior.left_out:
        prior = read_prior(folder / PRIOR, plan.zones, card.prior.source)
    labels = tuple(
        read_labels(folder / name_labels(one.ends), one, plan.zones, plan.attributes)
        for one in plan.empty_labels
    )
    return replace(opened, noisy=_read_pairs(folder, plan), labels=labels, prior=prior)


def _read_pairs(folder: Path, plan: StreamPlan) -> tuple[NoisyPairs, ...]:
    """Read the noisy pairs of every level, with the variances of their laws."""
    # Of the laws, as the index states the nearest standard errors.
    return tuple(
        read_noisy(
            folder / name_file(side), plan.zones.blocks(side), max(law.variance, MIN_VARIANCE)
        )
        for side, law in zip(plan.design.sides, plan.laws, strict=True)
    )
