"""``geodp new``: interview the operator, do a dry run, and write the recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from geodp.cli.help import with_options
from geodp.cli.layout import INPUTS
from geodp.cli.readers import ReadingCommand
from geodp.cli.values import find_inputs
from geodp.options.option import Option, grouped, joined
from geodp.options.shared import DOMAIN, FOLDER, LAYOUT, REQUEST

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


NEW = joined(
    Option(
        "--area",
        "Public area: land:japan, a name (germany, 東京都), bounds, layout (the area that the "
        "file's layout states), all (the full extent of the grid); for a raster's own cells: "
        "public, which asserts that their extent is public.",
        group="Domain",
        everyday=True,
    ),
    grouped(
        "Output",
        Option(
            "--output",
            "Folder of the release in the printed commands.  [default: FILE-release]",
            type=Path,
        ),
        Option(
            "--recipe",
            "TOML file to write, for publish --recipe.  [default: FILE-recipe.toml]",
            type=Path,
        ),
        everyday=True,
    ),
)


@click.command(cls=NewCommand)
@click.argument("inputs", nargs=-1, type=click.Path(), callback=_keep_inputs)
@with_options(
    *(LAYOUT.one("preset"), NEW, DOMAIN, REQUEST.of("epsilon", "contribution", "unit", "people")),
    FOLDER.one("overwrite", help="Replace an earlier recipe."),
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
