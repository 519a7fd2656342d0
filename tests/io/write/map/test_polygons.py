"""Maps of units: real polygons in all forms, to scale, with classes of density."""

import io

import numpy as np
import pytest
from PIL import Image

import geodp
from geodp.errors import UsageError
from geodp.io.write.frame import UnitFrame, ground_of
from geodp.io.write.map.look import LIGHT, Look
from geodp.io.write.map.panel import Panel
from geodp.io.write.picture import draw_change, draw_map
from geodp.io.write.scale import classify
from tests import tracts
from tests.refusals import refuses


@pytest.fixture(scope="module", params=[3035, 4326])
def release(request, shared):
    return geodp.open(tracts.released(shared, request.param))


def test_a_unit_has_the_colour_of_its_density_where_it_lies(release):
    panel = Panel.of(release.view(), 0, side=600)
    frame = panel.frame
    data = draw_map(release.view(), Look(size=600, fade=False))
    pixels = np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
    top, left = np.argwhere((pixels == LIGHT.outside).all(axis=2))[0]
    for number, shape in enumerate(frame.shapes):
        x, y = shape.representative_point().coords[0]
        value = panel.value[0, number]
        colour = LIGHT.paper if value == 0 else LIGHT.classes[classify(np.array([value]))[0]]
        found = pixels[int(top + y), int(left + x)]
        assert tuple(found) == colour, number


def test_the_frame_is_square_on_the_ground(release):
    frame = UnitFrame.of_units(release.grid.outlines, 500)
    assert max(frame.size) == 500
    assert frame.size[0] / frame.size[1] == pytest.approx(53 / 30, rel=0.05)
    length, pixels = frame.scale_bar(200)
    assert pixels / length == pytest.approx(500 / 54, rel=0.05)
    unit = frame.number_pixels()
    assert {*np.unique(unit)} == {*range(-1, 12)}


def test_bounds_cut_the_map_and_hold_a_unit(release):
    outlines = release.grid.outlines
    west, south, east, north = outlines.bounds
    half = (west, south, (west + east) / 2, north)
    assert ground_of(outlines, 100, half).bounds == pytest.approx(half)
    frame = UnitFrame.of_units(outlines, 100, half)
    assert any(shape.is_empty for shape in frame.shapes)
    with refuses(UsageError, "map-bounds-without-unit"):
        UnitFrame.of_units(outlines, 100, (west - 3, south - 3, west - 2, south - 2))


def test_vectors_stay_vectors(release):
    view = release.view()
    svg = draw_map(view, form="svg").decode()
    assert svg.count("<path ") >= 2
    assert "<image" not in svg
    assert draw_map(view, form="svg").decode() == svg


def test_a_change_is_drawn_on_the_same_units(release):
    shown = release.view()
    data = draw_change(shown, shown, Look(size=300))
    assert Image.open(io.BytesIO(data)).size[0] > 600


def test_words_are_those_of_units(release):
    svg = draw_map(release.view(), form="svg").decode()
    assert "12 units" in svg
    assert "margin of a unit" in svg
    assert "outside the domain" in svg
