"""``geodp new``: interview the operator, do a dry run, and write the recipe."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from geodp.cli.answers import find_command
from geodp.cli.help import with_options
from geodp.cli.layout import INPUTS
from geodp.cli.readers import ReadingCommand
from geodp.cli.values import find_inputs
from geodp.options.file_question import COUNTS
from geodp.options.option import Option, grouped, joined
from geodp.options.shared import DOMAIN, FOLDER, LAYOUT, REQUEST

ARGUMENTS = "geodp.new.words"
"""Key of a context under which the arguments of the call are stored."""

PATHS = "geodp.new.paths"
"""Key of a context under which the files of the arguments are stored, before any is fetched."""


ANSWERING = "geodp.new.command"
"""Key of a context under which the command is stored that answers the question."""

OF_A_RUN = ("inputs", "output", "overwrite", "recipe", "resume", "as_json", "check", "profile")
"""Options of commands that publish which ``geodp new`` has in another form, or sets itself."""


class NewCommand(ReadingCommand):
    """A command that stores the arguments of its call, to which answers add more.

    Its options are those of the command that answers the question.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and store the arguments."""
        ctx.meta[ARGUMENTS] = tuple(args)
        ctx.meta[ANSWERING] = find_command(_find_question(args))
        return super().parse_args(ctx, args)

    def list_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return its own options, with those of the command that answers the question."""
        params = super().list_params(ctx)
        command = ctx.meta.get(ANSWERING)
        if command is None:
            return params
        names = {"inputs", "overwrite", *(one.name for one in NEW)}
        own = [one for one in params if one.name in names]
        others = [copy(one) for one in command.list_params(ctx) if one.name not in OF_A_RUN]
        for one in others:
            one.required = False  # what is missing is asked
        return [*own, *others]


def _find_question(args: Sequence[str]) -> str:
    """Return the command that arguments name as the answer, before they are parsed."""
    for word, following in pairwise((*args, "")):
        if word == QUESTION.flag:
            return following
        if word.startswith(f"{QUESTION.flag}="):
            return word.partition("=")[2]
    return COUNTS


def _keep_inputs(
    context: click.Context, parameter: click.Parameter, names: tuple[str, ...]
) -> tuple[Path | str, ...]:
    """Find the files of the inputs; the context stores both."""
    context.meta[INPUTS] = names
    paths = find_inputs(context, parameter, names)
    context.meta[PATHS] = paths
    return paths


QUESTION = Option(
    "--question",
    "Which question of those that geodp inspect lists, by the command that answers it: publish "
    "(counts), 'households publish' ...",
    metavar="COMMAND",
    group="Input",
    everyday=True,
)

NEW = joined(
    QUESTION,
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

    Which file, which of the questions that it can answer, which area, how often a person is
    counted, and which epsilon, with the errors of counts that it gives. What the file's format
    says is not asked, and no answer is taken from its rows. An option answers its question in
    advance; without a terminal, open questions are printed.
    """
    from geodp.tools.new.interview import interview

    context = click.get_current_context()
    fetched = dict(zip(map(str, context.meta[PATHS]), context.params["inputs"], strict=True))
    interview(context, context.meta[ARGUMENTS], fetched)
