"""Errors of parts of a map: of estimates, in files, and how often they hold the truth."""

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

import geodp
from geodp.errors import UsageError
from geodp.grid.region import Region
from geodp.io.verify.verify import verify
from geodp.release.opening import errors_of
from tests.refusals import refuses

PLACES = geodp.Grid.regular((32, 32), crs="EPSG:3035", transform=(1000, 0, 0, 0, 1000, 0))
GRID = PLACES.with_attribute("sex", ["f", "m"]).with_attribute("age", ["child", "adult", "old"])
BOX = (3000, 3000, 20000, 28000)


def town(rng):
    """Shares differ from cell to cell, as much as places of a census do."""
    size = rng.gamma(0.6, 400, PLACES.shape) * (rng.random(PLACES.shape) < 0.7)
    shares = rng.dirichlet(np.array([10, 36, 4, 10, 36, 4]), PLACES.shape)
    return rng.poisson(size[:, :, None] * shares).reshape(GRID.shape)


@pytest.fixture(scope="module")
def people():
    return town(np.random.default_rng(1))


@pytest.fixture(scope="module")
def release(people):
    return published(people, 1)


def published(people, number, epsilon="1/2", grid=GRID):
    return geodp.publish(
        geodp.CountTable.from_dense(people, grid),
        epsilon=epsilon,
        contribution=1,
        key=geodp.NoiseKey(bytes([number]) * 32),
    )


def test_all_parts_together_have_the_errors_of_the_map(release, people):
    alone = geodp.publish(
        geodp.CountTable.from_dense(people.sum(axis=(2, 3)), PLACES),
        epsilon="1/4",
        contribution=1,
        key=geodp.NoiseKey(bytes([1]) * 32),
    )
    assert release.estimate(BOX) == alone.estimate(BOX)
    assert release.standard_error(BOX) == alone.standard_error(BOX)


def test_some_parts_have_less_than_the_map_and_more_than_nothing(release):
    total, women = release.estimate(BOX), release.estimate(BOX, {"sex": "f"})
    counts = release.table.to_dense()[3:28, 3:20]
    assert women.count == counts[:, :, 0].sum()
    assert women.standard_error > 0
    assert women.low < women.count < women.high < total.high
    both = release.estimate_all([BOX], {"sex": ["f", "m"]})
    assert both == [total]


def test_a_cell_s_estimate_is_that_of_the_files(release, tmp_path):
    release.write(tmp_path / "out")
    rows = pq.read_table(tmp_path / "out" / "public" / "population.parquet").to_pylist()
    for row in rows[:: len(rows) // 12]:
        labels = {"sex": row["sex"], "age": row["age"]}
        east, north = row["x"], row["y"]
        found = release.estimate((east - 400, north - 400, east + 400, north + 400), labels)
        assert found.count == row["population"]
        assert found.standard_error == pytest.approx(row["standard_error"], rel=1e-4)
        assert (found.low, found.high) == pytest.approx((row["low"], row["high"]), abs=2e-3)
    assert [check for check in verify(tmp_path / "out", errors_of) if not check.ok] == []


def test_a_cell_with_all_labels_has_the_interval_of_the_map_also_from_files(release, tmp_path):
    """Files have intervals of parts, which are none of the map's cells."""
    release.write(tmp_path / "out")
    opened = geodp.open(tmp_path / "out")
    best = np.argmax(release.table.to_dense().sum(axis=(2, 3)))
    row, col = np.unravel_index(best, PLACES.shape)
    for labels in (None, {"sex": "f"}):
        box = (1000 * col, 1000 * row, 1000 * (col + 1), 1000 * (row + 1))
        found = opened.estimate(box, labels)
        assert found.low < found.count < found.high
        assert found == release.estimate(box, labels)


def test_verify_finds_other_errors_of_parts(release, tmp_path):
    release.write(tmp_path / "out")
    wrong = release.intervals()

    class Wrong:
        """The release, with other intervals."""

        def __init__(self, view):
            self.made = errors_of(view)

        def __getattr__(self, name):
            return getattr(self.made, name)

        def view(self, name):
            made = self.made.view(name)
            return replace(made, errors=replace(made.errors, intervals=self))

        def of(self, key):
            low, high = wrong.of(key)
            return low, high + 1

    found = verify(tmp_path / "out", Wrong)
    assert [check.name for check in found if not check.ok] == ["intervals"]


def test_what_is_no_sum_of_parts_is_refused_in_a_sentence(release):
    keys = GRID.encode(np.array([[0, 1], [0, 1], [0, 1], [0, 2]]))
    with refuses(UsageError, "region-labels-differ"):
        release.estimate(keys)
    with refuses(UsageError, "simulated-nothing-clamped"):
        geodp.publish(
            geodp.CountTable.from_dense(np.ones(GRID.shape, int), GRID),
            epsilon=1,
            contribution=1,
            simulate=20,
        )


def test_more_than_64_parts_have_errors_too():
    rng = np.random.default_rng(3)
    places = geodp.Grid.regular((8, 8))
    grid = places.with_attribute("sex", ["f", "m"]).with_attribute("age", list(map(str, range(60))))
    counts = rng.poisson(rng.gamma(1, 40, (8, 8, 1, 1)) * np.linspace(2, 0, 60), (8, 8, 2, 60))
    found = published(counts, 4, 2, grid)
    low, high = found.intervals().of(found.table.key)
    assert ((low <= found.table.count) & (found.table.count <= high)).all()
    key = grid.encode(np.indices(grid.shape).reshape(4, -1))
    low, high = found.intervals().of(key)
    truth = counts.reshape(-1)
    assert ((low <= truth) & (truth <= high)).mean() > 0.95


@pytest.mark.law
@pytest.mark.parametrize("epsilon", ["1/4", "4"])
def test_intervals_of_parts_hold_the_truth(epsilon):
    """Nominal 95 %; of the populous, the few, and regions."""
    key = GRID.encode(np.indices(GRID.shape).reshape(4, -1))
    held, sums = [], []
    for number in range(20):
        people = town(np.random.default_rng(number))
        found = published(people, number, epsilon)
        low, high = found.intervals().of(key)
        truth = people.reshape(-1)
        inside = (low <= truth) & (truth <= high)
        held.append([inside[truth < 10].mean(), inside[truth >= 10].mean()])
        for labels, axis in (({"sex": "f"}, (0, slice(None))), ({"age": "old"}, (slice(None), 2))):
            one = found.estimate(BOX, labels)
            true = people[3:28, 3:20][:, :, axis[0], axis[1]].sum()
            sums.append(one.low <= true <= one.high)
    assert (np.mean(held, axis=0) > 0.93).all()
    assert np.mean(sums) >= 0.9


def test_counts_above_2_to_the_53_are_added_up_as_whole_numbers():
    grid = geodp.Grid.regular((4, 4)).with_attribute("sex", ["f", "m"])
    many = np.random.default_rng(1).integers(1 << 54, 1 << 55, (4, 4, 2))
    release = geodp.publish(geodp.CountTable.from_dense(many, grid), epsilon=1, contribution=1)
    rows, columns = np.indices((4, 3)).reshape(2, -1)
    for label in ("f", "m"):
        region = Region.of_map(grid, rows, columns, {"sex": label})
        summed = int(release.table.counts_at(region.key).sum())
        assert release.estimate(region).value == summed
