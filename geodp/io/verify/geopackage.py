"""Check that a release's GeoPackage has the rows and outlines of its Parquet file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from geodp.errors import Rule
from geodp.grid.grid import Grid
from geodp.io.crs import same_crs
from geodp.io.numbers import numbers_of
from geodp.io.opening import open_base
from geodp.io.verify.card import require
from geodp.io.verify.chunks import Chunk, columns_of, parquet_schema
from geodp.io.verify.sweep import ReleaseFiles, RunningCheck
from geodp.io.write.geometry import geometry_bounds, geometry_crs, geometry_kind
from geodp.io.write.geopackage import (
    APPLICATION,
    SHAPE,
    create_table,
    define_crs,
    layout_shapes,
    list_boxed,
    name_index,
    name_of_number,
    number_of_crs,
    order_sides,
)
from geodp.io.write.rtree import CELL, read_leaves, round_boxes
from geodp.io.write.sqlite import quote
from geodp.table.card import Card
from geodp.typing import IntArray

AT_ONCE = 1 << 11
"""Rows that are Python values at a time: more do not stay in a processor's cache."""

OTHER_ROWS = Rule("geopackage-rows-differ", "Its rows differ from those of the Parquet file.")
OTHER_EXTENT = Rule(
    "geopackage-extent-differs",
    "Its extent, the boxes of its index or the kind of its outlines are not those of the domain "
    "and of the rows.",
)
OTHER_OUTLINES = Rule(
    "geopackage-outlines-differ", "Its outlines are not those of the cells that the codes name."
)


def has_geopackage(card: Card) -> bool:
    """Return whether a release has a GeoPackage; those of earlier versions have none."""
    return f"{card.name}.gpkg" in card.listed


def check_geopackage(written: ReleaseFiles) -> RunningCheck[Chunk]:
    """Require every row, every outline, and the CRS to be those of the Parquet file."""
    card, grid, number = written.card, written.located, 0
    with open_base(written.folder / f"{card.name}.gpkg") as base:
        schema = parquet_schema(written.folder, card)
        names = columns_of(card, grid)
        layer = pa.schema([schema.field(name) for name in names])
        _require_layer(base, card, grid, layer)
        srs = number_of_crs(geometry_crs(grid))
        # SQL has no parameters for names.
        read = base.execute(f"SELECT * FROM {quote(card.name)} ORDER BY 1")
        index = IndexedBoxes(read_leaves(base, name_index(card.name)))
        while (chunk := (yield)) is not None:
            columns = [chunk.column(name) for name in names]
            shapes = layout_shapes(*chunk.outlines, srs)
            for start in range(0, chunk.size, AT_ONCE):
                some = shapes[start : start + AT_ONCE]
                values = [_list_values(column.slice(start, AT_ONCE)) for column in columns]
                numbers = range(number + 1, number + 1 + len(some))
                expected = [*zip(numbers, some, *values, strict=True)]
                _require_rows(read.fetchmany(len(some)), expected)
                number += len(some)
            rows = np.arange(number + 1 - chunk.size, number + 1)
            rows, sides = list_boxed(rows, order_sides(chunk.outlines[1]))
            index.require(rows, round_boxes(sides))
        require(read.fetchone() is None, OTHER_ROWS)
        index.require_end()
    return "equal to the Parquet file, row by row, with the outlines of the codes' cells"


class IndexedBoxes:
    """Boxes of the index of outlines, which was packed in the order of the rows.

    Parameters
    ----------
    leaves : iterator of CELL[n]
        See :func:`geodp.io.write.rtree.read_leaves`.
    """

    def __init__(self, leaves: Iterator[NDArray[Any]]) -> None:
        self._leaves = leaves
        self._left: NDArray[Any] = np.empty(0, CELL)

    def require(self, rows: IntArray, box: NDArray[np.float32]) -> None:
        """Require the next boxes of the index to be those of rows: int64[n], float32[n, 4]."""
        pieces, size = [self._left], self._left.size
        while size < len(box):
            leaf = next(self._leaves, None)
            require(leaf is not None, OTHER_EXTENT)
            assert leaf is not None
            pieces.append(leaf)
            size += leaf.size
        cells = np.concatenate(pieces)
        cells, self._left = cells[: len(box)], cells[len(box) :]
        require(
            np.array_equal(cells["id"], rows) and np.array_equal(cells["box"], box), OTHER_EXTENT
        )

    def require_end(self) -> None:
        """Require that the index has no more boxes."""
        require(not self._left.size and next(self._leaves, None) is None, OTHER_EXTENT)


def _require_layer(base: Any, card: Card, grid: Grid, schema: Any) -> None:
    """Require a layer of these columns in the grid's CRS.

    SQLite gives numbers the type of their column, so that 1 is never stored for 1.0, which Python
    takes for equal.
    """
    fid, crs = name_of_number(schema.names), geometry_crs(grid)
    application = base.execute("PRAGMA application_id").fetchone()[0]
    require(application == APPLICATION, Rule("geopackage-expected", "It is not a GeoPackage."))
    # A view could compute its rows anew whenever it is read.
    views = base.execute("SELECT count(*) FROM sqlite_master WHERE type = 'view'").fetchone()[0]
    layer = base.execute("SELECT sql FROM sqlite_master WHERE name = ?", (card.name,))
    expected = [(create_table(card.name, fid, schema),)]
    require(
        not views and layer.fetchall() == expected,
        Rule(
            "geopackage-columns-differ",
            "The columns of its layer differ from those of the Parquet file.",
        ),
    )
    # Versions of PROJ write one CRS in other words, so that definitions are compared by meaning.
    srs, definition = base.execute(
        "SELECT c.srs_id, s.definition FROM gpkg_contents c JOIN gpkg_spatial_ref_sys s "
        "ON s.srs_id = c.srs_id WHERE c.table_name = ?",
        (card.name,),
    ).fetchone()
    same = srs == number_of_crs(crs) and (crs is None or same_crs(definition, define_crs(crs)))
    require(same, Rule("geopackage-crs-differs", "Its CRS is not the grid's."))
    box = base.execute(
        "SELECT min_x, min_y, max_x, max_y FROM gpkg_contents WHERE table_name = ?", (card.name,)
    ).fetchone()
    kind = base.execute("SELECT * FROM gpkg_geometry_columns").fetchall()
    shapes = [(card.name, SHAPE, geometry_kind(grid).upper(), srs, 0, 0)]
    require(box == geometry_bounds(grid) and kind == shapes, OTHER_EXTENT)


def _require_rows(rows: list[tuple[Any, ...]], expected: list[tuple[Any, ...]]) -> None:
    """Require equal rows, each of which is a number, an outline and columns."""
    # Comparing lists of tuples at once takes half the time of taking columns out of the rows.
    if rows == expected:
        return
    columns = [[(row[0], *row[2:]) for row in some] for some in (rows, expected)]
    require(columns[0] == columns[1], OTHER_ROWS)
    require(False, OTHER_OUTLINES)


def _list_values(column: Any) -> list[Any]:
    """List the values of an Arrow array as SQLite gives them, None where one is missing."""
    if pa.types.is_string(column.type) or column.null_count:
        return list(column.to_pylist())
    return list(numbers_of(column).tolist())
