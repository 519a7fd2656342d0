"""Check that a written release agrees with itself; only public data are read.

The Parquet file is read once, and all files are written again from what it holds
(:mod:`geodp.io.verify.again`); :mod:`geodp.io.verify.verify_release` is the file that needs Python
alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

import numpy as np

from geodp.errors import OutputError, Rule, VerificationError
from geodp.grid.lattice import transform_of
from geodp.io.folder.kinds import Check, Kind
from geodp.io.folder.manifest import release_id
from geodp.io.folder.release_in_parts import parts_id
from geodp.io.verify.again import check_again
from geodp.io.verify.card import (
    describe_error,
    open_card,
    public_folder,
    require,
    warn_if_withdrawn,
)
from geodp.io.verify.files import (
    check_checksums,
    check_files,
    check_restricted,
    has_formats,
)
from geodp.io.verify.readback import BROKEN
from geodp.io.verify.statements import check_intervals, check_statements
from geodp.io.verify.written import (
    OpenView,
    Remake,
    Remaking,
    check_measurements,
    has_measurements,
    has_totals,
)
from geodp.table.card import Card
from geodp.table.stated.domain import StatedDomain

AnyCard = TypeVar("AnyCard")

Question: TypeAlias = tuple[str, Callable[[Path, Card], str]]
"""A check of the release of a table, with its name."""


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
        files are written from, such as :func:`geodp.release.opening.errors_of`. Without it
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
    MemoryError, OutputError
        There is too little memory or space for temporary files, which says nothing of the release.
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
    remaking = Remaking(folder, card, errors)

    def on(name: str, check: Callable[[Remaking], str]) -> Question:
        return name, lambda *_: check(remaking)

    of_files: list[Question] = [
        ("checksums", check_checksums),
        ("files", check_files),
        ("release id", _check_identity),
        on("cells", _check_cells),
    ]
    of_table: list[Question] = [
        on("statements", check_statements),
        on("intervals", check_intervals),
        *([on("measurements", _check_measurements)] * has_measurements(card)),
        *([on("public totals", _check_totals)] * has_totals(card)),
        on("written again", check_again),
        *([("formats", partial(_check_formats, open_view))] * has_formats(folder)),
    ]
    checks = [Check("card", True, f"schema {card.schema}, release {card.release_id}")]
    checks += run_checks(of_files, folder, card)
    # A table that cannot be read says why once, and nothing else follows from it.
    if checks[-1].ok:
        checks += run_checks(of_table, folder, card)
    return checks + run_checks([("restricted", check_restricted)], folder, card)


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
        except (MemoryError, OutputError):
            raise
        except BROKEN as error:
            results.append(Check(name, False, describe_error(error, folder)))
    return results


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


def _check_cells(remaking: Remaking) -> str:
    """Require counts that the card's method can release, in cells of its domain."""
    card, table = remaking.card, remaking.written.table
    expected, declared = StatedDomain.of(table.grid), card.domain
    lacks_table = declared.lacks_table(table.grid)
    # What follows from a table of regions or a mask that is not read here is the card's own word.
    if lacks_table:
        expected = replace(
            expected, cells=declared.cells, order=declared.order, key_bits=declared.key_bits
        )
    elif table.grid.mask is None and declared.mask is not None:
        expected = replace(expected, mask=declared.mask, cells=declared.cells)
    placed = all(
        one.system is None or one.transform == transform_of(one.system, one.row0, one.col0)
        for one in table.grid.places
    )
    require(
        expected == declared and placed,
        Rule("card-domain-no-grid", "The card's domain does not describe a grid."),
    )
    # Estimates from devices are made to add up to the number of their reports.
    total, reports = table.total, card.guarantee.reports
    require(
        reports is None or int(total) == reports,
        Rule("counts-differ-from-reports", "The counts do not add up to the number of reports."),
    )
    kind = "cells above 0" if card.mechanism.nonnegative else "cells that are not 0"
    place = "codes lie in the domain, each once, in key order"
    if lacks_table:
        place = "there is no table of the regions to check"
    elif table.grid.mask is None and declared.mask is not None:
        place = "the mask is not checked, as there is no raster that shows it"
    said = f"{total:,}" if card.mechanism.whole else f"{total:,.1f}"
    return f"{table.key.size:,} {kind}, {said} in all; {place}"


def _check_measurements(remaking: Remaking) -> str:
    return check_measurements(remaking.folder, remaking.written)


def _check_totals(remaking: Remaking) -> str:
    """Require the cells of each area to add up to its public total."""
    totals, table = remaking.written.totals, remaking.written.table
    if totals is None:
        return "not checked: there is no table of the regions"
    require(
        np.array_equal(totals.sums(table), totals.total),
        Rule("area-total-differs", "The cells of an area do not add up to its public total."),
    )
    return f"{totals.total.size:,} areas have exactly their public totals"
