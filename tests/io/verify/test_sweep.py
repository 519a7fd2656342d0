"""One pass for many questions: each hears of all parts, and none of what another raised."""

import pyarrow.parquet as pq
import pytest

from geodp.errors import VerificationError
from geodp.io.verify import chunks
from geodp.io.verify.card import read_table_card
from geodp.io.verify.sweep import CheckPass, ReleaseFiles, run_in_one_pass
from geodp.io.verify.verify import verify
from geodp.io.write import tables
from geodp.release.simulated_cells import errors_of
from tests.io.write.test_writers import GRIDS
from tests.refusals import refuses


def total():
    found = 0
    while (part := (yield)) is not None:
        found += part
    return str(found)


def nothing():
    return "none"
    yield


def until(most):
    while (part := (yield)) is not None:
        if part > most:
            raise VerificationError(f"{part} is too large.", code="release-not-read-back")
    return "all small"


def closing(seen):
    try:
        while (yield) is not None:
            pass
    finally:
        seen.append("closed")
    return "closed"


def test_each_question_has_its_own_outcome():
    asked = {"sum": total, "none": nothing, "small": lambda: until(9), "tiny": lambda: until(1)}
    found = run_in_one_pass(lambda: [1, 2, 3], asked)
    assert str(found.pop("tiny")) == "2 is too large."
    assert found == {"sum": "6", "none": "none", "small": "all small"}


def test_parts_are_read_once_and_only_as_far_as_somebody_asks():
    read = []

    def parts():
        for part in range(100):
            read.append(part)
            yield part

    passed = CheckPass(parts, {"tiny": lambda: until(4), "none": nothing})
    passed.join("none either", nothing)
    for _ in range(2):
        assert passed.outcome("none") == passed.outcome("none either") == "none"
        with refuses(VerificationError, "release-not-read-back: 5 is too large"):
            passed.outcome("tiny")
    assert read == [0, 1, 2, 3, 4, 5]
    run_in_one_pass(parts, {"none": nothing})
    assert len(read) == 6


def test_what_reading_raises_is_the_outcome_of_who_is_left():
    def parts():
        yield 1
        raise OSError("no such file")

    seen = []
    checks = {"sum": total, "none": nothing, "closing": lambda: closing(seen)}
    found = run_in_one_pass(parts, checks)
    assert found["none"] == "none"
    assert [str(found[name]) for name in ("sum", "closing")] == ["no such file"] * 2
    assert seen == ["closed"]


def test_want_of_memory_is_no_outcome():
    def parts():
        yield 1
        raise MemoryError

    with pytest.raises(MemoryError):
        run_in_one_pass(parts, {"sum": total})


@pytest.mark.parametrize("name", ["mesh", "masked", "south"])
def test_rows_of_a_release_are_read_twice_at_most(name, tmp_path, write_copy, monkeypatch):
    """Once along all questions, and once more for intervals, which need the sums of all rows."""
    write_copy(GRIDS[name], tmp_path / "out")
    public, read, column = tmp_path / "out" / "public", [], chunks.RowGroup.column

    def count(self, which):
        if which not in self._columns:
            read.append(which)
        return column(self, which)

    monkeypatch.setattr(chunks.RowGroup, "column", count)
    assert all(check.ok for check in verify(public, errors_of))
    groups = pq.ParquetFile(public / "population.parquet").num_row_groups
    twice = {which for which in read if read.count(which) > groups}
    assert twice == {"low", "high"}
    assert max(map(read.count, read)) == 2 * groups


def test_chunks_are_the_rows_in_their_order_whatever_the_row_groups(tmp_path, write_copy):
    write_copy(GRIDS["mesh"], tmp_path / "out")
    public = tmp_path / "out" / "public"
    rows = pq.read_table(public / "population.parquet")
    pq.write_table(rows, public / "population.parquet", row_group_size=7)
    written = ReleaseFiles(public, read_table_card(public))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "ROW_GROUP", 3)
        found = [*written.chunks()]
    assert {chunk.size for chunk in found} == {3, 1}
    assert sum(chunk.size for chunk in found) == rows.num_rows
    assert [chunk.start for chunk in found] == [
        start + more for start in range(0, rows.num_rows, 7) for more in (0, 3, 6)
    ][: len(found)]
    codes = [code for chunk in found for code in chunk.column("code").to_pylist()]
    assert codes == rows["code"].to_pylist()


def test_a_release_without_rows_is_one_chunk(tmp_path, write_copy):
    write_copy(GRIDS["mesh"], tmp_path / "out")
    public = tmp_path / "out" / "public"
    rows = pq.read_table(public / "population.parquet")
    pq.write_table(rows.slice(0, 0), public / "population.parquet")
    (chunk,) = ReleaseFiles(public, read_table_card(public)).chunks()
    assert chunk.size == 0
    assert chunk.index.shape == (2, 0)
    assert str(chunk.count.dtype) == "int64"


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
    found = chunks._codes_of(chunks.pa.array(["z", *codes], chunks.pa.string()).slice(1))
    assert [*map(str, found)] == codes


def test_a_code_that_is_missing_stays_missing():
    found = chunks._codes_of(chunks.pa.array(["x", None]))
    assert found.tolist() == ["x", None]
