"""First commands of people who know their grid and their column of counts, and nothing of options.

Tables, each as its office or its program writes it. The same command without ``--grid``
reads the same table where the codes tell their grid.
"""

import json
import zipfile
from pathlib import Path

import geopandas
import openpyxl
import pandas as pd
import pytest
import shapely

from tests.command import geodp

MESH = ("533946113", "533946114", "533946003")
SQUARES = ("CRS3035RES1000mN2689000E4337000", "CRS3035RES1000mN2690000E4338000")
COUNTS = (4, 8)


def _csv(name, columns, delimiter=",", encoding="utf-8", above=""):
    def write(folder):
        rows = [columns, *zip(*columns.values(), strict=True)]
        text = above + "".join(delimiter.join(map(str, row)) + "\n" for row in rows)
        (folder / name).write_bytes(text.encode(encoding))

    return name, write


def _frame(name, columns, save):
    return name, lambda folder: save(pd.DataFrame(columns), folder / name)


def _shapes(name, columns, side):
    def write(folder):
        corners = [(4_337_000, 2_689_000), (4_338_000, 2_690_000)]
        boxes = [shapely.box(x, y, x + side, y + side) for x, y in corners]
        frame = geopandas.GeoDataFrame(columns, geometry=boxes, crs=3035)
        frame.to_file(folder / name)

    return name, write


def _workbook(name, rows):
    def write(folder):
        book = openpyxl.Workbook()
        for row in rows:
            book.active.append(row)
        book.save(folder / name)

    return name, write


def _zip(name, member, text):
    def write(folder):
        with zipfile.ZipFile(folder / name, "w") as packed:
            packed.writestr("README.txt", "About this table\n")
            packed.writestr(member, text)

    return name, write


MESHES = {"mesh_code": MESH[:2], "population": COUNTS}
FIRST = {
    # What it is: the file, the grid, the column of counts, and where another grid is possible.
    "Zensus": (
        _csv("zensus.csv", {"GITTER_ID_1km": SQUARES, "Einwohner": COUNTS}, ";"),
        *("inspire:1km", "Einwohner"),
    ),
    "Eurostat, CSV": (_csv("e.csv", {"GRD_ID": SQUARES, "T": COUNTS}), "inspire:1km", "T"),
    "Eurostat, Parquet": (
        _frame("e.parquet", {"GRD_ID": SQUARES, "T": COUNTS}, pd.DataFrame.to_parquet),
        *("inspire:1km", "T"),
    ),
    "Eurostat, GeoPackage": (
        _shapes("e.gpkg", {"GRD_ID": SQUARES, "OBS_VALUE_T": COUNTS}, 1000),
        *("inspire:1km", "OBS_VALUE_T"),
    ),
    "EEA": (
        _csv("a.csv", {"CELLCODE": ("1kmE4337N2689", "1kmE4338N2690"), "POP": COUNTS}),
        "eea:1km",
        "POP",
    ),
    "CBS": (
        _csv("c.csv", {"crs28992res100m": ("E0859N4360", "E0860N4361"), "inwoners": COUNTS}, ";"),
        *("cbs:100m", "inwoners"),
    ),
    "CBS, a program's table": (
        _csv("v.csv", {"vak": ("E85900N436000", "E86000N436100"), "inwoners": COUNTS}, ";"),
        *("cbs:100m", "inwoners"),
    ),
    "STATPOP": (
        _csv("s.csv", {"RELI": (60002000, 60012001), "B22BTOT": COUNTS}, ";"),
        *("statpop:100m", "B22BTOT"),
    ),
    "e-Stat": (
        _csv("j.csv", {"KEY_CODE": MESH[:2], "人口": COUNTS}, encoding="cp932"),
        "jis:half",
        "人口",
    ),
    "Japanese names": (
        _csv("j.csv", {"メッシュコード": MESH[:2], "人口総数": COUNTS}, encoding="cp932"),
        *("jis:half", "人口総数"),
    ),
    "KSJ": (
        _csv("k.csv", {"MESH_ID": MESH[:2], "SHICODE": (13101, 13101), "PTN_2020": COUNTS}),
        *("jis:half", "PTN_2020"),
    ),
    "IBGE": (
        _csv("b.csv", {"ID_UNICO": ("1KME5300N9600", "1KME5301N9601"), "POP": COUNTS}),
        *("ibge:1km", "POP"),
    ),
    "SSB": (
        _csv("n.csv", {"SSBID1000M": ("22450006449000", "22460006450000"), "pop_tot": COUNTS}),
        *("ssb:1km", "pop_tot"),
    ),
    "Denmark": (
        _csv("d.csv", {"KN1kmDK": ("1km_6175_579", "1km_6176_580"), "antal": COUNTS}, ";"),
        *("dkn:1km", "antal"),
    ),
    "Finland": (
        _csv(
            "f.csv",
            {
                "id": ("CRS3067RES1000mN6672000E385000", "CRS3067RES1000mN6673000E385000"),
                "vaesto": COUNTS,
            },
        ),
        *("national:3067:1km", "vaesto"),
    ),
    "Finland, short": (
        _csv("f.csv", {"grd_id": ("1kmN6672E0385", "1kmN6673E0385"), "vaesto": COUNTS}),
        *("national:3067:1km", "vaesto"),
    ),
    "Sweden": (
        _csv(
            "s.csv",
            {
                "rutid": tuple(f"SE_CRS3006RES1000mN{n}E394000" for n in (6133000, 6134000)),
                "beftotalt": COUNTS,
            },
        ),
        *("national:3006:1km", "beftotalt"),
    ),
    "Estonia": (
        _csv("e.csv", {"ruut": ("1kmN6588E0540", "1kmN6589E0540"), "n": COUNTS}),
        *("national:3301:1km", "n"),
    ),
    "a workbook": (
        _workbook("w.xlsx", [["mesh", "n"], [int(MESH[0]), 4], [int(MESH[1]), 8]]),
        *("jis:half", "n"),
    ),
    "a zip with a readme": (
        _zip("z.zip", "table.csv", f"mesh,n\n{MESH[0]},4\n{MESH[1]},8\n"),
        *("jis:half", "n"),
    ),
    "GeoJSON of squares": (
        _shapes("g.geojson", {"id": SQUARES, "n": COUNTS}, 1000),
        "inspire:1km",
        "n",
    ),
    "geohashes": (_csv("h.csv", {"geohash": ("xn76u", "xn76v"), "n": COUNTS}), "geohash:5", "n"),
    "JSON lines": (
        _frame("l.jsonl", MESHES, lambda f, p: f.to_json(p, orient="records", lines=True)),
        *("jis:half", "population"),
    ),
}


def _check(path: Path, *words: str):
    budget = ("--epsilon", 1, "--contribution", 1, "--output", path.parent / "out", "--check")
    return geodp("publish", path, *words, *budget)


@pytest.mark.parametrize("what", FIRST)
def test_a_first_command_publishes_with_its_grid_and_without(what, tmp_path):
    (name, write), grid, value = FIRST[what]
    write(tmp_path)
    for given in (("--grid", grid), ()):
        done = _check(tmp_path / name, *given, "--value", value)
        assert done.returncode == 0, done.stderr
        checked = json.loads((tmp_path / "out" / "restricted" / "check.json").read_text())
        assert checked["counted_people"] == sum(COUNTS)
    assert f"--grid {grid}" in done.stderr


def test_a_grid_that_codes_do_not_tell_is_asked_for_with_all_that_they_may_be_of(tmp_path):
    _, write = _csv("v.csv", {"vak": ("E85500N436000", "E86000N436500"), "n": COUNTS})
    write(tmp_path)
    done = _check(tmp_path / "v.csv", "--value", "n")
    assert done.returncode == 2
    assert "cbs:500m, cbs:100m" in done.stderr
