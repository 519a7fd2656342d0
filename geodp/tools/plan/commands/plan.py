"""``geodp plan``: errors of a release before any data is read."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from geodp import progress
from geodp.cli.help import with_options
from geodp.cli.inputs import check_grid, grid_of
from geodp.cli.options import GridCommand, split_specs
from geodp.cli.output import PICTURES, require_drawn, require_free, write_file, write_picture
from geodp.cli.request_options import choose_with_marginals, terms_of
from geodp.cli.running import report_progress
from geodp.cli.translation import translate_message
from geodp.options.option import Option
from geodp.options.shared import GIVEN_DOMAIN, GUESSED_PEOPLE, JSON, POLYGONS, REQUEST
from geodp.tools.plan.tables import show

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.release.sharing import Sharing
    from geodp.tools.plan.api import Comparison

FIELDS = (
    *("epsilon", "rho", "delta", "method"),
    *("neighbours", "contribution", "unit", "people"),
)
"""Fields of a request that a plan accepts."""


@click.command(cls=GridCommand, no_args_is_help=True)
@with_options(
    GIVEN_DOMAIN,
    GUESSED_PEOPLE,
    REQUEST.of(*FIELDS),
    Option("--stop-at", "Plan coarser cells: a published area, or a number of cells per side."),
    Option(
        "--compare",
        "Other methods to compare, separated by commas; repeatable.",
        many=True,
        everyday=True,
    ),
    Option(
        "--rectangle",
        "West south east north: also show the error of the sum over these cells; repeatable.",
        type=float,
        many=True,
        values=4,
    ),
    POLYGONS,
    Option(
        "--smallest",
        "POPULATION PERCENT: show the smallest area whose 95 % margin is at most PERCENT % of "
        "POPULATION.",
        type=float,
        values=2,
        everyday=True,
    ),
    Option(
        "--prior",
        "Folder of a public release on the same grid, the prior of the planned release: the "
        "default and pyramid:setting=informed are simulated with it to choose the better.",
        type=Path,
        excludes=("method", "marginals", "snapshots"),
    ),
    Option(
        "--releases",
        "With --prior: releases simulated for each of the two.  [default: 4]",
        low=1,
        needs=("prior",),
    ),
    Option(
        "--snapshots",
        "Plan a series of this many snapshots (geodp publish-series): the budget is for all of "
        "them, the errors are for one.",
        low=2,
        everyday=True,
        excludes=("marginals",),
    ),
    Option(
        "--person-in",
        "With --snapshots: in how many snapshots a person is.",
        choices=("all", "one"),
        everyday=True,
        needs=("snapshots",),
    ),
    Option("--plot", "PNG, PDF or SVG file of error by area.", type=Path, everyday=True),
    Option("--output", "TOML file for publish --plan.", type=Path, everyday=True),
    Option("--overwrite", "Replace these files.", type=bool, everyday=True),
    JSON,
)
def plan(**options: Any) -> None:
    """Predict how accurate a release will be, before any data is read.

    \b
    geodp plan --grid jis:half --bounds 138 35 141.2 37.1333333333 --epsilon 0.1
        --people 45e6 --compare topdown,laplace --plot plan.png --output plan.toml

    Nothing here depends on data. Grid and budget are specified as for publish, which reads the file
    of --output as its --plan.
    """
    # Contradictory options fail before libraries are imported and files are read.
    _check_options(click.get_current_context())
    with report_progress():
        progress.begin("Planning", public=True)
        comparison, sharing = _plan(options)
    main = comparison.plans[0]
    document = _document(comparison, options["smallest"])
    if sharing is not None:
        document["series"] = list(sharing.sentences)
    if options["output"] is not None:
        write_file(options["output"], main.toml().encode(), True, options["overwrite"])
    if options["plot"] is not None:
        from geodp.tools.plan.plan import plot_plans

        write_picture(options["plot"], partial(plot_plans, comparison), True, options["overwrite"])
    for warning in main.warnings:
        click.echo(translate_message(f"Warning: {warning}"), err=True)
    if options["as_json"]:
        click.echo(json.dumps(document, ensure_ascii=False, indent=1))
    else:
        show(comparison, options["smallest"])
        click.echo("\n".join(document.get("series", ())))


def _plan(options: dict[str, Any]) -> tuple[Comparison, Sharing | None]:
    """Plan the requested release and other methods; also return how a series shares its budget."""
    # Imported here, as help and completion must not load the numerical libraries.
    from geodp.tools.plan.api import Comparison, compare, trust
    from geodp.tools.plan.plan import plan as planned

    grid = grid_of({**options, "inputs": ()})
    if options["stop_at"] is not None:
        from geodp.grid.coarsen import Coarsening

        grid = Coarsening.of(grid, options["stop_at"]).grid
    sharing = _share_of(options, grid)
    terms = terms_of(options) if sharing is None else sharing.each
    arguments: dict[str, Any] = {**terms.arguments, "regions": _regions(options, grid)}
    if options["prior"] is not None:
        from geodp.io.verify.readback import read_release_table

        prior, releases = read_release_table(options["prior"])[0], options["releases"]
        often = {} if releases is None else {"releases": releases}
        main = trust(grid, prior, **often, **arguments)
    else:
        main = planned(
            grid, sharing.method if sharing else choose_with_marginals(options, grid), **arguments
        )
    others = split_specs(options["compare"])
    if not others:
        return Comparison((main,), {}), sharing
    found = compare(grid, [main.name, *others], **arguments)
    # The plan itself, since the others' like has no reasons for a choice.
    return Comparison((main, *found.plans[1:]), found.refused), sharing


def _check_options(context: click.Context) -> None:
    """Refuse options that conflict."""
    options = context.params
    check_grid(context)
    for name, endings in (("output", (".toml",)), ("plot", PICTURES)):
        require_free(options[name], f"--{name}", endings, overwrite=options["overwrite"])
    require_drawn(options["plot"])


def _regions(options: dict[str, Any], grid: Grid) -> dict[str, Any]:
    regions: dict[str, Any] = {}
    for bounds in options["rectangle"]:
        regions[" ".join(f"{number:.10g}" for number in bounds)] = list(bounds)
    if options["polygons"] is not None:
        from geodp.io.read.public.polygons import read_polygons

        regions |= read_polygons(options["polygons"], grid, name=options["polygon_name"])
    return regions


def _document(comparison: Comparison, smallest: tuple[float, float] | None) -> dict[str, Any]:
    document = comparison.to_dict()
    if smallest is not None:
        for one, row in zip(comparison.plans, document["plans"], strict=True):
            area = one.smallest(*smallest)
            row["smallest"] = None if area is None else area.to_dict()
    return document


def _share_of(options: dict[str, Any], grid: Grid) -> Sharing | None:
    """Return how the budget of a series is shared, or None if no series is planned."""
    if options["snapshots"] is None:
        return None
    from geodp.mechanisms import mechanism
    from geodp.release.sharing import share_budget

    method = mechanism(options["method"] or "pyramid")
    shared = {"snapshots": options["snapshots"], "person": options["person_in"]}
    return share_budget(grid, method, terms_of(options), **shared)
