"""A column and the value of a selection are compared by what both mean, whatever stores them."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from geodp.errors import CodeError, InputError, UsageError
from geodp.io.read.rows.selecting import Term, describe_form, parse_moment
from geodp.io.read.table import read_table
from tests.io.read.dialects import make
from tests.refusals import refuses

CODES = ["533946113", "533946114", "533946123"]
CALL = {"grid": "jis:half", "code": "code", "value": "n"}
TOKYO = pa.timestamp("us", "Asia/Tokyo")
DAYS = [dt.date(2020, 1, 1), None, dt.date(2020, 1, 2)]
NINE = [dt.datetime(2020, 1, 1, 9), None, dt.datetime(2020, 1, 1, 10)]


def met(column, value):
    return Term.of("d", value).match(column).mask.to_pylist()


@pytest.mark.parametrize("value", ["1", "01", "1.0", "+1", "1e0", 1, 1.0])
@pytest.mark.parametrize(
    "kind",
    [pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(30, 2), pa.string()],
    ids=str,
)
def test_a_number_meets_the_same_number_in_every_type(value, kind):
    column = pa.array([1, None, 2, 10]).cast(kind)
    assert met(column, value) == [True, False, False, False]
    assert met(column.dictionary_encode(), value) == [True, False, False, False]


def test_a_text_that_is_the_number_meets_it_and_no_neighbour():
    for written in ("1", "01", "001", "1.0", "1.", "+1", "1e0", "10E-1", " 1 "):
        assert met(pa.array([written, "2", "x", "1x", "11", ""]), "1") == [True] + 5 * [False]
    for number in ("0", "-3", "0.5", "120", "9007199254740993", "1e40", "-0.25"):
        column = pa.array([number, f"0{number.lstrip('-')}1", "7"])
        assert met(column, number) == [True, False, False]


def test_a_number_beyond_a_type_meets_nothing():
    for kind in (pa.int8(), pa.decimal128(5, 2), pa.uint64()):
        column = pa.array([Decimal(1), Decimal(2)], kind)
        for value in ("1000", "-1", "1e999", "0.001"):
            assert met(column, value) == [False, False]


STAMPS = [pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")]
TIMES = {
    # Columns, and what the first of their times meets, in every type.
    "day": (
        [
            *(pa.array(DAYS), pa.array(DAYS).cast(pa.date64())),
            *(pa.array(DAYS).cast(kind) for kind in STAMPS),
            *(
                pa.array(["2020-01-01", None, "2020-01-02"]),
                pa.array(["2020/1/1", "", "2020/1/11"]),
            ),
            pa.array(["2020-01-01T00:00:00", "x", "2019-12-31"]),
            pa.array(["2019-12-31 24:00", "x", "2020-01-02"]),
        ],
        ["2020-01-01", "2020/1/1", "2020.01.01", DAYS[0], "2020-1-1"],
    ),
    "local time": (
        [
            *(pa.array(NINE).cast(kind) for kind in STAMPS),
            pa.array(["2020-01-01T09:00", "2020-01-01", "2020-01-01 10:00"]),
            pa.array(["2020/1/1 9:00:00.0", None, "2020-01-02T09:00"]),
        ],
        ["2020-01-01 09:00", "2020-01-01T9:00:00.000", NINE[0]],
    ),
    "moment": (
        [
            pa.array(NINE).cast(TOKYO),
            pa.array(["2020-01-01T09:00Z", "", "2020-01-01T09:00+01:00"]),
            pa.array(["2020-01-01 19:00+10", "x", "2020-01-01T09:00:00.1Z"]),
        ],
        ["2020-01-01T09:00Z", "2020-01-01 18:00+09:00", "2020-01-01T04:00:00-0500"],
    ),
}


@pytest.mark.parametrize("kind", TIMES)
def test_a_time_meets_that_time_in_every_type(kind):
    columns, values = TIMES[kind]
    for column in columns:
        for value in values:
            assert met(column, value) == [True, False, False], (column.type, value)


@pytest.mark.parametrize(
    ("column", "value", "rule"),
    [
        (
            pa.array(NINE).cast(TOKYO),
            "2020-01-01 09:00",
            r"where-value-unfit: timestamp\[us, tz=Asia/Tokyo\].*offset",
        ),
        (pa.array(NINE).cast(TOKYO), "2020-01-01", "where-value-unfit: give one with its offset"),
        (pa.array(NINE), "2020-01-01T09:00Z", "where-value-unfit: zone"),
        (pa.array([-1], pa.int64()).view(pa.date64()), "1969-12-31", "where-other-times"),
        (pa.array(NINE), "2020-01-01", "where-other-times"),
        (pa.array(["2020-01-01T09:00Z"]), "2020-01-01T09:00", "where-offset"),
        (pa.array(["2020-01-01T09:00Z"]), "2020-01-01", "where-offset"),
        (pa.array(["2020-01-01T09:00"]), "2020-01-01T09:00Z", "where-no-offset"),
        (pa.array(["2020-01-01T09:00", "2020-01-01"]), "2020-01-01", "where-other-times"),
        (pa.array(DAYS), "20200101", r"where-needs-date: date32\[day\]"),
        (pa.array(DAYS), "1.1.2020", "where-needs-date"),
        (pa.array(NINE), "9:00", "where-needs-date-time"),
        (pa.array([True]), "yes", "where-needs-bool"),
        (pa.array([1]), "one", r"where-needs-number: \bd is int64"),
        (pa.array([1]), '"1"', "where-not-text"),
        (pa.array([dt.time(9, 30)]), "morning", "where-needs-time"),
        (pa.array([[1]]), "1", "where-type-unselectable"),
        (pa.array(["x"]), None, "where-value-none"),
    ],
)
def test_what_may_mean_two_things_is_asked_for(column, value, rule):
    with refuses((UsageError, CodeError), rule):
        met(column, value)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (["01", " 1", "1.0", "1e0"], "1"),
        (["2020-01-01", "2020/1/1", "2020-01-01T00:00", "2019-12-31 24:00"], "2020-01-01"),
        (["2020-1", "\u30002020/01"], "2020-01"),
        (["か\u3099", "が\u00a0"], "が"),
        (["True", " TRUE"], "true"),
        (["x y", " x y "], "x y"),
        (["01"], '"01"'),
    ],
)
def test_a_long_column_of_other_texts_is_compared_as_a_short_one(written, value):
    others = [f"{number}x" for number in range(10_000)]
    column = pa.array([*others[:7000], *written, None, *others[7000:]])
    wanted = [False] * 7000 + [True] * len(written) + [False] * 3001
    assert met(column, value) == wanted
    assert met(column.dictionary_encode(), value) == wanted


def test_an_error_in_a_long_column_is_at_its_row():
    others = [f"{number}x" for number in range(10_000)]
    with refuses(CodeError, "where-offset") as refused:
        met(pa.array([*others, "2020-01-01", "2020-01-01T09:00Z"]), "2020-01-01")
    assert refused.value.position == 10_001


def test_truth_times_and_texts():
    assert met(pa.array([True, False, None]), "TRUE") == [True, False, False]
    assert met(pa.array([True, False, None]), False) == [False, True, False]
    assert met(pa.array([True, False]), "0") == [False, True]
    assert met(pa.array(["True", "true", "FALSE", "t"]), "true") == [True, True, False, False]
    assert met(pa.array([dt.time(9, 30), dt.time(9)]), "9:30") == [True, False]
    assert met(pa.array(["か\u3099 ", "が", "か"]), "が") == [True, True, False]
    assert met(pa.array(["f", "F"]), "f") == [True, False]
    assert met(pa.array(["2020-1", "2020/01", "2020-11"]), "2020-01") == [True, True, False]
    assert met(pa.array(["01", "1"]), '"01"') == [True, False]
    assert met(pa.array([b"01", b"2"]), "1") == [True, False]


def test_nothing_meets_what_is_missing():
    texts = pa.array(["", None, " ", "x"])
    numbers = pa.array([None, None, None, 1]), pa.array([None, float("nan"), None, 1.0])
    for column in (texts, texts.dictionary_encode(), *numbers):
        assert met(column, "") == [True, True, True, False]


def test_moments_are_exact():
    assert parse_moment("2020-01-01T00:00:00.000000001").ns % 10 == 1
    assert parse_moment("1969-12-31T23:59:59Z").ns == -(10**9)
    for text in ("2020-13-01", "2020-01-01T25:00", "2020-01-01T24:01", "2020-01-01T09:00+99:00"):
        assert parse_moment(text) is None


@pytest.mark.parametrize(
    ("values", "form"),
    [
        (["01", "02"], "text of 2 digits"),
        (["1", " 2"], "text of 1 digit"),
        (["1", "12"], "text of several numbers of digits"),
        (["1", "x"], "text of several forms"),
        (["2020-01-01"], "date, year first"),
        (["2020-01-01T09:00+09:00"], "date and time with an offset, year first"),
        (["31/01/2020", "1.2.20"], "date that does not begin with its year"),
        (["2020-01"], "year and month"),
        (["1.5", "-2"], "number with a sign, a point or an exponent"),
        (["True"], "true and false"),
        ([None, ""], "blank"),
        ([1], "int64"),
        ([[1]], "nested"),
    ],
)
def test_the_form_of_a_column_tells_no_value(values, form):
    assert describe_form(pa.array(values)) == form
    if not isinstance(values[0], list):
        assert describe_form(pa.array(values).dictionary_encode()) == form


def write(folder, form, days):
    """Return a table of three cells, with counts 1, 2 and 4, in a form."""
    return make(form, {"code": CODES, "d": days, "n": [1, 2, 4]}, folder)


FORMS = ["csv", "jsonl", "xlsx", "arrow"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("days", "value"),
    [
        ([1, 1, 2], "01"),
        (["01", "01", "02"], "1"),
        ([1.5, 1.5, 2.0], "1.50"),
        ([True, True, False], "true"),
        (["2020-01-01", "2020-01-01", "2020-01-02"], "2020/1/1"),
        ([dt.date(2020, 1, 1), dt.date(2020, 1, 1), dt.date(2020, 1, 2)], "2020-01-01"),
        ([dt.datetime(2020, 1, 1, 9), dt.datetime(2020, 1, 1, 9), dt.datetime(2020, 1, 2)],
            "2020-01-01T09:00"),
        (["2020-01-01T09:00:00Z", "2020-01-01T10:00:00+01:00", "2020-01-02T09:00:00Z"],
            "2020-01-01T09:00Z"),
    ],
)  # fmt: skip
def test_doors_agree(form, days, value, tmp_path):
    table = read_table(write(tmp_path, form, days), where={"d": value}, **CALL)
    assert table.count.sum() == 1 + 2
    ((_, spellings),) = table.reading.sources[0].spellings.items()
    assert sum(spellings.values()) == 2


@pytest.mark.parametrize("form", FORMS)
def test_two_spellings_of_one_file_are_refused_until_one_is_chosen(form, tmp_path):
    given = write(tmp_path, form, ["1", "01", "2"])
    with refuses(InputError, "where-spelt-variously") as refused:
        read_table(given, where={"d": "1"}, **CALL)
    assert refused.value.row in (2, 3)
    given = write(tmp_path, form, ["1", "01", "2"])
    assert read_table(given, where={"d": '"01"'}, **CALL).count.tolist() == [2]


def test_two_spellings_are_seen_over_batches_and_are_none_over_files(tmp_path):
    rows = 1 << 18
    days = pa.array(["1"] * rows + ["01"])
    column = {"code": pa.repeat(CODES[0], rows + 1), "n": np.ones(rows + 1, np.int64), "d": days}
    with refuses(InputError, "where-spelt-variously") as refused:
        read_table(pa.table(column), where={"d": 1}, duplicates="sum", **CALL)
    assert refused.value.row == rows + 1
    for name, code, day in (("a", CODES[0], "01"), ("b", CODES[1], "1")):
        (tmp_path / f"{name}.csv").write_text(f"code,d,n\n{code},{day},3\n")
    table = read_table([tmp_path / "a.csv", tmp_path / "b.csv"], where={"d": "1"}, **CALL)
    assert table.count.tolist() == [3, 3]
    spellings = [source.spellings["d=1"] for source in table.reading.sources]
    assert spellings == [{"01": 1}, {"1": 1}]


def lake(folder, *months):
    for number, month in enumerate(months):
        part = folder / f"month={month}"
        part.mkdir(parents=True)
        pq.write_table(pa.table({"code": [CODES[number]], "n": [1 << number]}), part / "a.parquet")
    return folder


@pytest.mark.parametrize("value", ["1", "01", 1, '"01"'])
def test_folders_of_hive_are_compared_as_columns_are(value, tmp_path):
    table = read_table(lake(tmp_path, "01", "02"), where={"month": value}, **CALL)
    assert table.count.tolist() == [1]
    assert [source.left_out for source in table.reading.sources] == [False, True]
    assert [source.rows for source in table.reading.sources] == [1, 1]


def test_folders_that_write_a_value_in_two_ways_are_refused_until_one_is_chosen(tmp_path):
    folder = lake(tmp_path, "01", "1", "2")
    with refuses(InputError, "where-spelt-variously"):
        read_table(folder, where={"month": 1}, **CALL)
    assert read_table(folder, where={"month": '"1"'}, **CALL).count.tolist() == [2]
