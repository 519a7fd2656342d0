"""Stated errors of blocks and areas under orders of areas and hierarchies, by simulation.

Every cell holds so many people that nothing is clamped, and keys are fixed. A statement is right
when the mean of squared errors over all blocks of a size, each divided by what is stated of it, is
1 within five of its own standard errors: squares of Laplace noise are skewed.
"""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.grid.hierarchy import Hierarchy
from geodp.mechanisms import mechanism
from geodp.privacy.key import NoiseKey
from geodp.privacy.terms import Terms

PEOPLE = 1_000_000
TRIALS, MOST = 200, 5
METHODS = [
    *[
        "geometric",
        "hay",
        "hay:fanout=3",
        "privelet",
        "hb",
        "matrix",
        "pyramid",
        "privelet-nominal",
    ],
    "barak:order=0,nonnegative=no",
]
NO_FORM = ["agrid", "dawa", "filter", "laplace-nonnegative", "mwem", "ugrid", "uniform"]


@cache
def grids():
    """Cells of 1 km and 10 km across the edges of published areas, of 100 km, and regions."""
    basic = geodp.Grid.mesh("jis:basic", bounds=(138.1, 35.0, 138.15, 35.025))
    tens = geodp.Grid.mesh("jis:secondary", bounds=(138.75, 35 + 1 / 12, 139.25, 35 + 1 / 3))
    ages = tens.with_attribute("age", ["child", "adult", "old"])
    europe = geodp.Grid.mesh("inspire:10km", bounds=(4080000, 2480000, 4120000, 2520000))
    cell = np.array(np.nonzero(np.ones(tens.shape)))
    row, col = cell = cell[:, cell.sum(axis=0) > 1]
    regions = Hierarchy.of_cells(
        cell,
        {"prefecture": (col // 3).astype(str), "city": (row // 2 * 10 + col // 2).astype(str)},
        "an example",
    )
    return {
        "official": basic.with_official_order(),
        "under": ages.with_official_order("jis:primary"),
        "above": ages.with_official_order("above"),
        "Europe": europe.with_official_order(),
        "regions": tens.with_hierarchy(regions),
        "regions, ages above": ages.with_hierarchy(regions, "above"),
        "regions, ages under": ages.with_hierarchy(regions, "prefecture"),
    }


GRIDS = [
    *["official", "under", "above", "Europe", "regions", "regions, ages above"],
    "regions, ages under",
]


def cells_of(grid):
    index = np.indices(grid.shape, dtype=np.int64).reshape(len(grid.shape), -1)
    return index[:, grid.contains(index)]


def simulated(method, grid, trials=TRIALS):
    """Released minus true counts of every cell in key order: float64[trials, cells]; and these."""
    index = cells_of(grid)
    table = geodp.CountTable.from_index(grid, index, np.full(index.shape[1], PEOPLE))
    spent = method.event(grid, Terms.of(epsilon=Fraction(1, 4), contribution=1))
    found = np.zeros((trials, table.key.size))
    for trial in range(trials):
        released = method.release(table, spent, NoiseKey(trial.to_bytes(32, "little")))
        found[trial, np.searchsorted(table.key, released.key)] = released.count
    return found - PEOPLE, table.key, spent


def off(errors, variance):
    """Standard errors between measured and stated squares, and between the mean error and 0."""
    ratio = (errors**2 / variance).mean(axis=1) - 1
    bias = (errors / np.sqrt(variance)).mean(axis=1)
    return [float(x.mean() / (x.std(ddof=1) / np.sqrt(x.size))) for x in (ratio, bias)]


@pytest.mark.law
@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("spec", METHODS)
def test_stated_errors_of_blocks_are_the_measured_ones(spec, name):
    method, grid = mechanism(spec), grids()[name]
    if method.unsupported(grid):
        pytest.skip("takes no such grid")
    try:
        errors, key, spent = simulated(method, grid)
    except UsageError:
        pytest.skip("takes no such grid at this budget")
    stated = method.block_errors(grid, spent)
    assert len(stated) == len(grid.order.radices) + 1
    for digits, block in enumerate(stated):
        stride = int(np.prod(grid.order.radices[digits:], dtype=np.int64))
        number, first = np.unique(key // np.uint64(stride), return_index=True)
        sums = np.add.reduceat(errors, first, axis=1)
        variance = method.variances_of(grid, spent, stride, number)
        square, bias = off(sums, variance)
        assert abs(bias) < MOST
        assert square < MOST
        # Two passes over nodes that the edge of a box leaves few children: a bound.
        assert square > -MOST or (spec == "pyramid" and grid.hierarchy is None)
        assert block.largest == pytest.approx(np.sqrt(variance.max()))
        assert block.standard_error <= block.largest * (1 + 1e-12)
        if grid.hierarchy is not None:
            assert block.standard_error == pytest.approx(np.sqrt(np.median(variance)))
            assert block.cells == int(np.median(np.diff([*first, key.size])))


def test_a_statement_that_is_off_by_two_fifths_is_caught():
    method, grid = mechanism("hay"), grids()["regions"]
    errors, key, spent = simulated(method, grid)
    variance = method.variances_of(grid, spent, 1, key)
    assert max(map(abs, off(errors, variance))) < MOST
    assert abs(off(errors, 1.4 * variance)[0]) > MOST
    assert abs(off(errors, variance / 1.4)[0]) > MOST
    assert abs(off(errors + np.sqrt(variance) / 2, variance)[1]) > MOST


@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("spec", METHODS)
def test_the_card_and_the_plan_say_the_same_before_any_noise(spec, name):
    method, grid = mechanism(spec), grids()[name]
    if method.unsupported(grid):
        pytest.skip("takes no such grid")
    table = geodp.CountTable.from_index(grid, cells_of(grid)[:, :4], [5, 6, 7, 8])
    release = geodp.publish(
        table,
        method=spec,
        epsilon=20,
        contribution=1,
        key=NoiseKey(bytes(32)),
    )
    card = release.card().expected_error
    planned = geodp.plan(grid, spec, epsilon=20, contribution=1)
    assert [area.level for area in card.areas] == [level for level, _ in grid.areas.above_cells]
    errors = [block.standard_error for block in reversed(planned.blocks)]
    for area, (_, digits) in zip(card.areas, grid.areas.above_cells, strict=True):
        assert area.standard_error == pytest.approx(errors[digits], rel=1e-5)
    assert card.blocks[0].standard_error == pytest.approx(errors[-1], rel=1e-5)
    named = {area.name: area for area in planned.areas}
    for area in card.areas:
        found = next(found for title, found in named.items() if title.startswith(area.level))
        assert found.standard_error is not None
    for areas in release.areas():
        assert areas.standard_error is not None
        assert (areas.standard_error > 0).all()


@pytest.mark.parametrize("spec", NO_FORM)
def test_only_errors_that_depend_on_the_data_have_no_closed_form(spec):
    method, grid = mechanism(spec), grids()["official"]
    assert not method.unsupported(grid)
    table = geodp.CountTable.from_index(grid, cells_of(grid)[:, :4], [5, 6, 7, 8])
    release = geodp.publish(table, method=spec, epsilon=1, contribution=1, key=NoiseKey(bytes(32)))
    assert release.card().expected_error.blocks is None
    assert [areas.standard_error for areas in release.areas()] == [None] * len(
        grid.areas.above_cells
    )
