"""The map of a release in parts, read without GDAL's virtual format.

GDAL would follow whatever a VRT names: other files, scripts, the network. What a release in parts
holds is therefore read as XML and compared with the only form that is written, and the tiles that
it names are opened by this package.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import numpy as np
from numpy.typing import NDArray
from rasterio import Affine
from rasterio.windows import Window
from rasterio.windows import intersect as meet

from geodp.errors import Rule, VerificationError
from geodp.io.opening import open_raster
from geodp.io.write.tiles import GDAL_TYPES, MAX_TILES

MOST_XML = 1 << 27
"""Bytes of the file: 4096 tiles in 65 bands."""

SOURCE = ["SourceFilename", "SourceBand", "SrcRect", "DstRect"]
RECT = ("xOff", "yOff", "xSize", "ySize")


@dataclass(frozen=True)
class Tileset:
    """Tiles that are one raster; outside of them it is NaN.

    Attributes
    ----------
    shape : (int, int)
        Rows and columns.
    count : int
        Bands.
    dtype : {"float32", "float64"}
    srs : str or None
        The CRS as text that nobody has looked at.
    transform : Affine or None
    tiles : tuple of (Path, Window)
        Files, and where their upper left corners lie and how much of them is shown.
    """

    shape: tuple[int, int]
    count: int
    dtype: str
    srs: str | None
    transform: Affine | None
    tiles: tuple[tuple[Path, Window], ...]

    def read(self, band: int, window: Window) -> NDArray[Any]:
        """Values of a band (counted from 1) in a window: float32 or float64[rows, cols].

        Raises VerificationError for a tile of another type or size.
        """
        found = np.full((window.height, window.width), np.nan, self.dtype)
        for path, place in self.tiles:
            if not meet(window, place):
                continue
            piece = window.intersection(place)
            row, col = piece.row_off - window.row_off, piece.col_off - window.col_off
            inner = Window(
                piece.col_off - place.col_off,
                piece.row_off - place.row_off,
                piece.width,
                piece.height,
            )
            with open_raster(path) as tile:
                if (
                    tile.count != self.count
                    or tile.dtypes[band - 1] != self.dtype
                    or tile.height < place.height
                    or tile.width < place.width
                ):
                    raise VerificationError(
                        f"{path.name} is no tile of the raster.", code="tile-unfit"
                    )
                values = tile.read(band, window=inner)
            found[row : row + piece.height, col : col + piece.width] = values
        return found


def read_tileset(path: Path, listed: Collection[str]) -> Tileset:
    """Read what a VRT of :func:`geodp.io.write.tiles.write_vrt` says.

    Parameters
    ----------
    path : Path
    listed : collection of str
        Files of the release, relative to the folder of ``path``: no other is opened.

    Raises
    ------
    VerificationError
        Anything that this package does not write: other elements, attributes, sources, or tiles
        that overlap.
    OSError
        The file cannot be read.
    """
    with path.open("rb") as file:
        data = file.read(MOST_XML + 1)
    try:
        text = data.decode("utf-8")
        if len(data) > MOST_XML or "<!" in text or "<?" in text:
            raise VerificationError(NO_VRT)
        return _parse(Xml.fromstring(text), path.parent, listed)
    except (Xml.ParseError, ValueError, KeyError, TypeError) as error:
        raise VerificationError(NO_VRT) from error


NO_VRT = Rule("vrt-unfit", "The raster is no VRT of tiles as releases have them.")


def _parse(root: Xml.Element, folder: Path, listed: Collection[str]) -> Tileset:
    shape = _number(root, "rasterYSize"), _number(root, "rasterXSize")
    _require_plain(root, "VRTDataset", ("rasterXSize", "rasterYSize"))
    srs, transform, metadata = (root.find(tag) for tag in ("SRS", "GeoTransform", "Metadata"))
    bands = root.findall("VRTRasterBand")
    known = [part for part in (srs, transform, metadata) if part is not None]
    _require(len(root) == len(known) + len(bands) and bool(bands))
    for part in known:
        _require_plain(part, part.tag, ())
        inner = list(part)
        _require(not inner or part is metadata)
        for item in inner:
            _require_plain(item, "MDI", ("key",))
            _require(not len(item))
    kind = bands[0].get("dataType")
    dtype = next(name for name, gdal in [*GDAL_TYPES.items(), ("", kind)] if gdal == kind)
    sources = [_sources(band, number, str(kind)) for number, band in enumerate(bands, 1)]
    _require(bool(dtype) and all(found == sources[0] for found in sources))
    _require(len(sources[0]) <= MAX_TILES and {name for name, _ in sources[0]} <= {*listed})
    _require_apart([rect for _, rect in sources[0]], shape)
    numbers = None
    if transform is not None:
        numbers = Affine.from_gdal(*map(float, str(transform.text).split(",")))
    tiles = tuple((folder / name, Window(*rect)) for name, rect in sources[0])
    return Tileset(shape, len(bands), dtype, None if srs is None else srs.text, numbers, tiles)


def _sources(band: Xml.Element, number: int, kind: str) -> list[tuple[str, tuple[int, ...]]]:
    """Files and rectangles of a band."""
    _require_plain(band, "VRTRasterBand", ("dataType", "band"))
    _require((band.get("dataType"), band.get("band")) == (kind, str(number)))
    said = {"Description": None, "NoDataValue": "nan", "UnitType": None}
    found: list[tuple[str, tuple[int, ...]]] = []
    for part in band:
        _require_plain(part, part.tag, ())
        if part.tag in said:
            _require(not len(part) and said[part.tag] in (None, part.text))
            continue
        _require(part.tag == "SimpleSource" and [inner.tag for inner in part] == SOURCE)
        file, source_band, source, target = part
        _require_plain(file, "SourceFilename", ("relativeToVRT",))
        _require_plain(source_band, "SourceBand", ())
        _require(file.get("relativeToVRT") == "1" and source_band.text == str(number))
        for rect in (source, target):
            _require_plain(rect, rect.tag, RECT)
        _require(not any(len(inner) for inner in part))
        cut, placed = (tuple(_number(rect, name) for name in RECT) for rect in (source, target))
        _require(cut == (0, 0, *placed[2:]))
        found.append((str(file.text), placed))
    return found


def _require_apart(rects: list[tuple[int, ...]], shape: tuple[int, int]) -> None:
    """Tiles lie in the raster, and none on another."""
    at = np.array(rects, np.int64).reshape(-1, 4)
    low, high = at[:, :2], at[:, :2] + at[:, 2:]
    _require(bool((low >= 0).all() and (at[:, 2:] > 0).all() and (high <= shape[::-1]).all()))
    for number in range(len(at)):
        shared = (low[number + 1 :] < high[number]) & (high[number + 1 :] > low[number])
        _require(not shared.all(axis=1).any())


def _number(part: Xml.Element, name: str) -> int:
    text = part.get(name, "")
    _require(text.isascii() and text.isdigit() and len(text) < 10)
    return int(text)


def _require_plain(part: Xml.Element, tag: str, attributes: Collection[str]) -> None:
    """Require an element of this name, with these attributes and no others."""
    _require(part.tag == tag and {*part.attrib} == {*attributes})


def _require(ok: bool) -> None:
    if not ok:
        raise VerificationError(NO_VRT)
