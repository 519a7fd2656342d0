"""Records of binary workbooks since 2007: what their values do not tell, and what is refused."""

import io
import struct
import zipfile

import pytest

from geodp.io.read.rows.forms.biff12 import read_cell_records
from geodp.io.read.rows.forms.cells import BROKEN
from tests.io.read.workbooks import (
    Amount,
    Error,
    Formula,
    Percent,
    cell12,
    record12,
    row12,
    wide,
    xlsb,
)

SHEET = {"a": [("n", 1), (Error("#REF!"), Formula(3)), (None, Percent(0.5), Amount(7.0)), (True,)]}


def records_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return read_cell_records(archive)


def test_formulas_errors_and_signs_are_told():
    (records,) = records_of(xlsb(SHEET))
    assert records.formulas == {1}
    assert records.errors == {1: {0: "#REF!"}}
    assert records.signs == {2: {1: "%", 2: " ¥"}}
    assert (records.cells, records.first, records.last) == (7, (0, 0), (3, 2))


def test_sheets_are_in_the_order_of_the_workbook():
    first, second = records_of(xlsb({"a": [(Formula(),)], "b": [(), (1, Error())]}))
    assert (first.formulas, second.formulas, second.errors) == ({0}, set(), {1: {1: "#N/A"}})


@pytest.mark.parametrize("number", [9, 10, 5, 44])
def test_formats_that_are_built_in_show_signs(number):
    style = record12(617) + record12(47, struct.pack("<HH", 0, number)) + record12(618)
    cells = xlsb({"a": [(1.5,)]}, parts={"xl/styles.bin": style})
    (records,) = records_of(cells)
    assert records.signs == {0: {0: "%" if number in (9, 10) else " ¤"}}


def test_styles_of_styles_are_none_of_cells():
    other = record12(626) + record12(47, struct.pack("<HH", 0, 9)) + record12(627)
    (records,) = records_of(xlsb({"a": [(1.5,)]}, parts={"xl/styles.bin": other}))
    assert records.signs == {}


def test_styles_behind_those_of_cells_are_none_of_them():
    styles = record12(617) + record12(47, bytes(4)) + record12(618)
    styles += record12(626) + record12(47, struct.pack("<HH", 0, 9)) + record12(627)
    (records,) = records_of(xlsb({"a": [(None, Percent(0.5))]}, parts={"xl/styles.bin": styles}))
    assert records.signs == {}


NUMBER = struct.pack("<d", 1)
WHOLE = {
    1: b"",
    2: b"\x06\0\0\0",
    3: b"\x07",
    4: b"\x01",
    5: NUMBER,
    6: wide(""),
    7: struct.pack("<L", 0),
    8: wide(""),
    9: NUMBER,
    10: b"\x01",
    11: b"\x07",
}
"""What records of cells have at least, behind the column and the style."""


@pytest.mark.parametrize("kind", WHOLE)
def test_a_cell_has_what_its_kind_has_at_least(kind):
    sheets = {"a": [("ab",)]}
    (records,) = records_of(xlsb(sheets, inside=cell12(kind, 5, WHOLE[kind])))
    assert records.formulas == ({0} if kind > 7 else set())
    assert records.errors == ({0: {5: "#DIV/0!"}} if kind == 3 else {})
    assert records.cells == 1 + (kind > 1)
    data = (struct.pack("<LL", 5, 0) + WHOLE[kind])[:-1]
    with pytest.raises(BROKEN):
        records_of(xlsb(sheets, inside=record12(kind, data)))


@pytest.mark.parametrize("inside", [record12(13), record12(62), cell12(5, 0, b"")])
def test_records_outside_of_the_cells_are_none(inside):
    sheet = record12(129) + inside + record12(145) + row12(0) + cell12(5, 0, NUMBER)
    sheet += record12(146) + inside
    (records,) = records_of(xlsb({"a": []}, parts={"xl/worksheets/sheet1.bin": sheet}))
    assert records.cells == 1


@pytest.mark.parametrize(
    "inside",
    [
        *(record12(kind, bytes(16)) for kind in (*range(12, 19), 62)),  # of another form
        cell12(5, 5, b""),  # shorter than a number
        cell12(2, 5, b"\0\0"),
        cell12(3, 5, b"\x01"),  # no such error
        cell12(7, 5, struct.pack("<L", 99)),  # no such text
        cell12(5, 0, NUMBER) * 2,  # twice
        row12(0),  # a row again
        row12(1 << 20) + cell12(5, 0, NUMBER),
        row12(9) + cell12(5, 1 << 14, NUMBER),
        row12((1 << 20) - 1) + cell12(5, (1 << 14) - 1, NUMBER),  # far from all others
        record12(148, struct.pack("<LLLL", 0, 1 << 30, 0, 1)),
        record12(148, struct.pack("<LLLL", 2, 1, 0, 1)),
        record12(148, bytes(3)),
        b"\x05\xff",
        b"\x05\x7f",
    ],
)
def test_what_is_not_surely_read_is_refused(inside):
    assert records_of(xlsb(SHEET))
    with pytest.raises(BROKEN):
        records_of(xlsb(SHEET, inside=inside))


@pytest.mark.parametrize(
    "parts",
    [
        {"xl/_rels/workbook.bin.rels": "<Relationships/>"},
        {"xl/_rels/workbook.bin.rels": "<"},
        {"XL/workbook.bin": b""},  # there twice
        {"xl/workbook.bin": record12(156, bytes(8) + wide("rId9") + wide("a"))},
        {"xl/workbook.bin": record12(156, bytes(8) + struct.pack("<L", 1 << 30))},
        {"xl/workbook.bin": record12(156, bytes(8) + wide("rId1")[:-1])},
        {"xl/worksheets/sheet1.bin": record12(145) + cell12(5, 0, NUMBER)},  # of no row
        {"xl/styles.bin": record12(44, b"\0\0" + struct.pack("<L", 50))},
    ],
)
def test_parts_that_are_not_there_or_say_something_else_are_refused(parts):
    with pytest.raises(BROKEN):
        records_of(xlsb(SHEET, parts=parts))


def test_parts_that_unpack_to_more_than_memory_holds_are_refused(monkeypatch):
    monkeypatch.setattr("geodp.io.read.rows.forms.biff12.MAX_BYTES", 100)
    with pytest.raises(ValueError, match="more than memory holds"):
        records_of(xlsb(SHEET))


def test_charts_have_no_cells():
    links = (
        '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        '<Relationship Id="rId1" Type="t" Target="chartsheets/sheet1.bin"/></Relationships>'
    )
    (records,) = records_of(xlsb(SHEET, parts={"xl/_rels/workbook.bin.rels": links}))
    assert records.cells == 0
