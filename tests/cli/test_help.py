"""Help that a first user can read: commands in the order of use, options in groups, no blanks."""

from pathlib import Path

import click
import pytest
from click.shell_completion import get_completion_class

from geodp.cli import geodp
from geodp.cli.help import EXPERT, INPUT, OUTPUT, PRIVACY, STEPS, group_options
from geodp.cli.options import grid_option_names
from geodp.cli.readers import ReadingCommand, reader_options
from tests.command import context_of
from tests.command import geodp as run


def commands(group=geodp, words=()):
    """Every command with the words that call it."""
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from commands(command, (*words, name))
        else:
            yield (*words, name), command


COMMANDS = dict(commands())


def groups_of(command):
    context = context_of(command)
    asks_for_help = command.get_help_option(context)
    params = [one for one in command.get_params(context) if one is not asks_for_help]
    readers = [one.name for one in reader_options()]
    return group_options(params, ("spec", *grid_option_names()), readers)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_option_has_a_sentence(words):
    command = COMMANDS[words]
    options = [
        o for o in command.get_params(context_of(command)) if o.param_type_name != "argument"
    ]
    assert [option.opts for option in options if not option.help] == []
    assert command.get_short_help_str(300)


def test_every_command_is_a_step_once():
    named = [name for names in STEPS.values() for name in names]
    assert sorted(named) == sorted(geodp.commands)
    said = run("--help").stdout
    places = [said.index(f"\n  {name} ") for name in named]
    assert places == sorted(places)
    assert "..." not in said.partition("\n")[2]


def test_every_option_of_publish_has_its_group():
    groups = groups_of(COMMANDS["publish",])
    assert groups.pop("Options") == []
    assert all(groups.values())
    said = run("publish", "--help").stdout
    places = [said.index(f"\n{title}:\n") for title in groups]
    assert places == sorted(places)
    assert said.index("\nPrivacy:") < said.index("--epsilon TEXT") < said.index("\nOutput:")
    assert "\nOptions:" not in said


def test_no_group_names_what_no_command_has():
    reading = [one for one in COMMANDS.values() if isinstance(one, ReadingCommand)]
    names = {str(p.name) for one in reading for p in one.get_params(context_of(one))}
    named = (*INPUT, *PRIVACY, *OUTPUT, *EXPERT)
    assert {*named} <= names
    assert len({*named}) == len(named)


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


def test_options_of_others_stand_with_the_inputs():
    theirs = click.Option(["--their-own"])
    assert group_options([theirs], (), ["their_own"])["Input"] == [theirs]
    assert group_options([theirs], (), ())["Options"] == [theirs]
