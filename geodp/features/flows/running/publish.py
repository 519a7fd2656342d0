"""``geodp flows publish``: trips bounded by person, released under one budget."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from geodp.cli.check import begin_check, check_options, describe_domain, write_check_file
from geodp.cli.draw_storage import Packed
from geodp.cli.help import option
from geodp.cli.inputs import sha256
from geodp.cli.options import folder_options, grid_options, inputs
from geodp.cli.publishing import draw_in, read_charged_draw, write_release
from geodp.cli.request_options import read_request, request_options
from geodp.cli.running import carry_out, format_result, time_phase
from geodp.features.flows.running.inputs import (
    list_paths,
    make_trips_reader,
    read_levels,
    read_prior,
    split_grid,
)
from geodp.features.flows.running.options import (
    TripsCommand,
    label_share_option,
    leave_out_option,
    level_option,
    method_option,
    prior_options,
    reading_options,
)
from geodp.io.folder.stopping import complete_with_commit

if TYPE_CHECKING:
    from geodp.features.flows.flows import Flows
    from geodp.features.flows.publish import DrawnFlows, PreparedFlows
    from geodp.features.flows.reading.trips import Trips
    from geodp.io.folder.staged_tables import StagedTables
    from geodp.release.request import Request

PAIRS = 1 << 20
"""Pairs that space is required for before the charge, if there are as many: how many are released
follows from the trips, which no outcome may tell. Where a disk is too small for more, the run ends
after its charge, and ``--resume`` completes it on a disk with space."""


PRIOR_WRITTEN = (
    "prior.parquet in the public folder has the flows of the prior as they were given: this file "
    "has no noise."
)

ELSEWHERE = (
    "method",
    "contribution",
    "unit",
    "people",
    "measurements",
    "totals",
    "prior",
    "simulate",
)
"""Fields of a request that this release does not have, or has in another form."""


@click.command(cls=TripsCommand, no_args_is_help=True)
@inputs
@grid_options
@reading_options
@level_option
@label_share_option
@method_option
@prior_options
@leave_out_option
@option(
    "--contribution",
    group="Privacy",
    everyday=True,
    type=click.IntRange(1),
    help="Most trips of one person, or other --unit, in all inputs together, which you assert. "
    "Required unless --person names persons.",
)
@request_options(without=ELSEWHERE)
@folder_options
@check_options
def publish(**options: Any) -> None:
    """Release the trips of INPUTS between zones, and from and to every zone, under one budget.

    \b
    One row for each trip, with a column of persons; or counted rows:
    geodp flows publish FILE --from O --to D --person ID --trips 10 ...
    geodp flows publish FILE --from O --to D --value N --contribution 10 ...
    geodp flows publish FILE --pings LAT,LON --time T --person ID --trips 10 ...
    geodp flows publish FILE --stays PLACE --time T --person ID --trips 10 ...

    Trips from every zone add up to its released origins, and trips to it to its destinations.
    Writes OUTPUT/public, with a folder for each table, and OUTPUT/restricted. Nothing that depends
    on the data is printed.
    """
    carry_out(options, _publish)


def _publish(options: dict[str, Any], seconds: dict[str, float]) -> str:
    """Publish, and return the message for the operator; ``seconds`` gets those of each phase."""
    from geodp.features.flows.kind import FlowsKind

    complete_with_commit()
    (grid, labels), levels = split_grid(options), read_levels(options["level"])
    # The prior of a request is one of counts, and is read from another kind of file.
    asked = begin_check(options)
    request = read_request(asked, grid, method=options["method"], kind=FlowsKind(), prior=None)
    reader = make_trips_reader(options, grid, request, labels)
    if options["resume"]:
        return _write(options, reader, request, seconds)
    from geodp.features.flows.publish import prepare_flows
    from geodp.io.folder.staging import require_free, require_uninterrupted
    from geodp.release.preview import list_warnings

    require_free(options["output"], overwrite=options["overwrite"])
    require_uninterrupted(options["output"])
    # A public file: what is wrong with it is told before trips are read.
    prior = read_prior(options, grid)
    with time_phase("Reading", "reading", seconds):
        table = reader.read(list_paths(options))
        prepared = prepare_flows(table, request, levels, options["label_share"], prior)
    for sentence in list_warnings(prepared.preview.origins):
        click.echo(f"Warning: {sentence}", err=True)
    if options["check"]:
        return _write_check(options, prepared)
    return _write(options, reader, request, seconds, prepared)


def _write_check(options: dict[str, Any], prepared: PreparedFlows) -> str:
    """Write the summary of a check, and return the message for the operator."""
    table, origins = prepared.table, prepared.preview.origins
    prepared.preview.check_place(options["output"], overwrite=options["overwrite"])
    counted = {
        **describe_domain(origins.grid),
        "domain_pairs": table.grid.size,
        "occupied_pairs": int(table.key.size),
        "counted_trips": int(table.count.sum()),
    }
    return write_check_file(options, table.reading, prepared.preview.flows.card(), counted)


def _write(
    options: dict[str, Any],
    reader: Trips,
    request: Request,
    seconds: dict[str, float],
    prepared: PreparedFlows | None = None,
) -> str:
    """Release what is prepared, or complete an interrupted run, and write it."""
    from geodp.io.folder.staged_tables import StagedTables

    if prepared is not None:
        prepared.preview.check_place(options["output"], overwrite=options["overwrite"])

    def make(place: StagedTables) -> tuple[Flows, dict[str, Any]]:
        if prepared is None:
            return _resume(place, reader, request, options)
        return _release(place, prepared, options)

    release, written = write_release(options, StagedTables.stage, make, seconds)
    return _format_result(release, written, options)


def _release(
    place: StagedTables, prepared: PreparedFlows, options: dict[str, Any]
) -> tuple[Flows, dict[str, Any]]:
    """Draw, store the draw before the charge, and return it with the operator's record."""
    from geodp.features.flows.pending import pack_drawn

    run: dict[str, Any] = {
        "inputs": {str(path): sha256(path) for path in options["inputs"]},
        "occupied_pairs": int(prepared.table.key.size),
    }
    if (prior := prepared.preview.prior) is not None:
        run["prior"] = {"file": str(options["prior"]), "cells_sha256": prior.sha256}

    def pack(drawn: DrawnFlows) -> Packed:
        return pack_drawn(drawn, prepared.preview)

    # Formats and disk space fail here, before the charge, and not after it.
    noisy, labels = tuple(prepared.plan.empty_pairs), tuple(prepared.plan.empty_labels)
    place.try_out(replace(prepared.preview, noisy=noisy, labels=labels), PAIRS)
    return draw_in(place.folder, prepared, options, run, pack), run


def _resume(
    place: StagedTables, reader: Trips, request: Request, options: dict[str, Any]
) -> tuple[Flows, dict[str, Any]]:
    """Restore the release of an interrupted run, which was charged, with the operator's record."""
    from geodp.features.flows.pending import restore_flows

    stored, charge = read_charged_draw(place.folder, request, options)
    attributes = reader.labelled.attributes
    release = restore_flows(stored, reader.grid, attributes, request, place.folder, charge)
    return release, dict(stored.run)


def _format_result(release: Flows, written: dict[str, list[str]], options: dict[str, Any]) -> str:
    """Format the final message of a run."""
    promise = release.index.guarantee
    fields = {
        "unit": promise.unit,
        "trips": promise.contribution,
        "spends": promise.spends,
        "method": promise.mechanism,
        "private": release.index.private,
    }
    sentences = [promise.in_words]
    if release.index.prior is not None and not release.index.prior.left_out:
        sentences.append(PRIOR_WRITTEN)
        fields["without_noise"] = ["prior.parquet"]
    return format_result(options, written, fields, sentences)
