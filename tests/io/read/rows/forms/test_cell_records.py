"""Marks of cells: places, errors and the rectangle around all cells."""

import pytest

from geodp.grid.markers import FORMULA_ERRORS
from geodp.io.read.rows.forms.cell_records import ERROR_CODES, MAX_AREA, CellRecords, require_near


def test_every_error_is_one_that_texts_may_be():
    assert {*ERROR_CODES.values()} <= {*FORMULA_ERRORS}


def test_the_rectangle_holds_all_cells():
    records = CellRecords(10, 8)
    assert (records.area, records.end) == (0, 0)
    records.take(2, 1)
    records.take(4, 3, 2)
    assert (records.cells, records.first, records.last, records.area) == (2, (2, 1), (4, 4), 12)
    records.add_error(6, 0, 42)
    assert (records.errors, records.end) == ({6: {0: "#N/A"}}, 7)
    with pytest.raises(KeyError):
        records.add_error(6, 0, 1)


@pytest.mark.parametrize(("row", "column", "width"), [(10, 0, 1), (0, 8, 1), (0, 7, 2), (0, 3, 0)])
def test_cells_beyond_a_sheet_are_refused(row, column, width):
    with pytest.raises(ValueError, match="beyond the sheet"):
        CellRecords(10, 8).take(row, column, width)


def test_few_cells_far_from_all_others_are_refused():
    records = CellRecords(1 << 20, 1 << 14)
    records.take(0, 0)
    require_near([records])
    records.take(MAX_AREA // 32, 63)
    with pytest.raises(ValueError, match="far from all others"):
        require_near([records])
