"""Where attributes are split: below, above, among or under areas; and real tables of many."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from click.testing import CliRunner

import geodp
from geodp.cli.commands.publish import publish
from geodp.errors import UsageError
from geodp.grid.region import Region
from geodp.io.read.public.tables import read_hierarchy
from geodp.io.read.table import read_table
from geodp.io.verify.readback import read_release_table
from geodp.io.verify.verify import verify
from geodp.mechanisms import mechanism
from tests.mechanisms.central.test_pyramid import SECRET, compare
from tests.refusals import refuses

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
real = [
    pytest.mark.law,
    pytest.mark.real,
    pytest.mark.skipif(not DATA.is_dir(), reason="the real data sets are not beside the project"),
]

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
        release = geodp.publish(table, method="pyramid", **{"contribution": 1, **given})
        errors[place] = release.standard_error(everywhere(grid, {"sex": "f"}))
    assert errors["above"] < errors["below"] / 1.9


TOKYO = (139.625, 35.5833333333, 139.875, 35.75)


def cities(folder):
    """The table of 1 km meshes, their cities and their prefecture, of the stays' own columns."""
    path = DATA / "jinryu" / "tokyo_mdp_mesh1km_2019-2021.csv.gz"
    columns = ["mesh1kmid", "citycode", "prefcode"]
    (batch,) = (
        pyarrow.csv.read_csv(
            path,
            convert_options=pyarrow.csv.ConvertOptions(
                include_columns=columns, column_types=dict.fromkeys(columns, pa.string())
            ),
        )
        .group_by(columns)
        .aggregate([])
        .to_batches()[:1]
    )
    pyarrow.csv.write_csv(batch.sort_by("mesh1kmid"), folder / "cities.csv")
    return folder / "cities.csv"


class TestCommandLine:
    pytestmark = real

    def publish(self, tmp_path, *arguments):
        more = ["--epsilon", "1", "--contribution", "1", "--output", tmp_path / "out"]
        done = CliRunner().invoke(publish, [*map(str, [*arguments, *more])], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        assert [check for check in verify(tmp_path / "out") if not check.ok] == []
        table, card = read_release_table(tmp_path / "out")
        return geodp.Release(table), card

    def test_stays_by_city_month_day_and_hours(self, tmp_path):
        months, threes = [f"{month:02}" for month in range(1, 13)], ["0", "1", "2"]
        path = DATA / "jinryu" / "tokyo_mdp_mesh1km_2019-2021.csv.gz"
        call = [path, "--grid", "jis:basic", "--bounds", *TOKYO, "--code", "mesh1kmid"]
        call += ["--value", "population", "--where", "year=2019", "--column", "month=month"]
        call += ["--labels", f"month={','.join(months)}", "--labels", "day=0,1,2"]
        call += ["--column", "day=dayflag", "--labels", "hours=0,1,2", "--column", "hours=timezone"]
        call += ["--regions", cities(tmp_path), "--regions-source", "the codes of the table itself"]
        release, card = self.publish(tmp_path, *call, "--attribute-order", "above")
        assert card.domain.order.regions.levels["prefcode"] == 1
        own = geodp.Grid.mesh("jis:basic", bounds=TOKYO)
        for name, labels in (("month", months), ("day", threes), ("hours", threes)):
            own = own.with_attribute(name, labels)
        columns = {"month": "month", "day": "dayflag", "hours": "timezone"}
        where = {"year": 2019}
        named = {"code": "mesh1kmid", "value": "population", "columns": columns, "where": where}
        truth = read_table(path, grid=own, outside="crop", **named).to_dense()
        row, col = read_hierarchy(tmp_path / "cities.csv", own, source="x").cells_in("13", "13101")
        additive(release, [Region.of_map(release.grid, row, col)])
        for labels in ({}, {"month": "03"}, {"month": "08", "day": "1", "hours": "2"}):
            found = release.estimate(Region.of_map(release.grid, row, col, labels))
            at = [months.index(labels["month"])] if "month" in labels else slice(None)
            at = (at, *(int(labels[n]) if n in labels else slice(None) for n in ("day", "hours")))
            people = truth[row, col][(slice(None), *at)].sum()
            assert abs(found.count - people) < 6 * found.standard_error
