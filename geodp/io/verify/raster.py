"""Questions to the raster of a release, a window at a time: its counts, errors and intervals."""

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
from geodp.io.verify.sweep import Asking, Written
from geodp.io.verify.tileset import Tileset
from geodp.io.write import geotiff, pixels
from geodp.io.write.uncertainty import Intervals
from geodp.typing import FloatArray


class Piece:
    """A window of a band of counts.

    Attributes
    ----------
    raster : rasterio.io.DatasetReader or Tileset
        Nothing of which is read but what is asked for.
    window : Window
    band : int
        Number of the combination of attributes.
    """

    def __init__(self, raster: Any, window: Window, band: int, drawn: pixels.Pixels) -> None:
        self.raster, self.window, self.band, self._drawn = raster, window, band, drawn

    @cached_property
    def counts(self) -> FloatArray:
        """Counts of the table, 0 elsewhere: float64[rows, cols]."""
        found = np.zeros((self.window.height, self.window.width))
        self._drawn.dense(self.window, self.band, found)
        return found

    def read(self, band: int) -> NDArray[np.floating[Any]]:
        """Read the window of a band of the raster, from 1."""
        found: NDArray[np.floating[Any]] = self.raster.read(band, window=self.window)
        return found


def read_pieces(written: Written) -> Iterator[Piece]:
    """Yield the windows of a release's raster, every band of counts of each."""
    table = written.table(masked=False)
    drawn, bands = pixels.Pixels(table), geotiff.band_count(table.grid)
    with open_map(written.folder, written.card) as raster:
        for window in pixels.windows(table.grid.places[0]):
            for band in range(bands):
                yield Piece(raster, window, band, drawn)


def ask_raster(written: Written) -> Asking[Piece]:
    """Ask for the table's counts and the card's standard error, cell by cell."""
    card, table = written.card, written.table(masked=False)
    reason = geotiff.why_no_raster(table)
    if card.in_parts:
        omitted = {one.name: one.why for one in card.left_out}
        reason = omitted.get(raster_file(written.folder, card).name)
    if reason is not None:
        return f"none: {reason}"
    error, counted = card.expected_error.largest, geotiff.band_count(table.grid)
    bands = counted * (1 if error is None or card.in_parts else 3) + (error is not None)
    inside, outside = 0, np.empty(0, np.bool_)
    piece = yield
    while piece is not None:
        _require_form(piece.raster, table.grid.places[0], bands)
        if piece.band == 0:
            last = piece.read(counted + (error is not None))
            outside = np.isnan(last)
            inside += outside.size - int(outside.sum())
            if error is not None:
                same = outside | (last == last.dtype.type(error))
                require(bool(same.all()), Rule("raster-errors-differ", "Wrong errors."))
        _require_counts(piece, outside)
        piece = yield
    require(
        inside * counted == card.domain.cells,
        Rule("raster-domain-differs", "The raster's domain is not the card's."),
    )
    return "equal to the table, cell by cell"


def _require_form(raster: Any, place: Lattice, bands: int) -> None:
    """VerificationError for another shape or place, or another number of bands."""
    require(
        raster.shape == (place.rows, place.cols),
        Rule("raster-shape-differs", "The raster has another shape."),
    )
    require(
        raster.count == bands, Rule("raster-bands-differ", f"The raster has not {bands} bands.")
    )
    require(_lies_at(raster, place), Rule("raster-elsewhere", "The raster lies elsewhere."))


def _require_counts(piece: Piece, outside: NDArray[np.bool_]) -> None:
    """VerificationError where a band has other counts than the table, or shows other cells."""
    found, expected, window = piece.read(piece.band + 1), piece.counts, piece.window
    same = found == expected
    if outside.any():
        same = np.where(outside, np.isnan(found) & (expected == 0), same)
    require(
        bool(same.all()),
        Rule(
            "raster-values-differ",
            f"The raster differs from the table in band {piece.band + 1}, "
            f"rows {window.row_off} to {window.row_off + window.height}.",
        ),
    )


def _lies_at(raster: Any, place: Lattice) -> bool:
    """Whether a raster has the transform and the CRS of a lattice."""
    if place.transform is None:
        return True
    stated = geotiff.georeference(place)
    found = raster.transform
    if found is None or not found.almost_equals(stated["transform"], 1e-6 * abs(found.a)):
        return False
    if isinstance(raster, Tileset):
        return same_crs(raster.srs, place.crs)
    return bool(raster.crs == stated["crs"])


def ask_raster_ends(written: Written, intervals: Intervals) -> Asking[Piece]:
    """Ask for intervals in the bands after the counts."""
    grid = written.table(masked=True).grid
    bands = geotiff.band_count(grid)
    while (piece := (yield)) is not None:
        raster, band = piece.raster, piece.band
        if raster.count != 3 * bands + 1 or raster.shape != grid.shape[:2]:
            return "those of the released counts, worked out again; the raster is another one"
        counts = piece.counts
        if not grid.domain.is_box:
            counts = counts + pixels.background(grid, piece.window)
        expected = pixels.ends_in(grid, counts, piece.window, band, intervals)
        for after, end in zip((bands + 2, 2 * bands + 2), expected, strict=True):
            require(
                are_near(piece.read(band + after), end),
                Rule("raster-intervals-differ", "The raster's intervals are not the release's."),
            )
    return "those of the released counts, worked out again, in tables and raster"


def are_near(found: NDArray[np.floating[Any]], expected: NDArray[np.float64]) -> bool:
    """Return whether numbers are the same but for the digits that are not written."""
    if np.array_equal(found, expected.astype(found.dtype), equal_nan=True):  # at a tenth the cost
        return True
    return bool(np.allclose(found, expected, rtol=1e-6, atol=2e-3, equal_nan=True))
