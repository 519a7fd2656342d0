"""Taxi trips between the cells of a coastline: placed as without it, and intervals that hold."""

from pathlib import Path

import numpy as np
import pytest

import geodp
from geodp.grid.grid import Grid
from geodp.grid.region import Region
from geodp.io.read.public.land import cut_to_land
from geodp.kinds.flows.zones import Zones, pairs_of
from geodp.privacy.key import NoiseKey
from geodp.table.counts import coalesce
from tests.kinds.flows.forms import count_between

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"
KEY = NoiseKey(bytes(range(32)))

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not DATA.is_dir(), reason="the real data sets are not beside the project"),
]


@pytest.fixture(scope="module")
def taxis():
    """Zones of 1 km of Shenzhen, those near land, and trips between these."""
    columns = {"origin_row": "SLATCOL", "origin_col": "SLONCOL"}
    columns |= {"destination_row": "ELATCOL", "destination_col": "ELONCOL"}
    table = geodp.read_table(
        DATA / "od-taxi-500m" / "taxi_od_grid.csv.gz",
        grid=Grid.regular((94, 168)).pairs(),
        value="VehicleNum",
        columns=columns,
    )
    transform = (2 * 0.00487, 0, 113.75194, 0, 2 * 0.0044966, 22.447837)
    whole = Grid.regular((47, 84), crs="EPSG:4326", transform=transform)
    land = cut_to_land(whole, "land:china:1km")
    index = table.grid.decode(table.key) // 2
    inside = land.contains(index[:2]) & land.contains(index[2:])
    return whole, land, index[:, inside], table.count[inside]


def share_right(table, released, side):
    """Part of the trips that are in the right pair of blocks."""
    held = []
    for one in (table, released):
        index = one.grid.decode(one.key) // side
        key = np.ravel_multi_index(tuple(index), one.grid.shape).astype(np.uint64)
        held.append(dict(zip(*(part.tolist() for part in coalesce(key, one.count)), strict=True)))
    return sum(min(n, held[1].get(key, 0)) for key, n in held[0].items()) / table.count.sum()


def test_trips_are_placed_as_well_as_without_a_mask(taxis):
    whole, land, index, count = taxis
    assert land.size < 0.9 * whole.size
    right = []
    for grid in (land, whole):
        table = geodp.CountTable.from_index(pairs_of(grid), index, count)
        made = geodp.flows.publish(table, contribution=10, epsilon=1, key=KEY)
        right.append([share_right(table, made.flows.table, side) for side in (1, 2, 4, 8)])
    assert (np.array(right[0]) > np.array(right[1]) - 0.01).all()
    assert right[0][0] > 0.7


def test_intervals_hold_the_truth(taxis):
    _, land, index, count = taxis
    table = geodp.CountTable.from_index(pairs_of(land), index, count)
    made = geodp.flows.publish(table, contribution=10, epsilon=1, key=KEY)
    zones, draw, pairs = Zones.of(land), np.random.default_rng(0), []
    for side in (2, 4, 8) * 20:
        ends = index[:, draw.integers(0, index.shape[1])].reshape(2, 2) // side * side
        at = np.stack([zones.row, zones.column], axis=1) // side * side
        pairs.append(
            tuple(Region(land, np.sort(zones.key[(at == one).all(axis=1)])) for one in ends)
        )
    found = made.estimate_all(pairs, simulations=20)
    true = count_between(table, pairs)
    held = [one.low <= n <= one.high for one, n in zip(found, true, strict=True)]
    assert np.mean(held) >= 0.94
