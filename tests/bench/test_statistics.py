"""Statistics and regions: how they are measured, and what was."""

import json

import pytest

from bench.inputs import public
from bench.suites import regions, statistics
from tests.tools.statistics.test_estimate import villages

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


def test_biases_that_were_estimated_are_not_wrong_and_intervals_hold():
    found = KEPT[statistics]
    assert {row["map"] for row in found["rows"]} == set(statistics.MAPS)
    assert set(found["rows"][0]) >= {"statistic", "measured", "estimated", "basis", "right"}
    told = [row for row in found["rows"] if row["estimated"] is not None and row["true"]]
    assert len(told) > 50
    assert not [row for row in told if row["right"] == "no"]
    held = [row["low"] <= row["true"] <= row["high"] for row in told]
    assert sum(held) >= 0.95 * len(held)


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
