"""Flows as one release: both ends met exactly, charged once, free replays."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.errors import UsageError
from geodp.kinds.flows.publish import prepare_flows
from geodp.privacy.terms import Terms
from geodp.release.request import Request
from tests.kinds.flows.worlds import WHERE, rows_of
from tests.refusals import refuses

GRID = geodp.Grid.regular((16, 16))
MESH = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.2, "35.1333333333"))
AMOUNTS = {"epsilon": 1, "contribution": 3}


def trips_on(grid=GRID, seed=3, number=20_000):
    """Trips between near zones, by pair."""
    draw = np.random.default_rng(seed)
    sizes = np.array(grid.shape)[:, None]
    start = np.minimum(draw.gamma(2, sizes / 6, (2, number)).astype(np.int64), sizes - 1)
    end = np.clip(start + np.rint(draw.normal(0, 2, (2, number))).astype(np.int64), 0, sizes - 1)
    index = np.concatenate([start, end])
    return geodp.CountTable.from_index(grid.pairs(), index, np.ones(number, np.int64))


def publish(table=None, **more):
    table = trips_on() if table is None else table
    return geodp.flows.publish(table, **(AMOUNTS | more))


def ends_of(release):
    """Origins and destinations, from the flows and as they are released."""
    flows = release.flows.table
    index = flows.grid.decode(flows.key)
    for at, one in ((0, release.origins.table), (2, release.destinations.table)):
        dense = np.zeros(one.grid.shape, np.int64)
        np.add.at(dense, tuple(index[at : at + 2]), flows.count)
        yield dense, one.to_dense()


@pytest.mark.parametrize("levels", [None, {1: "1/2"}, {2: "0.3", 8: "0.1"}, {16: "1/10"}])
def test_levels_are_measured_as_chosen(levels):
    release = publish(levels=levels)
    stated = {one.side: Fraction(one.share) for one in release.index.guarantee.levels}
    if levels is not None:
        assert stated == {side: Fraction(share) for side, share in levels.items()}
    assert 2 * Fraction(release.index.guarantee.end_share) + sum(stated.values()) == 1
    assert [one.blocks.side for one in release.noisy] == [*stated]


@pytest.mark.parametrize(
    "levels",
    [
        *({4: share} for share in ("1", "0", "-1/2", "half", float("nan"), float("inf"))),
        *({side: "1/2"} for side in (3, 0, True)),
        *({}, {2: "0.6", 4: "0.4"}, [4]),
    ],
)
def test_levels_without_sense_are_refused(levels):
    with refuses(UsageError, "flows-levels-form"):
        publish(levels=levels)


def test_levels_above_the_grid_are_refused():
    for side in (32, 1 << 40):
        with refuses(UsageError, "flows-level-too-large"):
            publish(levels={side: "1/2"})
    assert publish(levels={16: "1/2"}).noisy[0].noisy.shape == (1, 1)


@pytest.mark.parametrize("grid", [3, b"jis:basic"])
def test_a_grid_is_a_grid_or_a_name(grid):
    with refuses(UsageError, "grid-unstated"):
        geodp.flows.publish(rows_of((((0, 1),),)), **WHERE, grid=grid, epsilon=1)


def test_levels_with_too_many_pairs_are_refused_and_never_chosen():
    grid = geodp.Grid.regular((400, 400))
    table = trips_on(grid, number=100)
    with refuses(UsageError, "flows-level-too-fine"):
        publish(table, levels={1: "1/2"})
    request = Request(terms=Terms.of(epsilon=1, contribution=1))
    assert prepare_flows(table, request).design.plan.design.sides[0] > 1


def test_tables_and_methods_of_other_releases_are_refused():
    with refuses(UsageError, "flows-need-pairs"):
        publish(geodp.CountTable.from_dense(np.ones((16, 16), int), GRID))
    with refuses(UsageError, "pyramid-needed"):
        publish(method="topdown")


def test_the_frame_has_both_ends_and_the_count():
    ends = ["origin_row", "origin_col", "destination_row", "destination_col"]
    assert [*publish().to_pandas().columns] == [*ends, "count"]
    frame = publish(trips_on(MESH)).to_pandas()
    assert [*frame.columns] == ["origin", "destination", "count"]
    assert frame["origin"].str.len().eq(8).all()


COUNTED = pa.table({"o": ["52394000", "52394011"], "d": ["52394011", "52394000"], "n": [40, 30]})
GIVEN = {"grid": MESH, "origin": "o", "destination": "d", "value": "n", "contribution": 3}


def test_the_contribution_to_counted_rows_is_that_of_the_unit_that_is_named():
    release = geodp.flows.publish(COUNTED, **GIVEN, unit="person-day", epsilon=1)
    assert (release.index.guarantee.unit, release.index.guarantee.contribution) == ("person-day", 3)


@pytest.mark.parametrize("unit", ["vehicle", "person-year", "Person", ""])
def test_units_that_no_page_speaks_of_are_refused(unit):
    with refuses(UsageError, "flows-unit-unknown"):
        geodp.flows.publish(COUNTED, **GIVEN, unit=unit, epsilon=1)
    with refuses(UsageError, "flows-unit-unknown"):
        publish(unit=unit)


def test_a_map_of_ends_alone_has_no_statistics():
    with refuses(UsageError, "statistics-of-one-of-several"):
        geodp.statistics.estimate_statistics(publish().origins)


@pytest.mark.parametrize("given", [{}, {"prior": trips_on(seed=4), "prior_source": "a census"}])
def test_nothing_is_published_of_no_trips_unless_it_is_allowed(given):
    with refuses(UsageError, "table-empty"):
        publish(trips_on(number=0), **given)
    labelled = geodp.CountTable.from_keys(GRID.pairs().with_attribute("a", ["b", "c"]), [], [])
    for table in (trips_on(number=0), labelled):
        release = publish(table, allow_empty=True, **given)
        totals = {one.table.count.sum() for one in (release.origins, release.destinations)}
        assert totals == {release.flows.table.count.sum()}
