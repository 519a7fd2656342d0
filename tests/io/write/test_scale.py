"""One scale for all maps: classes by cell size, colours that are seen."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from pyproj import Geod

import geodp
from geodp.io.write import scale
from tests.io.write.test_writers import KANTO

AREAS = [None, Fraction(1, 100), Fraction(1, 4), Fraction(1), Fraction(100), Fraction(1, 30_000)]


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
