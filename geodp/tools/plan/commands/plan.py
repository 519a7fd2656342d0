"""``geodp plan``: errors of a release before any data is read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
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
from geodp.options.shared import (
    GIVEN_DOMAIN,
    GUESSED_PEOPLE,
    JSON,
    PLANNED_PERSON_IN,
    POLYGONS,
    REQUEST,
    SNAPSHOTS,
)

if TYPE_CHECKING:
    from geodp.grid.grid import Grid
    from geodp.release.sharing import Sharing
    from geodp.tools.plan.api import Comparison
    from geodp.tools.plan.plan import Plan, Planned

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
    replace(SNAPSHOTS, excludes=("marginals",)),
    PLANNED_PERSON_IN,
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


def show(comparison: Comparison, smallest: tuple[float, float] | None) -> None:
    """Print aligned tables for people."""
    main = comparison.plans[0]
    click.echo(f"{main.name}, {main.event.spends}, {main.event.neighbours}")
    for title, rows in (
        ("Blocks", main.blocks),
        ("Published areas", main.areas),
        ("Regions", main.regions),
    ):
        columns = ["area"] * (title != "Blocks") + ["cells", "standard error", "95 % margin"]
        _table(title, columns, [_cells(row, named="area" in columns) for row in rows])
    _show_parts(main)
    if len(comparison.plans) > 1:
        names = [one.name for one in comparison.plans]
        side = [
            [_size(n), *(_text(row.get(name)) for name in names)]
            for n, row in comparison.table().items()
        ]
        _table("Standard errors of blocks", ["cells", *names], side)
    click.echo()
    for one in comparison.plans:
        for sentence in _describe(one, smallest):
            click.echo(f"{one.name}: {translate_message(sentence)}")
    for name, why in comparison.refused.items():
        click.echo(translate_message(f"not planned: {name}: {why}"))
    click.echo("\n".join(map(translate_message, [*main.reasons, *main.notes])))


def _show_parts(main: Plan) -> None:
    """Print the parts that carry a signal, by area."""
    rows = [
        [
            f"{row['parts']:,}" + (f" {row['marginal']}" if row["marginal"] else ""),
            _size(row["cells"]),
            _text(row["noise"]),
            _text(row["least"]),
            _text(row["expected"]),
            {None: "", True: "yes", False: "no"}[row["signal"]],
        ]
        for row in main.parts
    ]
    columns = ["parts", "cells", "noise", "a signal from", "people of a part", "signal"]
    _table("Parts by area", columns, rows)


def _cells(row: Planned, *, named: bool) -> list[str]:
    figures = [_size(row.cells), _text(row.standard_error), _text(row.margin_95)]
    return [row.name, *figures] if named else figures


def _size(cells: int) -> str:
    # Long numbers of cells are powers of two, which are easier to compare as exponents.
    large = cells >= 10**7 and cells.bit_count() == 1
    return f"2^{cells.bit_length() - 1}" if large else f"{cells:,}"


def _table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table

    if not rows:
        return
    heading = f"\n{translate_message(title)}"
    table = Table(title=heading, title_justify="left", title_style="bold", box=None, pad_edge=False)
    for name in columns:
        title, left = translate_message(name), name == "area"
        table.add_column(title, justify="left" if left else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console = Console(highlight=False)
    # A narrow or redirected terminal would cut numbers off.
    console.width = max(console.width, 100)
    console.print(table)


def _describe(one: Plan, smallest: tuple[float, float] | None) -> list[str]:
    sentences = []
    if one.output_cells is not None and one.seconds is not None:
        few, many = one.output_cells
        size = (
            f"at most {many:,} cells of output, if people are spread evenly; at least roughly "
            f"{few:,}, if they live on a fifth of the cells; fewer if on less."
        )
        seconds = dict.fromkeys(f"{float(f'{n:.1g}'):,g}" for n in one.seconds)
        time = "\N{EN DASH}".join(seconds)
        sentences.append(f"{many:,} cells of output." if few == many else size)
        sentences.append(f"{time} s without reading and writing.")
    if one.floor is not None:
        several = f"resolution floor {one.floor:,} cells."
        sentences.append("resolution floor 1 cell." if one.floor == 1 else several)
    if smallest is not None:
        area = one.smallest(*smallest)
        what = "none" if area is None else area.title
        sentences.append(
            f"smallest area with a margin of {smallest[1]:g} % of {smallest[0]:,g}: {what}."
        )
    return sentences


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:,.1f}"
