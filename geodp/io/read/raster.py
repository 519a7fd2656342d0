"""Rasters of counts: GeoTIFF, ASCII grid, NetCDF and arrays, on a lattice of equal cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from geodp.advice import takes
from geodp.io.read.options import RasterOptions
from geodp.io.read.reader import (
    Call,
    MatchScore,
)

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.io.read.rows.input_files import FilePath, LabelledArray, TableSource
    from geodp.table.counts import CountTable


@dataclass(frozen=True, kw_only=True)
class Raster(RasterOptions):
    """A raster of counts."""

    name: ClassVar[str] = "raster"
    kind: ClassVar[str] = "a raster"

    @classmethod
    def match_score(cls, call: Call) -> MatchScore:
        """Match files by their endings."""
        return MatchScore.FILES if call.ends_in(".tif", ".tiff", ".asc", ".nc") else MatchScore.NONE

    def read(self, paths: TableSource) -> CountTable:
        """Read the pixels of the one raster, or the numbers of the array."""
        from geodp.io.read.counting.raster import count_raster

        return count_raster(self, paths)


READERS = (Raster,)


@takes(Raster)
def read_raster(path: FilePath | LabelledArray, *, grid: str | Grid, **options: Any) -> CountTable:
    """Read a raster of counts: GeoTIFF, ASCII grid, NetCDF in its classic formats; or an array.

    Its cells must be the grid's: same CRS, same size, shifted by whole cells; longitudes may be
    multiples of 360 degrees away. A pixel means ``(stored * scale + offset) / value_unit`` people,
    with the scale and the offset in the file. Nodata and NaN count nobody. The row in an error is
    the raster's line, counted from 1.

    Parameters
    ----------
    path : path or xarray.DataArray
        An array has the dimensions y, x and the grid's attributes, in any order, with the centres
        of rows and columns as coordinates. ``scale_factor``, ``add_offset``, ``_FillValue``,
        ``missing_value``, ``valid_range`` and ``_Unsigned`` in its attributes are applied; those in
        xarray's ``encoding`` were applied when the file was opened.
    grid : str or Grid
        Public grid of one map, for a file without attributes; a string names a code system. From a
        public raster it is made by :func:`geodp.io.read.rows.pixels.grid_like`; from this raster
        only if its extent was not chosen by looking at where people are.

    Raises
    ------
    UsageError
        Options that do not go together, or with the grid.
    InputError
        Data that must not be used as they are; it names file and line.

    Examples
    --------
    >>> import tempfile, geodp
    >>> from pathlib import Path
    >>> head = "ncols 2\\nnrows 1\\nxllcorner 0\\nyllcorner 0\\ncellsize 10\\n"
    >>> grid = geodp.Grid.regular((1, 2), crs="EPSG:3035", transform=(10, 0, 0, 0, -10, 10))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "people.asc"
    ...     _ = file.write_text(head + "3 4\\n")
    ...     _ = file.with_suffix(".prj").write_text("EPSG:3035")
    ...     geodp.read_raster(file, grid=grid).to_dense().tolist()
    [[3, 4]]
    """
    return Raster.of(grid, **options).read(path)
