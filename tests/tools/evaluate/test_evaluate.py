import math
from fractions import Fraction

import numpy as np
import pytest
import shapely

import geodp
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from geodp.grid.mask import blocks_of_array, mask_of_blocks
from geodp.grid.order import Order
from geodp.privacy.event import Measurement
from geodp.privacy.terms import Terms
from geodp.table.counts import CountTable, ReleasedTable
from geodp.tools.evaluate import queries as workloads
from geodp.tools.evaluate.queries import Polygons, Queries, Rectangles, Truth, total_variation
from geodp.tools.evaluate.result import summary
from tests.grids import half, regions_of
from tests.reference import evaluate as reference
from tests.refusals import refuses

KEY = geodp.NoiseKey(bytes(range(32)))
SPENT = Measurement.of("laplace", Terms.of(epsilon=Fraction(1), contribution=1), 1, "fixed")


def masked(grid):
    inside = np.random.default_rng(5).random((grid.places[0].rows, grid.places[0].cols)) < 0.4
    inside[0, 0] = True
    return grid.with_mask(mask_of_blocks(grid, blocks_of_array(inside), "a test"))


GRIDS = {
    "square": Grid.regular((16, 16)),
    "odd bits": Grid.regular((8, 16)),
    "padded": Grid.regular((13, 9)),
    "one cell": Grid.regular((1, 1)),
    "line": Grid.regular((11,)),
    "attributes": Grid.regular((5, 6)).with_attribute("a", "xyz").with_attribute("b", "pqrst"),
    "masked": masked(Grid.regular((13, 9))),
    "masked attributes": masked(Grid.regular((5, 6)).with_attribute("a", "xyz")),
    "pairs": Grid.regular((3, 4)).pairs(),
    "mixed": Grid.regular((10, 6)).with_order(Order((0, 1, 0, 1), (2, 2, 5, 3))),
    "mixed padded": Grid.regular((9, 5)).with_order(Order((0, 1, 0, 1), (2, 2, 5, 3))),
}


def keys_of(grid):
    return np.array(sorted(reference.cells_of(grid).values()), np.uint64)


def random_table(grid, seed):
    draw = np.random.default_rng(seed)
    key = keys_of(grid)
    count = (draw.pareto(0.5, key.size) * 3).astype(int) % 9000 * (draw.random(key.size) < 0.6)
    return CountTable.from_keys(grid, key, count)


def random_release(table, seed, whole):
    draw = np.random.default_rng(seed)
    key = keys_of(table.grid)
    true = np.zeros(key.size, np.int64)
    true[np.searchsorted(key, table.key)] = table.count
    values = true + draw.integers(-9, 10, key.size) * (draw.random(key.size) < 0.7)
    values = values.astype(np.int64) if whole else values + draw.integers(0, 4, key.size) / 4
    kept = (values != 0) & (draw.random(key.size) < 0.8)
    return ReleasedTable(table.grid, key[kept], values[kept], SPENT)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "real"])
@pytest.mark.parametrize("name", GRIDS)
def test_figures_are_those_of_the_naive_reference(name, whole, sparse, monkeypatch):
    grid = GRIDS[name]
    if sparse and not name.startswith("mixed"):
        monkeypatch.setattr(workloads, "MAX_KEYS", 0)
    table = random_table(grid, 1)
    truth = Truth(table)
    releases = [random_release(table, seed, whole) for seed in range(3)]
    figures = []
    for released in releases:
        found, key, _ = truth.errors(released)
        assert (key is not None) == (sparse and not name.startswith("mixed"))
        figures.append({**found, "visited": 1, "seconds": 1.0})
    ours = summary(truth, figures)
    true = reference.counts_of(table)
    given = [reference.counts_of(released) for released in releases]
    rows = reference.by_area(grid, true, given)
    assert [1 << s for s in truth.shifts] == reference.areas_of(grid.bits)
    for measure in rows[0]:
        assert ours[measure] == pytest.approx([row[measure] for row in rows], rel=1e-9, abs=1e-9)
    for label, row in reference.by_class(grid, true, given).items():
        for measure, value in row.items():
            assert ours["classes"][label][measure] == pytest.approx(value, rel=1e-9, abs=1e-12)
        assert row["cells"] or math.isnan(ours["classes"][label]["mae"])
    for area in (1, 16, 256):
        for k in (10, 100, 1000):
            row = ours["hot_spots"].get(str(area), {})
            if len(reference.hottest(true, area, 10**9)) < k or area > 1 << grid.bits:
                assert str(k) not in row
                continue
            expected = np.mean([reference.precision(true, one, area, k) for one in given])
            assert row[str(k)] == pytest.approx(expected)
    variation = np.mean([reference.total_variation(true, one) for one in given])
    assert ours["total_variation"] == pytest.approx(variation)
    assert ours["negative"] == np.mean([sum(v < 0 for v in one.values()) for one in given])
    assert ours["nonzero"] == np.mean([len(one) for one in given])
    assert ours["density"] == pytest.approx(ours["nonzero"] / grid.size)


@pytest.mark.parametrize("whole", [True, False], ids=["whole", "real"])
@pytest.mark.parametrize("name", ["line", "padded", "masked", "attributes", "pairs"])
def test_rectangles_are_summed_like_the_reference(name, whole, monkeypatch):
    grid = GRIDS[name]
    table = random_table(grid, 2)
    released = random_release(table, 3, whole)
    workload = Rectangles.random(grid, 20, seed=4)
    again = Rectangles.random(grid, 20, seed=4)
    assert (workload.low == again.low).all()
    assert (workload.low <= workload.high).all()
    assert (workload.high.max(axis=1) < grid.shape).all()
    true, given = reference.counts_of(table), reference.counts_of(released)
    expected = [
        reference.rectangle_error(grid, true, given, low, high)
        for low, high in zip(workload.low.T, workload.high.T, strict=True)
    ]
    _, key, error = Truth(table).errors(released)
    assert workload.sums(grid, key, error) == pytest.approx(expected)
    monkeypatch.setattr("geodp.tools.evaluate.queries.MAX_KEYS", 0)
    assert workload.sums(grid, key, error) == pytest.approx(expected)
    of = workload.errors(grid, key, error)
    assert of["rectangle_absolute"] == pytest.approx(np.mean(np.abs(expected)))
    assert of["rectangle_norm"] == pytest.approx(np.linalg.norm(expected) / 20)


def test_rectangles_take_four_axes_at_most():
    with refuses(UsageError, r"rectangles-of-many-axes: \b4\b"):
        Rectangles.random(Grid.regular((2,) * 5), 3, 0)


@pytest.mark.parametrize("name", ["plain", "northwards", "attributes", "masked", "regions"])
@pytest.mark.parametrize("sparse", [False, True])
def test_polygons_hold_the_cells_whose_centre_lies_inside(name, sparse, monkeypatch):
    down = (10, 0, 100, 0, -10, 200) if name != "northwards" else (10, 0, 100, 0, 10, 80)
    grid = Grid.regular((12, 9), crs="EPSG:3035", transform=down)
    if name == "attributes":
        grid = grid.with_attribute("a", "xyz")
    if name == "masked":
        grid = masked(grid)
    if name == "regions":  # digits of 3 and 2 under the places, and cells between the regions
        grid = grid.with_attribute("a", "xyz").with_attribute("b", "pq")
        grid = grid.with_hierarchy(regions_of(half((12, 9), 6)))
    shapes = {
        "triangle": shapely.Polygon([(95, 75), (195, 80), (130, 210)]),
        "two": shapely.MultiPolygon([shapely.box(100, 180, 121, 200), shapely.box(0, 0, 107, 99)]),
        "far away": shapely.box(1000, 1000, 2000, 2000),
        "all": shapely.box(-1e9, -1e9, 1e9, 1e9),
        "empty": shapely.Polygon(),
    }
    if sparse:
        monkeypatch.setattr(workloads, "MAX_KEYS", 0)
    table = random_table(grid, 7)
    released = random_release(table, 8, True)
    _, key, error = Truth(table).errors(released)
    areas = Polygons.of(grid, shapes)
    sums = areas.sums(key, error)
    true, given = reference.counts_of(table), reference.counts_of(released)
    cells = reference.cells_of(grid)
    for number, shape in enumerate(shapes.values()):
        expected, inside = 0, 0
        for row in range(12):
            for col in range(9):
                y = (200 - 10 * row - 5) if name != "northwards" else (80 + 10 * row + 5)
                if not shape.contains(shapely.Point(100 + 10 * col + 5, y)):
                    continue
                inside += (row, col, *[0] * len(grid.attributes)) in cells
                for rest in np.ndindex(*grid.shape[2:]):
                    k = cells.get((row, col, *rest))
                    expected += given.get(k, 0) - true.get(k, 0)
        assert areas.cells[number] == inside
        assert sums[number] == expected
    once = {"epsilon": 1, "contribution": 1, "trials": 3}
    found = geodp.evaluate(
        table, methods="geometric", key=KEY, polygons=shapes, **{"contribution": 1, **once}
    )
    row = found.to_dict()["methods"]["geometric"]["polygons"]
    assert list(row) == list(shapes)
    assert row["far away"]["mae"] is None
    assert row["all"]["rmse"] == pytest.approx(found.methods["geometric"]["rmse"][-1])


@pytest.mark.parametrize("sparse", [False, True])
def test_errors_of_queries_are_told_by_trial(sparse, monkeypatch):
    if sparse:
        monkeypatch.setattr(workloads, "MAX_KEYS", 0)
    grid = Grid.regular((12, 9)).with_attribute("a", "xyz")
    table, released = random_table(grid, 7), random_release(random_table(grid, 7), 8, True)
    cells = {"corner": np.array([[0, 0], [0, 1], [2, 0]]), "all": table.key, "1": table.key[:1]}
    queries = Queries.of(grid, cells)
    _, key, error = Truth(table).errors(released)
    true, given = reference.counts_of(table), reference.counts_of(released)
    for number, one in enumerate(queries.names):
        keys = queries.key[queries.query == number].tolist()
        assert queries.sums(key, error)[number] == sum(
            given.get(k, 0) - true.get(k, 0) for k in keys
        ), one
    found = geodp.evaluate(
        table, methods="geometric", epsilon=1, contribution=1, trials=3, key=KEY, queries=cells
    )
    told = found.to_dict()["methods"]["geometric"]["queries"]
    rows = found.to_pandas()
    assert rows.trial.tolist() == [1, 2, 3] * 3
    for name, of_one in rows.groupby("query"):
        assert told[name]["cells"] == of_one.cells.iloc[0]
        assert told[name]["mae"] == pytest.approx(of_one.error.abs().mean())
        assert told[name]["bias"] == pytest.approx(of_one.error.mean())


def test_queries_that_are_refused():
    with refuses(UsageError, "queries-missing"):
        Queries.of(Grid.regular((4, 4)), {})
    with refuses(UsageError, "region-form"):
        Queries.of(Grid.regular((4, 4)), [object()])


def test_polygons_that_are_refused():
    box = shapely.box(0, 0, 1, 1)
    grid = Grid.regular((4, 4), crs="EPSG:3035", transform=(1, 0, 0, 0, 1, 0))
    for wrong in (Grid.regular((4, 4)), Grid.regular((4,)), grid.pairs()):
        with refuses(UsageError, "polygons-need-earth"):
            Polygons.of(wrong, [box])
    with refuses(UsageError, r"polygon-expected: ^1\b"):
        Polygons.of(grid, [shapely.Point(0, 0)])
    with refuses(UsageError, "polygons-need-attributes-below"):
        Polygons.of(
            grid.with_attribute("a", "xy").with_order(Order((2, 0, 1, 0, 1), (2,) * 5)), [box]
        )
    huge = Grid.regular((2**15, 2**15), crs="EPSG:3035", transform=(1, 0, 0, 0, 1, 0))
    with refuses(UsageError, "region-box-too-large"):
        Polygons.of(huge, [shapely.box(0, 0, 1e9, 1e9)])


@pytest.mark.parametrize("chunk", [1, 2, 64])
def test_the_hottest_are_found_whatever_the_chunks(chunk, monkeypatch):
    monkeypatch.setattr(workloads, "CHUNK", chunk)
    for seed in range(30):
        values = np.random.default_rng(seed).integers(-5, 5 + seed, 101)
        for most in (1, 7, 200):
            ranked = sorted((k for k in range(101) if values[k] > 0), key=lambda k: (-values[k], k))
            assert workloads.hottest(None, values, most).tolist() == ranked[:most]


def test_total_variation_of_nobody():
    nobody, somebody = np.zeros(2, np.int64), np.array([1, 2])
    assert total_variation(nobody, nobody) == 0
    assert total_variation(nobody, somebody) == 1
    assert total_variation(somebody, np.array([-1.0, -2.0])) == 1
    assert total_variation(somebody, np.array([10.0, 20.0])) == pytest.approx(0)


def small():
    people = np.random.default_rng(3).poisson(20, (20, 30)) * (np.arange(30) > 12)
    return CountTable.from_dense(people, Grid.regular((20, 30)))


def errors_only(found):
    plain = found.to_dict()
    for row in plain["methods"].values():
        assert row.pop("seconds") > 0
    return plain


@pytest.mark.law
def test_a_key_makes_it_reproducible_for_any_number_of_processes():
    options = {"methods": ["topdown", "geometric"], "epsilon": 1, "trials": 4, "rectangles": 9}
    one = errors_only(geodp.evaluate(small(), key=KEY, **{"contribution": 1, **options}))
    assert errors_only(geodp.evaluate(small(), key=KEY, **{"contribution": 1, **options})) == one
    calls = []
    two = geodp.evaluate(
        small(),
        key=KEY,
        processes=2,
        progress=lambda *told: calls.append(told),
        **{"contribution": 1, **options},
    )
    assert errors_only(two) == one
    assert calls == [(n, 8) for n in range(1, 9)]
    assert errors_only(geodp.evaluate(small(), **{"contribution": 1, **options})) != one
    alone = errors_only(
        geodp.evaluate(
            small(), key=KEY, **{"contribution": 1, **{**options, "methods": "geometric"}}
        )
    )
    assert alone["methods"]["geometric"] == one["methods"]["geometric"]
    KEY.words()  # the caller's key is not forgotten


def test_trials_share_no_noise_with_each_other_or_with_a_release(monkeypatch):
    seen = []
    laplace = type(geodp.METHODS["laplace"])
    release = laplace.release

    def watched(self, table, spent, key):
        seen.append(key.words().tobytes())
        return release(self, table, spent, key)

    monkeypatch.setattr(laplace, "release", watched)
    geodp.publish(small(), method="laplace", epsilon="0.1", key=KEY, contribution=1)
    geodp.evaluate(small(), methods="laplace", trials=3, key=KEY, contribution=1)
    assert seen[1] == seen[2]  # the first run is repeated for its time alone
    assert len(set(seen)) == 4


def test_the_errors_are_those_that_theory_gives():
    table = CountTable.from_dense(np.full((32, 32), 10**6), Grid.regular((32, 32)))
    found = geodp.evaluate(
        table, methods=("topdown", "geometric"), epsilon=1, trials=60, key=KEY, contribution=1
    )
    for row in found.methods.values():
        z = (row["rmse"] - row["closed_form"]) / row["rmse_se"]
        assert np.abs(z).max() < 6
        assert np.abs(row["bias"] / row["bias_se"]).max() < 6
    double = geodp.evaluate(
        table, methods="geometric", epsilon=1, trials=2, neighbours="replace-one", contribution=3
    )
    ratio = double.methods["geometric"]["closed_form"] / found.methods["geometric"]["closed_form"]
    assert ratio == pytest.approx(6, rel=0.05)
    assert double.to_dict()["contribution"] == 3


def test_gaussian_budgets():
    table = CountTable.from_dense(np.full((32, 32), 10**6), Grid.regular((32, 32)))
    options = {"methods": ("pyramid", "topdown", "laplace"), "trials": 60, "key": KEY}
    found = geodp.evaluate(table, epsilon=1, delta="1e-6", **{"contribution": 1, **options})
    assert found.refused == {"laplace": "laplace has Laplace noise only: give epsilon alone."}
    for row in found.methods.values():
        assert np.abs((row["rmse"] - row["closed_form"]) / row["rmse_se"]).max() < 6
    plain = found.to_dict()
    assert (plain["epsilon"], plain["delta"], plain["noise"]) == ("1", "1/1000000", "gaussian")
    rho = geodp.publish(table, epsilon=1, delta="1e-6", key=KEY, contribution=1).event.rho
    assert plain["rho"] == str(rho)
    assert found.budget.startswith("epsilon 1, rho 0.0")
    other = geodp.evaluate(table, rho=rho, **{"contribution": 1, **{**options, "trials": 2}})
    assert other.to_dict()["epsilon"] is other.to_dict()["delta"] is None
    assert other.methods["pyramid"]["closed_form"] == pytest.approx(
        found.methods["pyramid"]["closed_form"]
    )
    assert (
        geodp.evaluate(table, methods="laplace", trials=1, contribution=1).budget
        == "epsilon 1/10 = 0.1"
    )


def test_what_an_evaluation_says():
    found = geodp.evaluate(
        small(), methods=["topdown", "geometric", "topdown"], trials=1, contribution=1
    )
    plain = found.to_dict()
    assert next(iter(plain)) == "notice"
    assert plain["notice"].startswith("CONFIDENTIAL: ")
    assert plain["confidential"] is True
    assert plain["epsilon"] == "1/10"
    assert plain["areas"] == [1, 4, 16, 64, 256, 1024]
    assert plain["blocks"] == [600, 150, 40, 12, 4, 1]
    assert plain["refused"] == {}
    assert list(plain["methods"]) == ["topdown", "geometric"]
    row = plain["methods"]["topdown"]
    assert row["mae_se"] == [None] * 6
    assert set(row) == {
        *("mae", "mae_se", "rmse", "rmse_se", "bias", "bias_se", "worst", "closed_form"),
        *("negative", "nonzero", "density", "visited", "seconds", "total_variation"),
        *("classes", "hot_spots"),
    }
    assert "methods" not in repr(found)
    assert "mae" not in repr(found)
    assert "methods" not in repr(found)
    public = geodp.evaluate(
        small(), methods="topdown", trials=1, public=True, contribution=1
    ).to_dict()
    assert public["confidential"] is False
    assert "notice" not in public


def test_a_sparse_grid_of_any_size():
    grid = Grid.regular((2**19, 2**18))
    draw = np.random.default_rng(1)
    index = np.stack([draw.integers(0, 2**19, 50), draw.integers(0, 2**18, 50)])
    table = CountTable.from_index(grid, index, np.full(50, 10**5))
    found = geodp.evaluate(
        table, methods=("topdown", "laplace"), trials=2, rectangles=5, key=KEY, contribution=1
    )
    assert list(found.methods) == ["topdown"]
    assert list(found.refused) == ["laplace"]
    assert found.areas[-2:] == (2**36, 2**37)
    assert found.blocks[0] == found.cells == 2**37
    row = found.methods["topdown"]
    assert 0 < row["mae"][0] < 1
    assert row["classes"]["1000+"]["cells"] == 50
    assert row["rectangles"]["mae"] > 0


def test_an_empty_table_is_evaluated_too():
    empty = CountTable.from_dense(np.zeros((4, 4), int), Grid.regular((4, 4)))
    plain = geodp.evaluate(
        empty, methods=["topdown", "geometric"], trials=2, rectangles=3, contribution=1
    ).to_dict()
    row = plain["methods"]["geometric"]
    assert row["rectangles"]["scaled"] is None
    assert row["classes"]["1-9"] == {"cells": 0, "mae": None, "rmse": None, "bias": None}
    assert row["hot_spots"] == {"1": {}, "16": {}}


def unbounded():
    table = small()
    return CountTable(table.grid, table.key, table.count)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"methods": "magic"}, "method-unknown"),
        ({"methods": []}, "methods-missing"),
        ({"methods": ["topdown:x=1"]}, "method-settings-unknown: topdown"),
        ({"trials": 0}, "number-below-least: trials"),
        ({"trials": 1.5}, "number-below-least: trials"),
        ({"processes": True}, "number-below-least: processes"),
        ({"rectangles": -1}, "number-below-least: rectangles"),
        ({"seed": -1}, "number-below-least: seed"),
        ({"key": bytes(32)}, "key-expected"),
        ({"epsilon": 1, "rho": 1}, "epsilon-or-rho"),
        ({"rho": 1, "methods": "hay"}, r"no-method-runs: \bhay\b.*Laplace noise only"),
        ({"table": unbounded(), "contribution": None}, "contribution-unstated"),
        ({"table": np.ones((2, 2))}, "table-expected"),
        (
            {
                "table": CountTable.from_keys(Grid.regular((2**30,)), [1], [1]),
                "methods": ["laplace", "geometric"],
            },
            "no-method-runs: method supports.*grid.*budget. laplace works.*every cell",
        ),
    ],
)
def test_calls_that_are_refused(options, words):
    table = options.pop("table", small())
    with refuses(UsageError, words):
        geodp.evaluate(table, **{"contribution": 1, **options})


def test_closed_forms_are_dashed_where_there_are_some(tmp_path):
    from geodp.tools.evaluate.result import plot_errors

    for method, dashed in (("geometric", True), ("mwem", False)):
        found = geodp.evaluate(small(), methods=method, trials=2, epsilon=1, contribution=1)
        plot_errors(found, tmp_path / "a", "svg")
        assert ("stroke-dasharray" in (tmp_path / "a").read_text("utf-8")) == dashed


@pytest.mark.law
def test_a_picture_is_drawn(tmp_path):
    from geodp.tools.evaluate.result import plot_errors

    plot_errors(
        geodp.evaluate(small(), methods="pyramid", trials=2, rho=1, contribution=1),
        tmp_path / "a",
        "svg",
    )
    assert "ρ = 1" in (tmp_path / "a").read_text(encoding="utf-8")
    found = geodp.evaluate(small(), trials=2, epsilon=1, contribution=1)
    for form, start in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        plot_errors(found, tmp_path / "a", form)
        assert (tmp_path / "a").read_bytes().startswith(start)
    assert (
        "CONFIDENTIAL" in (tmp_path / "a").read_text() or "#b00020" in (tmp_path / "a").read_text()
    )
