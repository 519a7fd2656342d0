"""Check that a written release agrees with itself; only public data are read.

The checks of rows are in :mod:`geodp.io.verify.rows`, those of the raster in
:mod:`geodp.io.verify.raster`; :mod:`geodp.io.verify.verify_release` is the file that needs Python
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from geodp.accuracy.areas import areas_of
from geodp.errors import Rule, VerificationError
from geodp.grid.lattice import transform_of
from geodp.io.folder.kinds import Check, Kind
from geodp.io.folder.manifest import release_id
from geodp.io.folder.parts import parts_id
from geodp.io.opening import read_parquet
from geodp.io.verify.again import check_again
from geodp.io.verify.card import describe_error, open_card, public_folder, require
from geodp.io.verify.csv_rows import require_same_rows
from geodp.io.verify.files import (
    check_checksums,
    check_files,
    check_restricted,
    has_formats,
)
from geodp.io.verify.geopackage import check_geopackage, has_geopackage
from geodp.io.verify.intervals import check_intervals
from geodp.io.verify.measurements import check_measurements, has_measurements
from geodp.io.verify.raster import check_raster, read_band_windows
from geodp.io.verify.readback import (
    BROKEN,
)
from geodp.io.verify.remade import Remake, Remaking
from geodp.io.verify.rows import (
    check_coordinates,
    check_counts,
    check_csv,
    check_geometry,
    check_interval_ends,
    check_standard_error,
)
from geodp.io.verify.statements import check_statements
from geodp.io.verify.sweep import CheckPass, ReleaseFiles
from geodp.io.verify.totals import check_totals, has_totals
from geodp.io.verify.withdrawn import warn_if_withdrawn
from geodp.io.write.areas import file_names
from geodp.io.write.view import View
from geodp.table.card import Card
from geodp.table.stated.domain import StatedDomain

if TYPE_CHECKING:
    from geodp.io.verify.formats import OpenView

AnyCard = TypeVar("AnyCard")


def verify(
    path: str | Path, errors: Remake | None = None, open_view: OpenView | None = None
) -> list[Check]:
    """Check that the files of a written release agree with each other and with the card.

    The release may be that of a table, or of any other kind (:mod:`geodp.io.folder.kinds`).

    Parameters
    ----------
    path : path
        The release's folder, or its ``public`` folder alone.
    errors : callable, optional
        Computes the release again: its card, the intervals of its cells and the view that its
        files are written from, such as :func:`geodp.release.simulated_cells.errors_of`. Without it
        intervals are only required to contain their counts, and the card not to contradict its
        budget.
    open_view : callable, optional
        Opens the folder, to write the files of ``formats`` beside it again; such as
        :func:`geodp.release.opening.open_view`. Without it only their checksums are checked.

    Returns
    -------
    list of Check
        All checks in their order. If the card cannot be read, those that need it are left out.

    Raises
    ------
    VerificationError
        There is no release at ``path``.
    MemoryError
        There is too little memory, which says nothing of the release.
    """
    folder = public_folder(path)
    try:
        card = open_card(folder)
    except VerificationError as error:
        return [Check("card", False, str(error))]
    if isinstance(card, Kind):
        # Cards of tables warn when they are opened.
        warn_if_withdrawn(folder)
        return card.verify(folder, errors)
    first = Check("card", True, f"schema {card.schema}, release {card.release_id}")
    return [first, *run_checks(_list_checks(folder, card, errors, open_view), folder, card)]


def run_checks(
    checks: Iterable[tuple[str, Callable[[Path, AnyCard], str]]], folder: Path, card: AnyCard
) -> list[Check]:
    """Run checks of a public folder by name, in their order.

    Each returns a message on what holds, or raises one of :data:`BROKEN`.
    """
    results = []
    for name, check in checks:
        try:
            results.append(Check(name, True, check(folder, card)))
        except MemoryError:
            raise
        except BROKEN as error:
            results.append(Check(name, False, describe_error(error, folder)))
    return results


def _list_checks(
    folder: Path, card: Card, errors: Remake | None, open_view: OpenView | None
) -> list[tuple[str, Callable[[Path, Card], str]]]:
    """List the checks of the release of a table, whose rows and raster are read once."""
    written = ReleaseFiles(folder, card)
    remaking = Remaking(written, errors)
    # Reading Parquet takes longest, so that all checks of rows share one pass.
    rows = CheckPass(
        written.chunks,
        {
            "table": written.gather,
            "counts": partial(check_counts, card),
            "standard error": partial(check_standard_error, written),
            "ends": partial(check_interval_ends, card),
            "csv": partial(check_csv, written),
            "coordinates": partial(check_coordinates, written),
            "geometry": partial(check_geometry, written),
        },
    )
    maps = CheckPass(
        partial(read_band_windows, written), {"raster": partial(check_raster, written)}
    )
    if has_geopackage(card):
        rows.join("geopackage", partial(check_geopackage, written))

    def of(passed: CheckPass[Any], name: str) -> tuple[str, Callable[[Path, Card], str]]:
        return name, lambda *_: passed.outcome(name)

    def on(name: str, check: Callable[[], str]) -> tuple[str, Callable[[Path, Card], str]]:
        return name, lambda *_: check()

    return [
        ("checksums", check_checksums),
        ("files", check_files),
        ("release id", _check_identity),
        of(rows, "counts"),
        on("cells", partial(_check_cells, written)),
        on("statements", partial(check_statements, remaking)),
        of(rows, "standard error"),
        on("intervals", partial(check_intervals, remaking, rows, maps)),
        of(rows, "csv"),
        on("areas", partial(_check_areas, written)),
        of(maps, "raster"),
        on("mask", partial(_check_mask, written)),
        of(rows, "coordinates"),
        of(rows, "geometry"),
        *([of(rows, "geopackage")] if has_geopackage(card) else []),
        *([on("measurements", partial(check_measurements, written))] * has_measurements(card)),
        *([on("public totals", partial(check_totals, written))] * has_totals(card)),
        on("written again", partial(check_again, remaking)),
        *([("formats", partial(_check_formats, open_view))] * has_formats(folder)),
        ("restricted", check_restricted),
    ]


def _check_formats(open_view: OpenView | None, folder: Path, card: Card) -> str:
    # All readers of tables come with it, which few releases need.
    from geodp.io.verify.formats import check_formats

    return check_formats(open_view, folder, card)


def _check_identity(folder: Path, card: Card) -> str:
    if card.in_parts:
        identity = parts_id(card.listed.values(), card.to_json())
        require(
            identity == card.release_id,
            Rule("release-id-differs", "The release id is not that of the parts and the card."),
        )
        return f"{identity}, of the parts and the card"
    identity = release_id(folder / f"{card.name}.csv", card.to_json())
    require(
        identity == card.release_id,
        Rule("release-id-differs", "The release id is not that of the CSV and the card."),
    )
    return f"{identity}, of the CSV and the card"


def _check_cells(written: ReleaseFiles) -> str:
    card, table = written.card, written.table(masked=False)
    expected, declared = StatedDomain.of(table.grid), card.domain
    lacks_table = declared.lacks_table(table.grid)
    # What follows from a table of regions or a mask that is not read here is the card's own word.
    if lacks_table:
        expected = replace(
            expected, cells=declared.cells, order=declared.order, key_bits=declared.key_bits
        )
    elif declared.mask is not None:
        expected = replace(expected, mask=declared.mask, cells=declared.cells)
    placed = all(
        one.system is None or one.transform == transform_of(one.system, one.row0, one.col0)
        for one in table.grid.places
    )
    require(
        expected == declared and placed,
        Rule("card-domain-no-grid", "The card's domain does not describe a grid."),
    )
    if lacks_table:
        return "codes lie in the extent, each once; there is no table of the regions to check"
    return "codes lie in the domain, each once, in key order"


def _check_areas(written: ReleaseFiles) -> str:
    folder, card, table = written.folder, written.card, written.table(masked=False)
    stems = {} if card.in_parts else file_names(table.grid, card.name)
    for areas in areas_of(table, None) if stems else ():
        stem = stems[areas.level]
        rows = read_parquet(folder / f"{stem}.parquet", areas.count.size)
        require(
            np.array_equal(rows[card.name].to_numpy(), areas.count),
            Rule("area-sums-differ", f"The sums of {stem} are not those of its cells."),
        )
        expected = View(table, card).of(areas).all_rows.columns
        same = all(
            rows[column].combine_chunks().equals(expected[column].combine_chunks())
            for column in expected.schema.names
        )
        require(
            same, Rule("area-names-differ", f"{stem} names other areas than those of its cells.")
        )
        columns = [n for n in rows.schema.names if n not in ("geometry", "bbox")]
        require_same_rows(folder / f"{stem}.csv", folder / f"{stem}.parquet", columns)
    return f"{', '.join(stems)}: the sums of their cells" if stems else "none"


def _check_mask(written: ReleaseFiles) -> str:
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
    if grid.maps.ends:
        return f"{grid.mask.cells:,} cells of the list, with the card's SHA-256"
    return f"{grid.mask.cells:,} cells of the raster, with the card's SHA-256"
