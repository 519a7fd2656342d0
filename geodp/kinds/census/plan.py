"""Errors of all columns by area, before any data are read, and whether a given release helps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, prod, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from geodp.accuracy.part_errors import combine_steps
from geodp.accuracy.variance import TreeVariance
from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.kinds.census.inputs import name_columns
from geodp.kinds.census.margins import HOUSEHOLDS, PERSONS, Margin, Margins, in_order
from geodp.kinds.census.methods import CensusTable
from geodp.kinds.census.publish import NOT_GIVEN, GivenPath, design_census
from geodp.privacy.assumption import ContributionBound
from geodp.privacy.event import Measurement
from geodp.privacy.loss import Budget
from geodp.privacy.terms import ADD_REMOVE
from geodp.release.release import Release
from geodp.release.request import Request, make_request
from geodp.release.transaction import Inputs

NO_MAP = Rule(
    "census-plan-no-map",
    "Errors of a census are planned for squares of cells: give a grid of them.",
)

SIDE = 16
"""Side of the squares whose errors are planned, in cells."""

PLACES = 8
"""Number of places at which an area is tried; its error is their root mean square."""


@dataclass(frozen=True)
class PlannedColumn:
    """Standard errors of a column, where nobody is clamped and places differ more than the noise.

    Attributes
    ----------
    name : str
    errors : tuple of float
        In areas of the sizes of the plan.
    afresh : tuple of float
        The same of a release of all tables; empty without a given release.
    """

    name: str
    errors: tuple[float, ...]
    afresh: tuple[float, ...] = ()


@dataclass(frozen=True)
class CensusPlan:
    """The expected errors of a release of a census; it does not depend on data.

    Attributes
    ----------
    cells : tuple of int
        Numbers of cells of areas: one, an aligned square, and an area anywhere.
    columns : tuple of PlannedColumn
    """

    cells: tuple[int, ...]
    columns: tuple[PlannedColumn, ...] = field(repr=False)

    @property
    def ratio(self) -> float | None:
        """Errors of new columns over those of a release of all tables: their geometric mean.

        None without a given release.
        """
        new = [one for one in self.columns if one.afresh and one.name != PERSONS]
        logs = [np.log(np.divide(one.errors, one.afresh)) for one in new]
        return float(np.exp(np.mean(logs))) if logs else None

    @property
    def keeps_persons(self) -> bool:
        """Whether new columns are nearer to the truth if the given release is kept."""
        return self.ratio is not None and self.ratio <= 1

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        columns = [
            {
                "name": one.name,
                "areas": [
                    {"cells": cells, "standard_error": error, **more}
                    for cells, error, more in zip(
                        self.cells,
                        one.errors,
                        [{"afresh_error": each} for each in one.afresh] or [{}] * len(self.cells),
                        strict=True,
                    )
                ],
            }
            for one in self.columns
        ]
        better = {} if self.ratio is None else {"ratio": self.ratio, "given": self.keeps_persons}
        return {"columns": columns, **better}


def plan(
    grid: Grid,
    margins: Mapping[str, Sequence[str]],
    *,
    households: bool = False,
    household_margins: Mapping[str, Sequence[str]] | None = None,
    epsilon: Budget | None = None,
    rho: Budget | None = None,
    delta: Budget | None = None,
    neighbours: str = ADD_REMOVE,
    contribution: int = 1,
    method: str | None = None,
    cells: int = 64,
    given: str | Path | None = None,
    given_source: str | None = None,
) -> CensusPlan:
    """List the errors of a release of a census by area, in closed form.

    Parameters
    ----------
    grid : Grid
        The public map.
    margins : mapping of str to sequence of str
        Labels of the margins of the persons, with those of their rests.
    households : bool
        Whether households are counted, too.
    household_margins : mapping of str to sequence of str, optional
        Labels of the margins of the households.
    cells : int
        Number of cells of the largest area, such as a municipality.
    given : path, optional
        Folder of an earlier release of the same persons, which is public: errors are also those of
        a release of all tables afresh, with the same budget.
    epsilon, rho, delta, neighbours, contribution, method, given_source
        See :func:`geodp.census.publish`.

    Raises
    ------
    UsageError
        As :func:`geodp.census.publish` before anything is charged.

    Examples
    --------
    >>> import geodp
    >>> grid = geodp.Grid.regular((64, 64))
    >>> found = geodp.census.plan(grid, {"sex": ["f", "m"]}, epsilon=1)
    >>> found.cells
    (1, 256, 64)
    >>> [(one.name, round(one.errors[0], 1)) for one in found.columns]
    [('persons', 2.4), ('f', 2.4), ('m', 2.4)]
    """
    if not 1 <= cells <= grid.size:
        raise UsageError(
            f"cells is the number of cells of an area, from 1 to {grid.size:,}, and not {cells}.",
            code="plan-cells",
        )
    populations = ((PERSONS, margins), (HOUSEHOLDS, household_margins or {}))
    listed = (Margin(name, of, (*one,)) for of, some in populations for name, one in some.items())
    relations = Margins(in_order(listed), households)
    request = make_request(
        epsilon=epsilon, rho=rho, delta=delta, neighbours=neighbours,
        contribution=contribution, method=method,
    )  # fmt: skip
    areas = list_areas(grid, cells)
    kept = _predict(grid, relations, request, areas, (given, given_source))
    fresh = kept if given is None else _predict(grid, relations, request, areas, NOT_GIVEN)
    columns = (
        PlannedColumn(name, errors, () if given is None else fresh[name])
        for name, errors in kept.items()
    )
    return CensusPlan(tuple(some[0].cells for some in areas), tuple(columns))


def list_areas(grid: Grid, cells: int) -> list[list[Region]]:
    """List cells, aligned squares, and areas of so many cells, each at some places of the domain.

    A fixed seed: the same plan has the same numbers.
    """
    place, random = grid.require_map(NO_MAP), np.random.default_rng(0)
    side = min(SIDE, place.rows, place.cols)
    height = min(max(round(sqrt(cells)), ceil(cells / place.cols)), place.rows)
    numbers = random.integers(grid.domain.cells, size=PLACES)
    rows, cols = grid.decode(grid.domain.keys_of_ranks(numbers))[:2]
    areas: list[list[Region]] = [[], [], []]
    for row, col in zip(rows.tolist(), cols.tolist(), strict=True):
        shapes = ((1, 1, 1), (side, side, side**2), (height, -(-cells // height), cells))
        for some, (down, right, number) in zip(areas, shapes, strict=True):
            top, left = min(row, place.rows - down), min(col, place.cols - right)
            if number == side**2:
                top, left = top // side * side, left // side * side
            y, x = (each.reshape(-1)[:number] for each in np.indices((down, right)))
            some.append(Region.of_map(grid, top + y, left + x))
    return areas


def _predict(
    grid: Grid,
    margins: Margins,
    request: Request,
    areas: Sequence[Sequence[Region]],
    given: GivenPath,
) -> dict[str, tuple[float, ...]]:
    """Compute the standard errors of all columns in areas of every size."""
    inputs = Inputs((), (), ContributionBound(request.terms.contribution or 1))
    columns = name_columns(margins)
    census = design_census(grid, margins, columns, "refuse", request, inputs, given).preview
    variances = {
        name: np.array([_average(one, grid, some) for some in areas])
        for name, one in census.releases.items()
    }
    found = {}
    for one in columns:
        method, variance = census.releases[one.table].method, variances[one.table]
        if isinstance(method, CensusTable) and one.parts:
            parts = prod(len(each.labels) for each in margins.path(one.table))
            steps = method.list_steps(variances)
            noise, even = combine_steps(steps, census.number_parts(one), parts)
            variance = noise + even**2 * variances[margins.population(one.table)]
        found[one.name] = tuple(np.sqrt(variance).tolist())
    return found


def _average(release: Release, grid: Grid, areas: Sequence[Region]) -> float:
    """Average the variances of one count of a table over areas."""
    method, event = release.method, release.event
    assert isinstance(event, Measurement)  # as of a design, and of a given release
    if isinstance(method, CensusTable):
        tree: TreeVariance | None = method.count_variance(grid, event)
    else:
        tree = method.tree_variance(grid, event)
    assert tree is not None  # as a given release has closed forms
    return float(np.mean([tree.region(one.key, grid) for one in areas]))
