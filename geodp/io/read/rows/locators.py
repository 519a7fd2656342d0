"""Locators: how columns of codes, coordinates, indices or labels become cells of the grid."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyproj import CRS, Transformer
from pyproj.exceptions import CRSError
from pyproj.transformer import AreaOfInterest, TransformerGroup

from geodp.errors import CodeError, InputError, Rule, UsageError, printable, require_none
from geodp.grid.cells.system import NO_DEGREES
from geodp.grid.crs import open_transformer
from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice, longitude_period, parse_codes
from geodp.io.read.rows import fields
from geodp.io.read.rows.columns import InputTable, RowPositions
from geodp.table.source import Fact
from geodp.typing import FloatArray, IntArray

ON_LATTICE = 1e-3
"""Tolerance, in cells, between a coordinate and the centre or corner of a cell."""


Check: TypeAlias = Callable[[InputTable, pa.Array, pa.Array], str]


@dataclass(frozen=True)
class Locator:
    """Mapping of columns to axes of the grid.

    Attributes
    ----------
    columns : tuple of str
    axes : tuple of int
    read : callable
        Function from the columns' arrays to an index int64[n] for every axis.
    check : callable, optional
        Function from a table and the columns' arrays to the reason to refuse the table, or "".
    decimal : str, optional
        Decimal mark of numbers in the columns; None: a point.
    """

    columns: tuple[str, ...]
    axes: tuple[int, ...]
    read: Callable[..., Sequence[NDArray[np.int64]]]
    check: Check | None = None
    decimal: str | None = None


ENDS = ("origin", "destination")
"""Names of the ends of a journey."""

NO_CELL = (
    "A row of totals, units or notes is no cell: delete it, or name the first and the last row of "
    "the table (--first-row, first_row=; --last-row, last_row=)."
)


OFF_ANCHOR = Rule(
    "coordinate-off-anchor",
    "the coordinate is not the {} of a cell of the grid; check the anchor, the CRS and the grid, "
    "or read single points as such (--points, read_points).",
)
NO_COORDINATES = Rule(
    "units-have-no-coordinates",
    "Areal units have no coordinates of their own: name their column of codes (--code, code=), or "
    "read single points as such (--points, read_points) on units with outlines or cells of H3 or "
    "S2.",
)
WKT = re.compile(r"\s*(SRID=[0-9]+;)?\s*(MULTI)?(POINT|LINESTRING|POLYGON)\b", re.IGNORECASE)
"""Beginning of a geometry in text."""

NOT_WKT = Rule(
    "code-is-wkt",
    "this is a geometry in text (WKT), and no code: give x and y as two columns, or geometries as "
    "such, in GeoParquet, GeoPackage, GeoJSON or a frame of geopandas.",
)


def locate(
    grid: Grid, rows: RowPositions, locators: Sequence[Locator], arrays: Sequence[pa.Array]
) -> NDArray[np.int64]:
    """Return cell indices int64[d, n] of a batch, from the locators' columns in their order.

    Raises InputError for a row that has no cell, and for a table that a locator refuses.
    """
    index = np.empty((len(grid.shape), len(arrays[0])), np.int64)
    remaining = iter(arrays)
    for locator in locators:
        columns, name = [], " and ".join(locator.columns)
        for column, array in zip(locator.columns, remaining, strict=False):
            with rows.named(column):
                columns.append(fields.decimal_points(array, locator.decimal, False))
        with rows.named(name):
            if locator.check is not None:
                require_unit(locator.check, rows, name, *columns)
            indices = locator.read(*columns)
        for axis, values in zip(locator.axes, indices, strict=True):
            index[axis] = values
    return index


def require_unit(check: Check, rows: RowPositions, name: str, xs: pa.Array, ys: pa.Array) -> None:
    """Raise InputError for a table whose coordinates are in another unit than those of the grid."""
    if rule := check(rows.table, xs, ys):
        raise InputError(
            f"Columns {name}: {rule}", file=rows.table.name, code="coordinates-in-other-unit"
        )


def axis_locators(grid: Grid, columns: Mapping[str, str]) -> list[Locator]:
    """Return locators of single axes by name: attributes by label, all others by index."""
    locators = []
    # Axes of the maps come first, then those of the attributes.
    first = len(grid.shape) - len(grid.attributes)
    for name, column in columns.items():
        if name not in grid.axis_names:
            ends = " Origins and destinations are those of pairs (--pairs)." if name in ENDS else ""
            raise UsageError(
                f"{printable(name)} is no axis of the grid; its axes are "
                f"{', '.join(grid.axis_names)} (--column AXIS=COLUMN, columns=).{ends}",
                code="axis-not-of-grid",
            )
        axis = grid.axis_names.index(name)
        if axis < first:
            locators.append(Locator((column,), (axis,), _read_index))
        else:
            locators.append(Locator((column,), (axis,), _label_reader(grid, axis - first)))
    return locators


def describe_columns(grid: Grid, columns: Mapping[str, str]) -> list[Fact]:
    """Return facts on the column that the call names for each attribute."""
    return [
        Fact(f"column of attribute {attribute.name}", columns[attribute.name], "operator")
        for attribute in grid.attributes
        if attribute.name in columns
    ]


def require_axes(grid: Grid, locators: Sequence[Locator], axes_of: int | None = None) -> None:
    """Raise UsageError unless each axis, or each of the first ``axes_of``, has one locator."""
    axes = [axis for locator in locators for axis in locator.axes]
    for axis, name in enumerate(grid.axis_names[:axes_of]):
        if axes.count(axis) != 1:
            raise UsageError(_explain_axis(grid, axis, name, axes.count(axis)))


def _explain_axis(grid: Grid, axis: int, name: str, count: int) -> str:
    """Explain what to add or remove for an axis with no column or several."""
    if count:
        return Rule(
            "place-columns-several",
            f"Several columns locate the rows along {name}; give one of --code, --x with --y, and "
            "--column (code=, x= with y=, columns=).",
        )
    of_place = axis < len(grid.maps.axes)
    if not of_place or grid.maps.ends:
        option = grid.maps.ends[axis // 2] if of_place else name
        if of_place:
            return Rule(
                "axis-column-missing",
                f"No column is named for {option}: add --column {option}=COLUMN (columns=).",
            )
        return Rule(
            "axis-column-missing",
            f"No column is named for {option}: add --by {option}, which finds it by its name, or "
            f"--column {option}=COLUMN (by=, columns=).",
        )
    return Rule(
        "place-columns-missing",
        "No column locates the rows in cells: add --code COLUMN, or --x COLUMN --y COLUMN "
        "(code=, or x= and y=).",
    )


def cell_locators(
    grid: Grid,
    code: str | None,
    columns: Mapping[str, str],
    *,
    point: tuple[str | None, str | None] = (None, None),
    anchor: str = "centre",
    drops: bool = False,
    other: str | None = None,
    check: Check | None = None,
    decimal: str | None = None,
) -> list[Locator]:
    """Return locators of a table's rows: by a code, by x and y, or by columns of axes.

    Units missing from the table of units are dropped with ``drops``, counted in the unit ``other``,
    or else refused. ``check`` and ``decimal`` are of coordinates, see :class:`Locator`.

    Raises UsageError for columns that do not fit the grid.
    """
    locators, (x, y), columns = [], point, dict(columns)
    if code is not None:
        locators.append(_code_locator(grid, code, 0, drops, other))
    if x is not None or y is not None:
        if x is None or y is None or grid.maps.missing:
            raise UsageError(
                "x and y go together (--x, --y; x=, y=), with a grid of one map; the places of "
                "pairs are located by codes or indices (--column, columns=).",
                code="x-without-y-or-map",
            )
        if anchor == "index":
            index = Locator((x,), (1,), _read_index, None, decimal)
            locators += [index, replace(index, columns=(y,), axes=(0,))]
        else:
            grid.names.require_map(NO_COORDINATES)
            located = _coordinate_locator(grid.places[0], x, y, anchor)
            locators.append(replace(located, check=check, decimal=decimal))
    # Pairs have a map at each end, and a column of codes for each.
    for number, name in enumerate(grid.maps.ends):
        if name in columns:
            locators.append(_code_locator(grid, columns.pop(name), number, drops, other))
    return locators + axis_locators(grid, columns)


def _code_locator(grid: Grid, column: str, place: int, drops: bool, other: str | None) -> Locator:
    """Return the locator of codes of cells or units."""
    axes = (2 * place, 2 * place + 1)
    if not grid.names.on_map:
        return Locator((column,), axes, lambda codes: _read_units(grid, codes, drops, other))
    if not grid.places:
        raise UsageError(
            "Codes need a grid with places, such as jis:half or inspire:1km.",
            code="codes-need-places",
        )
    lattice = grid.places[place]
    return Locator((column,), axes, lambda codes: _parse(lattice, codes))


def _parse(lattice: Lattice, codes: pa.Array) -> Sequence[NDArray[np.int64]]:
    """Return rows and columns of codes; each entry of a dictionary is parsed once."""
    as_text = lattice.system is None or lattice.system.zeros
    once = codes.dictionary if pa.types.is_dictionary(codes.type) else None
    if once is not None and not codes.null_count and len(once) < len(codes):
        # Entries that no row uses may be invalid: the error is located by rows below.
        with suppress(CodeError):
            indices = parse_codes(lattice, fields.codes(once, as_text=as_text))
            at = codes.indices.to_numpy()
            return [axis[at] for axis in indices]
    try:
        return parse_codes(lattice, fields.codes(codes, as_text=as_text))
    except CodeError as error:
        position, rule = error.position, error.rule
    text = _text_at(codes, position)
    if WKT.match(text):
        raise CodeError(position, NOT_WKT)
    if text.strip() and not any(map(str.isdigit, text)):
        rule += f". {NO_CELL}"
    # A line break inside a code points to an unclosed quote, which is the better explanation.
    raise CodeError(position, fields.BROKEN if "\n" in text else rule)


def _text_at(codes: pa.Array, position: int) -> str:
    """Return the text of a row, which no message may quote; "0" in a column of something else."""
    kind = codes.type.value_type if pa.types.is_dictionary(codes.type) else codes.type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return str(codes[position].as_py() or "") if is_text else "0"


def _read_units(
    grid: Grid, codes: pa.Array, drops: bool, other: str | None
) -> list[NDArray[np.int64]]:
    """Return rows and columns of units; each distinct code is looked up once."""
    once, at = codes, None
    if not codes.null_count and not pa.types.is_nested(codes.type):
        coded = codes
        if pa.types.is_dictionary(codes.type):  # whose entries may be twice, or of no row
            coded = codes.cast(codes.type.value_type)
        coded = coded.dictionary_encode()
        once, at = coded.dictionary, coded.indices
    try:
        texts = fields.codes(once, as_text=True)
        indices = grid.names.find(texts, drops=drops, other=other)
    except CodeError as error:
        first = error.position
        if at is not None:  # entries are in the order of the rows that have them first
            first = pc.index(at, first).as_py()
        rule = NOT_WKT if WKT.match(_text_at(codes, first)) else error.rule
        raise CodeError(first, rule) from None
    return [*(indices if at is None else indices[:, at.to_numpy()])]


def _coordinate_locator(lattice: Lattice, x: str, y: str, anchor: str) -> Locator:
    """Return the locator of coordinates of cell centres or corners."""
    if lattice.transform is None:
        raise UsageError(
            'The grid has no transform; give cell indices (--anchor index, anchor="index").',
            code="transform-needs-index-anchor",
        )
    a, _, c, _, e, f = lattice.transform
    half = 0.5 if anchor == "centre" else 0.0
    # The lower left corner is where a row ends whose index counts southwards.
    below = 1.0 if anchor == "corner" and e < 0 else half

    def read(xs: pa.Array, ys: pa.Array) -> list[NDArray[np.int64]]:
        indices = []
        x, y = lattice.wrap(fields.coordinates(xs)), fields.coordinates(ys)
        for values, first, step, shift in ((y, f, e, below), (x, c, a, half)):
            # Beyond 2**52 every float is a whole number, so the distance to the nearest says
            # nothing.
            exact = (values - first) / step - shift
            index = np.rint(exact)
            bad = (np.abs(exact - index) > ON_LATTICE) | (np.abs(index) > 2**52)
            require_none(bad, OFF_ANCHOR.format(anchor))
            indices.append(index.astype(np.int64))
        return indices

    return Locator((x, y), (0, 1), read)


def _read_index(column: pa.Array) -> list[NDArray[np.int64]]:
    """Return the index of one axis."""
    return [fields.indices(column)]


def _label_reader(grid: Grid, attribute: int) -> Callable[[pa.Array], list[NDArray[np.int64]]]:
    """Return a reader of the labels of one attribute."""
    return lambda column: [fields.labels(column, grid.attributes[attribute].labels)]


FULL_CIRCLE = 360.0
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
        if longitude_period(self.source.to_wkt()) != FULL_CIRCLE:
            degrees = open_transformer(self.source, "EPSG:4326")
            x, y = degrees.transform(x, y)
            rule = NO_PLACE
        # Infinite numbers, and those that are none, are within no limits.
        require_none(~((np.abs(y) <= FULL_CIRCLE / 4) & (np.abs(x) <= FULL_CIRCLE)), rule)


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
    degrees = open_transformer(target, target.geodetic_crs)
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
