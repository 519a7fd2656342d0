"""``geodp plan``: errors of a release before any data is read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from geodp import progress
from geodp.cli.inputs import GRIDS, NEEDS, grid_of, options_of_grid
from geodp.cli.options import GridCommand, grid_options, split_specs
from geodp.cli.output import PICTURES, require_drawn, require_free, write_file, write_picture
from geodp.cli.regions import POLYGON_NAME, POLYGONS, require_named
from geodp.cli.request_options import choose_with_marginals, request_options, terms_of
from geodp.cli.running import report_progress
from geodp.cli.translation import translate_message
from geodp.errors import UsageError
from geodp.features.plan.tables import show

if TYPE_CHECKING:
    from geodp.features.plan.api import Comparison, Dominance
    from geodp.features.plan.plan import Plan
    from geodp.features.series.sharing import Sharing
    from geodp.grid.grid import Grid

FIELDS = (
    *("epsilon", "rho", "delta", "method"),
    *("neighbours", "contribution", "unit", "people"),
)
"""Fields of a request that a plan accepts."""

WISHES = {"weight": "--weight", "target": "--target", "dominate": "--dominate", "purpose": "--for"}


DRAWN = (
    "Note: municipalities and polygons are synthetic here; to use your own, and to see the error "
    "of each, give their file: --for polygons:FILE.geojson."
)


@click.command(cls=GridCommand, no_args_is_help=True)
@grid_options
@request_options(*FIELDS)
@click.option(
    "--stop-at", help="Plan coarser cells: a published area, or a number of cells per side."
)
@click.option(
    "--compare", multiple=True, help="Other methods to compare, separated by commas; repeatable."
)
@click.option(
    "--rectangle",
    nargs=4,
    type=float,
    multiple=True,
    help="West south east north: also show the error of the sum over these cells; repeatable.",
)
@POLYGONS
@POLYGON_NAME
@click.option(
    "--smallest",
    nargs=2,
    type=float,
    help="POPULATION PERCENT: show the smallest area whose 95 % margin is at most PERCENT % of "
    "POPULATION.",
)
@click.option(
    "--weight",
    multiple=True,
    help="CELLS=WEIGHT or AREA=WEIGHT: choose the pyramid's levels and budgets for the smallest "
    "weighted sum of variances; repeatable.",
)
@click.option(
    "--target",
    multiple=True,
    help="CELLS=MARGIN or AREA=MARGIN: choose levels and budgets for these 95 % margins; "
    "repeatable.",
)
@click.option(
    "--dominate",
    help="Choose levels and budgets so that the planned errors of aligned blocks exceed those of "
    "a METHOD at no "
    "size, or a list of standard errors of 1, 2, 4 ... or 1, 4, 16 ... cells: 14.1,28.3,... "
    "Other areas, and sizes that are not in the list, may be worse.",
)
@click.option(
    "--for",
    "purpose",
    help="Choose levels and budgets for families of regions, separated by commas: your own "
    "(polygons:FILE.geojson), synthetic (municipalities, polygons, polygons:10km2, "
    "polygons:64 with 64 cells, rectangles), cells, squares, areas, islands (the losses of "
    "isolated settlements); FAMILY=WEIGHT if weights differ; and `relative`.",
)
@click.option(
    "--prior",
    type=click.Path(path_type=Path),
    help="Folder of a public release on the same grid. Alone: the prior of the planned release, "
    "with which the default and pyramid:setting=informed are simulated to choose the better. With "
    "--for and --dominate: a map to simulate on. [default: a synthetic map of the domain]",
)
@click.option(
    "--releases",
    type=click.IntRange(0),
    help="With --prior, --for and --dominate: releases simulated for each plan; 0: closed "
    "forms only.  "
    "[default: 4]",
)
@click.option(
    "--snapshots",
    type=click.IntRange(2),
    help="Plan a series of this many snapshots (geodp publish-series): the budget is for all of "
    "them, the errors are for one.",
)
@click.option(
    "--person-in",
    type=click.Choice(("all", "one")),
    help="With --snapshots: in how many snapshots a person is.",
)
@click.option(
    "--chain",
    default="",
    help="With --weight, --target, --dominate or --for: your own levels, such as 2-4-4-4-4.",
)
@click.option(
    "--plot", type=click.Path(path_type=Path), help="PNG, PDF or SVG file of error by area."
)
@click.option("--output", type=click.Path(path_type=Path), help="TOML file for publish --plan.")
@click.option("--overwrite", is_flag=True, help="Replace these files.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document to stdout.")
def plan(**options: Any) -> None:
    """Predict how accurate a release will be, before any data is read.

    \b
    geodp plan --grid jis:half --bounds 138 35 141.2 37.1333333333 --epsilon 0.1
        --people 45e6 --compare topdown,laplace --plot plan.png --output plan.toml

    Nothing here depends on data. Grid and budget are specified as for publish, which reads the file
    of --output as its --plan.
    """
    # Contradictory options fail before libraries are imported and files are read.
    wish = _check_objective(click.get_current_context())
    with report_progress():
        progress.begin("Planning", public=True)
        main, dominance, comparison, sharing = _plan(options, wish)
    document = _document(comparison, dominance, options["smallest"])
    if sharing is not None:
        document["series"] = list(sharing.sentences)
    if options["output"] is not None:
        write_file(options["output"], main.toml().encode(), True, options["overwrite"])
    if options["plot"] is not None:
        from geodp.features.plan.figure import plot_plans

        write_picture(options["plot"], partial(plot_plans, comparison), True, options["overwrite"])
    for warning in main.warnings:
        click.echo(translate_message(f"Warning: {warning}"), err=True)
    if options["as_json"]:
        click.echo(json.dumps(document, ensure_ascii=False, indent=1))
    else:
        show(comparison, dominance, options["smallest"])
        click.echo("\n".join(document.get("series", ())))


COMMAND = plan


def _plan(
    options: dict[str, Any], wish: str | None
) -> tuple[Plan, Dominance | None, Comparison, Sharing | None]:
    """Plan the requested release and other methods; also return how a series shares its budget."""
    # Imported here, as help and completion must not load the numerical libraries.
    from geodp.features.plan.api import Comparison, compare, dominate, optimise, trust
    from geodp.features.plan.plan import plan as planned

    grid = grid_of({**options, "inputs": ()})
    if options["stop_at"] is not None:
        from geodp.grid.coarsen import Coarsening

        grid = Coarsening.of(grid, options["stop_at"]).grid
    sharing = _share_of(options, grid)
    terms = terms_of(options) if sharing is None else sharing.each
    arguments: dict[str, Any] = {**terms.arguments, "regions": _regions(options, grid)}
    specs = split_specs(options["compare"])
    dominance: Dominance | None = None
    if wish == "dominate":
        other = options["dominate"]
        row = _row(other)
        simulated = _simulated(options)
        chain = options["chain"]
        dominance = dominate(
            grid, other if row is None else row, chain=chain, **simulated, **arguments
        )
        main = dominance.plan
        # The method to dominate is shown next to the plan; a list of errors has no plan.
        specs += [other] if row is None else []
    elif wish == "purpose":
        main = _serve(options, grid, arguments)
    elif wish is None and options["prior"] is not None:
        main = trust(grid, **_simulated(options), **arguments)
    elif wish is not None:
        wanted: dict[str, Any] = {f"{wish}s": _wishes(options[wish], WISHES[wish])}
        main = optimise(grid, chain=options["chain"], **wanted, **arguments)
    else:
        main = planned(
            grid, sharing.method if sharing else choose_with_marginals(options, grid), **arguments
        )
    comparison = (
        compare(grid, [main.name, *specs], **arguments) if specs else Comparison((main,), {})
    )
    return main, dominance, comparison, sharing


def _check_objective(context: click.Context) -> str | None:
    """Return the objective that is given, if any; UsageError for options that conflict."""
    options = context.params
    names = {option.name: option.opts[-1] for option in context.command.params}
    grid = str(options["spec"]).partition(":")[0]
    grid_options = {name for allowed in GRIDS.values() for name in allowed}
    for name in options:
        # Defaults are no contradiction: only what was typed is checked.
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        if name in grid_options and name not in options_of_grid(grid):
            raise UsageError(f"{names[name]} is not for {grid}: grids.", code="option-not-for-grid")
        if name in NEEDS and options.get(NEEDS[name]) is None:
            raise UsageError(
                f"{names[name]} goes with {names[NEEDS[name]]} only.", code="option-needs-option"
            )
    require_named(options)
    wishes = [name for name in WISHES if options[name]]
    if len(wishes) > 1:
        raise UsageError(
            "Give one of --weight, --target, --dominate and --for.", code="wishes-several"
        )
    for name in ("method", "marginals"):
        if wishes and options[name] is not None:
            raise UsageError(
                f"{WISHES[wishes[0]]} chooses a pyramid; it cannot be combined with --{name}.",
                code="option-not-for-wish",
            )
    if options["chain"] and not wishes:
        raise UsageError(
            "--chain goes with --weight, --target, --dominate or --for.", code="chain-needs-wish"
        )
    # Only these simulate; elsewhere the options would be ignored silently.
    chosen = options["method"] or options["marginals"] or options["snapshots"]
    alone = not wishes and options["prior"] is not None and not chosen
    if not alone and wishes not in (["purpose"], ["dominate"]):
        for name in ("prior", "releases"):
            if options[name] is not None:
                raise UsageError(
                    f"--{name} goes with --for or --dominate, or --prior alone.",
                    code="option-needs-for-or-dominate",
                )
    for name, endings in (("output", (".toml",)), ("plot", PICTURES)):
        require_free(options[name], f"--{name}", endings, overwrite=options["overwrite"])
    require_drawn(options["plot"])
    return wishes[0] if wishes else None


def _serve(options: dict[str, Any], grid: Grid, arguments: dict[str, Any]) -> Plan:
    """Plan for families of regions."""
    from geodp.features.plan.api import Objectives, serve

    objectives = Objectives.parse(options["purpose"])
    shapes = {}
    for one in objectives.families:
        if one.file:
            from geodp.io.read.public.polygons import read_polygons

            shapes[one.file] = read_polygons(one.file, grid)
            arguments["regions"] |= shapes[one.file]
    if any(one.is_drawn for one in objectives.families):
        # On stderr, so that --json and redirected output stay machine-readable.
        click.echo(translate_message(DRAWN), err=True)
    return serve(
        grid, objectives, shapes=shapes, chain=options["chain"], **_simulated(options), **arguments
    )


def _simulated(options: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a simulation: the table, and the number of releases."""
    options_of_simulation: dict[str, Any] = {}
    if options["prior"] is not None:
        from geodp.io.verify.readback import read_release_table

        options_of_simulation["prior"] = read_release_table(options["prior"])[0]
    if options["releases"] is not None:
        options_of_simulation["releases"] = options["releases"]
    return options_of_simulation


def _regions(options: dict[str, Any], grid: Grid) -> dict[str, Any]:
    regions: dict[str, Any] = {}
    for bounds in options["rectangle"]:
        regions[" ".join(f"{number:.10g}" for number in bounds)] = list(bounds)
    if options["polygons"] is not None:
        from geodp.io.read.public.polygons import read_polygons

        regions |= read_polygons(options["polygons"], grid, name=options["polygon_name"])
    return regions


def _wishes(texts: Sequence[str], option: str) -> dict[int | str, float]:
    wishes: dict[int | str, float] = {}
    for text in texts:
        name, _, value = text.rpartition("=")
        key = int(name) if name.isdecimal() else name
        try:
            number = float(value)
        except ValueError:
            name = ""
        if not name or key in wishes:
            raise UsageError(
                f"{option} has the form CELLS=NUMBER or AREA=NUMBER, each of them once.",
                code="wish-form",
            )
        wishes[key] = number
    return wishes


def _row(text: str) -> list[float] | None:
    """Parse numbers separated by commas; None for other texts."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return None


def _document(
    comparison: Comparison, dominance: Dominance | None, smallest: tuple[float, float] | None
) -> dict[str, Any]:
    document = comparison.to_dict() | ({} if dominance is None else dominance.to_dict())
    if smallest is not None:
        for one, row in zip(comparison.plans, document["plans"], strict=True):
            area = one.smallest(*smallest)
            row["smallest"] = None if area is None else area.to_dict()
    return document


def _share_of(options: dict[str, Any], grid: Grid) -> Sharing | None:
    """Return how the budget of a series is shared, or None if no series is planned."""
    if options["snapshots"] is None:
        if options["person_in"] is not None:
            raise UsageError(
                "--person-in goes with --snapshots only.", code="person-in-needs-snapshots"
            )
        return None
    from geodp.features.series.sharing import share_budget
    from geodp.mechanisms import mechanism

    if options["marginals"] is not None:
        raise UsageError("A series has no --marginals.", code="series-has-no-marginals")
    method = mechanism(options["method"] or "pyramid")
    shared = {"snapshots": options["snapshots"], "person": options["person_in"]}
    return share_budget(grid, method, terms_of(options), **shared)
