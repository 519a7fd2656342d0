"""Codes of units that are whole numbers, in every spelling that programs give them."""

import numpy as np
import pytest

from geodp.errors import CodeError, UsageError
from geodp.grid.names import plain_numbers
from geodp.grid.units import add_other, grid_of_units
from tests.refusals import refuses

OTHER = "elsewhere"


def grid_of(*codes, other=OTHER):
    """Return the grid of units of these codes, and of others in one more."""
    levels, source = add_other({"unit": np.array(codes)}, "made up", other)
    return grid_of_units(levels, source)


def found(grid, codes, **options):
    """Return the codes of the units that were found; None for those that were left out."""
    index = grid.names.find(codes, **options)
    names = grid.names.format(0, np.maximum(index, 0)).tolist()
    return [None if at < 0 else name for at, name in zip(index[1], names, strict=True)]


@pytest.mark.parametrize("options", [{"other": OTHER}, {"drops": True}])
@pytest.mark.parametrize("codes", [("1", "2", "30", "A1"), ("1.0", "2.0", "30.0", "A1")])
def test_whole_numbers_are_read_alike_in_every_spelling(codes, options):
    grid, rest = grid_of(*codes), OTHER if "other" in options else None
    wanted = [codes[0], codes[2], codes[1], rest]
    for rows in (
        ["1", "30", "2", "9"],
        ["1.0", "30.0", "2.00", "9.0"],
        np.array([1, 30, 2, 9]),
        np.array([1.0, 30.0, 2.0, 9.0], np.float32),
        [1, 30, 2, 9],
    ):
        assert found(grid, rows, **options) == wanted
    assert found(grid, ["A1", "A1.0", "A2"], **options) == ["A1", rest, rest]


@pytest.mark.parametrize("options", [{"other": OTHER}, {"drops": True}])
@pytest.mark.parametrize(
    ("codes", "row", "code"),
    [
        (("013", "14"), "13", "zeros-lost"),
        (("013", "14"), "13.0", "zeros-lost"),
        (("13", "14"), "013", "zeros-lost"),
        (("1", "1.0", "5"), "1.00", "zeros-lost"),
        (("100000", "2"), "1e+05", "unit-code-inexact"),
        (("100000", "2"), "1.5", "unit-code-inexact"),
        (("100000", "2"), "1.", "unit-code-inexact"),
    ],
)
def test_what_may_be_a_unit_is_never_another_place(codes, row, code, options):
    grid = grid_of(*codes)
    with refuses(CodeError, code) as error:
        grid.names.find([codes[1], "9", row], **options)
    assert error.value.position == 2
    with refuses(CodeError, "unit-unknown|zeros-lost"):
        grid.names.find([row])


def test_codes_with_points_and_exponents_stay_codes_where_units_have_such():
    assert found(grid_of("1.5", "1"), ["1.5", "2.5", "1e5"], other=OTHER) == ["1.5", OTHER, OTHER]
    assert found(grid_of("1E5", "234"), ["1E7", "234.0"], other=OTHER) == [OTHER, "234"]
    assert found(grid_of("A", "B"), ["1.0", "1e5", "B"], other=OTHER) == [OTHER, OTHER, "B"]


def test_the_code_0_has_no_zeros_to_lose():
    grid = grid_of("0", "1", "2")
    for rows in (["0", "2", "7"], [0.0, 2.0, 7.0], np.array([0, 2, 7]), ["0.0", "2.0", "7.0"]):
        assert found(grid, np.asarray(rows), other=OTHER) == ["0", "2", OTHER]


@pytest.mark.parametrize("name", ["1.0", "01", "1"])
def test_a_zone_for_others_is_no_other_spelling_of_a_unit(name):
    with refuses(UsageError, "other-unit-name"):
        grid_of("1", "2", other=name)


def test_texts_that_are_no_whole_numbers_stay_as_they_are():
    texts = np.array(["007.00", "7.", ".0", "", "-7", "7.10", "A.0", "00"])
    plain, numbers = plain_numbers(texts)
    assert plain.tolist() == ["7", *texts[1:-1].tolist(), "0"]
    assert numbers.tolist() == [True, *[False] * 6, True]
