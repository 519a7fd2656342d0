"""``geodp evaluate``: compare methods on confidential counts."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp import progress
from geodp.cli.help import with_options
from geodp.cli.inputs import grid_of
from geodp.cli.options import inputs, split_specs
from geodp.cli.output import (
    PICTURES,
    area_text,
    new_table,
    number_text,
    require_drawn,
    require_free,
    write_file,
    write_picture,
)
from geodp.cli.readers import ReadingCommand, check_applicable, read
from geodp.cli.request_options import open_key, terms_of
from geodp.cli.running import report_progress
from geodp.options.option import Option, grouped, joined
from geodp.options.shared import EVALUATED_REQUEST, EVALUATION, FOLDER, GIVEN_DOMAIN, JSON, POLYGONS

if TYPE_CHECKING:
    from geodp.tools.evaluate.result import Evaluation

WIDTH = 160
"""Minimal width of the tables."""


OPTIONS = joined(
    grouped(
        "Run",
        Option("--trials", "Number of releases of each method.", low=1, default=10, everyday=True),
        Option("--seed", "Seed of the random rectangles.", low=0, default=0, show=True),
        Option("--processes", "Number of processes that release in parallel.", low=1, default=1),
    ),
    Option(
        "--methods",
        "Methods with settings, separated by commas, or all; repeatable (see geodp methods).",
        group="Privacy",
        default=("pyramid,topdown,laplace",),
        many=True,
        everyday=True,
    ),
    Option(
        "--rectangles",
        "Number of random rectangles to sum over.",
        group="Domain",
        low=0,
        default=0,
    ),
    Option(
        "--plot",
        "PNG, PDF or SVG file of error by area.",
        group="Output",
        type=Path,
        everyday=True,
    ),
)


@click.command(cls=ReadingCommand, rare=("mask", "where"), no_args_is_help=True)
@inputs
@with_options(
    *(GIVEN_DOMAIN, EVALUATED_REQUEST, OPTIONS, POLYGONS, EVALUATION),
    *(FOLDER.one("overwrite", help="Replace these files."), JSON),
)
def evaluate(**options: Any) -> None:
    """Measure the errors of methods on the counts in INPUTS, before anything is published.

    \b
    geodp evaluate *.zip --grid jis:half --value LABEL --bounds 138 35 141.2 37.1333333333
        --epsilon 0.1 --methods topdown,laplace --trials 100

    Inputs and grid are specified as for publish. The result is computed from the confidential
    counts without protection: it is for the operator only, unless the inputs are public.
    """
    check_applicable(click.get_current_context())
    for name, endings in (("output", (".json",)), ("plot", PICTURES)):
        require_free(options[name], f"--{name}", endings, overwrite=options["overwrite"])
    require_drawn(options["plot"])

    # Imported here, as help and completion must not load the numerical libraries.
    from geodp.tools.evaluate.evaluate import choose_methods
    from geodp.tools.evaluate.evaluate import evaluate as run

    terms = terms_of(options)
    specs = split_specs(options["methods"])
    key, grid = open_key(options), grid_of(options)
    # A misspelt method fails here, before minutes of reading.
    choose_methods(specs, grid, gaussian=terms.gaussian)
    polygons = None
    if options["polygons"] is not None:
        from geodp.io.read.public.polygons import read_polygons

        polygons = read_polygons(options["polygons"], grid, name=options["polygon_name"])
    with report_progress():
        table = read(options, grid, key)
        progress.begin("Evaluating", 1.0)
        evaluation = run(
            table,
            methods=specs,
            trials=options["trials"],
            key=key,
            rectangles=options["rectangles"],
            seed=options["seed"],
            polygons=polygons,
            processes=options["processes"],
            public=options["public_input"],
            progress=_report_progress,
            **terms.arguments,
        )
    document = json.dumps(evaluation.to_dict(), ensure_ascii=False, indent=1)
    # `public` decides the permissions: confidential results are readable by the operator only.
    if options["output"] is not None:
        write_file(
            options["output"], document.encode() + b"\n", evaluation.public, options["overwrite"]
        )
    if options["plot"] is not None:
        from geodp.tools.evaluate.result import plot_errors

        draw = partial(plot_errors, evaluation)
        write_picture(options["plot"], draw, evaluation.public, options["overwrite"])
    if options["as_json"]:
        click.echo(document)
    else:
        _show(evaluation)


def _report_progress(done: int, trials: int) -> None:
    """Report the number of finished trials."""
    progress.part(done / trials)


def _show(evaluation: Evaluation) -> None:
    """Print aligned tables for people."""
    from rich.console import Console

    console = Console(highlight=False)
    console.width = max(console.width, WIDTH)  # wrapped by the terminal rather than cut off
    if evaluation.notice is not None:
        console.print(evaluation.notice, markup=False)
    console.print(
        f"{evaluation.budget}, {evaluation.terms.neighbours}, trials: {evaluation.trials}, "
        f"cells: {evaluation.cells:,}",
        markup=False,
    )
    for name, title in (("mae", "Mean absolute error"), ("rmse", "Root-mean-square error")):
        table = new_table(
            f"\n{title} of blocks, by number of cells", map(area_text, evaluation.areas)
        )
        for spec, figures in evaluation.methods.items():
            table.add_row(spec, *map(number_text, figures[name]))
        console.print(table)
    columns = {
        "negative": "negative cells",
        "nonzero": "non-zero cells",
        "density": "density",
        "visited": "visited nodes",
        "total_variation": "total variation",
        "seconds": "seconds a release",
    }
    table = new_table("\nMeans over releases", columns.values())
    for spec, figures in evaluation.methods.items():
        cells = [
            f"{figures[name]:.1%}"
            if name == "density"
            else f"{figures[name]:.4f}"
            if name in ("total_variation", "seconds")
            else f"{figures[name]:,.0f}"
            for name in columns
        ]
        table.add_row(spec, *cells)
    console.print(table)
    if any("rectangles" in figures for figures in evaluation.methods.values()):
        titles = ["MAE", "RMSE", "MAE / people", "DPBench's scaled error"]
        table = new_table("\nSums over random rectangles", titles)
        for spec, figures in evaluation.methods.items():
            errors = figures["rectangles"]
            scaled = [f"{errors[name]:.3g}" for name in ("scaled", "dpbench")]
            table.add_row(spec, *(number_text(errors[name]) for name in ("mae", "rmse")), *scaled)
        console.print(table)
    if any("polygons" in figures for figures in evaluation.methods.values()):
        titles = ["areas", "MAE", "RMSE", "largest bias"]
        table = new_table("\nSums over areas, means over them (each: --json)", titles)
        for spec, figures in evaluation.methods.items():
            rows = [row for row in figures["polygons"].values() if row["cells"]]
            square = sum(row["rmse"] ** 2 for row in rows) / max(1, len(rows))
            mean = sum(row["mae"] for row in rows) / max(1, len(rows))
            bias = max((row["bias"] for row in rows), key=abs, default=0.0)
            table.add_row(spec, str(len(rows)), *map(number_text, (mean, square**0.5, bias)))
        console.print(table)
    for spec, reason in evaluation.refused.items():
        console.print(f"\nnot run: {spec}: {reason}", markup=False)
