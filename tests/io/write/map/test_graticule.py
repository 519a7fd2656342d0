"""Latitudes and longitudes: where they lie, what is written beside them, and where none can be."""

from dataclasses import replace

import numpy as np
import pytest
from pyproj import Transformer

import geodp
from geodp.errors import UsageError
from geodp.io.write.drawing.sheet import Line
from geodp.io.write.map.look import Look
from geodp.io.write.map.page import list_lines
from geodp.io.write.picture import draw_map
from tests.io.write.map.test_page import sheet_of, words_of
from tests.refusals import refuses

LAEA = geodp.Grid.regular((8, 8), crs="EPSG:3035", transform=(5e4, 0, 4e6, 0, -5e4, 3.4e6))
BOX = (100.0, 50.0, 400.0, 400.0)


def test_points_of_a_projected_line_have_the_degrees_that_are_written():
    move = Transformer.from_crs("EPSG:3035", "OGC:CRS84", always_xy=True)
    found = list_lines(LAEA.places[0], BOX)
    assert {meridian for _, _, meridian in found} == {True, False}
    for line, text, meridian in found:
        x, y = np.array(line.points).T
        lon, lat = move.transform(4e6 + (x - 100) * 1e3, 3.4e6 - (y - 50) * 1e3)
        np.testing.assert_allclose(lon if meridian else lat, float(text[:-2]), atol=1e-6)
        assert text[-1] == ("E" if meridian else "N")
        assert ((x >= 100) & (x <= 500) & (y >= 50) & (y <= 450)).all()


def test_lines_in_degrees_are_straight_and_south_and_west_are_told():
    grid = geodp.Grid.regular((4, 4), crs="EPSG:4326", transform=(1, 0, -3, 0, -1, 1))
    texts = {text for _, text, _ in list_lines(grid.places[0], BOX)}
    assert texts == {"2°W", "1°W", "0°", "1°S", "2°S"}


def test_a_map_has_them_where_they_are_asked_for_only():
    bare = Look(ground=False)
    plain, asked = sheet_of(LAEA, bare), sheet_of(LAEA, replace(bare, graticule=True))
    assert not [item for item in plain.items if isinstance(item, Line)]
    assert len([item for item in asked.items if isinstance(item, Line)]) > 5
    added = {*words_of(asked)} - {*words_of(plain)}
    assert "Coordinate reference system: ETRS89-extended / LAEA Europe (EPSG:3035)" in added
    assert any(text.endswith("°E") for text in added)
    assert any(text.endswith("°N") for text in added)


@pytest.mark.parametrize(
    ("crs", "corner", "said"),
    [(None, 0, "graticule-needs-crs"), ("EPSG:3832", 3.2e6, "graticule-at-date-line")],
)
def test_maps_without_degrees_are_refused(crs, corner, said):
    place = (5e4, 0, corner, 0, -5e4, 0)
    grid = geodp.Grid.regular((8, 8), crs=crs, transform=place)
    with refuses(UsageError, said):
        sheet_of(grid, Look(graticule=True))


@pytest.mark.law
def test_every_format_draws_them():
    table = geodp.CountTable.from_dense(np.full((8, 8), 9), LAEA)
    release = geodp.publish(table, epsilon=1, contribution=1)
    view = release.view()
    svg = draw_map(view, Look(graticule=True, ground=False), form="svg").decode()
    assert svg.count("<polyline") == svg.count('stroke="#8c8c93"') > 5
    assert draw_map(view, Look(graticule=True)) != draw_map(view)
