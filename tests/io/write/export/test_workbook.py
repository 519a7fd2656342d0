"""Workbooks: codes are texts, counts numbers, and the same rows the same bytes."""

from dataclasses import replace

import openpyxl
import pytest

from geodp.io.write.export import workbook
from geodp.io.write.export.workbook import Xlsx
from geodp.table.card import StatedMetadata
from tests.io.write.export.test_exports import view_of
from tests.release.test_frames import GRIDS, release


def rows_of(path):
    book = openpyxl.load_workbook(path)
    return [list(row) for page in book for row in page.iter_rows()]


@pytest.mark.parametrize("name", ["mesh", "attribute", "pairs"])
def test_codes_are_texts_and_counts_are_numbers(name, tmp_path):
    view = view_of(GRIDS[name])
    Xlsx().write(view, tmp_path / "x.xlsx")
    header, *rows = rows_of(tmp_path / "x.xlsx")
    frame = release(GRIDS[name]).to_pandas("residents")
    assert [cell.value for cell in header] == list(frame.columns)
    for row, expected in zip(rows, frame.itertuples(index=False), strict=True):
        assert [cell.value for cell in row] == list(expected)
        kinds = [("s", "@") if isinstance(value, str) else ("n", "General") for value in expected]
        assert [(cell.data_type, cell.number_format) for cell in row] == kinds


def test_a_label_that_looks_like_a_number_stays_a_text(tmp_path):
    grid = GRIDS["mesh"].with_attribute("kind", ("1e5", "0042"))
    Xlsx().write(view_of(grid), tmp_path / "x.xlsx")
    _, *rows = rows_of(tmp_path / "x.xlsx")
    assert {(row[1].value, row[1].data_type) for row in rows} == {("1e5", "s"), ("0042", "s")}


def test_more_rows_than_a_sheet_has_go_on_in_another(tmp_path, monkeypatch):
    monkeypatch.setattr(workbook, "MAX_ROWS", 20)
    view = view_of(GRIDS["mesh"])
    Xlsx().write(view, tmp_path / "x.xlsx")
    book = openpyxl.load_workbook(tmp_path / "x.xlsx")
    assert book.sheetnames[:2] == ["residents", "2"]
    assert all(page["A1"].value == "code" for page in book)
    assert sum(page.max_row - 1 for page in book) == view.table.key.size


def test_small_counts_and_headers_are_as_in_csv_for_spreadsheets(tmp_path):
    view = view_of(GRIDS["mesh"])
    said = StatedMetadata(display_below=1000, language="ja")
    Xlsx().write(replace(view, card=replace(view.card, metadata=said)), tmp_path / "x.xlsx")
    header, *rows = rows_of(tmp_path / "x.xlsx")
    assert header[0].value == "メッシュコード"
    assert {row[1].value for row in rows} == {"<1,000"}
    assert {row[3].value for row in rows} == {None}
