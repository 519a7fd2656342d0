"""Where attributes are split: below, above, among or under areas; and real tables of many."""

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.grid.region import Region
from geodp.mechanisms import mechanism
from tests.mechanisms.central.test_pyramid import SECRET, compare
from tests.refusals import refuses

SMALL = (
    geodp.Grid.regular((3, 4)).with_attribute("sex", ["f", "m"]).with_attribute("age", list("abc"))
)
OFFICIAL = (
    geodp.Grid.mesh("inspire:10km", bounds=(4_080_000, 2_980_000, 4_120_000, 3_020_000))
    .with_attribute("sex", ["f", "m"])
    .with_attribute("age", list("abc"))
)


def test_bits_of_attributes_below_above_and_among():
    below, above, among = (
        SMALL.with_attribute_order(place) for place in ("below", "above", "interleaved")
    )
    assert below == SMALL
    assert below.order.axes == (0, 1, 0, 1, 2, 3, 3)
    assert above.order.axes == (2, 3, 3, 0, 1, 0, 1)
    assert among.order.axes == (0, 1, 3, 0, 1, 2, 3)
    for grid in (below, above, among):
        assert grid.order.is_binary
        for place in ("below", "above", "interleaved"):
            assert grid.with_attribute_order(place) == SMALL.with_attribute_order(place)
        assert (grid.size, grid.shape, grid.areas.nested) == (72, (3, 4, 2, 3), False)
        index = np.argwhere(np.ones(grid.shape)).T
        assert (grid.decode(grid.encode(index)) == index).all()


@pytest.mark.parametrize(
    ("place", "steps"),
    [
        ("below", ["inspire:100km", "inspire:10km", "sex", "age"]),
        ("above", ["sex", "age", "inspire:100km", "inspire:10km"]),
        ("inspire:100km", ["inspire:100km", "sex", "age", "inspire:10km"]),
    ],
)
def test_attributes_under_official_areas(place, steps):
    grid = OFFICIAL.with_official_order(place)
    assert grid == OFFICIAL.with_official_order().with_attribute_order(place)
    assert [name for name, _ in grid.areas.steps] == steps
    index = np.argwhere(np.ones(grid.shape)).T
    key = grid.encode(index)
    assert (grid.decode(key) == index).all()
    assert np.unique(key).size == key.size == grid.size


def test_places_that_a_grid_does_not_have():
    with refuses(UsageError, "attribute-order-unknown: interleaved"):
        SMALL.with_attribute_order("inspire:100km")
    with refuses(UsageError, "attribute-order-unknown: inspire:100km"):
        OFFICIAL.with_official_order("interleaved")
    with refuses(UsageError, "order-not-last"):
        SMALL.with_attribute_order("above").with_attribute("hour", ["am", "pm"])


def grids():
    for place in ("below", "above", "interleaved"):
        yield SMALL.with_attribute_order(place)
    for place in ("below", "above", "inspire:100km"):
        yield OFFICIAL.with_official_order(place)


@pytest.mark.law
@pytest.mark.parametrize("number", range(6))
def test_releases_equal_their_definition_and_marginals_add_up(number):
    grid = list(grids())[number]
    counts = np.random.default_rng(number).poisson(8, grid.shape)
    table = geodp.CountTable.from_dense(counts, grid)
    every = grid.contains_keys(np.arange(np.prod(grid.order.radices), dtype=np.uint64))
    compare(mechanism("pyramid"), table, "1", lambda a, b: every[a:b].any())
    for method in ("pyramid", "topdown"):
        key = geodp.NoiseKey(SECRET)
        if method == "topdown" and not grid.order.is_binary:
            with refuses(UsageError, "order-without-halves"):
                geodp.publish(table, method=method, epsilon=1, key=key, contribution=1)
            continue
        release = geodp.publish(table, method=method, epsilon=1, key=key, contribution=1)
        additive(release, [Region.of_map(grid, [1, 2], [0, 1]), Region.of_map(grid, [0], [3])])


def additive(release, places=()):
    """Sums over an attribute are the place's total, and sums over places the attribute's."""
    grid, dense = release.grid, release.table.to_dense()
    assert (release.table.count > 0).all()
    assert dense.sum() == release.table.total == release.estimate(everywhere(grid)).count
    for attribute in grid.attributes:
        parts = [
            release.estimate(everywhere(grid, {attribute.name: label})).count
            for label in attribute.labels
        ]
        assert sum(parts) == release.table.total
    for place in places:
        row, col, *_ = grid.decode(place.key)
        cells = np.unique([row, col], axis=1)
        whole = release.estimate(Region.of_map(grid, *cells)).count
        for attribute in grid.attributes:
            parts = [
                release.estimate(Region.of_map(grid, *cells, {attribute.name: label})).count
                for label in attribute.labels
            ]
            assert sum(parts) == whole


def everywhere(grid, labels=None):
    place = grid.places[0]
    return Region.of_map(grid, *np.indices((place.rows, place.cols)).reshape(2, -1), labels)


def test_a_total_above_is_more_accurate_where_it_is_measured_first():
    """The count by sex of everywhere: one node above all places, many sums of cells below."""
    errors = {}
    for place in ("below", "above"):
        grid = geodp.Grid.regular((16, 16)).with_attribute("sex", ["f", "m"])
        grid = grid.with_attribute_order(place)
        table = geodp.CountTable.from_dense(np.full(grid.shape, 500), grid)
        given = {"epsilon": 1, "key": geodp.NoiseKey(SECRET), "contribution": 1}
        release = geodp.publish(table, method="pyramid", **given)
        errors[place] = release.standard_error(everywhere(grid, {"sex": "f"}))
    assert errors["above"] < errors["below"] / 1.9
