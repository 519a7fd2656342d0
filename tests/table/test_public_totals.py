"""Public totals: met exactly, the nearest counts, and what is left of the guarantee."""

from itertools import product

import numpy as np
import pytest

import geodp
from geodp.errors import CodeError, UsageError
from geodp.grid.hierarchy import Hierarchy
from geodp.table.counts import CountTable
from geodp.table.proxy import Proxy
from geodp.table.public_totals import PublicTotals, divide, nearest
from tests.refusals import refuses

RNG = np.random.default_rng(5)
ROWS, COLS = 40, 36


def municipalities(grid, n=53):
    """Regions around n random places: every cell is in that of the nearest."""
    row, col = np.indices((ROWS, COLS)).reshape(2, -1)
    seed = RNG.random((2, n)) * [[ROWS], [COLS]]
    own = np.hypot(row[:, None] - seed[0], col[:, None] - seed[1]).argmin(axis=1)
    assert np.unique(own).size == n
    texts = {"prefecture": (own % 3).astype(str), "city": np.char.add("c", own.astype(str))}
    return grid.with_hierarchy(Hierarchy.of_cells([row, col], texts, "made up")), own


def totals_of(grid, table, depth=2):
    regions = grid.hierarchy
    paths = {
        tuple(regions.labels(level)[i] for level in regions.levels[:depth])
        for i in range(regions.cells)
    }
    return PublicTotals.of(
        grid,
        {path: int(table.to_dense()[tuple(regions.cells_in(*path))].sum()) for path in paths},
        "the law on population figures",
    )


def made(scale=300):
    grid, _ = municipalities(geodp.Grid.regular((ROWS, COLS)))
    counts = RNG.integers(0, scale, grid.shape) * (RNG.random(grid.shape) < 0.3)
    return CountTable.from_dense(counts, grid)


@pytest.mark.parametrize("method", ["pyramid", "pyramid:setting=R"])
def test_53_municipalities_have_exactly_their_totals(method):
    table = made()
    totals = totals_of(table.grid, table)
    assert totals.total.size == 53
    release = geodp.publish(table, method=method, epsilon="1/20", totals=totals, contribution=1)
    assert totals.sums(release.table).tolist() == totals.total.tolist()
    free = geodp.publish(table, method=method, epsilon="1/20", contribution=1)
    assert (totals.sums(free.table) != totals.total).mean() > 0.9  # without them, none is met
    for path in totals.names[:5]:
        cells = np.array(table.grid.hierarchy.cells_in(*path))
        found = release.estimate(cells)
        assert found.low == found.count == found.high == table.to_dense()[tuple(cells)].sum()


def test_tables_of_areas_say_which_are_exact():
    table = made()
    for depth, exact in ((2, (True, True)), (1, (True, False))):
        totals = totals_of(table.grid, table, depth)
        release = geodp.publish(table, epsilon="1/20", totals=totals, contribution=1)
        for areas, known in zip(release.areas(), exact, strict=True):
            assert ((areas.standard_error == 0) == known).all(), areas.level
    fewer = PublicTotals.of(table.grid, {totals.names[0]: int(totals.total[0])}, "a book")
    release = geodp.publish(table, epsilon="1/20", totals=fewer, contribution=1)
    prefectures = next(iter(release.areas()))
    assert (prefectures.standard_error == 0).sum() == 1


def test_errors_and_intervals_stay_right():
    table = made()
    totals, truth = totals_of(table.grid, table), table.to_dense()
    inside, squares = [], np.zeros(2)
    for number in range(12):
        key = geodp.NoiseKey(number.to_bytes(32, "little"))
        given = {"epsilon": "1/10", "key": key}
        release, free = (
            geodp.publish(table, totals=totals, contribution=1, **given),
            geodp.publish(table, contribution=1, **given),
        )
        for at, one in enumerate((release, free)):
            squares[at] += ((one.table.to_dense() - truth) ** 2).sum()
        low, high = release.intervals().of(release.table.key)
        true = truth[tuple(table.grid.decode(release.table.key))]
        inside.append(((low <= true) & (true <= high)).mean())
    assert np.mean(inside) > 0.94
    assert squares[0] < squares[1]


def test_what_is_public_need_not_be_measured():
    """Nearly no budget for the areas and what is above them: a fifth less error at cells."""
    grid = geodp.Grid.regular((128, 128))
    table = Proxy.make_up(grid, None).table
    key = np.arange(grid.size, dtype=np.uint64)
    row, col = grid.decode(key)
    place, area = row * 128 + col, (key // np.uint64(1024)).astype(np.int64)
    order, truth = np.argsort(place), table.to_vector()
    sums = truth.reshape(16, -1).sum(axis=1)
    names = tuple((str(number),) for number in range(16))
    totals = PublicTotals(grid, names, ("code",), sums, place[order], area[order], "a book")
    errors = []
    for method in ("pyramid", "pyramid:chain=8-6,shares=3-30-67"):
        found = []
        for number in range(10):
            secret = geodp.NoiseKey(number.to_bytes(32, "little"))
            given = {"method": method, "epsilon": "1/10", "contribution": 1, "key": secret}
            release = geodp.publish(table, totals=totals, **given)
            off = release.table.to_vector() - truth
            assert not off.reshape(16, -1).sum(axis=1).any()
            blocks = np.abs(off.reshape(-1, 64).sum(axis=1)).mean()
            found.append((np.abs(off).mean(), blocks))
        errors.append(np.mean(found, axis=0))
    ratio = errors[1] / errors[0]
    assert (ratio > 0.7).all()
    assert (ratio < (0.85, 0.95)).all()


def test_the_nearest_counts_are_the_nearest():
    for count in product(range(1, 5), repeat=3):
        for total in range(12):
            found = nearest(np.array(count), total)
            assert found.sum() == total
            assert (found >= 0).all()
            best = min(
                sum((a - b) ** 2 for a, b in zip(count, other, strict=True))
                for other in product(range(total + 1), repeat=3)
                if sum(other) == total
            )
            assert ((found - np.array(count)) ** 2).sum() == best


def test_large_totals_are_exact():
    n = 1 << 59
    assert sum(nearest(np.array([n, 3, n]), n + 7).tolist()) == n + 7
    assert sum(divide(2 * n - 1, 1000).tolist()) == 2 * n - 1


def test_areas_that_share_cells_or_are_none_are_refused_by_their_row():
    grid = geodp.Grid.mesh("jis:half", bounds=(139, 35, 139.2, 35.1))
    with refuses(CodeError, "total-cell-repeated") as error:
        PublicTotals.of(grid, {"52395000": 1, "523950": 2}, "a book")
    assert error.value.position == 1
    with refuses(CodeError, "total-area-unknown"):
        PublicTotals.of(grid, {"6041": 1}, "a book")
    with refuses(UsageError, "totals-source-missing"):
        PublicTotals.of(grid, {"523950": 2}, " ")
    grid, _ = municipalities(geodp.Grid.regular((ROWS, COLS)))
    with refuses(CodeError, "total-region-unknown"):
        PublicTotals.of(grid, {("0", "nowhere"): 2}, "a book")


def test_empty_areas_are_filled_evenly_and_labels_are_summed():
    grid = geodp.Grid.mesh("jis:half", bounds=(139, 35, 139.2, 35.1)).with_attribute(
        "sex", ["a", "b"]
    )
    totals = PublicTotals.of(grid, {"52395000": 25}, "a book")
    cells = geodp.grid.region.Region.of(grid, "52395000")
    truth = CountTable.from_keys(grid, cells.key[:5], [5] * 5)
    totals.require(truth)
    release = geodp.publish(
        truth, epsilon="1/1000", contribution=1, totals=totals, key=geodp.NoiseKey(bytes(32))
    )
    here = release.table.count[np.isin(release.table.key, cells.key)]
    assert here.sum() == 25
    again = totals.fit(type(release.table)(grid, cells.key[:0], truth.count[:0], release.event))
    assert again.count.sum() == 25
    assert {*again.count.tolist()} <= {25 // cells.cells, 25 // cells.cells + 1}


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({"epsilon": "1/10"}, "epsilon = 1/5"),
        ({"epsilon": "1/10", "neighbours": "replace-one"}, "epsilon = 1/10"),
        ({"rho": "1/100"}, "rho = 1/25"),
        ({"rho": "1/100", "neighbours": "replace-one"}, "rho = 1/100"),
    ],
)
def test_the_card_says_what_is_left_of_the_guarantee(given, left):
    table = made()
    totals = totals_of(table.grid, table, depth=1)
    release = geodp.publish(table, totals=totals, contribution=1, **given)
    (said,) = [s for s in release.card().guarantee.not_protected if "law on population" in s]
    assert said.startswith("the totals of 3 areas")
    assert said.endswith(f"protected with {left}")
    assert totals.sha256 in said


def test_other_totals_than_the_tables_are_refused_before_anything():
    table = made()
    totals = totals_of(table.grid, table)
    totals.total[7] += 1
    with refuses(UsageError, "totals-disagree") as error:
        geodp.publish(table, epsilon=1, totals=totals, contribution=1)
    assert not any(mark.isdigit() for mark in str(error.value))


def test_methods_of_real_numbers_refuse_them():
    table = made()
    with refuses(UsageError, "totals-need-whole-counts"):
        geodp.publish(
            table,
            method="geometric",
            epsilon=1,
            totals=totals_of(table.grid, table),
            contribution=1,
        )
