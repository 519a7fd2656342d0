"""Whether a release's GeoPackage holds what its Parquet file does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from geodp.errors import Rule
from geodp.io.crs import same_crs
from geodp.io.opening import open_base
from geodp.io.verify.card import require
from geodp.io.verify.readback import grid_of, index_of, parquet_rows
from geodp.io.write.geopackage import (
    APPLICATION,
    create_table,
    define_crs,
    name_of_number,
    number_of_crs,
    shapes_of,
)
from geodp.io.write.tables import ROW_GROUP
from geodp.table.card import Card


def has_geopackage(card: Card) -> bool:
    """Whether a release has one; those of earlier versions have none."""
    return f"{card.name}.gpkg" in card.listed


def ask_geopackage(folder: Path, card: Card) -> str:
    """Ask for every row, its outline, and the CRS."""
    rows, grid = parquet_rows(folder, card), grid_of(card.domain)
    fid, crs = name_of_number(rows.schema.names), grid.places[0].crs
    with open_base(folder / f"{card.name}.gpkg") as base:
        found = base.execute("PRAGMA application_id").fetchone()[0]
        require(found == APPLICATION, Rule("geopackage-expected", "It is no GeoPackage."))
        views = base.execute("SELECT count(*) FROM sqlite_master WHERE type = 'view'").fetchone()[0]
        layer = base.execute("SELECT sql FROM sqlite_master WHERE name = ?", (card.name,))
        expected = [(create_table(card.name, fid, rows.schema),)]
        require(
            not views and layer.fetchall() == expected,
            Rule("geopackage-columns-differ", "Its layer has other columns."),
        )
        srs, definition = base.execute(
            "SELECT c.srs_id, s.definition FROM gpkg_contents c JOIN gpkg_spatial_ref_sys s "
            "ON s.srs_id = c.srs_id WHERE c.table_name = ?",
            (card.name,),
        ).fetchone()
        require(
            srs == number_of_crs(crs), Rule("geopackage-crs-differs", "Its CRS is not the grid's.")
        )
        require(
            crs is None or same_crs(definition, define_crs(crs)),
            Rule("geopackage-crs-differs", "Its CRS is not the grid's."),
        )
        quoted = card.name.replace('"', '""')
        read = base.execute(f'SELECT * FROM "{quoted}" ORDER BY 1')
        for start in range(0, rows.num_rows, ROW_GROUP):
            part = rows.slice(start, ROW_GROUP)
            _require_rows(read.fetchmany(ROW_GROUP), part, start, index_of(part, grid), grid)
        require(
            read.fetchone() is None,
            Rule("geopackage-rows-differ", "It has other rows than the Parquet file."),
        )
    return "equal to the Parquet file, row by row, with the outlines of the codes' cells"


def _require_rows(found: list[Any], part: Any, start: int, index: Any, grid: Any) -> None:
    """VerificationError where rows are not those of a part of the Parquet file."""
    require(
        len(found) == part.num_rows,
        Rule("geopackage-rows-differ", "It has other rows than the Parquet file."),
    )
    number, shapes, *columns = zip(*found, strict=True)
    counted = list(number) == list(range(start + 1, start + 1 + part.num_rows))
    same = all(
        list(column) == other.to_pylist()
        for column, other in zip(columns, part.columns, strict=True)
    )
    require(
        counted and same, Rule("geopackage-rows-differ", "It has other rows than the Parquet file.")
    )
    outlines, _ = shapes_of(grid, np.asarray(index), number_of_crs(grid.places[0].crs))
    require(
        list(shapes) == outlines,
        Rule("geopackage-outlines-differ", "Its outlines are not those of the codes' cells."),
    )
