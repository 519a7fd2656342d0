"""The tables open as they are meant in QGIS, GDAL, Excel and LibreOffice, and here."""

import codecs
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pyogrio
import pytest

from geodp.grid.hierarchy import Hierarchy
from geodp.io.read.public.mask import read_mask
from geodp.io.read.public.tables import read_hierarchy
from geodp.io.read.table import read_table
from geodp.io.verify import verify_release
from geodp.io.verify.readback import read_release_table
from geodp.io.verify.verify import verify
from geodp.io.write.csv import write_csv
from geodp.io.write.tables import RowErrors
from tests.io.write.test_writers import KANTO, released
from tests.views import view_of

QGIS_322 = re.compile(r'("(integer|real|string)",)*"(integer|real|string)"\n')
"""Types that QGIS 3.20 and later read alike: 3.22 knows no integer64, 3.20 lower case only."""


def types(path):
    text = path.with_suffix(".csvt").read_text(encoding="ascii")
    assert QGIS_322.fullmatch(text), text
    return re.findall(r"\w+", text)


def regions_of(names):
    land = np.indices(KANTO.shape).reshape(2, -1)
    town = [names[(row + col) % len(names)] for row, col in land.T]
    return Hierarchy.of_cells(land, {"市": town}, "made up")


@pytest.mark.parametrize(
    ("largest", "kind"),
    [(2**31 - 1, "integer"), (-(2**31), "integer"), (2**31, "real"), (-(2**31) - 1, "real")],
)
def test_counts_beyond_32_bits_are_real(tmp_path, largest, kind):
    """An ``integer`` is cut off there by GDAL and QGIS."""
    table = released(KANTO).table
    count = table.count.copy()
    count[count.size // 2] = largest
    path = tmp_path / "population.csv"
    write_csv(view_of(replace(table, count=count), errors=RowErrors(1.5)), path)
    assert types(path) == ["string", kind, "real"]
    fields = pyogrio.raw.read(path)
    codes, counts, _ = fields[3]
    assert counts.tolist() == count.tolist()
    row, col = table.grid.decode(table.key)
    assert codes.tolist() == table.grid.places[0].format(row, col).tolist()


@pytest.mark.parametrize(
    ("grid", "name", "marked"),
    [
        (KANTO, "population", False),
        (KANTO, "人口", True),
        (KANTO.with_attribute("sex", ["m", "f"]), "n", False),
        (KANTO.with_attribute("sex", ["男", "女"]), "n", True),
        (KANTO.with_attribute("Geschlecht", ["männlich", "weiblich"]), "n", True),
    ],
)
def test_what_is_not_ascii_is_marked_as_utf_8(tmp_path, grid, name, marked):
    """Excel and LibreOffice read what has no mark in the code page of the machine."""
    released(grid).write(tmp_path / "out", name=name)
    path = tmp_path / "out" / "public" / f"{name}.csv"
    data = path.read_bytes()
    assert data.startswith(codecs.BOM_UTF8) == marked
    assert data.count(codecs.BOM_UTF8) == marked
    assert data.isascii() != marked
    assert pyogrio.read_info(path)["fields"][0] == pd.read_csv(path).columns[0] == "code"
    assert all(check.ok for check in verify(tmp_path / "out"))


def test_all_readers_take_the_mark(tmp_path):
    release = released(KANTO.with_hierarchy(regions_of(["青葉区", "港区"])))
    release.write(tmp_path / "out", name="人口")
    public = tmp_path / "out" / "public"
    tables = sorted(public.glob("*.csv"))
    assert [path.name for path in tables] == ["人口-市.csv", "人口.csv", "人口.regions.csv"]
    assert all(path.read_bytes().startswith(codecs.BOM_UTF8) for path in tables)
    assert [check for check in verify(public) if not check.ok] == []
    alone = [sys.executable, "-I", verify_release.__file__, public]
    found = subprocess.run(alone, capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (0, ""), found.stdout
    back, _ = read_release_table(public)
    assert back.grid.hierarchy == release.grid.hierarchy
    for encoding in (None, "utf-8", "UTF8", "utf-8-sig"):
        again = read_table(
            public / "人口.csv", grid=KANTO, code="code", value="人口", encoding=encoding
        )
        assert again.count.sum() == back.count.sum()
        regions = read_hierarchy(
            public / "人口.regions.csv", KANTO, source="made up", encoding=encoding
        )
        assert regions == release.grid.hierarchy
    masked = read_mask(public / "人口.csv", KANTO, source="made up")
    assert masked.contains(np.indices(KANTO.shape).reshape(2, -1)).sum() == back.key.size


def test_a_quoted_first_name_after_the_mark_is_read_whatever_the_encoding(tmp_path):
    path = tmp_path / "t.csv"
    [code] = KANTO.places[0].format(np.array([0]), np.array([0]))
    path.write_text(f'"code, of a cell",人口\n{code},3\n', encoding="utf-8-sig")
    for encoding in (None, "utf-8", "utf-8-sig"):
        found = read_table(
            path, grid=KANTO, code="code, of a cell", value="人口", encoding=encoding
        )
        assert found.count.tolist() == [3]
