import csv
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodp.errors import CodeError, InputError, UsageError
from geodp.grid.codes import CodeSystem, JISMesh, PatternGrid, code_system, infer_jis_level
from geodp.grid.codes.description import find_description
from tests.reference import gridcode as reference
from tests.refusals import refuses

LEVELS = {  # level: 125 m cells along a side
    "primary": 640,
    "secondary": 80,
    "5km": 40,
    "2km": 16,
    "basic": 8,
    "half": 4,
    "quarter": 2,
    "eighth": 1,
}
RESOLUTIONS = (100, 200, 250, 500, 1000, 2000, 5000, 10000, 20000, 25000, 50000, 100000)


def inspire(resolution, form="long"):
    """The European grid of a size; in short form, that of somebody who writes short codes."""
    description = find_description("inspire")
    if form == "short":
        codes = tuple((label, (s[1], s[0], *s[2:])) for label, s in description.codes)
        description = replace(description, codes=codes)
    return PatternGrid(description, description.label_of(str(resolution)))


SYSTEMS = [*map(JISMesh, LEVELS), *map(inspire, RESOLUTIONS)]
TABLE = Path(__file__).parents[2] / "golden" / "mesh_codes.csv"
GOLDEN = list(csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines()))

levels = st.sampled_from(list(LEVELS))
resolutions = st.sampled_from(RESOLUTIONS)


@st.composite
def jis_cells(draw):
    """A level and the index of any cell that has a code there."""
    level = draw(levels)
    cells = 640 // LEVELS[level]
    row = draw(st.integers(0, 100 * cells - 1))
    return level, row, draw(st.integers(0, 80 * cells - 1))


@st.composite
def japanese_cells(draw):
    level = draw(levels)
    row0, col0, rows, cols = JISMesh(level).extent
    row = draw(st.integers(row0, row0 + rows - 1))
    return level, row, draw(st.integers(col0, col0 + cols - 1))


@st.composite
def inspire_cells(draw):
    resolution = draw(resolutions)
    end = 10**7 // resolution - 1
    return resolution, draw(st.integers(0, end)), draw(st.integers(0, end))


def refusal(system: CodeSystem, codes, position=0) -> str:
    """The message for codes of which the one at `position` is the first bad one."""
    with pytest.raises(CodeError) as caught:
        system.parse(codes)
    assert caught.value.position == position
    assert str(caught.value) == caught.value.rule
    return caught.value.rule


# Golden vectors


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("place", GOLDEN, ids=lambda place: place["place"])
def test_worked_codes_of_five_places(place, level):
    mesh, code = JISMesh(level), place[level]
    index = int(place["row"]) // LEVELS[level], int(place["col"]) // LEVELS[level]
    assert mesh.parse([code]) == index
    assert mesh.parse(np.array([int(code)])) == index
    assert mesh.format(*index) == code
    assert mesh.locate(float(place["longitude"]), float(place["latitude"])) == index


@pytest.mark.parametrize(
    ("code", "resolution", "corner"),
    [
        ("CRS3035RES200mN1453400E1452800", 200, (1453400, 1452800)),  # INSPIRE D2.8.I.2
        ("CRS3035RES100000mN5400000E1200000", 100000, (5400000, 1200000)),
        ("CRS3035RES1000mN2599000E4695000", 1000, (2599000, 4695000)),
        ("1kmN2599E4695", 1000, (2599000, 4695000)),
        ("10kmN270E440", 10000, (2700000, 4400000)),
        ("100mN34000E44000", 100, (3400000, 4400000)),
        ("250mN340025E440050", 250, (3400250, 4400500)),
        ("25kmN2600E4425", 25000, (2600000, 4425000)),
        ("100kmN27E44", 100000, (2700000, 4400000)),
    ],
)
def test_worked_inspire_codes(code, resolution, corner):
    grid = inspire(resolution, "long" if code.startswith("CRS") else "short")
    index = corner[0] // resolution, corner[1] // resolution
    assert grid.parse([code]) == index
    assert grid.format(*index) == code


# The naive twin, and round trips


@given(jis_cells())
def test_jis_equals_the_standard_and_returns(cell):
    level, row, col = cell
    mesh = JISMesh(level)
    code = reference.jis_code(level, *reference.jis_corner(level, row, col))
    assert mesh.format(row, col) == code
    assert mesh.parse([code]) == (row, col) == reference.jis_index(level, code)
    if code[0] != "0":
        assert mesh.parse(int(code)) == (row, col)


@given(inspire_cells(), st.sampled_from(["long", "short"]))
def test_inspire_equals_the_standard_and_returns(cell, form):
    resolution, row, col = cell
    code = reference.inspire_code(resolution, form, row * resolution, col * resolution)
    grid = inspire(resolution, form)
    assert grid.format(row, col) == code
    assert grid.parse([code]) == (row, col)


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_many_at_once_equal_one_by_one(system):
    row0, col0, rows, cols = system.extent
    random = np.random.default_rng(1)
    row = random.integers(row0, row0 + rows, (40, 5))
    col = random.integers(col0, col0 + cols, (40, 5))
    codes = system.format(row, col)
    assert codes.shape == (40, 5)
    for place in np.ndindex(codes.shape):
        assert codes[place] == system.format(row[place], col[place])
    for found, expected in zip(system.parse(codes), (row, col), strict=True):
        assert found.dtype == np.int64
        assert (found == expected).all()


@given(st.text(max_size=14), levels)
def test_only_what_format_writes_is_parsed(text, level):
    mesh = JISMesh(level)
    try:
        index = mesh.parse([text])
    except CodeError:
        return
    assert mesh.format(*index) == text


@given(st.from_regex(r"[0-9]{4}[0-9]{0,7}", fullmatch=True), levels)
def test_every_digit_is_checked(code, level):
    mesh = JISMesh(level)
    try:
        expected = reference.jis_index(level, code)
        corner = reference.jis_corner(level, *expected)
        valid = reference.jis_code(level, *corner) == code and corner[1] < 180
    except (IndexError, ValueError):
        valid = False
    if valid:
        assert mesh.parse([code]) == expected
    else:
        refusal(mesh, [code])


@given(st.text("0123456789NEmkCRSx\0", max_size=20), st.booleans())
def test_inspire_reads_nothing_else(tail, long):
    grid = inspire(1000, "long" if long else "short")
    code = ("CRS3035RES1000mN" if long else "1kmN") + tail
    try:
        row, col = grid.parse([code])
    except CodeError:
        return
    north, east = tail.rstrip("\0").split("E")
    scale = 1000 if long else 1
    assert (int(north), int(east)) == (row * scale, col * scale)


# Points


@pytest.mark.parametrize("decimals", [8, 9, 10, 17])
@given(cell=japanese_cells())
def test_printed_corners_locate_into_their_own_cell(decimals, cell):
    level, row, col = cell
    latitude, longitude = reference.jis_corner(level, row, col)
    y, x = (float(f"{float(value):.{decimals}f}") for value in (latitude, longitude))
    assert JISMesh(level).locate(x, y) == (row, col)


@given(st.floats(-90, 90), st.floats(-180, 180))
def test_the_levels_agree_on_every_point(latitude, longitude):
    row, col = JISMesh("eighth").locate(longitude, latitude)
    for level, side in LEVELS.items():
        assert JISMesh(level).locate(longitude, latitude) == (row // side, col // side)


@given(inspire_cells(), st.sampled_from([0.0, 0.25, 0.5, 0.999]), st.sampled_from([0.0, 1e-8]))
def test_inspire_points_locate_into_their_cell(cell, part, below):
    resolution, row, col = cell
    x, y = ((index + part) * resolution - below for index in (col, row))
    assert inspire(resolution).locate(x, y) == (row, col)


def test_points_outside_the_codes_have_negative_indices():
    assert JISMesh("primary").locate(99.5, -0.1) == (-1, -1)
    assert inspire(1000).locate(-0.1, -0.1) == (-1, -1)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
@pytest.mark.parametrize("system", [JISMesh("half"), inspire(1000)], ids=lambda s: s.name)
def test_points_that_are_nowhere_are_refused(system, bad):
    with refuses(CodeError, "pattern-point-outside|point-not-longitude-latitude") as caught:
        system.locate([130.0, 131.0, bad], [30.0, 31.0, 32.0])
    assert caught.value.position == 2
    with pytest.raises(CodeError) as caught:
        system.locate([130.0, 131.0], [30.0, bad])
    assert caught.value.position == 1


def test_latitude_given_as_x_is_refused():
    with refuses(CodeError, "point-not-longitude-latitude"):
        JISMesh("half").locate([35.68], [139.76])


def test_points_need_numbers_of_one_shape():
    for x, y in ([[1.0], [1.0, 2.0]], [["130.5"], [30.0]], [[None], [30.0]]):
        with refuses(InputError, "x-y-not-numbers") as caught:
            JISMesh("half").locate(x, y)
        assert "130.5" not in str(caught.value)


# Kinds of arrays

CODES = ["533946113", "392725541"]


@pytest.mark.parametrize(
    "codes",
    [
        CODES,
        tuple(CODES),
        np.array(CODES),
        np.array(CODES, dtype=object),
        np.array(CODES, dtype="S"),
        np.array(CODES, dtype=">U9"),
        np.array([code.encode() for code in CODES], dtype=object),
        np.array(CODES, dtype=np.dtypes.StringDType()),
        [int(code) for code in CODES],
        np.array(CODES, dtype=np.int64),
        np.array(CODES, dtype=np.uint64),
        np.array(CODES, dtype=np.int32),
        pa.array(CODES),
        pa.chunked_array([CODES[:1], CODES[1:]]),
        pa.array([code.encode() for code in CODES]),
        pa.array(CODES).dictionary_encode(),
        pa.array([int(code) for code in CODES]),
    ],
    ids=str,
)
def test_every_kind_of_array_is_read(codes):
    row, col = JISMesh("half").parse(codes)
    assert (row.tolist(), col.tolist()) == ([8563, 6290], [6362, 4428])
    assert row.dtype == col.dtype == np.int64


def test_inspire_reads_mixed_forms_of_every_kind_of_array():
    codes = ["1kmN2599E4695", "CRS3035RES1000mN2599000E4695000"]
    for given_codes in (codes, np.array(codes), np.array(codes, dtype="S"), pa.array(codes)):
        row, col = inspire(1000).parse(given_codes)
        assert (row.tolist(), col.tolist()) == ([2599, 2599], [4695, 4695])


@pytest.mark.parametrize("system", [JISMesh("half"), inspire(1000)], ids=lambda s: s.name)
@pytest.mark.parametrize("empty", [[], np.array([]), np.array([], dtype="U9")])
def test_nothing_gives_nothing(system, empty):
    row, col = system.parse(empty)
    assert row.shape == col.shape == (0,)
    assert system.format(row, col).shape == (0,)
    assert system.locate([], [])[0].shape == (0,)


# Traps: each has its own sentence, and none repeats the value


@pytest.mark.parametrize(
    ("level", "code", "sentence"),
    [
        ("half", "533946005", "9 digits are jis:2km if the last is 5"),
        ("2km", "533946113", "else jis:half"),
        ("2km", "533946015", "two even digits"),
        ("quarter", "5339461105", "1/10 subdivision"),
        ("quarter", "5339461159", "1/10 subdivision"),
        ("half", "5339461100", "1/10 subdivision"),
        ("half", "53394611", "have 9 digits; check the column"),
        ("half", "5339461132", "have 9 digits; check the column"),
        ("basic", "533946113", "have 8 digits; check the column"),
        ("half", "5339461134321", "have 9 digits; check the column"),
        ("half", "533946115", "quadrant digit 1 to 4"),
        ("half", "533946110", "quadrant digit 1 to 4"),
        ("half", "533986113", "two digits 0 to 7"),
        ("basic", "53394911", "two digits 0 to 7"),
        ("primary", "5380", "two digits 00 to 79"),
        ("half", "", "missing or blank"),
        ("half", "  ", "missing or blank"),
        ("half", " 533946113", "strip blanks"),
        ("half", "533946113 ", "strip blanks"),
        ("half", "+533946113", "signs"),
        ("half", "-533946113", "signs"),
        ("half", "533_946113", "ASCII digits"),
        ("half", "533946113.0", "never decimals"),
        ("half", "5.33946113e8", "rounded by a spreadsheet"),
        ("half", "５３３９４６１１３", "full-width"),
        ("half", "5339461¹3", "ASCII digits"),
        ("half", "5339\x0046113", "ASCII digits"),
        ("half", "メッシュ", "ASCII digits"),
        ("half", "5" * 5000, "have 9 digits"),
    ],
    ids=lambda value: value[:30].encode("unicode_escape").decode(),
)
def test_traps_of_jis_codes(level, code, sentence):
    good = GOLDEN[0][level]
    rule = refusal(JISMesh(level), [good, good, code, code], position=2)
    assert sentence in rule
    assert not code.strip() or code.strip() not in rule


@pytest.mark.parametrize(
    ("codes", "position", "sentence"),
    [
        (np.array([533946113.0, 533946114.5]), 1, "never decimals"),
        (np.array([533946113.0, np.nan]), 1, "missing or blank"),
        (np.array([53394611.0, 53394612], np.float32), 0, "may have lost digits"),
        (np.array([533946113, 2.0**53]), 1, "may have lost digits"),
        (np.array([np.inf]), 0, "may have lost digits"),
        (["533946113", None], 1, "missing or blank"),
        (["533946113", float("nan")], 1, "missing or blank"),
        (pa.array(["533946113", None]), 1, "missing or blank"),
        (pa.array([533946113, None]), 1, "missing or blank"),
        (np.array([533946113, -533946113]), 1, "signs"),
        (np.array([533946113, 53371111]), 1, "have 9 digits"),
        (np.array([2**64 - 1], dtype=np.uint64), 0, "have 9 digits"),
        (np.array([True]), 0, "ASCII digits"),
        (np.array([["533946113"], ["533946115"]]), 1, "quadrant"),
    ],
    ids=str,
)
def test_traps_of_columns_of_codes(codes, position, sentence):
    assert sentence in refusal(JISMesh("half"), codes, position)


def test_whole_floats_are_numbers():
    """pandas makes floats of whole numbers where one is missing in the file."""
    codes = np.array([[533946113.0], [392725541.0]])
    for one in (codes, codes.astype(np.int64), codes.astype(np.int64).astype(str)):
        row, col = JISMesh("half").parse(one)
        assert (row.tolist(), col.tolist()) == ([[8563], [6290]], [[6362], [4428]])


def test_bytes_beyond_ascii_are_refused():
    for codes in (np.array([b"53394611\xff"]), [b"53394611\xff"]):
        with refuses(InputError, "codes-are-bytes"):
            JISMesh("half").parse(codes)


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("CRS3035RES1000mE4695000N2599000", "northing first"),
        ("1kmE4695N2599", "northing first"),
        ("E4695N2599", "northing first"),
        ("nl_CRS3035RES1000mN3150000E3858000", "1kmN<northing without zeros>E<"),
        ("CRS3035RES4000mN2600000E4696000", "take its table of 200 m or 1 km"),
        ("10kmN270E440", "use inspire:10km, and codes before it have 1km; a table of"),
        ("CRS3035RES250mN2599000E4695000", "use inspire:250m"),
        ("CRS3035RES1000mN2599500E4695000", "multiples of 1000"),
        ("CRS3035RES1000mN2599000E4695001", "multiples of 1000"),
        ("1kmN2599000E4695000", "without zeros"),
        ("1kmN25990E4695", "multiples of 1000"),
        ("CRS3035RES1000mN12599000E4695000", "multiples of 1000"),
        ("CRS3034RES1000mN2599000E4695000", "read CRS3035RES1000mN"),
        ("crs3035res1000mn2599000e4695000", "read CRS3035RES1000mN"),
        ("1kmN2599", "1kmN<northing without zeros>E<"),
        ("1kmN2599E46E5", "1kmN<northing without zeros>E<"),
        ("1kmN-2599E4695", "1kmN<northing without zeros>E<"),
        ("1kmN2599E4695 ", "1kmN<northing without zeros>E<"),
        ("1kmN25\x0099E4695", "1kmN<northing without zeros>E<"),
        ("1kmN" + "0" * 5000 + "E1", "1kmN<northing without zeros>E<"),
        ("", "missing or blank"),
    ],
    ids=lambda value: value[:40].encode("unicode_escape").decode(),
)
def test_traps_of_inspire_codes(code, sentence):
    good = "1kmN2599E4695"
    rule = refusal(inspire(1000), [good, code, good, code], position=1)
    assert sentence in rule
    assert not code or code not in rule


@pytest.mark.parametrize("form", ["CRS3035RES1000mN3150000E3858000", "1kmN3150E3858"])
def test_a_country_in_front_is_read_and_dropped(form):
    grid = inspire(1000)
    row, col = grid.parse([f"NL_{form}", form, f"BE_{form}"])
    assert (row.tolist(), col.tolist()) == ([3150] * 3, [3858] * 3)
    assert grid.format(row, col).tolist() == ["CRS3035RES1000mN3150000E3858000"] * 3


def test_coordinates_of_the_short_form_are_checked_too():
    assert "multiples of 250" in refusal(inspire(250), ["250mN340026E440050"])


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_indices_without_a_code_are_refused(system):
    north, east = {
        "EPSG:6668": (Fraction(200, 3), Fraction(80)),
        "EPSG:3035": (Fraction(10**7), Fraction(10**7)),
    }[system.crs]
    rows, cols = int(north / system.step[0]), int(east / system.step[1])
    system.format([0, rows - 1], [0, cols - 1])
    for row, col in ((-1, 0), (0, -1), (rows, 0), (0, cols), (2**62, 0), (0, -(2**63))):
        with refuses(CodeError, "jis-cell-outside|pattern-cell-outside") as caught:
            system.format([0, row], [0, col])
        assert caught.value.position == 1


def test_indices_are_integers_of_one_shape():
    for row, col in (([1.0], [1]), ([1], [1, 2]), (["1"], [1])):
        with refuses(InputError, "row-col-not-integers"):
            JISMesh("half").format(row, col)


# What the systems say of themselves


@pytest.mark.parametrize("level", LEVELS)
def test_facts_of_the_jis_levels(level):
    mesh = JISMesh(level)
    height, width = reference.SECONDS[level]
    assert mesh.step == (Fraction(height) / 3600, Fraction(width) / 3600)
    row0, col0, rows, cols = mesh.extent
    assert reference.jis_corner(level, row0, col0) == (20, 122)
    assert reference.jis_corner(level, row0 + rows, col0 + cols) == (46, 154)
    assert mesh.crs == "EPSG:6668"
    assert JISMesh(level, "EPSG:4612").crs == "EPSG:4612"


@pytest.mark.parametrize("resolution", RESOLUTIONS)
def test_facts_of_the_inspire_resolutions(resolution):
    grid = inspire(resolution)
    row0, col0, rows, cols = (edge * resolution for edge in grid.extent)
    assert (row0, row0 + rows, col0, col0 + cols) == (900000, 5500000, 900000, 7400000)
    assert (grid.origin, grid.step) == ((0, 0), (resolution, resolution))


def test_code_systems_by_metres_and_unknown_ones():
    assert code_system("inspire:250") == inspire(250)
    assert code_system("inspire:10000").name == "inspire:10km"
    for spec in ("jis", "jis:", "jis:500m", "h3:7", "h3", ""):
        with refuses(UsageError, "code-system-unknown"):
            code_system(spec)
    for spec in ("inspire:3km", "inspire:"):
        with refuses(UsageError, "grid-size-unknown: inspire:100m.*inspire:10km"):
            code_system(spec)


def test_unknown_levels_and_sizes():
    with refuses(UsageError, "jis-level"):
        JISMesh("mesh3")
    with refuses(UsageError, "own-grid-size-unknown: 100m, 200m, 250m"):
        PatternGrid(find_description("inspire"), "3km")


@pytest.mark.parametrize("place", GOLDEN, ids=lambda place: place["place"])
def test_levels_show_except_in_ten_digits(place):
    for level in LEVELS:
        if level != "quarter":
            assert infer_jis_level(place[level]) == level
    with refuses(CodeError, "jis-level-of-digits") as caught:
        infer_jis_level(place["quarter"])
    assert caught.value.position == 0


@pytest.mark.parametrize(
    "code", ["", "53", "53394", "533946113321", "533946119", "533996", "x" * 9]
)
def test_no_level_for_what_is_no_code(code):
    with pytest.raises(CodeError):
        infer_jis_level(code)
