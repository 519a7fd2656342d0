"""What a raster says beside its numbers is applied, or the raster is refused."""

import numpy as np
import pytest
import rasterio
from rasterio.control import GroundControlPoint
from rasterio.transform import Affine

from geodp.errors import InputError
from geodp.grid.grid import Grid
from geodp.io.read.layout.inspect import inspect
from geodp.io.read.public.mask import read_mask
from geodp.io.read.raster import read_raster
from geodp.io.read.rows.pixels import grid_like
from tests.io.files import AXES, write_netcdf, write_tiff
from tests.refusals import refuses

GRID = Grid.regular((2, 3), crs="EPSG:3035", transform=(1000, 0, 4e6, 0, -1000, 3e6))
DEGREES = Grid.regular((2, 3), crs="EPSG:4326", transform=(1, 0, 0, 0, -1, 2))
NUMBERS = np.array([[10, 20, 30], [40, 50, 60]], np.int16)
BYTES = NUMBERS.astype(np.uint8)
PLACED = {"crs": "EPSG:3035", "transform": Affine(1000, 0, 4e6, 0, -1000, 3e6)}
RED = {1: (1, 2, 3, 4)}
ASCII = "ncols 3\nnrows 2\nxllcorner 4000000\nyllcorner 2998000\ncellsize 1000\n"
ONES = " ".join(["1"] * 20)


def tiff(folder, values=NUMBERS, change=None, **profile):
    return write_tiff(folder / "a.tif", values, change, **{**PLACED, **profile})


def netcdf(folder, values=NUMBERS, dims=("lat", "lon"), crs=4326, unlimited="", **more):
    """Write a file; of ``more`` middles of the axes by their names, and attributes."""
    middles = (np.arange(size) + 0.5 for size in values.shape)
    axes = {name: more.pop(name, each) for name, each in zip(dims, middles, strict=True)}
    return write_netcdf(folder / "a.nc", values, axes, crs, 1, unlimited, **more)


def read(path, grid=GRID, **options):
    return read_raster(path, grid=grid, **options).to_dense().tolist()


def set_to(**values):
    def change(raster):
        for name, value in values.items():
            setattr(raster, name, value)

    return change


def tags(**values):
    return lambda raster: raster.update_tags(1, **values)


@pytest.mark.parametrize(
    ("scale", "offset", "unit", "first"),
    [
        *((0.1, 0, None, 1), (float(np.float32(0.1)), 0, None, 1), (10, -5, None, 95)),
        *((0.1, 0, 0.5, 2), (1, -10, None, 0), (1 / 3, 0, None, "whole")),
    ],
)
def test_scale_offset_and_unit_are_one_formula(scale, offset, unit, first, tmp_path):
    path = tiff(tmp_path, change=set_to(scales=(scale,), offsets=(offset,)))
    if first == "whole":
        with refuses(InputError, "stored-fraction"):
            read(path, value_unit=unit)
        return
    wanted = (NUMBERS.astype(int) * round(scale * 10) / 10 + offset) / (unit or 1)
    assert read(path, value_unit=unit) == np.rint(wanted).astype(int).tolist()
    assert read(path, value_unit=unit)[0][0] == first


def test_every_band_has_its_own_scale(tmp_path):
    path = tiff(tmp_path, [NUMBERS, NUMBERS], set_to(scales=(0.1, 10), offsets=(0, 5)))
    assert read(path, band=1)[0] == [1, 2, 3]
    assert read(path, band=2)[0] == [105, 205, 305]


def test_a_mask_in_the_file_hides_cells_and_nodata_stays_missing(tmp_path):
    hidden = np.array([[0, 255, 255], [255, 255, 255]], np.uint8)
    path = tiff(tmp_path, change=lambda raster: raster.write_mask(hidden), nodata=30)
    assert read(path) == [[0, 20, 0], [40, 50, 60]]
    assert inspect(path)["raster"]["masks"] == ["per_dataset"]


@pytest.mark.parametrize(
    ("values", "change", "profile", "phrase"),
    [
        (BYTES, lambda raster: raster.write_colormap(1, RED), {}, "raster-has-colours"),
        ([BYTES] * 4, None, {}, "raster-has-alpha"),
        ([BYTES] * 2, None, {"alpha": "yes"}, "raster-has-alpha"),
        (BYTES, None, {"compress": "jpeg"}, "raster-lossy"),
        (NUMBERS.astype("f4"), None, {"compress": "lerc", "max_z_error": 0.5}, "raster-lossy"),
        ([BYTES] * 3, None, {"compress": "webp"}, "raster-lossy"),
        (NUMBERS, tags(scale_factor="0.1"), {}, "raster-tag-differs: scale_factor"),
        (NUMBERS, tags(add_offset="one"), {}, "raster-tag-differs: add_offset"),
        (NUMBERS, tags(long_name="Population Density"), {}, "numbers-in-unit: density"),
        (NUMBERS, tags(missing_value="none"), {}, "stored-attribute-not-number: missing_value"),
        (NUMBERS, set_to(descriptions=("people per density",)), {}, "numbers-in-unit: density"),
        (NUMBERS, set_to(units=("metre",)), {}, "numbers-in-unit: measured"),
    ],
)
def test_numbers_that_are_no_counts_are_refused(values, change, profile, phrase, tmp_path):
    path = tiff(tmp_path, values, change, **profile)
    with refuses(InputError, phrase):
        read(path, band=1)


@pytest.mark.parametrize(
    ("values", "change", "profile"),
    [
        (BYTES, None, {"compress": "lzw", "predictor": 2}),
        (NUMBERS.astype("f4"), None, {"compress": "lerc"}),
        ([BYTES] * 3, None, {"compress": "webp", "webp_lossless": True}),
        ([BYTES] * 4, None, {"photometric": "minisblack", "alpha": "no"}),
        (NUMBERS, tags(scale_factor="1", add_offset="0.0", units="persons"), {}),
        (NUMBERS, tags(STATISTICS_MEAN="3", source="a register"), {}),
        (NUMBERS, set_to(units=("Einwohner",)), {}),
        (NUMBERS, None, {"crs": "EPSG:3035+5773"}),
    ],
)
def test_what_changes_no_meaning_is_no_reason_to_refuse(values, change, profile, tmp_path):
    path = tiff(tmp_path, values, change, **profile)
    assert read(path, band=1) == NUMBERS.tolist()
    assert grid_like(path) == GRID


def test_half_precision_holds_eleven_digits(tmp_path):
    values = np.array([[2047, 1, 0], [0, 0, 1]], np.float32)
    assert read(tiff(tmp_path, values, nbits=16))[0][0] == 2047
    with refuses(InputError, "stored-digits-lost"):
        read(tiff(tmp_path, values + 3, nbits=16))


def corners(raster):
    points = [GroundControlPoint(r, c, 10 + c, 50 - r) for r, c in ((0, 0), (0, 3), (2, 0))]
    raster.gcps = points, "EPSG:4326"


def sensor(raster):
    numbers = dict.fromkeys(("HEIGHT", "LAT", "LONG", "LINE", "SAMP"), "1")
    said = {f"{key}_{kind}": one for key, one in numbers.items() for kind in ("OFF", "SCALE")}
    said |= {f"{key}_{kind}_COEFF": ONES for key in ("LINE", "SAMP") for kind in ("NUM", "DEN")}
    raster.update_tags(ns="RPC", **said)


@pytest.mark.parametrize(
    ("change", "profile", "phrase"),
    [
        (corners, {"crs": None, "transform": None}, "raster-curved: ground control points"),
        (sensor, {}, "raster-curved: sensor model"),
        (None, {"transform": None}, "raster-without-place"),
        (None, {"transform": None, "crs": None}, "raster-without-place"),
        (None, {"transform": Affine(1000, 1, 4e6, 0, -1000, 3e6)}, "raster-cells-differ"),
        (None, {"crs": "EPSG:25832"}, "raster-crs-differs"),
        (None, {"crs": None}, "raster-crs-differs"),
    ],
)
@pytest.mark.filterwarnings("ignore::rasterio.errors.NotGeoreferencedWarning")
def test_another_placement_is_refused(change, profile, phrase, tmp_path):
    path = tiff(tmp_path, change=change, **profile)
    with refuses(InputError, phrase):
        read(path)


def test_lines_may_run_north_and_a_pixel_may_be_a_point(tmp_path):
    path = tiff(tmp_path, NUMBERS[::-1], transform=Affine(1000, 0, 4e6, 0, 1000, 2_998_000))
    assert read(path) == NUMBERS.tolist()
    point = tiff(tmp_path, change=lambda raster: raster.update_tags(AREA_OR_POINT="Point"))
    assert read(point) == NUMBERS.tolist()
    assert inspect(point)["raster"]["pixel_is"] == "point"


@pytest.mark.parametrize("west", [-360, 0, 360])
def test_longitudes_are_whole_turns_away(west, tmp_path):
    path = tiff(tmp_path, crs="EPSG:4326", transform=Affine(1, 0, west, 0, -1, 2))
    assert read(path, DEGREES) == NUMBERS.tolist()
    across = Grid.regular((2, 3), crs="EPSG:4326", transform=(1, 0, -1, 0, -1, 2))
    path = tiff(tmp_path, crs="EPSG:4326", transform=Affine(1, 0, west - 1, 0, -1, 2))
    assert read(path, across) == NUMBERS.tolist()


def test_what_stands_beside_a_raster_is_not_passed_over(tmp_path):
    path = tiff(tmp_path)
    beside = tmp_path / "a.tif.aux.xml"
    for said in ("<Scale>0.1</Scale>", "<UnitType>m</UnitType>", "<Offset>1</Offset>"):
        beside.write_text(
            f'<PAMDataset><PAMRasterBand band="1">{said}</PAMRasterBand></PAMDataset>'
        )
        with refuses(InputError, "raster-changed-by-file"):
            read(path)
    beside.write_text(
        '<PAMDataset><Metadata><MDI key="STATISTICS_MEAN">3</MDI></Metadata></PAMDataset>'
    )
    assert read(path) == NUMBERS.tolist()


def test_the_crs_beside_an_ascii_grid_is_its_crs(tmp_path):
    path = tmp_path / "a.asc"
    path.write_text(ASCII + "10 20 30\n40 50 60\n")
    assert read(path) == NUMBERS.tolist()
    for version in ("WKT1_ESRI", "WKT1_GDAL"):
        wkt = rasterio.crs.CRS.from_epsg(3035).to_wkt(version=version)
        path.with_suffix(".prj").write_text(wkt)
        assert read(path) == NUMBERS.tolist()
    path.with_suffix(".prj").write_text(rasterio.crs.CRS.from_epsg(25832).to_wkt())
    with refuses(InputError, "raster-crs-differs"):
        read(path)


FALLING = {"lat": [1.5, 0.5]}


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ({}, [[10, 20, 30], [40, 50, 60]]),
        ({"scale_factor": np.int16(2), "add_offset": 1.0}, [[21, 41, 61], [81, 101, 121]]),
        ({"missing_value": np.array([10, 60], "i2")}, [[0, 20, 30], [40, 50, 0]]),
        ({"scale_factor": "0.1"}, "stored-attribute-not-number: scale_factor"),
        ({"lon": [0.5, 1.5, 3.5]}, "raster-uneven"),
        ({"lon": [2.5, 1.5, 0.5]}, [[30, 20, 10], [60, 50, 40]]),
        ({"lon": [360.5, 361.5, 362.5]}, [[10, 20, 30], [40, 50, 60]]),
        ({"crs": None}, "raster-crs-differs: gdal_translate -a_srs"),
    ],
)
def test_attributes_of_netcdf_are_applied_or_refused(more, wanted, tmp_path):
    path = netcdf(tmp_path, **{**FALLING, **more})
    if isinstance(wanted, list):
        assert read(path, DEGREES) == wanted
    else:
        with refuses(InputError, wanted):
            read(path, DEGREES)


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.float64])
@pytest.mark.parametrize("crs", [4326, None])
def test_an_unlimited_dimension_is_as_long_as_the_file_says(dtype, crs, tmp_path):
    """Rows of the raster are then records, one after another."""
    values = np.arange(12, dtype=dtype).reshape(4, 3)
    grid = Grid.regular((4, 3), crs="EPSG:4326", transform=(1, 0, 0, 0, 1, 0))
    path = netcdf(tmp_path, values, unlimited="lat", crs=crs)
    if crs is None:
        with refuses(InputError, "raster-crs-differs"):
            read(path, grid)
        return
    assert read(path, grid) == values.tolist()
    data = path.read_bytes()
    assert data[4:8] == (4).to_bytes(4, "big")
    for records in (0, 1, 3, 5, 0xFFFFFFFF):
        path.write_bytes(data[:4] + records.to_bytes(4, "big") + data[8:])
        with refuses(InputError, "netcdf-ends-early|netcdf-records-differ|netcdf-records-untold"):
            read(path, grid)
    for away in (0.2, -7):
        lat = np.array([0.5, 1.5, 2.5, 3.5 + away])
        with refuses(InputError, "raster-uneven"):
            read(netcdf(tmp_path, values, lat=lat, unlimited="lat"), grid)


@pytest.mark.parametrize("along", ["lat", "lon"])
def test_one_coordinate_that_is_off_is_found_wherever_it_is(along, tmp_path):
    values, middles = np.ones((12, 12), np.int16), np.arange(12) + 0.5
    grid = Grid.regular((12, 12), crs="EPSG:4326", transform=(1, 0, 0, 0, 1, 0))
    assert read(netcdf(tmp_path, values), grid) == values.tolist()
    for off in 0.1 * np.eye(12):
        with refuses(InputError, "raster-uneven"):
            read(netcdf(tmp_path, values, **{along: middles + off}), grid)


def test_coordinates_in_single_precision_are_on_the_grid(tmp_path):
    grid = Grid.regular((2, 3), crs="EPSG:4326", transform=(1 / 1200, 0, 139, 0, 1 / 1200, 35))
    lon = (139 + (np.arange(3) + 0.5) / 1200).astype(np.float32)
    lat = (35 + (np.arange(2) + 0.5) / 1200).astype(np.float32)
    assert read(netcdf(tmp_path, lon=lon, lat=lat), grid) == NUMBERS.tolist()


def test_axes_that_are_exchanged_or_of_another_unit_are_refused(tmp_path, monkeypatch):
    with refuses(InputError, "raster-axes-exchanged"):
        read(netcdf(tmp_path, dims=("lon", "lat")), DEGREES)
    monkeypatch.setitem(AXES, "x", (AXES["x"][0], "km"))
    path = netcdf(tmp_path, dims=("y", "x"), crs=3035, x=[4000.5, 4001.5, 4002.5])
    for call in (grid_like, read):
        with refuses(InputError, "raster-coordinate-unit"):
            call(path)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4"])
def test_unsigned_numbers_of_netcdf(dtype, tmp_path):
    values = np.array([[-1, 1, 2], [3, 4, 5]], dtype)
    largest = 2 ** (8 * values.dtype.itemsize) - 1
    path = netcdf(tmp_path, values, **FALLING, _Unsigned="true")
    assert read(path, DEGREES) == [[largest, 1, 2], [3, 4, 5]]
    path = netcdf(tmp_path, values, **FALLING, _Unsigned="true", _FillValue=values[0, 0])
    assert read(path, DEGREES) == [[0, 1, 2], [3, 4, 5]]


def test_a_count_that_may_be_the_fill_of_netcdf_is_asked_for(tmp_path):
    values = NUMBERS.copy()
    values[1, 2] = -32767
    assert read(netcdf(tmp_path, values, **FALLING), DEGREES)[1] == [40, 50, 0]
    path = netcdf(tmp_path, values, **FALLING, _Unsigned="true")
    with refuses(InputError, "raster-default-fill") as caught:
        read(path, DEGREES)
    assert caught.value.row == 2
    assert read(path, DEGREES, missing=[32769])[1] == [40, 50, 0]


def test_facts_are_kept_of_every_raster(tmp_path):
    path = tiff(tmp_path, change=set_to(scales=(0.1,), units=("persons",)), nodata=60)
    (source,) = read_raster(path, grid=GRID, missing=[50]).reading.sources
    facts = {(fact.field, fact.value, fact.known_by) for fact in source.facts}
    of_file = {"format": "GTiff", "band": "1 of 1", "stored type": "int16", "scale": "0.1"}
    of_file |= {"nodata": "60.0", "unit": "persons", "CRS": "EPSG:3035"}
    of_file |= {"transform": "1000 0 4000000 0 -1000 3000000"}
    assert facts >= {*((*one, "file") for one in of_file.items()), ("missing", "50", "operator")}
    shown = inspect(path)["raster"]
    assert (shown["scales"], shown["nodata"], shown["units"]) == ([0.1], 60, ["persons"])


@pytest.mark.parametrize("kind", ["tiff", "netcdf", "ascii"])
def test_masks_are_read_from_every_raster_and_may_be_classes(kind, tmp_path):
    inside = np.array([[0, 1, 1], [2, 0, 0]], np.int16)
    if kind == "tiff":
        path, grid = (
            tiff(tmp_path, inside.astype(np.uint8), lambda one: one.write_colormap(1, RED)),
            GRID,
        )
    elif kind == "netcdf":
        path, grid = netcdf(tmp_path, inside, **FALLING, flag_meanings="sea land"), DEGREES
    else:
        path, grid = tmp_path / "a.asc", GRID
        path.write_text(ASCII + "0 1 1\n2 0 0\n")
    masked = read_mask(path, grid, source="a test")
    found = masked.contains(np.indices((2, 3)).reshape(2, -1))
    assert found.tolist() == (inside > 0).ravel().tolist()


def test_a_mask_of_several_bands_or_with_another_zero_is_not_guessed(tmp_path):
    with refuses(InputError, r"band-missing: \b2\b"):
        read_mask(tiff(tmp_path, [NUMBERS, NUMBERS]), GRID, source="a test")
    path = tiff(tmp_path, change=set_to(offsets=(-10,)))
    masked = read_mask(path, GRID, source="a test")
    assert not masked.contains(np.array([[0], [0]])).any()
    assert masked.size == 5
