"""Records of a sample count as many as their weight, which every kind of records takes alike."""

from tests.contract.reading import faults_of, rows_of, text_of

WEIGHTS = ("--weight", "w", "--max-weight", "5")
NO_WEIGHTS = ("", "NA", "-", "-2", "nan", "1,5", "1.234", "two", "不明", "5%")


def weighed(kind, weight="2", name="w"):
    """Return the files with a column of weights: 2 each, and another one in the third row."""
    return {
        file: text_of(
            [
                [*cells, name if n == 0 else weight if n == 3 else "2"]
                for n, cells in enumerate(rows_of(text))
            ]
        )
        for file, text in kind.files.items()
    }


def test_records_may_have_weights(persons):
    """A weight above the largest counts as the largest, and without a largest one none is read."""
    for weight in ("2", "2.5", "1000"):
        read = persons.read(weighed(persons.kind, weight), *WEIGHTS)
        assert read.counted is not None, read.said
    assert persons.read(weighed(persons.kind), *WEIGHTS[:2]).counted is None


def test_what_is_no_weight_is_refused(persons):
    assert persons.read(weighed(persons.kind), *WEIGHTS).counted is not None
    for weight in NO_WEIGHTS:
        assert faults_of(persons.read(weighed(persons.kind, weight), *WEIGHTS), "w", 3) == [], (
            weight
        )


def test_a_weight_is_named_as_missing_in_one_way(persons):
    read = persons.read(weighed(persons.kind, "NA"), *WEIGHTS, "--missing", "NA")
    assert read.counted is not None, read.said
    assert read.counted < persons.read(weighed(persons.kind), *WEIGHTS).counted


def test_a_multiple_in_the_title_of_weights_is_asked_about(persons):
    assert persons.read(weighed(persons.kind), *WEIGHTS).counted is not None
    title = "weight (1,000)"
    words = [title if word == "w" else word for word in WEIGHTS]
    read = persons.read(weighed(persons.kind, name=title), *words)
    assert read.counted is None
    assert title in read.said
