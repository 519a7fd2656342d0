"""Errors of persons, households and mean size by area, before any data are read."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt

from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.kinds.households.inputs import add_sizes, require_map_only, require_size
from geodp.kinds.households.kind import Protect
from geodp.kinds.households.publish import design_households, require_protect
from geodp.options.shared import DEFAULT_SIZE
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.loss import Budget
from geodp.privacy.terms import ADD_REMOVE, Terms
from geodp.release.request import Request
from geodp.release.transaction import Inputs


@dataclass(frozen=True)
class PlannedError:
    """Standard errors of aligned blocks of so many cells, where nothing is clamped.

    Attributes
    ----------
    cells : int
    persons : float or None
        None: it depends on the sizes of households, if these are protected.
    households : float
    mean_size : float or None
        Of a block with as many people as it would have by the guess; None without a guess.
    """

    cells: int
    persons: float | None
    households: float
    mean_size: float | None


def plan(
    grid: Grid,
    *,
    protect: Protect,
    epsilon: Budget | None = None,
    rho: Budget | None = None,
    delta: Budget | None = None,
    neighbours: str = ADD_REMOVE,
    contribution: int = 1,
    people: float | None = None,
    mean_size: float = 2.3,
    max_size: int = DEFAULT_SIZE,
    method: str | None = None,
) -> list[PlannedError]:
    """List the errors of a release of persons and households, in closed form.

    Parameters
    ----------
    grid : Grid
        The public grid.
    people, mean_size : float
        Public guesses of all persons and of persons for each household, for the error of the mean
        size.
    protect, epsilon, rho, delta, neighbours, contribution, max_size, method
        See :func:`geodp.households.publish`.

    Examples
    --------
    >>> import geodp
    >>> grid = geodp.Grid.regular((512, 512))
    >>> errors = geodp.households.plan(grid, protect="person", epsilon=1, people=3e7)
    >>> [(one.cells, round(one.households, 1), round(one.persons, 1)) for one in errors[:2]]
    [(1, 2.3, 3.2), (4, 4.4, 6.3)]
    """
    require_protect(protect)
    require_map_only(grid)
    size = require_size(max_size)
    terms = Terms.of(epsilon, rho, delta, neighbours, contribution, protect, people)
    if not 1 <= mean_size < inf:
        raise UsageError(
            "mean_size is a public guess of persons for each household, 1 or more.",
            code="households-mean-size",
        )
    # Without data, the contribution is taken as given.
    inputs = Inputs((), (None, None), ContributionBound(contribution))
    planned = grid if protect == "person" else add_sizes(grid, size).grid
    design = design_households(planned, size, Request(terms=terms, method=method), inputs)
    rows = []
    for row in design.shown.expected_error():
        cells, error = row["cells"], row["standard_error"]
        of_persons, of_size = None, None
        if protect == "person":
            # Households and further members are measured alike, and independently.
            of_persons = sqrt(2) * error
        if of_persons is not None and people is not None:
            # The mean size is 1 + q / h: the error of q, and that of h times the ratio.
            homes = people / mean_size * cells / grid.size
            of_size = error * sqrt(1 + (mean_size - 1) ** 2) / homes
        rows.append(PlannedError(cells, of_persons, error, of_size))
    return rows
