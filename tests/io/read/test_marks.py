"""How numbers and texts are written: decimal marks, thousands, UTF-16; columns of values."""

import numpy as np
import pyarrow as pa
import pytest

from geodp.errors import CodeError, InputError, UsageError
from geodp.grid.grid import Grid
from geodp.io.read.points import read_points
from geodp.io.read.raster import read_raster
from geodp.io.read.rows.fields import decimal_points
from geodp.io.read.rows.pixels import grid_like
from geodp.io.read.table import read_table
from tests.io.files import METRES
from tests.refusals import refuses

AXES = {"row": "row", "col": "col"}


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("decimal", "given", "read"),
    [
        (".", "1,234", "1234"),
        (".", "1,234,567.0", "1234567.0"),
        (".", "1 234", "1234"),
        (".", "1'234", "1234"),
        (".", "1\u202f234", "1234"),
        (".", "1,23", "1,23"),
        (".", "12,34,567", "12,34,567"),
        (",", "1.234", "1234"),
        (",", "1.234,5", "1234.5"),
        (",", "0,5", "0.5"),
        (",", "-0,5", "-0.5"),
        (",", "1,5e3", "1,5e3"),
        (",", "1.234.567,5", "1234567.5"),
        (",", "1.234 567", "1.234 567"),
        (",", "１．２３４", "1234"),
        (None, "1,234", "1,234"),
        (",", "–", "–"),
    ],
)
def test_a_number_is_what_its_marks_say(decimal, given, read):
    assert decimal_points(pa.array([given, given]), decimal).to_pylist() == [read, read]


@pytest.mark.parametrize("given", ["1.23", "0.5", "1234.567", "1.5e3", ".5"])
def test_a_point_beside_a_decimal_comma_separates_thousands_or_is_refused(given):
    with refuses(CodeError, "count-point-other-mark") as caught:
        decimal_points(pa.array(["1,5", "7", given]), ",")
    assert caught.value.position == 2


@pytest.mark.parametrize(
    ("decimal", "given", "rule"),
    [
        (",", "500.123", "coordinate-with-point"),
        (",", "500.1", "coordinate-with-point"),
        (",", "4.000.500", "coordinate-thousands-mark"),
        (".", "4,000,500", "coordinate-thousands-mark"),
        (".", "500,123", "coordinate-decimal-comma"),
        (None, "500,123", "coordinate-decimal-comma"),
    ],
)
@pytest.mark.parametrize(
    ("reader", "more"), [(read_table, {"value": "n", "rounding": "nearest"}), (read_points, {})]
)
def test_nothing_separates_thousands_in_coordinates(decimal, given, rule, reader, more, tmp_path):
    """Which of two marks three digits follow is not guessed, and counts keep theirs."""
    path = write(tmp_path / "a.csv", f"x;y;n\n{given};3000500;1.234\n")
    options = {"grid": METRES, "x": "x", "y": "y", "decimal": decimal}
    with refuses(InputError, rule) as caught:
        reader(path, **options, **more)
    assert caught.value.row == 2
    assert given not in str(caught.value)


def test_coordinates_have_decimal_commas_on_request(tmp_path):
    path = write(tmp_path / "a.csv", "x;y;n\n4000500,0;3000500,0;3\n")
    options = {"grid": METRES, "x": "x", "y": "y"}
    for read, more in ((read_table, {"value": "n"}), (read_points, {})):
        with refuses(InputError, "coordinate-decimal-comma"):
            read(path, **options, **more)
        assert read(path, **options, **more, decimal=",").key.size == 1


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf16_is_read_by_its_mark(encoding, tmp_path):
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    rows = "".join(f"{i},{i},東京,{i + 1}\r\n" for i in range(4))
    path = write(tmp_path / "a.txt", f"{mark}row,col,県,人口\r\n{rows}", encoding)
    options = {"grid": METRES, "columns": AXES, "value": "人口"}
    table = read_table(path, **options, where={"県": "東京"})
    assert sorted(table.count.tolist()) == [1, 2, 3, 4]
    write(path, f"{mark}row,col,県,人口\r\n0,0,東京,1\r\n1,1,東京\r\n", encoding)
    with refuses(InputError, "row-ragged") as caught:
        read_table(path, **options)
    assert caught.value.row == 3


def test_half_a_letter_of_utf16_spoils_no_other_column(tmp_path):
    rows = "row,col,note,n\n1,2,\ud800,5\n0,3,whole,7\n"
    (tmp_path / "a.csv").write_bytes(rows.encode("utf-16", "surrogatepass"))
    table = read_table(tmp_path / "a.csv", grid=METRES, columns=AXES, value="n")
    assert sorted(table.count.tolist()) == [5, 7]


def test_columns_of_values_become_an_attribute_of_any_grid(tmp_path):
    path = write(tmp_path / "a.csv", "row,col,M,F\n1,2,5,6\n0,3,0,7\n")
    options = {"grid": METRES, "columns": AXES, "value": ["M", "F"]}
    table = read_table(path, **options, by="sex")
    assert table.grid == METRES.with_attribute("sex", ["M", "F"])
    dense = table.to_dense()
    assert (dense[1, 2].tolist(), dense[0, 3].tolist()) == ([5, 6], [0, 7])
    assert table.bound is None
    with pytest.raises(UsageError, match="--by"):
        read_table(path, **options)
    with refuses(UsageError, "attribute-given-twice"):
        read_table(path, **{**options, "columns": {**AXES, "sex": "M"}}, by="sex")


@pytest.mark.parametrize(
    ("name", "data", "rule"),
    [
        ("a.nc", b"\x89HDF\r\n\x1a\n" + bytes(64), "raster-is-hdf5"),
        ("a.nc", b"CDF\x01" + bytes(64), "raster-unreadable"),
        ("a.asc", b"<VRTDataset rasterXSize='1' rasterYSize='1'/>", "text-is-xml"),
        ("a.asc", b"ncols 2\nnrows 2\n", "raster-unreadable"),
        ("a.tif", b"<VRTDataset rasterXSize='1' rasterYSize='1'/>", "text-is-xml"),
    ],
)
def test_rasters_that_are_none_or_point_elsewhere_are_refused(name, data, rule, tmp_path):
    (tmp_path / name).write_bytes(data)
    with refuses(InputError, rule):
        read_raster(tmp_path / name, grid=METRES)


def test_an_ascii_grid_is_on_the_grid_that_is_named(tmp_path):
    head = "ncols 2\nnrows 2\nxllcorner 4001000\nyllcorner 3000000\ncellsize 1000\n"
    path = write(tmp_path / "a.asc", f"{head}NODATA_value -9\n1 2\n-9 3\n")
    dense = read_raster(path, grid=METRES).to_dense()
    assert dense[:2, 1:3].tolist() == [[0, 3], [1, 2]]
    assert dense.sum() == 6
    shifted = Grid.regular((4, 4), crs="EPSG:3035", transform=(1000, 0, 4e6 + 1, 0, 1000, 3e6))
    with refuses(InputError, "raster-cells-differ"):
        read_raster(path, grid=shifted)
    assert np.array_equal(
        read_raster(path, grid=grid_like(path)).to_dense()[::-1], [[0, 3], [1, 2]]
    )
