"""A row of totals is refused or asked about, and nobody is counted twice."""

from tests.contract.reading import faults_at, faults_of, with_row

TOTALS = ("_T", "Total", "TOTAL", "Sum", "総数", "合計", "計")


def test_a_total_is_no_place(reader):
    assert unrefused(reader, reader.kind.places) == []


def test_a_total_is_no_label(reader):
    assert unrefused(reader, reader.kind.labels) == []


def unrefused(reader, columns):
    """Return the totals at the end of the file that are counted, or whose column is not named."""
    return [
        (column, word)
        for column in columns
        for word in TOTALS
        if faults_of(reader.read(with_row(reader.kind, **{column: word})), column, None)
    ]


def test_a_total_is_no_person(persons):
    assert faults_at(persons, persons.kind.persons, TOTALS) == {}
