"""Check that a written release agrees with itself. Public data only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from geodp.accuracy.areas import areas_of
from geodp.errors import Rule, VerificationError
from geodp.io.folder.kinds import Check, Kind
from geodp.io.folder.manifest import release_id
from geodp.io.folder.parts import parts_id
from geodp.io.opening import open_parquet
from geodp.io.verify.card import open_card, public_folder, require
from geodp.io.verify.csv_rows import require_same_rows
from geodp.io.verify.files import ask_checksums, ask_files, ask_restricted
from geodp.io.verify.formats import OpenView, ask_formats, has_formats
from geodp.io.verify.geopackage import ask_geopackage, has_geopackage
from geodp.io.verify.intervals import ErrorsOf, ask_intervals
from geodp.io.verify.measurements import choose_measurements, has_measurements
from geodp.io.verify.raster import ask_raster, read_pieces
from geodp.io.verify.readback import (
    BROKEN,
)
from geodp.io.verify.rows import (
    ask_coordinates,
    ask_counts,
    ask_csv,
    ask_ends,
    ask_geometry,
    ask_standard_error,
)
from geodp.io.verify.sweep import Passed, Written
from geodp.io.verify.totals import ask_totals, has_totals
from geodp.io.verify.withdrawn import warn_if_withdrawn
from geodp.io.write.areas import file_names
from geodp.io.write.view import View
from geodp.table.card import Card
from geodp.table.stated.domain import StatedDomain

AnyCard = TypeVar("AnyCard")


def verify(
    path: str | Path, errors: ErrorsOf | None = None, open_view: OpenView | None = None
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
    open_view : callable, optional
        From the folder to what is exported of it, to write the files of ``formats`` beside it
        again: :func:`geodp.release.opening.open_view`. Without it checksums alone are asked.

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
    first = Check("card", True, f"schema {card.schema}, release {card.release_id}")
    return [first, *ask_all(_list_questions(folder, card, errors, open_view), folder, card)]


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


def _list_questions(
    folder: Path, card: Card, errors: ErrorsOf | None, open_view: OpenView | None
) -> list[tuple[str, Callable[[Path, Card], str]]]:
    """Return the questions to the release of a table; its rows and its raster are read once."""
    written = Written(folder, card)
    rows = Passed(
        written.chunks,
        {
            "table": written.gather,
            "counts": partial(ask_counts, card),
            "standard error": partial(ask_standard_error, written),
            "ends": partial(ask_ends, card),
            "csv": partial(ask_csv, written),
            "coordinates": partial(ask_coordinates, written),
            "geometry": partial(ask_geometry, written),
        },
    )
    maps = Passed(partial(read_pieces, written), {"raster": partial(ask_raster, written)})
    if has_geopackage(card):
        rows.join("geopackage", partial(ask_geopackage, written))

    def of(passed: Passed[Any], name: str) -> tuple[str, Callable[[Path, Card], str]]:
        return name, lambda *_: passed.outcome(name)

    def on(name: str, ask: Callable[[], str]) -> tuple[str, Callable[[Path, Card], str]]:
        return name, lambda *_: ask()

    return [
        ("checksums", ask_checksums),
        ("files", ask_files),
        ("release id", _ask_identity),
        of(rows, "counts"),
        on("cells", partial(_ask_cells, written)),
        of(rows, "standard error"),
        on("intervals", partial(ask_intervals, errors, written, rows, maps)),
        of(rows, "csv"),
        on("areas", partial(_ask_areas, written)),
        of(maps, "raster"),
        on("mask", partial(_ask_mask, written)),
        of(rows, "coordinates"),
        of(rows, "geometry"),
        *([of(rows, "geopackage")] if has_geopackage(card) else []),
        *([on("measurements", partial(choose_measurements, written))] * has_measurements(card)),
        *([on("public totals", partial(ask_totals, written))] * has_totals(card)),
        *([("formats", partial(ask_formats, open_view))] * has_formats(folder)),
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


def _ask_cells(written: Written) -> str:
    card, table = written.card, written.table(masked=False)
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


def _ask_areas(written: Written) -> str:
    folder, card, table = written.folder, written.card, written.table(masked=False)
    stems = {} if card.in_parts else file_names(table.grid, card.name)
    for areas in areas_of(table, None) if stems else ():
        stem = stems[areas.level]
        rows = open_parquet(folder / f"{stem}.parquet").read()
        found = rows[card.name].to_numpy()
        require(
            np.array_equal(found, areas.count),
            Rule("area-sums-differ", f"{stem} has other sums than its cells."),
        )
        again = View(table, card).of(areas).whole.columns
        same = all(
            rows[column].combine_chunks().equals(again[column].combine_chunks())
            for column in again.schema.names
        )
        require(same, Rule("area-names-differ", f"{stem} names other areas than its cells."))
        columns = [n for n in rows.schema.names if n not in ("geometry", "bbox")]
        require_same_rows(folder / f"{stem}.csv", folder / f"{stem}.parquet", columns)
    return f"{', '.join(stems)}: the sums of their cells" if stems else "none"


def _ask_mask(written: Written) -> str:
    card = written.card
    if card.domain.mask is None:
        return "none"
    grid = written.table(masked=True).grid
    if grid.mask is None:
        return "not checked: there is no raster that shows it"
    require(
        StatedDomain.of(grid) == card.domain,
        Rule("card-domain-differs-from-mask", "The card's domain is not the mask's."),
    )
    return f"{grid.mask.cells:,} cells of the raster, with the card's SHA-256"
