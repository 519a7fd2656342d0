"""Texts in UTF-16, columns of values, rasters that are none."""

import numpy as np
import pyarrow as pa
import pytest

from geodp.errors import InputError, UsageError
from geodp.grid.grid import Grid
from geodp.io.read.raster import read_raster
from geodp.io.read.rows.pixels import grid_like
from geodp.io.read.table import read_table
from geodp.release.publish import publish
from tests.io.files import METRES
from tests.refusals import refuses

AXES = {"row": "row", "col": "col"}


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding, "surrogatepass"))
    return path


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
    path = write(tmp_path / "a.csv", "row,col,note,n\n1,2,\ud800,5\n0,3,whole,7\n", "utf-16")
    table = read_table(path, grid=METRES, columns=AXES, value="n")
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


def test_a_release_states_which_columns_are_places_and_which_labels():
    columns = {**AXES, "sex": "SEX"}
    rows = pa.table({"row": [1], "col": [2], "SEX": ["m"], "n": [5]})
    grid = METRES.with_attribute("sex", ["m", "f"])
    table = read_table(rows, grid=grid, columns=columns, value="n")
    stated = publish(table, epsilon=1, contribution=1).card().reading
    assert (stated.places, stated.labels) == (AXES, {"sex": "SEX"})


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
    own = read_raster(path, grid=grid_like(path)).to_dense()[::-1]
    assert np.array_equal(own, [[0, 3], [1, 2]])
