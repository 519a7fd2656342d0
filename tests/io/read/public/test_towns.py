"""Names of places on a map, the most important ones first."""

import pytest

from geodp.grid.lattice import Lattice
from geodp.io.read.public.background import find_towns


@pytest.mark.parametrize(
    ("place", "first", "japanese"),
    [
        (Lattice(1, 1, crs="EPSG:6668", transform=(3.2, 0, 138, 0, 2.1, 35)), "Tokyo", "東京"),
        (
            Lattice(9, 9, crs="EPSG:3035", transform=(1e4, 0, 4.5e6, 0, -1e4, 3.3e6)),
            "Berlin",
            "ベルリン",
        ),
        (Lattice(1, 1, crs="EPSG:4326", transform=(4, 0, 177, 0, -3, -16)), "Suva", "スバ"),
    ],
)
def test_places_are_where_they_should_be(place, first, japanese):
    found = find_towns(place)
    assert (found[0].name, found[0].japanese) == (first, japanese)
    west, south, east, north = place.bounds
    assert all(west < one.x < east and south < one.y < north for one in found)
    assert len(found) < 40


def test_there_is_none_at_sea():
    assert find_towns(Lattice(1, 1, crs="EPSG:4326", transform=(1, 0, -40, 0, -1, 30))) == []
