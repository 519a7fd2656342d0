"""Questions to the rows of a release, a chunk of them at a time: see :mod:`.sweep`."""

from __future__ import annotations

import numpy as np

from geodp.errors import Rule
from geodp.io.opening import open_parquet, parse_json
from geodp.io.verify.card import require
from geodp.io.verify.chunks import Chunk, columns_of, parquet_files, parquet_schema
from geodp.io.verify.csv_rows import open_rows
from geodp.io.verify.sweep import Asking, Written
from geodp.io.write import tables
from geodp.io.write.geometry import has_geometry, same_geo_metadata
from geodp.io.write.uncertainty import ERROR, HIGH, LOW
from geodp.table.card import Card


def ask_counts(card: Card) -> Asking[Chunk]:
    """Ask for counts as the card's method can release them."""
    cells, total = 0, 0.0 if not card.mechanism.whole else 0
    while (chunk := (yield)) is not None:
        total += chunk.count.sum().item()
        cells += chunk.size
    kind = "cells above 0" if card.mechanism.nonnegative else "cells that are not 0"
    reports = card.guarantee.reports
    require(
        reports is None or int(total) == reports,
        Rule("counts-differ-from-reports", "The counts do not add up to the number of reports."),
    )
    whole = card.mechanism.whole
    said = f"{int(total):,}" if whole else f"{float(total):,.1f}"
    return f"{cells:,} {kind}, {said} in all, {'whole' if whole else 'real'} numbers"


def ask_standard_error(written: Written) -> Asking[Chunk]:
    """Ask for the card's standard error of a cell in every row."""
    error = written.card.expected_error
    stated, has_parts = error.largest, error.has_parts
    if stated is None and not has_parts:
        require(
            ERROR not in parquet_schema(written.folder, written.card).names,
            Rule("standard-errors-unstated", "There are standard errors; the card has none."),
        )
        return "none: the error depends on the data"
    usual = None if error.blocks is None else float(error.blocks[0].standard_error)
    while (chunk := (yield)) is not None:
        found = chunk.numbers(ERROR)
        if stated is None:
            require(
                bool((found >= 0).all()),
                Rule("standard-error-negative", "A standard error is below 0."),
            )
            continue
        require(
            bool((found > 0).all() and (found <= stated).all()),
            Rule("errors-above-stated", f"Not all are up to {stated}."),
        )
        require(
            usual != stated or bool((found == stated).all()),
            Rule("standard-errors-differ", f"The column is not {stated} everywhere."),
        )
    if stated is None:
        return "each part of a cell has its own"
    if usual == stated:
        return f"{stated} a cell, as in the card"
    return f"up to {stated} a cell, as in the card"


def ask_ends(card: Card) -> Asking[Chunk]:
    """Ask for intervals that hold their counts."""
    if card.expected_error.blocks is None and not card.expected_error.has_parts:
        return ""
    while (chunk := (yield)) is not None:
        low, count, high = (chunk.numbers(name) for name in (LOW, card.name, HIGH))
        require(
            bool(((low <= count) & (count <= high)).all()),
            Rule("count-outside-interval", "A count is outside its interval."),
        )
    return "hold their counts"


def ask_csv(written: Written) -> Asking[Chunk]:
    """Ask for a CSV file with the same rows."""
    card = written.card
    if card.in_parts:
        return "none: a release in parts has Parquet only"
    names = list(columns_of(card, written.grid))
    schema = parquet_schema(written.folder, card)
    with open_rows(written.folder / f"{card.name}.csv", schema, names) as rows:
        while (chunk := (yield)) is not None:
            rows.require_next([chunk.column(name) for name in names])
        rows.require_end()
    return "equal to the Parquet file, row by row"


def ask_coordinates(written: Written) -> Asking[Chunk]:
    """Ask for coordinates of the cells' centres, where codes do not tell them."""
    names = tables.centre_columns(written.grid)
    if not names:
        return "none: the codes say where the cells are, or nothing does"
    while (chunk := (yield)) is not None:
        centres = tables.centres(written.grid, chunk.index)
        for name, expected in zip(names, centres, strict=True):
            require(
                np.array_equal(chunk.numbers(name), expected),
                Rule("coordinates-differ", f"The column {name} differs from the codes."),
            )
    return f"{', '.join(names)} are the cells' centres"


def ask_geometry(written: Written) -> Asking[Chunk]:
    """Ask for metadata of GeoParquet in every file, and for the cells' outlines."""
    if not has_geometry(written.located):
        return "none: the grid lies nowhere on the Earth"
    for path in parquet_files(written.folder, written.card):
        metadata = open_parquet(path).schema_arrow.metadata or {}
        require(
            same_geo_metadata(parse_json(metadata[b"geo"]), written.located),
            Rule(
                "geoparquet-metadata-differ", "The GeoParquet metadata are not those of the domain."
            ),
        )
    while (chunk := (yield)) is not None:
        for name, expected in zip(("geometry", "bbox"), chunk.outlines, strict=True):
            require(
                chunk.column(name).equals(expected),
                Rule("outlines-differ", f"The column {name} differs from the codes."),
            )
    return "GeoParquet 1.1, outlines equal to the codes' cells"
