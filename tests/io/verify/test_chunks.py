"""Rows of a release that somebody has changed are refused before many of them are read."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import geodp
from geodp.errors import VerificationError
from geodp.io.verify import chunks
from geodp.io.verify.verify import verify
from tests.refusals import refuses

GRID = geodp.Grid.regular((8, 8))


@pytest.fixture
def public(tmp_path):
    counts = np.zeros(GRID.shape, int)
    counts[:2] = 90
    release = geodp.publish(
        geodp.CountTable.from_dense(counts, GRID),
        epsilon=9,
        key=geodp.NoiseKey(bytes(32)),
        contribution=1,
    )
    release.write(tmp_path / "out")
    return tmp_path / "out" / "public"


@pytest.mark.parametrize(("times", "rule"), [(2, "rows-not-in-order"), (60, "rows-above-possible")])
def test_rows_that_are_repeated_are_refused(public, times, rule):
    path = public / "population.parquet"
    rows = pq.read_table(path)
    assert rows.num_rows * 2 <= 64 < rows.num_rows * 60
    pq.write_table(pa.concat_tables([rows] * times), path)
    with refuses(VerificationError, rule):
        geodp.open(public)
    assert "cells" in {check.name for check in verify(public) if not check.ok}


def test_a_row_group_that_may_not_fit_is_refused(public, monkeypatch):
    monkeypatch.setattr(chunks, "LARGEST_GROUP", 3)
    with refuses(VerificationError, "row-group-too-large"):
        geodp.open(public)
    assert not all(check.ok for check in verify(public))


def test_a_release_without_rows_keeps_its_types(public):
    rows = pq.read_table(public / "population.parquet")
    pq.write_table(rows.slice(0, 0), public / "population.parquet")
    table = geodp.open(public).table
    assert (table.key.size, str(table.count.dtype)) == (0, "int64")
    pq.write_table(rows.slice(0, 0).drop_columns("low"), public / "population.parquet")
    with refuses(VerificationError, "release-not-read-back"):
        geodp.open(public)


@pytest.mark.parametrize(
    "codes",
    [
        ["a", "bcd", "ef"],
        ["12", "34"],
        ["a\0", "b"],
        ["é", "b"],
        ["", "a"],
        [""],
        [],
        ["x" * (chunks.LONGEST_CODE + 1), "y"],
    ],
)
def test_codes_are_the_texts_that_stand_there(codes):
    found = chunks._codes_of(pa.array(["z", *codes], pa.string()).slice(1))
    assert [*map(str, found)] == codes


def test_a_code_that_is_missing_stays_missing():
    found = chunks._codes_of(pa.array(["x", None]))
    assert found.tolist() == ["x", None]
