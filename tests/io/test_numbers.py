"""Numbers between NumPy and Arrow: the same values, without a copy."""

import numpy as np
import pyarrow as pa
import pytest

from geodp.io.numbers import column_of, numbers_of


@pytest.mark.parametrize("kind", ["i1", "<i4", "<i8", ">i8", "<u8", "<f4", "<f8", ">f8"])
def test_numbers_come_back(kind):
    numbers = np.array([0, 1, 100, 7], kind)
    column = column_of(numbers)
    assert column.to_pylist() == numbers.tolist()
    found = numbers_of(column)
    assert found.tolist() == numbers.tolist()
    assert not found.flags.writeable
    assert numbers_of(column[1:3]).tolist() == [1, 100]
    assert numbers_of(pa.chunked_array([column, column])).tolist() == [*numbers, *numbers]


def test_what_is_masked_is_missing():
    column = column_of(np.ma.masked_array([1.5, 2.5], [False, True]))
    assert column.to_pylist() == [1.5, None]
    assert np.isnan(numbers_of(column)).tolist() == [False, True]


def test_parts_and_single_numbers_are_columns():
    assert column_of(np.arange(6)[::2]).to_pylist() == [0, 2, 4]
    assert column_of(np.broadcast_to(np.array([3.0]), (3,))).to_pylist() == [3.0, 3.0, 3.0]
    assert numbers_of(column_of(np.empty(0, np.int64))).size == 0
