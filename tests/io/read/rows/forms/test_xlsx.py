"""Workbooks of Office Open XML: rows with their formulas, and the extra that reads them."""

import sys

from geodp.errors import UsageError
from geodp.io.read.rows.forms.books import OpenXmlBook
from geodp.io.read.rows.input_files import input_files
from tests.io.read.workbooks import Error, Formula, Percent, write
from tests.refusals import refuses


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
