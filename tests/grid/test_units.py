"""Units as a domain: their order, their codes, and tables that are no tree."""

import numpy as np
import pandas as pd
import pytest

import geodp
from geodp.errors import CodeError, UsageError
from geodp.grid.units import (
    grid_of_units,
)
from geodp.io.verify.verify import verify
from tests.refusals import refuses

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
    assert (grid.names.find(UNITS["block"])[1] == expected).all()
    assert (np.diff(grid.encode(grid.names.find(sorted(UNITS["block"])))) > 0).all()


def test_codes_of_units_are_part_of_the_grid_s_identity() -> None:
    other = {**UNITS, "block": ["0013", *UNITS["block"][1:]]}
    assert grid_of_units(UNITS, "a test") != grid_of_units(other, "a test")


def test_only_grids_of_units_have_units() -> None:
    assert not grid_of_units(UNITS, "a test").names.on_map
    plain = geodp.Grid.regular((1, 4))
    assert plain.names.on_map
    with refuses(UsageError, "grid-without-units"):
        plain.names.find(["0011"])


@pytest.mark.parametrize(
    ("changed", "position", "rule"),
    [
        ({"block": ["0012", "0111", "0012", "0021"]}, 2, "unit-repeated"),
        ({"county": ["00", "01", "01", "00"]}, 2, "unit-of-two-parents"),
        ({"tract": ["001", "011", "001", ""]}, 3, "cell-without-region"),
    ],
)
def test_a_table_that_is_no_tree_is_refused_at_its_row(changed, position, rule) -> None:
    with refuses(CodeError, rule) as refused:
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
    with refuses(CodeError, "unit-unknown") as refused:
        grid.names.find(["0011", "98765"])
    assert refused.value.position == 1
    assert "98765" not in str(refused.value)


def test_attributes_come_under_the_cells_and_elsewhere_when_asked() -> None:
    grid = grid_of_units(UNITS, "a test")
    ages = grid.with_attribute("sex", ["f", "m"]).with_attribute("age", ["young", "old"])
    assert ages.areas.steps == (*grid.areas.steps, ("sex", 1), ("age", 1))
    assert ages.size == 4 * grid.size
    assert ages.hierarchy == grid.hierarchy
    above = ages.with_attribute_order("above")
    assert above.areas.steps == (("sex", 1), ("age", 1), *grid.areas.steps)
    with refuses(UsageError, "order-not-last"):
        above.with_attribute("kind", ["one", "other"])


def test_written_codes_are_read_again_whatever_is_in_them(tmp_path) -> None:
    names = ["a,b", 'c"d', "it's", "府中市", "two\nlines"]
    grid = grid_of_units({"town": names, "county": list("11122")}, "a test")
    codes = grid.names.format(0, grid.names.find(names))
    assert codes.tolist() == names
    assert (grid.names.parse(0, codes) == grid.names.find(names)).all()
    table = geodp.CountTable.from_index(grid, grid.names.find(names), [100] * 5)
    geodp.publish(table, epsilon=1, contribution=1).write(tmp_path / "out")
    verify(tmp_path / "out")
    found = pd.read_csv(tmp_path / "out" / "public" / "population.csv")
    assert sorted(found["code"]) == sorted(names)


def test_one_unit_is_a_domain() -> None:
    assert grid_of_units({"block": ["1"], "tract": ["1"]}, "a test").size == 1
