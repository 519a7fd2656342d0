"""The share of a polygon outside the map, and the sentence that tells it."""

import pytest
from shapely import box

import geodp
from geodp.features.amounts.english import PAGE
from geodp.features.amounts.outside import NEGLIGIBLE, list_outside, share_outside

GRID = geodp.Grid.regular((4, 4), crs="EPSG:3035", transform=(1, 0, 0, 0, -1, 4))
EARTH = geodp.Grid.regular((180, 90), crs="EPSG:4326", transform=(1, 0, 150, 0, -1, 90))


@pytest.mark.parametrize(
    ("area", "share"),
    [
        (box(0, 0, 4, 4), 0),
        (box(1, 1, 2, 2), 0),
        (box(2, 0, 6, 4), 0.5),
        (box(0, -12, 4, 4), 0.75),
        (box(9, 9, 10, 10), 1),
        (box(0, 0, 4 * (1 + NEGLIGIBLE / 2), 4), 0),
        ("1kmN0E0", 0),
        ((0, 0, 9, 9), 0),
    ],
)
def test_shares_are_of_the_area(area, share):
    assert share_outside(GRID, area) == pytest.approx(share)


def test_polygons_go_on_across_180_degrees():
    # The map reaches from 150 degrees east to 120 degrees west.
    assert share_outside(EARTH, box(170, 0, 190, 10)) == 0
    assert share_outside(EARTH, box(-180, 0, -170, 10)) == 0
    assert share_outside(EARTH, box(-130, 0, -110, 10)) == pytest.approx(0.5)


def test_a_sentence_has_no_percentage_of_zero():
    shares = {"half": 0.5, "within": 0.0, "hardly": 0.0002}
    assert [*list_outside(shares, PAGE["outside"])] == [
        "half: 50.0 % of its area lies outside the map, and nothing there is counted.",
        "hardly: 0.1 % of its area lies outside the map, and nothing there is counted.",
    ]
