"""The files of a release: a public folder that agrees with itself, and a restricted one."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from geodp import progress
from geodp.accuracy.areas import Areas
from geodp.grid.grid import Grid
from geodp.io.folder.digest import OWN, release_id
from geodp.io.folder.manifest import SUMS, sha256, sums_text
from geodp.io.folder.staging import CARD
from geodp.io.write import geotiff, qgis_style, tables
from geodp.io.write.areas import file_names, write_areas
from geodp.io.write.csv import is_marked, write_csv
from geodp.io.write.fonts import families
from geodp.io.write.geometry import has_geometry
from geodp.io.write.hierarchy import regions_file, write_regions
from geodp.io.write.picture import why_no_picture, write_png
from geodp.io.write.uncertainty import Errors, names_of, standard_error_of
from geodp.privacy.event import Measurement
from geodp.table.released import ReleasedTable

INTERVAL = "a 95 % interval of one cell's true count, that of noise and clamp together"

RUN = "run.json"
"""Name of what is for the operator inside ``restricted``."""

CONFIDENTIAL = (
    "CONFIDENTIAL. This folder is for the operator of the release and must not be published: "
    "differential privacy does not protect what it says about the run.\n"
)


@dataclass
class _Files:
    """The public files written so far, as the card lists them."""

    folder: Path
    listed: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[dict[str, str]] = field(default_factory=list)

    def add(self, name: str, media_type: str, what: str, **more: Any) -> None:
        digest = sha256(self.folder / name)
        if media_type.startswith("text/csv") and is_marked(self.folder / name):
            what += "; begins with the byte order mark of UTF-8"
        entry = {"name": name, "media_type": media_type, "what": what, **more, "sha256": digest}
        self.listed.append(entry)


def write_public(
    table: ReleasedTable,
    card: dict[str, Any],
    folder: Path,
    name: str,
    errors: Errors | None,
    areas: Iterable[Areas],
) -> None:
    """Write the card and what it lists into an empty folder."""
    files = _Files(folder)
    identity = _write_tables(table, card, files, name, errors)
    for level in areas:
        progress.begin(f"Writing {level.level}")
        _write_level(level, table.grid, card, files, name, identity)
    _write_raster(table, card, files, name, errors, identity)
    reason = why_no_picture(table.grid)
    if reason is None:
        progress.begin("Drawing the map")
        write_png(table, folder / f"{name}.png", name=name, card=card)
        what = "the map as a picture, colours on a fixed scale"
        if not all(map(families, (name, tables.counted(name, table.event.unit)))):
            what += "; without words for which no font was there with all letters"
        files.add(f"{name}.png", "image/png", what)
    else:
        files.left_out.append({"name": f"{name}.png", "why": reason})
    added = (name, identity, files.listed, files.left_out)
    complete = {**card, **dict(zip(OWN, added, strict=True))}
    (folder / CARD).write_text(json_text(complete), encoding="utf-8")
    sums = {entry["name"]: entry["sha256"] for entry in files.listed}
    sums[CARD] = sha256(folder / CARD)
    (folder / SUMS).write_text(sums_text(sums), encoding="utf-8")


def _write_tables(
    table: ReleasedTable, card: dict[str, Any], files: _Files, name: str, errors: Errors | None
) -> str:
    """Write the CSV and the Parquet file; returns the id of CSV and card."""
    grid, folder = table.grid, files.folder
    columns = [*tables.column_names(grid, name, names_of(errors))]
    listed = "above 0" if card["mechanism"]["nonnegative"] else "that is not 0"
    rows = f"one row for every cell {listed}; cells of the domain that are not listed are 0"
    said = {**_values_in_words(card), **_columns_in_words(grid)}
    write_csv(table, folder / f"{name}.csv", name=name, errors=errors)
    files.add(
        f"{name}.csv",
        "text/csv; charset=utf-8; header=present",
        f"the counts, {rows}",
        columns=columns,
        **said,
        unit=tables.counted(name, table.event.unit),
    )
    files.add(f"{name}.csvt", "text/plain", "types of the CSV's columns, for GDAL and QGIS")
    identity = release_id(folder / f"{name}.csv", card)
    located = has_geometry(grid)
    about = said_of(table.event, card, name, identity)
    tables.write_parquet(
        table, folder / f"{name}.parquet", name=name, errors=errors, metadata=about
    )
    what = "the counts with the cells' outlines" if located else "the counts"
    if located and len(grid.places) == 2:
        what = "the counts with lines from origins to destinations, of length 0 for those who stay"
    files.add(
        f"{name}.parquet",
        "application/vnd.apache.parquet",
        f"{what}, {rows}",
        columns=columns + (["geometry", "bbox"] if located else []),
        **said,
        unit=tables.counted(name, table.event.unit),
        geoparquet="1.1.0" if located else None,
    )
    if grid.regions is not None:
        write_regions(grid.regions, grid, folder / regions_file(name))
        files.add(
            regions_file(name),
            "text/csv; charset=utf-8; header=present",
            "the public table of regions: the code of each cell of the domain, and of the regions "
            "that hold it, the finest level first",
        )
    return identity


def said_of(event: Measurement, card: dict[str, Any], name: str, identity: str) -> dict[str, Any]:
    """What a Parquet file says of its release."""
    return {
        "schema": card["schema"],
        "release_id": identity,
        "epsilon": None if event.epsilon is None else str(event.epsilon),
        "spends": event.spends,
        "guarantee": event.words,
        "private": event.is_private,
        "unit": tables.counted(name, event.unit),
        "count": name,
    }


def _write_level(
    areas: Areas, grid: Grid, card: dict[str, Any], files: _Files, name: str, identity: str
) -> None:
    """Write the files of a level of official areas or regions."""
    stem = file_names(grid, name)[areas.level]
    about = {**said_of(areas.event, card, name, identity), "level": areas.level}
    columns, located = write_areas(areas, files.folder / stem, name=name, metadata=about)
    rows = f"counts of {areas.level}: exactly the sums of their cells inside the domain"
    said = {
        "level": areas.level,
        "unit": tables.counted(name, areas.event.unit),
        "values": card["mechanism"]["values"],
    }
    if areas.standard_error is not None:
        said["standard_error"] = f"of each area {card['expected_error']['holds']}"
    files.add(
        f"{stem}.csv",
        "text/csv; charset=utf-8; header=present",
        rows,
        columns=columns,
        **said,
    )
    files.add(f"{stem}.csvt", "text/plain", "types of the CSV's columns, for GDAL and QGIS")
    files.add(
        f"{stem}.parquet",
        "application/vnd.apache.parquet",
        rows + (", with the areas' outlines" if located else ""),
        columns=columns + (["geometry", "bbox"] if located else []),
        **said,
        geoparquet="1.1.0" if located else None,
    )


def _columns_in_words(grid: Grid) -> dict[str, str]:
    """What the columns of coordinates hold."""
    centred = tables.centre_columns(grid)
    if not centred:
        return {}
    where = grid.places[0].crs or "the grid's own coordinates"
    return {"coordinates": f"{', '.join(centred)}: the cell's centre in {where}"}


def _values_in_words(card: dict[str, Any]) -> dict[str, str]:
    """What the released values can be, where their standard error holds, and what interval is."""
    said, holds = {"values": card["mechanism"]["values"]}, card["expected_error"]["holds"]
    if holds is None:
        return said
    return {**said, "standard_error": f"of one cell {holds}", "low, high": INTERVAL}


def _write_raster(
    table: ReleasedTable,
    card: dict[str, Any],
    files: _Files,
    name: str,
    errors: Errors | None,
    identity: str,
) -> None:
    reason = geotiff.why_no_raster(table)
    if reason is not None:
        files.left_out.append({"name": f"{name}.tif", "why": reason})
        return
    event, software = table.event, card["software"]
    tags = {
        "TIFFTAG_SOFTWARE": f"{software['name']} {software['version']}",
        "GEODP_RELEASE_ID": identity,
        "GEODP_BUDGET": event.spends,
        "GEODP_UNIT": event.unit,
        "GEODP_NEIGHBOURS": event.neighbours,
        "GEODP_CONTRIBUTION": str(event.contribution),
        "GEODP_PRIVATE": "yes" if event.is_private else "NO",
        "GEODP_REPORT": CARD,
    }
    path = files.folder / f"{name}.tif"
    largest = standard_error_of(card)
    if errors is not None and largest is not None:
        errors = replace(errors, standard_error=largest)
    geotiff.write_cog(table, path, name=name, errors=errors, tags=tags)
    files.add(
        path.name,
        "image/tiff; application=geotiff; profile=cloud-optimized",
        "the counts as a map, north up; cells of the domain that the tables do not list are 0",
        bands=geotiff.band_names(table.grid, name, names_of(errors)),
        **_values_in_words(card),
        data_type=geotiff.dtype_of(table),
        nodata="NaN, outside the domain",
        overviews="average, for display: read counts at full resolution",
        unit=tables.counted(name, table.event.unit),
    )
    method = card["mechanism"]
    document = qgis_style.qml(whole=method["whole"], nonnegative=method["nonnegative"])
    (files.folder / f"{name}.qml").write_text(document, encoding="utf-8")
    files.add(f"{name}.qml", "application/xml", "QGIS style of the map: fixed classes")


def json_text(values: dict[str, Any]) -> str:
    """Plain values as a file for people and programs."""
    return json.dumps(values, ensure_ascii=False, indent=2, default=str) + "\n"


def write_restricted(folder: Path, name: str, document: dict[str, Any]) -> None:
    """Write what is for the operator into a folder that is there, with checksums of all of it."""
    write_private(folder / name, json_text(document))
    write_private(folder / "README.txt", CONFIDENTIAL)
    sums = {path.name: sha256(path) for path in folder.iterdir()}
    write_private(folder / SUMS, sums_text(sums))


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
