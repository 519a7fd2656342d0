"""Files of sums: whole or none, and the same bytes for the same sums."""

import json

import numpy as np
import pytest

from geodp.errors import InputError, OutputError, UsageError
from geodp.local.files import read_sums, write_sums
from tests.refusals import refuses

ARRAYS = {
    "0.key": np.array([1, 1 << 63], np.uint64),
    "0.total": np.array([-(1 << 59), 7], np.int64),
    "1.total": np.empty(0, np.int64),
}


@pytest.fixture
def path(tmp_path):
    write_sums(tmp_path / "a.sums", {"round": {"n": 1}}, ARRAYS, overwrite=False)
    return tmp_path / "a.sums"


def test_what_was_written_is_read(path, tmp_path):
    said, arrays = read_sums(path)
    assert said["round"] == {"n": 1}
    assert list(arrays) == list(ARRAYS)
    assert all(np.array_equal(arrays[name], ARRAYS[name]) for name in ARRAYS)
    assert [arrays[name].dtype for name in ARRAYS] == [a.dtype for a in ARRAYS.values()]
    write_sums(tmp_path / "b.sums", {"round": {"n": 1}}, ARRAYS, overwrite=False)
    assert (tmp_path / "b.sums").read_bytes() == path.read_bytes()


def test_a_file_is_replaced_where_that_was_asked_for(path):
    before = path.read_bytes()
    with refuses(UsageError, "sums-file-exists: --overwrite"):
        write_sums(path, {"round": {"n": 2}}, ARRAYS, overwrite=False)
    assert path.read_bytes() == before
    write_sums(path, {"round": {"n": 2}}, ARRAYS, overwrite=True)
    assert read_sums(path)[0]["round"] == {"n": 2}
    assert [one.name for one in path.parent.iterdir()] == ["a.sums"]


def test_nowhere_to_write(tmp_path):
    with pytest.raises(OutputError):
        write_sums(tmp_path / "nowhere" / "a.sums", {}, ARRAYS, overwrite=False)


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "other"},
        {"round": {"n": 2}},
        {"files": []},
        {"sha256": "0" * 64},
        {"arrays": [["0.key", "object", 2]]},
        {"arrays": [["0.key", "uint64", -2]]},
        {"arrays": [["0.key", "uint64", 1 << 40]]},
        {"arrays": [["0.key", "uint64", 1], ["0.key", "uint64", 3]]},
        {"arrays": [["0.key", "uint64", 3]]},
        {"arrays": 7},
    ],
)
def test_a_changed_head_is_refused(path, change):
    line, _, body = path.read_bytes().partition(b"\n")
    path.write_bytes(json.dumps({**json.loads(line), **change}).encode() + b"\n" + body)
    with refuses(InputError, "sums-damaged"):
        read_sums(path)


def test_a_name_that_is_too_long(tmp_path):
    with refuses(OutputError, "file-unwritten: too long"):
        write_sums(tmp_path / ("a" * 300), {}, ARRAYS, overwrite=False)
