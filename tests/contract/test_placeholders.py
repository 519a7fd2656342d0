"""A word that stands for nothing is no value, no place, no label and no person."""

from dataclasses import replace

import pytest

from geodp.errors import GeodpError
from tests.contract.reading import faults_at, with_cell

PLACEHOLDERS = ("NA", "N/A", "NULL", "None", "-", ".", "*", "不明", "秘匿", "X", "", "  ")
NOBODY = tuple(word for word in PLACEHOLDERS if word != "X")
"""Those that are the id of nobody: X may be that of somebody."""

WITHHELD = ("NA", "*", "秘匿", "-999", "")


def test_a_placeholder_is_no_place(reader):
    assert faults_at(reader, reader.kind.places, PLACEHOLDERS) == {}


def test_a_placeholder_is_no_number(reader):
    assert faults_at(reader, reader.kind.amounts, PLACEHOLDERS) == {}


def test_a_placeholder_is_no_label(reader):
    assert faults_at(reader, reader.kind.labels, PLACEHOLDERS) == {}


def test_a_placeholder_is_no_person(persons):
    assert faults_at(persons, persons.kind.persons, NOBODY) == {}


def test_a_placeholder_is_no_coordinate(persons):
    assert faults_at(persons, persons.kind.places, PLACEHOLDERS) == {}


def test_a_placeholder_is_named_as_missing_in_one_way(reader):
    """What a number says then is nothing: no people, or no record."""
    kind = reader.kind
    whole = reader.whole
    for column in kind.amounts:
        before = reader.read(with_cell(kind, column, "0", row=3)).counted
        for word in WITHHELD:
            read = reader.read(with_cell(kind, column, word, row=3), "--missing", word)
            # A record without an amount is left out; persons are no longer counted.
            wanted = whole - 1 if before == whole else before
            assert read.counted == wanted, (column, word, read.said)


@pytest.mark.parametrize("nothing", ["NA", "", None])
def test_a_placeholder_is_refused_in_python(kind, nothing):
    """A frame is refused with row and column, and None is one of them, at every role."""
    assert kind.in_python is not None
    for column in (*kind.places, *kind.amounts, *kind.labels, *kind.persons):
        frames = replace(kind, files=with_cell(kind, column, "NA", row=3)).frames()
        first = next(iter(frames.values()))
        first[column] = first[column].replace({"NA": nothing})
        with pytest.raises(GeodpError) as refused:
            kind.in_python(frames)
        said = str(refused.value)
        assert "row 3" in said, said
        assert f"Column {column}" in said, said
