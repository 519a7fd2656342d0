"""Spellings of codes: what each field means, and what is refused."""

from fractions import Fraction

import pytest

from geodp.errors import UsageError
from geodp.grid.codes.pattern import (
    Country,
    Hemisphere,
    Literal,
    Number,
    Square,
    axes_of,
    read_pattern,
)
from tests.refusals import refuses

SQUARES = {
    "big": Square(Fraction(10), ("B", "A")),
    "rows": Square(Fraction(10), ("B", "A")),
    "cols": Square(Fraction(10), ("AB",)),
    "both": Square(Fraction(10), ("AB", "CD")),
}
WORDS = {"size": "1000", "label": "1km", "epsg": "3035"}


@pytest.mark.parametrize(
    ("field", "number"),
    [
        ("north", Number(0)),
        ("east:7", Number(1, width=7)),
        ("east:07", Number(1, width=7)),
        ("row", Number(0, cells=True)),
        ("col+1", Number(1, cells=True, offset=1)),
        ("1600-row", Number(0, cells=True, factor=-1, offset=1600)),
        ("east/1000", Number(1, unit=Fraction(1000))),
        ("east/0.25", Number(1, unit=Fraction(1, 4))),
        ("north/zeros", Number(0, unit=None)),
        ("(east-2000000)/100:4", Number(1, offset=-2_000_000, unit=Fraction(100), width=4)),
        ("( east + 5 ) / 10", Number(1, offset=5, unit=Fraction(10))),
        ("(9000000-north)/100", Number(0, factor=-1, offset=9_000_000, unit=Fraction(100))),
    ],
)
def test_a_field_is_a_number(field, number):
    other = "{north}" if number.axis else "{east}"
    assert read_pattern(f"{{{field}}}-{other}", WORDS)[0] == number


def test_words_are_literals_and_braces_are_doubled():
    parts = read_pattern("CRS{epsg}RES{size}{{{label}}}N{north}E{east}", WORDS)
    assert parts == (Literal("CRS3035RES1000{1km}N"), Number(0), Literal("E"), Number(1))
    parts = read_pattern("{country}_{NS}{north:2}{ew}{east:3}", WORDS)
    assert parts[0] == Country()
    assert [part for part in parts if isinstance(part, Hemisphere)] == [
        Hemisphere(0, "N", "S"),
        Hemisphere(1, "e", "w"),
    ]


@pytest.mark.parametrize(
    ("size", "unit"), [(100, 100), (250, 10), (1000, 1000), (25_000, 1000), (Fraction(1, 4), 1)]
)
def test_zeros_are_those_that_the_size_ends_in(size, unit):
    assert Number(0, unit=None).unit_of(Fraction(size)) == unit


@pytest.mark.parametrize(
    ("pattern", "rule"),
    [
        ("{north}E{east", "pattern-brace-open"),
        ("{nord}E{east}", "pattern-field-unknown"),
        ("{north!r}E{east}", "pattern-field-unknown"),
        ("{north:x}E{east}", "pattern-field-unknown"),
        ("{north:16}E{east}", "pattern-field-unknown"),
        ("{north:0}E{east}", "pattern-field-unknown"),
        ("{}E{east}", "pattern-field-unknown"),
        ("{0}E{east}", "pattern-field-unknown"),
        ("{north.__class__}E{east}", "pattern-field-unknown"),
        ("{label:3}{north}E{east}", "pattern-field-unknown"),
        ("{north-5/10}E{east}", "pattern-brackets-missing"),
        ("{(north-5/10}E{east}", "pattern-brackets-missing"),
        ("{5-north+5}E{east}", "pattern-addition"),
        ("{north/0}E{east}", "pattern-divides-by-0"),
        ("{north}", "pattern-axis-missing"),
        ("{big}{north}", "pattern-axis-missing"),
        ("{big:2}{north}{east}", "pattern-field-unknown"),
        ("{big!r}{north}{east}", "pattern-field-unknown"),
        ("{rows}{north+5}E{east}", "pattern-fields-from-origin"),
        ("{rows}{9-north}E{east}", "pattern-fields-from-origin"),
        ("{NS}{north/100}N{north/10:1}E{east}", "pattern-fields-from-origin"),
        ("{north}{east:7}", "pattern-width-missing"),
        ("{north}0{east}", "pattern-width-missing"),
        ("{NS}{north}{NS}{EW}{east}", "pattern-country-twice|pattern-hemisphere-twice"),
        ("{country}{country}{north}E{east}", "pattern-country-twice|pattern-hemisphere-twice"),
        ("{north}é{east}", "pattern-not-ascii"),
        ("{north}\n{east}", "pattern-not-ascii"),
    ],
)
def test_what_cannot_be_read_is_refused(pattern, rule):
    with refuses(UsageError, rule):
        read_pattern(pattern, WORDS, SQUARES)


def test_a_letter_is_one_of_a_table_and_tells_the_axes_of_which_it_has_several():
    parts = read_pattern("{rows}{cols}{north:2}{east:2}", WORDS, SQUARES)
    assert parts[:2] == (SQUARES["rows"], SQUARES["cols"])
    assert [axes_of(part) for part in parts] == [(0,), (1,), (0,), (1,)]
    assert axes_of(SQUARES["both"]) == (0, 1)
    assert axes_of(Literal("N")) == ()
    alone = read_pattern("{both}", WORDS, SQUARES)
    assert alone == (SQUARES["both"],)


def test_a_crs_without_a_number_has_no_epsg():
    with refuses(UsageError, "pattern-field-unknown"):
        read_pattern("{epsg}N{north}E{east}", {"size": "1", "label": "1m"})
