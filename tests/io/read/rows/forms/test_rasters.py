"""TIFF, NetCDF and ASCII grids: whole or refused, and all of their numbers."""

import struct
from functools import partial

import numpy as np
import pytest
import rasterio
from rasterio.errors import RasterioError
from scipy.io import netcdf_file

from geodp.errors import InputError
from geodp.grid.grid import Grid
from geodp.io.read.layout.inspect import inspect
from geodp.io.read.public.mask import read_mask
from geodp.io.read.raster import read_raster
from geodp.io.read.rows.forms import raster as module
from geodp.io.read.rows.forms.netcdf import read_header
from geodp.io.read.rows.forms.raster import check_netcdf, check_pixels, check_raster, check_tiff
from geodp.io.read.rows.pixels import grid_like, open_raster_file
from tests.io.files import METRES
from tests.io.read.damage import (
    COLS,
    COUNTS,
    PLANE,
    ROWS,
    TILES,
    N,
    ascii_grid,
    flip,
    mutate,
    netcdf,
    plane,
    refuse,
    tiff,
    unplaced,
)
from tests.refusals import refuses

OFFSETS, LENGTHS = {"strips": 273, "tiles": 324}, {"strips": 279, "tiles": 325}
TOTAL = int(COUNTS.sum())


def total(path):
    return plane(path).count.sum()


def entries(data):
    """Return the entry of every tag of the first directory of a TIFF of Intel's order, by tag."""
    (at,) = struct.unpack("<L", data[4:8])
    (many,) = struct.unpack("<H", data[at : at + 2])
    starts = range(at + 2, at + 2 + 12 * many, 12)
    return {struct.unpack("<H", data[one : one + 2])[0]: one for one in starts}, starts.stop


def change_values(data, tag, change):
    """Return a TIFF whose values of a tag are changed in place."""
    data, at = bytearray(data), entries(data)[0][tag]
    kind, many = struct.unpack("<HL", data[at + 2 : at + 8])
    size = {3: 2, 4: 4}[kind]
    place = at + 8 if size * many <= 4 else struct.unpack("<L", data[at + 8 : at + 12])[0]
    held = np.frombuffer(bytes(data[place : place + size * many]), f"<u{size}").astype(np.int64)
    data[place : place + size * many] = np.asarray(change(held)).astype(f"<u{size}").tobytes()
    return bytes(data)


def first(value):
    return lambda values: np.append(value, values[1:])


@pytest.mark.parametrize("form", ["strips", "tiles"])
@pytest.mark.parametrize("packing", [None, "deflate", "lzw", "packbits", "zstd"])
def test_blocks_that_lie_elsewhere_are_refused(form, packing, tmp_path):
    path = tiff(tmp_path, compress=packing, **(TILES if form == "tiles" else {"blockysize": 8}))
    assert total(path) == TOTAL
    data, offsets, lengths = path.read_bytes(), OFFSETS[form], LENGTHS[form]
    away = [change_values(data, offsets, first(at)) for at in (1 << 20, 0)]
    away += [change_values(data, lengths, first(size)) for size in (60_000, 0)]
    refuse(plane, path, "tiff-ends-early", *away)
    halves = change_values(data, lengths, lambda held: held // 2)
    refuse(plane, path, "raster-unreadable|tiff-checksum|tiff-strip-too-short", halves)


@pytest.mark.parametrize("options", [{}, TILES, {"BIGTIFF": "YES"}, {"ENDIANNESS": "BIG"}])
def test_every_order_and_size_of_tiff_is_followed(options, tmp_path):
    path = tiff(tmp_path, **options)
    assert check_tiff(path, unpack=True) == (0, 12 if options == TILES else 2)
    for read in (plane, grid_like, inspect, partial(read_mask, grid=PLANE, source="a test")):
        refuse(read, path, "tiff-ends-early", path.read_bytes()[:-1])


@pytest.mark.parametrize("options", [{}, TILES])
def test_a_checksum_of_pixels_is_looked_at(options, tmp_path):
    path = tiff(tmp_path, compress="deflate", **options)
    refuse(plane, path, "tiff-checksum", flip(path.read_bytes(), -1))
    check_raster(path, "tiff")


def sparse(folder, written, **profile):
    """A raster whose other blocks were never written."""
    place = rasterio.Affine(*PLANE.places[0].transform)
    size = {"height": ROWS, "width": COLS, "count": 1, "dtype": np.int32, "crs": "EPSG:3035"}
    options = {**size, "transform": place, "driver": "GTiff", "SPARSE_OK": True, **TILES}
    with rasterio.open(folder / "a.tif", "w", **options, **profile) as raster:
        for row, col in written:
            window = rasterio.windows.Window(16 * col, 16 * row, 12 if col == 3 else 16, 16)
            raster.write(np.full((1, 16, int(window.width)), 2, np.int32), window=window)
    return folder / "a.tif"


@pytest.mark.parametrize("packing", [None, "deflate"])
def test_blocks_that_are_left_out_are_nodata_and_are_told(packing, tmp_path):
    path = sparse(tmp_path, [(0, 0), (2, 3)], nodata=-1, compress=packing)
    assert total(path) == 2 * (16 * 16 + 16 * 12)
    (fact,) = check_pixels(path, "tiff")
    assert (fact.field, fact.value) == ("blocks left out, as nodata", "10 of 12")
    assert fact.known_by == "file"
    refuse(plane, sparse(tmp_path, [(0, 0)]), "tiff-blocks-left-out")
    # As what a killed program leaves.
    refuse(plane, sparse(tmp_path, [], nodata=-1), "tiff-never-written")


@pytest.mark.parametrize("part", ["overviews", "mask"])
def test_overviews_and_masks_lie_in_the_file_too(part, tmp_path):
    path = tiff(tmp_path)
    size = path.stat().st_size
    inside = rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True)
    with inside, rasterio.open(path, "r+") as raster:
        if part == "overviews":
            raster.build_overviews([2])
        else:
            raster.write_mask(np.arange(N).reshape(ROWS, COLS) % 2 == 0)
    assert total(path) == (TOTAL if part == "overviews" else COUNTS[::2].sum())
    data = path.read_bytes()
    cut = [data[:keep] for keep in (size + 1, (size + len(data)) // 2, len(data) - 1)]
    refuse(plane, path, "tiff-ends-early|tiff-ends-in-directories", *cut)


def test_a_second_picture_is_not_passed_over(tmp_path):
    """GDAL reads the first page of several; a program for scans appends them."""
    path = tiff(tmp_path)
    tiff(tmp_path, APPEND_SUBDATASET=True)
    refuse(plane, path, "tiff-several-pictures")


def test_a_mask_whose_blocks_are_left_out_hides_nobody(tmp_path):
    path = tiff(tmp_path, **TILES)
    inside = rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True)
    with inside, rasterio.open(path, "r+") as raster:
        raster.write_mask(np.full((ROWS, COLS), 255, np.uint8))
    assert total(path) == TOTAL
    data = path.read_bytes()
    end = entries(data)[1]
    # The tags of the mask, as if its directory were the first one.
    turned = data[:4] + data[end : end + 4] + data[8:]
    for tag in {*OFFSETS.values(), *LENGTHS.values()} & {*entries(turned)[0]}:
        turned = change_values(turned, tag, np.zeros_like)
    refuse(plane, path, "tiff-never-written", data[:8] + turned[8:])


def test_directories_in_a_circle_end(tmp_path):
    path = tiff(tmp_path)
    data = path.read_bytes()
    end = entries(data)[1]
    path.write_bytes(data[:end] + data[4:8] + data[end + 4 :])
    assert check_tiff(path) == (0, 2)


def test_what_gdal_tells_late_of_a_tag_is_a_sentence(tmp_path):
    """In a later call than that which read the tag, and in words that quote it."""
    path = tiff(tmp_path)
    with refuses(InputError, "raster-unreadable"), open_raster_file(path):
        raise RasterioError("Key GTCitationGeoKey has count=41587")
    refuse(plane, path, "raster-unreadable", mutate(path.read_bytes(), 30025))


def write_records(path, names=("count",), dtype="i", cols=COLS):
    """Variables whose lines are records."""
    with netcdf_file(path, "w") as file:
        file.createDimension("lat", None)
        file.createDimension("lon", cols)
        for name in names:
            values = np.arange(ROWS * cols).reshape(ROWS, cols) % 100
            file.createVariable(name, dtype, ("lat", "lon"))[:] = values
        file.createVariable("c", "h", ("lon",))[:] = 1
    return path


@pytest.mark.parametrize(
    ("records", "rule"),
    [
        (ROWS + 1, "netcdf-ends-early"),
        (ROWS - 1, "netcdf-records-differ"),
        (0, "netcdf-records-differ"),
        (0xFFFFFFFF, "netcdf-records-untold"),
    ],
)
def test_the_number_of_records_is_asked(records, rule, tmp_path):
    path = write_records(tmp_path / "a.nc")
    check_netcdf(path)
    data = path.read_bytes()
    refuse(unplaced, path, rule, data[:4] + struct.pack(">L", records) + data[8:])


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "f8"])
@pytest.mark.parametrize("names", [["a"], ["a", "b"]])
def test_small_values_fill_four_bytes(names, dtype, tmp_path):
    """Records of one variable stand without fill, those of several with it."""
    path = write_records(tmp_path / "a.nc", names, dtype, 3)
    check_netcdf(path)
    for name in names:
        assert read_header(path).values(name).ravel().tolist() == [n % 100 for n in range(3 * ROWS)]
    if dtype == "i1":
        refuse(check_netcdf, path, "netcdf-ends-early", path.read_bytes()[:-2])


def write_header(path, version=1):
    with netcdf_file(path, "w", version=version) as file:
        file.title = "odd"
        for name, size in (("time", None), ("y", 2), ("x", 3)):
            file.createDimension(name, size)
        x = file.createVariable("x", "f4", ("x",))
        x[:], x.units, x.limits = [1, 2, 4], "degrees_east", np.array([1, 4], "i2")
        count = file.createVariable("count", "i2", ("time", "y", "x"))
        count[:] = np.ones((2, 2, 3))
        count.scale_factor = np.array([0.1])
        file.createVariable("crs", "i4", ()).name_of_it = "ab"
    return path


@pytest.mark.parametrize("version", [1, 2])
def test_a_header_is_what_scipy_wrote_and_cut_anywhere_it_is_refused(version, tmp_path):
    path = write_header(tmp_path / "a.nc", version)
    header = read_header(path)
    assert dict(header.sizes) == {"time": 0, "y": 2, "x": 3}
    count, x, crs = (header.variables[name] for name in ("count", "x", "crs"))
    assert count.dimensions == ("time", "y", "x")
    assert count.attributes["scale_factor"].tolist() == [0.1]
    assert (x.attributes["units"], x.attributes["limits"].tolist()) == ("degrees_east", [1, 4])
    assert crs.attributes["name_of_it"] == "ab"
    assert header.values("x").tolist() == [1, 2, 4]
    whole = path.read_bytes()
    large = whole[:12] + b"\x7f\xff\xff\xff" + whole[16:]  # which the file cannot hold
    for data in (large, *(whole[:size] for size in range(0, x.begin, 7))):
        path.write_bytes(data)
        with refuses(InputError, "netcdf-ends-in-header"):
            read_header(path).values("x")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (struct.pack(">d", 23.75), struct.pack(">d", np.nan)),
        (struct.pack(">LL", 6, 8 * ROWS), struct.pack(">LL", 2, 8 * ROWS)),
    ],
)
def test_coordinates_that_are_no_numbers_are_refused(old, new, tmp_path):
    path = netcdf(tmp_path)
    data = path.read_bytes()
    assert old in data
    refuse(unplaced, path, "raster-uneven", data.replace(old, new, 1))


def test_names_that_are_no_text_do_not_reach_the_screen(tmp_path, capfd):
    """GDAL's log quotes them, and a library reports that it cannot decode them."""
    path = netcdf(tmp_path, records=True)
    path.write_bytes(path.read_bytes().replace(b"lat\0", b"l\xd3t\0", 1))
    with pytest.raises(InputError):
        unplaced(path)
    assert capfd.readouterr() == ("", "")


def test_what_is_no_whole_raster_of_netcdf_makes_no_grid(tmp_path):
    path = netcdf(tmp_path)
    data = path.read_bytes()
    assert grid_like(path) == Grid.regular((ROWS, COLS), transform=(0.5, 0, 0, 0, -0.5, 24))
    for read in (grid_like, plane):
        refuse(read, path, "netcdf-ends-early|netcdf-ends-in-header", data[:-40])
    for read in (unplaced, inspect):
        refuse(read, path, "netcdf-cdf5", b"CDF\x05" + data[4:])


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda text: text[:-1], "ascii-grid-without-end"),
        (lambda text: text[: text.rindex("\n", 0, -1) + 1], "ascii-grid-values-differ"),
        (lambda text: text[: text.rindex(" ") + 1], "ascii-grid-values-differ"),
        (lambda text: text + "1\n", "ascii-grid-values-differ"),
        (lambda text: text.replace(f"nrows {ROWS}", "nrows 47"), "ascii-grid-values-differ"),
        (lambda text: text.replace(f"ncols {COLS}", "ncols 61"), "ascii-grid-values-differ"),
        (lambda text: text.replace("\n", " x\n"), "ascii-grid-not-number"),
    ],
)
def test_an_ascii_grid_has_as_many_numbers_as_it_says(change, rule, tmp_path):
    path = ascii_grid(tmp_path)
    text = path.read_text()
    refuse(plane, path, rule, change(text).encode())
    path.write_text(text.replace("\n", "\r\n").replace(" ", "\t"))
    assert total(path) == TOTAL


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


@pytest.mark.parametrize("chunk", [100, 1 << 20])
@pytest.mark.parametrize(
    ("body", "rule"),
    [
        *((f"{one}\n3 4\n", "not-number") for one in ("1,000 2", "1 x", "1 -", "1 NA", "0x1 2")),
        *((one, "values-differ") for one in ("1 2\n3\n", "1 2\n3 4\n5 6\n", "1\n")),
        ("1 2\n3 4 #\n", "not-number"),
    ],
)
def test_other_numbers_than_announced_are_refused(body, rule, chunk, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", chunk)
    with refuses(InputError, f"ascii-grid-{rule}"):
        read(tmp_path / "a.asc", HEAD + body)


@pytest.mark.parametrize("value", ["3000000000", "16777217.0", "4503599627370497"])
def test_numbers_keep_their_digits(value, tmp_path):
    assert read(tmp_path / "a.asc", f"{HEAD}{value} 0.0\n0 0\n")[1][0] == int(float(value))
    with refuses(InputError, "stored-digits-lost"):
        read(tmp_path / "a.asc", f"{HEAD}9007199254740993 0\n0 0\n")


def test_long_grids_are_looked_at_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 128)
    head = HEAD.replace("ncols 2", "ncols 4").replace("nrows 2", "nrows 4")
    assert read(tmp_path / "a.asc", head + "1 2 3 4\n" * 4) == [[1, 2], [1, 2]]
    with refuses(InputError, "ascii-grid-not-number"):
        read(tmp_path / "a.asc", head + "1 2 3 4\n" * 3 + "1 2 3 four\n")
