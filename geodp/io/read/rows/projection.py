"""Transformation of coordinates from the CRS of the records to that of the grid, if exact."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyproj import CRS, Transformer
from pyproj.exceptions import CRSError
from pyproj.transformer import AreaOfInterest, TransformerGroup

from geodp.errors import UsageError
from geodp.grid.lattice import Lattice
from geodp.io.read.rows import fields
from geodp.io.read.rows.locators import Check, Locator
from geodp.typing import FloatArray

Transform: TypeAlias = Callable[[FloatArray, FloatArray], tuple[FloatArray, FloatArray]]


def point_locator(
    lattice: Lattice, x: str, y: str, move: Transform | None, check: Check | None = None
) -> Locator:
    """Locate points by columns of coordinates, moved into the lattice's CRS."""

    def read(xs: pa.Array, ys: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        east, north = fields.coordinates(xs), fields.coordinates(ys)
        if move is not None:
            east, north = move(east, north)
        return lattice.locate(east, north)

    return Locator((x, y), (0, 1), read, check)


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

    def move(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        # A point that PROJ cannot transform becomes infinite, which locate refuses.
        return best.transform(x, y)

    return move


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
