"""Public masks: lists of codes, outlines and rasters, and of cells of H3 and S2 also land."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import CodeError, InputError, Rule, UsageError
from geodp.grid.cells import find_cells
from geodp.grid.cells.area import CellMask, OutlineArea
from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice
from geodp.grid.mask import Blocks, blocks_of_array, blocks_of_codes, mask_of_blocks
from geodp.grid.region import shapes_on
from geodp.io.read.public.land import DATUM, draw_shapes, parts_within, read_land, read_lands
from geodp.io.read.public.polygons import ENDINGS, JUMPS, NO_POLYGONS, jump, read_shapes_in
from geodp.io.read.rows.delimited import BINARY
from geodp.io.read.rows.input_files import RASTER, FilePath, guard, kind_of
from geodp.io.read.rows.pixels import align_blocks

FORM = Rule(
    "mask-form",
    "A mask is a text with codes, polygons or a raster, in a file of its own: unpack an archive, "
    "and save a table as CSV with the codes first.",
)


def read_mask(path: FilePath, grid: Grid, *, source: str) -> Grid:
    """Restrict a grid to a public mask.

    The file must be public itself: a list of inhabited cells of the confidential data is not.

    Parameters
    ----------
    path : path
        Text with a code per line, of the grid's level or coarser (first field of a CSV; a
        header and `#` comments are passed over); polygons that touch the cells inside, in the
        formats of :func:`geodp.io.read.public.polygons.read_polygons`; or a raster of one band on
        the grid's lattice that is neither 0 nor nodata inside, and nowhere negative.
    grid : Grid
        Grid of one map without a mask, with or without attributes.
    source : str
        Description of the mask's source, published with every release. By giving it you declare
        that the mask is public and was not made from the data.

    Returns
    -------
    Grid

    Raises
    ------
    UsageError
        The mask leaves no cell.
    InputError
        The file is not a mask of this grid; names file and line.
    """
    # Two masks would need a rule for cells that only one of them holds.
    lattice = grid.require_full_map(
        Rule("mask-needs-whole-map", "A mask needs a grid of one map that has none yet.")
    )
    if kind_of(path) in RASTER:
        blocks = _blocks_of_raster(path, lattice)
    elif Path(path).suffix.lower() in ENDINGS:
        blocks = _blocks_of_polygons(path, lattice)
    else:
        blocks = _blocks_of_text(path, lattice)
    return grid.with_mask(mask_of_blocks(grid, blocks, source))


def _blocks_of_text(path: FilePath, lattice: Lattice) -> Blocks:
    codes, lines = read_codes(path, partial(_is_code, lattice))
    try:
        return blocks_of_codes(lattice, codes)
    except CodeError as error:
        raise InputError(error.rule, file=os.fspath(path), row=lines[error.position]) from None


def read_codes(path: FilePath, is_code: Callable[[str], bool]) -> tuple[list[str], list[int]]:
    """Read the codes of a mask that is a text, and their line numbers, from 1.

    Parameters
    ----------
    path : path
        A code per line, the first field of a CSV; `#` begins a comment.
    is_code : callable
        Tests whether a text is a code of the grid, to recognise a header.

    Raises InputError for a file that is not a text, or has no code.
    """
    name = os.fspath(path)
    if kind_of(path) != "text":
        raise InputError(FORM, file=name)
    data = guard(name, partial(Path(path).read_bytes))
    if b"\0" in data:
        raise InputError(BINARY, file=name)
    # Codes are ASCII, so that other text in the file may have any encoding.
    lines: list[int] = []
    codes: list[str] = []
    for number, line in enumerate(data.decode("utf-8-sig", "replace").splitlines(), start=1):
        text = line.partition("#")[0].replace(";", ",").replace("\t", ",")
        code = next(csv.reader([text]), [""])[0].strip() if text.strip() else ""
        if code:
            lines.append(number)
            codes.append(code)
    if codes and not is_code(codes[0]):
        # A header may contain digits, as GITTER_ID_1km does: then the next line must be a code.
        header = len(codes) > 1 and is_code(codes[1])
        if header or not any(letter.isdigit() for letter in codes[0]):
            del lines[0], codes[0]
    if not codes:
        raise InputError("The mask has no codes.", file=name, code="mask-without-codes")
    return codes, lines


def _is_code(lattice: Lattice, code: str) -> bool:
    try:
        blocks_of_codes(lattice, [code])
    except CodeError:
        return False
    return True


def read_polygons_of_mask(path: FilePath, crs: str) -> Any:
    """Read the polygons of a mask in a CRS; InputError for a file that has none."""
    try:
        return read_shapes_in(path, crs)[0]
    except InputError as error:
        if error.code != NO_POLYGONS.code:
            raise
        raise InputError(FORM, file=os.fspath(path)) from None


def _blocks_of_polygons(path: FilePath, lattice: Lattice) -> Blocks:
    if lattice.crs is None or lattice.transform is None:
        raise UsageError(
            "A mask of polygons needs a grid with a place on the Earth.", code="mask-needs-earth"
        )
    shapes = shapes_on(lattice, read_polygons_of_mask(path, lattice.crs))
    inside = draw_shapes(shapes, (lattice.rows, lattice.cols), lattice.transform)
    return blocks_of_array(inside.astype(np.bool_))


NEGATIVE = Rule(
    "mask-negative",
    "The mask has a negative number, which often stands where nothing is known and would lie "
    "inside; state it as nodata (gdal_edit.py -a_nodata), or write 0 outside and 1 inside.",
)


def _blocks_of_raster(path: FilePath, lattice: Lattice) -> Blocks:
    inside = np.zeros((lattice.rows, lattice.cols), np.bool_)
    for part in align_blocks(path, lattice, counted=False):
        # Negative numbers usually encode missing values. Counted as "not 0" they would widen the
        # domain.
        below = (part.valid & (part.values < 0)).any(axis=1)
        if below.any():
            row = part.first // part.lines.width + int(below.argmax()) + 1
            raise InputError(NEGATIVE, file=part.lines.name, row=row)
        here = part.valid & part.stored.nonzero(part.values)
        rows = (part.rows >= 0) & (part.rows < lattice.rows)
        cols = (part.cols >= 0) & (part.cols < lattice.cols)
        inside[np.ix_(part.rows[rows], part.cols[cols])] = here[np.ix_(rows, cols)]
    return blocks_of_array(inside)


CRS = "EPSG:4326"


def read_cell_mask(path: FilePath, spec: str, *, source: str) -> CellMask:
    """Read a public mask of cells of H3 or S2.

    The file must be public itself: a list of inhabited cells of the confidential data is not.

    Parameters
    ----------
    path : path
        Text with a code per line, of the grid's level or coarser (first field of a CSV; a header
        and `#` comments are passed over); or polygons, in the formats of
        :func:`geodp.io.read.public.polygons.read_polygons`, of which all cells belong to the mask
        that they touch.
    spec : str
        Name of the grid: ``"h3:7"``, ``"s2:13"``.
    source : str
        Description of the mask's source, published with every release. By giving it you declare
        that the mask is public and was not made from the data.

    Raises
    ------
    UsageError
        The file is a raster, which has no such cells.
    InputError
        The file is not a mask of such cells; names file and line.
    """
    system, level = find_cells(spec)
    if not source.strip():
        raise UsageError(
            "A mask needs its public source in words (--mask-source, source=).",
            code="mask-source-missing",
        )
    # Pixels and such cells overlap in parts, and no rule says which parts belong to a mask.
    if kind_of(path) in RASTER:
        raise UsageError(
            f"A raster cannot mask cells of {system.title}: give polygons, or a list of codes "
            "(--mask).",
            code="mask-is-raster",
        )
    if Path(path).suffix.lower() in ENDINGS:
        return CellMask(source, OutlineArea(_read_shapes(path)))
    codes, lines = read_codes(path, lambda text: system.levels_of_codes([text])[0] >= 0)
    try:
        return CellMask.of_codes(system, level, codes, source)
    except CodeError as error:
        raise InputError(error.rule, file=os.fspath(path), row=lines[error.position]) from None


def mask_of_land(land: str) -> CellMask:
    """Return the mask of land by name: ``land:world``, ``land:japan``, ``land:fiji:5km``.

    Raises UsageError for an unknown land or an invalid distance.
    """
    name, kilometres, source = read_land(land)
    # Coastline and cells may refer to different datums, which differ by less than DATUM on the
    # ground.
    shapes = np.array(read_lands(name), object)
    return CellMask(source, OutlineArea(shapes, kilometres + DATUM / 1000))


def _read_shapes(path: FilePath) -> NDArray[Any]:
    """Read polygons between -180 and 180 degrees; InputError for one that jumps across them."""
    shapes = read_polygons_of_mask(path, CRS)
    if jump(shapes).any():
        raise InputError(JUMPS, file=os.fspath(path))
    return np.array([part for shape in shapes for part in parts_within(shape)], object)
