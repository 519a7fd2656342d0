"""``geodp new``: interview the operator, do a dry run, and write the recipe."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from geodp.cli.help import option
from geodp.cli.layout import INPUTS, preset_option
from geodp.cli.options import find_inputs, grid_options
from geodp.cli.readers import ReadingCommand
from geodp.cli.request_options import request_options

ARGUMENTS = "geodp.new.words"
"""Key of a context under which the arguments of the call are stored."""

PATHS = "geodp.new.paths"
"""Key of a context under which the files of the arguments are stored, before any is fetched."""


class NewCommand(ReadingCommand):
    """A command that stores the arguments of its call, to which answers add more."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and store the arguments."""
        ctx.meta[ARGUMENTS] = tuple(args)
        return super().parse_args(ctx, args)


def _keep_inputs(
    context: click.Context, parameter: click.Parameter, names: tuple[str, ...]
) -> tuple[Path | str, ...]:
    """Find the files of the inputs; the context stores both."""
    context.meta[INPUTS] = names
    paths = find_inputs(context, parameter, names)
    context.meta[PATHS] = paths
    return paths


@click.command(cls=NewCommand)
@click.argument("inputs", nargs=-1, type=click.Path(), callback=_keep_inputs)
@preset_option
@option(
    "--area",
    group="Domain",
    everyday=True,
    help="Public area: land:japan, a name (germany, 東京都), bounds, layout (the area that the "
    "file's layout states), all (the full extent of the grid); for a raster's own cells: "
    "public, which asserts that their extent is public.",
)
@partial(grid_options, required=False)
@request_options("epsilon", "contribution", "unit", "people")
@option(
    "--output",
    group="Output",
    everyday=True,
    type=click.Path(path_type=Path),
    help="Folder of the release in the printed commands.  [default: FILE-release]",
)
@option(
    "--recipe",
    group="Output",
    everyday=True,
    type=click.Path(path_type=Path),
    help="TOML file to write, for publish --recipe.  [default: FILE-recipe.toml]",
)
@option(
    "--overwrite", group="Output", everyday=True, is_flag=True, help="Replace an earlier recipe."
)
def new(**_options: Any) -> None:
    """Ask a few questions about INPUTS, do a dry run, and write a recipe and commands to publish.

    At most four questions: which file, which area, how often a person is counted, and which
    epsilon, with the errors that it gives. What the file's format says is not asked, and no answer
    is taken from its rows. An option answers its question in advance; without a terminal, open
    questions are printed.
    """
    from geodp.tools.new.interview import interview

    context = click.get_current_context()
    fetched = dict(zip(map(str, context.meta[PATHS]), context.params["inputs"], strict=True))
    interview(context, context.meta[ARGUMENTS], fetched)


COMMAND = new
