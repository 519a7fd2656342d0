"""Workbooks: what stands in cells, not what formulas would say."""

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
