"""Transformation of coordinates from the CRS of the records to that of the grid, if exact."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyproj import CRS, Transformer
from pyproj.exceptions import CRSError
from pyproj.transformer import AreaOfInterest, TransformerGroup

from geodp.errors import CodeError, Rule, UsageError, require_none
from geodp.grid.cells.system import NO_DEGREES
from geodp.grid.lattice import Lattice, longitude_period
from geodp.io.read.rows import fields
from geodp.io.read.rows.locators import Check, Locator
from geodp.typing import FloatArray, IntArray

TURN = 360.0
"""A turn around the Earth, in degrees."""

NO_PLACE = Rule(
    "coordinate-no-place",
    "a coordinate is no place on the Earth in the CRS of the records: name their CRS "
    "(--points-crs, crs=), or check whether x and y are swapped.",
)


@dataclass(frozen=True, eq=False)
class Transform:
    """Transformation of coordinates from one CRS to another.

    Attributes
    ----------
    best : pyproj.Transformer
        Points that it does not reach become infinite.
    source : pyproj.CRS
        CRS of the coordinates.
    """

    best: Transformer
    source: CRS

    def __call__(self, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Transform coordinates: float64[n] each; infinite where the transformation ends."""
        east, north = self.best.transform(x, y)
        return east, north

    def require_places(self, x: FloatArray, y: FloatArray) -> None:
        """Raise CodeError at the first coordinates, float64[n] each, that are no place at all."""
        if not x.size:
            return
        rule = NO_DEGREES
        if longitude_period(self.source.to_wkt()) != TURN:
            degrees = Transformer.from_crs(self.source, "EPSG:4326", always_xy=True)
            x, y = degrees.transform(x, y)
            rule = NO_PLACE
        # Infinite numbers, and those that are none, are within no limits.
        require_none(~((np.abs(y) <= TURN / 4) & (np.abs(x) <= TURN)), rule)


def locate_points(
    lattice: Lattice, x: FloatArray, y: FloatArray, move: Transform | None
) -> tuple[IntArray, IntArray]:
    """Return row and column (int64[n] each) of points; one that has no place there is outside.

    A projection does not reach all points of the Earth: those that it does not reach are not in the
    grid, and have row and column -1. ``move``: from the CRS of the points to that of the lattice;
    None: it is the same.

    Raises CodeError for coordinates that are no place on the Earth, as those are never taken for a
    place outside; and as the lattice does.
    """
    if move is None:
        return lattice.locate(x, y)
    east, north = move(x, y)
    reached = np.isfinite(east) & np.isfinite(north)
    lost = np.flatnonzero(~reached)
    try:
        move.require_places(x[lost], y[lost])
    except CodeError as error:
        raise CodeError(int(lost[error.position]), error.rule) from None
    # In place of others a corner of the lattice, so that errors still name positions among all.
    left, bottom = map(float, lattice.bounds[:2])
    row, col = lattice.locate(np.where(reached, east, left), np.where(reached, north, bottom))
    return np.where(reached, row, -1), np.where(reached, col, -1)


def point_locator(
    lattice: Lattice,
    x: str,
    y: str,
    move: Transform | None,
    check: Check | None = None,
    decimal: str | None = None,
) -> Locator:
    """Locate points by columns of coordinates, moved into the lattice's CRS."""

    def read(xs: pa.Array, ys: pa.Array) -> tuple[IntArray, IntArray]:
        return locate_points(lattice, fields.coordinates(xs), fields.coordinates(ys), move)

    return Locator((x, y), (0, 1), read, check, decimal)


def transformation(lattice: Lattice, crs: str | None, allow_ballpark: bool) -> Transform | None:
    """Return the transformation to the lattice's CRS; None if the records have it already.

    Raises UsageError if none is exact enough.
    """
    if crs is None:
        return None
    if lattice.crs is None:
        raise UsageError(
            "The grid has no CRS to transform to; give the grid one.", code="grid-without-crs"
        )
    try:
        source, target = CRS.from_user_input(crs), CRS.from_user_input(lattice.crs)
    except CRSError:
        source = None
    if source is None:
        raise UsageError("The CRS is unknown; name one such as EPSG:4326.", code="crs-unknown")
    if source.equals(target, ignore_axis_order=True):
        return None
    # The best transformation depends on the area: that of the public grid, as the extent of the
    # records is confidential.
    degrees = Transformer.from_crs(target, target.geodetic_crs, always_xy=True)
    area = AreaOfInterest(*degrees.transform_bounds(*lattice.bounds))
    with warnings.catch_warnings():  # the error below says the same
        warnings.simplefilter("ignore")
        group = TransformerGroup(source, target, always_xy=True, area_of_interest=area)
    if not group.transformers:
        raise UsageError(
            "There is no transformation between the two CRSs.", code="transformation-missing"
        )
    best = group.transformers[0]
    if not allow_ballpark and (not group.best_available or "Ballpark" in best.description):
        raise UsageError(
            f"The exact transformation from {crs} to {lattice.crs} is not installed, and another "
            "may move points by hundreds of metres. Install PROJ's grid for it, transform the "
            "records before, or accept the error "
            "(--allow-ballpark, allow_ballpark=True).",
            code="transformation-not-installed",
        )

    return Transform(best, source)


def move_shapes(shapes: Iterable[Any], lattice: Lattice, crs: str) -> list[Any]:
    """Transform geometries of shapely to the lattice's CRS, vertex by vertex.

    Raises UsageError if no transformation is exact enough.
    """
    move = transformation(lattice, crs, allow_ballpark=False)
    if move is None:
        return list(shapes)
    from shapely import transform

    geometries = np.array(list(shapes), object)
    return list(transform(geometries, lambda corners: np.column_stack(move(*corners.T))))
