"""Rows of one code are one, batch after batch, in arrays that are kept between batches."""

import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

from geodp.io.read.rows.columns import RowPositions
from geodp.io.read.rows.tally import Groups


def naive(codes, counts):
    found = {}
    for row, (code, count) in enumerate(zip(codes, counts, strict=True)):
        first, total, size, counting = found.get(code, (row, 0, 0, 0))
        found[code] = first, total + count, size + 1, counting + (count > 0)
    return [(first, code, *rest) for code, (first, *rest) in found.items()]


@pytest.mark.parametrize("kind", [pa.int64(), pa.int32(), pa.uint16(), "dictionary"])
def test_batches_of_any_size_one_after_the_other(kind):
    draw, groups, kept = np.random.default_rng(2), Groups(), []
    for n in (7, 1, 300, 40, 299, 5_000, 3):
        codes, counts = draw.integers(0, 50, n), draw.integers(0, 9, n)
        if kind == "dictionary":
            texts = pa.array([f"c{number}" for number in range(50)])
            column = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), texts)
            codes = [f"c{code}" for code in codes]
        else:
            column, codes = pa.array(codes, kind), codes.tolist()
        rows, column, total, sizes = groups.group(RowPositions(None, 100), column, counts)
        kept.append((rows, column, total, sizes, naive(codes, counts.tolist())))
    for rows, column, total, sizes, expected in kept:  # no batch has taken another's place
        first = (rows.records(len(column)) - 100).tolist()
        found = [*zip(first, column.to_pylist(), total.tolist(), *sizes.tolist(), strict=True)]
        assert found == expected


def test_later_batches_take_no_arrays_of_their_length():
    draw, groups, n = np.random.default_rng(2), Groups(), 1 << 18
    column, counts = pa.array(draw.integers(0, 50, n)), draw.integers(0, 9, n)
    taken = []
    for _ in range(3):
        tracemalloc.start()
        groups.group(RowPositions(None, 0), column, counts)
        taken.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert taken[0] > 5 * 8 * n
    assert max(taken[1:]) < 8 * n


def test_what_is_no_number_or_has_gaps_stays_row_by_row():
    for column in (pa.array(["a", "a"]), pa.array([1, None]), pa.array([], pa.int64())):
        given = RowPositions(None, 0), column, np.ones(len(column), np.int64)
        assert Groups().group(*given) == (*given, None)
