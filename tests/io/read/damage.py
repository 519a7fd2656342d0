"""Files of every form that says how long it is, and what is done to them: cuts and changed bytes.

A new reader or format is one more `Form` in `FORMS`; the cutting law then asks it.
"""

import gzip
import random
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import geopandas
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyogrio
import shapely

from geodp.errors import InputError, UsageError
from geodp.grid.grid import Grid
from geodp.io.read.points import read_points
from geodp.io.read.raster import read_raster
from geodp.io.read.table import read_table
from tests.io.files import write_netcdf, write_tiff
from tests.io.read import dialects
from tests.refusals import refuses

ROWS, COLS = 48, 60
N = ROWS * COLS
"""Records of a table, and pixels of a raster."""

PLANE = Grid.regular((ROWS, COLS), crs="EPSG:3035", transform=(1000, 0, 4e6, 0, -1000, 3.048e6))
DEGREES = Grid.regular((ROWS, COLS), crs="OGC:CRS84", transform=(0.5, 0, 0, 0, -0.5, 24))
MESH = Grid.mesh("jis:half", bounds=(139, 35 + 1 / 3, 140, 36))

_draw = np.random.default_rng(36)
COUNTS = _draw.integers(1, 1000, N)
CODES = [
    f"5339{first}{second}{third:02}{fourth}"
    for first in range(8)
    for second in range(8)
    for third in range(100)
    for fourth in range(1, 5)
][: 8 * N : 8]
MARKS = [f"{number:016x}" for number in _draw.integers(0, 1 << 62, N)]
"""Texts that no packing makes much shorter."""


@dataclass(frozen=True)
class Form:
    """A form of file.

    Attributes
    ----------
    name : str
    write : callable
        Writes the files of one input to a folder and returns the one that is given to ``read``.
    read : callable
        Returns a CountTable.
    cut : str
        Ending of the file that is cut short; default: the one that is given.
    checked : bool
        Whether a checksum covers all that is counted, so that no other table comes of a changed
        byte.
    head : int
        Bytes at the start that it does not cover.
    records : bool
        Whether a file ends anywhere between two records: the first of them alone are whole too.
    """

    name: str
    write: Callable[[Path], Path]
    read: Callable[[Path], Any]
    cut: str = ""
    checked: bool = False
    head: int = 0
    records: bool = False

    def victim(self, path: Path) -> Path:
        """Return the file that is damaged."""
        return path.with_suffix(self.cut) if self.cut else path


RECORDS = {"code": CODES, "n": COUNTS.tolist(), "mark": MARKS}


def frame() -> geopandas.GeoDataFrame:
    """Return a point and a code for every record."""
    x, y = np.meshgrid(4_000_500 + 1000 * np.arange(COLS), 3_047_500 - 1000 * np.arange(ROWS))
    return geopandas.GeoDataFrame(RECORDS, geometry=shapely.points(x.ravel(), y.ravel()), crs=3035)


def lines() -> bytes:
    """Return the records as CSV."""
    return dialects.PLAIN.text(RECORDS)


def text(folder: Path, ending: str = "csv", pack: Callable[[bytes], bytes] = bytes, parts: int = 1):
    """Write the records as CSV, packed in so many parts."""
    data, path = lines(), folder / f"a.{ending}"
    step = -(-len(data) // parts)
    path.write_bytes(b"".join(pack(data[at : at + step]) for at in range(0, len(data), step)))
    return path


gzipped = partial(text, ending="csv.gz", pack=partial(gzip.compress, mtime=0))
zstd = partial(text, ending="csv.zst", pack=partial(pa.Codec("zstd").compress, asbytes=True))


def zipped(folder: Path, packing: int = zipfile.ZIP_DEFLATED) -> Path:
    return dialects.zipped(folder / "a.zip", {"a.csv": lines()}, packing)


def parquet(folder: Path, **options: Any) -> Path:
    pq.write_table(pa.table(RECORDS), folder / "a.parquet", row_group_size=N // 4, **options)
    return folder / "a.parquet"


def table(folder: Path, ending: str) -> Path:
    return dialects.write(folder / f"a.{ending}", RECORDS)


def features(folder: Path, name: str, **options: Any) -> Path:
    frame().to_file(folder / name, **options)
    return folder / name


def bare_table(folder: Path) -> Path:
    pyogrio.write_dataframe(pd.DataFrame(frame().drop(columns="geometry")), folder / "a.dbf")
    return folder / "a.dbf"


def zipped_shapefile(folder: Path) -> Path:
    features(folder, "a.shp")
    parts = {part.name: part.read_bytes() for part in sorted(folder.glob("a.[!z]*"))}
    for name in parts:
        (folder / name).unlink()
    return dialects.zipped(folder / "a.zip", parts)


def geojson(folder: Path) -> Path:
    table = frame().set_crs("OGC:CRS84", allow_override=True)
    table.geometry = shapely.points(np.arange(N) % 90 + 0.5, 10.5)
    table.to_file(folder / "a.geojson")
    return folder / "a.geojson"


def tiff(folder: Path, **profile: Any) -> Path:
    values = COUNTS.reshape(ROWS, COLS).astype(np.int32)
    return write_tiff(folder / "a.tif", values, transform=PLANE.places[0].transform, **profile)


def ascii_grid(folder: Path) -> Path:
    head = f"ncols {COLS}\nnrows {ROWS}\nxllcorner 4000000\nyllcorner 3000000\ncellsize 1000\n"
    rows = "".join(" ".join(map(str, row)) + "\n" for row in COUNTS.reshape(ROWS, COLS).tolist())
    (folder / "a.asc").write_text(head + rows)
    return folder / "a.asc"


def netcdf(folder: Path, version: int = 1, records: bool = False) -> Path:
    """Write a file over lat and lon, and with records over a time of one record."""
    axes = {"lat": 23.75 - 0.5 * np.arange(ROWS), "lon": 0.25 + 0.5 * np.arange(COLS)}
    values = COUNTS.reshape(*[1] * records, ROWS, COLS).astype(np.int32)
    return write_netcdf(folder / "a.nc", values, axes, version=version)


def by_code(path: Path) -> Any:
    return read_table(path, grid=MESH, code="code", value="n")


def by_point(path: Path) -> Any:
    return read_points(path, grid=PLANE)


def by_degrees(path: Path) -> Any:
    return read_points(path, grid=DEGREES, outside="drop")


plane = partial(read_raster, grid=PLANE)
unplaced = partial(read_raster, grid=Grid.regular((ROWS, COLS), transform=(0.5, 0, 0, 0, -0.5, 24)))

DEFLATE = {"checked": True, "head": 512}
TILES = {"tiled": True, "blockxsize": 16, "blockysize": 16}
FORMS = (
    Form("csv", text, by_code, records=True),
    Form("csv.gz", gzipped, by_code, checked=True),
    Form("csv.gz of 3 members", partial(gzipped, parts=3), by_code, checked=True),
    Form("csv.zst", zstd, by_code),
    Form("csv.zst of 3 frames", partial(zstd, parts=3), by_code),
    Form("zip", zipped, by_code, checked=True),
    Form("zip, stored", partial(zipped, packing=zipfile.ZIP_STORED), by_code, checked=True),
    Form("zip, bzip2", partial(zipped, packing=zipfile.ZIP_BZIP2), by_code, checked=True),
    Form("parquet", parquet, by_code),
    Form("parquet, checked", partial(parquet, write_page_checksum=True), by_code),
    Form("xlsx", partial(table, ending="xlsx"), by_code, checked=True),
    Form("ods", partial(table, ending="ods"), by_code, checked=True),
    *(
        Form(f"shp {read.__name__}{cut}", partial(features, name="a.shp"), read, cut=cut)
        for read in (by_point, by_code)
        for cut in ("", ".shx", ".dbf")
    ),
    Form("dbf", bare_table, by_code),
    Form("zipped shapefile", zipped_shapefile, by_code, checked=True),
    Form("zipped shapefile, points", zipped_shapefile, by_point, checked=True),
    *(
        Form(f"{name} {read.__name__}", partial(features, name=name), read)
        for name in ("a.gpkg", "a.fgb")
        for read in (by_point, by_code)
    ),
    Form("fgb, no index", partial(features, name="a.fgb", SPATIAL_INDEX="NO"), by_code),
    Form("geojson", geojson, by_code),
    Form("geojson, points", geojson, by_degrees),
    Form("jsonl", partial(table, ending="jsonl"), by_code, records=True),
    *(
        Form(f"tif, {packing}", partial(tiff, compress=packing), plane)
        for packing in ("none", "lzw", "zstd", "packbits")
    ),
    Form("tif, deflate", partial(tiff, compress="deflate"), plane, **DEFLATE),
    Form("tif, tiles", partial(tiff, **TILES), plane),
    Form("tif, tiles, lzw", partial(tiff, **TILES, compress="lzw"), plane),
    Form(
        "tif, tiles, deflate",
        partial(tiff, **TILES, compress="deflate", predictor=2),
        plane,
        **DEFLATE,
    ),
    Form("bigtiff", partial(tiff, BIGTIFF="YES"), plane),
    Form("asc", ascii_grid, plane),
    *(
        Form(f"nc {version}{records}", partial(netcdf, version=version, records=records), unplaced)
        for version in (1, 2)
        for records in (False, True)
    ),
)


def cuts(size: int, many: int, seed: int = 36) -> list[int]:
    """Return how much of a file is kept in so many cuts.

    It is all but the last 1 to 20 bytes, and as often ends of blocks or anywhere.
    """
    draw = random.Random(seed)
    ends = draw.sample(range(max(size - 20, 0), size), min(size, many // 2, 20))
    blocks = [at for power in (9, 12, 16) for at in range(1 << power, size, 1 << power)]
    few = draw.sample(blocks, min(len(blocks), many // 4))
    anywhere = [draw.randrange(size) for _ in range(max(0, many - len(ends) - len(few)))]
    return sorted({*ends, *few, *anywhere})


def mutate(data: bytes, seed: int, head: int = 0) -> bytes:
    """Return bytes of which a few behind the head were changed, put in or taken out."""
    draw = random.Random(seed)
    found = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        most = len(found) - head
        at = draw.choice((draw.randrange(most), draw.randrange(min(most, 600)))) + head
        if draw.random() < 0.1:
            at = len(found) - 1 - draw.randrange(min(most, 600))
        kind = draw.randrange(4)
        if kind == 0:
            found[at] ^= 1 << draw.randrange(8)
        elif kind == 1:
            found[at] = draw.choice((0, 0xFF, draw.randrange(256)))
        elif kind == 2:
            found[at:at] = draw.randbytes(draw.choice((1, 4, 64)))
        else:
            del found[at : at + min(draw.choice((1, 4, 64, 512)), most - 1)]
    return bytes(found)


def outcomes(
    form: Form, folder: Path, damage: Callable[[bytes], Iterable[bytes]]
) -> Iterator[tuple[bytes, Any]]:
    """Yield each version of a form's file with the table that it gives, or with its refusal.

    Anything but an InputError or a UsageError is raised.
    """
    path = form.write(folder)
    victim = form.victim(path)
    for version in damage(victim.read_bytes()):
        victim.write_bytes(version)
        try:
            found = form.read(path)
        except (InputError, UsageError) as error:
            found = error
        yield version, found


def refuse(
    read: Callable[[Path], Any],
    path: Path,
    rule: str,
    *versions: bytes,
    row: int | None = None,
) -> None:
    """Expect that a file, or each of its versions, is refused with its name and no number."""
    for version in versions or (path.read_bytes() if path.is_file() else b"",):
        if path.is_file():
            path.write_bytes(version)
        with refuses(InputError, rule) as caught:
            read(path)
        assert str(path) in str(caught.value.file)
        assert row in (None, caught.value.row)
        assert not {str(COUNTS.sum()), "987654"} & {*str(caught.value).split()}


def flip(data: bytes, at: int) -> bytes:
    """Return bytes with a bit of one changed."""
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
