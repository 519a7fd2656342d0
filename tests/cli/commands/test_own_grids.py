"""Grids of somebody's own files of ten lines, up to a release that is verified."""

import csv
import json
import subprocess
import sys

import numpy as np
import pyproj
import pytest
import rasterio

from geodp.grid.codes import code_system
from geodp.io.verify import verify_release
from tests.command import geodp

FILES = {
    "norway": (
        """
name = "rute"
title = "Squares of 250 m and 1 km, UTM 33"
source = "https://office.example/rutenett"
crs = "EPSG:25833"
sizes = { 250m = 250, 1km = 1000 }
extent = [-100000, 6400000, 1200000, 8000000]
codes = "{east+2000000:7}{north:7}"
columns = ["RUTE_ID"]
examples = { 22450006449750 = [245000, 6449750], 19500006600000 = [-50000, 6600000] }
""",
        ":250m",
        (-5_000, 6_600_000, 5_000, 6_610_000),
    ),
    "brazil": (
        """
name = "grade"
title = "Squares of a conic projection without a number"
source = "https://office.example/grade"
crs = "+proj=aea +lat_0=-12 +lon_0=-54 +lat_1=-2 +lat_2=-22 +x_0=5000000 +y_0=10000000 +ellps=GRS80"
sizes = { 1KM = 1000, 10KM = 10000 }
extent = [2500000, 7000000, 8000000, 12500000]
codes = "{label}E{east/1000}N{north/1000}"
examples = { 1KME5300N9600 = [5300000, 9600000] }
""",
        ":1km",
        (5_300_000, 9_600_000, 5_340_000, 9_640_000),
    ),
    "denmark": (
        """
name = "net"
title = "Squares with the northing first"
source = "https://office.example/net"
crs = "EPSG:25832"
sizes = { 1km = 1000 }
extent = [400000, 6000000, 900000, 6500000]
codes = ["{label}_{north/1000}_{east/1000}", "{country}_{label}_{north/1000}_{east/1000}"]
examples = { 1km_6175_579 = [579000, 6175000], DK_1km_6175_579 = [579000, 6175000] }
""",
        "",
        (570_000, 6_170_000, 600_000, 6_200_000),
    ),
    "degrees": (
        """
name = "quarter-degree"
title = "Rectangles of degrees with letters"
source = "https://office.example/degrees"
crs = "EPSG:4326"
sizes = { 15min = 0.25, 1deg = 1 }
extent = [-20, -10, 20, 30]
codes = "{NS}{row:3}{EW}{col:3}"
examples = { N100E004 = [1, 25], S001W002 = [-0.5, -0.25] }
""",
        ":15min",
        (-3, -2, 3, 4),
    ),
    "letters": (
        """
name = "squares"
title = "Letters of squares of 100 km, then digits of the two axes in turns"
crs = "EPSG:27700"
origin = [-100000, 0]
sizes = { 1km = 1000, 10km = 10000 }
extent = [-100000, 0, 200000, 200000]
codes.10km = "{square}{east/10000:1}{north/10000:1}"
codes.1km = "{square}{east/10000:1}{north/10000:1}{east/1000:1}{north/1000:1}"
letters.square = { side = 100000, rows = ["가나다", "라마바"] }
""",
        ":1km",
        (80_000, 80_000, 120_000, 120_000),
    ),
}


def make(tmp_path, name):
    """Write a description and a table on it; return the grid's name, bounds and cells."""
    text, size, bounds = FILES[name]
    file = tmp_path / f"{name}.toml"
    file.write_text(text.lstrip(), encoding="utf-8")
    assert len(text.strip().splitlines()) <= 10
    spec = f"file:{file}{size}"
    system, rng = code_system(spec), np.random.default_rng(0)
    west, south, east, north = bounds
    x, y = rng.uniform(west, east, 60), rng.uniform(south, north, 60)
    codes = sorted({*system.format(*system.locate(x, y)).tolist()})
    with open(tmp_path / "table.csv", "w", newline="", encoding="utf-8") as table:
        csv.writer(table).writerows([["id", "persons"], *([code, 30] for code in codes)])
    return file, spec, bounds


@pytest.mark.parametrize("name", FILES)
def test_a_release_is_verified_after_the_file_is_gone(name, tmp_path):
    file, spec, bounds = make(tmp_path, name)
    out = tmp_path / "out"
    done = geodp(
        *("publish", tmp_path / "table.csv", "--grid", spec, "--bounds", *bounds),
        *("--code", "id", "--value", "persons", "--contribution", 1, "--epsilon", 2),
        *("--order", "official", "--output", out),
    )
    assert done.returncode == 0, done.stderr
    system = code_system(spec)
    file.unlink()
    checked = geodp("verify", out)
    assert checked.returncode == 0, checked.stdout
    assert [ok for _, ok, _ in verify_release.verify(str(out)) if not ok] == []
    (place,) = json.loads((out / "public" / "release.json").read_text())["domain"]["places"]
    assert place["code"] == system.name
    assert place["definition"]["codes"] == {
        label: list(codes) for label, codes in system.description.codes
    }
    with rasterio.open(out / "public" / "population.tif") as raster:
        assert pyproj.CRS(raster.crs.to_wkt()).equals(
            pyproj.CRS(system.crs), ignore_axis_order=True
        ) or raster.crs == rasterio.crs.CRS.from_user_input(system.crs)
    for command in (("report",), ("map", "--output", tmp_path / "map.svg"), ("explain",)):
        assert geodp(command[0], out, *command[1:]).returncode == 0


def test_a_code_that_somebody_changed_is_found_by_the_card_alone(tmp_path):
    file, spec, bounds = make(tmp_path, "denmark")
    out = tmp_path / "out"
    geodp(
        *("publish", tmp_path / "table.csv", "--grid", spec, "--bounds", *bounds),
        *("--code", "id", "--value", "persons", "--contribution", 1, "--epsilon", 2),
        *("--output", out),
    )
    file.unlink()
    card = out / "public" / "release.json"
    document = json.loads(card.read_text())
    document["domain"]["places"][0]["definition"]["codes"] = {"1km": ["{label}_{east}_{north}"]}
    card.write_text(json.dumps(document))
    assert geodp("verify", out).returncode == 3
    failed = {name for name, ok, _ in verify_release.verify(str(out)) if not ok}
    assert {"checksums", "release id", "counts"} <= failed


def test_other_commands_take_the_file(tmp_path):
    _, spec, bounds = make(tmp_path, "norway")
    area = ("--grid", spec, "--bounds", *bounds)
    assert geodp("plan", *area, "--epsilon", 1).returncode == 0
    assert "lpad" in geodp("sql", *area, "--engine", "duckdb").stdout
    code = geodp("mesh", "encode", "--grid", spec, 245_100, 6_449_800).stdout.strip()
    assert code == "22450006449750"
    assert "245000.0" in geodp("mesh", "decode", "--grid", spec, code).stdout
    table = ("--code", "id", "--value", "persons", "--contribution", 1, "--epsilon", 1)
    checked = geodp(
        "publish", tmp_path / "table.csv", *area, *table, "--output", tmp_path / "c", "--check"
    )
    assert checked.returncode == 0, checked.stderr
    said = json.loads((tmp_path / "c" / "restricted" / "check.json").read_text())
    assert said["bounds"] == [
        {"west_south_east_north": list(bounds), "crs": "EPSG:25833", "unit": "metre"}
    ]
    refused = geodp(
        "publish", tmp_path / "table.csv", *area, *table, "--output", tmp_path / "d",
        "--primary", "5339",
    )  # fmt: skip
    assert refused.returncode == 2
    assert "--primary" in refused.stderr


@pytest.mark.parametrize(
    "words", [("5.1", "52", "5.2", "52.1", "degrees"), ("5.1,52,5.2,52.1 deg",)]
)
def test_bounds_in_degrees_are_said_by_a_word(words, tmp_path):
    (tmp_path / "t.csv").write_text("code,n\nE140000N450000,5\n")
    done = geodp(
        *("publish", tmp_path / "t.csv", "--grid", "cbs:500m", "--bounds", *words),
        *("--code", "code", "--value", "n", "--contribution", 1, "--epsilon", 1, "--check"),
        *("--output", tmp_path / "c"),
    )
    assert done.returncode == 0, done.stderr
    said = json.loads((tmp_path / "c" / "restricted" / "check.json").read_text())
    assert said["bounds"][0]["west_south_east_north"] == [135000, 445500, 142500, 457000]
    refused = geodp("plan", "--grid", "cbs:500m", "--bounds", 5.1, 52, 5.2, 52.1, "--epsilon", 1)
    assert refused.returncode == 2
    assert "W S E N degrees" in refused.stderr


def test_help_and_known_grids_read_no_description():
    program = (
        "import sys, geodp.cli.commands.publish, geodp.cli.inputs\n"
        "assert 'geodp.grid.codes' not in sys.modules\n"
        "from geodp.grid.codes import code_system, description\n"
        "code_system('jis:half')\n"
        "assert description.find_description.cache_info().currsize == 0\n"
        "code_system('cbs:100m')\n"
        "assert description.find_description.cache_info().currsize == 1\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
