"""Regions of zones by their names: rows and columns where a grid has no codes."""

import numpy as np
import pytest

import geodp
from geodp.errors import UsageError
from geodp.kinds.flows.regions import find_region
from tests.kinds.flows.masks import masked
from tests.refusals import refuses

GRID = geodp.Grid.regular((5, 11))


@pytest.mark.parametrize(
    ("text", "rows", "columns"),
    [
        ("3_10", [3], [10]),
        (" 0_0 ", [0], [0]),
        ("1_2:3_4", [1, 2, 3], [2, 3, 4]),
        ("0_0:4_10", range(5), range(11)),
        ("4_10:4_10", [4], [10]),
    ],
)
def test_zones_without_codes_are_named_by_row_and_column(text, rows, columns):
    found = GRID.decode(find_region(GRID, text).key)
    wanted = np.array([(row, column) for row in rows for column in columns]).T
    assert {*zip(*found.tolist(), strict=True)} == {*zip(*wanted.tolist(), strict=True)}


@pytest.mark.parametrize(
    "text", ["5_0", "0_11", "3_4:2_4", "3_4:4_3", "3", "a_b", "-1_0", "1_1:", ""]
)
def test_other_names_are_refused(text):
    with refuses(UsageError, "cell-name"):
        find_region(GRID, text)


def test_a_box_has_the_zones_of_the_mask_alone():
    mask = np.zeros((5, 11), np.bool_)
    mask[:2] = True
    grid = masked(GRID, mask)
    assert find_region(grid, "1_0:4_10").key.size == 11
    with refuses(UsageError, "region-without-cell"):
        find_region(grid, "3_0")


def test_codes_are_not_read_as_rows_and_columns():
    mesh = geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.5, "35.3333333333"))
    with refuses(geodp.errors.CodeError, "code-unknown"):
        find_region(mesh, "1_2")
