"""Flows by label between areal units: exact in all margins, written, opened and estimated."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import geodp
from geodp.errors import UsageError, VerificationError
from geodp.grid.axes import Attribute
from geodp.grid.cells.cell_grid import grid_of_cells
from geodp.io.verify.verify import verify
from geodp.kinds.flows.page import write_page
from geodp.kinds.flows.zones import Zones, find_outlines, pairs_of
from geodp.privacy.key import NoiseKey
from geodp.release.simulated_cells import errors_of
from tests.grid.cells.libraries import NEEDS
from tests.kinds.flows.test_publish import ends_of
from tests.kinds.flows.test_units import UNITS
from tests.kinds.flows.test_verify import failed, list_sums
from tests.kinds.flows.units import make_units, middles, unit_trips
from tests.refusals import refuses

HOURS = tuple(map(str, range(24)))
MODES = ("walk", "car")
ATTRIBUTES = (Attribute("hour", HOURS), Attribute("mode", MODES))
KEY = NoiseKey(bytes(32))


def labelled_rows(grid=UNITS, number=20_000, seed=3):
    """Trips between near units, with hours that are later in the east, and modes."""
    rows, draw = unit_trips(grid, number, seed), np.random.default_rng(seed)
    x = np.asarray(rows["ox"])
    middle = 6 + 12 * (x - x.min()) / np.ptp(x)
    hour = np.rint(draw.normal(middle, 2)).astype(int) % 24
    return {**rows, "hour": hour.astype(str), "mode": draw.choice(MODES, number, p=[0.2, 0.8])}


def labelled_table(grid=UNITS, number=20_000, seed=3):
    """The table of pairs and labels of these trips."""
    rows = labelled_rows(grid, number, seed)
    ends = [grid.names.find(rows[end]) for end in "od"]
    labels = [rows["hour"].astype(int), (rows["mode"] == "car").astype(int)]
    index = np.concatenate([*ends, np.stack(labels)])
    return geodp.CountTable.from_index(pairs_of(grid, ATTRIBUTES), index, np.ones(number, np.int64))


TABLE = labelled_table()


@pytest.fixture(scope="module")
def release():
    return geodp.flows.publish(TABLE, contribution=3, epsilon=1, key=KEY)


@pytest.mark.parametrize("amounts", [{"epsilon": 1}, {"rho": "1/8"}, {"epsilon": "1/100"}])
@pytest.mark.parametrize("levels", [None, {2: "2/5", 4: "1/10"}], ids=["default", "blocks"])
def test_all_margins_are_met_exactly(levels, amounts):
    made = geodp.flows.publish(TABLE, contribution=2, levels=levels, **amounts)
    for flows, released in ends_of(made):
        assert np.array_equal(flows, released)
    assert made.flows.grid == pairs_of(UNITS, ATTRIBUTES)
    assert (made.flows.table.count > 0).all()
    rows = made.to_pandas()
    assert [*rows] == ["origin", "destination", "hour", "mode", "count"]
    assert rows["count"].sum() == made.origins.table.count.sum()


def test_with_hardly_any_noise_labels_of_whole_blocks_are_true():
    made = geodp.flows.publish(TABLE, contribution=1, epsilon=10**6)
    side = made.index.guarantee.labels.side
    of_zone = Zones.of(UNITS).blocks(side).of_zone[np.argsort(Zones.of(UNITS).column)]
    sums = []
    for table in (TABLE, made.flows.table):
        index = table.grid.decode(table.key)
        sums.append(np.zeros((of_zone.max() + 1, 24, 2)))
        np.add.at(sums[-1], (of_zone[index[1]], index[4], index[5]), table.count)
    assert np.abs(sums[0] - sums[1]).sum() < 0.05 * sums[0].sum()


def test_labels_of_trips_are_read_between_units():
    rows = labelled_rows(number=500)
    given = {"by": ("hour", "mode"), "labels": {"mode": MODES}, "person": "id", "trips": 4}
    codes, points = (
        geodp.flows.read_trips(pa.table(rows), grid=UNITS, key=KEY, **ends, **given)
        for ends in (
            {"origin": "o", "destination": "d"},
            {"origin": ("oy", "ox"), "destination": ("dy", "dx")},
        )
    )
    assert codes.grid == pairs_of(UNITS, ATTRIBUTES)
    assert np.array_equal(codes.key, points.key)
    assert codes.count.sum() == 500
    counted = {**{name: rows[name] for name in ("o", "d", "hour", "mode")}, "n": np.full(500, 3)}
    table = geodp.flows.read_trips(
        pa.table(counted), grid=UNITS, origin="o", destination="d", value="n", duplicates="sum",
        by=("hour", "mode"), labels={"mode": MODES},
    )  # fmt: skip
    assert table.count.sum() == 1500


def test_names_that_columns_have_are_refused():
    rows = pa.table({**labelled_rows(number=9), "unit": ["a"] * 9, "origin_block": ["a"] * 9})
    ends = {"grid": UNITS, "origin": "o", "destination": "d"}
    for name, code in (
        ("unit", "region-level-name-taken"),
        ("origin_block", "flows-attribute-taken"),
    ):
        with refuses(UsageError, code):
            geodp.flows.read_trips(rows, **ends, by=name, labels={name: ("a", "b")})


def test_a_written_release_is_verified_and_opened(public, release):
    assert failed(public) == {}
    done = {one.name: one.detail for one in verify(public, errors_of)}
    assert "labels-origins.parquet" in done["joint files"]
    opened = geodp.open(public.parent)
    assert opened.flows.grid == release.flows.grid
    for one, other in zip(opened.labels, release.labels, strict=True):
        assert np.array_equal(one.noisy, other.noisy)
        assert (one.ends, one.side, one.variance) == (other.ends, other.side, other.variance)
    west, east = ["000", "001", "002"], ["003", "004"]
    asked = {"hour": [7, 8], "mode": "car"}
    assert opened.estimate(west, east, **asked) == release.estimate(west, east, **asked)
    assert opened.to_pandas().equals(release.to_pandas())


def test_files_name_blocks_by_number(public, release):
    stated = release.index.guarantee.labels
    blocks = pq.read_table(public / "blocks.parquet")
    zones = Zones.of(UNITS)
    for side in (stated.side, stated.pair_side):
        listed = blocks[f"block_{side}"].to_pylist()
        assert listed == zones.blocks(side).of_zone.tolist()
    for ends, columns in (
        ("origins", ["origin_block"]),
        ("destinations", ["destination_block"]),
        ("pairs", ["origin_block", "destination_block"]),
    ):
        rows = pq.read_table(public / f"labels-{ends}.parquet")
        assert rows.column_names == [*columns, "hour", "mode", "noisy"]
    card = json.loads((public / "flows.json").read_text())
    said = {one["name"]: one["what"] for one in card["files"]}
    assert stated.side == 2
    assert "blocks of origins of at most 4 zones" in said["labels-origins.parquet"]
    assert " by " not in said["labels-origins.parquet"].replace("by label", "")
    sensitivity = json.loads((public / "flows" / "release.json").read_text())["mechanism"]
    assert "with a side of" not in json.dumps(sensitivity)


@pytest.mark.parametrize("ends", ["origins", "destinations", "pairs"])
def test_changed_counts_by_label_are_found(public, ends):
    path = public / f"labels-{ends}.parquet"
    rows = pq.read_table(path)
    noisy = [rows["noisy"][0].as_py() + 1, *rows["noisy"].to_pylist()[1:]]
    place = rows.column_names.index("noisy")
    pq.write_table(rows.set_column(place, "noisy", pa.array(noisy)), path, compression="zstd")
    list_sums(public)
    assert {"checksums", "one release"} <= failed(public).keys()


def test_other_blocks_of_labels_are_found(public):
    path = public / "labels-origins.parquet"
    rows = pq.read_table(path)
    turned = pa.array(rows["origin_block"].to_pylist()[::-1], pa.int32())
    pq.write_table(rows.set_column(0, "origin_block", turned), path, compression="zstd")
    list_sums(public)
    assert "joint files" in failed(public)


@pytest.mark.parametrize("stated", [{"side": 3}, {"side": 1 << 40}, {"share": "1"}], ids=str)
def test_labels_that_no_release_measures_are_refused_at_opening(public, stated):
    card = json.loads((public / "flows.json").read_text())
    card["guarantee"]["labels"] |= stated
    (public / "flows.json").write_text(json.dumps(card))
    list_sums(public)
    with refuses(VerificationError, "flows-stated-labels"):
        geodp.open(public.parent)
    assert failed(public)


def test_estimates_of_labels_add_up_and_hold_the_truth(release):
    # Units of the west and of the east, which cut blocks.
    x = middles(UNITS)[:, 0]
    names = UNITS.names.format(0, np.stack([0 * np.arange(42), np.arange(42)]))
    west, east = names[x < np.median(x)].tolist(), names[x >= np.median(x)].tolist()
    rows, held = labelled_rows(), []
    whole = release.estimate(west, east, simulations=20)
    sets = [{"hour": hour} for hour in HOURS]
    hours = [one for (one,) in release.estimate_sets([(west, east)], sets, simulations=20)]
    assert sum(one.count for one in hours) == whole.count
    for hour, one in zip(HOURS, hours, strict=True):
        inside = np.isin(rows["o"], west) & np.isin(rows["d"], east) & (rows["hour"] == hour)
        held.append(one.low <= inside.sum() <= one.high)
    assert np.mean(held) >= 0.9
    assert sum(one.high - one.low < whole.count for one in hours) == 24


def test_releases_and_flows_by_label_are_compared(release):
    x = middles(UNITS)[:, 0]
    names = UNITS.names.format(0, np.stack([0 * np.arange(42), np.arange(42)]))
    west, east = names[x < np.median(x)].tolist(), names[x >= np.median(x)].tolist()
    # Hours are later in the east.
    pairs, morning, evening = ((west, west), (east, east)), {"hour": [*range(9)]}, {"hour": [19]}
    precise, again = (
        geodp.flows.publish(TABLE, contribution=3, epsilon=60, key=NoiseKey(bytes([n] * 32)))
        for n in (1, 2)
    )
    one = precise.compare(*pairs, labels=(morning, morning))
    assert one.is_certain
    assert one.value < 0
    assert not release.compare(*pairs, labels=(morning, morning)).is_certain
    assert precise.compare(pairs[0], labels=(morning, evening)).is_certain
    later = precise.compare(pairs[0], release=again, labels=(morning, morning))
    assert later.low <= 0 <= later.high


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_page_has_a_choice_of_labels(public, language):
    page = write_page(geodp.open(public.parent), language, simulations=20)
    assert page.count('type="radio"') == 26
    assert "×" not in page
    assert "data:image/png;base64," in page


def test_lines_have_labels(release):
    lines = release.to_geopandas()
    assert len(lines) == len(release.to_pandas())
    assert {"hour", "mode"} <= {*lines.columns}
    first = lines.iloc[0]
    start = shapely.Point(first.geometry.coords[0])
    unit = UNITS.names.find([first["origin"]])[1, 0]
    assert UNITS.outlines.shapes[unit].contains(start)


def test_netcdf_and_matrices_have_labels(release, tmp_path):
    pytest.importorskip("h5py", reason="the extra `omx` is not installed")
    import h5py
    from scipy.io import netcdf_file

    release.write(tmp_path / "out")
    view = geodp.open(tmp_path / "out" / "public" / "flows").view("flows")
    rows = release.to_pandas()
    from geodp.io.write.export.netcdf import EXPORTS as NETCDF
    from geodp.io.write.export.omx import EXPORTS as OMX

    NETCDF[0].write(view, tmp_path / "flows.nc")
    OMX[0].write(view, tmp_path / "flows.omx")
    first = rows.iloc[0]
    with netcdf_file(tmp_path / "flows.nc", mmap=False) as file:
        assert file.variables["count"].dimensions == ("origin", "destination", "hour", "mode")
        assert file.variables["count"][:].sum() == rows["count"].sum()
    with h5py.File(tmp_path / "flows.omx") as file:
        matrix = file["data"][f"flows {first['hour']} {first['mode']}"][:]
        zones = [one.decode() for one in file["lookup"]["zone"][:]]
        at = [zones.index(first[end]) for end in ("origin", "destination")]
        assert matrix[tuple(at)] == first["count"]
        assert sum(one[:].sum() for one in file["data"].values()) == rows["count"].sum()


def test_units_of_several_levels_have_labels(tmp_path):
    towns = [f"t{at // 14}" for at in range(42)]
    grid, codes = make_units(town=towns)
    made = geodp.flows.publish(labelled_table(grid), contribution=1, epsilon=1)
    one = made.estimate("t0", "t2", hour=8)
    same = made.estimate([*codes[:2].reshape(-1)], [*codes[4:].reshape(-1)], hour=8)
    assert one == same
    made.write(tmp_path / "out")
    assert failed(tmp_path / "out" / "public") == {}


def test_a_prior_of_another_release_by_label(tmp_path):
    release = geodp.flows.publish(TABLE, contribution=3, epsilon=1)
    told = geodp.flows.publish(
        TABLE, contribution=3, epsilon=1, prior=release, prior_source="an earlier release"
    )
    assert told.prior.trips == release.origins.table.count.sum()
    told.write(tmp_path / "out")
    assert failed(tmp_path / "out" / "public") == {}


@pytest.mark.parametrize("spec", ["h3:7", "s2:12"])
def test_flows_between_cells_and_all_other_places_have_labels(spec, tmp_path):
    NEEDS[spec[:2]]()
    draw, number = np.random.default_rng(0), 6000
    ends = draw.uniform((34.97, 138.97), (35.18, 139.23), (2, number, 2))
    rows = {"id": [f"p{at % 400}" for at in range(number)]}
    rows |= {"oy": ends[0, :, 0], "ox": ends[0, :, 1], "dy": ends[1, :, 0], "dx": ends[1, :, 1]}
    # From places outside all trips are at night.
    grid = grid_of_cells(spec, (139, 35, 139.2, 35.15), other="elsewhere")
    outside = (ends[0, :, 0] < 34.99) | (ends[0, :, 1] > 139.22)
    rows["hour"] = np.where(outside, 3, draw.integers(8, 20, number)).astype(str)
    made = geodp.flows.publish(
        pa.table(rows), grid=grid, origin=("oy", "ox"), destination=("dy", "dx"), person="id",
        trips=15, other="elsewhere", by="hour", epsilon=50, key=KEY,
    )  # fmt: skip
    for flows, released in ends_of(made):
        assert np.array_equal(flows, released)
    _, known = find_outlines(grid.hierarchy)
    cells = grid.names.format(0, np.stack([0 * known, known])).tolist()
    night = made.estimate("elsewhere", cells, hour=3)
    truth = int(outside.sum())
    assert night.count > 0.3 * truth
    made.write(tmp_path / "out")
    assert failed(tmp_path / "out" / "public") == {}
    again = geodp.open(tmp_path / "out")
    assert again.estimate("elsewhere", cells, hour=3) == night
    page = write_page(again, simulations=20)
    assert "elsewhere" in page
    assert 'type="radio"' in page
