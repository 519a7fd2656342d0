"""Cells: the same text for the same thing, whatever the form of a workbook."""

import datetime

import pytest

from geodp.errors import InputError
from geodp.io.read.rows.forms.books import Book, as_cell, sign_of
from geodp.io.read.rows.input_files import InputFile
from tests.refusals import refuses


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, None),
        (3.0, 3),
        (3.5, 3.5),
        (True, "True"),
        (datetime.date(2024, 5, 31), "2024-05-31"),
        (datetime.datetime(2024, 5, 31, 9), "2024-05-31T09:00:00"),
        (datetime.timedelta(hours=30), "1 day, 6:00:00"),
        ("007", "007"),
    ],
)
def test_values_become_numbers_or_texts(value, cell):
    found = as_cell(value)
    assert found == cell
    assert type(found) is type(cell)


@pytest.mark.parametrize(
    ("value", "sign", "shown"),
    [
        (0.07, "%", "7%"),
        (1.0, "%", "100%"),
        (0.123, "%", "12.3%"),
        (1234.0, " ¥", "1234 ¥"),
        (0.5, " €", "0.5e0 €"),
    ],
)
def test_numbers_with_signs_are_texts(value, sign, shown):
    assert as_cell(value, sign) == shown


@pytest.mark.parametrize(
    ("code", "sign"),
    [
        *((one, "") for one in ("", "General", "0", "#,##0.00", "0.00E+00", "# ?/?", "@")),
        *((one, "") for one in ("#,##0_);(#,##0)", "[Red]-0;0", "[>=1000]0;0.0", "* #,##0_-")),
        *((one, "") for one in ('#,##0"人"', '0" persons"', '"△ "0', "yyyy/mm/dd", "[$-411]0")),
        *((one, "") for one in ('0;-0;"-"', "[h]:mm:ss", '_("x"* #,##0_)', "\\p0")),
        *((one, "%") for one in ("0%", "0.0 %", "0,0%", "0;0%", "[Red]0%")),
        ('0"%"', " %"),
        ("0\\%", " %"),
        ('0"‰"', " ‰"),
        ('"¥"#,##0', " ¥"),
        ("\\¥#,##0", " ¥"),
        ("\\\\#,##0", " ¥"),  # as Japanese fonts show it
        ("[$¥-411]#,##0", " ¥"),
        ("[$EUR] 0", " EUR"),
        ("[$kr.-406] 0", " kr."),
        ("$#,##0", " $"),
        ('_-* #,##0.00\\ "€"_-', " €"),
        ('#,##0\\ "Kč"', " Kč"),
        ('0"円"', " 円"),
        ('0"千人"', " 千人"),
        ('0" thousand"', " thousand"),
        ('0"000"', " 000"),
        ('[<5]"<5";0', " <5"),
    ],
)
def test_a_format_says_what_makes_a_number_no_count(code, sign):
    assert sign_of(code) == sign


class Failing(Book):
    """A book whose second row cannot be read."""

    def close(self):
        """Close nothing."""

    def _rows(self, sheet):
        yield [1], False
        raise KeyError("a secret")


def test_the_words_of_a_library_are_not_passed_on():
    found = Failing(InputFile("a.ods", "a.ods", "ods")).rows("a")
    assert next(found) == ([1], False)
    with refuses(InputError, "workbook-unreadable") as caught:
        next(found)
    assert caught.value.__context__ is None
