"""``geodp publish-series``: the snapshots of a series, read, released and written together."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp import progress
from geodp.cli.charging import Packed, keep_charged
from geodp.cli.help import option
from geodp.cli.inputs import grid_of, sha256
from geodp.cli.layout import INPUTS, complete, layout_options, write_recipe
from geodp.cli.options import grid_options, run_options
from geodp.cli.readers import ReadingCommand, check_applicable, read
from geodp.cli.request import read_request, request_options
from geodp.cli.running import describe_call, pad_time, report_progress, report_stored_draw
from geodp.cli.stated import read_metadata_options
from geodp.cli.translation import translate_message
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


NOT_OF_A_SERIES = ("method", "measurements", "totals", "prior", "simulate", "supersedes")
"""Fields of a request that a series does not have, or asks for in its own words."""


def part_inputs(
    context: click.Context, _parameter: click.Parameter, given: Sequence[str]
) -> tuple[Path, ...]:
    """Return the files of ``TIME=FILE``, and leave those of each time with the context.

    UsageError for a time that is given twice: its files may be two hours of one name, at the end of
    summer time, or two editions of one month, and would be added up.
    """
    from geodp.io.read.rows.forms.url import refuse_url
    from geodp.io.read.rows.input_files import list_paths

    parted: dict[str, tuple[Path, ...]] = {}
    for text in given:
        time, equals, path = text.partition("=")
        if not equals or not path:
            raise UsageError(
                "Inputs of a series are written TIME=FILE, such as 2024-05=may.csv.",
                code="snapshot-form",
            )
        refuse_url(path)
        if time in parted:
            raise UsageError(
                f"The time {printable(time[:40])} is given twice; a series has every time once. If "
                "several files make one snapshot, give their folder or a pattern: "
                "2024-05='may/*.csv'.",
                code="snapshot-twice-given",
            )
        files = [path] if os.path.isfile(path) else list_paths(path)
        parted[time] = tuple(map(Path, files))
    context.params["snapshots"], context.meta[INPUTS] = parted, given
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
    help="In how many snapshots one person may be: in all, which then share the budget, or in one; "
    "you vouch for it.",
)
@option(
    "--noise",
    group="Privacy",
    type=click.Choice(("best", "laplace", "gaussian")),
    default="best",
    show_default=True,
    help="Best: Gaussian where a person is measured 30 times or more; it needs a --delta.",
)
@option(
    "--smooth",
    group="Output",
    type=click.Choice(("best", "both", "forward", "none")),
    default="best",
    show_default=True,
    help="Whether snapshots before one, or before and after it, predict it; best: both, with the "
    "pyramid. It costs nothing: the measurements are the same.",
)
@option(
    "--cycle",
    group="Output",
    type=click.IntRange(2),
    multiple=True,
    help="Snapshots after which the like comes again, such as 24 and 168 of hours; repeatable.",
)
@option(
    "--method",
    group="Privacy",
    default="pyramid",
    show_default=True,
    help="See: geodp methods. NAME:SETTING=VALUE.",
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
    help="Complete an interrupted run of the same command from the tables that it was charged for; "
    "nothing is read, drawn or charged.",
)
@option("--json", "as_json", group="Output", is_flag=True, help="One JSON document on stdout.")
def publish_series(**options: Any) -> None:
    """Release the snapshots of a series, TIME=FILE each, under one budget.

    \b
    geodp publish-series 2024-01=january.csv 2024-02=february.csv ... --grid jis:basic
        --bounds 139 35 140 36 --value stays --epsilon 0.1 --delta 1e-10
        --person-in all --output out

    Times are years, months, days or hours: 2024, 2024-05, 2024-05-31, 2024-05-31T23, each given
    once; FILE may be a folder or a pattern. A time that all persons pass through is a series
    (geodp publish-series); a label that a person has once is an attribute (--by). Writes
    OUTPUT/public, with a folder for every snapshot, and OUTPUT/restricted. Nothing that depends on
    the data is printed.
    """
    with pad_time(options["pad_time"]):
        with report_progress(lines=not options["pad_time"]):
            said = _publish(options)
        click.echo(said)


COMMAND = publish_series


@dataclass(frozen=True)
class _SeriesStart:
    """Grid, times and request of a run, opened before anything is read."""

    grid: Grid
    periods: Periods
    request: Request
    options: SeriesOptions


def _publish(options: dict[str, Any]) -> str:
    """Publish; what is to be said of it."""
    context = click.get_current_context()
    inferred = complete(context, options)
    check_applicable(context)
    if not options["unit"].strip() or not options["unit"].isprintable():
        raise UsageError("--unit says in words whom the guarantee protects.", code="unit-in-words")
    complete_with_commit()
    start = _start(options)
    if options["resume"]:
        return _write(options, start, None, inferred=inferred)
    from geodp.io.folder.staging import require_uninterrupted
    from geodp.release.preview import list_warnings

    require_uninterrupted(options["output"])
    progress.begin("Reading")
    prepared = _prepare(options, start)
    for words in list_warnings(prepared.preview):
        click.echo(f"Warning: {words}", err=True)
    for words in prepared.sharing.sentences:
        click.echo(words, err=True)
    return _write(options, start, prepared, inferred=inferred)


def _start(options: dict[str, Any]) -> _SeriesStart:
    """Open and check what a run goes by: whatever can be refused without the data is."""
    from geodp.features.series.periods import Periods
    from geodp.features.series.publish import SeriesOptions
    from geodp.io.folder.staged_release import check_publication
    from geodp.mechanisms import mechanism
    from geodp.release.metadata import require_series_metadata

    periods = Periods.of(sorted(options["snapshots"]))
    method = mechanism(options["method"])
    grid = grid_of(options)
    metadata = require_series_metadata(read_metadata_options(options))
    request = read_request(options, grid, method=method, metadata=metadata)
    if refusal := method.unsupported(grid):
        raise UsageError(refusal)
    check_publication(grid, options["output"], **_place(options))
    asked = SeriesOptions(
        person=options["person_in"],
        noise=options["noise"],
        smooth=options["smooth"],
        cycles=options["cycle"],
    )
    return _SeriesStart(grid, periods, request, asked)


def _place(options: dict[str, Any]) -> dict[str, Any]:
    """How the folder is made."""
    return {"name": options["name"], "overwrite": options["overwrite"]}


def _prepare(options: dict[str, Any], start: _SeriesStart) -> PreparedSeries:
    """Read every snapshot, and settle all that can be before the charge."""
    from geodp.features.series.publish import prepare_series

    tables = []
    for time in start.periods.names:
        own = {**options, "inputs": options["snapshots"][time]}
        tables.append(read(own, start.grid, start.request.key))
    return prepare_series(tables, start.periods, start.request, start.options)


def _write(
    options: dict[str, Any], start: _SeriesStart, prepared: PreparedSeries | None, *, inferred: bool
) -> str:
    """Release what is prepared, or complete an interrupted run, and write it."""
    from geodp.features.series.files import stage_series

    output, resume = options["output"], options["resume"]
    with (
        report_stored_draw(output),
        stage_series(start.grid, output, **_place(options), resume=resume) as place,
    ):
        if inferred:
            write_recipe(options, place.folder)
        if prepared is None:
            series, run = _resume(place, start, options)
        else:
            series, run = _release(place, prepared, options)
        written = series.write_into(place, run)
    return _say(series, written, options)


def _release(
    place: StagedSeries, prepared: PreparedSeries, options: dict[str, Any]
) -> tuple[Series, dict[str, Any]]:
    """Draw the series, kept before it is charged; return what the operator is told too."""
    from geodp.io.folder.kept_tables import pack_tables

    cells = [int(table.key.size) for table in prepared.tables]
    run: dict[str, Any] = {
        "inputs": {str(path): sha256(path) for path in options["inputs"]},
        "occupied_cells": cells,
        "people": [int(table.count.sum()) for table in prepared.tables],
    }

    def pack(drawn: list[ReleasedTable]) -> Packed:
        nobody = prepared.preview
        return pack_tables(drawn, nobody.public_facts, {}, nobody.reading)

    place.try_out(prepared.preview.view(), cells)
    call = describe_call(options)
    with keep_charged(place.folder, prepared.request, call, run, pack) as keep:
        series = prepared.release(keep)
    return series, {**run, "released_people": [one.table.total for one in series]}


def _resume(
    place: StagedSeries, start: _SeriesStart, options: dict[str, Any]
) -> tuple[Series, dict[str, Any]]:
    """Return the same of an interrupted run, which was charged; nothing is drawn."""
    from geodp.features.series.publish import restore_series
    from geodp.io.folder.kept import read_pending_draw
    from geodp.io.folder.kept_tables import unpack_reading, unpack_tables
    from geodp.release.charging import find_charge

    kept = read_pending_draw(place.folder, describe_call(options))
    drawn, facts, _ = unpack_tables(kept, start.grid, place.folder)
    charge = find_charge(start.request.ledger, kept.dataset, kept.fingerprint)
    reading = unpack_reading(kept, place.folder)
    found = restore_series(
        drawn, start.periods, start.request, start.options, facts, reading, charge
    )
    return found, {**kept.run, "released_people": [table.total for table in drawn]}


def _say(series: Series, written: dict[str, list[str]], options: dict[str, Any]) -> str:
    """Return the last words of a run."""
    whole = series.whole
    if options["as_json"]:
        document = {
            "output": str(options["output"]),
            **written,
            "snapshots": list(series.periods.names),
            "together": whole.spends,
            "each": series[0].event.spends,
            "method": whole.mechanism,
            "private": whole.is_private,
            "sharing": list(series.sharing.sentences),
        }
        return json.dumps(document, ensure_ascii=False, indent=1)
    public, restricted = options["output"] / "public", options["output"] / "restricted"
    said = translate_message(f"Published in {public}; for the operator only: {restricted}")
    return f"{said}\n{translate_message(series.card().guarantee.in_words)}"
