"""An ASCII grid holds the numbers that its header announces, and nothing else."""

import pytest

from geodp.errors import InputError
from geodp.io.read.raster import read_raster
from geodp.io.read.rows.forms import raster
from tests.io.files import METRES
from tests.refusals import refuses

HEAD = "ncols 2\nnrows 2\nxllcorner 4000000\nyllcorner 3000000\ncellsize 1000\n"


def read(path, text):
    path.write_bytes(text.encode())
    return read_raster(path, grid=METRES).to_dense()[:2, :2].tolist()


@pytest.mark.parametrize(
    "body",
    ["1 2\n3 4\n", "1 2 3 4 ", "1.0\t2e0\r\n+3 .4e1\r\n", "\n 1 2\n\n3  4 \n", "1 2\n3 4.\n"],
)
def test_numbers_are_read_however_they_are_laid_out(body, tmp_path):
    assert read(tmp_path / "a.asc", HEAD + body) == [[3, 4], [1, 2]]
    assert read(tmp_path / "a.asc", HEAD + "NODATA_value 2\n" + body) == [[3, 4], [1, 0]]


@pytest.mark.parametrize(
    "body",
    ["1,000 2\n3 4\n", "1 2\n3 x\n", "1 -\n3 4\n", "1 2\n3 4 #\n", "1 NA\n3 4\n", "0x1 2 3 4"],
)
def test_what_is_no_number_is_refused(body, tmp_path):
    with refuses(InputError, "ascii-grid-not-number"):
        read(tmp_path / "a.asc", HEAD + body)


@pytest.mark.parametrize("body", ["1 2\n3\n", "1 2\n3 4\n5 6\n", "1\n"])
def test_other_numbers_than_announced_are_refused(body, tmp_path, monkeypatch):
    monkeypatch.setattr(raster, "CHUNK", 100)
    with refuses(InputError, "ascii-grid-values-differ"):
        read(tmp_path / "a.asc", HEAD + body)


@pytest.mark.parametrize("value", ["3000000000", "16777217.0", "4503599627370497"])
def test_numbers_keep_their_digits(value, tmp_path):
    assert read(tmp_path / "a.asc", f"{HEAD}{value} 0.0\n0 0\n")[1][0] == int(float(value))
    with refuses(InputError, "stored-digits-lost"):
        read(tmp_path / "a.asc", f"{HEAD}9007199254740993 0\n0 0\n")


def test_long_grids_are_looked_at_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(raster, "CHUNK", 128)
    path = tmp_path / "a.asc"
    head = HEAD.replace("ncols 2", "ncols 4").replace("nrows 2", "nrows 4")
    path.write_text(head + "1 2 3 4\n" * 4)
    assert int(read_raster(path, grid=METRES).count.sum()) == 40
    path.write_text(head + "1 2 3 4\n" * 3 + "1 2 3 four\n")
    with refuses(InputError, "ascii-grid-not-number"):
        read_raster(path, grid=METRES)
