"""Files of strangers are opened so that whatever they declare is refused, and ends no process."""

import contextlib
import io
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from geodp.errors import InputError, VerificationError
from geodp.io.opening import (
    LINES_BLOCK,
    MAX_DEPTH,
    check_json_lines,
    open_parquet,
    read_parquet,
)
from tests.apart import exit_code
from tests.refusals import refuses

ROWS = pa.table({"code": ["a", "b", "a", "c"], "n": [1, 2, 3, 4], "each": [[1], [], [2, 3], None]})


def flip_every_bit_of_the_footer(path: Path) -> None:
    """Read a file with each bit of its footer flipped, also with what a footer says of columns."""
    data = bytearray(path.read_bytes())
    footer = int.from_bytes(data[-8:-4], "little")
    for bit in range((len(data) - 8 - footer) * 8, len(data) * 8):
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        data[bit // 8] ^= 1 << bit % 8
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError, pa.ArrowException):
            open_parquet(path).read()
    os._exit(7)


@pytest.mark.law
def test_no_bit_of_a_footer_ends_the_process(tmp_path):
    path = tmp_path / "in.parquet"
    pq.write_table(ROWS, path, row_group_size=2)
    assert exit_code(flip_every_bit_of_the_footer, path) == 7


def test_more_rows_than_there_can_be_are_not_read(tmp_path):
    path = tmp_path / "in.parquet"
    zeros = pa.table({"n": np.zeros(1 << 20, np.int64)})
    pq.write_table(zeros, path, compression="zstd")
    assert path.stat().st_size < 10_000
    with refuses(VerificationError, "rows-above-possible: in.parquet"):
        read_parquet(path, zeros.num_rows - 1)
    assert read_parquet(path, zeros.num_rows).num_rows == zeros.num_rows
    assert read_parquet(path, zeros.num_rows, []).num_columns == 0


def deep(number: int) -> bytes:
    return b'{"n": ' + b"[" * number + b"]" * number + b"}"


def test_lines_of_json_that_are_too_deep_are_named(tmp_path):
    line = deep(MAX_DEPTH - 1) + b"\n"
    assert check_json_lines(io.BytesIO(line * 3), "in.jsonl")
    assert not check_json_lines(io.BytesIO(line * 3 + line.rstrip()), "in.jsonl")
    text = b'{"n": "' + b"[" * 100 + b'"}\n'
    assert check_json_lines(io.BytesIO(text), "in.jsonl")
    for end in (b"", b"\n", b"\n" + line):
        with refuses(InputError, "json-too-deep: in.jsonl, row 4"):
            check_json_lines(io.BytesIO(line * 3 + deep(MAX_DEPTH) + end), "in.jsonl")


def test_a_line_of_json_may_be_longer_than_what_is_looked_at_together():
    long = b'{"n": "' + b"a" * LINES_BLOCK * 2 + b'", "m": '
    assert check_json_lines(io.BytesIO(long + b"1}\n"), "in.jsonl")
    with refuses(InputError, "json-too-deep: in.jsonl, row 1"):
        check_json_lines(io.BytesIO(long + b"[" * 10_000 + b"]" * 10_000 + b"}\n"), "in.jsonl")
