"""What islands cost, how near pyramids come on the sparsest maps, and maps never used."""

import json

import numpy as np
import pytest

import geodp
from bench.inputs import derived
from bench.suites import held_out, islands, signal, sparsest
from bench.suites.shares import TARGETS
from bench.suites.shares_bound import LARGE, SMALL
from tests.tools.statistics.test_estimate import villages

KEPT = {
    one: json.loads(one.SAVED.read_text("utf-8")) for one in (islands, sparsest, held_out, signal)
}


@pytest.fixture
def small_maps(monkeypatch):
    """Villages stand in for every map."""
    monkeypatch.setattr(derived, "load", lambda name, folder: villages(len(name)))


def test_no_random_pyramid_comes_near_what_is_asked_on_the_sparsest_maps():
    for name in sparsest.MAPS:
        rows = {row["regions"]: row for row in KEPT[sparsest]["rows"] if row["map"] == name}
        tried = [one for one in KEPT[sparsest]["tried"] if one["map"] == name]
        assert [*rows] == [*TARGETS]
        for kind, row in rows.items():
            below = [one for one in tried if one[kind] < row["limit"]]
            assert row["of"] == len(tried) == 300
            assert row["pyramids below"] == len(below)
            tile = name == "europe-2018-9-8"
            assert len(below) == 10 * (tile and kind == "polygons")
            assert row["below all"] == 0
            assert (row["default"] < row["limit"]) == (tile and kind != "cells")


def test_cells_of_samoa_are_as_wrong_as_zeros():
    rows = {row["regions"]: row for row in KEPT[sparsest]["rows"] if row["map"] == "samoa-100m"}
    assert rows["cells"]["best"] > rows["cells"]["zeros"] > 1.3 * rows["cells"]["limit"]
    assert rows["cells"]["cells, at best"] > 1.3 * rows["cells"]["limit"]
    assert min(rows[name]["zeros"] for name in ("polygons", "municipalities")) > 4


def test_maps_that_nothing_was_chosen_by_fare_as_the_others():
    rows = [row for row in KEPT[held_out]["rows"] if row["method"] == "pyramid"]
    assert [row["map"] for row in rows[::2]] == held_out.MAPS
    for row in rows:
        assert row["largest"] <= SMALL
        assert row["of all"] <= LARGE
        over = [kind for kind in TARGETS if row[kind] > TARGETS[kind]]
        weak = (row["map"], row["epsilon"]) == ("kanto-foreigners", "0.1")
        assert over == (["cells", "municipalities"] if weak else [])


def test_pyramids_that_are_searched_hold_to_the_default_s_bound():
    grid = geodp.Grid.regular((64, 64))
    drawn = signal.draw_plans(grid, np.random.default_rng(1))
    specs = [next(drawn) for _ in range(30)]
    assert len({*specs}) == 30
    assert all(signal._bits(spec) == grid.bits for spec in specs)
    assert max(signal.closed(grid, spec) for spec in specs) <= 0
    assert signal.closed(grid, "pyramid:chain=6-6,shares=1-1-98") > 0


KINDS = ("cells", "polygons", "municipalities", "rectangles")


def test_islands_cost_rectangles_most():
    rows = {(r["map"], r["epsilon"], r["method"]): r for r in KEPT[islands]["rows"]}
    for (name, epsilon, method), row in rows.items():
        if method != "pyramid":
            default = rows[name, epsilon, "pyramid"]
            more = {kind: row[kind] / default[kind] for kind in default if kind in KINDS}
            assert 1.03 < more["cells"] < 1.22
            assert 1 < more["polygons"] < 1.34
            assert 1 < more["municipalities"] < 1.54
            assert 1.2 < more["rectangles"] < 4.45


@pytest.mark.usefixtures("small_maps")
def test_all_are_measured():
    found = islands.measure(None, ["kanto"], ["1"], 2)
    assert [row["method"] for row in found["rows"]] == [*islands.METHODS]
    assert all(row["cells"] > 0 for row in found["rows"])
    assert "pyramid:setting=islands" in islands.show(found)
    found = sparsest.measure(None, ["samoa-100m"], plans=3, trials=2, epsilon="1")
    own = [one for one in found["tried"] if one["map"] == "samoa-100m"]
    assert len({one["spec"] for one in own}) == 3
    assert len(found["tried"]) == 303  # the other map's are kept
    assert found["rows"][-3]["cells, at best"] > 0
    assert "zeros" in sparsest.show(found)
    found = held_out.measure(None, ["brazil-5km"], ["1"], 1)
    assert [row["method"] for row in found["rows"]] == held_out.METHODS
    assert "brazil-5km" in held_out.show(found)
    found = signal.measure(None, ["kanto:1", "flow:1"], 2)
    assert [row["map"] for row in found["rows"]] == ["kanto", "flow"]
    assert all(0 < row["best"]["mean"] < 2 for row in found["rows"])
    assert "kanto" in signal.show(found)
