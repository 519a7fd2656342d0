"""Write the files of a release again, and compare them by their contents.

Each format is written from what the Parquet file holds, the Parquet file itself among them, and
removed before the next. Most files have the same bytes then, and need not be read. Writing a large
raster takes several times as long as reading it, and the tiles of a release in parts have been
written by several processes: these are compared with the table, a window at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from math import prod
from pathlib import Path
from shutil import disk_usage
from tempfile import TemporaryDirectory
from typing import Any

from rasterio.enums import ColorInterp, MaskFlags

from geodp.errors import OutputError, Rule
from geodp.grid.crs import same_crs
from geodp.grid.lattice import Lattice
from geodp.io.folder.formats import find_formats
from geodp.io.folder.publication import describe_entry, write_format
from geodp.io.opening import open_parquet
from geodp.io.verify.card import require
from geodp.io.verify.chunks import parquet_files
from geodp.io.verify.readback import open_map, raster_file
from geodp.io.verify.rewritten import (
    describe_raster,
    has_bands,
    has_bundled_letters,
    is_rewritten,
    same_pixels,
)
from geodp.io.verify.statements import has_words_of
from geodp.io.verify.tileset import Tileset
from geodp.io.verify.written import Remaking, WrittenErrors, write_errors
from geodp.io.write import geotiff
from geodp.io.write.format import Format
from geodp.io.write.parquet import write_parquet
from geodp.io.write.picture import Picture
from geodp.io.write.pixels import Backgrounds, Pixels, windows
from geodp.io.write.tiles import view_tiles
from geodp.io.write.view import View, keep_rows
from geodp.table.card import File, LeftOut

WITH_ROWS = (".csv", ".parquet", ".gpkg", ".tif")
"""Files whose rows or pixels are compared where this version does not make the release again."""

SMALL_RASTER = 1 << 24
"""Values of a raster up to which it is written again, with its overviews."""

SPACE = 16 * SMALL_RASTER
"""Bytes of drafts beside the files that are written again."""


def check_again(remaking: Remaking) -> str:
    """Require all files, and what the card says of them, to be what the release makes.

    Of releases that this version does not make again, rows and pixels are compared, and what files
    and card say of them is not.
    """
    folder, card = remaking.folder, remaking.card
    if card.domain.lacks_table(remaking.written.table.grid):
        return "not written again, as there is no table of the regions, which orders the rows"
    view, why = _choose_view(remaking)
    if card.in_parts:
        other = [name for name, same in _compare_parts(view, folder, worded=not why) if not same]
        return _report(other, len(card.files), why)
    files: list[File] = []
    left_out: list[LeftOut] = []
    other, unknown = [], []
    with ExitStack() as until_all_are_compared:
        place = until_all_are_compared.enter_context(TemporaryDirectory(prefix="geodp-"))
        _require_space(folder, place)
        view = until_all_are_compared.enter_context(keep_rows(view, Path(place)))
        for one in find_formats():
            if not type(one).__module__.startswith("geodp."):
                # Who writes a format of another package says what its bytes depend on.
                unknown += [f"{card.name}.{ending}" for ending in one.endings]
            elif (reason := one.unsupported(view)) is not None:
                left_out.append(LeftOut(f"{card.name}.{one.endings[0]}", reason))
            else:
                for file, same in _compare(one, view, folder, Path(place), worded=not why):
                    files.append(replace(file, sha256=""))
                    other += [] if same else [file.name]
    listed = [replace(one, sha256="") for one in card.files if one.name not in unknown]
    omitted = [one for one in card.left_out if one.name not in unknown]
    require(
        bool(why) or (listed == files and omitted == left_out),
        Rule("card-files-differ", "The card describes other files than the release has."),
    )
    return _report(other, len(files), why)


def _require_space(folder: Path, place: str) -> None:
    """Refuse to begin where the files of a folder would not fit; that is no fault of the release.

    Raises
    ------
    OutputError
        Too little space is left where temporary files lie.
    """
    need = SPACE + sum(path.stat().st_size for path in folder.rglob("*"))
    if disk_usage(place).free < need:
        raise OutputError(
            f"The files of the release are written again into a temporary folder, which needs "
            f"{-(-need >> 20):,} MiB; choose one on another disk (TMPDIR).",
            code="verify-exceeds-disk",
        )


def _report(other: list[str], compared: int, why: str) -> str:
    """Name files that hold something else, or return what was compared."""
    names = ", ".join(other)
    require(not other, Rule("file-holds-otherwise", f"Not what the release holds: {names}."))
    if why:
        return f"rows and pixels are those of the release; words are not compared, as {why}"
    return f"{compared} files hold what the release does"


def _choose_view(remaking: Remaking) -> tuple[View, str]:
    """Return the view that files are written from, and why words are not compared, or ""."""
    written, made, card = remaking.written, remaking.view, remaking.card
    if made is None:
        return written, str(remaking.release)
    own = made.card.mechanism
    same = (card.mechanism.version, card.mechanism.noise_format) == (own.version, own.noise_format)
    if not same or not has_words_of(card.software):
        return written, "another version wrote them"
    errors = written.errors
    if errors is not None and remaking.errors is not None:
        # Tables do not have the intervals of cells that are not listed, and rasters do.
        errors = replace(errors, intervals=remaking.errors.intervals)
    return replace(made, card=card, errors=errors), ""


def _compare_parts(view: View, folder: Path, *, worded: bool) -> Iterator[tuple[str, bool]]:
    """Yield the files of a release in parts, and whether each is as it should be."""
    card, table, start = view.card, view.table, 0
    unnumbered = replace(card, release_id="")
    for path in parquet_files(folder, card):
        part = slice(start, start + open_parquet(path).metadata.num_rows)
        start = part.stop
        errors, own = view.errors, replace(table, key=table.key[part], count=table.count[part])
        if isinstance(errors, WrittenErrors):
            errors = write_errors(own, card, [column[part] for column in errors.written])
        with TemporaryDirectory(prefix="geodp-") as place:
            again = Path(place, path.name)
            write_parquet(View(own, unnumbered, errors), again)
            same = is_rewritten(path, again, table.grid, worded=worded)
        yield path.relative_to(folder).as_posix(), same
    if raster_file(folder, card).name in card.listed:
        shown = view_tiles(table, card)
        yield raster_file(folder, card).name, is_map(shown, folder, worded=False)


def _compare(
    one: Format, view: View, folder: Path, place: Path, *, worded: bool
) -> Iterator[tuple[File, bool]]:
    """Yield what the card says of each file of a format, and whether that is as it should be."""
    grid, card = view.table.grid, view.card
    if isinstance(one, geotiff.GeoTiff):
        if not worded:
            # Intervals of cells that are not listed are not known.
            view = view_tiles(view.table, card)
        if 3 * prod(grid.shape) > SMALL_RASTER:
            yield (
                describe_entry(geotiff.describe_map(view), folder),
                is_map(view, folder, worded=worded),
            )
            return
    if isinstance(one, Picture) and not (worded and has_bundled_letters(view)):
        yield from ((file, True) for file in card.files if file.name == f"{card.name}.png")
        return
    with TemporaryDirectory(dir=place) as made:
        for file in write_format(one, view, Path(made)):
            # Another check has compared the digests that the card lists with those of the files.
            listed = card.listed.get(file.name)
            own = Path(made, file.name)
            if worded or (listed is not None and own.suffix in WITH_ROWS):
                yield (
                    file,
                    file.sha256 == listed
                    or is_rewritten(folder / file.name, own, grid, worded=worded),
                )


def is_map(view: View, folder: Path, *, worded: bool) -> bool:
    """Test whether the map in a folder is that of a view.

    Parameters
    ----------
    view : View
    folder : Path
        The public folder.
    worded : bool
        Whether all bands and everything that the raster says of them is compared, and not only the
        place and the pixels of the bands that the view has.
    """
    grid, bands = view.table.grid, geotiff.describe_map(view).details["bands"]
    place = grid.places[0]
    with open_map(folder, view.card) as raster:
        if raster.shape != (place.rows, place.cols) or not _lies_at(raster, place):
            return False
        tiled = isinstance(raster, Tileset)
        if not (raster.count == len(bands) if tiled else has_bands(raster, len(bands))):
            return False
        if worded and not _says(raster, view, bands):
            return False
        errors = geotiff.errors_of_map(view)
        drawn = geotiff.draw_map(
            *(grid, Pixels(view.table), Backgrounds(grid), [*windows(place)], errors),
            "Checking the raster",
        )
        return all(
            same_pixels(raster.read(band, window=window), values, bands[band - 1])
            for band, window, values in drawn
        )


def _says(raster: Any, view: View, names: list[str]) -> bool:
    """Test whether a raster says of its pixels what the one of a view does, as far as is known."""
    entry = geotiff.describe_map(view)
    rows, cols = raster.shape
    bands, tile = len(names), geotiff.tile_side(rows, cols)
    said = describe_raster(raster)
    expected = {
        "form": ("GTiff", raster.shape, bands, (entry.details["data_type"],) * bands, []),
        "numbers": (
            *(str((float("nan"),) * bands), (1.0,) * bands, (0.0,) * bands),
            ([MaskFlags.nodata],) * bands,
        ),
        "bands": (
            *(tuple(names), (view.counted,) * bands),
            (ColorInterp.gray, *[ColorInterp.undefined] * (bands - 1)),
        ),
        "storage": ([(tile, tile)] * bands, [geotiff.overview_factors(rows, cols)] * bands),
        "tags": {**geotiff.tags_of_map(view), "AREA_OR_POINT": "Area"},
        "spaces": ["IMAGE_STRUCTURE"],
        "other": [[]] * bands,
    }
    notes = [note for band in said["statistics"] for note in band]
    return all(said[part] == value for part, value in expected.items()) and all(
        note.startswith("STATISTICS_") for note in notes
    )


def _lies_at(raster: Any, place: Lattice) -> bool:
    """Test whether a raster has the transform and the CRS of a lattice."""
    if place.transform is None:
        return True
    expected, transform = geotiff.georeference(place), raster.transform
    # GeoTIFF keeps a corner and a size, from which a transform is not restored to the last bit.
    near = 0.0 if transform is None else 1e-6 * abs(transform.a)
    if transform is None or not transform.almost_equals(expected["transform"], near):
        return False
    if isinstance(raster, Tileset):
        return same_crs(raster.srs, place.crs)
    return bool(raster.crs == expected["crs"])
