"""Squares by a description: the cells of earlier versions, signs, letters, orders and messages."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from pyproj import Transformer

from geodp.errors import CodeError, UsageError
from geodp.grid.codes import code_system
from geodp.grid.codes.description import described_names, find_description, parse_description
from geodp.grid.codes.pattern_grid import PatternGrid
from geodp.io.verify.verify_release import Spelling
from tests.grid.codes.earlier import AREAS, CODES, EXTENTS, SHORT
from tests.refusals import refuses

OWN = """
name = "own"
crs = "EPSG:25833"
sizes = {{ 1km = 1000, 5km = 5000 }}
extent = [-20000, -30000, 40000, 50000]
codes = {}
"""


def grid_of(codes, label="1km", **more):
    description = replace(parse_description(OWN.format(codes), "own.toml"), **more)
    return PatternGrid(description, label)


@pytest.mark.parametrize("name", CODES)
def test_codes_of_earlier_versions_mean_the_same(name):
    system, (row, col) = code_system(name), np.array([*CODES[name].values()]).T
    assert system.format(row, col).tolist() == [*CODES[name]]
    for codes in ([*CODES[name]], SHORT.get(name, [*CODES[name]])):
        again = system.parse(codes)
        assert (again[0] == row).all()
        assert (again[1] == col).all()
    assert (system.extent, system.areas) == (EXTENTS[name], AREAS[name])


@pytest.mark.parametrize("name", described_names())
def test_the_verifier_of_the_standard_library_reads_the_same(name):
    description = find_description(name)
    rng = np.random.default_rng(0)
    for label, _ in description.sizes:
        system = PatternGrid(description, label)
        row0, col0, rows, cols = system.extent
        row, col = row0 + rng.integers(0, rows, 20), col0 + rng.integers(0, cols, 20)
        spelling = Spelling(description.describe(), label)
        for one in zip(system.format(row, col).tolist(), row.tolist(), col.tolist(), strict=True):
            assert spelling.read(one[0]) == one[1:]
            assert spelling.write(*one[1:]) == one[0]


@pytest.mark.parametrize(
    ("codes", "corner", "code"),
    [
        ("'N{north}E{east}'", (-3000, 4000), "N-3000E4000"),
        ("'{north/1000}/{east/1000}'", (-3000, -4000), "-3/-4"),
        ("'{NS}{north/1000:3}{EW}{east/1000:3}'", (-3000, 4000), "S003E004"),
        ("'{east/1000:2}{ew}{north/1000:2}{ns}'", (3000, -4000), "04w03n"),
        ("'{north+30000:5}{east+20000:5}'", (-30000, -20000), "0000000000"),
        ("'R{row+31}C{col+21}'", (-30000, -20000), "R1C1"),
        ("'R{50-row}C{col+21}'", (49000, -20000), "R1C1"),
        ("'{label}_{size}_{epsg}_{east}_{north}'", (0, 0), "1km_1000_25833_0_0"),
        ("'{(east+20000)/500}x{(north+30000)/500}'", (-30000, 0), "40x0"),
    ],
)
def test_a_code_is_the_corner_of_its_cell(codes, corner, code):
    grid = grid_of(codes)
    row, col = grid.locate([float(corner[1])], [float(corner[0])])
    assert grid.format(row, col).tolist() == [code]
    for kind in (str, "S30", object):
        again = grid.parse(np.array([code], kind))
        assert (again[0][0], again[1][0]) == (row[0], col[0])
    y, x = (
        start + int(index[0]) * step
        for start, index, step in zip(grid.origin, (row, col), grid.step, strict=True)
    )
    assert (y, x) == corner
    assert Spelling(grid.description.describe(), "1km").read(code) == (int(row[0]), int(col[0]))


FIVES = '["ABCDE", "FGHJK", "LMNOP", "QRSTU", "VWXYZ"]'
LETTERS = f"""
name = "own"
crs = "EPSG:27700"
origin = [-1000000, -500000]
sizes = {{{{ 2km = 2000 }}}}
extent = [0, 0, 700000, 1300000]
codes = {{}}
[letters]
big = {{{{ side = 500000, rows = {FIVES} }}}}
square = {{{{ side = 100000, rows = {FIVES} }}}}
tetrad = {{{{ side = 2000, rows = ["EJPUZ", "DINTY", "CHMSX", "BGLRW", "AFKQV"] }}}}
column = {{{{ side = 100000, rows = ["ABCDEFGHIJKLMNOPQ"] }}}}
"""


def lettered(codes, **more):
    description = replace(parse_description(LETTERS.format(codes), "own.toml"), **more)
    return PatternGrid(description, "2km")


@pytest.mark.parametrize(
    ("codes", "code"),
    [
        ("'{big}{square}{east/10000:1}{north/10000:1}{tetrad}'", "SU31X"),
        ("'{big}{square}{east/10000:1}{north/10000:1}{east/2000:1}{north/2000:1}'", "SU3142"),
        ("'{big}{square}{col:2}{row:2}'", "SU1907"),
        ("'{big}{east/1000:3}-{north/1000}'", "S438-114"),
        ("'{column}{east/2000:2}/{north/2000}'", "O19/57"),
        ("'{north/100000}{column}{east/1000:2}_{north/1000:2}'", "6O38_14"),
        ("'{east/100000}_{north/100000}_{east/10000:1}{north/10000:1}{tetrad}'", "14_6_31X"),
    ],
)
def test_fields_of_one_axis_count_within_the_one_before(codes, code):
    grid = lettered(codes)
    row, col = grid.locate([438_710.0], [114_792.0])
    assert grid.format(row, col).tolist() == [code]
    again = grid.parse([code])
    assert (again[0][0], again[1][0]) == (row[0], col[0])
    alone = Spelling(grid.description.describe(), "2km")
    assert alone.read(code) == (int(row[0]), int(col[0]))
    assert alone.write(int(row[0]), int(col[0])) == code


@pytest.mark.parametrize(
    ("codes", "rule"),
    [
        ("'{square}{big}{east/2000:2}{north/2000:2}'", r"pattern-letters-do-not-fit: \b5\b"),
        ("'{big}{tetrad}'", r"pattern-letters-do-not-fit: \b5\b"),
        ("'{tetrad}{big}'", r"pattern-letters-do-not-fit: \b5\b"),
        ("'{big}{square}'", "pattern-cells-alike: 2000"),
        ("'{big}{square}{square}{east/2000:2}{north/2000:2}'", "pattern-told-twice: 100000"),
        ("'{big}{square}{east/3000:2}{north/3000:2}'", "pattern-not-nested"),
        (
            "'{big}{square}{east/10000:1}{east/1000:1}{north/1000:1}'",
            r"pattern-too-few-digits: \b2\b",
        ),
        ("'{big}{square}{east/2000:2}{east/2000:2}{north/2000:2}'", "pattern-told-twice: 2000"),
        ("'{east}N{north/2000}N{north/10000:1}'", "pattern-not-nested"),
    ],
)
def test_fields_that_leave_cells_untold_or_tell_them_twice_are_refused(codes, rule):
    with refuses(UsageError, rule):
        lettered(codes)


def test_squares_hold_the_extent():
    codes = "'{square}{east/2000:2}{north/2000:2}'"
    with refuses(UsageError, r"pattern-letters-do-not-fit: \b5\b"):
        lettered(codes)
    with refuses(UsageError, "pattern-before-origin"):
        lettered(codes, origin=(Fraction(100_000), Fraction(0)))


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("SI42", "pattern-code-corner"),  # there is no I
        ("su42", "pattern-code-capitals"),
        ("SU425", "pattern-code-corner: british:1km|column"),
        ("SU4217", "pattern-code-resolution: british:1km"),
        ("S442", "pattern-code-corner"),
        ("SU 42 ", "pattern-code-blanks"),
    ],
)
def test_what_is_no_code_of_letters_is_refused(code, rule):
    with refuses(CodeError, rule):
        code_system("british:10km").parse(["SU41", code])


@pytest.mark.parametrize("name", ["british:10km", "irish:10km", "korean:10km"])
def test_texts_of_letters_are_codes_to_both_readers_or_to_none(name):
    system, rng = code_system(name), np.random.default_rng(0)
    spelling = Spelling(system.description.describe(), system.label)
    some = [*"ASTVZI가나사아자", *"0123456789"]
    texts = ["".join(rng.choice(some, rng.integers(2, 5))) for _ in range(4000)]
    found = []
    for text in texts:
        try:
            found.append(spelling.read(text))
        except ValueError:
            found.append(None)
    index, done = system._read(np.array(texts, object))
    assert done.tolist() == [one is not None for one in found]
    assert [tuple(one) for one in index.T[done].tolist()] == [one for one in found if one]
    assert 5 < done.sum() < 4000


def test_no_square_outside_of_the_table_is_written():
    system = code_system("irish:10km")
    for row, col in ((50, 0), (0, 50), (-1, 0), (0, -1)):
        with refuses(CodeError, "pattern-cell-outside"):
            system.format([row], [col])


def test_cells_are_counted_from_a_corner_that_all_sizes_share_beyond_the_extent():
    small, large = grid_of("'N{north}E{east}'"), grid_of("'N{north}E{east}'", "5km")
    assert small.origin == large.origin == (-30000, -20000)
    assert (small.extent, large.extent) == ((0, 0, 80, 60), (0, 0, 16, 12))
    assert small.areas == (("own:5km", 5), ("own:1km", 1))


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("S000E004", "pattern-code-capitals|pattern-code-corner: N or S"),  # there is no -0
        ("S3E4", "pattern-code-capitals|pattern-code-corner: N or S"),
        ("s003E004", "pattern-code-capitals|pattern-code-corner: N or S"),
        ("N003E0040", "pattern-code-capitals|pattern-code-corner: N or S"),
        ("N003E004 ", "pattern-code-blanks"),
        ("", "code-missing"),
    ],
)
def test_what_is_no_code_is_refused(code, rule):
    grid = grid_of("'{NS}{north/1000:3}{EW}{east/1000:3}'")
    with refuses(CodeError, rule) as caught:
        grid.parse(["N003E004", code])
    assert caught.value.position == 1
    assert not code.strip() or code not in str(caught.value)


def test_numbers_of_codes_of_digits_are_read_unless_zeros_are_missing():
    grid = code_system("ssb:250m")
    codes = np.array([22450006449750, 19500006600000])
    for kind in (np.int64, np.float64, np.uint64):
        assert (grid.parse(codes.astype(kind))[0] == grid.parse(codes.astype(str))[0]).all()
    with refuses(CodeError, "pattern-code-lost-zeros"):
        grid_of("'{east+20000:5}{north+30000:5}'").parse(np.array([1230004000]) // 10)


def test_a_corner_on_the_ground():
    """Blumenau in Brazil, by its latitude and longitude."""
    system = code_system("ibge:1km")
    move = Transformer.from_crs("EPSG:4674", system.crs, always_xy=True)
    row, col = system.locate(*([value] for value in move.transform(-49.0704, -26.9197)))
    assert system.format(row, col).tolist() == ["1KME5499N8337"]


def test_sizes_that_are_no_whole_numbers_snap_as_meshes_do():
    text = (
        'name = "arc"\ncrs = "EPSG:4326"\nsizes = { "30s" = "1/120" }\n'
        'extent = [0, 0, 10, 10]\ncodes = "{row}_{col}"\n'
    )
    grid = PatternGrid(parse_description(text, "arc.toml"), "30s")
    index = np.arange(1200)
    corners = np.round(index / 120, 8)
    assert (np.stack(grid.locate(corners, corners)) == index).all()
    assert grid.unit == Fraction(1, 120)
