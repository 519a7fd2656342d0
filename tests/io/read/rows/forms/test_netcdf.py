"""The header of a NetCDF file is read as SciPy reads it, in all classic formats, or is refused."""

import numpy as np
import pytest
from scipy.io import netcdf_file

from geodp.errors import InputError
from geodp.io.read.rows.forms.netcdf import read_header
from tests.refusals import refuses


def write(path, version=1):
    with netcdf_file(path, "w", version=version) as file:
        file.title = "odd"
        file.createDimension("time", None)
        file.createDimension("y", 2)
        file.createDimension("x", 3)
        x = file.createVariable("x", "f4", ("x",))
        x[:], x.units, x.limits = [1, 2, 4], "degrees_east", np.array([1, 4], "i2")
        count = file.createVariable("count", "i2", ("time", "y", "x"))
        count[:] = np.ones((2, 2, 3))
        count.scale_factor = np.array([0.1])
        file.createVariable("crs", "i4", ()).name_of_it = "ab"
    return path


@pytest.mark.parametrize("version", [1, 2])
def test_a_header_is_what_scipy_wrote(version, tmp_path):
    header = read_header(write(tmp_path / "a.nc", version))
    assert dict(header.sizes) == {"time": 0, "y": 2, "x": 3}
    assert header.variables["count"].dimensions == ("time", "y", "x")
    assert header.variables["count"].attributes["scale_factor"].tolist() == [0.1]
    assert header.variables["x"].attributes["units"] == "degrees_east"
    assert header.variables["x"].attributes["limits"].tolist() == [1, 4]
    assert header.variables["crs"].attributes["name_of_it"] == "ab"
    assert header.values("x").tolist() == [1, 2, 4]


def test_a_header_that_is_cut_anywhere_is_refused(tmp_path):
    path = write(tmp_path / "a.nc")
    whole = path.read_bytes()
    end = read_header(path).variables["x"].begin
    for size in range(0, end, 3):
        path.write_bytes(whole[:size])
        with refuses(InputError, "netcdf-ends-in-header"):
            read_header(path).values("x")


def test_numbers_that_a_file_cannot_hold_are_refused_at_once(tmp_path):
    path = write(tmp_path / "a.nc")
    whole = bytearray(path.read_bytes())
    whole[12:16] = b"\x7f\xff\xff\xff"
    path.write_bytes(whole)
    with refuses(InputError, "netcdf-ends-in-header"):
        read_header(path)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "f8"])
@pytest.mark.parametrize("alone", [True, False])
def test_values_of_records_are_those_of_scipy(dtype, alone, tmp_path):
    with netcdf_file(tmp_path / "a.nc", "w") as file:
        file.createDimension("y", None)
        file.createDimension("x", 3)
        count = file.createVariable("count", dtype, ("y", "x"))
        count[:] = np.arange(15).reshape(5, 3)
        if not alone:
            y = file.createVariable("y", "f4", ("y",))
            y[:] = np.arange(5)
    header = read_header(tmp_path / "a.nc")
    assert header.values("count").tolist() == np.arange(15).reshape(5, 3).tolist()
    assert alone or header.values("y").tolist() == [0, 1, 2, 3, 4]
