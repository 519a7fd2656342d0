"""Masks of land by name: nobody of any real data set is outside, and who is is told what to do."""

import hashlib
import lzma
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
import pytest

import geodp
from geodp.errors import CodeError, UsageError
from geodp.grid.codes import code_system
from geodp.io.read.public import land
from geodp.io.read.public.areas import find_bounds
from geodp.io.read.public.land import cut_to_land, slug, state_land, warn_of_sea
from geodp.io.read.rows.pixels import grid_like
from tests.refusals import refuses

HERE = Path(land.__file__).parent
DATA = Path(__file__).resolve().parents[5] / "shared" / "data"
real = pytest.mark.real
there = pytest.mark.skipif(
    not DATA.exists(), reason="the real data sets are not beside the project"
)
KANTO = (138, 35, 141.2, 37.1333333333)


@pytest.fixture(scope="module")
def japan():
    return cut_to_land(geodp.Grid.mesh("jis:half"), "land:japan")


def test_the_coastline_is_the_one_that_is_named():
    text = lzma.decompress((HERE / "natural-earth-10m.json.xz").read_bytes())
    about = (HERE / "natural-earth-10m.md").read_text()
    assert hashlib.sha256(text).hexdigest() in about
    assert "ISC" in about
    files = [*HERE.glob("*.xz")]
    assert len(files) == 3
    assert sum(path.stat().st_size for path in files) < 1 << 20
    assert {*land.EUROPE, *land.ISLETS} <= {*land.read_countries()}


def test_the_map_of_half_degrees_is_that_of_the_coastline():
    world = geodp.Grid.regular((360, 720), crs="EPSG:4326", transform=(0.5, 0, -180, 0, 0.5, -90))
    inside = land.cut_to_land(world, "land:world:1km").domain.to_dense()
    assert np.array_equal(inside, land.half_degrees())


def test_japan_is_a_thirteenth_of_its_domain(japan):
    assert (round(japan.size, -5), geodp.Grid.mesh("jis:half").size) == (2_500_000, 31_948_800)
    assert japan.mask.source.startswith("land:japan, coastline")
    assert "widened by at least 10 km" in japan.mask.source
    (fact,) = state_land(japan)
    assert "nobody who is counted is outside of land:japan" in fact
    assert state_land(geodp.Grid.mesh("jis:half")) == ()


@pytest.mark.parametrize(
    ("crs", "origin", "cell"),
    [("EPSG:4326", (139.0, 34.0), 0.02), ("EPSG:3035", (4_000_000, 3_000_000), 2000.0)],
)
def test_land_is_widened_by_the_distance_at_least(crs, origin, cell):
    """Every cell within it of a cell that touches land is inside, and none far beyond."""
    place = (cell, 0, origin[0], 0, cell, origin[1])
    grid = geodp.Grid.regular((128, 128), crs=crs, transform=place)
    few, many = (cut_to_land(grid, f"land:world:{km}km").domain.to_dense() for km in (1, 20))
    high, wide = (2.22, 1.84) if crs == "EPSG:4326" else (2.0, 2.0)
    row, col = np.nonzero(~many)
    away = [
        np.hypot((r - np.nonzero(few)[0]) * high, (c - np.nonzero(few)[1]) * wide).min()
        for r, c in zip(row[::37], col[::37], strict=True)
    ]
    assert not away or min(away) > 17  # the smaller mask is itself a few km wider than land
    assert few.sum() < many.sum() or few.all()


def test_the_whole_european_grid_has_its_land_and_little_more():
    """Russia's border is cut, which is where a polygon that is not valid once filled the sea."""
    grid = geodp.Grid.mesh("inspire:100km")
    found = cut_to_land(grid, "land:europe")
    atlantic, biscay, alps = (30, 5), (27, 18), (29, 34)
    inside = found.domain.to_dense()
    assert [bool(inside[at]) for at in (atlantic, biscay, alps)] == [False, False, True]
    assert 0.5 < inside.mean() < 0.7


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("land:atlantis", "land-unknown"),
        ("land:jap", "land-unknown"),
        ("land:japan:0.1km", r"land-width: \b1\b.*\b500\b"),
        ("land:japan:10", "land-width"),
    ],
)
def test_other_names_and_distances_are_refused(named, said):
    grid = geodp.Grid.mesh("jis:half", bounds=KANTO)
    with refuses(UsageError, said):
        cut_to_land(grid, named)


def test_grids_without_a_place_or_with_a_mask_are_refused(japan):
    with refuses(UsageError, "land-needs-earth"):
        cut_to_land(geodp.Grid.regular((4, 4)), "land:world")
    with refuses(UsageError, "land-needs-whole-map"):
        cut_to_land(japan, "land:world")
    with refuses(UsageError, "mask-leaves-no-cell"):
        cut_to_land(geodp.Grid.mesh("jis:half", bounds=KANTO), "land:germany")
    fine = geodp.Grid.regular(
        (1 << 16, 1 << 16), crs="EPSG:4326", transform=(1e-3, 0, 0, 0, 1e-3, 0)
    )
    with refuses(UsageError, "land-too-many-cells"):
        cut_to_land(fine, "land:world:1km")


def test_who_is_outside_is_refused_with_the_remedy(japan):
    with refuses(CodeError, "cell-outside-domain: land:world:30km"):
        japan.encode(np.array([[0], [0]]))
    box = geodp.Grid.mesh("jis:half", bounds=KANTO)
    with pytest.raises(CodeError) as error:
        box.encode(np.array([[-1], [0]]))
    assert "land:" not in str(error.value)


def test_a_domain_that_is_mostly_sea_is_said_loudly(japan):
    (said,) = warn_of_sea(geodp.Grid.mesh("jis:half"))
    assert said.startswith("About 63 % of the domain lie at sea")
    assert "land:japan" in said
    assert geodp.plan(geodp.Grid.mesh("jis:half"), epsilon=0.1).warnings == (said,)
    assert warn_of_sea(japan) == geodp.plan(japan, epsilon=0.1).warnings == ()
    assert warn_of_sea(geodp.Grid.mesh("inspire:1km")) == ()


COUNTRIES = {"BE": "belgium", "CH": "switzerland", "DE": "germany", "EE": "estonia"}
COUNTRIES |= {"FI": "finland", "FR": "france", "LU": "luxembourg", "SE": "sweden"}


@real
@there
@pytest.mark.parametrize("tile", sorted(DATA.glob("geostat-1km/*/*/*.parquet")), ids=str)
def test_no_inhabited_cell_of_a_country_or_of_europe_is_outside(tile):
    tx, ty = int(tile.parts[-2]), int(tile.stem)
    edges = (tx * 512_000, ty * 512_000, (tx + 1) * 512_000, (ty + 1) * 512_000)
    whole = geodp.Grid.mesh("inspire:1km", bounds=edges)
    rows = pyarrow.parquet.read_table(tile)
    rows = rows.filter(pc.greater(rows["T"], 0))
    assert len(rows) > 10_000
    for country in {*rows["CNTR_ID"].to_pylist()} & {*COUNTRIES}:
        some = rows.filter(pc.equal(rows["CNTR_ID"], country))
        grid = cut_to_land(whole, f"land:{COUNTRIES[country]}")
        assert grid.contains(np.array([some["y"].to_numpy(), some["x"].to_numpy()])).all()
    index = np.array([rows["y"].to_numpy(), rows["x"].to_numpy()], np.int64)
    assert cut_to_land(whole, "land:europe").contains(index).all()


@real
@there
def test_no_inhabited_cell_of_germany_or_samoa_is_outside():
    (path,) = DATA.glob("zensus-2011-1km/*.parquet")
    rows = pyarrow.parquet.read_table(path)
    rows = rows.filter(pc.greater(rows["Einwohner"], 0))
    north, east = (rows[name].to_numpy() // 1000 for name in ("y", "x"))
    bounds = (4_000_000, 2_600_000, 4_700_000, 3_600_000)
    grid = cut_to_land(geodp.Grid.mesh("inspire:1km", bounds=bounds), "land:germany")
    assert grid.contains(np.array([north - 2600, east - 4000], np.int64)).all()
    (path,) = DATA.glob("samoa-100m/*.tif")
    table = geodp.read_raster(path, grid=grid_like(path), rounding="stochastic")
    grid = cut_to_land(table.grid, "land:samoa")
    assert grid.contains(table.grid.decode(table.key)).all()
    assert table.key.size > 12_000


@real
@there
def test_no_inhabited_cell_of_japan_is_outside(japan):
    files = [("estat-2020-500m/*.zip", "T001141001", 106_057)]
    files += [
        (f"estat-hiroshima-500m/*{n}*.gz", f"{n}001", least)
        for n, least in (("T000609", 34_974), ("T000847", 14_199), ("T001101", 13_975))
    ]
    for pattern, column, cells in files:
        paths = sorted(DATA.glob(pattern))
        table = geodp.read_mesh(paths, grid="jis:half", value=column, suppressed="zero")
        assert table.key.size >= cells
        assert japan.contains(table.grid.decode(table.key)).all()
    # Kozushima and Toshima are small, and Zenisu is rocks that people fish at.
    (path,) = DATA.glob("jinryu/*.gz")
    meshes = pc.unique(pyarrow.csv.read_csv(path)["mesh1kmid"]).to_numpy()
    grid = cut_to_land(geodp.Grid.mesh("jis:basic"), "land:japan")
    south, west, *_ = code_system("jis:basic").extent
    row, col = code_system("jis:basic").parse(meshes)
    assert row.size == 2132
    assert grid.contains(np.array([row - south, col - west])).all()


def test_islands_that_the_coastline_lacks_are_of_their_country(japan):
    """All of a square of each is inside, in the box of the country too, and near no other land."""
    system = code_system("jis:half")
    south, west, *_ = system.extent
    west_edge, south_edge, east_edge, north_edge = map(float, find_bounds("japan", system))
    islands = land.read_islands()
    assert {country for country, _, _ in islands} <= {*land.read_countries()}
    assert len({*islands}) == len(islands) > 30
    for _, lon, lat in islands:
        x, y = (
            lon + land.HALF * np.array([-1, 1, -1, 1]),
            lat + land.HALF * np.array([-1, -1, 1, 1]),
        )
        row, col = system.locate(x, y)
        assert japan.contains(np.array([row - south, col - west])).all()
        assert ((x > west_edge) & (x < east_edge) & (y > south_edge) & (y < north_edge)).all()


ISLANDS = {
    **{"Teurito": (44.427689, 141.320501), "Awashima": (38.465471, 139.251767)},
    **{"Hegurajima": (37.849929, 136.916879), "Toshima": (34.5196, 139.2792)},
    **{"Zenisu": (33.9436, 138.8175), "Takashima": (34.835675, 131.836001)},
    **{"Aoshima": (33.735683, 132.481259), "Okinoshima": (34.245, 130.1055)},
    **{"Oronoshima": (33.868302, 130.035919), "Madarashima": (33.572847, 129.757008)},
    **{"Enoshima": (33.00933, 129.352144), "Oshima, of Goto": (32.566401, 128.899609)},
    **{"Kodakarajima": (29.223529, 129.3248), "Minnajima": (24.753409, 124.695684)},
    "Haterumajima": (24.058586, 123.782432),
}
"""Places of districts' addresses, summits and heritage; see natural-earth-10m.md."""


@pytest.mark.parametrize("name", ISLANDS)
def test_islands_are_where_public_positions_are(name):
    found = np.array([(at[2], at[1]) for at in land.read_islands()])
    assert np.abs(found - ISLANDS[name]).max(axis=1).min() < land.HALF / 2


def test_a_part_of_a_country_is_its_own_land_too():
    grid = geodp.Grid.mesh("inspire:10km")
    finland, aland = (cut_to_land(grid, f"land:{name}").domain for name in ("finland", "aland"))
    assert (~aland.to_dense() | finland.to_dense()).all()
    assert {name for pair in land.WITH.items() for name in (pair[0], *pair[1])} <= {
        *land.read_countries()
    }


def test_names_are_those_of_countries_in_small_letters():
    assert slug("Bosnia and Herz.") == "bosnia-and-herz"
