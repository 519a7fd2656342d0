"""TIFF, NetCDF and ASCII grids: whole or refused."""

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
from geodp.io.read.rows.forms.raster import check_netcdf, check_pixels, check_raster, check_tiff
from geodp.io.read.rows.pixels import grid_like, open_raster_file
from tests.command import geodp
from tests.io.read.damage import (
    COLS,
    COUNTS,
    PLANE,
    ROWS,
    N,
    ascii_grid,
    cdf5,
    mutate,
    netcdf,
    plane,
    tiff,
    unplaced,
)
from tests.refusals import refuses

OFFSETS, LENGTHS = {"strips": 273, "tiles": 324}, {"strips": 279, "tiles": 325}
TILED = {"tiled": True, "blockxsize": 16, "blockysize": 16}
TOTAL = int(COUNTS.sum())


def refuse(read, path, rule):
    with refuses(InputError, rule) as caught:
        read(path)
    assert caught.value.file == str(path)
    assert str(TOTAL) not in str(caught.value)


def entry(data, tag):
    """Where the entry of a tag stands in the first directory of a TIFF of Intel's order."""
    (at,) = struct.unpack("<L", data[4:8])
    (many,) = struct.unpack("<H", data[at : at + 2])
    entries = range(at + 2, at + 2 + 12 * many, 12)
    return next(one for one in entries if struct.unpack("<H", data[one : one + 2])[0] == tag)


def change_values(path, tag, change):
    """Change the values of a tag of the first directory in place."""
    data = bytearray(path.read_bytes())
    at = entry(data, tag)
    kind, many = struct.unpack("<HL", data[at + 2 : at + 8])
    size = {3: 2, 4: 4}[kind]
    place = at + 8 if size * many <= 4 else struct.unpack("<L", data[at + 8 : at + 12])[0]
    held = np.frombuffer(bytes(data[place : place + size * many]), f"<u{size}").astype(np.int64)
    data[place : place + size * many] = np.asarray(change(held)).astype(f"<u{size}").tobytes()
    path.write_bytes(data)


def first(value):
    def change(values):
        values[0] = value
        return values

    return change


# TIFF


@pytest.mark.parametrize("form", ["strips", "tiles"])
@pytest.mark.parametrize("packing", [None, "deflate", "lzw", "packbits", "zstd"])
def test_blocks_that_lie_elsewhere_are_refused(form, packing, tmp_path):
    options = {"compress": packing, **(TILED if form == "tiles" else {"blockysize": 8})}
    for tag, change, rule in (
        (OFFSETS[form], first(1 << 20), "tiff-ends-early"),
        (OFFSETS[form], first(0), "tiff-ends-early"),
        (LENGTHS[form], first(60_000), "tiff-ends-early"),
        (LENGTHS[form], first(0), "tiff-ends-early"),
        (
            LENGTHS[form],
            lambda held: held // 2,
            "raster-unreadable|tiff-checksum|tiff-strip-too-short",
        ),
    ):
        path = tiff(tmp_path, **options)
        assert plane(path).count.sum() == TOTAL
        change_values(path, tag, change)
        refuse(plane, path, rule)


@pytest.mark.parametrize("options", [{}, TILED, {"BIGTIFF": "YES"}, {"ENDIANNESS": "BIG"}])
def test_every_order_and_size_of_tiff_is_followed(options, tmp_path):
    path = tiff(tmp_path, **options)
    blocks = 12 if options == TILED else 2
    assert check_tiff(path, unpack=True) == (0, blocks)
    path.write_bytes(path.read_bytes()[:-1])
    for read in (plane, grid_like, inspect):
        refuse(read, path, "tiff-ends-early")


@pytest.mark.parametrize("options", [{}, TILED])
def test_a_checksum_of_pixels_is_looked_at(options, tmp_path):
    path = tiff(tmp_path, compress="deflate", **options)
    data = path.read_bytes()
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    check_raster(path, "tiff")
    refuse(plane, path, "tiff-checksum")


def sparse(folder, written, **profile):
    """A raster whose other blocks were never written."""
    place = rasterio.Affine(*PLANE.places[0].transform)
    size = {"height": ROWS, "width": COLS, "count": 1, "dtype": np.int32, "crs": "EPSG:3035"}
    options = {**size, "transform": place, "driver": "GTiff", "SPARSE_OK": True, **TILED}
    with rasterio.open(folder / "a.tif", "w", **options, **profile) as raster:
        for row, col in written:
            window = rasterio.windows.Window(16 * col, 16 * row, 12 if col == 3 else 16, 16)
            raster.write(np.full((1, 16, int(window.width)), 2, np.int32), window=window)
    return folder / "a.tif"


@pytest.mark.parametrize("packing", [None, "deflate"])
def test_blocks_that_are_left_out_are_nodata_and_are_told(packing, tmp_path):
    path = sparse(tmp_path, [(0, 0), (2, 3)], nodata=-1, compress=packing)
    assert plane(path).count.sum() == 2 * (16 * 16 + 16 * 12)
    (fact,) = check_pixels(path, "tiff")
    assert (fact.field, fact.value, fact.known_by) == (
        "blocks left out, as nodata",
        "10 of 12",
        "file",
    )
    path = sparse(tmp_path, [(0, 0)])
    refuse(plane, path, "tiff-blocks-left-out")


def test_a_raster_that_was_never_written_is_refused(tmp_path):
    """As what a killed program leaves."""
    path = sparse(tmp_path, [], nodata=-1)
    refuse(plane, path, "tiff-never-written")


def test_overviews_and_masks_lie_in_the_file_too(tmp_path):
    for part in ("overviews", "mask"):
        path = tiff(tmp_path)
        size = path.stat().st_size
        with (
            rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True),
            rasterio.open(path, "r+") as raster,
        ):
            if part == "overviews":
                raster.build_overviews([2])
            else:
                raster.write_mask(np.arange(N).reshape(ROWS, COLS) % 2 == 0)
        whole = TOTAL if part == "overviews" else COUNTS[::2].sum()
        assert plane(path).count.sum() == whole
        data = path.read_bytes()
        for keep in (size + 1, (size + len(data)) // 2, len(data) - 1):
            path.write_bytes(data[:keep])
            refuse(plane, path, "tiff-ends-early|tiff-ends-in-directories")


def test_a_second_picture_is_not_passed_over(tmp_path):
    """GDAL reads the first page of several; a program for scans appends them."""
    path = tiff(tmp_path)
    place = rasterio.Affine(*PLANE.places[0].transform)
    size = {"height": ROWS, "width": COLS, "count": 1, "dtype": np.int32, "crs": "EPSG:3035"}
    options = {**size, "transform": place, "driver": "GTiff", "APPEND_SUBDATASET": True}
    with rasterio.open(path, "w", **options) as raster:
        raster.write(np.ones((1, ROWS, COLS), np.int32))
    refuse(plane, path, "tiff-several-pictures")


def test_a_mask_whose_blocks_are_left_out_hides_nobody(tmp_path):
    path = tiff(tmp_path, **TILED)
    options = {"GDAL_TIFF_INTERNAL_MASK": True}
    with rasterio.Env(**options), rasterio.open(path, "r+") as raster:
        raster.write_mask(np.full((ROWS, COLS), 255, np.uint8))
    assert plane(path).count.sum() == TOTAL
    data = bytearray(path.read_bytes())
    (at,) = struct.unpack("<L", data[4:8])
    (many,) = struct.unpack("<H", data[at : at + 2])
    (mask,) = struct.unpack("<L", data[at + 2 + 12 * many : at + 6 + 12 * many])
    (many,) = struct.unpack("<H", data[mask : mask + 2])
    for entry_at in range(mask + 2, mask + 2 + 12 * many, 12):
        tag, kind, count, value = struct.unpack("<HHLL", data[entry_at : entry_at + 12])
        if tag in (*OFFSETS.values(), *LENGTHS.values()):
            length = {3: 2, 4: 4}[kind] * count
            where = entry_at + 8 if length <= 4 else value
            data[where : where + length] = bytes(length)
    path.write_bytes(data)
    refuse(plane, path, "tiff-never-written")


def test_directories_in_a_circle_end(tmp_path):
    path = tiff(tmp_path)
    data = bytearray(path.read_bytes())
    (at,) = struct.unpack("<L", data[4:8])
    (many,) = struct.unpack("<H", data[at : at + 2])
    data[at + 2 + 12 * many : at + 6 + 12 * many] = struct.pack("<L", at)
    path.write_bytes(data)
    assert check_tiff(path) == (0, 2)


# NetCDF


def write_records(path, records, lines=ROWS):
    """A variable whose lines are records, and how many there are in the header."""
    with netcdf_file(path, "w") as file:
        file.createDimension("lat", None)
        file.createDimension("lon", COLS)
        file.createVariable("count", "i", ("lat", "lon"))[:] = np.ones((lines, COLS))
    data = path.read_bytes()
    path.write_bytes(data[:4] + struct.pack(">L", records) + data[8:])
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
    check_netcdf(write_records(tmp_path / "a.nc", ROWS))
    path = write_records(tmp_path / "a.nc", records)
    refuse(unplaced, path, rule)


def test_small_values_fill_four_bytes(tmp_path):
    """Records of one variable stand without fill, those of several with it."""
    for names in (("a",), ("a", "b")):
        with netcdf_file(tmp_path / "a.nc", "w") as file:
            file.createDimension("t", None)
            file.createDimension("x", 3)
            for name in names:
                file.createVariable(name, "b", ("t", "x"))[:] = np.ones((5, 3))
            file.createVariable("c", "h", ("x",))[:] = 1
        check_netcdf(tmp_path / "a.nc")
        data = (tmp_path / "a.nc").read_bytes()
        (tmp_path / "a.nc").write_bytes(data[:-2])
        refuse(check_netcdf, tmp_path / "a.nc", "netcdf-ends-early")


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
    path.write_bytes(data.replace(old, new, 1))
    refuse(unplaced, path, "raster-uneven")


def test_what_gdal_tells_late_of_a_tag_is_a_sentence(tmp_path):
    """In a later call than that which read the tag, and in words that quote it."""
    path = tiff(tmp_path)
    with refuses(InputError, "raster-unreadable"), open_raster_file(path):
        raise RasterioError("Key GTCitationGeoKey has count=41587")
    path.write_bytes(mutate(path.read_bytes(), 30025))
    refuse(plane, path, "raster-unreadable")


def test_names_that_are_no_text_do_not_reach_the_screen(tmp_path, capfd):
    """GDAL's log quotes them, and a library reports that it cannot decode them."""
    path = netcdf(tmp_path, records=True)
    path.write_bytes(path.read_bytes().replace(b"lat\0", b"l\xd3t\0", 1))
    with pytest.raises(InputError):
        unplaced(path)
    assert capfd.readouterr() == ("", "")


def test_cdf5_is_refused_with_a_remedy_that_is_read(tmp_path):
    path = tmp_path / "a.nc"
    path.write_bytes(cdf5())
    for read in (unplaced, inspect):
        refuse(read, path, "netcdf-cdf5")


# ASCII grids


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda text: text[:-1], "ascii-grid-without-end"),
        (lambda text: text[: text.rindex("\n", 0, -1) + 1], "ascii-grid-values-differ"),
        (lambda text: text[: text.rindex(" ") + 1], "ascii-grid-values-differ"),
        (lambda text: text + "1\n", "ascii-grid-values-differ"),
        (
            lambda text: text.replace(f"nrows {ROWS}", f"nrows {ROWS - 1}"),
            "ascii-grid-values-differ",
        ),
        (
            lambda text: text.replace(f"ncols {COLS}", f"ncols {COLS + 1}"),
            "ascii-grid-values-differ",
        ),
    ],
)
def test_an_ascii_grid_has_as_many_numbers_as_it_says(change, rule, tmp_path):
    path = ascii_grid(tmp_path)
    assert plane(path).count.sum() == TOTAL
    text = path.read_text()
    path.write_text(change(text))
    refuse(plane, path, rule)
    path.write_text(text.replace("\n", "\r\n").replace(" ", "\t"))
    assert plane(path).count.sum() == TOTAL


# Other doors


def test_a_mask_that_was_cut_is_refused(tmp_path):
    path = tiff(tmp_path)
    read = partial(read_mask, grid=PLANE, source="a test")
    assert read(path).size == N
    path.write_bytes(path.read_bytes()[:-1])
    refuse(read, path, "tiff-ends-early")


def test_the_command_says_it_in_a_sentence(tmp_path):
    path = tiff(tmp_path, compress="lzw")
    path.write_bytes(path.read_bytes()[:-100])
    words = ("--domain-is-public", "--contribution", "1", "--epsilon", "1")
    done = geodp("publish", path, *words, "--output", tmp_path / "out")
    assert done.returncode == 5
    assert "a.tif: The TIFF ends before" in done.stderr
    assert not (tmp_path / "out" / "public").exists()


def test_a_grid_is_not_taken_from_half_a_raster(tmp_path):
    path = netcdf(tmp_path)
    assert grid_like(path) == Grid.regular((ROWS, COLS), transform=(0.5, 0, 0, 0, -0.5, 24))
    path.write_bytes(path.read_bytes()[:-40])
    refuse(grid_like, path, "netcdf-ends-early|netcdf-ends-in-header")
    refuse(
        lambda one: read_raster(one, grid=PLANE), path, "netcdf-ends-early|netcdf-ends-in-header"
    )
