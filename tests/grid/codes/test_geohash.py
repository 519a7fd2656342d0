"""Geohashes: worked codes, and one cell for each."""

import numpy as np
import pytest

from geodp.errors import CodeError, UsageError
from geodp.grid.codes import code_system
from geodp.grid.codes.geohash import Geohashes
from geodp.grid.grid import Grid
from tests.refusals import refuses


@pytest.mark.parametrize(
    ("code", "lon", "lat"),
    [
        ("u4pruydqq", 10.40744, 57.64911),  # geohash.org's example, in Jutland
        ("ezs42", -5.6, 42.6),
        ("xn76urx6", 139.767125, 35.681236),
        ("s", 1.0, 1.0),
    ],
)
def test_worked_codes(code, lon, lat):
    system = code_system(f"geohash:{len(code)}")
    assert system.format(*system.locate([lon], [lat])).tolist() == [code]


@pytest.mark.parametrize("length", range(1, 10))
def test_cells_of_shorter_codes_hold_those_of_longer_ones(length):
    system = Geohashes(length)
    row, col = (np.random.default_rng(length).integers(0, n, 50) for n in system.extent[2:])
    codes = system.format(row, col)
    assert (np.stack(system.parse(codes)) == (row, col)).all()
    for name, side in system.areas:
        above = code_system(name)
        shorter = [code[: above.length] for code in codes.tolist()]
        assert above.format(row // side, col // side).tolist() == shorter


@pytest.mark.parametrize("code", ["ezs4a", "ezs4", "ezs422", "EZS42", "", "ezs4\N{DEGREE SIGN}"])
def test_what_is_no_code_is_refused(code):
    with pytest.raises(CodeError) as caught:
        Geohashes(5).parse(["ezs42", code])
    assert caught.value.position == 1
    assert not code or code not in str(caught.value)


def test_numbers_are_never_geohashes():
    with refuses(CodeError, "zeros-lost"):
        Geohashes(3).parse(np.array([123]))
    for length in (0, 10):
        with refuses(UsageError, r"geohash-length: \b9\b"):
            Geohashes(length)


def test_they_are_a_grid():
    grid = Grid.mesh("geohash:4", bounds=(139, 35, 140, 36), degrees=True).with_official_order()
    west, south, east, north = grid.places[0].bounds
    assert west <= 139 < 140 <= east
    assert south <= 35 < 36 <= north
    assert grid.areas.nested
