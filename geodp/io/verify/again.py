"""Write the files of a release again, and compare them by their contents.

Each format is written from what the Parquet file holds, the Parquet file itself among them, and
removed before the next. Most files have the same bytes then, and need not be read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from math import prod
from pathlib import Path
from shutil import disk_usage
from tempfile import TemporaryDirectory

from geodp.errors import OutputError, Rule
from geodp.io.folder.formats import find_formats
from geodp.io.folder.publication import describe_entry, write_format
from geodp.io.opening import open_parquet
from geodp.io.verify.card import require
from geodp.io.verify.chunks import parquet_files
from geodp.io.verify.raster import is_map
from geodp.io.verify.readback import raster_file
from geodp.io.verify.remade import Remaking
from geodp.io.verify.rewritten import has_bundled_letters, is_rewritten
from geodp.io.verify.statements import has_words_of
from geodp.io.verify.written import WrittenErrors, write_errors
from geodp.io.write.format import Format
from geodp.io.write.geotiff import GeoTiff, describe_map
from geodp.io.write.parquet import write_parquet
from geodp.io.write.picture import Picture
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
    if (card.mechanism.version, card.mechanism.noise_format) != (own.version, own.noise_format):
        return written, "another version wrote them"
    if not has_words_of(card.software):
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
    if isinstance(one, GeoTiff):
        if not worded:
            # Intervals of cells that are not listed are not known.
            view = view_tiles(view.table, card)
        if 3 * prod(grid.shape) > SMALL_RASTER:
            yield describe_entry(describe_map(view), folder), is_map(view, folder, worded=worded)
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
