"""Bounds by name: of public areas, along cell edges, and never of anything else."""

from fractions import Fraction

import numpy as np
import pytest
from pyproj import Transformer

import geodp
from geodp.errors import UsageError
from geodp.grid.codes import code_system
from geodp.grid.grid import Grid
from geodp.io.read.public import areas
from geodp.io.read.public.areas import find_bounds, find_box, list_areas
from tests.refusals import refuses


@pytest.mark.law
@pytest.mark.parametrize(
    ("name", "system", "cities"),
    [
        ("germany", "inspire:1km", [(8.42, 54.9), (15.0, 51.15), (6.1, 50.8), (10.28, 47.4)]),
        ("France", "inspire:1km", [(-4.5, 48.4), (9.45, 42.7), (2.5, 51.05)]),
        ("Baden-Württemberg", "inspire:100m", [(9.18, 48.78), (7.6, 47.6)]),
        ("東京都", "jis:half", [(139.76, 35.68), (142.19, 27.09)]),
        ("Okayama", "jis:basic", [(133.54, 34.3)]),
        ("hamburg", "inspire:1km", [(8.5, 53.92)]),
        ("netherlands", "cbs:100m", [(4.9, 52.37), (5.7, 50.85)]),
        ("switzerland", "statpop:100m", [(6.14, 46.2), (9.5, 46.85)]),
    ],
)
def test_an_area_has_its_places_and_runs_along_edges(name, system, cities):
    bounds = find_bounds(name, code_system(system))
    assert all(isinstance(edge, Fraction) for edge in bounds)
    lattice = Grid.mesh(system, bounds=bounds).places[0]  # refuses what is off the edges
    move = Transformer.from_crs("OGC:CRS84", lattice.crs, always_xy=True)
    row, col = lattice.locate(*move.transform(*np.array(cities).T))
    assert ((row >= 0) & (row < lattice.rows) & (col >= 0) & (col < lattice.cols)).all()
    whole = Grid.mesh(system).places[0]
    assert lattice.rows * lattice.cols < whole.rows * whole.cols


def test_names_do_not_depend_on_capitals_and_accents():
    system = code_system("inspire:10km")
    assert find_bounds("Thüringen", system) == find_bounds(" THURINGEN", system)
    assert find_bounds("tokyo", code_system("jis:half")) == find_bounds(
        "東京都", code_system("jis:half")
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("atlantis", "area-unknown"),
        ("germ", "area-unknown"),
        ("germany", "area-outside-extent"),
        ("", "area-unknown"),
    ],
)
def test_what_is_no_area_of_the_grid_is_refused(name, words):
    with refuses(UsageError, words):
        find_bounds(name, code_system("jis:half"))


def test_the_table_has_every_prefecture_and_land_once_and_in_order():
    found = areas._areas()
    by_country = [sum(one.country == name for one in found) for name in ("japan", "germany")]
    assert by_country == [47, 16]
    names = [name for one in found for name in one.names]
    assert len({*names}) == len(names)
    for one in found:
        west, south, east, north = one.box
        assert -180 <= west < east <= 180
        assert -90 <= south < north <= 90


@pytest.mark.law
def test_all_that_is_proposed_is_known():
    for name in ("jis:half", "inspire:10km", "cbs:500m", "statpop:100m"):
        system = code_system(name)
        for area in list_areas(system):
            west, south, east, north = find_bounds(area, system)
            assert west < east
            assert south < north
    assert list_areas(code_system("quadkey:8")) == ()


@pytest.mark.parametrize(
    ("name", "box"),
    [
        ("germany", (5.7, 47.2, 15.2, 55.2)),
        ("bayern", (8.9, 47.2, 13.9, 50.6)),
        ("Fiji", (174.5, -21.8, -178.1, -12.4)),  # across 180 degrees
        ("russia", (19.4, 41.1, -168.8, 82.0)),
    ],
)
def test_a_box_in_degrees_is_the_smallest_that_holds_the_area(name, box):
    found = find_box(name)
    assert [round(edge, 1) for edge in found] == pytest.approx(box, abs=0.11)
    assert (found[0] > found[2]) is (box[0] > box[2])


def test_a_box_of_no_area_is_refused():
    with refuses(UsageError, "area-unknown"):
        find_box("atlantis")


def test_bounds_by_name_are_had_in_python_too():
    with refuses(UsageError, "bounds-form"):
        geodp.Grid.mesh("inspire:1km", bounds="poland")
    grid = geodp.Grid.mesh("inspire:1km", bounds=geodp.find_bounds("poland", "inspire:1km"))
    assert 300_000 < grid.size < 700_000
