"""What the setting for islands costs, and how near any pyramid comes on the sparsest map."""

import json
from fractions import Fraction

import numpy as np
import pytest

import geodp
from bench.inputs import derived
from bench.suites import islands, sparsest
from bench.suites.auto import ASKED
from bench.tables import markdown
from tests.analysis.statistics.test_unmixing import villages

KEPT = {one: json.loads(one.SAVED.read_text("utf-8")) for one in (islands, sparsest)}


@pytest.fixture
def small_maps(monkeypatch):
    """Villages stand in for every map."""
    monkeypatch.setattr(derived, "load", lambda name, folder: villages(len(name)))


@pytest.mark.parametrize("suite", [islands, sparsest])
def test_documents_show_the_committed_figures(suite):
    text = suite.DOCUMENT.read_text(encoding="utf-8")
    start, end = suite.MARKS
    assert text.split(start)[1].split(end)[0].strip() == markdown(suite.lines(KEPT[suite])).strip()


def test_no_random_pyramid_comes_near_what_is_asked_on_the_sparsest_map():
    rows = {row["regions"]: row for row in KEPT[sparsest]["rows"]}
    assert [*rows] == [*ASKED]
    for name, row in rows.items():
        assert row["of"] == len(KEPT[sparsest]["tried"]) == 300
        assert row["pyramids below"] == 0
        assert min(one[name] for one in KEPT[sparsest]["tried"]) >= row["limit"]
    assert rows["cells"]["best"] > rows["cells"]["zeros"] > 1.3 * rows["cells"]["limit"]
    assert rows["cells"]["cells, at best"] > 1.3 * rows["cells"]["limit"]
    assert min(rows[name]["zeros"] for name in ("polygons", "municipalities")) > 4


def test_islands_cost_rectangles_and_large_blocks():
    rows = {(r["map"], r["epsilon"], r["method"]): r for r in KEPT[islands]["rows"]}
    for (name, epsilon, method), row in rows.items():
        if method != "pyramid":
            default = rows[name, epsilon, "pyramid"]
            assert row["cells"] < default["cells"]
            if (name, epsilon) != ("samoa-100m", "0.1"):
                assert row["polygons"] < default["polygons"]
            assert row["rectangles"] > 1.2 * default["rectangles"]
            assert row["squares"] > 1.1 * default["squares"]


@pytest.mark.usefixtures("small_maps")
def test_both_are_measured():
    found = islands.measure(None, ["kanto"], ["1"], 2)
    assert [row["method"] for row in found["rows"]] == [*islands.METHODS]
    assert all(row["cells"] > 0 for row in found["rows"])
    assert "pyramid:setting=islands" in islands.show(found)
    found = sparsest.measure(plans=3, trials=2, epsilon="1")
    assert len({one["spec"] for one in found["tried"]}) == 3
    assert found["rows"][0]["cells, at best"] > 0
    assert "zeros" in sparsest.show(found)


def test_zeros_are_off_by_the_people():
    table = geodp.CountTable.from_dense(np.diag([3, 0, 5, 0]), geodp.Grid.regular((4, 4)))
    families = sparsest.draw_families(
        sparsest.Objectives.parse("cells=1"), table.grid, sparsest.Proxy(table, "diagonal")
    )
    assert sparsest.errors_of_zeros(table, families)["cells"] == pytest.approx(0.5)


@pytest.mark.parametrize("epsilon", ["1/5", "1"])
def test_the_least_error_of_cells_is_that_of_the_best_rule(epsilon):
    """Which for counts of two kinds publishes the larger from some noisy count on."""
    counts = np.zeros((64, 64), np.int64)
    counts[:16] = 12
    table = geodp.CountTable.from_dense(counts, geodp.Grid.regular(counts.shape))
    decay, seen = np.exp(-float(Fraction(epsilon))), np.arange(-400, 401)
    empty, full = ((1 - decay) / (1 + decay) * decay ** np.abs(seen - n) for n in (0, 12))
    errors = [12 * (0.75 * empty[bar:].sum() + 0.25 * full[:bar].sum()) for bar in range(801)]
    assert sparsest.least_error(table, epsilon) == pytest.approx(min(errors), rel=1e-6)
    assert min(errors) < 3 == counts.mean()
