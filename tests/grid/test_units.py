"""Units as a domain: their order, their codes, and tables that are no tree."""

import numpy as np
import pytest

import geodp
from geodp.errors import CodeError, UsageError
from geodp.grid.units import grid_of_units, has_units, index_of_units

UNITS = {
    "block": ["0012", "0111", "0011", "0021"],
    "tract": ["001", "011", "001", "002"],
    "county": ["00", "01", "00", "00"],
}


def test_cells_are_units_in_the_order_of_their_codes_whatever_the_order_of_rows() -> None:
    grid = grid_of_units(UNITS, "a test")
    turned = grid_of_units({name: codes[::-1] for name, codes in UNITS.items()}, "a test")
    assert grid == turned
    assert grid.hierarchy is not None
    assert grid.hierarchy.levels == ("county", "tract", "block")
    expected = np.argsort(np.argsort(UNITS["block"]))
    assert (index_of_units(grid, UNITS["block"])[1] == expected).all()
    assert (np.diff(grid.encode(index_of_units(grid, sorted(UNITS["block"])))) > 0).all()


def test_codes_of_units_are_part_of_the_grid_s_identity() -> None:
    other = {**UNITS, "block": ["0013", *UNITS["block"][1:]]}
    assert grid_of_units(UNITS, "a test") != grid_of_units(other, "a test")


def test_only_grids_of_units_have_units() -> None:
    assert has_units(grid_of_units(UNITS, "a test"))
    plain = geodp.Grid.regular((1, 4))
    assert not has_units(plain)
    with pytest.raises(UsageError, match="no units"):
        index_of_units(plain, ["0011"])


@pytest.mark.parametrize(
    ("changed", "position", "rule"),
    [
        ({"block": ["0012", "0111", "0012", "0021"]}, 2, "already"),
        ({"county": ["00", "01", "01", "00"]}, 2, "two units"),
        ({"tract": ["001", "011", "001", ""]}, 3, "no region"),
    ],
)
def test_a_table_that_is_no_tree_is_refused_at_its_row(changed, position, rule) -> None:
    with pytest.raises(CodeError, match=rule) as refused:
        grid_of_units(UNITS | changed, "a test")
    assert refused.value.position == position


@pytest.mark.parametrize(
    "units", [{}, {"block": []}, {"block": ["1", "2"], "tract": ["1"]}, {"cell": ["1"]}]
)
def test_no_unit_no_level_or_uneven_levels_are_refused(units) -> None:
    with pytest.raises(UsageError):
        grid_of_units(units, "a test")


def test_a_code_that_is_no_unit_is_refused_without_its_value() -> None:
    grid = grid_of_units(UNITS, "a test")
    with pytest.raises(CodeError, match="no unit") as refused:
        index_of_units(grid, ["0011", "98765"])
    assert refused.value.position == 1
    assert "98765" not in str(refused.value)


def test_one_unit_is_a_domain() -> None:
    assert grid_of_units({"block": ["1"], "tract": ["1"]}, "a test").size == 1
