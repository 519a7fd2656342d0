"""``geodp flows evaluate``: how well flows would be placed, for the operator alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from geodp import progress
from geodp.cli.help import with_options
from geodp.cli.options import inputs
from geodp.cli.output import require_free, write_file
from geodp.cli.request_options import terms_of
from geodp.cli.running import report_progress
from geodp.kinds.flows.options import EVALUATED
from geodp.kinds.flows.running.inputs import (
    TripsCommand,
    make_trips_reader,
    read_measured,
    read_prior,
    split_grid,
)
from geodp.options.shared import EVALUATED_REQUEST, EVALUATION, FOLDER, GIVEN_DOMAIN, JSON

if TYPE_CHECKING:
    from geodp.kinds.flows.evaluation import FlowsEvaluation


@click.command(cls=TripsCommand, no_args_is_help=True)
@inputs
@with_options(
    *(GIVEN_DOMAIN, EVALUATED, EVALUATED_REQUEST, EVALUATION),
    *(FOLDER.one("overwrite", help="Replace this file."), JSON),
)
def evaluate(**options: Any) -> None:
    """Measure how well flows of the trips in INPUTS would be placed, before any are published.

    \b
    geodp flows evaluate trips.csv --grid jis:basic --bounds tokyo --from o --to d
        --person id --trips 10 --epsilon 1 --trials 5

    Inputs are specified as for geodp flows publish. The result is computed from the confidential
    trips without protection: it is for the operator only, unless the inputs are public. Trips that
    bounding persons drops are not compared. Nothing is charged.
    """
    require_free(options["output"], "--output", (".json",), overwrite=options["overwrite"])
    from geodp.kinds.flows.evaluation import evaluate_prepared
    from geodp.kinds.flows.levels import FlowsOptions
    from geodp.kinds.flows.publish import prepare_flows
    from geodp.privacy.key import NoiseKey
    from geodp.release.request import Request

    (grid, labels), measured = split_grid(options), FlowsOptions(**read_measured(options))
    key = None if options["key_file"] is None else NoiseKey.from_file(options["key_file"])
    terms = terms_of(options)
    request = Request(terms=terms, method=options["method"], key=key, allow_empty=True)
    with report_progress():
        reader = make_trips_reader(options, grid, request, labels)
        prior = read_prior(options, grid)
        progress.begin("Reading")
        table = reader.read([*options["inputs"]])
        prepared = prepare_flows(table, request, measured, prior)
        trials, public = options["trials"], options["public_input"]
        evaluation = evaluate_prepared(prepared, table, trials, public=public)
    document = json.dumps(evaluation.to_dict(), ensure_ascii=False, indent=1)
    if options["output"] is not None:
        # `public` decides the permissions: confidential results are readable by the operator only.
        content = document.encode() + b"\n"
        write_file(options["output"], content, evaluation.public, options["overwrite"])
    click.echo(document if options["as_json"] else "\n".join(_tabulate(evaluation)))


ROWS = {
    "right": "placed right, %",
    "common": "common part, %",
    "error": "mean error of pairs with trips",
}
"""Figures by side of squares, as rows of a table."""

ALONE = {
    "empty": "released pairs without a trip, %",
    "missing": "pairs with trips released as 0, %",
    "length": "mean length, % of the true one",
}
"""Figures of all trips."""


def _tabulate(evaluation: FlowsEvaluation) -> list[str]:
    """Return the lines of the tables for people."""
    figures, sides = evaluation.figures, evaluation.sides
    lines = [] if evaluation.notice is None else [evaluation.notice]
    lines.append(
        f"{evaluation.spends}, trips of a unit: {evaluation.contribution:,}, trials: "
        f"{evaluation.trials}, zones: {evaluation.zones:,}"
    )
    lines.append(f"{'squares of zones':<34}" + "".join(f"{f'{n} x {n}':>10}" for n in sides))
    for name, title in ROWS.items():
        digits = 2 if name == "error" else 1
        cells = (f"{figures[f'{name} {side}']:,.{digits}f}" for side in sides)
        lines.append(f"{title:<34}" + "".join(f"{cell:>10}" for cell in cells))
    lines += [f"{title:<34}{figures[name]:>10,.1f}" for name, title in ALONE.items()]
    return lines
