"""Codes of places are read alike by all kinds, or refused with file, line and column."""

import pytest

from tests.contract.kinds import CODES
from tests.contract.reading import faults_at, faults_of, widened, with_cell, with_row

NO_CODES = (
    "053392400",
    "5339240",
    "533924000",
    "53392400a",
    "'53392400",
    "-53392400",
    "5.3392400e7",
)
OUTSIDE = ("53394611", "12345678")
"""A cell of the same code system, and one far from any land; both lie outside the bounds."""


def test_a_code_of_another_form_is_refused(reader):
    assert faults_at(reader, reader.kind.places, NO_CODES) == {}


@pytest.mark.parametrize("form", [" {} ", '"{}"'])
def test_blanks_and_quotes_change_no_code(reader, form):
    files = {name: spelt(text, form) for name, text in reader.kind.files.items()}
    read = reader.read(files)
    assert read.counted == reader.whole is not None, read.said


def spelt(text, form):
    """Return a text with every code in another spelling."""
    for code in CODES:
        text = text.replace(code, form.format(code))
    return text


def test_full_width_codes_are_read(reader):
    for column in reader.kind.places:
        read = reader.read(with_cell(reader.kind, column, widened(CODES[2]), row=3))
        narrow = reader.read(with_cell(reader.kind, column, CODES[2], row=3))
        assert (read.counted is None) == (narrow.counted is None), read.said
        assert read.counted == narrow.counted


def test_codes_as_whole_decimals_are_read(reader):
    """Programs write 53392400.0 where a column of codes has a blank somewhere."""
    files = {name: spelt(text, "{}.0") for name, text in reader.kind.files.items()}
    read = reader.read(files)
    assert read.counted == reader.whole is not None, read.said


@pytest.mark.parametrize("code", OUTSIDE)
def test_a_place_outside_is_refused_on_request(reader, code):
    for column in reader.kind.places:
        read = reader.read(with_cell(reader.kind, column, code, row=3), "--outside", "error")
        assert faults_of(read, None, 3) == []


@pytest.mark.parametrize("code", OUTSIDE)
def test_places_outside_the_bounds_are_left_out_unless_it_is_said(reader, code):
    for column in reader.kind.places:
        files = with_cell(reader.kind, column, code, row=3)
        whole = reader.whole
        for more in ((), ("--outside", "drop")):
            read = reader.read(files, *more)
            assert read.counted is not None, read.said
            assert read.counted < whole


def test_a_row_that_is_repeated_is_an_error(reader):
    """Of counts: persons may be counted twice. A record may well be there twice."""
    read = reader.read(with_row(reader.kind))
    assert faults_of(read, None, None) == []
    more = reader.read(with_row(reader.kind), "--duplicates", "sum")
    assert more.counted is not None, more.said
    assert more.counted > reader.whole
