"""Help that a first user can read: commands in the order of use, options in groups, no blanks."""

from pathlib import Path

import click
import pytest
from click.shell_completion import get_completion_class

from geodp.cli import geodp
from geodp.cli.help import GROUPS, RARE, STEPS, GroupedOption, group_options
from geodp.cli.options import SHORT
from geodp.errors import UsageError
from tests.command import commands, context_of
from tests.command import geodp as run
from tests.refusals import refuses

MOST_COMMANDS = 26
"""Commands that the first screen of help lists."""

COMMANDS = {tuple(name.split()): command for name, command in commands()}


def groups_of(command):
    context = context_of(command)
    asks_for_help = command.get_help_option(context)
    params = [one for one in command.get_params(context) if one is not asks_for_help]
    return group_options(params)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_option_has_a_sentence(words):
    command = COMMANDS[words]
    options = [
        o for o in command.get_params(context_of(command)) if o.param_type_name != "argument"
    ]
    assert [option.opts for option in options if not option.help] == []
    assert command.get_short_help_str(300)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_an_option_that_takes_one_value_is_not_given_twice(words):
    command = COMMANDS[words]
    for one in command.get_params(context_of(command)):
        if isinstance(one, click.Option) and not (one.multiple or one.is_flag):
            value = "publish" if one.name == "question" else "1"
            given = [one.opts[-1], *[value] * one.nargs]
            with refuses(UsageError, f"option-repeated: ^{given[0]}\\b.*\\b2\\b"):
                command.parse_args(context_of(command), [*given, *given])
            begun = click.Context(command, resilient_parsing=True)  # of a shell that completes
            command.parse_args(begun, [*given, *given])


def test_every_command_is_a_step_once():
    named = [name for names in STEPS.values() for name in names]
    assert sorted(named) == sorted(geodp.commands)
    said, short = run("--help-all").stdout, run("--help").stdout
    places = [said.index(f"\n  {name} ") for name in named]
    assert places == sorted(places)
    listed = [name for name in named if f"\n  {name} " in short]
    assert listed == [name for name in named if name not in RARE]
    assert len(listed) <= MOST_COMMANDS
    assert "..." not in said.partition("\n")[2]


def test_every_option_of_publish_has_its_group():
    groups = groups_of(COMMANDS["publish",])
    of_others = ("Options", "Counts", "Flows", "Amounts")
    assert [one for name in of_others for one in groups.pop(name)] == []
    assert all(groups.values())
    said = run("publish", "--help-all").stdout
    places = [said.index(f"\n{title}:\n") for title in groups]
    assert places == sorted(places)
    assert said.index("\nPrivacy:") < said.index("--epsilon TEXT") < said.index("\nOutput:")
    assert "\nOptions:" not in said


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_shows_the_everyday_options_of_a_command_and_twenty_at_most(words):
    """All of them, where these are no more, and those that are required in any case."""
    command = COMMANDS[words]
    context = context_of(command)
    options = [one for one in command.get_params(context) if isinstance(one, click.Option)]
    flags = {one.opts[-1]: one for one in options if not one.hidden}
    shown = shown_by(*words, "--help") | {"--help"} - {"-h"}
    assert len(flags) <= SHORT or len(shown & flags.keys()) <= SHORT
    if "--help-all" not in flags:
        return
    assert flags.keys() <= shown_by(*words, "--help-all") | {"--help"}
    assert {flag for flag, one in flags.items() if one.required} <= shown


def shown_by(*call):
    """Return the flags that a help lists."""
    lines = run(*call).stdout.splitlines()
    return {word.rstrip(",") for one in lines if one.startswith("  -") for word in one.split()[:2]}


def test_methods_of_the_literature_are_not_on_the_first_screen():
    assert "\n  blend " not in run("local", "--help").stdout
    assert run("local", "blend", "--help").stdout.startswith("Usage:")
    assert "--hierarchy" not in shown_by("audit", "--help")
    assert "--maximum" not in shown_by("compare", "--help")
    assert "--maximum" in shown_by("compare", "--help-all")


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_what_options_need_and_exclude_is_there(words):
    command = COMMANDS[words]
    params = command.get_params(context_of(command))
    stated = [one.stated for one in params if isinstance(one, GroupedOption) and one.stated]
    names = {str(one.name) for one in params}
    for one in stated:
        assert one.group in GROUPS
        assert not one.needs or names & {*one.needs}, one.name
        assert one.name not in (*one.needs, *one.excludes)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_what_is_begun(shell):
    """With the words of docs/startup.md; the list of completions is what the shell asks for."""
    page = Path(__file__).parents[2] / "docs" / "startup.md"
    assert f"_GEODP_COMPLETE={shell}_source geodp" in page.read_text(encoding="utf-8")
    script = get_completion_class(shell)(geodp, {}, "geodp", "_GEODP_COMPLETE").source()
    assert f"_GEODP_COMPLETE={shell}_complete" in script
    asked = get_completion_class(shell)(geodp, {}, "geodp", "_GEODP_COMPLETE")
    assert [one.value for one in asked.get_completions([], "publ")] == ["publish", "publish-series"]
    found = asked.get_completions(["publish", "--neighbours"], "")
    assert [one.value for one in found] == ["add-remove-one", "replace-one"]


def test_options_of_others_stand_by_themselves():
    theirs = click.Option(["--their-own"])
    assert group_options([theirs])["Options"] == [theirs]
