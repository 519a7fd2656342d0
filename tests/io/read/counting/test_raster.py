"""An array and the files of its content are read as one table, or are refused alike."""

import numpy as np
import pytest
import rasterio
import xarray

from geodp.errors import GeodpError, InputError, UsageError
from geodp.grid.grid import Grid
from geodp.io.read.raster import read_raster
from tests.io.files import write_netcdf, write_tiff

GRID = Grid.regular((2, 3), crs="EPSG:3035", transform=(1000, 0, 4e6, 0, -1000, 3e6))
XS, YS = [4_000_500.0, 4_001_500.0, 4_002_500.0], [2_999_500.0, 2_998_500.0]
WKT = rasterio.crs.CRS.from_epsg(3035).to_wkt()
NUMBERS = np.array([[10, 20, 30], [40, 50, 0]], np.int16)
LARGE = np.array([[2**24 + 2, 20, 30], [40, 50, 0]])


def array_of(values, attributes):
    return xarray.DataArray(
        values,
        {"y": YS, "x": XS, "spatial_ref": xarray.Variable((), 0, {"crs_wkt": WKT})},
        ("y", "x"),
        attrs={**attributes, "grid_mapping": "spatial_ref"},
    )


def geotiff(path, values, attributes):
    said = dict(attributes)

    def change(raster):
        raster.scales = (float(said.pop("scale_factor", 1)),)
        raster.offsets = (float(said.pop("add_offset", 0)),)
        raster.units = (said.pop("units", ""),)
        for key, one in said.items():
            text = ",".join(map(str, np.atleast_1d(one)))
            raster.update_tags(1, **{key: f"{{{text}}}" if np.ndim(one) else text})

    nodata = said.pop("_FillValue", None)
    return write_tiff(path, values, change, nodata=nodata, transform=GRID.places[0].transform)


def netcdf(path, values, attributes):
    return write_netcdf(path, values, {"y": YS, "x": XS}, 3035, **attributes)


def outcome(source, **stated):
    """The counts, or the code of the rule that refuses them."""
    try:
        return read_raster(source, grid=GRID, **stated).to_dense().tolist()
    except GeodpError as error:
        return error.code


LOST, UNIT = "stored-digits-lost", "numbers-in-unit"
CONTENTS = {
    # Numbers, what is said of them, and the counts or the rule that refuses them.
    "plain": (NUMBERS, {}, [[10, 20, 30], [40, 50, 0]]),
    "scale": (NUMBERS, {"scale_factor": 0.1}, [[1, 2, 3], [4, 5, 0]]),
    "single precision": (NUMBERS, {"scale_factor": np.float32(0.1)}, [[1, 2, 3], [4, 5, 0]]),
    "offset": (NUMBERS, {"scale_factor": 0.5, "add_offset": 15.0}, [[20, 25, 30], [35, 40, 15]]),
    "fill": (NUMBERS, {"_FillValue": np.int16(10)}, [[0, 20, 30], [40, 50, 0]]),
    "fill and others": (
        NUMBERS,
        {"_FillValue": np.int16(10), "missing_value": np.array([20, 30], np.int16)},
        [[0, 0, 0], [40, 50, 0]],
    ),
    "valid": (NUMBERS, {"valid_range": np.array([15, 45], "i2")}, [[0, 20, 30], [40, 0, 0]]),
    "valid and packed": (
        NUMBERS,
        {"scale_factor": 0.1, "valid_max": np.int16(40)},
        [[1, 2, 3], [4, 0, 0]],
    ),
    "fractions": (NUMBERS, {"scale_factor": 0.25}, "stored-fraction"),
    "negative": (-NUMBERS, {}, "count-negative|stored-negative"),
    "negative by the offset": (NUMBERS, {"add_offset": -25.0}, "count-negative|stored-negative"),
    "large integers": (LARGE.astype(np.int32), {}, LARGE.tolist()),
    "large floats": (LARGE.astype(np.float32), {}, LOST),
    "larger floats": (LARGE * 2.0**30, {}, LOST),
    "packed floats": (NUMBERS.astype("f4"), {"scale_factor": 0.1}, [[1, 2, 3], [4, 5, 0]]),
    "NaN": (np.where(NUMBERS == 20, np.nan, NUMBERS), {}, [[10, 0, 30], [40, 50, 0]]),
    "classes": (
        NUMBERS,
        {"flag_values": np.array([10, 20], np.int16), "flag_meanings": "a b"},
        "numbers-are-classes",
    ),
    "density": (NUMBERS, {"units": "persons/km2"}, UNIT),
    "thousands": (NUMBERS, {"units": "1000 persons"}, UNIT),
    "persons": (NUMBERS, {"units": "persons"}, [[10, 20, 30], [40, 50, 0]]),
    "means": (NUMBERS, {"cell_methods": "area: mean"}, UNIT),
}


@pytest.mark.filterwarnings("ignore:.*multiple fill values")
@pytest.mark.parametrize("name", CONTENTS)
def test_files_and_arrays_of_one_content_agree(name, tmp_path):
    values, attributes, wanted = CONTENTS[name]
    path = netcdf(tmp_path / "a.nc", values, attributes)
    tiff, packed = geotiff(tmp_path / "a.tif", values, attributes), array_of(values, attributes)
    options = {"engine": "scipy", "decode_coords": "all"}
    with (
        xarray.open_dataset(path, **options) as opened,
        xarray.open_dataset(path, **options, mask_and_scale=False) as stored,
    ):
        for source in (path, tiff, packed, opened["count"], stored["count"]):
            found = outcome(source)
            assert found == wanted or found in str(wanted).split("|"), type(source)
    for stated in ({"value_unit": 10.0}, {"missing": [10]}):
        again = outcome(path, **stated)
        assert outcome(tiff, **stated) == again
        assert outcome(packed, **stated) == again
    if wanted == UNIT:  # whoever states the value of one person says what is counted
        assert outcome(path, value_unit=0.001)[0] == [10_000, 20_000, 30_000]


def test_unsigned_numbers_are_read_as_such():
    values = np.array([[-1, 1, 2], [3, 4, 5]], np.int16)
    attributes = {"_Unsigned": "true", "_FillValue": np.int16(5)}
    table = read_raster(array_of(values, attributes), grid=GRID)
    assert table.to_dense().tolist() == [[65535, 1, 2], [3, 4, 0]]
    with pytest.raises(UsageError, match="true or false"):
        read_raster(array_of(values, {"_Unsigned": "perhaps"}), grid=GRID)


def test_a_single_precision_that_was_widened_is_refused_where_it_lost_digits():
    array = array_of(LARGE.astype(np.float64), {})
    assert read_raster(array, grid=GRID).count.max() == 2**24 + 2
    array.encoding["dtype"] = np.dtype("float32")
    with pytest.raises(InputError, match="lost digits"):
        read_raster(array, grid=GRID)


def test_packing_is_said_once():
    array = array_of(NUMBERS.astype(float), {"scale_factor": 0.1})
    array.encoding["scale_factor"] = 0.1
    with pytest.raises(UsageError, match="is packed by its attrs"):
        read_raster(array, grid=GRID)


@pytest.mark.parametrize(
    ("change", "phrase"),
    [
        (lambda a: a.spatial_ref.attrs.update(crs_wkt="EPSG:25832"), "another CRS"),
        (lambda a: a.spatial_ref.attrs.update(crs_wkt="nowhere"), "another CRS"),
        (lambda a: a.attrs.update(crs="EPSG:25832"), "another CRS"),
        (lambda a: a.attrs.update(grid_mapping="crs"), "decode_coords"),
        (lambda a: a.spatial_ref.attrs.update(GeoTransform="4e6 1000 5 3e6 5 -1000"), "rotated"),
    ],
)
def test_another_place_is_refused(change, phrase):
    array = array_of(NUMBERS, {})
    assert int(read_raster(array, grid=GRID).count.sum()) == 150
    change(array)
    with pytest.raises(UsageError, match=phrase):
        read_raster(array, grid=GRID)


@pytest.mark.parametrize(
    "said",
    [
        {"crs_wkt": "EPSG:3035"},
        {"spatial_ref": rasterio.crs.CRS.from_string("EPSG:3035+5773").to_wkt()},
        {"crs_wkt": WKT, "GeoTransform": "4e6 1000 0.0 3e6 0.0 -1000"},
        {},
    ],
)
def test_the_crs_of_the_grid_is_accepted_however_it_is_said(said):
    array = array_of(NUMBERS, {})
    array.spatial_ref.attrs = said
    assert int(read_raster(array, grid=GRID).count.sum()) == 150


def test_longitudes_are_whole_turns_away():
    grid = Grid.regular((2, 3), crs="EPSG:4326", transform=(1, 0, -1, 0, -1, 2))
    array = xarray.DataArray(
        NUMBERS, {"y": [1.5, 0.5], "x": [359.5, 0.5, 1.5]}, ("y", "x"), attrs={}
    )
    assert read_raster(array, grid=grid).to_dense().tolist() == NUMBERS.tolist()


def test_what_an_array_says_is_kept():
    array = array_of(NUMBERS, {"scale_factor": 0.1, "_FillValue": np.int16(50), "units": "1"})
    (source,) = read_raster(array, grid=GRID, missing=[40]).reading.sources
    assert {(fact.field, fact.value, fact.known_by) for fact in source.facts} >= {
        ("stored type", "int16", "file"),
        ("scale", "0.1", "file"),
        ("missing", "50", "file"),
        ("missing", "40", "operator"),
        ("unit", "1", "file"),
    }
    assert (source.rows, source.inside, source.people) == (4, 3, 6)
