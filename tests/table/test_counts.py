import pickle

import numba
import numpy as np
import pytest
from hypothesis import given

import geodp
from geodp.errors import CodeError, InputError, UsageError
from geodp.privacy.event import Measurement
from tests.refusals import refuses
from tests.strategies import shaped_tables

GRID = geodp.Grid.regular((4, 4))


@given(shaped_tables())
def test_dense_and_keys_are_two_views_of_one_table(table):
    again = geodp.CountTable.from_dense(table.to_dense(), table.grid)
    assert (again.key == table.key).all()
    assert (again.count == table.count).all()
    keys = geodp.CountTable.from_keys(table.grid, table.key[::-1], table.count[::-1])
    assert (keys.to_dense() == table.to_dense()).all()


@pytest.mark.parametrize(
    ("key", "count", "error", "message"),
    [
        ([3], [-987654], CodeError, "count-not-whole|key-not-whole"),
        ([3], [0.5], CodeError, "count-not-whole"),
        ([3], [np.nan], CodeError, "count-not-whole"),
        ([3], [np.inf], CodeError, "count-not-whole"),
        ([3], [2**61], CodeError, "count-not-whole"),
        ([1, 2], [2**59, 2**59 + 2**58], InputError, "counts-too-many"),
        ([1, 2], [2**59, 2**59 + 1], InputError, "counts-too-many"),
        ([16], [1], CodeError, "key-no-cell"),
        ([2**63], [1], CodeError, "key-no-cell"),
        ([-1], [1], CodeError, "count-not-whole|key-not-whole"),
        ([1.5], [1], UsageError, "keys-not-integers"),
        ([2.0**53], [1], UsageError, "keys-not-integers"),
        ([1, 2], [1], UsageError, "keys-and-counts-differ"),
        (["a"], [1], UsageError, "array-type"),
    ],
)
def test_bad_counts_and_keys(key, count, error, message):
    with refuses(error, message) as caught:
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


def test_arrays_of_another_process_are_of_the_same_type():
    """A kernel is compiled for read-only arrays, and again for those that can be written."""
    table = geodp.CountTable.from_dense(np.ones((4, 4), int), GRID)
    sent = pickle.loads(pickle.dumps(table))
    for name in ("key", "count"):
        assert numba.typeof(getattr(sent, name)) == numba.typeof(getattr(table, name))
        assert (getattr(sent, name) == getattr(table, name)).all()


def test_raw_and_released_tables_are_different_types():
    table = geodp.CountTable.from_dense(np.ones((4, 4), int), GRID)
    assert not isinstance(table, geodp.ReleasedTable)
    release = geodp.publish(table, epsilon=1, contribution=1)
    assert isinstance(release.table, geodp.ReleasedTable)
    assert not isinstance(release.table, geodp.CountTable)
    assert isinstance(release.table.event, Measurement)
    with pytest.raises(UsageError, match="This is published already"):
        geodp.publish(release.table, epsilon=1, contribution=1)


@pytest.mark.parametrize(
    ("key", "count"),
    [
        (np.array([3, 0], np.uint64), np.array([5, 7])),
        (np.array([3, 3], np.uint64), np.array([5, 7])),
        (np.array([0, 3], np.uint64), np.array([-5, 7])),
        (np.array([0, 3], np.uint64), np.array([0, 7])),
        (np.array([0, 3]), np.array([5, 7])),
        (np.array([0, 3], np.uint64), np.array([5.0, 7.0])),
        (np.array([0, 3], np.uint64), np.array([5])),
    ],
)
def test_a_table_that_is_not_canonical_cannot_be_made(key, count):
    with refuses(UsageError, "counts-not-canonical|keys-not-canonical"):
        geodp.CountTable(GRID, key, count)


def test_a_table_outside_the_domain_cannot_be_made_and_arrays_stay_writable():
    key, count = np.array([3, 99], np.uint64), np.array([1, 2])
    with refuses(CodeError, "key-no-cell"):
        geodp.CountTable(GRID, key, count)
    geodp.CountTable(GRID, key[:1], count[:1])
    assert key.flags.writeable


def test_a_masked_array_must_not_hide_cells():
    hidden = np.ma.array(np.full((4, 4), 255), mask=np.eye(4, dtype=bool))
    with refuses(UsageError, "array-masked"):
        geodp.CountTable.from_dense(hidden, GRID)
    geodp.CountTable.from_dense(hidden.filled(0), GRID)


def test_a_dense_array_of_a_huge_grid_is_refused():
    grid = geodp.Grid.regular((2**20, 2**20))
    with refuses(UsageError, "dense-array-too-large"):
        geodp.CountTable.from_keys(grid, [5], [1]).to_dense()


def test_the_domain_is_looked_up_once_and_some_keys_at_a_time(monkeypatch):
    looked = []
    contains = geodp.Grid.contains_keys

    def counted(grid, key):
        looked.append(key.size)
        return contains(grid, key)

    monkeypatch.setattr(geodp.Grid, "contains_keys", counted)
    monkeypatch.setattr("geodp.table.counts.CHECKED", 4)
    geodp.CountTable.from_keys(GRID, [5, 3, 3, 1, 2, 9], [1] * 6)
    assert looked == [4, 2]
    with pytest.raises(CodeError) as caught:
        geodp.CountTable.from_keys(GRID, [5, 3, 3, 1, 2, 16], [1] * 6)
    assert caught.value.position == 5
