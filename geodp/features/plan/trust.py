"""The setting of the pyramid for a release with a prior, chosen by simulation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from geodp.errors import UsageError
from geodp.features.plan.families import Objectives, draw_families
from geodp.features.plan.plan import Plan, Planner
from geodp.features.plan.simulation import FRESH, PlanSimulation
from geodp.grid.grid import Grid
from geodp.privacy.terms import Terms
from geodp.table.counts import CountTable
from geodp.table.prior import Prior
from geodp.table.proxy import Proxy
from geodp.table.released import ReleasedTable

SETTINGS = "pyramid", "pyramid:setting=informed"
"""The default, and the setting for who trusts a prior."""

OBJECTIVES = "cells,squares"


def trust(
    grid: Grid,
    prior: CountTable | ReleasedTable,
    *,
    table: CountTable | ReleasedTable | None = None,
    objectives: str = OBJECTIVES,
    releases: int = 4,
    regions: dict[str, Any] | None = None,
    **terms: Any,
) -> Plan:
    """Choose between the default and the setting ``informed`` for a release with a prior.

    Both are simulated on a public map with the prior; the plan's ``reasons`` give the errors.
    Nothing here sees confidential data.

    Parameters
    ----------
    grid : Grid
    prior : CountTable or ReleasedTable
        The prior of the planned release, a public map on the same grid.
    table : CountTable or ReleasedTable, optional
        Another public map, such as a census between both dates, whose releases are simulated.
        Default: the prior itself, from which nothing has changed.
    objectives : str
        Families of regions as in :func:`serve`.
    releases : int
        Number of simulated releases of each setting, 1 or more.
    regions, **terms
        See :func:`geodp.plan`; ``people`` scales the map.

    Examples
    --------
    >>> grid = Grid.regular((16, 16))
    >>> prior = CountTable.from_keys(grid, [3, 9, 80], [50, 900, 40])
    >>> trust(grid, prior, epsilon=1).name.startswith("pyramid")
    True
    """
    if releases < 1:
        raise UsageError(
            "With a prior alone, simulate at least 1 release (--releases).",
            code="prior-needs-simulation",
        )
    budget = Terms.of(**terms)
    planner = Planner(grid, budget, regions)
    proxy = Proxy.of(grid, prior if table is None else table, budget.people)
    parsed = Objectives.parse(objectives)
    families = draw_families(parsed, grid, proxy)
    expected = Prior.of(grid, Proxy.of(grid, prior, None).table, "the prior of the plan")
    simulation = PlanSimulation(proxy, families, expected)
    plans = [planner.plan(name) for name in SETTINGS]
    errors = []
    for plan in plans:
        found = simulation.run(plan.method, plan.event, range(FRESH, FRESH + releases))
        errors.append(found.objective(families, relative=parsed.relative))
    best = plans[errors[1] < errors[0]]
    of = "the prior itself" if table is None else "another public map"
    means = "; ".join(f"{name} {error:,.4g}" for name, error in zip(SETTINGS, errors, strict=True))
    reason = (
        f"Chosen by {releases} releases of {of} with the prior, for {parsed.text}: geometric "
        f"mean of errors: {means}."
    )
    changes = (
        "What has changed since the prior is not simulated: with many changes errors are larger."
    )
    return replace(best, reasons=(reason, *[changes] * (table is None)))
