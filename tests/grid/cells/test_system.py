"""Codes of cells in every spelling are one number of 64 bits, and everything else is none."""

import numpy as np
import pytest

from geodp.errors import CodeError, UsageError
from geodp.grid.cells import SYSTEMS
from geodp.grid.cells.system import degrees, sphere
from tests.refusals import refuses

H3, S2 = SYSTEMS["h3"], SYSTEMS["s2"]
HEXAGON, SQUARE = 0x872F5AADEFFFFFF, 0x60188B0000000000
SOUTHERN = 0x954F440000000000
"""A cell of S2 whose id is negative where whole numbers have signs."""


@pytest.mark.parametrize(
    ("system", "text", "number"),
    [
        (H3, "872f5aadeffffff", HEXAGON),
        (H3, "872F5AADEFFFFFF", HEXAGON),
        (H3, "0x872f5aadeffffff", HEXAGON),
        (H3, "0872f5aadeffffff", HEXAGON),
        (H3, " 872f5aadeffffff ", HEXAGON),
        (H3, str(HEXAGON), HEXAGON),
        (S2, "60188b", SQUARE),
        (S2, "60188B", SQUARE),
        (S2, "0x60188b", SQUARE),
        (S2, "60188b0000000000", SQUARE),
        (S2, str(SQUARE), SQUARE),
        (S2, str(SOUTHERN), SOUTHERN),
        (S2, str(SOUTHERN - (1 << 64)), SOUTHERN),
    ],
)
def test_a_cell_is_one_number_in_every_spelling(system, text, number):
    cells, good = system.read([text])
    assert (cells.tolist(), good.tolist()) == ([number], [True])
    assert system.levels_of_codes([text]).tolist() == system.levels_of(cells).tolist()


@pytest.mark.parametrize(
    ("system", "texts"),
    [
        (H3, ["872f5aadefffff", "872f5aadefffffff", "872f5aadeffffff0"]),
        (H3, ["872f5aadefffff0"]),  # a digit beyond the resolution
        (H3, ["872f5affeffffff"]),  # one that is missing before it
        (H3, ["80f5fffffffffff"]),  # there are 122 base cells
        (H3, ["81087ffffffffff"]),  # the first part of a pentagon, which has none
        (H3, ["072f5aadeffffff", "972f5aadeffffff"]),
        (H3, ["6.09e+17", str(-HEXAGON), str(1 << 70), "608692970719018\u0663"]),
        (S2, ["60188b00"]),  # a token has no zeros at its end
        (S2, ["60188a"]),  # no level ends in this bit
        (S2, ["d"]),  # there are six faces
        (S2, ["X", "0", "0x", "60188b00000000001", "-60188b", "6.92e+18", str(1 << 64), "abroad"]),
    ],
)
def test_other_texts_are_no_cells(system, texts):
    for text in texts:
        assert system.read([text])[1].tolist() == [False]
        assert system.levels_of_codes([text]).tolist() == [-1]


def test_whole_numbers_are_ids_with_and_without_signs():
    for kind in (np.uint64, np.int64):
        ids = np.array([SQUARE, SOUTHERN], np.uint64).astype(kind)
        cells, good = S2.read(ids)
        assert (cells.tolist(), good.all()) == ([SQUARE, SOUTHERN], True)
    assert S2.read([SQUARE, SOUTHERN - (1 << 64)])[0].tolist() == [SQUARE, SOUTHERN]
    assert S2.read(np.array([60188, -1, 0]))[1].tolist() == [True, False, False]
    assert S2.read([b"60188b"])[0].tolist() == [SQUARE]


@pytest.mark.parametrize("system", [H3, S2])
@pytest.mark.parametrize(
    ("codes", "position", "words"),
    [
        (np.array([1.5e18]), 0, "code-rounded"),
        (np.array([1.0, np.nan]), 1, "code-missing"),
        (np.array([0.5]), 0, "code-decimal"),
        (["872f5aadeffffff", " "], 1, "code-missing"),
        (["nan"], 0, "code-missing"),
    ],
)
def test_blanks_and_floats_are_refused(system, codes, position, words):
    with refuses(CodeError, words) as caught:
        system.read(codes)
    assert caught.value.position == position


@pytest.mark.parametrize(
    ("x", "y", "position"),
    [([0, 181], [0, 0], 1), ([0], [90.5], 0), ([np.nan], [0], 0), ([500_000], [3_900_000], 0)],
)
def test_points_that_are_no_degrees_are_refused(x, y, position):
    for system in SYSTEMS.values():
        with refuses(CodeError, "coordinate-not-degrees") as caught:
            system.locate(x, y, 5)
        assert caught.value.position == position


@pytest.mark.parametrize("level", [-1, 31, True, 1.5])
def test_levels_that_a_system_has_not_are_refused(level):
    for system in SYSTEMS.values():
        with refuses(UsageError, f"cell-level-unknown: {system.pattern}"):
            system.require_level(level)


def test_points_of_the_sphere_are_degrees_and_back():
    x, y = np.array([-180.0, 0, 139.7, 180]), np.array([90.0, -90, 35.6, 0])
    assert np.allclose(np.array(degrees(sphere(x, y)))[1], y)
    assert np.allclose(degrees(sphere(x, y))[0][2], 139.7)
