"""Differences of flows: of two pairs of regions in one release, or of the same in two releases.

Errors of flows of one release may be opposite, as parts of a block have the trips that others lack;
those of different releases are independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from geodp.accuracy.interval import Estimate
from geodp.accuracy.interval_arithmetic import subtract
from geodp.errors import Rule, UsageError
from geodp.kinds.flows.estimates import FlowEstimator, find_zones
from geodp.kinds.flows.kind import FlowsGuarantee, StatedFlowsPrior
from geodp.kinds.flows.prior_flows import FlowsPrior
from geodp.kinds.flows.reading.reader import find_bounds
from geodp.kinds.flows.zones import zones_of
from geodp.release.regional import OTHER_GRID, SAME, Compared
from geodp.table.counts import ReleasedTable

TRIPS = "trips"
"""Name of the quantity of flows between two regions."""

Group: TypeAlias = Sequence[tuple[Any, Any]]
"""Pairs of regions of origins and of destinations, whose flows are summed."""

OVERLAP = Rule(
    "flows-compare-overlap",
    "Both have common flows: compare flows between other regions, or with other labels.",
)


LABELS = Rule(
    "flows-compare-labels",
    "labels= has those of the first flow and those of the second, each by attribute, or None: "
    "({'hour': 8}, {'hour': 18}).",
)


class FlowSide(NamedTuple):
    """Flows on one side of a comparison, and their labels."""

    group: Group
    labels: Mapping[str, Any]


def pair_sides(
    pairs: tuple[tuple[Any, Any], tuple[Any, Any]],
    labels: tuple[Mapping[str, Any] | None, Mapping[str, Any] | None],
) -> tuple[FlowSide, FlowSide]:
    """Make the sides of a comparison of one flow with another; UsageError for other labels."""
    if (
        not isinstance(labels, Sequence)
        or len(labels) != 2
        or not all(one is None or isinstance(one, Mapping) for one in labels)
    ):
        raise UsageError(LABELS)
    return FlowSide([pairs[0]], labels[0] or {}), FlowSide([pairs[1]], labels[1] or {})


def compare_within(estimator: FlowEstimator, one: FlowSide, other: FlowSide) -> Compared:
    """Compare two flows of one release; UsageError where they have common ones."""
    require_apart(estimator, one, other)
    groups, sets = [one.group, other.group], [one.labels, other.labels]
    return _subtract(estimator, groups, sets, [(0, 1)])[0]


def compare_labels(
    estimator: FlowEstimator,
    groups: Sequence[Group],
    sets: tuple[Mapping[str, Any], Mapping[str, Any]],
) -> list[Compared]:
    """Compare flows of one release by two sets of labels.

    UsageError where the sets have common labels.
    """
    for group in groups:
        require_apart(estimator, FlowSide(group, sets[0]), FlowSide(group, sets[1]))
    return _subtract(estimator, groups, sets, [(at, at) for at in range(len(groups))])


def _subtract(
    estimator: FlowEstimator,
    groups: Sequence[Group],
    sets: Sequence[Mapping[str, Any]],
    pairs: Sequence[tuple[int, int]],
) -> list[Compared]:
    """Subtract flows of the first set of labels from those of the second, by pairs of groups."""
    one, other = estimator.sum_sets(groups, sets)
    return [
        _compare(
            one.estimates[at], other.estimates[beside], estimator.oppose((one, other), (at, beside))
        )
        for at, beside in pairs
    ]


def _compare(first: Estimate, second: Estimate, opposite: float = 0.0) -> Compared:
    """Compare two estimates of flows."""
    apart = subtract(first, second, opposite)
    return Compared({TRIPS: first}, {TRIPS: second}, {TRIPS: apart})


def compare_between(
    estimators: tuple[FlowEstimator, FlowEstimator],
    sides: Sequence[tuple[FlowSide, FlowSide]],
) -> list[Compared]:
    """Compare flows of two releases, whose errors are independent.

    ``sides``: flows in the first release, and in the second; all of one release with one set of
    labels.
    """
    found = []
    for at, estimator in enumerate(estimators):
        groups = [pair[at].group for pair in sides]
        labels = sides[0][at].labels
        found += estimator.estimate_sets(groups, [labels])
    return [_compare(first, second) for first, second in zip(*found, strict=True)]


def require_apart(estimator: FlowEstimator, one: FlowSide, other: FlowSide) -> None:
    """Raise UsageError where two flows of one release have common ones."""
    attributes = estimator.plan.attributes
    some = [estimator.choose(each.labels) for each in (one, other)]
    if attributes and not (some[0] & some[1]).any():
        return
    zones = estimator.plan.zones
    for first in one.group:
        for second in other.group:
            ends = zip(first, second, strict=True)
            if all(np.isin(find_zones(zones, a), find_zones(zones, b)).any() for a, b in ends):
                raise UsageError(OVERLAP)


def require_comparable(
    promises: tuple[FlowsGuarantee, FlowsGuarantee],
    flows: tuple[ReleasedTable, ReleasedTable],
    facts: tuple[Sequence[str], Sequence[str]],
) -> None:
    """Raise UsageError unless two releases of one grid differ, and are of units with as many trips.

    ``promises``: their guarantees; ``flows``: their tables of pairs; ``facts``: what the cards of
    these state.
    """
    (one, other), (first, second) = promises, flows
    if zones_of(first.grid) != zones_of(second.grid):
        raise UsageError(OTHER_GRID)
    if first is second or (
        first.key.size > 0
        and np.array_equal(first.key, second.key)
        and np.array_equal(first.count, second.count)
    ):
        raise UsageError(SAME)
    if (one.unit, one.contribution) != (other.unit, other.contribution):
        raise UsageError(
            "Of the two releases other units are protected, or another number of trips of each is "
            "counted: flows would differ by that alone.",
            code="flows-compare-bounds",
        )
    # Of counted rows it is not known, and the operator answers for them.
    kept = [find_bounds(each) for each in facts]
    if None in kept:
        return
    if kept[0] != kept[1]:
        raise UsageError(
            "Of the two releases other numbers of trips of each unit were kept in all (--trips, "
            "trips=), or between two zones (--per-pair, per_pair=): flows would differ by that "
            "alone.",
            code="flows-compare-per-pair",
        )
    if one.max_weight != other.max_weight:
        raise UsageError(
            "Of the two releases one counts trips by their weights, or up to another largest "
            "weight (--max-weight, max_weight=): flows would differ by that alone.",
            code="flows-compare-weights",
        )


def require_no_prior(
    priors: tuple[StatedFlowsPrior | None, StatedFlowsPrior | None],
    estimators: tuple[FlowEstimator, FlowEstimator],
) -> None:
    """Raise UsageError where one of two releases was estimated with flows of the other.

    ``priors``: what their indexes state of their priors, of which some were not used.
    """
    for stated, (one, other) in zip(priors, (estimators, estimators[::-1]), strict=True):
        known = one.prior
        if known is None or stated is None or not stated.is_used:
            continue
        flows = FlowsPrior.of(other.plan.zones, other.flows, known.flows.source)
        if flows.sha256 == known.flows.sha256:
            raise UsageError(
                "One of the two releases is the prior of the other, which would understate what "
                "has changed: compare it with a release that was made without this prior.",
                code="flows-compare-prior",
            )
