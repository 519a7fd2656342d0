"""``geodp publish``: what is published beside the table."""

import json

import pytest

from geodp.cli.commands.publish import publish
from tests.command import Runner, geodp

RUNNER = Runner(publish)


@pytest.fixture
def call(tmp_path):
    rows = "".join(f"{x},{y},{20 + x}\n" for x in range(8) for y in range(8))
    (tmp_path / "in.csv").write_text(f"x,y,n\n{rows}")
    return [
        *["publish", tmp_path / "in.csv", "--grid", "regular:8x8", "--value", "n"],
        *["--x", "x", "--y", "y", "--anchor", "index", "--epsilon", "1", "--contribution", "1"],
        *["--output", tmp_path / "out"],
    ]


def test_the_size_of_measurements_is_said_and_they_are_written(call, tmp_path):
    done = geodp(
        *call, "--measurements", "--measurements-complete-to", "8", "--method", "pyramid:setting=R"
    )
    assert done.returncode == 0, done.stderr
    assert "Measurements: 2 of 3 levels complete, 5 nodes, about 0.1 MB;" in done.stderr
    assert (tmp_path / "out" / "public" / "population.measurements.json").exists()
    assert geodp("verify", tmp_path / "out").returncode == 0


def test_areas_without_measurements_are_refused_in_a_sentence(call):
    options = [*call[1:], "--measurements-complete-to", "cell"]
    assert RUNNER.error_of(*options) == (
        "--measurements-complete-to goes with --measurements only."
    )


def test_public_totals_are_met(call, tmp_path):
    regions = "".join(f"{x}_{y},{'ab'[x // 4]}\n" for x in range(8) for y in range(8))
    (tmp_path / "regions.csv").write_text(f"cell,city\n{regions}")
    totals = {"a": sum(20 + x for x in range(8)) * 4, "b": sum(20 + x for x in range(8)) * 4}
    (tmp_path / "totals.csv").write_text(
        "city,total\n" + "".join(f"{name},{total}\n" for name, total in totals.items())
    )
    options = [
        *["--regions", tmp_path / "regions.csv", "--regions-source", "made up"],
        *["--public-totals", tmp_path / "totals.csv"],
    ]
    asked = "name the source of the public totals, such as --public-totals-source"
    assert asked in geodp(*call, *options).stderr
    done = geodp(*call, *options, "--public-totals-source", "the law")
    assert done.returncode == 0, done.stderr
    done = geodp("verify", tmp_path / "out")
    assert done.returncode == 0
    assert "2 areas have exactly their public totals" in done.stdout
    (tmp_path / "totals.csv").write_text("city,total\na,1\n")
    done = geodp(*call, *options, "--public-totals-source", "the law", "--overwrite")
    assert done.returncode == 2
    assert "Nothing was charged" in done.stderr


def test_releases_are_simulated_for_the_intervals_of_cells(call, tmp_path):
    done = geodp(*call, "--simulate", "20")
    assert done.returncode == 0, done.stderr
    card = json.loads((tmp_path / "out/public/release.json").read_text(encoding="utf-8"))
    assert card["expected_error"]["cells"]["simulated"] == 20
    assert geodp("verify", tmp_path / "out").returncode == 0
    assert "20 to 10,000" in RUNNER.error_of(*call[1:], "--overwrite", "--simulate", "7")
