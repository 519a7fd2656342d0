"""``geodp flows publish --check`` refuses what publishing refuses, and charges nothing."""

import json
import re

import numpy as np
import pytest

from geodp.privacy.ledger import Ledger
from geodp.release.transaction import Prepared
from tests.command import geodp

CODED = "id,o,d,t\na,53394611,53394612,2024-05-01T08:00\nb,53394612,53394611,2024-05-02T09:30\n"
ENDS = ("--grid", "jis:basic", "--bounds", 139, 35, 140, 36, "--from", "o", "--to", "d")
PERSONS = (*ENDS, "--person", "id", "--trips", 3)
PINGS = "id,y,x,t\na,35.5,139.5,2024-05-01T08:00\n"
OF_PINGS = (*ENDS[:7], "--pings", "y,x", "--time", "t", "--person", "id", "--trips", 3)

REFUSALS = {
    "a place is no zone": (CODED.replace("53394611", "68401111", 1), PERSONS, "row 2"),
    "a person is missing": (CODED.replace("b,", ",", 1), PERSONS, "row 3"),
    "a label is not listed": (
        CODED.replace("t\n", "mode\n", 1),
        (*PERSONS, "--by", "mode", "--labels", "mode=car,bus"),
        "mode",
    ),
    "nothing is counted": (CODED, (*PERSONS, "--where", "id=z"), "--check --allow-empty"),
    "no time": (PINGS.replace("2024-05-01T08:00", "soon"), OF_PINGS, "row 2"),
    "no contribution": (CODED, ENDS, "--contribution"),
    "levels": (CODED, (*PERSONS, "--level", "3=1/2"), "power"),
}


@pytest.fixture
def office(tmp_path):
    ledger = ["--ledger", tmp_path / "ledger", "--dataset", "survey"]
    assert geodp("budget", "init", *ledger, "--epsilon", 9).returncode == 0
    (tmp_path / "in.csv").write_text(CODED)
    return tmp_path, ledger


def check(folder, *more, options=PERSONS):
    return geodp("flows", "publish", "in.csv", *options, "--output", "out", *more, cwd=folder)


@pytest.mark.parametrize("name", REFUSALS)
def test_a_check_refuses_what_publishing_refuses_in_the_same_words(office, name):
    folder, ledger = office
    rows, options, words = REFUSALS[name]
    (folder / "in.csv").write_text(rows)
    said = [
        check(folder, *more, options=options)
        for more in (("--epsilon", 1, *ledger), ("--check",), ("--check", "--epsilon", 1))
    ]
    assert said[0].returncode != 0
    assert words in said[0].stderr
    assert said == [said[0]] * 3
    assert not (folder / "out").exists()
    assert Ledger.open(folder / "ledger").charges("survey") == ()


def test_a_check_says_what_would_be_counted(office, monkeypatch):
    folder, ledger = office

    def draw(*_):
        raise AssertionError("a check draws nothing")

    with monkeypatch.context() as patch:
        patch.setattr(Prepared, "release", draw)
        done = check(folder, "--check", *ledger)
    assert done.returncode == 0, done.stderr
    assert "Nothing was drawn, charged or published." in done.stdout
    assert not (folder / "out" / "public").exists()
    found = json.loads((folder / "out" / "restricted" / "check.json").read_text())
    assert (found["occupied_pairs"], found["counted_trips"]) == (2, 2)
    assert found["domain_pairs"] == found["domain_cells"] ** 2
    assert found["bounds"][0]["west_south_east_north"] == [139, 35, 140, 36]
    assert found["stated"]["places"] == {"origin": "o", "destination": "d"}
    assert [one["stated_by"] for one in found["assumptions"]] == ["geodp", "operator"]
    assert Ledger.open(folder / "ledger").charges("survey") == ()
    # Publishing takes the place of the check.
    assert check(folder, "--epsilon", 1, *ledger).returncode == 0
    assert (folder / "out" / "public").exists()
    assert not (folder / "out" / "restricted" / "check.json").exists()


def test_what_a_check_prints_does_not_depend_on_the_trips(office):
    folder, _ = office
    first = check(folder, "--check", "--json")
    assert json.loads(first.stdout).keys() == {"checked"}
    (folder / "in.csv").write_text(CODED + "b,53394611,53394611,2024-05-02T09:30\n" * 40)
    assert check(folder, "--check", "--json") == first


def test_a_check_warns_where_most_pings_make_no_stay(office):
    folder, _ = office
    times = [f"2024-05-0{day}T{hour:02d}:00" for day in (1, 2) for hour in (0, 3, 9, 12, 18, 21)]
    places = [(35.5, 139.5), (35.7, 139.7), (35.6, 139.8)]
    rows = [
        (f"a,{y},{x},{t}") for t, (y, x) in zip(times, np.repeat(places * 2, 2, 0), strict=True)
    ]
    (folder / "in.csv").write_text("\n".join(["id,y,x,t", *rows]))
    said = []
    for gap in ("2h", "12h"):
        done = check(folder, "--check", "--gap", gap, options=OF_PINGS)
        assert done.returncode == 0, done.stderr
        said.append((done.stdout, done.stderr))
        found = json.loads((folder / "out" / "restricted" / "check.json").read_text())
        if gap == "2h":
            assert "12 of 12, of which 12 are next to a longer time" in found["warnings"][0]
            assert found["read"]["made"]["pings_lost_to_gap"] == 12
        else:
            assert "warnings" not in found
            made = found["read"]["made"]
            assert (made["trips"], made["trips_lost_to_bound"], made["trips_kept"]) == (5, 2, 3)
    # The screen says the same, whatever was lost.
    assert said[0] == said[1]


def test_an_empty_selection_may_be_looked_at(office):
    folder, _ = office
    done = check(folder, "--check", "--allow-empty", "--where", "id=z")
    assert done.returncode == 0, done.stderr
    found = json.loads((folder / "out" / "restricted" / "check.json").read_text())
    assert found["read"]["terms"] == {"id=z": 0}


def test_a_check_replaces_no_release_and_resumes_none(office):
    folder, _ = office
    assert check(folder, "--epsilon", 1).returncode == 0
    refused = check(folder, "--check", "--overwrite")
    assert refused.returncode == 2
    assert "holds a release" in refused.stderr
    refused = geodp(
        *("flows", "publish", "in.csv", *PERSONS, "--output", "other", "--check", "--resume"),
        cwd=folder,
    )
    assert refused.returncode == 2
    assert "--resume" in refused.stderr


def test_the_seconds_of_each_phase_are_printed_on_request(office):
    folder, _ = office
    done = check(folder, "--epsilon", 1, "--profile")
    assert done.returncode == 0
    phases = re.findall(r"^(\w+) [0-9.]+ s$", done.stderr, re.MULTILINE)
    assert phases == ["reading", "mechanism", "writing"]
    assert "reading" not in check(folder, "--epsilon", 1, "--overwrite").stderr
