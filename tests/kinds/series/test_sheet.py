"""Small multiples: a map of every snapshot with its time, and of long series some of them."""

import json
from dataclasses import replace

import numpy as np
import pytest

import geodp
from geodp.io.write.drawing.sheet import CellRaster, TextLine
from geodp.io.write.map.look import LANGUAGES, SMALL_COUNT, UNTOLD_LAND, describe_margin
from geodp.io.write.map.panel import Panel
from geodp.kinds.series import sheet
from geodp.release.periods import Periods
from tests.kinds.series.test_publish import publish, tables

LONG = tuple(str(np.datetime64("2024-01-01T00", "h") + n) for n in range(130))


def composed(series):
    shown = [one.view() for one in series]
    return sheet.compose_series(series.periods, shown, replace(series.card(), name="stays"))


def test_every_snapshot_is_drawn_once_with_its_time():
    series = publish()
    page = composed(series)
    maps = [item for item in page.items if isinstance(item, CellRaster)]
    words = [item.text for item in page.items if isinstance(item, TextLine)]
    assert len(maps) == 3
    assert [word for word in words if word.startswith("2024-0")] == list(series.periods.names)
    assert "stays · 2024-01 to 2024-03" in words
    assert any("3 snapshots · together ε = 3" in word for word in words)
    assert "One person may be in every snapshot." in words
    assert len({(item.x, item.y) for item in maps}) == 3
    assert all(item.x >= 0 and item.x + item.width <= page.width for item in maps)
    assert all(item.y + item.height <= page.height for item in maps)


def test_small_counts_of_every_snapshot_are_a_class_by_the_offices_rule():
    plain, few = (composed(publish(metadata=said)) for said in (None, {"display_below": 40}))
    for page, shown in ((plain, False), (few, True)):
        words = [item.text for item in page.items if isinstance(item, TextLine)]
        assert ("count <40" in words) == shown
        maps = [item for item in page.items if isinstance(item, CellRaster)]
        assert any((item.number == SMALL_COUNT).any() for item in maps) == shown


def test_of_a_long_series_every_third_hour_is_drawn():
    given = tables(1, geodp.Grid.regular((4, 4))) * 130
    page = composed(publish(given, times=LONG, epsilon=9000, contribution=1))
    drawn = [item for item in page.items if isinstance(item, CellRaster)]
    assert len(drawn) == 44 <= sheet.MAX_MAPS
    words = [item.text for item in page.items if isinstance(item, TextLine)]
    assert any("130 snapshots, of which one in 3 is drawn" in word for word in words)


def test_a_large_map_is_drawn_in_blocks_with_their_margin():
    grid = geodp.Grid.regular((300, 300))
    given = [geodp.CountTable.from_dense(np.full((300, 300), 50), grid)] * 2
    page = composed(publish(given, times=LONG[:2]))
    maps = [item for item in page.items if isinstance(item, CellRaster)]
    assert {item.number.shape for item in maps} == {(150, 150)}
    assert (maps[0].number < UNTOLD_LAND).any()
    assert page.width <= sheet.MAX_WIDTH + 200


def test_a_pixel_without_one_number_of_cells_has_a_margin_all_the_same():
    """On regions, whose areas are no squares of pixels: the foot is written after the charge."""
    one = publish()[0].view()
    panel = replace(Panel.of(one, 0, None, 200, sheet.BLOCKS), cells=None, margin=None)
    english = LANGUAGES["en"]
    expected = english.no_form.format(what=english.block)
    assert describe_margin(one.card, [panel], english)[0] == expected


def test_pairs_have_no_small_maps(tmp_path):
    grid = geodp.Grid.regular((4, 4)).pairs()
    given = [geodp.CountTable.from_dense(np.full(grid.shape, 5), grid)] * 2
    publish(given, times=LONG[:2]).write(tmp_path / "out")
    index = json.loads((tmp_path / "out" / "public" / "series.json").read_text())
    reasons = {one["name"]: one["why"] for one in index["left_out"]}
    assert reasons["population.png"] == "only a grid of one map is drawn small"


@pytest.mark.parametrize(("step", "columns"), [("month", 12), ("day", 7), ("year", 5)])
def test_rows_are_years_of_months_and_weeks_of_days(step, columns):
    first = {"month": "2024-01", "day": "2024-01-01", "year": "2000"}[step]
    unit = {"month": "M", "day": "D", "year": "Y"}[step]
    times = [str(np.datetime64(first, unit) + n) for n in range(14)]
    assert Periods.of(times).step == step
    given = tables(1, geodp.Grid.regular((4, 4))) * 14
    page = composed(publish(given, times=times, epsilon=900, contribution=1))
    rows = [item.y for item in page.items if isinstance(item, CellRaster)]
    assert rows.count(rows[0]) == columns
