"""Marks of cells: places, errors and the rectangle around all cells."""

import pytest

from geodp.io.read.rows.fields import ERRORS
from geodp.io.read.rows.forms.marks import ERROR_CODES, MOST_AREA, Marks, require_near


def test_every_error_is_one_that_texts_may_be():
    assert {*ERROR_CODES.values()} <= {*ERRORS}


def test_the_rectangle_holds_all_cells():
    marks = Marks(10, 8)
    assert (marks.area, marks.end) == (0, 0)
    marks.take(2, 1)
    marks.take(4, 3, 2)
    assert (marks.cells, marks.first, marks.last, marks.area) == (2, (2, 1), (4, 4), 12)
    marks.add_error(6, 0, 42)
    assert (marks.errors, marks.end) == ({6: {0: "#N/A"}}, 7)
    with pytest.raises(KeyError):
        marks.add_error(6, 0, 1)


@pytest.mark.parametrize(("row", "column", "width"), [(10, 0, 1), (0, 8, 1), (0, 7, 2), (0, 3, 0)])
def test_cells_beyond_a_sheet_are_refused(row, column, width):
    with pytest.raises(ValueError, match="beyond the sheet"):
        Marks(10, 8).take(row, column, width)


def test_few_cells_far_from_all_others_are_refused():
    marks = Marks(1 << 20, 1 << 14)
    marks.take(0, 0)
    require_near([marks])
    marks.take(MOST_AREA // 32, 63)
    with pytest.raises(ValueError, match="far from all others"):
        require_near([marks])
