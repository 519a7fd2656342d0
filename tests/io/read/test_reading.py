"""The front door of all readers: the one that is meant reads, or a sentence says why not."""

import numpy as np
import pyarrow as pa
import pytest

import geodp
from geodp.errors import UsageError
from geodp.grid.grid import Grid
from tests.refusals import refuses

GRID = Grid.mesh("jis:basic", bounds=(139, 35, 140, 36))
ROWS = pa.table(
    {"mesh": ["53394611", "53394612"], "n": [8, 4], "x": [139.7, 139.8], "y": [35.7] * 2}
)


def same(one, other):
    return np.array_equal(one.key, other.key) and np.array_equal(one.count, other.count)


def test_it_is_the_reader_that_is_named():
    expected = geodp.read_table(ROWS, grid=GRID, code="mesh", value="n")
    assert same(geodp.read(ROWS, GRID, code="mesh", value="n"), expected)
    assert same(geodp.read(ROWS, GRID, reader="table", code="mesh", value="n"), expected)
    points = geodp.read_points(ROWS, grid=GRID, x="x", y="y")
    assert same(geodp.read(ROWS, GRID, reader="points", x="x", y="y"), points)
    assert points.count.tolist() == [1, 1]


def test_a_code_system_is_its_whole_extent():
    found = geodp.read(ROWS, "jis:basic", code="mesh", value="n")
    assert found.grid == Grid.mesh("jis:basic")


def test_files_are_told_by_their_names(tmp_path):
    text = "KEY_CODE,T001\n,人口\n53394611,8\n53394612,4\n"
    (tmp_path / "tblT001100S5339.txt").write_text(text, encoding="cp932")
    found = geodp.read([tmp_path / "tblT001100S5339.txt"], GRID, value=["人口"])
    assert found.count.tolist() == [8, 4]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"code": "mesh", "value": "n", "lines": 3}, "option-not-for-reader: table: lines"),
        (
            {"value": "n", "person": "x"},
            "option-not-for-reader: points: value; reader='table'.*value",
        ),
        ({"reader": "scroll"}, "reader-unknown"),
    ],
)
def test_what_is_missing_or_unknown_is_said(given, sentence):
    with refuses(UsageError, sentence):
        geodp.read(ROWS, GRID, **given)
