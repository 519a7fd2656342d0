"""Made-up series of every kind, for tests of what all of them have in common."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

import geodp
from geodp.kinds.amounts.publish import AmountsInputs
from geodp.kinds.amounts.series import (
    AmountsSeriesOptions,
    design_series,
    prepare_series,
)
from geodp.kinds.flows import series as of_flows
from geodp.kinds.flows.publish import FlowsInputs, declare_prior
from geodp.kinds.flows.zones import Zones, zones_of
from geodp.kinds.households import series as of_households
from geodp.privacy.terms import Terms
from geodp.release.periods import Periods
from geodp.release.request import Request
from geodp.release.transaction import Inputs
from tests.contract.kinds import OWN
from tests.kinds.amounts.series import made as amounts

GRID = geodp.Grid.regular((16, 16))
TIMES = Periods.of(["2015", "2020"])
SIZED = GRID.with_attribute("size", ["1", "2", "3+"])


def _homes(year):
    """Persons and households of a year, each household of three persons or fewer."""
    draw = np.random.default_rng(year)
    homes = draw.integers(0, 60, GRID.shape)
    persons = homes + draw.integers(0, 2 * homes + 1)
    return [geodp.CountTable.from_dense(one, GRID) for one in (persons, homes)]


def _sizes(year):
    counts = np.random.default_rng(year).integers(0, 60, SIZED.shape)
    return geodp.CountTable.from_dense(counts, SIZED)


def _trips(year):
    key = np.random.default_rng(year).integers(0, 1 << 16, 3000).astype(np.uint64)
    return geodp.CountTable.from_keys(GRID.pairs(), key, np.ones(3000, np.int64))


@dataclass(frozen=True)
class Made:
    """A series that is ready to be drawn, and how its design is made again of its inputs."""

    prepared: Any
    design: Any
    inputs: type


def households(request, person, by_size=False):
    """Make a series of persons and households that protects persons, or households by size."""
    terms = replace(request.terms, unit="household" if by_size else "person")
    request = replace(request, terms=terms)
    tables = [
        {"by_size": _sizes(year)}
        if by_size
        else dict(zip(("persons", "households"), _homes(year), strict=True))
        for year in (1, 2)
    ]
    prepared = of_households.prepare_series(tables, TIMES, 3, request, person=person)
    grid = SIZED if by_size else GRID
    design = partial(of_households.design_series, grid, TIMES, 3, request, person=person)
    return Made(prepared, design, Inputs)


def flows(request, person, prior=False):
    """Make a series of flows."""
    tables, known = [_trips(year) for year in (1, 2)], None
    zones = Zones.of(zones_of(tables[0].grid))
    if prior:
        known = declare_prior(zones, _trips(3), "a survey of ten years before")
    options = of_flows.FlowsSeriesOptions(person=person)
    prepared = of_flows.prepare_series(tables, TIMES, request, options, prior=known)
    design = partial(of_flows.design_series, zones, (), TIMES, request, options)
    return Made(prepared, design, FlowsInputs)


def of_amounts(request, person):
    """Make a series of amounts."""
    tables, options = amounts.tables(n=500), AmountsSeriesOptions(person=person)
    prepared = prepare_series(tables, TIMES, request, options)
    design = partial(design_series, tables[0].axes, TIMES, request, options)
    return Made(prepared, design, AmountsInputs)


def own(request, person):
    """Make a series of a kind of one's own."""
    tables = [dict(zip(("adults", "employed"), _homes(year), strict=True)) for year in (1, 2)]
    prepared = OWN.prepare_series(tables, TIMES, request, person=person)
    design = partial(OWN.design_series, GRID, TIMES, request, person=person)
    return Made(prepared, design, Inputs)


KINDS = {
    "amounts": of_amounts,
    "households of persons": households,
    "households by size": partial(households, by_size=True),
    "flows": flows,
    "flows with a prior": partial(flows, prior=True),
    "own kind": own,
}


def make(kind, person="all", *, key=None, ledger=None, **terms):
    """Prepare a series of a kind in which one person is in all periods, or in one."""
    terms = Terms.of(**({"epsilon": 1, "contribution": 1} | terms))
    dataset = None if ledger is None else "census"
    return KINDS[kind](Request(terms=terms, key=key, ledger=ledger, dataset=dataset), person)
