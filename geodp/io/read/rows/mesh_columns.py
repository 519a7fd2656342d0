"""Columns of official mesh files: key, values and their titles; and the map that they are on."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from fractions import Fraction
from math import prod

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from geodp.errors import InputError, UsageError, printable
from geodp.grid.axes import JOINT
from geodp.grid.codes import JISMesh
from geodp.grid.grid import Grid
from geodp.grid.mask import grid_of_primaries
from geodp.io.read.rows.columns import Rows
from geodp.io.read.rows.delimited import TextTable, is_name
from geodp.io.read.rows.names import fold

KEY = "KEY_CODE"
NOT_VALUES = (KEY, "HTKSYORI", "HTKSAKI", "GASSAN")
NONE = "-"
"""The files' mark for no people; it counts 0."""

MARKS = ("*", "X", "x", "")
"""The files' marks for values that are hidden."""

HIDDEN = (
    "the value is suppressed or blank; totals never are, so choose a total, or choose "
    '--suppressed zero (suppressed="zero") where the file has added such details to another '
    "row (HTKSAKI)."
)


def drop_headers(
    table: TextTable, rows: Rows, arrays: list[pa.Array], columns: Sequence[int]
) -> tuple[Rows, list[pa.Array]]:
    """Return the rows that do not repeat the header, as files joined end to end do."""
    header = pa.array(np.zeros(len(arrays[0]), np.bool_))
    for titles in (table.columns, table.labels):
        repeated = pc.equal(arrays[0], titles[columns[0]])
        if pc.any(repeated).as_py():
            for array, column in zip(arrays, columns, strict=True):
                same = pc.equal(pc.utf8_trim_whitespace(array), titles[column])
                repeated = pc.and_(repeated, same)
            header = pc.or_(header, repeated)
    if not pc.any(header).as_py():
        return rows, arrays
    kept = pc.invert(header)
    return rows.select(kept.to_numpy(zero_copy_only=False)), [a.filter(kept) for a in arrays]


def public_map(
    grid: str | Grid,
    bounds: Sequence[float | Fraction] | None,
    primary: str | int | Sequence[str | int] | None,
) -> Grid:
    """Return the grid itself, or the one of a code system in bounds or in primary meshes."""
    if isinstance(grid, Grid):
        if bounds is not None or primary is not None:
            raise UsageError("Bounds and primary meshes go with a grid named by a string.")
        return grid
    if primary is None:
        return Grid.mesh(grid, bounds=bounds)
    if bounds is not None:
        raise UsageError("Give bounds or primary meshes, not both.")
    return grid_of_primaries(grid, primary)


def require_meshes(grid: Grid) -> None:
    """Raise UsageError for a grid that is no map of meshes."""
    if len(grid.places) != 1 or not isinstance(grid.places[0].system, JISMesh):
        raise UsageError(
            'Official mesh files need a map of JIS meshes, such as "jis:half"; a table on another '
            "grid is read by its columns of codes or of places (read_table)."
        )


def with_values(grid: Grid, attribute: str | None, values: Sequence[str] | None) -> Grid:
    """Return the public grid of values: with the attribute that they become, if it has none yet.

    Raises UsageError for values that are not one for every combination of labels.
    """
    if grid.attributes:
        if values is None or len(values) != prod(numbers_of_labels(grid)):
            raise UsageError(
                "Give one value for every label of the grid's attribute; of several attributes, "
                "for every combination: the labels of the last one in turn, and so on."
            )
        names = [one.name for one in grid.attributes]
        if attribute not in (None, *names, JOINT.join(names)):
            raise UsageError("The grid has an attribute already, of another name.")
        return grid
    if (values is None or len(values) == 1) and attribute is None:
        return grid
    if attribute is None or not values:
        raise UsageError(
            "Several values need the name of the attribute that they "
            "become (--attribute, attribute=)."
        )
    if JOINT in attribute:
        raise UsageError(
            f"{printable(attribute)}: the columns of a joint table need the labels of each of its "
            "attributes (--axis NAME=LABEL,LABEL..., repeatable), or a preset that has them."
        )
    return grid.with_attribute(attribute, values)


def numbers_of_labels(grid: Grid) -> tuple[int, ...]:
    """Numbers of labels of its attributes; 1 where it has none."""
    return tuple(len(attribute.labels) for attribute in grid.attributes) or (1,)


def find_columns(table: TextTable, values: Sequence[str] | None) -> tuple[int, list[int]]:
    """Positions of the key and of the chosen values."""
    names = [fold(name).upper() for name in table.columns]
    if names.count(KEY) != 1:
        raise InputError(
            f"The header must have one column {KEY}; other tables are read by --code or "
            "--x and --y (read_table).",
            file=table.name,
            row=table.head_lines,
        )
    candidates = [i for i, name in enumerate(names) if name and name not in NOT_VALUES]
    if values is not None:
        return names.index(KEY), [_find(table, candidates, wanted) for wanted in values]
    if len(candidates) != 1:
        columns = _list_columns(table, candidates)
        raise InputError(
            f"Name one of the columns of values (--value, value=): {columns}.", file=table.name
        )
    return names.index(KEY), candidates


def _find(table: TextTable, candidates: Sequence[int], wanted: str) -> int:
    """Return the one column whose name or label is wanted: exactly, or but for width and spaces."""
    for form in (str.strip, fold):
        for titles in (table.columns, table.labels):
            found = [i for i in candidates if form(titles[i]) == form(wanted)]
            if len(found) == 1:
                return found[0]
            if found:
                raise InputError(
                    f"Several columns have this label; name one by its code: "
                    f"{_list_columns(table, found)}.",
                    file=table.name,
                )
    folded = {fold(t[i]): i for t in (table.columns, table.labels) for i in candidates}
    close = [folded[near] for near in get_close_matches(fold(wanted), folded, 6, 0.4)]
    hint = "" if any(table.labels) else " The file has no labels, only codes of columns."
    raise InputError(
        f"No column of values is named '{wanted}'; there are "
        f"{_list_columns(table, close or candidates)}.{hint}",
        file=table.name,
    )


def title_of(table: TextTable, column: int) -> str:
    """Return the label of a column, or its name where it has none."""
    return table.labels[column] or table.columns[column]


def _list_columns(table: TextTable, columns: Sequence[int], most: int = 8) -> str:
    """Columns for a message; a header that looks like data is not shown."""
    if not all(is_name(table.columns[i]) for i in columns):
        return "names that look like data, so that the first row may be no header"
    shown = [f"{table.columns[i]} {table.labels[i]}".strip() for i in columns[:most]]
    more = [f"{len(columns) - most} more"] if len(columns) > most else []
    return ", ".join([*shown, *more]) or "none"
