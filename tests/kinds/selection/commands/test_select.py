"""The command line's selections: what is said, charged, replayed and refused."""

import json
import re

import pytest

from geodp.cli import geodp as command_line
from geodp.cli.readers import _reading_commands
from tests.cli.test_cli import DATA
from tests.command import geodp

TOKYO = [
    str(DATA / "tblT999999H5339.zip"),
    *["--grid", "jis:half", "--primary", "5339", "--value", "人口（総数）"],
]
TERMS = ["--epsilon", "1/2", "--contribution", "1"]


def select(out, *more):
    return geodp("select", "top", *TOKYO, *TERMS, "--output", out, *more)


def test_what_is_said_without_json(tmp_path):
    """As of documents, answers are public, and are shown."""
    done = select(tmp_path / "out", "--k", 1, "--level", "jis:basic", "--mechanism", "exponential")
    assert done.returncode == 0, done.stderr
    code, false, where, promise, *_ = done.stdout.splitlines()
    card = json.loads((tmp_path / "out" / "public" / "release.json").read_text())
    assert [{"code": code}] == card["chosen"]
    assert len(code) == 8
    assert re.match(r"Below \d+ people false hot spots", false)
    assert str(tmp_path / "out" / "public") in where
    assert "any choice by a factor of at most 1.649 (exp(1/2))" in promise


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--k", 0], "k must be a whole number from 1"),
        (["--k", 1, "--level", "jis:none"], "published areas"),
        (["--k", 1, "--allow", "x"], "No such option"),
        (["--k", 1, "--transform", "x"], "No such option"),
        (["--k", 1, "--bounds", 138, 35, 140, 36], "not both"),
    ],
)
def test_bad_calls_are_one_sentence(tmp_path, more, said):
    done = select(tmp_path / "out", *more)
    assert done.returncode == 2
    assert said in done.stderr
    assert not (tmp_path / "out").exists()


def test_the_contribution_is_asked_for(tmp_path):
    men = [*TOKYO[:-1], "人口（総数）　男"]  # of all people the layout says it
    call = ["select", "top", *men, "--k", 1, "--epsilon", 1, "--output", tmp_path / "out"]
    done = geodp(*call)
    assert done.returncode == 2
    assert "how often one person is counted" in done.stderr
    assert geodp(*call[:-4], "--contribution", 1, *call[-2:]).stderr.startswith(
        "Error: Add --epsilon"
    )


def test_options_of_questions_are_taken_for_readers_of_others():
    found = {command.name: command for command in _reading_commands(command_line)}
    assert {"publish", "top"} <= set(found)
