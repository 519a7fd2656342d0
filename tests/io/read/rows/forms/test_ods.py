"""Spreadsheets of OpenDocument: every type of cell, what is repeated, and what is none."""

import zipfile

import pytest

from geodp.errors import InputError
from geodp.io.read.rows.forms import books
from geodp.io.read.rows.forms.books import OpenDocumentBook
from geodp.io.read.rows.input_files import input_files
from geodp.io.read.table import read_table
from tests.io.read.workbooks import ods_cell, write_ods
from tests.refusals import refuses


def rows_of(path):
    (file,) = input_files(path)
    book = OpenDocumentBook(file)
    found = [*book.rows(book.sheets[0])]
    book.close()
    return found


def table(*rows, name="a"):
    return f'<table:table table:name="{name}">{"".join(rows)}</table:table>'


def row(*cells, repeated=1):
    said = f'table:number-rows-repeated="{repeated}"'
    return f"<table:table-row {said}>{''.join(cells)}</table:table-row>"


def cell(said="", inside="", kind="table-cell"):
    return f"<table:{kind} {said}>{inside}</table:{kind}>"


TEXT = 'office:value-type="string"'


@pytest.mark.parametrize(
    ("xml", "value"),
    [
        (cell(), []),
        (cell(inside="<text:p>7</text:p>"), ["7"]),
        (cell('office:value-type="float" office:value="7"', "<text:p>7,0</text:p>"), [7]),
        (cell('office:value-type="float" office:value="5.3394611E7"'), [53394611]),
        (cell('office:value-type="float" office:value="7.5"'), [7.5]),
        (cell('office:value-type="percentage" office:value="0.07"'), ["7%"]),
        (cell('office:value-type="currency" office:value="7" office:currency="EUR"'), ["7 EUR"]),
        (cell('office:value-type="currency" office:value="7"'), ["7 ¤"]),
        (cell('office:value-type="date" office:date-value="2024-05-31"'), ["2024-05-31T00:00:00"]),
        (
            cell('office:value-type="date" office:date-value="2024-05-31T09:30:00.5"'),
            ["2024-05-31T09:30:00.500000"],
        ),
        (cell('office:value-type="date" office:date-value="-0044-03-15"'), ["-0044-03-15"]),
        (cell('office:value-type="time" office:time-value="PT09H30M00S"'), ["09:30:00"]),
        (cell('office:value-type="time" office:time-value="PT30H00M00S"'), ["1 day, 6:00:00"]),
        (cell('office:value-type="time" office:time-value="P1D"'), ["P1D"]),
        (cell('office:value-type="boolean" office:boolean-value="true"'), ["True"]),
        (cell(TEXT, "<text:p>a</text:p><text:p>b</text:p>"), ["a\nb"]),
        (cell(TEXT, "<text:p> a  \n b</text:p>"), ["a b"]),
        (cell(TEXT, '<text:p>a<text:s text:c="2"/>b<text:tab/>c</text:p>'), ["a  b\tc"]),
        (cell(TEXT, "<text:p><text:span>a</text:span>b</text:p>"), ["ab"]),
        (
            cell(
                TEXT, "<office:annotation><text:p>no</text:p></office:annotation><text:p>a</text:p>"
            ),
            ["a"],
        ),
        (
            cell(
                TEXT,
                "<text:p><text:ruby><text:ruby-base>東京</text:ruby-base>"
                "<text:ruby-text>とうきょう</text:ruby-text></text:ruby></text:p>",
            ),
            ["東京"],
        ),
        (cell(f'{TEXT} office:string-value="b"', "<text:p>a</text:p>"), ["b"]),
        (cell('office:value-type="float" office:value="7"', kind="covered-table-cell"), [7]),
        (
            cell(
                'office:value-type="float" office:value="0" calcext:value-type="error"',
                "<text:p>#DIV/0!</text:p>",
            ),
            ["#DIV/0!"],
        ),
        (cell(f'{TEXT} office:string-value="" calcext:value-type="error"'), ["#N/A"]),
    ],
)
def test_a_cell_is_read_by_its_type(xml, value, tmp_path):
    (found,) = rows_of(write_ods(tmp_path / "a.ods", table(row(xml, cell()), row(ods_cell(1)))))[:1]
    assert found == (value, False)


def test_rows_and_columns_come_as_often_as_they_are_repeated(tmp_path):
    two = cell('office:value-type="float" office:value="2" table:number-columns-repeated="2"')
    blank = cell('table:number-columns-repeated="3"')
    found = rows_of(
        write_ods(
            tmp_path / "a.ods",
            table(
                row(blank, repeated=2),
                row(blank, two, blank),
                f"<table:table-header-rows>{row(two, repeated=2)}</table:table-header-rows>",
                f"<table:table-row-group>{row(blank, repeated=1_000_000)}</table:table-row-group>",
            ),
        )
    )
    assert [cells for cells, _ in found] == [[], [], [None] * 3 + [2, 2], [2, 2], [2, 2]]


def test_a_row_that_is_repeated_counts_as_often(tmp_path):
    codes = row(ods_cell("mesh"), ods_cell("n")), row(ods_cell(53394611), ods_cell(5), repeated=2)
    path = write_ods(tmp_path / "a.ods", table(*codes))
    with refuses(InputError, "cell-repeated-in-rows") as caught:
        read_table(path, grid="jis:basic", code="mesh", value="n")
    assert caught.value.row == 3


def test_formulas_are_told_where_they_gave_nothing_too(tmp_path):
    computed = (
        cell('table:formula="of:=A1"'),
        cell('table:formula="of:=A1" office:value-type="float" office:value="0"'),
    )
    found = rows_of(write_ods(tmp_path / "a.ods", table(row(ods_cell(1)), *map(row, computed))))
    assert [said for _, said in found] == [False, True, True]


@pytest.mark.parametrize(
    "xml",
    [
        cell('office:value-type="float"'),
        cell('office:value-type="float" office:value="1_0"'),
        cell('office:value-type="float" office:value="nan"'),
        cell('office:value-type="boolean" office:boolean-value="2"'),
        cell('office:value-type="odd" office:value="1"'),
        cell('table:number-columns-repeated="0"', "<text:p>a</text:p>"),
        cell('table:number-columns-repeated="x"', "<text:p>a</text:p>"),
        cell('table:number-columns-repeated="99999"', "<text:p>a</text:p>"),
        cell(TEXT, "<text:list/>"),
        cell(TEXT, '<text:p><text:s text:c="9999999999"/></text:p>'),
        cell(TEXT, table(row(ods_cell(1)), name="inner")),
        "<text:p>a</text:p>",
        cell(TEXT, "<text:p>&unknown;</text:p>"),
        "</table:table-row>",
    ],
)
def test_what_is_no_cell_is_refused_and_never_left_out(xml, tmp_path):
    path = write_ods(tmp_path / "a.ods", table(row(ods_cell("n")), row(xml)))
    with refuses(InputError, "workbook-unreadable"):
        rows_of(path)


def test_the_checksum_is_asked_though_a_sheet_ends_before(tmp_path):
    path = write_ods(
        tmp_path / "a.ods",
        table(row(ods_cell("mesh")), row(ods_cell(1))) + table(row(ods_cell("other")), name="b"),
        zipfile.ZIP_STORED,
    )
    data = path.read_bytes()
    path.write_bytes(data.replace(b"other", b"othes"))
    with refuses(InputError, "workbook-unreadable"):
        rows_of(path)


def test_a_workbook_with_a_password_or_two_sheets_of_a_name_is_refused(tmp_path):
    path = write_ods(tmp_path / "a.ods", table(row(ods_cell(1))) * 2)
    with refuses(InputError, "workbook-unreadable"):
        rows_of(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", bytes(range(256)))
    with refuses(InputError, "workbook-unreadable"):
        rows_of(path)


def test_blank_rows_at_the_end_are_not_made(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(books, "_read_row", lambda one, _: made.append(one) or ([], False))
    assert rows_of(write_ods(tmp_path / "a.ods", table(row(repeated=1_048_576)))) == []
    assert len(made) == 1
