"""Public lists of places by name: polygons, codes of areas, or points with a distance."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from geodp.errors import InputError, Rule, UsageError, require_none
from geodp.grid.grid import Grid
from geodp.io.read.public.polygons import ENDINGS, NO_EARTH, move_polygons, read_polygons
from geodp.io.read.public.tables import open_public, read_texts
from geodp.io.read.rows import fields
from geodp.io.read.rows.columns import InputTable, batches, find_column
from geodp.io.read.rows.forms.json import CRS84
from geodp.io.read.rows.input_files import FilePath
from geodp.io.read.rows.names import fold

NAME, CODE = "name", "code"
RANGES = {"longitude": (-179.0, 179.0), "latitude": (-85.0, 85.0), "km": (0.01, 100.0)}
"""Columns of a point and of the radius around it, with their allowed ranges."""

CORNERS = 72
"""Number of corners of a polygon that approximates a circle."""

REGIONS = ("region", "prefecture")
"""Columns that distinguish places of the same name: their values follow the name in brackets."""


@dataclass(frozen=True)
class Circle:
    """The surroundings of a point.

    Attributes
    ----------
    shape : shapely Polygon
        In the grid's CRS.
    km : float
        Radius on the Earth.
    """

    shape: Any
    km: float


def read_places(path: FilePath, grid: Grid, *, name: str | None = None) -> dict[str, Any]:
    """Read a public list of places, each a polygon or codes of areas.

    Parameters
    ----------
    path : path
        Polygons as :func:`geodp.io.read.public.polygons.read_polygons` takes them; or a table with
        a header: ``name`` and ``code``, of an area of the grid's codes or of a region, one row or
        more a place; or ``name``, ``longitude``, ``latitude`` and ``km``, a circle each. Either may
        have a column ``region`` or ``prefecture``, whose text is put in brackets after the name.
    grid : Grid
        Grid of one map.
    name : str, optional
        Field or column of the names. Default: name, id or code for polygons; name for tables.

    Returns
    -------
    dict of str to shapely geometry, Circle or list of str

    Raises
    ------
    UsageError
        The call cannot be carried out.
    InputError
        The file cannot be read, or a table does not have these columns.
    """
    if Path(path).suffix.lower() in ENDINGS:
        return read_polygons(path, grid, name=name)
    table = open_public(path, "places")
    # A column of codes decides, as such a table may have coordinates for other uses.
    there = {fold(column) for column in table.columns}
    if CODE in there:
        return _read_codes(table, name or NAME)
    if {*RANGES} <= there:
        return _read_circles(table, grid, name or NAME)
    raise InputError(
        f"A table of places has the columns {name or NAME} and {CODE}, or {name or NAME}, "
        f"{', '.join(RANGES)}.",
        file=table.name,
        row=1,
        code="places-columns",
    )


def _read_codes(table: InputTable, name: str) -> dict[str, Any]:
    """Read codes by place, in the order of the table."""
    codes: dict[str, Any] = {}
    wanted = (name, CODE, *_find_regions(table))
    chosen = [find_column(table, one, [NAME, CODE]) for one in wanted]
    for rows, columns in batches(table, chosen):
        texts = [one.tolist() for one in read_texts(rows, wanted, columns, _BLANK)]
        for place, code, *region in zip(*texts, strict=True):
            codes.setdefault(_join_name(place, *region), []).append(code)
    return codes


def _find_regions(table: InputTable) -> list[str]:
    """Find the column that distinguishes places of the same name, if the table has one."""
    columns = {fold(column) for column in table.columns}
    return [name for name in REGIONS if name in columns][:1]


def _join_name(place: str, *region: str) -> str:
    """Return a place's name, with its region in brackets.

    Examples
    --------
    >>> _join_name("Ueno", "Tokyo"), _join_name("Mito")
    ('Ueno (Tokyo)', 'Mito')
    """
    return f"{place} ({region[0]})" if region else place


def _read_circles(table: InputTable, grid: Grid, name: str) -> dict[str, Any]:
    """Read circles on the Earth around points, as polygons in the grid's CRS."""
    import shapely

    crs = grid.require_map(NO_EARTH).crs
    if crs is None:
        raise UsageError(NO_EARTH)
    circles: dict[str, tuple[Any, float]] = {}
    wanted = (name, *_find_regions(table))
    chosen = [find_column(table, one, [NAME, *RANGES]) for one in (*wanted, *RANGES)]
    for rows, columns in batches(table, chosen):
        texts = [one.tolist() for one in read_texts(rows, wanted, columns, _BLANK)]
        numbers = []
        for column, array in zip(RANGES, columns[len(wanted) :], strict=True):
            with rows.named(column):
                numbers.append(_read_numbers(array, column).tolist())
        each = zip(zip(*texts, strict=True), zip(*numbers, strict=True), strict=True)
        for position, (names, circle) in enumerate(each):
            place = _join_name(*names)
            # Two circles of one place could overlap and count cells twice.
            if place in circles:
                raise rows.error(position, _REPEATED)
            circles[place] = shapely.Polygon(_trace_circle(*circle)), circle[-1]
    # All circles are transformed at once: finding PROJ's transformation takes longer than using it.
    shapes = move_polygons(np.array([one for one, _ in circles.values()], object), CRS84, crs)
    return {
        place: Circle(shape, km)
        for (place, (_, km)), shape in zip(circles.items(), shapes, strict=True)
    }


def _read_numbers(column: pa.Array, name: str) -> NDArray[np.float64]:
    """Read a column of a circle as numbers; CodeError at the first that is out of range."""
    low, high = RANGES[name]
    numbers = fields.coordinates(column)
    words = f"the {name} of a place is a number from {low:g} to {high:g}."
    require_none(~((numbers >= low) & (numbers <= high)), Rule("place-number", words))
    return numbers


def _trace_circle(lon: float, lat: float, km: float) -> NDArray[np.float64]:
    """Return corners of a circle on the Earth in degrees: float64[n, 2]."""
    from pyproj import Geod

    azimuth = np.linspace(0, 360, CORNERS, endpoint=False)
    distance = np.full(CORNERS, 1000 * km)
    east, north, _ = Geod(ellps="WGS84").fwd(
        np.full(CORNERS, lon), np.full(CORNERS, lat), azimuth, distance
    )
    return np.stack([east, north], axis=1)


_BLANK = Rule(
    "place-blank", "the name, the code or the region is blank: every row has one of each."
)
_REPEATED = Rule(
    "place-repeated",
    "the place is in the table already; a place is one circle. A column region or prefecture "
    "distinguishes places with the same name.",
)
