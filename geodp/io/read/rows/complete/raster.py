"""Completeness checks for rasters."""

from __future__ import annotations

import os

from geodp.io.read.rows.complete.netcdf import check_netcdf
from geodp.io.read.rows.complete.tiff import check_tiff
from geodp.table.source import Fact


def check_raster(path: str | os.PathLike[str], kind: str) -> None:
    """Compare the header of a raster with the length of the file.

    Parameters
    ----------
    kind : str
        "tiff", "netcdf", or "ascii grid", whose numbers are counted on reading.

    Raises
    ------
    InputError
        The file is shorter or longer than its header declares.
    OSError
        It cannot be read.
    """
    if kind == "tiff":
        check_tiff(path)
    elif kind == "netcdf":
        check_netcdf(path)


def check_pixels(path: str | os.PathLike[str], kind: str) -> tuple[Fact, ...]:
    """Compare the pixels of a raster with their checksums, if it has any.

    Returns
    -------
    tuple of Fact
        Number of strips or tiles that are left out as nodata, if there are any.

    Raises
    ------
    InputError, OSError
    """
    if kind == "tiff":
        missing, blocks = check_tiff(path, unpack=True)
        if missing:
            return (Fact("blocks left out, as nodata", f"{missing} of {blocks}", "file"),)
    return ()
