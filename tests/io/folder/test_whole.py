"""A new file appears whole or not at all."""

import os

import pytest

from geodp.errors import OutputError, UsageError
from geodp.io.folder.whole import write_whole


def test_a_file_appears_under_its_name_once_it_is_whole(tmp_path):
    path = tmp_path / "a"
    with write_whole(path, "there") as file:
        file.write(b"whole")
        assert not path.exists()
    assert path.read_bytes() == b"whole"
    with pytest.raises(UsageError, match="there"), write_whole(path, "there") as file:
        file.write(b"other")
    assert path.read_bytes() == b"whole"
    with write_whole(path, "there", overwrite=True) as file:
        file.write(b"other")
    assert path.read_bytes() == b"other"
    assert os.listdir(tmp_path) == ["a"]


def test_nothing_is_left_of_a_file_that_fails(tmp_path):
    with pytest.raises(OutputError, match="No space"), write_whole(tmp_path / "a", ""):
        raise OSError(28, "No space left on device")
    with pytest.raises(KeyError), write_whole(tmp_path / "a", ""):
        raise KeyError
    assert not os.listdir(tmp_path)
