"""Whether a release's GeoPackage holds what its Parquet file does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from geodp.errors import Rule, VerificationError
from geodp.io.crs import same_crs
from geodp.io.opening import open_base
from geodp.io.verify.card import require
from geodp.io.verify.readback import index_of, located_grid_of, parquet_pieces, parquet_schema
from geodp.io.write.geometry import geometry_crs
from geodp.io.write.geopackage import (
    APPLICATION,
    create_table,
    define_crs,
    name_of_number,
    number_of_crs,
    shapes_of,
)
from geodp.table.card import Card


def has_geopackage(card: Card) -> bool:
    """Whether a release has one; those of earlier versions have none."""
    return f"{card.name}.gpkg" in card.listed


def ask_geopackage(folder: Path, card: Card) -> str:
    """Ask for every row, its outline, and the CRS."""
    grid, schema = located_grid_of(folder, card), parquet_schema(folder, card)
    fid, crs = name_of_number(schema.names), geometry_crs(grid)
    with open_base(folder / f"{card.name}.gpkg") as base:
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
        require(
            srs == number_of_crs(crs), Rule("geopackage-crs-differs", "Its CRS is not the grid's.")
        )
        require(
            crs is None or same_crs(definition, define_crs(crs)),
            Rule("geopackage-crs-differs", "Its CRS is not the grid's."),
        )
        quoted = card.name.replace('"', '""')
        read = base.execute(f'SELECT * FROM "{quoted}" ORDER BY 1')
        start = 0
        for part in parquet_pieces(folder, card):
            _require_rows(read.fetchmany(part.num_rows), part, start, grid)
            start += part.num_rows
        require(
            read.fetchone() is None,
            Rule("geopackage-rows-differ", "It has other rows than the Parquet file."),
        )
    return "equal to the Parquet file, row by row, with the outlines of the codes' cells"


def _require_rows(found: list[Any], part: Any, start: int, grid: Any) -> None:
    """VerificationError where rows are not those of a part of the Parquet file."""
    outlines, _ = shapes_of(grid, index_of(part, grid), number_of_crs(geometry_crs(grid)))
    columns = (column.to_pylist() for column in part.columns)
    number = range(start + 1, start + 1 + part.num_rows)
    expected = list(zip(number, outlines, *columns, strict=True))
    if found == expected:
        return
    same = len(found) == len(expected) and all(
        (one[0], *one[2:]) == (other[0], *other[2:])
        for one, other in zip(found, expected, strict=True)
    )
    require(same, Rule("geopackage-rows-differ", "It has other rows than the Parquet file."))
    raise VerificationError(
        "Its outlines are not those of the codes' cells.", code="geopackage-outlines-differ"
    )
