"""Statistics and regions: how they are measured, and what was."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

import geodp
from bench import tables
from bench.inputs import public
from bench.suites import regions, statistics, statistics_dates
from tests.features.statistics.test_unmixing import villages

FAMILIES = (
    *(f"cells 2^{bits}" for bits in (0, 2, 6, 12)),
    *("polygons of 1 to 64 cells", "polygons of 64 to 512 cells", "municipalities", "rectangles"),
)
KEPT = {one: json.loads(one.SAVED.read_text("utf-8")) for one in (statistics, regions)}


@pytest.fixture
def small_maps(monkeypatch):
    """Villages stand in for every map."""
    monkeypatch.setattr(public, "load", lambda name, folder: villages(len(name)))


@pytest.mark.usefixtures("small_maps")
def test_regions_of_every_kind_are_measured_and_one_is_the_best():
    found = regions.measure(maps=["kanto"], methods=["laplace", "matrix"], trials=2)
    assert list(found["refused"]) == ["matrix"]
    rows = {(row["peer"], row["regions"]): row for row in found["rows"]}
    assert {peer for peer, _ in rows} == {"laplace", *regions.PAPERS}
    assert rows["laplace", "cells 2^0"]["mae"] == pytest.approx(10, rel=0.1)  # at epsilon 0.1
    for name in {name for _, name in rows}:
        assert sum(row["best"] for (_, other), row in rows.items() if other == name) == 1
    assert "PrivTree" in regions.show(found)


@pytest.mark.parametrize(
    ("bias", "error", "measured", "said"),
    [
        (None, 0, 50, ""),
        (40, 0, 50, "yes"),
        (30, 0, 50, "no"),
        (30, 21, 50, "~"),
        (3, 0, -2, "<1"),
        (12, 0, -2, "no"),
    ],
)
def test_biases_are_compared_with_the_measured_ones(bias, error, measured, said):
    one = SimpleNamespace(bias=bias, standard_error=error)
    assert statistics.verdict(one, measured, 1000.0) == said


def test_inhabited_cells_and_size_classes_were_estimable():
    found = KEPT[statistics]
    assert set(found["rows"][0]) >= {"statistic", "measured", "estimated", "basis", "right"}
    told = [row for row in found["rows"] if row["estimated"] is not None and row["true"]]
    assert not [row for row in told if row["right"] == "no"]
    known = [row for row in found["rows"] if row["basis"] == "measurements" and row["true"]]
    assert len(known) > 10
    held = [row["low"] <= row["true"] <= row["high"] for row in known]
    assert sum(held) >= 0.94 * len(held)
    for name in ("inhabited", "cells:1-19"):
        some = [row for row in told if row["statistic"] == name]
        public_map = {row["map"] for row in some if (row["epsilon"], row["basis"]) == SMALL_BUDGET}
        assert public_map == {"kanto", "hiroshima-2020", "europe-2018-7-5", "europe-2018-9-8"}
        assert {row["map"] for row in some if row["basis"] == "measurements"} == MEASURED
    for row in found["sums"]:
        assert 0.85 <= row["ratio"] <= 1.15


def test_intervals_by_a_prior_map_held_the_truth_on_maps_that_nothing_was_chosen_by():
    rows = KEPT[statistics]["dates"]
    for use, cases in (("tuned on", 60), ("checked", 120), ("checked, another place", 20)):
        told = [row for row in rows if (row["use"], row["basis"]) == (use, "prior map")]
        held = [row["low"] <= row["true"] <= row["high"] for row in told]
        assert len(told) >= cases
        assert held == [row["holds"] for row in told]
        assert sum(held) >= 0.9 * len(held)
    checked = [row for row in rows if row["use"] == "checked"]
    assert len({row["map"] for row in checked}) >= 10
    assert {row["epsilon"] for row in checked} == set(statistics_dates.EPSILONS)
    assert not {row["map"] for row in checked if "9-8" in row["map"]}
    told = [row for row in checked if row["basis"] == "prior map"]
    # Without what may have changed, too few do.
    assert sum(bool(row["holds_unchanged"]) for row in told) < 0.9 * len(told)


@pytest.mark.law
@pytest.mark.usefixtures("small_maps")
def test_intervals_by_a_prior_map_are_measured(monkeypatch):
    pairs = [("checked", "one", "other", 2), ("tuned on", "other", "one", 50)]
    monkeypatch.setattr(statistics_dates, "list_pairs", lambda: pairs)
    monkeypatch.setattr(statistics_dates, "EPSILONS", ("2",))
    rows = statistics_dates.measure(None, statistics.release_of)
    assert len(rows) == 2 * 6  # these maps have no place on the Earth, and so no towns
    for row in rows:
        told = row["low"] is not None
        assert row["holds"] == (row["low"] <= row["true"] <= row["high"] if told else None)
    # In 50 years all cells of few people may change.
    [long] = [row for row in rows if (row["use"], row["statistic"]) == ("tuned on", "inhabited")]
    assert long["basis"] == "not estimable"


def test_intervals_by_a_prior_map_are_counted():
    def row(low, high, basis, holds, unchanged):
        about = {"use": "checked", "statistic": "gini", "true": 0.5, "basis": basis}
        return {**about, "low": low, "high": high, "holds": holds, "holds_unchanged": unchanged}

    rows = [
        row(0.4, 0.6, "prior map", True, False),
        row(0.4, 0.5, "prior map", True, True),
        row(0.1, 0.4, "prior map", False, None),
        row(0.4, 0.6, "below 1 %", True, True),
        row(None, None, "not estimable", None, None),
    ]
    found = {(one["maps"], one["statistic"]): one for one in statistics_dates.lines(rows)}
    assert list(found["checked", "gini"].values())[2:] == [5, 1, 3, 2, 1, "20.0"]
    assert list(found["tuned on", "gini"].values())[2:] == [0, 0, 0, 0, 0, ""]
    said = statistics_dates.counted(rows).replace("\n", " ")
    assert "tuned on: 0 of 0; checked: 2 of 3; checked, another place: 0 of 0" in said
    assert "another basis 1 of 1 do" in said


def test_a_part_of_a_map_lies_where_it_lay(monkeypatch):
    cells = np.arange(512 * 512).reshape(512, 512)
    grid = geodp.Grid.regular((512, 512), crs="EPSG:3035", transform=(1000, 0, 7e6, 0, 1000, 2e6))
    whole = geodp.CountTable.from_dense(cells, grid)
    monkeypatch.setattr(public, "load", lambda name, folder: whole)
    assert statistics_dates.load_part("map", None) is whole
    part = statistics_dates.load_part("map/1", None)
    assert np.array_equal(part.to_dense(), cells[:256, 256:])
    assert part.grid.places[0].transform[:6] == (1000, 0, 7.256e6, 0, 1000, 2e6)
    window = statistics_dates.load_part("map/window", None)
    assert np.array_equal(window.to_dense(), cells[60:180, 40:220])


SMALL_BUDGET = ("0.1", "prior map")
MEASURED = {"kanto", "samoa-100m", "germany-1km"}
"""Maps whose cells measurements tell at epsilon 1."""


def test_who_wins_where_is_as_the_document_tells():
    found = {
        (row["map"], row["regions"]): row["peer"] for row in KEPT[regions]["rows"] if row["best"]
    }
    # Without attributes parts are the pyramid, with other noise.
    best = {
        map_: [found[map_, name].replace("parts", "pyramid") for name in FAMILIES]
        for map_ in regions.MAPS
    }
    assert best["kanto"][:4] == ["filter", "filter", "hb", "hb"]
    assert best["europe-2018-9-8"][:4] == ["filter", "pyramid", "pyramid", "hb"]
    assert best["kanto"][4:] == ["laplace-nonnegative", "agrid", "pyramid", "HDMM, all ranges"]
    assert best["europe-2018-9-8"][4:] == ["geometric", "pyramid", "pyramid", "pyramid"]
    assert found["europe-2018-9-8", "cells 2^4"] == "PrivTree"
    for map_ in regions.MAPS:
        assert found[map_, "cells 2^8"] == "pyramid:setting=R"


def test_documents_show_the_committed_figures():
    found = KEPT[statistics]
    shown = {
        (statistics, statistics.MARKS): (
            f"{tables.markdown(statistics.lines(found))}\n\n{statistics.counted(found)}"
        ),
        (statistics, statistics.DATE_MARKS): statistics.date_section(found),
        (statistics, statistics.SUM_MARKS): tables.markdown(statistics.sum_lines(found)),
        (regions, regions.MARKS): regions.section(KEPT[regions]),
    }
    for (suite, (start, end)), words in shown.items():
        text = suite.DOCUMENT.read_text(encoding="utf-8")
        assert text.split(start)[1].split(end)[0].strip() == words.strip()
