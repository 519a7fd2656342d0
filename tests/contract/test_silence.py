"""No error quotes what stands in a confidential file."""

import pytest

from geodp.errors import GeodpError
from tests.contract.reading import with_cell, with_row

SECRET = "8675309"
WRITTEN = ("{}x", "x{}", "{}%", "{},5", "<{}", "-{}", "{}e40", "{}-01-01", "0x{}", "$ {}", '"{}')
"""Texts around the secret that are no code, no number, no label; some are refused as something."""


def columns_of(kind):
    return (*kind.places, *kind.amounts, *kind.labels)


@pytest.mark.parametrize("written", WRITTEN)
def test_an_error_quotes_no_value(reader, written):
    kind = reader.kind
    for column in columns_of(kind):
        for change in (
            with_cell(kind, column, written.format(SECRET), row=3),
            with_row(kind, **{column: written.format(SECRET)}),
        ):
            read = reader.read(change)
            assert read.counted is None
            assert SECRET not in read.said


def test_an_error_quotes_no_value_in_python(kind):
    """Nor does any error that it was made of."""
    assert kind.in_python is not None
    for column in columns_of(kind):
        frames = kind.frames()
        first = next(iter(frames.values()))
        first[column] = first[column].astype(object)
        first.loc[3, column] = f"x{SECRET}"
        with pytest.raises(GeodpError) as refused:
            kind.in_python(frames)
        error = refused.value
        while error is not None:
            assert SECRET not in f"{error} {getattr(error, '__notes__', '')}"
            error = None if error.__suppress_context__ else error.__context__ or error.__cause__


def test_a_person_is_not_quoted(persons):
    """A person without a place is refused by the row."""
    kind = persons.kind
    (column,) = kind.persons
    place = kind.places[0]
    files = with_row(kind, **{column: SECRET, place: "no place"})
    read = persons.read(files)
    assert read.counted is None
    assert SECRET not in read.said
