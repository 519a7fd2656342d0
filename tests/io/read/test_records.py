"""Columns of records, as they stand."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq

from geodp.errors import InputError, UsageError
from geodp.io.read.rows.columns import read_records
from tests.refusals import refuses


def test_columns_of_text_and_of_parquet(tmp_path):
    text, stored = tmp_path / "a.csv.gz", tmp_path / "a.parquet"
    text.write_bytes(gzip.compress(b"sex;n\nf;3\nm;4\n"))
    pq.write_table(pa.table({"sex": ["f", "m"], "n": [3, 4]}), stored)
    for path in (text, stored):
        found = read_records(path, ["sex"], ["n"])
        assert {name: column.to_pylist() for name, column in found.items()} == {
            "sex": ["f", "m"],
            "n": [3, 4],
        }
    assert read_records(text)["n"].to_pylist() == ["3", "4"]
    assert [*read_records(stored, counts=["n"])] == ["n"]


def test_errors_name_file_and_row_and_no_value(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("sex,n\nf,3\nm,-7919\n")
    with refuses(InputError, r"count-negative: a\.csv, row 3: .*\bn\b") as found:
        read_records(path, counts=["n"])
    assert "7919" not in str(found.value)
    with refuses(InputError, "column-unknown: 'age'"):
        read_records(path, ["age"])
    with refuses(UsageError, "files-missing"):
        read_records([])
