"""``geodp publish-series``: the snapshots of a series, read, released and written together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.check import begin_check, check_options, describe_domain, write_check_file
from geodp.cli.draw_storage import Packed
from geodp.cli.help import option
from geodp.cli.inputs import grid_of, sha256
from geodp.cli.layout import INPUTS, complete, layout_options, write_recipe
from geodp.cli.options import grid_options, run_options
from geodp.cli.publishing import draw_in, read_charged_draw
from geodp.cli.readers import ReadingCommand, check_applicable, read
from geodp.cli.request_options import read_request, request_options
from geodp.cli.running import carry_out, format_result, time_phase
from geodp.cli.stated import read_metadata_options
from geodp.errors import UsageError, printable
from geodp.io.folder.stopping import complete_with_commit

if TYPE_CHECKING:
    from geodp.features.series.files import StagedSeries
    from geodp.features.series.periods import Periods
    from geodp.features.series.publish import PreparedSeries, SeriesOptions
    from geodp.features.series.series import Series
    from geodp.grid.grid import Grid
    from geodp.release.request import Request
    from geodp.table.released import ReleasedTable


NOT_OF_A_SERIES = ("method", "measurements", "totals", "prior", "simulate")
"""Fields of a request that a series does not have, or has in another form."""


def part_inputs(
    context: click.Context, _parameter: click.Parameter, texts: Sequence[str]
) -> tuple[Path, ...]:
    """Return the files of ``TIME=FILE``, and store those of each time in the context.

    UsageError for a repeated time: its files may be the two hours of one name at the end of summer
    time, or two editions of one month, and would be added up.
    """
    from geodp.io.read.rows.forms.url import refuse_url
    from geodp.io.read.rows.input_files import list_paths

    parted: dict[str, tuple[Path, ...]] = {}
    for text in texts:
        time, equals, path = text.partition("=")
        if not equals or not path:
            raise UsageError(
                "Inputs of a series have the form TIME=FILE, such as 2024-05=may.csv.",
                code="snapshot-form",
            )
        refuse_url(path)
        if time in parted:
            raise UsageError(
                f"The time {printable(time[:40])} occurs twice; each may occur once only. If "
                "several files make up one snapshot, give their folder or a pattern: "
                "2024-05='may/*.csv'.",
                code="snapshot-twice-given",
            )
        files = [path] if os.path.isfile(path) else list_paths(path)
        parted[time] = tuple(map(Path, files))
    # Readers and layouts expect a flat list of files; the times are needed again when snapshots
    # are read.
    context.params["snapshots"], context.meta[INPUTS] = parted, texts
    return tuple(path for paths in parted.values() for path in paths)


@click.command("publish-series", cls=ReadingCommand, no_args_is_help=True)
@click.argument("inputs", nargs=-1, required=True, callback=part_inputs)
@layout_options
@partial(grid_options, required=False)
@option(
    "--person-in",
    group="Privacy",
    type=click.Choice(("all", "one")),
    required=True,
    help="In how many snapshots one person may be, which you assert: in all, which then share the "
    "budget, or in one.",
)
@option(
    "--noise",
    group="Privacy",
    type=click.Choice(("best", "laplace", "gaussian")),
    default="best",
    show_default=True,
    help="best: the one with the smaller errors; Gaussian noise needs a --delta.",
)
@option(
    "--smooth",
    group="Output",
    type=click.Choice(("best", "both", "forward", "none")),
    default="best",
    show_default=True,
    help="Whether a snapshot is also predicted from earlier ones, or from earlier and later ones; "
    "best: both, with the pyramid. It costs nothing: the measurements are the same.",
)
@option(
    "--cycle",
    group="Output",
    type=click.IntRange(2),
    multiple=True,
    help="Number of snapshots after which a pattern repeats, such as 24 and 168 for hours; "
    "repeatable.",
)
@option(
    "--method",
    group="Privacy",
    default="pyramid",
    show_default=True,
    help="Method, as NAME or NAME:SETTING=VALUE (see geodp methods).",
)
@request_options(without=NOT_OF_A_SERIES)
@run_options
@option(
    "--overwrite", group="Output", everyday=True, is_flag=True, help="Replace an earlier series."
)
@option(
    "--resume",
    group="Run",
    is_flag=True,
    help="Complete an interrupted run of the same command from the tables that were charged; "
    "nothing is read, drawn or charged.",
)
@option(
    "--json", "as_json", group="Output", is_flag=True, help="Print one JSON document to stdout."
)
@check_options
def publish_series(**options: Any) -> None:
    """Release the snapshots of a series, each given as TIME=FILE, under one budget.

    \b
    geodp publish-series 2024-01=january.csv 2024-02=february.csv ... --grid jis:basic
        --bounds 139 35 140 36 --value stays --epsilon 0.1 --delta 1e-10
        --person-in all --output out

    Times are years, months, days or hours: 2024, 2024-05, 2024-05-31, 2024-05-31T23, each given
    once; FILE may be a folder or a pattern. Use a series (geodp publish-series) for a
    time that all persons pass through, and an attribute (--by) for a label that a person has
    once. Writes
    OUTPUT/public, with a folder for every snapshot, and OUTPUT/restricted. Nothing that depends on
    the data is printed.
    """
    carry_out(options, _publish)


COMMAND = publish_series


@dataclass(frozen=True)
class _SeriesStart:
    """Grid, times and request of a run, validated before anything is read."""

    grid: Grid
    periods: Periods
    request: Request
    options: SeriesOptions


def _publish(options: dict[str, Any], seconds: dict[str, float]) -> str:
    """Publish the series, and return the message for the operator.

    ``seconds`` gets those of each phase.
    """
    context = click.get_current_context()
    inferred = complete(context, options)
    check_applicable(context)
    if not options["unit"].strip() or not options["unit"].isprintable():
        raise UsageError("--unit must name whom the guarantee protects.", code="unit-in-words")
    complete_with_commit()
    start = _start(options)
    if options["resume"]:
        return _write(options, start, None, seconds, inferred=inferred)
    from geodp.io.folder.staging import require_uninterrupted
    from geodp.release.preview import list_warnings

    # A folder with an interrupted run holds tables that were charged: publishing again would spend
    # the budget twice.
    require_uninterrupted(options["output"])
    prepared = _prepare(options, start, seconds)
    for sentence in list_warnings(prepared.preview):
        click.echo(f"Warning: {sentence}", err=True)
    if options["check"]:
        return _write_check(options, prepared)
    for sentence in prepared.sharing.sentences:
        click.echo(sentence, err=True)
    return _write(options, start, prepared, seconds, inferred=inferred)


def _write_check(options: dict[str, Any], prepared: PreparedSeries) -> str:
    """Write the summary of a check, and return the message for the operator."""
    from geodp.table.reading import join_readings

    each = dict(zip(prepared.periods.names, prepared.tables, strict=True))
    counted = {
        **describe_domain(prepared.preview.grid),
        "occupied_cells": {time: int(one.key.size) for time, one in each.items()},
        "people": {time: int(one.count.sum()) for time, one in each.items()},
    }
    readings = [one.reading for one in prepared.tables if one.reading is not None]
    card = prepared.preview.card()
    return write_check_file(options, join_readings(readings), card, counted)


def _start(options: dict[str, Any]) -> _SeriesStart:
    """Open and check the inputs of a run, and refuse everything that can be refused
    without the data.
    """
    from geodp.features.series.kind import SeriesOfReleases
    from geodp.features.series.periods import Periods
    from geodp.features.series.publish import SeriesOptions
    from geodp.io.folder.staged_release import check_publication
    from geodp.mechanisms import mechanism
    from geodp.release.metadata import require_series_metadata

    periods = Periods.of(sorted(options["snapshots"]))
    method = mechanism(options["method"])
    grid = grid_of(options)
    metadata = require_series_metadata(read_metadata_options(options, SeriesOfReleases()))
    request = read_request(begin_check(options), grid, method=method, metadata=metadata)
    if refusal := method.unsupported(grid):
        raise UsageError(refusal)
    check_publication(grid, options["output"], name=options["name"], overwrite=options["overwrite"])
    series_options = SeriesOptions(
        person=options["person_in"],
        noise=options["noise"],
        smooth=options["smooth"],
        cycles=options["cycle"],
    )
    return _SeriesStart(grid, periods, request, series_options)


def _prepare(
    options: dict[str, Any], start: _SeriesStart, seconds: dict[str, float]
) -> PreparedSeries:
    """Read every snapshot, and resolve everything that precedes the charge."""
    from geodp.features.series.publish import prepare_series

    tables = []
    for time in start.periods.names:
        options_of_snapshot = {**options, "inputs": options["snapshots"][time]}
        with time_phase(f"Reading {time}", f"reading {time}", seconds):
            tables.append(read(options_of_snapshot, start.grid, start.request.key))
    return prepare_series(tables, start.periods, start.request, start.options)


def _write(
    options: dict[str, Any],
    start: _SeriesStart,
    prepared: PreparedSeries | None,
    seconds: dict[str, float],
    *,
    inferred: bool,
) -> str:
    """Release the prepared series, or complete an interrupted run, and write it."""
    from geodp.features.series.files import StagedSeries

    output, overwrite, resume = options["output"], options["overwrite"], options["resume"]
    with StagedSeries.stage(output, overwrite=overwrite, resume=resume) as place:
        if inferred:
            write_recipe(options, place.folder)
        with time_phase("Releasing", "mechanism", seconds):
            if prepared is None:
                series, run = _resume(place, start, options)
            else:
                series, run = _release(place, prepared, options)
        with time_phase("Writing", "writing", seconds):
            written = series.write_into(place, options["name"], run)
    return _format_result(series, written, options)


def _release(
    place: StagedSeries, prepared: PreparedSeries, options: dict[str, Any]
) -> tuple[Series, dict[str, Any]]:
    """Draw the series, store it before the charge, and return it with the operator's record."""
    from geodp.io.folder.pending_tables import pack_tables

    cells = [int(table.key.size) for table in prepared.tables]
    run: dict[str, Any] = {
        "inputs": {str(path): sha256(path) for path in options["inputs"]},
        "occupied_cells": cells,
        "people": [int(table.count.sum()) for table in prepared.tables],
    }

    def pack(drawn: list[ReleasedTable]) -> Packed:
        preview = prepared.preview
        return pack_tables(drawn, preview.public_facts, {}, preview.reading)

    # Formats and disk space fail here, before the charge, and not after it.
    place.try_out(prepared.preview.view().named(options["name"]), cells)
    series = draw_in(place.folder, prepared, options, run, pack)
    return series, {**run, "released_people": [one.table.total for one in series]}


def _resume(
    place: StagedSeries, start: _SeriesStart, options: dict[str, Any]
) -> tuple[Series, dict[str, Any]]:
    """Restore the series of an interrupted run, which was charged, with the operator's record."""
    from geodp.features.series.publish import restore_series
    from geodp.io.folder.pending_tables import unpack_reading, unpack_tables

    stored, charge = read_charged_draw(place.folder, start.request, options)
    drawn, facts, _ = unpack_tables(stored, start.grid, place.folder)
    reading = unpack_reading(stored, place.folder)
    series = restore_series(
        drawn, start.periods, start.request, start.options, facts, reading, charge
    )
    return series, {**stored.run, "released_people": [table.total for table in drawn]}


def _format_result(series: Series, written: dict[str, list[str]], options: dict[str, Any]) -> str:
    """Format the final message of a run."""
    total = series.total
    fields = {
        "snapshots": list(series.periods.names),
        "together": total.spends,
        "each": series.card().guarantee.each_spends,
        "method": total.mechanism,
        "private": total.is_private,
        "sharing": list(series.sharing.sentences),
    }
    return format_result(options, written, fields, [series.card().guarantee.in_words])
