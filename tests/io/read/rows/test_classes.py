"""Rasters that say, in them or beside them, that they hold classes are not counted."""

import struct

import numpy as np
import pytest

from geodp.errors import InputError
from geodp.grid.grid import Grid
from geodp.io.read.public.mask import read_mask
from geodp.io.read.raster import read_raster
from tests.io.files import write_tiff
from tests.refusals import refuses

PLACE = (100, 0, 4e6, 0, -100, 3e6)
GRID = Grid.regular((4, 4), crs="EPSG:3035", transform=PLACE)
NUMBERS = np.arange(16, dtype=np.uint8).reshape(4, 4)
CATEGORIES = "<CategoryNames><Category>sea</Category><Category>town</Category></CategoryNames>"
COLOURS = '<ColorTable><Entry c1="0" c2="0" c3="0" c4="255"/></ColorTable>'
TABLE = (
    '<GDALRasterAttributeTable tableType="thematic"><FieldDefn index="0"><Name>Class</Name>'
    "<Type>2</Type><Usage>2</Usage></FieldDefn></GDALRasterAttributeTable>"
)
STATISTICS = '<Metadata><MDI key="STATISTICS_MAXIMUM">4</MDI></Metadata>'


def raster(folder, *, bands=None, whole=None, **profile):
    def change(file):
        file.update_tags(1, **(bands or {}))
        file.update_tags(**(whole or {}))

    return write_tiff(folder / "a.tif", NUMBERS, change, transform=PLACE, **profile)


def beside(folder, text):
    """A raster with GDAL's metadata beside it."""
    path = raster(folder)
    band = f'<PAMDataset><PAMRasterBand band="1">{text}</PAMRasterBand></PAMDataset>'
    (folder / "a.tif.aux.xml").write_text(band)
    return path


def inside(folder, text, **profile):
    """A raster with GDAL's metadata in it, as versions from 3.12 on write tables of attributes."""
    path = raster(folder, bands={"room": "x" * len(text)}, **profile)
    data = path.read_bytes()
    start, end = data.index(b"<GDALMetadata>"), data.index(b"</GDALMetadata>") + 15
    written = f"<GDALMetadata>{text}</GDALMetadata>".encode().ljust(end - start)
    path.write_bytes(data[:start] + written + data[end:])
    return path


def with_table(folder, ending, *fields):
    """A raster with a table of attributes as ArcGIS writes it."""
    path = raster(folder)
    head = struct.pack("<B3BLHH20x", 3, 124, 1, 1, 0, 33 + 32 * len(fields), 1 + 10 * len(fields))
    for name in fields:
        head += name.encode().ljust(11, b"\0") + b"N\0\0\0\0\n\0".ljust(21, b"\0")
    (folder / ending).write_bytes(head + b"\r")
    return path


@pytest.mark.parametrize(
    "build",
    [
        *(lambda folder, text=text: beside(folder, text) for text in (CATEGORIES, COLOURS, TABLE)),
        lambda folder: inside(folder, TABLE),
        lambda folder: inside(folder, TABLE, BIGTIFF="YES"),
        lambda folder: with_table(folder, "a.tif.vat.dbf", "Value", "Count", "LANDUSE"),
        lambda folder: with_table(folder, "a.vat.dbf", "VALUE", "CLASS_NAME"),
        lambda folder: with_table(folder, "a.tif.vat.dbf"),
    ],
)
def test_classes_are_not_counted_and_make_masks(build, tmp_path):
    path = build(tmp_path)
    for unit in (None, 1):
        with refuses(InputError, "raster-has-classes"):
            read_raster(path, grid=GRID, value_unit=unit)
    assert read_mask(path, GRID, source="land cover").size == 15, "all but 0"


@pytest.mark.parametrize(
    "build",
    [
        lambda folder: beside(folder, STATISTICS),
        lambda folder: inside(folder, '<Item name="a">b</Item>'),
        lambda folder: with_table(folder, "a.tif.vat.dbf", "OID", "Value", "Count"),
        lambda folder: raster(folder, bands={"LAYER_TYPE": "athematic"}),
        lambda folder: raster(folder, whole={"DataType": "Generic"}),
    ],
)
def test_statistics_are_no_classes(build, tmp_path):
    table = read_raster(build(tmp_path), grid=GRID)
    assert table.count.sum() == NUMBERS.sum()


@pytest.mark.parametrize(
    "build",
    [
        lambda folder: raster(folder, bands={"LAYER_TYPE": "thematic"}),
        lambda folder: raster(folder, whole={"DataType": "Thematic"}),
        lambda folder: beside(folder, '<Metadata><MDI key="LAYER_TYPE">thematic</MDI></Metadata>'),
    ],
)
def test_a_thematic_raster_is_asked_whether_it_counts(build, tmp_path):
    path = build(tmp_path)
    with refuses(InputError, r"raster-thematic: \(--raster-unit, value_unit=\)"):
        read_raster(path, grid=GRID)
    assert read_raster(path, grid=GRID, value_unit=1).count.sum() == NUMBERS.sum()
