"""Rows far beyond memory are counted as if they fitted, and nothing of them is left behind."""

import gc
import os
import signal
import subprocess
import sys
import tempfile
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodp.errors import CodeError, InputError, OutputError, UsageError
from geodp.grid.grid import Grid
from geodp.io.memory import bytes_of
from geodp.io.read.points import read_points
from geodp.io.read.rows import scratch as module
from geodp.io.read.rows.scratch import Runs, Spill
from geodp.io.read.table import read_table
from geodp.kernels import key_lists
from geodp.privacy.key import has_owners
from tests.refusals import refuses

MIB = 1 << 20
SQUARE = Grid.regular((2048, 2048), crs="EPSG:3035", transform=(1, 0, 0, 0, 1, 0))


def expected(keys, counts):
    unique, which = np.unique(np.concatenate(keys), return_inverse=True)
    total = np.zeros(unique.size, np.int64)
    np.add.at(total, which, np.concatenate(counts))
    return unique[total > 0], total[total > 0]


def small(monkeypatch, pending=200, block=16, fan_in=3):
    """Limits at which a few thousand rows go through every path."""
    start = Runs.__init__

    def begin(self, *args, **options):
        start(self, *args, **options)
        self._most, self._block, self._memory = pending, block, 4 * 24 * pending

    monkeypatch.setattr(Runs, "__init__", begin)
    monkeypatch.setattr(module, "FAN_IN", fan_in)


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("spread", [3, 100, 2**40])
@pytest.mark.parametrize("batches", [0, 1, 40])
def test_spilled_runs_give_the_same_counts(recorded, spread, batches, monkeypatch):
    small(monkeypatch)
    rng = np.random.default_rng(spread + batches)
    found = Runs(recorded=recorded)
    keys, counts, at = [np.empty(0, np.uint64)], [np.empty(0, np.int64)], 0
    for _ in range(batches):
        n = int(rng.integers(0, 500))
        keys.append(rng.integers(0, spread, n, dtype=np.uint64))
        counts.append(rng.integers(0, 3, n))
        found.add(keys[-1], counts[-1], np.arange(at, at + n))
        at += n
    key, count = found.arrays()
    want = expected(keys, counts)
    assert key.tolist() == want[0].tolist()
    assert count.tolist() == want[1].tolist()
    assert bool(found.spilled) == (batches == 40 and spread == 2**40)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), max_size=30), st.integers(1, 7))
def test_the_first_repetition_is_found_whatever_the_runs(rows, pending):
    with pytest.MonkeyPatch.context() as patch:
        small(patch, pending=pending, block=2, fan_in=2)
        found = Runs(recorded=True)
        for record, (key, count) in enumerate(rows):
            found.add(np.array([key], np.uint64), np.array([count]), np.array([10 + record]))
        found.arrays()
    seen, again = {}, None
    for record, (key, _) in enumerate(rows):
        if key in seen:
            again = 10 + seen[key], 10 + record
            break
        seen[key] = record
    assert found.again == again


@pytest.mark.law
def test_a_million_keys_in_eight_mebibytes():
    rng = np.random.default_rng(5)
    keys = rng.integers(0, 2**40, 1_000_000, dtype=np.uint64)
    Runs("1MiB").add(keys[:9])
    tracemalloc.start()
    runs = Runs("8MiB")
    for start in range(0, keys.size, 10_000):
        runs.add(keys[start : start + 10_000].copy())
    gathering = tracemalloc.get_traced_memory()[1]
    key, count = runs.arrays()
    whole = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert runs.spilled > 8 * MIB
    want, total = expected([keys], [np.ones(keys.size, np.int64)])
    assert (key == want).all()
    assert (count == total).all()
    assert gathering < 8 * MIB
    assert whole < 8 * MIB + (key.nbytes + count.nbytes) * 9 // 8


def points(path, n=1_000_000, spread=2048):
    rng = np.random.default_rng(11)
    x, y = (rng.integers(0, spread, n).astype(float) + 0.5 for _ in range(2))
    pq.write_table(pa.table({"x": x, "y": y}), path)
    row, col = y.astype(int), x.astype(int)
    return SQUARE.encode(np.stack([row, col]))


def test_points_of_a_file_spill_and_give_the_same_table(tmp_path, monkeypatch):
    path = tmp_path / "p.parquet"
    keys = points(path)
    spilled = []
    spill = Spill.write
    monkeypatch.setattr(
        Spill, "write", lambda self, block: (spilled.append(block[0].size), spill(self, block))[1]
    )
    whole = read_points(path, grid=SQUARE, x="x", y="y")
    assert not spilled
    key, count = expected([keys], [np.ones(keys.size, np.int64)])
    assert (whole.key == key).all()
    assert (whole.count == count).all()
    bounded = read_points(path, grid=SQUARE, x="x", y="y", memory="8MiB", scratch=tmp_path)
    assert sum(spilled) > 500_000
    assert (bounded.key == whole.key).all()
    assert (bounded.count == whole.count).all()
    assert os.listdir(tmp_path) == ["p.parquet"]


@pytest.mark.parametrize("duplicates", [pytest.param("error", marks=pytest.mark.law), "sum"])
def test_tables_spill_and_name_the_row_that_repeats_a_cell(duplicates, tmp_path):
    rng = np.random.default_rng(2)
    n = 100_000
    cell = rng.permutation(2048 * 2048)[:n]
    count = rng.integers(0, 5, n)
    path = tmp_path / "t.csv"

    def read(memory):
        lines = [f"{c // 2048},{c % 2048},{v}" for c, v in zip(cell, count, strict=True)]
        path.write_text("\n".join(["r,c,n", *lines]))
        options = {"value": "n", "columns": {"row": "r", "col": "c"}, "duplicates": duplicates}
        return read_table(path, grid=SQUARE, memory=memory, **options)

    one, other = read(None), read("1MiB")
    assert (one.key == other.key).all()
    assert (one.count == other.count).all()
    cell[90_000] = cell[100]
    cell[95_000] = cell[250]
    cell[98_000] = cell[92_000]
    if duplicates == "sum":
        assert read("1MiB").count.sum() == count.sum()
        return
    for memory in (None, "1MiB"):
        with refuses(InputError, "cell-repeated-in-rows") as caught:
            read(memory)
        assert caught.value.row == 90_002
        assert caught.value.file == str(path)


def test_a_bad_row_after_much_was_spilled_leaves_nothing(tmp_path):
    n = 400_000
    x = np.arange(n) % 2048 + 0.5
    x[-1] = 5e6
    path, scratch = tmp_path / "p.parquet", tmp_path / "scratch"
    scratch.mkdir()
    pq.write_table(pa.table({"x": x, "y": np.arange(n) // 2048 + 0.5}), path)
    with refuses(InputError, "cell-outside-domain") as caught:
        read_points(path, grid=SQUARE, x="x", y="y", memory="1MiB", scratch=scratch)
    assert caught.value.row == n
    assert not isinstance(caught.value, CodeError)
    del caught  # its traceback holds the files, which have names on Windows
    gc.collect()
    assert os.listdir(scratch) == []


@pytest.mark.law
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="signals of POSIX")
def test_a_killed_process_leaves_no_file(tmp_path):
    code = f"""
import os, signal, numpy as np
from geodp.io.read.rows.scratch import Runs
runs = Runs("1MiB", {str(tmp_path)!r})
rng = np.random.default_rng(0)
while runs.spilled < 2_000_000:
    runs.add(rng.integers(0, 2**40, 10_000, dtype=np.uint64))
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -signal.SIGKILL
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not has_owners(), reason="owners and permission bits of POSIX")
def test_scratch_files_are_private(tmp_path):
    spill = Spill(tmp_path)
    spill.write((np.arange(5, dtype=np.uint64), np.arange(5)))
    state = os.fstat(spill._file.fileno())
    assert (state.st_mode & 0o777, state.st_nlink) == (0o600, 0)
    assert [column.tolist() for column in spill.read(0)] == [[0, 1, 2, 3, 4]] * 2


def test_a_full_disk_says_what_to_do(monkeypatch):
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("the system has no /dev/full")
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: full.open("r+b", buffering=0))
    with refuses(OutputError, "scratch-unusable: disk.*--scratch"):
        Spill(None).write((np.arange(5),))


def test_a_scratch_file_that_was_cut_off(tmp_path):
    spill = Spill(tmp_path)
    spill.write((np.arange(5),))
    os.truncate(spill._file.fileno(), 8)
    with refuses(OutputError, "scratch-cut-off"):
        spill.read(0)


def test_limits_have_units_and_are_refused_without():
    for text, size in (("4GiB", 4 << 30), ("1.5 gb", 1_500_000_000), ("2m", 2 << 20), (MIB, MIB)):
        assert bytes_of(text) == size
    assert bytes_of(None) >= MIB
    for text in ("", "lots", "-1GiB", "4XB", True, "1e9", 1000, "1023KiB"):
        with refuses(UsageError, "memory-form|memory-too-small"):
            bytes_of(text)


def test_a_scratch_folder_that_is_not_there(tmp_path):
    with refuses(UsageError, "scratch-folder-unfit"):
        Runs("1MiB", tmp_path / "absent")


def test_more_people_than_there_can_be():
    runs = Runs("1MiB")
    runs.add(np.zeros(2, np.uint64), np.array([2**59, 2**58]))
    with refuses(InputError, "counts-too-many"):
        runs.add(np.zeros(1, np.uint64), np.array([2**59]))


def test_coalescing_with_records():
    key = np.array([3, 3, 3, 8], np.uint64)
    order, count = np.array([2, 0, 1, 3]), np.array([1, 2, 4, 0])
    record, again = np.array([70, 50, 60, 40]), np.array([2**63 - 1] * 2)
    out = np.empty_like(key), np.empty_like(count), np.empty_like(count)
    n = key_lists.coalesce_with_records(key, order, count, record, *out, again)
    assert [column[:n].tolist() for column in out] == [[3, 8], [7, 0], [50, 40]]
    assert again.tolist() == [50, 60]
