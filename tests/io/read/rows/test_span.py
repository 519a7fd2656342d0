"""Rows above, between and below a table: named ones are not read, and all others are refused."""

import io
import itertools

import pyarrow as pa
import pyarrow.parquet
import pytest

from geodp.errors import InputError, UsageError
from geodp.io.read.rows.span import Opening, UpToLine, guess_header, is_name, is_note
from tests.command import geodp as run
from tests.io.read.dialects import read, write_rows
from tests.refusals import refuses

ROWS = (("code", "n"), ("53394611", 5), ("53394612", 6))
TITLED = (("Population",), *ROWS)
MORE = ("53394613", 1)
NOTES = ((), ("Source: an office",), ("* estimated",))
UNITS = ((None, "persons"), ("Total", 11))
TOTAL = ("Total", 11)
FORMS = pytest.mark.parametrize("form", ["csv", "xlsx"])


@FORMS
@pytest.mark.parametrize(
    ("rows", "given"),
    [
        (TITLED, {"header_row": 2}),
        (TITLED + NOTES, {"header_row": 2, "last_row": 4}),
        ((*TITLED, TOTAL, *NOTES), {"header_row": 2, "last_row": 4}),
        ((*TITLED[:2], *UNITS, *ROWS[1:]), {"header_row": 2, "first_row": 5}),
    ],
)
def test_named_rows_are_those_of_the_table_and_known_by_the_operator(rows, given, form, tmp_path):
    found = read(write_rows(tmp_path / f"a.{form}", rows), **given)
    assert found.count.tolist() == [5, 6]
    said = [fact for fact in found.reading.sources[0].facts if fact.field == "header row"]
    assert [(fact.value, fact.known_by) for fact in said] == [("2", "operator")]


LIKE = "column-unknown: row {0} .*--header-row {0}, header_row={0}"
REFUSED = [
    # Rows, what is said of them, the rule and the row that it names.
    ((("Population by mesh",), (), *ROWS), {}, LIKE.format(3), None),
    ((("Population by mesh", None), ("2020", None), *ROWS), {}, LIKE.format(3), None),
    ((("# made by an office",), *ROWS), {}, LIKE.format(2), None),
    (((None, "Population"), *ROWS), {}, LIKE.format(2), None),
    (TITLED, {"header_row": 1}, LIKE.format(2), None),
    (TITLED, {"header_row": 3}, r"column-unknown: row \b2\b looks like.*header", 3),
    ((TITLED[0], (), *ROWS), {"header_row": 2}, "header-row-blank", 2),
    (TITLED, {"header_row": 9}, "header-row-after-end", 9),
    (TITLED, {"header_row": 5}, "header-row-after-end", 5),
    ((*ROWS, ROWS[0], MORE), {"header_row": 4}, "header-row-repeated", 4),
    ((*TITLED, TOTAL), {"header_row": 2}, "jis-code-not-digits", 5),
    ((*TITLED[:2], *UNITS[:1], *ROWS[1:]), {"header_row": 2}, "count-is-mark: --first-row, ", 3),
    ((*TITLED, (*NOTES[1], None)), {"header_row": 2}, "count-is-mark: --last-row, last_row=", 5),
    (TITLED + NOTES, {"header_row": 2}, "count-is-mark|row-ragged: --last-row", None),
    ((TITLED[0], ("code", "n", "n"), ("53394611", 1, 2)), {"header_row": 2}, "columns-alike", 2),
    # Whoever names too early or too late a row would leave people out without a word.
    ((*TITLED, MORE), {"header_row": 2, "last_row": 4}, "row-below-last", 5),
    ((*TITLED, *NOTES, MORE), {"header_row": 2, "last_row": 4}, "row-below-last", 8),
    ((*TITLED, (MORE[0], "*")), {"header_row": 2, "last_row": 4}, "row-below-last", 5),
    ((*TITLED, MORE), {"header_row": 2, "first_row": 4}, "row-above-first", 3),
    ((*TITLED, MORE), {"header_row": 2, "first_row": 5}, "row-above-first", 3),
    *((TITLED, {"header_row": 2, "last_row": n}, "last-row-beyond-file|last-row-blank", None)
      for n in (6, 99)),
    *(((*TITLED, ()), {"header_row": 2, "first_row": n}, "first-row-blank", None)
      for n in (5, 6, 99)),
    # Workbooks once counted rows from the header on.
    ((*TITLED[:2], *UNITS, *ROWS[1:], (MORE[0], "x")), {"header_row": 2, "first_row": 5},
     "count-is-mark", 7),
]  # fmt: skip


@FORMS
@pytest.mark.parametrize(("rows", "given", "rule", "row"), REFUSED)
def test_rows_that_are_no_part_of_the_table_are_told(rows, given, rule, row, form, tmp_path):
    with refuses(InputError, rule) as caught:
        read(write_rows(tmp_path / f"a.{form}", rows), **given)
    assert row in (None, caught.value.row)
    assert "53394611" not in str(caught.value)


@pytest.mark.parametrize(
    ("header", "first", "last"),
    [
        *((0, None, None), (None, None, 0), (2, None, 2), (3, None, 2), (None, None, 1)),
        *((2, 2, None), (3, 2, 9), (2, 5, 4), (None, 0, None), (None, 1, None), (-1, None, None)),
    ],
)
def test_rows_in_no_order_are_refused(header, first, last):
    with refuses(UsageError, "first-row-order|rows-counted-from-1: --first-row"):
        Opening(header_row=header, last_row=last, first_row=first)


@pytest.mark.parametrize("option", ["header_row", "last_row"])
def test_what_has_no_rows_around_its_table_refuses_the_options(option, tmp_path):
    table = pa.table({"code": ["53394611"], "n": [5]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "a.jsonl").write_text('{"code": "53394611", "n": 5}\n')
    for given in (table, tmp_path / "a.parquet", tmp_path / "a.jsonl"):
        with refuses(UsageError, "rows-need-text"):
            read(given, **{option: 2})


@pytest.mark.parametrize(
    ("text", "row", "rule"),
    [
        ("sep=:\nPopulation, in 2020\ncode:n\n53394611:5\n", 1, "line-says-delimiter"),
        ("x" * (1 << 18) + "\ncode,n\n53394611,5\n", 2, "header-too-far"),
    ],
)
def test_lines_that_are_no_header_are_refused(text, row, rule, tmp_path):
    (tmp_path / "a.csv").write_text(text)
    with refuses(InputError, rule):
        read(tmp_path / "a.csv", header_row=row)
    if rule == "line-says-delimiter":
        assert read(tmp_path / "a.csv", header_row=3).count.tolist() == [5]


def test_formulas_above_the_named_row_are_not_read(tmp_path):
    path = write_rows(tmp_path / "a.xlsx", [("=1+1",), *ROWS])
    assert read(path, header_row=2).count.tolist() == [5, 6]


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([["Population"], [""], ["code", "n"], ["1", "5"]], 2),
        ([["code", "2020", "2021"], ["1", "5", "6"]], None),
        ([["T"], ["code", "2020", "2021"], ["a1", "5", "6"]], None),
        ([["T"], ["code", "2020", "2021"], ["1", "5", "6"]], 1),
        ([["T"], ["code", "code"], ["1", "5"]], None),
        ([["A title"], ["and prose, of words"]], None),
        ([], None),
    ],
)
def test_a_header_is_told_by_the_row_below_it(rows, found):
    assert found is None or guess_header(rows, 1) == (found, found + 1)
    assert found is not None or guess_header(rows, len(rows[0]) if rows else 1) is None


@pytest.mark.parametrize(
    ("between", "header", "row"),
    [
        ([], 2, 3),
        ([["", "persons"]], 2, 4),
        ([["", "persons"], ["Total", "11"]], 2, 5),
        ([["Code", "Persons"]], 3, 4),
    ],
)
def test_units_and_totals_may_stand_below_a_header(between, header, row):
    rows = [["Population"], ["Source", "an office"], ["mesh", "n"], *between]
    assert guess_header([*rows, ["53394611", "5"], ["53394612", "6"]], 1) == (header, row)


def test_names():
    names = ["KEY_CODE", "", "T001141001", "性別", "age 10-14", "_id", "Gitter_ID_1km"]
    assert all(map(is_name, names))
    assert not any(map(is_name, ["53394611", "1kmN2E4", "DE_1kmN2E4", "a 10:11", "[x]", "-1"]))


def test_a_stream_is_cut_at_the_same_line_whatever_is_read_at_once():
    data = b"a,1\nb,2\nc,3\nnote\n"
    for size, lines in itertools.product(range(1, 20), range(1, 5)):
        stream = UpToLine(io.BytesIO(data), lines)
        assert b"".join(iter(lambda one=stream, n=size: one.read(n), b"")) == b"".join(
            data.splitlines(keepends=True)[:lines]
        )


def test_a_note_fills_one_field_or_has_a_word_for_a_code():
    row = ["53390", "5", "6"]
    assert is_note(["", "", " * estimated "], row)
    assert is_note(["Total", "", "6"], row)
    for like in (["53391", "*", ""], ["", "1", "2"], ["*", "1", "2"]):
        assert not is_note(like, row)
    assert not is_note(["a", "b"], ["a", "5"])
    assert not is_note(["a", "b"], [])


def test_a_command_names_the_last_row_and_inspect_takes_it(tmp_path):
    path = write_rows(tmp_path / "a.xlsx", TITLED + NOTES)
    rows = ("--header-row", 2, "--last-row", 4)
    assert "--last-row 4" in run("inspect", path, *rows).stdout
