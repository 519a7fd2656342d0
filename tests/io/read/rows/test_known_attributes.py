"""Attributes that are known by name, and standard lists of their labels."""

import pyarrow as pa
import pytest

from geodp.errors import CodeError
from geodp.io.read.rows import fields
from geodp.io.read.rows.names import (
    STANDARD,
    SYNONYMS,
    find_attribute,
    find_columns_of,
    find_standard,
    fold,
)
from tests.refusals import refuses

HOURS = STANDARD["hour"].labels


@pytest.mark.parametrize(
    ("name", "attribute"),
    [
        *(("SEX", "sex"), ("sex_code", "sex"), ("Geschlecht", "sex"), ("Género", "sex")),
        *(("性別", "sex"), ("性別コード", "sex"), ("성별", "sex"), ("пол", "sex")),
        *(("AGE_GROUP", "age"), ("AgeGroup", "age"), ("age5", "age"), ("Altersgruppe", "age")),
        *(("年齢階級", "age"), ("年齢（5歳階級）", "age"), ("年龄", "age")),
        *(("hour_of_day", "hour"), ("HEURE", "hour"), ("時間帯", "hour"), ("Monat", "month")),
        *(("dayofweek", "weekday"), ("曜日", "weekday"), ("Quartal", "quarter")),
        *(("average_age", None), ("timezone", None), ("n", None), ("population", None)),
        *(("code", None), ("", None), ("12", None)),
    ],
)
def test_names_mean_attributes(name, attribute):
    assert find_attribute(name) == attribute


def test_no_word_is_for_two_attributes():
    words = [fold(word) for text in SYNONYMS.values() for word in {*map(fold, text.split())}]
    assert len({*words}) == len(words)


@pytest.mark.parametrize(
    ("name", "columns", "found"),
    [
        ("sex", "code SEX n", "SEX"),
        ("sex", "sex SEXE", "sex"),
        ("sex", "SEX Sexe Gender", "SEX"),
        ("sex", "SEXE Gender", "SEXE Gender"),
        ("age", "AGE_GROUP average_age", "AGE_GROUP"),
        ("age", "Alter AGE_GROUP", "Alter"),
        ("年齢", "code age n", "age"),
        ("job", "JOB_CODE n", "JOB_CODE"),
        ("job", "n occupation", ""),
    ],
)
def test_the_surest_columns_are_found(name, columns, found):
    assert find_columns_of(name, columns.split()) == found.split()


@pytest.mark.parametrize(
    ("name", "texts", "labels"),
    [
        ("hour", "8 08 08:00 8:00 08:00:00 8.0 8h 8時", "8"),
        ("hour", "0 00 00:00", "0"),
        ("month", "5 05 5月 5.0", "5"),
        ("weekday", "7 07", "7"),
        ("quarter", "4 Q4 q4 04", "4"),
    ],
)
def test_standard_labels_are_read_in_every_spelling(name, texts, labels):
    standard = find_standard(name)
    found = fields.labels(pa.array(texts.split()), standard.labels)
    assert {standard.labels[i] for i in found} == {labels}


@pytest.mark.parametrize("text", ["24", "08:30", "-1", "8-9", "eight", "", "008", "8:00 pm"])
def test_no_other_text_is_an_hour(text):
    with refuses(CodeError, "label-not-of-attribute") as refused:
        fields.labels(pa.array(["8", text]), HOURS)
    assert refused.value.position == 1


def test_standard_lists_are_those_of_the_documents():
    assert tuple(str(hour) for hour in range(24)) == HOURS
    assert STANDARD["month"].labels == tuple(str(month) for month in range(1, 13))
    assert (STANDARD["weekday"].labels[0], STANDARD["weekday"].labels[-1]) == ("1", "7")
    assert STANDARD["quarter"].labels == ("1", "2", "3", "4")


@pytest.mark.parametrize(
    ("column", "labels", "found"),
    [
        (pa.array([1, 2]), ["01", "02"], [0, 1]),
        (pa.array([1, 2]), ["2", "1"], [1, 0]),
        (pa.array([1.0, 2.0]), ["1", "2"], [0, 1]),
        (pa.array([1.0, 2.0], pa.float32()), ["01", "2"], [0, 1]),
        (pa.array(["1.0", "2"]), ["1", "2"], [0, 1]),
        (pa.array([1]), ["1", "01"], [0]),
        (pa.array(["01"]), ["1", "01"], [1]),
        (pa.array(["08", "8"]).dictionary_encode(), HOURS, [8, 8]),
    ],
)
def test_numbers_are_labels_by_their_value_and_texts_as_they_are_written(column, labels, found):
    assert fields.labels(column, labels).tolist() == found


@pytest.mark.parametrize(
    ("column", "labels"),
    [
        (pa.array(["1", "01"]), ["1", "2"]),
        (pa.array([1.0, 1.5]), ["1", "2"]),
        (pa.array([1.0, None]), ["1", "2"]),
        (pa.array(["1", "1.5"]), ["1", "2"]),
        (pa.array([2, 1]), ["01", "001", "2"]),
    ],
)
def test_another_number_or_text_is_no_label(column, labels):
    with pytest.raises(CodeError) as refused:
        fields.labels(column, labels)
    assert refused.value.position == 1
