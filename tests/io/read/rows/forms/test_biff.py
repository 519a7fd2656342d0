"""Records of old workbooks: which cells hold what their values do not tell."""

import struct

import pytest

from geodp.io.read.rows.forms.biff import WorkbookStream
from tests.io.read.workbooks import Error, Formula, Percent, begin, biff, record

SHEET = {"a": [("n", 1), (Error("#REF!"), Formula(3)), (None, Percent(0.5)), (Error(), Error())]}


def test_formulas_errors_and_signs_are_told():
    records = WorkbookStream.of(biff(SHEET)).cell_records()[0]
    assert records.formulas == {1}
    assert records.errors == {1: {0: "#REF!"}, 3: {0: "#N/A", 1: "#N/A"}}
    assert records.signs == {2: {1: "%"}}
    assert records.end == 4


@pytest.mark.parametrize(
    ("shown", "sign"),
    [("0.0%", "%"), ("0,0%", "%"), ("─0", None), ("#,##0", None), ('"¥"#,##0', " ¥")],
)
def test_formats_of_ones_own_show_signs(shown, sign):
    text = shown.encode("utf-16-le")
    own = record(0x41E, struct.pack("<HHB", 170, len(shown), 1) + text)
    own += record(0xE0, struct.pack("<HH16x", 0, 170))
    assert WorkbookStream.of(biff(SHEET, extra=own)).signs.get(0) == sign


@pytest.mark.parametrize(
    ("number", "sign"), [(9, "%"), (10, "%"), (5, " ¤"), (44, " ¤"), (41, None), (3, None)]
)
def test_formats_that_are_built_in_show_signs(number, sign):
    style = record(0xE0, struct.pack("<HH16x", 0, number))
    assert WorkbookStream.of(biff(SHEET, extra=style)).signs.get(0) == sign


def test_rows_of_numbers_side_by_side_have_styles_of_their_own():
    many = struct.pack("<HHHLHLH", 0, 3, 0, 6, 1, 6, 4)  # columns 3 and 4, the second of style 1
    stream = biff({"a": []})[:-4] + record(0xBD, many) + record(10)
    assert WorkbookStream.of(stream).cell_records()[0].signs == {0: {4: "%"}}


def test_cells_of_a_chart_are_none_of_the_sheet():
    error = record(0x205, struct.pack("<HHHBB", 7, 7, 0, 42, 1))
    stream = biff({"a": []})[:-4] + begin(32) + error + record(10)
    assert WorkbookStream.of(stream + record(10)).cell_records()[0].errors == {}
    assert WorkbookStream.of(stream + error + record(10)).cell_records()[0].errors == {
        7: {7: "#N/A"}
    }


FAR = record(0x203, struct.pack("<HHHd", 65535, 255, 0, 1))


def test_a_sheet_may_be_as_large_as_there_is():
    whole = record(0x200, struct.pack("<LLHHH", 0, 65536, 0, 256, 0))
    (records,) = WorkbookStream.of(biff({"a": [("n",)]}, inside=whole + FAR)).cell_records()
    assert (records.cells, records.area) == (2, 1 << 24)


@pytest.mark.parametrize(
    "stream",
    [
        biff(SHEET, extra=record(0x2F, bytes(6))),  # a password
        begin(5, 0x0400) + record(10),  # an older version
        record(0x85, bytes(8)),
        biff(SHEET)[:-2],
        b"",
        biff({"a": []})[:-4] + begin(32) + record(10),
        biff({"a": []}, inside=record(0x200, struct.pack("<LLHHH", 0, 1 << 30, 0, 2, 0))),
        biff({"a": []}, inside=record(0x200, struct.pack("<LLHHH", 5, 2, 0, 2, 0))),
        biff({"a": []}, inside=record(0x200, struct.pack("<HHHHH", 0, 2, 0, 1 << 9, 0))),
        biff({"a": []}, inside=record(0xE5, struct.pack("<H8x", 2))),
        biff({"a": []}, inside=record(0x203, struct.pack("<HHHd", 0, 256, 0, 1))),
        biff({f"{n}": [("n",)] for n in range(2)}, inside=FAR),
    ],
)
def test_what_is_not_surely_read_is_refused(stream):
    with pytest.raises((ValueError, struct.error)):
        WorkbookStream.of(stream).cell_records()[0]
