import numpy as np
import pytest
from hypothesis import given

import geodp
from geodp.accounting import Event
from geodp.errors import CodeError, InputError, UsageError
from tests.strategies import shaped_tables

GRID = geodp.Grid.regular((4, 4))


@given(shaped_tables())
def test_dense_and_keys_are_two_views_of_one_table(table):
    again = geodp.CountTable.from_dense(table.to_dense(), table.grid)
    assert (again.key == table.key).all()
    assert (again.count == table.count).all()
    keys = geodp.CountTable.from_keys(table.grid, table.key[::-1], table.count[::-1])
    assert (keys.to_dense() == table.to_dense()).all()


def test_blocks_are_sums_of_aligned_cells():
    dense = np.arange(16).reshape(4, 4)
    block, total = geodp.CountTable.from_dense(dense, GRID).block_sums(2)
    assert block.tolist() == [0, 1, 2, 3]
    assert total.tolist() == [dense[i : i + 2, j : j + 2].sum() for i in (0, 2) for j in (0, 2)]


@pytest.mark.parametrize(
    ("key", "count", "error", "message"),
    [
        ([3], [-987654], CodeError, "not negative"),
        ([3], [0.5], CodeError, "whole number"),
        ([3], [np.nan], CodeError, "whole number"),
        ([3], [np.inf], CodeError, "whole number"),
        ([3], [2**61], CodeError, "below 2"),
        ([1, 2], [2**59, 2**59 + 2**58], InputError, "more than 2"),
        ([16], [1], CodeError, "no cell of the grid"),
        ([2**63], [1], CodeError, "no cell of the grid"),
        ([-1], [1], CodeError, "not negative"),
        ([1.5], [1], CodeError, "whole number"),
        ([1, 2], [1], UsageError, "one length"),
        (["a"], [1], UsageError, "type"),
    ],
)
def test_bad_counts_and_keys(key, count, error, message):
    with pytest.raises(error, match=message) as caught:
        geodp.CountTable.from_keys(GRID, key, count)
    assert "987654" not in str(caught.value)


def test_the_first_bad_position_is_named():
    with pytest.raises(CodeError) as caught:
        geodp.CountTable.from_keys(GRID, [1, 2, 3], [1, 2, -3])
    assert caught.value.position == 2


def test_a_confidential_table_shows_no_count():
    table = geodp.CountTable.from_dense(np.full((4, 4), 987_654), GRID)
    assert repr(table) == "CountTable(confidential, shape=(4, 4))"


def test_arrays_are_read_only():
    table = geodp.CountTable.from_dense(np.ones((4, 4), int), GRID)
    with pytest.raises(ValueError, match="read-only"):
        table.count[0] = 5


def test_raw_and_released_tables_are_different_types():
    table = geodp.CountTable.from_dense(np.ones((4, 4), int), GRID)
    assert not isinstance(table, geodp.ReleasedTable)
    release = geodp.publish(table, epsilon=1)
    assert isinstance(release.table, geodp.ReleasedTable)
    assert not isinstance(release.table, geodp.CountTable)
    assert isinstance(release.table.event, Event)
    with pytest.raises(UsageError, match="takes a CountTable"):
        geodp.publish(release.table, epsilon=1)


def test_a_dense_array_of_a_huge_grid_is_refused():
    grid = geodp.Grid.regular((2**20, 2**20))
    with pytest.raises(UsageError, match="too large"):
        geodp.CountTable.from_keys(grid, [5], [1]).to_dense()
