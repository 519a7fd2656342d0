"""A series as NetCDF: what GDAL and SciPy read back is every snapshot, where and when it was."""

import numpy as np
import pytest
import rasterio
from scipy.io import netcdf_file

import geodp
from geodp.io.write.export import netcdf as core
from geodp.kinds.series import netcdf
from tests.grids import half, masked
from tests.kinds.series.test_publish import publish

TIMES = ("2024-02", "2024-03")


def written(grid, folder, **more):
    rng = np.random.default_rng(3)
    tables = [
        geodp.CountTable.from_dense(rng.poisson(90, grid.shape) * grid_inside(grid), grid)
        for _ in TIMES
    ]
    series = publish(tables, times=TIMES, **{"contribution": 1, **more})
    series.write(folder)
    return series, folder / "public" / "population.nc"


def grid_inside(grid):
    return grid.contains(np.indices(grid.shape).reshape(2, -1)).reshape(grid.shape)


GRIDS = {
    "jis": geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.25, 35.25)),
    "inspire": geodp.Grid.mesh("inspire:1km", bounds=(4000000, 3000000, 4020000, 3010000)),
    "southwards": geodp.Grid.regular(
        (8, 12), crs="EPSG:3035", transform=(100, 0, 0, 0, -100, 9000)
    ),
    "nowhere": geodp.Grid.regular((12, 8)),
    "masked": masked(
        geodp.Grid.mesh("jis:basic", bounds=(139, 35, 139.25, 35.25)), half((30, 20), 1)
    ),
}


@pytest.mark.parametrize("name", GRIDS)
def test_gdal_reads_every_snapshot_where_it_lies(name, tmp_path):
    grid = GRIDS[name]
    series, path = written(grid, tmp_path / "out")
    with rasterio.open(f"netcdf:{path}:count") as raster:
        assert raster.count == len(TIMES)
        place = grid.places[0]
        if place.crs is not None:
            assert np.allclose(raster.bounds, place.bounds)
            assert raster.crs.to_epsg(confidence_threshold=60) is not None
        for band, one in enumerate(series, 1):
            found = raster.read(band)
            expected = one.table.to_dense().astype(np.int64)
            north = expected[::-1] if core.is_upwards(place) else expected
            inside = grid_inside(grid)
            inside = inside[::-1] if core.is_upwards(place) else inside
            assert np.array_equal(found[inside], north[inside])
            assert (found[~inside] == raster.nodata).all()


def test_times_and_words_are_those_of_the_conventions(tmp_path):
    series, path = written(GRIDS["jis"], tmp_path / "out")
    with netcdf_file(path, mmap=False) as file:
        assert file.Conventions == b"CF-1.8"
        time = file.variables["time"]
        assert time.units == b"hours since 2024-02-01 00:00:00"
        assert (time.axis, time.calendar, time.bounds) == (b"T", b"standard", b"time_bounds")
        assert time[:].tolist() == [0, 29 * 24]
        assert file.variables["time_bounds"][:].tolist() == [[0, 696], [696, 1440]]
        assert file.variables["x"].standard_name == b"longitude"
        assert (np.diff(file.variables["y"][:]) > 0).all()
        assert file.variables["count"].dimensions == ("time", "y", "x")
        assert file.comment.decode() == series.card().guarantee.in_words
        assert [len(one) for one in file.geodp_release_ids.split()] == [16, 16]
        assert file.geodp_private == b"NO" if not series[0].event.is_private else b"yes"


def test_counts_beyond_32_bits_are_doubles(tmp_path):
    grid = geodp.Grid.regular((4, 4))
    tables = [geodp.CountTable.from_dense(np.full((4, 4), 2**40), grid)] * 2
    series = publish(tables, times=TIMES)
    series.write(tmp_path / "out")
    with netcdf_file(tmp_path / "out" / "public" / "population.nc", mmap=False) as file:
        found = file.variables["count"]
        assert found.typecode() == "d"
        assert np.array_equal(found[1], series[1].table.to_dense())


def test_a_large_file_is_left_out(monkeypatch):
    views = [one.view() for one in publish()]
    assert netcdf.why_not(views) is None
    monkeypatch.setattr(core, "MAX_BYTES", 3 * 16 * 16 * 4 - 1)
    assert "not compressed" in netcdf.why_not(views)
