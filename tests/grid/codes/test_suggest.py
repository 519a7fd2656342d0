"""What inspection proposes for codes of no known grid is a description once it is filled in."""

import pytest

from geodp.grid.codes.description import parse_description
from geodp.grid.codes.pattern_grid import PatternGrid
from geodp.grid.codes.recognise import suggest_description

FILLED = {
    'crs = "EPSG:"': 'crs = "EPSG:25832"',
    "extent = []": "extent = [0, 0, 9000, 9000]",
    "1km = 1000": "1km = 1",
}


@pytest.mark.parametrize(
    ("codes", "spelling"),
    [
        (["X120Y455", "X121Y460"], "X{east}Y{north}"),
        (["N455E120", "N460E121"], "N{north}E{east}"),
        (["rute_12_455", "rute_13_460"], "rute_{east}_{north}"),
        (["500mN455E120", "500mN460E121"], "500mN{north}E{east}"),
        (["A{1}Y7", "A{2}Y8"], "A{{{east}}}Y{north}"),
        (["60304555", "60314556"], "{east:4}{north:4}"),
    ],
)
def test_a_spelling_is_told_by_letters_and_by_what_differs(codes, spelling):
    text = suggest_description(codes)
    assert f'codes = "{spelling}"' in text
    for blank, filled in FILLED.items():
        text = text.replace(blank, filled)
    grid = PatternGrid(parse_description(text, "mine.toml"), "1km")
    assert grid.format(*grid.parse(codes)).tolist() == codes


@pytest.mark.parametrize(
    "codes",
    [
        [],
        ["X1Y2"],
        ["Oslo", "Bergen"],
        ["X1Y2", "Z1Y2"],
        ["123", "456"],
        ["1a2b3", "2a3b4"],
        ["1", ""],
    ],
)
def test_other_codes_tell_nothing(codes):
    assert suggest_description(codes) == ""


def test_no_number_of_a_code_is_said():
    text = suggest_description(["X98765Y43219", "X98764Y43218"])
    assert not any(number in text for number in ("98765", "98764", "43219", "43218"))
