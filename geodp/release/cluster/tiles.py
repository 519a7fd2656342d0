"""The map of a release in parts: which tiles there are, and the raster that joins them."""

from __future__ import annotations

from typing import Any

from geodp.io.folder.manifest import sha256
from geodp.io.folder.parts import PartsFolder
from geodp.io.folder.staging import CARD
from geodp.io.write import qgis_style
from geodp.io.write.geotiff import EXACT_FLOAT32
from geodp.io.write.tables import counted
from geodp.io.write.tiles import Tiling, mosaic_bands, write_vrt
from geodp.io.write.uncertainty import standard_error_of
from geodp.release.cluster import tasks
from geodp.release.cluster.run import Run

EMPTY = "empty.tif"
"""One tile for all that hold nobody and lie inside the domain."""


def draw(
    run: Run,
    tiling: Tiling,
    folder: PartsFolder,
    card: dict[str, Any],
    entries: list[dict[str, Any]],
) -> list[dict[str, Any]]:
    """Have the workers draw the tiles, and join them.

    Parameters
    ----------
    run, tiling, folder
    card : dict
        Of the release.
    entries : list of dict
        Of the parts, with the tiles that they touch.

    Returns
    -------
    list of dict
        What the card lists.
    """
    grid, name, event = run.cut.grid, folder.name, run.cut.event
    error, software = standard_error_of(card), card["software"]
    dtype = "float32" if max(e["largest"] for e in entries) <= EXACT_FLOAT32 else "float64"
    tags = {
        "TIFFTAG_SOFTWARE": f"{software['name']} {software['version']}",
        "GEODP_BUDGET": event.spends,
        "GEODP_UNIT": event.unit,
        "GEODP_NEIGHBOURS": event.neighbours,
        "GEODP_CONTRIBUTION": str(event.contribution),
        "GEODP_PRIVATE": "yes" if event.is_private else "NO",
        "GEODP_REPORT": CARD,
    }
    parts: dict[int, list[str]] = {number: [] for number in range(tiling.count)}
    for entry in entries:
        for number in entry["tiles"]:
            parts[number].append(str(folder.public / entry["name"]))
    within = f"{name}.tiles"
    files = {number: f"{within}/{tiling.name(number)}" for number in parts}
    if grid.mask is None and grid.regions is None:
        files |= {number: f"{within}/{EMPTY}" for number, held in parts.items() if not held}
    (folder.public / within).mkdir()
    # The window of the first tile is the largest, so what shows nobody there does so anywhere.
    drawn = {file: 0 if file.endswith(EMPTY) else number for number, file in files.items()}
    rows = [
        (
            tiling.window(number),
            [] if file.endswith(EMPTY) else parts[number],
            str(folder.public / file),
            *(name, error, dtype, tags),
        )
        for file, number in drawn.items()
    ]
    digests = dict(zip(drawn, run.results(tasks.tile, rows), strict=True))
    vrt = folder.public / f"{name}.vrt"
    there = {number: file for number, file in files.items() if digests[file] is not None}
    names = mosaic_bands(grid, name, error is not None)
    write_vrt(
        tiling, there, vrt, names=names, unit=counted(name, event.unit), dtype=dtype, tags=tags
    )
    method = card["mechanism"]
    look = folder.public / f"{name}.qml"
    document = qgis_style.qml(whole=method["whole"], nonnegative=method["nonnegative"])
    look.write_text(document, encoding="utf-8")
    what = "the counts as a map, north up: tiles joined; cells that the tables do not list are 0"
    kind = "image/tiff; application=geotiff; profile=cloud-optimized"
    return [
        {
            "name": vrt.name,
            "media_type": "application/xml",
            "what": what,
            "bands": names,
            "data_type": dtype,
            "nodata": "NaN, outside the domain",
            "unit": counted(name, event.unit),
            "sha256": sha256(vrt),
        },
        {
            "name": look.name,
            "media_type": "application/xml",
            "what": "QGIS style of the map: fixed classes",
            "sha256": sha256(look),
        },
        *(
            {"name": file, "media_type": kind, "what": "a tile of the map", "sha256": digest}
            for file, digest in sorted(digests.items())
            if digest is not None
        ),
    ]
