"""Public lists of places: polygons, codes of areas, circles around points, and what is refused."""

import json

import numpy as np
import pytest
import shapely
from pyproj import Geod, Transformer

import geodp
from geodp.errors import InputError, UsageError
from geodp.grid.region import Region
from geodp.io.read.public.polygons import read_places
from tests.refusals import refuses

GRID = geodp.Grid.mesh("inspire:1km", bounds=(4300000, 3275000, 4330000, 3296000))


def write(tmp_path, text, name="places.csv"):
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    return file


def test_codes_of_a_place_stand_in_rows_of_their_own(tmp_path):
    file = write(tmp_path, "Name,code,more\nOne,1kmN3280E4310,x\nTwo,1kmN3281E4310,x\nOne,a,\n")
    assert read_places(file, GRID) == {"One": ["1kmN3280E4310", "a"], "Two": ["1kmN3281E4310"]}
    other = write(tmp_path, "town,code\n大宮,01\n", "towns.csv")
    assert read_places(other, GRID, name="town") == {"大宮": ["01"]}


def test_a_circle_holds_the_cells_within_its_distance(tmp_path):
    file = write(tmp_path, "name,longitude,latitude,km\nMill,9.7,52.55,4.5\nFar,2.3,48.8,3\n")
    found = read_places(file, GRID)
    assert [*found] == ["Mill", "Far"]
    assert [one.km for one in found.values()] == [4.5, 3]
    row, col = GRID.decode(Region.of(GRID, found["Mill"].shape).key)
    x, y = ((edge[1:] + edge[:-1]) / 2 for edge in GRID.places[0].edges())
    move = Transformer.from_crs("EPSG:3035", "OGC:CRS84", always_xy=True)
    east, north = np.meshgrid(x, y)
    lon, lat = move.transform(east, north)
    _, _, metres = Geod(ellps="WGS84").inv(
        np.full(lon.shape, 9.7), np.full(lon.shape, 52.55), lon, lat
    )
    near = {*map(tuple, np.argwhere(metres < 4400).tolist())}
    far = {*map(tuple, np.argwhere(metres > 4500).tolist())}
    seen = {*zip(row.tolist(), col.tolist(), strict=True)}
    assert near
    assert near <= seen
    assert not far & seen


def test_a_region_tells_places_of_one_name_apart(tmp_path):
    circles = (
        "Prefecture,name,longitude,latitude,km\nTokyo,Ueno,9.7,52.55,4.5\nMie,Ueno,9.8,52.5,3\n"
    )
    assert [*read_places(write(tmp_path, circles), GRID)] == ["Ueno (Tokyo)", "Ueno (Mie)"]
    codes = "name,code,region\nUeno,1kmN3280E4310,Tokyo\nUeno,1kmN3281E4310,Mie\n"
    assert [*read_places(write(tmp_path, codes, "codes.csv"), GRID)] == [
        *("Ueno (Tokyo)", "Ueno (Mie)")
    ]


def test_polygons_are_read_as_elsewhere(tmp_path):
    shape = shapely.box(4300000, 3275000, 4310000, 3280000)
    document = {
        "type": "FeatureCollection",
        "crs": {"type": "name", "properties": {"name": "EPSG:3035"}},
        "features": [
            {"type": "Feature", "geometry": shape.__geo_interface__, "properties": {"id": 7}}
        ],
    }
    file = write(tmp_path, json.dumps(document), "places.geojson")
    assert read_places(file, GRID)["7"].equals(shape)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("name,size\nA,1\n", "places-columns"),
        ("town,code\nA,1\n", "column-unknown"),
        ("name,code\n,1\n", "place-blank"),
        ("name,code\nA,\n", "place-blank"),
        ("name,longitude,latitude,km\nA,200,50,1\n", "place-number"),
        ("name,longitude,latitude,km\nA,9,50,0\n", "place-number"),
        ("name,longitude,latitude,km\nA,9,50,1\nA,9,51,1\n", "place-repeated"),
    ],
)
def test_what_is_no_list_is_refused(text, code, tmp_path):
    with refuses(InputError, code):
        read_places(write(tmp_path, text), GRID)


def test_circles_need_a_map_on_the_earth(tmp_path):
    file = write(tmp_path, "name,longitude,latitude,km\nA,9,50,1\n")
    with refuses(UsageError, "polygons-need-earth"):
        read_places(file, geodp.Grid.regular((4, 4)))
