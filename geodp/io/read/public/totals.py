"""Public totals of areas, read from a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from geodp.advice import takes
from geodp.errors import CodeError, InputError, Rule
from geodp.grid.grid import Grid
from geodp.io.read.public.tables import error_at, open_public, read_texts
from geodp.io.read.rows import fields
from geodp.io.read.rows.columns import RowPositions, batches
from geodp.io.read.rows.forms.geometry import plain_columns
from geodp.io.read.rows.input_files import FilePath
from geodp.io.read.rows.span import Opening
from geodp.table.public_totals import PublicTotals

TOTAL = "total"


@takes(Opening)
def read_totals(
    path: FilePath,
    grid: Grid,
    *,
    source: str,
    **opening: Any,
) -> PublicTotals:
    """Read totals of areas that are public already: one row for each area, its total last.

    The columns before it hold the area's code on any published level of the grid's code system, or
    on a grid of regions the codes of a region, the coarsest level first, named after the levels.

    Parameters
    ----------
    path : path
        File with a header: text (plain, gzip, zip), Parquet, or any other format of tables.
    grid : Grid
        Grid of one map.
    source : str
        Where the totals were published; every release quotes it.

    Raises
    ------
    UsageError
        The call cannot be carried out.
    InputError
        The table must not be used as it is; names file and row.
    """
    table = open_public(path, "totals", **opening)
    plain = plain_columns(table)
    *names, last = [*plain.values()] or [""]
    # Names and order of the columns are fixed, as a total under a wrong level would go unnoticed.
    if last != TOTAL or not names or names != [*grid.areas.name_codes(len(names))]:
        wanted = ", ".join(grid.areas.name_codes())
        raise InputError(
            f"A table of totals has the columns {wanted} (or the first of them) and {TOTAL}.",
            file=table.name,
            row=1,
            code="totals-columns",
        )
    codes: list[tuple[str, ...]] = []
    counts: list[NDArray[np.int64]] = []
    read: list[RowPositions] = []
    for rows, (*columns, total) in batches(table, [*plain]):
        texts = read_texts(rows, names, columns, Rule("code-missing", "a code is missing."))
        with rows.named(TOTAL):
            counts.append(fields.counts(total))
        codes += zip(*(one.tolist() for one in texts), strict=True)
        # Kept to name the row of an error that shows only when all rows are known.
        read.append(rows)
    total = np.concatenate(counts) if counts else np.empty(0, np.int64)
    try:
        return PublicTotals.of_areas(grid, codes, tuple(names), total, source)
    except CodeError as error:
        raise error_at(read, error.position, error.rule) from None
