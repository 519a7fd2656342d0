"""Comparison of plans of several methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from geodp.errors import UsageError
from geodp.features.plan.plan import Plan, Planner
from geodp.grid.grid import Grid
from geodp.mechanisms import Mechanism
from geodp.privacy.budget import Budget
from geodp.privacy.neighbours import ADD_REMOVE
from geodp.privacy.terms import Terms
from geodp.reprs import one_line


@dataclass(frozen=True, eq=False)
class Comparison:
    """Plans of several methods or settings on one grid.

    Attributes
    ----------
    plans : tuple of Plan
    refused : dict of str to str
        Methods that cannot take the grid or the budget, and why.
    """

    __repr__ = one_line

    plans: tuple[Plan, ...]
    refused: dict[str, str]

    def table(self) -> dict[int, dict[str, float]]:
        """Return standard errors by number of cells of a block, and by method."""
        errors: dict[int, dict[str, float]] = {}
        for one in self.plans:
            for block in one.blocks:
                if block.standard_error is not None:
                    errors.setdefault(block.cells, {})[one.name] = block.standard_error
        return dict(sorted(errors.items()))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {"plans": [one.to_dict() for one in self.plans], "refused": self.refused}


def compare(
    grid: Grid,
    methods: Sequence[str | Mechanism],
    *,
    epsilon: Budget | None = None,
    rho: Budget | None = None,
    delta: Budget | None = None,
    neighbours: str = ADD_REMOVE,
    contribution: int | None = None,
    unit: str = "person",
    people: float | None = None,
    regions: Mapping[str, Any] | None = None,
) -> Comparison:
    """Plan several methods; other parameters are those of :func:`geodp.plan`.

    Raises UsageError if none of them can be planned.

    Examples
    --------
    >>> comparison = compare(Grid.regular((64, 64)), ["pyramid", "topdown"], epsilon=1)
    >>> {name: round(error, 1) for name, error in comparison.table()[64].items()}
    {'pyramid': 11.3, 'topdown': 10.6}
    """
    terms = Terms.of(epsilon, rho, delta, neighbours, contribution, unit, people)
    planner = Planner(grid, terms, regions)
    plans: dict[str, Plan] = {}
    refused = {}
    for method in methods:
        try:
            one = planner.plan(method)
        # One method that does not support the grid must not prevent the comparison of the others.
        except UsageError as error:
            refused[method if isinstance(method, str) else method.spec] = str(error)
        else:
            plans[one.name] = one
    if not plans:
        raise UsageError(
            "; ".join(f"{name}: {why}" for name, why in refused.items()), code="methods-refused"
        )
    return Comparison(tuple(plans.values()), refused)
