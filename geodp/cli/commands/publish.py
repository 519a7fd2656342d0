"""``geodp publish``: read the inputs, release their counts, and write the release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from geodp.cli.check import begin_check, check_options, describe_domain, write_check_file
from geodp.cli.cluster import cluster_options, publish_on_cluster, wants_cluster
from geodp.cli.draw_storage import Packed
from geodp.cli.formats import choose_formats, formats_option, try_formats, write_formats
from geodp.cli.help import option
from geodp.cli.inputs import grid_of, read_plan_options, sha256
from geodp.cli.layout import complete, layout_options, write_recipe
from geodp.cli.options import grid_options, inputs, run_options
from geodp.cli.publishing import draw_in, read_charged_draw
from geodp.cli.readers import ReadingCommand, check_applicable, read
from geodp.cli.request_options import read_request, request_options
from geodp.cli.running import carry_out, format_result, time_phase
from geodp.cli.translation import translate, translate_message
from geodp.errors import UsageError
from geodp.io.folder.stopping import complete_with_commit

if TYPE_CHECKING:
    from geodp.grid.coarsen import Coarsening
    from geodp.grid.grid import Grid
    from geodp.io.folder.staged_release import StagedRelease
    from geodp.io.write.format import Export
    from geodp.mechanisms import Mechanism
    from geodp.privacy.assumption import Assumption
    from geodp.privacy.event import Measurement
    from geodp.release.plan_file import Settings
    from geodp.release.publish import Prepared
    from geodp.release.release import Release
    from geodp.release.request import Request
    from geodp.table.counts import CountTable


@click.command(cls=ReadingCommand, no_args_is_help=True)
@inputs
@layout_options
@partial(grid_options, required=False)
@request_options()
@option(
    "--plan",
    group="Privacy",
    type=click.Path(path_type=Path),
    help="TOML file of geodp plan, which sets the method, the budget and the unit of privacy.",
)
@option(
    "--stop-at",
    group="Domain",
    help="Publish coarser cells: a published area such as jis:basic, or a number of cells per "
    "side.",
)
@formats_option
@run_options
@cluster_options
@option(
    "--overwrite",
    group="Output",
    everyday=True,
    is_flag=True,
    help="Remove the release in OUTPUT. To correct a published release, use --supersedes and a "
    "new OUTPUT.",
)
@option(
    "--resume",
    group="Run",
    is_flag=True,
    help="Complete an interrupted run of the same command from the table that it was charged for; "
    "nothing is read, drawn or charged.",
)
@check_options
@option(
    "--json", "as_json", group="Output", is_flag=True, help="Print one JSON document to stdout."
)
def publish(**options: Any) -> None:
    """Release confidential counts from INPUTS with differential privacy.

    \b
    Official files:       geodp publish Zensus2022_Bevoelkerungszahl_1km-Gitter.csv --epsilon 0.1
                              --output out, or the last line of: geodp inspect FILE
    Official mesh files:  geodp publish *.zip --grid jis:half --value LABEL
                              --bounds 138 35 141.2 37.1333333333 --epsilon 0.1 --output out
    Tables:               geodp publish grid.parquet --grid inspire:1km --x x --y y --value T ...
    Points:               geodp publish people.csv --grid jis:quarter --points --x lon --y lat ...
    Count rasters:        geodp publish counts.tif --grid like:template.tif ...

    INPUTS are files, folders, patterns such as 'pings/*.parquet', and URLs (pip install
    'geodp[url]'); downloaded files stay in the folder of --scratch until they have been read.

    Writes OUTPUT/public and OUTPUT/restricted. Nothing that depends on the data is printed. A
    selection or domain without any row is refused before anything is charged.
    """
    carry_out(options, _publish)


COMMAND = publish

ASSUMED = "Assumed: {statement} {answer}{source}."


@dataclass(frozen=True)
class _Start:
    """Grid, method and request of a run, opened before anything is read."""

    grid: Grid
    coarser: Coarsening | None
    request: Request
    formats: list[Export]

    @property
    def released(self) -> Grid:
        """The grid that is published."""
        return self.grid if self.coarser is None else self.coarser.grid

    @property
    def method(self) -> Mechanism:
        """The method of the release, which is chosen before anything is read."""
        return cast("Mechanism", self.request.method)

    def require_totals(self, event: Measurement, public_facts: tuple[str, ...]) -> None:
        """Raise UsageError if an interrupted run was charged for other public totals."""
        totals = self.request.totals
        if totals and totals.describe_guarantee(event) not in public_facts:
            raise UsageError(
                "The interrupted run had other public totals; give the file as it was.",
                code="resumed-totals-differ",
            )


def _publish(options: dict[str, Any], seconds: dict[str, float]) -> str:
    """Publish; return the message for the operator."""
    context = click.get_current_context()
    # Everything that can be refused by options and headers alone comes before any row is read.
    inferred = complete(context, options)
    if inferred:
        check_applicable(context)  # explicit options may conflict with those from the layout
    plan = None
    if options["plan"] is not None:
        plan = read_plan_options(context)
        options |= plan.arguments
    if not options["unit"].strip() or not options["unit"].isprintable():
        raise UsageError("--unit must name whom the guarantee protects.", code="unit-in-words")
    on_cluster = wants_cluster(options)
    complete_with_commit()
    with time_phase("Starting", "imports", seconds):
        start = _start(options, plan)
    if on_cluster:
        return publish_on_cluster(options, start.grid, start.request)
    if options["resume"]:
        return _write(options, start, None, seconds, inferred=inferred)
    from geodp.io.folder.staging import require_uninterrupted
    from geodp.release.publish import prepare

    # An interrupted run may have been charged; a new one would charge again and hide it.
    require_uninterrupted(options["output"])
    with time_phase("Reading", "reading", seconds):
        table = _table(options, start)
        if plan is not None:
            plan.require_bound(table)
        prepared = prepare(table, start.request)
    for warning in _warnings(prepared.preview, start.request):
        click.echo(translate_message(f"Warning: {warning}"), err=True)
    # The operator did not state the contribution, so the operator must at least see it.
    if prepared.event.layout:
        click.echo(_format_assumption(prepared.event.assumption), err=True)
    if options["check"]:
        return _write_check(options, prepared)
    if prepared.measurements_request is not None:
        click.echo(prepared.measurements_request.summary, err=True)
    return _write(options, start, prepared, seconds, inferred=inferred)


def _start(options: dict[str, Any], plan: Settings | None) -> _Start:
    """Open and check everything that does not depend on the data, so that errors come early."""
    from geodp.grid.coarsen import Coarsening
    from geodp.io.folder.staged_release import check_publication

    grid = grid_of(options)
    coarser = None if options["stop_at"] is None else Coarsening.of(grid, options["stop_at"])
    released = grid if coarser is None else coarser.grid
    request = read_request(begin_check(options), released)
    start = _Start(grid, coarser, request, choose_formats(options))
    if plan is not None:
        plan.require_grid(start.released)
    if refusal := start.method.unsupported(released):
        raise UsageError(refusal)
    check_publication(start.released, options["output"], **_place(options))
    return start


def _write_check(options: Mapping[str, Any], prepared: Prepared) -> str:
    """Write the summary of a check, and return the message for the operator."""
    table = prepared.table
    counted = {
        **describe_domain(table.grid),
        "occupied_cells": int(table.key.size),
        "counted_people": int(table.count.sum()),
    }
    return write_check_file(options, table.reading, prepared.preview.card(), counted)


def _place(options: dict[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments for the release's folder."""
    return {"name": options["name"], "overwrite": options["overwrite"]}


def _table(options: dict[str, Any], start: _Start) -> CountTable:
    """Return the confidential table on the grid that is published."""
    from geodp.table.counts import coarsen

    table = read(options, start.grid, start.request.key)
    return table if start.coarser is None else coarsen(table, start.coarser)


def _write(
    options: dict[str, Any],
    start: _Start,
    prepared: Prepared | None,
    seconds: dict[str, float],
    *,
    inferred: bool,
) -> str:
    """Release the prepared table, or complete an interrupted run, and write it."""
    from geodp.io.folder.staged_release import stage_release
    from geodp.io.memory import work_within

    output, resume = options["output"], options["resume"]
    with stage_release(start.released, output, **_place(options), resume=resume) as place:
        if inferred:
            write_recipe(options, place.folder)
        with time_phase("Releasing", "mechanism", seconds):
            if prepared is None:
                release, run = _resume(place, start, options)
            else:
                try_formats(place, prepared, start.formats)
                release, run = _release(place, prepared, options)
        if options["simulate"]:
            from geodp.release.simulated_cells import simulate_cells

            with time_phase("Simulating", "simulating", seconds):
                release = simulate_cells(release, options["simulate"])
        # The only phase whose memory grows with the output formats, so the limit applies to it.
        with time_phase("Writing", "writing", seconds), work_within(options["memory"]):
            written = release.write_into(place, {**run, "seconds": dict(seconds)})
            # After the release itself, as the formats are made from its public files.
            written |= write_formats(place, start.formats)
    return _format_message(release, start.request, written, options)


def _release(
    place: StagedRelease, prepared: Prepared, options: dict[str, Any]
) -> tuple[Release, dict[str, Any]]:
    """Draw the release and store it before the charge; return it with facts for the operator."""
    from geodp.io.folder.pending_tables import pack_tables

    table, request = prepared.table, prepared.request
    run = {
        "inputs": {str(path): sha256(path) for path in options["inputs"]},
        "occupied_cells": int(table.key.size),
        "people": int(table.count.sum()),
    }
    if request.prior is not None:
        run["prior"] = {"file": str(options["prior"]), "cells_sha256": request.prior.sha256}

    def pack(drawn: Release) -> Packed:
        return pack_tables([drawn.table], drawn.public_facts, drawn.extra_arrays, drawn.reading)

    # Writing is rehearsed with an empty release, so that a full disk is noticed before the charge.
    place.try_out(prepared.preview.view(), table.key.size, prepared.nodes)
    release = draw_in(place.folder, prepared, options, run, pack)
    return release, {**run, "released_people": release.table.total}


def _resume(
    place: StagedRelease, start: _Start, options: dict[str, Any]
) -> tuple[Release, dict[str, Any]]:
    """Restore the release of an interrupted run, which was charged; nothing is drawn."""
    from geodp.io.folder.pending_tables import unpack_reading, unpack_tables
    from geodp.release.publish import restore_extras
    from geodp.release.release import Release

    stored, charge = read_charged_draw(place.folder, start.request, options)
    (table,), facts, extra_arrays = unpack_tables(stored, start.released, place.folder)
    event, request = cast("Measurement", table.event), start.request
    start.require_totals(event, facts)
    release = Release(
        table,
        charge,
        request.terms.people,
        facts,
        totals=request.totals,
        metadata=request.metadata,
        reading=unpack_reading(stored, place.folder),
    )
    release = restore_extras(release, start.method, event, extra_arrays, request.measurements)
    return release, {**stored.run, "released_people": table.total}


def _format_assumption(one: Assumption) -> str:
    """Format the assumed contribution, and who is responsible for it."""
    from geodp.privacy.assumption import ANSWERS

    return translate(ASSUMED).format(
        statement=translate_message(one.statement),
        answer=translate(ANSWERS[one.stated_by]),
        source="" if one.source is None else f": {one.source}",
    )


def _format_message(
    release: Release, request: Request, written: dict[str, list[str]], options: dict[str, Any]
) -> str:
    """Format the final message of a run."""
    event = release.event
    fields = {
        "epsilon": None if event.epsilon is None else str(event.epsilon),
        "rho": None if event.rho is None else str(event.rho),
        "delta": None if event.delta is None else str(event.delta),
        "method": event.mechanism,
        "private": event.is_private,
        # Working them out may read a ledger, and a message has shown them already.
        "warnings": _warnings(release, request) if options["as_json"] else [],
    }
    # The guarantee is independent of the data, so it may be printed.
    return format_result(options, written, fields, [event.statement])


def _warnings(release: Release, request: Request) -> list[str]:
    """List the warnings about a release."""
    from geodp.release.preview import list_warnings

    return [*list_warnings(release, request)]
