"""The command line's selections: what is said, charged, replayed and refused."""

import json
import shutil

import pytest

from geodp.cli import geodp as command_line
from geodp.cli.readers import _reading_commands
from geodp.kinds.selection.selected import StagedSelection
from tests.cli.test_cli import DATA
from tests.command import geodp
from tests.keys import keep

TOKYO = [
    str(DATA / "tblT999999H5339.zip"),
    *["--grid", "jis:half", "--primary", "5339", "--value", "人口（総数）"],
]
TERMS = ["--epsilon", "1/2", "--contribution", "1"]


@pytest.fixture
def ledger(tmp_path):
    file = tmp_path / "office.ledger"
    assert geodp("budget", "init", "--ledger", file, "--dataset", "c", "--epsilon", 1).stdout
    return ["--ledger", file, "--dataset", "c"]


def select(question, out, *more):
    return geodp("select", question, *TOKYO, *TERMS, "--output", out, *more)


@pytest.mark.parametrize(
    ("question", "more", "name"),
    [
        ("top", ["--k", 3], "code"),
        ("top", ["--k", 3, "--level", "jis:basic", "--mechanism", "exponential"], "code"),
        ("top", ["--k", 1, "--neighbours", "replace-one"], "code"),
    ],
)
def test_answers_are_released_and_verified(tmp_path, question, more, name):
    done = select(question, tmp_path / "out", *more, "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    card = json.loads((tmp_path / "out" / "public" / "release.json").read_text())
    assert said["chosen"] == card["chosen"]
    assert all(name in one for one in said["chosen"])
    assert said["epsilon"] == card["guarantee"]["epsilon"] == "1/2"
    assert geodp("verify", tmp_path / "out").returncode == 0
    run = json.loads((tmp_path / "out" / "restricted" / "run.json").read_text())
    assert str(run["people"]) not in done.stdout


def test_what_is_said_without_json(tmp_path):
    done = select("top", tmp_path / "out", "--k", 1)
    code, false, where, promise = done.stdout.splitlines()
    assert len(code) == 9
    assert false.startswith("Below 20 people false hot spots")
    assert str(tmp_path / "out" / "public") in where
    assert "any choice by a factor of at most 1.649 (exp(1/2))" in promise


def test_charged_replayed_and_refused_over_the_cap(tmp_path, ledger):
    kept = ["--key-file", keep(tmp_path / "key")]
    for out in ("one", "two"):
        assert select("top", tmp_path / out, "--k", 5, *ledger, *kept).returncode == 0
    one, two = ((tmp_path / out / "public/release.json").read_bytes() for out in ("one", "two"))
    assert one == two
    assert json.loads(one)["budget"]["spent"]["epsilon"] == "1/2"
    assert select("top", tmp_path / "three", "--k", 6, *ledger, *kept).returncode == 0
    refused = select("top", tmp_path / "four", "--k", 7, *ledger, *kept)
    assert refused.returncode == 4
    assert not (tmp_path / "four").exists()


def test_the_same_sample_is_refused_and_nothing_is_written(tmp_path):
    file = tmp_path / "office.ledger"
    geodp("budget", "init", "--ledger", file, "--dataset", "c", "--epsilon", 4, "--delta", "1e-3")
    into = ["--ledger", file, "--dataset", "c"]
    audited = ["--rate", "0.2", "--threshold", 10, "--delta", "1e-6", "--sample", "autumn"]
    assert geodp("audit", *audited, *into).returncode == 0
    before = geodp("budget", "show", "--json", *into[:2]).stdout
    for more in ([], ["--records", "same-sample"]):
        refused = select("top", tmp_path / "out", "--k", 1, *into, *more)
        assert refused.returncode == 2
        assert "--records all" in refused.stderr or "do not add up" in refused.stderr
        assert not (tmp_path / "out").exists()
    assert geodp("budget", "show", "--json", *into[:2]).stdout == before
    done = select("top", tmp_path / "out", "--k", 1, "--records", "fresh-sample", *into)
    assert done.returncode == 0, done.stderr


def test_a_kept_key_completes_what_was_lost_after_the_charge(tmp_path, ledger, monkeypatch):
    kept = ["--key-file", keep(tmp_path / "key")]
    with monkeypatch.context() as broken:
        broken.setattr(StagedSelection, "write", lambda *_: 1 / 0)
        assert select("top", tmp_path / "out", "--k", 5, *ledger, *kept).returncode != 0
    assert not (tmp_path / "out").exists()
    before = geodp("budget", "show", "--json", *ledger[:2]).stdout
    assert '"1/2"' in before
    shutil.rmtree(tmp_path / ".out.partial")  # what waited is given up, and drawn again
    assert select("top", tmp_path / "out", "--k", 5, *ledger, *kept).returncode == 0
    assert geodp("budget", "show", "--json", *ledger[:2]).stdout == before


def test_a_run_that_cannot_write_is_not_charged(tmp_path, ledger):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    assert select("top", tmp_path / "out", "--k", 5, *ledger).returncode == 2
    shown = geodp("budget", "show", "--json", *ledger[:2]).stdout
    assert '"1/2"' not in shown


@pytest.mark.parametrize(
    ("question", "more", "said"),
    [
        ("top", ["--k", 0], "k must be a whole number from 1"),
        ("top", ["--k", 1, "--level", "jis:none"], "published areas"),
        ("top", ["--k", 1, "--allow", "x"], "No such option"),
        ("top", ["--k", 1, "--transform", "x"], "No such option"),
        ("top", ["--k", 1, "--bounds", 138, 35, 140, 36], "not both"),
    ],
)
def test_bad_calls_are_one_sentence(tmp_path, question, more, said):
    done = select(question, tmp_path / "out", *more)
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
