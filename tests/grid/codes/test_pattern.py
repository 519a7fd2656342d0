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
        ("{north}E{east", "not closed"),
        ("{nord}E{east}", "is no field"),
        ("{north!r}E{east}", "is no field"),
        ("{north:x}E{east}", "is no field"),
        ("{north:16}E{east}", "is no field"),
        ("{north:0}E{east}", "is no field"),
        ("{}E{east}", "is no field"),
        ("{0}E{east}", "is no field"),
        ("{north.__class__}E{east}", "is no field"),
        ("{label:3}{north}E{east}", "is no field"),
        ("{north-5/10}E{east}", "brackets"),
        ("{(north-5/10}E{east}", "brackets"),
        ("{5-north+5}E{east}", "one number"),
        ("{north/0}E{east}", "divides by 0"),
        ("{north}", "must have a northing"),
        ("{big}{north}", "an easting"),
        ("{big:2}{north}{east}", "is no field"),
        ("{big!r}{north}{east}", "is no field"),
        ("{rows}{north+5}E{east}", "several fields of one axis"),
        ("{rows}{9-north}E{east}", "several fields of one axis"),
        ("{NS}{north/100}N{north/10:1}E{east}", "several fields of one axis"),
        ("{north}{east:7}", "without a width"),
        ("{north}0{east}", "without a width"),
        ("{NS}{north}{NS}{EW}{east}", "twice"),
        ("{country}{country}{north}E{east}", "twice"),
        ("{north}é{east}", "ASCII"),
        ("{north}\n{east}", "ASCII"),
    ],
)
def test_what_cannot_be_read_is_refused(pattern, rule):
    with pytest.raises(UsageError, match=rule):
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
    with pytest.raises(UsageError, match="is no field"):
        read_pattern("{epsg}N{north}E{east}", {"size": "1", "label": "1m"})
