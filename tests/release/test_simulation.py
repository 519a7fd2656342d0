"""Intervals by simulation: from the release alone, narrower than the closed form, and covering."""

from fractions import Fraction

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.grid.region import Region
from geodp.privacy.key import NoiseKey
from geodp.release import simulation
from geodp.release.release import Release
from geodp.release.simulation import KeyRuns
from geodp.table.counts import ReleasedTable
from geodp.table.public_totals import PublicTotals
from tests.refusals import refuses

pytestmark = pytest.mark.law

GRID = geodp.Grid.regular((32, 32))
ROW, COL = np.indices((32, 32))
LAND = COL < 14 + ROW % 5
SIMULATION = "simulation"


def box(row, col, height, width):
    simulated = np.zeros((32, 32), np.bool_)
    simulated[row : row + height, col : col + width] = True
    return simulated


def region(inside):
    return Region.of(GRID, np.argwhere(inside).T)


def release_of(people, number=1, method="pyramid:setting=R"):
    table = geodp.CountTable.from_dense(people, GRID)
    key = NoiseKey(number.to_bytes(32, "little"))
    return geodp.publish(table, method=method, epsilon=Fraction(1, 10), contribution=1, key=key)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(simulation, "RELEASES", 100)


@pytest.fixture(scope="module")
def coast():
    people = np.where(LAND, 700, 0)
    people[20, 28] = 900  # an island
    return people


def test_sums_of_runs_are_sums_of_cells(coast):
    release = release_of(coast)
    shapes = [LAND, ~LAND, box(20, 28, 1, 1), box(3, 5, 9, 7), LAND & (ROW % 2 == 0)]
    simulated = KeyRuns.of([region(shape) for shape in shapes]).sums(release.table)
    dense = release.table.to_dense()
    assert simulated.tolist() == [dense[shape].sum() for shape in shapes]
    assert KeyRuns.of([region(LAND), Region(GRID, np.empty(0, np.uint64))]).sums(
        release.table
    ).tolist() == [dense[LAND].sum(), 0]


def test_where_nothing_is_clamped_the_width_is_that_of_the_noise(monkeypatch):
    monkeypatch.setattr(simulation, "RELEASES", 200)
    release = release_of(np.full((32, 32), 100_000))
    shapes = [region(box(4, 4, 1, 1)), region(box(4, 4, 9, 9)), region(box(0, 0, 16, 16))]
    closed = release.estimate_all(shapes)
    for plain, simulated in zip(
        closed, release.estimate_all(shapes, method=SIMULATION), strict=True
    ):
        assert not simulated.clamped
        assert simulated.count == plain.count
        assert (simulated.high - simulated.low) / (plain.high - plain.low) < 1.5
        assert simulated.standard_error == pytest.approx(plain.standard_error, rel=0.2)


def test_where_something_is_clamped_it_is_mostly_narrower_than_the_closed_form(coast):
    release = release_of(coast)
    shapes = [region(LAND), region(box(2, 8, 20, 16)), region(box(20, 28, 1, 1)), region(~LAND)]
    closed = release.estimate_all(shapes)
    simulated = release.estimate_all(shapes, method=SIMULATION)
    assert all(one.clamped for one in simulated)
    cell = 2  # whose surroundings are of a known class
    assert closed[cell].low <= simulated[cell].low <= simulated[cell].high <= closed[cell].high
    widths = [
        (one.high - one.low) / (plain.high - plain.low)
        for plain, one in zip(closed, simulated, strict=True)
    ]
    assert min(widths) < 0.9


def test_true_sums_are_covered_also_where_the_release_shows_nothing(coast):
    shapes = {"land": LAND, "sea": ~LAND, "island": box(20, 28, 1, 1), "around": box(16, 24, 9, 8)}
    shapes["lost"] = box(8, 25, 1, 1)
    people = coast.copy()
    people[8, 25] = 60
    held, zero = dict.fromkeys(shapes, 0), 0
    for number in range(8):
        release = release_of(people, 100 + number)
        zero += release.estimate(region(shapes["lost"])).count == 0
        simulated = release.estimate_all(map(region, shapes.values()), method=SIMULATION)
        for name, one in zip(shapes, simulated, strict=True):
            held[name] += one.low <= people[shapes[name]].sum() <= one.high
    assert zero >= 1  # a plain bootstrap of nobody would cover nobody
    assert min(held.values()) >= 6
    assert sum(held.values()) >= 0.9 * 8 * len(held)


def test_it_needs_the_release_alone_and_says_the_same_again(coast):
    release = release_of(coast)
    copy = ReleasedTable(
        GRID, release.table.key.copy(), release.table.count.copy(), release.table.event
    )
    place = region(box(10, 10, 8, 9))
    first = Release(copy).estimate(place, method=SIMULATION)
    assert first == release.estimate(place, method=SIMULATION)
    assert first == release.estimate_all([place, region(LAND)], method=SIMULATION)[0]


def test_a_release_of_nobody_is_simulated_too():
    table = ReleasedTable(
        GRID, np.empty(0, np.uint64), np.empty(0, np.int64), release_of(LAND * 50).event
    )
    closed, simulated = (
        Release(table).estimate(region(LAND), method=method)
        for method in ("closed-form", SIMULATION)
    )
    assert simulated.count == simulated.low == 0
    assert 0 < simulated.high <= closed.high


@pytest.mark.parametrize("method", ["laplace", "privelet"])
def test_methods_that_clamp_nothing_are_refused(method, coast):
    release = release_of(coast, method=method)
    with refuses(UsageError, f"closed-form-is-good: ^{method}\\b"):
        release.estimate(region(LAND), method=SIMULATION)


def test_methods_without_a_tree_and_unknown_ways_are_refused(coast):
    with refuses(UsageError, "region-error-unknown"):
        release_of(coast, method="dawa").estimate(region(LAND), method=SIMULATION)
    with refuses(UsageError, "errors-method-unknown"):
        release_of(coast).estimate(region(LAND), method="guess")


def test_releases_with_public_totals_meet_them_in_simulation_too(coast):
    grid = geodp.Grid.mesh("jis:half", bounds=(139, 35, 139.4, 35.2))
    people = np.where(np.indices(grid.shape)[1] < grid.shape[1] * 0.6, 300, 0)
    table = geodp.CountTable.from_dense(people, grid)
    code = grid.places[0].format(*np.zeros((2, 1), np.int64))[0][:6]
    area = Region.of(grid, code)
    held = int(table.counts_at(area.key).sum())
    totals = PublicTotals.of(grid, {code: held}, "a book")
    key = NoiseKey((5).to_bytes(32, "little"))
    options = {"epsilon": Fraction(1, 10), "contribution": 1, "key": key}
    release = geodp.publish(table, totals=totals, **options)
    part = Region(grid, area.key[: area.key.size // 2])
    closed = release.estimate_all([code, part])
    exact, simulated = release.estimate_all([code, part], method=SIMULATION)
    assert exact.low == exact.high == held
    true = table.counts_at(part.key).sum()
    assert closed[1].low <= simulated.low <= true <= simulated.high <= closed[1].high


def test_topdown_is_simulated_too(coast):
    release = release_of(coast, method="topdown")
    place = box(2, 8, 20, 16)
    closed, simulated = (
        release.estimate(region(place), method=m) for m in ("closed-form", SIMULATION)
    )
    assert simulated.low <= coast[place].sum() <= simulated.high
    assert simulated.high - simulated.low < 1.2 * (closed.high - closed.low)


@pytest.mark.parametrize("smooth", ["both", "none"])
def test_smoothed_snapshots_of_a_series_are_refused(coast, tmp_path, smooth):
    tables, times = [geodp.CountTable.from_dense(coast, GRID)] * 2, ["2024-01", "2024-02"]
    options = {"epsilon": 1, "contribution": 1, "people": 1e5, "person": "all"}
    series = geodp.publish_series(tables, times=times, smooth=smooth, **options)
    series.write(tmp_path / "out")
    written = geodp.open(tmp_path / "out")["2024-02"]
    assert written.card().post_processing == series[1].card().post_processing
    for release in (series[1], written):
        if smooth == "none":
            release.estimate(region(LAND), method=SIMULATION)
            continue
        with refuses(UsageError, "series-not-simulated"):
            release.estimate(region(LAND), method=SIMULATION)
