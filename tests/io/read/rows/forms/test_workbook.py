"""Workbooks: what stands in cells, not what formulas would say."""

import datetime
import warnings
import zipfile

import openpyxl
import pytest

from geodp.errors import InputError
from geodp.io.read.rows.forms import workbook
from geodp.io.read.table import read_table

SECRET = 987654321


def book(path, *sheets):
    made = openpyxl.Workbook()
    made.remove(made.active)
    for number, rows in enumerate(sheets):
        sheet = made.create_sheet(f"sheet {number}")
        for row in rows:
            sheet.append(row)
    made.save(path)
    return path


def read(path, **options):
    return read_table(path, grid="jis:basic", code="mesh", value="n", **options)


def test_codes_and_counts_are_read_as_numbers_or_texts(tmp_path, monkeypatch):
    monkeypatch.setattr(workbook, "BATCH", 2)
    rows = [("mesh", " n ", None), (53394611, 5), ("53394526", 7.0), (53394527, "8"), (), (None,)]
    assert sorted(read(book(tmp_path / "a.xlsx", rows)).count.tolist()) == [5, 7, 8]


def test_one_of_several_sheets_is_chosen(tmp_path):
    path = book(tmp_path / "a.xlsx", [("notes",)], [("mesh", "n"), (53394611, 5)])
    with pytest.raises(InputError, match=r"--layer.*sheet 0, sheet 1"):
        read(path)
    assert read(path, layer="sheet 1").count.tolist() == [5]


@pytest.mark.parametrize(
    ("rows", "rule", "row"),
    [
        ([("mesh", "n"), (53394611, SECRET), (53394612, "=B2+1")], "formula", 3),
        ([("mesh", "n"), (53394611, SECRET), (), (53394612, 1)], "blank", 3),
        ([("mesh", "n"), (53394611, SECRET, 1)], "more columns", 2),
        ([("mesh", "n"), (53394611, SECRET), (53394612, 1.5)], "whole number", 3),
        ([()], "no header", None),
    ],
)
def test_what_is_refused_names_the_row_of_the_sheet(rows, rule, row, tmp_path):
    with pytest.raises(InputError, match=rule) as caught:
        read(book(tmp_path / "a.xlsx", rows))
    assert caught.value.row == row
    assert str(SECRET) not in str(caught.value)


def test_damaged_workbooks_are_refused(tmp_path):
    data = book(tmp_path / "a.xlsx", [("mesh", "n"), (53394611, SECRET)]).read_bytes()
    for end in (len(data) // 2, 100):
        (tmp_path / "a.xlsx").write_bytes(data[:end])
        with pytest.raises(InputError):
            read(tmp_path / "a.xlsx")


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
    monkeypatch.setattr(workbook, "MOST_ROWS", 1000)
    path = book(tmp_path / "a.xlsx", [("mesh", "n"), (53394612, 5), (53394611, SECRET)])
    edit(path, "xl/worksheets/sheet1.xml", lambda data: data.replace(old, new))
    with pytest.raises(InputError, match="cannot be read as a workbook"):
        read(path)


def test_parts_that_unpack_to_more_than_memory_holds_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(workbook, "MOST_SHARED", 10_000)
    path = book(tmp_path / "a.xlsx", [("mesh", "n"), (53394611, 5)])
    edit(path, "xl/styles.xml", lambda data: data + b" " * 10_000)
    with pytest.raises(InputError, match="cannot be read as a workbook"):
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


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ((5, 7), "int64"),
        ((5, 7.0), "int64"),
        ((5, "7"), "string"),
        (("5", "7"), "string"),
    ],
)
def test_a_column_has_the_type_of_all_its_cells(cells, kind, tmp_path):
    rows = zip((53394611, 53394612), cells, strict=True)
    assert types(book(tmp_path / "a.xlsx", [("mesh", "n"), *rows])) == [kind, "int64"]


def test_numbers_are_no_texts_with_marks(tmp_path):
    """A number with three decimals is none with thousands, whatever the marks of texts are."""
    rows = [("mesh", "n"), (53394611, 1.234), (53394612, 2)]
    given = {"decimal": ",", "rounding": "nearest"}
    path = book(tmp_path / "a.xlsx", rows)
    assert read(path, **given).count.tolist() == [1, 2]
    path = book(tmp_path / "a.xlsx", [*rows, (53394613, "-")])
    assert read(path, missing=["-"], rounding="nearest").count.tolist() == [1, 2]
    with pytest.raises(InputError, match="point that separates no thousands"):
        read(path, missing=["-"], **given)


@pytest.mark.parametrize("number", [1234567890123456, 1e15, -(10**15), 9007199254740994])
@pytest.mark.parametrize("column", [0, 1])
def test_numbers_of_more_digits_than_workbooks_keep_are_refused(number, column, tmp_path):
    row = [53394611, 5]
    row[column] = number
    with pytest.raises(InputError, match="of which workbooks keep 15") as caught:
        read(book(tmp_path / "a.xlsx", [("mesh", "n"), row]))
    assert caught.value.row == 2


def test_quadkeys_of_a_workbook(tmp_path):
    given = {"grid": "quadkey:4", "code": "mesh", "value": "n"}
    good = book(tmp_path / "a.xlsx", [("mesh", "n"), ("0213", 5), ("1213", 6)])
    assert sorted(read_table(good, **given).count.tolist()) == [5, 6]
    lost = book(tmp_path / "b.xlsx", [("mesh", "n"), (213, 5), (1213, 6)])
    with pytest.raises(InputError, match="lost the zeros in front"):
        read_table(lost, **given)
    mixed = book(tmp_path / "c.xlsx", [("mesh", "n"), ("0213", 5), (213, 6)])
    with pytest.raises(InputError, match="whether zeros in front were lost"):
        read_table(mixed, **given)


def test_rows_above_the_header_that_are_blank_count(tmp_path):
    rows = [(), (None, None), ("mesh", "n"), (53394611, 5), (53394612, "x")]
    path = book(tmp_path / "a.xlsx", rows[:4])
    assert read(path).count.tolist() == [5]
    with pytest.raises(InputError, match="mark") as caught:
        read(book(tmp_path / "a.xlsx", rows))
    assert caught.value.row == 5


@pytest.mark.parametrize("name", ["a.ods", "a.xls", "a.xlsx", "a.xlsb"])
def test_workbooks_of_other_forms_and_with_passwords_are_told(name, tmp_path):
    path = tmp_path / name
    if name == "a.ods":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
            archive.writestr("content.xml", "<x/>")
    elif name == "a.xlsb":
        book(path, [("mesh", "n"), (53394611, 5)])
    else:
        path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504))
    with pytest.raises(InputError, match="save it as xlsx without a password, or as CSV"):
        read(path)
