"""Public tables of areal units, and files of their outlines: tracts, municipalities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.advice import takes
from geodp.errors import CodeError, InputError, Rule, printable
from geodp.grid.grid import Grid
from geodp.grid.markers import LISTED_TOTAL, is_named_total
from geodp.grid.units import TWICE, TWO_PARENTS, add_other, grid_of_units
from geodp.io.read.public.hierarchy import texts_without_blanks
from geodp.io.read.public.outlines import (
    find_code,
    find_outlines,
    outlines_of,
    read_polygons_of,
)
from geodp.io.read.public.tables import open_public
from geodp.io.read.rows.columns import InputTable, Rows, batches, find_column
from geodp.io.read.rows.forms.geometry import plain_columns
from geodp.io.read.rows.input_files import FilePath
from geodp.io.read.rows.span import Opening


@takes(Opening)
def read_units(
    path: FilePath,
    *,
    source: str,
    columns: Sequence[str] = (),
    other: str | None = None,
    **opening: Any,
) -> Grid:
    """Read the units of a public table, one row for each finest unit.

    A table with polygons (GeoPackage, Shapefile, FlatGeobuf, GeoJSON, GeoParquet) gives the units
    their outlines, in its CRS. Columns go from the finest level to the coarsest: block, tract,
    county. All units belong to the domain, including those without records.

    Parameters
    ----------
    path : path
        File with a header: text (plain, gzip, zip), Parquet, or any other format of tables and
        vectors.
    source : str
        Description of the table's source, published with every release. By giving it you
        declare that the table is public and was not made from the data.
    columns : sequence of str, optional
        Columns in this order. Default: all of them, in the order of the table; for a file of
        outlines the only one that identifies its units.
    other : str, optional
        Name of a unit that is added on every level, for codes that the table does not have, such
        as places abroad: ``geodp.read_table(..., other=...)`` counts them there.

    Returns
    -------
    Grid
        Grid whose levels are named after the columns; tables are read on it by the finest
        units' codes (``geodp.read_table(..., code=...)``).

    Raises
    ------
    UsageError
        The call cannot be carried out.
    InputError
        The table is not a tree, with file and row: a unit is repeated, lies in two
        units of the next level, has no code, parent or outline, or its outline overlaps another
        one. Outlines have no CRS, or several columns may have the codes.
    """
    table = open_public(path, "units", **opening)
    drawn = find_outlines(table)
    chosen, names = _choose_columns(table, columns, outlined=drawn is not None)
    texts: list[list[np.ndarray]] = [[] for _ in names]
    shapes: list[np.ndarray] = []
    read: list[Rows] = []
    for rows, arrays in batches(table, [*chosen, *([] if drawn is None else [drawn[0]])]):
        read.append(rows)
        for name, values, array in zip(names, texts, arrays, strict=False):
            with rows.named(name):
                values.append(texts_without_blanks(array, _BLANK))
        if drawn is not None:
            with rows.named():
                shapes.append(read_polygons_of(arrays[-1], str(drawn[1].crs)))
    if not sum(part.size for part in texts[0]):
        raise InputError(
            "The table of units has no rows.", file=table.name, code="units-without-rows"
        )
    levels = {name: np.concatenate(values) for name, values in zip(names, texts, strict=True)}
    if other is not None:
        levels, source = add_other(levels, source, other)
        shapes.append(np.full(1, None, object))
    outlines = None if drawn is None else outlines_of(shapes, str(drawn[1].crs))
    try:
        _require_no_total(next(iter(levels.values())))
        return grid_of_units(levels, source, outlines)
    except CodeError as error:
        rows = next(rows for rows in reversed(read) if rows.first <= error.position)
        nested = error.code in (TWICE.code, TWO_PARENTS.code)
        more = _suggest_levels(levels) if nested and not columns else ""
        raise rows.error(error.position - rows.first, error.rule + more) from None


def _choose_columns(
    table: InputTable, columns: Sequence[str], *, outlined: bool
) -> tuple[list[int], list[str]]:
    """Return positions and names of the levels' columns; InputError if two are the same."""
    plain = plain_columns(table)
    if outlined and not columns:
        # Files of outlines have many columns that are no levels, so only the unique one is taken.
        at = find_code(table)
        return [at], [plain[at]]
    names = [str(name).strip() for name in columns] or [*plain.values()]
    chosen = [find_column(table, name, names) for name in columns] or [*plain]
    if len({*names}) < len(names) or len({*chosen}) < len(names):
        raise InputError(
            "The levels of units need different columns.",
            file=table.name,
            row=1,
            code="units-levels-alike",
        )
    return chosen, names


def _require_no_total(codes: NDArray[Any]) -> None:
    """Raise CodeError at the first unit that is a total of units."""
    total = next((at for at, code in enumerate(codes.tolist()) if is_named_total(code)), None)
    if total is not None:
        raise CodeError(total, LISTED_TOTAL)


def _suggest_levels(levels: Mapping[str, NDArray[Any]]) -> str:
    """Suggest the columns that may be the finest level, if all were taken for levels."""
    size = next(iter(levels.values())).size
    # The finest level has a different code in every row.
    finest = [printable(name) for name, codes in levels.items() if np.unique(codes).size == size]
    if not finest:
        return ""
    return (
        f" All columns were taken for levels. Name the one of the codes that records have, one of "
        f"{', '.join(finest)}, and behind it those of the areas that hold them, if there are any "
        f"(--units-columns {finest[0]}, columns=[{finest[0]!r}])."
    )


_BLANK = Rule(
    "unit-code-blank",
    "the code is blank; every unit has a code and lies in one unit of every coarser level.",
)
