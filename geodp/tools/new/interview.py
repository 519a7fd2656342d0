"""The interview: questions one after another, the plan, the rehearsal, and the recipe."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from geodp.cli.answers import find_command
from geodp.cli.commands.publish import publish
from geodp.cli.layout import list_recipe
from geodp.cli.output import quote, write_file
from geodp.cli.translation import translate, translate_error, translate_message
from geodp.errors import GeodpError, UsageError, printable
from geodp.tools.new.questions import (
    NEW_OPTIONS,
    NewCall,
    OpenQuestion,
    list_questions,
    print_question,
    read_call,
    show_errors,
    split_arguments,
)

ADD = "Add options of the command that correct this, or press Enter to stop."


def interview(context: click.Context, arguments: tuple[str, ...], fetched: dict[str, Path]) -> None:
    """Ask for what a call leaves open, and write a recipe.

    ``fetched``: files of URLs among the inputs, by these.
    """
    call: NewCall | None = read_call(context, arguments, fetched)
    # A refused rehearsal returns a call with more options, which may open questions again.
    while call is not None:
        while questions := list_questions(call):
            if not _is_terminal():
                _refuse_without_terminal(call, questions)
            call = _prompt(context, call, questions[0], fetched)
        _show_plan(call)
        call = _rehearse(call, fetched)


def _is_terminal() -> bool:
    """Return whether an operator can answer."""
    # A stream that was closed before the start is None.
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def _refuse_without_terminal(call: NewCall, questions: list[OpenQuestion]) -> None:
    """Print all questions, and refuse: nobody can answer without a terminal."""
    for question in questions:
        print_question(question, call.context.make_formatter())
        click.echo()
    # It names the question that was chosen, without which its options are unknown.
    click.echo(translate_message(f"The same call, to complete: {_write_call(call)}"))
    flags = ", ".join(dict.fromkeys(question.option for question in questions))
    raise UsageError(
        f"There is no terminal to ask on; answer by options: {flags}.",
        code="no-terminal",
    )


def _prompt(
    context: click.Context, call: NewCall, question: OpenQuestion, fetched: dict[str, Path]
) -> NewCall:
    """Ask until an answer is valid, and return the call with the options of the answer."""
    click.echo()
    print_question(question, context.make_formatter())
    while True:
        shown = translate(question.prompt)
        default = question.default or ""
        answer = click.prompt(shown, default=default, show_default=bool(default)).strip()
        try:
            if answer:
                return read_call(context, (*question.options_for(answer), *call.arguments), fetched)
        except (GeodpError, click.ClickException) as error:
            click.echo(_describe_error(error))
        # The answer asked for help, which Click has printed.
        except click.exceptions.Exit:
            continue


def _describe_error(error: GeodpError | click.ClickException) -> str:
    """Describe the error in an answer as a sentence."""
    if isinstance(error, click.ClickException):
        return printable(error.format_message())
    return printable(translate_error(error))


def _show_plan(call: NewCall) -> None:
    """Print the decisions, and the errors that follow from them."""
    click.echo()
    formatter = call.context.make_formatter()
    with formatter.section("Plan"):
        formatter.write_dl([(translate(name), what) for name, what in _list_decisions(call)])
    click.echo(formatter.getvalue(), nl=False)
    if call.answer is not None:
        return
    plan = show_errors(call.grid, call.terms, [str(call.options["epsilon"])])
    for message in (*plan.warnings, *plan.notes):
        click.echo(translate_message(message))


def _list_decisions(call: NewCall) -> list[tuple[str, str]]:
    """List the decisions that the release rests on, each with its name."""
    budget = ("Budget", f"epsilon = {call.options['epsilon']}")
    file = ("File", " ".join(call.inputs))
    grid = [("Grid", str(call.options["spec"])), ("Cells", f"{call.grid.size:,}")]
    if call.answer is not None:
        return [file, ("Question", translate_message(call.answer.question)), *grid, budget]
    layout = "none is known" if call.preset is None else call.preset.title
    counted = translate_message(_describe_contribution(call))
    named = ("Layout", translate_message(layout))
    return [file, named, *grid, ("A person is counted", counted), budget]


def _describe_contribution(call: NewCall) -> str:
    """Describe how often a person is counted, and who guarantees it."""
    times = call.terms.contribution
    often = "once at most" if times == 1 else f"{times} times at most"
    if call.options["contribution"] is not None:
        return f"{often}; you vouch for it"
    if call.options["person"] is not None:
        return f"{often}; geodp ensures it by the column {call.options['person']}"
    return f"{often}; the layout states it of one table of its publisher"


def _rehearse(call: NewCall, fetched: dict[str, Path]) -> NewCall | None:
    """Rehearse, write the recipe, and print the commands; return a completed call, if any.

    Where the rehearsal is refused, the operator may add options.
    """
    output, recipe = call.options["output"], call.options["recipe"]
    terms = [*call.publish_options, "--output", str(output)]
    named = ["--recipe", str(recipe)] if call.takes_recipe else []
    publish = ["geodp", *call.command.split(), *call.inputs, *named, *terms]
    commands = [
        " ".join(map(quote, command)) for command in (publish, ["geodp", "verify", str(output)])
    ]
    text = write_lines(call, commands)
    click.echo()
    # The recipe is checked in a temporary folder first: a refused one must not be left behind.
    click.echo(translate("Dry run, which draws and charges nothing:"))
    with TemporaryDirectory() as folder:
        draft = Path(folder) / "recipe.toml"
        draft.write_text(text, encoding="utf-8")
        drafted = ["--recipe", str(draft)] if call.takes_recipe else []
        try:
            # The command that the operator will run, so that nothing can be refused only then.
            _run_check(call, [*call.inputs, *drafted, *terms])
        except (GeodpError, click.ClickException) as error:
            return _prompt_for_options(call, error, fetched)
    click.echo()
    if call.takes_recipe:
        write_file(recipe, text.encode(), False, call.options["overwrite"])
        click.echo(translate_message(f"Written: {recipe}. Edit its lines below [metadata]; then:"))
    else:
        click.echo(translate_message("To publish, and to check what was published:"))
    click.echo("\n".join(commands))
    return None


def _run_check(call: NewCall, arguments: list[str]) -> None:
    """Run the command that publishes, with ``--check``."""
    command = find_command(call.command) or publish
    with command.make_context(f"geodp {call.command}", [*arguments, "--check"]) as context:
        command.invoke(context)


def _prompt_for_options(
    call: NewCall, error: GeodpError | click.ClickException, fetched: dict[str, Path]
) -> NewCall:
    """Ask for options that correct what was refused; raise the error again if none are added."""
    if _is_terminal():
        click.echo(_describe_error(error))
        context = call.context
        click.echo(translate(ADD))
        while answer := click.prompt(translate("Options"), default="", show_default=False).strip():
            try:
                return read_call(context, (*split_arguments(answer), *call.arguments), fetched)
            except (GeodpError, click.ClickException) as next_error:
                click.echo(_describe_error(next_error))
    # The answers so far are not lost: they are printed as a command.
    again = _write_call(call)
    click.echo(translate_message(f"No recipe is written. The same call, to change: {again}"))
    raise error


def _write_call(call: NewCall) -> str:
    """Write the command with all answers so far."""
    return " ".join(["geodp new", *map(quote, call.arguments)])


HEAD = "# A recipe of geodp. What you vouch for and the budget stand in the command that publishes:"

METADATA_HEAD = (
    "",
    "[metadata]",
    "# What card and pages say of the release: edit these lines. Take the # from those that you",
    "# fill in; a licence, a contact, a description and more: docs/outputs.md.",
)

OPEN = {
    "title": "People by cell",
    "source": "The table that was counted, with its place",
    "reference_date": "YYYY-MM-DD",
    "publisher": "Your office",
}
"""Lines that the layout leaves open, each with an example."""


def write_lines(call: NewCall, commands: Sequence[str]) -> str:
    """Write the text of a call's recipe, with the commands that go with it as comments.

    The layout's metadata of its table are proposed; the publisher stays a comment, so that only
    the operator can declare that the table's publisher publishes the release, too.
    """
    header = [HEAD, *(f"# {command}" for command in commands), ""]
    options = {name: one for name, one in call.options.items() if name not in NEW_OPTIONS}
    lines = [*header, *list_recipe(call.context, options), *METADATA_HEAD]
    fields = {"reference_date": "date"}
    metadata = {name: getattr(call.preset, fields.get(name, name), "") for name in OPEN}
    for name, example in OPEN.items():
        line = f"{name} = {json.dumps(metadata[name] or example, ensure_ascii=False)}"
        # Whether the table's publisher publishes the release, too, must be declared.
        is_final = metadata[name] and name != "publisher"
        lines.append(line if is_final else f"# {line}")
    return "\n".join(lines) + "\n"
