"""Flows by label between areal units: what is special about their files, labels and exports."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import geodp
from geodp.errors import UsageError
from geodp.grid.cells.cell_grid import grid_of_cells
from geodp.kinds.flows.page import write_page
from geodp.kinds.flows.zones import Zones, find_outlines
from geodp.privacy.key import NoiseKey
from tests.grid.cells.libraries import need_h3
from tests.kinds.flows.forms import FORMS, MODES, UNITS, failed, make
from tests.kinds.flows.test_publish import ends_of
from tests.kinds.flows.units import unit_trips
from tests.refusals import refuses

KEY = NoiseKey(bytes(32))


def labelled_rows(number=500):
    """Trips between near units, with hours and modes."""
    draw = np.random.default_rng(3)
    labels = {"hour": draw.integers(0, 24, number).astype(str), "mode": draw.choice(MODES, number)}
    return unit_trips(UNITS, number) | labels


TABLE = FORMS["labels of units"].trips(3)


@pytest.fixture(scope="module")
def release(shared):
    return make(shared, "labels of units")


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


def test_names_that_columns_have_are_refused():
    rows = pa.table({**labelled_rows(9), "unit": ["a"] * 9, "origin_block": ["a"] * 9})
    ends = {"grid": UNITS, "origin": "o", "destination": "d"}
    for name, code in (
        ("unit", "region-level-name-taken"),
        ("origin_block", "flows-attribute-taken"),
    ):
        with refuses(UsageError, code):
            geodp.flows.read_trips(rows, **ends, by=name, labels={name: ("a", "b")})


def test_files_name_blocks_by_number(public, release):
    stated = release.index.guarantee.labels
    assert stated.side == 2
    blocks, zones = pq.read_table(public / "blocks.parquet"), Zones.of(UNITS)
    assert UNITS.names.find(blocks["code"].to_pylist())[1].tolist() == zones.column.tolist()
    for side in (stated.side, stated.pair_side):
        assert blocks[f"block_{side}"].to_pylist() == zones.blocks(side).of_zone.tolist()
    both = ["origin_block", "destination_block"]
    for ends, columns in (("origins", both[:1]), ("destinations", both[1:]), ("pairs", both)):
        rows = pq.read_table(public / f"labels-{ends}.parquet")
        assert rows.column_names == [*columns, "hour", "mode", "noisy"]
    assert pq.read_table(public / "pairs-4.parquet").column_names == [*both, "noisy"]
    said = {one.name: one.what for one in geodp.open(public).index.files}
    assert "blocks of origins of at most 4 zones" in said["labels-origins.parquet"]
    assert " by " not in said["labels-origins.parquet"].replace("by label", "")
    assert "with a side of" not in (public / "flows" / "release.json").read_text()


def test_flows_between_cells_and_all_other_places_have_labels(tmp_path):
    need_h3()
    draw, number = np.random.default_rng(0), 6000
    ends = draw.uniform((34.97, 138.97), (35.18, 139.23), (2, number, 2))
    rows = {"id": [f"p{at % 400}" for at in range(number)]}
    rows |= {"oy": ends[0, :, 0], "ox": ends[0, :, 1], "dy": ends[1, :, 0], "dx": ends[1, :, 1]}
    # From places outside all trips are at night.
    grid = grid_of_cells("h3:6", (139, 35, 139.2, 35.15), other="elsewhere")
    outside = (ends[0, :, 0] < 34.99) | (ends[0, :, 1] > 139.22)
    rows["hour"] = np.where(outside, 3, draw.integers(8, 20, number)).astype(str)
    made = geodp.flows.publish(
        pa.table(rows), grid=grid, origin=("ox", "oy"), destination=("dx", "dy"), person="id",
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
    page = write_page(again)
    assert "elsewhere" in page
    assert 'type="radio"' in page
