"""A public file is opened as it says of itself."""

import os

from geodp.io.read.rows.public_file import PublicFile, opening_options


def test_a_public_file_is_a_path_that_says_how_it_is_opened(tmp_path):
    file = PublicFile(tmp_path / "a.csv", {"header_row": 2})
    assert os.fspath(file) == str(file) == str(tmp_path / "a.csv")
    assert opening_options(file) == {"header_row": 2}
    assert opening_options(tmp_path) == opening_options(str(tmp_path)) == {}
