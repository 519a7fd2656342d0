"""Workbooks: what stands in cells, not what formulas would say."""

import datetime
import sys
import warnings
import zipfile

import pytest

from geodp.errors import InputError, UsageError
from geodp.io.read.rows.forms import books, workbook
from geodp.io.read.rows.forms.books import OpenXmlBook
from geodp.io.read.rows.input_files import input_files
from geodp.io.read.table import read_table
from tests.io.read.workbooks import FORMS, Amount, Error, Formula, Percent, write
from tests.refusals import refuses

SECRET = 987654321


book = write
every_form = pytest.mark.parametrize("form", FORMS)


def read(path, **options):
    return read_table(path, grid="jis:basic", code="mesh", value="n", **options)


HEAD = [("mesh", "n"), (53394611, SECRET)]
REFUSED = [
    # Rows, the rule, and the row of the sheet that it names.
    ([*HEAD, (53394612, Formula(SECRET))], "workbook-formula", 3),
    ([*HEAD, (53394612, Formula())], "workbook-formula", 3),
    ([*HEAD, (Formula(), Formula())], "workbook-formula", 3),
    ([*HEAD, (53394612, Error())], "count-is-error", 3),
    ([*HEAD, (53394612, Error("#DIV/0!"))], "count-is-error", 3),
    ([*HEAD, (Error("#REF!"), 1)], "code-missing: Column mesh", 3),
    ([*HEAD, (53394612, Percent(1.0))], "count-percentage", 3),
    ([*HEAD, (53394612, Amount(7))], "count-money", 3),
    ([*HEAD, (53394612, True)], "count-is-mark", 3),
    ([*HEAD, (), (53394612, 1)], "count-is-mark", 3),
    ([(), (None, None), *HEAD, (53394612, "x")], "count-is-mark", 5),
    ([HEAD[0], (53394611, SECRET, 1)], "sheet-wider-than-header", 2),
    ([*HEAD, (53394612, 1.5)], "count-fraction", 3),
    ([()], "sheet-empty", None),
    # A column of errors alone, and a last row of one, are none that is not there.
    ([("mesh", "n", "m"), (53394611, 5, Error()), (Error(),) * 3], r"count-is-error: \bn\b", 3),
    *(
        ([("mesh", "n"), row], "workbook-digits-lost", 2)
        for number in (1234567890123456, 1e15, -(10**15), 9007199254740994)
        for row in ((53394611, number), (number, 5))
    ),
]


@every_form
@pytest.mark.parametrize(("rows", "rule", "row"), REFUSED)
def test_what_is_refused_names_the_row_of_the_sheet(form, rows, rule, row, tmp_path):
    with refuses(InputError, rule) as caught:
        read(book(tmp_path / f"a.{form}", rows))
    assert caught.value.row == row
    assert str(SECRET) not in str(caught.value)


@every_form
def test_blank_rows_above_and_errors_beside_what_is_read_do_not_matter(form, tmp_path):
    rows = [(), (None, None), ("mesh", "n", "rate"), (53394611, 5, Error())]
    path = book(tmp_path / f"a.{form}", [*rows, (53394612, 6, Percent(0.5))])
    assert read(path).count.tolist() == [5, 6]


def edit(path, name, change):
    """Write a workbook anew with one of its parts changed."""
    with zipfile.ZipFile(path) as archive:
        parts = {one: archive.read(one) for one in archive.namelist()}
    parts[name] = change(parts[name])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for one, data in parts.items():
            archive.writestr(one, data)
    return path


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"<v>987654321</v>", b"<v>?</v>"),  # no number
        (b't="n"><v>987654321</v>', b't="s"><v>99</v>'),  # no such text
        (b'<row r="3"', b'<row r="99999999999"'),  # rows without end
        (b"</sheetData>", b"<row>" + b" " * 100_000 + b"</sheetData>"),  # cut off later on
    ],
)
def test_sheets_that_break_off_are_refused_and_never_taken_for_shorter_ones(
    old, new, tmp_path, monkeypatch
):
    monkeypatch.setattr(workbook, "MAX_ROWS", 1000)
    path = book(tmp_path / "a.xlsx", [("mesh", "n"), (53394612, 5), (53394611, SECRET)])
    edit(path, "xl/worksheets/sheet1.xml", lambda data: data.replace(old, new))
    with refuses(InputError, "workbook-unreadable"):
        read(path)


def test_parts_that_unpack_to_more_than_memory_holds_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(books, "MAX_SHARED", 10_000)
    path = book(tmp_path / "a.xlsx", [("mesh", "n"), (53394611, 5)])
    edit(path, "xl/styles.xml", lambda data: data + b" " * 10_000)
    with refuses(InputError, "workbook-unreadable"):
        read(path)


def test_no_warning_shows_a_value(tmp_path):
    path = book(tmp_path / "a.xlsx", [("mesh", "n"), (53394611, datetime.date(2020, 1, 1))])
    change = [(b"<v>43831</v>", b"<v>%d</v>" % SECRET), (b't="d"', b"")]
    for old, new in change:
        edit(path, "xl/worksheets/sheet1.xml", lambda data, o=old, n=new: data.replace(o, n))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with pytest.raises(InputError):
            read(path)
    assert not told


def types(path):
    """Return the types of columns that a table's source tells."""
    (source,) = read(path).reading.sources
    return [fact.value for fact in source.facts if fact.field.startswith("type of column")]


@every_form
@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ((5, 7), "int64"),
        ((5, 7.0), "int64"),
        ((5, "7"), "string"),
        (("5", "7"), "string"),
    ],
)
def test_a_column_has_the_type_of_all_its_cells(form, cells, kind, tmp_path):
    rows = zip((53394611, 53394612), cells, strict=True)
    assert types(book(tmp_path / f"a.{form}", [("mesh", "n"), *rows])) == [kind, "int64"]


def test_numbers_are_no_texts_with_marks(tmp_path):
    """A number with three decimals is none with thousands, whatever the marks of texts are."""
    rows = [("mesh", "n"), (53394611, 1.234), (53394612, 2)]
    given = {"decimal": ",", "rounding": "nearest"}
    path = book(tmp_path / "a.xlsx", rows)
    assert read(path, **given).count.tolist() == [1, 2]
    path = book(tmp_path / "a.xlsx", [*rows, (53394613, "-")])
    assert read(path, missing=["-"], rounding="nearest").count.tolist() == [1, 2]
    with refuses(InputError, "count-point-other-mark"):
        read(path, missing=["-"], **given)


MOMENT = datetime.datetime(2024, 5, 31, 9, 30)


@every_form
@pytest.mark.parametrize(
    ("stated", "others", "term"),
    [
        (MOMENT, datetime.datetime(2024, 6, 1, 9, 30), "2024-05-31T09:30"),
        (datetime.date(2024, 5, 31), datetime.date(2024, 6, 1), "2024-05-31"),
        (datetime.time(9, 30), datetime.time(10, 0), "09:30:00"),
        (datetime.timedelta(hours=30), datetime.timedelta(hours=40), "1 day, 6:00:00"),
        (True, False, "true"),
        ("a", "b", "a"),
        (1, 2, "01"),
    ],
)
def test_rows_are_selected_by_what_a_cell_means(form, stated, others, term, tmp_path):
    rows = [("mesh", "n", "t"), (53394611, 5, stated), (53394612, 7, others)]
    found = read(book(tmp_path / f"a.{form}", rows), where={"t": term})
    assert found.count.tolist() == [5]


@every_form
def test_errors_are_named_as_missing_as_they_are_shown(form, tmp_path):
    rows = [("mesh", "n"), (53394611, 5), (53394612, Error()), (53394613, Error("#DIV/0!"))]
    path = book(tmp_path / f"a.{form}", rows)
    assert read(path, missing=["#N/A", "#DIV/0!"]).count.tolist() == [5]
    with refuses(InputError, "count-is-error") as caught:
        read(path, missing=["#N/A"])
    assert caught.value.row == 4


@every_form
def test_errors_as_coordinates_are_told_as_such(form, tmp_path):
    path = book(tmp_path / f"a.{form}", [("x", "y", "n"), (139.75, Error(), 5)])
    with refuses(InputError, "coordinate-is-error") as caught:
        read_table(path, grid="jis:basic", x="x", y="y", value="n")
    assert caught.value.row == 2


@every_form
def test_a_sheet_is_called_as_it_is_and_hidden_ones_are_sheets(form, tmp_path):
    rows = [("mesh", "n"), (53394611, 5)]
    path = book(tmp_path / f"a.{form}", rows, rows, names=["人口 & <1>", "old"], hidden=["old"])
    with refuses(InputError, "sheet-missing: 人口 & <1>, old"):
        read(path)
    assert read(path, layer="人口 & <1>").count.tolist() == [5]


def test_the_form_is_that_of_the_first_bytes_whatever_the_name(tmp_path):
    path = book(tmp_path / "a.ods", [("mesh", "n"), (53394611, 5)])
    assert read(path.rename(tmp_path / "a.xlsx")).count.tolist() == [5]
    text = tmp_path / "a.odt"
    with zipfile.ZipFile(text, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", "<x/>")
    with refuses(InputError, "document-without-sheet"):
        read(text)


@pytest.mark.parametrize("name", ["a.xls", "a.xlsb", "a.xlsx", "a.zip"])
def test_binary_workbooks_are_to_be_saved_as_others(name, tmp_path):
    path, binary = tmp_path / name, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(4096)
    path.write_bytes(binary)
    if name == "a.xlsb":
        book(tmp_path / "b.xlsx", [("mesh", "n"), (53394611, 5)]).rename(path)
    elif name == "a.zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("tables/a.xls", binary)
    with refuses(InputError, "workbook-binary: save it as xlsx or ods"):
        read(path)


def test_rows_say_which_hold_a_formula(tmp_path):
    rows = [("mesh", "n"), (53394611, Formula()), (), (Error(), Percent(0.5))]
    (file,) = input_files(write(tmp_path / "a.xlsx", rows))
    book = OpenXmlBook(file)
    assert book.sheets == ("sheet 0",)
    found = [*book.rows("sheet 0")]
    book.close()
    assert [computed for _, computed in found] == [False, True, False, False]
    assert (found[0][0], found[3][0]) == (["mesh", "n"], ["#N/A", "50%"])


def test_the_extra_that_is_missing_is_named(tmp_path, monkeypatch):
    (file,) = input_files(write(tmp_path / "a.xlsx", [("mesh", "n")]))
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with refuses(UsageError, r"library-missing: geodp\[xlsx\]"):
        OpenXmlBook(file)
