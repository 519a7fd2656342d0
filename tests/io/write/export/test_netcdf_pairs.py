"""NetCDF of pairs of zones, read again by xarray."""

import numpy as np
import pytest
from scipy.io import netcdf_file

import geodp
from geodp.io.verify.rewritten import is_rewritten
from geodp.io.write.export import netcdf
from geodp.io.write.export.netcdf import NetCDF
from tests.kinds.flows.test_publish import MESH

xarray = pytest.importorskip("xarray", reason="the format's own library is not installed")


def read(view, path):
    NetCDF().write(view, path)
    with xarray.open_dataset(path, engine="scipy") as file:
        return file.load()


def of_labels(labels, name="hour", shape=(2, 3)):
    """A release of pairs by label, with noise on every count."""
    grid = geodp.Grid.regular(shape).pairs().with_attribute(name, labels)
    dense = np.arange(np.prod(grid.shape)).reshape(grid.shape)
    table = geodp.CountTable.from_dense(dense, grid)
    return geodp.publish(table, method="laplace", epsilon=1, contribution=1)


def test_a_flow_is_looked_up_by_codes(trips, tmp_path):
    data = read(trips, tmp_path / "x.nc")
    zones = MESH.shape[0] * MESH.shape[1]
    expected = trips.table.to_dense().reshape(zones, zones)
    assert data["count"].dims == ("origin", "destination")
    assert data["count"].dtype == np.int32
    assert np.array_equal(data["count"], expected)
    codes = MESH.places[0].format(*np.indices(MESH.shape).reshape(2, -1))
    assert [*map(str, data["origin"].values)] == codes.tolist()
    at = int(codes[3]), int(codes[7])
    assert int(data["count"].sel(origin=at[0], destination=at[1])) == expected[3, 7]
    assert data.attrs["geodp_private"] == "yes"
    assert data.attrs["Conventions"] == "CF-1.8"


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        (("7", "8"), [7, 8]),
        (("07", "08"), ["07", "08"]),
        (("徒歩", "bus"), ["徒歩", "bus"]),
    ],
)
def test_labels_are_coordinates(labels, found, tmp_path):
    release = of_labels(labels)
    data = read(release.view("trips"), tmp_path / "x.nc")
    made = release.table.to_dense().reshape(6, 6, 2)
    assert data["hour"].values.tolist() == found
    assert data["count"].dims == ("origin", "destination", "hour")
    assert np.array_equal(data["count"].sel(hour=found[1]), made[:, :, 1])
    # A grid without codes has rows and columns.
    assert data["origin_row"].values.tolist() == [0, 0, 0, 1, 1, 1]
    assert data["destination_column"].values.tolist() == [0, 1, 2] * 2
    assert {"origin_row", "destination_column"} <= {*data["count"].coords}


def test_large_releases_are_gathered(trips, tmp_path, monkeypatch):
    dense = read(trips, tmp_path / "x.nc")
    monkeypatch.setattr(netcdf, "DENSE_BYTES", 100)
    data = read(trips, tmp_path / "y.nc")
    assert data["count"].dims == ("flow",)
    assert data["count"].size == trips.table.key.size
    names = data["flow"].attrs["compress"].split()
    assert names == ["origin", "destination"]
    # As CF 8.2 says; cf_xarray does the same.
    at = np.unravel_index(data["flow"].values, [data.sizes[name] for name in names])
    again = np.zeros(dense["count"].shape, np.int64)
    again[at] = data["count"].values
    assert np.array_equal(again, dense["count"])


def test_what_is_too_large_or_named_alike_is_refused(trips, monkeypatch):
    one = NetCDF()
    assert one.why_not(of_labels(("7", "8")).view("trips")) is None
    for name, said in (
        ("origin_column", "for other things"),
        ("flow", "for other things"),
        ("hour_length", "for other things"),
        ("時", "letters, digits"),
        ("day type", "letters, digits"),
    ):
        assert said in one.why_not(of_labels(("7", "8"), name).view("trips"))
    assert one.why_not(trips) is None
    for name, value, said in (
        ("MOST_ZONES", 9, "zones"),
        ("LARGEST", 9, "numbers up to"),
        ("MAX_BYTES", 9, "bytes"),
    ):
        monkeypatch.setattr(netcdf, "DENSE_BYTES", 100)
        monkeypatch.setattr(netcdf, name, value)
        assert said in one.why_not(trips)
        monkeypatch.undo()


def add_trip(file):
    file.variables["count"].data[0, 0] += 1


def rename_zone(file):
    file.variables["origin"].data[0] = 1


def add_variable(file):
    file.createVariable("more", "i4", ("origin",))[:] = 0


def scale(file):
    file.variables["count"].scale_factor = 2.0


def change_claim(file):
    file.geodp_spends = b"epsilon = 1/9"


@pytest.mark.parametrize("change", [None, add_trip, rename_zone, add_variable, scale, change_claim])
@pytest.mark.parametrize("most", [100, 1 << 28])
def test_files_are_compared_with_the_release(trips, tmp_path, change, most, monkeypatch):
    monkeypatch.setattr(netcdf, "DENSE_BYTES", most)
    one, other = tmp_path / "one.nc", tmp_path / "other.nc"
    NetCDF().write(trips, one)
    NetCDF().write(trips, other)
    with netcdf_file(other, "a") as file:
        if change is add_trip and most == 100:
            file.variables["count"].data[0] += 1
        elif change is not None:
            change(file)
    assert is_rewritten(other, one, trips.table.grid, worded=False) is (change is None)


def test_a_file_of_anything_else_is_no_copy(trips, tmp_path):
    one, other = tmp_path / "one.nc", tmp_path / "other.nc"
    NetCDF().write(trips, one)
    for content in (b"", b"CDF\x02", b"PK", one.read_bytes()[:200]):
        other.write_bytes(content)
        assert not is_rewritten(other, one, trips.table.grid, worded=False)
