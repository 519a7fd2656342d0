"""The map of a release in parts: its tiles, and the raster that joins them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from geodp.features.cluster import tasks
from geodp.features.cluster.run import Run
from geodp.io.folder.manifest import sha256
from geodp.io.folder.parts import PartsFolder
from geodp.io.write import qgis_style
from geodp.io.write.geotiff import EXACT_FLOAT32, MEDIA_TYPE
from geodp.io.write.tiles import Tiling, tile_bands, view_tiles, write_vrt
from geodp.io.write.view import View
from geodp.table.card import Card, File
from geodp.table.released import ReleasedTable

EMPTY = "empty.tif"
"""A single file for all empty tiles inside the domain."""


def draw(
    run: Run,
    tiling: Tiling,
    folder: PartsFolder,
    card: Card,
    entries: list[dict[str, Any]],
) -> list[File]:
    """Have the workers draw the tiles, and join them.

    Parameters
    ----------
    run, tiling, folder
    card : Card
        Card of the release.
    entries : list of dict
        Entries of the parts, with the tiles that they touch.

    Returns
    -------
    list of File
        Files for the card.
    """
    name, card = folder.name, folder.name_card(card)
    largest = max(entry["largest"] for entry in entries)
    dtype = "float32" if largest <= EXACT_FLOAT32 else "float64"
    none = np.empty(0, np.int64)
    table = ReleasedTable(run.cut.grid, none.astype(np.uint64), none, run.cut.event)
    view = view_tiles(table, card)
    parts: dict[int, list[str]] = {number: [] for number in range(tiling.count)}
    for entry in entries:
        for number in entry["tiles"]:
            parts[number].append(str(folder.public / entry["name"]))
    files = _files(run, tiling, name, parts)
    (folder.public / f"{name}.tiles").mkdir()
    # The window of the first tile is the largest, so an empty tile of this size fits everywhere.
    drawn = {file: 0 if file.endswith(EMPTY) else number for number, file in files.items()}
    rows = [
        (
            tiling.window(number),
            [] if file.endswith(EMPTY) else parts[number],
            str(folder.public / file),
            card,
            dtype,
        )
        for file, number in drawn.items()
    ]
    digests = dict(zip(drawn, run.results(tasks.tile, rows), strict=True))
    # A tile outside the domain has no file.
    there = {number: file for number, file in files.items() if digests[file] is not None}
    tiles = [
        File(name=file, media_type=MEDIA_TYPE, what="a tile of the map", sha256=digest)
        for file, digest in sorted(digests.items())
        if digest is not None
    ]
    return [_join(view, tiling, there, folder.public, dtype), _style(view, folder.public), *tiles]


def _files(run: Run, tiling: Tiling, name: str, parts: dict[int, list[str]]) -> dict[int, str]:
    """Return the file of every tile; empty tiles share one, if all lie inside the domain."""
    within, grid = f"{name}.tiles", run.cut.grid
    files = {number: f"{within}/{tiling.name(number)}" for number in parts}
    if grid.domain.is_box:
        files |= {number: f"{within}/{EMPTY}" for number, held in parts.items() if not held}
    return files


def _join(view: View, tiling: Tiling, there: dict[int, str], public: Path, dtype: str) -> File:
    """Join the tiles that were drawn, and return the file's entry in the card."""
    vrt = public / f"{view.name}.vrt"
    write_vrt(view, tiling, there, vrt, dtype=dtype)
    return File(
        name=vrt.name,
        media_type="application/xml",
        what="the counts as a map, north up: tiles joined; cells that the tables do not list are 0",
        extras={
            "bands": tuple(tile_bands(view)),
            "data_type": dtype,
            "nodata": "NaN, outside the domain",
            "unit": view.counted,
        },
        sha256=sha256(vrt),
    )


def _style(view: View, public: Path) -> File:
    """Write the style of the map, and return its entry in the card."""
    path = public / f"{view.name}.qml"
    path.write_text(qgis_style.qml(view), encoding="utf-8", newline="\n")
    return File(
        name=path.name,
        media_type=qgis_style.MEDIA_TYPE,
        what=qgis_style.WHAT,
        sha256=sha256(path),
    )
