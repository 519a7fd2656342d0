"""Write the files of a release again, and compare them by their contents.

Tables of cells and their raster can be of any size, and other checks read all of their rows and
pixels. Of these a few rows are written, so that everything else in such files is compared: names
and types, metadata, other tables, triggers, tags. All other files are written in full.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rasterio.enums import ColorInterp, MaskFlags

from geodp.errors import Rule
from geodp.io.folder.formats import find_formats
from geodp.io.folder.publication import describe_entry, write_format
from geodp.io.opening import open_raster
from geodp.io.verify.card import require
from geodp.io.verify.remade import Remaking
from geodp.io.verify.rewritten import describe_raster, is_rewritten, same_structure
from geodp.io.verify.statements import has_words_of
from geodp.io.write.format import Format
from geodp.io.write.geotiff import (
    GeoTiff,
    describe_map,
    overview_factors,
    quiet,
    tags_of_map,
    tile_side,
)
from geodp.io.write.picture import Picture
from geodp.io.write.view import View
from geodp.table.card import File, LeftOut
from geodp.table.plain import write_plain

TABLES = ("csv", "parquet", "gpkg")
"""Formats of the table of cells, whose rows other checks compare."""

SMALL_RASTER = 1 << 24
"""Values of a raster up to which it is written again, with its overviews."""


def check_again(remaking: Remaking) -> str:
    """Require all files, and what the card says of them, to be what the release makes."""
    written, again = remaking.written, remaking.release
    folder, card = written.folder, written.card
    if isinstance(again, str):
        return f"not written again, as {again}"
    own = again.card().mechanism
    if card.in_parts:
        return "not written again, as a release in parts has been written by several processes"
    is_same_version = (card.mechanism.version, card.mechanism.noise_format) == (
        own.version,
        own.noise_format,
    )
    if not (is_same_version and has_words_of(card.software)):
        return "not written again, as another version wrote them"
    view = replace(again.view(card.name), card=card)
    files: list[File] = []
    other: list[str] = []
    left_out: list[LeftOut] = []
    unknown: list[str] = []
    for one in find_formats():
        if not type(one).__module__.startswith("geodp."):
            # Who writes a format of another package says in its documents what its bytes depend on.
            unknown += [f"{card.name}.{ending}" for ending in one.endings]
            continue
        if (reason := one.unsupported(view)) is not None:
            left_out.append(LeftOut(f"{card.name}.{one.endings[0]}", reason))
            continue
        for file, same in _compare(one, view, folder):
            files.append(replace(file, sha256=""))
            other += [] if same else [file.name]
    listed = [replace(one, sha256="") for one in card.files if one.name not in unknown]
    omitted = [one for one in card.left_out if one.name not in unknown]
    require(
        listed == files and omitted == left_out,
        Rule("card-files-differ", "The card describes other files than the release has."),
    )
    names = ", ".join(other)
    require(not other, Rule("file-holds-otherwise", f"Not what the release holds: {names}."))
    return f"{len(files)} files hold what the release does"


def _compare(one: Format, view: View, folder: Path) -> Iterator[tuple[File, bool]]:
    """Yield what the card says of each file of a format, and whether that is as it should be."""
    grid, name = view.table.grid, view.card.name
    if isinstance(one, GeoTiff) and 3 * prod(grid.shape) > SMALL_RASTER:
        with quiet(), open_raster(folder / f"{name}.tif") as raster:
            said = describe_raster(raster)
        expected = _expect_raster(view)
        notes = [note for band in said["statistics"] for note in band]
        yield (
            describe_entry(describe_map(view), folder),
            all(said[part] == value for part, value in expected.items())
            and all(note.startswith("STATISTICS_") for note in notes),
        )
        return
    if isinstance(one, Picture) and not _has_bundled_letters(view):
        # Which other fonts there are differs between machines, and so do pictures.
        yield from ((file, True) for file in view.card.files if file.name == f"{name}.png")
        return
    has_rows = one.name in TABLES
    with TemporaryDirectory(prefix="geodp-") as made:
        again = Path(made)
        for file in write_format(one, _take_few(view) if has_rows else view, again):
            written, own = folder / file.name, again / file.name
            if has_rows:
                same = same_structure(written, own, grid, name, view.size)
            else:
                same = is_rewritten(written, own, grid)
            yield file, same


def _has_bundled_letters(view: View) -> bool:
    """Test whether the bundled font has all letters of a picture."""
    card, grid = view.card, view.table.grid
    said = [
        view.texts,
        card.name,
        view.counted,
        json.dumps(write_plain(card.metadata), ensure_ascii=False),
    ]
    return "".join([*said, *grid.axis_names]).isascii()


def _expect_raster(view: View) -> dict[str, Any]:
    """List what the raster of a release says of its pixels, as far as its size allows."""
    grid, entry = view.table.grid, describe_map(view)
    place, names = grid.places[0], tuple(entry.details["bands"])
    bands, tile = len(names), tile_side(place.rows, place.cols)
    return {
        "form": (
            "GTiff",
            (place.rows, place.cols),
            bands,
            (entry.details["data_type"],) * bands,
            [],
        ),
        "numbers": (
            *(str((float("nan"),) * bands), (1.0,) * bands, (0.0,) * bands),
            ([MaskFlags.nodata],) * bands,
        ),
        "bands": (
            *(names, (view.counted,) * bands),
            (ColorInterp.gray, *[ColorInterp.undefined] * (bands - 1)),
        ),
        "storage": ([(tile, tile)] * bands, [overview_factors(place.rows, place.cols)] * bands),
        "tags": {**tags_of_map(view), "AREA_OR_POINT": "Area"},
        "spaces": ["IMAGE_STRUCTURE"],
        "other": [[]] * bands,
    }


def _take_few(view: View) -> View:
    """Return a view of the rows with the smallest and the largest count, on which types depend."""
    table = view.table
    if not table.key.size:
        return view
    some = np.unique([table.count.argmin(), table.count.argmax()])
    errors = view.errors
    if errors is not None:
        error = errors.standard_error
        errors = replace(errors, standard_error=error if isinstance(error, float) else error[some])
    few = replace(table, key=table.key[some], count=table.count[some])
    return replace(view, table=few, errors=errors)
