"""Files of reports are read whole or refused, and no report is quoted."""

import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from geodp.errors import InputError, OutputError, UsageError
from geodp.local import files as module
from geodp.local.files import read_reports, write_reports
from tests.refusals import refuses

KIND = np.dtype([("level", "u1"), ("row", "<u8"), ("bit", "u1")])
DIGEST = "ab" * 32


@pytest.fixture
def reports():
    rng = np.random.default_rng(0)
    found = np.empty(1000, KIND)
    found["level"], found["bit"] = rng.integers(0, 60, 1000), rng.integers(0, 2, 1000)
    found["row"] = rng.integers(0, 1 << 63, 1000, dtype=np.uint64)
    return found


@pytest.fixture(params=["a.parquet", "a.jsonl"])
def path(request, tmp_path, reports):
    write_reports(tmp_path / request.param, DIGEST, reports)
    return tmp_path / request.param


def read(path, digest=DIGEST, kind=KIND):
    return np.concatenate(list(read_reports(path, digest, kind)))


@pytest.mark.parametrize("at_once", [7, 1000, 1 << 20])
def test_what_was_written_is_read(path, reports, at_once, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", at_once)
    pieces = list(read_reports(path, DIGEST, KIND))
    assert max(piece.size for piece in pieces) <= max(at_once, 1)
    assert np.array_equal(np.concatenate(pieces), reports)


@pytest.mark.parametrize("name", ["b.parquet", "b.jsonl"])
def test_the_largest_fields_are_read(tmp_path, reports, name):
    most = reports[:1].copy()
    most[0] = (255, (1 << 64) - 1, 255)
    write_reports(tmp_path / name, DIGEST, most)
    assert read(tmp_path / name).tolist() == most.tolist()


def test_no_file_is_replaced_and_no_other_ending_taken(path, reports, tmp_path):
    with refuses(UsageError, "reports-file-exists"):
        write_reports(path, DIGEST, reports)
    with refuses(UsageError, "reports-ending-named"):
        write_reports(tmp_path / "a.csv", DIGEST, reports)
    with refuses(InputError, "reports-ending"):
        read(tmp_path / "a.csv")
    with pytest.raises(OutputError):
        write_reports(tmp_path / "nowhere" / "a.jsonl", DIGEST, reports)


def test_another_round_is_refused(path):
    with refuses(InputError, "reports-of-other-round"):
        read(path, "cd" * 32)


@pytest.mark.parametrize("head", [{"schema": "another", "round": DIGEST}, [1], "x", None, 1])
@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl"])
def test_another_kind_of_file_is_refused(tmp_path, reports, name, head, monkeypatch):
    monkeypatch.setattr(module, "_header", lambda _: head)
    write_reports(tmp_path / name, DIGEST, reports)
    with refuses(InputError, f"reports-expected: ^{name}: "):
        read(tmp_path / name)


@pytest.mark.parametrize(
    "kind",
    [
        np.dtype([("level", "u1"), ("row", "<u8")]),
        np.dtype([("level", "u1"), ("row", "<u8"), ("bit", "u1"), ("value", "u1")]),
        np.dtype([("level", "u1"), ("line", "<u8"), ("bit", "u1")]),
    ],
)
def test_other_fields_are_refused(path, kind):
    with refuses(InputError, "report-broken|report-fields-unlike-round"):
        read(path, kind=kind)


@pytest.mark.parametrize("part", [0.0, 0.3, 0.999])
def test_a_file_that_is_cut_off_is_refused(path, part):
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * part)])
    with pytest.raises(InputError) as error:
        read(path)
    assert "cut off" in str(error.value) or "no file of reports" in str(error.value)


def test_lines_that_lack_their_end_are_refused(tmp_path, reports):
    path = tmp_path / "a.jsonl"
    write_reports(path, DIGEST, reports)
    lines = path.read_bytes().splitlines(keepends=True)
    for some in (lines[:-1], [*lines[:5], lines[-1]], [*lines, lines[3]], [*lines, lines[-1]]):
        path.write_bytes(b"".join(some))
        with refuses(InputError, "report-broken|reports-damaged"):
            read(path)


def test_more_than_the_end_is_refused_by_its_line(tmp_path, reports):
    path = tmp_path / "a.jsonl"
    write_reports(path, DIGEST, reports[:3])
    lines = path.read_bytes().splitlines(keepends=True)
    for more in (lines[2], lines[-1]):
        path.write_bytes(b"".join([*lines, more]))
        with refuses(
            InputError, r"report-broken: ^a\.jsonl, row 6: .* more after the line that ends"
        ):
            read(path)


@pytest.mark.parametrize("at_once", [1, 1 << 20])
@pytest.mark.parametrize(
    ("line", "rule"),
    [
        *(
            (json.dumps({"level": value, "row": 4711, "bit": 0}), "level must be a whole number")
            for value in (-1, 256, 1.5, "1", True, None)
        ),
        ('{"level": 1, "row": 4711}', "its fields must be level, row, bit;"),
        ('{"level": 1, "line": 4711, "bit": 0}', "its fields must be level, row, bit;"),
        ('{"level": 1, "row": 4711, "bit": 0, "bit": 0}', "the line is no JSON;"),
        ('{"level": 1, "row": 4711', "the line is no JSON;"),
        ("4711", "the line is no JSON object;"),
        ("[4711" + " " * 5000 + "]", "the line has no end, or is longer than 4096 bytes;"),
        ("", "the line is no JSON;"),
    ],
)
def test_a_bad_line_is_named_with_its_rule_and_not_quoted(
    tmp_path, reports, line, rule, at_once, monkeypatch
):
    monkeypatch.setattr(module, "CHUNK", at_once)
    path = tmp_path / "a.jsonl"
    write_reports(path, DIGEST, reports[:3])
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[:2], line, *lines[3:], ""]))
    with pytest.raises(InputError) as error:
        read(path)
    text = str(error.value)
    assert text.startswith(f"a.jsonl, row 3: This is no report of the round: {rule}")
    assert error.value.row == 3
    assert "4711" not in text


def test_missing_values_are_refused_by_their_row(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 1)
    path = tmp_path / "a.parquet"
    schema = pa.schema(
        [("level", pa.uint8()), ("row", pa.uint64()), ("bit", pa.uint8())],
        {"geodp": json.dumps({"schema": module.REPORTS_SCHEMA, "round": DIGEST})},
    )
    columns = [pa.array([1, 1], pa.uint8()), pa.array([5, None], pa.uint64())]
    pq.write_table(pa.table([*columns, pa.array([0, 0], pa.uint8())], schema), path)
    with refuses(InputError, r"report-field-missing: ^a\.parquet, row 2: .*\brow;"):
        read(path)


def test_no_device_and_no_time_stands_in_a_file(path, reports):
    if path.suffix == ".parquet":
        assert pq.read_schema(path).names == list(KIND.names)
    else:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert {tuple(line) for line in lines[1:-1]} == {KIND.names}
        assert set(lines[0]) == {"schema", "round"}


def test_a_file_that_cannot_be_read_is_refused_by_name(tmp_path):
    for name in ("nothing.parquet", "nothing.jsonl"):
        with refuses(InputError, f"report-unreadable: ^{name}: .*\\(No such file"):
            read(tmp_path / name)


@pytest.mark.parametrize("name", ["b.parquet", "b.jsonl"])
def test_nothing_half_written_stays(tmp_path, reports, name, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with refuses(OutputError, "file-unwritten: No space"):
        write_reports(tmp_path / name, DIGEST, reports)
    assert not list(tmp_path.iterdir())
    monkeypatch.undo()
    with refuses(OutputError, "file-unwritten: too long"):
        write_reports(tmp_path / ("b" * 300 + name), DIGEST, reports)
