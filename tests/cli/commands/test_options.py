"""``geodp options``: the tables of options, as programs outside Python read them."""

import json

import click

from geodp import cli
from geodp.options.shared import REQUEST
from tests.command import context_of, geodp


def test_the_options_of_a_command_are_listed_with_what_they_need():
    found = json.loads(geodp("options", "publish", "--json").stdout)["publish"]
    listed = {one["flag"]: one for one in found}
    assert {one.flag for one in REQUEST} <= listed.keys()
    assert listed["--mask-source"]["needs"] == ["mask"]
    assert listed["--bounds"]["excludes"] == ["primary"]
    assert listed["--contribution"]["low"] == 1
    command = cli.geodp.commands["publish"]
    shown = [one for one in command.get_params(context_of(command)) if command.is_everyday(one)]
    options = [one for one in shown if isinstance(one, click.Option) and one.expose_value]
    everyday = {one.opts[-1] for one in options}
    assert {flag for flag, one in listed.items() if one.get("everyday")} == everyday


def test_words_choose_the_commands_of_a_group():
    told = geodp("options", "households").stdout
    assert "geodp households publish\n" in told
    assert "  --max-size  int low 2 high 100  Privacy, everyday, default 7\n" in told
    assert "geodp flows" not in told
    # Those that are declared to Click alone have names, choices and sentences, too.
    assert "geodp diff\n" in geodp("options").stdout
    refused = geodp("options", "publish", "that")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "no command geodp publish that" in refused.stderr
