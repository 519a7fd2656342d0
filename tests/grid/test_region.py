"""Errors of regions on domains with edges, against explicit covariance matrices."""

import numpy as np
import pytest
import shapely

from geodp import CountTable, Grid, NoiseKey, publish
from geodp.accuracy.variance import TreeVariance
from geodp.errors import CodeError, UsageError
from geodp.grid.hierarchy import Hierarchy
from geodp.grid.region import Region
from tests.refusals import refuses

GRID = Grid.mesh("jis:half", bounds=(139, 35, 139.5, 35.5))
PLAIN = Grid.regular((5, 11))


def covariance(fanouts, variances, inside):
    """Covariance of cells: every node shares out equally, its children deviate around that."""
    n = inside.size

    def children(level, low, size):
        step = size // fanouts[level]
        starts = range(low, low + size, step)
        return [start for start in starts if inside[start : start + step].any()], step

    def weights(level, low, size):
        out = np.zeros(n)
        if level == len(fanouts):
            out[low] = 1
            return out
        some, step = children(level, low, size)
        return sum(weights(level + 1, start, step) for start in some) / len(some)

    def below(level, low, size):
        if level == len(fanouts):
            return np.zeros((n, n))
        some, step = children(level, low, size)
        shares = np.array([weights(level + 1, start, step) for start in some]).T
        own = variances[level + 1] * (np.eye(len(some)) - 1 / len(some))
        return shares @ own @ shares.T + sum(below(level + 1, start, step) for start in some)

    root = weights(0, 0, n)
    return variances[0] * np.outer(root, root) + below(0, 0, n)


@pytest.mark.parametrize(
    ("fanouts", "variances"),
    [((2,) * 5, (4.0, *[2.0] * 5)), ((8, 4), (3.0, 5.0, 1.0)), ((32,), (30.0, 2.0))],
)
def test_error_of_a_region_at_the_edges(fanouts, variances):
    grid = Grid.regular((5, 3))
    inside = grid.contains_keys(np.arange(32, dtype=np.uint64))
    exact = covariance(fanouts, variances, inside)
    generator = np.random.default_rng(0)
    for _ in range(20):
        chosen = inside & (generator.random(32) < 0.5)
        found = TreeVariance(fanouts, variances).region(np.flatnonzero(chosen).astype("u8"), grid)
        assert found == pytest.approx(chosen @ exact @ chosen)


def test_an_area_a_polygon_and_a_rectangle_are_the_same_cells():
    area = Region.of(GRID, "523960")
    west, south, east, north = 139, 35 + 1 / 6, 139 + 1 / 8, 35.25  # a 10 km mesh
    assert (Region.of(GRID, (west, south, east, north)).key == area.key).all()
    assert (Region.of(GRID, shapely.box(west, south, east, north)).key == area.key).all()
    assert area.cells == 400
    assert Region.of(GRID, ["523960", "5239600011"[:8]]).cells == 400  # one holds the other


def test_what_is_no_region():
    with pytest.raises(CodeError):
        Region.of(GRID, "643960")
    with pytest.raises(UsageError):
        Region.of(GRID, (1, 2, 3))
    with pytest.raises(UsageError):
        Region.of(GRID, np.array([1, 2], np.int64))


@pytest.mark.parametrize("method", ["topdown", "pyramid", "laplace", "privelet"])
def test_estimates(method):
    counts = np.random.default_rng(1).poisson(300, GRID.shape)
    table = CountTable.from_dense(counts, GRID)
    release = publish(table, method=method, epsilon=1, key=NoiseKey(bytes(32)), contribution=1)
    found = release.estimate("523960")
    inside = np.isin(release.table.key, Region.of(GRID, "523960").key)
    assert found.count == release.table.count[inside].sum()
    assert not found.clamped
    width = (found.high - found.low) / found.standard_error
    assert 2 * 1.959 < width < 2 * 2.119  # Laplace noise has longer tails
    assert release.standard_error("523960") == found.standard_error


@pytest.mark.parametrize("method", ["laplace", "geometric", "privelet", "hay:fanout=3"])
def test_one_cell_of_a_padded_domain_has_at_most_the_stated_error(method):
    grid = Grid.regular((5, 3))
    table = CountTable.from_dense(np.full((5, 3), 50), grid)
    release = publish(table, method=method, epsilon=1, key=NoiseKey(bytes(32)), contribution=1)
    errors = [
        release.standard_error(Region.of(grid, np.array([[row], [col]])))
        for row in range(5)
        for col in range(3)
    ]
    assert max(errors) == pytest.approx(release.standard_error(1))


@pytest.mark.parametrize("given", [(35.2, 139.2, 35.5, 139.5), (0.0, 0.0, 1.0, 1.0)])
def test_a_region_without_a_cell_is_refused(given):
    with refuses(UsageError, "region-without-cell"):
        Region.of(GRID, given)


REGIONS = Hierarchy.of_cells(
    [[0, 0, 1, 1, 2], [0, 1, 0, 1, 0]],
    {"county": list("AAABB"), "town": ["1", "1", "2", "1", "9"]},
    "an example",
)


def test_regions_of_an_office_have_codes_with_those_above_where_several_have_one():
    grid = Grid.regular((3, 2)).with_hierarchy(REGIONS).with_attribute("sex", ["f", "m"])
    assert Region.of(grid, "A").cells == 6
    assert Region.of(grid, "9").cells == 2
    assert Region.of(grid, ["A", "2"]).cells == 6  # one holds the other
    assert Region.of(grid, "A/1", {"sex": "f"}).cells == 2
    for code, rule in (
        ("1", "code-of-several-regions"),
        ("C", "code-unknown: county, town"),
        ("A/9", "code-unknown: county, town"),
    ):
        with refuses(CodeError, rule) as refused:
            Region.of(grid, ["A", code])
        assert refused.value.position == 1
    one = Hierarchy.of_cells([[0], [0]], {"county": ["7"], "town": ["7"]}, "an example")
    assert Region.of(Grid.regular((1, 2)).with_hierarchy(one), "7").cells == 1


def test_regions_come_before_areas_of_the_code_system():
    cells = np.array([[0, 1], [0, 0]])
    grid = GRID.with_hierarchy(Hierarchy.of_cells(cells, {"town": ["5239", "x"]}, "an example"))
    assert Region.of(grid, "5239").cells == 1
    assert Region.of(grid, "523940").cells == 2
    with refuses(CodeError, "code-unknown: jis:primary"):
        Region.of(grid, "y")


def test_rows_and_columns_of_a_map_stand_for_all_labels_or_for_those_chosen():
    grid = Grid.regular((3, 4)).with_attribute("sex", ["f", "m"])
    places = np.array([[0, 2], [1, 3]])
    full = np.array([[0, 0, 2, 2], [1, 1, 3, 3], [0, 1, 0, 1]])
    assert (Region.of(grid, places).key == Region.of(grid, full).key).all()
    some = Region.of(grid, places, {"sex": "m"})
    assert (some.key == Region.of(grid, full[:, 1::2]).key).all()
    with pytest.raises(CodeError):
        Region.of(grid, np.array([[0, 3], [1, 3]]))
    with refuses(UsageError, "rows-columns-not-whole"):
        Region.of(grid, places / 2)
    with refuses(UsageError, "places-need-one-map"):
        Region.of(Grid.regular((3, 4)).pairs(), places)


def test_labels_are_a_mapping():
    with refuses(UsageError, "labels-not-by-attribute"):
        Region.of(GRID, "523960", "m")


def test_laplace_noise_of_few_cells_has_long_tails():
    table = CountTable.from_dense(np.full(GRID.shape, 50), GRID)
    release = publish(table, method="laplace", epsilon=1, key=NoiseKey(bytes(32)), contribution=1)
    one, area = release.estimate(np.array([[5], [5]])), release.estimate("523960")
    assert (one.high - one.count) / one.standard_error == pytest.approx(2.118)
    assert (area.high - area.count) / area.standard_error == pytest.approx(1.96, abs=0.001)


@pytest.mark.parametrize(
    ("text", "rows", "columns"),
    [
        ("3_10", [3], [10]),
        (" 0_0 ", [0], [0]),
        ("1_2:3_4", [1, 2, 3], [2, 3, 4]),
        ("0_0:4_10", range(5), range(11)),
        ("4_10:4_10", [4], [10]),
    ],
)
def test_cells_without_codes_are_named_by_row_and_column(text, rows, columns):
    found = PLAIN.decode(Region.of(PLAIN, text).key)
    wanted = np.array([(row, column) for row in rows for column in columns]).T
    assert {*zip(*found.tolist(), strict=True)} == {*zip(*wanted.tolist(), strict=True)}


@pytest.mark.parametrize(
    "text", ["5_0", "0_11", "3_4:2_4", "3_4:4_3", "3", "a_b", "-1_0", "1_1:", ""]
)
def test_other_names_of_cells_are_refused(text):
    with refuses(CodeError, "cell-name-form"):
        Region.of(PLAIN, text)


def test_codes_are_not_read_as_rows_and_columns():
    with refuses(CodeError, "code-unknown"):
        Region.of(GRID, "1_2")
