"""One scale for all maps: classes by cell size, colours that are seen."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from pyproj import Geod

import geodp
from geodp.io.write import qgis_style, scale
from geodp.io.write.drawing.sheet import parse_colours
from geodp.io.write.map import look
from tests.io.write.sight import SIGHTS, apart
from tests.io.write.test_writers import KANTO

AREAS = [None, Fraction(1, 100), Fraction(1, 4), Fraction(1), Fraction(100), Fraction(1, 30_000)]


def brightness(colour):
    """Relative luminance, as WCAG 2.1 defines it."""
    parts = np.array(colour) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("theme", [look.LIGHT, look.DARK])
def test_classes_are_told_apart_by_everybody(theme, sight):
    """A difference of 2 is just noticed by trained eyes."""
    assert np.diagonal(apart(theme.classes, sight), 1).min() >= 6


def contrast(one, other):
    low, high = sorted((brightness(one), brightness(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [look.LIGHT, look.DARK])
def test_more_people_are_further_from_the_paper(theme):
    found = [contrast(colour, theme.paper) for colour in theme.classes]
    assert found == sorted(found)
    assert found[0] > 3
    assert min(b / a for a, b in pairwise(found)) > 1.1
    assert len({*theme.colours}) == 3 + 2 * len(theme.classes) + 4 + 1
    # Words of any size: WCAG's level AA.
    assert min(contrast(c, theme.paper) for c in (theme.ink, theme.soft, theme.alarm)) > 4.5


def test_pictures_and_styles_have_the_same_colours():
    assert look.LIGHT.classes == parse_colours(scale.DARK_IS_MANY)
    assert parse_colours([qgis_style.BELOW]) == (look.LIGHT.below,)


@pytest.mark.parametrize("area", AREAS)
@pytest.mark.parametrize("whole", [True, False])
def test_a_count_has_the_class_of_its_density(area, whole):
    classes = scale.fit_classes(area, integral=whole)
    assert all(one.end == other.first for one, other in pairwise(classes))
    assert classes[-1].end is None
    assert classes[0].first == whole
    counts = [1, 2, 3, 9, 10, 11, 99, 100, 101, 250, 2500, 12_345, 10**6, 10**9]
    by_density = scale.classify(np.array(counts) / float(area or 1))
    for count, number in zip(counts, by_density, strict=True):
        held = [c for c in classes if c.first <= count and (c.end is None or count < c.end)]
        assert [c.number for c in held] == [number]


def test_tiny_cells_have_no_class_that_is_empty():
    """A cell of 100 m with one person has 100 of them per square kilometre."""
    classes = scale.fit_classes(Fraction(1, 100), integral=True)
    assert [int(each.first) for each in classes] == [1, 3, 10, 30, 100]
    assert classes[0].number == 3
    assert [each.density for each in classes] == [
        *("100 to 300", "300 to 1,000", "1,000 to 3,000", "3,000 to 10,000", "10,000 or more")
    ]


def test_the_area_of_a_cell_is_that_in_the_middle_of_the_map():
    grid = geodp.Grid.regular((4, 4), crs="EPSG:3035", transform=(100, 0, 0, 0, 100, 0))
    assert scale.area_of(grid.places[0]) == Fraction(1, 100)
    assert scale.area_of(geodp.Grid.regular((4, 4)).places[0]) is None
    place = KANTO.places[0]
    west, south, east, north = place.bounds
    wide, high = (east - west) / place.cols / 2, (north - south) / place.rows / 2
    x, y = (west + east) / 2, (south + north) / 2
    corners = [x - wide, x + wide, x + wide, x - wide], [y - high, y - high, y + high, y + high]
    area, _ = Geod(ellps="GRS80").polygon_area_perimeter(*corners)
    assert float(scale.area_of(place)) == pytest.approx(area / 1e6, rel=1e-5)
