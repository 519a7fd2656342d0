"""Check whether coordinates are in the unit of the grid's CRS: degrees or metres.

The form of the first values decides, by the rule of :mod:`geodp.io.read.layout.recognise`, and only
if none of them could lie on the grid. The result is a refusal: nothing is transformed unasked.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from geodp.grid.lattice import Lattice
from geodp.io.read.layout.recognise import SAMPLE, Verdict, judge
from geodp.io.read.rows import fields
from geodp.io.read.rows.columns import InputTable

MAX_LONGITUDE, MAX_LATITUDE = 360.0, 90.0
"""Largest longitude (0 to 360 or -180 to 180) and latitude."""

REMEDY_OF_POINTS = (
    "state the CRS of the records, such as --points-crs {such} (crs='{such}'), also where it is "
    "the grid's after all"
)
REMEDY_OF_CELLS = (
    "bring x and y to the grid's CRS, or choose a grid in theirs; of records of persons state that "
    "every row is one, and their CRS, such as --points --points-crs {such} (read_points, "
    "crs='{such}')"
)


class UnitCheck:
    """Check of the first coordinates of each table that columns of x and y locate.

    Parameters
    ----------
    lattice : Lattice
    remedy : str
        See :func:`find_other_unit`.
    """

    def __init__(self, lattice: Lattice, remedy: str) -> None:
        self._lattice, self._remedy = lattice, remedy
        self._table: InputTable | None = None

    def __call__(self, table: InputTable, xs: pa.Array, ys: pa.Array) -> str:
        """Return why a table is in another unit; empty if not, or if it was checked before."""
        if table is self._table or not len(xs):
            return ""
        # Only the first batch of each table counts, so that the result does not depend on later
        # rows.
        self._table = table
        x, y = (fields.coordinates(one.slice(0, SAMPLE)) for one in (xs, ys))
        return find_other_unit(self._lattice, x, y, self._remedy)


def find_other_unit(
    lattice: Lattice, x: NDArray[np.float64], y: NDArray[np.float64], remedy: str
) -> str:
    """Return why coordinates are in another unit than the grid's; empty if they are not.

    Parameters
    ----------
    lattice : Lattice
    x, y : float64[n]
        Coordinates of the first records.
    remedy : str
        What to do; "{such}" stands for an example of a CRS.
    """
    if lattice.crs is None or not x.size:
        return ""
    from pyproj import CRS

    x, y = np.abs(x), np.abs(y)
    crs = CRS.from_user_input(lattice.crs)
    # Metres are recognised in degrees by values that no longitude or latitude can have.
    if crs.is_geographic:
        other, held, such = (x > MAX_LONGITUDE) | (y > MAX_LONGITUDE), "metres", "EPSG:3857"
    elif crs.is_projected and not _meets_degrees(lattice):
        other, held, such = (x <= MAX_LONGITUDE) & (y <= MAX_LATITUDE), "degrees", "EPSG:4326"
    else:
        return ""
    good = int(np.count_nonzero(other))
    if judge(good, other.size - good) is Verdict.NO:
        return ""
    # Some CRS, such as engineering ones, define no axes.
    unit = crs.axis_info[0].unit_name if crs.axis_info else "its own unit"
    return (
        f"the first values look like {held}, and the grid is in {lattice.crs} ({unit}), which has "
        f"no cell there: {remedy.format(such=such)}."
    )


def _meets_degrees(lattice: Lattice) -> bool:
    """Test whether a grid in metres has cells where degrees would lie as well."""
    west, south, east, north = lattice.bounds
    return (
        west <= MAX_LONGITUDE
        and east >= -MAX_LONGITUDE
        and south <= MAX_LATITUDE
        and north >= -MAX_LATITUDE
    )
