"""Pyramids whose budgets suit the priorities of the user."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import inf, isfinite, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import UsageError
from geodp.features.plan.areas import nodes_of
from geodp.features.plan.plan import Plan, Planner
from geodp.features.plan.shares import best_ratio, best_sum, minimise_ratio, minimise_sum
from geodp.grid.grid import Grid
from geodp.mechanisms.trees.levels import steps_of
from geodp.privacy.budget import Budget
from geodp.privacy.neighbours import ADD_REMOVE
from geodp.privacy.terms import Terms

Wishes = Mapping[int | str, float]
"""Numbers by cells of an aligned block, or by name of a published area."""


def optimise(
    grid: Grid,
    *,
    weights: Wishes | None = None,
    targets: Wishes | None = None,
    chain: str = "",
    epsilon: Budget | None = None,
    rho: Budget | None = None,
    delta: Budget | None = None,
    neighbours: str = ADD_REMOVE,
    contribution: int | None = None,
    unit: str = "person",
    people: float | None = None,
    regions: Mapping[str, Any] | None = None,
) -> Plan:
    """Choose a pyramid by the least weighted sum of variances, or by target margins.

    Every level gets at least 2 % of the budget (see :mod:`geodp.features.plan.shares`). Errors are
    those of nodes that have all of their children.

    Parameters
    ----------
    grid : Grid
    weights : mapping, optional
        Weights of the variance of blocks, by number of cells, or of published areas, by name.
    targets : mapping, optional
        Alternatively, 95 % margins to meet. The largest ratio to them is minimised, so all are met
        if that is possible, and otherwise missed by the same factor.
    chain : str, optional
        Levels, such as ``"2-4-4-4-4"``; then only their shares are chosen.
    epsilon, rho, delta, neighbours, contribution, unit, people, regions
        See :func:`geodp.plan`.

    Raises
    ------
    UsageError
        The grid's order does not have a block or an area, or a number is not above 0.

    Examples
    --------
    >>> plan = optimise(Grid.regular((64, 64)), targets={1: 20, 4096: 20}, epsilon=1)
    >>> plan.name.startswith("pyramid:chain=12,shares=")
    True
    >>> [round(plan.blocks[i].margin_95, 1) for i in (0, 12)]
    [5.5, 5.5]
    """
    if bool(weights) == bool(targets):
        raise UsageError("Give either weights or targets.", code="weights-or-targets")
    terms = Terms.of(epsilon, rho, delta, neighbours, contribution, unit, people)
    planner = Planner(grid, terms, regions)
    width = planner.plan("pyramid").event.width()
    wishes = _by_digits(grid, weights or targets or {})
    if weights:
        return choose_shares(planner, np.where(wishes < inf, wishes, 0), chain, ratio=False)
    # Targets are 95 % margins at the given budget, while shares are chosen for a budget of 1.
    return choose_shares(planner, wishes / 1.96 / width, chain, ratio=True)


def choose_shares(
    planner: Planner, values: NDArray[np.float64], chain: str, *, ratio: bool
) -> Plan:
    """Choose the pyramid with the best shares, of a given chain or of the best chain."""
    radices = planner.grid.order.radices
    if chain:
        equal = "-".join("1" * (chain.count("-") + 2))
        planner.plan(f"pyramid:chain={chain},shares={equal}")  # refuses an invalid chain
        find = partial(minimise_ratio if ratio else minimise_sum, steps_of(chain))
    else:
        find = partial(best_ratio if ratio else best_sum, len(radices))
    shares = find(values, gaussian=planner.terms.gaussian, radices=radices)
    return planner.plan(shares.spec)


def _by_digits(grid: Grid, wishes: Wishes) -> NDArray[np.float64]:
    """Return values by number of digits that a block's keys share; infinity if there is none."""
    radices = grid.order.radices
    cells = [prod(radices[i:]) for i in range(len(radices) + 1)]
    nodes = nodes_of(grid)
    # Names of areas may be given without the prefix of the code system.
    nodes |= {name.partition(":")[2]: digits for name, digits in nodes.items() if ":" in name}
    values = np.full(len(cells), inf)
    for wish, value in wishes.items():
        if not (isfinite(value) and value > 0):
            raise UsageError(
                "Weights and margins must be numbers above 0.", code="weights-not-positive"
            )
        if wish in nodes:
            values[nodes[str(wish)]] = value
        elif wish in cells:
            values[cells.index(int(wish))] = value
        else:
            named = f", or {', '.join(name for name in nodes if ':' in name)}" if nodes else ""
            raise UsageError(
                f"The tree of this grid has no node {wish}: give a block of "
                f"{', '.join(map(str, cells[:-6:-1]))} ... cells{named}.",
                code="tree-without-node",
            )
    return values
