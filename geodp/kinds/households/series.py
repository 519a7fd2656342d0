"""Publish persons and households of several periods, under one budget with one charge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from geodp.advice import takes
from geodp.errors import Rule, UsageError
from geodp.grid.grid import Grid
from geodp.kinds.households.households import Households
from geodp.kinds.households.kind import HouseholdsSeriesCard, Protect
from geodp.kinds.households.publish import (
    TABLES,
    AnyHouseholds,
    CheckedTables,
    check_tables,
    design_households,
    list_clips,
    require_protect,
)
from geodp.mechanisms import Mechanism
from geodp.mechanisms.central.parts import Parts
from geodp.options.shared import DEFAULT_SIZE
from geodp.release.periods import Periods
from geodp.release.preview import warn_before_release
from geodp.release.request import (
    OF_TABLES,
    Request,
    choose_pyramid,
    make_request,
    make_series_request,
)
from geodp.release.series import (
    PeriodsDesign,
    ReleasedPeriods,
    design_periods,
    join_inputs,
    prepare_periods,
    require_alike,
    share_periods,
)
from geodp.release.sharing import Person
from geodp.release.transaction import Inputs, Prepared
from geodp.table.contribution import combine_bounds
from geodp.table.counts import CountTable

EXPECTED = Rule(
    "households-series-tables",
    "A series of households takes for each period the tables by their names: "
    '{"persons": ..., "households": ...}, perhaps with "others"; or {"by_size": ...}.',
)

HouseholdsSeries = ReleasedPeriods[Households, HouseholdsSeriesCard]
"""Releases of persons and households in chronological order."""


@takes(make_request, without=(*OF_TABLES, "unit"), cap="max_size", unit="protect")
def publish_series(
    tables: Sequence[Mapping[str, CountTable]],
    *,
    times: Sequence[str],
    person: Person,
    protect: Protect,
    max_size: int = DEFAULT_SIZE,
    size_attribute: str | None = None,
    method: str | None = None,
    **options: Any,
) -> HouseholdsSeries:
    """Release persons and households of several periods under one budget, with one charge.

    Every period is a release as of :func:`geodp.households.publish`, with its part of the budget
    and with noise of its own. Nothing is smoothed over time.

    Parameters
    ----------
    tables : sequence of mapping of str to CountTable
        Of every period in the order of time, what :func:`geodp.households.publish` takes, by name:
        ``persons`` and ``households``, perhaps with ``others``; or ``by_size``. All are on one
        grid.
    times : sequence of str
        Public: years, months, days or hours in ISO 8601 (``2024-05``), evenly spaced.
    person : {"all", "one"}
        Whether one person, or one household if these are protected, may be in every period, which
        then share the budget, or is in only one, and each has all of it. You assert this.
    protect, max_size, size_attribute, method
        See :func:`geodp.households.publish`; the same in all periods.
    contribution, people
        As for :func:`geodp.households.publish`, of one period.
    epsilon, rho, delta
        Budget of all periods together, exact: epsilon alone for Laplace noise, otherwise the noise
        is Gaussian.

    Returns
    -------
    ReleasedPeriods
        Releases by number and by time, with ``estimate(region)`` and ``compare(region)``.

    Raises
    ------
    UsageError
        Before the charge: tables of different grids or of other names, times that are missing or
        repeated, and as for :func:`geodp.households.publish`.
    BudgetError
        The ledger's cap would be exceeded; nothing was charged or shown.

    Examples
    --------
    >>> import numpy as np, geodp
    >>> grid = geodp.Grid.regular((16, 16))
    >>> years = []
    >>> for homes in (40, 42):
    ...     counts = {"persons": np.full((16, 16), 90), "households": np.full((16, 16), homes)}
    ...     years.append({n: geodp.CountTable.from_dense(c, grid) for n, c in counts.items()})
    >>> series = geodp.households.publish_series(years, times=["2015", "2020"], person="all",
    ...     protect="person", epsilon=1, contribution=1)
    >>> series["2020"].index.guarantee.spends
    'epsilon = 1/2'
    """
    require_protect(protect)
    request = make_series_request(**options, method=method, unit=protect)
    asked: dict[str, Any] = {"person": person, "size_attribute": size_attribute}
    prepared = prepare_series(tables, Periods.of(times), max_size, request, **asked)
    # Between: the frame of the decorator.
    warn_before_release(prepared.design.shown, between=1)
    return prepared.release()


def prepare_series(
    tables: Sequence[Mapping[str, CountTable | None]],
    periods: Periods,
    max_size: int,
    request: Request,
    *,
    person: Person,
    size_attribute: str | None = None,
) -> Prepared[PeriodsDesign, HouseholdsSeries]:
    """Do everything of :func:`publish_series` that comes before the charge.

    Raises
    ------
    UsageError
        See :func:`publish_series`.
    """
    if not all(isinstance(one, Mapping) and {*one} <= {*TABLES} for one in tables):
        raise UsageError(EXPECTED)
    checked = [
        check_tables(one, max_size, request, size_attribute=size_attribute) for one in tables
    ]
    first = require_alike(checked, periods, CheckedTables, EXPECTED, _list_alike)
    # The charge must cover the largest contribution in any of the periods.
    bound = combine_bounds([one.bound(request.terms.contribution) for one in checked])
    further = [fact for one in checked for fact in (*one.list_facts(bound), *list_clips(one))]
    joined = [
        join_inputs(one, periods, further, allow_empty=request.allow_empty)
        for one in zip(*(one.read for one in checked), strict=True)
    ]
    facts = dict.fromkeys(fact for facts, _ in joined for fact in facts)
    inputs = Inputs(tuple(facts), tuple(reading for _, reading in joined), bound)
    design = design_series(first.grid, periods, first.max_size, request, inputs, person=person)
    parts = [
        one.prepare(part, period=True) for one, part in zip(checked, design.parts, strict=True)
    ]
    return prepare_periods(design, parts)


def _list_alike(tables: CheckedTables) -> dict[str, object]:
    """List what all periods have the same of."""
    return {"grid": tables.grid, "set of tables": [*tables.named]}


def design_series(
    grid: Grid,
    periods: Periods,
    max_size: int,
    request: Request,
    inputs: Inputs,
    *,
    person: Person,
) -> PeriodsDesign:
    """Design a series from public things alone; raises as :func:`publish_series`.

    ``grid``: with the sizes, if households are protected.
    """
    method: Mechanism = Parts()
    if request.terms.unit != "household":
        method = choose_pyramid(request.method, "Persons and households")
    sharing = share_periods(
        grid, method, request.terms.bound(inputs.bound), len(periods.names), person
    )

    def make(each: Request) -> AnyHouseholds:
        return design_households(grid, max_size, each, inputs)

    return design_periods(make, HouseholdsSeriesCard, periods, sharing, request, inputs)
