"""Whether a release's GeoPackage holds what its Parquet file does."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from geodp.errors import Rule
from geodp.grid.grid import Grid
from geodp.io.crs import same_crs
from geodp.io.opening import open_base
from geodp.io.verify.card import require
from geodp.io.verify.chunks import Chunk, columns_of, parquet_schema
from geodp.io.verify.sweep import Asking, Written
from geodp.io.write.geometry import geometry_crs
from geodp.io.write.geopackage import (
    APPLICATION,
    create_table,
    define_crs,
    layout_shapes,
    name_of_number,
    number_of_crs,
)
from geodp.table.card import Card

AT_ONCE = 1 << 11
"""Rows that are Python's values at a time: more do not stay in a processor's cache."""

OTHER_ROWS = Rule("geopackage-rows-differ", "It has other rows than the Parquet file.")
OTHER_OUTLINES = Rule(
    "geopackage-outlines-differ", "Its outlines are not those of the codes' cells."
)


def has_geopackage(card: Card) -> bool:
    """Whether a release has one; those of earlier versions have none."""
    return f"{card.name}.gpkg" in card.listed


def ask_geopackage(written: Written) -> Asking[Chunk]:
    """Ask for every row, its outline, and the CRS."""
    card, grid, number = written.card, written.located, 0
    with open_base(written.folder / f"{card.name}.gpkg") as base:
        schema = parquet_schema(written.folder, card)
        names = columns_of(card, grid)
        _require_layer(base, card, grid, pa.schema([schema.field(name) for name in names]))
        quoted, srs = card.name.replace('"', '""'), number_of_crs(geometry_crs(grid))
        read = base.execute(f'SELECT * FROM "{quoted}" ORDER BY 1')
        while (chunk := (yield)) is not None:
            columns = [chunk.column(name) for name in names]
            shapes = layout_shapes(*chunk.outlines, srs)
            for start in range(0, chunk.size, AT_ONCE):
                some = shapes[start : start + AT_ONCE]
                values = [column.slice(start, AT_ONCE) for column in columns]
                _require_rows(read.fetchmany(len(some)), number, some, values)
                number += len(some)
        require(read.fetchone() is None, OTHER_ROWS)
    return "equal to the Parquet file, row by row, with the outlines of the codes' cells"


def _require_layer(base: Any, card: Card, grid: Grid, schema: Any) -> None:
    """VerificationError for what is no layer of such columns in the grid's CRS."""
    fid, crs = name_of_number(schema.names), geometry_crs(grid)
    found = base.execute("PRAGMA application_id").fetchone()[0]
    require(found == APPLICATION, Rule("geopackage-expected", "It is no GeoPackage."))
    views = base.execute("SELECT count(*) FROM sqlite_master WHERE type = 'view'").fetchone()[0]
    layer = base.execute("SELECT sql FROM sqlite_master WHERE name = ?", (card.name,))
    expected = [(create_table(card.name, fid, schema),)]
    require(
        not views and layer.fetchall() == expected,
        Rule("geopackage-columns-differ", "Its layer has other columns."),
    )
    srs, definition = base.execute(
        "SELECT c.srs_id, s.definition FROM gpkg_contents c JOIN gpkg_spatial_ref_sys s "
        "ON s.srs_id = c.srs_id WHERE c.table_name = ?",
        (card.name,),
    ).fetchone()
    same = srs == number_of_crs(crs) and (crs is None or same_crs(definition, define_crs(crs)))
    require(same, Rule("geopackage-crs-differs", "Its CRS is not the grid's."))


def _require_rows(
    found: list[tuple[Any, ...]], number: int, shapes: list[bytes], columns: list[Any]
) -> None:
    """VerificationError where rows are not those of some columns.

    Parameters
    ----------
    found : list of tuple
        Number, outline and columns of each.
    number : int
        Rows before them.
    shapes : list of bytes
        Outlines as GeoPackage has them.
    columns : list of pyarrow.Array
    """
    require(len(found) == len(shapes), OTHER_ROWS)
    numbers, outlines, *values = zip(*found, strict=True)
    require([*numbers] == [*range(number + 1, number + 1 + len(shapes))], OTHER_ROWS)
    for value, column in zip(values, columns, strict=True):
        require(_are(value, column), OTHER_ROWS)
    require([*outlines] == shapes, OTHER_OUTLINES)


def _are(values: tuple[Any, ...], column: Any) -> bool:
    """Whether values of SQLite are those of an Arrow array; None is what is missing there."""
    if pa.types.is_string(column.type) or column.null_count:
        return bool([*values] == column.to_pylist())
    kind = int if pa.types.is_integer(column.type) else float
    return {*map(type, values)} == {kind} and bool([*values] == column.to_numpy().tolist())
