"""Flows between origins and destinations: the largest that can be told, and how they are drawn."""

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.io.write.drawing.sheet import CellRaster, Line, TextLine
from geodp.io.write.map import flows as module
from geodp.io.write.map.flows import WIDTHS, compose_flows, find_flows
from geodp.io.write.map.look import LIGHT, Look
from geodp.io.write.map.page import compose
from geodp.io.write.picture import draw_map
from geodp.io.write.scale import classify
from tests.refusals import refuses

ONE = geodp.Grid.regular((16, 24), crs="EPSG:4326", transform=(0.05, 0, 139, 0, -0.05, 36))
TRIPS = {
    ((3, 4), (8, 11)): 5_000,
    ((8, 11), (3, 4)): 900,
    ((3, 4), (3, 4)): 20_000,
    ((12, 20), (0, 0)): 40,
    ((1, 1), (2, 2)): 1,
}


def trips(grid=ONE, told=TRIPS, epsilon=10, **terms):
    """The view of a release of trips."""
    index = np.array([[*start, *end] for start, end in told]).T
    table = geodp.CountTable.from_index(grid.pairs(), index, np.array([*told.values()]))
    given = {"epsilon": epsilon, "contribution": 1, "key": geodp.NoiseKey(bytes(32))} | terms
    release = geodp.publish(table, **given)
    return release.view("trips")


def ends_of(flows):
    """Rows and columns of the squares of flows."""
    at = np.floor((flows.ends) / flows.side).astype(int)[:, :, ::-1]
    return [tuple(map(tuple, one)) for one in at.tolist()]


def test_flows_are_the_largest_that_reach_their_margin_without_those_within_a_square():
    view = trips()
    found = find_flows(view, (139, 35.2, 140.2, 36))
    assert found.side == 1
    assert ends_of(found)[:2] == [((3, 4), (8, 11)), ((8, 11), (3, 4))]
    assert ((12, 20), (0, 0)) in ends_of(found)
    assert (found.count >= found.margin).all()
    assert (np.diff(found.count) <= 0).all()
    assert found.believed == len(found.count)
    assert found.share == pytest.approx(found.count.sum() / view.table.count.sum())


def test_what_is_drawn_is_where_the_flows_are():
    view = trips(told={((3, 4), (5, 7)): 5_000})
    found = find_flows(view)
    assert (found.place.rows, found.place.cols) < (16, 24)
    west, south, east, north = found.place.bounds
    row, col = np.array([3.5, 5.5]), np.array([4.5, 7.5])
    x = west + found.ends[0, :, 0] / found.place.cols * (east - west)
    y = north - found.ends[0, :, 1] / found.place.rows * (north - south)
    assert x == pytest.approx(139 + 0.05 * col)
    assert y == pytest.approx(36 - 0.05 * row)


def test_squares_grow_until_flows_carry_half_of_all():
    random = np.random.default_rng(1)
    told = {
        (tuple(random.integers(0, 8, 2)), tuple(random.integers((8, 16), (16, 24)))): 3
        for _ in range(600)
    }
    view = trips(told=told, epsilon=1)
    found = find_flows(view)
    assert found.side > 1
    sums = np.zeros((16 // found.side, 24 // found.side) * 2)
    table = view.table
    np.add.at(sums, tuple(table.grid.decode(table.key) // found.side), table.count)
    assert found.count[0] == pytest.approx(sums.max())


def test_there_are_none_of_one_map_of_labels_and_below_the_margin():
    view = trips(told={((1, 1), (2, 2)): 1}, epsilon="1/1000", allow_empty=True)
    found = find_flows(view)
    assert found is None or found.count.min() > 0
    one = geodp.publish(geodp.CountTable.from_dense(np.full((16, 24), 9), ONE), epsilon=1,
                        contribution=1)  # fmt: skip
    assert find_flows(one.view()) is None
    labels = ONE.pairs().with_attribute("mode", ["car", "bus"])
    made = geodp.CountTable.from_index(labels, np.array([[1], [1], [5], [5], [0]]), np.array([999]))
    release = geodp.publish(made, epsilon=1, contribution=1)
    assert find_flows(release.view()) is None


def test_lines_are_as_wide_as_their_counts_and_end_on_the_map():
    view = trips()
    found = find_flows(view)
    sheet = compose_flows(view, Look(ground=False), found)
    (drawn,) = (item for item in sheet.items if isinstance(item, CellRaster))
    lines = [item for item in sheet.items if isinstance(item, Line) and len(item.points) > 2]
    assert len(lines) == len(found.count)
    kinds = classify(found.count[::-1])
    assert [line.width for line in lines] == [WIDTHS[kind] for kind in kinds]
    assert [line.colour for line in lines] == [LIGHT.classes[kind] for kind in kinds]
    place = found.place
    scale = np.array([drawn.width / place.cols, drawn.height / place.rows])
    for line, ends in zip(lines, found.ends[::-1], strict=True):
        wanted = ends * scale + (drawn.x, drawn.y)
        assert np.abs(np.array(line.points)[[0, -1]] - wanted).max() < 3


def test_two_maps_instead_and_every_form_of_file():
    view = trips()
    before = draw_map(view, Look(flows=False))
    assert before == draw_map(view, Look(flows=False))
    assert before != draw_map(view)
    words = {i.text for i in compose(view, Look()).items if isinstance(i, TextLine)}
    assert any("origins left, destinations right" in text for text in words)
    assert draw_map(view, form="svg").count(b"<polyline") > 3
    with refuses(UsageError, "picture-form"):
        draw_map(view, form="pdf")


def test_large_releases_begin_with_larger_squares(monkeypatch):
    view = trips()
    before = find_flows(view)
    monkeypatch.setattr(module, "MAX_PAIRS", view.table.key.size // 4)
    found = find_flows(view)
    assert before.side == 1 < found.side
    assert found.count[0] >= before.count[0]
