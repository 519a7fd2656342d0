"""Store a drawn release of flows before its charge, and restore it after an interruption."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import numpy as np

from geodp.errors import VerificationError
from geodp.features.flows.card import FlowsCard
from geodp.features.flows.estimator import NoisyPairs
from geodp.features.flows.flows import Flows, make_plan_of, read_design
from geodp.features.flows.prior import FlowsPrior
from geodp.features.flows.publish import DrawnFlows, preview_flows
from geodp.features.flows.streams import MIN_VARIANCE, Plan
from geodp.features.flows.zones import Zones, require_zones
from geodp.grid.axes import Attribute
from geodp.grid.grid import Grid
from geodp.io.folder.pending import PendingDraw, unreadable
from geodp.io.folder.pending_tables import pack_tables, unpack_reading, unpack_tables
from geodp.privacy.event import Measurement
from geodp.privacy.ledger import Charge
from geodp.privacy.neighbours import REPLACE
from geodp.release.request import Request
from geodp.table.plain import write_plain
from geodp.table.released import ReleasedTable


def pack_drawn(drawn: DrawnFlows, preview: Flows) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Convert a draw to plain values and arrays."""
    flows, *ends = drawn.tables
    extras: dict[str, Any] = {f"noisy_{one.blocks.side}": one.noisy for one in drawn.noisy}
    extras |= {"decay": np.array([drawn.decay]), **_pack_prior(preview.prior)}
    extras |= {f"labels_{one.ends}": one.noisy for one in drawn.labels}
    extras |= {"flow_keys": flows.key, "flow_counts": np.asarray(flows.count)}
    facts, reading = preview.flows.public_facts, preview.flows.reading
    plain, arrays = pack_tables(ends, facts, extras, reading)
    index = write_plain(replace(preview.index, prior=drawn.prior))
    return {**plain, "index": index, "spec": flows.event.mechanism}, arrays


def _pack_prior(prior: FlowsPrior | None) -> dict[str, Any]:
    """Pack the flows of a prior, if there is one."""
    if prior is None:
        return {}
    names = ("origin", "destination", "count")
    return {f"prior_{name}": getattr(prior, name) for name in names}


def _unpack_prior(index: FlowsCard, extras: Mapping[str, Any], zones: Zones) -> FlowsPrior | None:
    """Restore a prior, if there was one."""
    if index.prior is None:
        return None
    origin, destination, count = (
        extras[f"prior_{name}"] for name in ("origin", "destination", "count")
    )
    left_out = index.prior.left_out is True
    return FlowsPrior(zones.number, origin, destination, count, index.prior.source, left_out)


def restore_flows(
    stored: PendingDraw,
    grid: Grid,
    attributes: tuple[Attribute, ...],
    request: Request,
    folder: Path,
    charge: Charge,
) -> Flows:
    """Restore the release of a draw that was charged and stored by the same call."""
    require_zones(grid)
    ends, facts, extras = unpack_tables(stored, grid, folder)
    reading = unpack_reading(stored, folder)
    try:
        index = FlowsCard.from_json(stored.card["index"])
        whole = _whole_event(cast(Measurement, ends[0].event), index, str(stored.card["spec"]))
        decay = float(extras["decay"][0])
        cells = extras["flow_keys"], extras["flow_counts"]
        noisy_arrays = [extras[f"noisy_{one.side}"] for one in index.guarantee.levels]
        plan = _make_plan(whole, cast(Measurement, ends[0].event), index, grid, attributes)
        labels = [replace(one, noisy=extras[f"labels_{one.ends}"]) for one in plan.empty_labels]
        prior = _unpack_prior(index, extras, plan.zones)
    except (LookupError, TypeError, ValueError, VerificationError):
        raise unreadable(folder) from None
    noisy = [
        NoisyPairs(plan.zones.blocks(side), array, max(law.variance, MIN_VARIANCE))
        for side, law, array in zip(plan.design.sides, plan.laws, noisy_arrays, strict=True)
    ]
    law = plan.label_law
    preview = preview_flows(plan, request, facts, reading, prior)
    labels = [
        replace(one, variance=max(0.0 if law is None else law.variance, MIN_VARIANCE))
        for one in labels
    ]
    ends = [replace(one, event=preview.origins.event) for one in ends]
    tables = [ReleasedTable(plan.pairs, *cells, whole), *ends]
    return preview.with_drawn(tables, noisy, labels, (decay, index.prior), charge)


def _make_plan(
    whole: Measurement,
    ends: Measurement,
    index: FlowsCard,
    grid: Grid,
    attributes: tuple[Attribute, ...],
) -> Plan:
    """Make the plan of the release of an index, on a map and with the labels of the call."""
    return make_plan_of(whole, ends, read_design(index), grid, attributes)


def _whole_event(end: Measurement, index: FlowsCard, spec: str) -> Measurement:
    """Return the event of all streams together, from that of one map of ends and the index."""
    texts = [index.guarantee.epsilon, index.guarantee.rho, index.guarantee.delta]
    epsilon, rho, delta = (None if text is None else Fraction(text) for text in texts)
    factor = end.contribution * (2 if end.neighbours == REPLACE else 1)
    own = replace(end.own, mechanism=spec, sensitivity=factor)
    return replace(own, epsilon=epsilon, rho=rho, delta=delta)
