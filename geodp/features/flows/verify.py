"""Verification of a written release of flows: index, tables, budget and margins."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import TypeAlias

import numpy as np

from geodp.errors import Rule
from geodp.features.flows.card import (
    DESTINATIONS,
    FLOWS,
    INDEX,
    ORIGINS,
    TABLES,
    FlowsCard,
)
from geodp.features.flows.errors import are_near, state_errors
from geodp.features.flows.estimator import NoisyPairs
from geodp.features.flows.flows import (
    depend_ends,
    describe_identity,
    describe_prior,
    describe_release,
    list_constraints,
    make_estimator,
    make_plan_of,
    name_flows,
    read_design,
    state_guarantee,
    state_prior,
)
from geodp.features.flows.formats.noisy import write_measured
from geodp.features.flows.labels import NoisyLabels
from geodp.features.flows.opening import (
    read_flows_prior,
    read_label_counts,
    read_levels,
    read_measured,
)
from geodp.features.flows.reading.rules import find_stays
from geodp.features.flows.streams import Plan
from geodp.features.flows.zones import zones_of
from geodp.io.folder.kinds import Check
from geodp.io.verify.card import read_table_card, require
from geodp.io.verify.files import check_restricted
from geodp.io.verify.index import (
    check_checksums,
    check_identity,
    check_tables,
    require_losses,
    verify_index,
)
from geodp.io.verify.readback import event_of, read_masked_grid, read_release_table
from geodp.io.verify.remade import Remake
from geodp.io.verify.rewritten import Written, check_rewritten
from geodp.io.verify.statements import has_words_of, require_charge
from geodp.privacy.event import Measurement
from geodp.table.card import Card
from geodp.table.counts import coalesce
from geodp.table.released import ReleasedTable

Read: TypeAlias = Callable[[Path], tuple[ReleasedTable, Card]]
"""Function that reads the table in a folder."""

GRIDS_DIFFER = Rule("flows-grids-differ", "Flows and their ends have different zones.")


def verify_flows(folder: Path, errors: Remake | None = None) -> list[Check]:
    """Verify that the index matches the tables, each of these, and that both ends are met.

    ``folder`` holds the public files; the other parameter and the result are those of
    :func:`geodp.io.verify.index.verify_index`.
    """
    return verify_index(
        folder / INDEX,
        FlowsCard.from_json,
        lambda card: f"schema {card.schema}",
        list_questions(),
        lambda card: (one.name for one in card.tables),
        errors,
    )


def _check_checksums(folder: Path, card: FlowsCard) -> str:
    return check_checksums(folder / INDEX, card.files, (one.name for one in card.tables))


def _check_tables(folder: Path, card: FlowsCard) -> str:
    """Check that every table is the one in the index, charged once for all of them."""
    return check_tables(folder, card, (TABLES,))


def _check_guarantee(folder: Path, card: FlowsCard) -> str:
    """Check that the shares add up, and that every table has the noise that they imply."""
    promise = card.guarantee
    design = read_design(card)
    labels = Fraction(0) if promise.labels is None else Fraction(promise.labels.share)
    require(
        design.sides == tuple(one.side for one in promise.levels)
        and design.end_share == Fraction(promise.end_share)
        and 2 * design.end_share + sum(design.shares, labels) == 1,
        Rule("flows-shares-differ", "The shares of the budget do not add up to 1."),
    )
    cards = {name: read_table_card(folder / name) for name in TABLES}
    plan = _read_plan(folder, card)
    require(
        bool(plan.attributes) is (promise.labels is not None),
        Rule("flows-labels-differ", "The flows have labels that the index does not state."),
    )
    ends = depend_ends(plan)
    expected = {FLOWS: plan.whole, ORIGINS: ends, DESTINATIONS: ends}
    differs = Rule("flows-event-differs", "A table has another noise than the index implies.")
    require(plan.whole.mechanism == name_flows(design).spec, differs)
    understated = require_losses(cards, expected, differs)
    require_charge(card.budget, promise.unit, promise.neighbours, plan.whole.loss)
    belongs = describe_release(promise.unit, promise.spends)
    require(
        not has_words_of(card.software)
        or all(belongs in one.guarantee.not_protected for one in cards.values()),
        Rule("flows-release-unstated", "A table does not say of which release it is a part."),
    )
    source = None if card.prior is None else card.prior.source
    require(
        all(
            promise == state_guarantee(plan, source, one.guarantee.not_protected)
            for one in cards.values()
        )
        and card.private is plan.whole.is_private
        and card.constraints == list_constraints(plan)
        # Earlier versions did not state the rules of stays in the index.
        and all(
            card.stays in (None, find_stays(one.guarantee.not_protected)) for one in cards.values()
        ),
        Rule("flows-guarantee-differs", "The index contradicts its tables."),
    )
    prior = None if card.prior is None else describe_prior(card.prior.source)
    require(
        all(prior is None or prior in one.guarantee.not_protected for one in cards.values()),
        Rule("flows-prior-unstated", "The index states another prior than its tables."),
    )
    return f"{promise.spends} for one {promise.unit}, once for all tables{understated}"


def _read_plan(folder: Path, card: FlowsCard) -> Plan:
    """Return the plan of the measurements, from the cards of the tables and the index."""
    cards = [read_table_card(folder / name) for name in (FLOWS, ORIGINS)]
    whole, of_origins = (event_of(one) for one in cards)
    require(
        isinstance(whole, Measurement) and isinstance(of_origins, Measurement),
        Rule("flows-not-measured", "A table of the release was not measured."),
    )
    assert isinstance(whole, Measurement)
    assert isinstance(of_origins, Measurement)
    # From the cards: no flow has to be read for it. Where units lie is told with their map.
    pairs, grid = (
        read_masked_grid(folder / name, one)
        for name, one in zip((FLOWS, ORIGINS), cards, strict=True)
    )
    require(
        all((one.domain.mask is None) is (pairs.mask is None) for one in cards),
        Rule("flows-mask-missing", "The files do not show the mask that the cards state."),
    )
    require(zones_of(pairs) == grid, GRIDS_DIFFER)
    return make_plan_of(whole, of_origins, read_design(card), grid, pairs.attributes)


def _check_margins(read: Read, folder: Path, card: FlowsCard) -> str:
    """Check that flows add up to both maps of ends, in every zone and so in every area."""
    flows, origins, destinations = (read(folder / name)[0] for name in TABLES)
    require(
        origins.grid == destinations.grid and zones_of(flows.grid) == origins.grid, GRIDS_DIFFER
    )
    index, count = flows.grid.decode(flows.key), np.asarray(flows.count, np.int64)
    for at, ends in ((0, origins), (2, destinations)):
        key, total = coalesce(ends.grid.encode(index[at : at + 2]), count)
        require(
            np.array_equal(key, ends.key) and np.array_equal(total, ends.count),
            Rule("flows-margins-differ", "The flows do not add up to the released ends."),
        )
    return f"{flows.key.size:,} flows add up to both ends in {origins.key.size:,} zones"


def _check_noisy(folder: Path, card: FlowsCard) -> str:
    """Check that noisy pairs and a prior are those that their numbers make, and nothing else."""
    plan = _read_plan(folder, card)
    zones, attributes = plan.zones, plan.attributes
    noisy, labels = read_levels(folder, card, zones.grid), read_label_counts(folder, plan)
    prior = read_flows_prior(folder, card, zones)
    if (stated := card.prior) is not None:
        expected = state_prior(stated.source, stated.weight, stated.ends, stated.left_out)
        require(
            stated == expected and stated.weight <= 1 and len(stated.ends) == 2,
            Rule("flows-prior-differs", "The index states another prior than its file holds."),
        )

    def write(again: Path) -> Written:
        return write_measured(noisy, labels, prior, zones, attributes, again), ()

    check_rewritten(folder, (card.files, card.left_out), write, zones.grid)
    pairs = f"{sum(one.noisy.size for one in noisy):,} noisy pairs"
    if not labels:
        return pairs
    return f"{pairs}, and {sum(one.noisy.size for one in labels):,} noisy trips by label"


def _check_identity(read: Read, folder: Path, card: FlowsCard) -> str:
    """Check that tables, noisy pairs and decay are all of one release."""
    tables = [read(folder / name)[0] for name in TABLES]
    plan = _read_plan(folder, card)
    zones = plan.zones
    noisy: list[NoisyPairs | NoisyLabels] = [*read_levels(folder, card, zones.grid)]
    noisy += read_label_counts(folder, plan)
    require(
        card.decay.unit == zones.steps[2],
        Rule("flows-decay-unit-differs", "The decay has another unit than the grid."),
    )
    prior = read_flows_prior(folder, card, zones)
    identity = describe_identity(tables, noisy, card.decay, card.prior, prior)
    check_identity(folder, card.tables, identity)
    return "tables, noisy pairs and decay have the digest that every card states"


def _check_errors(read: Read, folder: Path, card: FlowsCard) -> str:
    """Check that the errors of pairs by size are those that follow from all that is released."""
    if card.prior is not None and card.prior.left_out and card.prior.is_used:
        return "not computed again: they follow from a prior that no file of the release has"
    tables = [read(folder / name)[0] for name in TABLES]
    plan = _read_plan(folder, card)
    noisy, prior = read_measured(folder, card, plan), read_flows_prior(folder, card, plan.zones)
    expected = state_errors(make_estimator(plan, tables, card, noisy, prior=prior))
    stated = card.pairs
    same = stated is expected if stated is None or expected is None else are_near(stated, expected)
    require(
        same, Rule("flows-errors-differ", "The index states other errors of pairs than follow.")
    )
    if stated is None:
        return "none: no trips are released"
    return f"those of {len(stated.sizes)} sizes follow from the release"


def list_questions() -> list[tuple[str, Callable[[Path, FlowsCard], str]]]:
    """List the questions of one verification by name; they read each table once for all."""
    read = cache(read_release_table)
    return [
        ("checksums", _check_checksums),
        ("tables", _check_tables),
        ("guarantee", _check_guarantee),
        ("margins", partial(_check_margins, read)),
        ("noisy pairs", _check_noisy),
        ("one release", partial(_check_identity, read)),
        ("errors", partial(_check_errors, read)),
        ("restricted", check_restricted),
    ]
