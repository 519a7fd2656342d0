"""What may be said of files of trips: as of all others, and never ignored."""

import json

import pyarrow as pa
import pytest

import geodp as package
from geodp.errors import UsageError
from geodp.privacy.key import NoiseKey
from tests.command import geodp

GRID = package.Grid.regular((4, 4))
ENDS = {"origin": ("oy", "ox"), "destination": ("dy", "dx")}
CALL = ("--grid", "regular:4x4", "--from", "oy,ox", "--to", "dy,dx", "--epsilon", "1")
COUNTED = (*CALL, "--value", "n", "--contribution", "1")
MESH = ("--grid", "jis:basic", "--bounds", "139", "35", "139.25", "35.1666666667")
HEADER = "oy,ox,dy,dx,n"
ROWS = ["0,0,1,1,3", "1,2,3,3,4"]
TITLES = ["Trips of a survey", "", HEADER, ",,,,trips", *ROWS, "Source: the survey"]
SPAN = ("--header-row", 3, "--first-row", 5, "--last-row", 6)


def count(folder, *words):
    """Return how many trips a release was made of, which its operator alone is told."""
    done = geodp("flows", "publish", *words, "--output", folder / "out", "--overwrite")
    assert done.returncode == 0, done.stderr
    run = json.loads((folder / "out" / "restricted" / "run.json").read_text())
    return run["occupied_pairs"]


def refuse(folder, *words):
    done = geodp("flows", "publish", *words, "--output", folder / "out")
    assert done.returncode in (2, 5), done.stderr
    assert not (folder / "out").exists()
    return done.stderr


def test_counts_are_read_as_the_operator_says(tmp_path):
    path = tmp_path / "trips.csv"
    path.write_text("oy;ox;dy;dx;n\n0;0;1;1;1.200,0\n1;2;3;3;-1\n2;2;3;3;7 p\n0;1;1;1;2,5\n")
    more = ("--decimal", ",", "--missing", "-1", "--flags", "p", "--round", "nearest")
    assert count(tmp_path, path, *COUNTED, *more) == 3
    table = package.flows.read_trips(
        path, grid=GRID, **ENDS, value="n", decimal=",", missing=["-1"], flags=["p"],
        rounding="nearest",
    )  # fmt: skip
    assert sorted(table.count.tolist()) == [2, 7, 1200]


def test_fractions_are_rounded_at_random_by_the_key():
    rows = pa.table({"oy": range(4), "ox": range(4), "dy": [0] * 4, "dx": [1] * 4, "n": [0.5] * 4})
    given = {"grid": GRID, **ENDS, "value": "n", "rounding": "stochastic"}
    first, again, other = (
        package.flows.read_trips(rows, **given, key=NoiseKey(bytes([n]) * 32)).key.tolist()
        for n in (1, 1, 2)
    )
    assert first == again != other


@pytest.mark.parametrize("more", [("--missing", "-1"), ("--flags", "p"), ("--round", "nearest")])
def test_what_is_said_of_counts_is_not_ignored_where_there_are_none(tmp_path, more):
    path = tmp_path / "trips.csv"
    path.write_text("\n".join([HEADER, *ROWS]) + "\n")
    assert "--value" in refuse(tmp_path, path, *CALL, "--contribution", "1", *more)


def test_what_is_said_of_counts_is_not_ignored_in_stays():
    rows = pa.table({"y": [0], "x": [0], "t": ["2024-05-01T08:00"], "id": ["a"], "n": [1]})
    with pytest.raises(UsageError) as refused:
        package.flows.publish(rows, grid=GRID, **ENDS, missing=["-1"], epsilon=1, contribution=1)
    assert refused.value.code == "flows-counts-only"


def test_coordinates_may_have_decimal_commas(tmp_path):
    path = tmp_path / "trips.csv"
    rows = [f"35,05;139,05;35,15;139,15;{one}\n" for one in ("p;2,4", "q;3,6")]
    path.write_text("".join(["a;b;c;d;id;w\n", *rows]))
    words = (path, *MESH, "--from", "b,a", "--to", "d,c", "--person", "id", "--trips", 1)
    words = (*words, "--epsilon", 1)
    assert "decimal" in refuse(tmp_path, *words)
    assert count(tmp_path, *words, "--decimal", ",", "--weight", "w", "--max-weight", 5) == 1


def test_a_prior_is_a_file_of_its_own(tmp_path):
    path, prior = tmp_path / "trips.csv", tmp_path / "prior.csv"
    path.write_text("\n".join(TITLES) + "\n")
    prior.write_text("\n".join(["Survey of 2015", HEADER, *ROWS]) + "\n")
    before = ("--prior", prior, "--prior-is-public", "--prior-source", "a survey")
    words = (path, *COUNTED, *SPAN, *before)
    assert "--header-row" in refuse(tmp_path, *words)
    assert count(tmp_path, *words, "--public-file", "prior.header-row=2") == 2
