"""Cells: the same text for the same thing, whatever the form of a workbook."""

import datetime

import pytest

from geodp.errors import InputError
from geodp.io.read.rows.forms.cells import as_cell, guard_rows, percentage


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


@pytest.mark.parametrize(("value", "shown"), [(0.07, "7%"), (1.0, "100%"), (0.123, "12.3%")])
def test_percentages_are_texts(value, shown):
    assert percentage(value) == shown


def test_the_words_of_a_library_are_not_passed_on():
    def rows():
        yield [1], False
        raise KeyError("a secret")

    found = guard_rows(rows(), "a.xls")
    assert next(found) == ([1], False)
    with pytest.raises(InputError, match="cannot be read as a workbook") as caught:
        next(found)
    assert caught.value.__context__ is None
