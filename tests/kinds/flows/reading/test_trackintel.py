"""Stays and trips of made pings against trackintel, where that library is installed."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import geodp

trackintel = pytest.importorskip("trackintel", reason="trackintel is not installed")

MESH = geodp.Grid.mesh("jis:basic", bounds=(139.5, 35.5, 140, "35.8333333333"))


def made(persons=200, rows=300):
    """Persons who go between eight places, with 30 metres of noise, every 1 to 9 minutes."""
    draw = np.random.default_rng(3)
    time = 1_714_521_600 + np.cumsum(draw.integers(60, 540, (persons, rows)), axis=1)
    places = draw.uniform((35.51, 139.51), (35.82, 139.98), (persons, 8, 2))
    at = np.cumsum(draw.random((persons, rows)) < 0.04, axis=1) % 8
    seen = places[np.arange(persons)[:, None], at] + draw.normal(0, 30 / 111_000, (*at.shape, 2))
    columns = {"id": np.repeat(np.arange(persons), rows).astype(str), "t": time.ravel()}
    table = pa.table({**columns, "lat": seen[..., 0].ravel(), "lon": seen[..., 1].ravel()})
    return table.set_column(1, "t", table["t"].cast(pa.timestamp("s", "UTC")))


def trips_of_trackintel(rows):
    """Trips by its stays, of which those are left whose own records extend over ten minutes.

    It adds the time up to the first record elsewhere to a stay, which geodp does not.
    """
    import geopandas

    frame = rows.to_pandas().rename(columns={"id": "user_id", "t": "tracked_at"})
    points = geopandas.points_from_xy(frame["lon"], frame["lat"])
    fixes = geopandas.GeoDataFrame(
        frame[["user_id", "tracked_at"]], geometry=points, crs="EPSG:4326"
    )
    fixes.index.name = "id"
    fixes, stays = trackintel.Positionfixes(fixes).generate_staypoints(
        dist_threshold=200, time_threshold=10, gap_threshold=120, include_last=True
    )
    spans = fixes.dropna(subset=["staypoint_id"]).groupby("staypoint_id")["tracked_at"]
    long = (spans.max() - spans.min()).dt.total_seconds() >= 600
    stays = stays[long.reindex(stays.index).to_numpy(bool)].sort_values(["user_id", "started_at"])
    index = np.stack(MESH.places[0].locate(stays.geometry.x, stays.geometry.y))
    user = stays["user_id"].to_numpy()
    next_ones = np.flatnonzero(user[1:] == user[:-1])
    ends = np.concatenate([index[:, next_ones], index[:, next_ones + 1]])
    return Counter(MESH.pairs().encode(ends).tolist())


def test_nearly_all_trips_are_those_of_trackintel():
    rows = made()
    table = geodp.flows.read_pings(
        rows, grid=MESH, place=("lon", "lat"), time="t", person="id", trips=10_000
    )
    ours = Counter(dict(zip(table.key.tolist(), table.count.tolist(), strict=True)))
    theirs = trips_of_trackintel(rows)
    common = (ours & theirs).total()
    # It joins no stays, and its zones are those of the mean and not of the nearest record.
    assert 2 * common / (ours.total() + theirs.total()) > 0.9
    assert ours.total() > 1000
