"""Zones that are the cells of a public mask: whole releases, their files, and what is read."""

import json
from fractions import Fraction

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import geodp
from geodp.errors import InputError, UsageError
from geodp.grid.grid import Grid
from geodp.io.folder import staged_release
from geodp.io.read.public.land import cut_to_land
from geodp.io.verify.verify import verify
from geodp.kinds.flows.page import write_page
from geodp.kinds.flows.regions import divide_zones
from geodp.kinds.flows.zones import Zones, count_zone_blocks, pairs_of, zones_of
from geodp.privacy.key import NoiseKey
from geodp.privacy.ledger import Ledger
from geodp.privacy.loss import PureDP
from tests.command import geodp as call
from tests.kinds.flows.commands.test_flows import done
from tests.kinds.flows.masks import BAY, coast, masked, masked_trips
from tests.kinds.flows.test_publish import ends_of
from tests.kinds.flows.test_verify import change_index, failed, list_sums
from tests.refusals import refuses

MESH = Grid.mesh("jis:basic", bounds=(139, 35, 139.2, "35.1333333333"))
GRIDS = {
    "square": coast(Grid.regular((16, 16))),
    "odd": coast(Grid.regular((5, 11))),
    "narrow": masked(Grid.regular((1, 40)), np.arange(40)[None] % 7 > 1),
    "mesh": coast(MESH),
}
GRID = GRIDS["mesh"]
TABLE = masked_trips(GRID)
AMOUNTS = {"epsilon": 1, "contribution": 3}
KEY = NoiseKey(bytes(range(32)))
ENDS = {"origin": ("oy", "ox"), "destination": ("dy", "dx"), "person": "id", "trips": 5}


@pytest.fixture(scope="module")
def release():
    return geodp.flows.publish(TABLE, **AMOUNTS, key=KEY)


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
@pytest.mark.parametrize("side", [1, 2, 4, 8, 32])
def test_zones_are_the_cells_of_the_mask_in_blocks_of_squares(grid, side):
    zones = Zones.of(grid)
    assert zones.number == grid.size < np.prod(grid.shape)
    assert grid.contains(np.stack([zones.row, zones.column])).all()
    assert np.array_equal(zones.find(zones.key), np.arange(zones.number))
    blocks = zones.blocks(side)
    assert np.array_equal(blocks.row[blocks.of_zone], zones.row // side)
    assert np.array_equal(blocks.column[blocks.of_zone], zones.column // side)
    assert len({*zip(blocks.row.tolist(), blocks.column.tolist(), strict=True)}) == blocks.number
    assert count_zone_blocks(grid, side) == blocks.number


def test_pairs_carry_the_mask_of_their_zones():
    pairs = pairs_of(GRID)
    assert zones_of(pairs) == GRID
    assert pairs.size == GRID.size**2
    assert pairs != pairs_of(MESH)
    assert pairs.describe()["mask"] == GRID.describe()["mask"]
    with refuses(UsageError, "pairs-need-map"):
        GRID.pairs()


@pytest.mark.parametrize("method", ["pyramid", "laplace", "topdown"])
def test_no_other_method_measures_or_plans_pairs_of_a_mask(method):
    with refuses(UsageError, "pairs-of-mask"):
        geodp.publish(TABLE, method=method, **AMOUNTS)
    with refuses(UsageError, "pairs-of-mask"):
        geodp.plan(TABLE.grid, method, epsilon=1)


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
@pytest.mark.parametrize(
    "amounts",
    [{"epsilon": 1}, {"epsilon": "1/20"}, {"rho": "1/8"}, {"epsilon": 1, "delta": "1e-6"}],
)
def test_both_ends_are_met_exactly_and_lie_inside(grid, amounts):
    made = geodp.flows.publish(masked_trips(grid, number=5000), contribution=2, **amounts)
    for flows, released in ends_of(made):
        assert np.array_equal(flows, released)
    table = made.flows.table
    index = table.grid.decode(table.key)
    assert all(grid.contains(index[at : at + 2]).all() for at in (0, 2))
    for one in made.noisy:
        assert one.noisy.shape == (count_zone_blocks(grid, one.blocks.side),) * 2


def test_nothing_is_random_where_the_budget_leaves_no_noise():
    made = geodp.flows.publish(TABLE, epsilon=10**6, contribution=1, levels={1: "1/2"})
    assert made.flows.table.key.tolist() == TABLE.key.tolist()
    assert made.flows.table.count.tolist() == TABLE.count.tolist()


def test_a_written_release_is_verified_and_opened(release, public):
    assert failed(public) == {}
    again = geodp.open(public.parent)
    assert again.origins.grid == GRID
    assert again.flows.grid == pairs_of(GRID)
    assert again.to_pandas().equals(release.to_pandas())
    west, east = (139, 35, 139.1, 35.2), (139.1, 35, 139.2, 35.2)
    assert again.estimate(west, east) == release.estimate(west, east)
    listed = pq.read_table(public / "flows" / "flows.zones.parquet")["code"].to_pylist()
    zones = Zones.of(GRID)
    assert {*listed} == {*GRID.places[0].format(zones.row, zones.column).tolist()}
    done("verify", public.parent)
    # Each table is a release by itself, and knows its mask.
    alone = geodp.open(public / "flows")
    assert alone.grid == pairs_of(GRID)
    assert "written again: 7 files" in done("verify", public / "flows").stdout


@pytest.mark.parametrize("name", ["square", "odd", "narrow"])
def test_masks_of_grids_without_codes_are_verified(name, tmp_path):
    made = geodp.flows.publish(masked_trips(GRIDS[name], number=3000), **AMOUNTS)
    made.write(tmp_path / "out")
    assert failed(tmp_path / "out" / "public") == {}
    rows = pq.read_table(tmp_path / "out" / "public" / "flows" / "flows.zones.parquet")
    assert rows.column_names == ["row", "col"]
    assert geodp.open(tmp_path / "out").origins.grid == GRIDS[name]


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows.slice(1),
        lambda rows: rows.take([*range(len(rows) - 1, -1, -1)]),
        lambda rows: pa.concat_tables([rows, rows.slice(0, 1)]),
        lambda rows: rows.append_column("secret", rows["code"]),
        lambda rows: rows.replace_schema_metadata({"secret": "7"}),
        lambda rows: rows.rename_columns(["zone"]),
    ],
    ids=["fewer", "order", "twice", "column", "metadata", "name"],
)
def test_changed_lists_of_zones_are_found(public, change):
    path = public / "flows" / "flows.zones.parquet"
    pq.write_table(change(pq.read_table(path)), path)
    change_index(public, lambda card: None)
    assert {"guarantee", "constraints"} <= {*failed(public)}


def test_a_missing_list_of_zones_is_found(public):
    (public / "flows" / "flows.zones.parquet").unlink()
    list_sums(public)
    assert "guarantee" in failed(public)


def test_flows_by_label_on_a_mask(tmp_path):
    pairs = pairs_of(GRID).with_attribute("mode", ["walk", "car"])
    draw = np.random.default_rng(0)
    index = pairs_of(GRID).decode(TABLE.key)
    index = np.concatenate([index, draw.integers(0, 2, (1, index.shape[1]))])
    table = geodp.CountTable.from_index(pairs, index, TABLE.count)
    made = geodp.flows.publish(table, **AMOUNTS)
    made.write(tmp_path / "out")
    assert failed(tmp_path / "out" / "public") == {}
    again = geodp.open(tmp_path / "out")
    west, east = (139, 35, 139.1, 35.2), (139.1, 35, 139.2, 35.2)
    assert again.estimate(west, east, mode="car") == made.estimate(west, east, mode="car")
    for flows, released in ends_of(made):
        assert np.array_equal(flows, released)
    assert "choice" in write_page(again, simulations=20)


def test_matrices_hold_the_zones_of_the_mask_alone(public, tmp_path):
    openmatrix = pytest.importorskip(
        "openmatrix", reason="the format's own library is not installed"
    )
    xarray = pytest.importorskip("xarray")
    done("export", public / "flows", "--to", "omx,netcdf", "--output", tmp_path / "made")
    flows = geodp.open(public / "flows").to_pandas("count")
    file = openmatrix.open_file(str(tmp_path / "made" / "flows.omx"))
    matrix, zones = np.array(file["flows"]), file.map_entries("zone")
    file.close()
    assert matrix.shape == (GRID.size, GRID.size)
    number = {int(code): at for at, code in enumerate(zones)}
    expected = np.zeros_like(matrix)
    at = [[number[int(code)] for code in flows[end]] for end in ("origin", "destination")]
    expected[tuple(at)] = flows["count"]
    assert np.array_equal(matrix, expected)
    with xarray.open_dataset(tmp_path / "made" / "flows.nc") as data:
        assert dict(data.sizes) == {"origin": GRID.size, "destination": GRID.size}
        assert np.array_equal(data["count"], expected)
        assert data["origin"].values.tolist() == [*map(int, zones)]


def test_gathered_pairs_are_those_of_the_mask(public, tmp_path, monkeypatch):
    from geodp.io.write.export import netcdf
    from geodp.io.write.export.netcdf import NetCDF
    from geodp.release.opening import open_view

    xarray = pytest.importorskip("xarray")
    monkeypatch.setattr(netcdf, "DENSE_BYTES", 1)
    view = open_view(public / "flows")
    NetCDF().write(view, tmp_path / "flows.nc")
    with xarray.open_dataset(tmp_path / "flows.nc") as data:
        sizes = [data.sizes[name] for name in data.flow.compress.split()]
        assert sizes == [GRID.size, GRID.size]
        ends = np.unravel_index(data.flow, sizes)
        codes = [
            data[name].values[at] for name, at in zip(("origin", "destination"), ends, strict=True)
        ]
        flows = view.all_rows.columns.to_pandas()
        assert codes[0].tolist() == [*map(int, flows["origin"])]
        assert codes[1].tolist() == [*map(int, flows["destination"])]


def test_lines_and_polygons_on_a_mask(release, tmp_path):
    line = shapely.LineString([(139.1, 34), (139.1, 36)])
    left, right = divide_zones(GRID, line)
    assert left.cells + right.cells == GRID.size
    one = release.estimate_across(line)
    west, east = shapely.box(139, 35, 139.1, 36), shapely.box(139.1, 35, 140, 36)
    assert one.there == release.estimate(west, east)
    # All zones of the mask are on one side.
    sea = masked(MESH, np.indices(MESH.shape)[1] >= 8)
    with refuses(UsageError, "flows-line-divides"):
        divide_zones(sea, shapely.LineString([(139.05, 34), (139.05, 36)]))


def test_polygons_without_a_zone_are_refused_by_their_names(release, tmp_path):
    release.write(tmp_path / "out")
    box = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]}
    inside = shapely.geometry.mapping(shapely.box(139.05, 35.03, 139.15, 35.1))
    areas = [
        {"type": "Feature", "properties": {"name": name}, "geometry": one}
        for name, one in (("Harbour", inside), ("Atlantis", box))
    ]
    path = tmp_path / "areas.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": areas}))
    refused = call("estimate", tmp_path / "out", "--polygons", path)
    assert refused.returncode == 2
    assert "Atlantis" in refused.stderr
    assert "Harbour" not in refused.stderr


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_page_draws_flows_on_a_mask(public, language):
    page = write_page(geodp.open(public.parent), language, simulations=20)
    assert "marker-end" in page


def test_flows_of_a_mask_are_compared(release):
    later = geodp.flows.publish(masked_trips(GRID, seed=8), **AMOUNTS)
    west, east = (139, 35, 139.1, 35.2), (139.1, 35, 139.2, 35.2)
    found = release.compare((west, east), release=later)
    counts = [one.estimate(west, east).count for one in (release, later)]
    assert found.value == counts[1] - counts[0]
    assert found.low <= found.value <= found.high
    whole = geodp.flows.publish(
        geodp.CountTable.from_index(MESH.pairs(), np.zeros((4, 1), np.int64), [9]), **AMOUNTS
    )
    with refuses(UsageError, "compare-grids"):
        release.compare((west, east), release=whole)


def test_a_prior_on_a_mask(tmp_path):
    told = geodp.flows.publish(
        masked_trips(GRID, seed=8), **AMOUNTS, prior=TABLE, prior_source="a census"
    )
    told.write(tmp_path / "out")
    assert failed(tmp_path / "out" / "public") == {}
    assert geodp.open(tmp_path / "out").prior.trips == TABLE.count.sum()
    with refuses(UsageError, "flows-prior-zones"):
        geodp.flows.publish(
            TABLE, **AMOUNTS, prior=masked_trips(coast(Grid.regular((16, 16)))), prior_source="a"
        )


def test_intervals_hold_what_was_counted(release):
    index = TABLE.grid.decode(TABLE.key)
    pairs, true = [], []
    for row in range(0, 16, 4):
        for col in range(0, 16, 4):
            square = np.stack([axis.ravel() for axis in np.mgrid[row : row + 4, col : col + 4]])
            square = square[:, GRID.contains(square)]
            if not square.size:
                continue
            region = geodp.grid.region.Region.of(GRID, square)
            rest = geodp.grid.region.Region.of_rectangle(GRID, (139, 35, 139.2, 35.1333333333))
            pairs.append((region, rest))
            from_here = (index[:2] // 4 * 4 == np.array([[row], [col]])).all(axis=0)
            true.append(int(TABLE.count[from_here].sum()))
    found = release.estimate_all(pairs)
    held = [one.low <= n <= one.high for one, n in zip(found, true, strict=True)]
    assert len(held) > 10
    assert np.mean(held) >= 0.94


class TestReading:
    """Places in the mask, outside it, and outside the grid."""

    MASK = np.array([[1, 1, 0], [1, 0, 1]], bool)
    GRID = masked(Grid.regular((2, 3)), MASK)

    @staticmethod
    def rows(*trips):
        names = ("oy", "ox", "dy", "dx")
        columns = {name: [trip[n] for trip in trips] for n, name in enumerate(names)}
        return {"id": [f"p{n}" for n in range(len(trips))]} | columns

    def test_trips_go_between_cells_of_the_mask_only(self):
        inside, sea, beyond = (0, 0, 1, 2), (0, 0, 0, 2), (0, 0, 5, 5)
        rows = pa.table(self.rows(inside, sea, beyond))
        for outside in (None, "error", "crop"):
            with refuses(InputError, "cell-outside-domain") as refused:
                geodp.flows.read_trips(rows, grid=self.GRID, outside=outside, **ENDS)
            assert refused.value.row == 2
        left = geodp.flows.read_trips(rows, grid=self.GRID, outside="drop", **ENDS)
        assert left.grid.decode(left.key).T.tolist() == [[*inside]]
        cropped = pa.table(self.rows(inside, beyond))
        left = geodp.flows.read_trips(cropped, grid=self.GRID, outside="crop", **ENDS)
        assert left.count.tolist() == [1]

    def test_counted_rows_are_read_by_the_same_rules(self):
        inside, sea = (0, 0, 1, 2), (0, 0, 0, 2)
        rows = pa.table({**self.rows(inside, sea), "n": [3, 4]})
        ends = {"origin": ("oy", "ox"), "destination": ("dy", "dx"), "value": "n"}
        with refuses(InputError, "cell-outside-domain"):
            geodp.flows.read_trips(rows, grid=self.GRID, **ends)
        left = geodp.flows.read_trips(rows, grid=self.GRID, outside="drop", **ends)
        assert left.count.tolist() == [3]

    def test_what_is_kept_of_a_person_does_not_depend_on_trips_outside(self):
        inside = [(0, 0, 1, 2), (1, 2, 0, 1), (1, 0, 0, 0)]
        rows = [self.rows(*inside, *more) for more in ((), ((0, 0, 0, 2),) * 9)]
        for one in rows:
            one["id"] = ["p"] * len(one["id"])
        kept = [
            geodp.flows.read_trips(
                pa.table(one), grid=self.GRID, outside="drop", key=KEY, **{**ENDS, "trips": 2}
            )
            for one in rows
        ]
        assert np.array_equal(kept[0].key, kept[1].key)
        assert kept[0].count.sum() == 2

    def test_frames_and_files_of_codes_and_points_agree(self, tmp_path):
        zones = Zones.of(GRID)
        draw = np.random.default_rng(0)
        start, end = draw.integers(0, zones.number, (2, 300))
        code = GRID.places[0].format(zones.row, zones.column)
        x, y = GRID.places[0].edges()
        middle = (y[zones.row] + y[zones.row + 1]) / 2, (x[zones.column] + x[zones.column + 1]) / 2
        frame = pandas.DataFrame(
            {"id": [f"p{n % 90}" for n in range(300)], "o": code[start], "d": code[end]}
            | {"oy": middle[0][start], "ox": middle[1][start]}
            | {"dy": middle[0][end], "dx": middle[1][end]}
        )
        path = tmp_path / "trips.csv"
        frame.to_csv(path, index=False)
        common = {"grid": GRID, "person": "id", "trips": 3, "key": KEY}
        by_code = {"origin": "o", "destination": "d"}
        by_point = {"origin": ("oy", "ox"), "destination": ("dy", "dx")}
        tables = [
            geodp.flows.read_trips(source, **common, **places)
            for source in (frame, path)
            for places in (by_code, by_point)
        ]
        for one in tables[1:]:
            assert np.array_equal(one.key, tables[0].key)
            assert np.array_equal(one.count, tables[0].count)

    @pytest.mark.parametrize("reader", ["pings", "stays"])
    def test_pings_and_stays_outside_the_mask_take_part_and_make_no_trips(self, reader):
        land_, sea = (35.1, 139.1), (35.005, 139.005)
        grid = masked(MESH, (np.indices(MESH.shape).sum(axis=0) > 4))
        at = [land_, sea, land_]
        rows = {
            "id": ["a"] * 6,
            "t": [
                f"2024-05-01T{hour:02d}:{minute:02d}" for hour in (8, 9, 10) for minute in (0, 20)
            ],
            "y": [one[0] for one in at for _ in range(2)],
            "x": [one[1] for one in at for _ in range(2)],
        }
        read = geodp.flows.read_pings if reader == "pings" else geodp.flows.read_stays
        where = {"grid": grid, "place": ("y", "x"), "time": "t", "person": "id", "trips": 5}
        with refuses(InputError, "cell-outside-domain"):
            read(pa.table(rows), **where)
        found = read(pa.table(rows), outside="drop", **where)
        # Nobody went from land to land: the way led over the sea.
        apart = found.grid.decode(found.key)
        assert (apart[:2] == apart[2:]).all()

    def test_the_mask_of_land_is_stated(self):
        grid = cut_to_land(MESH, "land:japan:1km")
        rows = pandas.DataFrame(
            {"id": ["a"], "oy": [35.1], "ox": [139.1], "dy": [35.1], "dx": [139.1]}
        )
        where = {"origin": ("oy", "ox"), "destination": ("dy", "dx"), "person": "id"}
        made = geodp.flows.publish(rows, grid=grid, epsilon=1, **where)
        card = json.dumps(made.flows.card().to_json())
        assert "nobody who is counted is outside of land:japan" in card


class TestCommand:
    """Masks in the commands."""

    @pytest.fixture
    def files(self, tmp_path):
        zones = Zones.of(GRID)
        codes = GRID.places[0].format(zones.row, zones.column)
        (tmp_path / "mask.txt").write_text("\n".join(codes) + "\n")
        index = TABLE.grid.decode(TABLE.key[::9])
        ends = {"o": MESH.places[0].format(*index[:2]), "d": MESH.places[0].format(*index[2:])}
        rows = pandas.DataFrame({**ends, "id": [f"p{n % 80}" for n in range(index.shape[1])]})
        rows.to_csv(tmp_path / "trips.csv", index=False)
        return tmp_path

    @staticmethod
    def grid(files):
        bounds = ("--bounds", "139", "35", "139.2", "35.1333333333")
        mask = ("--mask", files / "mask.txt", "--mask-source", BAY)
        return ("--grid", "jis:basic", *bounds, *mask)

    def words(self, files, *more):
        places = ("--from", "o", "--to", "d", "--person", "id")
        return (files / "trips.csv", *self.grid(files), *places, *more)

    def test_a_masked_release_from_a_file(self, files):
        out = files / "out"
        trips = ("--trips", "3", "--epsilon", "1")
        done("flows", "publish", *self.words(files, *trips), "--output", out)
        assert all(one.ok for one in verify(out / "public"))
        assert geodp.open(out).origins.grid == GRID
        done("report", out, "--output", files / "out.html", "--simulations", "20")
        planned = done("flows", "plan", *self.grid(files), *trips, "--level", "1=1/2", "--json")
        assert json.loads(planned.stdout)[0]["pairs"] == {"1": GRID.size**2}
        most = ("--largest", "9", "--epsilon", "1", "--output", files / "most")
        assert "Use --trips" in done("flows", "choose-trips", *self.words(files, *most)).stdout

    def test_a_trip_to_the_sea_is_refused_or_left_out(self, files):
        sea = MESH.places[0].format(np.array([1]), np.array([1]))[0]
        with (files / "trips.csv").open("a") as file:
            file.write(f"{sea},{sea},p1\n")
        words = self.words(files, "--trips", "3", "--epsilon", "1", "--output", files / "out")
        refused = call("flows", "publish", *words)
        assert refused.returncode == 5
        assert "outside" in refused.stderr
        assert sea not in refused.stderr
        assert not (files / "out").exists()
        done("flows", "publish", *words, "--outside", "drop")

    def test_an_interrupted_run_is_completed_without_a_second_charge(self, files, monkeypatch):
        ledger = Ledger.create(files / "ledger")
        ledger.add_dataset("trips", PureDP(Fraction(5)))
        charged = ("--ledger", files / "ledger", "--dataset", "trips", "--output", files / "out")
        words = ("flows", "publish", *self.words(files, "--trips", "3", "--epsilon", "1", *charged))
        with monkeypatch.context() as patched:
            patched.setattr(staged_release, "write_index", lambda *_: 1 / 0)
            assert call(*words).returncode != 0
        done(*words, "--resume")
        assert len(ledger.charges("trips")) == 1
        assert failed(files / "out" / "public") == {}

    def test_the_mask_is_none_of_the_inputs(self, files):
        trips = ("--trips", "3", "--epsilon", "1", "--output", files / "out")
        words = [*self.words(files, *trips)]
        words[words.index(files / "mask.txt")] = files / "trips.csv"
        refused = call("flows", "publish", *words)
        assert refused.returncode == 2
        assert "a mask must be public" in refused.stderr
