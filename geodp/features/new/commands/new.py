"""``geodp new``: ask for what a file leaves open, rehearse, and write the recipe."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from geodp.cli.help import option
from geodp.cli.layout import INPUTS, preset_option
from geodp.cli.options import find_inputs, grid_options
from geodp.cli.output import quote, write_file
from geodp.cli.readers import ReadingCommand
from geodp.cli.request import request_options
from geodp.cli.translation import translate, translate_message
from geodp.errors import GeodpError, UsageError, printable
from geodp.features.new.call import Call, read_call
from geodp.features.new.errors import show_errors
from geodp.features.new.questions import Question, list_questions, say, split_words
from geodp.features.new.recipe import write_lines

WORDS = "geodp.new.words"
"""Under which a context has the words of the call."""

ADD = "Add options of geodp publish that mend it, or end with Enter."

PATHS = "geodp.new.paths"
"""Under which a context has the files that the words name, before any is fetched."""


class NewCommand(ReadingCommand):
    """A command that keeps the words of its call, to which answers add more."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and keep the words."""
        ctx.meta[WORDS] = tuple(args)
        return super().parse_args(ctx, args)


def _keep_inputs(
    context: click.Context, parameter: click.Parameter, given: tuple[str, ...]
) -> tuple[Path | str, ...]:
    """Return the files that the words of inputs stand for; the context keeps both."""
    context.meta[INPUTS] = given
    paths = find_inputs(context, parameter, given)
    context.meta[PATHS] = paths
    return paths


@click.command(cls=NewCommand)
@click.argument("inputs", nargs=-1, type=click.Path(), callback=_keep_inputs)
@preset_option
@option(
    "--area",
    group="Domain",
    everyday=True,
    help="Public area: land:japan, a name (germany, 東京都), bounds, layout (as the file's layout "
    "states it), all (the whole extent of the grid); of a raster's own cells public, with which "
    "you vouch for their extent.",
)
@partial(grid_options, required=False)
@request_options("epsilon", "contribution", "unit", "people")
@option(
    "--output",
    group="Output",
    everyday=True,
    type=click.Path(path_type=Path),
    help="Folder of the release that the commands name.  [default: FILE-release]",
)
@option(
    "--recipe",
    group="Output",
    everyday=True,
    type=click.Path(path_type=Path),
    help="TOML file that is written, for publish --recipe.  [default: FILE-recipe.toml]",
)
@option(
    "--overwrite", group="Output", everyday=True, is_flag=True, help="Replace an earlier recipe."
)
def new(**_options: Any) -> None:
    """Ask for what INPUTS leave open, rehearse, and write a recipe and the commands to publish.

    At most four questions: which file, which area, how often a person is counted, and which
    epsilon, with the errors that it gives. What the form of a file says is not asked, and nothing
    that is asked is taken from its rows. An option that is given answers its question; without a
    terminal the others are printed.
    """
    context = click.get_current_context()
    fetched = dict(zip(map(str, context.meta[PATHS]), context.params["inputs"], strict=True))
    words = context.meta[WORDS]
    call: Call | None = read_call(context, words, fetched)
    while call is not None:
        while questions := list_questions(call):
            if not _is_terminal():
                _list_and_end(context, questions)
            call = _ask(context, call, questions[0], fetched)
        _show_plan(call)
        call = _rehearse(call, fetched)


COMMAND = new


def _is_terminal() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _list_and_end(context: click.Context, questions: list[Question]) -> None:
    """Print all questions, and end: there is nobody to answer."""
    for one in questions:
        say(one, context.make_formatter())
        click.echo()
    flags = ", ".join(dict.fromkeys(one.option for one in questions))
    raise UsageError(f"There is no terminal to ask on; answer by options: {flags}.")


def _ask(context: click.Context, call: Call, question: Question, fetched: dict[str, Path]) -> Call:
    """Ask until an answer is right, and return the call with the options that it stands for."""
    click.echo()
    say(question, context.make_formatter())
    while True:
        shown = translate(question.prompt)
        default = question.default or ""
        answer = click.prompt(shown, default=default, show_default=bool(default)).strip()
        try:
            if answer:
                return read_call(context, (*question.words_of(answer), *call.words), fetched)
        except (GeodpError, click.ClickException) as error:
            click.echo(_tell(error))


def _tell(error: Exception) -> str:
    """Return what is wrong with an answer, as a sentence."""
    if isinstance(error, click.ClickException):
        return printable(error.format_message())
    return printable(translate_message(str(error)))


def _show_plan(call: Call) -> None:
    """Show what was settled, by whom, and the errors that follow."""
    click.echo()
    formatter = call.context.make_formatter()
    with formatter.section("Plan"):
        formatter.write_dl([(translate(name), what) for name, what in _list_settled(call)])
    click.echo(formatter.getvalue(), nl=False)
    plan = show_errors(call.grid, call.terms, [str(call.options["epsilon"])])
    for words in (*plan.warnings, *plan.notes):
        click.echo(translate_message(words))


def _list_settled(call: Call) -> list[tuple[str, str]]:
    """Return what the release goes by, each with its name."""
    layout = "none is known" if call.preset is None else call.preset.title
    return [
        ("File", " ".join(call.inputs)),
        ("Layout", translate_message(layout)),
        ("Grid", str(call.options["spec"])),
        ("Cells", f"{call.grid.size:,}"),
        ("A person is counted", translate_message(_say_often(call))),
        ("Budget", f"epsilon = {call.options['epsilon']}"),
    ]


def _say_often(call: Call) -> str:
    """Return how often a person is counted, and who answers for it."""
    times = call.terms.contribution
    often = "once at most" if times == 1 else f"{times} times at most"
    if call.options["contribution"] is not None:
        return f"{often}; you vouch for it"
    if call.options["person"] is not None:
        return f"{often}; geodp sees to it by the column {call.options['person']}"
    return f"{often}; the layout states it of one table of its publisher"


def _rehearse(call: Call, fetched: dict[str, Path]) -> Call | None:
    """Rehearse, write the recipe, and print the commands; return a call that says more, if any.

    What the rehearsal refuses may be mended by options that the operator adds.
    """
    output, recipe = call.options["output"], call.options["recipe"]
    terms = [*call.publish_words, "--output", str(output)]
    publish = ["geodp", "publish", *call.inputs, "--recipe", str(recipe), *terms]
    commands = [" ".join(map(quote, one)) for one in (publish, ["geodp", "verify", str(output)])]
    text = write_lines(call, commands)
    click.echo()
    click.echo(translate("Rehearsal, which draws and charges nothing:"))
    with TemporaryDirectory() as folder:
        draft = Path(folder) / "recipe.toml"
        draft.write_text(text, encoding="utf-8")
        try:
            _check([*call.inputs, "--recipe", str(draft), *terms])
        except (GeodpError, click.ClickException) as error:
            return _mend(call, error, fetched)
    write_file(recipe, text.encode(), False, call.options["overwrite"])
    click.echo()
    click.echo(translate_message(f"Written: {recipe}. Edit its lines below [metadata]; then:"))
    click.echo("\n".join(commands))
    return None


def _check(words: list[str]) -> None:
    """Run the command that publishes, with ``--check``."""
    from geodp.cli.commands.publish import publish

    with publish.make_context("geodp publish", [*words, "--check"]) as context:
        publish.invoke(context)


def _mend(call: Call, error: Exception, fetched: dict[str, Path]) -> Call:
    """Ask for options that mend what was refused; raise the error again where none are added."""
    if _is_terminal():
        click.echo(_tell(error))
        context = call.context
        click.echo(translate(ADD))
        while answer := click.prompt(translate("Options"), default="", show_default=False).strip():
            try:
                return read_call(context, (*split_words(answer), *call.words), fetched)
            except (GeodpError, click.ClickException) as wrong:
                click.echo(_tell(wrong))
    again = " ".join(["geodp new", *map(quote, call.words)])
    click.echo(translate_message(f"No recipe is written. The same call, to change: {again}"))
    raise error
