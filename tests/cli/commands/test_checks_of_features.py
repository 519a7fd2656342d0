"""``--check`` of commands that publish several tables: nothing is drawn, charged or published."""

import json
import re

import pytest

from geodp.privacy.ledger import Ledger
from tests.command import geodp

ROWS = "code,income,n,h\n533946113,300,4,2\n533946114,420,5,3\n"
DOMAIN = ("--grid", "jis:half", "--primary", 5339, "--code", "code", "--contribution", 1)
INCOMES = (*DOMAIN, "--amount", "income", "--clip", 0, 1000, "--unit-of-amount", "EUR")

CALLS = {
    "amounts publish": (("in.csv", *INCOMES), "counted_records", 2),
    "amounts publish-series": (
        ("2015=in.csv", "2020=in.csv", *INCOMES, "--person-in", "all"),
        "counted_records",
        {"2015": 2, "2020": 2},
    ),
    "publish-series": (
        ("2015=in.csv", "2020=in.csv", *DOMAIN, "--value", "n", "--person-in", "all"),
        "people",
        {"2015": 9, "2020": 9},
    ),
    "households publish": (
        ("in.csv", *DOMAIN, "--value", "n", "--households", "h", "--protect", "person"),
        "counted",
        {"persons": 9, "households": 5},
    ),
}
"""Commands, with options, and what the summary says would be counted."""


@pytest.fixture
def office(tmp_path):
    ledger = ["--ledger", tmp_path / "ledger", "--dataset", "census"]
    assert geodp("budget", "init", *ledger, "--epsilon", 9).returncode == 0
    (tmp_path / "in.csv").write_text(ROWS)
    return tmp_path, ledger


@pytest.mark.parametrize("name", CALLS)
def test_a_check_says_what_would_be_counted(office, name):
    folder, ledger = office
    options, key, counted = CALLS[name]
    call = (*name.split(), *options, "--output", "out")
    done = geodp(*call, "--check", "--profile", *ledger, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Nothing was drawn, charged or published." in done.stdout
    assert re.search(r"^reading[ 0-9]* [0-9.]+ s$", done.stderr, re.MULTILINE)
    assert not (folder / "out" / "public").exists()
    found = json.loads((folder / "out" / "restricted" / "check.json").read_text())
    assert found[key] == counted
    assert found["inputs"]
    assert Ledger.open(folder / "ledger").charges("census") == ()
    done = geodp(*call, "--epsilon", 1, "--profile", *ledger, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^mechanism [0-9.]+ s$", done.stderr, re.MULTILINE)
    assert not (folder / "out" / "restricted" / "check.json").exists()
    refused = geodp(*call, "--check", cwd=folder)
    assert refused.returncode == 2
    assert "holds a release" in refused.stderr


@pytest.mark.parametrize("name", CALLS)
def test_a_check_refuses_what_publishing_refuses_in_the_same_words(office, name):
    folder, ledger = office
    (folder / "in.csv").write_text(ROWS.replace("533946114", "999999999"))
    call = (*name.split(), *CALLS[name][0], "--output", "out")
    done = [
        geodp(*call, *more, cwd=folder)
        for more in (("--epsilon", 1, *ledger), ("--check",), ("--check", "--epsilon", 1))
    ]
    assert done[0].returncode != 0
    assert "row 3" in done[0].stderr
    assert done == [done[0]] * 3
    assert not (folder / "out").exists()
