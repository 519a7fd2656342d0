"""Changes of cells between two releases: their errors are those of both."""

import numpy as np
import pytest

import geodp
from geodp import compare
from geodp.errors import UsageError
from tests.refusals import refuses
from tests.tools.compare.releases import GRID, keys, released


def test_the_error_of_a_change_is_that_of_both_releases():
    old, new = released("laplace", 1, 200), released("laplace", 2, 240, epsilon=2)
    found = compare.estimate_cell_changes(old, new)
    assert found.standard_error == pytest.approx(
        np.hypot(old.standard_error(1), new.standard_error(1))
    )
    back = compare.estimate_cell_changes(new, old)
    assert np.array_equal(back.value, -found.value)
    assert back.low == pytest.approx(-found.high)
    region = compare.compare_regions((old, found.key[:1]), (new, found.key[:1]))
    half = (found.high[0] - found.low[0]) / 2
    assert half == pytest.approx((region.high - region.low) / 2, rel=0.1)


def test_one_release_twice_is_refused():
    old = released("laplace", 1)
    with refuses(UsageError, "compare-same"):
        compare.estimate_cell_changes(old, old)


CASES = [
    ("geometric", "geometric", 1, 1),
    ("geometric", "geometric", 1, "1/3"),
    ("laplace", "laplace", 1, 1),
    ("laplace", "geometric", 1, 2),
    ("privelet", "hay", 1, 1),
]


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize(("one", "two", "epsilon", "other"), CASES)
def test_cells_are_tested_as_regions_of_one_cell(one, two, epsilon, other, alternative):
    people = np.full((8, 8), 50)
    people[2, 3] = 90
    first, second = released(one, 1, 50, epsilon), released(two, 2, people, other)
    found = compare.compare_cells(first, second, alternative=alternative)
    for number in range(0, found.key.size, 15):
        cell = keys(found.key[number])
        alone = compare.compare_regions((first, cell), (second, cell), alternative=alternative)
        assert found.value[number] == alone.value
        assert found.p_value[number] == pytest.approx(alone.p_value)
        assert found.basis == alone.basis
    padded = np.append(found.p_value, np.ones(64 - found.key.size))
    assert found.adjusted == pytest.approx(compare.adjust(padded)[: found.key.size])


def test_the_cell_that_changed_is_found():
    people = np.full((8, 8), 50)
    people[2, 3] = 90
    found = compare.compare_cells(released("laplace", 1, 50), released("laplace", 2, people))
    assert found.key[found.adjusted <= 0.01].tolist() == GRID.encode(np.array([[2], [3]])).tolist()
    less = compare.compare_cells(
        released("laplace", 1, 50), released("laplace", 2, people), alternative="less"
    )
    assert (less.adjusted > 0.01).all()


@pytest.mark.law
def test_very_many_differences_of_unlike_noises_have_p_values_that_are_never_too_small():
    grid = geodp.Grid.regular((48, 48))
    one, two = released("laplace", 1, 50, 1, grid), released("laplace", 2, 50, 2, grid)
    found = compare.compare_cells(one, two)
    for number in range(0, found.key.size, 251):
        cell = keys(found.key[number])
        alone = compare.compare_regions((one, cell), (two, cell)).p_value
        assert alone <= found.p_value[number] * (1 + 1e-12) <= alone * 1.15 + 1e-12


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (("hay", 1), ("hay", 1), "compare-same"),
        (("hay", 1), ("pyramid", 2), "cells-clamped"),
        (("hay", 1), ("hay", 1, 9, 1, geodp.Grid.regular((4, 4))), "compare-grids"),
        (("mwem", 1), ("hay", 1), "cells-clamped"),
    ],
)
def test_what_is_refused(first, second, said):
    with refuses(UsageError, said):
        compare.compare_cells(released(*first), released(*second))
