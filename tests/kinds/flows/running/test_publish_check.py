"""``geodp flows publish --check`` refuses what publishing refuses, and charges nothing."""

import json

import numpy as np
import pytest

from tests.command import geodp

CODED = "id,o,d,t\na,53394611,53394612,2024-05-01T08:00\nb,53394612,53394611,2024-05-02T09:30\n"
ENDS = ("--grid", "jis:basic", "--bounds", 139, 35, 140, 36, "--from", "o", "--to", "d")
PERSONS = (*ENDS, "--person", "id", "--trips", 3)
OF_PINGS = (*ENDS[:7], "--pings", "x,y", "--time", "t", "--person", "id", "--trips", 3)


@pytest.fixture
def office(tmp_path):
    ledger = ["--ledger", tmp_path / "ledger", "--dataset", "survey"]
    assert geodp("budget", "init", *ledger, "--epsilon", 9).returncode == 0
    (tmp_path / "in.csv").write_text(CODED)
    return tmp_path, ledger


def check(folder, *more, options=PERSONS):
    return geodp("flows", "publish", "in.csv", *options, "--output", "out", *more, cwd=folder)


def test_a_check_says_what_would_be_counted(office):
    folder, ledger = office
    done = check(folder, "--check", *ledger, "--where", "id=a")
    assert done.returncode == 0, done.stderr
    found = json.loads((folder / "out" / "restricted" / "check.json").read_text())
    assert (found["occupied_pairs"], found["counted_trips"]) == (1, 1)
    assert found["domain_pairs"] == found["domain_cells"] ** 2
    assert found["bounds"][0]["west_south_east_north"] == [139, 35, 140, 36]
    assert found["stated"]["places"] == {"origin": "o", "destination": "d"}
    assert [one["stated_by"] for one in found["assumptions"]] == ["geodp", "operator"]
    assert found["read"]["terms"] == {"id=a": 1}


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
