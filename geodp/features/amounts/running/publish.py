"""``geodp amounts publish``: records of amounts, read, released and written."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.check import begin_check, check_options, describe_domain, write_check_file
from geodp.cli.draw_storage import Packed
from geodp.cli.inputs import grid_of, sha256
from geodp.cli.options import folder_options, grid_options, inputs
from geodp.cli.publishing import draw_in, read_charged_draw, write_release
from geodp.cli.request_options import read_request, request_options
from geodp.cli.running import carry_out, format_result, time_phase
from geodp.features.amounts.running.inputs import read_amounts_prior
from geodp.features.amounts.running.options import (
    BEYOND,
    RecordsCommand,
    check_reading,
    make_records_reader,
    read_scale,
    release_options,
)
from geodp.io.folder.stopping import complete_with_commit

if TYPE_CHECKING:
    from geodp.features.amounts.amounts import Amounts
    from geodp.features.amounts.publish import PreparedAmounts
    from geodp.grid.grid import Grid
    from geodp.io.folder.staged_tables import StagedTables
    from geodp.release.request import Request

ELSEWHERE = (
    "method",
    "contribution",
    "measurements",
    "totals",
    "simulate",
)
"""Fields of a request that this release does not have, or has in another form."""


@click.command(cls=RecordsCommand, no_args_is_help=True)
@inputs
@partial(grid_options, required=True)
@release_options
@request_options(without=ELSEWHERE)
@folder_options
@check_options
def publish(**options: Any) -> None:
    """Release counts, sums and means of the records of INPUTS, and their medians, under one budget.

    \b
    A row for each record, located by codes, coordinates or point geometries:
    geodp amounts publish FILE --code mesh --amount income ...
    geodp amounts publish FILE --x LON --y LAT --amount income --person ID ...

    Counts, sums and means agree in every area, and means are within the clip. Writes
    OUTPUT/public, with a table of all numbers and a folder with a map of the records, and
    OUTPUT/restricted. Nothing that depends on the data is printed.
    """
    carry_out(options, _publish)


def _publish(options: dict[str, Any], seconds: dict[str, float]) -> str:
    """Publish, and return the message for the operator; ``seconds`` gets those of each phase."""
    from geodp.features.amounts.kind import AmountsKind

    check_reading(click.get_current_context(), options)
    complete_with_commit()
    grid = grid_of(options)
    # Its prior may be a release of amounts, which has one for every stream.
    asked = begin_check(options)
    request = read_request(asked, grid, method=options["method"], kind=AmountsKind(), prior=None)
    if options["resume"]:
        return _write(options, grid, request, seconds)
    from geodp.features.amounts.publish import prepare_amounts
    from geodp.io.folder.staging import require_free, require_uninterrupted
    from geodp.release.preview import list_warnings

    require_free(options["output"], overwrite=options["overwrite"])
    require_uninterrupted(options["output"])
    # A public file: what is wrong with it is told before records are read.
    prior, source = read_amounts_prior(options, grid)
    reader = make_records_reader(options, grid, request)
    with time_phase("Reading", "reading", seconds):
        table = reader.read_amounts(options["inputs"])
        prepared = prepare_amounts(
            table,
            request,
            means=not options["no_means"],
            share=options["share"],
            prior=prior,
            prior_source=source,
        )
    for sentence in list_warnings(prepared.preview.count):
        click.echo(f"Warning: {sentence}", err=True)
    if options["check"]:
        return _write_check(options, prepared)
    return _write(options, grid, request, seconds, prepared)


def _write_check(options: dict[str, Any], prepared: PreparedAmounts) -> str:
    """Write the summary of a check, and return the message for the operator."""
    records, preview = prepared.table.records, prepared.preview
    preview.check_place(options["output"], overwrite=options["overwrite"])
    counted = {
        **describe_domain(records.grid),
        "occupied_cells": prepared.cells,
        "counted_records": int(records.count.sum()),
        "records_beyond_clip": dict(prepared.table.beyond),
    }
    said = [BEYOND.format("restricted/check.json")]
    card = preview.count.card()
    return write_check_file(options, records.reading, card, counted, sentences=said)


def _write(
    options: dict[str, Any],
    grid: Grid,
    request: Request,
    seconds: dict[str, float],
    prepared: PreparedAmounts | None = None,
) -> str:
    """Release what is prepared, or complete an interrupted run, and write it."""
    from geodp.io.folder.staged_tables import StagedTables

    if prepared is not None:
        prepared.preview.check_place(options["output"], overwrite=options["overwrite"])

    def make(place: StagedTables) -> tuple[Amounts, dict[str, Any]]:
        if prepared is None:
            return _resume(place, grid, request, options)
        return _release(place, prepared, options)

    release, written = write_release(options, StagedTables.stage, make, seconds)
    return _format_result(release, written, options)


def _release(
    place: StagedTables, prepared: PreparedAmounts, options: dict[str, Any]
) -> tuple[Amounts, dict[str, Any]]:
    """Draw, store the draw before the charge, and return it with the operator's record."""
    from geodp.features.amounts.prior import state_learned
    from geodp.io.folder.pending_tables import pack_tables
    from geodp.table.released import ReleasedTable
    from geodp.table.stated.prior import pack_prior

    run: dict[str, Any] = {
        "inputs": {str(path): sha256(path) for path in options["inputs"]},
        "occupied_cells": prepared.cells,
        "records_beyond_clip": dict(prepared.table.beyond),
    }
    count = prepared.preview.count
    if prepared.prior is not None:
        run["prior"] = {"file": str(options["prior"]), "cells_sha256": prepared.prior.sha256}

    def pack(drawn: Any) -> Packed:
        table = ReleasedTable(count.grid, drawn.key, drawn.number, prepared.design.whole)
        names = ("above", "classes")
        extras = {n: one for n in names if (one := getattr(drawn, n)) is not None}
        extras |= pack_prior(state_learned(prepared.preview.index.prior, drawn.learned))
        return pack_tables([table], prepared.facts, extras, count.reading)

    # Formats and disk space fail here, before the charge, and not after it.
    place.try_out(prepared.preview, prepared.cells, prepared.example)
    return draw_in(place.folder, prepared, options, run, pack), run


def _resume(
    place: StagedTables, grid: Grid, request: Request, options: dict[str, Any]
) -> tuple[Amounts, dict[str, Any]]:
    """Restore the release of an interrupted run, which was charged, with the operator's record."""
    import numpy as np

    from geodp.features.amounts.card import StatedAmountsPrior
    from geodp.features.amounts.publish import restore_amounts
    from geodp.features.amounts.streams import ReleasedAmounts
    from geodp.io.folder.pending_tables import unpack_reading, unpack_tables
    from geodp.privacy.assumption import ContributionBound
    from geodp.table.stated.prior import unpack_prior

    stored, charge = read_charged_draw(place.folder, request, options)
    (table,), facts, arrays = unpack_tables(stored, grid, place.folder)
    reading, event = unpack_reading(stored, place.folder), table.event
    number = np.asarray(table.count, np.int64)
    drawn = ReleasedAmounts(table.key, number, arrays.get("above"), arrays.get("classes"))
    bound = ContributionBound(event.contribution, event.assumption.stated_by)
    release = restore_amounts(
        drawn, (*read_scale(options), grid), request, bound, facts, reading, charge,
        means=not options["no_means"], share=options["share"],
        max_weight=options["max_weight"] or 1, prior=unpack_prior(arrays, StatedAmountsPrior),
    )  # fmt: skip
    return release, dict(stored.run)


def _format_result(release: Amounts, written: dict[str, list[str]], options: dict[str, Any]) -> str:
    """Format the final message of a run."""
    promise = release.index.guarantee
    fields = {
        "amount": asdict(release.index.amount),
        "spends": promise.spends,
        "method": promise.mechanism,
        "private": release.index.private,
    }
    sentences = [promise.in_words, BEYOND.format("restricted/run.json")]
    return format_result(options, written, fields, sentences)
