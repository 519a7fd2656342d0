"""Check the rows of a release, a chunk of them at a time: see :mod:`.sweep`."""

from __future__ import annotations

import numpy as np

from geodp.errors import Rule
from geodp.io.opening import open_parquet, parse_json, read_parquet
from geodp.io.verify.card import require
from geodp.io.verify.chunks import Chunk, columns_of, parquet_files, parquet_schema
from geodp.io.verify.csv_rows import open_rows
from geodp.io.verify.sweep import ReleaseFiles, RunningCheck
from geodp.io.write import tables
from geodp.io.write.geometry import same_geo_metadata, why_no_geometry
from geodp.io.write.outlines import grid_of_ends, outline_rows, outlines_file
from geodp.io.write.uncertainty import ERROR, HIGH, LOW
from geodp.table.card import Card


def check_counts(card: Card) -> RunningCheck[Chunk]:
    """Require counts that the card's method can release."""
    # Integers are summed as Python's, which do not overflow.
    cells, total = 0, 0.0 if not card.mechanism.whole else 0
    while (chunk := (yield)) is not None:
        total += chunk.count.sum().item()
        cells += chunk.size
    kind = "cells above 0" if card.mechanism.nonnegative else "cells that are not 0"
    # Estimates from devices are made to add up to the number of their reports.
    reports = card.guarantee.reports
    require(
        reports is None or int(total) == reports,
        Rule("counts-differ-from-reports", "The counts do not add up to the number of reports."),
    )
    numbers, total_text = "real", f"{float(total):,.1f}"
    if card.mechanism.whole:
        numbers, total_text = "whole", f"{int(total):,}"
    return f"{cells:,} {kind}, {total_text} in all, {numbers} numbers"


def check_standard_error(written: ReleaseFiles) -> RunningCheck[Chunk]:
    """Require the card's standard error of a cell in every row."""
    error = written.card.expected_error
    largest, has_parts = error.largest, error.has_parts
    if largest is None and not has_parts:
        require(
            ERROR not in parquet_schema(written.folder, written.card).names,
            Rule("standard-errors-unstated", "There are standard errors; the card has none."),
        )
        return "none: the error depends on the data"
    # Cells at the edge of a domain have other errors, up to the largest one that the card says.
    usual = None if error.blocks is None else float(error.blocks[0].standard_error)
    while (chunk := (yield)) is not None:
        errors = chunk.numbers(ERROR)
        if largest is None:
            require(
                bool((errors >= 0).all()),
                Rule("standard-error-negative", "A standard error is below 0."),
            )
            continue
        require(
            bool((errors > 0).all() and (errors <= largest).all()),
            Rule(
                "errors-above-stated",
                f"Some standard errors are above {largest}, the largest of the card.",
            ),
        )
        require(
            usual != largest or bool((errors == largest).all()),
            Rule("standard-errors-differ", f"The standard errors are not {largest} in every row."),
        )
    if largest is None:
        return "each part of a cell has its own"
    if usual == largest:
        return f"{largest} a cell, as in the card"
    return f"up to {largest} a cell, as in the card"


def check_interval_ends(card: Card) -> RunningCheck[Chunk]:
    """Require intervals that contain their counts."""
    if card.expected_error.blocks is None and not card.expected_error.has_parts:
        return ""
    while (chunk := (yield)) is not None:
        low, count, high = (chunk.numbers(name) for name in (LOW, card.name, HIGH))
        require(
            bool(((low <= count) & (count <= high)).all()),
            Rule("count-outside-interval", "A count is outside its interval."),
        )
    return "contain their counts"


def check_csv(written: ReleaseFiles) -> RunningCheck[Chunk]:
    """Require a CSV file with the same rows."""
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


def check_coordinates(written: ReleaseFiles) -> RunningCheck[Chunk]:
    """Require the coordinates of the cells' centres, where codes do not tell them."""
    names = tables.centre_columns(written.grid)
    if not names:
        return "none: codes give the places of the cells, or nothing does"
    while (chunk := (yield)) is not None:
        centres = tables.centres(written.grid, chunk.index)
        for name, expected in zip(names, centres, strict=True):
            require(
                np.array_equal(chunk.numbers(name), expected),
                Rule("coordinates-differ", f"The column {name} differs from the codes."),
            )
    return f"{', '.join(names)} are the cells' centres"


def _require_outlines_file(written: ReleaseFiles) -> None:
    """Require the file of the outlines of all units, if there is one, to have their boxes, too."""
    name = outlines_file(written.card.name)
    if name not in written.card.listed or not (written.folder / name).is_file():
        return
    grid = written.located
    expected = outline_rows(grid)
    rows = read_parquet(written.folder / name, expected.num_rows)
    geo = (rows.schema.metadata or {}).get(b"geo", b"null")
    require(
        same_geo_metadata(parse_json(geo), grid_of_ends(grid))
        and rows.replace_schema_metadata().combine_chunks()
        == expected.replace_schema_metadata().combine_chunks(),
        Rule(
            "outlines-file-differs",
            "The file of outlines has other boxes, columns or GeoParquet metadata than the domain.",
        ),
    )


def check_geometry(written: ReleaseFiles) -> RunningCheck[Chunk]:
    """Require the metadata of GeoParquet in every file, and the cells' outlines."""
    _require_outlines_file(written)
    if (why := why_no_geometry(written.located)) is not None:
        return f"none: {why}"
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
