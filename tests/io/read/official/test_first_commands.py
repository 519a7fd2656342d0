"""First commands of people who know their column of counts, and nothing of options.

Tables, each as its office or its program writes it: their codes tell their grid.
"""

import json

import pytest

from tests.command import geodp
from tests.io.read.dialects import Dialect

MESH = ("533946113", "533946114")
SQUARES = ("CRS3035RES1000mN2689000E4337000", "CRS3035RES1000mN2690000E4338000")
FINNISH = ("CRS3067RES1000mN6672000E385000", "CRS3067RES1000mN6673000E385000")
SWEDISH = ("SE_CRS3006RES1000mN6133000E394000", "SE_CRS3006RES1000mN6134000E394000")
FIRST = {
    # Whose table it is: its names, its codes, and their grid.
    "Zensus": ("GITTER_ID_1km;Einwohner", SQUARES, "inspire:1km"),
    "Eurostat": ("GRD_ID,T", SQUARES, "inspire:1km"),
    "Eurostat, features": ("GRD_ID,OBS_VALUE_T", SQUARES, "inspire:1km"),
    "EEA": ("CELLCODE,POP", ("1kmE4337N2689", "1kmE4338N2690"), "eea:1km"),
    "CBS": ("crs28992res100m;inwoners", ("E0859N4360", "E0860N4361"), "cbs:100m"),
    "CBS, a program": ("vak;inwoners", ("E85900N436000", "E86000N436100"), "cbs:100m"),
    "STATPOP": ("RELI;B22BTOT", ("60002000", "60012001"), "statpop:100m"),
    "e-Stat": ("KEY_CODE,人口", MESH, "jis:half"),
    "Japanese names": ("メッシュコード,人口総数", MESH, "jis:half"),
    "KSJ": ("MESH_ID,PTN_2020", MESH, "jis:half"),
    "IBGE": ("ID_UNICO,POP", ("1KME5300N9600", "1KME5301N9601"), "ibge:1km"),
    "SSB": ("SSBID1000M,pop_tot", ("22450006449000", "22460006450000"), "ssb:1km"),
    "Denmark": ("KN1kmDK;antal", ("1km_6175_579", "1km_6176_580"), "dkn:1km"),
    "Finland": ("id,vaesto", FINNISH, "national:3067:1km"),
    "Finland, short": ("grd_id,vaesto", ("1kmN6672E0385", "1kmN6673E0385"), "national:3067:1km"),
    "Sweden": ("rutid,beftotalt", SWEDISH, "national:3006:1km"),
    "Estonia": ("ruut,n", ("1kmN6588E0540", "1kmN6589E0540"), "national:3301:1km"),
    "geohashes": ("geohash,n", ("xn76u", "xn76v"), "geohash:5"),
}


def check(folder, header, codes, encoding="utf-8"):
    """Check a table of two cells without naming a grid."""
    delimiter = ";" if ";" in header else ","
    code, value = header.split(delimiter)
    text = Dialect(delimiter, encoding).text({code: codes, value: (4, 8)})
    (folder / "a.csv").write_bytes(text)
    words = ("--value", value, "--epsilon", 1, "--contribution", 1, "--output", "out", "--check")
    return geodp("publish", "a.csv", *words, cwd=folder)


@pytest.mark.parametrize("whose", FIRST)
def test_a_first_command_finds_the_grid_of_its_codes(whose, tmp_path):
    header, codes, grid = FIRST[whose]
    done = check(tmp_path, header, codes, "utf-8" if header.isascii() else "cp932")
    assert done.returncode == 0, done.stderr
    assert f"--grid {grid}" in done.stderr
    checked = json.loads((tmp_path / "out" / "restricted" / "check.json").read_text())
    assert checked["counted_people"] == 12


def test_a_grid_that_codes_do_not_tell_is_asked_for_with_all_that_they_may_be_of(tmp_path):
    done = check(tmp_path, "vak,n", ("E85500N436000", "E86000N436500"))
    assert done.returncode == 2
    assert "cbs:500m, cbs:100m" in done.stderr
