"""Tables of cells and counts in CSV and Parquet: by code, by coordinates, by index."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from geodp.errors import CodeError, UsageError
from geodp.grid.grid import Grid
from geodp.grid.lattice import Lattice
from geodp.io.read import fields
from geodp.io.read.columns import Rows, batches, find_column, open_tables
from geodp.io.read.sources import FilePath
from geodp.io.read.tally import Duplicates, Outside, Tally, one_of
from geodp.table.counts import CountTable

Anchor: TypeAlias = Literal["centre", "corner", "index"]

ON_LATTICE = 1e-3
"""How far, in cells, a coordinate may lie from the centre or corner that it states."""


def read_table(
    paths: FilePath | Sequence[FilePath],
    *,
    grid: str | Grid,
    value: str,
    code: str | None = None,
    x: str | None = None,
    y: str | None = None,
    anchor: Anchor = "centre",
    columns: Mapping[str, str] | None = None,
    where: Mapping[str, str | int] | None = None,
    missing: Sequence[str | float] = (),
    duplicates: Duplicates = "error",
    outside: Outside | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory: int | str | None = None,
    scratch: FilePath | None = None,
) -> CountTable:
    """Read tables with one row a cell: CSV (plain, gzip, zip) and Parquet.

    Columns are found by their exact names, or but for letter case. The place of a cell is in
    `code`, in `x` and `y`, or in `columns`; all other axes of the grid are in `columns`.

    Parameters
    ----------
    paths : path or sequence of paths
    grid : str or Grid
        Public; a string names a code system, as in ``Grid.mesh``.
    value : str
        Column of counts.
    code : str, optional
        Column of published codes.
    x, y : str, optional
        Columns of coordinates in the grid's CRS, or of cell indices.
    anchor : {"centre", "corner", "index"}
        What `x` and `y` state: the cell's centre, its lower left corner (in the south-west),
        or its column and row counted from 0.
    columns : mapping, optional
        For axes of ``grid.axis_names``: columns of indices, of an attribute's labels; for
        "origin" and "destination": columns of codes.
    where : mapping, optional
        Only rows whose columns have these values; text is compared as it is written.
    missing : sequence of str or number, optional
        Values that mean nobody, such as -1, as they are written or as numbers; ``"nan"`` stands
        for NaN, in letters or as a float, and for nulls among numbers, ``""`` for blanks too.
    duplicates : {"error", "sum"}
        For a cell that is there several times, in one file or in several. With "sum" the table
        has no bound: what adds up may be other dates, and a person in each of them.
    outside : {"error", "crop", "drop"}, optional
        For rows outside the domain. Default: "error".
    delimiter, encoding : str, optional
        Default: as found in the header; UTF-8 or CP932.
    memory : int or str, optional
        Limit for rows that wait, in bytes or such as "4GiB"; the table itself (16 bytes an
        occupied cell) and the reader's buffers come on top. Default: half the machine's.
    scratch : path, optional
        Folder for what goes beyond: confidential, in files without names that go when the
        process ends. Default: the system's folder for temporary files.

    Returns
    -------
    CountTable
        On pairs of places without a bound: a person may make many trips.

    Raises
    ------
    UsageError
        A call that cannot be carried out.
    InputError
        Data that must not be used as they are; names file and line.
    """
    one_of("anchor", anchor, ("centre", "corner", "index"))
    public = Grid.mesh(grid) if isinstance(grid, str) else grid
    locators = _locators(public, code, x, y, anchor, dict(columns or {}))
    names = [value, *(name for locator in locators for name in locator.columns)]
    filters = dict(where or {})
    policy = outside or "error"
    tally = Tally(public, policy, duplicates, memory=memory, scratch=scratch)
    for table in open_tables(paths, delimiter=delimiter, encoding=encoding):
        chosen = [find_column(table, name, names) for name in names]
        wanted = {find_column(table, name, names): filters[name] for name in filters}
        for rows, (counts, *places) in batches(table, chosen, wanted, tally.survey):
            with rows.named(value):
                count = fields.counts(counts, missing=missing)
            tally.add(rows, locate(public, rows, locators, places), count)
    return tally.table()


@dataclass(frozen=True)
class Locator:
    """How columns become axes of the grid.

    Attributes
    ----------
    columns : tuple of str
    axes : tuple of int
    read : callable
        From the columns' arrays to an index for every axis, int64[n] each.
    """

    columns: tuple[str, ...]
    axes: tuple[int, ...]
    read: Callable[..., Sequence[NDArray[np.int64]]]


def locate(
    grid: Grid, rows: Rows, locators: Sequence[Locator], arrays: Sequence[pa.Array]
) -> NDArray[np.int64]:
    """Cell indices int64[d, n] of a batch, from the locators' columns in their order."""
    index = np.empty((len(grid.shape), len(arrays[0])), np.int64)
    remaining = iter(arrays)
    for locator in locators:
        with rows.named(" and ".join(locator.columns)):
            found = locator.read(*(next(remaining) for _ in locator.columns))
        for axis, values in zip(locator.axes, found, strict=True):
            index[axis] = values
    return index


def axis_locators(grid: Grid, columns: Mapping[str, str]) -> list[Locator]:
    """Locators of single axes by name: attributes by label, all others by index."""
    found = []
    first = len(grid.shape) - len(grid.attributes)
    for name, column in columns.items():
        if name not in grid.axis_names:
            raise UsageError(f"The grid's axes are {', '.join(grid.axis_names)}.")
        axis = grid.axis_names.index(name)
        if axis < first:
            found.append(Locator((column,), (axis,), _read_index))
        else:
            found.append(Locator((column,), (axis,), _label_reader(grid, axis - first)))
    return found


def require_axes(grid: Grid, locators: Sequence[Locator]) -> None:
    """Raise UsageError unless every axis is located once."""
    axes = [axis for locator in locators for axis in locator.axes]
    for axis, name in enumerate(grid.axis_names):
        if axes.count(axis) != 1:
            raise UsageError(
                f"The axis {name} must be located by exactly one of code, x and y, and columns "
                "(--code, --x and --y, --column)."
            )


def _locators(
    grid: Grid,
    code: str | None,
    x: str | None,
    y: str | None,
    anchor: Anchor,
    columns: dict[str, str],
) -> list[Locator]:
    found = []
    if code is not None:
        found.append(_code_locator(grid, code, 0))
    if x is not None or y is not None:
        if x is None or y is None or len(grid.places) != 1:
            raise UsageError("x and y go together, with a grid of one map.")
        if anchor == "index":
            found += [Locator((x,), (1,), _read_index), Locator((y,), (0,), _read_index)]
        else:
            found.append(_coordinate_locator(grid.places[0], x, y, anchor))
    for number, name in enumerate(("origin", "destination")):
        if name in columns and len(grid.places) == 2:
            found.append(_code_locator(grid, columns.pop(name), number))
    found += axis_locators(grid, columns)
    require_axes(grid, found)
    return found


def _code_locator(grid: Grid, column: str, place: int) -> Locator:
    if place >= len(grid.places) or grid.places[place].system is None:
        raise UsageError("Codes need a grid with a code system, such as jis:half or inspire:1km.")
    lattice = grid.places[place]
    return Locator(
        (column,),
        (2 * place, 2 * place + 1),
        lambda codes: lattice.parse(fields.codes(codes)),
    )


def _coordinate_locator(lattice: Lattice, x: str, y: str, anchor: Anchor) -> Locator:
    if lattice.transform is None:
        raise UsageError(
            'The grid has no transform; give cell indices (--anchor index, anchor="index").'
        )
    a, _, c, _, e, f = lattice.transform
    half = 0.5 if anchor == "centre" else 0.0
    # The lower left corner is where a row ends whose index counts southwards.
    below = 1.0 if anchor == "corner" and e < 0 else half

    def read(xs: pa.Array, ys: pa.Array) -> list[NDArray[np.int64]]:
        found = []
        for column, first, step, shift in ((ys, f, e, below), (xs, c, a, half)):
            exact = (fields.coordinates(column) - first) / step - shift
            index = np.rint(exact)
            bad = np.flatnonzero((np.abs(exact - index) > ON_LATTICE) | (np.abs(index) > 2**52))
            if bad.size:
                raise CodeError(
                    int(bad[0]),
                    f"the coordinate is not the {anchor} of a cell of the grid; check the anchor, "
                    "the CRS and the grid, or read single points as such (--points, read_points).",
                )
            found.append(index.astype(np.int64))
        return found

    return Locator((x, y), (0, 1), read)


def _read_index(column: pa.Array) -> list[NDArray[np.int64]]:
    return [fields.indices(column)]


def _label_reader(grid: Grid, attribute: int) -> Callable[[pa.Array], list[NDArray[np.int64]]]:
    return lambda column: [fields.labels(column, grid.attributes[attribute].labels)]
