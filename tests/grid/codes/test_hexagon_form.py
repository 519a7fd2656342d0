"""Indices of H3 are told by their form, and their resolution with it."""

import pytest

from geodp.grid.codes.hexagon_form import resolution_of


@pytest.mark.parametrize(
    ("code", "resolution"),
    [
        ("8001fffffffffff", 0),
        ("80f3fffffffffff", 0),  # the last base cell
        ("872830828ffffff", 7),
        ("88283082a5fffff", 8),
        ("8f283082a30e623", 15),
        ("80f5fffffffffff", None),  # there are 122 base cells
        ("872830828fffff0", None),  # a digit beyond the resolution
        ("872830ffffffffff"[:15], None),  # a digit that is missing before it
        ("072830828ffffff", None),
        ("972830828ffffff", None),  # 9: another bit is set
        ("872830828FFFFFF", None),
        ("872830828fffff", None),
        ("0872830828ffffff", None),
        ("608692970719018\u0663", None),
        ("", None),
    ],
)
def test_the_resolution_is_told_by_the_form(code, resolution):
    assert resolution_of(code) == resolution


def test_the_library_agrees():
    h3 = pytest.importorskip("h3", reason="h3 comes with the extra hexagons")
    for resolution in range(16):
        for latitude in range(-90, 91, 15):
            code = h3.latlng_to_cell(latitude, 7 * latitude, resolution)
            assert resolution_of(code) == resolution
    for code in ("872830828fffff0", "80f5fffffffffff", "872830ffffffffff"[:15]):
        assert not h3.is_valid_cell(code)
