"""Errors of single pairs by size: they hold, follow from the release, and are compared."""

import itertools

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.io.verify.verify import verify
from geodp.kinds.flows import pair_errors
from geodp.kinds.flows.pair_errors import SAMPLED, look_up_errors
from geodp.privacy.key import NoiseKey
from tests.kinds.flows.units import make_units, unit_table
from tests.refusals import refuses

UNITS, _ = make_units()


@pytest.fixture(autouse=True)
def all_pairs(monkeypatch):
    """Errors here are those of as many pairs as a release samples."""
    monkeypatch.setattr(pair_errors, "SAMPLED", SAMPLED)


def concentrated(side=24, number=40_000, seed=5):
    """Trips that mostly go to few places, as commuters do, with some pairs far above all others."""
    draw, grid = np.random.default_rng(seed), geodp.Grid.regular((side, side))
    start = draw.integers(0, side, (2, number))
    end = np.clip(start + np.rint(draw.normal(0, 3, (2, number))).astype(np.int64), 0, side - 1)
    busy = draw.random(number) < 0.2
    start[:, busy], end[:, busy] = 3 * draw.integers(0, 2, (2, busy.sum())), 20
    return geodp.CountTable.from_index(
        grid.pairs(), np.concatenate([start, end]), np.ones(number, np.int64)
    )


@pytest.mark.parametrize(("contribution", "levels"), [(1, None), (10, None), (3, {1: "1/2"})])
def test_intervals_hold_the_truth_by_size(contribution, levels):
    trips = concentrated()
    release = geodp.flows.publish(
        trips, contribution=contribution, levels=levels, epsilon=1, key=NoiseKey(bytes(32))
    )
    table = release.flows.table
    key = np.union1d(table.key, trips.key)
    made, true = np.zeros((2, key.size))
    made[np.searchsorted(key, table.key)] = table.count
    true[np.searchsorted(key, trips.key)] = trips.count
    errors, low, high = look_up_errors(release.index.pairs, made)
    held = (low <= true) & (true <= high)
    for first, end in ((0, 4), (4, 16), (16, 64), (64, 1 << 20)):
        some = (first <= made) & (made < end)
        assert held[some].mean() > 0.93 if some.sum() > 30 else True
    # Errors are not below what was missed.
    assert np.mean((made - true) ** 2) < 1.2 * np.mean(errors**2)


def test_errors_between_stated_sizes_grow_from_one_to_the_next():
    release = geodp.flows.publish(
        concentrated(), contribution=1, epsilon=1, key=NoiseKey(bytes(32))
    )
    stated = release.index.pairs
    at = [(one.trips, one.standard_error, one.low, one.high) for one in stated.sizes]
    for one, other in itertools.pairwise(at):
        middle = look_up_errors(stated, np.array([(one[0] + other[0]) / 2]))
        for low, between, high in zip(one[1:], middle, other[1:], strict=True):
            assert min(low, high) - 0.001 <= between[0] <= max(low, high) + 0.001
    beyond = look_up_errors(stated, np.array([3.0 * at[-1][0]]))
    assert [float(one[0]) for one in beyond] == pytest.approx(
        [3 * one for one in at[-1][1:]], rel=1e-5
    )


def test_frames_have_the_columns(release):
    rows = release.to_pandas(errors=True)
    assert [*rows][-4:] == ["count", "standard_error", "low", "high"]
    assert (rows["low"] <= rows["count"]).all()
    assert (rows["count"] <= rows["high"]).all()
    assert [*release.to_pandas()][-1] == "count"
    units = geodp.flows.publish(unit_table(UNITS), contribution=2, epsilon=3)
    lines = units.to_geopandas(errors=True)
    stated = {each.trips: each for each in units.index.pairs.sizes}
    for row in lines[lines["count"].isin([*stated])].itertuples():
        size = stated[row.count]
        assert (row.standard_error, row.low, row.high) == (
            size.standard_error, size.low, size.high,
        )  # fmt: skip


def test_flows_by_label_have_no_errors_of_pairs():
    grid = geodp.Grid.regular((8, 8))
    pairs = grid.pairs().with_attribute("mode", ["walk", "car"])
    key = np.arange(0, 400, 7).astype(np.uint64)
    trips = geodp.CountTable.from_keys(pairs, key, np.full(key.size, 5))
    release = geodp.flows.publish(trips, contribution=1, epsilon=5)
    with refuses(UsageError, "flows-errors-by-label"):
        release.to_pandas(errors=True)
    # The index states those of all labels together.
    assert release.index.pairs is not None


def test_a_release_without_trips_states_none(tmp_path):
    pairs = geodp.Grid.regular((8, 8)).pairs()
    empty = geodp.CountTable.from_keys(pairs, np.empty(0, np.uint64), np.empty(0, np.int64))
    release = next(
        made
        for made in (
            geodp.flows.publish(
                empty, contribution=1, epsilon=100, allow_empty=True, key=NoiseKey(bytes([n] * 32))
            )
            for n in range(9)
        )
        if not made.origins.table.count.any()
    )
    assert release.index.pairs is None
    release.write(tmp_path / "out")
    assert all(check.ok for check in verify(tmp_path / "out"))
    assert release.to_pandas(errors=True).empty
