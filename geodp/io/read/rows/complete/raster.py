"""Which check each form of raster has."""

from __future__ import annotations

import os

from geodp.io.read.rows.complete.ascii_grid import check_ascii_grid
from geodp.io.read.rows.complete.netcdf import check_netcdf
from geodp.io.read.rows.complete.tiff import check_tiff
from geodp.table.source import Fact


def check_raster(path: str | os.PathLike[str], kind: str) -> None:
    """Compare what a raster declares with the file; nothing but ASCII grids is read as a whole.

    Parameters
    ----------
    kind : str
        "tiff", "ascii grid" or "netcdf".

    Raises
    ------
    InputError
        The file is shorter or longer than it says.
    OSError
        It cannot be read.
    """
    if kind == "tiff":
        check_tiff(path)
    elif kind == "netcdf":
        check_netcdf(path)
    else:
        check_ascii_grid(path)


def find_left_out(path: str | os.PathLike[str], kind: str) -> tuple[Fact, ...]:
    """Return how many strips or tiles of a raster are left out, whose pixels are nodata then."""
    missing, blocks = check_tiff(path) if kind == "tiff" else (0, 0)
    if not missing:
        return ()
    return (Fact("blocks left out, as nodata", f"{missing} of {blocks}", "file"),)
