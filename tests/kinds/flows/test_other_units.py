"""A zone of all other places, which lies nowhere, beside areal units with outlines."""

import itertools
import json
import re

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import geodp
from geodp.errors import InputError, UsageError
from geodp.grid.cells import cells_of
from geodp.grid.outlines import Outlines
from geodp.grid.units import add_other, grid_of_units
from geodp.kinds.flows.page import write_page
from geodp.kinds.flows.regions import divide_zones
from geodp.kinds.flows.zones import Zones, pairs_of
from geodp.privacy.key import NoiseKey
from geodp.table.counts import CountTable
from tests.command import geodp as call
from tests.kinds.flows.commands.test_flows import done
from tests.kinds.flows.test_publish import ends_of
from tests.kinds.flows.test_verify import failed
from tests.kinds.flows.units import make_units, unit_trips
from tests.refusals import refuses

PLAIN, CODES = make_units()
OTHER = "elsewhere"
BY_CODE = {"origin": "o", "destination": "d", "person": "id", "trips": 4}
BY_POINT = {"origin": ("oy", "ox"), "destination": ("dy", "dx"), "person": "id", "trips": 4}
KEY = NoiseKey(bytes(range(32)))


def with_other(plain=PLAIN, name=OTHER):
    """The same units, and one for other places."""
    index = np.stack([np.zeros(plain.shape[1], np.int64), np.arange(plain.shape[1])])
    codes = plain.names.format(0, index)
    levels, source = add_other({"unit": codes}, "made up", name)
    shapes = np.append(plain.outlines.shapes, [None])
    return grid_of_units(levels, source, Outlines.of(shapes, plain.outlines.crs))


GRID = with_other()
HOME = GRID.names.find([OTHER])[1, 0]


def rows(number=4000, outside=400):
    """Trips between units, of which the first begin and the next end outside."""
    made = {name: np.asarray(one) for name, one in unit_trips(PLAIN, number).items()}
    made["o"], made["d"] = made["o"].astype(object), made["d"].astype(object)
    for end, some in (("o", slice(0, outside)), ("d", slice(outside // 2, 2 * outside))):
        made[end][some] = "999"
        made[f"{end}x"][some], made[f"{end}y"][some] = 10.0, 50.0
    return pa.table({name: pa.array(one.tolist()) for name, one in made.items()})


@pytest.fixture(scope="module")
def release():
    return geodp.flows.publish(rows(), grid=GRID, other=OTHER, epsilon=5, key=KEY, **BY_CODE)


def test_codes_and_points_outside_are_trips_of_the_zone(tmp_path):
    by_code, by_point = (
        geodp.flows.read_trips(rows(), grid=GRID, other=OTHER, key=KEY, **one)
        for one in (BY_CODE, BY_POINT)
    )
    assert np.array_equal(by_code.key, by_point.key)
    assert np.array_equal(by_code.count, by_point.count)
    index = by_code.grid.decode(by_code.key)
    begins, ends = (index[at] == HOME for at in (1, 3))
    assert by_code.count[begins & ends].sum() > 0
    # In a file as in a frame, and all trips of each person as they are without the zone.
    path = tmp_path / "trips.csv"
    rows().to_pandas().to_csv(path, index=False)
    from_file = geodp.flows.read_trips(path, grid=GRID, other=OTHER, key=KEY, **BY_CODE)
    assert np.array_equal(from_file.key, by_code.key)
    with refuses(InputError, "flows-code-unknown"):
        geodp.flows.read_trips(rows(), grid=GRID, **BY_CODE)
    with refuses(InputError, "flows-point-outside-units"):
        geodp.flows.read_trips(rows(), grid=GRID, **BY_POINT)
    left = geodp.flows.read_trips(rows(), grid=GRID, outside="drop", **{**BY_CODE, "trips": 99})
    assert left.count.sum() == 4000 - 800


def test_trips_are_the_same_through_every_door(tmp_path):
    """A column with a blank is written as 1.0 by pandas, in text and in binary files."""
    levels, source = add_other({"unit": np.array(["1", "2", "3"])}, "made up", OTHER)
    shapes = [*(shapely.box(139 + x / 10, 35, 139.1 + x / 10, 35.1) for x in range(3)), None]
    grid = grid_of_units(levels, source, Outlines.of(np.array(shapes, object), "EPSG:4326"))
    # The frame's floats stay floats: no blank is read.
    frame = pandas.DataFrame({"o": [1.0, 2.0, 9.0], "d": [2.0, 9.0, 3.0], "n": [1, 2, 3]})
    frame.to_csv(tmp_path / "trips.csv", index=False)
    assert "1.0" in (tmp_path / "trips.csv").read_text()
    frame.to_excel(tmp_path / "trips.xlsx", index=False)
    frame.to_parquet(tmp_path / "trips.parquet", index=False)
    table = pa.Table.from_pandas(frame)
    decimals = pa.table(
        [table[end].cast(pa.decimal128(24, 2)) for end in "od"] + [table["n"]], ["o", "d", "n"]
    )
    pq.write_table(decimals, tmp_path / "decimals.parquet")
    doors = [*sorted(tmp_path.iterdir()), frame, table, frame.astype({"o": int, "d": int})]
    for door in doors:
        trips = geodp.flows.read_trips(
            door, grid=grid, other=OTHER, origin="o", destination="d", value="n"
        )
        index = trips.grid.decode(trips.key)
        ends = [grid.names.format(0, index[at : at + 2]).tolist() for at in (0, 2)]
        told = {*zip(*ends, trips.count.tolist(), strict=True)}
        assert told == {("1", "2", 1), ("2", OTHER, 2), (OTHER, "3", 3)}, door
    (tmp_path / "lost.csv").write_text("o,d,n\n1,2,1\n2,03,1\n")
    with refuses(InputError, "zeros-lost: lost.csv, row 3"):
        geodp.flows.read_trips(
            tmp_path / "lost.csv", grid=grid, other=OTHER, origin="o", destination="d", value="n"
        )


def test_counted_rows_have_the_zone_and_no_blank_codes():
    table = pa.table({"o": ["999", CODES[0, 0]], "d": [CODES[1, 1], OTHER], "n": [3, 4]})
    ends = {"origin": "o", "destination": "d", "value": "n", "grid": GRID, "other": OTHER}
    found = geodp.flows.read_trips(table, **ends)
    index = found.grid.decode(found.key)
    assert {*zip((index[1] == HOME).tolist(), found.count.tolist(), strict=True)} == {
        (True, 3),
        (False, 4),
    }
    blank = table.set_column(0, "o", pa.array([" ", CODES[0, 0]]))
    with refuses(InputError, "code-missing"):
        geodp.flows.read_trips(blank, **ends)


@pytest.mark.parametrize("reader", ["trips", "stays"])
@pytest.mark.parametrize("code", [" ", None])
def test_a_blank_code_is_no_place_outside(reader, code):
    table = pa.table(
        {
            "id": ["a"] * 2,
            "o": pa.array([CODES[0, 0], code], pa.string()),
            "d": [CODES[0, 1]] * 2,
            "t": ["2024-05-01T08:00", "2024-05-01T09:00"],
        }
    )
    with refuses(InputError, "flows-code-unknown|code-missing"):
        if reader == "trips":
            geodp.flows.read_trips(table, grid=GRID, other=OTHER, **BY_CODE)
        else:
            geodp.flows.read_stays(
                table, grid=GRID, other=OTHER, place="o", time="t", person="id", trips=4
            )


@pytest.mark.parametrize("reader", ["pings", "stays"])
def test_pings_and_stays_outside_are_in_the_zone(reader):
    at = PLAIN.outlines.inner_points[[0, 5]]
    places = [at[0], (10.0, 50.0), at[1]]
    table = pa.table(
        {
            "id": ["a"] * 6,
            "t": [f"2024-05-01T{hour:02d}:{part}" for hour in (8, 9, 10) for part in ("00", "20")],
            "y": [one[1] for one in places for _ in range(2)],
            "x": [one[0] for one in places for _ in range(2)],
        }
    )
    read = geodp.flows.read_pings if reader == "pings" else geodp.flows.read_stays
    more = {"speed": 99_999} if reader == "pings" else {}
    found = read(
        table, grid=GRID, other=OTHER, place=("y", "x"), time="t", person="id", trips=9, **more
    )
    index = found.grid.decode(found.key)
    moved = index[1] != index[3]
    names = GRID.names.format(0, index[:2, moved]), GRID.names.format(0, index[2:, moved])
    first, last = GRID.names.format(0, np.stack([[0, 0], _columns(at)]))
    assert {*zip(*names, strict=True)} == {(first, OTHER), (OTHER, last)}


def _columns(points):
    from geodp.kinds.flows.reading.reader import find_land

    return find_land(GRID, drops=True).locate(*points.T)[1]


def test_the_zone_is_a_block_of_its_own_without_distance():
    zones = Zones.of(GRID)
    assert zones.column[-1] == HOME
    same = Zones.of(PLAIN)
    codes = [
        one.grid.names.format(0, np.stack([one.row, one.column]))[:42].tolist()
        for one in (zones, same)
    ]
    assert codes[0] == codes[1]
    for side in (1, 2, 4):
        assert np.diff(zones.blocks(side).first)[-1] == 1
        law = zones.law(3.0, zones.blocks(side))
        assert np.isfinite(law).all()
        assert np.allclose(law[-1], law[-1, -1])
        assert law[:-1, :-1] == pytest.approx(same.law(3.0, same.blocks(side)))


def test_a_release_with_the_zone_is_written_verified_and_opened(release, tmp_path):
    for flows, released in ends_of(release):
        assert np.array_equal(flows, released)
    release.write(tmp_path / "out")
    assert failed(tmp_path / "out" / "public") == {}
    again = geodp.open(tmp_path / "out")
    west, east = [*CODES[:, :4].reshape(-1)], [*CODES[:, 4:].reshape(-1)]
    assert again.estimate(west, OTHER) == release.estimate(west, OTHER)
    shapes = PLAIN.outlines.boxes[PLAIN.names.find(west)[1]]
    polygon = shapely.box(*shapes[:, :2].min(axis=0), *shapes[:, 2:].max(axis=0))
    assert again.estimate(polygon, east) == release.estimate(west, east)
    with refuses(UsageError, "flows-polygon-cuts-unit"):
        again.estimate(polygon.buffer(0.004), east)
    with refuses(UsageError, "flows-polygon-without-unit"):
        again.estimate(shapely.box(0, 0, 1, 1), east)
    with refuses(UsageError, "region-form"):
        again.estimate(shapely.Point(0, 0), east)
    line = shapely.LineString([(float(shapes[:, 2].max()), 34), (float(shapes[:, 2].max()), 37)])
    left, right = divide_zones(again.origins.grid, line)
    assert left.cells + right.cells == GRID.size - 1
    assert again.estimate_across(line).there == release.estimate(west, east)
    lines = again.to_geopandas()
    flows = again.to_pandas()
    assert OTHER in {*flows["origin"]} & {*flows["destination"]}
    assert OTHER not in {*lines["origin"], *lines["destination"]}
    card = json.loads((tmp_path / "out/public/flows/release.json").read_text())
    assert f"places outside were counted as the zone {OTHER}" in json.dumps(card)
    done("verify", tmp_path / "out")


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_page_names_the_zone_and_draws_no_line_to_it(release, language, tmp_path):
    release.write(tmp_path / "out")
    again = geodp.open(tmp_path / "out")
    page = write_page(again, language, simulations=20)
    assert OTHER in page
    assert not re.search('[" ]nan[" ]', page)
    shape = PLAIN.outlines.shapes[0]
    beyond = shapely.box(0, 0, 1, 1)
    page = write_page(
        again, places={"Here": shape, "Nowhere": beyond, "Else": [OTHER]}, simulations=20
    )
    assert "Here" in page
    assert "Nowhere" not in page


def test_changed_outlines_are_found(release, tmp_path):
    release.write(tmp_path / "out")
    path = tmp_path / "out" / "public" / "origins" / "origins.outlines.parquet"
    table = pq.read_table(path)
    pq.write_table(table.slice(1), path)
    assert failed(tmp_path / "out" / "public")


def test_estimates_with_the_zone_hold_what_was_counted():
    table = geodp.flows.read_trips(
        rows(8000, 900), grid=GRID, other=OTHER, key=KEY, **{**BY_CODE, "trips": 99}
    )
    index = table.grid.decode(table.key)
    groups = [[*CODES[at].reshape(-1)] for at in range(6)] + [[OTHER]]
    columns = [GRID.names.find(one)[1] for one in groups]
    pairs = [*itertools.product(groups, repeat=2)]
    true = [
        int(table.count[np.isin(index[1], a) & np.isin(index[3], b)].sum())
        for a, b in itertools.product(columns, repeat=2)
    ]
    held = []
    for number in range(2):
        key = NoiseKey(number.to_bytes(32, "little"))
        made = geodp.flows.publish(
            CountTable.from_keys(table.grid, table.key, table.count), contribution=3, epsilon=1,
            key=key,
        )  # fmt: skip
        found = made.estimate_all(pairs, simulations=20)
        held += [one.low <= n <= one.high for one, n in zip(found, true, strict=True)]
    assert np.mean(held) >= 0.94


@pytest.mark.parametrize("name", ["a,b", "two\nlines", "tab\tbed", "", " ", " away ", CODES[0, 0]])
def test_names_that_break_rows_are_refused(name):
    with refuses(UsageError, "other-unit-name"):
        with_other(name=name)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("海外（欧州）", "t1"),
        ("０１", "01"),
        ("Ａｂｒｏａｄ", "t1"),
        ("a\u2212b", "t1"),
        ("cafe\u0301", "t1"),
        ("他", "Ａ地区"),
    ],
)
def test_names_and_codes_that_rows_never_have_are_refused(name, code):
    """Codes of rows are read in narrow characters, so that theirs would be counted elsewhere."""
    with refuses(UsageError, "other-unit-spelling"):
        add_other({"town": np.array([code])}, "made up", name)


def test_names_of_areas_above_are_refused():
    levels = {"block": np.array(["11", "21"]), "county": np.array(["north", "south"])}
    with refuses(UsageError, "other-unit-name"):
        add_other(levels, "made up", "south")


def test_rows_in_full_width_are_of_the_zone_of_this_name(tmp_path):
    grid, path = with_other(name="海外(欧州)"), tmp_path / "trips.csv"
    (code,) = PLAIN.names.format(0, np.array([[0], [0]])).tolist()
    path.write_text(f"o,d,n\n海外（欧州）,{code},1\n{code},else,1\n", encoding="utf-8")
    trips = geodp.flows.read_trips(
        path, grid=grid, origin="o", destination="d", value="n", other="海外(欧州)"
    )
    index = trips.grid.decode(trips.key)
    ends = [grid.names.format(0, index[at : at + 2]).tolist() for at in (0, 2)]
    pairs = [("海外(欧州)", code), (code, "海外(欧州)")]
    assert sorted(zip(*ends, strict=True)) == sorted(pairs)


def test_a_table_of_a_publisher_is_not_taken_for_cells():
    codes = ["872f5aadeffffff", "872f5aac4ffffff", "elsewhere", "nowhere"]
    assert cells_of(grid_of_units({"h3_7": codes}, "made up").hierarchy) is None
    levels, source = add_other({"h3_7": np.array(codes[:2])}, "made up", "elsewhere")
    assert cells_of(grid_of_units(levels, source).hierarchy) is not None


def test_a_unit_with_an_outline_is_no_zone_of_all_other_places():
    with refuses(UsageError, "other-no-unit"):
        geodp.flows.read_trips(rows(), grid=GRID, other="moon", **BY_CODE)
    with refuses(UsageError, "flows-other-is-place"):
        geodp.flows.read_trips(rows(), grid=GRID, other=CODES[0, 0], **BY_CODE)
    with refuses(UsageError, "flows-other-on-map"):
        geodp.flows.read_trips(rows(), grid=geodp.Grid.regular((4, 4)), other=OTHER, **BY_POINT)
    with refuses(UsageError, "flows-other-with-outside"):
        geodp.flows.read_trips(rows(), grid=GRID, other=OTHER, outside="drop", **BY_CODE)


def test_a_plan_counts_the_block_of_all_other_places():
    planned = geodp.flows.plan(GRID, trips=4, epsilon=1, levels={2: "1/2"})
    assert planned.pairs == {2: Zones.of(GRID).blocks(2).number ** 2}
    assert pairs_of(GRID).size == 43**2


class TestCommand:
    """The zone in the commands, on units of a file."""

    @pytest.fixture
    def files(self, tmp_path):
        import geopandas

        index = np.stack([np.zeros(42, np.int64), np.arange(42)])
        frame = geopandas.GeoDataFrame(
            {"code": PLAIN.names.format(0, index)}, geometry=PLAIN.outlines.shapes, crs="EPSG:4326"
        )
        frame.to_file(tmp_path / "towns.gpkg")
        rows(1500, 200).to_pandas().to_csv(tmp_path / "trips.csv", index=False)
        return tmp_path

    @staticmethod
    def grid(files, other=OTHER):
        units = ("--grid", f"units:{files / 'towns.gpkg'}", "--units-source", "made up")
        return (*units, "--other", other)

    def test_a_release_with_the_zone(self, files):
        persons = ("--person", "id", "--trips", "4", "--epsilon", "5", "--output", files / "out")
        places = ("--from", "oy,ox", "--to", "dy,dx")
        done("flows", "publish", files / "trips.csv", *self.grid(files), *places, *persons)
        done("verify", files / "out")
        rows_ = done("estimate", files / "out", "--from", OTHER, "--to", OTHER, "--json")
        assert json.loads(rows_.stdout)["estimates"][0]["value"] > 0
        done("report", files / "out", "--output", files / "a.html", "--simulations", "20")

    def test_a_plan_with_the_zone(self, files):
        words = ("--trips", "4", "--epsilon", "1", "--level", "1=1/2", "--json")
        planned = json.loads(done("flows", "plan", *self.grid(files), *words).stdout)
        assert planned[0]["pairs"] == {"1": 43**2}
        refused = call("flows", "plan", "--grid", "regular:4x4", "--other", OTHER, *words)
        assert refused.returncode == 2
        assert "square somewhere" in refused.stderr

    def test_the_squares_of_a_map_are_units_that_have_the_zone(self, files):
        """What the refusal of a zone of other places on maps of cells advises."""
        import geopandas

        mesh = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.125, "35.0833333333"))
        row, col = (one.reshape(-1) for one in np.indices(mesh.shape))
        lattice = mesh.places[0]
        a, _, c, _, e, f = lattice.transform
        shapes = [shapely.box(c + a * j, f + e * (i + 1), c + a * (j + 1), f + e * i)
                  for i, j in zip(row, col, strict=True)]  # fmt: skip
        codes = lattice.format(row, col)
        frame = geopandas.GeoDataFrame({"code": codes}, geometry=shapes, crs="EPSG:6668")
        frame.to_file(files / "squares.gpkg")
        draw = np.random.default_rng(1)
        trips = {
            "id": [f"p{i}" for i in draw.integers(0, 90, 900)],
            "o": np.append(draw.choice(codes, 400), ["abroad"] * 300 + ["XX"] * 200),
            "d": draw.choice(codes, 900),
        }
        table = pa.table({name: [*map(str, one)] for name, one in trips.items()})
        table.to_pandas().to_csv(files / "codes.csv", index=False)
        units = ("--grid", f"units:{files / 'squares.gpkg'}", "--units-source", "made up")
        persons = ("--person", "id", "--trips", "20", "--epsilon", "200", "--output", files / "out")
        done("flows", "publish", files / "codes.csv", *units, "--other", "abroad", "--from", "o",
             "--to", "d", *persons)  # fmt: skip
        done("verify", files / "out")
        table = geodp.open(files / "out").origins.table
        names = table.grid.names.format(0, table.grid.decode(table.key)).tolist()
        assert table.count[names.index("abroad")] == pytest.approx(500, abs=30)

    @pytest.mark.parametrize("other", ["a,b", "two\nlines", " away "])
    def test_names_that_break_rows_are_refused(self, files, other):
        words = ("--trips", "4", "--epsilon", "1")
        refused = call("flows", "plan", *self.grid(files, other), *words)
        assert refused.returncode == 2
        assert "comma" in refused.stderr


def test_frames_are_read_as_files():
    frame = pandas.DataFrame(rows().to_pydict())
    table = geodp.flows.read_trips(frame, grid=GRID, other=OTHER, key=KEY, **BY_CODE)
    again = geodp.flows.read_trips(rows(), grid=GRID, other=OTHER, key=KEY, **BY_CODE)
    assert np.array_equal(table.key, again.key)
