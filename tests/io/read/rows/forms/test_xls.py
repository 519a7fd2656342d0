"""Binary workbooks of Excel: values, dates of both systems, and what is refused."""

import datetime
import io
import random
import struct
import sys
import zipfile

import pytest

from geodp.errors import InputError, UsageError
from geodp.io.read.rows.forms.xls import BinaryBook
from geodp.io.read.rows.input_files import input_files
from tests.io.read.workbooks import (
    Amount,
    Error,
    Formula,
    begin,
    biff,
    cell12,
    compound,
    record,
    write,
    xlsb,
)
from tests.refusals import refuses

MOMENT = datetime.datetime(2024, 5, 31, 9, 30)


def book_of(path, data=None):
    if data is not None:
        path.write_bytes(data)
    (file,) = input_files(path)
    return BinaryBook(file)


def binary(form, sheets, **more):
    return compound(biff(sheets, **more)) if form == "xls" else xlsb(sheets, **more)


every_form = pytest.mark.parametrize("form", ["xls", "xlsb"])


@every_form
@pytest.mark.parametrize("epoch", [1900, 1904])
def test_dates_are_those_of_the_system_that_the_workbook_says(form, epoch, tmp_path):
    rows = {"a": [(MOMENT, MOMENT.date(), datetime.time(9, 30), datetime.timedelta(hours=30))]}
    book = book_of(tmp_path / f"a.{form}", binary(form, rows, epoch=epoch))
    (row,) = book.rows("a")
    moments = ["2024-05-31T09:30:00", "2024-05-31T00:00:00", "09:30:00", "1 day, 6:00:00"]
    assert row == (moments, False)


@every_form
def test_columns_and_rows_before_the_first_cell_count(form, tmp_path):
    rows = {"a": [(), (None, None, "n"), (None, Formula(), Error("#NUM!"))], "b": []}
    book = book_of(tmp_path / f"a.{form}", binary(form, rows))
    none = [None] * 3
    assert [*book.rows("a")] == [
        (none, False),
        ([None, None, "n"], False),
        ([None, 0, "#NUM!"], True),
    ]
    assert [*book.rows("b")] == []


def test_cells_of_a_chart_are_none_of_the_sheet(tmp_path):
    number = record(0x203, struct.pack("<HHHd", 1, 0, 0, 987))
    stream = biff({"a": [("n",), (5,)]}, inside=begin(32) + number + record(10))
    book = book_of(tmp_path / "a.xls", compound(stream))
    assert [*book.rows("a")] == [(["n"], False), ([5], False)]


@every_form
def test_the_extra_that_is_missing_is_named(form, tmp_path, monkeypatch):
    path = write(tmp_path / f"a.{form}", [("mesh", "n")])
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with refuses(UsageError, r"library-missing: geodp\[xls\]"):
        book_of(path)


@pytest.mark.parametrize(
    "data",
    [
        compound(biff({"a": [("n",)]}, extra=record(0x2F, bytes(6)))),  # passwords
        compound(bytes(9000), "EncryptedPackage"),
        compound(bytes(9000), "WordDocument"),
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504),
    ],
)
def test_passwords_and_documents_are_refused(data, tmp_path):
    with refuses(InputError, "workbook-unreadable"):
        book_of(tmp_path / "a.xls", data)


@pytest.mark.parametrize("days", [1e300, -1e300])
def test_a_workbook_at_which_the_library_gives_up_is_refused(days, tmp_path):
    span = record(0x203, struct.pack("<HHHd", 1, 0, 4, days))  # of the style of spans of time
    book = book_of(tmp_path / "a.xls", compound(biff({"a": [("n",)]}, inside=span)))
    with refuses(InputError, "workbook-unreadable") as caught:
        [*book.rows("a")]
    assert caught.value.__context__ is None


def test_a_damaged_workbook_is_read_or_refused_and_nothing_else(tmp_path, capfd):
    """No other error, no word of the library, and no cell that is not of the file's bytes."""
    whole = compound(biff({"a": [("mesh", "n"), *((53394611, 5),) * 50]}))
    chance = random.Random(0)
    refused = 0
    for _ in range(200):
        data = bytearray(whole)
        for _ in range(chance.choice((1, 3, 30))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            book = book_of(tmp_path / "a.xls", bytes(data))
            for sheet in book.sheets:
                assert all(isinstance(computed, bool) for _, computed in book.rows(sheet))
        except InputError:
            refused += 1
    assert refused > 20
    assert capfd.readouterr() == ("", "")


def test_a_damaged_workbook_of_parts_is_read_or_refused_and_nothing_else(tmp_path, capfd):
    """What no checksum tells: parts that were damaged before they were packed."""
    whole = xlsb({"a": [("mesh", "n"), *((53394611, 5.5, Amount(3), "ab", MOMENT),) * 50]})
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    chance = random.Random(0)
    refused = 0
    for _ in range(300):
        name = chance.choice([name for name in parts if name.endswith(".bin")])
        data = bytearray(parts[name])
        for _ in range(chance.choice((1, 3, 30))):
            data[chance.randrange(len(data))] = chance.randrange(256)
        if chance.random() < 0.2:
            del data[chance.randrange(len(data)) :]
        try:
            book = book_of(tmp_path / "a.xlsb", xlsb({"a": []}, parts={**parts, name: bytes(data)}))
            for sheet in book.sheets:
                assert all(isinstance(computed, bool) for _, computed in book.rows(sheet))
        except InputError:
            refused += 1
    assert refused > 20
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("days", [1e10, -5.0, 1e300])
def test_moments_beyond_those_of_the_library_are_read_or_refused(days, tmp_path):
    inside = cell12(5, 5, struct.pack("<d", days), "moment")
    book = book_of(tmp_path / "a.xlsb", xlsb({"a": [("n",)]}, inside=inside))
    try:
        ((cells, _),) = book.rows("a")
    except InputError:
        return
    assert len(cells) == 6
