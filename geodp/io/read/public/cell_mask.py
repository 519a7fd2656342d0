"""Public masks of cells of H3 and S2: outlines, lists of codes, and land by name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.errors import CodeError, InputError, UsageError
from geodp.grid.cells.area import CellMask, Outlines
from geodp.grid.cells.choose import find_cells
from geodp.io.read.public.land import DATUM, parts_within, read_land, read_lands
from geodp.io.read.public.mask import read_codes, read_polygons_of_mask
from geodp.io.read.public.polygons import ENDINGS, JUMPS, jump
from geodp.io.read.rows.input_files import RASTER, FilePath, kind_of

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
        return CellMask(source, Outlines(_read_shapes(path)))
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
    return CellMask(source, Outlines(shapes, kilometres + DATUM / 1000))


def _read_shapes(path: FilePath) -> NDArray[Any]:
    """Read polygons between -180 and 180 degrees; InputError for one that jumps across them."""
    shapes = read_polygons_of_mask(path, CRS)
    if jump(shapes).any():
        raise InputError(JUMPS, file=os.fspath(path))
    return np.array([part for shape in shapes for part in parts_within(shape)], object)
