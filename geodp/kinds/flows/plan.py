"""Errors of flows by what is measured, and trips that a bound keeps, before any data are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.kinds.flows.methods import EndsOfFlows
from geodp.kinds.flows.publish import make_plan
from geodp.kinds.flows.reading.bounding import require_bounds
from geodp.kinds.flows.reading.labels import By, TripLabels
from geodp.kinds.flows.zones import Zones
from geodp.privacy.loss import Budget
from geodp.privacy.terms import ADD_REMOVE, Terms


@dataclass(frozen=True)
class PlannedFlows:
    """Noise of a release that keeps at most so many trips of a unit.

    Attributes
    ----------
    trips : int
    end_error : float or None
        Standard error of the trips from one zone, or to one, where nothing is clamped.
    total_error : float or None
        That of all trips, before the totals of both ends are averaged.
    pair_errors : mapping of int to float
        Standard error of a noisy pair of blocks, by side of the blocks in zones.
    pairs : mapping of int to int
        Number of pairs of blocks of each side.
    retained : float or None
        Share of the trips that the bound keeps, by the guess of ``mean_trips``; None without one.
    label_error : float or None
        Standard error of a noisy count by label; None: flows have no labels.
    label_sides : tuple of int
        Sides of the blocks of ends, and of pairs, that are counted by label; empty without labels.
    """

    trips: int
    end_error: float | None
    total_error: float | None
    pair_errors: Mapping[int, float]
    pairs: Mapping[int, int]
    retained: float | None
    label_error: float | None = None
    label_sides: tuple[int, ...] = ()


def plan(
    grid: Grid | str,
    *,
    trips: int,
    epsilon: Budget | None = None,
    rho: Budget | None = None,
    delta: Budget | None = None,
    neighbours: str = ADD_REMOVE,
    levels: Mapping[int, Budget] | None = None,
    by: By | None = None,
    labels: Mapping[str, Sequence[str]] | None = None,
    label_share: Budget | None = None,
    method: str | None = None,
    mean_trips: float | None = None,
) -> PlannedFlows:
    """Compute the noise of a release of flows, in closed form.

    Parameters
    ----------
    grid : Grid or str
        The public grid of zones.
    trips : int
        Most trips that are kept of a unit.
    mean_trips : float, optional
        A public guess of the mean trips of a unit that has any, above 1. The trips of units are
        taken as geometric: many have few, and few have many.
    by, labels
        See :func:`geodp.flows.read_trips`.
    epsilon, rho, delta, neighbours, levels, label_share, method
        See :func:`geodp.flows.publish`.

    Examples
    --------
    >>> import geodp
    >>> few, many = (
    ...     geodp.flows.plan(
    ...         geodp.Grid.regular((47, 84)), trips=k, epsilon=1, levels={4: "0.5"}, mean_trips=7
    ...     )
    ...     for k in (5, 10)
    ... )
    >>> round(few.retained, 2), round(many.retained, 2), many.pair_errors[4] > few.pair_errors[4]
    (0.54, 0.79, True)
    """
    require_bounds(trips, trips)
    if mean_trips is not None and not 1 < mean_trips < float("inf"):
        raise UsageError(
            "mean_trips is a public guess of the mean trips of a unit that has any: above 1.",
            code="flows-mean-trips",
        )
    zones = Zones.of(Grid.mesh(grid) if isinstance(grid, str) else grid)
    terms = Terms.of(epsilon, rho, delta, neighbours, trips)
    attributes = TripLabels.of(by, labels or {}, None).attributes
    made = make_plan(zones, terms, method, levels, attributes=attributes, label_share=label_share)
    errors = EndsOfFlows.of(made.method).block_errors(zones.grid, made.ends)
    sides = made.design.sides
    return PlannedFlows(
        trips,
        None if errors is None else errors[-1].largest,
        None if errors is None else errors[0].largest,
        {side: law.variance**0.5 for side, law in zip(sides, made.laws, strict=True)},
        # Also of blocks of a unit that lies nowhere.
        {side: zones.blocks(side).number ** 2 for side in sides},
        None if mean_trips is None else retained_share(trips, mean_trips),
        None if made.label_law is None else made.label_law.variance**0.5,
        () if made.design.labels is None else made.design.labels.both_sides,
    )


def retained_share(trips: int, mean: float) -> float:
    """Return the share of geometric trips of a mean that are among the first of their unit."""
    # The sum of P(more than i trips) over the first i, over that of all i, which is the mean.
    return float(1 - (1 - 1 / mean) ** trips)
