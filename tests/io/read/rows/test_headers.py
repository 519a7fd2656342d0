"""Headers below titles: the row that is named, in texts and workbooks alike."""

import pyarrow as pa
import pyarrow.parquet
import pytest

from geodp.errors import InputError, UsageError
from geodp.io.read.points import read_points
from geodp.io.read.rows.span import guess_header
from geodp.io.read.table import read_table
from tests.io.read.dialects import write_rows
from tests.refusals import refuses

ROWS = (("code", "n"), ("53394611", 5), ("53394612", 6))


def written(folder, rows, form):
    """Write rows as a text or as a workbook."""
    return write_rows(folder / f"a.{form}", rows)


def read(path, **given):
    return read_table(path, **{"grid": "jis:basic", "code": "code", "value": "n"} | given)


@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_a_header_row_is_known_by_the_operator(form, tmp_path):
    found = read(written(tmp_path, [("Population",), *ROWS], form), header_row=2)
    (source,) = found.reading.sources
    said = [fact for fact in source.facts if fact.field == "header row"]
    assert [(fact.value, fact.known_by) for fact in said] == [("2", "operator")]


@pytest.mark.parametrize("form", ["csv", "xlsx"])
@pytest.mark.parametrize(
    ("rows", "header_row", "rule", "row"),
    [
        (
            [("T",), *ROWS],
            1,
            "column-unknown: row 2 looks like the header.*--header-row 2, header_row=2",
            None,
        ),
        ([("T",), *ROWS], 3, r"column-unknown: row \b2\b looks like.*header", 3),
        ([("T",), (), *ROWS], 2, "header-row-blank", 2),
        ([("T",), *ROWS], 9, "header-row-after-end", 9),
        ([("T",), *ROWS], 5, "header-row-after-end", 5),
        ([*ROWS, ROWS[0], ("53394613", 1)], 4, "header-row-repeated", 4),
        ([("T",), *ROWS, ("Total", 11)], 2, "jis-code-not-digits", 5),
        (
            [("T",), ROWS[0], (None, "persons"), *ROWS[1:]],
            2,
            "count-is-mark: --first-row, first_row=",
            3,
        ),
        (
            [("T",), *ROWS, ("Source: an office", None)],
            2,
            "count-is-mark: --last-row, last_row=",
            5,
        ),
        ([("T",), ("code", "n", "n"), ("53394611", 1, 2)], 2, "columns-alike", 2),
    ],
)
def test_rows_that_are_no_part_of_the_table_are_told(rows, header_row, rule, row, form, tmp_path):
    with refuses(InputError, rule) as caught:
        read(written(tmp_path, rows, form), header_row=header_row)
    assert row in (None, caught.value.row)
    assert "53394611" not in str(caught.value)


def test_a_line_that_says_the_delimiter_counts_and_is_applied(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("sep=:\nPopulation, in 2020\ncode:n\n53394611:5\n")
    assert read(path, header_row=3).count.tolist() == [5]
    with refuses(InputError, "line-says-delimiter"):
        read(path, header_row=1)


def test_names_that_lie_too_far_down_are_refused(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x" * (1 << 18) + "\ncode,n\n53394611,5\n")
    with refuses(InputError, "header-too-far"):
        read(path, header_row=2)


def test_formulas_above_the_named_row_are_not_read(tmp_path):
    path = written(tmp_path, [("=1+1",), *ROWS], "xlsx")
    assert read(path, header_row=2).count.tolist() == [5, 6]


def test_points_have_titles_too(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("Pings\nlon,lat\n139.7,35.7\n")
    found = read_points(path, grid="jis:basic", x="lon", y="lat", header_row=2)
    assert found.count.tolist() == [1]


def test_what_has_no_rows_above_its_header_refuses_the_option(tmp_path):
    table = pa.table({"code": ["53394611"], "n": [5]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    for given in (table, tmp_path / "a.parquet"):
        with refuses(UsageError, "rows-need-text"):
            read(given, header_row=1)
    for row in (0, -1):
        with refuses(UsageError, "rows-counted-from-1"):
            read(table, header_row=row)


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
    ("between", "row"),
    [
        ([], 3),
        ([["", "persons"]], 4),
        ([["", "persons"], ["Total", "11"]], 5),
        ([["Code", "Persons"]], 4),
    ],
)
def test_units_and_totals_may_stand_below_a_header(between, row):
    rows = [["Population"], ["Source", "an office"], ["mesh", "n"], *between]
    rows += [["53394611", "5"], ["53394612", "6"]]
    header = 2 if between != [["Code", "Persons"]] else 3
    assert guess_header(rows, 1) == (header, row)
