"""Records, sums, means, classes and medians of every cell in one table, in units of the amount."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from math import ceil, log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from geodp.errors import UsageError
from geodp.features.amounts.card import COUNT, MEAN, MEDIAN, SUM, StatedAmount
from geodp.features.amounts.estimates import Ends
from geodp.grid.grid import Grid
from geodp.io.folder.manifest import sha256
from geodp.io.write.csv import MEDIA_TYPE as CSV_TYPE
from geodp.io.write.csv import is_marked, write_rows
from geodp.io.write.geometry import geo_metadata
from geodp.io.write.parquet import MEDIA_TYPE as PARQUET_TYPE
from geodp.io.write.tables import ROW_GROUP, column_names
from geodp.io.write.view import Rows, View
from geodp.table.card import File
from geodp.typing import KeyArray

if TYPE_CHECKING:
    from geodp.features.amounts.numbers import AmountNumbers

NAME = "amounts"
"""Name of the files, without their endings."""

ENDINGS = (".csv", ".csvt", ".parquet")
"""Endings of the files."""

DIGITS = 6
"""Digits of means and medians, of the span of the clip."""


def write_joint(release: AmountNumbers, folder: Path) -> tuple[File, ...]:
    """Write the table as CSV and as Parquet; return the entries of its files in the index."""
    view = view_of(release)
    schema = join_columns(view.empty, release).schema
    path = folder / f"{NAME}.csv"
    with _open_parquet(view, release, path.with_suffix(".parquet")) as writer:
        write_rows(_rows(view, release, writer), schema, path, texts=view.texts)
    amount = release.index.amount
    mark = "; begins with the byte order mark of UTF-8" if is_marked(path) else ""
    what = f"{describe(amount)}{mark}"
    outlines = " with the outlines of the cells" if view.located else ""
    entries = (
        (".csv", CSV_TYPE, what, tuple(schema.names)),
        (".csvt", "text/plain", "types of the CSV's columns, for GDAL and QGIS", ()),
        (".parquet", PARQUET_TYPE, f"the same{outlines}", tuple(schema.names)),
    )
    return tuple(
        File(
            name=f"{NAME}{ending}",
            media_type=media_type,
            what=text,
            extras={"columns": columns, "unit": amount.unit} if columns else {},
            sha256=sha256(path.with_suffix(ending)),
        )
        for ending, media_type, text, columns in entries
    )


def describe(amount: StatedAmount) -> str:
    """Describe the columns of the table."""
    parts = ["records (count)"]
    if amount.notches:
        parts.append(f"sum and mean of {amount.name} in {amount.unit}")
    if amount.edges:
        parts.append(f"records by class of {amount.name}, and its median in {amount.unit}")
    return (
        f"{', '.join(parts)} of every cell; low and high are the ends of 95 % intervals, and a "
        "blank mean or median may be any amount within the clip"
    )


def view_of(release: AmountNumbers) -> View:
    """Return the view of records whose columns the table begins with, without their errors."""
    return View(release.count.table, release.count.view(COUNT).card)


def name_classes(amount: StatedAmount) -> list[str]:
    """Name the columns of classes by their edges.

    Examples
    --------
    >>> amount = StatedAmount("income", "EUR", "0", "1000", "1", None, ("0", "200", "1000"))
    >>> name_classes(amount)
    ['count_0_to_200', 'count_200_to_1000']
    """
    ends = [re.sub(r"[^0-9.]", "_", edge.replace("-", "minus")) for edge in amount.edges]
    return [f"{COUNT}_{low}_to_{high}" for low, high in pairwise(ends)]


def require_columns(grid: Grid, amount: StatedAmount) -> None:
    """Raise UsageError where a column of places or an attribute is called as one of amounts."""
    own = [SUM, MEAN] if amount.notches else []
    own += [MEDIAN] if amount.edges else []
    names = [*own, *(f"{one}_{end}" for one in own for end in ("low", "high"))]
    names += name_classes(amount) if amount.edges else []
    taken = {one.casefold() for one in column_names(grid, COUNT, ())}
    if both := sorted(taken.intersection(names)):
        raise UsageError(
            f"The table of amounts has a column called {both[0]!r}: choose another name for the "
            "attribute or the axis.",
            code="amounts-column-taken",
        )


def join_columns(rows: Rows, release: AmountNumbers) -> Any:
    """Append sums, means, classes and medians to the columns of records."""
    key, table = rows.view.table.key[rows.part], rows.columns
    for name, column in list_columns(key, release):
        table = table.append_column(name, column)
    return table


def list_columns(key: KeyArray, release: AmountNumbers) -> Iterator[tuple[str, Any]]:
    """Yield the names and the columns of numbers of cells after their records."""
    scale, amount = release.scale, release.index.amount
    places = max(ceil(DIGITS - log10(scale.value(scale.span))), 0)
    ends = release.columns(key)
    if release.sum is not None:
        steps = release.sum.table.counts_at(key)
        # Whole numbers stay whole, so that the table holds exactly what was released.
        whole = scale.step.denominator == 1
        total = steps * int(scale.step) if whole else steps.astype(np.float64) * float(scale.step)
        yield SUM, pa.array(total)
        for name, column in zip(("low", "high"), ends[SUM][1:], strict=True):
            yield f"{SUM}_{name}", pa.array(np.round(column, places))
        yield from _known(MEAN, ends[MEAN], release, places)
    if release.classes:
        for name, one in zip(name_classes(amount), release.classes, strict=True):
            yield name, pa.array(one.counts_at(key))
        yield from _known(MEDIAN, ends[MEDIAN], release, places)


def _known(name: str, ends: Ends, release: AmountNumbers, places: int) -> Iterator[tuple[str, Any]]:
    """Yield a number and its interval, of which nothing is said where it may be any amount."""
    lower, upper = (float(end) for end in release.scale.clip)
    unknown = (ends[1] <= lower) & (ends[2] >= upper)
    for end, column in zip(("", "_low", "_high"), ends, strict=True):
        yield f"{name}{end}", pa.array(np.round(column, places), mask=unknown)


def _open_parquet(view: View, release: AmountNumbers, path: Path) -> Any:
    """Open a writer of GeoParquet, or of plain Parquet for a grid that lies nowhere."""
    about = {
        **view.about,
        "amount": release.index.amount.name,
        "unit_of_amount": release.scale.unit,
    }
    # Records get their id only when they are written, and the index has it.
    about.pop("release_id", None)
    extra = {"geodp": json.dumps(about, ensure_ascii=False)}
    if view.located:
        extra["geo"] = json.dumps(geo_metadata(view.table.grid), ensure_ascii=False)
    empty = _locate(view.empty, join_columns(view.empty, release))
    return pa.parquet.ParquetWriter(path, empty.schema.with_metadata(extra), compression="zstd")


def _locate(rows: Rows, columns: Any) -> Any:
    """Append the outlines of cells that lie on the Earth to their columns."""
    if not rows.view.located:
        return columns
    outline, box = rows.outlines
    return columns.append_column("geometry", outline).append_column("bbox", box)


def _rows(view: View, release: AmountNumbers, writer: Any) -> Iterator[Any]:
    """Yield the rows in chunks, each of which is also written to Parquet.

    Intervals take most of the time of a table, so that no chunk is made for each format.
    """
    for rows in view.rows("Writing amounts"):
        columns = join_columns(rows, release)
        writer.write_table(_locate(rows, columns), row_group_size=ROW_GROUP)
        yield columns
