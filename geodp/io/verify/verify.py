"""Check that a written release agrees with itself. Public data only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from geodp.accuracy.areas import areas_of
from geodp.errors import Rule, VerificationError
from geodp.grid.lattice import Lattice
from geodp.io.crs import same_crs
from geodp.io.folder.kinds import Check, Kind
from geodp.io.folder.manifest import release_id
from geodp.io.folder.parts import parts_id
from geodp.io.opening import open_parquet, parse_json
from geodp.io.verify.card import open_card, public_folder, require
from geodp.io.verify.csv_rows import require_same_rows
from geodp.io.verify.files import ask_checksums, ask_files, ask_restricted
from geodp.io.verify.formats import ListSheets, ask_formats, has_formats
from geodp.io.verify.geopackage import ask_geopackage, has_geopackage
from geodp.io.verify.intervals import ErrorsOf, ask_intervals
from geodp.io.verify.measurements import ask_measurements, has_measurements
from geodp.io.verify.readback import (
    BROKEN,
    counts_of,
    grid_of,
    index_of,
    located_grid_of,
    open_map,
    parquet_files,
    parquet_rows,
    raster_file,
    read_table,
)
from geodp.io.verify.tileset import Tileset
from geodp.io.verify.totals import ask_totals, has_totals
from geodp.io.verify.withdrawn import warn_if_withdrawn
from geodp.io.write import geotiff, pixels, tables
from geodp.io.write.areas import area_rows, file_names
from geodp.io.write.geometry import geometry, has_geometry, same_geo_metadata
from geodp.io.write.uncertainty import ERROR, beside_of
from geodp.table.card import Card
from geodp.table.stated.domain import StatedDomain

AnyCard = TypeVar("AnyCard")


def verify(
    path: str | Path, errors: ErrorsOf | None = None, list_sheets: ListSheets | None = None
) -> list[Check]:
    """Ask a written release whether its files agree with each other and with the card.

    A release is that of a table, or of any other kind (:mod:`geodp.io.folder.kinds`).

    Parameters
    ----------
    path : path
        The release's folder, or its ``public`` folder alone.
    errors : callable, optional
        From a released table, how many releases its card says were simulated, and whether closed
        forms stand, to the intervals of its cells and what the card says of errors, to work these
        out again: :func:`geodp.release.simulated_cells.errors_of`. Without it intervals are asked
        only to hold their counts.
    list_sheets : callable, optional
        From the folder to what is exported of it, to write the files of ``formats`` beside it
        again: :func:`geodp.release.opening.list_sheets`. Without it checksums alone are asked.

    Returns
    -------
    list of Check
        In the order asked. After an unreadable card, the checks that need it are left out.

    Raises
    ------
    VerificationError
        There is no release at ``path``.
    MemoryError
        There is too little memory to ask, which says nothing of the release.
    """
    folder = public_folder(path)
    try:
        card = open_card(folder)
    except VerificationError as error:
        return [Check("card", False, str(error))]
    if isinstance(card, Kind):
        warn_if_withdrawn(folder)
        return card.verify(folder, errors)
    questions = _ask_table(errors)
    if has_geopackage(card):
        questions.insert(-1, ("geopackage", ask_geopackage))
    if has_measurements(card):
        questions.insert(-1, ("measurements", ask_measurements))
    if has_totals(card):
        questions.insert(-1, ("public totals", ask_totals))
    if has_formats(folder):
        questions.insert(-1, ("formats", partial(ask_formats, list_sheets)))
    first = Check("card", True, f"schema {card.schema}, release {card.release_id}")
    return [first, *ask_all(questions, folder, card)]


def ask_all(
    questions: Iterable[tuple[str, Callable[[Path, AnyCard], str]]], folder: Path, card: AnyCard
) -> list[Check]:
    """Ask a public folder questions, in their order, by name.

    Each returns what it found, or raises one of :data:`BROKEN` for what does not hold.
    """
    checks = []
    for name, ask in questions:
        try:
            checks.append(Check(name, True, ask(folder, card)))
        except MemoryError:
            raise
        except BROKEN as error:
            checks.append(Check(name, False, str(error) or type(error).__name__))
    return checks


def _ask_table(errors: ErrorsOf | None) -> list[tuple[str, Callable[[Path, Card], str]]]:
    """Return the questions to the release of a table."""
    return [
        ("checksums", ask_checksums),
        ("files", ask_files),
        ("release id", _ask_identity),
        ("counts", _ask_counts),
        ("cells", _ask_cells),
        ("standard error", _ask_standard_error),
        ("intervals", partial(ask_intervals, errors)),
        ("csv", _ask_csv),
        ("areas", _ask_areas),
        ("raster", _ask_raster),
        ("mask", _ask_mask),
        ("coordinates", _ask_coordinates),
        ("geometry", _ask_geometry),
        ("restricted", ask_restricted),
    ]


def _ask_identity(folder: Path, card: Card) -> str:
    if card.in_parts:
        found = parts_id(card.listed.values(), card.to_json())
        require(
            found == card.release_id,
            Rule("release-id-differs", "The release id is not that of the parts and the card."),
        )
        return f"{found}, of the parts and the card"
    found = release_id(folder / f"{card.name}.csv", card.to_json())
    require(
        found == card.release_id,
        Rule("release-id-differs", "The release id is not that of the CSV and the card."),
    )
    return f"{found}, of the CSV and the card"


def _ask_counts(folder: Path, card: Card) -> str:
    count = counts_of(parquet_rows(folder, card, (card.name,)), card)
    whole, nonnegative = card.mechanism.whole, card.mechanism.nonnegative
    cells = "cells above 0" if nonnegative else "cells that are not 0"
    reports = card.guarantee.reports
    same = reports is None or int(count.sum()) == reports
    require(
        same,
        Rule("counts-differ-from-reports", "The counts do not add up to the number of reports."),
    )
    total = f"{int(count.sum()):,}" if whole else f"{float(count.sum()):,.1f}"
    return f"{count.size:,} {cells}, {total} in all, {'whole' if whole else 'real'} numbers"


def _ask_cells(folder: Path, card: Card) -> str:
    table = read_table(folder, card, masked=False)
    again, stated = StatedDomain.of(table.grid), card.domain
    unknown = stated.lacks_table(table.grid)
    if unknown:
        again = replace(again, cells=stated.cells, order=stated.order, key_bits=stated.key_bits)
    elif stated.mask is not None:
        again = replace(again, mask=stated.mask, cells=stated.cells)
    require(
        again == stated, Rule("card-domain-no-grid", "The card's domain does not describe a grid.")
    )
    if unknown:
        return "codes lie in the extent, each once; there is no table of the regions to ask"
    return "codes lie in the domain, each once, in key order"


def _ask_standard_error(folder: Path, card: Card) -> str:
    stated = card.expected_error.largest
    if stated is None and card.expected_error.has_parts:
        written = parquet_rows(folder, card, (ERROR,))[ERROR].to_numpy()
        require(
            bool((written >= 0).all()),
            Rule("standard-error-negative", "A standard error is below 0."),
        )
        return "each part of a cell has its own"
    if stated is None:
        schema = open_parquet(parquet_files(folder, card)[0]).schema_arrow
        require(
            ERROR not in schema.names,
            Rule("standard-errors-unstated", "There are standard errors; the card has none."),
        )
        return "none: the error depends on the data"
    written = parquet_rows(folder, card, (ERROR,))[ERROR].to_numpy()
    usual = _usual(card)
    require(
        bool((written > 0).all() and (written <= stated).all()),
        Rule("errors-above-stated", f"Not all are up to {stated}."),
    )
    if usual == stated:
        require(
            bool((written == stated).all()),
            Rule("standard-errors-differ", f"The column is not {stated} everywhere."),
        )
        return f"{stated} a cell, as in the card"
    return f"up to {stated} a cell, as in the card"


def _usual(card: Card) -> float | None:
    """Return standard error of a cell that does not lie at an edge."""
    blocks = card.expected_error.blocks
    return None if blocks is None else float(blocks[0].standard_error)


def _ask_csv(folder: Path, card: Card) -> str:
    if card.in_parts:
        return "none: a release in parts has Parquet only"
    columns = tables.column_names(grid_of(card.domain), card.name, beside_of(card))
    require_same_rows(folder / f"{card.name}.csv", parquet_files(folder, card)[0], columns)
    return "equal to the Parquet file, row by row"


def _ask_areas(folder: Path, card: Card) -> str:
    table = read_table(folder, card, masked=False)
    stems = {} if card.in_parts else file_names(table.grid, card.name)
    for areas in areas_of(table, None) if stems else ():
        stem = stems[areas.level]
        rows = open_parquet(folder / f"{stem}.parquet").read()
        found = rows[card.name].to_numpy()
        require(
            np.array_equal(found, areas.count),
            Rule("area-sums-differ", f"{stem} has other sums than its cells."),
        )
        again = area_rows(areas, card.name)
        same = all(
            rows[column].combine_chunks().equals(again[column].combine_chunks())
            for column in again.schema.names
        )
        require(same, Rule("area-names-differ", f"{stem} names other areas than its cells."))
        columns = [n for n in rows.schema.names if n not in ("geometry", "bbox")]
        require_same_rows(folder / f"{stem}.csv", folder / f"{stem}.parquet", columns)
    return f"{', '.join(stems)}: the sums of their cells" if stems else "none"


def _ask_raster(folder: Path, card: Card) -> str:
    table = read_table(folder, card, masked=False)
    reason = geotiff.why_no_raster(table)
    if card.in_parts:
        omitted = {one.name: one.why for one in card.left_out}
        reason = omitted.get(raster_file(folder, card).name)
    if reason is not None:
        return f"none: {reason}"
    place, drawn = table.grid.places[0], pixels.Pixels(table)
    error, counted = card.expected_error.largest, geotiff.band_count(table.grid)
    bands = counted * (1 if error is None or card.in_parts else 3) + (error is not None)
    with open_map(folder, card) as raster:
        require(
            raster.shape == (place.rows, place.cols),
            Rule("raster-shape-differs", "The raster has another shape."),
        )
        require(
            raster.count == bands, Rule("raster-bands-differ", f"The raster has not {bands} bands.")
        )
        require(_lies_at(raster, place), Rule("raster-elsewhere", "The raster lies elsewhere."))
        inside = 0
        for number, window in pixels.windows(place):
            last = raster.read(counted + (error is not None), window=window)
            outside = np.isnan(last)
            inside += outside.size - int(outside.sum())
            if error is not None:
                same = outside | (last == last.dtype.type(error))
                require(bool(same.all()), Rule("raster-errors-differ", "Wrong errors."))
            for band in range(counted):
                found = raster.read(band + 1, window=window)
                expected = np.zeros(found.shape)
                drawn.dense(number, band, expected)
                same = found == expected
                if outside.any():
                    same = np.where(outside, np.isnan(found) & (expected == 0), same)
                require(
                    bool(same.all()),
                    Rule(
                        "raster-values-differ",
                        f"The raster differs from the table in band {band + 1}, "
                        f"rows {window.row_off} to {window.row_off + window.height}.",
                    ),
                )
    require(
        inside * counted == card.domain.cells,
        Rule("raster-domain-differs", "The raster's domain is not the card's."),
    )
    return "equal to the table, cell by cell"


def _lies_at(raster: Any, place: Lattice) -> bool:
    """Whether a raster has the transform and the CRS of a lattice."""
    if place.transform is None:
        return True
    stated = geotiff.georeference(place)
    found = raster.transform
    if found is None or not found.almost_equals(stated["transform"], 1e-6 * abs(found.a)):
        return False
    if isinstance(raster, Tileset):
        return same_crs(raster.srs, place.crs)
    return bool(raster.crs == stated["crs"])


def _ask_mask(folder: Path, card: Card) -> str:
    if card.domain.mask is None:
        return "none"
    grid = read_table(folder, card, masked=True).grid
    if grid.mask is None:
        return "not checked: there is no raster that shows it"
    require(
        StatedDomain.of(grid) == card.domain,
        Rule("card-domain-differs-from-mask", "The card's domain is not the mask's."),
    )
    return f"{grid.mask.cells:,} cells of the raster, with the card's SHA-256"


def _ask_coordinates(folder: Path, card: Card) -> str:
    grid = grid_of(card.domain)
    names = tables.centre_columns(grid)
    if not names:
        return "none: the codes say where the cells are, or nothing does"
    rows = parquet_rows(folder, card)
    index = index_of(rows, grid)
    for name, expected in zip(names, tables.centres(grid, index), strict=True):
        found = rows[name].to_numpy()
        require(
            np.array_equal(found, expected),
            Rule("coordinates-differ", f"The column {name} differs from the codes."),
        )
    return f"{', '.join(names)} are the cells' centres"


def _ask_geometry(folder: Path, card: Card) -> str:
    grid = located_grid_of(folder, card)
    if not has_geometry(grid):
        return "none: the grid lies nowhere on the Earth"
    for path in parquet_files(folder, card):
        file = open_parquet(path)
        require(
            same_geo_metadata(parse_json((file.schema_arrow.metadata or {})[b"geo"]), grid),
            Rule(
                "geoparquet-metadata-differ", "The GeoParquet metadata are not those of the domain."
            ),
        )
        for batch in file.iter_batches(tables.ROW_GROUP):
            index = index_of(pa.Table.from_batches([batch]), grid)
            expected = geometry(grid, index)
            for name, column in zip(("geometry", "bbox"), expected, strict=True):
                require(
                    batch[name].equals(column),
                    Rule("outlines-differ", f"The column {name} differs from the codes."),
                )
    return "GeoParquet 1.1, outlines equal to the codes' cells"
