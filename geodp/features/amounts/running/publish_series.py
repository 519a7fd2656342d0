"""``geodp amounts publish-series``: amounts of several periods, read, released and written."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from geodp.cli.check import begin_check, check_options, describe_domain, write_check_file
from geodp.cli.draw_storage import Packed
from geodp.cli.help import option
from geodp.cli.inputs import grid_of, sha256
from geodp.cli.options import folder_options, grid_options
from geodp.cli.publishing import draw_in, read_charged_draw, write_release
from geodp.cli.request_options import read_request, request_options
from geodp.cli.running import carry_out, format_result, time_phase
from geodp.cli.stated import read_metadata_options
from geodp.features.amounts.running.inputs import read_amounts_prior
from geodp.features.amounts.running.options import (
    BEYOND,
    RecordsCommand,
    check_reading,
    make_records_reader,
    read_scale,
    release_options,
)
from geodp.features.series.commands.publish_series import part_inputs
from geodp.io.folder.stopping import complete_with_commit

if TYPE_CHECKING:
    from geodp.features.amounts.series.files import StagedAmountsSeries
    from geodp.features.amounts.series.publish import (
        AmountsSeriesOptions,
        PreparedAmountsSeries,
        SharedScale,
    )
    from geodp.features.amounts.series.series import AmountsSeries
    from geodp.features.amounts.streams import AmountTable, ReleasedAmounts
    from geodp.features.series.periods import Periods
    from geodp.release.request import Request

ELSEWHERE = ("method", "contribution", "measurements", "totals", "simulate")
"""Fields of a request that a series of amounts does not have, or has in another form."""


@click.command("publish-series", cls=RecordsCommand, no_args_is_help=True)
@click.argument("inputs", nargs=-1, required=True, callback=part_inputs)
@partial(grid_options, required=True)
@release_options
@option(
    "--person-in",
    group="Privacy",
    type=click.Choice(("all", "one")),
    required=True,
    help="In how many periods one person may be, which you assert: in all, which then share the "
    "budget, or in one.",
)
@request_options(without=ELSEWHERE)
@folder_options
@check_options
def publish_series(**options: Any) -> None:
    """Release amounts of several periods, each given as TIME=FILE, under one budget.

    \b
    geodp amounts publish-series 2015=persons-2015.csv 2020=persons-2020.csv --grid jis:half
        --bounds 139 35 140 36 --code mesh --amount income --clip 0 1000
        --unit-of-amount "10,000 yen" --contribution 1 --epsilon 1 --person-in all --output out

    Times are years, months, days or hours: 2024, 2024-05, 2024-05-31, 2024-05-31T23, each given
    once; FILE may be a folder or a pattern. All periods have one clip, step, unit and one set of
    classes. Writes OUTPUT/public, with a release of amounts in a folder for every period, and
    OUTPUT/restricted. Nothing that depends on the data is printed.
    """
    carry_out(options, _publish)


class _Start(NamedTuple):
    """What a run is called with, checked before anything is read.

    Attributes
    ----------
    shared : SharedScale
    periods : Periods
    request : Request
    options : AmountsSeriesOptions
    """

    shared: SharedScale
    periods: Periods
    request: Request
    options: AmountsSeriesOptions


def _publish(options: dict[str, Any], seconds: dict[str, float]) -> str:
    """Publish the series, and return the message for the operator.

    ``seconds`` gets those of each phase.
    """
    check_reading(click.get_current_context(), options)
    complete_with_commit()
    start = _start(options)
    if options["resume"]:
        return _write(options, start, seconds)
    from geodp.features.amounts.series.publish import prepare_series
    from geodp.io.folder.staging import require_free, require_uninterrupted
    from geodp.release.preview import list_warnings

    require_free(options["output"], overwrite=options["overwrite"])
    require_uninterrupted(options["output"])
    # A public file: what is wrong with it is told before records are read.
    prior, source = read_amounts_prior(options, start.shared.grid)
    tables = []
    for time in start.periods.names:
        with time_phase(f"Reading {time}", f"reading {time}", seconds):
            # One reader a period, as each counts what lies beyond the clip.
            reader = make_records_reader(options, start.shared.grid, start.request)
            tables.append(reader.read_amounts(options["snapshots"][time]))
    prepared = prepare_series(
        tables, start.periods, start.request, start.options, prior=prior, prior_source=source
    )
    for sentence in list_warnings(prepared.parts[0].preview.count):
        click.echo(f"Warning: {sentence}", err=True)
    if options["check"]:
        return _write_check(options, tables, prepared)
    return _write(options, start, seconds, prepared)


def _write_check(
    options: dict[str, Any], tables: Sequence[AmountTable], prepared: PreparedAmountsSeries
) -> str:
    """Write the summary of a check, and return the message for the operator."""
    from geodp.features.amounts.card import COUNT
    from geodp.io.folder.staged_release import check_publication
    from geodp.table.reading import join_readings

    grid = prepared.plan.shared.grid
    check_publication(grid, options["output"], name=COUNT, overwrite=options["overwrite"])
    each = dict(zip(prepared.plan.periods.names, tables, strict=True))
    counted = {
        **describe_domain(grid),
        "occupied_cells": {time: int(one.records.key.size) for time, one in each.items()},
        "counted_records": {time: int(one.records.count.sum()) for time, one in each.items()},
        "records_beyond_clip": {time: dict(one.beyond) for time, one in each.items()},
    }
    readings = [one.records.reading for one in tables if one.records.reading is not None]
    card = prepared.parts[0].preview.count.card()
    said = [BEYOND.format("restricted/check.json")]
    return write_check_file(options, join_readings(readings), card, counted, sentences=said)


def _start(options: dict[str, Any]) -> _Start:
    """Refuse all that can be refused without the data."""
    from geodp.features.amounts.kind import AmountsSeriesKind
    from geodp.features.amounts.series.publish import AmountsSeriesOptions, SharedScale
    from geodp.features.series.periods import Periods
    from geodp.release.metadata import require_series_metadata

    periods = Periods.of(sorted(options["snapshots"]))
    grid = grid_of(options)
    metadata = require_series_metadata(read_metadata_options(options, AmountsSeriesKind()))
    # Its prior may be a release of amounts, which has one for every stream.
    fixed = {"method": options["method"], "metadata": metadata, "prior": None}
    request = read_request(begin_check(options), grid, **fixed)
    scale, edges = read_scale(options)
    shared = SharedScale(scale, edges, grid, options["max_weight"] or 1)
    chosen = AmountsSeriesOptions(
        person=options["person_in"], means=not options["no_means"], share=options["share"]
    )
    return _Start(shared, periods, request, chosen)


def _write(
    options: dict[str, Any],
    start: _Start,
    seconds: dict[str, float],
    prepared: PreparedAmountsSeries | None = None,
) -> str:
    """Release what is prepared, or complete an interrupted run, and write it."""
    from geodp.features.amounts.card import COUNT
    from geodp.features.amounts.series.files import StagedAmountsSeries
    from geodp.io.folder.staged_release import check_publication

    if prepared is not None:
        grid, output = prepared.plan.shared.grid, options["output"]
        check_publication(grid, output, name=COUNT, overwrite=options["overwrite"])

    def make(place: StagedAmountsSeries) -> tuple[AmountsSeries, dict[str, Any]]:
        if prepared is None:
            return _resume(place, start, options)
        return _release(place, prepared, options)

    series, written = write_release(options, StagedAmountsSeries.stage, make, seconds)
    return _format_result(series, written, options)


def _release(
    place: StagedAmountsSeries, prepared: PreparedAmountsSeries, options: dict[str, Any]
) -> tuple[AmountsSeries, dict[str, Any]]:
    """Draw, store the draw before the charge, and return it with the operator's record."""
    from geodp.features.amounts.series.pending import pack_drawn

    first, times = prepared.parts[0], prepared.plan.periods.names
    cells = [part.cells for part in prepared.parts]
    run: dict[str, Any] = {
        "inputs": {str(path): sha256(path) for path in options["inputs"]},
        "occupied_cells": cells,
        "records_beyond_clip": {
            time: dict(part.table.beyond) for time, part in zip(times, prepared.parts, strict=True)
        },
    }
    if first.prior is not None:
        run["prior"] = {"file": str(options["prior"]), "cells_sha256": first.prior.sha256}

    def pack(drawn: list[ReleasedAmounts]) -> Packed:
        reading, stated = first.preview.count.reading, first.preview.index.prior
        return pack_drawn(drawn, prepared.plan, first.facts, reading, stated)

    # Formats and disk space fail here, before the charge, and not after it.
    place.try_out(first.preview, first.example, cells)
    return draw_in(place.folder, prepared, options, run, pack), run


def _resume(
    place: StagedAmountsSeries, start: _Start, options: dict[str, Any]
) -> tuple[AmountsSeries, dict[str, Any]]:
    """Restore the series of an interrupted run, which was charged, with the operator's record."""
    from geodp.features.amounts.series.pending import unpack_drawn
    from geodp.features.amounts.series.publish import restore_series
    from geodp.io.folder.pending_tables import unpack_reading

    stored, charge = read_charged_draw(place.folder, start.request, options)
    restored = unpack_drawn(stored, start.shared.grid, place.folder)
    series = restore_series(
        restored.drawn,
        start.shared,
        start.periods,
        start.request,
        restored.bound,
        start.options,
        restored.facts,
        unpack_reading(stored, place.folder),
        charge,
        restored.priors,
    )
    return series, dict(stored.run)


def _format_result(
    series: AmountsSeries, written: dict[str, list[str]], options: dict[str, Any]
) -> str:
    """Format the final message of a run."""
    promise = series.index.guarantee
    fields = {
        "periods": list(series.periods.names),
        "together": promise.spends,
        "each": promise.each_spends,
        "method": promise.mechanism,
        "private": series.index.private,
    }
    sentences = [promise.in_words, BEYOND.format("restricted/run.json")]
    return format_result(options, written, fields, sentences)
