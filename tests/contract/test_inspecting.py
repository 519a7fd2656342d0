"""``inspect`` and the commands that publish know a release of every kind, and help is alike."""

import json

import pytest

from geodp.io.folder.kinds import TABLE, find_kind
from tests.contract.desk import require
from tests.contract.using import REJECTED, require_refused


def test_inspect_says_what_a_release_is(released):
    kind = find_kind(released.folder / "out" / "public")
    title = TABLE if kind is None else kind.title
    assert f"({title})" in released.run("inspect", "out").stdout
    for place in ("out", "out/public", f"out/public/{released.kind.index}"):
        told = require(released.run("inspect", place, "--json")).stdout
        assert json.loads(told)["format"] == "release"


def test_commands_that_inspect_names_work(released):
    lines = released.run("inspect", "out").stdout.splitlines()
    commands = [line.split()[1:] for line in lines if line.startswith("geodp ")]
    assert commands
    for words in commands:
        done = released.run(*words)
        assert done.returncode == 0, (words, done.stderr)


@pytest.mark.parametrize("folder", ["out", "out/public"])
def test_a_release_is_no_input(kind, released, folder):
    inputs = [f"{time}={folder}" for time in kind.periods] or [folder]
    words = (*kind.command, *inputs, *kind.options, *kind.terms, "--output", "again")
    assert "a release of geodp" in require_refused(released.run(*words), REJECTED)
    assert "again" not in released.names()


def test_every_command_that_uses_a_release_has_json(kind, released):
    for word in kind.uses:
        assert "--json" in released.run(word, "--help").stdout, word
