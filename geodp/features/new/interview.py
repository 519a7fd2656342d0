"""The conversation: questions in turn, the plan, the rehearsal, and the recipe."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from geodp.cli.output import quote, write_file
from geodp.cli.translation import translate, translate_error, translate_message
from geodp.errors import GeodpError, UsageError, printable
from geodp.features.new.call import Call, read_call
from geodp.features.new.errors import show_errors
from geodp.features.new.questions import Question, list_questions, say, split_words
from geodp.features.new.recipe import write_lines

ADD = "Add options of geodp publish that mend it, or end with Enter."


def interview(context: click.Context, words: tuple[str, ...], fetched: dict[str, Path]) -> None:
    """Ask what the words of a call leave open, and end with a recipe.

    ``fetched``: files of URLs among the inputs, by these.
    """
    call: Call | None = read_call(context, words, fetched)
    while call is not None:
        while questions := list_questions(call):
            if not _is_terminal():
                _list_and_end(context, questions)
            call = _ask(context, call, questions[0], fetched)
        _show_plan(call)
        call = _rehearse(call, fetched)


def _is_terminal() -> bool:
    """Whether somebody can be asked."""
    # A stream that was closed before the start is None.
    return all(one is not None and one.isatty() for one in (sys.stdin, sys.stdout))


def _list_and_end(context: click.Context, questions: list[Question]) -> None:
    """Print all questions, and end: there is nobody to answer."""
    for one in questions:
        say(one, context.make_formatter())
        click.echo()
    flags = ", ".join(dict.fromkeys(one.option for one in questions))
    raise UsageError(
        f"There is no terminal to ask on; answer by options: {flags}.",
        code="no-terminal",
    )


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
        except click.exceptions.Exit:  # help was asked for, and shown
            continue


def _tell(error: GeodpError | click.ClickException) -> str:
    """Return what is wrong with an answer, as a sentence."""
    if isinstance(error, click.ClickException):
        return printable(error.format_message())
    return printable(translate_error(error))


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


def _mend(call: Call, error: GeodpError | click.ClickException, fetched: dict[str, Path]) -> Call:
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
