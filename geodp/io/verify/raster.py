"""Check the raster of a release, a window at a time: its counts, errors and intervals."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rasterio.windows import Window

from geodp.errors import Rule
from geodp.grid.lattice import Lattice
from geodp.io.crs import same_crs
from geodp.io.verify.card import require
from geodp.io.verify.readback import open_map, raster_file
from geodp.io.verify.sweep import ReleaseFiles, RunningCheck
from geodp.io.verify.tileset import Tileset
from geodp.io.write import geotiff, pixels
from geodp.io.write.uncertainty import Intervals
from geodp.typing import FloatArray


class BandWindow:
    """A window of one band of counts.

    Attributes
    ----------
    raster : rasterio.io.DatasetReader or Tileset
        Read only where a check needs it.
    window : Window
    band : int
        Number of the combination of attributes.
    """

    def __init__(self, raster: Any, window: Window, band: int, table_pixels: pixels.Pixels) -> None:
        self.raster, self.window, self.band, self._pixels = raster, window, band, table_pixels

    @cached_property
    def counts(self) -> FloatArray:
        """Counts of the table, 0 elsewhere: float64[rows, cols]."""
        counts = np.zeros((self.window.height, self.window.width))
        self._pixels.dense(self.window, self.band, counts)
        return counts

    def read(self, band: int) -> NDArray[np.floating[Any]]:
        """Read the window of a band of the raster; ``band`` counts from 1."""
        values: NDArray[np.floating[Any]] = self.raster.read(band, window=self.window)
        return values


def read_band_windows(written: ReleaseFiles) -> Iterator[BandWindow]:
    """Yield the windows of a release's raster, each once for every band of counts."""
    table = written.table(masked=False)
    table_pixels, bands = pixels.Pixels(table), geotiff.band_count(table.grid)
    with open_map(written.folder, written.card) as raster:
        for window in pixels.windows(table.grid.places[0]):
            for band in range(bands):
                yield BandWindow(raster, window, band, table_pixels)


def check_raster(written: ReleaseFiles) -> RunningCheck[BandWindow]:
    """Require the table's counts and the card's standard error in every cell."""
    card, table = written.card, written.table(masked=False)
    # The card says why a part has no raster; of other releases it follows from the grid.
    reason = geotiff.why_no_raster(table)
    if card.in_parts:
        omitted = {one.name: one.why for one in card.left_out}
        reason = omitted.get(raster_file(written.folder, card).name)
    if reason is not None:
        return f"none: {reason}"
    error, counted = card.expected_error.largest, geotiff.band_count(table.grid)
    bands = counted * (1 if error is None or card.in_parts else 3) + (error is not None)
    inside, outside = 0, np.empty(0, np.bool_)
    band_window = yield
    while band_window is not None:
        _require_form(band_window.raster, table.grid.places[0], bands)
        if band_window.band == 0:
            # All bands are empty at the same pixels, so the last one suffices.
            last = band_window.read(counted + (error is not None))
            outside = np.isnan(last)
            inside += outside.size - int(outside.sum())
            if error is not None:
                same = outside | (last == last.dtype.type(error))
                require(
                    bool(same.all()),
                    Rule(
                        "raster-errors-differ", "The raster's standard errors are not the card's."
                    ),
                )
        _require_counts(band_window, outside)
        band_window = yield
    require(
        inside * counted == card.domain.cells,
        Rule("raster-domain-differs", "The raster's domain is not the card's."),
    )
    return "equal to the table, cell by cell"


def _require_form(raster: Any, place: Lattice, bands: int) -> None:
    """Require the shape, the place and the number of bands of the raster."""
    require(
        raster.shape == (place.rows, place.cols),
        Rule("raster-shape-differs", "The raster has another shape."),
    )
    require(
        raster.count == bands,
        Rule("raster-bands-differ", f"The raster does not have {bands} bands."),
    )
    require(
        _lies_at(raster, place),
        Rule("raster-elsewhere", "The raster does not lie where the grid does."),
    )


def _require_counts(band_window: BandWindow, outside: NDArray[np.bool_]) -> None:
    """Require a band to have the table's counts, and to be empty outside of the domain."""
    values, expected, window = (
        band_window.read(band_window.band + 1),
        band_window.counts,
        band_window.window,
    )
    same = values == expected
    if outside.any():
        # Outside of the domain pixels are empty, and the table has no cell.
        same = np.where(outside, np.isnan(values) & (expected == 0), same)
    require(
        bool(same.all()),
        Rule(
            "raster-values-differ",
            f"The raster differs from the table in band {band_window.band + 1}, "
            f"rows {window.row_off} to {window.row_off + window.height}.",
        ),
    )


def _lies_at(raster: Any, place: Lattice) -> bool:
    """Return whether a raster has the transform and the CRS of a lattice."""
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


def check_raster_intervals(written: ReleaseFiles, intervals: Intervals) -> RunningCheck[BandWindow]:
    """Require the bands after the counts to have the ends of the intervals."""
    grid = written.table(masked=True).grid
    bands = geotiff.band_count(grid)
    while (band_window := (yield)) is not None:
        raster, band = band_window.raster, band_window.band
        # Its counts are compared by another check, which reports the difference.
        if raster.count != 3 * bands + 1 or raster.shape != grid.shape[:2]:
            return "those of the released counts, computed again; the raster is another one"
        counts = band_window.counts
        if not grid.domain.is_box:
            counts = counts + pixels.background(grid, band_window.window)
        expected = pixels.ends_in(grid, counts, band_window.window, band, intervals)
        for after, end in zip((bands + 2, 2 * bands + 2), expected, strict=True):
            require(
                are_near(band_window.read(band + after), end),
                Rule("raster-intervals-differ", "The raster's intervals are not the release's."),
            )
    return "those of the released counts, computed again, in tables and raster"


def are_near(written: NDArray[np.floating[Any]], expected: NDArray[np.float64]) -> bool:
    """Return whether numbers are equal but for the digits that are not written."""
    # Nearly all arrays are equal, which takes a tenth of the time of a tolerance to check.
    if np.array_equal(written, expected.astype(written.dtype), equal_nan=True):
        return True
    return bool(np.allclose(written, expected, rtol=1e-6, atol=2e-3, equal_nan=True))
