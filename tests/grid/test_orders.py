"""Where attributes are split: below, above, among or under areas; and real tables of many."""

from functools import cache
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
from geodp.io.read.table import read_mesh, read_table
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


def census():
    return sorted((DATA / "estat-2020-500m").glob("*.zip"))


SEX = ["人口（総数）　男", "人口（総数）　女"]
BANDS = ["０～１４歳人口", "１５～６４歳人口", "６５歳以上人口", "７５歳以上人口", "８５歳以上人口"]
AGES = ["0-14", "15-64", "65-74", "75-84", "85-"]
SEXES = {"m": "男", "f": "女"}


@cache
def by_sex_and_age(path):
    """Counts of one file by sex and five age bands; the upper ones are differences."""
    grid = geodp.Grid.mesh("jis:half", bounds=(139, 35 + 1 / 3, 140, 36))
    grid = grid.with_attribute("sex", ["m", "f"]).with_attribute("band", BANDS)
    columns = {(sex, band): f"{band}　{SEXES[sex]}" for sex in SEXES for band in BANDS}
    dense = read_mesh(path, grid=grid, value=columns, suppressed="zero").to_dense()
    dense[..., 2:-1] -= dense[..., 3:]
    own = geodp.Grid.mesh("jis:half", bounds=(139, 35 + 1 / 3, 140, 36))
    own = own.with_attribute("sex", ["m", "f"]).with_attribute("age", AGES)
    return own, dense


@pytest.mark.parametrize("place", ["above", "interleaved", "jis:basic"])
class TestCensus:
    pytestmark = real

    def test_half_by_sex_and_five_age_bands(self, place):
        (path,) = (path for path in census() if "5339" in path.name)
        grid, dense = by_sex_and_age(path)
        assert dense.min() == 0
        grid = grid.with_official_order(place) if ":" in place else grid.with_attribute_order(place)
        table = geodp.CountTable.from_dense(dense, grid)
        release = geodp.publish(table, epsilon=1, key=geodp.NoiseKey(SECRET), contribution=1)
        kilometre = Region.of(grid, "53394611")  # 1 km in the middle of Tokyo
        additive(release, [kilometre])
        found = release.estimate(kilometre)
        truth = dense[tuple(grid.decode(kilometre.key))].sum()
        assert abs(found.count - truth) < 5 * found.standard_error
        coarse = release.table.to_dense().sum(axis=(2, 3)).reshape(80, 2, 80, 2).sum(axis=(1, 3))
        row, col = grid.decode(kilometre.key)[:2, 0] // 2
        assert coarse[row, col] == found.count


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


WEST = (139.5, 35.6666666667, 139.75, 35.8333333333)


def truth_of(path, value):
    table = read_mesh(path, grid="jis:half", value=value, bounds=WEST, suppressed="zero")
    return table.count.sum()


class TestCommandLine:
    pytestmark = real

    def publish(self, tmp_path, *arguments):
        more = ["--epsilon", "1", "--contribution", "1", "--output", tmp_path / "out"]
        done = CliRunner().invoke(publish, [*map(str, [*arguments, *more])], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        assert [check for check in verify(tmp_path / "out") if not check.ok] == []
        table, card = read_release_table(tmp_path / "out")
        return geodp.Release(table), card

    def test_hiroshima_by_sex_with_official_areas(self, tmp_path):
        path = DATA / "estat-hiroshima-500m" / "tblT000847H34_2015.csv.gz"
        call = [path, "--grid", "jis:half", "--bounds", 132, 34, 133.5, 34.6666666667]
        call += ["--by", "sex", "--value", "人口総数　男", "--value", "人口総数　女"]
        call += ["--order", "official", "--attribute-order", "jis:basic", "--outside", "crop"]
        release, card = self.publish(tmp_path, *call)
        assert release.grid.attributes[0].labels == ("人口総数　男", "人口総数　女")
        names = [name for name, _ in release.grid.areas.steps]
        assert names[-3:] == ["jis:basic", "sex", "jis:half"]
        additive(release, [Region.of(release.grid, "51324356")])
        assert card.domain.cells == 2 * 160 * 240

    def test_kanto_by_sex_and_three_age_bands_in_kilometres(self, tmp_path):
        (path,) = (path for path in census() if "5339" in path.name)
        call = [path, "--grid", "jis:half", "--bounds", *WEST, "--suppressed", "zero"]
        call += [
            "--labels",
            "sex=m,f",
            "--labels",
            "age=0-14,15-64,65-",
            "--attribute-order",
            "above",
        ]
        for sex in SEXES:
            for age, band in zip(("0-14", "15-64", "65-"), BANDS[:3], strict=True):
                call += ["--value", f"{sex},{age}={band}　{SEXES[sex]}"]
        release, _ = self.publish(tmp_path, *call)
        assert release.grid.shape == (40, 40, 2, 3)
        additive(release, [Region.of(release.grid, "53394411")])
        men = release.estimate(everywhere(release.grid, {"sex": "m", "age": "0-14"})).count
        assert men == pytest.approx(truth_of(path, f"{BANDS[0]}　男"), abs=300)

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
