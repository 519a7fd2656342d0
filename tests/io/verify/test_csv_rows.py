"""A CSV file beside its Parquet file: the same rows, whatever pieces both are read in."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from geodp.errors import VerificationError
from geodp.io.verify import csv_rows
from geodp.io.verify.csv_rows import require_same_rows
from tests.refusals import refuses

COLUMNS = ["code", "people", "low"]


def table_of(rows):
    number = np.arange(rows)
    return pa.table(
        {
            "code": pa.array([f"{at:07d}" for at in number.tolist()], pa.string()),
            "people": number * 3 + 1,
            "low": number / 4,
        }
    )


@pytest.fixture
def compare(tmp_path, monkeypatch):
    """Write two tables and compare them, in pieces of other sizes."""
    monkeypatch.setattr(csv_rows, "BLOCK", 1 << 10)

    def write_both(written, rows, columns=COLUMNS):
        pa.csv.write_csv(written, tmp_path / "a.csv")
        more = rows.append_column("geometry", pa.array([b""] * rows.num_rows, pa.binary()))
        pq.write_table(more, tmp_path / "a.parquet", row_group_size=170)
        require_same_rows(tmp_path / "a.csv", tmp_path / "a.parquet", columns)

    return write_both


@pytest.mark.parametrize("rows", [0, 1, 129, 130, 131, 1000])
def test_the_same_rows_are_the_same(compare, rows):
    compare(table_of(rows), table_of(rows))


@pytest.mark.parametrize("at", [0, 500, 999])
@pytest.mark.parametrize("column", COLUMNS)
def test_one_other_value_is_found_wherever_it_is(compare, column, at):
    rows = table_of(1000)
    values = rows[column].to_pylist()
    values[at] = values[at] + ("9" if column == "code" else 1)
    changed = rows.set_column(COLUMNS.index(column), column, [pa.array(values)])
    with refuses(VerificationError, f"csv-values-differ: \\b{column}\\b"):
        compare(changed, rows)


@pytest.mark.parametrize(("written", "listed"), [(999, 1000), (1000, 999), (0, 1), (1, 0)])
def test_a_row_too_few_or_too_many_is_found(compare, written, listed):
    with refuses(VerificationError, "csv-rows-differ"):
        compare(table_of(written), table_of(listed))


def test_other_columns_are_found(compare):
    with refuses(VerificationError, "csv-columns-differ"):
        compare(table_of(9), table_of(9), COLUMNS[:2])
    with refuses(VerificationError, "csv-columns-differ"):
        compare(table_of(9).select(["people", "code", "low"]), table_of(9))


def test_neither_is_in_memory_as_a_whole(compare, monkeypatch):
    held, fill, rows = [], csv_rows.CsvRows._fill, table_of(20_000)

    def watch(self):
        fill(self)
        held.append(pa.total_allocated_bytes() - before)

    monkeypatch.setattr(csv_rows.CsvRows, "_fill", watch)
    before = pa.total_allocated_bytes()
    compare(rows, rows)
    assert max(held[len(held) // 2 :]) < max(held[: len(held) // 2]) + 20_000
    assert max(held) < rows.nbytes
