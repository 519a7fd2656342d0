"""The setting of the pyramid for a release with a prior, chosen by simulation."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import numpy as np

from geodp import progress
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import Terms
from geodp.table.counts import CountTable, ReleasedTable
from geodp.table.prior import Prior
from geodp.table.proxy import Proxy
from geodp.tools.plan.plan import Plan, Planner
from geodp.typing import FloatArray

SETTINGS = "pyramid", "pyramid:setting=informed"
"""The default, and the setting for who trusts a prior."""

FIRST = 1000
"""Number of the first simulated release, from which its public key is derived."""


def trust(
    grid: Grid,
    prior: CountTable | ReleasedTable,
    *,
    table: CountTable | ReleasedTable | None = None,
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
    expected = Prior.of(grid, Proxy.of(grid, prior, None).table, "the prior of the plan")
    plans = [planner.plan(name) for name in SETTINGS]
    errors = [mean_error(plan, proxy.table, expected, releases) for plan in plans]
    best = plans[errors[1] < errors[0]]
    of = "the prior itself" if table is None else "another public map"
    means = "; ".join(f"{name} {error:,.4g}" for name, error in zip(SETTINGS, errors, strict=True))
    reason = (
        f"Chosen by {releases} releases of {of} with the prior, for cells and aligned blocks: "
        f"geometric mean of errors: {means}."
    )
    changes = (
        "What has changed since the prior is not simulated: with many changes errors are larger."
    )
    return replace(best, reasons=(reason, *[changes] * (table is None)))


def mean_error(plan: Plan, table: CountTable, prior: Prior, releases: int) -> float:
    """Return the geometric mean of the errors of cells, and of aligned blocks of all sizes.

    Both have half of the weight; the errors are means over releases under public keys.
    """
    means = np.zeros(len(plan.grid.order.radices) + 1)
    for number in range(FIRST, FIRST + releases):
        # The same key for both settings, so that they differ less by chance.
        key = NoiseKey(hashlib.sha256(f"geodp plan, public, {number}".encode()).digest())
        with progress.silence():
            released, _ = plan.method.release_informed(table, plan.event, key, prior)
        means += block_errors(table, released) / releases
    # A perfect release has no logarithm.
    logs = np.log(np.maximum(means, 1e-9))
    return float(np.exp((logs[-1] + logs.mean()) / 2))


def block_errors(table: CountTable, released: ReleasedTable) -> FloatArray:
    """Return mean absolute errors of aligned blocks, by the number of digits that they share.

    Parameters
    ----------
    table : CountTable
        The true counts.
    released : ReleasedTable

    Returns
    -------
    float64[digits + 1]
        Of the domain first, of single cells last.
    """
    grid = table.grid
    key = np.union1d(table.key, released.key)
    error = np.zeros(key.size)
    error[np.searchsorted(key, released.key)] = released.count
    error[np.searchsorted(key, table.key)] -= table.count
    radices = grid.order.radices
    means = np.zeros(len(radices) + 1)
    for digits in range(len(radices), -1, -1):
        means[digits] = np.abs(error).sum() / grid.domain.count_nodes(digits)
        if digits and key.size:
            key = key // np.uint64(radices[digits - 1])
            first = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
            key, error = key[first], np.add.reduceat(error, first)
    return means
