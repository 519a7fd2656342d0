"""Rasters of counts: GeoTIFF, ASCII grid, NetCDF and arrays, on a lattice of equal cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from geodp import progress
from geodp.advice import takes
from geodp.errors import UsageError
from geodp.io.read.reader import (
    MEMBER,
    MISSING,
    OUTSIDE,
    ROUND,
    UNIT,
    Call,
    MatchScore,
    Option,
    Reader,
    cli_option,
    require_positive,
)

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.io.read.rows.count_parser import Rounder, Rounding
    from geodp.io.read.rows.input_files import FilePath, LabelledArray, TableSource
    from geodp.io.read.rows.tally import Outside, Tally
    from geodp.privacy.key import NoiseKey
    from geodp.table.counts import CountTable

BAND = Option("Band of a raster with several bands, counted from 1.", "--band", type=int)


def _numbers(values: Sequence[str | float]) -> list[float]:
    try:
        # Numbers stay as they are: what the operator stated is kept in the record as stated.
        return [float(one) if isinstance(one, str) else one for one in values]
    except ValueError:
        raise UsageError(
            "--missing of a raster is a number.", code="raster-missing-not-number"
        ) from None


@dataclass(frozen=True, kw_only=True)
class Raster(Reader):
    """A raster of counts.

    Attributes
    ----------
    band : int, optional
        Band, counted from 1; required if there are several.
    value_unit : float, optional
        Value of one person, after scale and offset; values divided by it must be integers within
        1e-4. Default: 1, unless the file states that its values are something other than people.
    missing : sequence of float, optional
        Stored values that mean nobody besides nodata, such as -200.
    outside : {"error", "crop", "drop"}, optional
        Treatment of pixels outside the domain: "crop" drops those outside the grid's extent, but
        refuses those that a mask excludes. Default: "error".
    member : str, optional
        Name of a zip archive's member, with its folders or without.
    rounding : {"nearest", "stochastic"}, optional
        Rounding of fractional counts, as for :func:`geodp.read_table`.
    secret : NoiseKey, optional
        Key of the random numbers of `rounding`; default: fresh from the operating system.
    x, y : str, optional
        Dimensions of an array's columns and rows. Default: found by their usual names.
    """

    name: ClassVar[str] = "raster"
    kind: ClassVar[str] = "a raster"

    band: int | None = field(default=None, metadata=cli_option(BAND))
    value_unit: float | None = field(default=None, metadata=cli_option(UNIT))
    missing: Sequence[float] = field(default=(), metadata=cli_option(MISSING, convert=_numbers))
    outside: Outside | None = field(default=None, metadata=cli_option(OUTSIDE))
    member: str | None = field(default=None, metadata=cli_option(MEMBER))
    rounding: Rounding | None = field(default=None, metadata=cli_option(ROUND))
    secret: NoiseKey | None = None
    x: str | None = None
    y: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        require_positive(self.value_unit)

    @classmethod
    def match_score(cls, call: Call) -> MatchScore:
        """Match files by their endings."""
        return MatchScore.FILES if call.ends_in(".tif", ".tiff", ".asc", ".nc") else MatchScore.NONE

    def read(self, paths: TableSource) -> CountTable:
        """Read the pixels of the one raster, or the numbers of the array."""
        from geodp.io.read.rows.count_parser import rounder
        from geodp.io.read.rows.input_files import LabelledArray
        from geodp.io.read.rows.tally import Tally

        progress.begin("Reading")
        # An array keeps its coordinates and attributes, and needs neither a file nor windows.
        in_memory = isinstance(paths, LabelledArray)
        tally = Tally(
            self.grid,
            self.outside,
            "error",
            rounding=self.rounding,
            memory=self.memory,
            scratch=self.scratch,
        )
        rounded = None if self.rounding is None else rounder(self.rounding, self.secret)
        add = self._add_array if in_memory else self._add_file
        add(paths, tally, rounded)
        return tally.table()

    def _add_array(self, array: Any, tally: Tally, rounded: Rounder | None) -> None:
        """Count the numbers of an array in memory."""
        from geodp.io.read.rows.array import align_array
        from geodp.io.read.rows.columns import Rows
        from geodp.io.read.rows.pixels import Lines
        from geodp.table.stated.reading import describe_facts

        if self.band is not None or self.member is not None:
            raise UsageError(
                "An array has no bands and no members: choose a part of it first.",
                code="array-has-no-bands",
            )
        axes = (self.x, self.y)
        aligned = align_array(array, self.grid, axes, unit=self.value_unit, missing=self.missing)
        lines = Lines(aligned.name, aligned.width, aligned.facts)
        tally.survey.note(aligned.name, aligned.facts)
        name = None if array.name is None else aligned.name
        tally.survey.state(
            describe_facts("array", aligned.facts, name, aligned.places, aligned.labels)
        )
        # Every valid number counts as read, including zeros.
        tally.survey.take(aligned.name, aligned.valid, {}, aligned.valid)
        rows = Rows(lines, 0, aligned.position)
        with rows.named():
            if rounded is None:
                count = aligned.stored.counts(aligned.values)
            else:
                count = rounded(aligned.index, aligned.stored.fractions(aligned.values))
        tally.add(rows, aligned.index, count)

    def _add_file(self, paths: Any, tally: Tally, rounded: Rounder | None) -> None:
        """Count the pixels of the one file."""
        from contextlib import ExitStack

        import numpy as np

        from geodp.io.read.rows.columns import Rows
        from geodp.io.read.rows.forms.locations import fetch_urls
        from geodp.io.read.rows.input_files import list_paths, unpack
        from geodp.io.read.rows.pixels import align_blocks
        from geodp.table.stated.reading import describe_facts

        if self.x is not None or self.y is not None:
            raise UsageError(
                "x= and y= name dimensions of an array in memory; a file has its own.",
                code="dimensions-of-file",
            )
        place = self.grid.require_plain_map("A raster needs a grid of one map without attributes.")
        # Downloads and unpacked members must outlive the loop over windows that reads them.
        with ExitStack() as held:
            fetched = held.enter_context(fetch_urls(paths, self.scratch))
            (path, *others) = list_paths(fetched)
            # Two rasters could count the same people, and their overlap is not checked.
            if others:
                raise UsageError("Give one raster at a time.", code="raster-several")
            here = held.enter_context(unpack(path, self.scratch, self.member))
            for part in align_blocks(
                here, place, self.band, unit=self.value_unit, missing=self.missing
            ):
                values, stored = part.values, part.stored
                pixels = int(np.count_nonzero(part.valid))
                tally.survey.note(part.lines.name, part.lines.facts)
                tally.survey.state(describe_facts("raster", part.lines.facts))
                tally.survey.take(part.lines.name, pixels, {}, pixels)
                row, col = np.nonzero(part.valid & stored.nonzero(values))
                rows = Rows(part.lines, part.first, np.ravel_multi_index((row, col), values.shape))
                index = np.stack([part.rows[row], part.cols[col]])
                with rows.named():
                    if rounded is None:
                        count = stored.counts(values[row, col])
                    else:
                        count = rounded(index, stored.fractions(values[row, col]))
                tally.add(rows, index, count)


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
