"""``geodp publish``: read, release, write."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from geodp.cli.charging import Packed, keep_charged
from geodp.cli.check import require_unpublished, write_check_file
from geodp.cli.cluster import ask_cluster, cluster_options, publish_on_cluster
from geodp.cli.formats import choose_formats, formats_option, try_formats, write_formats
from geodp.cli.help import option
from geodp.cli.inputs import grid_of, read_plan_options, sha256
from geodp.cli.layout import complete, layout_options, write_recipe
from geodp.cli.options import grid_options, inputs, run_options
from geodp.cli.readers import ReadingCommand, check_applicable, read
from geodp.cli.request import read_request, request_options
from geodp.cli.running import (
    describe_call,
    pad_time,
    report_progress,
    report_stored_draw,
    time_phase,
)
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
    help="TOML file of geodp plan, which settles the method, the budget and whom it protects.",
)
@option(
    "--stop-at",
    group="Domain",
    help="Publish coarser cells: a published area such as jis:basic, or cells on a side.",
)
@formats_option
@run_options
@cluster_options
@option(
    "--overwrite",
    group="Output",
    everyday=True,
    is_flag=True,
    help="Remove the release in OUTPUT; to correct a published one, use --supersedes and a new "
    "OUTPUT.",
)
@option(
    "--resume",
    group="Run",
    is_flag=True,
    help="Complete an interrupted run of the same command from the table that it was charged for; "
    "nothing is read, drawn or charged.",
)
@option(
    "--check",
    group="Output",
    everyday=True,
    is_flag=True,
    help="Rehearse: refuse what publishing would refuse, and write what would be counted to "
    "OUTPUT/restricted, for the operator. Draws and charges nothing, and needs no budget; "
    "publishing to the same OUTPUT replaces it.",
)
@option(
    "--profile",
    group="Run",
    is_flag=True,
    help="Seconds of each phase on stderr, for the operator only: they depend on the data.",
)
@option("--json", "as_json", group="Output", is_flag=True, help="One JSON document on stdout.")
def publish(**options: Any) -> None:
    """Release confidential counts from INPUTS with differential privacy.

    \b
    Official files:       geodp publish Zensus2022_Bevoelkerungszahl_1km-Gitter.csv --epsilon 0.1
                              --output out, or what: geodp inspect FILE, ends with
    Official mesh files:  geodp publish *.zip --grid jis:half --value LABEL
                              --bounds 138 35 141.2 37.1333333333 --epsilon 0.1 --output out
    Tables:               geodp publish grid.parquet --grid inspire:1km --x x --y y --value T ...
    Points:               geodp publish people.csv --grid jis:quarter --points --x lon --y lat ...
    Count rasters:        geodp publish counts.tif --grid like:template.tif ...

    INPUTS are files, folders, patterns such as 'pings/*.parquet', and URLs (pip install
    'geodp[url]'); --scratch says where a file that is fetched lies until it has been read.

    Writes OUTPUT/public and OUTPUT/restricted. Nothing that depends on the data is printed.
    A selection or domain that no row meets is refused before anything is charged.
    """
    with pad_time(options["pad_time"]):
        seconds: dict[str, float] = {}
        with report_progress(lines=not options["pad_time"]):
            said = _publish(options, seconds)
        if options["profile"]:
            for phase, took in seconds.items():
                click.echo(f"{phase} {took:.3f} s", err=True)
        click.echo(said)


COMMAND = publish

ASSUMED = "Assumed: {statement} {answer}{source}."

ANY_BUDGET = "1"
"""The epsilon of a check without a budget: what it refuses is refused with every budget."""


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
        """The method of the release, which a command settles before it reads."""
        return cast("Mechanism", self.request.method)

    def require_totals(self, event: Measurement, public_facts: tuple[str, ...]) -> None:
        """Raise UsageError where an interrupted run was charged for other public totals."""
        totals = self.request.totals
        if totals and totals.describe_guarantee(event) not in public_facts:
            raise UsageError(
                "The interrupted run had other public totals; give the file as it was.",
                code="resumed-totals-differ",
            )


def _publish(options: dict[str, Any], seconds: dict[str, float]) -> str:
    """Publish; what is to be said of it."""
    context = click.get_current_context()
    inferred = complete(context, options)
    if inferred:
        check_applicable(context)  # what was given may not go with what the layout adds
    plan = None
    if options["plan"] is not None:
        plan = read_plan_options(context)
        options |= plan.arguments
    if not options["unit"].strip() or not options["unit"].isprintable():
        raise UsageError("--unit says in words whom the guarantee protects.", code="unit-in-words")
    on_cluster = ask_cluster(options)
    complete_with_commit()
    with time_phase("Starting", "imports", seconds):
        start = _start(options, plan)
    if on_cluster:
        return publish_on_cluster(options, start.grid, start.request)
    if options["resume"]:
        return _write(options, start, None, seconds, inferred=inferred)
    from geodp.io.folder.staging import require_uninterrupted
    from geodp.release.publish import prepare

    require_uninterrupted(options["output"])
    with time_phase("Reading", "reading", seconds):
        table = _table(options, start)
        if plan is not None:
            plan.require_bound(table)
        prepared = prepare(table, start.request)
    for words in _warnings(prepared.preview):
        click.echo(translate_message(f"Warning: {words}"), err=True)
    if prepared.event.layout:
        click.echo(_say_assumed(prepared.event.assumption), err=True)
    if options["check"]:
        return write_check_file(options, prepared)
    if prepared.measurements_request is not None:
        click.echo(prepared.measurements_request.summary, err=True)
    return _write(options, start, prepared, seconds, inferred=inferred)


def _start(options: dict[str, Any], plan: Settings | None) -> _Start:
    """Open and check what a run goes by: whatever can be refused without the data is."""
    from geodp.grid.coarsen import Coarsening
    from geodp.io.folder.staged_release import check_publication

    grid = grid_of(options)
    coarser = None if options["stop_at"] is None else Coarsening.of(grid, options["stop_at"])
    released = grid if coarser is None else coarser.grid
    asked = options
    if options["check"]:
        asked = {**options, "ledger": None}
        if not _has_budget(options):
            asked["epsilon"] = ANY_BUDGET
    request = read_request(asked, released)
    start = _Start(grid, coarser, request, choose_formats(options))
    if plan is not None:
        plan.require_grid(start.released)
    if refusal := start.method.unsupported(released):
        raise UsageError(refusal)
    if options["check"]:
        require_unpublished(options["output"])
    check_publication(start.released, options["output"], **_place(options))
    return start


def _has_budget(options: Mapping[str, Any]) -> bool:
    """Whether a budget is given, as it must be but for a check."""
    budget = (options[name] is not None for name in ("epsilon", "rho", "delta"))
    return not options["check"] or any(budget)


def _place(options: dict[str, Any]) -> dict[str, Any]:
    """How the folder is made."""
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
    """Release what is prepared, or complete an interrupted run, and write it."""
    from geodp.io.folder.staged_release import stage_release
    from geodp.io.memory import work_within

    output, resume = options["output"], options["resume"]
    with (
        report_stored_draw(output),
        stage_release(start.released, output, **_place(options), resume=resume) as place,
    ):
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
        with time_phase("Writing", "writing", seconds), work_within(options["memory"]):
            written = release.write_into(place, {**run, "seconds": dict(seconds)})
            written |= write_formats(place, start.formats)
    return _say(release, written, options)


def _release(
    place: StagedRelease, prepared: Prepared, options: dict[str, Any]
) -> tuple[Release, dict[str, Any]]:
    """Draw the release, kept before it is charged; return what the operator is told too."""
    from geodp.io.folder.kept_tables import pack_tables

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

    place.try_out(prepared.preview.view(), table.key.size, prepared.nodes)
    call = describe_call(options)
    with keep_charged(place.folder, request, call, run, pack) as keep:
        release = prepared.release(keep)
    return release, {**run, "released_people": release.table.total}


def _resume(
    place: StagedRelease, start: _Start, options: dict[str, Any]
) -> tuple[Release, dict[str, Any]]:
    """Return the same of an interrupted run, which was charged; nothing is drawn."""
    from geodp.io.folder.kept import read_pending_draw
    from geodp.io.folder.kept_tables import unpack_reading, unpack_tables
    from geodp.release.charging import find_charge
    from geodp.release.publish import restore_extras
    from geodp.release.release import Release

    kept = read_pending_draw(place.folder, describe_call(options))
    (table,), facts, extra_arrays = unpack_tables(kept, start.released, place.folder)
    event, request = cast("Measurement", table.event), start.request
    start.require_totals(event, facts)
    charge = find_charge(request.ledger, kept.dataset, kept.fingerprint)
    found = Release(
        table,
        charge,
        request.terms.people,
        facts,
        totals=request.totals,
        metadata=request.metadata,
        reading=unpack_reading(kept, place.folder),
    )
    found = restore_extras(found, start.method, event, extra_arrays, request.measurements)
    return found, {**kept.run, "released_people": table.total}


def _say_assumed(one: Assumption) -> str:
    """Return the contribution that is assumed, and who answers for it."""
    from geodp.privacy.assumption import ANSWERS

    return translate(ASSUMED).format(
        statement=translate_message(one.statement),
        answer=translate(ANSWERS[one.stated_by]),
        source="" if one.source is None else f": {one.source}",
    )


def _say(release: Release, written: dict[str, list[str]], options: dict[str, Any]) -> str:
    """Return the last words of a run."""
    if options["as_json"]:
        event = release.event
        document = {
            "output": str(options["output"]),
            **written,
            "epsilon": None if event.epsilon is None else str(event.epsilon),
            "rho": None if event.rho is None else str(event.rho),
            "delta": None if event.delta is None else str(event.delta),
            "method": event.mechanism,
            "private": event.is_private,
            "warnings": _warnings(release),
        }
        return json.dumps(document, ensure_ascii=False, indent=1)
    public, restricted = options["output"] / "public", options["output"] / "restricted"
    said = f"Published in {public}; for the operator only: {restricted}"
    return "\n".join(map(translate_message, (said, release.event.words)))


def _warnings(release: Release) -> list[str]:
    """Return what must be known of it before it is published."""
    from geodp.release.preview import list_warnings

    return [*list_warnings(release)]
