"""Numbers are read alike by all kinds, or refused with file, line and column."""

import pytest

from tests.contract.reading import faults_at, widened, with_cell

NO_COUNTS = ("-1", "-999", "-9999", "1e20", "99999999999999999999", "inf", "nan")
"""No numbers of people, of households or of money within a public clip that begins at 0."""

NOT_PLAIN = (
    "1,000",
    "1.000",
    "1_000",
    "1 000",
    "1'000",
    "(5)",
    "5%",
    "5人",
    "0x10",
    "<5",
    "1.5E+05",
)


def test_a_sentinel_is_no_number(reader):
    assert faults_at(reader, reader.kind.amounts, NO_COUNTS) == {}


def test_a_number_beyond_mankind_is_no_count(reader):
    for column in reader.kind.amounts:
        read = reader.read(with_cell(reader.kind, column, "9999999999", row=3))
        assert read.counted is None


def test_a_number_that_is_not_plain_is_asked_about(reader):
    assert faults_at(reader, reader.kind.amounts, NOT_PLAIN) == {}


def test_a_fraction_of_a_person_is_refused(reader):
    assert faults_at(reader, reader.kind.amounts, ["2.5", "0.1"]) == {}


def reads_alike(reader, spell, *more):
    """Return whether a number in another spelling is the same one, and not refused.

    Persons and households of a cell fit together with 91 and 40 of them.
    """
    kind = reader.kind
    for column, plain in zip(kind.amounts, ("91", "40"), strict=False):
        wanted = reader.read(with_cell(kind, column, plain, row=3)).counted
        read = reader.read(with_cell(kind, column, spell(plain), row=3), *more)
        assert wanted is not None
        assert read.counted == wanted, read.said


@pytest.mark.parametrize("form", [" {} ", "+{}", "00{}", "{}.0", "{}."])
def test_blanks_signs_and_zeros_change_no_number(reader, form):
    reads_alike(reader, form.format)


def test_an_exponent_is_read(reader):
    reads_alike(reader, "{}0E-1".format)


def test_full_width_digits_are_read(reader):
    reads_alike(reader, widened)


def test_a_decimal_comma_is_named_in_one_way(reader):
    assert faults_at(reader, reader.kind.amounts, ["91,0", "1.234,0"]) == {}
    reads_alike(reader, "{},0".format, "--decimal", ",")
