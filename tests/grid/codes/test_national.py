"""National grids and quadkeys: codes, places and what is refused."""

import numpy as np
import pytest
from pyproj import Transformer

from geodp.errors import CodeError, UsageError
from geodp.grid.codes import code_system
from geodp.grid.codes.description import described_names, find_description
from geodp.grid.codes.quadkey import Quadkeys
from geodp.grid.grid import Grid
from tests.refusals import refuses

NAMES = [
    *("quadkey:3", "quadkey:20", "geohash:1", "geohash:6", "geohash:9"),
    *(f"jis:{level}" for level in ("primary", "5km", "2km", "basic", "quarter", "eighth")),
    *(
        f"{name}:{label.lower()}"
        for name in described_names()
        for label, _ in find_description(name).sizes
    ),
]


@pytest.mark.parametrize("name", NAMES)
def test_codes_and_cells_are_one_to_one(name):
    system = code_system(name)
    assert (system.name, code_system(system.name)) == (name, system)
    row0, col0, rows, cols = system.extent
    rng = np.random.default_rng(0)
    row, col = row0 + rng.integers(0, rows, 200), col0 + rng.integers(0, cols, 200)
    for codes in (system.format(row, col), system.format(row, col).tolist()):
        again = system.parse(codes)
        assert (again[0] == row).all()
        assert (again[1] == col).all()
    ends = zip(system.origin, system.step, (row, col), strict=True)
    corner = [float(start) + float(step) * index for start, step, index in ends]
    assert (np.stack(system.locate(corner[1], corner[0])) == (row, col)).all()
    assert dict(system.areas)[name] == 1
    empty = system.format(row[:0], col[:0])
    assert empty.shape == system.parse(empty)[0].shape == (0,)
    if name == "statpop:100m":  # as numbers
        numbers = system.format(row, col).astype(np.int64)
        good = [len(str(number)) == 8 for number in numbers]
        for kind in (np.int64, np.uint32, np.float64):
            assert (system.parse(numbers[good].astype(kind))[0] == row[good]).all()


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float64])
def test_quadkeys_are_never_numbers(kind):
    """A zero in front is lost, and the codes of a quarter of the map all look one level coarser."""
    assert code_system("quadkey:2").parse(["13", "02"])[0].size == 2
    with refuses(CodeError, "zeros-lost"):
        code_system("quadkey:2").parse(np.array([13, 12], kind))


def test_published_codes_are_where_publishers_say():
    cases = (
        ("cbs:100m", "E85900N436000", (85_950, 436_050)),
        ("cbs:100m", "E0859N4360", (85_950, 436_050)),
        ("statpop:100m", "60002000", (2_600_050, 1_200_050)),
        ("national:3067:1km", "CRS3067RES1000mN6672000E385000", (385_500, 6_672_500)),
        ("national:3067:1km", "1kmN6672E0385", (385_500, 6_672_500)),
        # Of Statistics Finland's service (Geta) and of its description of Ruututietokanta.
        ("national:3067:5km", "5kmN1338E0017", (85_001, 6_690_001)),
        ("national:3067:250m", "250mN674400E31725", (317_300, 6_744_100)),
        ("national:3067:250m", "250mN667175E38600", (386_000, 6_671_750)),
        # Two ids of one square in SCB's table.
        ("national:3006:1km", "SE_CRS3006RES1000mN6133000E394000", (394_500, 6_133_500)),
        ("national:3006:1km", "3940006133000", (394_500, 6_133_500)),
        ("national:3301:1km", "1kmN6607E0529", (529_500, 6_607_500)),
        # An address in Copenhagen, with its cells.
        ("dkn:100m", "100m_61753_7237", (723_743.16, 6_175_322.16)),
        ("dkn:1km", "1km_6175_723", (723_743.16, 6_175_322.16)),
        ("dkn:10km", "10km_617_72", (723_743.16, 6_175_322.16)),
        ("british:100m", "SU387147", (438_710.908, 114_792.248)),
        ("british:1km", "SU 38 14", (438_710.908, 114_792.248)),
        ("british:1km", "TR 2266", (622_500, 166_500)),
        ("british:10km", "NN17", (216_650, 771_250)),  # Ben Nevis
        ("british:100km", "HP", (460_943, 1_220_210)),  # the north of Shetland
        ("irish:1km", "G0305", (103_500, 305_500)),
        ("irish:100m", "N 000 500", (200_000, 250_000)),  # the true origin
        ("korean:100m", "다사551085", (955_150, 1_908_550)),
        ("korean:250m", "다사54254000", (954_300, 1_940_100)),
        ("korean:250m", "다사56ba47ab", (956_501, 1_947_251)),
    )
    for name, code, point in cases:
        system = code_system(name)
        assert [int(i[0]) for i in system.parse([code])] == [int(i) for i in system.locate(*point)]
    # Bing's own example: tile x 3, y 5 at zoom 3; and Tokyo by the definition of the projection.
    row, col = code_system("quadkey:3").parse(["213"])
    assert (int(col[0]), 7 - int(row[0])) == (3, 5)
    x, y = Transformer.from_crs(4326, 3857, always_xy=True).transform(139.767125, 35.681236)
    tile = code_system("quadkey:16").locate(x, y)
    n = 2**16
    lat = np.radians(35.681236)
    assert int(tile[1]) == int((139.767125 + 180) / 360 * n)
    assert n - 1 - int(tile[0]) == int((1 - np.arcsinh(np.tan(lat)) / np.pi) / 2 * n)


PLACES = {
    "cbs": [(3.37, 51.37), (7.2, 53.2), (6.0, 50.76)],
    "statpop": [(5.97, 46.2), (10.48, 46.6), (8.6, 47.8), (9.0, 45.83)],
    "national:2180": [(14.13, 52.8), (24.1, 50.8), (18.3, 54.8), (22.7, 49.05)],
    "national:2975": [(55.22, -21.1), (55.83, -21.1), (55.45, -20.88), (55.6, -21.38)],
    "national:3006": [(11.0, 58.9), (24.15, 65.8), (13.3, 55.35), (20.5, 69.05)],
    "national:3301": [(21.8, 58.3), (28.2, 59.4), (25.9, 59.68), (26.7, 57.52)],
    "national:3067": [(19.4, 60.1), (31.55, 62.9), (27.0, 70.08), (22.9, 59.8)],
    "national:5490": [(-61.8, 16.3), (-60.82, 14.45), (-63.1, 18.1)],
    "national:25832": [(5.9, 51.0), (15.0, 51.1), (8.6, 54.9), (10.2, 47.3), (15.1, 55.1)],
    "ssb": [(4.5, 61.0), (31.1, 70.4), (25.7, 71.18), (7.05, 57.96)],
    "dkn": [(8.08, 55.56), (15.19, 55.1), (10.6, 57.75), (11.95, 54.56)],
    "british": [(-6.45, 49.86), (1.77, 52.48), (-0.88, 60.86), (-8.65, 57.81)],
    "irish": [(-10.48, 52.05), (-5.43, 54.5), (-7.37, 55.44), (-9.83, 51.42)],
    "korean": [(124.6, 37.97), (131.87, 37.24), (126.27, 33.11), (128.36, 38.61)],
    "ibge": [(-73.98, -7.5), (-34.79, -7.15), (-60.2, 5.27), (-53.4, -33.75), (-29.35, 0.9)],
}
"""Ends of countries, longitude and latitude."""


@pytest.mark.parametrize("name", PLACES)
def test_an_extent_holds_its_country(name):
    description = find_description(name)
    west, south, east, north = description.extent
    for place in PLACES[name]:
        x, y = Transformer.from_crs(4326, description.crs, always_xy=True).transform(*place)
        assert west <= x < east, place
        assert south <= y < north, place


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("cbs:100m", "E85950N436000"),
        ("cbs:100m", "N436000E85900"),
        ("cbs:100m", ""),
        ("statpop:100m", "6000200"),
        ("statpop:100m", "2600000"),
        ("national:3067:1km", "CRS3035RES1000mN6672000E385000"),
        ("quadkey:3", "214"),
        ("quadkey:3", "2130"),
        ("quadkey:3", "21"),
    ],
)
def test_what_is_no_code_is_refused_without_being_said(name, code):
    good = str(code_system(name).format(*code_system(name).extent[:2]))
    with pytest.raises(CodeError) as caught:
        code_system(name).parse([good, code])
    assert caught.value.position == 1
    assert not code or code not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        *("ibge", "national:3067", "cbs:1km", "cbs:x", "statpop:1km", "national:1km"),
        *("national:4326:1km", "quadkey:0"),
    ],
)
def test_other_names_are_refused(name):
    with pytest.raises(UsageError):
        code_system(name)


def test_edges_of_neighbours_are_equal_where_numerators_are_long():
    place = Grid.mesh("quadkey:20").places[0]
    index = np.arange(2**20 - 3000, 2**20 - 1)
    west, south, east, north = place.edges_at(index, index)
    assert (west[1:] == east[:-1]).all()
    assert (south[1:] == north[:-1]).all()
    assert np.abs(np.stack(place.locate((west + east) / 2, (south + north) / 2)) - index).max() == 0


def test_a_map_of_them_is_a_grid():
    grid = Grid.mesh("cbs:100m", bounds=(85_000, 436_000, 86_000, 437_000))
    assert grid.size == 100
    assert Grid.mesh(Quadkeys(8)).with_official_order().size == 4**8
